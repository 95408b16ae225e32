// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/pass.h"

#include <gtest/gtest.h>

namespace tern::ir {
namespace {

// Passes of this test; registered once for the process.
void RegisterTestPasses() {
  static bool once = [] {
    RegisterPass({"test_identity", "", [](const IRModule& module) { return module; }});
    RegisterPass({"test_throw", "",
                  [](const IRModule&) -> IRModule { TERN_THROW(ValueError) << "no good"; }});
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
