// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/sha256.h"

#include <gtest/gtest.h>

namespace tern::runtime {
namespace {

// The examples of FIPS 180-4's test vectors.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(ToHex(Sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ToHex(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(ToHex(Sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// By instructions of this machine, where it has them, and without.
TEST(Sha256, PlainCodeAgrees) {
  std::string text;
  for (unsigned i = 0; i < 5000; ++i) text += static_cast<char>(i * 2654435761u >> 13);
  for (size_t size = 0; size < text.size(); size += 61) {
    std::string_view part = std::string_view(text).substr(0, size);
    std::string digest = Sha256(part);
    UseSha256(Sha256By::kPlain);
    EXPECT_EQ(Sha256(part), digest) << size;
    UseSha256(Sha256By::kBest);
  }
}

// Texts side by side, which come in two parts.
TEST(Sha256, LanesAgree) {
  std::string text;
  for (unsigned i = 0; i < 5000; ++i) text += static_cast<char>(i * 2654435761u >> 13);
  for (Sha256By by : {Sha256By::kBest, Sha256By::kVectors, Sha256By::kPlain})
    for (size_t count = 1; count <= Sha256Lanes::kMost; ++count)
      for (size_t size : {0, 64, 128, 1984}) {
        UseSha256(by);
        Sha256Lanes lanes(count);
        std::vector<const char*> first, second;
        std::vector<std::string> digests;
        for (size_t i = 0; i < count; ++i) {
          first.push_back(text.data() + i * 257);
          second.push_back(first.back() + size);
          digests.push_back(Sha256(text.substr(i * 257, size + 64)));
        }
        lanes.Update(first.data(), size);
        lanes.Update(second.data(), 64);
        EXPECT_EQ(lanes.Finish(), digests) << count << " of " << size;
        UseSha256(Sha256By::kBest);
      }
}

TEST(Sha256, PartsAreOneText) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i);
  for (size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(Sha256({text.substr(0, cut), text.substr(cut)}), Sha256(text)) << cut;
}

}  // namespace
}  // namespace tern::runtime
