// SPDX-License-Identifier: Apache-2.0
//
// Control flow as jumps of the program. Branches write their results to the same registers; what a
// loop carries is in registers that each trip reads and writes:
//
//   if                            loop
//     branch c == 0, ELSE           carried = alloc, copy of the initial value
//     ... then ...                HEAD:
//     jump END                      branch trips <= trip || go == 0, END
//   ELSE:                           ... body, to tensors of its own ...
//     ... else ...                  copies of these to carried
//   END:                            trip = trip + 1; jump HEAD
//                                 END:
#include <algorithm>

#include "tern/graph/body_writer.h"
#include "tern/graph/control.h"

namespace tern::graph {
namespace {

namespace vm = runtime::vm;
using vm::IntOp;
using vm::Opcode;
using vm::Operand;

vm::IntExpr Register(uint32_t index) { return vm::IntExpr::Register(index); }

bool Has(const std::vector<Var>& dims, const Expr& extent) {
  const auto* var = extent.As<ir::VarNode>();
  return var &&
         std::any_of(dims.begin(), dims.end(), [&](const Var& dim) { return dim.node() == var; });
}

}  // namespace

void BodyWriter::WriteControl(const Node& node) {
  switch (node->op->control) {
    case Control::kRead:
      WriteRead(node);
      break;
    case Control::kChecked: {
      std::string message = node->attrs.at("message").As<std::string>();
      for (size_t at = 0; (at = message.find("{}", at)) != std::string::npos;)
        message.insert(at + 1, " ");
      IntExpr condition = ScalarOf(node->inputs[1]);
      Emit({.op = Opcode::kCheck, .exprs = {std::move(condition)}, .text = std::move(message)});
      break;
    }
    case Control::kIf:
      WriteIf(node);
      break;
    case Control::kLoop:
      WriteLoop(node);
      break;
    case Control::kNone:
      break;
  }
  EmitExtents();
}

uint32_t BodyWriter::NewInt(IntExpr value) {
  uint32_t index = main_.AddInt();
  SetInt(index, std::move(value));
  return index;
}

void BodyWriter::SetInt(uint32_t index, IntExpr value) {
  Emit({.op = Opcode::kInt, .results = {Operand::Int(index)}, .exprs = {std::move(value)}});
}

BodyWriter::IntExpr BodyWriter::ScalarOf(const Value& value) {
  if (value->content && IsKnownIn(state_.dims, (*value->content)[0])) try {
      return ToVm((*value->content)[0]);
    } catch (const Error& error) {  // floats in it: the tensor has the result
      if (error.kind() == "InternalError") throw;
    }
  uint32_t index = main_.AddInt();
  uint32_t tensor = TensorOf(value, value->type.shape);
  Emit({.op = Opcode::kRead,
        .results = {Operand::Int(index)},
        .args = {Operand::Tensor(tensor)},
        .exprs = {IntExpr::Const(0)}});
  return Register(index);
}

void BodyWriter::WriteRead(const Node& node) {
  if (node->dims.empty()) return;
  uint32_t tensor = TensorOf(node->inputs[0], node->inputs[0]->type.shape);
  auto read = [&](size_t element) {
    uint32_t index = main_.AddInt();
    Emit({.op = Opcode::kRead,
          .results = {Operand::Int(index)},
          .args = {Operand::Tensor(tensor)},
          .exprs = {IntExpr::Const(static_cast<int64_t>(element))}});
    return index;
  };
  if (IsCount(*node.get())) {
    for (size_t i = 0; i < node->dims.size(); ++i) {
      uint32_t index = read(i);
      state_.dims[node->dims[i].node()] = index;
      Emit({.op = Opcode::kCheck,
            .exprs = {IntExpr::Apply(IntOp::kLe, {IntExpr::Const(0), Register(index)}),
                      Register(index)},
            .text =
                node->str() + ": " + node->inputs[0]->name + " is a number of elements, not {}"});
    }
    return;
  }
  for (size_t i = 0; i < node->dims.size(); i += 2) {
    uint32_t index = read(i / 2);
    IntExpr zero = IntExpr::Const(0), value = Register(index);
    state_.dims[node->dims[i].node()] = NewInt(IntExpr::Apply(IntOp::kMax, {value, zero}));
    state_.dims[node->dims[i + 1].node()] =
        NewInt(IntExpr::Apply(IntOp::kSub, {IntExpr::Apply(IntOp::kMax, {value, zero}), value}));
  }
}

std::vector<BodyWriter::Base> BodyWriter::BasesOf(const std::vector<Value>& values) {
  std::vector<Base> bases;
  for (const Value& value : values)
    bases.push_back({TensorOf(value, value->type.shape), value->type.shape});
  return bases;
}

void BodyWriter::Bind(const std::vector<Value>& params, size_t first,
                      const std::vector<Base>& bases) {
  for (size_t i = 0; i < bases.size(); ++i) bases_[params[first + i].get()] = bases[i];
}

// ---- if

void BodyWriter::WriteIf(const Node& node) {
  std::vector<Base> captures = BasesOf({node->inputs.begin() + 1, node->inputs.end()});
  IntExpr condition = ScalarOf(node->inputs[0]);
  Targets targets;
  for (const Value& output : node->outputs) {
    auto result = target_of_.find(output.get());
    Target target{.tensor = NewTensor(output->type)};
    if (result != target_of_.end()) {
      const Target& wanted = *targets_[result->second];
      if (wanted.tensor) target.tensor = wanted.tensor;
      target.output = wanted.output;
    }
    targets.push_back(target);
  }
  for (const Var& dim : node->dims) state_.dims[dim.node()] = main_.AddInt();
  uint32_t branch =
      Emit({.op = Opcode::kBranch,
            .exprs = {IntExpr::Apply(IntOp::kEq, {std::move(condition), IntExpr::Const(0)})}});
  uint32_t jump = 0;
  for (size_t i = 0; i < 2; ++i) {
    Function region = AsGraph(node->regions[i]);
    if (i == 1) main_.code[branch].index = static_cast<uint32_t>(main_.code.size());
    BodyWriter inner(&state_, region);
    inner.Bind(region->params, 0, captures);
    inner.Write(targets);
    for (size_t k = 0; k < node->outputs.size(); ++k)
      for (size_t d = 0; d < node->outputs[k]->type.rank(); ++d) {
        const Expr& extent = node->outputs[k]->type.shape[d];
        if (Has(node->dims, extent))
          SetInt(state_.dims.at(extent.As<ir::VarNode>()), ToVm(region->results[k]->type.shape[d]));
      }
    if (i == 0) jump = Emit({.op = Opcode::kJump});
  }
  main_.code[jump].index = static_cast<uint32_t>(main_.code.size());
  for (size_t k = 0; k < node->outputs.size(); ++k)
    bases_[node->outputs[k].get()] = {*targets[k]->tensor, node->outputs[k]->type.shape};
}

// ---- loop

void BodyWriter::WriteLoop(const Node& node) {
  LoopParts parts(*node.get());
  const std::vector<Value>& results = parts.body->results;
  std::vector<Base> captures = BasesOf(parts.captures), carried;
  uint32_t trip = NewInt(IntExpr::Const(0)), go = 0;
  state_.dims[parts.trip.node()] = trip;
  IntExpr ends = IntExpr::Const(0);
  if (parts.trips)
    ends = IntExpr::Apply(IntOp::kLe,
                          {Register(NewInt(ToVm((*parts.trips->content)[0]))), Register(trip)});
  if (parts.may_stop) {
    go = NewInt(parts.condition ? ScalarOf(parts.condition) : IntExpr::Const(1));
    ends = IntExpr::Apply(
        IntOp::kOr,
        {std::move(ends), IntExpr::Apply(IntOp::kEq, {Register(go), IntExpr::Const(0)})});
  }
  // What is carried; its extents may change.
  std::vector<std::pair<uint32_t, Expr>> changing;  // the register, and the next value
  for (size_t i = 0; i < parts.carried; ++i) {
    const Value& param = parts.body->params[2 + i];
    for (size_t d = 0; d < param->type.rank(); ++d)
      if (const Expr& extent = param->type.shape[d]; Has(node->dims, extent)) {
        uint32_t index = NewInt(ToVm(parts.initial[i]->type.shape[d]));
        state_.dims[extent.As<ir::VarNode>()] = index;
        changing.emplace_back(index, results[1 + i]->type.shape[d]);
      }
    uint32_t initial = TensorOf(parts.initial[i], parts.initial[i]->type.shape);
    uint32_t tensor = NewTensor(param->type);
    Emit({.op = Opcode::kAlloc,
          .results = {Operand::Tensor(tensor)},
          .exprs = ToVm(param->type.shape)});
    Emit({.op = Opcode::kCopy, .args = {Operand::Tensor(initial), Operand::Tensor(tensor)}});
    carried.push_back({tensor, param->type.shape});
    bases_[node->outputs[i].get()] = carried.back();
  }
  // What is stacked: memory for all where that is known, otherwise a list.
  struct Stacked {
    std::optional<uint32_t> tensor, list;
  };
  std::vector<Stacked> stacked;
  for (size_t i = 0; i < parts.stacked; ++i) {
    const Value& output = node->outputs[parts.carried + i];
    for (size_t d = 0; d < output->type.rank(); ++d)
      if (const Expr& extent = output->type.shape[d]; Has(node->dims, extent)) {
        uint32_t index = NewInt(IntExpr::Const(0));
        state_.dims[extent.As<ir::VarNode>()] = index;
        if (d > 0) changing.emplace_back(index, results[1 + parts.carried + i]->type.shape[d - 1]);
      }
    bool counted = std::none_of(output->type.shape.begin(), output->type.shape.end(),
                                [&](const Expr& extent) { return Has(node->dims, extent); });
    Stacked& one = stacked.emplace_back();
    if (counted) {
      one.tensor = NewTensor(output->type);
      Emit({.op = Opcode::kAlloc,
            .results = {Operand::Tensor(*one.tensor)},
            .exprs = ToVm(output->type.shape)});
      bases_[output.get()] = {*one.tensor, output->type.shape};
    } else {
      one.list = main_.AddList();
      Emit({.op = Opcode::kList,
            .index = static_cast<uint32_t>(vm::ListOp::kMake),
            .results = {Operand::List(*one.list)}});
    }
  }
  uint32_t head = Emit({.op = Opcode::kBranch, .exprs = {std::move(ends)}});
  BodyWriter inner(&state_, parts.body);
  inner.Bind(parts.body->params, 2, carried);
  inner.Bind(parts.body->params, 2 + parts.carried, captures);
  Targets targets;
  bool reads_condition = parts.may_stop && !results[0]->content;
  targets.push_back(reads_condition ? std::optional(Target()) : std::nullopt);
  for (size_t i = 0; i < parts.carried; ++i)
    targets.push_back(results[1 + i].same(parts.body->params[2 + i]) ? std::nullopt
                                                                     : std::optional(Target()));
  for (size_t i = 0; i < parts.stacked; ++i) {
    const TensorType& element = results[1 + parts.carried + i]->type;
    Target target;
    if (stacked[i].tensor) {
      // Written where it belongs.
      target.tensor = NewTensor(element);
      target.has_memory = true;
      Expr size = NumElements(element.shape);
      Instruction view{.op = Opcode::kView,
                       .results = {Operand::Tensor(*target.tensor)},
                       .args = {Operand::Tensor(*stacked[i].tensor)},
                       .exprs = ToVm(element.shape)};
      view.exprs.insert(view.exprs.begin(),
                        IntExpr::Apply(IntOp::kMul, {Register(trip), ToVm(size)}));
      Emit(std::move(view));
      std::optional<int64_t> known = ir::AsConstInt(size);
      target.is_aligned = known && *known * element.dtype.bytes() % kViewAlignment == 0;
    }
    targets.push_back(target);
  }
  std::vector<std::optional<uint32_t>> made = inner.Write(targets);
  // All that is next, before any of it is set.
  std::vector<uint32_t> next;
  for (const auto& [index, value] : changing) next.push_back(NewInt(ToVm(value)));
  if (reads_condition)
    Emit({.op = Opcode::kRead,
          .results = {Operand::Int(go)},
          .args = {Operand::Tensor(*made[0])},
          .exprs = {IntExpr::Const(0)}});
  else if (parts.may_stop)
    SetInt(go, ToVm((*results[0]->content)[0]));
  for (size_t i = 0; i < next.size(); ++i) SetInt(changing[i].first, Register(next[i]));
  Instruction free{.op = Opcode::kFree};
  if (made[0]) free.args.push_back(Operand::Tensor(*made[0]));
  for (size_t i = 0; i < parts.carried; ++i) {
    if (!made[1 + i]) continue;
    const std::vector<Expr>& shape = carried[i].shape;
    if (std::any_of(shape.begin(), shape.end(),
                    [&](const Expr& extent) { return Has(node->dims, extent); }))
      Emit({.op = Opcode::kAlloc,
            .results = {Operand::Tensor(carried[i].tensor)},
            .exprs = ToVm(shape)});
    Emit({.op = Opcode::kCopy,
          .args = {Operand::Tensor(*made[1 + i]), Operand::Tensor(carried[i].tensor)}});
    free.args.push_back(Operand::Tensor(*made[1 + i]));
  }
  for (size_t i = 0; i < parts.stacked; ++i) {
    if (!stacked[i].list) continue;
    uint32_t tensor = *made[1 + parts.carried + i];
    Emit({.op = Opcode::kList,
          .index = static_cast<uint32_t>(vm::ListOp::kInsert),
          .args = {Operand::List(*stacked[i].list), Operand::Tensor(tensor)},
          .exprs = {Register(trip)}});
    free.args.push_back(Operand::Tensor(tensor));
  }
  if (!free.args.empty()) Emit(std::move(free));
  SetInt(trip, IntExpr::Apply(IntOp::kAdd, {Register(trip), IntExpr::Const(1)}));
  Emit({.op = Opcode::kJump, .index = head});
  main_.code[head].index = static_cast<uint32_t>(main_.code.size());
  for (size_t i = 0; i < parts.stacked; ++i) {
    if (!stacked[i].list) continue;
    const Value& output = node->outputs[parts.carried + i];
    if (const Expr& extent = output->type.shape[0]; Has(node->dims, extent))
      SetInt(state_.dims.at(extent.As<ir::VarNode>()), Register(trip));
    Stack(*stacked[i].list, trip, output, results[1 + parts.carried + i]->type.rank());
  }
}

void BodyWriter::Stack(uint32_t list, uint32_t count, const Value& output, size_t rank) {
  const TensorType& type = output->type;
  uint32_t tensor = NewTensor(type), number = NewInt(IntExpr::Const(0));
  Emit({.op = Opcode::kAlloc, .results = {Operand::Tensor(tensor)}, .exprs = ToVm(type.shape)});
  uint32_t head =
      Emit({.op = Opcode::kBranch,
            .exprs = {IntExpr::Apply(IntOp::kLe, {Register(count), Register(number)})}});
  uint32_t item = main_.AddTensor(type.dtype, static_cast<uint32_t>(rank));
  uint32_t place = main_.AddTensor(type.dtype, static_cast<uint32_t>(rank));
  Emit({.op = Opcode::kList,
        .index = static_cast<uint32_t>(vm::ListOp::kGet),
        .results = {Operand::Tensor(item)},
        .args = {Operand::List(list)},
        .exprs = {Register(number)}});
  std::vector<Expr> shape(type.shape.begin() + 1, type.shape.end());
  Instruction view{.op = Opcode::kView,
                   .results = {Operand::Tensor(place)},
                   .args = {Operand::Tensor(tensor)},
                   .exprs = ToVm(shape)};
  view.exprs.insert(view.exprs.begin(),
                    IntExpr::Apply(IntOp::kMul, {Register(number), ToVm(NumElements(shape))}));
  Emit(std::move(view));
  Emit({.op = Opcode::kCopy, .args = {Operand::Tensor(item), Operand::Tensor(place)}});
  SetInt(number, IntExpr::Apply(IntOp::kAdd, {Register(number), IntExpr::Const(1)}));
  Emit({.op = Opcode::kJump, .index = head});
  main_.code[head].index = static_cast<uint32_t>(main_.code.size());
  Emit({.op = Opcode::kFree, .args = {Operand::List(list)}});
  bases_[output.get()] = {tensor, type.shape};
}

}  // namespace tern::graph
