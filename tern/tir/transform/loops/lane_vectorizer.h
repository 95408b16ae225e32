// SPDX-License-Identifier: Apache-2.0
//
// The iterations of one loop, run at once on the lanes of vectors.
#ifndef TERN_TIR_TRANSFORM_LOOPS_LANE_VECTORIZER_H_
#define TERN_TIR_TRANSFORM_LOOPS_LANE_VECTORIZER_H_

#include <optional>
#include <unordered_set>

#include "tern/arith/analyzer.h"
#include "tern/ir/mutator.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/fault_analysis.h"
#include "tern/tir/analysis/reduction_update.h"
#include "tern/tir/stmt.h"

namespace tern::tir {

class LaneVectorizer {
 public:
  // `kind` is what code is generated for; null: any vector is fine.
  // `faults` and `analyzer` know what is in scope, the loop's variable too.
  LaneVectorizer(const ForNode* loop, int lanes, const target::TargetKind* kind,
                 FaultAnalysis faults, const arith::Analyzer& analyzer);

  // What only some lanes do is done with a predicate. Under conditions that `mostly_hold`, most
  // vectors are full, and those have code without one.
  void UseMasks(std::function<bool(const Expr&)> mostly_hold) {
    mostly_hold_ = std::move(mostly_hold);
  }

  // Loads of a select, of which some lanes need none, have a predicate.
  void MaskSelects() { masks_selects_ = true; }

  // Code that does what the loop does, given that its iterations are independent: what has no
  // vector form runs in serial loops over the lanes. Null where nothing has a vector form.
  Stmt Run();
  // The same of a loop that is a reduction, S = S op value, in any order: halves of the vector are
  // combined until it is one value. Lanes in which `condition` (null: true) does not hold have
  // the identity of the operator. Null where there is no vector form.
  Stmt RunReduction(const ReductionUpdate& update, const Expr& condition);

 private:
  // The value in all lanes: a scalar where it is the same in all of them, null where it has no
  // vector form.
  Expr Vectorize(const Expr& expr);
  Expr VectorizeNode(const VarNode* node);
  template <ExprKind K>
  Expr VectorizeNode(const ir::BinaryNode<K>* node);
  Expr VectorizeNode(const ir::NotNode* node);
  Expr VectorizeNode(const ir::SelectNode* node);
  Expr VectorizeNode(const ir::CastNode* node);
  Expr VectorizeNode(const ir::LetNode* node);
  Expr VectorizeNode(const ir::CallNode* node);
  Expr VectorizeNode(const ir::BufferLoadNode* node);
  Expr VectorizeNode(const ir::ExprNode*) { return {}; }

  // All lanes of the statement; null where it has no vector form.
  Stmt Vectorize(const Stmt& stmt);
  Stmt VectorizeNode(const BufferStoreNode* node);
  Stmt VectorizeNode(const LetStmtNode* node);
  Stmt VectorizeNode(const ForNode* node);
  Stmt VectorizeNode(const IfThenElseNode* node);
  Stmt VectorizeNode(const SeqNode* node);
  Stmt VectorizeNode(const StmtNode*) { return {}; }

  // The vector form, or else a serial loop over the lanes. Null under a definition of vector type,
  // whose lanes such a loop could not read.
  Stmt VectorizeOrSerialize(const Stmt& stmt);
  Stmt Serialize(const Stmt& stmt);
  // The vector form under a condition that differs between lanes: for the case that it holds in all
  // of them, and else, the last time of a loop that overshoots, a serial loop.
  Stmt VectorizeWhereUniform(const IfThenElseNode* node);
  // a < b, or a <= b, both linear in the lane: b - a grows by `slope` from lane to lane. Where that
  // is -1, it holds in the first `left` lanes.
  struct Comparison {
    int64_t slope;
    Expr left;
  };
  std::optional<Comparison> AsComparison(const Expr& condition);
  // A scalar condition that is true only if `condition` is in all lanes; null where there is none.
  Expr HoldsInAllLanes(const Expr& condition);
  // A vector form under a condition that differs between lanes: those where it does not hold are
  // masked. Null where there is none.
  Stmt VectorizeMasked(const IfThenElseNode* node);
  // The same by selects, where all that is stored is the thread's own memory, and some of it is
  // compared: other lanes store what is there.
  Stmt VectorizeSelected(const IfThenElseNode* node);
  // Whether a place is surely inside of its buffer.
  bool IsInside(const Buffer& buffer, const std::vector<Expr>& indices) const;
  // An expression without the loads of `own_`, which cannot fault.
  Expr WithoutOwn(const Expr& expr) const;
  std::vector<Expr> own_;  // what the branch in question stores, as loads
  // Whether no lane of a condition holds unless the first one does: the tail of a loop.
  bool HoldsForFirstLanes(const Expr& condition);
  // The condition in one lane.
  Expr InLane(const Expr& condition, int lane) const;
  // The condition in all lanes, as a vector; null where it has no vector form.
  Expr MaskOf(const Expr& condition);
  // What `make` gives where lanes count only if `mask` is true, too.
  template <class F>
  auto Where(const Expr& mask, bool may_be_empty, F&& make);
  // Whether an expression that is the same in all lanes may be evaluated, though perhaps all lanes
  // are masked.
  bool MayEvaluate(const Expr& expr) const;
  // `vector`, and `otherwise` in the lanes that are masked.
  Expr Unmasked(const Expr& vector, double otherwise) const;

  bool DependsOnLane(const Expr& expr) const;
  // base, base + stride, ... where `expr` is that, or the scalar that it is in all lanes; null
  // otherwise.
  Expr AsRamp(const Expr& expr);
  // `expr` as a vector: repeated where it is a scalar.
  Expr Widen(const Expr& expr);
  // The elements of all lanes: the last index is a vector where they differ. Indices are empty
  // where there is no such form.
  struct Place {
    Buffer buffer;
    std::vector<Expr> indices;
  };
  Place VectorizePlace(const Buffer& buffer, const std::vector<Expr>& indices);
  // Neighbours in memory whose indices do not say so, as in X[i // n, i % n]: the buffer is seen as
  // one row.
  Place FlattenPlace(const Buffer& buffer, const std::vector<Expr>& indices);
  // A load of which lanes share elements, as A[i // 2]: of neighbours, each once, and a shuffle.
  // Null where it is none.
  Expr LoadShared(const ir::BufferLoadNode* node);
  // All lanes of a vector of 2^n combined, in `halves` by what is defined there.
  Expr CombineLanes(ExprKind op, Expr vector, std::vector<std::pair<Var, Expr>>* halves) const;
  // `expr`, or null where the target does not take it.
  Expr IfTaken(Expr expr) const;

  // What a definition becomes.
  struct Definition {
    Var var;  // null: nothing, uses have become the value
    Expr value;
  };
  // From here on the uses of `var` are what its definition has become; nullopt where `value` has no
  // vector form.
  std::optional<Definition> Define(const Var& var, const Expr& value);
  // Behind the scope of the variable: a statement that is run lane by lane after all keeps its own.
  void Forget(const Var& var);

  const ForNode* loop_;
  int lanes_;
  const target::TargetKind* kind_;
  std::function<bool(const Expr&)> mostly_hold_;  // null: there are no masks
  bool masks_selects_ = false;
  Expr mask_;                       // which lanes count; null: all
  bool mask_may_be_empty_ = false;  // there may be none
  std::vector<Expr> conditions_;    // that make the mask, as scalars
  FaultAnalysis faults_;
  const arith::Analyzer& analyzer_;
  ir::VarMap linear_;   // variables that are linear in the loop's, as such expressions
  ir::VarMap vectors_;  // other variables that depend on the lane, as vectors
  std::vector<std::pair<Buffer, Buffer>> views_;  // buffers that are seen as one row, as such
  int vector_lets_ = 0;  // definitions of vector type around the statement at hand
  bool any_vector_ = false;
};

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LOOPS_LANE_VECTORIZER_H_
