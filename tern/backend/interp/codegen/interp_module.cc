// SPDX-License-Identifier: Apache-2.0
//
// The target `interp`: functions as they were written, run by the interpreter.
#include "tern/ffi/module.h"
#include "tern/ffi/registry.h"
#include "tern/ir/module.h"
#include "tern/target/target.h"
#include "tern/tir/interpreter/interpreter.h"
#include "tern/tir/text.h"

namespace tern::backend::interp {
namespace {

class InterpModule : public ffi::ModuleObj {
 public:
  explicit InterpModule(ir::IRModule module) : module_(std::move(module)) {}

  std::string kind() const override { return "interp"; }
  uint32_t properties() const override { return kRunnable; }
  ffi::Function GetFunction(std::string_view name) override {
    if (!module_->functions.count(std::string(name))) return {};
    return ffi::Function::FromPacked([module = module_, name = std::string(name)](ffi::Args args) {
      std::vector<ffi::Any> owned;
      for (const ffi::AnyView& arg : args) owned.emplace_back(arg);
      tir::Interpret(module, name, owned);
      return ffi::Any();
    });
  }
  std::vector<std::string> FunctionNames() const override {
    std::vector<std::string> names;
    for (const auto& [name, function] : module_->functions)
      if (tir::IfPrimFunc(function)) names.push_back(name);
    return names;
  }
  std::string InspectSource(std::string_view format) const override {
    if (format.empty() || format == "tir") return tir::PrintModule(module_);
    return ModuleObj::InspectSource(format);
  }
  std::vector<std::string> SourceFormats() const override { return {"tir"}; }

 private:
  ir::IRModule module_;
};

}  // namespace

void RegisterCodegen();
void RegisterCodegen() {
  target::TargetKind kind;
  kind.name = "interp";
  kind.description = "the interpreter: slow, exact, and strict about mistakes";
  kind.module_kind = "interp";
  kind.device = "cpu";
  kind.host_rank = -1;
  kind.lowered = false;
  target::RegisterTargetKind(kind);
  ffi::RegisterGlobal(
      "target.build.interp",
      ffi::Function::FromTyped("target.build.interp", [](ir::IRModule module, target::Target) {
        return ffi::Module(ffi::Make<InterpModule>(std::move(module)));
      }));
}

}  // namespace tern::backend::interp
