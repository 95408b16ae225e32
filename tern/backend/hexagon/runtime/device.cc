// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/hexagon/runtime/device.h"

#include <cstdlib>
#include <sstream>

#include "tern/backend/hexagon/runtime/plugin.h"
#include "tern/backend/hexagon/runtime/process_transport.h"
#include "tern/ffi/environment.h"
#include "tern/runtime/plugin_sdk.h"

namespace tern::backend::hexagon {
namespace {

using plugin::Guard;

constexpr const char* kDefaultRunner = "qemu-hexagon -s 67108864 -cpu v67";
constexpr double kDefaultSeconds = 30;

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// What "-cpu v67" says.
int VersionIn(const std::vector<std::string>& command) {
  for (size_t i = 0; i + 1 < command.size(); ++i)
    if (command[i] == "-cpu" && command[i + 1].starts_with('v'))
      return static_cast<int>(std::strtol(command[i + 1].c_str() + 1, nullptr, 10));
  return 0;
}

}  // namespace

Runner FindRunner() {
  std::optional<std::string> given = environment::TrustedText("TERN_HEXAGON_RUNNER");
  Runner runner;
  runner.command = Words(given.value_or(kDefaultRunner));
  std::string program = runner.command.empty() ? "" : runner.command[0];
  std::string path = program.empty() ? "" : environment::FindProgram(program);
  if (path.empty()) {
    runner.command.clear();
    runner.missing =
        given ? "TERN_HEXAGON_RUNNER='" + *given + "' is no program that can be run"
              : program +
                    " was not found in PATH; it comes with QEMU (Debian's package qemu-user), "
                    "or TERN_HEXAGON_RUNNER names it with its arguments";
    return runner;
  }
  runner.command[0] = path;
  runner.version = VersionIn(runner.command);
  return runner;
}

std::chrono::milliseconds TimeLimit() {
  std::optional<std::string> text = environment::Text("TERN_HEXAGON_TIMEOUT");
  if (!text) return std::chrono::milliseconds(static_cast<int64_t>(kDefaultSeconds * 1000));
  char* end = nullptr;
  double seconds = std::strtod(text->c_str(), &end);
  if (end == text->c_str() || *end || !(seconds >= 1e-3) || seconds > 1e6)
    TERN_THROW(ValueError) << "TERN_HEXAGON_TIMEOUT='" << *text
                           << "': expected seconds, from 0.001 to 1000000";
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

Device& Device::Get() {
  static auto* device = new Device;  // tensors may outlive static objects
  return *device;
}

Device::Life Device::Alive() {
  std::scoped_lock lock(mutex_);
  if (life_.executor && !life_.executor->is_dead()) return life_;
  Runner runner = FindRunner();
  if (runner.command.empty()) TERN_THROW(RuntimeError) << runner.missing;
  auto transport =
      std::make_unique<ProcessTransport>(runner.command, ExecutorProgram(), TimeLimit());
  life_ = {life_.number + 1, std::make_shared<Executor>(std::move(transport)), runner.version};
  return life_;
}

Device::Life Device::Current() {
  std::scoped_lock lock(mutex_);
  if (!life_.executor || life_.executor->is_dead())
    TERN_THROW(RuntimeError) << "the executor died, and all memory of the device with it; the next "
                                "allocation starts another one";
  return life_;
}

Device::Life Device::LifeOf(const void* handle) {
  Life life = Current();
  if (reinterpret_cast<uintptr_t>(handle) >> 32 != life.number)
    TERN_THROW(RuntimeError) << "this memory was in an executor that died";
  return life;
}

void* Device::HandleOf(uint32_t life, uint32_t address) {
  static_assert(sizeof(void*) == 8);
  return reinterpret_cast<void*>(uint64_t{life} << 32 | address);  // NOLINT: a handle
}
uint32_t Device::AddressOf(const void* handle) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle));
}

// ---- The table

namespace {

int Count(int32_t* count) {
  return Guard([&] { *count = FindRunner().command.empty() ? 0 : 1; });
}

int Describe(int32_t, void* sink, TernPropertySink emit) {
  return Guard([&] {
    Runner runner = FindRunner();
    if (runner.command.empty()) TERN_THROW(RuntimeError) << runner.missing;
    auto text = [&](const char* name, const std::string& value) {
      TernAny any = plugin::TextValue(value.c_str());
      emit(sink, name, &any);
    };
    std::string program = runner.command[0];
    program = program.substr(program.rfind('/') + 1);
    text("name", "emulator (" + program + ")");
    text("driver", program);
    if (runner.version) text("mcpu", "v" + std::to_string(runner.version));
  });
}

int Detect(int32_t, void* sink, TernPropertySink emit) {
  return Guard([&] {
    Runner runner = FindRunner();
    if (!runner.version) return;
    std::string version = "v" + std::to_string(runner.version);
    TernAny any = plugin::TextValue(version.c_str());
    emit(sink, "mcpu", &any);
  });
}

int Alloc(int32_t, uint64_t bytes, uint64_t alignment, void** out) {
  return Guard([&] {
    constexpr uint64_t kPage = 4096;
    if (alignment > kPage)
      TERN_THROW(ValueError) << "memory of a hexagon device is aligned to " << kPage
                             << " bytes, not " << alignment;
    Device::Life life = Device::Get().Alive();
    *out = Device::HandleOf(life.number, life.executor->Alloc(bytes));
  });
}

// What died with its executor needs nothing.
int Free(int32_t, void* memory) {
  return Guard([&] {
    Device::Life life;
    try {
      life = Device::Get().LifeOf(memory);
    } catch (const Error&) {
      return;
    }
    life.executor->Free(Device::AddressOf(memory));
  });
}

int Copy(const TernCopy* copy) {
  return Guard([&] {
    if (copy->bytes == 0) return;
    const char* from = static_cast<const char*>(copy->src) + copy->src_offset;
    char* to = static_cast<char*>(copy->dst) + copy->dst_offset;
    if (copy->src_device.type == kTernDeviceCpu) {
      Device::Get().LifeOf(copy->dst).executor->Write(Device::AddressOf(to), from, copy->bytes);
    } else if (copy->dst_device.type == kTernDeviceCpu) {
      Device::Get().LifeOf(copy->src).executor->Read(Device::AddressOf(from), to, copy->bytes);
    } else {
      Device::Get().LifeOf(copy->src);
      Device::Get().LifeOf(copy->dst).executor->Copy(Device::AddressOf(to), Device::AddressOf(from),
                                                     copy->bytes);
    }
  });
}

// All is done when a call returns: a stream is a name.
int CreateStream(int32_t, void** out) {
  return Guard([&] { *out = new char; });
}
int DestroyStream(int32_t, void* stream) {
  delete static_cast<char*>(stream);
  return 0;
}
int Synchronize(int32_t, void*) { return 0; }

}  // namespace

const TernDeviceApi kDeviceApi = {
    .size = sizeof(TernDeviceApi),
    .version = TERN_PLUGIN_API_VERSION,
    .device_type = 16,
    .device_count = Count,
    .describe = Describe,
    .alloc = Alloc,
    .free = Free,
    .copy = Copy,
    .create_stream = CreateStream,
    .destroy_stream = DestroyStream,
    .synchronize = Synchronize,
    .detect = Detect,
};

}  // namespace tern::backend::hexagon
