// SPDX-License-Identifier: Apache-2.0
#include "tern/detect_target.h"

#include <gtest/gtest.h>

#include "tern/runtime/device.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern {
namespace {

using runtime::ErrorOf;

template <class... Unused>
int Nothing(Unused...) {
  return 0;
}

// A device of the target kind "gravel", which has a detector or has none.
const TernDeviceApi& Device(int32_t type, bool detector) {
  static TernDeviceApi apis[2];
  TernDeviceApi& api = apis[detector];
  api = {sizeof(TernDeviceApi),
         TERN_PLUGIN_API_VERSION,
         type,
         [](int32_t* count) {
           *count = 2;
           return 0;
         },
         Nothing<int32_t, void*, TernPropertySink>,
         Nothing<int32_t, uint64_t, uint64_t, void**>,
         Nothing<int32_t, void*>,
         Nothing<const TernCopy*>,
         Nothing<int32_t, void**>,
         Nothing<int32_t, void*>,
         Nothing<int32_t, void*>,
         nullptr};
  if (detector)
    api.detect = [](int32_t id, void* sink, TernPropertySink emit) {
      TernAny cores = {kTernInt, 0, {.v_int = 10 + id}};
      emit(sink, "cores", &cores);
      return 0;
    };
  return api;
}

target::TargetKind Kind(const std::string& name) {
  target::TargetKind kind;
  kind.name = kind.module_kind = kind.device = name;
  kind.role = target::Role::kDevice;
  kind.attrs["cores"] = {.type = target::AttrSpec::Type::kInt, .default_value = 1};
  return kind;
}

TEST(DetectTarget, AsksThePluginsDetector) {
  runtime::RegisterDeviceKind("gravel", &Device(90, true));
  target::RegisterTargetKind(Kind("gravel"));
  EXPECT_EQ(DetectTarget("gravel")->str(), "gravel -cores=10");
  EXPECT_EQ(DetectTarget("gravel:1")->str(), "gravel -cores=11");
  EXPECT_EQ(ErrorOf([] { DetectTarget("gravel:2"); }),
            "no such device: gravel:2; there are 2 gravel devices");
  EXPECT_EQ(ErrorOf([] { DetectTarget("gravel:x"); }),
            "device \"gravel:x\": expected KIND or KIND:NUMBER");
}

TEST(DetectTarget, NoDetectorIsAnotherError) {
  runtime::RegisterDeviceKind("sand", &Device(91, false));
  target::RegisterTargetKind(Kind("sand"));
  EXPECT_EQ(ErrorOf([] { DetectTarget("sand"); }),
            "the sand runtime has no detector: give the target's attributes");
  EXPECT_EQ(ErrorOf([] { DetectTarget("nosuch"); }).find("the nosuch runtime is not loaded: "), 0u);
}

}  // namespace
}  // namespace tern
