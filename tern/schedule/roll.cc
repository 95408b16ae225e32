// SPDX-License-Identifier: Apache-2.0
//
// roll: reductions along loops that stand one behind the other, where later ones depend on the
// result of an earlier one, in one pass. What was summed up with an older result is corrected when
// the result changes: online softmax, flash attention.
//
//   for j { m = max(m, S[j]) }
//   for j { P[j] = exp((S[j] - m) * c) }
//   for j { t = t + P[j] * V[j] }
//   ->
//   m = -inf   t = 0
//   for j {
//     m_before = m
//     m = max(m, S[j])
//     m_now = select(m == -inf, 0, m)
//     m_change = select(m_before == -inf, 0, exp((m_before - m_now) * c))
//     P[j] = exp((S[j] - m_now) * c)
//     t = t * m_change
//     t = t + P[j] * V[j]
//   }
//
// What has to hold. The value that a later reduction sums up is f(x, m) = exp((x - m) * c) * g(x),
// so that f(x, m') = f(x, m) * exp((m - m') * c), a factor that no step has a part in. While m is
// -inf, its start, nothing has been summed up: x is the value of which m is the largest, so that
// exp((x - m_now) * c) is 0. A quotient f(x, m) / t, where t is another sum of the kind, is taken
// out of the sum, and done behind the loop. Both may have the same condition: the largest of
// select(c, x, -inf), and the sum of select(c, f(x, m), 0).
//
// Steps at the end that have no x but -inf in any row at hand, as select(j <= i, x, -inf) has for a
// tile of rows, change nothing, and are left out.
#include <algorithm>
#include <cmath>

#include "tern/arith/linear.h"
#include "tern/ir/structural.h"
#include "tern/schedule/new_block.h"
#include "tern/schedule/reduction_nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/access_regions.h"
#include "tern/tir/copy_with_fresh_defs.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// One of the loops, with the block in it.
struct Member {
  const ForNode* loop = nullptr;
  Nest nest;
  const BlockNode* block = nullptr;
  const BlockIter* step = nullptr;         // the axis along the loop
  std::optional<ReductionUpdate> update;   // of one that reduces along the loop
  const BufferStoreNode* store = nullptr;  // of the others, where that is all they do
  Buffer result;
  Stmt scaled, divided;  // a result that is corrected: in every step, and behind the loop

  bool reduces() const { return update.has_value(); }
  const std::string& name() const { return block->name; }
};

// Rows, one inside of the other, as one: the statements in order, and what is allocated around any.
struct Row {
  std::vector<Stmt> stmts;
  std::vector<Stmt> allocations;
};
void Flatten(const Stmt& stmt, Row* row) {
  if (const auto* seq = stmt.As<SeqNode>()) {
    for (const Stmt& one : seq->stmts) Flatten(one, row);
  } else if (const auto* allocation = stmt.As<AllocateNode>()) {
    row->allocations.push_back(stmt);
    Flatten(allocation->body, row);
  } else {
    row->stmts.push_back(stmt);
  }
}

Expr LoadAt(const Buffer& buffer, const std::vector<Expr>& at) {
  return ir::BufferLoadNode::Make(buffer, at);
}

const std::vector<Expr>& IndicesOf(const Expr& load) {
  return load.As<ir::BufferLoadNode>()->indices;
}

bool IsZero(const Expr& expr) {
  const auto* number = expr.As<ir::FloatImmNode>();
  return number && number->value == 0;
}
bool IsMinusInfinity(const Expr& expr) {
  const auto* number = expr.As<ir::FloatImmNode>();
  return number && std::isinf(number->value) && number->value < 0;
}

Expr Converted(const Expr& value, DataType dtype) {
  return value.dtype() == dtype ? value : ir::CastNode::Make(dtype, value);
}

class Roller {
 public:
  explicit Roller(std::vector<Member> members) : members_(std::move(members)) {
    for (Member& member : members_) Describe(&member);
    for (const Member& member : members_)
      if (!leader_ && member.reduces() && member.update->op == ExprKind::kMax) leader_ = &member;
    if (!leader_ || DependsOnResults(*leader_)) Refuse("no block reduces by max what others need");
    MakeBuffers();
    for (Member& member : members_)
      if (member.reduces() && DependsOnResults(member)) Correct(&member);
    if (!power_.get()) Refuse("no reduction depends on the result of block " + leader_->name());
  }

  // The results, which have their values behind the loop.
  std::vector<Buffer> Results() const {
    std::vector<Buffer> results;
    for (const Member& member : members_)
      if (member.reduces()) results.push_back(member.result);
    return results;
  }
  // The buffers of elements, and whether they are computed of results so far.
  struct Elements {
    Buffer buffer;
    bool of_results;
  };
  std::vector<Elements> AllElements() const {
    std::vector<Elements> all;
    for (const Member& member : members_)
      if (!member.reduces()) all.push_back({member.result, DependsOnResults(member)});
    return all;
  }

  // ---- The statements: before the loop, in it, behind it

  std::vector<Stmt> Inits() const {
    std::vector<Stmt> row;
    for (const Member& member : members_)
      if (member.reduces()) row.push_back(OfRows(member, "_init", member.block->init));
    return row;
  }
  Stmt Body(const Var& var) const {
    std::vector<Stmt> row;
    for (const Member& member : members_) {
      if (&member == leader_)
        row.push_back(OfRows(member, "_before", StoreRow(before_, Row(leader_->result))));
      if (member.scaled) row.push_back(OfRows(member, "_scale", member.scaled));
      Stmt init = member.reduces() ? Stmt() : member.block->init;
      Stmt block = member.block->With(init, WithCurrent(member));
      row.push_back(ReplaceAt(PathTo(member.loop->body, member.block), block));
      if (&member != leader_) continue;
      if (now_) {
        Expr m = Row(leader_->result);
        Stmt store = StoreRow(now_, ir::SelectNode::Make(m == Start(), Zero(m), m));
        row.push_back(OfRows(member, "_now", store));
      }
      row.push_back(OfRows(member, "_change", StoreRow(change_, Change())));
    }
    ir::VarMap vars;
    for (const Member& member : members_) vars[member.loop->var.node()] = var;
    Stmt body = Substitute(SeqNode::Make(std::move(row)), vars);
    for (const Buffer& buffer : NewBuffers()) body = AllocateNode::Make(buffer, body);
    return body;
  }
  // How many steps of the loop may have an element that counts, where later ones have none: their
  // values are select(c, x, -inf), and c does not hold for any row. Null: that is not known.
  Expr StepsThatCount(const ForNode* loop) const {
    for (const Member& member : members_)
      if (member.reduces() && &member != leader_ && !member.scaled) return {};
    Expr value = Bare(leader_->update->value);
    if (const auto* load = value.As<ir::BufferLoadNode>())
      if (const Member* writer = WriterOf(load->buffer); writer && writer->store)
        if (std::optional<ir::VarMap> axes = AxesOf(*writer->store, load->indices))
          value = Bare(ir::Substitute(writer->store->value, *axes));
    ir::VarMap bindings;
    for (const BlockIter& iter : leader_->block->iters) bindings[iter.var.node()] = iter.binding;
    Expr steps;
    while (const auto* select = value.As<ir::SelectNode>()) {
      if (!IsMinusInfinity(select->false_value) || !ir::IsConst(loop->min, 0)) break;
      for (const Expr& part : Conjuncts(select->condition)) {
        Expr least = LeastOf(ir::Substitute(part, bindings));
        auto linear = least ? arith::AsLinear(least, leader_->loop->var.node()) : std::nullopt;
        if (!linear || linear->coefficient <= 0) continue;
        // coefficient * step + rest <= 0
        Expr last = ir::FloorDiv(linear->rest * Expr(-1), linear->coefficient);
        Expr count = ir::MaxNode::Make(last + Expr(1), Expr(0));
        steps = ir::MinNode::Make(steps ? steps : loop->extent, count);
      }
      value = Bare(Expr(select->true_value));
    }
    return steps;
  }
  std::vector<Stmt> Quotients() const {
    std::vector<Stmt> row;
    for (const Member& member : members_)
      if (member.divided) row.push_back(OfRows(member, "_divide", member.divided));
    return row;
  }
  // The new blocks, with those that they are over the results of.
  std::vector<std::pair<std::string, std::string>> NewBlocks() const {
    std::vector<std::pair<std::string, std::string>> names;
    for (const Member& member : members_) {
      auto add = [&](const char* suffix, bool made) {
        if (made) names.emplace_back(member.name() + suffix, member.name());
      };
      bool leads = &member == leader_;
      add("_init", member.reduces());
      add("_before", leads);
      add("_now", leads && now_);
      add("_change", leads);
      add("_scale", member.scaled.get() != nullptr);
      add("_divide", member.divided.get() != nullptr);
    }
    return names;
  }
  std::vector<Buffer> NewBuffers() const {
    std::vector<Buffer> buffers = {before_, change_};
    if (now_) buffers.push_back(now_);
    return buffers;
  }

 private:
  static void Describe(Member* member) {
    std::string name = "block " + member->name(), loop = "loop " + member->loop->var.name();
    for (const BlockIter& iter : member->block->iters)
      if (ir::UsesVar(iter.binding, member->loop->var.node())) {
        if (member->step) Refuse("two axes of " + name + " are along " + loop);
        member->step = &iter;
      }
    if (!member->step) Refuse("no axis of " + name + " is along " + loop);
    if (member->step->kind == IterKind::kReduce) {
      member->update = PlainUpdate(member->block);
      if (!member->update || !member->block->init)
        Refuse(name + " is no reduction with an init, by one operator");
      member->result = member->update->store->buffer;
      return;
    }
    if (member->step->kind != IterKind::kSpatial)
      Refuse("axis " + member->step->var.name() + " of " + name +
             " is neither spatial nor one of a reduction");
    for (const Access& access : AccessesOf(AsStmt(member->block))) {
      if (!access.store) continue;
      if (member->result && !member->result.same(access.buffer))
        Refuse(name + " writes several buffers");
      member->result = access.buffer;
    }
    if (!member->result) Refuse(name + " writes nothing");
    if (!member->block->init) member->store = member->block->body.As<BufferStoreNode>();
  }

  // The member that computes a buffer, or null.
  const Member* WriterOf(const Buffer& buffer) const {
    for (const Member& member : members_)
      if (member.result.same(buffer)) return &member;
    return nullptr;
  }
  // Whether it reads the result of a reduction, or what is computed of one.
  bool DependsOnResults(const Member& member) const {
    for (const Access& access : AccessesOf(AsStmt(member.block))) {
      const Member* writer = WriterOf(access.buffer);
      if (!access.store && writer && writer != &member &&
          (writer->reduces() || DependsOnResults(*writer)))
        return true;
    }
    return false;
  }

  // What the axes of a store at its axes are where an element is loaded.
  static std::optional<ir::VarMap> AxesOf(const BufferStoreNode& store,
                                          const std::vector<Expr>& at) {
    ir::VarMap axes;
    for (size_t d = 0; d < at.size(); ++d) {
      const auto* axis = store.indices[d].As<VarNode>();
      if (!axis) return {};
      axes[axis] = at[d];
    }
    return axes;
  }
  // Of a condition a <= b or a < b on indices, the least a - b, or a - b + 1, of all iterations of
  // the leader's inner loops: where it is above 0, the condition does not hold. Null for others.
  Expr LeastOf(const Expr& condition) const {
    Expr difference;
    auto of = [&](const Expr& a, const Expr& b, int64_t more) {
      if (arith::IsIndexType(a.dtype())) difference = a - b + Expr(more);
    };
    if (const auto* le = condition.As<ir::LENode>()) of(le->a, le->b, 0);
    if (const auto* lt = condition.As<ir::LTNode>()) of(lt->a, lt->b, 1);
    if (const auto* ge = condition.As<ir::GENode>()) of(ge->b, ge->a, 0);
    if (const auto* gt = condition.As<ir::GTNode>()) of(gt->b, gt->a, 1);
    for (const ForNode* inner : leader_->nest.loops) {
      if (!difference) break;
      if (inner == leader_->loop) continue;
      auto linear = arith::AsLinear(difference, inner->var.node());
      std::optional<int64_t> extent = ir::AsConstInt(inner->extent);
      if (!linear || !extent || !ir::IsConst(inner->min, 0)) return {};
      int64_t lowest = linear->coefficient < 0 ? linear->coefficient * (*extent - 1) : 0;
      difference = linear->rest + Expr(lowest);
    }
    return difference;
  }

  // ---- Values

  bool HasResult(const Expr& expr) const {
    for (const Access& access : AccessesOf(EvaluateNode::Make(expr)))
      if (const Member* writer = WriterOf(access.buffer); writer && writer->reduces()) return true;
    return false;
  }
  // A value with the elements of other members in terms of what these are computed of.
  Expr Expanded(const Expr& value) const {
    return RewriteLoads(value, [&](const Buffer& buffer, const std::vector<Expr>& at) -> Expr {
      const Member* writer = WriterOf(buffer);
      if (!writer || writer->reduces() || !DependsOnResults(*writer)) return {};
      std::string name = "block " + writer->name();
      if (!writer->store) Refuse(name + " depends on a reduction, and is more than one store");
      std::optional<ir::VarMap> axes = AxesOf(*writer->store, at);
      if (!axes) Refuse(name + " does not store each element at its axes");
      return Expanded(ir::Substitute(writer->store->value, *axes));
    });
  }
  static Expr RewriteLoads(
      const Expr& value,
      const std::function<Expr(const Buffer&, const std::vector<Expr>&)>& rewrite) {
    struct Rewriter : ir::ExprMutator {
      using ExprMutator::MutateNode;
      Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
        Expr other = (*rewrite)(node->buffer, node->indices);
        return other ? other : MutateChildren(node, self);
      }
      const std::function<Expr(const Buffer&, const std::vector<Expr>&)>* rewrite = nullptr;
    } rewriter;
    rewriter.rewrite = &rewrite;
    return rewriter.Mutate(value);
  }

  // What a value is a product of, as far as it depends on results.
  struct Factors {
    Expr power, difference;   // exp((x - m) * c), and the x - m in it
    Expr m, divisor;          // loads
    std::vector<Expr> where;  // conditions without which the value is 0
  };
  Factors FactorsOf(const Member& member, const Expr& value) const {
    Factors factors;
    bool known = Follow(value, &factors) && factors.m.get();
    if (!known)
      Refuse("block " + member.name() +
             " does not sum up exp((x - m) * c), a product of that, or a quotient by another sum "
             "of the kind, where m is the result of block " +
             leader_->name());
    return factors;
  }
  bool Follow(const Expr& value, Factors* factors) const {
    if (!HasResult(value)) return true;
    if (const auto* cast = value.As<ir::CastNode>())
      return value.dtype().is_float() && Follow(cast->value, factors);
    if (const auto* product = value.As<ir::MulNode>())
      return Follow(product->a, factors) && Follow(product->b, factors);
    if (const auto* quotient = value.As<ir::DivNode>()) {
      if (!HasResult(quotient->b)) return Follow(quotient->a, factors);
      if (factors->divisor.get()) return false;
      factors->divisor = Bare(quotient->b);
      return factors->divisor.As<ir::BufferLoadNode>() && Follow(quotient->a, factors);
    }
    if (const auto* select = value.As<ir::SelectNode>()) {
      bool none_else = IsZero(select->true_value) || IsZero(select->false_value);
      if (IsZero(select->false_value)) factors->where.push_back(select->condition);
      return none_else && !HasResult(select->condition) && Follow(select->true_value, factors) &&
             Follow(select->false_value, factors);
    }
    const auto* call = value.As<ir::CallNode>();
    if (!call || (call->name != "exp" && call->name != "exp2") || factors->power.get())
      return false;
    factors->power = value;
    return FollowExponent(call->args[0], factors);
  }
  // (x - m) * c
  bool FollowExponent(const Expr& value, Factors* factors) const {
    if (const auto* product = value.As<ir::MulNode>())
      return FollowExponent(HasResult(product->a) ? product->a : product->b, factors);
    if (const auto* quotient = value.As<ir::DivNode>()) return FollowExponent(quotient->a, factors);
    if (const auto* cast = value.As<ir::CastNode>())
      return value.dtype().is_float() && FollowExponent(cast->value, factors);
    const auto* difference = value.As<ir::SubNode>();
    if (!difference || HasResult(difference->a)) return false;
    factors->difference = value;
    factors->m = Bare(difference->b);
    const auto* load = factors->m.As<ir::BufferLoadNode>();
    return load && load->buffer.same(leader_->result);
  }

  // ---- Corrections

  void Correct(Member* member) {
    std::string name = "block " + member->name();
    if (member->update->op != ExprKind::kAdd || !IsZero(InitOf(*member)))
      Refuse(name + " depends on a result, and is no sum that begins with 0");
    Factors factors = FactorsOf(*member, Expanded(member->update->value));
    CheckIsLargest(*member, factors);
    CheckPower(*member, factors);
    const std::vector<Expr>& at = member->update->store->indices;
    Expr old = LoadAt(member->result, at), change = LoadAt(change_, IndicesOf(factors.m));
    member->scaled =
        BufferStoreNode::Make(member->result, at, old * Converted(change, old.dtype()));
    const auto* divisor =
        factors.divisor.get() ? factors.divisor.As<ir::BufferLoadNode>() : nullptr;
    if (!divisor) return;
    const Buffer& total = divisor->buffer;
    if (const Member* writer = WriterOf(total); !writer->scaled || writer->divided)
      Refuse(name + " divides by " + total->name + ", which is no such sum");
    if (UsesAxis(factors.divisor, *member->step))
      Refuse(name + " divides by another sum in every step");
    member->divided =
        BufferStoreNode::Make(member->result, at, old / Converted(factors.divisor, old.dtype()));
  }

  static Expr InitOf(const Member& member) {
    const auto* store = member.block->init.As<BufferStoreNode>();
    if (!store) Refuse("the init of block " + member.name() + " is more than one store");
    return store->value;
  }

  // x of exp((x - m) * c) is what m is the largest of, at the same step.
  void CheckIsLargest(const Member& member, const Factors& factors) const {
    ir::VarMap axes;
    const std::vector<Expr>& at = leader_->update->store->indices;
    for (size_t d = 0; d < at.size(); ++d) {
      const auto* axis = at[d].As<VarNode>();
      if (!axis) Refuse("block " + leader_->name() + " does not store results at its axes");
      axes[axis] = IndicesOf(factors.m)[d];
    }
    axes[leader_->step->var.node()] = member.step->var;
    Expr x = factors.difference.As<ir::SubNode>()->a,
         largest = Bare(ir::Substitute(leader_->update->value, axes));
    // Where m leaves out a value, and the sum does too, it does not matter what x is there.
    auto is_known = [&](const ir::SelectNode* select) {
      return IsMinusInfinity(select->false_value) &&
             std::any_of(factors.where.begin(), factors.where.end(), [&](const Expr& condition) {
               return ir::StructuralEqual(condition, select->condition);
             });
    };
    for (const auto* select = largest.As<ir::SelectNode>();
         select && !ir::StructuralEqual(Bare(x), largest) && is_known(select);
         select = largest.As<ir::SelectNode>())
      largest = Bare(select->true_value);
    if (!ir::StructuralEqual(Bare(x), largest))
      Refuse("block " + member.name() + " has an exponential of another value than block " +
             leader_->name() + " reduces");
  }

  // The factor exp((m_before - m) * c) is the same for all.
  void CheckPower(const Member& member, const Factors& factors) {
    auto without = [](const Expr& power, const Expr& difference) {
      return ReplacePart(power, difference, Zero(difference));
    };
    Expr bare = without(factors.power, factors.difference);
    for (const BlockIter& iter : member.block->iters)
      if (UsesAxis(bare, iter))
        Refuse("in block " + member.name() + ", what " + leader_->result->name +
               " is multiplied by in the exponent changes along axis " + iter.var.name());
    if (power_.get() && !ir::StructuralEqual(bare, without(power_, difference_)))
      Refuse("block " + member.name() + " has another exponential than those before it");
    power_ = factors.power;
    difference_ = factors.difference;
  }

  void MakeBuffers() {
    DataType dtype = leader_->result->dtype;
    auto make = [&](const char* suffix, DataType of) {
      return BufferNode::Make(leader_->name() + suffix, of, leader_->result->shape);
    };
    before_ = make("_before", dtype);
    // Sums are multiplied by every one of them, one after the other.
    change_ = make("_change", dtype.bits() < 32 ? DataType::Float(32) : dtype);
    if (IsMinusInfinity(Start())) now_ = make("_now", dtype);
  }

  // exp((m_before - m) * c)
  Expr Change() const {
    Expr before = Row(before_), now = Row(now_ ? now_ : leader_->result);
    Expr change = ReplacePart(power_, difference_, Converted(before - now, difference_.dtype()));
    change = Converted(change, change_->dtype);
    if (!now_) return change;
    return ir::SelectNode::Make(before == Start(), Zero(change), change);
  }

  Expr Start() const { return InitOf(*leader_); }
  static Expr Zero(const Expr& like) { return ir::MakeConst(like.dtype(), 0); }
  Expr Row(const Buffer& buffer) const { return LoadAt(buffer, leader_->update->store->indices); }
  Stmt StoreRow(const Buffer& buffer, const Expr& value) const {
    return BufferStoreNode::Make(buffer, leader_->update->store->indices, value);
  }

  // A block over the results of a member.
  static Stmt OfRows(const Member& member, const char* suffix, const Stmt& body) {
    std::vector<const ForNode*> reduction = ReductionLoops(member.nest), loops;
    for (const ForNode* loop : member.nest.loops)
      if (!IsIn(reduction, loop)) loops.push_back(loop);
    auto block = OncePerResult(member.block, member.name() + suffix, body, reduction);
    return CopyWithFreshDefs(WrapLoops(loops, Stmt(block)));
  }

  // What a block does with results so far: m_now in the place of m, and no quotients.
  Stmt WithCurrent(const Member& member) const {
    if (!DependsOnResults(member)) return member.block->body;
    struct Rewriter : StmtMutator {
      using StmtMutator::MutateNode;
      Expr MutateNode(const ir::DivNode* node, const Expr& self) override {
        return roller->HasResult(node->b) ? Mutate(node->a) : MutateChildren(node, self);
      }
      Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
        bool leads = node->buffer.same(roller->leader_->result);
        return leads && roller->now_ ? LoadAt(roller->now_, node->indices)
                                     : MutateChildren(node, self);
      }
      const Roller* roller = nullptr;
    } rewriter;
    rewriter.roller = this;
    return rewriter.Mutate(member.block->body);
  }

  std::vector<Member> members_;
  const Member* leader_ = nullptr;  // the reduction that others depend on
  Expr power_, difference_;
  Buffer before_, now_, change_;
};

}  // namespace

// A buffer of shared memory has what a step accesses.
void Schedule::ShrinkToStep(const Buffer& buffer, const ForNode* loop) {
  const AllocateNode* allocation = AllocationOf(tree(), buffer);
  if (!allocation || !tree().IsInside(allocation, loop)) return;
  arith::Analyzer analyzer = AnalyzerAt(function_, PathTo(tree(), allocation));
  AccessRegions regions = FindAccessRegions(OpenBlocks(allocation->body), analyzer);
  std::vector<AccessRegion> joined;
  for (const AccessRegion* region : {regions.Reads(buffer), regions.Writes(buffer)})
    if (region) JoinRegion(*region, analyzer, &joined);
  if (!joined.empty()) ReplaceStmt(allocation, ShrinkShared(allocation, joined[0].ranges));
}

void Schedule::Roll(const LoopRef& first_ref, const LoopRef& last_ref) {
  Do("roll", {TextOf(first_ref), TextOf(last_ref)}, [&] {
    const ForNode *first = At(first_ref), *last = At(last_ref);
    Between between =
        FindBetween(tree(), first, "loop " + first_ref.str(), last, "loop " + last_ref.str());
    arith::Analyzer analyzer = AnalyzerAt(function_, between.outside);
    Row row;
    Flatten(AsStmt(between.row), &row);
    auto place = [&](const ForNode* loop) {
      auto at = std::find_if(row.stmts.begin(), row.stmts.end(),
                             [&](const Stmt& stmt) { return stmt.get() == loop; });
      if (at == row.stmts.end())
        Refuse("loop " + loop->var.name() + " does not stand beside the other one");
      return at;
    };
    auto begin = place(first), end = place(last) + 1;
    std::vector<Member> members;
    for (auto it = begin; it != end; ++it) {
      const auto* loop = it->As<ForNode>();
      std::vector<const BlockNode*> blocks = BlocksIn(*it);
      if (!loop || blocks.size() != 1)
        Refuse("between the loops is more than loops of one block each");
      CheckIsPlain(loop);
      CheckSameBounds(loop, last, analyzer);
      Nest nest = NestOf(tree(), blocks[0]);
      if (!nest.Has(loop)) Refuse("loop " + loop->var.name() + " holds more than its block");
      if (!FactsOf(blocks[0]).bounded)
        Refuse("block " + blocks[0]->name + " does not run over all of its axes");
      members.push_back({.loop = loop, .nest = nest, .block = blocks[0]});
    }
    Roller roller(members);
    for (const Member& member : members)
      if (member.block->init) CheckMayReassociate(member.block, "steps are corrected");
    for (size_t a = 0; a < members.size(); ++a)
      for (size_t b = a + 1; b < members.size(); ++b)
        CheckIterationsApart(function_, members[a].loop, members[b].loop, analyzer,
                             roller.Results());
    for (const auto& [block, of] : roller.NewBlocks()) CheckNewBlock(block);
    for (const Buffer& buffer : roller.NewBuffers()) CheckNewBuffer(buffer->name);
    // What is computed of results so far has no meaning behind the loop.
    Stmt all = SeqNode::Make(std::vector<Stmt>(begin, end));
    Expr extent = roller.StepsThatCount(last);
    for (const auto& [buffer, of_results] : roller.AllElements()) {
      bool is_seen = !AllocationOf(tree(), buffer) ||
                     AccessesOf(function_->body, buffer).size() != AccessesOf(all, buffer).size();
      if (of_results && is_seen)
        Refuse(buffer->name + " depends on the results so far, and is read outside of the loops");
      if (is_seen) extent = {};
    }
    if (!extent) extent = last->extent;
    std::map<std::string, BlockFacts> facts;
    for (const auto& [block, of] : roller.NewBlocks()) facts[block] = FactsOf(FindBlock(of));

    std::vector<Stmt> stmts(row.stmts.begin(), begin);
    for (Stmt& init : roller.Inits()) stmts.push_back(std::move(init));
    stmts.push_back(last->With(last->min, analyzer.Simplify(extent), roller.Body(last->var)));
    for (Stmt& quotient : roller.Quotients()) stmts.push_back(std::move(quotient));
    stmts.insert(stmts.end(), end, row.stmts.end());
    Stmt whole = SeqNode::Make(std::move(stmts));
    for (size_t i = row.allocations.size(); i-- > 0;) {
      const auto* allocation = row.allocations[i].As<AllocateNode>();
      whole = AllocateNode::Make(allocation->buffer, whole, allocation->span);
    }
    ReplaceStmt(between.row, whole);
    for (const auto& [block, of] : facts) SetFacts(block, of);
    // Elements are needed in a step alone.
    LoopRef rolled(last->var);
    std::vector<Buffer> elements;
    for (const auto& [buffer, of_results] : roller.AllElements()) elements.push_back(buffer);
    FillLoop(At(rolled), At(rolled)->body, elements);
    for (const Buffer& buffer : elements) ShrinkToStep(buffer, At(rolled));
  });
}

}  // namespace tern::schedule
