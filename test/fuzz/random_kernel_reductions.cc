// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "test/fuzz/kernel_writer.h"

namespace tern::fuzz {

// ---- Matmuls and reductions

void KernelWriter::Matmul() {
  size_t rank = current_.rank();
  if (rank < 2) return Reduction();
  bool transposed = random_.OneIn(4);
  size_t step_dim = transposed ? rank - 2 : rank - 1;
  Extent steps = current_.shape[step_dim];
  std::vector<Axis> axes = AxesOf(current_.shape), left = axes, right, out;
  left[step_dim].reduces = true;
  Axis step = left[step_dim];
  int64_t columns = random_.OneIn(6) ? 1 : DrawExtent();
  int64_t instances = InstancesOf(axes);
  if (instances > budget_) return Elementwise();
  while (columns > 1 && columns * instances > budget_) columns /= 2;
  Axis column{"j", Fresh(columns)};
  bool batched = rank > 2 && !random_.OneIn(3);
  if (batched) right.assign(left.begin(), left.end() - 2);
  bool vector = random_.OneIn(10);  // no columns: a matrix by a vector
  right.push_back(step);
  if (!vector) right.insert(random_.OneIn(3) ? right.end() - 1 : right.end(), column);
  for (const Axis& axis : left)
    if (!axis.reduces) out.push_back(axis);
  if (!vector) out.insert(random_.OneIn(8) ? out.end() - 1 : out.end(), column);
  if (!Known(ShapeOf(right))) return Reduction();
  Array b = Input(WeightType(), ShapeOf(right), true);
  std::string sum = SumType(current_.dtype);
  Array result = Result(sum, ShapeOf(out));
  SetMagnitude(&result, steps.value, current_.magnitude * b.magnitude);
  std::vector<Axis> all = out;
  all.push_back(step);
  Reduce("matmul", result, VarsOf(out), all, "+",
         Convert(At(current_, VarsOf(left)), current_.dtype, sum) + " * " +
             Convert(At(b, VarsOf(right)), b.dtype, sum));
  current_ = result;
}

void KernelWriter::Reduction() {
  if (current_.size() > budget_) return;
  std::vector<Axis> axes = AxesOf(current_.shape), out;
  bool all = random_.OneIn(4);
  size_t some = random_.Below(static_cast<int64_t>(axes.size()));
  for (size_t d = 0; d < axes.size(); ++d) {
    axes[d].reduces = all || (random_.OneIn(2) ? d + 1 == axes.size() : d == some);
  }
  for (const Axis& axis : axes)
    if (!axis.reduces) out.push_back(axis);
  if (out.size() == axes.size()) return;
  std::string op = random_.Pick(Texts{"+", "+", "max", "min"});
  std::string dtype = op == "+" ? SumType(current_.dtype) : current_.dtype;
  std::vector<Extent> shape = out.empty() ? std::vector<Extent>{Static(1)} : ShapeOf(out);
  Array result = Result(dtype, shape);
  Texts at = out.empty() ? Texts{"0"} : VarsOf(out);
  std::string value = Convert(At(current_, VarsOf(axes)), current_.dtype, dtype);
  int64_t steps = 1;
  std::vector<Axis> ordered = out;
  for (const Axis& axis : axes)
    if (axis.reduces) ordered.push_back(axis), steps *= axis.extent.value;
  SetMagnitude(&result, op == "+" ? steps : 1, current_.magnitude);
  // As written the loops of a reduction of an outer axis are inside or outside.
  Reduce("reduce", result, at, random_.OneIn(2) ? ordered : axes, op, value);
  current_ = result;
}

void KernelWriter::Gram() {
  if (current_.rank() != 2) return Elementwise();
  std::vector<Axis> axes = AxesOf({current_.shape[0], current_.shape[0], current_.shape[1]});
  if (InstancesOf(axes) > budget_) return Elementwise();
  axes[2].reduces = true;
  std::string dtype = SumType(current_.dtype);
  Array result = Result(dtype, {current_.shape[0], current_.shape[0]});
  SetMagnitude(&result, axes[2].extent.value, current_.magnitude * current_.magnitude);
  auto element = [&](const std::string& row) {
    return Convert(At(current_, {row, "v2"}), current_.dtype, dtype);
  };
  Reduce("gram", result, {"v0", "v1"}, axes, "+", element("v0") + " * " + element("v1"));
  current_ = result;
}

// ---- Scans, and indices that are data

void KernelWriter::Scan() {
  if (current_.size() > budget_) return;
  std::vector<Axis> axes = AxesOf(current_.shape);
  size_t along = random_.OneIn(2) ? axes.size() - 1 : DrawDim();
  axes[along].scans = true;
  bool sum = random_.OneIn(2);
  std::string dtype = sum ? SumType(current_.dtype) : current_.dtype;
  Array result = Result(dtype, current_.shape);
  int64_t steps = axes[along].extent.value;
  if (sum) most_steps_ = std::max(most_steps_, steps);
  SetMagnitude(&result, sum ? steps : 1, current_.magnitude);
  Texts at = VarsOf(axes), before = at;
  before[along] += " - 1";
  std::string x = Convert(At(current_, at), current_.dtype, dtype), y = At(result, at),
              last = At(result, before);
  Block("scan", axes, "",
        "if " + at[along] + " == 0 { " + y + " = " + x + " } else { " + y + " = " +
            (sum ? last + " + " + x : "max(" + last + ", " + x + ")") + " }");
  current_ = result;
}

std::string KernelWriter::IndexIn(const Array& index, const std::string& at, const Extent& extent) {
  return "int64(" + At(index, {at}) + ") % (" + extent.text + ")";
}

void KernelWriter::Gather() {
  size_t along = DrawDim();
  std::vector<Extent> shape = current_.shape;
  const Extent from = shape[along];
  shape[along] = Fresh(DrawExtent());
  std::vector<Axis> axes = AxesOf(shape);
  if (from.value == 0 || InstancesOf(axes) > budget_) return Elementwise();
  Array index = Input("int32", {shape[along]}), result = Result(current_.dtype, shape);
  result.magnitude = current_.magnitude;
  Texts at = VarsOf(axes), source = at;
  source[along] = IndexIn(index, at[along], from);
  Block("gather", axes, "", At(result, at) + " = " + At(current_, source));
  current_ = result;
}

void KernelWriter::ScatterAdd() {
  bool has_atomics = current_.dtype == "int32" || current_.dtype == "float32";
  if (!has_atomics || current_.size() > budget_ || !Known({current_.shape[0]}))
    return Elementwise();
  std::vector<Extent> shape = current_.shape;
  shape[0] = Static(random_.Between(1, 20));
  std::vector<Axis> axes = AxesOf(shape), from = AxesOf(current_.shape);
  Array index = Input("int32", {current_.shape[0]}), result = Result(current_.dtype, shape);
  Block("clear", axes, "", At(result, VarsOf(axes)) + " = 0");
  budget_ -= InstancesOf(from);
  int64_t steps = from[0].extent.value;
  most_steps_ = std::max(most_steps_, steps);
  SetMagnitude(&result, steps, current_.magnitude);
  Texts loops, at = VarsOf(from), to = at;
  for (const Axis& axis : from) loops.push_back(axis.var + " in 0.." + axis.extent.text);
  to[0] = IndexIn(index, at[0], shape[0]);
  body_ += "  for " + ffi::Join(loops) + " {\n    " + At(result, to) + " += " + At(current_, at) +
           "\n  }\n";
  current_ = result;
}

void KernelWriter::ArgMax() {
  if (current_.size() > budget_) return;
  std::vector<Axis> axes = AxesOf(current_.shape), out;
  axes.back().reduces = true;
  out.assign(axes.begin(), axes.end() - 1);
  std::vector<Extent> shape = out.empty() ? std::vector<Extent>{Static(1)} : ShapeOf(out);
  Texts at = out.empty() ? Texts{"0"} : VarsOf(out);
  Array largest = Result(current_.dtype, shape), place = Result("int32", shape);
  results_.back().second = true;
  std::string x = At(current_, VarsOf(axes)), y = At(largest, at), p = At(place, at);
  std::string start = EndOf(current_.dtype, false);
  Block("argmax", axes, y + " = " + start + "\n        " + p + " = -1",
        "if " + x + " > " + y + " {\n        " + y + " = " + x + "\n        " + p + " = int32(" +
            axes.back().var + ")\n      }");
  largest.magnitude = current_.magnitude;
  current_ = largest;
}

// ---- Row chains

std::optional<KernelWriter::Rows> KernelWriter::DrawRows() {
  if (current_.rank() < 2 || !current_.is_float() || 4 * current_.size() > budget_) return {};
  Rows rows;
  rows.axes = rows.reduced = AxesOf(current_.shape);
  size_t along = current_.rank() - 1;
  if (random_.OneIn(8)) along = random_.Below(static_cast<int64_t>(current_.rank()));
  for (size_t d = 0; d < rows.axes.size(); ++d)
    if (d != along) rows.rows.push_back(rows.axes[d]);
  rows.reduced[along].reduces = true;
  if (random_.OneIn(2) || along + 1 == current_.rank()) return rows;
  rows.reduced.push_back(rows.reduced[along]);
  rows.reduced.erase(rows.reduced.begin() + static_cast<std::ptrdiff_t>(along));
  return rows;
}

void KernelWriter::Softmax() {
  std::optional<Rows> rows = DrawRows();
  if (!rows) return Elementwise();
  kernel_.calls_math = true;
  const std::string& dtype = current_.dtype;
  Texts at = VarsOf(rows->axes), row = VarsOf(rows->rows);
  Array largest = Result(dtype, ShapeOf(rows->rows)), powers = Result(dtype, current_.shape),
        total = Result(dtype, ShapeOf(rows->rows));
  Reduce("largest", largest, row, rows->reduced, "max", At(current_, at));
  std::string power = "exp(" + At(current_, at) + " - " + At(largest, row) + ")";
  Block("power", rows->axes, "", At(powers, at) + " = " + power);
  bool again = random_.OneIn(4);  // powers are computed twice
  Reduce("total", total, row, rows->reduced, "+", again ? power : At(powers, at));
  Array result = powers;
  if (random_.OneIn(2)) result = Result(dtype, current_.shape);
  Block("divide", rows->axes, "", At(result, at) + " = " + At(powers, at) + " / " + At(total, row));
  result.magnitude = 1;
  current_ = result;
}

void KernelWriter::Normalization() {
  std::optional<Rows> rows = DrawRows();
  if (!rows) return Elementwise();
  kernel_.calls_math = true;
  std::string dtype = current_.dtype, count;
  for (const Axis& axis : rows->reduced)
    if (axis.reduces)
      count =
          axis.extent.is_static() ? axis.extent.text + ".0" : dtype + "(" + axis.extent.text + ")";
  Texts at = VarsOf(rows->axes), row = VarsOf(rows->rows);
  std::string x = At(current_, at), centred = x;
  if (!random_.OneIn(3)) {
    Array mean = Result(dtype, ShapeOf(rows->rows));
    Reduce("mean", mean, row, rows->reduced, "+", x + " / " + count);
    centred = "(" + x + " - " + At(mean, row) + ")";
  }
  Array variance = Result(dtype, ShapeOf(rows->rows)), result = Result(dtype, current_.shape);
  Reduce("variance", variance, row, rows->reduced, "+", centred + " * " + centred + " / " + count);
  Block("normalize", rows->axes, "",
        At(result, at) + " = " + centred + " * rsqrt(" + At(variance, row) + " + 0.125)");
  result.magnitude = 2;
  current_ = result;
}

}  // namespace tern::fuzz
