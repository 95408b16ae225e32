// SPDX-License-Identifier: Apache-2.0
//
// Devices: memory, copies and streams behind the C table of plugin_api.h. The host is a device like
// the others.
#ifndef TERN_RUNTIME_DEVICE_H_
#define TERN_RUNTIME_DEVICE_H_

#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/containers.h"
#include "tern/runtime/plugin/plugin_boundary.h"

namespace tern::runtime {

// A kind of device ("cpu", or a plugin's). The calls check their results and throw what the driver
// side raised.
class DeviceKind {
 public:
  // The table may be older than ours. `driver` is null for devices that a fork copies.
  DeviceKind(std::string name, const TernDeviceApi* api, DriverRef driver)
      : name_(std::move(name)), api_(WholeTable(api)), driver_(std::move(driver)) {}

  const std::string& name() const { return name_; }
  int32_t device_type() const { return api_.device_type; }
  // 0 where the driver is absent. Throws where the plugin says a number that no machine has.
  int32_t Count() const;
  // Throws where there is none, with the plugin's reason.
  void CheckPresent() const;
  // Properties of a live device. "no such device" names how many there are.
  ffi::Map Describe(int32_t device_id) const;
  // The target attributes of a live device, by the plugin's detector. "no detector" and "no such
  // device" are different errors.
  ffi::Map Detect(int32_t device_id) const;
  void* Alloc(int32_t device_id, uint64_t bytes, uint64_t alignment) const;
  void Free(int32_t device_id, void* memory) const;
  // May return before it is done, where the host's memory is AllocHost's: synchronize.
  void Copy(const TernCopy& copy) const;
  // Memory of the host for such copies; where the kind has none, any.
  void* AllocHost(int32_t device_id, uint64_t bytes) const;
  void FreeHost(int32_t device_id, void* memory) const;
  void Synchronize(int32_t device_id, void* stream = nullptr) const;

  struct MemoryInfo {
    uint64_t free_bytes, total_bytes;
  };
  // Throws where the plugin does not tell.
  MemoryInfo Memory(int32_t device_id) const;

  // Whether it has events.
  bool HasEvents() const;
  // Whether it has graphs.
  bool HasGraphs() const;

  // For stream.h.
  void* CreateStream(int32_t device_id) const;
  void DestroyStream(int32_t device_id, void* stream) const;
  void* CreateEvent(int32_t device_id) const;
  void DestroyEvent(int32_t device_id, void* event) const;
  void RecordEvent(int32_t device_id, void* event, void* stream) const;
  void WaitEvent(int32_t device_id, void* event, void* stream) const;
  void SynchronizeEvent(int32_t device_id, void* event) const;
  double SecondsBetween(int32_t device_id, void* start, void* stop) const;

  // For graph.h, as plugin_api.h says of them.
  void BeginCapture(int32_t device_id, void* stream) const;
  void* EndCapture(int32_t device_id, void* stream) const;
  void DestroyGraph(int32_t device_id, void* graph) const;
  void* InstantiateGraph(int32_t device_id, void* graph) const;
  void UpdateGraph(int32_t device_id, void* executable, void* graph) const;
  void LaunchGraph(int32_t device_id, void* executable, void* stream) const;
  void DestroyExecutable(int32_t device_id, void* executable) const;

 private:
  using Emitter = int (*)(int32_t device_id, void* sink, TernPropertySink emit);
  // What the emitter says of a device that there is.
  ffi::Map Collect(int32_t device_id, Emitter emitter, const char* member) const;
  // Throws unless there is that device. Of the first one the plugin knows better why there is none.
  void CheckNumber(int32_t device_id) const;
  // Throws where the device has no events.
  void CheckEvents() const;
  // Calls a function of the table and throws what it raised.
  template <class... Params, class... Args>
  void Call(const char* member, int (*function)(Params...), Args... args) const {
    CallPlugin(name_, driver_, member, function, args...);
  }

  std::string name_;
  TernDeviceApi api_;
  DriverRef driver_;
};

// Kinds live as long as the process. `FindDeviceKind` tries the plugin of that name; null where it
// is absent. `GetDeviceKind` throws an error that names the missing file and where it was looked
// for.
const DeviceKind* FindDeviceKind(std::string_view name);
const DeviceKind& GetDeviceKind(std::string_view name);
// By DLPack code, which is all that a foreign tensor has: loads every plugin where no kind that is
// there has it; throws where none has.
const DeviceKind& GetDeviceKind(int32_t device_type);
std::vector<const DeviceKind*> LoadedDeviceKinds();
// For the plugin loader; throws if the name or the type is taken.
void RegisterDeviceKind(const std::string& name, const TernDeviceApi* api, DriverRef driver = {});

// "cpu:0"
std::string DeviceName(TernDevice device);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_DEVICE_H_
