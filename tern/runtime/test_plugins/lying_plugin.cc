// SPDX-License-Identifier: Apache-2.0
//
// A plugin that loads, and whose device then lies or throws, in the way that the function
// "TERN_TEST_KIND.lie"(int) says: one of the numbers of lying_plugin.h.
#include "tern/runtime/test_plugins/lying_plugin.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "tern/runtime/plugin_sdk.h"

namespace {

using tern::test::Lie;

Lie lie = Lie::kNone;
char memory[64];

int Count(int32_t* count) {
  *count = lie == Lie::kManyDevices  ? std::numeric_limits<int32_t>::max()
           : lie == Lie::kFewDevices ? -1
                                     : 1;
  return 0;
}

int Describe(int32_t, void* sink, TernPropertySink emit) {
  if (lie == Lie::kThrowsNumber) throw 42;
  TernAny value = tern::plugin::IntValue(1);
  const char* name = lie == Lie::kNullName ? nullptr : "size";
  if (lie == Lie::kUnknownType) value.type_index = 9999;
  if (lie == Lie::kNullObject) value = {kTernStr, 0, {.v_obj = nullptr}};
  if (lie == Lie::kNullText) value = tern::plugin::TextValue(nullptr);
  if (lie == Lie::kLongSmallText) value = {kTernSmallStr, 1000, {.v_int = 0}};
  if (lie == Lie::kNotANumber) value = {kTernFloat, 0, {.v_float = std::nan("")}};
  emit(sink, name, lie == Lie::kNullValue ? nullptr : &value);
  return 0;
}

int Alloc(int32_t, uint64_t, uint64_t, void** out) {
  if (lie == Lie::kThrows) throw std::runtime_error("no memory today");
  *out = lie == Lie::kNullMemory ? nullptr : memory;
  return 0;
}

int Free(int32_t, void*) { return 0; }
int Copy(const TernCopy*) { return 0; }
int CreateStream(int32_t, void** out) {
  *out = nullptr;
  return 0;
}

int Load(int32_t, const char*, const TernBlob*, int32_t, void** program) {
  *program = memory;
  return 0;
}
void Unload(void*) {
  if (lie == Lie::kThrows) throw std::runtime_error("kept");
}
int GetKernel(void*, const char*, void** kernel) {
  *kernel = memory;
  return 0;
}
int Launch(void*, const TernLaunch*) {
  if (lie == Lie::kThrows) throw std::runtime_error("no launches today");
  return 0;
}

constexpr TernDeviceApi kDevice = {sizeof(TernDeviceApi),
                                   TERN_PLUGIN_API_VERSION,
                                   TERN_TEST_TYPE,
                                   Count,
                                   Describe,
                                   Alloc,
                                   Free,
                                   Copy,
                                   CreateStream,
                                   Free,
                                   Free};
constexpr TernKernelLoader kLoader = {
    sizeof(TernKernelLoader), TERN_PLUGIN_API_VERSION, Load, Unload, GetKernel, Launch};

int SetLie(void*, const TernAny* args, int32_t, TernAny*) {
  lie = static_cast<Lie>(args[0].v_int);
  return 0;
}

}  // namespace

TERN_PLUGIN(host, registrar) {
  using tern::plugin::Check;
  Check(registrar->add_device(registrar, TERN_TEST_KIND, &kDevice));
  Check(registrar->add_kernel_loader(registrar, TERN_TEST_KIND, &kLoader));
  Check(registrar->add_function(registrar, TERN_TEST_KIND ".lie", SetLie, nullptr));
}
