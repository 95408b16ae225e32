// SPDX-License-Identifier: Apache-2.0
//
// Sums of products by an equation, determinants, and the coupling of pairwise probabilities.
#include <algorithm>
#include <map>
#include <set>

#include "tern/op/linear.h"
#include "tern/op/register.h"

namespace tern::op {
namespace {

// ---- Einsum

// "ij,jk->ik": a label for each axis. Those of "..." are '0', '1', ... from the last axis on.
struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

std::string WithDots(const std::string& term, size_t rank) {
  size_t dots = term.find("...");
  if (dots == std::string::npos) {
    TERN_CHECK(term.size() == rank)
        << "'" << term << "' has " << term.size() << " labels, its operand rank " << rank;
    return term;
  }
  size_t named = term.size() - 3;
  TERN_CHECK(named <= rank && rank - named < 10)
      << "'" << term << "' does not fit an operand of rank " << rank;
  std::string labels;
  for (size_t i = rank - named; i-- > 0;) labels += static_cast<char>('0' + i);
  return term.substr(0, dots) + labels + term.substr(dots + 3);
}

Equation EquationOf(const Call& c) {
  std::string text;
  for (char letter : c.String("equation"))
    if (letter != ' ') text += letter;
  size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  Equation equation;
  for (size_t start = 0; start <= left.size();) {
    size_t end = std::min(left.find(',', start), left.size());
    equation.inputs.push_back(left.substr(start, end - start));
    start = end + 1;
  }
  TERN_CHECK(equation.inputs.size() == c.size())
      << "the equation has " << equation.inputs.size() << " operands; " << c.size() << " are given";
  std::map<char, int> counts;
  std::string dots;
  for (size_t i = 0; i < c.size(); ++i) {
    std::string& term = equation.inputs[i];
    term = WithDots(term, c.tensor(i).rank());
    std::string own;
    for (char label : term) {
      TERN_CHECK(std::isalpha(static_cast<unsigned char>(label)) || std::isdigit(label))
          << "'" << label << "' is no label";
      ++counts[label];
      if (std::isdigit(label)) own += label;
    }
    if (own.size() > dots.size()) dots = own;
  }
  if (arrow == std::string::npos) {
    equation.output = dots;
    for (const auto& [label, count] : counts)
      if (count == 1 && !std::isdigit(label)) equation.output += label;
    return equation;
  }
  std::string right = text.substr(arrow + 2);
  size_t at = right.find("...");
  equation.output =
      at == std::string::npos ? right : right.substr(0, at) + dots + right.substr(at + 3);
  std::set<char> seen;
  for (char label : equation.output)
    TERN_CHECK(counts.contains(label) && seen.insert(label).second)
        << "the result has the label '" << label << "', which no operand has, or twice";
  return equation;
}

Tensors Einsum(Call& c) {
  TERN_CHECK(c.size() > 0) << "there is no operand";
  CheckOneType(c);
  Equation equation = EquationOf(c);
  std::map<char, Expr> extents;
  for (size_t i = 0; i < c.size(); ++i)
    for (size_t k = 0; k < c.tensor(i).rank(); ++k) {
      char label = equation.inputs[i][k];
      const Expr& extent = c.shape(i)[k];
      auto [it, added] = extents.try_emplace(label, extent);
      if (added || ir::IsConst(extent, 1)) continue;
      if (ir::IsConst(it->second, 1))
        it->second = extent;
      else
        c.RequireEqual(it->second, extent, std::string("the extent of ") + label);
    }
  Exprs shape;
  for (char label : equation.output) shape.push_back(extents.at(label));
  DataType type = c.dtype(0), wide = SumType(type);
  bool sums = shape.size() < extents.size();
  Tensor result =
      Compute(sums ? SumName(c, type) : c.name(), shape, [&](const Vars& axes) -> tir::Element {
        std::map<char, Expr> indices;
        for (size_t i = 0; i < axes.size(); ++i) indices[equation.output[i]] = axes[i];
        std::vector<ReduceAxis> over;
        for (const auto& [label, extent] : extents)
          if (!indices.contains(label)) {
            over.emplace_back(std::string("k_") + label, extent);
            indices[label] = over.back();
          }
        Expr product;
        for (size_t i = 0; i < c.size(); ++i) {
          Exprs at;
          for (size_t k = 0; k < c.tensor(i).rank(); ++k) {
            char label = equation.inputs[i][k];
            bool one = ir::IsConst(c.shape(i)[k], 1) && !ir::IsConst(extents.at(label), 1);
            at.push_back(one ? Expr(0) : indices.at(label));
          }
          Expr element = c.tensor(i).At(std::move(at));
          if (sums) element = Converted(wide, element);
          product = product ? product * element : element;
        }
        if (over.empty()) return product;
        return tir::Sum(product, over);
      });
  return {Narrowed(c, result, type)};
}

// ---- Determinants

// By elimination with the largest pivot of each column, one stage for each.
constexpr int64_t kMostRows = 32;

Tensors Det(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  TERN_CHECK(x.rank() >= 2) << "the input is of matrices";
  int64_t rows = StaticExtent(x.shape().back(), "the extent of matrices");
  c.RequireEqual(x.shape()[x.rank() - 2], rows, "the number of rows and columns");
  TERN_CHECK(rows > 0 && rows <= kMostRows)
      << "determinants of up to " << kMostRows << " rows are supported, not " << rows;
  Exprs batch(x.shape().begin(), x.shape().end() - 2);
  auto at = [](const Exprs& matrix, const Expr& i, const Expr& j) {
    Exprs indices = matrix;
    indices.push_back(i);
    indices.push_back(j);
    return indices;
  };
  Tensor matrix = x, product;
  for (int64_t left = rows; left > 0; --left) {
    std::string stage = std::to_string(rows - left);
    Tensors pivot = tir::ComputeAll({c.name() + "_row" + stage, c.name() + "_size" + stage}, batch,
                                    [&](const Vars& b) {
                                      ReduceAxis i("i", left);
                                      Expr value = matrix.At(at(Indices(b), i, 0));
                                      return tir::ArgMax(tir::Call("abs", {value}), i);
                                    });
    auto row_of = [&](const Exprs& b) { return Clamped(pivot[0].At(b), 0, left - 1); };
    product =
        Compute(left == 1 ? c.name() : c.name() + "_product" + stage, batch, [&](const Vars& b) {
          Exprs in = Indices(b);
          Expr value = matrix.At(at(in, row_of(in), 0));
          // A swap of rows changes the sign.
          value = Select(row_of(in) == Expr(0), value, Number(value, 0) - value);
          return product ? product.At(in) * value : value;
        });
    if (left == 1) break;
    Exprs shape = batch;
    shape.insert(shape.end(), {Expr(left - 1), Expr(left - 1)});
    matrix = Compute(c.name() + "_rest" + stage, shape, [&](const Vars& axes) {
      Exprs b(axes.begin(), axes.end() - 2);
      Expr i = axes[axes.size() - 2] + Expr(1), j = axes.back() + Expr(1), row = row_of(b);
      // The first row is where the pivot was.
      Expr from = Select(i == row, Expr(0), i);
      Expr head = matrix.At(at(b, row, 0)), zero = Number(head, 0);
      Expr factor = Select(head == zero, zero, matrix.At(at(b, from, 0)) / head);
      return matrix.At(at(b, from, j)) - factor * matrix.At(at(b, row, j));
    });
  }
  return {product};
}

// ---- Pairs of classes

// Probabilities of classes from those of pairs: the p whose p^T Q p is least (Wu, Lin and Weng,
// "Probability estimates for multi-class classification by pairwise coupling"), with the steps and
// the precision of LIBSVM. wins[row, i, j] is the probability of i where it is i or j.
constexpr const char* kCouplePairs = R"(
func couple_pairs(wins: float32[r, c, c], p: float32[r, c]) {
  for row in 0..r {
    alloc q: float32[c, c]
    alloc qp: float32[c]
    alloc now: float32[3] in local
    alloc trips: int64[1] in local
    for i in 0..c {
      p[row, i] = 1.0 / float32(c)
      q[i, i] = 0.0
      for j in 0..c {
        if j != i {
          q[i, i] = q[i, i] + wins[row, j, i] * wins[row, j, i]
          q[i, j] = 0.0 - wins[row, j, i] * wins[row, i, j]
        }
      }
    }
    trips[0] = 100
    while trips[0] > 0 {
      now[0] = 0.0
      now[1] = 0.0
      for i in 0..c {
        qp[i] = 0.0
        for j in 0..c { qp[i] = qp[i] + q[i, j] * p[row, j] }
        now[0] = now[0] + p[row, i] * qp[i]
      }
      for i in 0..c { now[1] = max(now[1], abs(qp[i] - now[0])) }
      trips[0] = select(now[1] < 0.005 / float32(c), int64(0), trips[0] - 1)
      if now[1] >= 0.005 / float32(c) {
        for i in 0..c {
          now[2] = (now[0] - qp[i]) / q[i, i]
          p[row, i] = p[row, i] + now[2]
          now[0] = (now[0] + now[2] * (now[2] * q[i, i] + 2.0 * qp[i])) / (1.0 + now[2]) / (1.0 + now[2])
          for j in 0..c {
            qp[j] = (qp[j] + now[2] * q[i, j]) / (1.0 + now[2])
            p[row, j] = p[row, j] / (1.0 + now[2])
          }
        }
      }
    }
  }
}
)";

}  // namespace

void RegisterAlgebraOps() {
  RegisterOp({.name = "couple_pairs",
              .summary = "probabilities of classes, of those of one class before another",
              .inputs = {"wins"},
              .program = kCouplePairs});
  RegisterOp({.name = "einsum",
              .summary = "sums of products by an equation: \"ij,jk->ik\"",
              .inputs = {"x..."},
              .attrs = {{"equation", AttrKind::kString, {}, true}},
              .compute = Einsum});
  RegisterOp({.name = "det",
              .summary = "determinants of matrices, the last two axes",
              .inputs = {"x"},
              .compute = Det});
}

}  // namespace tern::op
