// SPDX-License-Identifier: Apache-2.0
//
// Loads under a condition. NVRTC makes a branch of each, so that one after the other is waited for:
//
//   As[t] = in_bounds ? X[i] : 0.0f;
//
// Where nobody writes X, the condition chooses an address, and all loads are under way at once:
//
//   As[t] = __ldg(tern_choose(in_bounds, &X[i], (const float*)tern_zeros));
//
// Arguments of a function are no branches either, where the index takes some instructions.
//
// An asynchronous copy of an element is not waited for at all, and writes zero by itself:
//
//   tern_copy_async_4_or_zero(&As[t], &X[i], in_bounds);
#include <fmt/format.h>

#include "tern/backend/cuda/codegen/codegen_cuda.h"
#include "tern/backend/cuda/codegen/gpu_kind.h"
#include "tern/backend/cuda/codegen/tensor_core_code.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/visitor.h"
#include "tern/tir/analysis/vector_move.h"

namespace tern::backend::cuda {

using codegen::Code;
using codegen::Precedence;
using ir::Expr;

namespace {

struct Choice {
  Expr condition, yes, no;
};
std::optional<Choice> AsChoice(const Expr& value) {
  if (const auto* select = value.As<ir::SelectNode>())
    return Choice{select->condition, select->true_value, select->false_value};
  const auto* call = value.As<ir::CallNode>();
  if (!call || call->name != ir::kIfThenElse) return {};
  return Choice{call->args[0], call->args[1], call->args[2]};
}

template <class Node>
bool Has(const Expr& value) {
  bool found = false;
  ir::ForEachExpr(value, [&](const Expr& part) { found |= part.As<Node>() != nullptr; });
  return found;
}

}  // namespace

// An index may be anything where it is not chosen, but it may not be loaded from there.
std::string CodeGenCuda::ChosenAddress(const Expr& value) {
  if (!value.dtype().is_scalar()) return "";
  if (tir::IsZeroBits(value))
    return fmt::format(
        "(const {}*){}", StorageType(value.dtype()),
        UseHelper("tern_zeros",
                  "static __device__ const unsigned long long tern_zeros[1] = {0};\n"));
  if (std::optional<Choice> choice = AsChoice(value)) {
    if (Has<ir::LetNode>(value) || Has<ir::BufferLoadNode>(choice->condition)) return "";
    std::string yes = ChosenAddress(choice->yes);
    std::string no = yes.empty() ? "" : ChosenAddress(choice->no);
    if (no.empty()) return "";
    return fmt::format(
        "{}({}, {}, {})",
        UseHelper("tern_choose",
                  "template <class T>\n"
                  "static __device__ __forceinline__ const T* tern_choose(bool first, const T* a, "
                  "const T* b) {\n"
                  "  return first ? a : b;\n"
                  "}\n"),
        Print(choice->condition).text, yes, no);
  }
  const auto* load = value.As<ir::BufferLoadNode>();
  if (!load || !read_only_.contains(NameOf(load->buffer)) ||
      Has<ir::BufferLoadNode>(load->indices[0]) || Has<ir::LetNode>(load->indices[0]))
    return "";
  return fmt::format("&{}[{}]", NameOf(load->buffer),
                     PlaceOf(load->buffer, PrintConverted(load->indices[0])));
}

bool CodeGenCuda::EmitElementCopy(const tir::BufferStoreNode* node) {
  std::optional<tir::ElementCopy> copy = tir::AsElementCopy(node);
  if (!copy) return false;
  auto address_of = [&](const ir::Buffer& buffer, const Expr& index) {
    return fmt::format("&{}[{}]", NameOf(buffer), PlaceOf(buffer, PrintConverted(index)));
  };
  int bytes = copy->load->dtype.bytes();
  std::string args = address_of(node->buffer, node->indices[0]) + ", " +
                     address_of(copy->load->buffer, copy->load->indices[0]);
  if (copy->condition) args += ", " + Print(copy->condition, Precedence::kConditional);
  EmitHelper(copy->condition ? AsyncCopyOrZeroHelper(bytes) : AsyncCopyHelper(bytes), args);
  return true;
}

Code CodeGenCuda::PrintChoice(const Expr& condition, const Expr& yes, const Expr& no) {
  std::string bits = ElementBits(ir::SelectNode::Make(condition, yes, no));
  if (bits.empty()) return KernelCodeGen::PrintChoice(condition, yes, no);
  if (StoresFloat(yes.dtype())) return {fmt::format("{}({})", FromBits(yes.dtype()), bits)};
  return FromMemory(yes.dtype(), {bits});
}

std::string CodeGenCuda::ElementBits(const Expr& given) {
  Expr value = tir::InlineLets(given);
  // An asynchronous copy of less than 4 bytes is a plain one.
  if (const auto* call = value.As<ir::CallNode>(); call && call->name == tir::intrinsic::kAsyncCopy)
    value = call->args[0];
  if (const auto* load = value.As<ir::BufferLoadNode>())
    return fmt::format("{}[{}]", NameOf(load->buffer),
                       PlaceOf(load->buffer, PrintConverted(load->indices[0])));
  std::optional<Choice> choice = AsChoice(value);
  if (!choice || !(Has<ir::BufferLoadNode>(choice->yes) || Has<ir::BufferLoadNode>(choice->no)))
    return "";
  std::string address = ChosenAddress(value);
  return address.empty() ? "" : "__ldg(" + address + ")";
}

}  // namespace tern::backend::cuda
