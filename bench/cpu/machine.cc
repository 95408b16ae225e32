// SPDX-License-Identifier: Apache-2.0
//
// What the driver needs besides peers: inputs, a check of outputs, and the limits of the machine. A
// worker like the others, with commands of its own:
//
//   fill FILE TYPE COUNT SEED      writes random numbers; "ok"
//   check FILE SAMPLES CASE        how wrong that output is; "ok ERROR"
//   arithmetic TYPE THREADS        "ok OPERATIONS_PER_SECOND INSTRUCTION"; 0 where there is none
//   memory BYTES THREADS           "ok BYTES_PER_SECOND read|copied"
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "bench/cpu/peaks.h"
#include "bench/cpu/reference.h"
#include "bench/cpu/worker.h"

namespace tern::bench {
namespace {

std::string Text(double number) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.6g", number);
  return text;
}
std::string Text(const Peak& peak) { return Text(peak.per_second) + " " + peak.how; }

void Fill(std::istream& words) {
  std::string path, dtype;
  int64_t count = 0;
  uint64_t seed = 0;
  words >> path >> dtype >> count >> seed;
  std::string bytes(count * BytesOf(dtype), 0);
  FillRandom(dtype, count, seed, bytes.data());
  std::ofstream file(path, std::ios::binary);
  if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush())
    throw std::runtime_error(path + ": could not be written");
}

double Check(std::istream& words) {
  std::string path, line;
  int64_t samples = 0;
  words >> path >> samples >> std::ws;
  std::getline(words, line);
  Case the_case = Case::Parse(line);
  Buffers inputs(the_case);
  std::string output(the_case.output().bytes(), 0);
  ReadInto(path, output.data(), output.size());
  return LargestError(the_case, inputs, output.data(), samples);
}

std::string Answer(const std::string& verb, const std::string& rest) {
  std::stringstream words(rest);
  if (verb == "fill") {
    Fill(words);
    return "";
  }
  if (verb == "check") return Text(Check(words));
  int threads = 0;
  if (verb == "arithmetic") {
    std::string dtype;
    words >> dtype >> threads;
    return Text(ArithmeticPeak(dtype, threads));
  }
  if (verb == "memory") {
    int64_t bytes = 0;
    words >> bytes >> threads;
    return Text(MemoryPeak(bytes, threads));
  }
  throw std::runtime_error("unknown: " + verb);
}

}  // namespace
}  // namespace tern::bench

int main() {
  std::cout << "ok" << std::endl;
  tern::bench::AnswerLines(tern::bench::Answer);
  return 0;
}
