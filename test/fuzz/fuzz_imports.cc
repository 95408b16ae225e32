// SPDX-License-Identifier: Apache-2.0
//
// fuzz_imports [--seed S] [--count N] FILE...: changed ONNX files, read, imported and simplified.
// What comes of one is a graph or an error that is no bug, and the heap that it takes is at most 64
// MB and 16 times the file.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "tern/compile_model.h"
#include "tern/frontend/onnx/import.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "test/fuzz/random.h"
#include "test/fuzz/seed_options.h"

namespace {

std::atomic<int64_t> live_bytes{0}, most_bytes{0};

void Count(int64_t bytes) {
  int64_t now = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t most = most_bytes.load(std::memory_order_relaxed);
  while (now > most && !most_bytes.compare_exchange_weak(most, now)) {
  }
}

}  // namespace

// Those of all libraries of the process.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  void* memory = std::malloc(bytes);
  if (memory) Count(static_cast<int64_t>(malloc_usable_size(memory)));
  return memory;
}
void* operator new(size_t bytes) {
  void* memory = operator new(bytes, std::nothrow);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory) Count(-static_cast<int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace tern::fuzz {
namespace {

constexpr int64_t kFreeBytes = int64_t{64} << 20, kBytesForOne = 16;

// Where numbers and texts lie in a message, and in those in it.
struct Fields {
  struct Field {
    size_t at = 0, size = 0;
    bool is_number = false;
  };
  std::vector<Field> fields;

  // False where it is no message.
  bool Find(std::string_view bytes, size_t begin, size_t end, int depth = 0) {
    auto varint = [&](size_t* at, uint64_t* value) {
      *value = 0;
      for (int shift = 0; *at < end && shift < 63; shift += 7) {
        auto byte = static_cast<uint8_t>(bytes[(*at)++]);
        *value |= uint64_t{byte & 127u} << shift;
        if (byte < 128) return true;
      }
      return false;
    };
    std::vector<Field> before = fields;
    for (size_t at = begin; at < end;) {
      uint64_t tag = 0, size = 0;
      bool is_right = depth < 20 && varint(&at, &tag) && tag >> 3 != 0 && tag >> 3 < 64;
      size_t start = at;
      if (is_right && (tag & 7) == 0) {
        is_right = varint(&at, &size);
        if (is_right) fields.push_back({start, at - start, true});
      } else if (is_right && (tag & 7) == 2) {
        is_right = varint(&at, &size) && size <= end - at;
        if (is_right && !(size > 0 && Find(bytes, at, at + size, depth + 1)) && size > 0 &&
            size <= 64)
          fields.push_back({at, size, false});
        if (is_right) at += size;
      } else {
        size = (tag & 7) == 5 ? 4 : 8;
        is_right = is_right && ((tag & 7) == 5 || (tag & 7) == 1) && size <= end - at;
        at += size;
      }
      if (is_right) continue;
      fields = std::move(before);
      return false;
    }
    return true;
  }
};

struct Seed {
  std::string bytes;
  Fields fields;
};

void ChangeField(Random* random, const Seed& seed, std::string* bytes) {
  const Fields::Field& field = random->Pick(seed.fields.fields);
  const Fields::Field& other = random->Pick(seed.fields.fields);
  if (field.is_number) {  // of the same length
    for (size_t i = 0; i < field.size; ++i)
      (*bytes)[field.at + i] =
          static_cast<char>(random->Below(128) | (i + 1 < field.size ? 128 : 0));
  } else if (other.size == field.size && !other.is_number) {
    bytes->replace(field.at, field.size, seed.bytes, other.at, other.size);
  } else {
    (*bytes)[field.at + static_cast<size_t>(random->Below(static_cast<int64_t>(field.size)))] =
        static_cast<char>(random->OneIn(4) ? random->Below(256) : random->Between('a', 'z'));
  }
}

std::string Changed(Random* random, const Seed& seed) {
  std::string bytes = seed.bytes;
  for (int64_t i = random->OneIn(2) ? 1 : random->Between(1, 6); i > 0; --i) {
    size_t at = static_cast<size_t>(random->Below(static_cast<int64_t>(bytes.size())));
    if (!random->OneIn(8) && !seed.fields.fields.empty() && bytes.size() == seed.bytes.size())
      ChangeField(random, seed, &bytes);
    else if (random->OneIn(8))
      bytes.resize(at + 1);
    else
      bytes[at] = static_cast<char>(random->Below(256));
  }
  return bytes;
}

enum class Outcome { kRefused, kRead, kImported };

Outcome Import(const std::string& bytes) {
  Outcome outcome = Outcome::kRefused;
  try {
    frontend::onnx::Model model = frontend::onnx::ParseModel(bytes);
    outcome = Outcome::kRead;
    ir::IRModule module = frontend::onnx::Import(model);
    outcome = Outcome::kImported;
    OptimizeGraph(module, {});
  } catch (const Error& error) {
    if (error.kind() == "InternalError") throw;
  }
  return outcome;
}

int Main(int argc, char** argv) {
  SeedOptions options = ParseSeedOptions(argc, argv);
  Initialize();
  std::vector<Seed> seeds;
  for (const std::string& file : options.files) {
    Seed& seed = seeds.emplace_back();
    seed.bytes = runtime::ReadFile(file);
    seed.fields.Find(seed.bytes, 0, seed.bytes.size());
    Import(seed.bytes);  // what is kept for good is kept now
  }
  // Small files are chosen more often: in the same time, more is changed of what matters.
  std::stable_sort(seeds.begin(), seeds.end(),
                   [](const Seed& a, const Seed& b) { return a.bytes.size() < b.bytes.size(); });
  auto num_seeds = static_cast<int64_t>(seeds.size());
  int64_t counts[3] = {}, most = 0;
  for (uint64_t i = options.seed; i < options.seed + options.count; ++i) {
    Random random(i);
    int64_t of = random.OneIn(16) ? num_seeds : (2 * num_seeds + 2) / 3;
    std::string bytes = Changed(&random, seeds[static_cast<size_t>(random.Below(of))]);
    int64_t before = live_bytes;
    most_bytes = before;
    try {
      ++counts[static_cast<int>(Import(bytes))];
    } catch (const std::exception& error) {
      std::printf("seed %" PRIu64 ": %s\n", i, error.what());
      return 1;
    }
    int64_t taken = most_bytes - before;
    most = std::max(most, taken);
    if (taken <= kFreeBytes + kBytesForOne * static_cast<int64_t>(bytes.size())) continue;
    std::printf("seed %" PRIu64 ": %" PRId64 " bytes of heap for a file of %zu\n", i, taken,
                bytes.size());
    return 1;
  }
  std::printf("%" PRIu64 " files: %" PRId64 " refused, %" PRId64 " read, %" PRId64
              " imported; at most %" PRId64 " bytes of heap\n",
              options.count, counts[0], counts[1], counts[2], most);
  return 0;
}

}  // namespace
}  // namespace tern::fuzz

int main(int argc, char** argv) { return tern::fuzz::Main(argc, argv); }
