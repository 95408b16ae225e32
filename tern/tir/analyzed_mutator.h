// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYZED_MUTATOR_H_
#define TERN_TIR_ANALYZED_MUTATOR_H_

#include "tern/arith/analyzer.h"
#include "tern/tir/visitor.h"

namespace tern::tir {

// Extents are not negative, so neither is n where n or n * 8 is one.
void BindExtents(const Buffer& buffer, arith::Analyzer* analyzer);

// A mutator whose analyzer knows the ranges of the variables in scope: loops, lets, and extents,
// which are not negative.
class AnalyzedMutator : public StmtMutator {
 protected:
  using StmtMutator::MutateNode;

  Buffer MutateDef(const BufferDef& buffer) override;
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override;

  arith::Analyzer analyzer_;
};

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYZED_MUTATOR_H_
