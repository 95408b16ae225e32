// SPDX-License-Identifier: Apache-2.0
//
// What stands before the body of a function: parameters, types of buffers, attributes; and structs,
// which are lists of parameters.
#ifndef TERN_TIR_SIGNATURE_PARSER_H_
#define TERN_TIR_SIGNATURE_PARSER_H_

#include <map>
#include <string>
#include <vector>

#include "tern/tir/attributes.h"
#include "tern/tir/expr_parser.h"
#include "tern/tir/function.h"

namespace tern::tir {

// What is computed from constants is one; a constant of another type becomes an int64.
Expr FoldExtent(const Expr& extent);

class SignatureParser : public ExprParser {
 public:
  using ExprParser::ExprParser;

  std::string ExpectFunctionName(const char* what);
  // After the name: dtype[shape] strides(...) offset(...) align(...) in scope
  Buffer ParseBufferType(const std::string& name, DataType dtype, const Span& span);
  ir::Attrs ParseAttrs(AttrPlace place);
  std::string ParseThreadAxis(bool may_be_virtual);

  struct Params {
    std::vector<Param> params;
    std::map<std::string, Expr> defaults;  // of scalars, by name
  };
  // From the parenthesis on. Structs become their fields.
  Params ParseParams();

  struct Field {
    std::string name;
    DataType dtype;
    Expr default_value;  // or null
    Span span;
  };
  using Struct = std::vector<Field>;
  // struct Name { a: float32, b: int32 = 3 }
  bool AtStruct() const { return Is("struct") && Peek(1).kind == Token::Kind::kIdent; }
  void ParseStruct();

 protected:
  StorageScope ParseScope();
  // "= 37" behind a scalar of the type. Null where something else stands.
  Expr ParseDefault(DataType dtype);
  const Struct* FindStruct(const std::string& name) const;

  std::map<std::string, Struct> structs_;

 private:
  void AddScalar(const std::string& name, DataType dtype, const Span& span, Params* params);
};

}  // namespace tern::tir

#endif  // TERN_TIR_SIGNATURE_PARSER_H_
