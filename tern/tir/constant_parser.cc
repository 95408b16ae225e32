// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/constant_parser.h"

#include "tern/arith/analyzer.h"

namespace tern::tir {
namespace {

// After the name. Only constants and intrinsics are known there.
ExprParser::Value ParseScalar(ExprParser& parser, const std::string& name,
                              std::optional<DataType> dtype, const Span& span) {
  parser.ForgetSymbols();
  parser.Expect("=");
  ExprParser::Value value = parser.ParseExpr();
  if (dtype) {
    parser.Convert(&value, *dtype);
    if (value.expr.dtype() != *dtype)
      parser.Fail(span,
                  name + " is " + dtype->str() + ", but its value is " + value.expr.dtype().str());
    value.literal = false;
  }
  if (value.expr.dtype().is_integer()) {
    Expr simple = parser.Located(span, [&] { return arith::Analyzer().Simplify(value.expr); });
    if (!ir::AsConstInt(simple)) parser.Fail(span, "the value of " + name + " is no constant");
    value.expr = simple;
  }
  return value;
}

ir::Constant ParseFileContent(ExprParser& parser, SourceFiles* files, const std::string& name,
                              DataType dtype, const std::vector<int64_t>& shape, const Span& span) {
  parser.Expect("(");
  Span file_at = parser.Peek().span;
  std::string file = parser.ExpectString("the name of a file, as a string");
  int64_t offset = parser.Accept(",") ? parser.ParseInteger(false) : 0;
  parser.Expect(")");
  std::optional<std::filesystem::path> directory = files->DirectoryOf(file_at);
  if (!directory) parser.Fail(file_at, "a text that is no file names a file of elements");
  auto mapped = parser.Located(file_at, [&] { return files->Map(*directory, file); });
  return parser.Located(
      span, [&] { return ir::Constant::InFile(name, dtype, shape, mapped, file, offset, span); });
}

// In row-major order, up to and with the bracket.
std::string ParseElements(ExprParser& parser, const std::string& name, DataType dtype,
                          const std::vector<int64_t>& shape, const Span& span) {
  std::vector<Expr> elements;
  parser.CommaList("]", [&] { elements.push_back(parser.ParseElement(dtype)); });
  int64_t count = 1;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count)) count = -1;
  if (count != static_cast<int64_t>(elements.size()))
    parser.Fail(span, "constant " + name + " has " + std::to_string(count) + " elements, but " +
                          std::to_string(elements.size()) + " are given");
  std::string bytes(dtype.BytesOf(count), '\0');
  for (int64_t i = 0; i < count; ++i) ir::StoreElement(dtype, elements[i], bytes.data(), i);
  return bytes;
}

std::string ParseHex(ExprParser& parser) {
  Span span = parser.Peek().span;
  std::string digits = parser.ExpectString("the bytes of the elements, as a string of hex digits");
  auto value_of = [&](char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    parser.Fail(span, "expected two of the digits 0 to 9 and a to f for each byte");
  };
  if (digits.size() % 2 != 0) digits += ' ';
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(value_of(digits[i]) << 4 | value_of(digits[i + 1]));
  return bytes;
}

// Behind the type of its elements.
ir::Constant ParseTensor(ExprParser& parser, SourceFiles* files, const std::string& name,
                         DataType dtype, const Span& span) {
  std::vector<int64_t> shape;
  parser.Expect("[");
  parser.CommaList("]", [&] { shape.push_back(parser.ParseInteger(false)); });
  parser.Expect("=");
  Span content = parser.Peek().span;
  if (parser.Accept("file")) return ParseFileContent(parser, files, name, dtype, shape, span);
  if (parser.Accept("splat")) {
    parser.Expect("(");
    Expr value = parser.ParseElement(dtype);
    parser.Expect(")");
    return parser.Located(span,
                          [&] { return ir::Constant::Splat(name, dtype, shape, value, span); });
  }
  std::string bytes;
  if (parser.Accept("hex")) {
    parser.Expect("(");
    bytes = ParseHex(parser);
    parser.Expect(")");
  } else if (parser.Accept("[")) {
    bytes = ParseElements(parser, name, dtype, shape, content);
  } else {
    parser.Unexpected("file(\"name\", offset), splat(x), [x, ...] or hex(\"...\")");
  }
  return parser.Located(
      span, [&] { return ir::Constant::Owned(name, dtype, shape, std::move(bytes), span); });
}

}  // namespace

ConstantItem ParseConstant(ExprParser& parser, SourceFiles* files) {
  parser.Next();
  ConstantItem item;
  item.span = parser.Peek().span;
  item.name = parser.ExpectNewName("a constant's name");
  if (parser.Is("=")) {
    item.scalar = ParseScalar(parser, item.name, {}, item.span);
    return item;
  }
  parser.Expect(":");
  DataType dtype = DataType::Parse(parser.Peek().text).value_or(DataType::Void());
  if (!dtype.is_scalar() || dtype.is_handle()) parser.Unexpected("a type of numbers, or bool");
  parser.Next();
  if (parser.Is("[")) {
    item.tensor = ParseTensor(parser, files, item.name, dtype, item.span);
  } else {
    item.scalar = ParseScalar(parser, item.name, dtype, item.span);
  }
  return item;
}

}  // namespace tern::tir
