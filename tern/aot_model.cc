// SPDX-License-Identifier: Apache-2.0
#include "tern/aot_model.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <variant>

#include "tern/ffi/text.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/vm/int_value.h"
#include "tern/runtime/vm/model.h"
#include "tern/runtime/vm/plan.h"
#include "tern/tir/builder.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"

namespace tern {
namespace {

namespace vm = runtime::vm;
namespace intrinsic = tir::intrinsic;
using ir::Expr;

constexpr uint64_t kAlignment = 64;
// A program that is followed ends; one of so many calls is a loop that was to run, not to be
// written out.
constexpr size_t kMostCalls = 100'000;

// ---- What is called

enum class Home { kInput, kOutput, kWeights, kMemory };

// A compact tensor somewhere.
struct Place {
  Home home = Home::kMemory;
  size_t number = 0;   // of the input, output or memory
  int64_t offset = 0;  // in bytes
  DataType dtype;
  std::vector<int64_t> shape;
};
struct Argument {
  std::variant<Place, int64_t, double> value;
  bool is_written = false;
};
struct Call {
  std::string function;
  std::vector<Argument> arguments;
};

uint64_t BytesOf(const Place& place) {
  return vm::TensorBytes(place.dtype, place.shape.data(),
                         static_cast<uint32_t>(place.shape.size()));
}
int64_t CountOf(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

// All constants, one behind the other.
class WeightsWriter {
 public:
  explicit WeightsWriter(const std::vector<ir::Constant>& weights) {
    for (const ir::Constant& constant : weights) by_name_[constant->name] = constant;
  }

  // Where it is.
  int64_t Add(const vm::Constant& constant) {
    bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment);
    auto offset = static_cast<int64_t>(bytes_.size());
    if (constant.source == vm::ConstantSource::kWeights) {
      const ir::Constant& data = by_name_.at(constant.name);
      bytes_.resize(bytes_.size() + static_cast<size_t>(data->num_bytes()));
      data->CopyTo(bytes_.data() + offset);
    } else {
      runtime::Tensor tensor = vm::TensorOf(constant);
      bytes_.append(tensor.as<const char>(), tensor->num_bytes());
    }
    return offset;
  }
  const ir::Constant& Get(const std::string& name) const { return by_name_.at(name); }
  std::string& bytes() { return bytes_; }

 private:
  std::map<std::string, ir::Constant> by_name_;
  std::string bytes_;
};

// ---- Following the program

class Follower {
 public:
  Follower(const AotInput& input, WeightsWriter* weights)
      : input_(input), program_(input.program), weights_(*weights) {
    for (const runtime::FunctionInfo& info : input.functions) functions_[info.name] = &info;
  }

  std::vector<Call> calls;
  std::vector<uint64_t> memories;               // bytes of each
  std::map<std::string, tir::PrimFunc> copies;  // functions, by name

  void Run() {
    CheckDims();
    std::vector<Place> tensors;
    for (size_t i = 0; i < program_.inputs.size(); ++i)
      tensors.push_back(
          {Home::kInput, i, 0, program_.inputs[i].dtype, ShapeOf(program_.inputs[i])});
    Values results = Follow(0, {{}, std::move(tensors)});
    for (size_t i = 0; i < results.tensors.size(); ++i) {
      const Place& result = results.tensors[i];
      if (result.home == Home::kOutput && result.number == i && result.offset == 0) continue;
      Copy(result, {Home::kOutput, i, 0, result.dtype, result.shape});
    }
  }

  static std::vector<int64_t> ShapeOf(const vm::Port& port) {
    std::vector<int64_t> shape;
    for (const vm::IntExpr& extent : port.shape) shape.push_back(extent.tokens[0].value);
    return shape;
  }

 private:
  struct Values {
    std::vector<std::optional<int64_t>> ints;
    std::vector<Place> tensors;
  };

  // Every extent has to be known.
  void CheckDims() const {
    for (const auto* ports : {&program_.inputs, &program_.outputs})
      for (const vm::Port& port : *ports)
        for (size_t axis = 0; axis < port.shape.size(); ++axis) {
          const vm::IntExpr& extent = port.shape[axis];
          if (extent.is_const()) continue;
          bool is_input = ports == &program_.inputs;
          std::string why = "; ahead of time (--executor=aot) all extents have to be known";
          TERN_CHECK(!is_input || !extent.is_register())
              << "input " << port.name << ": dimension " << axis << " is " << DimOf(extent) << why
              << ": give it with --input-shape " << port.name << "=" << ExampleShape(port)
              << ", or, where that is its name in the model, with --dim " << DimOf(extent) << "=N";
          TERN_CHECK(program_.dims.empty())
              << (is_input ? "input " : "output ") << port.name << ": dimension " << axis
              << " depends on " << ffi::Join(program_.dims) << why << ": give them with --dim "
              << program_.dims[0] << "=N";
          TERN_CHECK(false) << "output " << port.name << ": dimension " << axis
                            << " depends on the data" << why
                            << ". Compile it without --executor=aot, for the runtime";
        }
  }
  std::string DimOf(const vm::IntExpr& extent) const {
    return program_.dims[static_cast<size_t>(extent.tokens[0].value)];
  }
  // "1,N,768"
  static std::string ExampleShape(const vm::Port& port) {
    std::string text;
    for (const vm::IntExpr& extent : port.shape)
      text += (text.empty() ? "" : ",") +
              (extent.is_const() ? std::to_string(extent.tokens[0].value) : "N");
    return text;
  }

  [[noreturn]] static void Unknown(const std::string& what) {
    TERN_THROW(ValueError) << what
                           << ", which is not known before the model runs; ahead of time "
                              "(--executor=aot) programs are straight. Compile it without "
                              "--executor=aot, for the runtime";
    __builtin_unreachable();
  }

  int64_t ValueOf(const vm::IntExpr& expr, const Values& values, const char* what) const {
    std::vector<int64_t> registers;
    for (const vm::IntToken& token : expr.tokens)
      if (token.op == vm::IntOp::kRegister && !values.ints[static_cast<size_t>(token.value)])
        Unknown(std::string("the model has ") + what + " that depends on data");
    for (const std::optional<int64_t>& value : values.ints) registers.push_back(value.value_or(0));
    return vm::ValueOf(expr, registers.data());
  }
  std::vector<int64_t> ValuesOf(const std::vector<vm::IntExpr>& exprs, size_t begin, size_t end,
                                const Values& values) const {
    std::vector<int64_t> result;
    for (size_t i = begin; i < end; ++i) result.push_back(ValueOf(exprs[i], values, "an extent"));
    return result;
  }

  // Runs a function of the program; gives its results.
  Values Follow(uint32_t index, Values values) {
    const vm::Function& function = program_.functions[index];
    values.ints.resize(function.num_ints);
    values.tensors.resize(function.tensors.size());
    for (size_t at = 0;;) {
      const vm::Instruction& instruction = function.code[at];
      switch (instruction.op) {
        case vm::Opcode::kJump:
          at = instruction.index;
          continue;
        case vm::Opcode::kBranch:
          at = ValueOf(instruction.exprs[0], values, "a condition") != 0 ? instruction.index
                                                                         : at + 1;
          continue;
        case vm::Opcode::kRet: {
          Values results;
          for (const vm::Operand& arg : instruction.args) {
            if (arg.kind == vm::OperandKind::kInt) results.ints.push_back(values.ints[arg.index]);
            if (arg.kind == vm::OperandKind::kTensor)
              results.tensors.push_back(values.tensors[arg.index]);
            if (arg.kind == vm::OperandKind::kConstInt) results.ints.emplace_back(arg.integer);
          }
          return results;
        }
        default:
          Step(function, instruction, &values);
      }
      TERN_CHECK(++steps_ < kMostCalls)
          << "the model has a loop of many rounds, which ahead of time (--executor=aot) would be "
             "written out; compile it without --executor=aot, for the runtime";
      ++at;
    }
  }

  void Step(const vm::Function& function, const vm::Instruction& instruction, Values* values) {
    auto result = [&]() -> Place& { return values->tensors[instruction.results[0].index]; };
    auto arg = [&](size_t i) -> const Place& { return values->tensors[instruction.args[i].index]; };
    const std::vector<vm::IntExpr>& exprs = instruction.exprs;
    switch (instruction.op) {
      case vm::Opcode::kDim:
        values->ints[instruction.results[0].index] = arg(0).shape[instruction.index];
        return;
      case vm::Opcode::kInt:
        values->ints[instruction.results[0].index] = IntOf(exprs[0], *values);
        return;
      case vm::Opcode::kCheck:
        TERN_CHECK(ValueOf(exprs[0], *values, "a condition") != 0)
            << "the model's shapes do not fit each other: " << instruction.text;
        return;
      case vm::Opcode::kAlloc: {
        std::vector<int64_t> shape = ValuesOf(exprs, 0, exprs.size(), *values);
        DataType dtype = function.tensors[instruction.results[0].index].dtype;
        result() = instruction.index > 0
                       ? Place{Home::kOutput, instruction.index - 1, 0, dtype, shape}
                       : NewMemory(dtype, shape);
        return;
      }
      case vm::Opcode::kView: {
        TERN_CHECK(instruction.index == 0)
            << "the model has a view with strides, which --executor=aot does not take";
        Place place = arg(0);
        place.offset += place.dtype.BytesOf(ValueOf(exprs[0], *values, "an offset"));
        place.shape = ValuesOf(exprs, 1, exprs.size(), *values);
        result() = std::move(place);
        return;
      }
      case vm::Opcode::kConst:
        result() = ConstantAt(instruction.index);
        return;
      case vm::Opcode::kCall:
        CallKernel(program_.kernels[instruction.index], instruction, *values);
        return;
      case vm::Opcode::kInvoke:
        Invoke(instruction, values);
        return;
      case vm::Opcode::kRead:
        values->ints[instruction.results[0].index] =
            ReadAt(arg(0), ValueOf(exprs[0], *values, "an element"));
        return;
      case vm::Opcode::kCopy:
        Copy(arg(0), arg(1));
        return;
      case vm::Opcode::kFree:
        return;
      case vm::Opcode::kCallPacked:
        return CallRegistered(instruction, *values);
      default:
        Unknown(std::string("the model has sequences (") + vm::NameOf(instruction.op) + ")");
    }
  }

  // Unknown where a part of it is.
  static std::optional<int64_t> IntOf(const vm::IntExpr& expr, const Values& values) {
    std::vector<int64_t> registers;
    for (const vm::IntToken& token : expr.tokens)
      if (token.op == vm::IntOp::kRegister && !values.ints[static_cast<size_t>(token.value)])
        return std::nullopt;
    for (const std::optional<int64_t>& value : values.ints) registers.push_back(value.value_or(0));
    return vm::ValueOf(expr, registers.data());
  }

  Place NewMemory(DataType dtype, std::vector<int64_t> shape) {
    Place place{Home::kMemory, memories.size(), 0, dtype, std::move(shape)};
    memories.push_back(BytesOf(place));
    return place;
  }

  Place ConstantAt(uint32_t index) {
    auto known = constants_.find(index);
    if (known != constants_.end()) return known->second;
    const vm::Constant& constant = program_.constants[index];
    if (constant.source == vm::ConstantSource::kMade) {
      MakeConstants(index);
      return constants_.at(index);
    }
    Place place{Home::kWeights, 0, weights_.Add(constant), constant.dtype, constant.shape};
    constants_[index] = place;
    return place;
  }

  // What is not packed by now is packed where it is used first.
  void MakeConstants(uint32_t index) {
    for (const vm::Prepack& prepack : program_.prepack) {
      if (std::find(prepack.constants.begin(), prepack.constants.end(), index) ==
          prepack.constants.end())
        continue;
      const runtime::FunctionInfo& info = *functions_.at(prepack.function);
      Call call{prepack.function, {}};
      for (size_t i = 0; i < prepack.constants.size(); ++i) {
        uint32_t one = prepack.constants[i];
        const vm::Constant& constant = program_.constants[one];
        if (constant.source == vm::ConstantSource::kMade && !constants_.contains(one))
          constants_[one] = NewMemory(constant.dtype, constant.shape);
        call.arguments.push_back({ConstantAt(one), info.params[i].is_output});
      }
      calls.push_back(std::move(call));
      return;
    }
    TERN_ICHECK(false) << "nothing makes the constant " << program_.constants[index].name;
  }

  void CallKernel(const std::string& name, const vm::Instruction& instruction,
                  const Values& values) {
    const runtime::FunctionInfo& info = *functions_.at(name);
    TERN_CHECK(info.device.empty())
        << "--executor=aot: " << name << " runs on the host, and the model on a device";
    Call call{name, {}};
    for (size_t i = 0; i < instruction.args.size(); ++i)
      call.arguments.push_back({ArgumentOf(instruction.args[i], values), info.params[i].is_output});
    calls.push_back(std::move(call));
  }

  // What it writes is not known.
  void CallRegistered(const vm::Instruction& instruction, const Values& values) {
    TERN_CHECK(instruction.results.empty())
        << "--executor=aot: the result of " << instruction.text << " is not known ahead of time";
    Call call{instruction.text, {}};
    for (const vm::Operand& arg : instruction.args)
      call.arguments.push_back({ArgumentOf(arg, values), true});
    calls.push_back(std::move(call));
  }

  std::variant<Place, int64_t, double> ArgumentOf(const vm::Operand& arg,
                                                  const Values& values) const {
    switch (arg.kind) {
      case vm::OperandKind::kTensor:
        return values.tensors[arg.index];
      case vm::OperandKind::kInt:
        if (!values.ints[arg.index]) Unknown("the model passes a number that depends on data");
        return *values.ints[arg.index];
      case vm::OperandKind::kConstInt:
        return arg.integer;
      case vm::OperandKind::kConstFloat:
        return arg.number;
      case vm::OperandKind::kList:
        break;
    }
    Unknown("the model has sequences");
  }

  void Invoke(const vm::Instruction& instruction, Values* values) {
    Values given;
    for (const vm::Operand& arg : instruction.args) {
      if (arg.kind == vm::OperandKind::kInt) given.ints.push_back(values->ints[arg.index]);
      if (arg.kind == vm::OperandKind::kConstInt) given.ints.emplace_back(arg.integer);
      if (arg.kind == vm::OperandKind::kTensor) given.tensors.push_back(values->tensors[arg.index]);
      if (arg.kind == vm::OperandKind::kList) Unknown("the model has sequences");
    }
    Values results = Follow(instruction.index, std::move(given));
    size_t ints = 0, tensors = 0;
    for (const vm::Operand& one : instruction.results)
      if (one.kind == vm::OperandKind::kInt)
        values->ints[one.index] = results.ints[ints++];
      else
        values->tensors[one.index] = results.tensors[tensors++];
  }

  // Elements of constants are known.
  std::optional<int64_t> ReadAt(const Place& place, int64_t element) {
    if (place.home != Home::kWeights) return std::nullopt;
    const char* from = weights_.bytes().data() + place.offset + element * place.dtype.bytes();
    auto load = [&]<class T>(T value) {
      std::memcpy(&value, from, sizeof value);
      return static_cast<int64_t>(value);
    };
    bool is_signed = place.dtype.is_int();
    switch (place.dtype.bytes()) {
      case 1:
        return is_signed ? load(int8_t{}) : load(uint8_t{});
      case 2:
        return is_signed ? load(int16_t{}) : load(uint16_t{});
      case 4:
        return is_signed ? load(int32_t{}) : load(uint32_t{});
      default:
        return load(int64_t{});
    }
  }

  void Copy(Place from, Place to) {
    int64_t count = CountOf(from.shape);
    if (count == 0) return;
    std::string name = "copy_" + from.dtype.str() + "_" + std::to_string(count);
    if (!copies.contains(name)) {
      tir::Tensor source = tir::Input("from", from.dtype, {count});
      tir::Tensor copy = tir::Compute(
          "to", {Expr(count)}, [&](const std::vector<tir::Var>& i) { return source.At({i[0]}); });
      copies[name] = tir::MakeFunction(name, {source, copy});
    }
    from.shape = to.shape = {count};
    calls.push_back({name, {{std::move(from), false}, {std::move(to), true}}});
  }

  const AotInput& input_;
  const vm::Program& program_;
  WeightsWriter& weights_;
  std::map<std::string, const runtime::FunctionInfo*> functions_;
  std::map<uint32_t, Place> constants_;
  size_t steps_ = 0;
};

// ---- Memory

// Pieces of memory, and where in them the tensors between the calls are.
struct MemoryLayout {
  std::vector<int64_t> pieces;                     // bytes
  std::vector<std::pair<size_t, int64_t>> places;  // by tensor: piece and offset
};

std::vector<vm::PlanItem> ItemsOf(const Follower& follower) {
  std::vector<vm::PlanItem> items;
  for (uint64_t bytes : follower.memories) items.push_back({bytes, {}});
  for (uint32_t at = 0; at < follower.calls.size(); ++at)
    for (const Argument& argument : follower.calls[at].arguments) {
      const auto* place = std::get_if<Place>(&argument.value);
      if (!place || place->home != Home::kMemory) continue;
      vm::Lifetime& lifetime = items[place->number].lifetime;
      lifetime.first = std::min(lifetime.first, at);
      lifetime.last = std::max(lifetime.last, at);
    }
  return items;
}

// One piece.
MemoryLayout PlanArena(const Follower& follower) {
  vm::Plan plan = vm::MakePlan(ItemsOf(follower));
  MemoryLayout layout;
  layout.pieces = {static_cast<int64_t>(plan.bytes)};
  for (uint64_t offset : plan.offsets) layout.places.emplace_back(0, static_cast<int64_t>(offset));
  return layout;
}

// A piece for each tensor that lives at the same time: what is written and what is read are never
// in one, which some devices refuse.
MemoryLayout PlanPieces(const Follower& follower) {
  std::vector<vm::PlanItem> items = ItemsOf(follower);
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return items[a].bytes > items[b].bytes; });
  MemoryLayout layout;
  layout.places.resize(items.size());
  std::vector<std::vector<vm::Lifetime>> taken;
  for (size_t i : order) {
    size_t piece = 0;
    auto overlaps = [&](const vm::Lifetime& other) { return other.Overlaps(items[i].lifetime); };
    while (piece < taken.size() && std::any_of(taken[piece].begin(), taken[piece].end(), overlaps))
      ++piece;
    if (piece == taken.size()) {
      taken.emplace_back();
      layout.pieces.push_back(0);
    }
    taken[piece].push_back(items[i].lifetime);
    layout.pieces[piece] = std::max(layout.pieces[piece], static_cast<int64_t>(items[i].bytes));
    layout.places[i] = {piece, 0};
  }
  return layout;
}

// ---- The function

class FunctionWriter {
 public:
  FunctionWriter(const AotInput& input, const Follower& follower, int64_t weights_bytes)
      : input_(input), follower_(follower), weights_bytes_(weights_bytes) {
    bool has_addresses = !input.target->is_device() || input.target->kind->has_addresses;
    layout_ = has_addresses ? PlanArena(follower) : PlanPieces(follower);
  }

  int64_t memory_bytes() const {
    int64_t bytes = 0;
    for (int64_t piece : layout_.pieces) bytes += piece;
    return bytes;
  }

  tir::PrimFunc Write() {
    std::vector<tir::Param> params;
    auto add = [&](const vm::Port& port, std::vector<ir::Buffer>* buffers) {
      std::vector<Expr> shape;
      for (int64_t extent : Follower::ShapeOf(port)) shape.emplace_back(extent);
      buffers->push_back(ir::BufferNode::Make(UniqueName(port.name), port.dtype, shape));
      params.push_back(ParamOf(buffers->back()));
    };
    for (const vm::Port& port : input_.program.inputs) add(port, &inputs_);
    for (const vm::Port& port : input_.program.outputs) add(port, &outputs_);
    if (input_.where == AotWeights::kArgument && weights_bytes_ > 0) {
      weights_ = ByteBuffer("weights", weights_bytes_);
      params.push_back(ParamOf(weights_));
    }
    for (size_t i = 0; i < layout_.pieces.size(); ++i)
      memory_.push_back(ByteBuffer("memory" + (i == 0 ? "" : std::to_string(i)),
                                   std::max<int64_t>(layout_.pieces[i], 1)));
    std::vector<tir::Stmt> calls;
    for (const Call& call : follower_.calls) calls.push_back(Write(call));
    tir::Stmt body = tir::SeqNode::Make(calls);
    if (memory_bytes() > 0)
      for (size_t i = memory_.size(); i-- > 0;) body = tir::AllocateNode::Make(memory_[i], body);
    return tir::PrimFunc::Make(input_.name, params, body);
  }

 private:
  static tir::Param ParamOf(const ir::Buffer& buffer) { return {buffer->data, buffer}; }

  ir::Buffer ByteBuffer(const std::string& name, int64_t bytes) {
    auto buffer = ffi::Make<ir::BufferNode>(
        *ir::BufferNode::Make(UniqueName(name), DataType::UInt(8), {Expr(bytes)}));
    buffer->alignment = kAlignment;
    return ir::Buffer(buffer.get());
  }

  // Of letters, digits and _.
  std::string UniqueName(const std::string& name) {
    std::string legal;
    for (char c : name) legal += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    if (legal.empty() || std::isdigit(static_cast<unsigned char>(legal[0]))) legal = "_" + legal;
    while (!names_.insert(legal).second) legal += "_";
    return legal;
  }

  tir::Stmt Write(const Call& call) {
    bool is_inside = call.function.find('.') == std::string::npos;
    std::vector<Expr> args{ir::StringImmNode::Make(call.function)};
    for (const Argument& argument : call.arguments) {
      if (const auto* place = std::get_if<Place>(&argument.value))
        args.push_back(TensorOf(*place, argument.is_written));
      else if (const auto* integer = std::get_if<int64_t>(&argument.value))
        args.emplace_back(*integer);
      else
        args.push_back(
            ir::FloatImmNode::Make(DataType::Float(64), std::get<double>(argument.value)));
    }
    return tir::EvaluateNode::Make(ir::CallNode::Make(
        is_inside ? intrinsic::kCallFunction : intrinsic::kCallPacked, std::move(args)));
  }

  Expr TensorOf(const Place& place, bool is_written) {
    std::vector<Expr> args{ir::StringImmNode::Make(place.dtype.str()), AddressOf(place)};
    for (int64_t extent : place.shape) args.emplace_back(extent);
    return ir::CallNode::Make(is_written ? intrinsic::kTensorOut : intrinsic::kTensorIn,
                              std::move(args));
  }

  Expr AddressOf(const Place& place) {
    switch (place.home) {
      case Home::kInput:
        return ElementOf(inputs_[place.number], place.offset / place.dtype.bytes());
      case Home::kOutput:
        return ElementOf(outputs_[place.number], place.offset / place.dtype.bytes());
      case Home::kMemory: {
        auto [piece, offset] = layout_.places[place.number];
        return ElementOf(memory_[piece], offset + place.offset);
      }
      case Home::kWeights:
        break;
    }
    if (input_.where == AotWeights::kArgument) return ElementOf(weights_, place.offset);
    return ir::CallNode::Make(
        intrinsic::kPtrAdd,
        {ir::CallNode::Make(intrinsic::kSymbolAddress,
                            {ir::StringImmNode::Make(kAotWeightsSymbol), Expr(weights_bytes_)}),
         Expr(place.offset)});
  }

  // The address of the element of that number, in row-major order.
  static Expr ElementOf(const ir::Buffer& buffer, int64_t number) {
    std::vector<Expr> indices(buffer->shape.size());
    for (size_t d = indices.size(); d-- > 0;) {
      int64_t extent = std::max<int64_t>(*ir::AsConstInt(buffer->shape[d]), 1);
      indices[d] = Expr(d == 0 ? number : number % extent);
      number /= extent;
    }
    return ir::CallNode::Make(intrinsic::kAddressOf,
                              {ir::BufferLoadNode::Make(buffer, std::move(indices))});
  }

  const AotInput& input_;
  const Follower& follower_;
  int64_t weights_bytes_;
  MemoryLayout layout_;
  std::set<std::string> names_;
  std::vector<ir::Buffer> inputs_, outputs_, memory_;
  ir::Buffer weights_;
};

// ---- The program of the file

vm::Program ProgramOf(const AotInput& input, const WeightsWriter& weights, int64_t weights_bytes,
                      AotModel* model) {
  vm::Program program;
  program.inputs = input.program.inputs;
  program.outputs = input.program.outputs;
  vm::Function main;
  main.name = "main";
  main.params.tensors = static_cast<uint32_t>(program.inputs.size());
  main.results.tensors = static_cast<uint32_t>(program.outputs.size());
  for (const vm::Port& port : program.inputs)
    main.AddTensor(port.dtype, static_cast<uint32_t>(port.shape.size()));
  vm::Instruction call{.op = vm::Opcode::kCall, .index = program.Kernel(input.name)};
  vm::Instruction ret{.op = vm::Opcode::kRet};
  for (uint32_t i = 0; i < program.inputs.size(); ++i) call.args.push_back(vm::Operand::Tensor(i));
  for (uint32_t i = 0; i < program.outputs.size(); ++i) {
    const vm::Port& port = program.outputs[i];
    auto tensor =
        vm::Operand::Tensor(main.AddTensor(port.dtype, static_cast<uint32_t>(port.shape.size())));
    main.code.push_back(
        {.op = vm::Opcode::kAlloc, .index = i + 1, .results = {tensor}, .exprs = port.shape});
    call.args.push_back(tensor);
    ret.args.push_back(tensor);
  }
  if (input.where == AotWeights::kArgument && weights_bytes > 0) {
    auto tensor = vm::Operand::Tensor(main.AddTensor(DataType::UInt(8), 1));
    main.code.push_back({.op = vm::Opcode::kConst, .index = 0, .results = {tensor}});
    call.args.push_back(tensor);
    program.constants.push_back({kAotWeightsSymbol, DataType::UInt(8), {weights_bytes}});
    model->program_weights.push_back(
        ir::Constant::Owned(kAotWeightsSymbol, DataType::UInt(8), {weights_bytes}, model->weights));
  }
  main.code.push_back(std::move(call));
  main.code.push_back(std::move(ret));
  program.functions.push_back(std::move(main));
  // Defaults of inputs.
  for (const vm::Constant& constant : input.program.constants)
    for (const vm::Port& port : program.inputs) {
      if (constant.name != port.name) continue;
      program.constants.push_back(constant);
      if (constant.source == vm::ConstantSource::kWeights)
        model->program_weights.push_back(weights.Get(constant.name));
    }
  return program;
}

}  // namespace

AotModel MakeAot(const AotInput& input) {
  WeightsWriter weights(input.weights);
  Follower follower(input, &weights);
  follower.Run();
  auto bytes = static_cast<int64_t>(weights.bytes().size());
  TERN_CHECK(input.where == AotWeights::kArgument || weights.bytes().size() <= kMostLinkedWeights)
      << "the model has " << bytes << " bytes of weights; up to " << kMostLinkedWeights
      << " can be linked with the code. Make a .tern file, or leave --executor=aot away: the "
         "runtime reads weights of any size";
  FunctionWriter writer(input, follower, bytes);
  AotModel model;
  std::vector<ir::BaseFunc> functions{writer.Write()};
  for (const auto& [name, copy] : follower.copies) functions.emplace_back(copy);
  model.functions = ir::IRModule::Make(functions);
  for (const Call& call : follower.calls) model.called.insert(call.function);
  model.memory_bytes = writer.memory_bytes();
  model.weights = std::move(weights.bytes());
  model.program = ProgramOf(input, weights, bytes, &model);
  return model;
}

}  // namespace tern
