// SPDX-License-Identifier: Apache-2.0
//
// Sequences and optionals. What they are made of is known when compiling, so that none of their
// operators computes anything: they choose among tensors. Strings are known too, and what numbers
// are made of them.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "tern/frontend/onnx/converter_table.h"

namespace tern::frontend::onnx {

Items ItemsOf(const Values& values) { return {values.begin(), values.end()}; }

Values Flattened(const Items& items) {
  Values tensors;
  for (const Item& item : items) {
    if (item.is_tensor()) {
      tensors.push_back(item.tensor);
      continue;
    }
    Values inner = Flattened(item.elements);
    tensors.insert(tensors.end(), inner.begin(), inner.end());
  }
  return tensors;
}

namespace {

Item StructuredFrom(const Item& like, const Values& tensors, size_t* next) {
  if (like.is_tensor()) return tensors[(*next)++];
  Item item = like;
  item.elements.clear();
  for (const Item& element : like.elements)
    item.elements.push_back(StructuredFrom(element, tensors, next));
  return item;
}

}  // namespace

Items Structured(const Items& like, const Values& tensors) {
  Items items;
  size_t next = 0;
  for (const Item& one : like) items.push_back(StructuredFrom(one, tensors, &next));
  return items;
}

bool SameStructure(const Items& a, const Items& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Item& x, const Item& y) {
    return x.kind == y.kind && x.strings == y.strings && SameStructure(x.elements, y.elements);
  });
}

std::string ItemText(const Item& item) {
  if (item.kind == Item::Kind::kStrings) return "a tensor of strings";
  if (item.kind == Item::Kind::kSequence)
    return "a sequence of " + std::to_string(item.elements.size());
  if (item.kind == Item::Kind::kOptional)
    return item.elements.empty() ? "an optional without an element"
                                 : "an optional of " + ItemText(item.elements[0]);
  return item.tensor ? item.tensor->type.str() : "nothing";
}

namespace {

using Kind = Item::Kind;

// The elements of an input that is a sequence.
Items SequenceInput(NodeContext& n, size_t i) {
  Item item = n.item(i);
  TERN_CHECK(item.kind == Kind::kSequence)
      << "input " << i << " is " << ItemText(item) << "; a sequence is expected";
  return item.elements;
}

// A place in a sequence of that size: -1 is the last. `otherwise` where the input is not given.
int64_t Position(NodeContext& n, size_t i, int64_t size, int64_t otherwise) {
  if (!n.input(i)) return otherwise;
  std::optional<int64_t> known = graph::KnownScalar(n.input(i));
  if (!known)
    throw UnknownStructure(
        "a position in a sequence has to be known when compiling; it is computed from the data");
  int64_t place = *known < 0 ? *known + size : *known;
  TERN_CHECK(place >= 0 && place <= otherwise)
      << "a sequence of " << size << " has no position " << *known;
  return place;
}

}  // namespace

Items PassThrough(NodeContext& n) { return {n.item(0)}; }

// ---- Sequences

Items SequenceEmpty(NodeContext&) { return {Item(Kind::kSequence, {})}; }

Items SequenceConstruct(NodeContext& n) {
  for (size_t i = 0; i < n.items().size(); ++i) n.InputType(i);
  return {Item(Kind::kSequence, n.items())};
}

Items SequenceAt(NodeContext& n) {
  Items elements = SequenceInput(n, 0);
  auto size = static_cast<int64_t>(elements.size());
  TERN_CHECK(size > 0) << "the sequence is empty";
  return {elements[static_cast<size_t>(Position(n, 1, size, size - 1))]};
}

Items SequenceInsert(NodeContext& n) {
  Items elements = SequenceInput(n, 0);
  n.InputType(1);
  auto size = static_cast<int64_t>(elements.size());
  elements.insert(elements.begin() + Position(n, 2, size, size), n.item(1));
  return {Item(Kind::kSequence, std::move(elements))};
}

Items SequenceErase(NodeContext& n) {
  Items elements = SequenceInput(n, 0);
  auto size = static_cast<int64_t>(elements.size());
  TERN_CHECK(size > 0) << "the sequence is empty";
  elements.erase(elements.begin() + Position(n, 1, size, size - 1));
  return {Item(Kind::kSequence, std::move(elements))};
}

Items SequenceLength(NodeContext& n) {
  auto size = static_cast<double>(SequenceInput(n, 0).size());
  return {n.builder().Scalar(DataType::Int(64), size, "length")};
}

Items SequenceMap(NodeContext& n) {
  const Graph& body = n.InnerGraph("body");
  size_t size = SequenceInput(n, 0).size();
  Items outputs(body.outputs.size(), Item(Kind::kSequence, {}));
  for (size_t k = 0; k < size; ++k) {
    Items inputs;
    for (size_t i = 0; i < n.items().size(); ++i) {
      Item item = n.item(i);
      if (item.kind != Kind::kSequence) {
        inputs.push_back(item);
        continue;
      }
      TERN_CHECK(item.elements.size() == size)
          << "input " << i << " is " << ItemText(item) << "; the first one has " << size;
      inputs.push_back(item.elements[k]);
    }
    Items results = n.import_inner()(body, nullptr, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].elements.push_back(results[i]);
  }
  return outputs;
}

Items SplitToSequence(NodeContext& n) {
  const graph::TensorType& type = n.InputType(0);
  auto rank = static_cast<int64_t>(type.rank());
  int64_t axis = n.Int("axis", 0);
  TERN_CHECK(axis >= -rank && axis < rank) << "axis " << axis << " is none of rank " << rank;
  if (axis < 0) axis += rank;
  std::vector<int64_t> sizes;
  bool whole = n.input(1) && n.InputType(1).rank() == 1;  // the sizes of all
  if (n.input(1) && !n.input(1)->content)
    TERN_THROW(ValueError) << "input split has to be known when compiling; it is computed from the "
                           << "data";
  if (whole) {
    for (const ir::Expr& size : *n.input(1)->content) {
      std::optional<int64_t> known = ir::AsConstInt(size);
      TERN_CHECK(known) << "input split has to be known when compiling";
      sizes.push_back(*known);
    }
  } else {
    std::optional<int64_t> extent = ir::AsConstInt(type.shape[static_cast<size_t>(axis)]);
    std::optional<int64_t> size = n.input(1) ? graph::KnownScalar(n.input(1)) : 1;
    if (!extent || !size)
      TERN_THROW(ValueError) << "the extent that is split has to be known when compiling, as with "
                             << "--input-shape or --dim; x is " << type.str();
    TERN_CHECK(*size > 0) << "parts of " << *size << " elements";
    for (int64_t left = *extent; left > 0; left -= *size) sizes.push_back(std::min(left, *size));
  }
  Items parts;
  if (sizes.size() == 1) {
    parts.push_back(n.input(0));
  } else if (!sizes.empty()) {
    parts = ItemsOf(n.builder().Add(graph::GetOp("split"),
                                    {n.input(0), n.builder().Ints(sizes, "split")},
                                    {{"axis", ffi::Any(axis)}}, n.Options()));
  }
  if (!n.input(1) && !n.Int("keepdims", 1))
    for (Item& part : parts)
      part = n.Part("squeeze", {part.tensor, n.builder().Ints({axis}, "axes")});
  return {Item(Kind::kSequence, std::move(parts))};
}

Items ConcatFromSequence(NodeContext& n) {
  Values tensors = Flattened(SequenceInput(n, 0));
  TERN_CHECK(!tensors.empty()) << "the sequence is empty";
  int64_t axis = n.Int("axis", 0);
  if (n.Int("new_axis", 0))
    for (Value& tensor : tensors)
      tensor = n.Part("unsqueeze", {tensor, n.builder().Ints({axis}, "axes")});
  return ItemsOf(n.Emit("concat", tensors, {{"axis", ffi::Any(axis)}}));
}

// ---- Optionals

Items Optional(NodeContext& n) {
  Item item = n.item(0);
  bool is_given = !item.is_tensor() || item.tensor;
  return {Item(Kind::kOptional, is_given ? Items{item} : Items())};
}

Items OptionalGetElement(NodeContext& n) {
  Item item = n.item(0);
  if (item.kind != Kind::kOptional) {
    if (item.is_tensor()) n.InputType(0);
    return {item};
  }
  TERN_CHECK(!item.elements.empty()) << "the optional has no element";
  return item.elements;
}

Items OptionalHasElement(NodeContext& n) {
  Item item = n.item(0);
  bool has =
      item.kind == Kind::kOptional ? !item.elements.empty() : !item.is_tensor() || item.tensor;
  return {n.builder().Scalar(DataType::Bool(), has ? 1 : 0, "has_element")};
}

// ---- Strings

namespace {

const Tensor& StringsInput(NodeContext& n, size_t i) {
  TERN_CHECK(n.item(i).kind == Kind::kStrings)
      << "input " << i << " is " << ItemText(n.item(i)) << "; strings are expected";
  return *n.item(i).strings;
}

// Numbers in place of strings: equal ones for equal strings.
class StringNumbers {
 public:
  Value Of(NodeContext& n, const std::vector<std::string_view>& strings,
           const std::vector<int64_t>& dims, const std::string& wish) {
    std::vector<int64_t> ints;
    for (std::string_view text : strings)
      ints.push_back(
          numbers_.try_emplace(text, static_cast<int64_t>(numbers_.size())).first->second);
    std::string bytes(reinterpret_cast<const char*>(ints.data()), ints.size() * sizeof(int64_t));
    return n.builder().Constant(ir::Constant::Owned(n.builder().UnusedName(wish), DataType::Int(64),
                                                    dims, std::move(bytes)));
  }

 private:
  std::map<std::string_view, int64_t> numbers_;
};

ir::Expr ParsedNumber(std::string_view text, DataType dtype) {
  std::string copy(text);
  char* end = nullptr;
  ir::Expr number;
  if (dtype.is_integer()) {
    int64_t value = 0;
    auto [last, error] = std::from_chars(copy.data(), copy.data() + copy.size(), value);
    end = const_cast<char*>(error == std::errc() ? last : copy.data());
    number = ir::MakeConst(dtype, value);
  } else {
    number = ir::MakeConst(dtype, std::strtod(copy.c_str(), &end));
  }
  TERN_CHECK(!copy.empty() && end == copy.data() + copy.size())
      << "'" << copy << "' is no " << dtype.str();
  return number;
}

Items StringsAs(NodeContext& n, DataType dtype) {
  const Tensor& tensor = StringsInput(n, 0);
  TERN_CHECK((dtype.is_integer() || dtype.is_float()) && dtype.bytes() > 0)
      << "strings are cast to numbers, not to " << dtype.str();
  std::vector<std::string_view> strings = tensor.Strings();
  std::string bytes(strings.size() * static_cast<size_t>(dtype.bytes()), '\0');
  for (size_t i = 0; i < strings.size(); ++i)
    ir::StoreElement(dtype, ParsedNumber(strings[i], dtype), bytes.data(), static_cast<int64_t>(i));
  graph::Builder& builder = n.builder();
  return {builder.Constant(
      ir::Constant::Owned(builder.UnusedName("numbers"), dtype, tensor.dims, std::move(bytes)))};
}

}  // namespace

Value StringBytes(graph::Builder* builder, const std::vector<std::string_view>& strings,
                  std::vector<int64_t> dims, const std::string& wish) {
  size_t width = 1;
  for (std::string_view text : strings) width = std::max(width, text.size());
  constexpr size_t kMost = size_t{1} << 30;
  TERN_CHECK(strings.empty() || width <= kMost / strings.size())
      << strings.size() << " strings of up to " << width << " bytes take more than " << kMost;
  std::string bytes(strings.size() * width, '\0');
  for (size_t i = 0; i < strings.size(); ++i)
    std::copy(strings[i].begin(), strings[i].end(), bytes.data() + i * width);
  dims.push_back(static_cast<int64_t>(width));
  return builder->Constant(ir::Constant::Owned(builder->UnusedName(wish), DataType::UInt(8),
                                               std::move(dims), std::move(bytes)));
}

Value TextOf(NodeContext& n, const Value& x) {
  if (!x->constant)
    TERN_THROW(ValueError) << "a tensor that becomes strings has to be known when compiling; it is "
                              "computed from the data";
  const ir::ConstantNode& constant = *x->constant.get();
  std::vector<std::string> texts;
  for (int64_t i = 0; i < constant.num_elements(); ++i) {
    ir::Expr element = ir::LoadElement(constant.dtype, constant.data(), constant.is_splat ? 0 : i);
    char text[64];
    std::to_chars_result end{};
    const auto* number = element.As<ir::FloatImmNode>();
    if (!number)
      end = std::to_chars(text, std::end(text), *ir::AsConstInt(element));
    else if (constant.dtype == DataType::Float(64))
      end = std::to_chars(text, std::end(text), number->value);
    else
      end = std::to_chars(text, std::end(text), static_cast<float>(number->value));
    texts.emplace_back(text, end.ptr);
  }
  return StringBytes(&n.builder(), {texts.begin(), texts.end()}, constant.shape, "text");
}

Items ExtractStrings(NodeContext& n) {
  const Tensor& tensor = StringsInput(n, 0);
  TERN_CHECK(!tensor.dims.empty()) << "the input is an array";
  n.InputType(1);
  graph::Builder& b = n.builder();
  Value flat = n.Part("reshape", {n.input(1), b.Ints({-1}, "shape")});
  Value rows = StringBytes(&b, tensor.Strings(), tensor.dims, "strings");
  auto last = static_cast<int64_t>(tensor.dims.size()) - 1;
  Value chosen = n.Part("gather", {rows, flat}, {{"axis", ffi::Any(last)}});
  if (last > 0) return ItemsOf(n.Emit("identity", {chosen}));
  return ItemsOf(n.Emit("unsqueeze", {chosen, b.Ints({0}, "axes")}));
}

Items CastOfStrings(NodeContext& n) {
  if (static_cast<ElemType>(n.Int("to", 0)) == ElemType::kString) return {n.item(0)};
  std::optional<DataType> dtype = DataTypeOf(static_cast<ElemType>(n.Int("to", 0)));
  TERN_CHECK(dtype) << "strings are cast to numbers";
  return StringsAs(n, *dtype);
}

Items CastLikeOfStrings(NodeContext& n) {
  if (n.item(1).kind != Kind::kStrings) return StringsAs(n, n.InputType(1).dtype);
  if (n.item(0).kind == Kind::kStrings) return {n.item(0)};
  n.InputType(0);
  return {TextOf(n, n.input(0))};
}

Items EqualStrings(NodeContext& n) {
  StringNumbers numbers;
  Values operands;
  for (size_t i = 0; i < 2; ++i) {
    const Tensor& tensor = StringsInput(n, i);
    operands.push_back(numbers.Of(n, tensor.Strings(), tensor.dims, "strings"));
  }
  return ItemsOf(n.Emit("equal", operands));
}

Items LabelEncoderOfStrings(NodeContext& n) {
  const Tensor& tensor = StringsInput(n, 0);
  std::vector<std::string_view> keys;
  if (const Attribute* given = n.node().Find("keys_strings"))
    keys = given->strings;
  else if (given = n.node().Find("keys_tensor"); given && !given->tensors.empty())
    keys = given->tensors[0].Strings();
  StringNumbers numbers;
  Value x = numbers.Of(n, tensor.Strings(), tensor.dims, "strings");
  return ItemsOf(
      EncodedLabels(n, x, numbers.Of(n, keys, {static_cast<int64_t>(keys.size())}, "keys")));
}

}  // namespace tern::frontend::onnx
