// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/prepacked_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/test_data/test_kernels.h"
#include "tern/runtime/vm/session.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

constexpr int64_t kElements = 40000;  // more bytes than kLeastBytes
const std::string kExtent = std::to_string(kElements);

// y = x + p, where p = 2 * w is made when the model is loaded; w is 1, 2, 3, ...
Program TestProgram(const std::string& extent = kExtent) {
  return ParseProgram("model 1\ninput x: float32[" + extent + "]\noutput y: float32[" + extent +
                          "]\nconstant w: float32[" + extent + "] weights\nconstant p: float32[" +
                          extent +
                          "] made\nprepack twice(w, p)\n"
                          "func main(t0: float32[:]) -> (tensor) {\nt1: float32[:]\nt2: "
                          "float32[:]\nt1 = const p\nt2 = alloc [" +
                          extent + "]\ncall add(t0, t1, t2)\nret t2\n}\n",
                      "a.vm");
}

// The functions, of which `twice` can be gone.
class Kernels : public TestKernels {
 public:
  explicit Kernels(bool prepacks) : prepacks_(prepacks) {}
  ffi::Function GetFunction(std::string_view name) override {
    return name == "twice" && !prepacks_ ? ffi::Function() : TestKernels::GetFunction(name);
  }

 private:
  bool prepacks_;
};

class PrepackedCacheTest : public testing::Test {
 protected:
  PrepackedCache Cache(const std::string& key = "key", uint64_t bytes = 1 << 20) const {
    return {ProgramCache(directory_.path(), bytes), key};
  }
  std::shared_ptr<const Model> Load(bool prepacks, const PrepackedCache& cache,
                                    Program program = TestProgram()) const {
    ModelParts parts{std::move(program), ffi::Module(ffi::Make<Kernels>(prepacks)),
                     TestKernels::Infos()};
    parts.weight = [](const Constant& constant) {
      Tensor tensor = Tensor::Empty(constant.shape, constant.dtype);
      for (int64_t i = 0; i < tensor->num_elements(); ++i)
        tensor.as<float>()[i] = static_cast<float>(i + 1);
      return tensor;
    };
    parts.cache = cache;
    return std::make_shared<const Model>(std::move(parts));
  }
  static void ExpectRuns(const std::shared_ptr<const Model>& model) {
    Tensor x = Tensor::Empty({kElements}, DataType::Float(32));
    std::fill_n(x.as<float>(), kElements, 0.5f);
    Tensor y = Session(model).Run({x})[0];
    EXPECT_EQ(y.as<float>()[0], 2.5f);
    EXPECT_EQ(y.as<float>()[kElements - 1], 2.0f * kElements + 0.5f);
  }
  std::string File() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      return entry.path().string();
    return "";
  }

  TempDirectory directory_;
};

TEST_F(PrepackedCacheTest, LargeWeightsAreMadeFirst) {
  std::string text =
      "model 1\ninput x: float32[4]\noutput y: float32[4]\n"
      "constant small: float32[4] weights\nconstant a: float32[4] made\n"
      "constant large: float32[4000] weights\nconstant b: float32[4000] made\n"
      "prepack twice(small, a)\nprepack twice(large, b)\n"
      "func main(t0: float32[:]) -> (tensor) {\nt1: float32[:]\nt2: float32[:]\nt3: float32[:]\n"
      "t1 = const a\nt2 = const b\nt3 = alloc [4]\ncall add(t0, t1, t3)\nret t3\n}\n";
  std::vector<std::string> asked;
  ModelParts parts{ParseProgram(text, "a.vm"), ffi::Module(ffi::Make<Kernels>(true)),
                   TestKernels::Infos()};
  parts.weight = [&](const Constant& constant) {
    asked.push_back(constant.name);
    Tensor tensor = Tensor::Empty(constant.shape, constant.dtype);
    std::fill_n(tensor.as<float>(), tensor->num_elements(), 3.0f);
    return tensor;
  };
  auto model = std::make_shared<const Model>(std::move(parts));
  EXPECT_EQ(asked, (std::vector<std::string>{"large", "small"}));
  Tensor x = Tensor::Empty({4}, DataType::Float(32));
  std::fill_n(x.as<float>(), 4, 0.5f);
  EXPECT_EQ(Session(model).Run({x})[0].as<float>()[3], 6.5f);
}

TEST_F(PrepackedCacheTest, WeightsAreMadeOnceAndMapped) {
  auto first = Load(true, Cache());
  EXPECT_TRUE(first->constant(1)->memory().is_read_only) << "that of the file";
  EXPECT_FALSE(first->constant(0)) << "none but prepacking reads it";
  ExpectRuns(first);
  ASSERT_NE(File(), "");
  ExpectRuns(Load(false, Cache()));
  EXPECT_NE(ErrorOf([&] { Load(false, Cache("other")); }).find("has no function twice"),
            std::string::npos);
  // Files that are gone stay mapped.
  auto last = Load(false, Cache());
  std::filesystem::remove(File());
  ExpectRuns(last);
}

TEST_F(PrepackedCacheTest, WhatIsDamagedIsMadeAgain) {
  Load(true, Cache());
  std::filesystem::resize_file(File(), std::filesystem::file_size(File()) - 1);
  ExpectRuns(Load(true, Cache()));
  ExpectRuns(Load(false, Cache()));
  WriteFile(File(), "no container", 0600);
  ExpectRuns(Load(true, Cache()));
  // What is of another program.
  Load(true, Cache(), TestProgram(std::to_string(2 * kElements)));
  ExpectRuns(Load(true, Cache()));
  std::filesystem::permissions(File(), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_NE(ErrorOf([&] { Load(false, Cache()); }), "no error") << "another user may have written";
}

TEST_F(PrepackedCacheTest, WhatIsAlteredIsRemoved) {
  Load(true, Cache());
  std::string bytes = ReadFile(File());
  bytes.back() ^= 1;
  WriteFile(File(), bytes, 0600);
  auto model = Load(true, Cache());
  EXPECT_NE(ErrorOf([&] { model->CheckAllWeights(); }).find("the weights were altered"),
            std::string::npos);
  EXPECT_EQ(File(), "");
  ExpectRuns(Load(true, Cache()));
  WriteFile(File(), bytes, 0600);
  ScopedVariable eager("TERN_VERIFY", "eager");
  ExpectRuns(Load(true, Cache()));
}

TEST_F(PrepackedCacheTest, LittleAndTooMuchIsNotStored) {
  Load(true, Cache("little"), TestProgram("100"));
  EXPECT_EQ(File(), "");
  ExpectRuns(Load(true, Cache("much", 1000)));
  EXPECT_EQ(File(), "");
}

}  // namespace
}  // namespace tern::runtime::vm
