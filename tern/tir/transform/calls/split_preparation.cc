// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/calls/split_preparation.h"

#include <algorithm>
#include <set>

#include "tern/ffi/containers.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/preparation.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/schedule_steps.h"
#include "tern/tir/transform/calls/outline.h"

namespace tern::tir {
namespace {

using Buffers = std::unordered_set<const BufferNode*>;

// Without some statements and allocations; null where nothing is left.
Stmt Without(const Stmt& stmt, const std::unordered_set<const StmtNode*>& stmts,
             const Buffers& buffers) {
  if (stmts.count(stmt.get())) return {};
  if (const auto* seq = stmt.As<SeqNode>()) {
    std::vector<Stmt> left;
    for (const Stmt& part : seq->stmts)
      if (Stmt kept = Without(part, stmts, buffers)) left.push_back(kept);
    return left.empty() ? Stmt() : SeqNode::Make(std::move(left), seq->span);
  }
  if (const auto* alloc = stmt.As<AllocateNode>()) {
    Stmt body = Without(alloc->body, stmts, buffers);
    if (!body || buffers.count(alloc->buffer.get())) return body;
    return AllocateNode::Make(alloc->buffer, body, alloc->span);
  }
  if (const auto* let = stmt.As<LetStmtNode>()) {
    Stmt body = Without(let->body, stmts, buffers);
    return body ? LetStmtNode::Make(let->var, let->value, body, let->span) : body;
  }
  if (const auto* decl = stmt.As<DeclBufferNode>()) {
    Stmt body = Without(decl->body, stmts, buffers);
    return body ? DeclBufferNode::Make(decl->buffer, body, decl->span) : body;
  }
  return stmt;
}

// Variables that a tensor among the parameters defines.
std::vector<const VarNode*> DefinedBy(const Buffer& buffer) {
  std::vector<const VarNode*> vars;
  for (const auto* exprs : {&buffer->shape, &buffer->strides})
    for (const Expr& expr : *exprs)
      if (const auto* var = expr.As<VarNode>()) vars.push_back(var);
  return vars;
}

// A function of parameters and variables of its own.
class Copier : public StmtMutator {
 public:
  using Names = std::unordered_map<const BufferNode*, std::string>;
  // Some of the tensors are called otherwise.
  explicit Copier(const Names& names) : names_(names) {}

  PrimFunc Copy(const PrimFunc& function) {
    std::vector<Param> params;
    for (const Param& param : function->params) Rename(param);
    for (const Param& param : function->params)
      params.push_back(param.is_tensor() ? CopyTensor(param.buffer)
                                         : Param{Renamed(param.var), {}});
    Stmt body = CopyWithFreshDefs(Mutate(function->body));
    return PrimFunc::Make(function->name, std::move(params), std::move(body), function->attrs,
                          function->span);
  }

 private:
  using StmtMutator::MutateNode;

  void Rename(const Param& param) {
    Renamed(param.var);
    if (!param.is_tensor()) return;
    for (const VarNode* var : DefinedBy(param.buffer)) Renamed(Var(var));
  }
  Var Renamed(const Var& var) {
    auto [it, fresh] = vars_.emplace(var.node(), var);
    if (fresh) it->second = Var(var.name(), var.dtype(), var.span());
    return it->second;
  }
  Param CopyTensor(const Buffer& buffer) {
    auto copy = ffi::Make<BufferNode>(*MutateDef(BufferDef(buffer)));
    copy->scope = StorageScope::kGlobal;
    if (auto it = names_.find(buffer.get()); it != names_.end()) copy->name = it->second;
    new_buffers_[buffer.get()] = Buffer(copy.get());
    return {copy->data, Buffer(copy.get())};
  }
  Expr MutateNode(const VarNode* node, const Expr& self) override {
    auto it = vars_.find(node);
    return it == vars_.end() ? self : Expr(it->second);
  }

  const Names& names_;
  std::unordered_map<const VarNode*, Var> vars_;
};

class Splitter {
 public:
  explicit Splitter(const PrimFunc& function) : function_(function), preparation_(function) {
    for (const Stmt& stmt : preparation_.stmts()) moved_.insert(stmt.get());
    Buffers made;
    for (const Buffer& buffer : preparation_.made()) made.insert(buffer.get());
    rest_ = Without(function->body, moved_, made);
    if (!rest_) return;
    rest_uses_.Visit(rest_);
    for (const Buffer& buffer : preparation_.made())
      if (Uses(rest_uses_, buffer)) shared_.push_back(buffer);
    NameShared();
  }

  bool has_parts() const { return !shared_.empty(); }

  PrimFunc Prepare() const {
    Stmt body = SeqNode::Make(preparation_.stmts());
    CaptureScan uses;
    uses.Visit(body);
    for (const Buffer& buffer : preparation_.made())
      if (!IsShared(buffer)) body = AllocateNode::Make(buffer, body);
    std::vector<Param> params;
    std::unordered_set<const VarNode*> needed = NeededVars(uses);
    for (const Param& param : function_->params)
      if (IsConstant(param) && (Uses(uses, param.buffer) || DefinesAny(param, needed)))
        params.push_back(param);
    AddShared(&params);
    return Part(PrepareName(function_->name), params, body);
  }

  PrimFunc Rest() const {
    std::vector<Param> params;
    bool placed = false;
    std::unordered_set<const VarNode*> needed = NeededVars(rest_uses_);
    for (const Param& param : function_->params) {
      // A constant that is not read any more, and not needed for its extents, is no parameter.
      if (!IsConstant(param) || Uses(rest_uses_, param.buffer) || DefinesAny(param, needed)) {
        params.push_back(param);
      } else if (!placed) {
        AddShared(&params);
        placed = true;
      }
    }
    if (!placed) AddShared(&params);
    return Part(PreparedName(function_->name), params, rest_);
  }

 private:
  static bool Uses(const CaptureScan& scan, const Buffer& buffer) {
    return std::any_of(scan.buffers.begin(), scan.buffers.end(),
                       [&](const Buffer& used) { return used->data.same(buffer->data); });
  }
  bool IsShared(const Buffer& buffer) const {
    return std::any_of(shared_.begin(), shared_.end(),
                       [&](const Buffer& shared) { return shared.same(buffer); });
  }
  void AddShared(std::vector<Param>* params) const {
    for (const Buffer& shared : shared_) params->push_back({shared->data, shared});
  }
  // As no other parameter is called.
  void NameShared() {
    std::set<std::string> taken;
    for (const Param& param : function_->params) taken.insert(param.name());
    for (const Buffer& shared : shared_) {
      std::string name = shared->name;
      for (int i = 1; !taken.insert(name).second; ++i)
        name = shared->name + "_" + std::to_string(i);
      names_[shared.get()] = name;
    }
  }

  // Variables of extents that a part uses, but for those that tensors define which it uses too.
  std::unordered_set<const VarNode*> NeededVars(const CaptureScan& uses) const {
    std::unordered_set<const VarNode*> needed;
    for (const Var& var : uses.scalars) needed.insert(var.node());
    auto drop = [&](const Buffer& buffer) {
      for (const VarNode* var : DefinedBy(buffer)) needed.erase(var);
    };
    for (const Param& param : function_->params) {
      needed.erase(param.var.node());
      if (param.is_tensor() && Uses(uses, param.buffer)) drop(param.buffer);
    }
    for (const Buffer& shared : shared_) drop(shared);
    return needed;
  }
  static bool DefinesAny(const Param& param, const std::unordered_set<const VarNode*>& vars) {
    std::vector<const VarNode*> defined = DefinedBy(param.buffer);
    return std::any_of(defined.begin(), defined.end(),
                       [&](const VarNode* var) { return vars.count(var) > 0; });
  }
  bool IsConstant(const Param& param) const {
    return param.is_tensor() && preparation_.IsConstant(param.buffer);
  }

  PrimFunc Part(const std::string& name, std::vector<Param> params, const Stmt& body) const {
    ir::Attrs attrs = function_->attrs;
    attrs.erase(attr::kConstants);
    attrs.erase(attr::kScheduleFor);
    attrs[attr::kSchedule] = MakeScheduleSteps({});
    PrimFunc part = PrimFunc::Make(name, std::move(params), body, attrs, function_->span);
    return Copier(names_).Copy(part);
  }

  const PrimFunc& function_;
  Preparation preparation_;
  std::unordered_set<const StmtNode*> moved_;
  Stmt rest_;
  CaptureScan rest_uses_;
  std::vector<Buffer> shared_;  // made by the first part for the second
  Copier::Names names_;         // of what is shared
};

bool IsForDevice(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  return it != function->attrs.end() && it->second.As<target::Target>()->is_device();
}

PrimFunc WithoutConstants(const PrimFunc& function) {
  auto copy = ffi::Make<PrimFuncNode>(*function);
  copy->attrs.erase(attr::kConstants);
  return PrimFunc(copy);
}

}  // namespace

std::string PrepareName(const std::string& function) { return function + "_prepare"; }
std::string PreparedName(const std::string& function) { return function + "_prepared"; }

ir::IRModule SplitPreparation(const ir::IRModule& module) {
  return OutlineFunctions(module, [](const PrimFunc& function, std::vector<ir::BaseFunc>* parts) {
    if (!function->attrs.count(attr::kConstants) || IsForDevice(function)) return function;
    PrimFunc whole = WithoutConstants(function);
    Splitter splitter(function);
    if (!splitter.has_parts()) return whole;
    parts->push_back(splitter.Prepare());
    parts->push_back(splitter.Rest());
    return whole.WithAttr(attr::kPrepare, PrepareName(function->name))
        .WithAttr(attr::kPrepared, PreparedName(function->name));
  });
}

}  // namespace tern::tir
