// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/argument_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <unordered_map>

#include "tern/ffi/any.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

// The routine itself, as C++: for the interpreter, and for the layout of the table.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#define TERN_CHECK_ARGUMENTS_LINKAGE static
namespace routine {
#include "tern/ffi/host_abi.inc"
#include "tern/tir/check_arguments.c"  // NOLINT(bugprone-suspicious-include)
}  // namespace routine
#undef TERN_CHECK_ARGUMENTS_LINKAGE
#pragma GCC diagnostic pop

static_assert(kUnpackArguments == routine::kTernUnpack);
static_assert(kCompareArguments == routine::kTernCompare);
constexpr size_t kWordBytes = sizeof(int64_t);
constexpr int64_t kHeadWords = sizeof(routine::TernArgumentHead) / kWordBytes;
constexpr int64_t kArgumentWords = sizeof(routine::TernArgument) / kWordBytes;
constexpr int64_t kPairWords = sizeof(routine::TernPair) / kWordBytes;
static_assert(sizeof(routine::TernNumber) == 2 * kWordBytes);

int64_t KindOf(DataType dtype) {
  return dtype.is_handle()  ? routine::kTernTakesHandle
         : dtype.is_float() ? routine::kTernTakesFloat
         : dtype.is_bool()  ? routine::kTernTakesBool
         : dtype.is_uint()  ? routine::kTernTakesUInt
                            : routine::kTernTakesInt;
}

class TableMaker {
 public:
  TableMaker(const PrimFunc& function, const ArgumentFacts& facts)
      : function_(function), facts_(facts) {}

  ArgumentTable Run() {
    const std::vector<Param>& params = function_->params;
    // A tensor has two slots more, which the routine alone uses.
    for (const Param& param : params) {
      table_.values.push_back(NewSlot());
      if (param.is_tensor()) NewSlot(), NewSlot();
      bool has_offset = param.is_tensor() && !facts_.has_addresses;
      table_.offsets.push_back(has_offset ? NewSlot() : -1);
      if (!param.is_tensor()) slots_[param.var.node()] = table_.values.back();
      if (!param.is_tensor()) texts_[table_.values.back()] = Text(param.name());
    }
    // That of the tensors; without any the function runs on device 0.
    bool has_tensors = std::any_of(params.begin(), params.end(),
                                   [](const Param& param) { return param.is_tensor(); });
    if (has_tensors && facts_.device_type != kTernDeviceCpu) table_.device = NewSlot();
    // Extents first: an offset may use variables that any of them defines.
    is_simple_ = facts_.has_addresses;
    std::vector<std::vector<Expr>> shapes;
    for (const Param& param : params) {
      shapes.emplace_back();
      if (!param.is_tensor()) continue;
      for (const Expr& extent : param.buffer->shape) AddNumber(extent, true, &shapes.back());
      for (const Expr& stride : param.buffer->strides) AddNumber(stride, true, &shapes.back());
    }
    std::vector<Expr> rows, pairs = Pairs();
    for (size_t i = 0; i < params.size(); ++i) AddRow(i, shapes[i], &rows);

    int64_t flags = (facts_.has_addresses ? routine::kTernHasAddresses : 0) |
                    (facts_.device_type == kTernDeviceCpu ? routine::kTernIsHost : 0) |
                    (is_simple_ ? routine::kTernIsSimple : 0) |
                    (has_scalars_ ? routine::kTernHasScalars : 0);
    table_.num_slots = static_cast<int64_t>(texts_.size());
    table_.words = {Text(function_->name),
                    static_cast<int64_t>(params.size()),
                    static_cast<int64_t>(facts_.device_type),
                    Text(facts_.device),
                    flags,
                    table_.device,
                    table_.num_slots,
                    static_cast<int64_t>(pairs.size()) / kPairWords};
    TERN_ICHECK(table_.words.size() == kHeadWords);
    for (const std::vector<Expr>& more : {texts_, rows, pairs})
      table_.words.insert(table_.words.end(), more.begin(), more.end());
    return std::move(table_);
  }

 private:
  static Expr Text(const std::string& text) { return ir::StringImmNode::Make(text); }

  int64_t NewSlot(const Expr& text = 0) {
    texts_.push_back(text);
    return static_cast<int64_t>(texts_.size()) - 1;
  }

  // A variable that is not known yet is defined, by a number that may define one.
  void AddNumber(const Expr& number, bool defines, std::vector<Expr>* words) {
    int64_t kind = routine::kTernInSlot, value = 0;
    const auto* var = number.As<VarNode>();
    if (std::optional<int64_t> constant = ir::AsConstInt(number)) {
      kind = routine::kTernConstant;
      value = *constant;
    } else if (auto known = slots_.find(var); var && known != slots_.end()) {
      value = known->second;
    } else {
      value = NewSlot(Text(Print(number)));
      if (var && defines) {
        kind = routine::kTernSetsSlot;
        slots_[var] = value;
        table_.variables.emplace_back(Var(var), value);
      } else {
        table_.computed.emplace_back(number, value);
      }
    }
    words->push_back(kind);
    words->push_back(value);
  }

  static std::optional<int64_t> NumElements(const Buffer& buffer) {
    int64_t elements = 1;
    for (const Expr& extent : buffer->shape) {
      std::optional<int64_t> constant = ir::AsConstInt(extent);
      if (!constant || __builtin_mul_overflow(elements, *constant, &elements)) return std::nullopt;
    }
    return elements;
  }

  // Any two tensors of which one is written.
  std::vector<Expr> Pairs() const {
    std::vector<Expr> pairs;
    const std::vector<Param>& params = function_->params;
    for (size_t i = 0; i < params.size(); ++i)
      for (size_t j = i + 1; j < params.size(); ++j)
        if (facts_.must_be_apart && params[i].is_tensor() && params[j].is_tensor() &&
            (facts_.tensors[i].is_written || facts_.tensors[j].is_written))
          pairs.insert(pairs.end(), {table_.values[i], table_.values[j]});
    return pairs;
  }

  void AddRow(size_t i, const std::vector<Expr>& shape, std::vector<Expr>* rows) {
    const Param& param = function_->params[i];
    DataType dtype = param.is_tensor() ? param.buffer->dtype : param.var.dtype();
    std::vector<Expr> offset;
    int64_t bits = dtype.bits(), rank = 0, element_bytes = 0, flags = 0, bytes = 0;
    has_scalars_ |= !param.is_tensor();
    if (param.is_tensor()) {
      TernDType raw = dtype.raw();
      bits = raw.code | raw.bits << 8 | static_cast<int64_t>(raw.lanes) << 16;
      rank = static_cast<int64_t>(param.buffer->shape.size());
      element_bytes = dtype.bytes();
      std::optional<int64_t> elements = NumElements(param.buffer);
      bytes = elements.value_or(0) * element_bytes;
      flags = (param.buffer->strides.empty() ? 0 : routine::kTernHasStrides) |
              (facts_.tensors[i].takes_no_offset ? routine::kTernTakesNoOffset : 0) |
              (elements ? routine::kTernIsStatic : 0);
      is_simple_ &= param.buffer->strides.empty() && !param.buffer->offset;
      AddNumber(param.buffer->offset ? param.buffer->offset : Expr(0), false, &offset);
    }
    std::vector<Expr> row = {
        kArgumentWords + static_cast<int64_t>(offset.size() + shape.size()),
        Text(param.name()),
        Text(dtype.str()),
        param.is_tensor() ? static_cast<int64_t>(routine::kTernTakesTensor) : KindOf(dtype),
        table_.values[i],
        bits,
        rank,
        param.is_tensor() ? std::max<int64_t>(1, facts_.tensors[i].alignment) : 1,
        element_bytes,
        flags,
        table_.offsets[i],
        bytes};
    TERN_ICHECK(row.size() == kArgumentWords);
    for (const std::vector<Expr>& part : {row, offset, shape})
      rows->insert(rows->end(), part.begin(), part.end());
  }

  const PrimFunc& function_;
  const ArgumentFacts& facts_;
  ArgumentTable table_;
  bool is_simple_ = true, has_scalars_ = false;
  std::vector<Expr> texts_;  // by slot; 0: none
  std::unordered_map<const VarNode*, int64_t> slots_;
};

// The routine's environment.
struct Catcher {
  routine::TernEnv env{};
  std::string kind, message;
};

void Catch(const routine::TernEnv* env, const char* kind, const routine::TernAny* parts,
           int32_t num_parts) {
  auto* catcher = static_cast<Catcher*>(env->module);
  catcher->kind = kind;
  for (const routine::TernAny& part : std::span(parts, static_cast<size_t>(num_parts)))
    catcher->message += part.type_index == kTernRawStr ? part.v.s
                        : part.type_index == kTernInt
                            ? std::to_string(part.v.i)
                            : ffi::Describe(*static_cast<const TernAny*>(part.v.p));
}

}  // namespace

ArgumentTable MakeArgumentTable(const PrimFunc& function, const ArgumentFacts& facts) {
  return TableMaker(function, facts).Run();
}

TableData ReadTable(const ir::CallNode* call) {
  TableData data;
  std::map<std::string, int64_t> places;
  auto num_words = static_cast<int64_t>(call->args.size() - kArgumentTableWords);
  for (size_t i = kArgumentTableWords; i < call->args.size(); ++i) {
    const auto* text = call->args[i].As<ir::StringImmNode>();
    if (!text) {
      data.words.push_back(*ir::AsConstInt(call->args[i]));
      continue;
    }
    auto [place, is_new] =
        places.try_emplace(text->value, num_words * static_cast<int64_t>(kWordBytes) +
                                            static_cast<int64_t>(data.texts.size()));
    if (is_new) data.texts += text->value + '\0';
    data.words.push_back(place->second);
  }
  return data;
}

void CheckArgumentsHere(const TernAny* args, int32_t num_args, void* slots, const TableData& table,
                        int32_t steps) {
  std::vector<int64_t> bytes(table.words.size() + table.texts.size() / kWordBytes + 1);
  std::memcpy(bytes.data(), table.words.data(), table.words.size() * kWordBytes);
  std::memcpy(bytes.data() + table.words.size(), table.texts.data(), table.texts.size());
  Catcher catcher;
  catcher.env.module = &catcher;
  catcher.env.raise = Catch;
  static_assert(sizeof(TernAny) == sizeof(routine::TernAny));
  if (routine::tern_check_arguments(&catcher.env, reinterpret_cast<const routine::TernAny*>(args),
                                    num_args, slots, bytes.data(), steps) != 0)
    throw Error(catcher.kind, catcher.message);
}

}  // namespace tern::tir
