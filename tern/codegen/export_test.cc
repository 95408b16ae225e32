// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/export.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tern/codegen/linkable_module.h"
#include "tern/codegen/packed_test_function.h"
#include "tern/compile.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/runtime/tensor.h"

namespace tern::codegen {
namespace {

class ExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Initialize();
    std::string name = std::filesystem::temp_directory_path() / "tern-export-test-XXXXXX";
    ASSERT_TRUE(mkdtemp(name.data()));
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ / name; }
  size_t NumFiles() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  // increment(x): x[0] += 1
  static ffi::Module Build() {
    PackedTestFunction packed("increment");
    ir::Buffer x = packed.Tensor("x", DataType::Int(32));
    ir::Expr one = ir::IntImmNode::Make(DataType::Int(32), 1);
    tir::Stmt store = tir::BufferStoreNode::Make(x, {0}, ir::BufferLoadNode::Make(x, {0}) + one);
    return BuildForTest({packed.Make(store)}, target::Target::DefaultHost());
  }
  static ffi::Module DeviceModule(const std::string& fmt) {
    runtime::DeviceArtifact artifact;
    artifact.kind = "exporttest";
    artifact.fmt = fmt;
    artifact.fmap["kernel"] = {{DataType::Handle()}, {"threadIdx.x"}, 0};
    artifact.payload[""] = "payload of " + fmt;
    artifact.source["text"] = "source of " + fmt;
    return runtime::CreateDeviceModule(artifact);
  }
  static runtime::ArtifactMeta Meta() {
    runtime::ArtifactMeta meta;
    meta.target = "test";
    meta.device = "cpu";
    meta.functions = {{"increment", {{"x", DataType::Int(32), true, {"1"}, true}}}};
    return meta;
  }
  static int32_t Increment(const ffi::Module& module, int32_t value) {
    runtime::Tensor x = runtime::Tensor::Empty({1}, DataType::Int(32));
    *x.as<int32_t>() = value;
    module->GetFunction("increment")(x);
    return *x.as<int32_t>();
  }
  static std::string Failure(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  }

  std::filesystem::path directory_;
};

TEST_F(ExportTest, BothFormatsLoadAndRun) {
  ffi::Module module = Build();
  for (const char* name : {"m.so", "m.tern"}) {
    Export(module, Meta(), Path(name));
    runtime::Artifact artifact = runtime::Artifact::Open(Path(name));
    EXPECT_EQ(artifact.is_shared_object(), std::string(name) == "m.so");
    EXPECT_EQ(artifact.meta().functions, Meta().functions);
    EXPECT_FALSE(artifact.meta().tern_version.empty());
    EXPECT_EQ(artifact.hosts(), std::vector<std::string>{runtime::HostTriple()});
    EXPECT_EQ(Increment(artifact.Load(), 41), 42);
  }
  EXPECT_EQ(NumFiles(), 2u);
}

TEST_F(ExportTest, SameModuleGivesSameBytes) {
  for (const char* ending : {".so", ".tern"}) {
    Export(Build(), Meta(), Path(std::string("a") + ending));
    Export(Build(), Meta(), Path(std::string("b") + ending));
    EXPECT_EQ(runtime::ReadFile(Path(std::string("a") + ending)),
              runtime::ReadFile(Path(std::string("b") + ending)));
  }
}

TEST_F(ExportTest, ImportsFormTheTree) {
  ffi::Module module = Build(), outer = DeviceModule("outer"), inner = DeviceModule("inner");
  outer->Import(inner);
  module->Import(outer);
  module->Import(DeviceModule("second"));
  for (const char* name : {"m.so", "m.tern"}) {
    Export(module, Meta(), Path(name));
    runtime::Artifact artifact = runtime::Artifact::Open(Path(name));
    EXPECT_EQ(artifact.meta().root_imports, (std::vector<int>{0, 2}));
    ASSERT_EQ(artifact.meta().imports.size(), 3u);
    EXPECT_EQ(artifact.meta().imports[0].kind, "exporttest");
    EXPECT_EQ(artifact.meta().imports[0].imports, std::vector<int>{1});
    EXPECT_EQ(artifact.container().Get("module.1"), inner->SaveToBytes());
    EXPECT_FALSE(artifact.container().Has("source.1.text"));
    EXPECT_EQ(artifact.Load()->imports().size(), 2u);
  }
}

TEST_F(ExportTest, SourcesAreKeptOnRequest) {
  ffi::Module module = Build();
  module->Import(DeviceModule("fmt"));
  Export(module, Meta(), Path("m.tern"), {.keep_source = true});
  EXPECT_EQ(runtime::Artifact::Open(Path("m.tern")).container().Get("source.0.text"),
            "source of fmt");
}

TEST_F(ExportTest, HostSourcesAreKeptToo) {
  ffi::Module module = Build();
  std::string format = module->SourceFormats().at(0);
  for (const char* name : {"m.so", "m.tern"}) {
    Export(module, Meta(), Path(name), {.keep_source = true});
    EXPECT_EQ(runtime::Artifact::Open(Path(name))
                  .container()
                  .Get("source.host." + runtime::HostTriple() + "." + format),
              module->InspectSource(format));
  }
}

TEST_F(ExportTest, FilesWithoutAContainerHoldNoImports) {
  ffi::Module module = Build();
  module->Import(DeviceModule("fmt"));
  for (const char* name : {"m.o", "m.a"})
    EXPECT_NE(Failure([&] {
                Export(module, Meta(), Path(name));
              }).find("holds host code alone, and this module has code for exporttest too"),
              std::string::npos);
  EXPECT_EQ(NumFiles(), 0u);
  Export(module, Meta(), Path("m.tar"));
  EXPECT_NE(runtime::ReadFile(Path("m.tar")).find("payload of fmt"), std::string::npos);
}

TEST_F(ExportTest, SeveralHostsAreOfDifferentMachines) {
  std::string failure = Failure([&] { Export({Build(), Build()}, Meta(), Path("m.tern")); });
  EXPECT_NE(failure.find("two hosts are " + runtime::HostTriple()), std::string::npos) << failure;
  failure = Failure([&] { Export({Build(), Build()}, Meta(), Path("m.so")); });
  EXPECT_NE(failure.find("a .so file has code for one host, not for 2"), std::string::npos)
      << failure;
}

TEST_F(ExportTest, AnExistingFileIsReplaced) {
  runtime::WriteFile(Path("m.tern"), "something else");
  Export(Build(), Meta(), Path("m.tern"));
  EXPECT_EQ(Increment(runtime::LoadModule(Path("m.tern")), 1), 2);
}

TEST_F(ExportTest, WrongEndingListsLegalOnes) {
  std::string failure = Failure([&] { Export(Build(), Meta(), Path("m.dll")); });
  EXPECT_NE(failure.find(
                "does not become a file that ends in .dll; the endings are .a (a static library)"),
            std::string::npos)
      << failure;
  EXPECT_NE(failure.find(".tern"), std::string::npos) << failure;
}

TEST_F(ExportTest, UnwritablePlaceIsNamed) {
  std::string failure = Failure([&] { Export(Build(), Meta(), Path("nowhere/m.so")); });
  EXPECT_NE(failure.find(Path("nowhere/m.so") + ": cannot be written: No such file"),
            std::string::npos)
      << failure;
}

// Code for the host that cannot be saved or linked.
class UnsavableModule : public ffi::ModuleObj {
 public:
  std::string kind() const override { return "unsavable"; }
  uint32_t properties() const override { return kRunnable; }
  ffi::Function GetFunction(std::string_view) override { return {}; }
  std::vector<std::string> FunctionNames() const override { return {}; }
};

TEST_F(ExportTest, ModulesThatCannotBeStoredAreNamed) {
  ffi::Module unsavable(ffi::Make<UnsavableModule>());
  std::string failure = Failure([&] { Export(unsavable, Meta(), Path("m.so")); });
  EXPECT_NE(failure.find("a module of kind unsavable is no host code"), std::string::npos)
      << failure;
  ffi::Module module = Build();
  module->Import(unsavable);
  failure = Failure([&] { Export(module, Meta(), Path("m.so")); });
  EXPECT_NE(failure.find("the imported module of kind unsavable cannot be saved"),
            std::string::npos)
      << failure;
  EXPECT_EQ(NumFiles(), 0u);
}

TEST_F(ExportTest, AnAlteredFileIsRefused) {
  Export(Build(), Meta(), Path("m.so"));
  std::string bytes = runtime::ReadFile(Path("m.so"));
  bytes[bytes.size() / 2] ^= 1;
  runtime::WriteFile(Path("altered.so"), bytes);
  EXPECT_NE(Failure([&] { runtime::Artifact::Open(Path("altered.so")); }), "");
}

}  // namespace
}  // namespace tern::codegen
