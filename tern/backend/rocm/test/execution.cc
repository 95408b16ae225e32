// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/test/execution.h"

#include <cstring>
#include <map>

#include "tern/arith/analyzer.h"
#include "tern/ir/mutator.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/function.h"
#include "tern/tir/interpreter/interpreter.h"
#include "tern/tir/visitor.h"

namespace tern::backend::rocm::test {
namespace {

// The value of a scalar argument, from its bytes.
ffi::Any ReadScalar(DataType dtype, const void* bytes) {
  if (dtype.is_float()) {
    if (dtype.bits() == 64) return *static_cast<const double*>(bytes);
    TERN_CHECK(dtype.bits() == 32) << "a scalar of type " << dtype.str();
    return static_cast<double>(*static_cast<const float*>(bytes));
  }
  if (dtype.is_bool()) return *static_cast<const uint8_t*>(bytes) != 0;
  uint64_t value = 0;
  std::memcpy(&value, bytes, static_cast<size_t>(dtype.bytes()));
  int unused = 64 - dtype.bits();
  if (dtype.is_int()) return static_cast<int64_t>(value << unused) >> unused;
  return static_cast<int64_t>(value);
}

// Expressions of the kernel's parameters, as numbers.
class Numbers {
 public:
  void Define(const ir::Var& var, int64_t value) {
    map_.emplace(var.node(), ir::MakeConst(var.dtype(), value));
  }
  int64_t Of(const ir::Expr& expr) const {
    ir::Expr value = arith::Analyzer().Simplify(ir::Substitute(expr, map_));
    std::optional<int64_t> number = ir::AsConstInt(value);
    TERN_CHECK(number) << "a size of the kernel is not given by its arguments";
    return *number;
  }

 private:
  ir::VarMap map_;
};

void CheckMetadata(const tir::PrimFunc& function, const KernelMetadata& metadata) {
  TERN_CHECK(metadata.args.size() == function->params.size())
      << "the metadata lists " << metadata.args.size() << " arguments of "
      << function->params.size();
  uint64_t end = 0;
  for (size_t i = 0; i < metadata.args.size(); ++i) {
    const KernelArg& arg = metadata.args[i];
    const tir::Param& param = function->params[i];
    uint64_t bytes = param.is_tensor() ? 8 : static_cast<uint64_t>(param.var.dtype().bytes());
    TERN_CHECK(arg.kind == (param.is_tensor() ? "global_buffer" : "by_value") &&
               arg.size == bytes && arg.offset % bytes == 0 && arg.offset >= end)
        << "argument " << i << " is " << arg.kind << " of " << arg.size << " bytes at "
        << arg.offset;
    end = arg.offset + arg.size;
  }
  TERN_CHECK(end <= metadata.kernarg_bytes) << "arguments behind the end of their memory";
}

// Launches give what the thread loops say.
void CheckExtents(const tir::PrimFunc& function, const Launch& launch, const Numbers& numbers) {
  struct Scan : tir::StmtVisitor {
    explicit Scan(const Numbers& numbers) : numbers(numbers) {}
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::ForNode* node) override {
      if (node->for_kind == tir::ForKind::kThread) extents[node->thread] = numbers.Of(node->extent);
      VisitChildren(node);
    }
    void VisitNode(const tir::AllocateNode* node) override {
      if (node->buffer->scope == ir::StorageScope::kSharedDynamic)
        dynamic = numbers.Of(node->buffer->shape[0]) * node->buffer->dtype.bytes();
      VisitChildren(node);
    }
    const Numbers& numbers;
    std::map<std::string, int64_t> extents;
    int64_t dynamic = 0;
  } scan(numbers);
  scan.Visit(function->body);
  for (int i = 0; i < 3; ++i)
    for (auto [axis, given] :
         {std::pair("blockIdx.", launch.grid[i]), {"threadIdx.", launch.block[i]}}) {
      std::string name = std::string(axis) + "xyz"[i];
      auto it = scan.extents.find(name);
      int64_t expected = it == scan.extents.end() ? 1 : it->second;
      TERN_CHECK(given == expected)
          << name << " of the launch is " << given << ", of the kernel " << expected;
    }
  TERN_CHECK(launch.dynamic_shared == scan.dynamic)
      << "the launch gives " << launch.dynamic_shared << " bytes of shared memory, the kernel has "
      << scan.dynamic;
}

runtime::Tensor TensorAt(const ir::Buffer& buffer, void* pointer, const Numbers& numbers,
                         const BytesAt& bytes_at) {
  int64_t elements = numbers.Of(buffer->shape.at(0));
  uint64_t bytes = static_cast<uint64_t>(elements * buffer->dtype.bytes());
  TERN_CHECK(bytes_at(pointer) >= bytes)
      << buffer->name << ": " << bytes << " bytes are not in memory of the device";
  TERN_CHECK(
      reinterpret_cast<uintptr_t>(pointer) %
          static_cast<uintptr_t>(std::max<int64_t>(buffer->alignment, buffer->dtype.bytes())) ==
      0)
      << buffer->name << " is not aligned";
  runtime::TensorMemory memory{.data = std::shared_ptr<void>(pointer, [](void*) {}),
                               .bytes = bytes};
  return ffi::Make<runtime::TensorObj>(std::vector<int64_t>{elements}, buffer->dtype,
                                       TernDevice{kTernDeviceCpu, 0}, runtime::TensorLayout{},
                                       std::move(memory));
}

}  // namespace

void Execute(const ir::IRModule& module, const std::string& name, const KernelMetadata& metadata,
             const Launch& launch, const BytesAt& bytes_at) {
  tir::PrimFunc function = tir::AsPrimFunc(module->functions.at(name));
  CheckMetadata(function, metadata);
  uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  TERN_CHECK(threads <= metadata.max_threads)
      << "blocks of " << threads << " threads, the code is for " << metadata.max_threads;
  Numbers numbers;
  std::vector<ffi::Any> args;
  for (size_t i = 0; i < function->params.size(); ++i) {
    const tir::Param& param = function->params[i];
    args.push_back(param.is_tensor() ? ffi::Any() : ReadScalar(param.var.dtype(), launch.args[i]));
    if (!param.is_tensor() && param.var.dtype().is_integer() && !param.var.dtype().is_bool())
      numbers.Define(param.var, args.back().As<int64_t>());
  }
  for (size_t i = 0; i < function->params.size(); ++i)
    if (function->params[i].is_tensor())
      args[i] = TensorAt(function->params[i].buffer, *static_cast<void**>(launch.args[i]), numbers,
                         bytes_at);
  CheckExtents(function, launch, numbers);
  tir::Interpret(module, name, args);
}

}  // namespace tern::backend::rocm::test
