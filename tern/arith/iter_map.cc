// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/iter_map.h"

#include <algorithm>
#include <functional>
#include <map>

#include "tern/arith/linear.h"
#include "tern/arith/linear_sum.h"
#include "tern/ir/visitor.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes
using SourceRef = std::shared_ptr<const IterSource>;

// A place where digits of a source are used: in a binding, or in a fused iteration.
struct Use {
  IterSplit split;
  size_t binding = 0;  // where `in` is null
  SourceRef in;
};
using Uses = std::map<const IterSource*, std::vector<Use>>;

void AddUse(const IterSplit& split, size_t binding, const SourceRef& in, Uses* uses) {
  bool first = !uses->count(split.source.get());
  (*uses)[split.source.get()].push_back({split, binding, in});
  // What a source is fused of is used with it, once.
  if (first && !split.source->var.get())
    for (const IterSplit& part : split.source->fused.splits)
      AddUse(part, binding, split.source, uses);
}

Uses FindUses(const std::vector<IterSum>& bindings) {
  Uses uses;
  for (size_t i = 0; i < bindings.size(); ++i)
    for (const IterSplit& split : bindings[i].splits) AddUse(split, i, nullptr, &uses);
  return uses;
}

// ---- Facts about factors.

class Factors {
 public:
  explicit Factors(const Analyzer& analyzer) : analyzer_(analyzer) {}

  Expr Simple(const Expr& expr) const { return analyzer_.Simplify(expr); }
  Expr Times(const Expr& a, const Expr& b) const { return Simple(a * b); }
  bool AtMost(const Expr& a, const Expr& b) const { return ProveLessEqual(analyzer_, a, b); }
  bool Equal(const Expr& a, const Expr& b) const { return AtMost(a, b) && AtMost(b, a); }
  bool Is(const Expr& expr, int64_t value) const { return Equal(expr, Expr(value)); }
  bool Divides(const Expr& divisor, const Expr& expr) const {
    return IsConst(Simple(FloorMod(expr, divisor)), 0);
  }
  Expr Quotient(const Expr& expr, const Expr& divisor) const {
    return Simple(FloorDiv(expr, divisor));
  }

 private:
  const Analyzer& analyzer_;
};

std::string NameOf(const IterSource& source) {
  if (source.var.get()) return source.var.name();
  std::string text;
  for (const IterSplit& split : source.fused.splits)
    text += (text.empty() ? "" : " and ") + NameOf(*split.source);
  return text;
}

// ---- Detection.

struct NotDetected {
  std::string reason;
};

class Detector {
 public:
  Detector(const std::vector<IterRange>& loops, const Analyzer& outside)
      : loops_(loops), inside_(outside), factors_(outside) {
    for (const IterRange& loop : loops) {
      inside_.BindRange(loop.var, loop.range.min, loop.range.extent);
      auto source = std::make_shared<IterSource>();
      source->var = loop.var;
      source->extent = factors_.Simple(AsInt64(loop.range.extent));
      sources_.push_back(source);
    }
  }

  IterMap Detect(const std::vector<Expr>& bindings, const Expr& predicate) {
    if (predicate.get()) Constrain(predicate);
    IterMap map;
    map.loops = loops_;
    for (const Expr& binding : bindings) {
      IterSum sum = Parse(inside_.Simplify(AsInt64(binding)));
      if (sum.splits.size() > 1) sum.splits = {Fuse(sum)};
      for (const IterSplit& split : sum.splits)
        if (!factors_.AtMost(1, split.scale))
          throw NotDetected{"the factor of " + NameOf(*split.source) + " is not surely positive"};
      map.bindings.push_back(std::move(sum));
    }
    Uses uses = FindUses(map.bindings);
    for (const SourceRef& source : constrained_)
      if (!uses.count(source.get()))
        throw NotDetected{"the condition bounds " + NameOf(*source) + ", which no binding is"};
    for (const auto& [source, used] : uses) CheckDigits(*source, used, &map);
    for (const SourceRef& source : sources_)
      if (!uses.count(source.get()) && !factors_.Is(source->extent, 1))
        map.not_injective = "no binding depends on " + NameOf(*source);
    return map;
  }

 private:
  // ---- expressions

  bool UsesLoop(const Expr& expr) const {
    bool uses = false;
    ForEachExpr(expr, [&](const Expr& e) {
      uses |= std::any_of(loops_.begin(), loops_.end(),
                          [&](const IterRange& loop) { return loop.var.get() == e.get(); });
    });
    return uses;
  }

  IterSum Parse(const Expr& expr) {
    if (!UsesLoop(expr)) return {{}, AsInt64(expr)};
    if (const auto* var = expr.As<VarNode>()) return ParseVar(var);
    if (const auto* add = expr.As<AddNode>()) return Add(Parse(add->a), Parse(add->b), 1);
    if (const auto* sub = expr.As<SubNode>()) return Add(Parse(sub->a), Parse(sub->b), -1);
    if (const auto* mul = expr.As<MulNode>()) {
      bool first = !UsesLoop(mul->a);
      if (first || !UsesLoop(mul->b))
        return Scale(Parse(first ? mul->b : mul->a), AsInt64(first ? mul->a : mul->b));
    }
    if (const auto* division = expr.As<FloorDivNode>(); division && !UsesLoop(division->b))
      return Divide(expr, division->a, AsInt64(division->b), false);
    if (const auto* remainder = expr.As<FloorModNode>(); remainder && !UsesLoop(remainder->b))
      return Divide(expr, remainder->a, AsInt64(remainder->b), true);
    if (const auto* cast = expr.As<CastNode>(); cast && IsIndexType(cast->value.dtype()) &&
                                                cast->value.dtype().bits() <= expr.dtype().bits())
      return Parse(cast->value);
    throw NotDetected{std::string(KindOf(expr)) + " of loops is neither a split nor a fused loop"};
  }

  static const char* KindOf(const Expr& expr) {
    switch (expr->kind) {
      case ExprKind::kMul:
        return "a product";
      case ExprKind::kMin:
      case ExprKind::kMax:
      case ExprKind::kSelect:
        return "a choice";
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod:
        return "a quotient";
      case ExprKind::kBufferLoad:
        return "a value from memory";
      default:
        return "an expression";
    }
  }

  IterSum ParseVar(const VarNode* var) {
    for (size_t i = 0; i < loops_.size(); ++i)
      if (loops_[i].var.node() == var)
        return {Whole(sources_[i]), factors_.Simple(AsInt64(loops_[i].range.min))};
    throw NotDetected{var->name + " is no loop"};
  }
  // All digits; none where there is one iteration.
  std::vector<IterSplit> Whole(const SourceRef& source) const {
    if (factors_.Is(source->extent, 1)) return {};
    return {{source, Expr(1), source->extent, Expr(1)}};
  }

  IterSum Scale(IterSum sum, const Expr& factor) const {
    for (IterSplit& split : sum.splits) split.scale = factors_.Times(split.scale, factor);
    sum.base = factors_.Times(sum.base, factor);
    return sum;
  }
  IterSum Add(IterSum a, const IterSum& b, int64_t factor) const {
    IterSum other = Scale(b, Expr(factor));
    a.splits.insert(a.splits.end(), other.splits.begin(), other.splits.end());
    a.base = factors_.Simple(a.base + other.base);
    return a;
  }

  // Of base + scale * digits, with a scale that divides the divisor.
  IterSum Divide(const Expr& expr, const Expr& dividend, const Expr& divisor, bool remainder) {
    IterSum sum = Parse(dividend);
    if (sum.splits.empty()) return {{}, AsInt64(expr)};
    IterSplit split = sum.splits.size() == 1 ? sum.splits[0] : Fuse(sum);
    std::string name = NameOf(*split.source);
    if (!factors_.Is(sum.base, 0)) throw NotDetected{name + " is shifted before it is divided"};
    if (!factors_.AtMost(1, split.scale) || !factors_.Divides(split.scale, divisor))
      throw NotDetected{"the factor of " + name + " does not divide what it is divided by"};
    Expr unit = factors_.Quotient(divisor, split.scale);
    if (!factors_.Divides(unit, split.extent) || !factors_.AtMost(1, unit))
      throw NotDetected{"the extent of " + name +
                        " is not surely a multiple of what it is split by"};
    if (remainder) {
      split.extent = unit;
    } else {
      split.lower_factor = factors_.Times(split.lower_factor, unit);
      split.extent = factors_.Quotient(split.extent, unit);
      split.scale = Expr(1);
    }
    IterSum result{{}, Expr(0)};
    if (!factors_.Is(split.extent, 1)) result.splits.push_back(split);
    return result;
  }

  // ---- fusing

  // The splits in order, the smallest scale first, where each scale is the one before times its
  // extent; empty where they are not so.
  std::vector<IterSplit> Chain(const std::vector<IterSplit>& splits) const {
    for (const IterSplit& first : splits) {
      std::vector<IterSplit> chain{first}, rest;
      for (const IterSplit& split : splits)
        if (&split != &first) rest.push_back(split);
      while (!rest.empty()) {
        Expr wanted = factors_.Times(chain.back().scale, chain.back().extent);
        auto next = std::find_if(rest.begin(), rest.end(), [&](const IterSplit& split) {
          return factors_.Equal(split.scale, wanted);
        });
        if (next == rest.end()) break;
        chain.push_back(*next);
        rest.erase(next);
      }
      if (rest.empty()) return chain;
    }
    return {};
  }

  // Digits of one source that are next to each other are digits of it.
  std::vector<IterSplit> JoinDigits(const std::vector<IterSplit>& chain) const {
    std::vector<IterSplit> joined{chain[0]};
    for (size_t i = 1; i < chain.size(); ++i) {
      IterSplit& last = joined.back();
      Expr next = factors_.Times(last.lower_factor, last.extent);
      if (last.source == chain[i].source && factors_.Equal(next, chain[i].lower_factor))
        last.extent = factors_.Times(last.extent, chain[i].extent);
      else
        joined.push_back(chain[i]);
    }
    return joined;
  }

  // One split of a fused iteration, or of one source.
  IterSplit Fuse(const IterSum& sum) {
    std::vector<IterSplit> chain = Chain(sum.splits);
    if (chain.empty()) {
      std::string names;
      for (const IterSplit& split : sum.splits)
        names += (names.empty() ? "" : " and ") + NameOf(*split.source);
      throw NotDetected{"the values of " + names + " overlap in a sum, or leave gaps"};
    }
    chain = JoinDigits(chain);
    if (chain.size() == 1) return chain[0];
    Expr scale = chain[0].scale, extent = Expr(1);
    for (IterSplit& split : chain) {
      split.scale = extent;
      extent = factors_.Times(extent, split.extent);
    }
    std::reverse(chain.begin(), chain.end());
    SourceRef source = FusedSource(chain, extent);
    return {source, Expr(1), source->extent, scale};
  }

  // One source for the same parts, wherever they occur.
  SourceRef FusedSource(const std::vector<IterSplit>& parts, const Expr& extent) {
    for (const SourceRef& source : fused_) {
      const std::vector<IterSplit>& others = source->fused.splits;
      bool same = std::equal(parts.begin(), parts.end(), others.begin(), others.end(),
                             [&](const IterSplit& a, const IterSplit& b) {
                               return a.source == b.source &&
                                      factors_.Equal(a.lower_factor, b.lower_factor) &&
                                      factors_.Equal(a.extent, b.extent);
                             });
      if (same) return source;
    }
    auto source = std::make_shared<IterSource>();
    source->fused = {parts, Expr(0)};
    source->extent = extent;
    fused_.push_back(source);
    return source;
  }

  // ---- the predicate

  void Constrain(const Expr& condition) {
    if (const auto* both = condition.As<AndNode>()) {
      Constrain(both->a);
      return Constrain(both->b);
    }
    if (inside_.CanProve(condition)) return;
    const auto* lt = condition.As<LTNode>();
    const auto* le = condition.As<LENode>();
    const auto* gt = condition.As<GTNode>();
    const auto* ge = condition.As<GENode>();
    if (!lt && !le && !gt && !ge) throw NotDetected{"the condition is no bound of a loop"};
    Expr small = lt ? lt->a : le ? le->a : gt ? gt->b : ge->b;
    Expr large = lt ? lt->b : le ? le->b : gt ? gt->a : ge->a;
    if (!IsIndexType(small.dtype()) || UsesLoop(large) || !UsesLoop(small))
      throw NotDetected{"the condition bounds no loop from above"};
    Expr limit = lt || gt ? AsInt64(large) : AsInt64(large) + Expr(1);
    IterSum sum = Parse(inside_.Simplify(AsInt64(small)));
    IterSplit split = sum.splits.size() == 1 ? sum.splits[0] : Fuse(sum);
    bool whole = factors_.Is(split.lower_factor, 1) && factors_.Is(split.scale, 1) &&
                 factors_.Equal(split.extent, split.source->extent);
    if (!whole) throw NotDetected{"the condition bounds a part of " + NameOf(*split.source)};
    limit = SubtractSums(inside_, limit, sum.base);
    Expr extent = factors_.AtMost(limit, split.extent)
                      ? limit
                      : factors_.Simple(MinNode::Make(limit, split.extent));
    for (auto* list : {&sources_, &fused_})
      for (auto& source : *list)
        if (source == split.source) std::const_pointer_cast<IterSource>(source)->extent = extent;
    constrained_.push_back(split.source);
  }

  // ---- independence

  // Whether no digit is used twice, and all are.
  void CheckDigits(const IterSource& source, std::vector<Use> uses, IterMap* map) const {
    Expr next = Expr(1);
    while (!uses.empty()) {
      auto use = std::find_if(uses.begin(), uses.end(), [&](const Use& candidate) {
        return factors_.Equal(candidate.split.lower_factor, next);
      });
      if (use == uses.end()) {
        // Digits between those seen and the others are not used.
        use = std::find_if(uses.begin(), uses.end(), [&](const Use& candidate) {
          return std::all_of(uses.begin(), uses.end(), [&](const Use& other) {
            return factors_.AtMost(candidate.split.lower_factor, other.split.lower_factor);
          });
        });
        if (use == uses.end() || !factors_.Divides(next, use->split.lower_factor) ||
            !factors_.AtMost(next, use->split.lower_factor))
          throw NotDetected{"two bindings depend on the same part of " + NameOf(source)};
        map->not_injective = "no binding depends on some digits of " + NameOf(source);
      }
      next = factors_.Times(use->split.lower_factor, use->split.extent);
      uses.erase(use);
    }
    if (!factors_.Equal(next, source.extent))
      map->not_injective = "no binding depends on the upper digits of " + NameOf(source);
  }

  const std::vector<IterRange>& loops_;
  Analyzer inside_;
  Factors factors_;
  std::vector<SourceRef> sources_, fused_, constrained_;
};

// ---- Values.

class Inverter {
 public:
  Inverter(const IterMap& map, const std::vector<Expr>& outputs)
      : map_(map), outputs_(outputs), uses_(FindUses(map.bindings)) {}

  Expr ValueOf(const IterSource* source) {
    auto it = uses_.find(source);
    if (it == uses_.end()) return Expr(0);
    Expr sum;
    for (const Use& use : it->second) {
      Expr digits = IsConst(use.split.lower_factor, 1) ? DigitsOf(use)
                                                       : DigitsOf(use) * use.split.lower_factor;
      sum = !sum ? digits : sum + digits;
    }
    return sum;
  }

 private:
  Expr DigitsOf(const Use& use) {
    if (!use.in) {
      Expr value = AsInt64(outputs_[use.binding]) - map_.bindings[use.binding].base;
      return IsConst(use.split.scale, 1) ? value : FloorDiv(value, use.split.scale);
    }
    Expr value = FloorDiv(ValueOf(use.in.get()), use.split.scale);
    bool upper = use.in->fused.splits[0].source == use.split.source &&
                 use.in->fused.splits[0].lower_factor.same(use.split.lower_factor);
    return upper ? value : FloorMod(value, use.split.extent);
  }

  const IterMap& map_;
  const std::vector<Expr>& outputs_;
  Uses uses_;
};

Expr ValueOfSum(const IterSum& sum, const IterMap& map);

Expr ValueOfSource(const IterSource& source, const IterMap& map) {
  if (!source.var.get()) return ValueOfSum(source.fused, map);
  for (const IterRange& loop : map.loops)
    if (loop.var.same(source.var)) return AsInt64(loop.var) - AsInt64(loop.range.min);
  return AsInt64(source.var);
}

Expr ValueOfSum(const IterSum& sum, const IterMap& map) {
  Expr total = sum.base;
  for (const IterSplit& split : sum.splits) {
    Expr digits = FloorDiv(ValueOfSource(*split.source, map), split.lower_factor);
    total = total + FloorMod(digits, split.extent) * split.scale;
  }
  return total;
}

}  // namespace

Expr IterMap::Extent(size_t binding) const {
  const std::vector<IterSplit>& splits = bindings[binding].splits;
  return splits.empty() ? Expr(1) : splits[0].extent;
}

IterMapResult DetectIterMap(const std::vector<Expr>& bindings, const std::vector<IterRange>& loops,
                            const Expr& predicate, const Analyzer& analyzer) {
  try {
    return {Detector(loops, analyzer).Detect(bindings, predicate), ""};
  } catch (const NotDetected& failure) {
    return {std::nullopt, failure.reason};
  }
}

bool IsBijective(const IterMap& map, const std::vector<Expr>& extents, const Analyzer& analyzer,
                 std::string* reason) {
  Factors factors(analyzer);
  std::string why = map.not_injective;
  for (size_t i = 0; i < map.bindings.size() && why.empty(); ++i) {
    const IterSum& binding = map.bindings[i];
    std::string name = "binding " + std::to_string(i);
    if (!factors.Is(binding.base, 0))
      why = name + " does not surely start at 0";
    else if (!binding.splits.empty() && !factors.Is(binding.splits[0].scale, 1))
      why = name + " has gaps";
    else if (!factors.Equal(map.Extent(i), AsInt64(extents[i])))
      why = name + " does not surely have all values of its axis";
  }
  if (reason) *reason = why;
  return why.empty();
}

std::vector<Expr> InverseIterMap(const IterMap& map, const std::vector<Expr>& outputs,
                                 const Analyzer& analyzer) {
  TERN_ICHECK(map.not_injective.empty()) << map.not_injective;
  TERN_ICHECK(outputs.size() == map.bindings.size()) << outputs.size() << " outputs";
  Inverter inverter(map, outputs);
  Uses uses = FindUses(map.bindings);
  std::vector<Expr> values;
  for (const IterRange& loop : map.loops) {
    Expr value = AsInt64(loop.range.min);
    for (const auto& [source, used] : uses)
      if (source->var.get() && source->var.same(loop.var)) value = value + inverter.ValueOf(source);
    values.push_back(analyzer.Simplify(CastNode::Make(loop.var.dtype(), value)));
  }
  return values;
}

Expr ToExpr(const IterSum& sum, const IterMap& map, const Analyzer& analyzer) {
  return analyzer.Simplify(ValueOfSum(sum, map));
}

}  // namespace tern::arith
