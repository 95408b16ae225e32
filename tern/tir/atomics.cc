// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/atomics.h"

#include "tern/ffi/text.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/intrinsics.h"

namespace tern::tir {
namespace {

using ir::Expr;

constexpr const char* kRelaxed = "relaxed";
constexpr const char* kSeqCst = "seq_cst";

constexpr std::pair<const char*, AtomicKind> kNames[] = {
    {"atomic_add", AtomicKind::kAdd},
    {"atomic_min", AtomicKind::kMin},
    {"atomic_max", AtomicKind::kMax},
    {"atomic_and", AtomicKind::kAnd},
    {"atomic_or", AtomicKind::kOr},
    {"atomic_xor", AtomicKind::kXor},
    {"atomic_exchange", AtomicKind::kExchange},
    {"atomic_compare_exchange", AtomicKind::kCompareExchange}};

std::optional<AtomicKind> FindKind(std::string_view name) {
  for (const auto& [known, kind] : kNames)
    if (name == known) return kind;
  return {};
}

size_t OperandsOf(AtomicKind kind) { return kind == AtomicKind::kCompareExchange ? 2 : 1; }

// The element whose address the argument is; null where it is something else.
const ir::BufferLoadNode* ElementOf(const Expr& arg) {
  const auto* call = arg.As<ir::CallNode>();
  return call && call->name == intrinsic::kAddressOf ? call->args[0].As<ir::BufferLoadNode>()
                                                     : nullptr;
}

std::string Signature(const char* name, AtomicKind kind) {
  return std::string(name) + "(A[i], " +
         (kind == AtomicKind::kCompareExchange ? "expected, desired" : "x") +
         ", [\"relaxed\" or \"seq_cst\"], [old[0]])";
}

void CheckTypes(const char* name, AtomicKind kind, DataType dtype) {
  bool is_wide = dtype.is_scalar() && (dtype.bits() == 32 || dtype.bits() == 64);
  bool bits = kind == AtomicKind::kAnd || kind == AtomicKind::kOr || kind == AtomicKind::kXor ||
              kind == AtomicKind::kCompareExchange;
  if (is_wide && (dtype.is_integer() || (dtype.is_float() && !bits))) return;
  TERN_THROW(TypeError) << name << " is for elements of "
                        << (bits ? "int32, uint32, int64 and uint64"
                                 : "int32, uint32, int64, uint64, float32 and float64")
                        << ", not " << dtype.str();
}

DataType Infer(const char* name, AtomicKind kind, const std::vector<Expr>& args) {
  size_t operands = OperandsOf(kind);
  std::string signature = Signature(name, kind);
  size_t order = operands + 1;
  bool has_count = args.size() >= operands + 2 && args.size() <= operands + 3;
  const auto* word = has_count ? args[order].As<ir::StringImmNode>() : nullptr;
  const ir::BufferLoadNode* element = args.empty() ? nullptr : ElementOf(args[0]);
  const ir::BufferLoadNode* old =
      args.size() == operands + 3 ? ElementOf(args[operands + 2]) : element;
  if (!word || !element || !old)
    TERN_THROW(TypeError) << name << " takes an element of memory and its operands: " << signature;
  if (word->value != kRelaxed && word->value != kSeqCst)
    TERN_THROW(TypeError) << name << ": the order is \"relaxed\" or \"seq_cst\", not "
                          << word->value << ffi::DidYouMean(word->value, {kRelaxed, kSeqCst});
  DataType dtype = element->dtype;
  CheckTypes(name, kind, dtype);
  for (size_t i = 1; i <= operands; ++i)
    if (args[i].dtype() != dtype)
      TERN_THROW(TypeError) << name << ": the element is " << dtype.str() << ", but the operand is "
                            << args[i].dtype().str();
  if (old->dtype != dtype)
    TERN_THROW(TypeError) << name << ": the element is " << dtype.str()
                          << ", but the old value goes to " << old->dtype.str();
  return DataType::Void();
}

Expr AddressOf(const Expr& element) {
  return ir::CallNode::Make(
      intrinsic::kAddressOf,
      {element, ir::MakeConst(DataType::Int(64), 1), ir::StringImmNode::Make("write")},
      DataType::Void(), element.span());
}

}  // namespace

const char* Atomic::name() const {
  for (const auto& [name, known] : kNames)
    if (known == kind) return name;
  return nullptr;
}

bool IsAtomic(std::string_view name) { return FindKind(name).has_value(); }

Atomic AtomicOf(const ir::CallNode* call) {
  Atomic atomic{*FindKind(call->name), ElementOf(call->args[0]), {}};
  size_t operands = OperandsOf(atomic.kind);
  for (size_t i = 1; i <= operands; ++i) atomic.operands.push_back(call->args[i]);
  atomic.seq_cst = call->args[operands + 1].As<ir::StringImmNode>()->value == kSeqCst;
  if (call->args.size() > operands + 2) atomic.old = ElementOf(call->args[operands + 2]);
  return atomic;
}

Expr MakeAtomic(const std::string& name, std::vector<Expr> args, ir::Span span, const Expr& old) {
  AtomicKind kind = *FindKind(name);
  // Parts of a byte have no address.
  if (!args.empty() && args[0].dtype().is_packed()) CheckTypes(name.c_str(), kind, args[0].dtype());
  size_t order = OperandsOf(kind) + 1;
  if (args.size() >= order && (args.size() == order || !args[order].As<ir::StringImmNode>()))
    args.insert(args.begin() + static_cast<std::ptrdiff_t>(order),
                ir::StringImmNode::Make(kRelaxed));
  if (old) {
    if (args.size() > order + 1)
      TERN_THROW(TypeError) << name << " gives its old value to an element already";
    args.push_back(old);
  }
  for (size_t i : {size_t{0}, order + 1})
    if (i < args.size() && args[i].As<ir::BufferLoadNode>()) args[i] = AddressOf(args[i]);
  return ir::CallNode::Make(name, std::move(args), DataType::Void(), std::move(span));
}

Expr PlainArgument(const Expr& arg) {
  return ElementOf(arg) ? arg.As<ir::CallNode>()->args[0] : arg;
}

void RegisterAtomics() {
  for (const auto& entry : kNames) {
    const char* name = entry.first;
    AtomicKind kind = entry.second;
    ir::RegisterIntrinsic({.name = name,
                           .signature = Signature(name, kind),
                           .pure = false,
                           .infer = [name, kind](const std::vector<Expr>& args, DataType) {
                             return Infer(name, kind, args);
                           }});
  }
}

}  // namespace tern::tir
