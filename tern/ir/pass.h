// SPDX-License-Identifier: Apache-2.0
//
// Named passes over modules, and running lists of them.
#ifndef TERN_IR_PASS_H_
#define TERN_IR_PASS_H_

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ir/module.h"

namespace tern::ir {

struct Pass {
  std::string name;         // "flatten_buffers"
  std::string description;  // one line: what holds afterwards
  std::function<IRModule(const IRModule&)> run;
};

// Throws if the name is taken.
void RegisterPass(Pass pass);
// Throws with near names.
const Pass& GetPass(std::string_view name);
std::vector<std::string> PassNames();

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

// All names are checked before the first pass runs.
IRModule RunPasses(IRModule module, const std::vector<std::string>& names,
                   const PassOptions& options = {});

}  // namespace tern::ir

#endif  // TERN_IR_PASS_H_
