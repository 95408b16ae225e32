// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/workspace.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "tern/ffi/function.h"
#include "tern/runtime/device.h"

namespace tern::runtime {
namespace {

constexpr TernDevice kHost = {kTernDeviceCpu, 0};

char* Alloc(int64_t bytes, int64_t alignment = 64) {
  return static_cast<char*>(AllocWorkspace(kHost, bytes, alignment));
}

TEST(Workspace, IsAlignedAndApart) {
  WorkspaceFrame frame;
  char* previous_end = nullptr;
  for (int64_t alignment : {1, 64, 4096, 8}) {
    char* memory = Alloc(100, alignment);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
    EXPECT_GE(memory, previous_end);
    std::memset(memory, 1, 100);
    previous_end = memory + 100;
  }
}

TEST(Workspace, IsAStack) {
  WorkspaceFrame frame;
  char* a = Alloc(100);
  char* b = Alloc(100);
  FreeWorkspace(kHost, b);
  EXPECT_EQ(Alloc(50), b);
  FreeWorkspace(kHost, a);
  EXPECT_EQ(Alloc(10), a);
  // What does not fit begins a block of its own, and going back leaves it.
  char* large = Alloc(1 << 20);
  std::memset(large, 1, 1 << 20);
  FreeWorkspace(kHost, large);
  FreeWorkspace(kHost, a);
  EXPECT_EQ(Alloc(10), a);
}

TEST(Workspace, EmptyMemoryHasAnAddress) {
  WorkspaceFrame frame;
  char* a = Alloc(0, 1);
  char* b = Alloc(0, 1);
  ASSERT_NE(a, nullptr);
  EXPECT_NE(a, b);
}

TEST(Workspace, ACallGivesBackWhatItLeaves) {
  WorkspaceFrame outer;
  char* a = Alloc(100);
  char* inner_memory = nullptr;
  {
    WorkspaceFrame inner;
    inner_memory = Alloc(1000);
    Alloc(1 << 20);
  }
  EXPECT_EQ(Alloc(1000), inner_memory);
  EXPECT_NE(a, inner_memory);
}

TEST(Workspace, IsKeptBetweenCalls) {
  char *first = nullptr, *second = nullptr;
  for (char** memory : {&first, &first, &second}) {
    WorkspaceFrame frame;
    Alloc(1 << 19);
    *memory = Alloc(1 << 20);
  }
  EXPECT_EQ(first, second);
}

TEST(Workspace, IsAThreadsOwn) {
  WorkspaceFrame frame;
  char* mine = Alloc(100);
  char* theirs = nullptr;
  std::thread([&] {
    WorkspaceFrame other;
    theirs = Alloc(100);
    std::memset(theirs, 1, 100);
  }).join();
  std::memset(mine, 2, 100);
  EXPECT_NE(mine, theirs);
}

TEST(Workspace, SaysWhatItCannotGive) {
  WorkspaceFrame frame;
  EXPECT_EQ(Alloc(-1), nullptr);
  EXPECT_EQ(Alloc(8, 3), nullptr);
  EXPECT_EQ(Alloc(8, 0), nullptr);
  EXPECT_EQ(Alloc(int64_t{1} << 60), nullptr);
  EXPECT_EQ(AllocWorkspace({12345, 0}, 8, 8), nullptr);
}

// ---- a device that counts

struct Counts {
  int allocated = 0, freed = 0;
} counts;

const TernDeviceApi* CountingDevice() {
  static const TernDeviceApi api = [] {
    TernDeviceApi made{};
    made.size = sizeof made;
    made.version = TERN_PLUGIN_API_VERSION;
    made.device_type = 4711;
    made.alloc = [](int32_t, uint64_t bytes, uint64_t, void** out) {
      if (bytes > 1 << 30) {
        ffi::Guard([] { TERN_THROW(MemoryError) << "too much"; });
        return -1;
      }
      ++counts.allocated;
      *out = std::malloc(bytes);
      return 0;
    };
    made.free = [](int32_t, void* memory) {
      ++counts.freed;
      std::free(memory);
      return 0;
    };
    return made;
  }();
  return &api;
}

TEST(Workspace, OfADeviceIsUsedAgain) {
  RegisterDeviceKind("counting", CountingDevice());
  TernDevice device{4711, 0};
  std::thread([&] {
    void *a, *b;
    {
      WorkspaceFrame frame;
      a = AllocWorkspace(device, 1000, 64);
      b = AllocWorkspace(device, 1000, 64);
      EXPECT_NE(a, b);
      FreeWorkspace(device, a);
      EXPECT_EQ(AllocWorkspace(device, 900, 64), a);
      EXPECT_EQ(AllocWorkspace(device, int64_t{1} << 40, 64), nullptr);
    }
    EXPECT_EQ(counts.allocated, 2);
    {
      WorkspaceFrame frame;
      AllocWorkspace(device, 1000, 64);
      AllocWorkspace(device, 100, 64);  // the rest would be wasted
      EXPECT_EQ(counts.allocated, 3);
    }
    EXPECT_EQ(counts.freed, 0);
  }).join();
  EXPECT_EQ(counts.freed, 3);
}

}  // namespace
}  // namespace tern::runtime
