// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/control_flow.h"

#include <algorithm>
#include <optional>

namespace tern::frontend::onnx {
namespace {

using graph::RegionBuilder;
using graph::Value;
using Values = std::vector<Value>;

// More than these are no straight code.
constexpr int64_t kMostTrips = 4096;

// ---- If

Items ImportIf(NodeContext& n) {
  n.InputType(0);
  const ImportInner& import = n.import_inner();
  const Graph* branches[] = {&n.InnerGraph("then_branch"), &n.InnerGraph("else_branch")};
  const char* names[] = {"then", "else"};
  Value condition = n.input(0);
  if (std::optional<int64_t> known = graph::KnownScalar(condition))
    return import(*branches[*known ? 0 : 1], nullptr, {});
  RegionBuilder regions[] = {{n.builder(), names[0]}, {n.builder(), names[1]}};
  Items results[2];
  std::optional<Error> failed[2];
  for (size_t i = 0; i < 2; ++i) try {
      results[i] = import(*branches[i], &regions[i], {});
    } catch (const Error& error) {
      if (error.kind() == "InternalError") throw;
      failed[i] = error;
    }
  if (failed[0] && failed[1]) throw *failed[0];
  if (!failed[0] && !failed[1]) {
    if (!SameStructure(results[0], results[1]))
      TERN_THROW(ValueError) << "its branches give different sequences or optionals, so that its "
                             << "condition has to be known when compiling; "
                             << graph::HowToKnow(condition);
    Values tensors[] = {Flattened(results[0]), Flattened(results[1])};
    return Structured(results[0],
                      graph::AddIf(n.builder(), condition, regions, tensors, n.Options()));
  }
  size_t good = failed[0] ? 1 : 0;
  std::string message = "If '" + n.Options().label + "': its " + names[1 - good] +
                        " branch cannot run with these shapes: " + failed[1 - good]->message();
  Value holds = good == 0 ? condition : n.Part("not", {condition});
  Items outputs = import(*branches[good], nullptr, {});
  Values checked = Flattened(outputs);
  for (Value& output : checked)
    output = n.Part("checked", {output, holds}, {{"message", ffi::Any(message)}});
  return Structured(outputs, checked);
}

// ---- Loop

// A scalar under the rank that the graph inside declares, which may be 1.
Value AsDeclared(RegionBuilder& region, const Value& scalar, const ValueInfo& declared) {
  if (!declared.type.shape || declared.type.shape->size() != 1) return scalar;
  graph::Builder& builder = region.builder();
  return builder.Add("reshape", {scalar, builder.Ints({1}, "shape")});
}

// All trips one behind another, as sequences change from one to the next.
Items UnrolledLoop(NodeContext& n, const Graph& body, Items carried) {
  const Value &trips = n.input(0), &condition = n.input(1);
  std::optional<int64_t> most = trips ? graph::KnownScalar(trips) : kMostTrips + 1,
                         go = condition ? graph::KnownScalar(condition) : 1;
  Value last = condition;
  graph::Builder& builder = n.builder();
  size_t count = carried.size();
  std::vector<Values> stacked(body.outputs.size() - 1 - count);
  for (int64_t trip = 0;; ++trip) {
    if (!most || !go)
      throw UnknownStructure(
          "it changes sequences or optionals from trip to trip, so that the number of its trips "
          "has to be known when compiling; " +
          graph::HowToKnow(most ? last : trips));
    if (trip >= *most || !*go) break;
    TERN_CHECK(trip < kMostTrips) << "a loop that carries sequences has more than " << kMostTrips
                                  << " trips";
    Items inputs = {builder.Scalar(DataType::Int(64), static_cast<double>(trip), "trip"),
                    builder.Scalar(DataType::Bool(), 1, "condition")};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Items results = n.import_inner()(body, nullptr, inputs);
    last = results[0].tensor;
    go = graph::KnownScalar(last);
    carried.assign(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(count));
    for (size_t i = 0; i < stacked.size(); ++i)
      stacked[i].push_back(
          n.Part("unsqueeze", {results[1 + count + i].tensor, builder.Ints({0}, "axes")}));
  }
  Items outputs = std::move(carried);
  for (const Values& parts : stacked) {
    TERN_CHECK(!parts.empty()) << "a loop that carries sequences, and stacks, has no trips";
    outputs.emplace_back(n.Part("concat", parts, {{"axis", ffi::Any(0)}}));
  }
  return outputs;
}

Items ImportLoop(NodeContext& n) {
  const Graph& body = n.InnerGraph("body");
  TERN_CHECK(body.inputs.size() >= 2 && !body.outputs.empty())
      << "the body has " << body.inputs.size() << " inputs and " << body.outputs.size()
      << " outputs; it needs the number of the trip and a condition";
  Items carried;
  for (size_t i = 2; i < n.items().size(); ++i) {
    if (n.item(i).is_tensor()) n.InputType(i);
    carried.push_back(n.item(i));
  }
  TERN_CHECK(body.outputs.size() > carried.size())
      << "the body has " << body.outputs.size() << " outputs; " << carried.size()
      << " values are carried";
  Items results;  // of the body
  auto make_body = [&](RegionBuilder& region, const Values& params) {
    Items inputs = {AsDeclared(region, params[0], body.inputs[0]),
                    AsDeclared(region, params[1], body.inputs[1])};
    Items inside = Structured(carried, {params.begin() + 2, params.end()});
    inputs.insert(inputs.end(), inside.begin(), inside.end());
    results = n.import_inner()(body, &region, inputs);
    auto behind = results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size());
    if (!SameStructure({results.begin() + 1, behind}, carried))
      throw UnknownStructure("a sequence or an optional that it carries changes");
    return Flattened(results);
  };
  try {
    // Lists that keep their structure are so many tensors.
    Values outputs = graph::AddLoop(n.builder(), n.input(0), n.input(1), Flattened(carried),
                                    make_body, n.Options());
    return Structured({results.begin() + 1, results.end()}, outputs);
  } catch (const UnknownStructure&) {
    return UnrolledLoop(n, body, std::move(carried));
  }
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

struct ScanParts {
  Values states, scanned;
  std::vector<int64_t> axes, directions;          // of what is scanned
  std::vector<int64_t> out_axes, out_directions;  // of what is stacked
};

Values RunScan(NodeContext& n, const Graph& body, ScanParts parts) {
  graph::Builder& builder = n.builder();
  for (size_t i = 0; i < parts.scanned.size(); ++i) {
    auto rank = static_cast<int64_t>(parts.scanned[i]->type.rank());
    TERN_CHECK(parts.axes[i] >= -rank && parts.axes[i] < rank)
        << "axis " << parts.axes[i] << " is none of scanned input " << i << ", of rank " << rank;
    if (parts.axes[i] < 0) parts.axes[i] += rank;
  }
  Value trips = n.Part(
      "gather", {n.Part("shape", {parts.scanned[0]}),
                 builder.Scalar(DataType::Int(64), static_cast<double>(parts.axes[0]), "axis")});
  Value last = n.Part("sub", {trips, builder.Scalar(DataType::Int(64), 1, "one")});
  Values outputs = graph::AddLoop(
      builder, trips, {}, parts.states,
      [&](RegionBuilder& region, const Values& params) {
        Items inputs(params.begin() + 2, params.end());
        for (size_t i = 0; i < parts.scanned.size(); ++i)
          inputs.emplace_back(Slice(region, parts.scanned[i], last, params[0], parts.axes[i],
                                    parts.directions[i] != 0));
        Values results = Flattened(n.import_inner()(body, &region, inputs));
        results.insert(results.begin(), params[1]);
        return results;
      },
      n.Options());
  for (size_t i = 0; i < parts.out_axes.size(); ++i) {
    Value& output = outputs[parts.states.size() + i];
    output = Arranged(n, output, parts.out_axes[i], parts.out_directions[i] != 0);
  }
  return outputs;
}

// Opset 8 scans axis 1 of each element of a batch, axis 0, of which the extent is known.
Values RunBatchedScan(NodeContext& n, const Graph& body, const ScanParts& parts) {
  TERN_CHECK(!n.input(0)) << "Scan of opset 8 with lengths of sequences is not supported";
  graph::Builder& builder = n.builder();
  TERN_CHECK(parts.scanned[0]->type.rank() > 1) << "Scan of opset 8 takes batches";
  std::optional<int64_t> batch = ir::AsConstInt(parts.scanned[0]->type.shape[0]);
  TERN_CHECK(batch && *batch > 0) << "the extent of the batch has to be known when compiling";
  std::vector<Values> outputs;
  for (int64_t b = 0; b < *batch; ++b) {
    Value at = builder.Scalar(DataType::Int(64), static_cast<double>(b), "batch");
    ScanParts one = parts;
    for (Values* values : {&one.states, &one.scanned})
      for (Value& value : *values) value = n.Part("gather", {value, at}, {{"axis", ffi::Any(0)}});
    Values results = RunScan(n, body, std::move(one));
    outputs.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i)
      outputs[i].push_back(n.Part("unsqueeze", {results[i], builder.Ints({0}, "axes")}));
  }
  Values joined;
  for (const Values& elements : outputs)
    joined.push_back(n.Part("concat", elements, {{"axis", ffi::Any(0)}}));
  return joined;
}

Items ImportScan(NodeContext& n) {
  const Graph& body = n.InnerGraph("body");
  size_t first = n.opset() < 9 ? 1 : 0;  // behind the lengths of sequences
  size_t count = n.inputs().size() - std::min(first, n.inputs().size());
  int64_t given = n.Int("num_scan_inputs", 0);
  TERN_CHECK(given > 0 && static_cast<size_t>(given) <= count && body.inputs.size() == count)
      << given << " of " << count << " inputs cannot be scanned by a body of "
      << body.inputs.size();
  size_t states = count - static_cast<size_t>(given);
  TERN_CHECK(body.outputs.size() >= states)
      << "the body has " << body.outputs.size() << " outputs, and " << states << " states";
  size_t made = body.outputs.size() - states;
  ScanParts parts;
  for (size_t i = 0; i < count; ++i) {
    n.InputType(first + i);
    (i < states ? parts.states : parts.scanned).push_back(n.input(first + i));
  }
  parts.axes = PerItem(n, "scan_input_axes", count - states);
  parts.directions = PerItem(n, first ? "directions" : "scan_input_directions", count - states);
  parts.out_axes = PerItem(n, "scan_output_axes", made);
  parts.out_directions = PerItem(n, "scan_output_directions", made);
  return ItemsOf(first ? RunBatchedScan(n, body, parts) : RunScan(n, body, parts));
}

}  // namespace

Items ImportControlFlow(NodeContext& n) {
  if (n.node().op_type == "If") return ImportIf(n);
  return n.node().op_type == "Loop" ? ImportLoop(n) : ImportScan(n);
}

}  // namespace tern::frontend::onnx
