// SPDX-License-Identifier: Apache-2.0
//
// Copies of boxes of tensors, which parameters of the kernel describe.
#include <fmt/format.h>

#include "tern/backend/cuda/codegen/bulk_copy_code.h"
#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/codegen/kernel_info.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::backend::cuda {
namespace {

constexpr int64_t kRegisters = 65536, kRegisterUnit = 8;  // of a multiprocessor
constexpr int32_t kSwizzleBytes = 128;

struct Scan : tir::StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitNode(const ir::CallNode* node) override {
    if (node->name == tir::intrinsic::kBulkCopy) copies.push_back(node);
    sets_registers |= node->name == tir::intrinsic::kThreadRegisters;
    VisitChildren(node);
  }
  std::vector<const ir::CallNode*> copies;
  bool sets_registers = false;
};

}  // namespace

// The tensor of a copy, as the launch makes a map of it.
runtime::TensorMapInfo CodeGenCuda::MapOf(const ir::CallNode* node) const {
  tir::BulkCopy copy = tir::BulkCopyOf(node);
  const auto* first = copy.first.As<ir::BufferLoadNode>();
  runtime::TensorMapInfo map;
  map.dtype = first->buffer->dtype;
  map.swizzle = kSwizzleBytes;
  auto argument = kernel_args_.find(first->buffer->data.node());
  TERN_CHECK(argument != kernel_args_.end() && ir::IsConst(first->indices[0], 0))
      << ir::At(node->span) << node->name << " of " << first->buffer->name
      << ", which is no tensor of the kernel's arguments";
  map.arg = argument->second;
  for (size_t i = 0; i < copy.box.size(); ++i) {
    std::optional<int64_t> extent = ir::AsConstInt(copy.shape[i]),
                           stride = ir::AsConstInt(copy.strides[i]);
    auto rows = kernel_args_.find(copy.shape[i].As<ir::VarNode>());
    if (i == 0 && rows != kernel_args_.end()) {
      map.first_extent = rows->second;
      extent = 1;
    }
    TERN_CHECK(extent && stride) << ir::At(node->span) << node->name << " of "
                                 << first->buffer->name << ", whose sizes are not constant";
    map.shape.push_back(*extent);
    map.strides.push_back(*stride * map.dtype.bytes());
    map.box.push_back(copy.box[i]);
  }
  return map;
}

// The parameters behind those of the function: ", const __grid_constant__ tern_tensor_map map_0".
std::string CodeGenCuda::TensorMapParams(const tir::PrimFunc& function) {
  Scan scan;
  scan.Visit(function->body);
  sets_registers_ = scan.sets_registers;
  tensor_maps_.clear();
  kernel_args_.clear();
  for (size_t i = 0; i < function->params.size(); ++i)
    kernel_args_[function->params[i].var.node()] = static_cast<int64_t>(i);
  std::string params;
  for (const ir::CallNode* copy : scan.copies) {
    runtime::TensorMapInfo map = MapOf(copy);
    if (std::find(tensor_maps_.begin(), tensor_maps_.end(), map) != tensor_maps_.end()) continue;
    Helper type = TensorMapHelper();
    params += fmt::format("{}const __grid_constant__ {} tern_map_{}",
                          function->params.empty() && tensor_maps_.empty() ? "" : ", ",
                          UseHelper(type.name, type.definition), tensor_maps_.size());
    tensor_maps_.push_back(std::move(map));
  }
  return params;
}

std::string CodeGenCuda::BarrierAddress(const ir::Expr& address) {
  const auto* call = address.As<ir::CallNode>();
  TERN_ICHECK(call && call->name == tir::intrinsic::kAddressOf) << "a barrier is its address";
  const auto* load = call->args[0].As<ir::BufferLoadNode>();
  return NameOf(load->buffer) + " + " + Print(load->indices[0], codegen::Precedence::kAdditive);
}

void CodeGenCuda::EmitBulkCopy(const tir::BufferStoreNode* node, const ir::CallNode* call) {
  TERN_CHECK(group_operands_.contains(node->buffer.get()))
      << ir::At(call->span) << call->name << " to " << node->buffer->name
      << ", which no multiplication of groups of warps reads";
  tir::BulkCopy copy = tir::BulkCopyOf(call);
  TERN_CHECK(copy.barrier.get()) << ir::At(call->span) << call->name << " without a barrier";
  runtime::TensorMapInfo map = MapOf(call);
  auto number = std::find(tensor_maps_.begin(), tensor_maps_.end(), map) - tensor_maps_.begin();
  std::string args =
      fmt::format("{}, &tern_map_{}", AddressOf(node->buffer, node->indices[0]), number);
  for (size_t i = copy.at.size(); i-- > 0;)
    args += ", (int)" + Print(copy.at[i], codegen::Precedence::kUnary);
  EmitHelper(BulkCopyHelper(copy.at.size()), args + ", " + BarrierAddress(copy.barrier));
}

bool CodeGenCuda::EmitBarrierCall(const ir::CallNode* node) {
  using namespace tir::intrinsic;
  if (node->name == kThreadRegisters) {
    int64_t registers = *ir::AsConstInt(node->args[0]);
    int64_t share = kRegisters / threads_ / kRegisterUnit * kRegisterUnit;
    EmitHelper(RegistersHelper(registers, registers > share));
    return true;
  }
  Helper helper = node->name == kBarrierInit     ? BarrierInitHelper()
                  : node->name == kBarrierExpect ? BarrierExpectHelper()
                  : node->name == kBarrierArrive ? BarrierArriveHelper()
                  : node->name == kBarrierWait   ? BarrierWaitHelper()
                                                 : Helper();
  if (helper.name.empty()) return false;
  std::string args = BarrierAddress(node->args[0]);
  if (node->args.size() > 1) args += ", (int)" + Print(node->args[1], codegen::Precedence::kUnary);
  EmitHelper(helper, args);
  return true;
}

}  // namespace tern::backend::cuda
