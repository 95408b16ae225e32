// SPDX-License-Identifier: Apache-2.0
//
// The weights of a model, behind the rest of its file: a table in the section `weights`, and the
// data, which is mapped as it lies, one copy for all processes. docs/artifact_format.md is the
// specification.
#ifndef TERN_RUNTIME_ARTIFACT_WEIGHTS_H_
#define TERN_RUNTIME_ARTIFACT_WEIGHTS_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/tensor.h"

namespace tern::runtime {

inline constexpr const char* kWeightsSection = "weights";
inline constexpr uint64_t kWeightsPage = 4096;      // the data starts at a multiple of it
inline constexpr uint64_t kWeightsAlignment = 64;   // of each weight, in the data
inline constexpr uint64_t kWeightsPiece = 4 << 20;  // bytes that have a hash of their own

// Where what follows so many bytes starts.
inline uint64_t WeightsStart(uint64_t bytes) {
  return (bytes + kWeightsPage - 1) / kWeightsPage * kWeightsPage;
}

// A weight to write: compact, little endian. The bytes are looked at twice, and outlive the writer.
// Weights whose bytes are the same memory lie in one place.
struct Weight {
  std::string name;
  DataType dtype;
  std::vector<int64_t> shape;
  std::string_view bytes;
};

struct WeightsTable {
  struct Entry {
    std::string name;
    DataType dtype;
    std::vector<int64_t> shape;
    uint64_t offset = 0;  // from the start of the data
    uint64_t bytes = 0;   // as dtype and shape say
  };
  std::vector<Entry> entries;
  uint64_t data_bytes = 0;
  std::vector<std::string> hashes;  // SHA-256 of the pieces
};
std::string EncodeWeights(const WeightsTable& table);
// Checks that every entry lies within the data, aligned, and that names are unique.
WeightsTable DecodeWeights(std::string_view bytes);

class WeightsWriter {
 public:
  // Lays the weights out and hashes them. Throws where a weight has not as many bytes as its shape
  // says.
  explicit WeightsWriter(std::vector<Weight> weights);
  const WeightsTable& table() const { return table_; }
  // Gives the data to `write`, part by part.
  void WriteData(const std::function<void(std::string_view)>& write) const;

 private:
  // Bytes begin..end of it.
  void WriteData(uint64_t begin, uint64_t end,
                 const std::function<void(std::string_view)>& write) const;

  std::vector<Weight> weights_;  // each place once
  std::vector<uint64_t> offsets_;
  WeightsTable table_;
};

// When the hashes of the data are checked: before it is used, beside its use, or not.
enum class VerifyWeights { kEager, kLazy, kOff };
// By TERN_VERIFY; lazy where it is not set.
VerifyWeights VerifyWeightsByEnvironment();

// The weights of an open file. Safe from many threads.
class MappedWeights {
 public:
  // `file` has the data at `start`; messages call it `name`. Throws where it is too short, or was
  // altered (kEager).
  MappedWeights(std::string name, const PartlyReadFile& file, uint64_t start, WeightsTable table,
                VerifyWeights verify);
  ~MappedWeights();
  MappedWeights(const MappedWeights&) = delete;

  const WeightsTable& table() const { return table_; }
  // Without a copy, read only. Keeps the mapping alive, not this object. Throws where there is
  // none.
  Tensor Get(const std::string& name) const;

  // Throws where a piece is known to be altered: of those that were looked at so far.
  void Check() const {
    if (altered_.load(std::memory_order_acquire) != kNone) Fail();
  }
  // Looks at all of them first (unless kOff).
  void CheckAll();

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  [[noreturn]] void Fail() const;
  // Of a piece that was altered, kNone where none is; until `stop_` is set.
  uint64_t FindAltered() const;

  std::string name_;
  WeightsTable table_;
  std::map<std::string_view, const WeightsTable::Entry*> by_name_;
  std::shared_ptr<const void> data_;
  VerifyWeights verify_;
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> altered_ = kNone;
  std::mutex mutex_;
  std::thread thread_;  // that looks
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_ARTIFACT_WEIGHTS_H_
