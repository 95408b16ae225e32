// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/webgpu/codegen/helpers.h"

#include <gtest/gtest.h>

#include <regex>

namespace tern::backend::webgpu {
namespace {

// What a definition calls stands before it, and nothing stands twice.
TEST(WebGpuHelpers, AreDefinedBeforeTheyAreCalled) {
  for (const std::string& name : HelperNames()) {
    Helpers helpers;
    EXPECT_EQ(helpers.Use(name), "tern_" + name);
    helpers.Use(name);
    std::string text = helpers.Definitions();
    std::set<std::string> defined;
    std::regex word(R"((fn )?(tern_\w+)\()");
    for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) {
      bool is_definition = (*it)[1].matched;
      EXPECT_NE(defined.contains((*it)[2]), is_definition) << name << ": " << (*it)[2];
      if (is_definition) defined.insert((*it)[2]);
    }
    EXPECT_TRUE(defined.contains("tern_" + name)) << text;
    EXPECT_EQ(text.find_first_of("$@"), std::string::npos) << text;
  }
}

TEST(WebGpuHelpers, OnlyThoseInUseAreDefined) {
  Helpers helpers;
  EXPECT_EQ(helpers.Definitions(), "");
  helpers.Use("neg");
  EXPECT_NE(helpers.Definitions().find("fn tern_sub("), std::string::npos);
  EXPECT_EQ(helpers.Definitions().find("fn tern_add("), std::string::npos);
}

}  // namespace
}  // namespace tern::backend::webgpu
