// SPDX-License-Identifier: Apache-2.0
//
// winograd: stride-1 convolutions by Winograd's F(m, r). Tiles of the input and the weights are
// transformed to m + r - 1 points per dimension, multiplied, which is one GEMM over the channels
// for each point, and the accumulators are transformed back to m output pixels.
#include <algorithm>
#include <map>

#include "tern/schedule/schedule.h"
#include "tern/schedule/window_convolution.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

Expr As(DataType dtype, const Expr& expr) {
  return expr.dtype() == dtype ? expr : ir::CastNode::Make(dtype, expr);
}

// Makes the blocks.
class Transformer {
 public:
  Transformer(const WindowConvolution& conv, const BlockNode* block, const Schedule::Names& made,
              int64_t m, int64_t multiple, DataType dtype)
      : conv_(conv), block_(block), made_(made), m_(m), dtype_(dtype) {
    Expr all = conv.batch.extent();
    for (const Window& window : conv.windows) {
      per_image_ = per_image_ * window.tiles;
      all = all * window.tiles;
      points_.emplace_back(static_cast<int64_t>(window.filter.input.size()));
    }
    per_image_ = analyzer_.Simplify(per_image_);
    tiles_ =
        analyzer_.Simplify(ir::FloorDiv(all + Expr(multiple - 1), Expr(multiple)) * Expr(multiple));
    image_count_ = analyzer_.Simplify(ir::FloorDiv(tiles_ + per_image_ - Expr(1), per_image_));
  }

  void Run() {
    MakeInput();
    TransformInput();
    TransformWeights();
    Multiply();
    TransformBack();
    MakeResult();
  }

  std::vector<Stmt> row;
  std::vector<Buffer> buffers;

 private:
  using Exprs = std::vector<Expr>;

  Buffer NewBuffer(const std::string& name, const Exprs& shape) {
    buffers.push_back(BufferNode::Make(name, dtype_, shape));
    return buffers.back();
  }
  void Store(const NewBlock& block, const Buffer& buffer, const Exprs& at, const Expr& value) {
    row.push_back(block.Finish({}, BufferStoreNode::Make(buffer, at, value)));
  }
  size_t rank() const { return conv_.windows.size(); }
  std::string Stage(const std::string& name, size_t k) const {
    return k + 1 == rank() ? name : name + "_" + std::to_string(k);
  }
  static std::string Numbered(const char* name, size_t k) { return name + std::to_string(k); }

  // The input by channels, with its border, and zeros behind it where tiles reach farther.
  void MakeInput() {
    NewBlock block(made_[0], block_);
    Exprs shape = {image_count_}, at = {block.Add("b", image_count_, IterKind::kSpatial)};
    conv_.batch.Take(at[0], &block.values);
    Expr inside = analyzer_.CanProve(image_count_ == conv_.batch.extent())
                      ? Expr()
                      : at[0] < conv_.batch.extent();
    for (size_t k = 0; k < rank(); ++k) {
      const Window& window = conv_.windows[k];
      shape.push_back(analyzer_.Simplify(window.tiles * Expr(m_) + Expr(window.size - 1)));
      at.push_back(block.Add(Numbered("s", k), shape.back(), IterKind::kSpatial));
      block.values[window.at.node()] = As(window.at.dtype(), at.back());
      Expr there =
          analyzer_.Simplify(arith::AsInt64(window.position->extent) + Expr(window.size - 1));
      if (!analyzer_.CanProve(there == shape.back())) inside = And(inside, at.back() < there);
    }
    shape.push_back(conv_.channels.extent());
    at.push_back(block.Add("c", conv_.channels, IterKind::kSpatial));
    Expr value = ir::Substitute(conv_.input, block.values);
    Expr zero = ir::FloatImmNode::Make(dtype_, 0);
    const auto* border = value.As<ir::SelectNode>();
    if (inside.get() && border && IsZero(border->false_value))
      value = ir::SelectNode::Make(And(inside, border->condition), border->true_value, zero);
    else if (inside.get())
      value = ir::SelectNode::Make(inside, value, zero);
    input_ = NewBuffer(made_[0], shape);
    Store(block, input_, at, value);
  }

  // One transformation along the k-th window: `result` at its axis `a` is a weighted sum of what
  // `read` gives for each number.
  static Expr RowOf(const Matrix& matrix, const Expr& a, const std::function<Expr(int64_t)>& read) {
    Exprs terms;
    for (size_t j = 0; j < matrix[0].size(); ++j) terms.push_back(read(static_cast<int64_t>(j)));
    Expr value = WeightedSum(matrix.back(), terms);
    for (size_t i = matrix.size() - 1; i-- > 0;)
      value = ir::SelectNode::Make(a == Expr(static_cast<int64_t>(i)),
                                   WeightedSum(matrix[i], terms), value);
    return value;
  }

  // Where a tile's number is in the input.
  Exprs PlaceInInput(const Expr& tile, const Exprs& numbers) const {
    Exprs at = {ir::FloorDiv(tile, per_image_)};
    Expr rest = ir::FloorMod(tile, per_image_);
    Exprs places(rank());
    for (size_t k = rank(); k-- > 0;) {
      const Expr& tiles = conv_.windows[k].tiles;
      Expr first = (k == 0 ? rest : ir::FloorMod(rest, tiles)) * Expr(m_);
      places[k] = ir::IsConst(numbers[k], 0) ? first : first + numbers[k];
      rest = ir::FloorDiv(rest, tiles);
    }
    at.insert(at.end(), places.begin(), places.end());
    return at;
  }

  // Transforms along one window after the other. `matrix` is that of a window, `sizes` what is
  // there before, `first` reads what is transformed at the numbers given and two more axes.
  Buffer Transform(const std::string& name, const std::function<const Matrix&(size_t)>& matrix,
                   const Exprs& others, const char* const (&names)[2],
                   const std::function<Expr(NewBlock*, const Exprs&, const Exprs&)>& first,
                   bool tiles_first = false) {
    Buffer made;
    for (size_t k = 0; k < rank(); ++k) {
      NewBlock block(Stage(name, k), block_);
      Exprs at, shape, two;
      bool turned = tiles_first && k + 1 == rank();
      if (turned) two.push_back(block.Add(names[0], others[0], IterKind::kSpatial));
      for (size_t j = 0; j < rank(); ++j) {
        size_t size = j <= k ? matrix(j).size() : matrix(j)[0].size();
        shape.emplace_back(static_cast<int64_t>(size));
        at.push_back(block.Add(Numbered("a", j), shape.back(), IterKind::kSpatial));
      }
      if (!turned) two.push_back(block.Add(names[0], others[0], IterKind::kSpatial));
      two.push_back(block.Add(names[1], others[1], IterKind::kSpatial));
      Expr value = RowOf(matrix(k), at[k], [&](int64_t j) {
        Exprs numbers = at;
        numbers[k] = Expr(j);
        if (k == 0) return first(&block, numbers, two);
        numbers.insert(numbers.end(), two.begin(), two.end());
        return ir::BufferLoadNode::Make(made, numbers);
      });
      size_t place = turned ? 0 : shape.size();
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(place), others[0]);
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(place), two[0]);
      shape.push_back(others[1]);
      at.push_back(two[1]);
      made = NewBuffer(Stage(name, k), shape);
      Store(block, made, at, value);
    }
    return made;
  }

  void TransformInput() {
    left_ = Transform(
        made_[1], [&](size_t k) -> const Matrix& { return conv_.windows[k].filter.input; },
        {tiles_, conv_.channels.extent()}, {"p", "c"},
        [&](NewBlock*, const Exprs& numbers, const Exprs& others) {
          Exprs at = PlaceInInput(others[0], numbers);
          at.push_back(others[1]);
          return ir::BufferLoadNode::Make(input_, at);
        });
  }

  void TransformWeights() {
    right_ = Transform(
        made_[2], [&](size_t k) -> const Matrix& { return conv_.windows[k].filter.weights; },
        {conv_.channels.extent(), conv_.outputs.extent()}, {"c", "o"},
        [&](NewBlock* block, const Exprs& numbers, const Exprs& others) {
          conv_.channels.Take(others[0], &block->values);
          conv_.outputs.Take(others[1], &block->values);
          for (size_t k = 0; k < rank(); ++k) {
            const Var& inside = conv_.windows[k].inside->var;
            block->values[inside.node()] = As(inside.dtype(), numbers[k]);
          }
          return ir::Substitute(conv_.weights, block->values);
        });
  }

  void Multiply() {
    NewBlock block(block_->name, block_);
    Exprs at, shape = points_;
    for (size_t k = 0; k < rank(); ++k)
      at.push_back(block.Add(Numbered("a", k), points_[k], IterKind::kSpatial));
    Expr p = block.Add("p", tiles_, IterKind::kSpatial),
         o = block.Add("o", conv_.outputs.extent(), IterKind::kSpatial),
         c = block.Add("c", conv_.channels.extent(), IterKind::kReduce);
    auto with = [&](const Expr& first, const Expr& second) {
      Exprs indices = at;
      indices.insert(indices.end(), {first, second});
      return indices;
    };
    shape.insert(shape.end(), {tiles_, conv_.outputs.extent()});
    sums_ = NewBuffer(made_[3], shape);
    Exprs here = with(p, o);
    Expr product =
        ir::BufferLoadNode::Make(left_, with(p, c)) * ir::BufferLoadNode::Make(right_, with(c, o));
    row.push_back(block.Finish(
        BufferStoreNode::Make(sums_, here, ir::FloatImmNode::Make(dtype_, 0)),
        BufferStoreNode::Make(sums_, here, ir::BufferLoadNode::Make(sums_, here) + product)));
  }

  void TransformBack() {
    results_ = Transform(
        made_[4], [&](size_t k) -> const Matrix& { return conv_.windows[k].filter.result; },
        {tiles_, conv_.outputs.extent()}, {"p", "o"},
        [&](NewBlock*, const Exprs& numbers, const Exprs& others) {
          Exprs at = numbers;
          at.insert(at.end(), others.begin(), others.end());
          return ir::BufferLoadNode::Make(sums_, at);
        },
        true);
  }

  // The dimension of the result that an axis is first found in.
  size_t DimensionOf(const BlockIter* axis) const {
    size_t d = 0;
    while (d < conv_.place.size() && !UsesAxis(conv_.place[d], *axis)) ++d;
    return d;
  }

  // Where they belong.
  void MakeResult() {
    std::vector<const BlockIter*> axes = conv_.batch.axes;
    axes.insert(axes.end(), conv_.outputs.axes.begin(), conv_.outputs.axes.end());
    for (const Window& window : conv_.windows) axes.push_back(window.position);
    std::stable_sort(axes.begin(), axes.end(), [&](const BlockIter* a, const BlockIter* b) {
      return DimensionOf(a) < DimensionOf(b);
    });
    NewBlock block(block_->name + "_result", block_);
    std::map<const BlockIter*, Expr> here;
    ir::VarMap values;
    for (const BlockIter* axis : axes) {
      std::string name = axis->var.name();
      if (name.size() > 1 && name[0] == 'v') name.erase(0, 1);
      here[axis] = block.Add(name, arith::AsInt64(axis->extent), IterKind::kSpatial);
      values[axis->var.node()] = As(axis->var.dtype(), here[axis]);
    }
    auto fuse = [&](const FusedAxes& fused) {
      Expr at = 0;
      for (const BlockIter* axis : fused.axes) at = at * arith::AsInt64(axis->extent) + here[axis];
      return at;
    };
    Expr tile = fuse(conv_.batch), output = fuse(conv_.outputs);
    Exprs at;
    for (const Window& window : conv_.windows) {
      const Expr& position = here[window.position];
      tile = tile * window.tiles + ir::FloorDiv(position, Expr(m_));
      at.push_back(ir::FloorMod(position, Expr(m_)));
    }
    at.insert(at.begin(), analyzer_.Simplify(tile));
    at.push_back(analyzer_.Simplify(output));
    Exprs place;
    for (const Expr& index : conv_.place) place.push_back(ir::Substitute(index, values));
    Expr value = ir::BufferLoadNode::Make(results_, at);
    if (conv_.initial.get()) value = ir::Substitute(conv_.initial, values) + value;
    Store(block, conv_.result, place, value);
  }

  const WindowConvolution& conv_;
  const BlockNode* block_;
  const Schedule::Names& made_;
  int64_t m_;
  DataType dtype_;
  arith::Analyzer analyzer_;
  Expr per_image_ = 1, tiles_, image_count_;  // tiles of an image, of all, images that these are of
  Exprs points_;
  Buffer input_, left_, right_, sums_, results_;
};

}  // namespace

CopyRefs Schedule::Winograd(const BlockRef& block_ref, int64_t m, int64_t multiple, Names names) {
  Names args = {TextOf(block_ref), std::to_string(m)};
  if (multiple != 1) args.push_back(std::to_string(multiple));
  return Do("winograd", args, [&] {
    const BlockNode* block = At(block_ref);
    if (m < 2) Refuse("tiles are of at least two results along an axis");
    CheckFactor("the multiple", multiple);
    WindowConvolution conv = ReadWindowConvolution(block, m);
    Nest nest = NestOf(tree(), block);
    if (!FactsOf(block).complete || block->predicate.get() || !nest.around.empty())
      Refuse("block " + block_ref.name() + " does not run over all of its axes");
    CheckMayReassociate(block, "terms are reassociated");
    conv.result = SoleResult(block);
    Names made;
    for (const char* what : {"input", "a", "b", "gemm", "output"})
      made.push_back(block_ref.name() + "_" + what);
    for (size_t i = 0; i < names.size(); ++i) made[i] = names[i];
    Transformer transformer(conv, block, made, m, multiple, conv.input.dtype());
    transformer.Run();
    for (const Buffer& buffer : transformer.buffers) {
      CheckNewBuffer(buffer->name);
      CheckNewBlock(buffer->name);
    }
    CheckNewBlock(block_ref.name() + "_result");
    SetBody(ReplaceByRow(tree(), nest.top().get(), transformer.row, transformer.buffers));
    for (const Stmt& stmt : transformer.row)
      for (const BlockNode* one : BlocksIn(stmt)) SetFacts(one->name, {true, true, true});
    return MadeAs(made);
  });
}

}  // namespace tern::schedule
