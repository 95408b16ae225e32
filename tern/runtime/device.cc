// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/device.h"

#include <memory>
#include <mutex>
#include <shared_mutex>

#include "tern/ffi/function.h"
#include "tern/runtime/cpu_device.h"
#include "tern/runtime/plugin.h"

namespace tern::runtime {
namespace {

class DeviceKinds {
 public:
  // Leaked: tensors may be freed while the process exits.
  static DeviceKinds& Global() {
    static DeviceKinds* kinds = new DeviceKinds;
    return *kinds;
  }

  template <class Predicate>
  const DeviceKind* Find(Predicate&& matches) {
    std::shared_lock lock(mutex_);
    for (const auto& kind : kinds_)
      if (matches(*kind)) return kind.get();
    return nullptr;
  }

  void Add(const std::string& name, const TernDeviceApi* api) {
    std::unique_lock lock(mutex_);
    for (const auto& kind : kinds_) {
      TERN_CHECK(kind->name() != name) << "device kind " << name << " is already registered";
      TERN_CHECK(kind->device_type() != api->device_type)
          << "device kind " << name << ": device type " << api->device_type
          << " is already that of " << kind->name();
    }
    kinds_.push_back(std::make_unique<DeviceKind>(name, api));
  }

  std::vector<const DeviceKind*> All() {
    std::shared_lock lock(mutex_);
    std::vector<const DeviceKind*> all;
    for (const auto& kind : kinds_) all.push_back(kind.get());
    return all;
  }

 private:
  DeviceKinds() { Add("cpu", CpuDeviceApi()); }

  std::shared_mutex mutex_;
  std::vector<std::unique_ptr<DeviceKind>> kinds_;
};

const DeviceKind* FindLoaded(std::string_view name) {
  return DeviceKinds::Global().Find([&](const DeviceKind& kind) { return kind.name() == name; });
}

const DeviceKind* FindLoaded(int32_t device_type) {
  return DeviceKinds::Global().Find(
      [&](const DeviceKind& kind) { return kind.device_type() == device_type; });
}

}  // namespace

int32_t DeviceKind::Count() const {
  int32_t count = 0;
  ffi::CheckCall(api_->device_count(&count));
  return count;
}

ffi::Map DeviceKind::Collect(int32_t device_id, Emitter emitter) const {
  int32_t count = Count();
  TERN_CHECK(device_id >= 0 && device_id < count)
      << "no such device: " << name_ << ":" << device_id << "; there "
      << (count == 1 ? "is 1 " : "are " + std::to_string(count) + " ") << name_
      << (count == 1 ? " device" : " devices");
  struct Sink {
    ffi::Map properties = ffi::MakeMap();
    std::exception_ptr failure;  // kept here: nothing may be thrown through the plugin
  } sink;
  int code = emitter(device_id, &sink, [](void* raw, const char* name, const TernAny* value) {
    auto* sink = static_cast<Sink*>(raw);
    try {
      sink->properties->items[name] = ffi::Any(ffi::AnyView(*value));
    } catch (...) {
      sink->failure = std::current_exception();
    }
  });
  ffi::CheckCall(code);
  if (sink.failure) std::rethrow_exception(sink.failure);
  return sink.properties;
}

ffi::Map DeviceKind::Describe(int32_t device_id) const {
  return Collect(device_id, api_->describe);
}

ffi::Map DeviceKind::Detect(int32_t device_id) const {
  // A plugin of before there were detectors has a shorter table.
  bool has_detector = api_->size >= TERN_DEVICE_API_MIN_SIZE + sizeof api_->detect && api_->detect;
  if (!has_detector)
    TERN_THROW(RuntimeError) << "the " << name_
                             << " runtime has no detector: give the target's attributes";
  return Collect(device_id, api_->detect);
}

void* DeviceKind::Alloc(int32_t device_id, uint64_t bytes, uint64_t alignment) const {
  void* memory = nullptr;
  ffi::CheckCall(api_->alloc(device_id, bytes, alignment, &memory));
  return memory;
}

void DeviceKind::Free(int32_t device_id, void* memory) const {
  ffi::CheckCall(api_->free(device_id, memory));
}

void DeviceKind::Copy(const TernCopy& copy) const { ffi::CheckCall(api_->copy(&copy)); }

void DeviceKind::Synchronize(int32_t device_id, void* stream) const {
  ffi::CheckCall(api_->synchronize(device_id, stream));
}

const DeviceKind* FindDeviceKind(std::string_view name) {
  if (const DeviceKind* kind = FindLoaded(name)) return kind;
  return TryLoadPlugin(name) ? FindLoaded(name) : nullptr;
}

const DeviceKind& GetDeviceKind(std::string_view name) {
  if (const DeviceKind* kind = FindDeviceKind(name)) return *kind;
  if (IsPluginLoaded(name))
    TERN_THROW(RuntimeError) << "the " << name
                             << " runtime is loaded but has no device of that kind";
  throw Error("RuntimeError", WhyPluginAbsent(name));
}

const DeviceKind& GetDeviceKind(int32_t device_type) {
  if (const DeviceKind* kind = FindLoaded(device_type)) return *kind;
  std::string known;
  for (const DeviceKind* kind : LoadedDeviceKinds())
    known += (known.empty() ? "" : ", ") + kind->name() + " (" +
             std::to_string(kind->device_type()) + ")";
  throw Error("RuntimeError", "no loaded runtime has device type " + std::to_string(device_type) +
                                  "; loaded are " + known);
}

std::vector<const DeviceKind*> LoadedDeviceKinds() { return DeviceKinds::Global().All(); }

void RegisterDeviceKind(const std::string& name, const TernDeviceApi* api) {
  DeviceKinds::Global().Add(name, api);
}

std::string DeviceName(TernDevice device) {
  const DeviceKind* kind = FindLoaded(device.type);
  return (kind ? kind->name() : "device " + std::to_string(device.type)) + ":" +
         std::to_string(device.id);
}

}  // namespace tern::runtime
