// SPDX-License-Identifier: Apache-2.0
//
// Plugins that must be refused, one per value of TERN_BREAKAGE.
#include <stdexcept>
#include <string>

#include "tern/runtime/plugin_sdk.h"

namespace {

template <class... Unused>
int Nothing(Unused...) {
  return 0;
}

[[maybe_unused]] TernDeviceApi device = {sizeof(TernDeviceApi),
                                         TERN_PLUGIN_API_VERSION,
                                         100,
                                         Nothing<int32_t*>,
                                         Nothing<int32_t, void*, TernPropertySink>,
                                         Nothing<int32_t, uint64_t, uint64_t, void**>,
                                         Nothing<int32_t, void*>,
                                         Nothing<const TernCopy*>,
                                         Nothing<int32_t, void**>,
                                         Nothing<int32_t, void*>,
                                         Nothing<int32_t, void*>};

int Function(void*, const TernAny*, int32_t, TernAny*) { return 0; }

}  // namespace

#define TERN_FAILS_LATE 1     // after it has registered a device and a function
#define TERN_NEWER_VERSION 2  // of the plugin API
#define TERN_NULL_MEMBER 3
#define TERN_TAKEN_NAME 4  // and it does not look at the refusal
#define TERN_SMALL_TABLE 5
#define TERN_SILENT_FAILURE 6  // returns -1 without an error
#define TERN_THROWS 7          // and an exception that only this library has
#define TERN_THROWS_NUMBER 8
#define TERN_ODD_TABLE 9        // ends in the middle of a member
#define TERN_MANY_FUNCTIONS 10  // and one of them twice
#define TERN_MANY_KINDS 11

#if TERN_BREAKAGE >= TERN_SILENT_FAILURE && TERN_BREAKAGE <= TERN_THROWS_NUMBER
namespace {
struct OwnException : std::runtime_error {
  using std::runtime_error::runtime_error;
};
}  // namespace

extern "C" __attribute__((visibility("default"))) int tern_plugin(const TernHostApi*,
                                                                  TernRegistrar*) {
  (void)device, (void)Function;
#if TERN_BREAKAGE == TERN_THROWS
  throw OwnException("the licence has expired");
#elif TERN_BREAKAGE == TERN_THROWS_NUMBER
  throw 42;
#endif
  return -1;
}
#else
TERN_PLUGIN(host, registrar) {
  using tern::plugin::Check;
  Check(registrar->add_function(registrar, "broken.function", Function, nullptr));
#if TERN_BREAKAGE == TERN_FAILS_LATE
  Check(registrar->add_device(registrar, "broken", &device));
  TERN_THROW(RuntimeError) << "this plugin always fails";
#elif TERN_BREAKAGE == TERN_NEWER_VERSION
  device.version = TERN_PLUGIN_API_VERSION + 1;
  Check(registrar->add_device(registrar, "broken", &device));
#elif TERN_BREAKAGE == TERN_NULL_MEMBER
  device.copy = nullptr;
  Check(registrar->add_device(registrar, "broken", &device));
#elif TERN_BREAKAGE == TERN_TAKEN_NAME
  registrar->add_device(registrar, "cpu", &device);
#elif TERN_BREAKAGE == TERN_SMALL_TABLE
  device.size = TERN_DEVICE_API_MIN_SIZE - 8;
  Check(registrar->add_device(registrar, "broken", &device));
#elif TERN_BREAKAGE == TERN_ODD_TABLE
  device.size = TERN_DEVICE_API_MIN_SIZE + 4;
  Check(registrar->add_device(registrar, "broken", &device));
#elif TERN_BREAKAGE == TERN_MANY_FUNCTIONS
  for (int i = 0; i < 100000; ++i)
    Check(registrar->add_function(registrar, ("broken.f" + std::to_string(i)).c_str(), Function,
                                  nullptr));
  Check(registrar->add_function(registrar, "broken.f7", Function, nullptr));
#elif TERN_BREAKAGE == TERN_MANY_KINDS
  static TernDeviceApi devices[65];
  for (int32_t i = 0; i < 65; ++i) {
    devices[i] = device;
    devices[i].device_type = 1000 + i;
    Check(registrar->add_device(registrar, ("broken" + std::to_string(i)).c_str(), &devices[i]));
  }
#endif
}
#endif
