// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>

#include "tern/ffi/text.h"
#include "tern/graph/builder.h"
#include "tern/graph/dim_ranges.h"
#include "tern/graph/text.h"
#include "tern/ir/structural.h"

namespace tern::graph {
namespace {

using Token = ir::Token;

class GraphParser {
 public:
  explicit GraphParser(tir::ExprParser& parser) : parser_(parser) {}

  Function Run() {
    tir::ExprParser::Scope scope(&parser_);
    Span span = parser_.Peek().span;
    parser_.Expect("graph");
    Builder builder(parser_.ExpectNewName("a graph's name"));
    builder_ = &builder;
    // Names of constants are taken, whether or not they are read.
    for (const auto& [name, constant] : parser_.constants())
      values_[name] = builder.Constant(constant);
    parser_.Expect("(");
    std::vector<Value> params;
    parser_.CommaList(")", [&] { params.push_back(ParseParam()); });
    ir::Attrs attrs;
    if (parser_.Accept("attrs")) attrs = ParseAttrs();
    std::optional<ScopedDimRanges> ranges;
    parser_.Located(span, [&] { ranges.emplace(params, attrs); });
    std::vector<Value> results = ParseBody();
    return builder.Finish(std::move(results), std::move(attrs), span);
  }

 private:
  std::vector<Value> ParseBody() {
    parser_.Expect("{");
    while (!parser_.Is("return")) ParseNode();
    parser_.Expect("return");
    std::vector<Value> results;
    if (parser_.Accept("}")) return results;  // of one that tells the inputs of versions
    do results.push_back(ParseUse());
    while (parser_.Accept(","));
    parser_.Expect("}");
    return results;
  }

  // `then (a: float32[4]) { ... }`, of a node with these inputs and dims. What is around it is not
  // in scope but constants and extents.
  Function ParseRegion(const Op& op, const std::vector<Value>& inputs,
                       const std::vector<ir::Var>& dims) {
    tir::ExprParser::Scope scope(&parser_);
    tir::ExprParser::DepthGuard depth(&parser_);
    Builder region(parser_.ExpectIdent("a region's name"), *builder_), *outer = builder_;
    std::map<std::string, Value> outside;
    for (const auto& [name, value] : values_)
      if (value->constant) outside.emplace(name, value);
    outside.swap(values_);
    builder_ = &region;
    bool is_loop = op.control == Control::kLoop;
    std::vector<Value> params;
    parser_.Expect("(");
    parser_.CommaList(")", [&] {
      size_t i = params.size(), input = is_loop ? i : i + 1;
      std::optional<Content> content;
      if (is_loop && i == 0 && !dims.empty()) content = Content{dims[0]};
      if (is_loop && i == 1) content = Content{ir::MakeConst(DataType::Bool(), 1)};
      // What is carried changes.
      if (op.control == Control::kIf && input < inputs.size() && inputs[input])
        content = inputs[input]->content;
      params.push_back(ParseParam(std::move(content)));
    });
    std::vector<Value> results = ParseBody();
    builder_ = outer;
    outside.swap(values_);
    return region.FinishRegion(std::move(params), std::move(results));
  }

  // A name that is new, and stays as it is.
  std::string NewName(const char* what) {
    Span span = parser_.Peek().span;
    std::string name = parser_.ExpectNewName(what);
    if (values_.contains(name)) parser_.Fail(span, "two values have the name " + name);
    return name;
  }

  TensorType ParseType(bool in_params) {
    TensorType type{parser_.ParseDType(), {}};
    type.shape = parser_.ParseExtents(in_params);
    return type;
  }

  Value ParseParam(std::optional<Content> content = {}) {
    Span span = parser_.Peek().span;
    std::string name = NewName("a parameter's name");
    parser_.Expect(":");
    return values_[name] = builder_->Param(name, ParseType(true), span, std::move(content));
  }

  Value ParseUse() {
    const Token& token = parser_.Peek();
    std::string name = parser_.ExpectIdent("a value");
    auto it = values_.find(name);
    if (it != values_.end()) return it->second;
    std::vector<std::string> names;
    for (const auto& [known, value] : values_) names.push_back(known);
    parser_.Fail(token.span, "unknown value '" + name + "'" + ffi::DidYouMean(name, names));
  }

  ir::Attrs ParseAttrs() {
    ir::Attrs attrs;
    parser_.Expect("{");
    parser_.CommaList("}", [&] {
      std::string name = parser_.ExpectIdent("an attribute's name");
      parser_.Expect("=");
      attrs[name] = parser_.ParseAttrValue();
    });
    return attrs;
  }

  struct Output {
    std::string name;
    std::optional<TensorType> type;
    Span span;
  };

  void ParseNode() {
    std::vector<Output> outputs;
    do {
      Output& output = outputs.emplace_back();
      output.span = parser_.Peek().span;
      output.name = NewName("a value's name, or return");
      // The node may define extents.
      if (parser_.Accept(":")) output.type = ParseType(true);
    } while (parser_.Accept(","));
    parser_.Expect("=");
    Span span = parser_.Peek().span;
    std::string op_name = parser_.ExpectIdent("an operator");
    const Op* op = parser_.Located(span, [&] { return &GetOp(op_name); });
    std::vector<Value> inputs;
    parser_.Expect("(");
    parser_.CommaList(")", [&] { inputs.push_back(parser_.Accept("_") ? Value() : ParseUse()); });
    ir::Attrs attrs;
    if (parser_.Is("{")) attrs = ParseAttrs();
    Builder::Options options;
    options.span = span;
    if (parser_.Accept("at")) options.label = parser_.ExpectString("a label");
    if (parser_.Accept("dims"))
      for (const Expr& dim : parser_.ParseExtents(true)) {
        const auto* var = dim.As<ir::VarNode>();
        if (!var) parser_.Fail(span, "dims are names");
        options.dims.emplace_back(var);
      }
    if (op->control != Control::kNone)
      while (parser_.Is("then") || parser_.Is("else") || parser_.Is("body"))
        options.regions.emplace_back(ParseRegion(*op, inputs, options.dims));
    for (const Output& output : outputs) options.names.push_back(output.name);
    size_t before = builder_->nodes().size();
    std::vector<Value> values = parser_.Located(
        span, [&] { return builder_->Add(*op, std::move(inputs), std::move(attrs), options); });
    for (size_t i = before; i < builder_->nodes().size(); ++i)
      for (const ir::Var& dim : builder_->nodes()[i]->dims) parser_.Define(dim.name(), {dim, {}});
    if (values.size() != outputs.size())
      parser_.Fail(span, op_name + " has " + std::to_string(values.size()) + " results, not " +
                             std::to_string(outputs.size()));
    for (size_t i = 0; i < outputs.size(); ++i) {
      CheckType(outputs[i], values[i]);
      values_[outputs[i].name] = values[i];
    }
  }

  void CheckType(const Output& output, const Value& value) {
    if (!output.type) return;
    bool same =
        output.type->dtype == value->type.dtype && output.type->rank() == value->type.rank();
    for (size_t i = 0; same && i < value->type.rank(); ++i)
      same = SameExtent(output.type->shape[i], value->type.shape[i]);
    if (!same)
      parser_.Fail(output.span,
                   output.name + " is " + value->type.str() + ", not " + output.type->str());
  }

  tir::ExprParser& parser_;
  Builder* builder_ = nullptr;
  std::map<std::string, Value> values_;
};

}  // namespace

Function ParseGraph(tir::ExprParser& parser) { return GraphParser(parser).Run(); }

}  // namespace tern::graph
