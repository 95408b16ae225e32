// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/artifact.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "tern/ffi/json.h"
#include "tern/runtime/artifact/byte_stream.h"
#include "tern/runtime/artifact/elf_file.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_artifact.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

std::string OtherTriple() {
  return HostElfMachine() == 62 ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
}

// The same file, with other bytes.
void Overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
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
  Overwrite(path, "replaced after it was opened");
  ExpectAdds(artifact.Load());
}

TEST(HostCodes, TheBestThatRunsIsTaken) {
  std::vector<HostCode> codes = {{"x", "", {"a"}},
                                 {"x", ".1", {"a", "b"}},
                                 {"y", ".2", {}},
                                 {"x", ".3", {"a", "c"}},
                                 {"x", ".4", {"a", "b", "c"}}};
  auto best = [&](const std::string& triple, const std::string& features) -> std::string {
    const HostCode* found = BestHostCode(codes, triple, [&](std::string_view feature) {
      return features.find(feature) != std::string::npos;
    });
    return found ? found->triple + found->suffix : "none";
  };
  EXPECT_EQ(best("x", "a"), "x");
  EXPECT_EQ(best("x", "ab"), "x.1");
  EXPECT_EQ(best("x", "ac"), "x.3");
  EXPECT_EQ(best("x", "abc"), "x.4");
  EXPECT_EQ(best("x", "bc"), "none");
  EXPECT_EQ(best("y", ""), "y.2");
  EXPECT_EQ(best("z", "abc"), "none");
}

TEST_F(ArtifactTest, FurtherHostsHaveSectionsOfTheirOwn) {
  ContainerWriter writer = TestContainer();
  std::string code = ReadFile(std::string(TERN_TEST_DATA) + "/bare.so");
  ArtifactMeta second = TestMeta();
  second.target = "second";
  writer.Add("host." + OtherTriple(), "");
  writer.Add("host." + HostTriple() + ".1", code);
  writer.Add("meta.1", WriteMeta(second));
  writer.Add("host." + HostTriple() + ".2", code);
  writer.Add("meta.2", WriteMeta(TestMeta()));
  writer.Add("cpu.2", "no-such-feature\n");
  writer.Add("host." + HostTriple() + ".10", code);
  Artifact artifact = Artifact::Open(Write("m.tern", writer.Finish()));
  ASSERT_EQ(artifact.host_codes().size(), 4u);
  EXPECT_EQ(artifact.host_codes()[0].triple, OtherTriple());
  EXPECT_EQ(artifact.host_codes()[2].features, std::vector<std::string>{"no-such-feature"});
  EXPECT_EQ(artifact.host_codes()[3].suffix, ".10");
  EXPECT_EQ(artifact.meta().target, "second");
  EXPECT_EQ(artifact.MetaOf(artifact.host_codes()[0]).target, "test");
  EXPECT_EQ(ReadMeta(artifact.Section("meta")).target, "second");
  ExpectAdds(artifact.Load());

  writer = TestContainer();
  second.root_imports = {};
  second.imports = {};
  writer.Add("meta.1", WriteMeta(second));
  writer.Add("host." + HostTriple() + ".1", code);
  std::string path = Write("n.tern", writer.Finish());
  EXPECT_EQ(OpenError(path), path + ": sections meta and meta.1 differ in their imports");
  writer = TestContainer();
  writer.Add("host." + HostTriple() + ".1", code);
  path = Write("o.tern", writer.Finish());
  EXPECT_EQ(OpenError(path), path + ": the container has no section meta.1; it has host." +
                                 HostTriple() + ".1, meta, module.0");
}

TEST_F(ArtifactTest, CodeForAnotherCpuIsRefused) {
  ContainerWriter writer = TestContainer();
  writer.Add("host." + HostTriple(), ReadFile(std::string(TERN_TEST_DATA) + "/bare.so"));
  writer.Add("cpu", "no-such-feature\nnor-this\n");
  std::string path = Write("m.tern", writer.Finish());
  EXPECT_EQ(ErrorOf([&] { LoadModule(path); }),
            path + " was compiled for another CPU: this machine's lacks no-such-feature, nor-this");
}

TEST_F(ArtifactTest, FilesHaveAnIdentity) {
  Artifact object = Artifact::Open(Write("m.so", Sealed()));
  EXPECT_EQ(object.Identity(), Artifact::Open(Write("n.so", Sealed())).Identity());
  Artifact one = Artifact::Open(Write("m.tern", TernFile({HostTriple()})));
  Artifact two = Artifact::Open(Write("n.tern", TernFile({HostTriple(), OtherTriple()})));
  EXPECT_NE(object.Identity(), one.Identity());
  EXPECT_NE(one.Identity(), two.Identity());
  EXPECT_EQ(one.Identity().size(), 32u);
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
  Overwrite(path, "gone");
  EXPECT_EQ(container.Get("source.0.toy")[1 << 19], 'x');
}

TEST_F(ArtifactTest, AFileThatIsCutWhileItIsReadIsAnError) {
  ContainerWriter writer = TestContainer();
  writer.Add("source.0.toy", std::string(1 << 20, 'x'));
  std::string path = Write("m.tern", writer.Finish());
  Artifact artifact = Artifact::Open(path);
  Overwrite(path, "gone");
  EXPECT_EQ(ErrorOf([&] { artifact.container().Get("source.0.toy"); }),
            "section source.0.toy of the container was altered: its hash is wrong");
}

// A header in a file that is large and empty is refused by what it says, at once.
TEST_F(ArtifactTest, AHeaderIsNotWorthGigabytes) {
  constexpr uint64_t kBytes = uint64_t{12} << 30;
  std::string header = Sealed();
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  std::string path = Write("m.so", header);
  if (truncate(path.c_str(), kBytes) != 0) GTEST_SKIP() << "the file system has no such files";
  EXPECT_EQ(OpenError(path), path +
                                 ": the file was altered: it has 12884901888 bytes, and its ELF "
                                 "headers tell of " +
                                 std::to_string(ElfExtent(header)));
  // The header alone: its section table is all zero.
  path = Write("n.so", header.substr(0, 64));
  ASSERT_EQ(truncate(path.c_str(), kBytes), 0);
  EXPECT_NE(OpenError(path), "no error");
  // A table of 10 GB.
  std::string container = TestContainer().Finish().substr(0, 64), number;
  AppendLe<uint64_t>(uint64_t{10} << 30, &number);
  AppendLe<uint64_t>(kBytes, &number);
  path = Write("m.tern", container.replace(16, 16, number));
  ASSERT_EQ(truncate(path.c_str(), kBytes), 0);
  EXPECT_EQ(OpenError(path),
            path + ": the container's table has 10737418240 bytes, which 2 sections do not take");
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "kilobytes";
}

TEST_F(ArtifactTest, OnlyFilesAreOpened) {
  for (const std::string& path : {std::string("/dev/zero"), directory_.path()})
    EXPECT_NE(OpenError(path).find("and a file is expected"), std::string::npos) << OpenError(path);
}

TEST_F(ArtifactTest, SaysWhichSectionWasAltered) {
  std::string bytes = Sealed();
  ElfSection section = *FindElfSection(bytes, kContainerSection);
  auto altered = [&](uint64_t at) {
    std::string changed = bytes;
    changed[at] ^= 1;
    std::string error = OpenError(Write("m.so", changed)), text = "; altered is ";
    size_t found = error.find(text);
    return found == std::string::npos ? error : error.substr(found + text.size());
  };
  EXPECT_EQ(altered(section.offset + section.size - 1), "section module.0 of its container");
  EXPECT_EQ(altered(section.offset + 64 + 60),
            "its container (the container's table was altered: its hash is wrong)");
  EXPECT_EQ(altered(section.offset + 60), "what lies around its container");

  bytes = TernFile({HostTriple()});
  ContainerReader reader(bytes);
  for (const auto& part : reader.sections()) {
    std::string changed = bytes, path = directory_.File("m.tern");
    changed[static_cast<size_t>(part.bytes.data() - bytes.data()) + part.bytes.size() / 2] ^= 1;
    Write("m.tern", changed);
    EXPECT_EQ(ErrorOf([&] { Artifact::Open(path).Verify(); }),
              path + ": section " + part.name + " of the container was altered: its hash is wrong");
  }
}

// Whoever looks at a file and whoever runs it refuse the same ones.
TEST_F(ArtifactTest, VerifyingAndLoadingAgree) {
  std::mt19937 random(1);
  for (const std::string& bytes : {Sealed(), TernFile({HostTriple()})})
    for (int i = 0; i < 100; ++i) {
      std::string changed = bytes;
      for (auto count = random() % 3 + 1; count > 0; --count)
        changed[random() % changed.size()] ^= static_cast<char>(1 << random() % 8);
      if (random() % 8 == 0) changed.resize(random() % changed.size());
      std::string verified = ErrorOf([&] {
        Artifact artifact = Artifact::FromBytes(changed, "m");
        artifact.Verify();
        artifact.LoadImports();
      });
      EXPECT_EQ(verified == "no error",
                ErrorOf([&] { LoadModuleFromBytes(changed, "m"); }) == "no error")
          << i << ": " << verified;
      EXPECT_NE(verified, "no error") << i;
    }
}

TEST_F(ArtifactTest, ErrorsStayOnTheirLine) {
  ArtifactMeta meta = TestMeta();
  meta.functions[0].name = meta.functions[1].name = "f\n\x1b[2Jforged: good";
  ContainerWriter writer;
  writer.Add("meta", WriteMeta(meta));
  EXPECT_EQ(ErrorOf([&] { Artifact::FromBytes(writer.Finish(), "m"); }),
            "m: meta.functions[1]: a second function named f\\u000a\\u001b[2Jforged: good");
}

// Each took minutes, or the stack, where every one was compared with all others.
TEST(ArtifactMeta, TakesTimeInProportion) {
  constexpr int kCount = 100000;
  ArtifactMeta meta = TestMeta();
  for (int i = 0; i < kCount; ++i) {
    std::string name = "a_name_that_others_start_with_too_" + std::to_string(i);
    meta.functions[0].params.push_back({name, DataType::Int(32)});
    meta.functions.push_back({name, {}});
    meta.imports.push_back({"toy", {}});
    meta.root_imports.push_back(i + 1);
  }
  // Half of the functions are parts of the others.
  size_t half = meta.functions.size() / 2;
  for (size_t i = 0; i < half; ++i)
    meta.functions[i].prepare = meta.functions[i].prepared = meta.functions[half + i].name;
  EXPECT_EQ(ReadMeta(WriteMeta(meta)).PartNames().size(), half);
}

TEST_F(ArtifactTest, ManyModulesTakeTimeInProportion) {
  constexpr int kCount = 50000;
  ArtifactMeta meta = TestMeta();
  meta.imports.assign(kCount, {"toy", {}});
  meta.root_imports.clear();
  ContainerWriter writer;
  std::string module = SaveDeviceArtifact(ToyArtifact());
  for (int i = 0; i < kCount; ++i) {
    meta.root_imports.push_back(i);
    writer.Add("module." + std::to_string(i), module);
  }
  writer.Add("meta", WriteMeta(meta));
  Artifact artifact = Artifact::Open(Write("m.tern", writer.Finish()));
  artifact.Verify();
  EXPECT_EQ(artifact.LoadImports().size(), size_t{kCount});
}

TEST(ArtifactMeta, ImportsAreNotDeep) {
  auto chain = [](int count) {
    return MetaError([=](ArtifactMeta* meta) {
      meta->imports.assign(static_cast<size_t>(count), {"toy", {}});
      for (int i = 0; i + 1 < count; ++i) meta->imports[static_cast<size_t>(i)].imports = {i + 1};
    });
  };
  EXPECT_EQ(chain(100), "no error");
  EXPECT_EQ(chain(101), "meta.imports: nested deeper than 100");
  EXPECT_EQ(chain(10000), "meta.imports: nested deeper than 100");
}

}  // namespace
}  // namespace tern::runtime
