// SPDX-License-Identifier: Apache-2.0
//
// The plugin from outside, through the runtime, where there is an emulator.
#include <gtest/gtest.h>

#include "tern/runtime/device.h"
#include "tern/runtime/tensor.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

// A child that is the first to use the device has an executor of its own. Where the parent has one,
// both would read what the other has asked for: a child is told at once.
TEST(HexagonPlugin, InAForkedChild) {
  const DeviceKind& kind = GetDeviceKind("hexagon");
  std::string first = InForkedChild([&] {
    return kind.Count() == 0 ? "none" : ErrorOf([&] { kind.Free(0, kind.Alloc(0, 8, 8)); });
  });
  if (first == "none") GTEST_SKIP() << "SKIPPED: no emulator of hexagon";
  EXPECT_EQ(first, "no error");
  const TernDevice device = {kind.device_type(), 0}, cpu = {kTernDeviceCpu, 0};
  Tensor host = Tensor::Empty({3}, DataType::Float(32));
  for (int i = 0; i < 3; ++i) SetElement(host, i, i + 0.5);
  Tensor there = host.CopyTo(device);
  EXPECT_EQ(InForkedChild([&] {
              std::string told = ErrorOf([&] { there.CopyTo(cpu); }),
                          also = ErrorOf([&] { host.CopyTo(device); });
              there = {};  // the parent's, and not given back
              return told == also ? told : told + "; " + also;
            }),
            ForkedDeviceError("hexagon"));
  Tensor back = there.CopyTo(cpu);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(GetElement(back, i), i + 0.5);
  EXPECT_EQ(ErrorOf([&] { kind.Alloc(1, 8, 8); }),
            "no such device: hexagon:1; there is one hexagon device: hexagon:0");
}

}  // namespace
}  // namespace tern::runtime
