// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/window_convolution.h"

#include <algorithm>

#include "tern/ir/structural.h"

namespace tern::schedule {

using namespace tern::tir;

bool IsZero(const Expr& value) {
  const auto* number = value.As<ir::FloatImmNode>();
  return number && number->value == 0;
}

namespace {

// An operand that uses a pixel and a tap as their sum alone, with `at` for the sum; null where that
// is not so.
Expr OfSum(const Expr& operand, const BlockIter& position, const BlockIter& inside, const Var& at) {
  if (!UsesAxis(operand, position) || !UsesAxis(operand, inside)) return {};
  Expr moved =
      arith::Analyzer().Simplify(ir::Substitute(operand, {{position.var.node(), at - inside.var}}));
  return UsesAxis(moved, inside) ? Expr() : moved;
}

// Finds the windows that an operand is read through, and sorts the other axes; refuses axes that
// index both operands, or none.
class Reader {
 public:
  Reader(const BlockNode* block, const Expr& input, const Expr& weights)
      : block_(block), weights_(weights) {
    found_.input = input;
    found_.weights = weights;
  }

  bool FindWindows() {
    for (const BlockIter& inside : block_->iters)
      if (inside.kind == IterKind::kReduce) FindPosition(inside);
    return !found_.windows.empty();
  }

  WindowConvolution Sort() {
    for (const BlockIter& iter : block_->iters) {
      if (IsWindow(&iter)) continue;
      bool in_input = UsesAxis(found_.input, iter), in_weights = UsesAxis(weights_, iter);
      if (iter.kind == IterKind::kReduce)
        found_.channels.axes.push_back(&iter);
      else if (iter.kind != IterKind::kSpatial || in_input == in_weights)
        Refuse("axis " + iter.var.name() + " is not an axis of exactly one operand");
      else
        (in_input ? found_.batch : found_.outputs).axes.push_back(&iter);
    }
    return std::move(found_);
  }

 private:
  bool IsWindow(const BlockIter* axis) const {
    return std::any_of(found_.windows.begin(), found_.windows.end(), [&](const Window& window) {
      return window.position == axis || window.inside == axis;
    });
  }

  void FindPosition(const BlockIter& inside) {
    for (const BlockIter& position : block_->iters) {
      if (position.kind != IterKind::kSpatial || IsWindow(&position) ||
          UsesAxis(weights_, position) || position.var.dtype() != inside.var.dtype())
        continue;
      Window window;
      window.position = &position;
      window.inside = &inside;
      window.at = Var("at", position.var.dtype());
      Expr input = OfSum(found_.input, position, inside, window.at);
      if (!input.get()) continue;
      found_.input = input;
      found_.windows.push_back(std::move(window));
      return;
    }
  }

  const BlockNode* block_;
  Expr weights_;
  WindowConvolution found_;
};

// What a block's sums begin with; null for 0.
Expr InitialOf(const BlockNode* block, const ReductionUpdate& update) {
  const auto* store = block->init.As<BufferStoreNode>();
  bool same = store && store->buffer.same(update.store->buffer) &&
              std::equal(store->indices.begin(), store->indices.end(),
                         update.store->indices.begin(), update.store->indices.end(),
                         [](const Expr& a, const Expr& b) { return ir::StructuralEqual(a, b); });
  if (!same) Refuse("the init of block " + block->name + " is more than one store");
  return IsZero(store->value) ? Expr() : store->value;
}

}  // namespace

WindowConvolution ReadWindowConvolution(const BlockNode* block, int64_t m) {
  std::optional<ReductionUpdate> update = PlainUpdate(block);
  const auto* product = update ? update->value.As<ir::MulNode>() : nullptr;
  if (!product || update->op != ExprKind::kAdd || !block->init)
    Refuse("block " + block->name + " is not a sum of products with an init");
  DataType dtype = update->value.dtype();
  if (dtype != DataType::Float(32) && dtype != DataType::Float(64))
    Refuse("block " + block->name + " does not compute with float32 or float64");
  Reader first(block, product->a, product->b), second(block, product->b, product->a);
  bool in_first = first.FindWindows();
  if (!in_first && !second.FindWindows())
    Refuse("block " + block->name + " has no window of stride 1");
  WindowConvolution conv = (in_first ? first : second).Sort();
  conv.place = update->store->indices;
  conv.initial = InitialOf(block, *update);
  for (Window& window : conv.windows) {
    std::optional<int64_t> size = ir::AsConstInt(window.inside->extent);
    std::string name = "the window along axis " + window.inside->var.name();
    if (!size || *size < 2) Refuse(name + " is not of two or more, or of how many is not known");
    if (m > kMostPoints + 1 - *size)
      Refuse(name + " is of " + std::to_string(*size) + ", for which tiles may be of up to " +
             std::to_string(kMostPoints + 1 - *size));
    window.size = *size;
    window.filter = MakeWinogradTransforms(m, *size);
    window.tiles = arith::Analyzer().Simplify(
        ir::FloorDiv(arith::AsInt64(window.position->extent) + Expr(m - 1), Expr(m)));
  }
  arith::Analyzer analyzer;
  if (!analyzer.CanProve(conv.channels.extent() >= Expr(1)))
    Refuse("the reduction of block " + block->name + " may be empty");
  return conv;
}

}  // namespace tern::schedule
