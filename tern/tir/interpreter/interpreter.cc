// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/interpreter.h"

#include <memory>
#include <unordered_map>

#include "tern/ffi/text.h"
#include "tern/ir/visitor.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/function.h"
#include "tern/tir/interpreter/value.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// A buffer as it stands at run time: extents and strides are numbers.
struct Memory {
  char* data = nullptr;
  std::vector<int64_t> shape, strides;
};

class Interpreter {
 public:
  explicit Interpreter(const ir::IRModule& module) : module_(module) {}

  void Call(const std::string& name, const std::vector<ffi::Any>& args) {
    auto it = module_->functions.find(name);
    TERN_CHECK(it != module_->functions.end()) << "the module has no function " << name;
    PrimFunc function = AsPrimFunc(it->second);
    const std::vector<Param>& params = function->params;
    TERN_CHECK(args.size() == params.size())
        << name << ": expected " << params.size() << " arguments, got " << args.size();
    for (size_t i = 0; i < params.size(); ++i)
      if (!params[i].is_tensor())
        vars_[params[i].var.node()] = ScalarArgument(name, i, params[i], args[i]);
    for (size_t i = 0; i < params.size(); ++i)
      if (params[i].is_tensor()) BindExtents(name, i, params[i], args[i]);
    for (size_t i = 0; i < params.size(); ++i)
      if (params[i].is_tensor()) BindTensor(name, i, params[i], args[i].As<runtime::Tensor>());
    Run(function->body);
  }

 private:
  // ---- arguments

  static std::string ArgumentText(const std::string& function, size_t i, const Param& param) {
    return function + ": argument " + std::to_string(i) + " (" + param.name() + "): ";
  }

  static Value ScalarArgument(const std::string& function, size_t i, const Param& param,
                              const ffi::Any& arg) {
    DataType dtype = param.var.dtype();
    bool fits = dtype.is_handle()  ? arg.TryAs<void*>().has_value()
                : dtype.is_float() ? arg.TryAs<double>().has_value()
                                   : arg.TryAs<int64_t>().has_value();
    TERN_CHECK(fits) << ArgumentText(function, i, param) << "expected " << dtype.str() << ", got "
                     << ffi::Describe(arg.raw());
    if (dtype.is_handle()) return Value::Handle(arg.As<void*>());
    Value value(dtype);
    Lane given{};
    if (dtype.is_float())
      given.f = arg.As<double>();
    else
      given.i = arg.As<int64_t>();
    value[0] = CastLane(dtype.is_float() ? DataType::Float(64) : DataType::Int(64), dtype, given);
    return value;
  }

  // Extents that are free variables get their values here: whatever tensor uses them may come
  // first.
  void BindExtents(const std::string& function, size_t i, const Param& param, const ffi::Any& arg) {
    auto tensor = arg.TryAs<runtime::Tensor>();
    const BufferNode* buffer = param.buffer.get();
    bool fits = tensor && (*tensor)->dtype() == buffer->dtype &&
                (*tensor)->shape().size() == buffer->shape.size();
    TERN_CHECK(fits) << ArgumentText(function, i, param) << "expected " << buffer->dtype.str()
                     << " tensor of rank " << buffer->shape.size() << ", got "
                     << ffi::Describe(arg.raw());
    for (size_t d = 0; d < buffer->shape.size(); ++d)
      if (const auto* var = buffer->shape[d].As<VarNode>(); var && !vars_.count(var))
        vars_[var] = Value::Int(var->dtype, (*tensor)->shape()[d]);
  }

  // Every extent has the value that it should.
  void BindTensor(const std::string& function, size_t i, const Param& param,
                  const runtime::Tensor& tensor) {
    const BufferNode* buffer = param.buffer.get();
    const std::vector<int64_t>& shape = tensor->shape();
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t expected = EvalInt(buffer->shape[d]);
      TERN_CHECK(shape[d] == expected)
          << ArgumentText(function, i, param) << "expected extent " << d << " to be " << expected
          << ", got shape " << ffi::ShapeText(shape);
    }
    TERN_CHECK(buffer->strides.empty())
        << ArgumentText(function, i, param) << "the interpreter takes no strided parameters";
    vars_[buffer->data.node()] = Value::Handle(tensor->data());
    Define(buffer);
  }

  // ---- memory

  // Fixes the extents of a buffer whose address is known.
  void Define(const BufferNode* buffer) {
    Memory memory;
    memory.data = static_cast<char*>(vars_.at(buffer->data.node()).p());
    for (const Expr& extent : buffer->shape) memory.shape.push_back(EvalInt(extent));
    for (const Expr& stride : buffer->strides) memory.strides.push_back(EvalInt(stride));
    if (memory.strides.empty()) {
      memory.strides.assign(memory.shape.size(), 1);
      for (size_t d = memory.shape.size(); d-- > 1;)
        memory.strides[d - 1] = memory.strides[d] * memory.shape[d];
    }
    memories_[buffer] = std::move(memory);
  }

  // Calls `access` with the address of every lane.
  template <class F>
  void Access(const Buffer& buffer, const std::vector<Expr>& indices, const Span& span,
              F&& access) {
    auto it = memories_.find(buffer.get());
    TERN_CHECK(it != memories_.end())
        << span.str() << ": buffer " << buffer->name << " is not in scope";
    const Memory& memory = it->second;
    int lanes = indices.empty() ? 1 : indices.back().dtype().lanes();
    std::vector<Value> values;
    for (const Expr& index : indices) values.push_back(Eval(index));
    for (int lane = 0; lane < lanes; ++lane) {
      int64_t offset = 0;
      for (size_t d = 0; d < values.size(); ++d) {
        int64_t index = values[d][lane].i;
        if (index < 0 || index >= memory.shape[d])
          TERN_THROW(IndexError) << span.str() << ": index " << index
                                 << " is out of bounds in dimension " << d << " of " << buffer->name
                                 << ", whose shape is " << ffi::ShapeText(memory.shape);
        offset += index * memory.strides[d];
      }
      access(lane, memory.data + offset * buffer->dtype.bytes());
    }
  }

  // ---- expressions

  int64_t EvalInt(const Expr& expr) { return Eval(expr).i(); }

  Value Eval(const Expr& expr) {
    return ir::DispatchExpr(expr.get(), [this](auto* node) { return EvalNode(node); });
  }

  Value EvalNode(const ir::IntImmNode* node) { return Value::Int(node->dtype, node->value); }
  Value EvalNode(const ir::FloatImmNode* node) { return Value::Float(node->dtype, node->value); }
  Value EvalNode(const ir::StringImmNode* node) {
    return Value::Handle(const_cast<char*>(node->value.c_str()));
  }
  Value EvalNode(const VarNode* node) {
    auto it = vars_.find(node);
    TERN_CHECK(it != vars_.end()) << node->span.str() << ": variable " << node->name
                                  << " has no value";
    return it->second;
  }

  template <NodeKind K>
  Value EvalNode(const ir::BinaryNode<K>* node) {
    Value a = Eval(node->a);
    // The right side of && and || counts only where the left one leaves the answer open.
    if constexpr (K == NodeKind::kAnd || K == NodeKind::kOr)
      if (node->dtype.is_scalar() && a.i() == (K == NodeKind::kOr)) return a;
    Value b = Eval(node->b), out(node->dtype);
    try {
      for (int lane = 0; lane < out.lanes(); ++lane)
        out[lane] = BinaryLane(K, a.dtype, a[lane], b[lane]);
    } catch (const Error& error) {
      TERN_THROW(ValueError) << node->span.str() << ": " << error.message();
    }
    return out;
  }

  Value EvalNode(const ir::NotNode* node) {
    Value out = Eval(node->a);
    for (int lane = 0; lane < out.lanes(); ++lane) out[lane].i = !out[lane].i;
    return out;
  }
  Value EvalNode(const ir::SelectNode* node) {
    Value condition = Eval(node->condition);
    if (condition.lanes() == 1) return Eval(condition.i() ? node->true_value : node->false_value);
    Value yes = Eval(node->true_value), no = Eval(node->false_value), out(node->dtype);
    for (int lane = 0; lane < out.lanes(); ++lane)
      out[lane] = condition[lane].i ? yes[lane] : no[lane];
    return out;
  }
  Value EvalNode(const ir::CastNode* node) {
    Value value = Eval(node->value), out(node->dtype);
    try {
      for (int lane = 0; lane < out.lanes(); ++lane)
        out[lane] = CastLane(value.dtype, out.dtype, value[lane]);
    } catch (const Error& error) {
      TERN_THROW(ValueError) << node->span.str() << ": " << error.message();
    }
    return out;
  }
  Value EvalNode(const ir::RampNode* node) {
    int64_t base = EvalInt(node->base), stride = EvalInt(node->stride);
    Value out(node->dtype);
    for (int lane = 0; lane < out.lanes(); ++lane) out[lane].i = base + lane * stride;
    return out;
  }
  Value EvalNode(const ir::BroadcastNode* node) {
    Value value = Eval(node->value), out(node->dtype);
    for (int lane = 0; lane < out.lanes(); ++lane) out[lane] = value[0];
    return out;
  }
  Value EvalNode(const ir::LetNode* node) {
    vars_[node->var.node()] = Eval(node->value);
    return Eval(node->body);
  }
  Value EvalNode(const ir::BufferLoadNode* node) {
    Value out(node->dtype);
    Access(node->buffer, node->indices, node->span,
           [&](int lane, char* memory) { out[lane] = LoadLane(node->buffer->dtype, memory); });
    return out;
  }
  Value EvalNode(const ir::CallNode* node) {
    if (node->name == "launch_kernel") return LaunchKernel(node);
    TERN_THROW(RuntimeError) << node->span.str() << ": the interpreter cannot call " << node->name;
  }

  // launch_kernel("name", arguments..., extents...): the extents are in the kernel's thread loops
  // as well.
  Value LaunchKernel(const ir::CallNode* node) {
    const auto* name = node->args[0].As<ir::StringImmNode>();
    auto it = module_->functions.find(name->value);
    TERN_CHECK(it != module_->functions.end())
        << node->span.str() << ": the module has no kernel " << name->value;
    PrimFunc kernel = AsPrimFunc(it->second);
    for (size_t i = 0; i < kernel->params.size(); ++i)
      vars_[kernel->params[i].var.node()] = Eval(node->args[i + 1]);
    for (const Param& param : kernel->params)
      if (param.is_tensor()) Define(param.buffer.get());
    Run(kernel->body);
    return Value(DataType::Int(32));
  }

  // ---- statements

  void Run(const Stmt& stmt) {
    DispatchStmt(stmt.get(), [this](auto* node) { RunNode(node); });
  }

  void RunNode(const BufferStoreNode* node) {
    Value value = Eval(node->value);
    Access(node->buffer, node->indices, node->span,
           [&](int lane, char* memory) { StoreLane(node->buffer->dtype, memory, value[lane]); });
  }
  void RunNode(const LetStmtNode* node) {
    vars_[node->var.node()] = Eval(node->value);
    Run(node->body);
  }
  void RunNode(const AllocateNode* node) {
    int64_t size = node->buffer->dtype.bytes();
    for (const Expr& extent : node->buffer->shape) size *= EvalInt(extent);
    auto memory = std::make_unique<char[]>(size);
    vars_[node->buffer->data.node()] = Value::Handle(memory.get());
    Define(node->buffer.get());
    Run(node->body);
    memories_.erase(node->buffer.get());
  }
  void RunNode(const DeclBufferNode* node) {
    Define(node->buffer.get());
    Run(node->body);
  }
  void RunNode(const ForNode* node) {
    int64_t min = EvalInt(node->min), extent = EvalInt(node->extent);
    for (int64_t i = 0; i < extent; ++i) {
      vars_[node->var.node()] = Value::Int(node->var.dtype(), min + i);
      Run(node->body);
    }
  }
  void RunNode(const WhileNode* node) {
    while (EvalInt(node->condition)) Run(node->body);
  }
  void RunNode(const IfThenElseNode* node) {
    if (EvalInt(node->condition))
      Run(node->then_case);
    else if (node->else_case)
      Run(node->else_case);
  }
  void RunNode(const SeqNode* node) {
    for (const Stmt& stmt : node->stmts) Run(stmt);
  }
  void RunNode(const AssertNode* node) {
    if (EvalInt(node->condition)) return;
    std::string message;
    for (const Expr& part : node->message) {
      const auto* text = part.As<ir::StringImmNode>();
      Value value = Eval(part);
      message += text                     ? text->value
                 : value.dtype.is_float() ? std::to_string(value[0].f)
                                          : std::to_string(value.i());
    }
    throw Error(node->error_kind, message);
  }
  void RunNode(const EvaluateNode* node) { Eval(node->value); }
  void RunNode(const BlockNode* node) {
    bool first = true;
    for (const BlockIter& iter : node->iters) {
      Value binding = Eval(iter.binding);
      int64_t extent = EvalInt(iter.extent);
      if (binding.i() < 0 || binding.i() >= extent)
        TERN_THROW(IndexError) << node->span.str() << ": axis " << iter.var.name() << " of block "
                               << node->name << " is " << binding.i() << ", outside of 0.."
                               << extent;
      if (iter.kind == IterKind::kReduce) first = first && binding.i() == 0;
      vars_[iter.var.node()] = std::move(binding);
    }
    if (node->init && first) Run(node->init);
    Run(node->body);
  }

  ir::IRModule module_;
  std::unordered_map<const VarNode*, Value> vars_;
  std::unordered_map<const BufferNode*, Memory> memories_;
};

}  // namespace

void Interpret(const ir::IRModule& module, const std::string& function,
               const std::vector<ffi::Any>& args) {
  Interpreter(module).Call(function, args);
}

}  // namespace tern::tir
