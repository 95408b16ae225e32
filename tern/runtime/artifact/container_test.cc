// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/container.h"

#include <gtest/gtest.h>

#include "tern/runtime/artifact/byte_stream.h"
#include "tern/runtime/artifact/sha256.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

std::string TwoSections() {
  ContainerWriter writer;
  writer.Add("b", "second");
  writer.Add("a", "first");
  return writer.Finish();
}

// Reads everything, as a careful client does.
std::string ReadAll(std::string_view bytes) {
  ContainerReader reader(bytes);
  std::string all;
  for (const auto& section : reader.sections())
    all += section.name + "=" + std::string(reader.Get(section.name)) + ";";
  return all;
}

// Made by a second, independent writer. Files written today are read by every later version: these
// bytes may not change while kContainerVersion is 1.
TEST(Container, GoldenBytes) {
  EXPECT_EQ(ToHex(TwoSections()),
            "7f5445524e0d0a1a01000000020000007200000000000000060100000000000090ed304a6f89743d8f09a6"
            "2314124d63"
            "c5a87ab3dfaec1f3fc4c12691975a279010000000000000061c0000000000000000500000000000000a793"
            "7b64b8caa5"
            "8f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e010000000000000062000100000000000006"
            "0000000000"
            "000016367aacb67a4a017c8da8ab95682ccb390863780f7114dda0a0e0c55644c7c4000000000000000000"
            "0000000000"
            "66697273740000000000000000000000000000000000000000000000000000000000000000000000000000"
            "0000000000"
            "000000000000000000000000000000007365636f6e64");
}

TEST(Container, RoundTrips) {
  EXPECT_EQ(ReadAll(TwoSections()), "a=first;b=second;");
  EXPECT_EQ(ReadAll(ContainerWriter().Finish()), "");
}

TEST(Container, SectionsAreAlignedTo64) {
  std::string bytes = TwoSections();
  ContainerReader reader(bytes);
  for (const auto& section : reader.sections())
    EXPECT_EQ((section.bytes.data() - bytes.data()) % 64, 0) << section.name;
}

TEST(Container, EveryTruncationIsAnError) {
  std::string bytes = TwoSections();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(ReadAll(std::string_view(bytes).substr(0, size)), Error) << size;
  EXPECT_THROW(ReadAll(bytes + '\0'), Error);
}

TEST(Container, EveryChangedByteIsAnError) {
  std::string bytes = TwoSections();
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] ^= static_cast<char>(1 << bit);
      EXPECT_THROW(ReadAll(changed), Error) << "byte " << i << ", bit " << bit;
    }
}

// A file made to harm has a right hash over wrong numbers.
std::string Resealed(std::string bytes) {
  uint64_t table_size =
      std::min<uint64_t>(LoadLe<uint64_t>(std::string_view(bytes).substr(16)), bytes.size() - 64);
  std::string_view view = bytes;
  bytes.replace(32, 32, Sha256({view.substr(0, 32), view.substr(64, table_size)}));
  return bytes;
}

TEST(Container, ForgedTablesAreRefused) {
  std::string bytes = TwoSections();
  ASSERT_EQ(Resealed(bytes), bytes);
  auto forge = [&](size_t offset, uint64_t value) {
    std::string number;
    AppendLe<uint64_t>(value, &number);
    return Resealed(std::string(bytes).replace(offset, 8, number));
  };
  const size_t first = 64, offset_at = first + 8 + 1, size_at = offset_at + 8;
  for (uint64_t value :
       {uint64_t{0}, uint64_t{1}, uint64_t{255}, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{63}}) {
    EXPECT_THROW(ReadAll(forge(first, value == 1 ? 2 : value)), Error) << "name length " << value;
    EXPECT_THROW(ReadAll(forge(offset_at, value)), Error) << "offset " << value;
    EXPECT_THROW(ReadAll(forge(size_at, value)), Error) << "size " << value;
    EXPECT_THROW(ReadAll(forge(16, value)), Error) << "table size " << value;
    EXPECT_THROW(ReadAll(forge(24, value)), Error) << "total size " << value;
  }
  EXPECT_THROW(ReadAll(forge(8, uint64_t{0xffffffff} << 32 | 1)), Error) << "section count";
}

TEST(Container, ErrorsSayWhatIsWrong) {
  std::string bytes = TwoSections();
  EXPECT_EQ(ErrorOf([] { ContainerReader("hello, world"); }), "not a Tern container");
  std::string newer = bytes;
  newer[8] = 2;
  EXPECT_EQ(ErrorOf([&] { ContainerReader reader(newer); }),
            "container version 2 is not supported: this runtime reads version 1");
  std::string altered = bytes;
  altered.back() ^= 1;
  ContainerReader reader(altered);
  EXPECT_EQ(reader.Get("a"), "first") << "only the section that was altered is refused";
  EXPECT_EQ(ErrorOf([&] { reader.Get("b"); }),
            "section b of the container was altered: its hash is wrong");
  EXPECT_EQ(ErrorOf([&] { reader.Get("c"); }), "the container has no section c; it has a, b");
}

TEST(Container, WriterRefusesBadNames) {
  ContainerWriter writer;
  writer.Add("a", "");
  EXPECT_THROW(writer.Add("a", ""), Error);
  EXPECT_THROW(writer.Add("", ""), Error);
  EXPECT_THROW(writer.Add("a b", ""), Error);
  EXPECT_THROW(writer.Add(std::string(256, 'x'), ""), Error);
}

// A table that the number of sections cannot make is not read.
TEST(Container, TheTableHasTheSizeOfItsSections) {
  for (auto [count, fits] : {std::pair(1u, true), {2u, true}, {3u, false}, {0u, false}}) {
    std::string bytes = TwoSections(), number;
    AppendLe<uint32_t>(count, &number);
    bool needed = false;
    std::string error = ErrorOf([&] {
      ContainerReader(Resealed(bytes.replace(12, 4, number)),
                      [&](uint64_t offset, uint64_t) { needed = needed || offset >= 64; });
    });
    EXPECT_EQ(needed, fits) << count;
    if (fits) continue;
    EXPECT_EQ(error, "the container's table has 114 bytes, which " + std::to_string(count) +
                         " sections do not take");
  }
}

TEST(Container, NamesWhatWasAltered) {
  std::string bytes = TwoSections();
  EXPECT_TRUE(ContainerReader(bytes).AlteredSections().empty());
  bytes.back() ^= 1;
  EXPECT_EQ(ContainerReader(bytes).AlteredSections(), std::vector<std::string>{"b"});
  bytes[192] ^= 1;
  EXPECT_EQ(ContainerReader(bytes).AlteredSections(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace tern::runtime
