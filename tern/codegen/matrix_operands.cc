// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/matrix_operands.h"

#include <algorithm>

#include "tern/ir/diagnostic.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/visitor.h"

namespace tern::codegen {

void MatrixOperands::Begin(const tir::PrimFunc& kernel) {
  struct Scan : tir::StmtVisitor {
    Scan(arith::Analyzer* known, ir::VarMap* defined) : known(known), defined(defined) {}
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::LetStmtNode* node) override {
      if (node->value.dtype().is_integer() && node->value.dtype().is_scalar()) {
        known->BindModular(node->var, known->Modular(node->value));
        if (!ir::MayFault(node->value)) (*defined)[node->var.node()] = node->value;
      }
      VisitChildren(node);
    }
    arith::Analyzer* known;
    ir::VarMap* defined;
  };
  known_ = {};
  defined_.clear();
  Scan(&known_, &defined_).Visit(kernel->body);
}

const ir::BufferLoadNode* MatrixOperands::Row(const ir::Expr& operand) const {
  const auto* load = operand.As<ir::BufferLoadNode>();
  const auto* row = load ? load->indices[0].As<ir::RampNode>() : nullptr;
  TERN_CHECK(row && ir::IsConst(row->stride, 1))
      << ir::At(operand.span()) << "an operation on matrices takes elements in a row in memory";
  constexpr int64_t kMost = 16;
  int64_t bytes = std::min<int64_t>(load->dtype.lanes() * load->dtype.element().bytes(), kMost);
  TERN_CHECK(tir::IsAlignedPlace(load->buffer, {row->base}, bytes, known_))
      << ir::At(operand.span()) << "it cannot be proven that a row of " << load->buffer->name
      << ", an operand of an operation on matrices, starts at a multiple of " << bytes << " bytes";
  return load;
}

bool MatrixOperands::IsAligned(const ir::BufferLoadNode* row, int64_t bytes) const {
  return tir::IsAlignedPlace(row->buffer, {row->indices[0].As<ir::RampNode>()->base}, bytes,
                             known_);
}

std::optional<int64_t> MatrixOperands::Distance(const ir::BufferLoadNode* from,
                                                const ir::BufferLoadNode* to) const {
  if (!from->buffer.same(to->buffer)) return {};
  auto start = [](const ir::BufferLoadNode* row) {
    return row->indices[0].As<ir::RampNode>()->base;
  };
  arith::Analyzer analyzer;
  ir::Expr distance = start(to) - start(from);
  // A definition may be by another one, and one that both have need not be looked at.
  constexpr int kMostDefinitions = 8;
  for (int i = 0; i < kMostDefinitions; ++i) {
    distance = analyzer.Simplify(distance);
    if (std::optional<int64_t> number = ir::AsConstInt(distance)) return number;
    distance = ir::Substitute(distance, defined_);
  }
  return {};
}

}  // namespace tern::codegen
