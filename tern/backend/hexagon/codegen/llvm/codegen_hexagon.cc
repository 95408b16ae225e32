// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/hexagon/codegen/llvm/codegen_hexagon.h"

#include "tern/ir/diagnostic.h"

namespace tern::backend::hexagon {

constexpr uint64_t kSlotBytes = 8;

llvm::Function* CodeGenHexagon::DeclareFunction(const tir::PrimFunc& function) {
  runtime::KernelInfo& kernel = kernels_[function->name];
  if (auto it = function->attrs.find(tir::attr::kLaunchTags); it != function->attrs.end())
    for (const ffi::Any& tag : *it->second.As<ffi::Array>())
      kernel.launch_tags.push_back(tag.As<std::string>());
  for (const tir::Param& param : function->params)
    kernel.args.push_back(param.is_tensor() ? DataType::Handle() : param.var.dtype());
  auto* type = llvm::FunctionType::get(builder().getInt32Ty(), {builder().getPtrTy()}, false);
  auto* declared =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, function->name, module());
  declared->setDoesNotThrow();
  return declared;
}

llvm::Value* CodeGenHexagon::LoadSlot(size_t number, DataType dtype) {
  llvm::Value* slots = function()->getArg(0);
  return Load(dtype, builder().CreatePtrAdd(slots, builder().getInt32(number * kSlotBytes)));
}

void CodeGenHexagon::EmitFunctionStart(const tir::PrimFunc& function) {
  size_t slot = 0;
  for (const tir::Param& param : function->params)
    Bind(param.var, LoadSlot(slot++, param.is_tensor() ? DataType::Handle() : param.var.dtype()));
  extents_.clear();
  for (const char* axis : {"blockIdx.x", "blockIdx.y", "blockIdx.z"})
    extents_[axis] = LoadSlot(slot++, DataType::UInt(32));
}

void CodeGenHexagon::EmitReturn() { builder().CreateRet(builder().getInt32(0)); }

// Of a block; the threads of a block were serial loops before they came here.
void CodeGenHexagon::EmitThreadLoop(const tir::ForNode* node) {
  auto extent = extents_.find(node->thread);
  TERN_ICHECK(extent != extents_.end()) << node->thread << " is no axis of the launch";
  DataType dtype = node->var.dtype();
  EmitLoop(node, Emit(node->min), Convert(extent->second, DataType::UInt(32), dtype));
}

void CodeGenHexagon::EmitAssert(const tir::AssertNode* node) {
  TERN_ICHECK(false) << ir::At(node->span) << "an assert in a kernel";
}

}  // namespace tern::backend::hexagon
