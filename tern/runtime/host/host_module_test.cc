// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/host_module.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tern/ffi/registry.h"
#include "tern/runtime/artifact/file_bytes.h"
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
  // It may be replaced: it is not remembered.
  ffi::RemoveGlobal("callee");
  EXPECT_NE(ErrorOf([&] { call(1); }), "no error");
}

// A function `n` for every number, which returns it.
class NumbersModuleObj : public ffi::ModuleObj {
 public:
  std::string kind() const override { return "numbers"; }
  uint32_t properties() const override { return kRunnable; }
  std::vector<std::string> FunctionNames() const override { return {}; }
  ffi::Function GetFunction(std::string_view name) override {
    if (name.empty() || name.find_first_not_of("0123456789") != std::string_view::npos) return {};
    ++lookups;
    return ffi::Function::FromTyped(std::string(name),
                                    [number = std::stoi(std::string(name))] { return number; });
  }
  int lookups = 0;
};

TEST(HostModule, RemembersWhatItsImportsHave) {
  auto numbers = ffi::Make<NumbersModuleObj>();
  auto root = ffi::Make<NumbersModuleObj>();
  root->Import(ffi::Module(numbers));
  ModuleEnv env(root.get());
  auto call = [&](const char* name) {
    TernAny result{};
    ffi::CheckCall(env.call(&env, name, nullptr, 0, &result));
    return static_cast<int>(result.v_int);
  };
  // More than it has places for, each with an address of its own.
  std::vector<std::string> names;
  for (int i = 0; i < 2000; ++i) names.push_back(std::to_string(i));
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(call(names[static_cast<size_t>(i)].c_str()), i);
  EXPECT_EQ(numbers->lookups, 2000);
  // An address whose name is another one now.
  char name[] = "7";
  EXPECT_EQ(call(name), 7);
  name[0] = '8';
  EXPECT_EQ(call(name), 8);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 2000; i-- > 0;) EXPECT_EQ(call(names[static_cast<size_t>(i)].c_str()), i);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tern::runtime
