// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/bulk_intrinsics.h"

#include "tern/ir/intrinsic.h"

namespace tern::tir {
namespace {

using Args = std::vector<ir::Expr>;

constexpr int64_t kMostAxes = 5;

size_t AxesOf(const Args& args) {
  std::optional<int64_t> axes =
      args.size() > 1 ? ir::AsConstInt(args[1]) : std::optional<int64_t>();
  if (!axes || *axes < 1 || *axes > kMostAxes)
    TERN_THROW(TypeError) << intrinsic::kBulkCopy << " takes a tensor of 1 to " << kMostAxes
                          << " axes";
  return static_cast<size_t>(*axes);
}

DataType CheckBulkCopy(const Args& args) {
  size_t axes = AxesOf(args), count = 2 + 4 * axes;
  if (args.size() != count && args.size() != count + 1)
    TERN_THROW(TypeError) << intrinsic::kBulkCopy << " of " << axes << " axes takes " << count
                          << " arguments and perhaps a barrier, got " << args.size();
  if (!args[0].As<ir::BufferLoadNode>())
    TERN_THROW(TypeError) << intrinsic::kBulkCopy << " takes the first element of a tensor";
  int64_t elements = 1;
  for (size_t i = 0; i < axes; ++i) {
    std::optional<int64_t> extent = ir::AsConstInt(args[2 + 2 * axes + i]);
    if (!extent || *extent < 1)
      TERN_THROW(TypeError) << intrinsic::kBulkCopy << ": the sizes of the box are constants";
    elements *= *extent;
  }
  return args[0].dtype().with_lanes(static_cast<int>(elements));
}

void RegisterBarrierOperation(const char* name, const char* signature, size_t count) {
  ir::RegisterIntrinsic({.name = name,
                         .signature = signature,
                         .pure = false,
                         .infer = [name, count](const Args& args, DataType) {
                           if (args.size() != count)
                             TERN_THROW(TypeError)
                                 << name << " takes " << count << " arguments, got " << args.size();
                           return DataType::Void();
                         }});
}

}  // namespace

ir::Expr BulkCopy::MakeCall(ir::Span span) const {
  Args args = {first, ir::Expr(static_cast<int64_t>(shape.size()))};
  args.insert(args.end(), shape.begin(), shape.end());
  args.insert(args.end(), strides.begin(), strides.end());
  for (int64_t extent : box) args.emplace_back(extent);
  args.insert(args.end(), at.begin(), at.end());
  if (barrier) args.push_back(barrier);
  return ir::CallNode::Make(intrinsic::kBulkCopy, std::move(args), DataType::Void(),
                            std::move(span));
}

int64_t BulkCopy::elements() const {
  int64_t product = 1;
  for (int64_t extent : box) product *= extent;
  return product;
}

bool IsBulkCopy(const ir::Expr& expr) {
  const auto* call = expr.As<ir::CallNode>();
  return call && call->name == intrinsic::kBulkCopy;
}

BulkCopy BulkCopyOf(const ir::CallNode* call) {
  const Args& args = call->args;
  size_t axes = AxesOf(args);
  auto part = [&](size_t i) {
    auto begin = args.begin() + static_cast<std::ptrdiff_t>(2 + i * axes);
    return Args(begin, begin + static_cast<std::ptrdiff_t>(axes));
  };
  BulkCopy copy{args[0], part(0), part(1), {}, part(3), {}};
  for (const ir::Expr& extent : part(2)) copy.box.push_back(*ir::AsConstInt(extent));
  if (args.size() > 2 + 4 * axes) copy.barrier = args.back();
  return copy;
}

void RegisterBulkIntrinsics() {
  using namespace intrinsic;
  ir::RegisterIntrinsic({.name = kBulkCopy,
                         .signature = "bulk_copy(first element, n, shape.., strides.., box.., "
                                      "at.., barrier or nothing) -> the box, row by row",
                         .pure = false,
                         .infer = [](const Args& args, DataType) { return CheckBulkCopy(args); }});
  RegisterBarrierOperation(kBarrierInit, "barrier_init(barrier: handle, count: int)", 2);
  RegisterBarrierOperation(kBarrierExpect, "barrier_expect(barrier: handle, bytes: int)", 2);
  RegisterBarrierOperation(kBarrierArrive, "barrier_arrive(barrier: handle)", 1);
  RegisterBarrierOperation(kBarrierWait, "barrier_wait(barrier: handle, parity: int)", 2);
  RegisterBarrierOperation(kThreadRegisters, "thread_registers(n: int)", 1);
}

}  // namespace tern::tir
