// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tern/runtime/artifact/sha256.h"
#include "tern/runtime/test_data/test_artifact.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

constexpr DataType kFloat = DataType::Float(32);

// Three weights, of which one has more than a piece.
struct TestWeights {
  std::string small = std::string(12, 'a'), large = std::string(2 * kWeightsPiece - 300, 'b'),
              last = std::string(8, 'c');
  std::vector<Weight> list() const {
    return {{"small", kFloat, {3}, small},
            {"large", DataType::Int(8), {static_cast<int64_t>(large.size())}, large},
            {"last", kFloat, {2, 1}, last}};
  }
};

// A container with weights behind it.
std::string File(const TestWeights& weights) {
  WeightsWriter writer(weights.list());
  ContainerWriter container = TestContainer();
  container.Add(kWeightsSection, EncodeWeights(writer.table()));
  std::string file = container.Finish();
  file.resize(WeightsStart(file.size()));
  writer.WriteData([&](std::string_view part) { file += part; });
  return file;
}

// More pieces than are hashed at once, and a shorter one.
TEST(Weights, PiecesHaveHashesOfTheirOwn) {
  std::string data(10 * kWeightsPiece + 100, '\0');
  for (size_t i = 0; i + sizeof i <= data.size(); i += 4096) std::memcpy(&data[i], &i, sizeof i);
  for (Sha256By by : {Sha256By::kBest, Sha256By::kVectors, Sha256By::kPlain}) {
    UseSha256(by);
    WeightsWriter writer({{"w", DataType::Int(8), {static_cast<int64_t>(data.size())}, data}});
    UseSha256(Sha256By::kBest);
    const std::vector<std::string>& hashes = writer.table().hashes;
    ASSERT_EQ(hashes.size(), 11u);
    for (size_t piece = 0; piece < hashes.size(); ++piece)
      EXPECT_EQ(hashes[piece], Sha256(data.substr(piece * kWeightsPiece, kWeightsPiece))) << piece;
  }
}

TEST(Weights, AreMappedAsTheyLie) {
  TestWeights weights;
  TempDirectory directory;
  std::string path = directory.File("m.tern");
  WriteFile(path, File(weights));
  for (const Artifact& artifact :
       {Artifact::Open(path), Artifact::FromBytes(ReadFile(path), "m.tern")})
    for (VerifyWeights verify :
         {VerifyWeights::kEager, VerifyWeights::kLazy, VerifyWeights::kOff}) {
      auto mapped = artifact.MapWeights(verify);
      mapped->CheckAll();
      Tensor last = mapped->Get("last");
      mapped = nullptr;
      EXPECT_EQ(last->shape(), (std::vector<int64_t>{2, 1}));
      EXPECT_EQ(std::string(last.as<char>(), last->num_bytes()), weights.last);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(last->data()) % kWeightsAlignment, 0);
    }
  EXPECT_EQ(ErrorOf([&] { Artifact::Open(path).MapWeights(VerifyWeights::kOff)->Get("x"); }),
            path + ": the file has no weight x");
}

TEST(Weights, OneMemoryLiesInOnePlace) {
  TestWeights weights;
  std::vector<Weight> list = weights.list();
  list.insert(list.begin() + 1, {"again", DataType::Int(32), {1, 3}, weights.small});
  WeightsTable table = WeightsWriter(list).table();
  EXPECT_EQ(table.entries[1].offset, table.entries[0].offset);
  EXPECT_EQ(table.data_bytes, WeightsWriter(weights.list()).table().data_bytes);
  EXPECT_EQ(table.hashes, WeightsWriter(weights.list()).table().hashes);
  EXPECT_EQ(DecodeWeights(EncodeWeights(table)).entries.size(), 4u);
}

TEST(Weights, EveryAlteredByteIsNoticed) {
  TestWeights weights;
  std::string file = File(weights);
  WeightsTable table = WeightsWriter(weights.list()).table();
  ASSERT_EQ(table.hashes.size(), 2);
  for (size_t at : {file.size() - 1, file.size() - table.data_bytes, file.size() - kWeightsPiece}) {
    std::string altered = file;
    altered[at] ^= 1;
    Artifact artifact = Artifact::FromBytes(altered, "m");
    std::string error = ErrorOf([&] { artifact.MapWeights(VerifyWeights::kEager); });
    EXPECT_NE(error.find("m: the weights were altered: the hash of their bytes"), std::string::npos)
        << error;
    auto lazy = artifact.MapWeights(VerifyWeights::kLazy);
    EXPECT_NE(ErrorOf([&] { lazy->CheckAll(); }), "no error");
    EXPECT_NE(ErrorOf([&] { lazy->Check(); }), "no error");
    EXPECT_EQ(ErrorOf([&] { artifact.MapWeights(VerifyWeights::kOff)->CheckAll(); }), "no error");
    EXPECT_NE(ErrorOf([&] { artifact.Verify(); }), "no error");
  }
  size_t gap = file.size() - table.data_bytes - 1;
  file[gap] = 1;
  EXPECT_EQ(ErrorOf([&] { Artifact::FromBytes(file, "m"); }),
            "m: the bytes before the weights are not zero");
}

TEST(Weights, TheFileHasAllOfThem) {
  std::string file = File({});
  for (size_t size : {file.size() - 1, file.size() / 2})
    EXPECT_NE(ErrorOf([&] {
                Artifact::FromBytes(file.substr(0, size), "m");
              }).find("m: the container is truncated"),
              std::string::npos);
  EXPECT_NE(ErrorOf([&] {
              Artifact::FromBytes(file + "x", "m");
            }).find("m: the container is followed by other bytes"),
            std::string::npos);
  // One that shrinks behind our back, before it is mapped.
  TempDirectory directory;
  std::string path = directory.File("m.tern");
  WriteFile(path, file);
  Artifact artifact = Artifact::Open(path);
  ASSERT_EQ(truncate(path.c_str(), 8192), 0);
  std::string error = ErrorOf([&] { artifact.MapWeights(VerifyWeights::kOff); });
  EXPECT_NE(error.find("cannot be mapped: it is truncated"), std::string::npos) << error;
}

TEST(Weights, TablesOfOthers) {
  WeightsTable table = WeightsWriter(TestWeights().list()).table();
  std::string bytes = EncodeWeights(table);
  EXPECT_EQ(EncodeWeights(DecodeWeights(bytes)), bytes);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(DecodeWeights(std::string_view(bytes).substr(0, size)), Error) << size;
  auto expect = [&](const std::function<void(WeightsTable*)>& change, const std::string& message) {
    WeightsTable changed = table;
    change(&changed);
    EXPECT_EQ(ErrorOf([&] { DecodeWeights(EncodeWeights(changed)); }), message);
  };
  expect([](WeightsTable* t) { t->entries[2].offset += 64; },
         "weight last is out of place: 8 bytes at " + std::to_string(table.entries[2].offset + 64) +
             " of " + std::to_string(table.data_bytes));
  expect([](WeightsTable* t) { t->entries[0].offset = 4; },
         "weight small is out of place: 12 bytes at 4 of " + std::to_string(table.data_bytes));
  expect([](WeightsTable* t) { t->entries[0].shape[0] = -3; },
         "weight small: shape (-3) is not legal");
  expect([](WeightsTable* t) { t->entries[2].name = "small"; }, "there are two weights small");
  EXPECT_EQ(ErrorOf([] { WeightsWriter({{"w", kFloat, {3}, "1234"}}); }),
            "weight w: float32 of shape (3) has 12 bytes, got 4");
}

TEST(Weights, WhenTheyAreChecked) {
  EXPECT_EQ(VerifyWeightsByEnvironment(), VerifyWeights::kLazy);
  setenv("TERN_VERIFY", "eager", 1);
  EXPECT_EQ(VerifyWeightsByEnvironment(), VerifyWeights::kEager);
  setenv("TERN_VERIFY", "yes", 1);
  EXPECT_EQ(ErrorOf([] { VerifyWeightsByEnvironment(); }),
            "TERN_VERIFY is 'yes'; expected eager, lazy or off");
  unsetenv("TERN_VERIFY");
}

}  // namespace
}  // namespace tern::runtime
