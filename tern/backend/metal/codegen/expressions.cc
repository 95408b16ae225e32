// SPDX-License-Identifier: Apache-2.0
//
// Calls, conversions and vectors.
#include <fmt/format.h>

#include <map>
#include <set>

#include "tern/backend/metal/codegen/codegen_metal.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::metal {

using codegen::Code;
using codegen::Precedence;

namespace {

bool TakesVectorCall(const ir::CallNode* call) {
  DataType operand = call->args[0].dtype();
  bool is_operator = call->name.starts_with("bit_") || call->name.starts_with("shift_");
  if (is_operator) return call->dtype.bits() >= 32;
  return call->name == tir::intrinsic::kReinterpret || !FunctionOf(call->name, operand).empty();
}

}  // namespace

std::string FunctionOf(const std::string& intrinsic, DataType dtype) {
  if (dtype.is_integer())
    return dtype.bits() == 32 && (intrinsic == "popcount" || intrinsic == "clz") ? intrinsic : "";
  if (!dtype.is_float() || dtype.bits() != 32) return "";
  static const std::set<std::string> kAbsent = {"expm1", "log1p", "erf"};
  // Exact, whatever the mode of the compiler.
  static const std::set<std::string> kExact = {"abs",   "floor", "ceil",    "trunc",
                                               "round", "fma",   "copysign"};
  std::string function = codegen::MathFunction(intrinsic);
  if (function.empty() || kAbsent.contains(intrinsic)) return "";
  return kExact.contains(intrinsic) ? function : "precise::" + function;
}

bool TakesVector(const ir::Expr& expr) {
  using ir::ExprKind;
  DataType dtype = expr.dtype();
  if (dtype.lanes() < 2 || dtype.lanes() > 4 || dtype.is_bool()) return false;
  ExprKind kind = expr->kind;
  if (kind == ExprKind::kBufferLoad) {
    const auto* ramp = expr.As<ir::BufferLoadNode>()->indices.back().As<ir::RampNode>();
    return ramp && ir::IsConst(ramp->stride, 1);
  }
  if (const auto* call = expr.As<ir::CallNode>()) return TakesVectorCall(call);
  // Of conversions of narrow floats the language has one; the others are written for scalars.
  if (const auto* cast = expr.As<ir::CastNode>()) {
    DataType from = cast->value.dtype().element(), to = dtype.element();
    DataType half = DataType::Float(16), single = DataType::Float(32);
    bool has_narrow = from.is_narrow_float() || to.is_narrow_float();
    if (has_narrow && !(from == half && to == single) && !(from == single && to == half))
      return false;
  }
  // Wrapping, and the choice between numbers, are written for scalars.
  if (kind == ExprKind::kMin || kind == ExprKind::kMax) return false;
  bool computes = kind >= ExprKind::kAdd && kind <= ExprKind::kMax;
  if (computes && dtype.bits() < 32) return false;
  if (kind == ExprKind::kFloorDiv || kind == ExprKind::kFloorMod) return dtype.is_uint();
  return true;
}

// ---- Calls.

std::string CodeGenMetal::FunctionName(const ir::CallNode* node) {
  return FunctionOf(node->name, node->dtype);
}

// By the functions of Metal, of 32 bits and relaxed; floats by a loop of compare-exchange.
std::string CodeGenMetal::UseAtomic(const tir::Atomic& atomic) {
  using enum tir::AtomicKind;
  static const std::map<tir::AtomicKind, const char*> kWords = {
      {kAdd, "fetch_add"}, {kMin, "fetch_min"}, {kMax, "fetch_max"},     {kAnd, "fetch_and"},
      {kOr, "fetch_or"},   {kXor, "fetch_xor"}, {kExchange, "exchange"}, {kCompareExchange, ""}};
  DataType dtype = atomic.dtype();
  TERN_CHECK(!atomic.seq_cst && dtype.bits() == 32)
      << ir::At(atomic.element->span) << "Metal has no " << atomic.name() << " of " << dtype.str()
      << (atomic.seq_cst ? " of order seq_cst" : "") << "; it has atomics of 32 bits, relaxed";
  bool is_shared = IsSharedScope(atomic.element->buffer->scope);
  std::string space = is_shared ? "threadgroup " : "device ";
  std::string name = AtomicHelperName(atomic) + (is_shared ? "_threadgroup" : "");
  std::string type = ValueType(dtype), as = dtype.is_int() ? "atomic_int" : "atomic_uint";
  std::string head =
      fmt::format("static {0} {1}({2}{0}* p, {0} x{3}) {{\n  {2}{4}* q = ({2}{4}*)p;\n", type, name,
                  space, atomic.operands.size() > 1 ? ", " + type + " y" : "", as);
  constexpr const char* kOrder = "memory_order_relaxed";
  std::string body;
  if (atomic.kind == kCompareExchange)
    // The weak form may fail where the values are equal.
    body = fmt::format(
        "  {0} old = x;\n"
        "  while (!atomic_compare_exchange_weak_explicit(q, &old, y, {1}, {1}) && old == x) {{}}\n"
        "  return old;\n",
        type, kOrder);
  else if (!dtype.is_float())
    body = fmt::format("  return atomic_{}_explicit(q, x, {});\n", kWords.at(atomic.kind), kOrder);
  else
    body = fmt::format(
        "  uint seen = atomic_load_explicit(q, {0});\n"
        "  float old;\n"
        "  do old = as_type<float>(seen);\n"
        "  while (!atomic_compare_exchange_weak_explicit(q, &seen, as_type<uint>(float({1})), {0}, "
        "{0}));\n"
        "  return old;\n",
        kOrder, AtomicUpdate(atomic.kind, "old", "x"));
  return UseHelper(name, head + body + "}\n");
}

void CodeGenMetal::EmitCall(const ir::CallNode* node) {
  if (node->name != tir::intrinsic::kBarrier) return CodeGenC::EmitCall(node);
  bool orders_global = tir::BarrierKindOf(node) == tir::BarrierKind::kGlobal;
  Line(fmt::format("threadgroup_barrier({}mem_flags::mem_threadgroup);",
                   orders_global ? "mem_flags::mem_device | " : ""));
}

Code CodeGenMetal::PrintCall(const ir::CallNode* node) {
  using namespace tir::intrinsic;
  static const std::map<std::string, const char*> kExchanges = {
      {kWarpShuffle, "simd_shuffle"},
      {kWarpShuffleUp, "simd_shuffle_up"},
      {kWarpShuffleDown, "simd_shuffle_down"},
      {kWarpShuffleXor, "simd_shuffle_xor"}};
  if (auto it = kExchanges.find(node->name); it != kExchanges.end())
    return PrintExchange(node, it->second);
  if (node->name == kAsyncCopy) return Print(node->args[0]);  // done at once
  if (node->name == kLaneIndex) return {ValueType(node->dtype) + "(tern_lane)"};
  if (node->name == kWarpAny || node->name == kWarpAll)
    return {fmt::format("{}({})", node->name == kWarpAny ? "simd_any" : "simd_all",
                        Print(node->args[0]).text)};
  if (node->name == kWarpBallot)
    return {fmt::format("{}((simd_vote::vote_t)simd_ballot({}))", ValueType(node->dtype),
                        Print(node->args[0]).text)};
  return CodeGenC::PrintCall(node);
}

namespace {

// Metal leaves open what comes of a lane that is not there; in Tern it is the thread's own.
const char* LaneHelper(const std::string& intrinsic) {
  if (intrinsic == tir::intrinsic::kWarpShuffleUp)
    return "static uint tern_lane_up(uint lane, uint n, uint) {\n"
           "  return n <= lane ? lane - n : lane;\n"
           "}\n";
  if (intrinsic == tir::intrinsic::kWarpShuffleDown)
    return "static uint tern_lane_down(uint lane, uint n, uint lanes) {\n"
           "  return n < lanes - lane ? lane + n : lane;\n"
           "}\n";
  return "static uint tern_lane_xor(uint lane, uint n, uint lanes) {\n"
         "  return (lane ^ n) < lanes ? lane ^ n : lane;\n"
         "}\n";
}

}  // namespace

// The lanes exchange numbers of 16 and 32 bits: others go as those.
Code CodeGenMetal::PrintExchange(const ir::CallNode* node, const std::string& native) {
  DataType dtype = node->dtype;
  std::string function = native;
  std::string type = ValueType(dtype), value = Print(node->args[0]).text;
  std::string lane = Print(node->args[1]).text;
  std::optional<int64_t> constant = ir::AsConstInt(node->args[1]);
  bool is_inside = has_full_groups() && constant && *constant >= 0 && *constant < 32;
  if (node->name != tir::intrinsic::kWarpShuffle && !is_inside) {
    function = "simd_shuffle";
    std::string helper = "tern_lane" + native.substr(native.rfind('_'));
    lane = fmt::format("{}(tern_lane, uint({}), {})", UseHelper(helper, LaneHelper(node->name)),
                       lane, has_full_groups() ? "32" : "tern_lanes");
  }
  lane = "ushort(" + lane + ")";
  if (dtype.bits() == 64)
    return {fmt::format("as_type<{}>({}(as_type<uint2>({}), {}))", type, function, value, lane)};
  if (dtype.is_bool() || dtype.bits() == 8)
    return {fmt::format("{}({}(short({}), {}))", type, function, value, lane)};
  return {fmt::format("{}({}, {})", function, value, lane)};
}

// ---- Conversions.

Code CodeGenMetal::PrintReinterpret(const ir::CallNode* node) {
  DataType from = node->args[0].dtype(), to = node->dtype;
  std::string value = Print(node->args[0]).text;
  if (from == to) return {"(" + value + ")"};
  if (StorageType(from) != ValueType(from)) value = Narrowed(from, value);
  std::string same = fmt::format("as_type<{}>({})", StorageType(to), value);
  return {StorageType(to) == ValueType(to) ? same : fmt::format("{}({})", ValueType(to), same)};
}

Code CodeGenMetal::PrintConversion(const ir::CastNode* node) {
  DataType to = node->dtype;
  if (to.is_bool()) return CodeGenC::PrintConversion(node);
  std::string type = ValueType(to);
  // Rounded as memory would.
  if (StorageType(to) != type)
    return {fmt::format("{}({})", type, Narrowed(to, Print(node->value).text))};
  if (to.is_scalar()) return CodeGenC::PrintConversion(node);
  if (type == ValueType(node->value.dtype())) return Print(node->value);
  return {fmt::format("{}({})", type, Print(node->value).text)};
}

// ---- Vectors.

Code CodeGenMetal::PrintRamp(const ir::RampNode* node) {
  std::string steps;
  for (int64_t i = 0; i < node->lanes; ++i) steps += (i == 0 ? "" : ", ") + std::to_string(i);
  std::string type = ValueType(node->dtype);
  return {fmt::format("{0}({1}) + {0}({2}) * {0}({3})", type, PrintConverted(node->base),
                      PrintConverted(node->stride), steps),
          Precedence::kAdditive};
}

Code CodeGenMetal::PrintBroadcast(const ir::BroadcastNode* node) {
  return {fmt::format("{}({})", ValueType(node->dtype), Print(node->value).text)};
}

Code CodeGenMetal::PrintShuffle(const ir::ShuffleNode* node) {
  std::vector<std::string> lanes;
  for (const ir::Expr& vector : node->vectors) {
    std::string text = Print(vector, Precedence::kPrimary);
    if (vector.dtype().is_scalar()) lanes.push_back(text);
    for (int i = 0; i < vector.dtype().lanes() && !vector.dtype().is_scalar(); ++i)
      lanes.push_back(fmt::format("{}[{}]", text, i));
  }
  if (node->dtype.is_scalar()) return {lanes[node->indices[0]]};
  std::string taken;
  for (int64_t index : node->indices) taken += (taken.empty() ? "" : ", ") + lanes[index];
  return {fmt::format("{}({})", ValueType(node->dtype), taken)};
}

}  // namespace tern::backend::metal
