// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/pass.h"
#include "tern/ffi/text.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace tern::ir {
namespace {

// Filled once by Initialize; passes are then only read.
std::map<std::string, Pass, std::less<>>& Passes() {
  static auto* passes = new std::map<std::string, Pass, std::less<>>;
  return *passes;
}

}  // namespace

void RegisterPass(Pass pass) {
  std::string name = pass.name;
  bool added = Passes().emplace(name, std::move(pass)).second;
  TERN_ICHECK(added) << "pass " << name << " is registered twice";
}

const Pass& GetPass(std::string_view name) {
  auto it = Passes().find(name);
  if (it == Passes().end()) {
    std::vector<std::string> names = PassNames();
    TERN_THROW(ValueError) << "unknown pass '" << name << "'" << ffi::DidYouMean(name, names)
                           << "; the passes are: " << ffi::Join(names);
  }
  return it->second;
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const auto& [name, pass] : Passes()) names.push_back(name);
  return names;
}

IRModule RunPasses(IRModule module, const std::vector<std::string>& names,
                   const PassOptions& options) {
  std::vector<const Pass*> passes;
  for (const std::string& name : names) passes.push_back(&GetPass(name));
  for (const std::string& name : options.print_after)
    if (name != "*") GetPass(name);
  auto prints = [&](const std::string& name) {
    return std::any_of(options.print_after.begin(), options.print_after.end(),
                       [&](const std::string& asked) { return asked == "*" || asked == name; });
  };

  if (options.verify) options.verify(module, "");
  for (const Pass* pass : passes) {
    auto start = std::chrono::steady_clock::now();
    module = WithContext("running pass " + pass->name, [&] { return pass->run(module); });
    if (options.timing)
      options.timing->emplace_back(
          pass->name,
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (options.print && prints(pass->name)) options.print(module, pass->name);
    if (options.verify) options.verify(module, pass->name);
  }
  return module;
}

}  // namespace tern::ir
