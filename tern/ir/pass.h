// SPDX-License-Identifier: Apache-2.0
//
// Named passes over modules, and running lists of them.
#ifndef TERN_IR_PASS_H_
#define TERN_IR_PASS_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ir/module.h"

namespace tern::ir {

// An option of a pass, as `max` in unroll_loops{max=64}.
struct PassOption {
  std::string name;
  ffi::Any default_value;  // an int, a bool or a string, as all its values are
  std::string help;        // one line, with the legal values
  // Throws where the value is not legal; may be null.
  std::function<void(const ffi::Any&)> check;
};

// A value for each option of a pass.
class PassValues {
 public:
  explicit PassValues(std::map<std::string, ffi::Any, std::less<>> values)
      : values_(std::move(values)) {}
  int64_t GetInt(std::string_view option) const { return Get(option).As<int64_t>(); }
  bool GetBool(std::string_view option) const { return Get(option).As<bool>(); }
  std::string GetString(std::string_view option) const { return Get(option).As<std::string>(); }

 private:
  const ffi::Any& Get(std::string_view option) const;

  std::map<std::string, ffi::Any, std::less<>> values_;
};

// What a pass does: a function of the module, and of the values where the pass has options.
class PassFunction : public std::function<IRModule(const IRModule&, const PassValues&)> {
 public:
  template <class F>
    requires std::is_invocable_v<F&, const IRModule&, const PassValues&>
  PassFunction(F f) : function(std::move(f)) {}
  template <class F>
    requires std::is_invocable_v<F&, const IRModule&>
  PassFunction(F f)
      : function([f](const IRModule& module, const PassValues&) { return f(module); }) {}
};

struct Pass {
  std::string name;         // "flatten_buffers"
  std::string description;  // one line: what holds afterwards
  PassFunction run;
  std::vector<PassOption> options;
};

// Throws if the name is taken.
void RegisterPass(Pass pass);
// Throws with near names.
const Pass& GetPass(std::string_view name);
std::vector<std::string> PassNames();

// "a,b{x=1,y=2}" as its elements: commas in braces part nothing. Throws where one is empty.
std::vector<std::string> SplitPassList(std::string_view text);

struct PassOptions {
  // Called on the module before the first and after every pass, with the pass's name ("" before the
  // first); throws if something is wrong.
  std::function<void(const IRModule&, const std::string& pass)> verify;
  // Called after the passes named here ("*": all).
  std::vector<std::string> print_after;
  std::function<void(const IRModule&, const std::string& pass)> print;
  // Filled with seconds per pass, in order, when not null.
  std::vector<std::pair<std::string, double>>* timing = nullptr;
};

// A pass is its name, or name{option=value,...}. All names, options and values are checked before
// the first pass runs.
IRModule RunPasses(IRModule module, const std::vector<std::string>& passes,
                   const PassOptions& options = {});

}  // namespace tern::ir

#endif  // TERN_IR_PASS_H_
