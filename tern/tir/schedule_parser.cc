// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/schedule_parser.h"

#include <cctype>

#include "tern/tir/attributes.h"
#include "tern/tir/schedule_steps.h"

namespace tern::tir {
namespace {

// Constants, and those of a template's parameters that are, are their values.
std::string StepArgument(const ExprParser& parser, const ir::Token& token) {
  const ExprParser::Symbol* symbol =
      token.kind == ir::Token::Kind::kIdent ? parser.FindSymbol(token.text) : nullptr;
  std::optional<int64_t> value =
      symbol && symbol->value ? ir::AsConstInt(symbol->value) : std::nullopt;
  return value ? std::to_string(*value) : token.text;
}

// The words up to the end of the line, as tern/schedule reads them.
std::string ParseStep(ExprParser& parser) {
  std::string step;
  int depth = 0, parentheses = 0;  // depth: of braces
  do {
    if (parser.AtEnd()) parser.Unexpected("'}'");
    const ir::Token& token = parser.Next();
    depth += token.text == "{" ? 1 : token.text == "}" ? -1 : 0;
    parentheses += token.text == "(" ? 1 : token.text == ")" ? -1 : 0;
    if (token.kind == ir::Token::Kind::kString)
      parser.Fail(token.span, "a step takes names and integers, not the string " +
                                  ExprParser::Spell(token) + "; names stand without quotes");
    bool is_word = token.kind != ir::Token::Kind::kPunct;
    if (is_word && !step.empty() && std::isalnum(static_cast<unsigned char>(step.back())))
      step += " ";
    std::string text = parentheses > 0 ? StepArgument(parser, token) : token.text;
    step += text == "=" ? " = " : text == "," ? ", " : text;
  } while (depth > 0 || (!parser.Is("}") && !parser.Peek().first_on_line));
  return step;
}

}  // namespace

PrimFunc ParseScheduleOf(ExprParser& parser, const PrimFunc& function) {
  parser.Next();
  Span span = parser.Next().span;
  std::string targets;
  if (parser.Accept("for")) {
    const ir::Token& token = parser.Peek();
    if (token.kind != ir::Token::Kind::kString && !parser.Is("host") && !parser.Is("device"))
      parser.Unexpected("'host', 'device' or the name of a target kind in quotes");
    parser.Located(token.span, [&] { CheckScheduleFor(token.text); });
    targets = parser.Next().text;
  }
  parser.Expect("{");
  std::vector<ScheduleStep> steps;
  while (!parser.Is("}")) {
    Span place = parser.Peek().span;
    steps.push_back({ParseStep(parser), place});
  }
  parser.Expect("}");
  return parser.Located(span, [&] {
    return WithFurtherSchedule(function, targets, MakeScheduleSteps(std::move(steps)));
  });
}

}  // namespace tern::tir
