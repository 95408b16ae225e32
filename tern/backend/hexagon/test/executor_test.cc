// SPDX-License-Identifier: Apache-2.0
//
// The protocol, from the host's side with a transport that answers by a script, and with the real
// executor where there is an emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tern/backend/hexagon/runtime/device.h"
#include "tern/backend/hexagon/runtime/executor.h"
#include "tern/backend/hexagon/runtime/plugin.h"
#include "tern/backend/hexagon/runtime/process_transport.h"
#include "tern/ffi/error.h"
#include "tern/runtime/plugin_sdk.h"

namespace tern::backend::hexagon {
namespace {

using namespace std::chrono_literals;

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.kind() + ": " + error.what();
  }
  return "no error";
}

// Answers in order, whatever it is asked; notes what that was.
class Script : public Transport {
 public:
  explicit Script(std::string answers, std::string* asked)
      : answers_(std::move(answers)), asked_(asked) {}
  void Send(const void* data, size_t bytes) override {
    asked_->append(static_cast<const char*>(data), bytes);
  }
  void Receive(void* data, size_t bytes) override {
    if (bytes > answers_.size()) throw Error("RuntimeError", "the script is over");
    answers_.copy(static_cast<char*>(data), bytes);
    answers_.erase(0, bytes);
  }

 private:
  std::string answers_;
  std::string* asked_;
};

std::string Words(std::initializer_list<uint32_t> words) {
  return {reinterpret_cast<const char*>(words.begin()), words.size() * sizeof(uint32_t)};
}
const std::string kHello = Words({TERN_EXECUTOR_HELLO, TERN_EXECUTOR_VERSION});

TEST(HexagonExecutor, Requests) {
  std::string asked;
  Executor executor(std::make_unique<Script>(
      kHello + Words({0, 4096}) + Words({0, 0}) + Words({0, 0}) + "abc" + Words({0, 0}), &asked));
  EXPECT_EQ(executor.Alloc(16), 4096);
  executor.Write(4100, "xyz", 3);
  char text[3];
  executor.Read(4109, text, 3);
  EXPECT_EQ(std::string(text, 3), "abc");
  executor.Free(4096);
  EXPECT_EQ(asked, Words({TERN_REQUEST_ALLOC, 16, 0, 0}) + Words({TERN_REQUEST_WRITE, 4100, 3, 0}) +
                       "xyz" + Words({TERN_REQUEST_READ, 4109, 3, 0}) +
                       Words({TERN_REQUEST_FREE, 4096, 16, 0}));
}

TEST(HexagonExecutor, StaysInItsMemory) {
  std::string asked;
  Executor executor(std::make_unique<Script>(kHello + Words({0, 4096}), &asked));
  executor.Alloc(16);
  char text[32] = {};
  EXPECT_EQ(ErrorOf([&] { executor.Write(4096, text, 17); }),
            "ValueError: 17 bytes at address 4096 are not memory of the executor");
  EXPECT_EQ(ErrorOf([&] { executor.Read(4095, text, 1); }),
            "ValueError: 1 bytes at address 4095 are not memory of the executor");
  EXPECT_EQ(ErrorOf([&] { executor.Copy(4096, 9000, 1); }),
            "ValueError: 1 bytes at address 9000 are not memory of the executor");
  EXPECT_EQ(ErrorOf([&] { executor.Call(5000, {}); }),
            "ValueError: 1 bytes at address 5000 are not memory of the executor");
  EXPECT_EQ(ErrorOf([&] { executor.Free(4100); }),
            "ValueError: address 4100 was not allocated on the executor");
  EXPECT_EQ(ErrorOf([&] { executor.Call(4096, std::vector<char>(8200)); }),
            "ValueError: 8200 bytes of arguments; an executor takes 8192");
  EXPECT_FALSE(executor.is_dead());
}

TEST(HexagonExecutor, Errors) {
  std::string asked;
  EXPECT_EQ(ErrorOf([&] { Executor stranger(std::make_unique<Script>(Words({1, 2}), &asked)); }),
            "RuntimeError: what was started is no executor of this version of Tern");
  Executor executor(std::make_unique<Script>(kHello + Words({12, 0}) + Words({0, 4096}), &asked));
  EXPECT_EQ(ErrorOf([&] { executor.Alloc(uint64_t{1} << 40); }),
            "MemoryError: 1099511627776 bytes are more than a machine of 32 bits has in one piece");
  EXPECT_EQ(ErrorOf([&] { executor.Alloc(100); }),
            "MemoryError: the executor has no 100 bytes left (error 12)");
  EXPECT_FALSE(executor.is_dead());
  EXPECT_EQ(executor.Alloc(100), 4096);
  EXPECT_EQ(ErrorOf([&] { executor.Call(4096, {}); }), "RuntimeError: the script is over");
  EXPECT_TRUE(executor.is_dead());
  EXPECT_EQ(ErrorOf([&] { executor.Alloc(1); }),
            "RuntimeError: the executor is dead, by an error before");
}

TEST(HexagonTimeLimit, FromTheEnvironment) {
  auto limit_with = [](const char* text) {
    setenv("TERN_HEXAGON_TIMEOUT", text, 1);
    std::chrono::milliseconds limit{};
    std::string error = ErrorOf([&] { limit = TimeLimit(); });
    unsetenv("TERN_HEXAGON_TIMEOUT");
    return error == "no error" ? std::to_string(limit.count()) : error;
  };
  unsetenv("TERN_HEXAGON_TIMEOUT");
  EXPECT_EQ(TimeLimit(), 30s);
  EXPECT_EQ(limit_with("0.5"), "500");
  EXPECT_EQ(limit_with("1000"), "1000000");
  EXPECT_EQ(limit_with(""), "30000");  // set to nothing is not set
  for (const char* wrong : {"never", "5s", "0", "-1", "0.0001", "nan", "inf", "1e7"})
    EXPECT_EQ(limit_with(wrong), "ValueError: TERN_HEXAGON_TIMEOUT='" + std::string(wrong) +
                                     "': expected seconds, from 0.001 to 1000000");
}

// ---- With an emulator

class HexagonEmulator : public testing::Test {
 protected:
  void SetUp() override {
    runner_ = FindRunner();
    if (runner_.command.empty()) GTEST_SKIP() << "SKIPPED: " << runner_.missing;
  }
  std::unique_ptr<Executor> Start(std::chrono::milliseconds limit = 60s) {
    return std::make_unique<Executor>(
        std::make_unique<ProcessTransport>(runner_.command, ExecutorProgram(), limit));
  }
  // A function of these instructions.
  static uint32_t Load(Executor* executor, std::initializer_list<uint32_t> code) {
    uint32_t address = executor->Alloc(code.size() * 4, /*is_code=*/true);
    executor->Write(address, code.begin(), code.size() * 4);
    return address;
  }
  Runner runner_;
};

TEST_F(HexagonEmulator, Memory) {
  std::unique_ptr<Executor> executor = Start();
  std::string text(1 << 20, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + (i >> 8));
  uint32_t a = executor->Alloc(text.size()), b = executor->Alloc(text.size());
  EXPECT_EQ(a % 4096, 0);
  executor->Write(a, text.data(), text.size());
  executor->Copy(b, a, text.size());
  executor->Copy(b + 1, b, text.size() - 1);  // onto itself
  std::string back(text.size(), '\0');
  executor->Read(b, back.data(), back.size());
  EXPECT_EQ(back.substr(1), text.substr(0, text.size() - 1));
  EXPECT_EQ(back[0], text[0]);
  executor->Free(a);
  executor->Free(b);
  executor->Free(executor->Alloc(0));
}

TEST_F(HexagonEmulator, Call) {
  std::unique_ptr<Executor> executor = Start();
  // r0 = memw(r0+#4); jumpr r31
  uint32_t second = Load(executor.get(), {0x9180c020, 0x529fc000});
  int32_t numbers[2] = {5, 42};
  std::vector<char> arguments(sizeof numbers);
  std::memcpy(arguments.data(), numbers, sizeof numbers);
  EXPECT_EQ(executor->Call(second, arguments), 42);
}

TEST_F(HexagonEmulator, Crash) {
  std::unique_ptr<Executor> executor = Start();
  uint32_t wrong = Load(executor.get(), {0, 0});
  std::string error = ErrorOf([&] { executor->Call(wrong, {}); });
  EXPECT_NE(error.find("is gone: it was ended by a signal"), std::string::npos) << error;
  EXPECT_TRUE(executor->is_dead());
}

TEST_F(HexagonEmulator, Hang) {
  std::unique_ptr<Executor> executor = Start(2s);
  uint32_t forever = Load(executor.get(), {0x5800c000});  // jump to itself
  std::string error = ErrorOf([&] { executor->Call(forever, {}); });
  EXPECT_NE(error.find("did not answer within 2 seconds and was ended"), std::string::npos)
      << error;
}

// After a crash the device is another one: what was on it is lost, and said to be.
TEST_F(HexagonEmulator, StartsAgain) {
  static std::string error;
  static const TernHostApi host = {
      .size = sizeof host,
      .version = TERN_PLUGIN_API_VERSION,
      .set_error = [](const char*, const char* text) { error = text; }};
  plugin::host_api = &host;
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(kDeviceApi.alloc(0, 64, 64, &first), 0) << error;
  std::shared_ptr<Executor> executor = Device::Get().Current().executor;
  ErrorOf([&] { executor->Call(Load(executor.get(), {0, 0}), {}); });
  char byte = 7, back = 0;
  TernCopy copy = {&byte, 0, {kTernDeviceCpu, 0}, first, 3, {16, 0}, 1, nullptr};
  EXPECT_EQ(kDeviceApi.copy(&copy), -1);
  EXPECT_NE(error.find("the executor died, and all memory of the device with it"),
            std::string::npos);
  ASSERT_EQ(kDeviceApi.alloc(0, 64, 64, &second), 0) << error;
  EXPECT_EQ(kDeviceApi.copy(&copy), -1);
  EXPECT_EQ(error, "this memory was in an executor that died");
  copy.dst = second;
  EXPECT_EQ(kDeviceApi.copy(&copy), 0) << error;
  copy = {second, 3, {16, 0}, &back, 0, {kTernDeviceCpu, 0}, 1, nullptr};
  EXPECT_EQ(kDeviceApi.copy(&copy), 0) << error;
  EXPECT_EQ(back, 7);
  EXPECT_EQ(kDeviceApi.free(0, first), 0);
  EXPECT_EQ(kDeviceApi.free(0, second), 0);
}

}  // namespace
}  // namespace tern::backend::hexagon
