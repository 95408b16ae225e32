// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/function.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "tern/ffi/json.h"
#include "tern/graph/op.h"
#include "tern/graph/text.h"
#include "tern/ir/lexer.h"
#include "tern/ir/structural.h"
#include "tern/tir/function_kind.h"

namespace tern::graph {
namespace {

std::string Name(const Value& value) { return value ? value->name : "_"; }

std::string Names(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values) text += (text.empty() ? "" : ", ") + Name(value);
  return text;
}

std::string TypedNames(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values)
    text += (text.empty() ? "" : ", ") + value->name + ": " + value->type.str();
  return text;
}

std::string AttrsText(const ir::Attrs& attrs) {
  std::string text;
  for (const auto& [name, value] : attrs)
    text += (text.empty() ? "" : ", ") + name + " = " + ffi::WriteJson(value);
  return "{" + text + "}";
}

// Where a name of the function is defined, and what for.
class Checker {
 public:
  Checker(const FunctionNode& function, const ir::IRModule& module, ir::Diagnostics* diagnostics)
      : function_(function), module_(module), diagnostics_(*diagnostics) {}

  void Run() { CheckBody(function_); }

 private:
  void CheckBody(const FunctionNode& function) {
    for (const Value& param : function.params) {
      Define(param);
      if (param->constant) Report(param->span, "parameter " + param->name + " is a constant");
    }
    for (const Node& node : function.nodes) CheckNode(node);
    for (const Value& result : function.results) CheckUse(result, function.span);
  }

  void Report(const Span& span, const std::string& message) {
    diagnostics_.Add(span ? span : function_.span, message);
  }

  void Define(const Value& value) {
    if (!names_.insert(value->name).second)
      Report(value->span, "two values have the name " + value->name);
    defined_.insert(value.get());
  }

  void CheckNode(const Node& node) {
    size_t given = node->inputs.size();
    if (given < node->op->min_inputs() || given > node->op->max_inputs())
      Report(node->span, node->str() + " has " + std::to_string(given) + " inputs");
    for (const Value& input : node->inputs)
      if (input) CheckUse(input, node->span);
    // A region reads nothing of what is around it.
    for (const ir::BaseFunc& region : node->regions) {
      std::unordered_set<const ValueNode*> outside;
      outside.swap(defined_);
      CheckBody(*AsGraph(region).get());
      outside.swap(defined_);
    }
    for (const Value& output : node->outputs) {
      Define(output);
      if (output->constant) Report(node->span, output->name + " is computed, and a constant");
    }
  }

  void CheckUse(const Value& value, const Span& span) {
    if (!value->constant) {
      if (!defined_.contains(value.get()))
        Report(span, "value " + value->name + " is not defined before it is used");
      return;
    }
    auto it = module_->constants.find(value->constant->name);
    if (it == module_->constants.end() || !it->second.same(value->constant))
      Report(span, "constant " + value->constant->name + " is none of the module");
  }

  const FunctionNode& function_;
  const ir::IRModule& module_;
  ir::Diagnostics& diagnostics_;
  std::unordered_set<const ValueNode*> defined_;
  std::unordered_set<std::string> names_;
};

// Goes through two functions at once. Values count by where they are defined.
class Comparer : public ir::StructuralComparer {
 public:
  bool EqualFunctions(const FunctionNode& a, const FunctionNode& b) {
    if (a.name != b.name || a.nodes.size() != b.nodes.size() || !SameAttrs(a.attrs, b.attrs) ||
        !DefineAll(a.params, b.params))
      return false;
    return EqualBodies(a, b);
  }

 private:
  bool EqualBodies(const FunctionNode& a, const FunctionNode& b) {
    for (size_t i = 0; i < a.nodes.size(); ++i)
      if (!EqualNodes(*a.nodes[i], *b.nodes[i])) return false;
    return SameUses(a.results, b.results);
  }

  static bool SameAttrs(const ir::Attrs& a, const ir::Attrs& b) {
    return AttrsText(a) == AttrsText(b);
  }

  bool EqualNodes(const NodeNode& a, const NodeNode& b) {
    if (a.op != b.op || !SameAttrs(a.attrs, b.attrs) || !SameUses(a.inputs, b.inputs) ||
        a.regions.size() != b.regions.size() || a.dims.size() != b.dims.size())
      return false;
    for (size_t i = 0; i < a.dims.size(); ++i)
      if (dims_.emplace(a.dims[i].node(), b.dims[i].node()).second) Define(a.dims[i], b.dims[i]);
    for (size_t i = 0; i < a.regions.size(); ++i)
      if (!EqualFunctions(*AsGraph(a.regions[i]).get(), *AsGraph(b.regions[i]).get())) return false;
    return DefineAll(a.outputs, b.outputs);
  }

  bool DefineAll(const std::vector<Value>& a, const std::vector<Value>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!SameTypes(a[i]->type, b[i]->type)) return false;
      same_[a[i].get()] = b[i].get();
    }
    return true;
  }

  bool SameTypes(const TensorType& a, const TensorType& b) {
    if (a.dtype != b.dtype || a.rank() != b.rank()) return false;
    for (size_t i = 0; i < a.rank(); ++i) {
      const auto *x = a.shape[i].As<ir::VarNode>(), *y = b.shape[i].As<ir::VarNode>();
      if (x && y && dims_.emplace(x, y).second) Define(Var(x), Var(y));
      if (!Equal(a.shape[i], b.shape[i])) return false;
    }
    return true;
  }

  bool SameUses(const std::vector<Value>& a, const std::vector<Value>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Value& x, const Value& y) {
      if (!x || !y) return !x && !y;
      if (x->constant || y->constant)
        return x->constant && y->constant && StructuralEqual(x->constant, y->constant);
      auto it = same_.find(x.get());
      return it != same_.end() && it->second == y.get();
    });
  }

  std::unordered_map<const ValueNode*, const ValueNode*> same_;
  std::map<const ir::VarNode*, const ir::VarNode*> dims_;
};

class Hasher : public ir::StructuralHasher {
 public:
  uint64_t Of(const FunctionNode& function) {
    AddFunction(function);
    return hash();
  }

 private:
  void AddFunction(const FunctionNode& function) {
    AddField(function.name);
    AddField(AttrsText(function.attrs));
    DefineAll(function.params);
    for (const Node& node : function.nodes) {
      AddField(node->op->name);
      AddField(AttrsText(node->attrs));
      AddUses(node->inputs);
      for (const Var& dim : node->dims)
        if (dims_.insert(dim.node()).second) Define(dim);
      for (const ir::BaseFunc& region : node->regions) AddFunction(*AsGraph(region).get());
      DefineAll(node->outputs);
    }
    AddUses(function.results);
  }

  void DefineAll(const std::vector<Value>& values) {
    for (const Value& value : values) {
      numbers_.emplace(value.get(), numbers_.size());
      AddField(value->type.dtype);
      AddNumber(value->type.rank());
      for (const Expr& extent : value->type.shape) {
        if (const auto* var = extent.As<ir::VarNode>(); var && dims_.insert(var).second)
          Define(Var(var));
        Add(extent);
      }
    }
  }
  void AddUses(const std::vector<Value>& values) {
    AddNumber(values.size());
    for (const Value& value : values) {
      if (!value)
        AddField(std::string_view("absent"));
      else if (value->constant)
        AddField(value->constant->name);
      else
        AddNumber(numbers_[value.get()]);
    }
  }

  std::unordered_map<const ValueNode*, size_t> numbers_;
  std::unordered_set<const ir::VarNode*> dims_;
};

std::string NameOf(const ir::Attrs& attrs, const char* key, size_t i, const Value& value) {
  auto it = attrs.find(key);
  if (it == attrs.end()) return value->name;
  auto names = it->second.As<ffi::Array>();
  return i < names->size() ? (*names)[i].As<std::string>() : value->name;
}

}  // namespace

std::string TensorType::str() const { return dtype.str() + ShapeText(shape); }

std::string NodeNode::str() const {
  if (!label.empty()) return op->name + " '" + label + "'";
  return outputs.empty() ? op->name : op->name + " (" + outputs[0]->name + ")";
}

namespace {

std::string PrintBody(const FunctionNode& function, const std::string& indent) {
  std::string text = "{\n", inner = indent + "  ";
  for (const Node& node : function.nodes) {
    text += inner + TypedNames(node->outputs) + " = " + node->op->name + "(" + Names(node->inputs) +
            ")";
    if (!node->attrs.empty()) text += " " + AttrsText(node->attrs);
    if (!node->label.empty()) text += " at " + ir::QuoteString(node->label);
    if (!node->dims.empty())
      text += " dims " + ShapeText(std::vector<Expr>(node->dims.begin(), node->dims.end()));
    for (const ir::BaseFunc& region : node->regions) {
      const FunctionNode& graph = *AsGraph(region).get();
      text += " " + graph.name + " (" + TypedNames(graph.params) + ") " + PrintBody(graph, inner);
    }
    text += "\n";
  }
  return text + inner + "return " + Names(function.results) + "\n" + indent + "}";
}

}  // namespace

std::string PrintGraph(const Function& function) {
  std::string text = "graph " + function->name + "(" + TypedNames(function->params) + ")";
  if (!function->attrs.empty()) text += " attrs " + AttrsText(function->attrs);
  return text + " " + PrintBody(*function.get(), "") + "\n";
}

void VerifyGraph(const Function& function, const ir::IRModule& module,
                 ir::Diagnostics* diagnostics) {
  Checker(*function.get(), module, diagnostics).Run();
}

void RegisterGraphFunctions() {
  tir::FunctionKind kind;
  kind.type_index = FunctionNode::TypeIndex();
  kind.description = "a graph";
  kind.keyword = "graph";
  kind.parse = [](tir::ExprParser& parser) -> ir::BaseFunc { return ParseGraph(parser); };
  kind.print = [](const ir::BaseFunc& function) { return PrintGraph(AsGraph(function)); };
  kind.verify = [](const ir::BaseFunc& function, const ir::IRModule& module,
                   ir::Diagnostics* diagnostics) {
    VerifyGraph(AsGraph(function), module, diagnostics);
  };
  kind.equal = [](const ir::BaseFunc& a, const ir::BaseFunc& b) {
    return Comparer().EqualFunctions(*AsGraph(a).get(), *AsGraph(b).get());
  };
  kind.hash = [](const ir::BaseFunc& function) { return Hasher().Of(*AsGraph(function).get()); };
  tir::RegisterFunctionKind(std::move(kind));
}

Function Function::Make(std::string name, std::vector<Value> params, std::vector<Node> nodes,
                        std::vector<Value> results, ir::Attrs attrs, Span span) {
  auto node = ffi::Make<FunctionNode>();
  node->name = std::move(name);
  node->params = std::move(params);
  node->nodes = std::move(nodes);
  node->results = std::move(results);
  node->attrs = std::move(attrs);
  node->span = std::move(span);
  return Function(node);
}

std::string Function::InputName(size_t i) const {
  return NameOf(get()->attrs, attr::kInputNames, i, get()->params[i]);
}

std::string Function::OutputName(size_t i) const {
  return NameOf(get()->attrs, attr::kOutputNames, i, get()->results[i]);
}

Function AsGraph(const ir::BaseFunc& function) {
  if (function->type_index() != FunctionNode::TypeIndex()) return {};
  return Function(ffi::Ref<const FunctionNode>(static_cast<const FunctionNode*>(function.get())));
}

void ForEachNode(const Function& function, const std::function<void(const Node&)>& f) {
  for (const Node& node : function->nodes) {
    for (const ir::BaseFunc& region : node->regions) ForEachNode(AsGraph(region), f);
    f(node);
  }
}

namespace {

template <class F>
void ForEachConstant(const Function& function, const F& f) {
  auto visit = [&](const std::vector<Value>& values) {
    for (const Value& value : values)
      if (value && value->constant) f(value);
  };
  ForEachNode(function, [&](const Node& node) {
    visit(node->inputs);
    for (const ir::BaseFunc& region : node->regions) visit(AsGraph(region)->results);
  });
  visit(function->results);
}

using Renamed = std::map<const ValueNode*, Value>;

std::vector<Value> Replace(std::vector<Value> values, const Renamed& renamed) {
  for (Value& value : values)
    if (auto it = renamed.find(value.get()); it != renamed.end()) value = it->second;
  return values;
}

Function Replace(const Function& function, const Renamed& renamed) {
  std::vector<Node> nodes;
  for (const Node& node : function->nodes) {
    auto copy = ffi::Make<NodeNode>(*node);
    copy->inputs = Replace(node->inputs, renamed);
    for (ir::BaseFunc& region : copy->regions) region = Replace(AsGraph(region), renamed);
    nodes.emplace_back(copy);
  }
  return Function::Make(function->name, function->params, std::move(nodes),
                        Replace(function->results, renamed), function->attrs, function->span);
}

// The function with other names for constants of its own that have the name of another one.
Function WithFreeNames(const Function& function, const std::map<std::string, ir::Constant>& taken) {
  Renamed renamed;
  std::set<std::string> names;
  for (const auto& [name, constant] : taken) names.insert(name);
  auto insert_param = [&](const Value& param) {
    names.insert(param->name);
    for (const Expr& extent : param->type.shape)
      if (const auto* var = extent.As<ir::VarNode>()) names.insert(var->name);
  };
  for (const Value& param : function->params) insert_param(param);
  ForEachConstant(function, [&](const Value& value) { names.insert(value->constant->name); });
  ForEachNode(function, [&](const Node& node) {
    for (const Var& dim : node->dims) names.insert(dim.name());
    for (const Value& output : node->outputs) names.insert(output->name);
    for (const ir::BaseFunc& region : node->regions)
      for (const Value& param : AsGraph(region)->params) insert_param(param);
  });
  ForEachConstant(function, [&](const Value& value) {
    auto it = taken.find(value->constant->name);
    if (it == taken.end() || it->second.same(value->constant) || renamed.contains(value.get()))
      return;
    auto constant = ffi::Make<ir::ConstantNode>(*value->constant);
    for (int i = 1; !names.insert(constant->name).second; ++i)
      constant->name = value->constant->name + "_" + std::to_string(i);
    auto copy = ffi::Make<ValueNode>(*value);
    copy->name = constant->name;
    copy->constant = ir::Constant(constant);
    renamed[value.get()] = copy;
  });
  return renamed.empty() ? function : Replace(function, renamed);
}

}  // namespace

ir::IRModule WithGraph(const ir::IRModule& module, const Function& function) {
  std::vector<ir::BaseFunc> functions;
  std::map<std::string, ir::Constant> constants;
  auto add = [&](const Value& value) { constants[value->constant->name] = value->constant; };
  for (const auto& [name, other] : module->functions) {
    if (name == function->name) continue;
    functions.push_back(other);
    if (Function graph = AsGraph(other)) ForEachConstant(graph, add);
  }
  Function renamed = WithFreeNames(function, constants);
  ForEachConstant(renamed, add);
  functions.emplace_back(renamed);
  std::vector<ir::Constant> all;
  for (const auto& [name, constant] : constants) all.push_back(constant);
  return ir::IRModule::Make(functions, all);
}

ir::IRModule MapGraphs(const ir::IRModule& module,
                       const std::function<Function(const Function&)>& f) {
  ir::IRModule result = module;
  for (const auto& [name, function] : module->functions)
    if (Function graph = AsGraph(function))
      result = WithContext("in graph " + name, [&] { return WithGraph(result, f(graph)); });
  return result;
}

}  // namespace tern::graph
