// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tern/graph/builder.h"
#include "tern/graph/control.h"
#include "tern/graph/dim_ranges.h"

namespace tern::graph {

Builder& Rewriter::Current() { return regions_.empty() ? *outermost_ : regions_.back()->builder(); }

Value Rewriter::Lookup(const Value& value) {
  if (!value) return {};
  auto it = map_.find(value.get());
  if (it != map_.end()) return it->second;
  TERN_ICHECK(value->constant) << "value " << value->name << " is used before it is defined";
  return map_[value.get()] = outermost_->Constant(value->constant);
}

Value Rewriter::Here(Value value) {
  if (!value || value->constant) return value;
  auto place = places_.find(value.get());
  TERN_ICHECK(place != places_.end()) << "value " << value->name << " is of no graph";
  for (size_t i = place->second.level; i < regions_.size(); ++i) {
    value = regions_[i]->Capture(value);
    Put(value, i + 1);
  }
  return value;
}

Value Rewriter::Map(const Value& value) { return Here(Lookup(value)); }

void Rewriter::Define(const Value& old, const Value& value) {
  map_[old.get()] = value;
  if (value && !value->constant) Put(value, regions_.size());
}

void Rewriter::Put(const Value& value, size_t level) {
  places_.try_emplace(value.get(), Place{value, level});
}

Function Rewriter::Run(const Function& function) {
  ScopedDimRanges ranges(function);
  Builder builder(function->name);
  outermost_ = &builder;
  map_.clear();
  places_.clear();
  hoisted_.clear();
  for (const Value& param : function->params)
    Define(param, builder.Param(param->name, param->type, param->span));
  // Constants keep their names, so they come before whatever needs a new one.
  ForEachNode(function, [&](const Node& node) {
    for (const Value& input : node->inputs)
      if (input && input->constant) Lookup(input);
    for (const ir::BaseFunc& region : node->regions)
      for (const Value& result : AsGraph(region)->results)
        if (result->constant) Lookup(result);
  });
  RunNodes(function->nodes);
  std::vector<Value> results;
  for (const Value& result : function->results) results.push_back(Map(result));
  return builder.Finish(std::move(results), function->attrs, function->span);
}

void Rewriter::RunNodes(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    Control control = node->op->control;
    if (control == Control::kIf || control == Control::kLoop) {
      std::vector<Value> outputs = control == Control::kIf ? RunIf(node) : RunLoop(node);
      for (size_t i = 0; i < node->outputs.size(); ++i) Define(node->outputs[i], outputs[i]);
      continue;
    }
    std::vector<Value> inputs;
    for (const Value& input : node->inputs) inputs.push_back(Lookup(input));
    bool hoists = !regions_.empty() && control == Control::kNone &&
                  std::all_of(inputs.begin(), inputs.end(), [&](const Value& input) {
                    return !input || input->constant || hoisted_.contains(input.get());
                  });
    std::vector<RegionBuilder*> regions;
    if (hoists) regions.swap(regions_);
    for (Value& input : inputs) input = Here(input);
    std::vector<Value> outputs = Rewrite(Current(), node, inputs);
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      Define(node->outputs[i], outputs[i]);
      // Nobody keeps a constant, which is outside of all regions anyway: when the region is made
      // again, another value may lie at its address.
      if (hoists && outputs[i] && !outputs[i]->constant) hoisted_.insert(outputs[i].get());
    }
    if (hoists) regions.swap(regions_);
  }
}

std::vector<Value> Rewriter::Inline(const Function& region, const std::vector<Value>& args) {
  for (size_t i = 0; i < args.size(); ++i) map_[region->params[i].get()] = args[i];
  RunNodes(region->nodes);
  std::vector<Value> results;
  for (const Value& result : region->results) results.push_back(Lookup(result));
  return results;
}

std::vector<Value> Rewriter::RunRegion(RegionBuilder& builder, const Function& region,
                                       const std::vector<Value>& args) {
  regions_.push_back(&builder);
  std::vector<Value> results = Inline(region, args);
  for (Value& result : results) result = Here(result);
  regions_.pop_back();
  return results;
}

namespace {

Builder::Options OptionsOf(const Node& node) {
  Builder::Options options{node->label, {}, node->span};
  for (const Value& output : node->outputs) options.names.push_back(output->name);
  return options;
}

}  // namespace

std::vector<Value> Rewriter::RunIf(const Node& node) {
  std::vector<Value> captures;
  for (size_t i = 1; i < node->inputs.size(); ++i) captures.push_back(Lookup(node->inputs[i]));
  Function branches[] = {AsGraph(node->regions[0]), AsGraph(node->regions[1])};
  Value condition = Lookup(node->inputs[0]);
  if (std::optional<int64_t> known = KnownScalar(condition))
    return Inline(branches[*known ? 0 : 1], captures);
  auto make = [&](const Function& branch) {
    return [&, branch](RegionBuilder& region, const std::vector<Value>&) {
      return RunRegion(region, branch, captures);
    };
  };
  return AddIf(Current(), Here(condition), make(branches[0]), make(branches[1]), OptionsOf(node));
}

std::vector<Value> Rewriter::RunLoop(const Node& node) {
  LoopParts parts(*node);
  Value trips = parts.trips ? Map(parts.trips) : Value();
  Value condition = parts.condition ? Map(parts.condition) : Value();
  std::vector<Value> carried, captures;
  for (const Value& value : parts.initial) carried.push_back(Map(value));
  for (const Value& value : parts.captures) captures.push_back(Lookup(value));
  std::optional<int64_t> known = KnownTrips(trips, condition);
  if (known && *known > 0 && *known <= kMaxUnrolledTrips && !parts.may_stop)
    return Unroll(parts, *known, std::move(carried), captures, OptionsOf(node));
  return AddLoop(
      Current(), trips, condition, carried,
      [&](RegionBuilder& region, const std::vector<Value>& params) {
        std::vector<Value> args = params;
        for (const Value& param : params) Put(param, regions_.size() + 1);
        args.insert(args.end(), captures.begin(), captures.end());
        return RunRegion(region, parts.body, args);
      },
      OptionsOf(node));
}

std::vector<Value> Rewriter::Unroll(const LoopParts& parts, int64_t trips,
                                    std::vector<Value> carried, const std::vector<Value>& captures,
                                    const Builder::Options& options) {
  std::vector<std::vector<Value>> stacked(parts.stacked);
  Builder& builder = Current();
  Value always = builder.Scalar(DataType::Bool(), 1, "condition");
  for (int64_t trip = 0; trip < trips; ++trip) {
    std::vector<Value> args = {builder.Scalar(DataType::Int(64), static_cast<double>(trip), "trip"),
                               always};
    args.insert(args.end(), carried.begin(), carried.end());
    args.insert(args.end(), captures.begin(), captures.end());
    std::vector<Value> results = Inline(parts.body, args);
    for (size_t i = 0; i < parts.carried; ++i) carried[i] = results[1 + i];
    for (size_t i = 0; i < parts.stacked; ++i)
      stacked[i].push_back(builder.Add(
          "unsqueeze", {Here(results[1 + parts.carried + i]), builder.Ints({0}, "axes")}));
  }
  for (size_t i = 0; i < parts.stacked; ++i) {
    const std::string& name = options.names[parts.carried + i];
    carried.push_back(builder.Add("concat", stacked[i], {{"axis", ffi::Any(0)}},
                                  {options.label, {name}, options.span}));
  }
  return carried;
}

}  // namespace tern::graph
