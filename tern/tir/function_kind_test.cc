// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/function_kind.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

using runtime::ErrorOf;

// A function of another IR: note name "text".
struct NoteNode : ir::BaseFuncNode {
  std::string text;
  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("test.Note");
    return index;
  }
};

const std::string& TextOf(const ir::BaseFunc& function) {
  return static_cast<const NoteNode*>(function.get())->text;
}

void RegisterNotes() {
  static bool once = [] {
    FunctionKind kind;
    kind.type_index = NoteNode::TypeIndex();
    kind.description = "a note";
    kind.keyword = "note";
    kind.parse = [](ExprParser& parser) -> ir::BaseFunc {
      auto node = ffi::Make<NoteNode>();
      node->span = parser.Peek().span;
      parser.Expect("note");
      node->name = parser.ExpectNewName("a note's name");
      node->text = parser.ExpectString("a text");
      return node;
    };
    kind.print = [](const ir::BaseFunc& f) {
      return "note " + f->name + " " + ir::QuoteString(TextOf(f)) + "\n";
    };
    kind.verify = [](const ir::BaseFunc& f, const ir::IRModule&, ir::Diagnostics* diagnostics) {
      if (TextOf(f).empty()) diagnostics->Add(f->span, "note " + f->name + " says nothing");
    };
    kind.equal = [](const ir::BaseFunc& a, const ir::BaseFunc& b) {
      return TextOf(a) == TextOf(b);
    };
    kind.hash = [](const ir::BaseFunc& f) { return TextOf(f).size(); };
    RegisterFunctionKind(kind);
    return true;
  }();
  (void)once;
}

constexpr const char* kText = R"(func f(A: float32[4]) {
  A[0] = 1.0
}

note n "hello"
)";

TEST(FunctionKind, ModulesHoldFunctionsOfOtherKinds) {
  Initialize();
  RegisterNotes();
  ir::IRModule module = ParseModule("t.tir", kText);
  EXPECT_EQ(PrintModule(module), kText);
  EXPECT_TRUE(StructuralEqual(module, ParseModule("t.tir", kText)));
  ir::IRModule other = ParseModule("t.tir", "note n \"other\"\nfunc f(A: float32[4]) { A[0] = 1 }");
  EXPECT_FALSE(StructuralEqual(module, other));
  Verify(module);
  // Passes leave them as they are.
  ir::IRModule simple = ir::RunPasses(module, {"simplify", "split_host_device"});
  EXPECT_TRUE(simple->functions.at("n").same(module->functions.at("n")));
}

TEST(FunctionKind, MistakesAreReportedAtTheirPlace) {
  Initialize();
  RegisterNotes();
  EXPECT_EQ(ErrorOf([] { ParseModule("t.tir", "note n 1\nnote m \"\"\nnote m \"\""); }),
            "t.tir:1:8: error: expected a text, found '1'\n  note n 1\n         ^\n"
            "t.tir:3:1: error: function m is defined twice\n  note m \"\"\n  ^");
  EXPECT_EQ(ErrorOf([] { Verify(ParseModule("t.tir", "note m \"\"")); }),
            "t.tir:1:1: error: note m says nothing\n  note m \"\"\n  ^");
  EXPECT_EQ(ErrorOf([] { Compile(ParseModule("t.tir", kText), target::Target::Parse("c")); }),
            "t.tir:5:1: n is a note, which must be lowered to functions of the loop IR first");
}

}  // namespace
}  // namespace tern::tir
