// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/overflow.h"

#include <algorithm>
#include <unordered_set>

#include "tern/arith/linear.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/visitor.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes
using Wide = __int128;

bool CanOverflow(const Expr& expr) {
  bool sum = expr.As<AddNode>() || expr.As<SubNode>() || expr.As<MulNode>();
  return sum && IsIndexType(expr.dtype());
}

class OverflowCheck {
 public:
  OverflowCheck(const Expr& original, const Analyzer& analyzer, Analyzer::BoundsCache* cache)
      : original_(original), analyzer_(analyzer), cache_(cache) {
    ForEachExpr(original, [&](const Expr& e) { parts_.insert(e.get()); });
  }

  // The parts of an expression that is equal to the original.
  bool CandidateFits(const Expr& candidate) {
    candidate_ = candidate;
    return PartsFit(candidate);
  }

 private:
  bool PartsFit(const Expr& expr) {
    bool fits = true;
    struct Children : ExprVisitor {
      Children(OverflowCheck* check, bool* fits) : check(check), fits(fits) {}
      void Visit(const Expr& child) override { *fits = *fits && check->Fits(child); }
      void VisitChildrenOf(const Expr& expr) { ExprVisitor::Visit(expr); }
      OverflowCheck* check;
      bool* fits;
    } children(this, &fits);
    children.VisitChildrenOf(expr);
    return fits;
  }

  bool Fits(const Expr& expr) {
    // A part of the original that was not moved out of a condition: no rule does that.
    if (parts_.count(expr.get())) return true;
    return PartsFit(expr) && (!CanOverflow(expr) || ByBounds(expr) || ByKnownValues(expr));
  }

  // The operands are in their type, so that their infinite bounds are the type's.
  bool ByBounds(const Expr& expr) {
    return DispatchExpr(expr.get(), [&](auto* node) {
      using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
      if constexpr (requires { node->a, node->b; }) {
        ConstBounds a = analyzer_.Bounds(node->a, cache_), b = analyzer_.Bounds(node->b, cache_);
        int64_t max = expr.dtype().bits() == 32 ? INT32_MAX : INT64_MAX;
        for (Wide x : {Wide{a.lo}, Wide{a.hi}})
          for (Wide y : {Wide{b.lo}, Wide{b.hi}}) {
            Wide value = T::kKind == ExprKind::kAdd   ? x + y
                         : T::kKind == ExprKind::kSub ? x - y
                                                      : x * y;
            if (value > max || value < -Wide{max} - 1) return false;
          }
        return true;
      }
      return false;
    });
  }

  // Whether it is between 0 and a known value: both are multiples of one term.
  static bool IsFractionOf(const LinearSum& value, const LinearSum& known) {
    if (value.terms.size() != 1 || value.constant != 0 || known.constant != 0) return false;
    int64_t part = value.terms[0].coefficient,
            whole = known.terms.size() == 1 ? known.CoefficientOf(value.terms[0].expr) : 0;
    return whole > 0 ? 0 <= part && part <= whole : whole <= part && part <= 0 && whole < 0;
  }

  // A value is in its type where it is not above one that is, and not below another one.
  bool ByKnownValues(const Expr& expr) {
    auto value = LinearSum::Of(expr);
    if (!value) return false;
    if (known_.empty()) FindKnown();
    bool not_above = false, not_below = false;
    for (const auto& [bits, known] : known_) {
      LinearSum difference = known;
      // What is in a wider type need not be in a narrower one.
      if (bits > expr.dtype().bits() || !difference.Add(*value, -1)) continue;
      ConstBounds bounds = analyzer_.Bounds(difference, cache_);
      bool between = IsFractionOf(*value, known);
      not_above |= bounds.lo >= 0 || between;
      not_below |= bounds.hi <= 0 || between;
      if (not_above && not_below) return true;
    }
    return false;
  }

  void FindKnown() {
    known_.emplace_back(0, LinearSum());
    // It has the value of the original, whatever that is made of.
    if (auto sum = LinearSum::Of(candidate_))
      known_.emplace_back(candidate_.dtype().bits(), std::move(*sum));
    ForEachEvaluated(original_, [&](const Expr& e) {
      if (auto sum = LinearSum::Of(e)) known_.emplace_back(e.dtype().bits(), std::move(*sum));
    });
  }

  const Expr& original_;
  Expr candidate_;
  const Analyzer& analyzer_;
  Analyzer::BoundsCache* cache_;
  std::unordered_set<const ExprNode*> parts_;
  std::vector<std::pair<int, LinearSum>> known_;  // in how many bits they are
};

}  // namespace

void ForEachEvaluated(const Expr& expr, const std::function<void(const Expr&)>& f) {
  struct Walker : ExprVisitor {
    explicit Walker(const std::function<void(const Expr&)>& f) : f(f) {}
    void Visit(const Expr& expr) override {
      f(expr);
      ExprVisitor::Visit(expr);
    }
    void VisitNode(const AndNode* node) override { Visit(node->a); }
    void VisitNode(const OrNode* node) override { Visit(node->a); }
    void VisitNode(const SelectNode* node) override { Visit(node->condition); }
    void VisitNode(const CallNode* node) override {
      if (node->name == kIfThenElse)
        Visit(node->args[0]);
      else
        VisitChildren(node);
    }
    const std::function<void(const Expr&)>& f;
  };
  Walker(f).Visit(expr);
}

bool StaysInType(const Expr& candidate, const Expr& original, const Analyzer& analyzer,
                 Analyzer::BoundsCache* cache) {
  return OverflowCheck(original, analyzer, cache).CandidateFits(candidate);
}

}  // namespace tern::arith
