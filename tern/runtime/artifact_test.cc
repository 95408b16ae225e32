// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact.h"

#include <gtest/gtest.h>

#include "tern/ffi/json.h"
#include "tern/runtime/elf_file.h"
#include "tern/runtime/file_bytes.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_artifact.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

std::string OtherTriple() {
  return HostElfMachine() == 62 ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
}

class ArtifactTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) const {
    WriteFile(directory_.File(name), bytes);
    return directory_.File(name);
  }
  static std::string SharedObject() {
    return ReadFile(std::string(TERN_TEST_DATA) + "/embedded.so");
  }
  static std::string Sealed() {
    std::string bytes = SharedObject();
    SealSharedObject(&bytes);
    return bytes;
  }
  static std::string TernFile(const std::vector<std::string>& hosts) {
    ContainerWriter writer = TestContainer();
    for (const std::string& host : hosts)
      writer.Add("host." + host, ReadFile(std::string(TERN_TEST_DATA) + "/bare.so"));
    return writer.Finish();
  }
  static void ExpectAdds(const ffi::Module& module) {
    Tensor a = Tensor::Empty({1}, DataType::Float(32)), c = Tensor::Empty({1}, DataType::Float(32));
    SetElement(a, 0, 3);
    module->GetFunction("add")(a, a, c);
    EXPECT_EQ(GetElement(c, 0), 6);
    ASSERT_EQ(module->imports().size(), 1u);
    EXPECT_EQ(module->imports()[0]->kind(), "toy");
  }
  std::string OpenError(const std::string& path) const {
    return ErrorOf([&] { Artifact::Open(path); });
  }

  TempDirectory directory_;
};

TEST_F(ArtifactTest, ANewerAbiIsRefused) {
  ArtifactMeta meta = TestMeta();
  meta.abi_version = TERN_ENV_VERSION + 1;
  ContainerWriter writer;
  writer.Add("meta", WriteMeta(meta));
  writer.Add("module.0", SaveDeviceArtifact(ToyArtifact()));
  Artifact artifact = Artifact::Open(Write("m.tern", writer.Finish()));
  EXPECT_NE(ErrorOf([&] { artifact.Load(); }).find("of the ABI; this runtime has version"),
            std::string::npos);
}

TEST_F(ArtifactTest, LoadsASharedObject) {
  Artifact artifact = Artifact::Open(Write("m.so", Sealed()));
  EXPECT_TRUE(artifact.is_shared_object());
  EXPECT_EQ(artifact.hosts(), std::vector<std::string>{HostTriple()});
  EXPECT_EQ(artifact.meta().functions, TestMeta().functions);
  ExpectAdds(artifact.Load());
}

TEST_F(ArtifactTest, LoadsAContainer) {
  Artifact artifact = Artifact::Open(Write("m.tern", TernFile({HostTriple(), OtherTriple()})));
  EXPECT_FALSE(artifact.is_shared_object());
  EXPECT_EQ(artifact.hosts().size(), 2u);
  ExpectAdds(artifact.Load());
}

TEST_F(ArtifactTest, LoadsWhatIsInMemory) {
  for (const std::string& bytes : {Sealed(), TernFile({HostTriple()})}) {
    ExpectAdds(LoadModuleFromBytes(bytes, "m"));
    EXPECT_EQ(ErrorOf([&] { Artifact::FromBytes(bytes.substr(0, bytes.size() - 1), "m"); }),
              OpenError(Write("m", bytes.substr(0, bytes.size() - 1)))
                  .substr(directory_.File("").size()));
  }
  EXPECT_EQ(ErrorOf([] { Artifact::FromBytes("", "m"); }),
            "m: not a Tern artifact: neither a container (.tern) nor a shared object (.so)");
}

TEST_F(ArtifactTest, MapsWhatItVerified) {
  std::string path = Write("m.so", Sealed());
  Artifact artifact = Artifact::Open(path);
  WriteFile(path, "replaced after it was opened");
  ExpectAdds(artifact.Load());
}

TEST_F(ArtifactTest, NamesTheMissingHost) {
  std::string path = Write("m.tern", TernFile({OtherTriple()}));
  EXPECT_EQ(ErrorOf([&] { LoadModule(path); }), path + " has no host code for this machine, " +
                                                    HostTriple() + "; it has " + OtherTriple());
  path = Write("n.tern", TernFile({}));
  EXPECT_EQ(ErrorOf([&] { LoadModule(path); }),
            path + " has no host code for this machine, " + HostTriple() + "; it has none");
  EXPECT_EQ(Artifact::Open(path).LoadImports().size(), 1u) << "imports can be looked at anywhere";
}

TEST_F(ArtifactTest, NamesTheForeignMachine) {
  std::string bytes = SharedObject();
  bytes[18] = static_cast<char>(HostElfMachine() == 62 ? 183 : 62);
  SealSharedObject(&bytes);
  std::string path = Write("m.so", bytes);
  EXPECT_EQ(Artifact::Open(path).hosts(), std::vector<std::string>{OtherTriple()});
  EXPECT_EQ(ErrorOf([&] { LoadModule(path); }),
            path + " was compiled for " + OtherTriple() + "; this machine is " + HostTriple());
}

TEST_F(ArtifactTest, RefusesOtherFiles) {
  std::string path = Write("m.so", "text");
  EXPECT_EQ(OpenError(path),
            path + ": not a Tern artifact: neither a container (.tern) nor a shared object (.so)");
  path = Write("bare.so", ReadFile(std::string(TERN_TEST_DATA) + "/bare.so"));
  EXPECT_EQ(OpenError(path),
            path + ": not a Tern artifact: a shared object without a section .tern");
  path = Write("open.so", SharedObject());
  EXPECT_EQ(OpenError(path), path + ": the file was never sealed");
  path = directory_.File("nosuch.so");
  EXPECT_EQ(OpenError(path), path + ": cannot be opened: No such file or directory");
}

TEST_F(ArtifactTest, AChangeAnywhereInASharedObjectIsNoticed) {
  const std::string bytes = Sealed();
  // Every byte of the headers and the section, every 97th of the rest: hashing the file for each is
  // slow.
  ElfSection section = *FindElfSection(bytes, kContainerSection);
  for (size_t i = 0; i < bytes.size();
       i += i < 64 || (i >= section.offset && i < section.offset + section.size) ? 1 : 97) {
    std::string changed = bytes;
    changed[i] ^= 0x10;
    std::string path = Write("m.so", changed);
    EXPECT_NE(OpenError(path), "no error") << "byte " << i;
  }
  for (size_t size = 0; size < bytes.size(); size += 101)
    EXPECT_NE(OpenError(Write("m.so", bytes.substr(0, size))), "no error") << size;
  EXPECT_NE(OpenError(Write("m.so", bytes + "x")), "no error");
}

TEST_F(ArtifactTest, SealingIsRepeatable) {
  std::string once = Sealed(), twice = once;
  SealSharedObject(&twice);
  EXPECT_EQ(once, twice);
}

TEST(ArtifactMeta, RoundTrips) {
  ArtifactMeta meta = TestMeta();
  meta.functions[0].params[1].strides = {"s"};
  meta.functions.push_back({"add_prepare", {}});
  meta.functions.push_back({"add_prepared", {}});
  meta.functions[0].prepare = "add_prepare";
  meta.functions[0].prepared = "add_prepared";
  std::string text = WriteMeta(meta);
  EXPECT_EQ(WriteMeta(ReadMeta(text)), text);
  EXPECT_EQ(ReadMeta(text).functions, meta.functions);
}

TEST(ArtifactMeta, EveryTruncationIsAnError) {
  std::string text = WriteMeta(TestMeta());
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_THROW(ReadMeta(std::string_view(text).substr(0, size)), Error) << size;
}

std::string MetaError(const std::function<void(ArtifactMeta*)>& change) {
  ArtifactMeta meta = TestMeta();
  change(&meta);
  std::string text = WriteMeta(meta);
  return ErrorOf([&] { ReadMeta(text); });
}

TEST(ArtifactMeta, ImportsAreATree) {
  EXPECT_EQ(MetaError([](ArtifactMeta* meta) { meta->root_imports = {1}; }),
            "meta.root_imports[0]: import 1 of 1");
  EXPECT_EQ(MetaError([](ArtifactMeta* meta) { meta->imports[0].imports = {0}; }),
            "meta.imports: import 0 is imported twice or imports itself");
  EXPECT_EQ(MetaError([](ArtifactMeta* meta) { meta->root_imports = {0, 0}; }),
            "meta.imports: import 0 is imported twice or imports itself");
  EXPECT_EQ(MetaError([](ArtifactMeta* meta) { meta->root_imports = {}; }),
            "meta.imports: import 0 is not reached from the root");
  EXPECT_EQ(MetaError([](ArtifactMeta* meta) {
              meta->imports = {{"toy", {1}}, {"toy", {2}}, {"toy", {1}}};
            }),
            "meta.imports: import 1 is imported twice or imports itself");
}

TEST(ArtifactMeta, FieldsAreChecked) {
  EXPECT_EQ(MetaError([](ArtifactMeta* meta) { meta->functions[1].name = "add"; }),
            "meta.functions[1]: a second function named add");
  EXPECT_EQ(MetaError([](ArtifactMeta* meta) { meta->functions[0].params[1].name = "A"; }),
            "meta.functions[0].params[1]: a second parameter named A");
  EXPECT_EQ(MetaError([](ArtifactMeta* meta) { meta->functions[1].params[0].shape = {"n"}; }),
            "meta.functions[1].params[0]: a scalar has no shape and is no output");
  EXPECT_EQ(
      MetaError([](ArtifactMeta* meta) { meta->functions[0].params[0].strides = {"n", "1"}; }),
      "meta.functions[0].params[0]: there are 2 strides for 1 axes");
  auto prepared_by = [](const char* prepare, const char* prepared) {
    return MetaError([=](ArtifactMeta* meta) {
      meta->functions[0].prepare = prepare;
      meta->functions[0].prepared = prepared;
    });
  };
  EXPECT_EQ(prepared_by("nobody", "add"),
            "meta.functions: add is prepared by 'nobody', which is no function");
  EXPECT_EQ(prepared_by("add", "add"),
            "meta.functions: add is prepared by 'add', which is no function");
  EXPECT_EQ(ErrorOf([] { ReadMeta("{}"); }), "meta: field \"tern_version\" is missing");
  EXPECT_EQ(ErrorOf([] { ReadMeta("[]"); }), "meta: expected Map, got Array");
  ffi::Any value = ffi::ParseJson(WriteMeta(TestMeta()));
  value.As<ffi::Map>()->items["later"] = 1;
  EXPECT_EQ(ErrorOf([&] { ReadMeta(ffi::WriteJson(value)); }),
            "meta: field \"later\" is not known");
}

TEST_F(ArtifactTest, OnlyWhatIsUsedIsRead) {
  ContainerWriter writer = TestContainer();
  writer.Add("source.0.toy", std::string(1 << 20, 'x'));
  std::string path = Write("m.tern", writer.Finish());
  Artifact artifact = Artifact::Open(path);
  const ContainerReader& container = artifact.container();
  auto find = [&] {
    for (const auto& section : container.sections())
      if (section.name == "source.0.toy") return section.bytes;
    return std::string_view();
  };
  EXPECT_EQ(find()[find().size() / 2], '\0');
  EXPECT_EQ(container.Get("source.0.toy")[1 << 19], 'x');
  // What was verified stays, whatever becomes of the file.
  WriteFile(path, "gone");
  EXPECT_EQ(container.Get("source.0.toy")[1 << 19], 'x');
}

TEST_F(ArtifactTest, AFileThatIsCutWhileItIsReadIsAnError) {
  ContainerWriter writer = TestContainer();
  writer.Add("source.0.toy", std::string(1 << 20, 'x'));
  std::string path = Write("m.tern", writer.Finish());
  Artifact artifact = Artifact::Open(path);
  WriteFile(path, "gone");
  EXPECT_EQ(ErrorOf([&] { artifact.container().Get("source.0.toy"); }),
            "section source.0.toy of the container was altered: its hash is wrong");
}

}  // namespace
}  // namespace tern::runtime
