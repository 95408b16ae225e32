// SPDX-License-Identifier: Apache-2.0
//
// RegisterCodegen of a build with LLVM.
#include <llvm/IR/OptBisect.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <map>
#include <mutex>

#include "tern/backend/hexagon/codegen/kind.h"
#include "tern/backend/hexagon/codegen/llvm/builtins.h"
#include "tern/backend/hexagon/codegen/llvm/codegen_hexagon.h"
#include "tern/backend/hexagon/schedule/hvx_rules.h"
#include "tern/codegen/device_hooks.h"
#include "tern/codegen/llvm/linker.h"
#include "tern/codegen/llvm/llvm_intrinsics.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/transform/threads/serialize_threads.h"

namespace tern::backend::hexagon {
namespace {

using Output = codegen::LLVMTarget::Output;

// Keeps the passes away that make wrong code in LLVM 22: hardware loops count to 128 by an
// instruction whose constant has 8 bits and a sign, and the pipeliner loses values that go from one
// iteration to the next (LLVM's issues 208943 and 209946).
class SoundPasses : public llvm::OptPassGate {
 public:
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef) const override {
    return name != "hwloops" && name != "pipeliner";
  }
  bool isEnabled() const override { return true; }

  static SoundPasses& Get() {
    static SoundPasses passes;
    return passes;
  }
};

codegen::LLVMTarget MachineOf(const target::Target& target) {
  std::string version = target->GetString("mcpu");
  std::string features = "-small-data";
  if (int64_t bytes = HvxBytes(target))
    features += ",+hvx" + version + ",+hvx-length" + std::to_string(bytes) + "b";
  return {"hexagon-unknown-linux-musl", "hexagon" + version, features};
}

// An object of all functions that LLVM may call; the linker takes those that it does.
std::string Builtins(const target::Target& target) {
  static std::mutex mutex;
  static std::map<std::string, std::string> objects;
  std::scoped_lock lock(mutex);
  std::string& object = objects[target->GetString("mcpu")];
  if (object.empty()) {
    codegen::LLVMTarget machine = MachineOf(target);
    llvm::LLVMContext context;
    context.setOptPassGate(SoundPasses::Get());
    object = machine.Emit(machine.Parse(kBuiltins, context).get(), Output::kObject);
  }
  return object;
}

std::string TextOf(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

ffi::Module Build(const ir::IRModule& module, const target::Target& target) {
  codegen::LLVMTarget machine = MachineOf(target);
  llvm::LLVMContext context;
  context.setOptPassGate(SoundPasses::Get());
  CodeGenHexagon gen(context, machine);
  for (const auto& [name, function] : module->functions) gen.AddFunction(tir::AsPrimFunc(function));
  std::unique_ptr<llvm::Module> code = gen.Finish();
  machine.Optimize(code.get());
  std::string ir = TextOf(*code), changed = codegen::PostProcess("hexagon", ir);
  if (changed != ir) code = machine.Parse(ir = changed, context);
  // Code generation changes the module: each form is made of a copy.
  auto emit = [&](Output output) { return machine.Emit(llvm::CloneModule(*code).get(), output); };
  std::string object = emit(Output::kObject);
  std::optional<std::string> program = codegen::CompileByHook("hexagon", ir);
  if (!program) program = codegen::LinkDeviceObject({object, Builtins(target)}, "hexagonelf", true);
  return runtime::CreateDeviceModule({.kind = "hexagon",
                                      .fmt = "so",
                                      .fmap = gen.kernels(),
                                      .payload = {{"", *program}},
                                      .source = {{"asm", emit(Output::kAssembly)},
                                                 {"bc", emit(Output::kBitcode)},
                                                 {"ll", ir},
                                                 {"obj", object}}});
}

}  // namespace

void RegisterCodegen() {
  codegen::RegisterLLVMIntrinsics();
  target::TargetKind kind = HexagonKind();
  kind.intrinsic_namespaces = {codegen::kLLVMNamespace};
  target::RegisterTargetKind(std::move(kind));
  tir::RunThreadsInTurn("hexagon");
  tir::KeepIntrinsics("hexagon", {"fma"},
                      [](DataType dtype) { return dtype == DataType::Float(32); });
  tir::KeepIntrinsics("hexagon", {"sqrt", "copysign"}, tir::IsWideFloat);
  tir::KeepIntrinsics("hexagon", {"abs", "popcount", "clz", "ctz"}, [](DataType dtype) {
    return dtype.is_scalar() && (dtype.is_integer() || tir::IsWideFloat(dtype));
  });
  RegisterHvxRules();
  ffi::RegisterGlobal("target.build.hexagon",
                      ffi::Function::FromTyped("target.build.hexagon", Build));
}

}  // namespace tern::backend::hexagon
