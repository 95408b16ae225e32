// SPDX-License-Identifier: Apache-2.0
//
// open_model FILE: what it costs to open the file of a model: the time to its first kernel, the
// memory of one session and of eight, and how much of the file's memory other processes share. Run
// it twice: the first time brings the file into memory and fills the cache of prepacked weights.
// Fails beyond 0.2 s, and where seven more sessions take more than their arenas and a megabyte
// each.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tern/runtime/vm/load_model.h"
#include "tern/runtime/vm/session.h"

namespace tern::runtime::vm {
namespace {

constexpr double kMostSeconds = 0.2, kMegabyte = 1 << 20;
constexpr int kSessions = 8;
constexpr int64_t kDim = 16;  // of dims that the inputs tell

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A field of /proc/self/smaps_rollup or status, in bytes.
double Field(const std::string& file, const std::string& name) {
  std::ifstream stream("/proc/self/" + file);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) * 1024;
  return 0;
}

// Of the mappings of files that only one process or that several have in memory.
struct FilePages {
  double own = 0, shared = 0;
};
FilePages PagesOf(const std::string& part) {
  FilePages pages;
  bool is_counted = false;
  std::ifstream stream("/proc/self/smaps");
  for (std::string line; std::getline(stream, line);) {
    // The first line of a mapping starts with its addresses: 7f00-7f10 r--s ...
    if (line.find('-') < line.find(' ')) is_counted = line.find(part) != std::string::npos;
    double bytes = line.find(':') == std::string::npos || !is_counted
                       ? 0
                       : std::strtod(line.c_str() + line.find(':') + 1, nullptr) * 1024;
    if (line.starts_with("Private_Clean:") || line.starts_with("Private_Dirty:"))
      pages.own += bytes;
    if (line.starts_with("Shared_Clean:") || line.starts_with("Shared_Dirty:"))
      pages.shared += bytes;
  }
  return pages;
}

std::vector<Tensor> ZeroInputs(const Program& program) {
  std::vector<Tensor> inputs;
  for (const Port& port : program.inputs) {
    std::vector<int64_t> shape;
    for (const IntExpr& extent : port.shape)
      shape.push_back(extent.is_const() ? extent.tokens[0].value : kDim);
    inputs.push_back(Tensor::Empty(shape, port.dtype));
    std::fill_n(inputs.back().as<char>(), inputs.back()->num_bytes(), '\0');
  }
  return inputs;
}

int Run(const std::string& path) {
  auto start = Clock::now();
  auto model = LoadModel(path);
  double load = Since(start);
  std::vector<std::unique_ptr<Session>> sessions;
  sessions.push_back(std::make_unique<Session>(model));
  std::vector<CallRecord> records;
  sessions[0]->SetProfile(&records);
  std::vector<Tensor> inputs = ZeroInputs(model->program());
  double opened = Since(start);
  sessions[0]->Run(inputs);
  double first = opened + (records.empty() ? 0 : records[0].start);
  std::printf("open %.3f s, first kernel after %.3f s, first run ends after %.3f s\n", load, first,
              Since(start));
  sessions[0]->SetProfile(nullptr);
  sessions[0]->Run(inputs);
  model->CheckAllWeights();
  double one = Field("status", "VmRSS"), arena = static_cast<double>(sessions[0]->arena_bytes());
  for (int i = 1; i < kSessions; ++i) {
    sessions.push_back(std::make_unique<Session>(model));
    sessions.back()->Run(inputs);
  }
  double all = Field("status", "VmRSS");
  double most = one + (kSessions - 1) * (arena + kMegabyte);
  std::printf("RSS %.1f MB with one session, %.1f MB with %d, at most %.1f MB; arena %.1f MB\n",
              one / 1e6, all / 1e6, kSessions, most / 1e6, arena / 1e6);
  std::fflush(stdout);
  // Another process that opens the same file while this one has it.
  if (pid_t child = fork(); child == 0) {
    execl("/proc/self/exe", "open_model", path.c_str(), "--shared", nullptr);
    _exit(127);
  } else {
    waitpid(child, nullptr, 0);
  }
  return first <= kMostSeconds && all <= most ? 0 : 1;
}

// Opens the model and runs it, and says which pages of files it shares.
void RunSecond(const std::string& path) {
  auto model = LoadModel(path);
  Session session(model);
  session.Run(ZeroInputs(model->program()));
  model->CheckAllWeights();
  std::string name = path.substr(path.rfind('/') + 1);
  for (const auto& [what, part] :
       {std::pair("the model", name), std::pair("the cache", std::string(".bin"))}) {
    FilePages pages = PagesOf(part);
    std::printf("second process, pages of %s: %.1f MB shared, %.1f MB of its own\n", what,
                pages.shared / 1e6, pages.own / 1e6);
  }
}

}  // namespace
}  // namespace tern::runtime::vm

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL.so|MODEL.tern\n", argv[0]);
    return 2;
  }
  try {
    if (argc == 2) return tern::runtime::vm::Run(argv[1]);
    tern::runtime::vm::RunSecond(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
