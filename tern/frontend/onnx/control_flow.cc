// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/control_flow.h"

#include <algorithm>
#include <optional>

namespace tern::frontend::onnx {
namespace {

using graph::RegionBuilder;
using graph::Value;
using Values = std::vector<Value>;

const Graph& GraphOf(const NodeContext& n, std::string_view attribute) {
  const Attribute* found = n.node().Find(attribute);
  TERN_CHECK(found && found->graphs.size() == 1) << "attribute " << attribute << " is missing";
  return found->graphs[0];
}

// ---- If

Values ImportIf(NodeContext& n, const ImportInner& import) {
  n.InputType(0);
  const Graph* branches[] = {&GraphOf(n, "then_branch"), &GraphOf(n, "else_branch")};
  const char* names[] = {"then", "else"};
  Value condition = n.input(0);
  if (std::optional<int64_t> known = graph::KnownScalar(condition))
    return import(*branches[*known ? 0 : 1], nullptr, {});
  RegionBuilder regions[] = {{n.builder(), names[0]}, {n.builder(), names[1]}};
  Values results[2];
  std::optional<Error> failed[2];
  for (size_t i = 0; i < 2; ++i) try {
      results[i] = import(*branches[i], &regions[i], {});
    } catch (const Error& error) {
      if (error.kind() == "InternalError") throw;
      failed[i] = error;
    }
  if (failed[0] && failed[1]) throw *failed[0];
  if (!failed[0] && !failed[1])
    return graph::AddIf(n.builder(), condition, regions, results, n.Options());
  size_t good = failed[0] ? 1 : 0;
  std::string message = "If '" + n.Options().label + "': its " + names[1 - good] +
                        " branch cannot run with these shapes: " + failed[1 - good]->message();
  Value holds = good == 0 ? condition : n.Part("not", {condition});
  Values outputs = import(*branches[good], nullptr, {});
  for (Value& output : outputs)
    output = n.Part("checked", {output, holds}, {{"message", ffi::Any(message)}});
  return outputs;
}

// ---- Loop

// A scalar under the rank that the graph inside declares, which may be 1.
Value AsDeclared(RegionBuilder& region, const Value& scalar, const ValueInfo& declared) {
  if (!declared.type.shape || declared.type.shape->size() != 1) return scalar;
  graph::Builder& builder = region.builder();
  return builder.Add("reshape", {scalar, builder.Ints({1}, "shape")});
}

Values ImportLoop(NodeContext& n, const ImportInner& import) {
  const Graph& body = GraphOf(n, "body");
  TERN_CHECK(body.inputs.size() >= 2 && !body.outputs.empty())
      << "the body has " << body.inputs.size() << " inputs and " << body.outputs.size()
      << " outputs; it needs the number of the trip and a condition";
  Values carried;
  for (size_t i = 2; i < n.inputs().size(); ++i) {
    n.InputType(i);
    carried.push_back(n.input(i));
  }
  return graph::AddLoop(
      n.builder(), n.input(0), n.input(1), carried,
      [&](RegionBuilder& region, const Values& params) {
        Values inputs = params;
        for (size_t i = 0; i < 2; ++i) inputs[i] = AsDeclared(region, params[i], body.inputs[i]);
        return import(body, &region, inputs);
      },
      n.Options());
}

// ---- Scan

// An axis or a direction for each; 0 where the attribute is absent.
std::vector<int64_t> PerItem(const NodeContext& n, const char* name, size_t count) {
  std::vector<int64_t> items = n.Ints(name).value_or(std::vector<int64_t>(count, 0));
  TERN_CHECK(items.size() == count)
      << "attribute " << name << " has " << items.size() << " items; " << count << " are expected";
  return items;
}

// The element of axis `axis` that a trip sees.
Value Slice(RegionBuilder& region, const Value& x, const Value& last, const Value& trip,
            int64_t axis, bool is_reversed) {
  graph::Builder& builder = region.builder();
  Value at = is_reversed ? builder.Add("sub", {region.Capture(last), trip}) : trip;
  return builder.Add("gather", {region.Capture(x), at}, {{"axis", ffi::Any(axis)}});
}

// What is stacked along axis 0, in the other order or along another axis.
Value Arranged(NodeContext& n, Value y, int64_t axis, bool is_reversed) {
  graph::Builder& builder = n.builder();
  auto rank = static_cast<int64_t>(y->type.rank());
  TERN_CHECK(axis >= -rank && axis < rank) << "axis " << axis << " is none of rank " << rank;
  if (axis < 0) axis += rank;
  if (is_reversed)
    y = n.Part("slice", {y, builder.Ints({-1}, "start"), builder.Ints({INT64_MIN}, "end"),
                         builder.Ints({0}, "axes"), builder.Ints({-1}, "step")});
  if (axis == 0) return y;
  std::vector<ffi::Any> perm;
  for (int64_t i = 1; i <= axis; ++i) perm.emplace_back(i);
  perm.emplace_back(0);
  for (int64_t i = axis + 1; i < rank; ++i) perm.emplace_back(i);
  return n.Part("transpose", {y}, {{"perm", ffi::Any(ffi::MakeArray(std::move(perm)))}});
}

Values ImportScan(NodeContext& n, const ImportInner& import) {
  TERN_CHECK(n.opset() >= 9) << "Scan of opset 8, which has an axis for batches, is not supported";
  const Graph& body = GraphOf(n, "body");
  int64_t given = n.Int("num_scan_inputs", 0);
  TERN_CHECK(given > 0 && static_cast<size_t>(given) <= n.inputs().size() &&
             body.inputs.size() == n.inputs().size())
      << given << " of " << n.inputs().size() << " inputs cannot be scanned by a body of "
      << body.inputs.size();
  size_t states = n.inputs().size() - static_cast<size_t>(given);
  TERN_CHECK(body.outputs.size() >= states)
      << "the body has " << body.outputs.size() << " outputs, and " << states << " states";
  size_t made = body.outputs.size() - states;
  std::vector<int64_t> axes = PerItem(n, "scan_input_axes", n.inputs().size() - states),
                       directions = PerItem(n, "scan_input_directions", axes.size()),
                       out_axes = PerItem(n, "scan_output_axes", made),
                       out_directions = PerItem(n, "scan_output_directions", made);
  Values carried;
  for (size_t i = 0; i < states; ++i) {
    n.InputType(i);
    carried.push_back(n.input(i));
  }
  graph::Builder& builder = n.builder();
  for (size_t i = 0; i < axes.size(); ++i) {
    auto rank = static_cast<int64_t>(n.InputType(states + i).rank());
    TERN_CHECK(axes[i] >= -rank && axes[i] < rank)
        << "axis " << axes[i] << " is none of input " << states + i << ", of rank " << rank;
    if (axes[i] < 0) axes[i] += rank;
  }
  Value trips =
      n.Part("gather", {n.Part("shape", {n.input(states)}),
                        builder.Scalar(DataType::Int(64), static_cast<double>(axes[0]), "axis")});
  Value last = n.Part("sub", {trips, builder.Scalar(DataType::Int(64), 1, "one")});
  Values outputs = graph::AddLoop(
      builder, trips, {}, carried,
      [&](RegionBuilder& region, const Values& params) {
        Values inputs(params.begin() + 2, params.end());
        for (size_t i = 0; i < axes.size(); ++i)
          inputs.push_back(
              Slice(region, n.input(states + i), last, params[0], axes[i], directions[i] != 0));
        Values results = import(body, &region, inputs);
        results.insert(results.begin(), params[1]);
        return results;
      },
      n.Options());
  for (size_t i = 0; i < made; ++i)
    outputs[states + i] = Arranged(n, outputs[states + i], out_axes[i], out_directions[i] != 0);
  return outputs;
}

}  // namespace

Values ImportControlFlow(NodeContext& n, const ImportInner& import) {
  if (n.node().op_type == "If") return ImportIf(n, import);
  return n.node().op_type == "Loop" ? ImportLoop(n, import) : ImportScan(n, import);
}

}  // namespace tern::frontend::onnx
