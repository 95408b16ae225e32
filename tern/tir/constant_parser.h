// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_CONSTANT_PARSER_H_
#define TERN_TIR_CONSTANT_PARSER_H_

#include <string>

#include "tern/tir/expr_parser.h"
#include "tern/tir/source_files.h"

namespace tern::tir {

// A tensor, or a scalar, which is part of no module: its uses are its value.
struct ConstantItem {
  std::string name;
  Span span;
  ir::Constant tensor;       // null for a scalar
  ExprParser::Value scalar;  // a literal where the text gives no type
};

// constant name: dtype[extents] = file("name", offset), splat(x), [x, ...] or hex("...")
// constant name: dtype = expression, constant name = expression
ConstantItem ParseConstant(ExprParser& parser, SourceFiles* files);

}  // namespace tern::tir

#endif  // TERN_TIR_CONSTANT_PARSER_H_
