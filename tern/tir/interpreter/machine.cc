// SPDX-License-Identifier: Apache-2.0
//
// Arguments, memory and statements.
#include "tern/tir/interpreter/machine.h"

#include <algorithm>
#include <new>
#include <sstream>

#include "tern/ffi/text.h"
#include "tern/ir/diagnostic.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/analysis/warp_size.h"
#include "tern/tir/extern_kernel.h"
#include "tern/tir/interpreter/machine_access.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/blocks/initialize_empty_reductions.h"
#include "tern/tir/visitor.h"

namespace tern::tir {

Machine::Machine(const ir::IRModule& module)
    : module_(MapFunctions(
          module,
          [](const PrimFunc& function) { return InitializeEmptyReductions(function, false); })),
      instances_(module_) {}

void Machine::Call(const std::string& name, const std::vector<ffi::Any>& args) {
  auto it = module_->functions.find(name);
  TERN_CHECK(it != module_->functions.end()) << "the module has no function " << name;
  RefuseExternKernel(it->second);
  PrimFunc function = AsPrimFunc(it->second);
  if (CallingConventionOf(function) == CallingConvention::kPacked)
    return CallPacked(function, args);
  warp_size_ = WarpSizeOf(function);
  const std::vector<Param>& params = function->params;
  TERN_CHECK(args.size() == params.size())
      << name << ": expected " << params.size() << " arguments, got " << args.size();
  for (size_t i = 0; i < params.size(); ++i)
    if (!params[i].is_tensor())
      frame_->vars[params[i].var.node()] = ScalarArgument(name, i, params[i], args[i]);
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].is_tensor()) BindExtents(name, i, params[i], args[i]);
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].is_tensor()) BindTensor(name, i, params[i], args[i].As<runtime::Tensor>());
  Run(function->body);
}

void Machine::RefuseExternKernel(const ir::BaseFunc& function) {
  const ExternKernelNode* kernel = AsExternKernel(function);
  TERN_CHECK(!kernel) << "kernel " << kernel->name << " is " << kernel->kind
                      << " code, which the interpreter cannot run; compile for a target whose "
                         "modules are of that kind";
}

// After make_packed_api a function takes (env, args, num_args, result) and unpacks them itself.
void Machine::CallPacked(const PrimFunc& function, const std::vector<ffi::Any>& args) {
  std::vector<TernAny> values;
  // The interpreter plays the device that the function wants its tensors on.
  TernDevice device = {kTernDeviceCpu, 0};
  if (auto it = function->attrs.find(attr::kDeviceType); it != function->attrs.end())
    device.type = static_cast<int32_t>(it->second.As<int64_t>());
  std::vector<TernTensorView> views;
  views.reserve(args.size());
  for (const ffi::Any& arg : args) {
    values.push_back(arg.raw());
    auto tensor = arg.TryAs<runtime::Tensor>();
    if (!tensor) continue;
    AddArgumentPiece(static_cast<char*>((*tensor)->data()), (*tensor)->storage_bytes());
    views.push_back((*tensor)->view());
    views.back().device = device;
    values.back() = {};
    values.back().type_index = kTernTensorView;
    values.back().v_ptr = &views.back();
  }
  TernAny result{};
  Value given[] = {Value::Handle(nullptr), Value::Handle(values.data()),
                   Value::Int(DataType::Int(32), static_cast<int64_t>(values.size())),
                   Value::Handle(&result)};
  TERN_ICHECK(function->params.size() == std::size(given));
  for (size_t i = 0; i < std::size(given); ++i)
    frame_->vars[function->params[i].var.node()] = given[i];
  Run(function->body);
}

// ---- Arguments.

namespace {

std::string ArgumentText(const std::string& function, size_t i, const Param& param) {
  return function + ": argument " + std::to_string(i) + " (" + param.name() + "): ";
}

std::vector<int64_t> StridesOf(const runtime::Tensor& tensor) {
  const TernTensorView& view = tensor->view();
  if (view.strides) return {view.strides, view.strides + view.ndim};
  std::vector<int64_t> strides(view.ndim, 1);
  for (int d = view.ndim; d-- > 1;) strides[d - 1] = strides[d] * view.shape[d];
  return strides;
}

}  // namespace

Value Machine::ScalarArgument(const std::string& function, size_t i, const Param& param,
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

// Extents that are free variables get their values here: whatever tensor uses them may come first.
void Machine::BindExtents(const std::string& function, size_t i, const Param& param,
                          const ffi::Any& arg) {
  auto tensor = arg.TryAs<runtime::Tensor>();
  const BufferNode* buffer = param.buffer.get();
  bool fits = tensor && (*tensor)->dtype() == buffer->dtype &&
              (*tensor)->shape().size() == buffer->shape.size();
  TERN_CHECK(fits) << ArgumentText(function, i, param) << "expected " << buffer->dtype.str()
                   << " tensor of rank " << buffer->shape.size() << ", got "
                   << ffi::Describe(arg.raw());
  for (size_t d = 0; d < buffer->shape.size(); ++d)
    if (const auto* var = buffer->shape[d].As<VarNode>(); var && !frame_->vars.Find(var))
      frame_->vars[var] = Value::Int(var->dtype, (*tensor)->shape()[d]);
  std::vector<int64_t> strides = StridesOf(*tensor);
  for (size_t d = 0; d < buffer->strides.size(); ++d)
    if (const auto* var = buffer->strides[d].As<VarNode>(); var && !frame_->vars.Find(var))
      frame_->vars[var] = Value::Int(var->dtype, strides[d]);
}

// Every extent has the value that it should.
void Machine::BindTensor(const std::string& function, size_t i, const Param& param,
                         const runtime::Tensor& tensor) {
  const BufferNode* buffer = param.buffer.get();
  const std::vector<int64_t>& shape = tensor->shape();
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t expected = EvalInt(buffer->shape[d]);
    TERN_CHECK(shape[d] == expected)
        << ArgumentText(function, i, param) << "expected extent " << d << " to be " << expected
        << ", got shape " << ffi::ShapeText(shape);
  }
  // What a compiled function says of a tensor's strides (make_packed_api): those that are declared,
  // where any are; an extent of 1 or 0 makes them irrelevant otherwise.
  std::vector<int64_t> strides = StridesOf(tensor);
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    bool declared = !buffer->strides.empty();
    int64_t expected = declared ? EvalInt(buffer->strides[d]) : step;
    TERN_CHECK(strides[d] == expected ||
               (!declared && (shape[d] == 1 || tensor->num_elements() == 0)))
        << ArgumentText(function, i, param) << "expected stride " << d << " to be " << expected
        << ", got " << strides[d];
    step *= shape[d];
  }
  int64_t first = 0, last = 0;  // elements before and after the first one
  for (size_t d = 0; d < shape.size(); ++d)
    (strides[d] < 0 ? first : last) += (shape[d] - 1) * strides[d];
  char* data = static_cast<char*>(tensor->view().data) + tensor->view().byte_offset;
  int64_t bytes = ElementBytes(buffer->dtype);
  auto byte_of = [&](int64_t element) {
    return buffer->dtype.is_packed() ? element >> 1 : element * bytes;
  };
  if (tensor->num_elements() == 0)
    AddArgumentPiece(data, 0);
  else
    AddArgumentPiece(data + byte_of(first), byte_of(last) - byte_of(first) + bytes);
  frame_->vars[buffer->data.node()] = Value::Handle(data);
  Define(buffer);
}

// ---- Memory.

void Machine::AddArgumentPiece(char* data, size_t size) {
  // The same tensor may be passed twice, or a part of it.
  Piece* known = FindPiece(data);
  if (known && data + size <= known->data + known->shadow.size()) return;
  auto piece =
      std::make_unique<Piece>(Piece{data, ShadowMemory(size, ShadowMemory::Contents::kInitialised),
                                    0, ScopeOwner::kGrid, nullptr});
  pieces_[data] = piece.get();
  argument_pieces_.push_back(std::move(piece));
}

Machine::Piece* Machine::FindPiece(const char* address) const {
  auto it = pieces_.upper_bound(address);
  if (it == pieces_.begin()) return nullptr;
  Piece* piece = std::prev(it)->second;
  bool inside = address == piece->data || address < piece->data + piece->shadow.size();
  return inside ? piece : nullptr;
}

namespace {

constexpr int64_t kAlignment = 16;  // of allocations that ask for none

int64_t Multiply(const BufferNode* buffer, int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    TERN_THROW(ValueError) << ir::At(buffer->span) << "the size of " << buffer->name
                           << " overflows int64";
  return product;
}

}  // namespace

Machine::View Machine::MakeView(const BufferNode* buffer) {
  View view;
  for (const Expr& extent : buffer->shape) {
    view.shape.push_back(EvalInt(extent));
    TERN_CHECK(view.shape.back() >= 0)
        << ir::At(buffer->span) << "an extent of " << buffer->name << " is " << view.shape.back();
  }
  for (const Expr& stride : buffer->strides) view.strides.push_back(EvalInt(stride));
  if (view.strides.empty()) {
    view.strides.assign(view.shape.size(), 1);
    for (size_t d = view.shape.size(); d-- > 1;)
      view.strides[d - 1] = Multiply(buffer, view.strides[d], view.shape[d]);
  }
  return view;
}

void Machine::Define(const BufferNode* buffer) {
  View view = MakeView(buffer);
  view.data = static_cast<char*>(frame_->vars.Find(buffer->data.node())->p());
  view.piece = FindPiece(view.data);
  view.is_packed = buffer->dtype.is_packed() && !(view.piece && view.piece->owned);
  if (view.is_packed && buffer->offset.get())
    view.first = EvalInt(buffer->offset);
  else if (buffer->offset)
    view.data += EvalInt(buffer->offset) * ElementBytes(buffer->dtype);
  if (buffer->alignment && reinterpret_cast<uintptr_t>(view.data) % buffer->alignment != 0)
    TERN_THROW(ValueError) << ir::At(buffer->span) << buffer->name << " is declared as aligned to "
                           << buffer->alignment << " bytes, but its address is not";
  frame_->views[buffer] = std::move(view);
}

std::unique_ptr<Machine::Piece> Machine::Allocate(const AllocateNode* node, uint32_t depth) {
  const BufferNode* buffer = node->buffer.get();
  View view = MakeView(buffer);
  // As far as the last element; strides may leave gaps before it.
  int64_t size = 1;
  for (size_t d = 0; d < view.shape.size(); ++d)
    size = view.shape[d] == 0        ? 0
           : buffer->strides.empty() ? Multiply(buffer, size, view.shape[d])
                                     : size + Multiply(buffer, view.shape[d] - 1, view.strides[d]);
  size = Multiply(buffer, size, ElementBytes(buffer->dtype));
  try {
    return NewPiece(size, buffer->alignment, depth, OwnerOf(buffer->scope));
  } catch (const std::bad_alloc&) {
    TERN_THROW(RuntimeError) << ir::At(node->span) << "there is no memory for " << buffer->name
                             << ", which needs " << size << " bytes";
  }
}

std::unique_ptr<Machine::Piece> Machine::NewPiece(int64_t size, int64_t alignment, uint32_t depth,
                                                  ScopeOwner owner) {
  auto aligned = static_cast<size_t>(std::max(alignment, kAlignment));
  size_t space = size + aligned;
  // The `new` of sanitizers ends the process where this one returns null.
  std::unique_ptr<char[]> owned(new (std::nothrow) char[space]);
  if (!owned) throw std::bad_alloc();
  void* start = owned.get();
  char* data = static_cast<char*>(std::align(aligned, size, start, space));
  auto piece =
      std::make_unique<Piece>(Piece{data,
                                    ShadowMemory(size, ShadowMemory::Contents::kUninitialised),
                                    depth,
                                    owner,
                                    std::move(owned),
                                    {}});
  pieces_[data] = piece.get();
  return piece;
}

// alloc_workspace(env, type, id, bytes, alignment), free_workspace(env, type, id, p)
Value Machine::CallWorkspace(const ir::CallNode* node) {
  if (node->name == intrinsic::kFreeWorkspace) {
    const auto* data = static_cast<const char*>(Eval(node->args[3]).p());
    pieces_.erase(data);
    workspace_.erase(data);
    return Value(DataType::Int(32));
  }
  int64_t bytes = EvalInt(node->args[3]);
  if (bytes < 0) return Value::Handle(nullptr);
  std::unique_ptr<Piece> piece = NewPiece(bytes, EvalInt(node->args[4]), depth_, ScopeOwner::kGrid);
  char* data = piece->data;
  workspace_[data] = std::move(piece);
  return Value::Handle(data);
}

void Machine::Release(const AllocateNode* node, const Piece& piece) {
  pieces_.erase(piece.data);
  frame_->views.Erase(node->buffer.get());
}

const Machine::View& Machine::FindView(const AccessSite& site) const {
  const View* view = frame_->views.Find(site.buffer.get());
  TERN_CHECK(view) << ir::At(site.span) << "buffer " << site.buffer->name << " is not in scope";
  return *view;
}

void Machine::AddIndex(const AccessSite& site, const View& view, size_t dimension, int64_t index,
                       int64_t* offset) const {
  if (index < 0 || index >= view.shape[dimension])
    TERN_THROW(IndexError) << ir::At(site.span) << "index " << index
                           << " is out of bounds in dimension " << dimension << " of "
                           << site.buffer->name << ", whose shape is "
                           << ffi::ShapeText(view.shape);
  int64_t step;
  if (__builtin_mul_overflow(index, view.strides[dimension], &step) ||
      __builtin_add_overflow(*offset, step, offset))
    TERN_THROW(ValueError) << ir::At(site.span) << "the offset of an element of "
                           << site.buffer->name << " overflows int64";
}

std::vector<int64_t> Machine::EvalIndices(const AccessSite& site, int lane) {
  std::vector<int64_t> indices;
  for (const Expr& index : site.indices) {
    Value value = Eval(index);
    indices.push_back(value[value.lanes() == 1 ? 0 : lane].i);
  }
  return indices;
}

std::string Machine::ElementText(const AccessSite& site, int lane) {
  std::string text;
  for (int64_t index : EvalIndices(site, lane))
    text += (text.empty() ? "" : ", ") + std::to_string(index);
  return site.buffer->name + "[" + text + "]";
}

void Machine::CheckRegions(const AccessSite& site, int lane) {
  const BlockRegions& regions = *frame_->regions;
  if (!regions.outside.count(site.buffer.get())) return;
  std::vector<int64_t> indices = EvalIndices(site, lane);
  const std::vector<Box>& boxes = site.is_write ? regions.writes : regions.reads;
  bool said = std::any_of(boxes.begin(), boxes.end(), [&](const Box& box) {
    if (box.buffer != site.buffer.get()) return false;
    for (size_t d = 0; d < indices.size(); ++d)
      if (indices[d] < box.ranges[d].first || indices[d] >= box.ranges[d].second) return false;
    return true;
  });
  if (said) return;
  const char* verb = site.is_write ? "writes" : "reads";
  TERN_THROW(RuntimeError) << ir::At(site.span) << "block " << regions.block->name << " " << verb
                           << " " << ElementText(site, lane) << ", which is not in what it says it "
                           << verb;
}

ElementPlace Machine::Touch(const AccessSite& site, const View& view, int lane, int64_t offset) {
  if (frame_->regions) CheckRegions(site, lane);
  int64_t bytes = ElementBytes(site.buffer->dtype);
  int half = -1;
  if (view.is_packed) {
    half = static_cast<int>((view.first + offset) & 1);
    offset = (view.first + offset) >> 1;
  }
  Piece* piece = view.piece;
  if (!piece) return {view.data + offset * bytes, half};
  // A buffer can be a larger view than the memory under it.
  int64_t size = static_cast<int64_t>(piece->shadow.size()), start = view.data - piece->data;
  int64_t at;
  if (__builtin_mul_overflow(offset, bytes, &at) || __builtin_add_overflow(at, start, &at) ||
      at < 0 || at > size - bytes)
    TERN_THROW(IndexError) << ir::At(site.span) << ElementText(site, lane)
                           << " is outside of the memory under " << site.buffer->name
                           << ", which is " << size << " bytes";
  size_t place = static_cast<size_t>(at);
  if (site.is_write && !site.is_atomic)
    piece->shadow.MarkInitialised(place, bytes);
  else if (!piece->shadow.IsInitialised(place, bytes))
    TERN_THROW(RuntimeError) << ir::At(site.span) << ElementText(site, lane)
                             << " is read, but nothing was written to it"
                             << (piece->owner == ScopeOwner::kBlock ? "; is a barrier missing?"
                                                                    : "");
  if (!site.is_atomic) CheckIndependence(site, lane, piece, place, half);
  bool reduced = accumulators_ && accumulators_->count(site.buffer->data.node());
  if (depth_ > piece->depth && !reduced) {
    MemoryAccess now = {{task_, EpochOf(*piece)}, &site.span, site.is_write, site.is_atomic};
    if (const MemoryAccess* earlier = piece->shadow.Record(tasks_, place, bytes, now))
      ReportRace(site.span, ElementText(site, lane), now, *earlier, piece->owner);
  }
  if (half < 0) TouchAsync(site, lane, piece, piece->data + place, bytes);
  return {piece->data + place, half};
}

void Machine::CheckIndependence(const AccessSite& site, int lane, Piece* piece, size_t place,
                                int half) {
  InstanceId now = frame_->instance;
  if (piece->writers.empty()) {
    if (!now || !site.is_write) return;
    piece->writers.resize(piece->shadow.size() * 2);
  }
  InstanceId& writer = piece->writers[place * 2 + (half == 1)];
  InstanceId earlier = site.is_write ? std::exchange(writer, now) : writer;
  // Memory of the function may serve one instance after another.
  if (site.is_write && piece->owned) return;
  Instances::Difference difference = instances_.Between(now, earlier);
  if (!difference.axis) return;
  std::string axis = difference.axis->name;
  TERN_THROW(RuntimeError) << site.span.str() << ": block " << instances_.BlockOf(now)->name
                           << " says that its axis " << axis << " is spatial, but "
                           << (site.is_write ? "writes " : "reads ") << ElementText(site, lane)
                           << " at " << axis << " = " << difference.now << ", which it wrote at "
                           << axis << " = " << difference.earlier;
}

uint32_t Machine::EpochOf(const Piece& piece) const {
  if (piece.owner == ScopeOwner::kWarp) return warp_epoch_;
  return piece.owner == ScopeOwner::kBlock ? shared_epoch_ : global_epoch_;
}

void Machine::ReportRace(const Span& place, const std::string& what, const MemoryAccess& now,
                         const MemoryAccess& earlier, ScopeOwner owner) {
  const char* missing = owner == ScopeOwner::kWarp    ? "step of the warp"
                        : owner == ScopeOwner::kBlock ? "barrier(\"shared\")"
                                                      : "barrier(\"global\")";
  TERN_THROW(RuntimeError) << ir::At(place) << "data race on " << what << ": "
                           << tasks_.Describe(now.moment.task)
                           << (now.is_write ? " writes" : " reads") << " it here, "
                           << tasks_.Describe(earlier.moment.task)
                           << (earlier.is_write ? " wrote" : " read") << " it at "
                           << earlier.place->str() << ", and "
                           << (tasks_.InOneBlock(now.moment.task, earlier.moment.task)
                                   ? std::string("no ") + missing + " lies between"
                                   : "nothing orders the two");
}

// ---- Statements.

void Machine::Run(const Stmt& stmt) {
  DispatchStmt(stmt.get(), [this](auto* node) { RunNode(node); });
}

void Machine::RunNode(const BufferStoreNode* node) {
  Value value = Eval(node->value);
  ForEachLane(SiteOf(node),
              [&](int lane, ElementPlace at) { StoreLane(node->buffer->dtype, at, value[lane]); });
}

void Machine::RunNode(const LetStmtNode* node) {
  frame_->vars[node->var.node()] = Eval(node->value);
  Run(node->body);
}

void Machine::RunNode(const AllocateNode* node) {
  std::unique_ptr<Piece> piece = Allocate(node, depth_);
  frame_->vars[node->buffer->data.node()] = Value::Handle(piece->data);
  Define(node->buffer.get());
  Run(node->body);
  Release(node, *piece);
}

void Machine::RunNode(const DeclBufferNode* node) {
  Define(node->buffer.get());
  Run(node->body);
  frame_->views.Erase(node->buffer.get());
}

Machine::LoopRange Machine::EvalRange(const ForNode* node) {
  LoopRange range = {EvalInt(node->min), EvalInt(node->extent)};
  if (range.extent <= 0) return {range.min, 0};
  // The last value fits, and so do all.
  DataType dtype = node->var.dtype();
  Lane min, steps;
  min.i = range.min;
  steps.i = range.extent - 1;
  try {
    BinaryLane(ExprKind::kAdd, dtype, min, steps);
  } catch (const Error& error) {
    TERN_THROW(ValueError) << ir::At(node->span) << "the values of " << node->var.name()
                           << " overflow " << dtype.str();
  }
  return range;
}

void Machine::SetVar(const Var& var, int64_t value) {
  frame_->vars[var.node()].SetInt(var.dtype(), value);
}

void Machine::RunNode(const ForNode* node) {
  if (node->for_kind == ForKind::kThread && IsVirtualThread(node)) return RunParallel(node);
  if (node->for_kind == ForKind::kThread && !index_) return RunKernel(node);
  if (node->for_kind == ForKind::kThread) {
    SetVar(node->var, (*index_)[ThreadAxisNumber(node->thread)]);
    return Run(node->body);
  }
  if (node->for_kind == ForKind::kParallel) return RunParallel(node);
  auto [min, extent] = EvalRange(node);
  for (int64_t i = 0; i < extent; ++i) {
    SetVar(node->var, min + i);
    Run(node->body);
  }
}

void Machine::RunNode(const WhileNode* node) {
  while (EvalInt(node->condition)) {
    instances_.BeginRound();
    Run(node->body);
  }
}

void Machine::RunNode(const IfThenElseNode* node) {
  if (EvalInt(node->condition))
    Run(node->then_case);
  else if (node->else_case)
    Run(node->else_case);
}

void Machine::RunNode(const SeqNode* node) {
  for (const Stmt& stmt : node->stmts) Run(stmt);
}

void Machine::RunNode(const AssertNode* node) {
  if (EvalInt(node->condition)) return;
  std::string message;
  for (const Expr& part : node->message) {
    const auto* text = part.As<ir::StringImmNode>();
    Value value = Eval(part);
    message += text                      ? text->value
               : value.dtype.is_handle() ? ffi::Describe(*static_cast<const TernAny*>(value.p()))
               : value.dtype.is_float()  ? (std::ostringstream() << value[0].f).str()
                                         : std::to_string(value.i());
  }
  throw Error(node->error_kind, message);
}

void Machine::RunNode(const EvaluateNode* node) { Eval(node->value); }

Machine::Instance Machine::BindAxes(const BlockNode* node) {
  for (const BlockIter& iter : node->iters) SetVar(iter.var, EvalInt(iter.binding));
  if (node->predicate.get() && !EvalInt(node->predicate)) return Instance::kNone;
  bool first = true;
  for (const BlockIter& iter : node->iters) {
    int64_t value = frame_->vars.Find(iter.var.node())->i(), extent = EvalInt(iter.extent);
    if (value < 0 || value >= extent)
      TERN_THROW(IndexError) << ir::At(node->span) << "axis " << iter.var.name() << " of block "
                             << node->name << " is " << value << ", outside of 0.." << extent;
    if (iter.kind == IterKind::kReduce) first = first && value == 0;
  }
  return first ? Instance::kFirst : Instance::kLater;
}

std::vector<Machine::Box> Machine::EvalRegions(const std::vector<BufferRegion>& regions) {
  std::vector<Box> boxes;
  for (const BufferRegion& region : regions) {
    Box box{region.buffer.get(), {}};
    for (const Range& range : region.ranges) {
      int64_t min = EvalInt(range.min);
      box.ranges.emplace_back(min, min + EvalInt(range.extent));
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

void Machine::EnterRegions(const BlockNode* node) {
  if (node->reads.empty() && node->writes.empty()) return;
  auto regions = std::make_shared<BlockRegions>();
  regions->block = node;
  regions->reads = EvalRegions(node->reads);
  regions->writes = EvalRegions(node->writes);
  frame_->views.ForEachKey([&](const BufferNode* buffer) { regions->outside.insert(buffer); });
  frame_->regions = regions;
}

void Machine::EnterBlock(const BlockNode* node) {
  EnterRegions(node);
  frame_->instance = instances_.Begin(node, frame_->vars);
}

void Machine::LeaveBlock(InstanceId outer) {
  frame_->regions = nullptr;
  frame_->instance = outer;
}

void Machine::RunNode(const BlockNode* node) {
  Instance instance = BindAxes(node);
  if (instance == Instance::kNone) return;
  InstanceId outer = frame_->instance;
  EnterBlock(node);
  SetAccumulators(node);
  if (instance == Instance::kFirst && node->init) Run(node->init);
  Run(node->body);
  accumulators_ = nullptr;
  LeaveBlock(outer);
}

}  // namespace tern::tir
