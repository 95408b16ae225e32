// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/roller.h"

#include <algorithm>
#include <cmath>

#include "tern/arith/linear.h"
#include "tern/ir/structural.h"
#include "tern/tir/analysis/access_regions.h"
#include "tern/tir/copy_with_fresh_defs.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

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

}  // namespace

Roller::Roller(std::vector<RolledLoop> members) : members_(std::move(members)) {
  for (RolledLoop& member : members_) Describe(&member);
  for (const RolledLoop& member : members_)
    if (!leader_ && member.reduces() && member.update->op == ExprKind::kMax) leader_ = &member;
  if (!leader_ || DependsOnResults(*leader_)) Refuse("no block reduces by max what others need");
  // What integers change by is no factor of theirs: it may overflow, and is rounded.
  if (!leader_->result->dtype.is_float())
    Refuse("block " + leader_->name() + " reduces integers, which sums are not corrected for");
  MakeBuffers();
  for (RolledLoop& member : members_)
    if (member.reduces() && DependsOnResults(member)) Correct(&member);
  if (!power_.get()) Refuse("no reduction depends on the result of block " + leader_->name());
  if (leader_->part) MakePartBuffers();
}

std::vector<Buffer> Roller::Results() const {
  std::vector<Buffer> results;
  for (const RolledLoop& member : members_)
    if (member.reduces()) results.push_back(member.result);
  return results;
}

std::vector<Roller::Elements> Roller::AllElements() const {
  std::vector<Elements> all;
  for (const RolledLoop& member : members_)
    if (!member.reduces()) all.push_back({member.result, DependsOnResults(member)});
  return all;
}

std::vector<Stmt> Roller::Inits() const {
  std::vector<Stmt> row;
  for (const RolledLoop& member : members_)
    if (member.reduces()) row.push_back(OfRows(member, "_init", member.block->init));
  return row;
}

Stmt Roller::Body(const Var& var) const {
  std::vector<Stmt> row;
  for (const RolledLoop& member : members_) {
    if (&member == leader_)
      row.push_back(OfRows(member, "_before", StoreRow(before_, Row(leader_->result))));
    if (member.scaled) row.push_back(OfRows(member, "_scale", member.scaled));
    Stmt init = member.reduces() ? Stmt() : member.block->init;
    Stmt block = InPart(member, member.block->With(init, WithCurrent(member)));
    row.push_back(ReplaceAt(PathTo(member.loop->body, member.block), block));
    if (&member != leader_) continue;
    if (now_) {
      Expr m = Row(leader_->result);
      Stmt store = StoreRow(now_, ir::SelectNode::Make(m == Start(), Zero(m), m));
      row.push_back(OfRows(member, "_now", store));
    }
    row.push_back(OfRows(member, "_change", StoreRow(change_, Change())));
  }
  ir::VarMap vars = PartVars();
  for (const RolledLoop& member : members_) vars[member.loop->var.node()] = var;
  Stmt body = Substitute(SeqNode::Make(std::move(row)), vars);
  for (const Buffer& buffer : NewBuffers()) body = AllocateNode::Make(buffer, body);
  return body;
}

Expr Roller::StepsThatCount(const ForNode* loop) const {
  for (const RolledLoop& member : members_)
    if (member.reduces() && &member != leader_ && !member.scaled) return {};
  Expr value = Bare(leader_->update->value);
  if (const auto* load = value.As<ir::BufferLoadNode>())
    if (const RolledLoop* writer = WriterOf(load->buffer); writer && writer->store)
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

std::vector<Stmt> Roller::Quotients() const {
  std::vector<Stmt> row;
  for (const RolledLoop& member : members_)
    if (member.divided) row.push_back(OfRows(member, "_divide", member.divided));
  return row;
}

std::vector<Stmt> Roller::PartStores() const {
  const ForNode* part = members_.back().part;
  std::vector<Stmt> row;
  for (const RolledLoop& member : members_) {
    if (!member.reduces()) continue;
    BlockIter axis{part->extent, part->var, Var("vpart", part->var.dtype()), IterKind::kSpatial};
    const std::vector<Expr>& at = member.update->store->indices;
    Stmt store =
        BufferStoreNode::Make(member.parts, WithPart(axis.var, at), LoadAt(member.result, at));
    row.push_back(OfRows(member, "_parts", store, &axis));
  }
  return row;
}

std::vector<Stmt> Roller::Combined() const {
  std::vector<Stmt> row = {AllOf(*leader_), Weights()};
  for (const RolledLoop& member : members_)
    if (member.reduces() && &member != leader_) row.push_back(AllOf(member));
  for (const RolledLoop& member : members_) {
    if (!member.divided) continue;
    NewBlock block(member.name() + "_divide", member.block);
    AddRows(member, &block);
    const auto* quotient = member.divided.As<BufferStoreNode>();
    Expr value = quotient->value;
    // Of no steps the sums are 0, and so is what was divided before it was summed up.
    if (const Expr& steps = member.step->extent; !ir::AsConstInt(steps))
      value = ir::SelectNode::Make(ir::MakeConst(steps.dtype(), 0) < steps, value,
                                   ir::MakeConst(value.dtype(), 0));
    Stmt divided = BufferStoreNode::Make(member.all, quotient->indices, value);
    for (const RolledLoop& one : members_)
      if (one.reduces())
        divided = ReplaceBuffer(divided, one.result, one.undivided ? one.undivided : one.all);
    row.push_back(block.Finish({}, Substitute(divided, block.values)));
  }
  return row;
}

std::vector<PartResult> Roller::PartResults() const {
  std::vector<PartResult> results;
  for (const RolledLoop& member : members_)
    if (member.reduces())
      results.push_back({member.result, member.parts, member.all, member.undivided});
  return results;
}

std::vector<std::pair<std::string, std::string>> Roller::NewBlocks() const {
  std::vector<std::pair<std::string, std::string>> names;
  for (const RolledLoop& member : members_) {
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
    add("_parts", member.parts.get() != nullptr);
    add("_all", member.all.get() != nullptr);
    add("_weight", leads && weight_);
  }
  return names;
}

std::vector<Buffer> Roller::NewBuffers() const {
  std::vector<Buffer> buffers = {before_, change_};
  if (now_) buffers.push_back(now_);
  return buffers;
}

void Roller::Describe(RolledLoop* member) {
  std::string name = "block " + member->name(), loop = "loop " + member->loop->var.name();
  for (const BlockIter& iter : member->block->iters)
    if (ir::UsesVar(iter.binding, member->loop->var.node())) {
      if (member->step) Refuse("two axes of " + name + " are along " + loop);
      member->step = &iter;
    }
  if (!member->step) Refuse("no axis of " + name + " is along " + loop);
  for (const BlockIter& iter : member->block->iters)
    if (member->part &&
        ir::UsesVar(iter.binding, member->part->var.node()) != (&iter == member->step))
      Refuse("loop " + member->part->var.name() + " is not of parts of the steps of " + name);
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

const RolledLoop* Roller::WriterOf(const Buffer& buffer) const {
  for (const RolledLoop& member : members_)
    if (member.result.same(buffer)) return &member;
  return nullptr;
}

bool Roller::DependsOnResults(const RolledLoop& member) const {
  for (const Access& access : AccessesOf(AsStmt(member.block))) {
    const RolledLoop* writer = WriterOf(access.buffer);
    if (!access.store && writer && writer != &member &&
        (writer->reduces() || DependsOnResults(*writer)))
      return true;
  }
  return false;
}

std::optional<ir::VarMap> Roller::AxesOf(const BufferStoreNode& store,
                                         const std::vector<Expr>& at) {
  ir::VarMap axes;
  for (size_t d = 0; d < at.size(); ++d) {
    const auto* axis = store.indices[d].As<VarNode>();
    if (!axis) return {};
    axes[axis] = at[d];
  }
  return axes;
}

Expr Roller::LeastOf(const Expr& condition) const {
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

bool Roller::HasResult(const Expr& expr) const {
  for (const Access& access : AccessesOf(EvaluateNode::Make(expr)))
    if (const RolledLoop* writer = WriterOf(access.buffer); writer && writer->reduces())
      return true;
  return false;
}

Expr Roller::Expanded(const Expr& value) const {
  return RewriteLoads(value, [&](const Buffer& buffer, const std::vector<Expr>& at) -> Expr {
    const RolledLoop* writer = WriterOf(buffer);
    if (!writer || writer->reduces() || !DependsOnResults(*writer)) return {};
    std::string name = "block " + writer->name();
    if (!writer->store) Refuse(name + " depends on a reduction, and is more than one store");
    std::optional<ir::VarMap> axes = AxesOf(*writer->store, at);
    if (!axes) Refuse(name + " does not store each element at its axes");
    return Expanded(ir::Substitute(writer->store->value, *axes));
  });
}

Expr Roller::RewriteLoads(
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

Roller::Factors Roller::FactorsOf(const RolledLoop& member, const Expr& value) const {
  Factors factors;
  bool known = Follow(value, &factors) && factors.m.get();
  if (!known)
    Refuse("block " + member.name() +
           " does not sum up exp((x - m) * c), a product of that, or a quotient by another sum "
           "of the kind, where m is the result of block " +
           leader_->name());
  return factors;
}

bool Roller::Follow(const Expr& value, Factors* factors) const {
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
  if (!call || (call->name != "exp" && call->name != "exp2") || factors->power.get()) return false;
  factors->power = value;
  return FollowExponent(call->args[0], factors);
}

bool Roller::FollowExponent(const Expr& value, Factors* factors) const {
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

void Roller::Correct(RolledLoop* member) {
  std::string name = "block " + member->name();
  if (member->update->op != ExprKind::kAdd || !IsZero(InitOf(*member)))
    Refuse(name + " depends on a result, and is no sum that begins with 0");
  Factors factors = FactorsOf(*member, Expanded(member->update->value));
  CheckIsLargest(*member, factors);
  CheckPower(*member, factors);
  auto is_of_result = [&](const Expr& load) {
    return std::none_of(member->block->iters.begin(), member->block->iters.end(),
                        [&](const BlockIter& iter) {
                          return iter.kind == IterKind::kReduce && UsesAxis(load, iter);
                        });
  };
  if (!is_of_result(factors.m)) Refuse(name + " sums up exponentials of several rows");
  const std::vector<Expr>& at = member->update->store->indices;
  Expr old = LoadAt(member->result, at), change = LoadAt(change_, IndicesOf(factors.m));
  member->m = factors.m;
  member->scaled = BufferStoreNode::Make(member->result, at, old * Converted(change, old.dtype()));
  const auto* divisor = factors.divisor.get() ? factors.divisor.As<ir::BufferLoadNode>() : nullptr;
  if (!divisor) return;
  const Buffer& total = divisor->buffer;
  if (const RolledLoop* writer = WriterOf(total); !writer || !writer->scaled || writer->divided)
    Refuse(name + " divides by " + total->name + ", which is no such sum");
  if (!is_of_result(factors.divisor)) Refuse(name + " divides by another sum in every step");
  member->divided =
      BufferStoreNode::Make(member->result, at, old / Converted(factors.divisor, old.dtype()));
}

Expr Roller::InitOf(const RolledLoop& member) {
  const auto* store = member.block->init.As<BufferStoreNode>();
  if (!store) Refuse("the init of block " + member.name() + " is more than one store");
  return store->value;
}

void Roller::CheckIsLargest(const RolledLoop& member, const Factors& factors) const {
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

void Roller::CheckPower(const RolledLoop& member, const Factors& factors) {
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

void Roller::MakeBuffers() {
  DataType dtype = leader_->result->dtype;
  auto make = [&](const char* suffix, DataType of) {
    return BufferNode::Make(leader_->name() + suffix, of, leader_->result->shape);
  };
  before_ = make("_before", dtype);
  // Sums are multiplied by every one of them, one after the other.
  change_ = make("_change", dtype.bits() < 32 ? DataType::Float(32) : dtype);
  if (IsMinusInfinity(Start())) now_ = make("_now", dtype);
}

Expr Roller::Change() const {
  Expr before = Row(before_);
  return Factor(before, Row(now_ ? now_ : leader_->result));
}

Expr Roller::Factor(const Expr& from, const Expr& to) const {
  Expr factor = ReplacePart(power_, difference_, Converted(from - to, difference_.dtype()));
  factor = Converted(factor, change_->dtype);
  if (!now_) return factor;
  return ir::SelectNode::Make(from == Start(), Zero(factor), factor);
}

Expr Roller::Row(const Buffer& buffer) const {
  return LoadAt(buffer, leader_->update->store->indices);
}

Stmt Roller::StoreRow(const Buffer& buffer, const Expr& value) const {
  return BufferStoreNode::Make(buffer, leader_->update->store->indices, value);
}

Stmt Roller::OfRows(const RolledLoop& member, const char* suffix, const Stmt& body,
                    const BlockIter* axis) const {
  std::vector<const ForNode*> reduction = ReductionLoops(member.nest), loops;
  for (const ForNode* loop : member.nest.loops)
    if (!IsIn(reduction, loop)) loops.push_back(loop);
  auto block = OncePerResult(member.block, member.name() + suffix, body, reduction);
  if (axis) block->iters.push_back(*axis);
  return Substitute(CopyWithFreshDefs(WrapLoops(loops, Stmt(block))), PartVars());
}

ir::VarMap Roller::PartVars() const {
  ir::VarMap vars;
  for (const RolledLoop& member : members_)
    if (member.part) vars[member.part->var.node()] = members_.back().part->var;
  return vars;
}

Stmt Roller::InPart(const RolledLoop& member, const Stmt& block) {
  if (!member.part || !member.reduces()) return block;
  auto step = CopyBlock(block.As<BlockNode>());
  std::erase_if(step->iters, [](const BlockIter& it) { return it.kind == IterKind::kReduce; });
  ir::VarMap axes;
  for (const ForNode* loop : ReductionLoops(member.nest)) {
    Var axis("v" + loop->var.name(), loop->var.dtype());
    axes[loop->var.node()] = axis;
    IterKind kind = loop == member.part ? IterKind::kSpatial : IterKind::kReduce;
    step->iters.push_back({loop->extent, loop->var, axis, kind});
  }
  ir::VarMap steps;
  for (const BlockIter& iter : member.block->iters)
    if (iter.kind == IterKind::kReduce) steps[iter.var.node()] = ir::Substitute(iter.binding, axes);
  step->body = Substitute(step->body, steps);
  return Stmt(step);
}

std::vector<Expr> Roller::WithPart(const Expr& part, std::vector<Expr> at) {
  at.insert(at.begin(), part);
  return at;
}

void Roller::MakePartBuffers() {
  for (RolledLoop& member : members_) {
    if (!member.reduces()) continue;
    const ReductionUpdate& update = *member.update;
    bool repeats = update.op == ExprKind::kMax || update.op == ExprKind::kMin ||
                   (update.op == ExprKind::kAdd && IsZero(InitOf(member)));
    if (!repeats) Refuse("parts of block " + member.name() + " cannot begin with its init each");
    for (const Expr& index : update.store->indices)
      if (!index.As<VarNode>())
        Refuse("block " + member.name() + " does not store results at its axes");
    const Buffer& result = member.result;
    std::vector<Expr> shape = WithPart(member.part->extent, result->shape);
    member.parts = BufferNode::Make(result->name + "_parts", result->dtype, shape);
    member.all = BufferNode::Make(result->name + "_all", result->dtype, result->shape);
    if (member.divided)
      member.undivided =
          BufferNode::Make(result->name + "_undivided", result->dtype, result->shape);
  }
  weight_ = BufferNode::Make(leader_->name() + "_weight", change_->dtype, leader_->parts->shape);
}

void Roller::AddRows(const RolledLoop& member, NewBlock* block) {
  for (const BlockIter& iter : member.block->iters)
    if (iter.kind == IterKind::kSpatial)
      block->values[iter.var.node()] = block->Add(AxisName(iter), iter.extent, IterKind::kSpatial);
}

std::vector<Expr> Roller::At(const std::vector<Expr>& indices, const NewBlock& block) {
  std::vector<Expr> at;
  for (const Expr& index : indices) at.push_back(ir::Substitute(index, block.values));
  return at;
}

Stmt Roller::AllOf(const RolledLoop& member) const {
  NewBlock block(member.name() + "_all", member.block);
  AddRows(member, &block);
  Expr part = block.Add("part", members_.back().part->extent, IterKind::kReduce);
  std::vector<Expr> at = At(member.update->store->indices, block);
  Expr value = LoadAt(member.parts, WithPart(part, at));
  if (member.m) {
    Expr weight = LoadAt(weight_, WithPart(part, At(IndicesOf(member.m), block)));
    value = value * Converted(weight, value.dtype());
  }
  const Buffer& all = member.undivided ? member.undivided : member.all;
  value = CombineValues(member.update->op, LoadAt(all, at), value);
  Expr start = ir::Substitute(InitOf(member), block.values);
  return block.Finish(BufferStoreNode::Make(all, at, start), BufferStoreNode::Make(all, at, value));
}

Stmt Roller::Weights() const {
  NewBlock block(leader_->name() + "_weight", leader_->block);
  AddRows(*leader_, &block);
  Expr part = block.Add("part", members_.back().part->extent, IterKind::kSpatial);
  std::vector<Expr> at = At(leader_->update->store->indices, block);
  Expr own = LoadAt(leader_->parts, WithPart(part, at));
  Expr weight = Factor(own, LoadAt(leader_->all, at));
  return block.Finish({}, BufferStoreNode::Make(weight_, WithPart(part, at), weight));
}

Stmt Roller::WithCurrent(const RolledLoop& member) const {
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

}  // namespace tern::schedule
