// SPDX-License-Identifier: Apache-2.0
//
// The programs of the documentation are programs: every one is parsed, verified, printed and parsed
// again, and run by the interpreter. A block that shows a message is what the program before it
// gives.
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <regex>

#include "tern/compile.h"
#include "tern/runtime/runner.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/extern_kernel.h"
#include "tern/tir/interpreter/interpreter.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

struct CodeBlock {
  int line;
  std::string text;
};

// The indented code of a page, without its indentation.
std::vector<CodeBlock> CodeBlocks(const std::string& page) {
  std::ifstream file(std::string(TERN_DOCS) + "/" + page);
  EXPECT_TRUE(file) << page;
  std::vector<CodeBlock> blocks;
  bool open = false;
  int number = 0;
  std::string blank_lines;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("    ")) {
      if (!open) blocks.push_back({number, ""});
      blocks.back().text += (open ? blank_lines : "") + line.substr(4) + "\n";
      open = true;
      blank_lines.clear();
    } else if (line.empty()) {
      blank_lines += "\n";
    } else {
      open = false;
      blank_lines.clear();
    }
  }
  return blocks;
}

bool IsProgram(const std::string& text) {
  static const std::regex kHead(R"((#[^\n]*\n)*(func|kernel|constant|struct) )");
  return std::regex_search(text, kHead, std::regex_constants::match_continuous);
}

// The file's name in "name.tir:2:3: error: ...", or none.
std::optional<std::string> FileOfMessage(const std::string& text) {
  static const std::regex kHead(R"((\w+\.tir):\d+:\d+: error: )");
  std::smatch match;
  if (!std::regex_search(text, match, kHead, std::regex_constants::match_continuous))
    return std::nullopt;
  return match[1].str();
}

// Small random arguments. A module with external kernels cannot be interpreted.
void RunAll(const ir::IRModule& module) {
  for (const auto& [name, function] : module->functions)
    if (AsExternKernel(function)) return;
  runtime::ArtifactMeta meta = DescribeModule(module, target::Target::DefaultHost());
  for (const runtime::FunctionInfo& info : meta.functions) {
    runtime::RunOptions options;
    options.default_dim = 70;
    std::map<std::string, int64_t> dims;
    Interpret(module, info.name, runtime::MakeArguments(info, options, &dims));
  }
}

// What is wrong with the program; "" where nothing is.
std::string Check(const std::string& file, const std::string& text) {
  try {
    ir::IRModule module = ParseModule(file, text);
    Verify(module);
    std::string printed = PrintModule(module);
    ir::IRModule again = ParseModule("printed.tir", printed);
    EXPECT_TRUE(StructuralEqual(module, again)) << printed;
    RunAll(module);
  } catch (const Error& error) {
    return error.what() + std::string("\n");
  }
  return "";
}

class DocsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(DocsTest, ProgramsAreAsThePageSays) {
  Initialize();
  std::vector<CodeBlock> blocks = CodeBlocks(GetParam());
  int programs = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!IsProgram(blocks[i].text)) continue;
    SCOPED_TRACE(std::string(GetParam()) + ":" + std::to_string(blocks[i].line));
    ++programs;
    auto file = i + 1 < blocks.size() ? FileOfMessage(blocks[i + 1].text) : std::nullopt;
    std::string error = Check(file.value_or("docs.tir"), blocks[i].text);
    // A page may show the first of several messages.
    if (file)
      EXPECT_EQ(error.substr(0, blocks[i + 1].text.size()), blocks[i + 1].text);
    else
      EXPECT_EQ(error, "");
  }
  EXPECT_GT(programs, 0);
}

INSTANTIATE_TEST_SUITE_P(Pages, DocsTest, ::testing::Values("tir.md", "builder.md"),
                         [](const auto& info) {
                           std::string name = info.param;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace tern::tir
