// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/device.h"

#include <cstdlib>
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

template <class Member>
Member DeviceKind::Optional(Member TernDeviceApi::* member) const {
  const Member* place = &(api_->*member);
  auto end = reinterpret_cast<const char*>(place + 1) - reinterpret_cast<const char*>(api_);
  return end <= static_cast<ptrdiff_t>(api_->size) ? *place : nullptr;
}

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
  auto detector = Optional(&TernDeviceApi::detect);
  if (!detector)
    TERN_THROW(RuntimeError) << "the " << name_
                             << " runtime has no detector: give the target's attributes";
  return Collect(device_id, detector);
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

void* DeviceKind::AllocHost(int32_t device_id, uint64_t bytes) const {
  auto function = Optional(&TernDeviceApi::alloc_host);
  if (!function) {
    constexpr uint64_t kAlignment = 64;  // as of all tensors
    void* memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
    if (!memory) TERN_THROW(MemoryError) << "there is no memory for " << bytes << " bytes";
    return memory;
  }
  void* memory = nullptr;
  ffi::CheckCall(function(device_id, bytes, &memory));
  return memory;
}

void DeviceKind::FreeHost(int32_t device_id, void* memory) const {
  if (auto function = Optional(&TernDeviceApi::free_host))
    ffi::CheckCall(function(device_id, memory));
  else
    std::free(memory);
}

bool DeviceKind::HasEvents() const { return Optional(&TernDeviceApi::create_event) != nullptr; }

template <class Member>
Member DeviceKind::EventMember(Member TernDeviceApi::* member) const {
  Member function = Optional(member);
  if (!function) TERN_THROW(RuntimeError) << "the " << name_ << " runtime has no events";
  return function;
}

DeviceKind::MemoryInfo DeviceKind::Memory(int32_t device_id) const {
  auto function = Optional(&TernDeviceApi::memory_info);
  if (!function)
    TERN_THROW(RuntimeError) << "the " << name_ << " runtime does not tell how much memory "
                             << "there is";
  MemoryInfo info{};
  ffi::CheckCall(function(device_id, &info.free_bytes, &info.total_bytes));
  return info;
}

void* DeviceKind::CreateStream(int32_t device_id) const {
  void* stream = nullptr;
  ffi::CheckCall(api_->create_stream(device_id, &stream));
  return stream;
}

void DeviceKind::DestroyStream(int32_t device_id, void* stream) const {
  ffi::CheckCall(api_->destroy_stream(device_id, stream));
}

void* DeviceKind::CreateEvent(int32_t device_id) const {
  void* event = nullptr;
  ffi::CheckCall(EventMember(&TernDeviceApi::create_event)(device_id, &event));
  return event;
}

void DeviceKind::DestroyEvent(int32_t device_id, void* event) const {
  ffi::CheckCall(EventMember(&TernDeviceApi::destroy_event)(device_id, event));
}

void DeviceKind::RecordEvent(int32_t device_id, void* event, void* stream) const {
  ffi::CheckCall(EventMember(&TernDeviceApi::record_event)(device_id, event, stream));
}

void DeviceKind::WaitEvent(int32_t device_id, void* event, void* stream) const {
  ffi::CheckCall(EventMember(&TernDeviceApi::wait_event)(device_id, event, stream));
}

void DeviceKind::SynchronizeEvent(int32_t device_id, void* event) const {
  ffi::CheckCall(EventMember(&TernDeviceApi::synchronize_event)(device_id, event));
}

double DeviceKind::SecondsBetween(int32_t device_id, void* start, void* stop) const {
  double seconds = 0;
  ffi::CheckCall(EventMember(&TernDeviceApi::elapsed)(device_id, start, stop, &seconds));
  return seconds;
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
  LoadAllPlugins();  // which of them has it shows when it is loaded
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
