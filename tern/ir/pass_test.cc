// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/pass.h"

#include <gtest/gtest.h>

#include "tern/ir/expr.h"

namespace tern::ir {
namespace {

std::string& Seen() {
  static std::string seen;
  return seen;
}

std::string ErrorOf(const std::vector<std::string>& passes, const PassOptions& options = {}) {
  try {
    RunPasses(IRModule::Make({}), passes, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Passes of this test; registered once for the process.
void RegisterTestPasses() {
  static bool once = [] {
    RegisterPass({"test_identity", "", [](const IRModule& module) { return module; }});
    RegisterPass(
        {"test_options",
         "",
         [](const IRModule& module, const PassValues& values) {
           Seen() = std::to_string(values.GetInt("n")) + " " +
                    (values.GetBool("fast") ? "fast" : "slow") + " " + values.GetString("mode");
           return module;
         },
         {{"n", int64_t{4}, "a number, 0 to 9",
           [](const ffi::Any& value) { TERN_CHECK(value.As<int64_t>() < 10) << "more than 9"; }},
          {"fast", false, "true or false", nullptr},
          {"mode", "plain", "a word", nullptr}}});
    RegisterPass({"test_throw", "",
                  [](const IRModule&) -> IRModule { TERN_THROW(ValueError) << "no good"; }});
    RegisterPass({"test_types", "", [](const IRModule& module) {
                    WithContext("in function f", [] {
                      return AddNode::Make(Expr(1), IntImmNode::Make(DataType::Int(32), 1));
                    });
                    return module;
                  }});
    return true;
  }();
  (void)once;
}

TEST(Pass, NamesAreCheckedBeforeAnythingRuns) {
  RegisterTestPasses();
  try {
    RunPasses(IRModule::Make({}), {"test_throw", "test_identit"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("unknown pass 'test_identit' (did you mean test_identity"),
              std::string::npos)
        << error.message();
  }
}

TEST(Pass, ErrorsSayWhichPassRan) {
  RegisterTestPasses();
  try {
    RunPasses(IRModule::Make({}), {"test_throw"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no good\n  while running pass test_throw");
  }
}

TEST(Pass, ExpressionsWithWrongTypesAreItsOwnMistake) {
  RegisterTestPasses();
  try {
    RunPasses(IRModule::Make({}), {"test_types"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "InternalError");
    EXPECT_STREQ(error.what(),
                 "bug in Tern, please report it: pass test_types makes an expression with wrong "
                 "types: operands of Add have different types: int64 and int32\n  while in "
                 "function f\n  while running pass test_types");
  }
}

TEST(Pass, OptionsHaveValues) {
  RegisterTestPasses();
  EXPECT_EQ(ErrorOf({"test_options"}), "no error");
  EXPECT_EQ(Seen(), "4 slow plain");
  EXPECT_EQ(ErrorOf({"test_options{fast=true,n=-7,mode=a=b}"}), "no error");
  EXPECT_EQ(Seen(), "-7 fast a=b");
}

TEST(Pass, OptionsAreCheckedBeforeAnythingRuns) {
  RegisterTestPasses();
  auto error = [](const std::string& pass) { return ErrorOf({"test_throw", pass}); };
  EXPECT_EQ(
      error("test_options{fats=true}"),
      "pass test_options has no option 'fats' (did you mean fast?); its options are: n, fast, "
      "mode");
  EXPECT_EQ(error("test_identity{n=1}"),
            "pass test_identity has no option 'n'; its options are: none");
  EXPECT_EQ(error("test_options{n=many}"),
            "pass test_options: option n: expected an integer, got 'many'");
  EXPECT_EQ(error("test_options{n=10}"), "pass test_options: option n: more than 9");
  EXPECT_EQ(error("test_options{fast=1}"),
            "pass test_options: option fast: expected true or false, got '1'");
  EXPECT_EQ(error("test_options{n=1,n=2}"), "pass test_options: option n is given twice");
  EXPECT_EQ(error("test_options{n}"), "pass test_options: expected option=value, got 'n'");
  EXPECT_EQ(error("test_options{}"), "'test_options{}' names no option between the braces");
  for (const char* text : {"test_options{n=1", "test_options{n=1}x", "test_options{n=1}}"})
    EXPECT_EQ(error(text), "'" + std::string(text) +
                               "': expected a pass as name, or as name{option=value, ...}");
}

TEST(Pass, ListsArePartedByCommasOutsideOfBraces) {
  EXPECT_EQ(SplitPassList("a, b{x=1, y=2} ,c"), (std::vector<std::string>{"a", "b{x=1,y=2}", "c"}));
  for (const char* text : {"", "a,,b", ",a", "a,"})
    EXPECT_THROW(SplitPassList(text), Error) << text;
}

TEST(Pass, OnlyPassesThatRunArePrintedAfter) {
  RegisterTestPasses();
  PassOptions options;
  options.print_after = {"test_throw"};
  EXPECT_EQ(ErrorOf({"test_identity"}, options),
            "nothing can be printed after pass test_throw, which is not run");
}

TEST(Pass, VerifyPrintAndTimingSeeEveryPass) {
  RegisterTestPasses();
  std::vector<std::string> verified, printed;
  std::vector<std::pair<std::string, double>> timing;
  PassOptions options;
  options.verify = [&](const IRModule&, const std::string& pass) { verified.push_back(pass); };
  options.print = [&](const IRModule&, const std::string& pass) { printed.push_back(pass); };
  options.print_after = {"*"};
  options.timing = &timing;
  RunPasses(IRModule::Make({}), {"test_identity", "test_identity"}, options);
  EXPECT_EQ(verified, (std::vector<std::string>{"", "test_identity", "test_identity"}));
  EXPECT_EQ(printed, (std::vector<std::string>{"test_identity", "test_identity"}));
  EXPECT_EQ(timing.size(), 2u);
}

}  // namespace
}  // namespace tern::ir
