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

// This machine's, spelt out: the same as what `native` stands for.
TEST(DetectTarget, OfTheHost) {
  target::Target target = DetectTarget("cpu");
  EXPECT_EQ(target->kind->name, target::Target::DefaultHost()->kind->name);
  EXPECT_EQ(DetectTarget("cpu:0")->str(), target->str());
  EXPECT_EQ(ErrorOf([] { DetectTarget("cpu:7"); }),
            "no such device: cpu:7; there is one cpu device: cpu:0");
  if (target->kind->attrs.count("mcpu") == 0) return;  // its compiler knows
  EXPECT_NE(target->GetString("mcpu"), "native");
  EXPECT_NE(target->GetString("mcpu"), "generic");
  target::Machine detected = target::DescribeMachine(target),
                  native = target::DescribeMachine(target::Target::Parse("llvm -mcpu=native"));
  EXPECT_EQ(detected.vector_bytes, native.vector_bytes);
  EXPECT_EQ(detected.l1_bytes, native.l1_bytes);
  EXPECT_EQ(detected.l2_bytes, native.l2_bytes);
}

}  // namespace
}  // namespace tern
