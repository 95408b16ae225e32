// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/llvm/jit.h"

#include <dlfcn.h>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/Debugging/DebugInfoSupport.h>
#include <llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h>
#include <llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h>
#include <llvm/TargetParser/Host.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tern/ffi/environment.h"

namespace tern::backend::cpu {
namespace {

void Check(llvm::Error error) {
  if (!error) return;
  TERN_THROW(RuntimeError) << "cannot load the compiled code: " << llvm::toString(std::move(error));
}

template <class T>
T Check(llvm::Expected<T> expected) {
  Check(expected.takeError());
  return std::move(*expected);
}

bool PerfIsAsked() { return environment::Flag("TERN_JIT_PERF", false); }

// Plugins of the linker that tell others of what was linked.
void AddListeners(llvm::orc::LLJIT* jit) {
  auto* layer = llvm::dyn_cast<llvm::orc::ObjectLinkingLayer>(&jit->getObjLinkingLayer());
  TERN_ICHECK(layer) << "another linker";
  llvm::orc::ExecutionSession& session = jit->getExecutionSession();
  llvm::Error error = llvm::Error::success();
  auto debugger = std::make_shared<llvm::orc::ELFDebugObjectPlugin>(
      session, /*RequireDebugSections=*/true, /*AutoRegisterCode=*/true, error);
  Check(std::move(error));
  layer->addPlugin(std::move(debugger));
  if (!PerfIsAsked()) return;
  auto address = [](auto* function) {
    return llvm::orc::ExecutorAddr::fromPtr(reinterpret_cast<void*>(function));
  };
  layer->addPlugin(std::make_shared<llvm::orc::DebugInfoPreservationPlugin>());
  layer->addPlugin(std::make_shared<llvm::orc::PerfSupportPlugin>(
      session.getExecutorProcessControl(), address(&llvm_orc_registerJITLoaderPerfStart),
      address(&llvm_orc_registerJITLoaderPerfEnd), address(&llvm_orc_registerJITLoaderPerfImpl),
      /*EmitDebugInfo=*/true, /*EmitUnwindInfo=*/false));
}

}  // namespace

Jit::Jit(const std::vector<std::string>& objects) {
  // The object is machine code already: the builder is there for the triple alone.
  llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(llvm::sys::getProcessTriple())};
  jit_ = Check(llvm::orc::LLJITBuilder()
                   .setJITTargetMachineBuilder(std::move(machine))
                   .setLinkProcessSymbolsByDefault(false)
                   .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                   .setObjectLinkingLayerCreator([](llvm::orc::ExecutionSession& session) {
                     return std::make_unique<llvm::orc::ObjectLinkingLayer>(session);
                   })
                   .create());
  AddListeners(jit_.get());
  llvm::orc::ExecutionSession& session = jit_->getExecutionSession();
  // What the session reports comes back as the error of Lookup too; it would print it.
  session.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  auto symbol = [&](auto* function) {
    return llvm::orc::ExecutorSymbolDef(
        llvm::orc::ExecutorAddr::fromPtr(reinterpret_cast<void*>(function)),
        llvm::JITSymbolFlags::Exported);
  };
  using Copy = void* (*)(void*, const void*, size_t);
  using Fill = void* (*)(void*, int, size_t);
  Check(jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(
      {{jit_->mangleAndIntern("dlopen"), symbol(dlopen)},
       {jit_->mangleAndIntern("dlsym"), symbol(dlsym)},
       {jit_->mangleAndIntern("memcpy"), symbol(static_cast<Copy>(std::memcpy))},
       {jit_->mangleAndIntern("memmove"), symbol(static_cast<Copy>(std::memmove))},
       {jit_->mangleAndIntern("memset"), symbol(static_cast<Fill>(std::memset))}})));
  // What an object runs when it is loaded has a symbol by the object's name.
  for (size_t i = 0; i < objects.size(); ++i)
    Check(jit_->addObjectFile(
        llvm::MemoryBuffer::getMemBufferCopy(objects[i], "tern." + std::to_string(i))));
}

Jit::~Jit() = default;

void* Jit::Lookup(const std::string& symbol) { return Check(jit_->lookup(symbol)).toPtr<void*>(); }

}  // namespace tern::backend::cpu
