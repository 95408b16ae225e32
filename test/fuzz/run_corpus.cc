// SPDX-License-Identifier: Apache-2.0
//
// run_corpus DIRECTORY: gives the files there to a fuzzer's function, each once. So the corpora are
// tests in every build; `./dev fuzz` looks for more.
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "tern/runtime/artifact/file_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::string bytes = tern::runtime::ReadFile(entry.path().string());
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ++count;
  }
  std::printf("%d inputs\n", count);
  return count == 0;
}
