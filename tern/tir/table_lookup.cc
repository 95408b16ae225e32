// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/table_lookup.h"

#include "tern/ffi/error.h"

namespace tern::tir {
namespace {

using ir::Expr;

constexpr int64_t kMostElements = 256;  // a search is code: more belong into memory

Expr Element(const ir::Constant& table, int64_t i) {
  return ir::LoadElement(table->dtype, table->data(), table->is_splat ? 0 : i);
}

class Search {
 public:
  Search(const ir::Constant& table, const Expr& index, const ir::Span& span)
      : table_(table), index_(index), span_(span) {}

  // Among the elements from `begin` to `end - 1`.
  Expr Among(int64_t begin, int64_t end) const {
    if (begin + 1 == end) return Spread(Element(table_, begin));
    int64_t middle = begin + (end - begin) / 2;
    Expr limit = Spread(ir::MakeConst(index_.dtype().element(), middle, span_));
    return ir::SelectNode::Make(ir::LTNode::Make(index_, limit, span_), Among(begin, middle),
                                Among(middle, end), span_);
  }

 private:
  Expr Spread(const Expr& scalar) const {
    DataType dtype = index_.dtype();
    return dtype.is_scalar() ? scalar : ir::BroadcastNode::Make(scalar, dtype.lanes(), span_);
  }

  const ir::Constant& table_;
  const Expr& index_;
  const ir::Span& span_;
};

}  // namespace

Expr TableLookup(const ir::Constant& table, const std::vector<Expr>& indices,
                 const ir::Span& span) {
  const std::vector<int64_t>& shape = table->shape;
  if (indices.size() != shape.size())
    TERN_THROW(TypeError) << table->name << " has rank " << shape.size() << ", but "
                          << indices.size() << " indices are given";
  int64_t count = table->num_elements();
  TERN_CHECK(count > 0) << "constant " << table->name << " has no elements";
  TERN_CHECK(count <= kMostElements)
      << "constant " << table->name << " has " << count << " elements; code can search among "
      << kMostElements << " at most. Pass it as a tensor: a parameter " << table->name
      << ", and attrs {constants = [\"" << table->name << "\"]}";
  Expr index;
  for (size_t i = 0; i < indices.size(); ++i) {
    DataType dtype = indices[i].dtype();
    if (!dtype.is_integer())
      TERN_THROW(TypeError) << "an index of " << table->name << " is " << dtype.str()
                            << "; expected an integer";
    if (std::optional<int64_t> known = ir::AsConstInt(indices[i])) {
      TERN_CHECK(*known >= 0 && *known < shape[i])
          << "index " << *known << " of " << table->name << " is out of bounds: the extent is "
          << shape[i];
    }
    if (!index) {
      index = indices[i];
      continue;
    }
    Expr extent = ir::MakeConst(dtype.element(), shape[i], span);
    if (!dtype.is_scalar()) extent = ir::BroadcastNode::Make(extent, dtype.lanes(), span);
    std::optional<int64_t> row = ir::AsConstInt(index), column = ir::AsConstInt(indices[i]);
    index = row && column
                ? ir::MakeConst(dtype, *row * shape[i] + *column, span)
                : ir::AddNode::Make(ir::MulNode::Make(index, extent, span), indices[i], span);
  }
  if (!index) return Element(table, 0);
  if (std::optional<int64_t> known = ir::AsConstInt(index)) return Element(table, *known);
  if (index.As<ir::VarNode>()) return Search(table, index, span).Among(0, count);
  ir::Var var("index", index.dtype(), span);
  return ir::LetNode::Make(var, index, Search(table, var, span).Among(0, count), span);
}

}  // namespace tern::tir
