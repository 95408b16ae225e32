// SPDX-License-Identifier: Apache-2.0
//
// Blocks of symbols, coded by canonical Huffman codes: bytes, the end of the block, and lengths of
// what is copied from a distance before. Nothing of the data is trusted.
#include "tools/tern/inflate.h"

#include <array>
#include <cstdint>

#include "tern/ffi/error.h"

namespace tern::tools {
namespace {

constexpr int kMostBits = 15, kEnd = 256;
constexpr size_t kMostSymbols = 288, kMostDistances = 30;
// Of the symbols from 257 on, and of distances: the least, and how many bits are added to it.
constexpr uint16_t kLengths[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr uint8_t kLengthBits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                   2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr uint16_t kDistances[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                   33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                   1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr uint8_t kDistanceBits[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                     6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

// How many codes there are of each length, and the symbols in the order of their codes.
struct Code {
  std::array<uint16_t, kMostBits + 1> counts = {};
  std::array<uint16_t, kMostSymbols> symbols = {};

  Code(const uint8_t* lengths, size_t size) {
    for (size_t i = 0; i < size; ++i) ++counts[lengths[i]];
    counts[0] = 0;
    std::array<uint16_t, kMostBits + 2> next = {};
    int left = 1;
    for (size_t bits = 1; bits <= kMostBits; ++bits) {
      left = 2 * left - counts[bits];
      TERN_CHECK(left >= 0) << "a code has more symbols than it can have";
      next[bits + 1] = static_cast<uint16_t>(next[bits] + counts[bits]);
    }
    for (size_t i = 0; i < size; ++i)
      if (lengths[i] > 0) symbols[next[lengths[i]]++] = static_cast<uint16_t>(i);
  }
};

class Inflater {
 public:
  Inflater(std::string_view data, size_t size) : data_(data), size_(size) {}

  std::string Run() {
    bool is_last = false;
    while (!is_last) {
      is_last = Bits(1) == 1;
      switch (Bits(2)) {
        case 0:
          Stored();
          break;
        case 1:
          Fixed();
          break;
        case 2:
          Dynamic();
          break;
        default:
          TERN_THROW(ValueError) << "a block is of no known kind";
      }
    }
    TERN_CHECK(out_.size() == size_)
        << "there are " << out_.size() << " bytes, and " << size_ << " are expected";
    return std::move(out_);
  }

 private:
  // The next bits, the first one the lowest.
  unsigned Bits(int count) {
    while (held_ < count) {
      TERN_CHECK(at_ < data_.size()) << "the data are cut off";
      bits_ |= static_cast<unsigned>(static_cast<uint8_t>(data_[at_++])) << held_;
      held_ += 8;
    }
    unsigned value = bits_ & ((1U << count) - 1);
    bits_ >>= count;
    held_ -= count;
    return value;
  }
  // Bits of a code come the highest first.
  int Symbol(const Code& code) {
    int value = 0, first = 0, index = 0;
    for (size_t bits = 1; bits <= kMostBits; ++bits) {
      value |= static_cast<int>(Bits(1));
      int count = code.counts[bits];
      if (value - count < first) return code.symbols[static_cast<size_t>(index + value - first)];
      index += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    TERN_THROW(ValueError) << "a code stands for no symbol";
  }
  void Require(size_t more) const {
    TERN_CHECK(more <= size_ - out_.size())
        << "there are more than the " << size_ << " bytes expected";
  }

  void Stored() {
    bits_ = 0, held_ = 0;  // up to the next byte
    unsigned length = Bits(16), check = Bits(16);
    TERN_CHECK((length ^ check) == 0xffff) << "a block's length is damaged";
    TERN_CHECK(length <= data_.size() - at_) << "the data are cut off";
    Require(length);
    out_.append(data_.substr(at_, length));
    at_ += length;
  }
  void Fixed() {
    std::array<uint8_t, kMostSymbols> lengths;
    for (size_t i = 0; i < kMostSymbols; ++i)
      lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    std::array<uint8_t, kMostDistances> distances;
    distances.fill(5);
    Block({lengths.data(), lengths.size()}, {distances.data(), distances.size()});
  }
  // The lengths of the codes are coded themselves, with runs.
  void Dynamic() {
    constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    size_t symbols = Bits(5) + 257, distances = Bits(5) + 1, count = Bits(4) + 4;
    TERN_CHECK(symbols <= kMostSymbols - 2 && distances <= kMostDistances)
        << "a block has too many codes";
    std::array<uint8_t, 19> of_lengths = {};
    for (size_t i = 0; i < count; ++i) of_lengths[kOrder[i]] = static_cast<uint8_t>(Bits(3));
    Code code(of_lengths.data(), of_lengths.size());
    std::array<uint8_t, kMostSymbols + kMostDistances> lengths = {};
    for (size_t i = 0; i < symbols + distances;) {
      int symbol = Symbol(code);
      if (symbol < 16) {
        lengths[i++] = static_cast<uint8_t>(symbol);
        continue;
      }
      TERN_CHECK(symbol != 16 || i > 0) << "a run of lengths has none before it";
      uint8_t length = symbol == 16 ? lengths[i - 1] : 0;
      size_t run = symbol == 16 ? 3 + Bits(2) : symbol == 17 ? 3 + Bits(3) : 11 + Bits(7);
      TERN_CHECK(run <= symbols + distances - i) << "a run of lengths is too long";
      while (run-- > 0) lengths[i++] = length;
    }
    Block({lengths.data(), symbols}, {lengths.data() + symbols, distances});
  }
  void Block(const Code& symbols, const Code& distances) {
    for (int symbol = Symbol(symbols); symbol != kEnd; symbol = Symbol(symbols)) {
      if (symbol < kEnd) {
        Require(1);
        out_.push_back(static_cast<char>(symbol));
        continue;
      }
      auto number = static_cast<size_t>(symbol - kEnd - 1);
      TERN_CHECK(number < std::size(kLengths)) << "a code stands for no length";
      size_t length = kLengths[number] + Bits(kLengthBits[number]);
      auto place = static_cast<size_t>(Symbol(distances));
      TERN_CHECK(place < std::size(kDistances)) << "a code stands for no distance";
      size_t distance = kDistances[place] + Bits(kDistanceBits[place]);
      TERN_CHECK(distance <= out_.size()) << "bytes are copied from before the first one";
      Require(length);
      // What is copied may overlap what it makes.
      for (size_t i = 0; i < length; ++i) out_.push_back(out_[out_.size() - distance]);
    }
  }

  std::string_view data_;
  size_t size_, at_ = 0;
  unsigned bits_ = 0;
  int held_ = 0;
  std::string out_;
};

}  // namespace

std::string Inflate(std::string_view data, size_t size) { return Inflater(data, size).Run(); }

}  // namespace tern::tools
