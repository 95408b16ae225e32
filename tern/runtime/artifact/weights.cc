// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/weights.h"

#include <sys/resource.h>

#include <algorithm>

#include "tern/ffi/environment.h"
#include "tern/ffi/escape_text.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/byte_stream.h"
#include "tern/runtime/artifact/sha256.h"
#include "tern/runtime/host/thread_pool.h"

namespace tern::runtime {
namespace {

constexpr uint32_t kTableVersion = 1;
constexpr size_t kHashSize = 32;
constexpr uint64_t kMostRank = 32;
// Of the thread that checks weights beside their use: kernels come first.
constexpr int kNice = 10;

// Bytes of a piece that are hashed with as many of others: all of them stay in L2.
constexpr uint64_t kHashedAtOnce = 16 << 10;
static_assert(kWeightsPiece % kHashedAtOnce == 0);

uint64_t AlignUp(uint64_t offset) {
  return (offset + kWeightsAlignment - 1) / kWeightsAlignment * kWeightsAlignment;
}

uint64_t PieceCount(uint64_t bytes) { return bytes / kWeightsPiece + (bytes % kWeightsPiece != 0); }

uint64_t BytesOf(const std::string& name, DataType dtype, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    TERN_CHECK(extent >= 0 && !__builtin_mul_overflow(count, extent, &count) &&
               count <= int64_t{1} << 56)
        << "weight " << name << ": shape " << ffi::ShapeText(shape) << " is not legal";
  return static_cast<uint64_t>(dtype.BytesOf(count));
}

// Of pieces `begin` to `end` of so many bytes, calls found(piece, hash). bytes(from, to, &copy)
// returns those bytes, which it may have put into `copy`.
template <typename Bytes, typename Found>
void HashPieces(uint64_t data_bytes, uint64_t begin, uint64_t end, const Bytes& bytes,
                const Found& found) {
  const uint64_t whole = std::min(end, data_bytes / kWeightsPiece);
  std::string copies[Sha256Lanes::kMost];
  uint64_t count = 0;
  for (uint64_t first = begin; first < whole; first += count) {
    count = std::min<uint64_t>(Sha256Lanes::AtOnce(), whole - first);
    Sha256Lanes lanes(count);
    for (uint64_t at = 0; at < kWeightsPiece; at += kHashedAtOnce) {
      const char* parts[Sha256Lanes::kMost];
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t from = (first + i) * kWeightsPiece + at;
        parts[i] = bytes(from, from + kHashedAtOnce, &copies[i]).data();
      }
      lanes.Update(parts, kHashedAtOnce);
    }
    std::vector<std::string> hashes = lanes.Finish();
    for (uint64_t i = 0; i < count; ++i) found(first + i, std::move(hashes[i]));
  }
  // The last one is shorter.
  if (whole < end) found(whole, Sha256(bytes(whole * kWeightsPiece, data_bytes, &copies[0])));
}

}  // namespace

std::string EncodeWeights(const WeightsTable& table) {
  std::string out;
  AppendLe<uint32_t>(kTableVersion, &out);
  AppendLe<uint64_t>(table.data_bytes, &out);
  AppendLe<uint64_t>(table.entries.size(), &out);
  for (const WeightsTable::Entry& entry : table.entries) {
    AppendSized(entry.name, &out);
    AppendLe<uint8_t>(entry.dtype.raw().code, &out);
    AppendLe<uint8_t>(entry.dtype.raw().bits, &out);
    AppendLe<uint64_t>(entry.shape.size(), &out);
    for (int64_t extent : entry.shape) AppendLe<int64_t>(extent, &out);
    AppendLe<uint64_t>(entry.offset, &out);
  }
  for (const std::string& hash : table.hashes) out += hash;
  return out;
}

WeightsTable DecodeWeights(std::string_view bytes) {
  ByteReader in(bytes, "the table of weights");
  auto version = in.Int<uint32_t>();
  TERN_CHECK(version == kTableVersion)
      << "version " << version << " of the table of weights is not supported: this runtime reads "
      << "version " << kTableVersion;
  WeightsTable table;
  table.data_bytes = in.Int<uint64_t>();
  for (auto count = in.Int<uint64_t>(); count > 0; --count) {
    WeightsTable::Entry entry;
    entry.name = in.Sized();
    int code = in.Int<uint8_t>(), bits = in.Int<uint8_t>();
    entry.dtype = DataType(code, bits);
    TERN_CHECK(DataType::Parse(entry.dtype.str()) == entry.dtype &&
               (entry.dtype.is_packed() || entry.dtype.bytes() > 0) && !entry.dtype.is_handle())
        << "weight " << entry.name << " has no type that is known: code " << code << ", " << bits
        << " bits";
    auto rank = in.Int<uint64_t>();
    TERN_CHECK(rank <= kMostRank) << "weight " << entry.name << " has rank " << rank;
    for (; rank > 0; --rank) entry.shape.push_back(in.Int<int64_t>());
    entry.offset = in.Int<uint64_t>();
    entry.bytes = BytesOf(entry.name, entry.dtype, entry.shape);
    TERN_CHECK(entry.offset % kWeightsAlignment == 0 && entry.offset <= table.data_bytes &&
               entry.bytes <= table.data_bytes - entry.offset)
        << "weight " << entry.name << " is out of place: " << entry.bytes << " bytes at "
        << entry.offset << " of " << table.data_bytes;
    table.entries.push_back(std::move(entry));
  }
  for (uint64_t piece = PieceCount(table.data_bytes); piece > 0; --piece)
    table.hashes.emplace_back(in.Take(kHashSize));
  in.ExpectEnd();
  std::vector<std::string_view> names;
  for (const WeightsTable::Entry& entry : table.entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  TERN_CHECK(twice == names.end()) << "there are two weights " << *twice;
  return table;
}

WeightsWriter::WeightsWriter(std::vector<Weight> weights) {
  std::map<std::pair<const char*, size_t>, uint64_t> places;
  for (Weight& weight : weights) {
    uint64_t bytes = BytesOf(weight.name, weight.dtype, weight.shape);
    TERN_CHECK(weight.bytes.size() == bytes)
        << "weight " << weight.name << ": " << weight.dtype.str() << " of shape "
        << ffi::ShapeText(weight.shape) << " has " << bytes << " bytes, got "
        << weight.bytes.size();
    auto [place, is_new] =
        places.try_emplace({weight.bytes.data(), weight.bytes.size()}, AlignUp(table_.data_bytes));
    uint64_t offset = place->second;
    table_.entries.push_back({weight.name, weight.dtype, weight.shape, offset, bytes});
    if (!is_new) continue;
    table_.data_bytes = offset + bytes;
    offsets_.push_back(offset);
    weights_.push_back(std::move(weight));
  }
  const uint64_t pieces = PieceCount(table_.data_bytes);
  table_.hashes.resize(pieces);
  // Pieces of a thread that are hashed side by side.
  const auto threads = static_cast<uint64_t>(std::max(1, NumThreads()));
  const uint64_t group =
      std::clamp<uint64_t>((pieces + threads - 1) / threads, 1, Sha256Lanes::AtOnce());
  ParallelFor(static_cast<int64_t>((pieces + group - 1) / group), [&](int64_t begin, int64_t end) {
    HashPieces(
        table_.data_bytes, static_cast<uint64_t>(begin) * group,
        std::min(static_cast<uint64_t>(end) * group, pieces),
        [&](uint64_t from, uint64_t to, std::string* copy) {
          copy->clear();
          WriteData(from, to, [&](std::string_view part) { *copy += part; });
          return std::string_view(*copy);
        },
        [&](uint64_t piece, std::string hash) { table_.hashes[piece] = std::move(hash); });
  });
}

void WeightsWriter::WriteData(uint64_t begin, uint64_t end,
                              const std::function<void(std::string_view)>& write) const {
  static const std::string kZeros(kWeightsAlignment, '\0');
  auto first = std::upper_bound(offsets_.begin(), offsets_.end(), begin);
  auto i = static_cast<size_t>(std::max(first - offsets_.begin() - 1, std::ptrdiff_t{0}));
  for (uint64_t at = begin; at < end; ++i) {
    if (at < offsets_[i]) {
      uint64_t stop = std::min(offsets_[i], end);
      write(std::string_view(kZeros).substr(0, stop - at));
      at = stop;
    }
    std::string_view bytes = weights_[i].bytes;
    uint64_t skip = at - offsets_[i];
    if (at == end || skip >= bytes.size()) continue;
    std::string_view part = bytes.substr(skip, end - at);
    write(part);
    at += part.size();
  }
}

void WeightsWriter::WriteData(const std::function<void(std::string_view)>& write) const {
  WriteData(0, table_.data_bytes, write);
}

VerifyWeights VerifyWeightsByEnvironment() {
  std::string word = environment::Text("TERN_VERIFY").value_or("lazy");
  if (word == "eager") return VerifyWeights::kEager;
  if (word == "off") return VerifyWeights::kOff;
  TERN_CHECK(word == "lazy") << "TERN_VERIFY is '" << word << "'; expected eager, lazy or off";
  return VerifyWeights::kLazy;
}

MappedWeights::MappedWeights(std::string name, const PartlyReadFile& file, uint64_t start,
                             WeightsTable table, VerifyWeights verify)
    : name_(std::move(name)),
      table_(std::move(table)),
      data_(file.Map(start, table_.data_bytes)),
      verify_(verify) {
  for (const WeightsTable::Entry& entry : table_.entries) by_name_[entry.name] = &entry;
  if (verify_ == VerifyWeights::kEager) CheckAll();
  if (verify_ == VerifyWeights::kLazy && table_.data_bytes > 0)
    thread_ = std::thread([this] {
      setpriority(PRIO_PROCESS, 0, kNice);  // of this thread
      altered_ = FindAltered();
    });
}

MappedWeights::~MappedWeights() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

uint64_t MappedWeights::FindAltered() const {
  const auto* data = static_cast<const char*>(data_.get());
  uint64_t altered = kNone, end = 0;
  for (uint64_t first = 0; first < table_.hashes.size() && !stop_ && altered == kNone;
       first = end) {
    end = std::min<uint64_t>(first + Sha256Lanes::AtOnce(), table_.hashes.size());
    HashPieces(
        table_.data_bytes, first, end,
        [&](uint64_t from, uint64_t to, std::string*) {
          return std::string_view(data + from, to - from);
        },
        [&](uint64_t piece, const std::string& hash) {
          if (hash != table_.hashes[piece]) altered = std::min(altered, piece);
        });
  }
  return altered;
}

void MappedWeights::CheckAll() {
  if (verify_ == VerifyWeights::kOff) return;
  {
    std::lock_guard lock(mutex_);
    if (thread_.joinable())
      thread_.join();
    else if (verify_ == VerifyWeights::kEager)
      altered_ = FindAltered();
  }
  Check();
}

void MappedWeights::Fail() const {
  uint64_t offset = altered_ * kWeightsPiece;
  std::vector<std::string> names;
  for (const WeightsTable::Entry& entry : table_.entries)
    if (entry.offset < offset + kWeightsPiece && offset < entry.offset + entry.bytes &&
        names.size() < 3)
      names.push_back(entry.name);
  TERN_THROW(ValueError) << name_ << ": the weights were altered: the hash of their bytes "
                         << offset << " to " << std::min(offset + kWeightsPiece, table_.data_bytes)
                         << " is wrong, where " << ffi::Escaped(ffi::Join(names)) << " lie";
  __builtin_unreachable();
}

Tensor MappedWeights::Get(const std::string& name) const {
  auto found = by_name_.find(name);
  TERN_CHECK(found != by_name_.end()) << name_ << ": the file has no weight " << name;
  const WeightsTable::Entry& entry = *found->second;
  // Read only; nothing writes to constants.
  auto* first = const_cast<char*>(static_cast<const char*>(data_.get())) + entry.offset;
  TensorMemory memory{std::shared_ptr<void>(std::const_pointer_cast<void>(data_), first),
                      entry.bytes, /*is_read_only=*/true};
  return Tensor(ffi::Make<TensorObj>(entry.shape, entry.dtype, TernDevice{kTernDeviceCpu, 0},
                                     TensorLayout{}, std::move(memory)));
}

}  // namespace tern::runtime
