// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/plugin/plugin_registrar.h"

#include <algorithm>
#include <cstddef>

#include "tern/ffi/registry.h"
#include "tern/runtime/device.h"
#include "tern/runtime/kernel/device_module.h"

namespace tern::runtime {
namespace {

// A table may be as old as the first version, and so as small; what it has is told by its size. It
// may not be newer than ours. After the header there are members of the size of a pointer.
template <class Table>
void CheckTable(const char* what, const std::string& kind, const Table* table,
                size_t size_of_version_1) {
  TERN_CHECK(table) << what << " " << kind << ": the table is null";
  TERN_CHECK(table->version >= 1 && table->version <= TERN_PLUGIN_API_VERSION)
      << what << " " << kind << ": made for version " << table->version
      << " of the plugin API; this runtime offers version " << TERN_PLUGIN_API_VERSION;
  TERN_CHECK(table->size >= size_of_version_1 && table->size % sizeof(void*) == 0)
      << what << " " << kind << ": the table has " << table->size << " bytes; a multiple of "
      << sizeof(void*) << " from " << size_of_version_1 << " on is expected";
}

// Few are compared with few.
constexpr size_t kMaxKinds = 64;

void CheckRoom(const char* what, size_t already) {
  TERN_CHECK(already < kMaxKinds) << "more than " << kMaxKinds << " " << what << " are registered";
}

void CheckPresent(const char* what, const std::string& kind, const char* member, bool present) {
  TERN_CHECK(present) << what << " " << kind << ": " << member << " is null";
}

std::string NameOf(const char* what, const char* name) {
  TERN_CHECK(name && *name) << "a " << what << " is registered without a name";
  return name;
}

// Puts a foreign call behind our own object, so that the handle given is the plugin's.
ffi::Function ForeignFunction(TernSafeCall call, void* handle) {
  return ffi::Function::FromPacked([call, handle](ffi::Args args) {
    TernAny result{};
    ffi::CheckCall(call(handle, reinterpret_cast<const TernAny*>(args.data()),
                        static_cast<int32_t>(args.size()), &result));
    return ffi::Any::Adopt(result);
  });
}

}  // namespace

template <class Stage>
int StagedRegistrations::Try(Stage&& stage) {
  return ffi::Guard([&] {
    try {
      stage();
    } catch (const Error& error) {
      if (!refusal_) refusal_ = error;
      throw;
    }
  });
}

StagedRegistrations::StagedRegistrations() {
  registrar_.size = sizeof(TernRegistrar);
  registrar_.version = TERN_PLUGIN_API_VERSION;
  registrar_.self = this;
  registrar_.add_device = [](TernRegistrar* r, const char* kind, const TernDeviceApi* api) {
    return Self(r).Try([&] { Self(r).AddDevice(kind, api); });
  };
  registrar_.add_kernel_loader = [](TernRegistrar* r, const char* kind,
                                    const TernKernelLoader* loader) {
    return Self(r).Try([&] { Self(r).AddKernelLoader(kind, loader); });
  };
  registrar_.add_function = [](TernRegistrar* r, const char* name, TernSafeCall call,
                               void* handle) {
    return Self(r).Try([&] { Self(r).AddFunction(name, call, handle); });
  };
}

void StagedRegistrations::AddDevice(const char* raw_kind, const TernDeviceApi* table) {
  std::string kind = NameOf("device kind", raw_kind);
  CheckTable("device kind", kind, table, TERN_DEVICE_API_MIN_SIZE);
  CheckRoom("device kinds", devices_.size());
  const TernDeviceApi api = WholeTable(table);
  auto present = [&](const char* member, bool is) {
    CheckPresent("device kind", kind, member, is);
  };
  present("device_count", api.device_count);
  present("describe", api.describe);
  present("alloc", api.alloc);
  present("free", api.free);
  present("copy", api.copy);
  present("create_stream", api.create_stream);
  present("destroy_stream", api.destroy_stream);
  present("synchronize", api.synchronize);
  if (api.create_event) {
    present("destroy_event", api.destroy_event);
    present("record_event", api.record_event);
    present("wait_event", api.wait_event);
    present("synchronize_event", api.synchronize_event);
    present("elapsed", api.elapsed);
  }
  if (api.alloc_host) present("free_host", api.free_host);
  if (api.begin_capture) {
    present("end_capture", api.end_capture);
    present("destroy_graph", api.destroy_graph);
    present("instantiate_graph", api.instantiate_graph);
    present("update_graph", api.update_graph);
    present("launch_graph", api.launch_graph);
    present("destroy_executable", api.destroy_executable);
  }
  for (const DeviceKind* taken : LoadedDeviceKinds()) {
    TERN_CHECK(taken->name() != kind) << "device kind " << kind << " is already registered";
    TERN_CHECK(taken->device_type() != api.device_type)
        << "device kind " << kind << ": device type " << api.device_type << " is already that of "
        << taken->name();
  }
  for (const Device& staged : devices_)
    TERN_CHECK(staged.kind != kind && staged.api->device_type != api.device_type)
        << "device kind " << kind << " is registered twice";
  devices_.push_back({std::move(kind), table});
}

void StagedRegistrations::AddKernelLoader(const char* raw_kind, const TernKernelLoader* loader) {
  std::string kind = NameOf("kernel loader", raw_kind);
  CheckTable("kernel loader", kind, loader, TERN_KERNEL_LOADER_MIN_SIZE);
  CheckRoom("kernel loaders", loaders_.size());
  auto present = [&](const char* member, bool is) {
    CheckPresent("kernel loader", kind, member, is);
  };
  present("load", loader->load);
  present("unload", loader->unload);
  present("get_kernel", loader->get_kernel);
  present("launch", loader->launch);
  TERN_CHECK(!FindKernelLoader(kind)) << "kernel loader " << kind << " is already registered";
  for (const Loader& staged : loaders_)
    TERN_CHECK(staged.kind != kind) << "kernel loader " << kind << " is registered twice";
  loaders_.push_back({std::move(kind), loader});
}

void StagedRegistrations::AddFunction(const char* raw_name, TernSafeCall call, void* handle) {
  std::string name = NameOf("function", raw_name);
  TERN_CHECK(call) << "function " << name << " is null";
  TERN_CHECK(!ffi::FindGlobal(name)) << "global function " << name << " is already registered";
  TERN_CHECK(function_names_.insert(name).second) << "function " << name << " is registered twice";
  functions_.push_back({std::move(name), ForeignFunction(call, handle)});
}

void StagedRegistrations::Commit() {
  if (refusal_) throw *refusal_;
  size_t functions = 0, devices = 0, loaders = 0;
  try {
    // Functions first: a plugin may bring its own ffi.Module.create.<kind>.
    for (; functions < functions_.size(); ++functions)
      ffi::RegisterGlobal(functions_[functions].name, functions_[functions].function);
    for (; loaders < loaders_.size(); ++loaders)
      RegisterKernelLoader(loaders_[loaders].kind, loaders_[loaders].loader, driver_);
    for (; devices < devices_.size(); ++devices)
      RegisterDeviceKind(devices_[devices].kind, devices_[devices].api, driver_);
  } catch (const Error&) {
    // Everything was checked when it was staged, so another thread took a name since. Devices come
    // last: none of a failed plugin is ever visible.
    while (functions-- > 0) ffi::RemoveGlobal(functions_[functions].name);
    while (loaders-- > 0) UnregisterKernelLoader(loaders_[loaders].kind);
    throw;
  }
}

}  // namespace tern::runtime
