// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/index_map.h"

#include <numeric>

#include "tern/arith/iter_map.h"
#include "tern/arith/symbolic_bounds.h"
#include "tern/ffi/text.h"
#include "tern/ir/mutator.h"
#include "tern/schedule/nest.h"
#include "tern/tir/expr_parser.h"
#include "tern/tir/text.h"

namespace tern::schedule {
namespace {

using ir::Expr;

class MapParser : public tir::ExprParser {
 public:
  explicit MapParser(const std::string& text) : ExprParser(ffi::Make<ir::Source>("map", text)) {}

  // (i, j) -> (i // 16, j, i % 16)
  IndexMap Parse() {
    IndexMap map;
    try {
      Expect("(");
      CommaList(")", [&] {
        std::string name = ExpectNewName("a variable");
        map.vars.emplace_back(name);
        symbols_[name] = {map.vars.back(), {}};
      });
      Expect("-");
      Expect(">");
      Expect("(");
      map.indices = ParseExprs(")");
      if (!AtEnd()) Unexpected("the end of the map");
    } catch (const Abandon&) {
    }
    if (!diagnostics_.empty())
      Refuse("expected a map, as in (i, j) -> (i // 16, j, i % 16): " +
             diagnostics_.items()[0].message);
    return map;
  }
};

// The least common multiple of the numbers by which a variable is divided. Refuses one that is no
// factor.
int64_t DivisorsOf(const IndexMap& map, const ir::Var& var) {
  int64_t multiple = 1;
  auto note = [&](const Expr& value, const Expr& divisor) {
    std::optional<int64_t> number = ir::AsConstInt(divisor);
    if (!number || *number < 1 || !ir::UsesVar(value, var.node())) return;
    CheckFactor("a divisor of " + var.name(), *number);
    multiple = std::lcm(multiple, *number);  // of two factors: no overflow
    CheckFactor("the least common multiple of the divisors of " + var.name(), multiple);
  };
  for (const Expr& index : map.indices)
    ir::ForEachExpr(index, [&](const Expr& e) {
      if (const auto* div = e.As<ir::FloorDivNode>()) note(div->a, div->b);
      if (const auto* mod = e.As<ir::FloorModNode>()) note(mod->a, mod->b);
    });
  return multiple;
}

const ir::CallNode* AsXor(const Expr& expr) {
  const auto* call = expr.As<ir::CallNode>();
  return call && call->name == "bit_xor" ? call : nullptr;
}

// The indices with `a` for bit_xor(a, b), a swizzle. Where a takes all numbers below a power of two
// and b some of them, of other variables, the places of a are exchanged: for each b by itself, so
// what holds of the shape and of elements apart holds of both maps. An index is a sum, of which a
// swizzle is a part, or a multiple of one.
class SwizzleRemover {
 public:
  explicit SwizzleRemover(const arith::Analyzer& ranges) : ranges_(ranges) {}

  Expr Remove(const Expr& index) {
    if (const auto* sum = index.As<ir::AddNode>()) return Remove(sum->a) + Remove(sum->b);
    if (const auto* product = index.As<ir::MulNode>(); product && ir::AsConstInt(product->b))
      return Remove(product->a) * product->b;
    if (const ir::CallNode* call = AsXor(index)) {
      Check(call->args[0], call->args[1]);
      return call->args[0];
    }
    ir::ForEachExpr(index, [](const Expr& e) {
      if (AsXor(e)) Refuse("the map has bit_xor where it is no index, and no part of a sum");
    });
    return index;
  }

 private:
  void Check(const Expr& a, const Expr& b) const {
    arith::ConstBounds places = ranges_.Bounds(a), by = ranges_.Bounds(b);
    bool fits = places.lo == 0 && places.hi < arith::ConstBounds::kPosInf &&
                ((places.hi + 1) & places.hi) == 0 && by.lo >= 0 && by.hi <= places.hi;
    bool apart = true;
    ir::ForEachExpr(a, [&](const Expr& e) {
      if (const auto* var = e.As<ir::VarNode>()) apart &= !ir::UsesVar(b, var);
    });
    if (!fits || !apart || ir::AsConstInt(a))
      Refuse(
          "the map has bit_xor(a, b) where a is not all numbers below a power of two, or b is "
          "not one of them, of other variables");
  }
  const arith::Analyzer& ranges_;
};

}  // namespace

IndexMap IndexMap::Parse(const std::string& text) { return MapParser(text).Parse(); }

std::string IndexMap::str() const {
  std::vector<std::string> from, to;
  for (const ir::Var& var : vars) from.push_back(var.name());
  for (const Expr& index : indices) to.push_back(tir::Print(index));
  return "(" + ffi::Join(from) + ") -> (" + ffi::Join(to) + ")";
}

std::vector<Expr> IndexMap::Apply(const std::vector<Expr>& at,
                                  const arith::Analyzer& analyzer) const {
  ir::VarMap values;
  for (size_t i = 0; i < vars.size(); ++i) values[vars[i].node()] = arith::AsInt64(at[i]);
  std::vector<Expr> result;
  for (const Expr& index : indices)
    result.push_back(analyzer.Simplify(ir::Substitute(index, values)));
  return result;
}

std::vector<Expr> IndexMap::ShapeOf(const std::vector<Expr>& shape) const {
  if (shape.size() != vars.size())
    Refuse("the map takes " + std::to_string(vars.size()) + " indices, and the buffer has " +
           std::to_string(shape.size()) + " dimensions");
  // Where something is divided its extent is taken as a multiple: the last part may have gaps.
  arith::Analyzer outside;
  for (const Expr& extent : shape)
    if (const auto* var = extent.As<ir::VarNode>())
      outside.Bind(ir::Var(var), {0, arith::ConstBounds::kPosInf});
  std::vector<arith::IterRange> ranges;
  for (size_t i = 0; i < vars.size(); ++i) {
    Expr unit(DivisorsOf(*this, vars[i]));
    Expr extent = arith::AsInt64(shape[i]);
    CheckRoundsUp(extent, *ir::AsConstInt(unit));
    if (!ir::IsConst(unit, 1)) extent = outside.Simplify(ir::CeilDiv(extent, unit) * unit);
    ranges.push_back({vars[i], {Expr(0), extent}});
  }
  arith::Analyzer inside = outside;
  for (const arith::IterRange& range : ranges)
    inside.BindRange(range.var, range.range.min, range.range.extent);
  std::vector<Expr> places;
  for (const Expr& index : indices) places.push_back(SwizzleRemover(inside).Remove(index));
  arith::IterMapResult found = arith::DetectIterMap(places, ranges, {}, outside);
  if (!found.map) Refuse("it cannot be told where the map puts elements: " + found.error);
  if (!found.map->not_injective.empty())
    Refuse("the map is not injective: " + found.map->not_injective);
  std::vector<Expr> result;
  arith::SymbolicAnalyzer bounds(outside);
  for (const arith::IterRange& range : ranges)
    bounds.EnterRange(range.var, range.range.min, range.range.extent);
  for (const Expr& index : places) {
    arith::SymbolicBounds box = bounds.Bounds(index);
    if (!box.known() || !arith::ProveLessEqual(outside, Expr(0), box.lo))
      Refuse("the map has an index that may be negative, or any number");
    Expr extent = outside.Simplify(box.hi + Expr(1));
    bool may_be_empty = !arith::ProveLessEqual(outside, Expr(0), extent);
    result.push_back(may_be_empty ? ir::MaxNode::Make(extent, Expr(0)) : extent);
  }
  return result;
}

}  // namespace tern::schedule
