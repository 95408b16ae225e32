// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/stream.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <thread>

#include "tern/runtime/host/cpu_device.h"
#include "tern/runtime/plugin/plugin_registrar.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

constexpr TernDevice kHost{kTernDeviceCpu, 0};

TEST(Stream, CurrentOnesBelongToTheirThread) {
  int first = 0, second = 0;
  EXPECT_EQ(CurrentStream(kHost), nullptr);
  EXPECT_EQ(SetCurrentStream(kHost, &first), nullptr);
  EXPECT_EQ(SetCurrentStream({77, 1}, &second), nullptr);
  EXPECT_EQ(CurrentStream(kHost), &first);
  EXPECT_EQ(CurrentStream({77, 1}), &second);
  EXPECT_EQ(CurrentStream({77, 0}), nullptr);
  std::thread([] { EXPECT_FALSE(HasCurrentStreams()); }).join();
  EXPECT_EQ(SetCurrentStream(kHost, nullptr), &first);
  EXPECT_EQ(SetCurrentStream({77, 1}, nullptr), &second);
  EXPECT_FALSE(HasCurrentStreams());
}

TEST(Stream, EventsOfTheHostTellTheTime) {
  Stream stream(kHost);
  StreamScope scope(stream);
  Event start(kHost), stop(kHost);
  start.Record();
  stop.Record();
  stop.HoldCurrentStream();
  stop.Synchronize();
  stream.Synchronize();
  EXPECT_GE(Event::SecondsBetween(start, stop), 0);
  EXPECT_LE(Event::SecondsBetween(stop, start), 0);
}

TEST(Stream, MemoryOfTheHost) {
  DeviceKind::MemoryInfo memory = GetDeviceKind("cpu").Memory(0);
  EXPECT_GT(memory.free_bytes, 0u);
  EXPECT_LE(memory.free_bytes, memory.total_bytes);
}

TEST(Stream, DevicesWithoutEventsSaySo) {
  ScopedVariable path("TERN_BACKEND_PATH", TERN_TEST_PLUGINS);
  EXPECT_EQ(GetDeviceKind("toy").Memory(0).total_bytes, uint64_t{1} << 32);
  EXPECT_EQ(ErrorOf([] { Event event({99, 0}); }), "the toy runtime has no events");
}

TEST(Stream, EventsAreThereAllOrNone) {
  static TernDeviceApi half = *CpuDeviceApi();
  half.device_type = 97;
  half.elapsed = nullptr;
  StagedRegistrations staged;
  EXPECT_EQ(staged.registrar()->add_device(staged.registrar(), "half", &half), -1);
  EXPECT_EQ(ErrorOf([&] { staged.Commit(); }), "device kind half: elapsed is null");
}

// A table of version 1 ends before what version 2 added; what lies behind it is not read.
TEST(Stream, APluginOfVersionOneStillRuns) {
  struct {
    TernDeviceApi api = *CpuDeviceApi();
  } static old;
  old.api.version = 1;
  old.api.size = offsetof(TernDeviceApi, memory_info);
  old.api.device_type = 98;
  StagedRegistrations staged;
  EXPECT_EQ(staged.registrar()->add_device(staged.registrar(), "old", &old.api), 0);
  staged.Commit();
  const DeviceKind& kind = GetDeviceKind("old");
  kind.Free(0, kind.Alloc(0, 10, 64));
  Stream stream({98, 0});
  stream.Synchronize();
  EXPECT_EQ(ErrorOf([] { Event event({98, 0}); }), "the old runtime has no events");
  EXPECT_EQ(ErrorOf([&] { kind.Memory(0); }),
            "the old runtime does not tell how much memory there is");
}

}  // namespace
}  // namespace tern::runtime
