// SPDX-License-Identifier: Apache-2.0
//
// Statements on vectors: copies of elements in a row, and the operations of warps on matrices.
#include <fmt/format.h>

#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/backend/cuda/codegen/tensor_core_code.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::backend::cuda {

namespace {

bool IsRow(const ir::Expr& index) {
  const auto* ramp = index.As<ir::RampNode>();
  return ramp && ir::IsConst(ramp->stride, 1);
}

const ir::CallNode* AsCall(const ir::Expr& expr, const char* name) {
  const auto* call = expr.As<ir::CallNode>();
  return call && call->name == name ? call : nullptr;
}

}  // namespace

bool TakesVector(const ir::Expr& expr) {
  if (const auto* load = expr.As<ir::BufferLoadNode>()) {
    int bytes = expr.dtype().bytes();
    return IsRow(load->indices.back()) && (bytes == 4 || bytes == 8 || bytes == 16) &&
           !expr.dtype().is_bool();
  }
  if (const auto* call = expr.As<ir::CallNode>()) {
    if (tir::IsWarpMatrixOperation(call)) return true;
    return call->name == tir::intrinsic::kAsyncCopy && TakesVector(call->args[0]);
  }
  return IsRow(expr) && expr.dtype().element() != DataType::Float(32);
}

void CodeGenCuda::NoteDefinitions(const tir::PrimFunc& function) {
  struct Scan : tir::StmtVisitor {
    explicit Scan(arith::Analyzer* known) : known(known) {}
    using StmtVisitor::VisitNode;
    void Note(const ir::Var& var, const ir::Expr& value) {
      if (value.dtype().is_integer() && value.dtype().is_scalar())
        known->BindModular(var, known->Modular(value));
    }
    void VisitNode(const tir::LetStmtNode* node) override {
      Note(node->var, node->value);
      VisitChildren(node);
    }
    void VisitNode(const ir::LetNode* node) override {
      Note(node->var, node->value);
      VisitChildren(node);
    }
    arith::Analyzer* known;
  };
  known_ = {};
  Scan(&known_).Visit(function->body);
}

bool CodeGenCuda::IsAligned(const ir::Buffer& buffer, const ir::Expr& index, int bytes) const {
  const ir::Expr& first = index.As<ir::RampNode>() ? index.As<ir::RampNode>()->base : index;
  bool is_own = buffer->scope != "global";  // then it was allocated here, aligned to all of them
  if (!is_own && buffer->alignment % bytes != 0) return false;
  if (!is_own && buffer->alignment == 0) return false;
  arith::ModularSet set = known_.Modular(first);
  int64_t elements = bytes / buffer->dtype.bytes();
  return set.knows_remainder(elements) && set.base % elements == 0;
}

std::string CodeGenCuda::AddressOf(const ir::Buffer& buffer, const ir::Expr& index) {
  const auto* row = index.As<ir::RampNode>();
  return fmt::format("&{}[{}]", NameOf(buffer), PrintConverted(row->base));
}

std::string CodeGenCuda::AddressOf(const ir::Expr& load) {
  const auto* node = load.As<ir::BufferLoadNode>();
  TERN_CHECK(node && IsRow(node->indices[0])) << load.span().str()
                                              << ": operations on matrices take elements of memory "
                                                 "that lie in a row, not a computed vector";
  int bytes = std::min(node->dtype.bytes(), 16);
  TERN_CHECK(IsAligned(node->buffer, node->indices[0], bytes))
      << load.span().str() << ": a row of " << node->buffer->name
      << " in an operation on matrices starts at no multiple of " << bytes
      << " bytes, or that cannot be told";
  return AddressOf(node->buffer, node->indices[0]);
}

void CodeGenCuda::EmitVectorStore(const tir::BufferStoreNode* node) {
  using namespace tir::intrinsic;
  const ir::Expr& value = node->value;
  std::string to = AddressOf(node->buffer, node->indices[0]);
  bool transposed = AsCall(value, kWarpMatrixLoadTransposed);
  if (const auto* load =
          transposed ? AsCall(value, kWarpMatrixLoadTransposed) : AsCall(value, kWarpMatrixLoad)) {
    Helper helper = LoadMatrixHelper(transposed);
    return Line(fmt::format("{}({}, {});", UseHelper(helper.name, helper.definition), to,
                            AddressOf(load->args[0])));
  }
  if (const auto* multiply = AsCall(value, kWarpMatrixMultiply)) {
    Helper helper = MultiplyHelper(multiply->args[1].dtype().element());
    return Line(fmt::format("{}({}, {}, {}, {});", UseHelper(helper.name, helper.definition), to,
                            AddressOf(multiply->args[0]), AddressOf(multiply->args[1]),
                            AddressOf(multiply->args[2])));
  }
  const auto* async = AsCall(value, kAsyncCopy);
  EmitCopy(node, async ? async->args[0] : value, async != nullptr);
}

void CodeGenCuda::EmitCopy(const tir::BufferStoreNode* node, const ir::Expr& value, bool async) {
  const auto* load = value.As<ir::BufferLoadNode>();
  int bytes = value.dtype().bytes();
  if (!load || !IsAligned(node->buffer, node->indices[0], bytes) ||
      !IsAligned(load->buffer, load->indices[0], bytes))
    return EmitLanes(node, value);
  std::string to = AddressOf(node->buffer, node->indices[0]),
              from = AddressOf(load->buffer, load->indices[0]);
  if (async && node->buffer->scope == "shared" && load->buffer->scope == "global") {
    Helper helper = AsyncCopyHelper(bytes);
    return Line(fmt::format("{}({}, {});", UseHelper(helper.name, helper.definition), to, from));
  }
  std::string type = bytes == 16 ? "uint4" : bytes == 8 ? "uint2" : "unsigned int";
  Line(fmt::format("*({0}*)({1}) = *(const {0}*)({2});", type, to, from));
}

// Each by itself, all of them read before the first is written.
void CodeGenCuda::EmitLanes(const tir::BufferStoreNode* node, const ir::Expr& value) {
  auto lane_of = [](const ir::Expr& index, int lane) {
    const auto* row = index.As<ir::RampNode>();
    return row->base + row->stride * ir::IntImmNode::Make(row->stride.dtype(), lane);
  };
  std::vector<std::pair<ir::Expr, ir::Var>> lanes;
  Line("{");
  for (int lane = 0; lane < value.dtype().lanes(); ++lane) {
    const auto* load = value.As<ir::BufferLoadNode>();
    ir::Expr element =
        load ? ir::BufferLoadNode::Make(load->buffer, {lane_of(load->indices[0], lane)})
             : lane_of(value, lane);
    lanes.emplace_back(lane_of(node->indices[0], lane), ir::Var("lane", element.dtype()));
    Line(fmt::format("{} {} = {};", ValueType(element.dtype()), DefineVar(lanes.back().second),
                     Print(element).text));
  }
  for (const auto& [index, var] : lanes)
    Emit(tir::BufferStoreNode::Make(node->buffer, {index}, var, node->span));
  Line("}");
}

}  // namespace tern::backend::cuda
