// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host_module.h"

#include <gtest/gtest.h>

#include "tern/ffi/registry.h"
#include "tern/runtime/file_bytes.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

const std::string kBare = std::string(TERN_TEST_DATA) + "/bare.so";

TEST(HostModule, OpensALibrary) {
  ffi::Module module = OpenLibrary(kBare, {"add", "call"});
  EXPECT_EQ(module->FunctionNames(), (std::vector<std::string>{"add", "call"}));
  EXPECT_TRUE(module->GetFunction("add"));
  EXPECT_FALSE(module->GetFunction("nosuch"));
  EXPECT_EQ(ErrorOf([] { OpenLibrary(kBare, {"add", "sub"}); }),
            "the host code has no function sub");
  EXPECT_EQ(ErrorOf([] { OpenLibrary("nosuch.so", {}); }).find("the host code cannot be loaded: "),
            0u);
}

TEST(HostModule, RunsFromMemoryAndOutlivesItsModule) {
  ffi::Function add;
  {
    std::string bytes = ReadFile(kBare);
    add = OpenLibraryFromMemory(bytes, {"add"})->GetFunction("add");
  }
  Tensor a = Tensor::Empty({2}, DataType::Float(32)), b = Tensor::Empty({2}, DataType::Float(32)),
         c = Tensor::Empty({2}, DataType::Float(32));
  for (int i = 0; i < 2; ++i) SetElement(a, i, i + 1), SetElement(b, i, 10);
  add(a, b, c);
  EXPECT_EQ(GetElement(c, 1), 12);
}

TEST(HostModule, TwoLibrariesInMemoryAreTwo) {
  std::string bytes = ReadFile(kBare);
  ffi::Module one = OpenLibraryFromMemory(bytes, {"add"});
  ffi::Module two = OpenLibraryFromMemory(bytes, {"add"});
  one = {};
  EXPECT_TRUE(two->GetFunction("add"));
  EXPECT_EQ(
      ErrorOf([] { OpenLibraryFromMemory("junk", {}); }).find("the host code cannot be loaded: "),
      0u);
}

TEST(HostModule, RaisesWithDescribedParts) {
  ffi::Function add = OpenLibrary(kBare, {"add"})->GetFunction("add");
  try {
    add(Tensor::Empty({2, 3}, DataType::Float(32)), 1, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "TypeError");
    EXPECT_STREQ(
        error.what(),
        "add: expected three tensors, the first is float32 tensor of shape (2, 3) on cpu:0");
  }
  EXPECT_EQ(ErrorOf([&] { add(7); }), "add: expected three tensors, the first is 7");
}

TEST(HostModule, CallsWhatIsRegistered) {
  ffi::Function call = OpenLibrary(kBare, {"call"})->GetFunction("call");
  EXPECT_EQ(ErrorOf([&] { call(1); }),
            "compiled code calls callee, which is neither in the module's imports nor registered");
  ffi::RegisterGlobal("callee",
                      ffi::Function::FromTyped("callee", [](int64_t x) { return x + 1; }));
  EXPECT_EQ(call(1).As<int>(), 2);
  EXPECT_EQ(ErrorOf([&] { call("x"); }), "callee: argument 0: expected int, got string \"x\"");
  ffi::RemoveGlobal("callee");
}

}  // namespace
}  // namespace tern::runtime
