// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/device.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "tern/ffi/function.h"
#include "tern/ffi/registry_table.h"
#include "tern/runtime/host/cpu_device.h"
#include "tern/runtime/plugin/plugin.h"

namespace tern::runtime {
namespace {

// More than any machine has: whoever goes through all devices comes to an end.
constexpr int32_t kMaxDevices = 1024;

std::string PropertyName(const char* name) {
  TERN_CHECK(name && *name) << "a property has no name";
  return name;
}

// Numbers and texts: of nothing else could be told whether it is what it says.
ffi::Any PropertyValue(const char* name, const TernAny* value) {
  TERN_CHECK(value) << "property " << name << " has no value";
  bool is_valid = false;
  switch (value->type_index) {
    case kTernInt:
    case kTernBool:
      is_valid = true;
      break;
    case kTernFloat:
      is_valid = std::isfinite(value->v_float);
      break;
    case kTernRawStr:
      is_valid = value->v_str != nullptr;
      break;
    case kTernSmallStr:
      is_valid = value->small_len < sizeof value->v_small;
      break;
    case kTernStr:
      is_valid = value->v_obj != nullptr;
      break;
    default:
      break;
  }
  TERN_CHECK(is_valid) << "property " << name << " is neither a finite number nor a text: type "
                       << value->type_index;
  return ffi::Any(ffi::AnyView(*value));
}

class DeviceKinds {
 public:
  // Leaked: tensors may be freed while the process exits.
  static DeviceKinds& Global() {
    static DeviceKinds* kinds = new DeviceKinds;
    return *kinds;
  }

  const DeviceKind* Find(std::string_view name) const {
    const auto* kind = kinds_.Find(name);
    return kind ? kind->get() : nullptr;
  }

  void Add(const std::string& name, const TernDeviceApi* api, DriverRef driver) {
    kinds_.Add(name, std::make_unique<DeviceKind>(name, api, std::move(driver)),
               [&](const std::unique_ptr<DeviceKind>& kind) {
                 TERN_CHECK(kind->device_type() != api->device_type)
                     << "device kind " << name << ": device type " << api->device_type
                     << " is already that of " << kind->name();
               });
  }

  std::vector<const DeviceKind*> All() const {
    std::vector<const DeviceKind*> all;
    for (const auto* kind : kinds_.All()) all.push_back(kind->get());
    return all;
  }

 private:
  DeviceKinds() { Add("cpu", CpuDeviceApi(), nullptr); }

  ffi::RegistryTable<std::unique_ptr<DeviceKind>> kinds_{"device kind"};
};

const DeviceKind* FindLoaded(std::string_view name) { return DeviceKinds::Global().Find(name); }

const DeviceKind* FindLoaded(int32_t device_type) {
  std::vector<const DeviceKind*> all = DeviceKinds::Global().All();
  auto it = std::find_if(all.begin(), all.end(), [&](const DeviceKind* kind) {
    return kind->device_type() == device_type;
  });
  return it == all.end() ? nullptr : *it;
}

}  // namespace

int32_t DeviceKind::Count() const {
  int32_t count = 0;
  Call("device_count", api_.device_count, &count);
  if (count == 0 && driver_) driver_->Leave();
  if (count < 0 || count > kMaxDevices)
    TERN_THROW(RuntimeError) << "the " << name_ << " runtime says that it has " << count
                             << " devices; 0 to " << kMaxDevices << " can be";
  return count;
}

void DeviceKind::CheckPresent() const {
  if (Count() > 0) return;
  std::string reason;
  try {
    Call("describe", api_.describe, 0, nullptr, [](void*, const char*, const TernAny*) {});
  } catch (const Error& error) {
    reason = std::string(": ") + error.what();
  }
  if (driver_) driver_->Leave();
  TERN_CHECK(false) << "there is no " << name_ << " device on this machine" << reason;
}

void DeviceKind::CheckNumber(int32_t device_id) const {
  if (device_id == 0) return;
  int32_t count = Count();
  TERN_CHECK(device_id > 0 && device_id < count)
      << "no such device: " << name_ << ":" << device_id << "; "
      << (count == 1 ? "there is one " + name_ + " device: " + name_ + ":0"
                     : "there are " + std::to_string(count) + " " + name_ + " devices");
}

ffi::Map DeviceKind::Collect(int32_t device_id, Emitter emitter, const char* member) const {
  CheckNumber(device_id);
  CheckPresent();
  struct Sink {
    ffi::Map properties = ffi::MakeMap();
    std::exception_ptr failure;  // kept here: nothing may be thrown through the plugin
  } sink;
  Call(member, emitter, device_id, &sink, [](void* raw, const char* name, const TernAny* value) {
    auto* sink = static_cast<Sink*>(raw);
    try {
      if (!sink->failure) sink->properties->items[PropertyName(name)] = PropertyValue(name, value);
    } catch (...) {
      sink->failure = std::current_exception();
    }
  });
  if (sink.failure)
    WithContext("asking the " + name_ + " runtime for " + member + " of device " +
                    std::to_string(device_id),
                [&] { std::rethrow_exception(sink.failure); });
  return sink.properties;
}

ffi::Map DeviceKind::Describe(int32_t device_id) const {
  return Collect(device_id, api_.describe, "describe");
}

ffi::Map DeviceKind::Detect(int32_t device_id) const {
  if (!api_.detect)
    TERN_THROW(RuntimeError) << "the " << name_
                             << " runtime has no detector: give the target's attributes";
  return Collect(device_id, api_.detect, "detect");
}

void* DeviceKind::Alloc(int32_t device_id, uint64_t bytes, uint64_t alignment) const {
  CheckNumber(device_id);
  void* memory = nullptr;
  Call("alloc", api_.alloc, device_id, bytes, alignment, &memory);
  if (!memory && bytes > 0)
    TERN_THROW(MemoryError) << "the " << name_ << " runtime gave no memory for " << bytes
                            << " bytes, and no reason";
  return memory;
}

void DeviceKind::Free(int32_t device_id, void* memory) const {
  Call("free", api_.free, device_id, memory);
}

void DeviceKind::Copy(const TernCopy& copy) const { Call("copy", api_.copy, &copy); }

void DeviceKind::Synchronize(int32_t device_id, void* stream) const {
  Call("synchronize", api_.synchronize, device_id, stream);
}

void* DeviceKind::AllocHost(int32_t device_id, uint64_t bytes) const {
  CheckNumber(device_id);
  void* memory = nullptr;
  if (api_.alloc_host) {
    Call("alloc_host", api_.alloc_host, device_id, bytes, &memory);
  } else {
    constexpr uint64_t kAlignment = 64;  // as of all tensors
    memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  }
  if (!memory) TERN_THROW(MemoryError) << "there is no memory for " << bytes << " bytes";
  return memory;
}

void DeviceKind::FreeHost(int32_t device_id, void* memory) const {
  if (api_.alloc_host)
    Call("free_host", api_.free_host, device_id, memory);
  else
    std::free(memory);
}

bool DeviceKind::HasEvents() const { return api_.create_event != nullptr; }

void DeviceKind::CheckEvents() const {
  if (!HasEvents()) TERN_THROW(RuntimeError) << "the " << name_ << " runtime has no events";
}

DeviceKind::MemoryInfo DeviceKind::Memory(int32_t device_id) const {
  if (!api_.memory_info)
    TERN_THROW(RuntimeError) << "the " << name_ << " runtime does not tell how much memory "
                             << "there is";
  CheckNumber(device_id);
  MemoryInfo info{};
  Call("memory_info", api_.memory_info, device_id, &info.free_bytes, &info.total_bytes);
  return info;
}

void* DeviceKind::CreateStream(int32_t device_id) const {
  CheckNumber(device_id);
  void* stream = nullptr;
  Call("create_stream", api_.create_stream, device_id, &stream);
  return stream;
}

void DeviceKind::DestroyStream(int32_t device_id, void* stream) const {
  Call("destroy_stream", api_.destroy_stream, device_id, stream);
}

void* DeviceKind::CreateEvent(int32_t device_id) const {
  CheckEvents();
  CheckNumber(device_id);
  void* event = nullptr;
  Call("create_event", api_.create_event, device_id, &event);
  return event;
}

void DeviceKind::DestroyEvent(int32_t device_id, void* event) const {
  CheckEvents();
  Call("destroy_event", api_.destroy_event, device_id, event);
}

void DeviceKind::RecordEvent(int32_t device_id, void* event, void* stream) const {
  CheckEvents();
  Call("record_event", api_.record_event, device_id, event, stream);
}

void DeviceKind::WaitEvent(int32_t device_id, void* event, void* stream) const {
  CheckEvents();
  Call("wait_event", api_.wait_event, device_id, event, stream);
}

void DeviceKind::SynchronizeEvent(int32_t device_id, void* event) const {
  CheckEvents();
  Call("synchronize_event", api_.synchronize_event, device_id, event);
}

double DeviceKind::SecondsBetween(int32_t device_id, void* start, void* stop) const {
  CheckEvents();
  double seconds = 0;
  Call("elapsed", api_.elapsed, device_id, start, stop, &seconds);
  return seconds;
}

bool DeviceKind::HasGraphs() const { return api_.begin_capture != nullptr; }

void DeviceKind::BeginCapture(int32_t device_id, void* stream) const {
  if (!HasGraphs())
    TERN_THROW(RuntimeError) << "graphs are not supported by the " << name_
                             << " runtime: what a stream is given cannot be recorded";
  CheckNumber(device_id);
  if (!stream)
    TERN_THROW(ValueError) << "the default stream of " << name_ << ":" << device_id
                           << " cannot be recorded; record another one";
  Call("begin_capture", api_.begin_capture, device_id, stream);
}

void* DeviceKind::EndCapture(int32_t device_id, void* stream) const {
  void* graph = nullptr;
  Call("end_capture", api_.end_capture, device_id, stream, &graph);
  return graph;
}

void DeviceKind::DestroyGraph(int32_t device_id, void* graph) const {
  Call("destroy_graph", api_.destroy_graph, device_id, graph);
}

void* DeviceKind::InstantiateGraph(int32_t device_id, void* graph) const {
  void* executable = nullptr;
  Call("instantiate_graph", api_.instantiate_graph, device_id, graph, &executable);
  return executable;
}

void DeviceKind::UpdateGraph(int32_t device_id, void* executable, void* graph) const {
  Call("update_graph", api_.update_graph, device_id, executable, graph);
}

void DeviceKind::LaunchGraph(int32_t device_id, void* executable, void* stream) const {
  Call("launch_graph", api_.launch_graph, device_id, executable, stream);
}

void DeviceKind::DestroyExecutable(int32_t device_id, void* executable) const {
  Call("destroy_executable", api_.destroy_executable, device_id, executable);
}

const DeviceKind* FindDeviceKind(std::string_view name) {
  if (const DeviceKind* kind = FindLoaded(name)) return kind;
  return TryLoadPlugin(name) ? FindLoaded(name) : nullptr;
}

const DeviceKind& GetDeviceKind(std::string_view name) {
  if (const DeviceKind* kind = FindDeviceKind(name)) return *kind;
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

void RegisterDeviceKind(const std::string& name, const TernDeviceApi* api, DriverRef driver) {
  DeviceKinds::Global().Add(name, api, std::move(driver));
}

std::string DeviceName(TernDevice device) {
  const DeviceKind* kind = FindLoaded(device.type);
  return (kind ? kind->name() : "device " + std::to_string(device.type)) + ":" +
         std::to_string(device.id);
}

}  // namespace tern::runtime
