// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and other sums of products of low precision (int8, bfloat16) on hosts.
//
// implicit_dot_gemm: im2col, then a GEMM by dot-product instructions (dot_matmul.h).
//
//   A[m, k], B[k, n] = im2col                 rows along the contiguous axis, in parallel
//   C = A * B                                 AMX, VNNI, ...; the epilogue stores to the result
//
// A zero point, as in (int32(X[..]) - 128) * int32(W[..]), is subtracted while A is copied, to the
// narrowest integer that has the difference: exactly the same sums. Plans and cost are those of the
// first rule for dot-product instructions that takes the GEMM. Declines what none takes.
//
// widen_convolution: what is left, and float16: operands are converted before, each element once,
// and the other rules take the convolution.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/dot_matmul.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/im2col_loops.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Columns of an image that are worth a matrix of their own, as implicit_gemm has it, and so few
// steps of K that its vector stores count for more than dot products.
constexpr int64_t kLeastColumns = 64, kFewSteps = 16;

// The operands that a block reads beside its result.
std::vector<const BlockAccess*> OperandsOf(const BlockInfo& block) {
  std::vector<const BlockAccess*> operands;
  for (const BlockAccess& access : block.accesses)
    if (!access.store && !access.buffer.same(block.accesses[0].buffer)) operands.push_back(&access);
  return operands;
}

bool IsNarrow(DataType dtype) { return dtype.is_float() ? dtype.bits() < 32 : dtype.bits() <= 16; }

// Operands of int8 and int16: both become int16.
void WidenToOther(Schedule* schedule, const BlockRef& block, const Gemm& gemm) {
  for (const GemmOperand* operand : {&gemm.a, &gemm.b}) {
    const GemmOperand& other = operand->is_a ? gemm.b : gemm.a;
    if (operand->bytes() >= other.bytes()) continue;
    CopyRef copy = schedule->CacheRead(block, operand->buffer, StorageScope::kGlobal,
                                       FreshBlockName(*schedule, operand->name + "_wide"));
    schedule->SetDtype(copy, other.dtype);
    schedule->ComputeInline(ProducerOf(*schedule, operand->buffer));
  }
}

// Of K, as far as they are static.
int64_t StepsOf(const BlockInfo& block) {
  int64_t steps = 1;
  for (const BlockAxis& axis : block.axes)
    if (axis.kind == IterKind::kReduce)
      steps *= ir::AsConstInt(axis.extent).value_or(kFewSteps + 1);
  return steps;
}

// The operands, as matrices, and the copy of the result.
CopyRefs MakeMatrices(Schedule* schedule, const BlockInfo& block) {
  std::vector<const BlockAccess*> operands = OperandsOf(block);
  if (operands.size() != 2 ||
      !std::all_of(operands.begin(), operands.end(), [](const BlockAccess* access) {
        return IsNarrow(access->buffer->dtype) && access->buffer->dtype != DataType::Float(16);
      }))
    Refuse("it is no product of two operands of integers or bfloat16");
  if (MatchGemm(*schedule, block, Sizes::kDynamic)) Refuse("it is a GEMM as it is");
  if (ColumnsApart apart = FindColumnsApart(block);
      !apart.axes.empty() && apart.contiguous >= kLeastColumns && StepsOf(block) <= kFewSteps)
    Refuse("K is so short that storing to images that are apart costs more than the products");
  MakeChannelsInnermost(schedule, block);
  BlockRef product = block.ref;
  CopyRefs made = schedule->Im2col(product, SharedAxes(block));
  FuseEpilogue(schedule, made[2], block.accesses[0].buffer);
  for (const CopyRef& operand : {made[0], made[1]}) PutContiguousLast(schedule, operand);
  Gemm gemm = RequireGemm(*schedule, block.ref, Sizes::kDynamic);
  if (!IsNarrow(gemm.a.dtype) || !IsNarrow(gemm.b.dtype))
    Refuse("a factor needs more than 16 bits");
  if (gemm.a.dtype.is_int() && gemm.b.dtype.is_int()) WidenToOther(schedule, product, gemm);
  return made;
}

std::vector<Plan> ImplicitDotPlans(Schedule* schedule, const BlockInfo& block,
                                   const TargetInfo& target, const Plan* wanted) {
  Schedule probe = *schedule;
  MakeMatrices(&probe, block);
  BlockInfo product = DescribeBlock(probe, block.ref);
  std::vector<std::string> rules = DotMatmulRules();
  std::string why;
  std::vector<std::pair<const Rule*, std::vector<Plan>>> found;
  for (const Rule* rule : RulesFor(BlockKind::kMatmul, target)) {
    if (!Contains(rules, rule->name)) continue;
    try {
      Schedule attempt = probe;
      std::vector<Plan> plans = rule->planned.plans(&attempt, product, target, wanted);
      if (!plans.empty()) found.emplace_back(rule, std::move(plans));
    } catch (const Error& error) {
      if (error.kind() != "ScheduleError") throw;
      why += (why.empty() ? "" : "; ") + rule->name + ": " + error.message();
    }
  }
  // The first one whose steps are not refused.
  for (auto& [rule, plans] : found) {
    Plan best = *std::min_element(plans.begin(), plans.end(),
                                  [](const Plan& a, const Plan& b) { return a.cycles < b.cycles; });
    bool is_last = rule == found.back().first;
    if (is_last || Try(&probe, [&, rule = rule](Schedule* attempt) {
          Schedule steps = *attempt;
          rule->planned.apply(&steps, product, target, &best);
        }))
      return plans;
  }
  if (!wanted || !why.empty())
    Refuse(why.empty() ? "the machine has no dot-product instructions" : why);
  return {};
}

void ImplicitDot(Schedule* schedule, const BlockInfo& block, const TargetInfo& target, Plan* plan) {
  CopyRefs made = MakeMatrices(schedule, block);
  BlockInfo product = DescribeBlock(*schedule, block.ref);
  std::string why;
  bool done = false;
  for (const std::string& rule : DotMatmulRules()) {
    PlanRequest request{block.name, rule, *plan};
    RuleResult result = ApplyRules(schedule, product, target, &request);
    done = !result.rule.empty();
    if (done) *plan = result.plans[0];
    if (done) break;
    for (const std::string& other : result.passed_over) why += (why.empty() ? "" : "; ") + other;
  }
  if (!done) Refuse(why);
  for (const CopyRef& operand : {made[0], made[1]})
    if (schedule->tree().Has(operand)) CopyOperand(schedule, operand, target);
}

void WidenConvolution(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  DataType sum = block.accesses[0].buffer->dtype;
  BlockRef own = block.ref;
  bool widens = false;
  for (const BlockAccess* access : OperandsOf(block)) {
    if (access->buffer->dtype == sum) continue;
    if (!IsNarrow(access->buffer->dtype)) Refuse("an operand is not of low precision");
    CopyRef copy =
        schedule->CacheRead(own, access->buffer, StorageScope::kGlobal,
                            FreshBlockName(*schedule, block.ref + "_" + access->buffer->name));
    schedule->SetDtype(copy, sum);
    ApplyRules(schedule, DescribeBlock(*schedule, copy), target);
    widens = true;
  }
  if (!widens) Refuse("its operands are of the type of the result");
  BlockInfo wide = DescribeBlock(*schedule, own);
  if (ApplyRules(schedule, wide, target).rule.empty()) Refuse("no rule takes the wide one");
}

}  // namespace

void RegisterHostImplicitDotRules() {
  auto has_vectors = [](const TargetInfo& target) { return target.is_host_with_vectors(); };
  RegisterRule({.name = "implicit_dot_gemm",
                .description = "im2col, then a GEMM of low precision by dot-product instructions",
                .kinds = {BlockKind::kMatmul, BlockKind::kConvolution, BlockKind::kReduction},
                .fits = has_vectors,
                .priority = 31,
                .planned = {DotPlanFields(), ImplicitDotPlans, ImplicitDot}});
  RegisterRule({.name = "widen_convolution",
                .description = "operands are converted to the type of the sums before",
                .kinds = {BlockKind::kConvolution},
                .fits = has_vectors,
                .priority = 30,
                .apply = WidenConvolution});
}

}  // namespace tern::schedule
