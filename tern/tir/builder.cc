// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "tern/ffi/text.h"
#include "tern/ir/structural.h"
#include "tern/tir/block_op.h"
#include "tern/tir/computation.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/text.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

bool IsName(const std::string& text) {
  auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c));
  });
}

void CheckName(const char* what, const std::string& name) {
  TERN_CHECK(IsName(name)) << what << " '" << name
                           << "': a name is letters, digits and _, and starts with no digit";
}

void CheckExtents(const std::string& name, const std::vector<Expr>& shape) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i].dtype() != DataType::Int(64))
      TERN_THROW(TypeError) << "extent " << i << " of " << name << " is " << shape[i].dtype().str()
                            << "; expected int64";
}

std::string ShapeText(const std::vector<Expr>& shape) {
  std::vector<std::string> extents;
  for (const Expr& extent : shape) extents.push_back(Print(extent));
  return "[" + ffi::Join(extents) + "]";
}

ffi::Ref<TensorNode> MakeTensor(const std::string& name, DataType dtype,
                                const std::vector<Expr>& shape) {
  CheckName("tensor", name);
  CheckExtents(name, shape);
  if (dtype.is_handle() || dtype.is_void())
    TERN_THROW(TypeError) << "tensor " << name << " cannot hold " << dtype.str();
  auto node = ffi::Make<TensorNode>();
  node->name = name;
  node->dtype = dtype;
  node->data = Var(name, DataType::Handle());
  node->shape = shape;
  return node;
}

void CheckCondition(const Expr& condition) {
  if (condition.dtype() != DataType::Bool())
    TERN_THROW(TypeError) << "the condition of Where is " << condition.dtype().str()
                          << "; expected bool";
}

double Infinity(double sign) { return sign * std::numeric_limits<double>::infinity(); }

// The largest (smallest) value of the type.
Expr Limit(DataType dtype, bool largest) {
  if (dtype.is_float()) return ir::FloatImmNode::Make(dtype, Infinity(largest ? 1 : -1));
  if (dtype.is_uint() && !largest) return ir::IntImmNode::Make(dtype, 0);
  if (dtype == DataType::UInt(64)) return ir::IntImmNode::Make(dtype, -1);
  int64_t max =
      std::numeric_limits<int64_t>::max() >> (64 - dtype.bits() - (dtype.is_uint() ? 1 : 0));
  return ir::IntImmNode::Make(dtype, largest ? max : -max - 1);
}

void CheckNumeric(const char* what, const Expr& value) {
  if (!value.dtype().is_scalar() || !(value.dtype().is_integer() || value.dtype().is_float()))
    TERN_THROW(TypeError) << what << " takes numbers, got " << value.dtype().str();
}

Reduction ArgBest(const char* what, const Expr& value, const ReduceAxis& axis, bool largest) {
  CheckNumeric(what, value);
  auto combine = [=](const std::vector<Expr>& a, const std::vector<Expr>& b) {
    Expr better = largest ? a[1] < b[1] : b[1] < a[1];
    Expr first = b[1] == a[1] && b[0] < a[0];
    Expr none = Expr(0);
    Expr take = b[0] >= none && (a[0] < none || better || first);
    return std::vector<Expr>{Select(take, b[0], a[0]), Select(take, b[1], a[1])};
  };
  return {{axis, value}, {Expr(-1), Limit(value.dtype(), !largest)}, combine, {axis}, {}};
}

void CheckAxes(const Reduction& reduction) {
  TERN_CHECK(!reduction.axes.empty()) << "a reduction needs an axis to run over, as in Sum(x, {l})";
  std::set<const VarNode*> seen;
  for (const ReduceAxis& axis : reduction.axes)
    TERN_CHECK(seen.insert(axis.node()).second)
        << "axis " << axis.name() << " is given twice to one reduction";
}

// The combination once, on variables: it is checked here, and made of loads in MakeFunction.
void SetReduction(const Reduction& reduction, Computation* computation) {
  CheckAxes(reduction);
  TERN_CHECK(reduction.identities.size() == reduction.values.size())
      << "a reduction of " << reduction.values.size() << " values has "
      << reduction.identities.size() << " identities";
  for (size_t i = 0; i < reduction.values.size(); ++i) {
    DataType dtype = reduction.values[i].dtype();
    if (reduction.identities[i].dtype() != dtype)
      TERN_THROW(TypeError) << "a reduction of " << dtype.str() << " has an identity of "
                            << reduction.identities[i].dtype().str();
    computation->so_far.emplace_back("so_far", dtype);
    computation->next.emplace_back("next", dtype);
  }
  auto exprs = [](const std::vector<Var>& vars) {
    return std::vector<Expr>(vars.begin(), vars.end());
  };
  computation->combined = reduction.combine(exprs(computation->so_far), exprs(computation->next));
  TERN_CHECK(computation->combined.size() == reduction.values.size())
      << "a reduction of " << reduction.values.size() << " values combines them into "
      << computation->combined.size();
  for (size_t i = 0; i < reduction.values.size(); ++i)
    if (computation->combined[i].dtype() != reduction.values[i].dtype())
      TERN_THROW(TypeError) << "a reduction combines values of "
                            << reduction.values[i].dtype().str() << " into "
                            << computation->combined[i].dtype().str();
  computation->reduce_axes = reduction.axes;
  computation->values = reduction.values;
  computation->identities = reduction.identities;
  computation->condition = reduction.condition;
}

void SetElement(const Element& element, Computation* computation) {
  if (const auto* reduction = std::get_if<Reduction>(&element))
    return SetReduction(*reduction, computation);
  if (const auto* guarded = std::get_if<Guarded>(&element)) {
    computation->values = {guarded->value};
    computation->condition = guarded->condition;
    computation->other = guarded->other;
    return;
  }
  computation->values = {std::get<Expr>(element)};
}

// The tensors that a computation reads, in the order of first use.
std::vector<const TensorNode*> Reads(const Computation& computation) {
  std::vector<const TensorNode*> tensors;
  auto scan = [&](const Expr& expr) {
    if (!expr) return;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      const auto* load = e.As<ir::BufferLoadNode>();
      const TensorNode* tensor = load ? AsTensor(load->buffer) : nullptr;
      if (tensor && std::find(tensors.begin(), tensors.end(), tensor) == tensors.end())
        tensors.push_back(tensor);
    });
  };
  scan(computation.condition);
  for (const Expr& value : computation.values) scan(value);
  scan(computation.other);
  for (const Expr& identity : computation.identities) scan(identity);
  for (const Expr& combined : computation.combined) scan(combined);
  for (const ReduceAxis& axis : computation.reduce_axes) scan(axis.extent());
  return tensors;
}

// Which tensor: an input by itself, a computed one by its computation and place in it.
using TensorKey = std::pair<const void*, size_t>;
TensorKey KeyOf(const TensorNode* tensor) {
  return {tensor->computation ? static_cast<const void*>(tensor->computation.get()) : tensor,
          tensor->index};
}

// Puts the buffers of a function in place of the tensors of a formula.
class TensorReplacer : public StmtMutator {
 public:
  explicit TensorReplacer(const std::map<TensorKey, Buffer>& buffers) : buffers_(buffers) {}

 private:
  Buffer MutateUse(const Buffer& buffer) override {
    const TensorNode* tensor = AsTensor(buffer);
    return tensor ? buffers_.at(KeyOf(tensor)) : buffer;
  }
  const std::map<TensorKey, Buffer>& buffers_;
};

class FunctionMaker {
 public:
  FunctionMaker(std::string name, const std::vector<Argument>& params)
      : name_(std::move(name)), params_(params) {}

  PrimFunc Run(ir::Attrs attrs) {
    CheckName("function", name_);
    std::vector<Param> params = DefineParams();
    for (const Argument& param : params_)
      if (param.tensor()) Schedule(AsTensor(param.tensor().buffer()), "");
    TERN_CHECK(!stages_.empty()) << "function " << name_
                                 << " computes nothing: none of its parameters is computed";
    Stmt body;
    for (size_t i = stages_.size(); i-- > 0;) {
      const Stage& stage = stages_[i];
      Stmt stmt = TensorReplacer(buffers_).Mutate(MakeStage(stage));
      body = body ? SeqNode::Make({stmt, body}) : stmt;
      for (size_t j = stage.outputs.size(); j-- > 0;)
        if (!stage.is_param[j]) body = AllocateNode::Make(stage.outputs[j], body);
    }
    return PrimFunc::Make(name_, std::move(params), body, std::move(attrs));
  }

 private:
  struct Stage {
    const Computation* computation;
    std::vector<Buffer> outputs;
    std::vector<bool> is_param;
  };

  // ---- parameters

  std::vector<Param> DefineParams() {
    std::vector<Param> params;
    std::set<std::string> names;
    for (const Argument& param : params_) {
      const Tensor& tensor = param.tensor();
      const std::string& name = tensor ? tensor.name() : param.var().name();
      TERN_CHECK(names.insert(name).second)
          << "function " << name_ << " has two parameters of the name " << name;
      if (tensor) {
        Buffer buffer = BufferNode::Make(name, tensor.dtype(), tensor.shape(),
                                         tensor.buffer()->strides, StorageScope::kGlobal);
        buffers_[KeyOf(AsTensor(tensor.buffer()))] = buffer;
        params.push_back({buffer->data, buffer});
      } else {
        CheckName("parameter", name);
        defined_.insert(param.var().node());
        params.push_back({param.var(), {}});
      }
    }
    ForEachExtent(params, [&](const Param&, const Expr& extent) {
      if (const auto* var = extent.As<VarNode>()) defined_.insert(var);
    });
    ForEachExtent(params, [&](const Param& param, const Expr& extent) {
      CheckDefined(extent, "the shape of " + param.name());
    });
    return params;
  }

  template <class F>
  static void ForEachExtent(const std::vector<Param>& params, const F& f) {
    for (const Param& param : params) {
      if (!param.is_tensor()) continue;
      for (const Expr& extent : param.buffer->shape) f(param, extent);
      for (const Expr& stride : param.buffer->strides) f(param, stride);
    }
  }

  void CheckDefined(const Expr& expr, const std::string& where) {
    ir::ForEachExpr(expr, [&](const Expr& e) {
      const auto* var = e.As<VarNode>();
      TERN_CHECK(!var || defined_.count(var) || bound_.count(var))
          << "variable " << var->name << ", used in " << where
          << ", is not defined: it is no parameter of " << name_
          << ", no extent that stands alone in a parameter's shape, and no axis there (a reduction "
             "names its axes, as in Sum(x, {l}))";
      if (const auto* let = e.As<ir::LetNode>()) bound_.insert(let->var.node());
    });
  }

  // ---- stages

  // Puts the computation of the tensor after those of the tensors that it reads.
  void Schedule(const TensorNode* tensor, const std::string& reader) {
    const Computation* computation = tensor->computation.get();
    if (!computation) {
      TERN_CHECK(buffers_.count(KeyOf(tensor)))
          << reader << " reads " << tensor->name << ", an input that is no parameter of " << name_
          << "; add it to the list";
      return;
    }
    if (!scheduled_.insert(computation).second) return;
    CheckComputation(*tensor);
    for (const TensorNode* read : Reads(*computation)) Schedule(read, tensor->name);
    // Parameters are there already; the other results get memory.
    Stage stage{computation, {}, {}};
    for (size_t i = 0; i < computation->values.size(); ++i) {
      auto [it, added] = buffers_.try_emplace(TensorKey(computation, i));
      if (added)
        it->second = BufferNode::Make(tensor->siblings[i], computation->values[i].dtype(),
                                      tensor->shape, {}, MemoryScope(*tensor, i));
      stage.outputs.push_back(it->second);
      stage.is_param.push_back(!added);
    }
    stages_.push_back(std::move(stage));
  }

  static StorageScope MemoryScope(const TensorNode& tensor, size_t i) {
    int64_t bytes = tensor.computation->values[i].dtype().bytes();
    for (const Expr& extent : tensor.shape) {
      std::optional<int64_t> constant = ir::AsConstInt(extent);
      if (!constant || __builtin_mul_overflow(bytes, *constant, &bytes) || bytes > kMaxLocalBytes)
        return StorageScope::kGlobal;
    }
    return StorageScope::kLocal;
  }

  void CheckComputation(const TensorNode& tensor) {
    const Computation& computation = *tensor.computation;
    std::string where = "the definition of " + tensor.name;
    for (const Expr& extent : tensor.shape) CheckDefined(extent, "the shape of " + tensor.name);
    for (const ReduceAxis& axis : computation.reduce_axes)
      CheckDefined(axis.extent(), "the extent of axis " + axis.name());
    for (const auto* vars : {&computation.axes, &computation.so_far, &computation.next})
      for (const Var& var : *vars) bound_.insert(var.node());
    for (const Expr& identity : computation.identities) CheckDefined(identity, where);
    for (const ReduceAxis& axis : computation.reduce_axes) bound_.insert(axis.node());
    for (const auto* exprs : {&computation.values, &computation.combined})
      for (const Expr& expr : *exprs) CheckDefined(expr, where);
    for (const Expr& expr : {computation.condition, computation.other})
      if (expr) CheckDefined(expr, where);
    bound_.clear();
  }

  // Loops around one block.
  static Stmt MakeStage(const Stage& stage) {
    const Computation& computation = *stage.computation;
    const std::vector<Expr>& shape = stage.outputs[0]->shape;
    std::vector<Var> loops;
    std::vector<BlockIter> iters;
    auto add = [&](const Var& axis, const std::string& name, const Expr& extent, IterKind kind) {
      loops.emplace_back(name);
      iters.push_back({extent, loops.back(), axis, kind});
    };
    for (size_t i = 0; i < computation.axes.size(); ++i)
      add(computation.axes[i], computation.axes[i].name().substr(1), shape[i], IterKind::kSpatial);
    std::vector<Var> reduced;
    ir::VarMap in_block;
    for (const ReduceAxis& axis : computation.reduce_axes) {
      reduced.emplace_back("v" + axis.name());
      in_block[axis.node()] = reduced.back();
      add(reduced.back(), axis.name(), axis.extent(), IterKind::kReduce);
    }
    Stmt init = computation.is_reduction() ? StoreAll(stage, computation.identities) : Stmt();
    Stmt body = Substitute(MakeBody(stage), in_block);
    Stmt stmt = WithOp(BlockNode::Make(stage.outputs[0]->name, iters, init, body), computation.op);
    for (size_t i = loops.size(); i-- > 0;)
      stmt = ForNode::Make(loops[i], 0, iters[i].extent, ForKind::kSerial, stmt);
    return CopyWithFreshDefs(stmt);
  }

  static Stmt MakeBody(const Stage& stage) {
    const Computation& computation = *stage.computation;
    Stmt body =
        computation.is_reduction() ? MakeUpdate(stage) : StoreAll(stage, computation.values);
    if (!computation.condition) return body;
    Stmt other = computation.other ? StoreAll(stage, {computation.other}) : Stmt();
    return IfThenElseNode::Make(computation.condition, body, other);
  }

  static Stmt MakeUpdate(const Stage& stage) {
    const Computation& computation = *stage.computation;
    ir::VarMap map;
    for (size_t i = 0; i < stage.outputs.size(); ++i)
      map[computation.so_far[i].node()] =
          ir::BufferLoadNode::Make(stage.outputs[i], Indices(computation));
    if (stage.outputs.size() == 1) {
      map[computation.next[0].node()] = computation.values[0];
      return StoreAll(stage, {ir::Substitute(computation.combined[0], map)});
    }
    // All results are known before the first is stored.
    std::vector<Var> results;
    std::vector<Expr> stored;
    for (const Expr& combined : computation.combined) {
      results.emplace_back("result", combined.dtype());
      stored.push_back(results.back());
    }
    Stmt body = StoreAll(stage, stored);
    for (size_t i = results.size(); i-- > 0;)
      body = LetStmtNode::Make(results[i], ir::Substitute(computation.combined[i], map), body);
    for (size_t i = results.size(); i-- > 0;)
      body = LetStmtNode::Make(computation.next[i], computation.values[i], body);
    return body;
  }

  static std::vector<Expr> Indices(const Computation& computation) {
    return std::vector<Expr>(computation.axes.begin(), computation.axes.end());
  }
  static Stmt StoreAll(const Stage& stage, const std::vector<Expr>& values) {
    std::vector<Stmt> stores;
    for (size_t i = 0; i < stage.outputs.size(); ++i)
      stores.push_back(
          BufferStoreNode::Make(stage.outputs[i], Indices(*stage.computation), values[i]));
    return SeqNode::Make(std::move(stores));
  }

  std::string name_;
  const std::vector<Argument>& params_;
  std::map<TensorKey, Buffer> buffers_;
  std::unordered_set<const VarNode*> defined_;  // in the whole function
  std::unordered_set<const VarNode*> bound_;    // in the formula at hand
  std::unordered_set<const Computation*> scheduled_;
  std::vector<Stage> stages_;
};

}  // namespace

// ---- tensors

Expr Tensor::At(std::vector<Expr> indices) const {
  TERN_CHECK(buffer_) << "a tensor is read that was never defined";
  return ir::BufferLoadNode::Make(buffer_, std::move(indices));
}

ReduceAxis::ReduceAxis(std::string name, Expr extent)
    : Var(std::move(name)), extent_(std::move(extent)) {
  CheckName("axis", this->name());
  if (extent_.dtype() != DataType::Int(64))
    TERN_THROW(TypeError) << "the extent of axis " << this->name() << " is "
                          << extent_.dtype().str() << "; expected int64";
}

Tensor Input(std::string name, DataType dtype, std::vector<Expr> shape, std::vector<Expr> strides) {
  auto node = MakeTensor(name, dtype, shape);
  TERN_CHECK(strides.empty() || strides.size() == shape.size())
      << name << " has rank " << shape.size() << ", but " << strides.size() << " strides";
  CheckExtents(name, strides);
  node->strides = std::move(strides);
  return Tensor(Buffer(node.get()));
}

namespace builder_detail {

void CheckArity(const std::string& name, size_t given, size_t taken, const char* what) {
  TERN_CHECK(given == taken) << name << " has " << given << " " << what
                             << ", but its function takes " << taken;
}

void CheckSameShape(const std::string& name, const std::vector<Tensor>& inputs) {
  TERN_CHECK(!inputs.empty()) << "Elementwise " << name << " has no inputs";
  for (const Tensor& input : inputs) {
    const std::vector<Expr>&a = inputs[0].shape(), &b = input.shape();
    bool same = std::equal(a.begin(), a.end(), b.begin(), b.end(),
                           [](const Expr& x, const Expr& y) { return ir::StructuralEqual(x, y); });
    TERN_CHECK(same) << "Elementwise " << name << " takes tensors of one shape, but "
                     << inputs[0].name() << " is " << ShapeText(a) << " and " << input.name()
                     << " is " << ShapeText(b);
  }
}

std::vector<Tensor> ComputeTensors(std::vector<std::string> names, std::vector<Expr> shape,
                                   const std::function<Element(const std::vector<Var>&)>& f) {
  TERN_CHECK(!names.empty()) << "a computation defines one tensor at least";
  return WithContext("defining " + ffi::Join(names), [&] {
    auto computation = std::make_shared<Computation>();
    computation->op = OpScope::current();
    for (size_t i = 0; i < shape.size(); ++i)
      computation->axes.emplace_back("vi" + std::to_string(i));
    SetElement(f(computation->axes), computation.get());
    TERN_CHECK(computation->values.size() == names.size())
        << names.size() << " tensors are defined by " << computation->values.size() << " values";
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < names.size(); ++i) {
      auto node = MakeTensor(names[i], computation->values[i].dtype(), shape);
      node->computation = computation;
      node->siblings = names;
      node->index = i;
      tensors.emplace_back(Buffer(node.get()));
    }
    return tensors;
  });
}

}  // namespace builder_detail

bool IsReadBy(const Tensor& input, const std::vector<Tensor>& tensors) {
  std::vector<const TensorNode*> waiting;
  for (const Tensor& tensor : tensors) waiting.push_back(AsTensor(tensor.buffer()));
  std::unordered_set<const Computation*> seen;
  while (!waiting.empty()) {
    const TensorNode* tensor = waiting.back();
    waiting.pop_back();
    if (tensor == AsTensor(input.buffer())) return true;
    if (!tensor->computation || !seen.insert(tensor->computation.get()).second) continue;
    for (const TensorNode* read : Reads(*tensor->computation)) waiting.push_back(read);
  }
  return false;
}

// ---- elements

Guarded Where(Expr condition, Expr value, Expr other) {
  CheckCondition(condition);
  if (value.dtype() != other.dtype())
    TERN_THROW(TypeError) << "Where chooses between different types: " << value.dtype().str()
                          << " and " << other.dtype().str();
  return {std::move(condition), std::move(value), std::move(other)};
}

Reduction Reduction::Where(Expr where) const {
  CheckCondition(where);
  Reduction result = *this;
  result.condition = condition ? condition && where : where;
  return result;
}

Reduction Reduce(Expr value, Expr identity, const std::function<Expr(Expr, Expr)>& f,
                 std::vector<ReduceAxis> axes) {
  auto combine = [f](const std::vector<Expr>& so_far, const std::vector<Expr>& next) {
    return std::vector<Expr>{f(so_far[0], next[0])};
  };
  return {{std::move(value)}, {std::move(identity)}, combine, std::move(axes), {}};
}

Reduction Sum(Expr value, std::vector<ReduceAxis> axes) {
  CheckNumeric("Sum", value);
  Expr zero = Const(value.dtype(), 0);
  return Reduce(std::move(value), zero, [](Expr a, Expr b) { return a + b; }, std::move(axes));
}
Reduction Prod(Expr value, std::vector<ReduceAxis> axes) {
  CheckNumeric("Prod", value);
  Expr one = Const(value.dtype(), 1);
  return Reduce(std::move(value), one, [](Expr a, Expr b) { return a * b; }, std::move(axes));
}
Reduction MaxOf(Expr value, std::vector<ReduceAxis> axes) {
  CheckNumeric("MaxOf", value);
  Expr least = Limit(value.dtype(), /*largest=*/false);
  return Reduce(std::move(value), least, Max, std::move(axes));
}
Reduction MinOf(Expr value, std::vector<ReduceAxis> axes) {
  CheckNumeric("MinOf", value);
  Expr most = Limit(value.dtype(), /*largest=*/true);
  return Reduce(std::move(value), most, Min, std::move(axes));
}
Reduction ArgMax(Expr value, const ReduceAxis& axis) {
  return ArgBest("ArgMax", value, axis, /*largest=*/true);
}
Reduction ArgMin(Expr value, const ReduceAxis& axis) {
  return ArgBest("ArgMin", value, axis, /*largest=*/false);
}

// ---- functions and expressions

PrimFunc MakeFunction(std::string name, const std::vector<Argument>& params, ir::Attrs attrs) {
  return FunctionMaker(std::move(name), params).Run(std::move(attrs));
}

std::vector<Var> MissingScalars(const std::vector<Argument>& params) {
  std::unordered_set<const VarNode*> known;
  std::vector<Expr> needed;
  std::vector<const TensorNode*> waiting;
  for (const Argument& param : params) {
    if (!param.tensor()) {
      known.insert(param.var().node());
      continue;
    }
    waiting.push_back(AsTensor(param.tensor().buffer()));
    for (const Expr& extent : param.tensor().shape())
      if (const auto* var = extent.As<VarNode>()) known.insert(var);
  }
  std::unordered_set<const TensorNode*> seen;
  while (!waiting.empty()) {
    const TensorNode* tensor = waiting.back();
    waiting.pop_back();
    if (!seen.insert(tensor).second) continue;
    needed.insert(needed.end(), tensor->shape.begin(), tensor->shape.end());
    if (!tensor->computation) continue;
    const Computation& computation = *tensor->computation;
    for (const auto* vars : {&computation.axes, &computation.so_far, &computation.next})
      for (const Var& var : *vars) known.insert(var.node());
    for (const ReduceAxis& axis : computation.reduce_axes) {
      known.insert(axis.node());
      needed.push_back(axis.extent());
    }
    for (const auto* exprs : {&computation.values, &computation.identities, &computation.combined})
      needed.insert(needed.end(), exprs->begin(), exprs->end());
    for (const Expr& expr : {computation.condition, computation.other})
      if (expr) needed.push_back(expr);
    for (const TensorNode* read : Reads(computation)) waiting.push_back(read);
  }
  std::vector<Var> missing;
  for (const Expr& expr : needed)
    ir::ForEachExpr(expr, [&](const Expr& e) {
      if (const auto* let = e.As<ir::LetNode>()) known.insert(let->var.node());
      const auto* var = e.As<VarNode>();
      if (var && known.insert(var).second) missing.emplace_back(var);
    });
  return missing;
}

Expr Const(DataType dtype, double value) { return ir::MakeConst(dtype, value); }
Expr Max(Expr a, Expr b) { return ir::MaxNode::Make(std::move(a), std::move(b)); }
Expr Min(Expr a, Expr b) { return ir::MinNode::Make(std::move(a), std::move(b)); }
Expr Select(Expr condition, Expr a, Expr b) {
  return ir::SelectNode::Make(std::move(condition), std::move(a), std::move(b));
}
Expr Cast(DataType dtype, Expr value) { return ir::CastNode::Make(dtype, std::move(value)); }
Expr Call(std::string intrinsic, std::vector<Expr> args) {
  return ir::CallNode::Make(std::move(intrinsic), std::move(args));
}

}  // namespace tern::tir
