// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel/device_module.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "tern/ffi/environment.h"
#include "tern/ffi/registry.h"
#include "tern/ffi/registry_table.h"
#include "tern/runtime/kernel/kernel_launch.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/runtime/stream.h"

namespace tern::runtime {
namespace {

constexpr const char* kCreatePrefix = "ffi.Module.create.";
constexpr const char* kLoadPrefix = "ffi.Module.load_from_bytes.";
// disassemble.<fmt>: a function from bytes to text, which a code generator may register.
constexpr const char* kDisassemblePrefix = "disassemble.";

using KernelLoaders = ffi::RegistryTable<std::unique_ptr<const KernelLoader>>;

KernelLoaders& Loaders() {
  static auto* loaders = new KernelLoaders("kernel loader");
  return *loaders;
}

bool FallbackIsForced() { return environment::Flag("TERN_FORCE_FALLBACK", false); }

// Kernels that say how they are bound are for browsers.
std::string OtherRuntime(const KernelInfo& info) {
  return info.bindings ? "; its kernels run in a browser, by the runtime in web/" : "";
}

class DeviceModuleObj : public ffi::ModuleObj {
 public:
  DeviceModuleObj(DeviceArtifact artifact, bool is_forced_fallback)
      : artifact_(std::move(artifact)), is_forced_fallback_(is_forced_fallback) {}

  ~DeviceModuleObj() override {
    for (const auto& [device_id, program] : programs_) program.loader->Unload(program.handle);
  }

  std::string kind() const override { return artifact_.kind; }

  uint32_t properties() const override {
    return kSerializable | (!is_forced_fallback_ && FindOrLoad() ? uint32_t{kRunnable} : 0);
  }

  std::vector<std::string> FunctionNames() const override {
    std::vector<std::string> names;
    for (const auto& [name, info] : artifact_.fmap) names.push_back(name);
    return names;
  }

  ffi::Function GetFunction(std::string_view name) override {
    auto it = artifact_.fmap.find(name);
    if (it == artifact_.fmap.end()) return {};
    if (is_forced_fallback_)
      TERN_THROW(RuntimeError) << "the " << artifact_.kind
                               << " runtime is not loaded: TERN_FORCE_FALLBACK forced the fallback";
    const KernelLoader* loader = FindOrLoad();
    if (!loader)
      throw Error("RuntimeError", WhyPluginAbsent(artifact_.kind) + OtherRuntime(it->second));
    return MakeFunction(loader, it->first, it->second);
  }

  // Calls f(loader) if the kernels are for this kind of device, and its runtime is here.
  template <class F>
  void IfLoads(TernDevice device, const F& f) {
    const KernelLoader* loader = is_forced_fallback_ ? nullptr : FindOrLoad();
    const DeviceKind* kind = loader ? FindDeviceKind(artifact_.kind) : nullptr;
    if (kind && kind->device_type() == device.type) f(*loader);
  }

  void PrepareKernels(TernDevice device) {
    IfLoads(device, [&](const KernelLoader& loader) {
      loader.CheckProcess();
      std::lock_guard lock(mutex_);
      loader.Prepare(GetProgram(loader, device.id).handle);
    });
  }

  void LoadKernels(TernDevice device) {
    PrepareKernels(device);
    IfLoads(device, [&](const KernelLoader& loader) {
      for (const auto& [name, info] : artifact_.fmap) Kernel(loader, device.id, name);
    });
  }

  // The kernel on that device. The program is made at the first use; nothing is remembered of a
  // failure, so the next use tries again.
  void* Kernel(const KernelLoader& loader, int32_t device_id, const std::string& name) {
    loader.CheckProcess();
    std::lock_guard lock(mutex_);
    Program& program = GetProgram(loader, device_id);
    auto kernel = program.kernels.find(name);
    if (kernel == program.kernels.end())
      kernel = program.kernels.emplace(name, loader.GetKernel(program.handle, name)).first;
    return kernel->second;
  }

  std::string SaveToBytes() const override { return SaveDeviceArtifact(artifact_); }

  std::vector<std::string> SourceFormats() const override {
    std::vector<std::string> formats{artifact_.fmt};
    for (const auto& [format, text] : artifact_.source)
      if (format != artifact_.fmt) formats.push_back(format);
    return formats;
  }

  std::string InspectSource(std::string_view format) const override {
    bool is_payload = format == artifact_.fmt || format.empty();
    if (is_payload && PayloadIsText()) return Payload();
    if (is_payload)
      if (ffi::Function disassemble = ffi::FindGlobal(kDisassemblePrefix + artifact_.fmt))
        return Disassembled(disassemble);
    if (format == artifact_.fmt) return Payload();
    auto it = format.empty() ? artifact_.source.begin() : artifact_.source.find(format);
    return it == artifact_.source.end() ? ModuleObj::InspectSource(format) : it->second;
  }

 private:
  struct Program {
    const KernelLoader* loader;
    void* handle;
    std::map<std::string, void*, std::less<>> kernels;
  };

  // The mutex is held.
  Program& GetProgram(const KernelLoader& loader, int32_t device_id) {
    auto program = programs_.find(device_id);
    if (program == programs_.end()) {
      void* handle = loader.Load(device_id, artifact_.fmt, artifact_.payload);
      program = programs_.emplace(device_id, Program{&loader, handle, {}}).first;
    }
    return program->second;
  }

  const KernelLoader* FindOrLoad() const {
    if (const KernelLoader* loader = FindKernelLoader(artifact_.kind)) return loader;
    return TryLoadPlugin(artifact_.kind) ? FindKernelLoader(artifact_.kind) : nullptr;
  }

  ffi::Function MakeFunction(const KernelLoader* loader, const std::string& name,
                             const KernelInfo& info);

  bool PayloadIsText() const {
    for (const auto& [name, blob] : artifact_.payload)
      if (blob.find('\0') != std::string::npos) return false;
    return true;
  }

  std::string Payload() const {
    std::string all;
    for (const auto& [name, blob] : artifact_.payload) all += blob;
    return all;
  }

  std::string Disassembled(const ffi::Function& disassemble) const {
    std::string all;
    for (const auto& [name, blob] : artifact_.payload)
      all += disassemble(ffi::Bytes{blob}).As<std::string>();
    return all;
  }

  const DeviceArtifact artifact_;
  const bool is_forced_fallback_;
  std::mutex mutex_;
  std::map<int32_t, Program> programs_;  // by device id
};

// A kernel of a module, with its handles on devices that it was launched on: a launch takes no lock
// and looks nothing up.
class KernelFunctionObj : public ffi::FunctionObj {
 public:
  KernelFunctionObj(ffi::Ref<DeviceModuleObj> module, const KernelLoader* loader,
                    const std::string& name, const KernelInfo& info)
      : FunctionObj(&Invoke), module_(std::move(module)), loader_(loader), plan_(name, info) {}

 private:
  static int Invoke(void* handle, const TernAny* args, int32_t num_args, TernAny* result) {
    return ffi::Guard([&] {
      auto* self = static_cast<KernelFunctionObj*>(
          ffi::Object::FromHeader(static_cast<TernObject*>(handle)));
      self->Launch({reinterpret_cast<const ffi::AnyView*>(args), static_cast<size_t>(num_args)});
      *result = {};
    });
  }

  void Launch(ffi::Args args) {
    PackedLaunch launch(plan_, args);
    if (launch.is_empty()) return;
    void* kernel = KernelOn(launch.device_id());
    launch.Run(*loader_, kernel, HasCurrentStreams() ? StreamOf(launch.device_id()) : nullptr);
  }

  void* KernelOn(int32_t device_id) {
    auto number = static_cast<size_t>(device_id);
    if (number >= kernels_.size()) return module_->Kernel(*loader_, device_id, plan_.name());
    void* kernel = kernels_[number].load(std::memory_order_acquire);
    if (!kernel) [[unlikely]] {
      kernel = module_->Kernel(*loader_, device_id, plan_.name());
      kernels_[number].store(kernel, std::memory_order_release);
    }
    return kernel;
  }

  // A kind may have a kernel loader without a device of that name: then there are no streams.
  void* StreamOf(int32_t device_id) {
    const DeviceKind* kind = kind_.load(std::memory_order_acquire);
    if (!kind) {
      kind = FindDeviceKind(module_->kind());
      kind_.store(kind, std::memory_order_release);
    }
    return kind ? CurrentStream({kind->device_type(), device_id}) : nullptr;
  }

  ffi::Ref<DeviceModuleObj> module_;  // which its kernels live as long as
  const KernelLoader* loader_;
  LaunchPlan plan_;
  std::array<std::atomic<void*>, 16> kernels_{};  // by device id; later ones are looked up
  std::atomic<const DeviceKind*> kind_{nullptr};  // when it was asked for; they stay
};

ffi::Function DeviceModuleObj::MakeFunction(const KernelLoader* loader, const std::string& name,
                                            const KernelInfo& info) {
  return ffi::Function(
      ffi::Make<KernelFunctionObj>(ffi::Ref<DeviceModuleObj>(this), loader, name, info));
}

ffi::Module MakeModule(DeviceArtifact artifact, bool is_forced_fallback = false) {
  return ffi::Module(ffi::Make<DeviceModuleObj>(std::move(artifact), is_forced_fallback));
}

// The arguments of ffi.Module.create.<kind>, and back.
ffi::Any PayloadToValue(const DeviceArtifact& artifact) {
  if (artifact.payload.size() == 1 && artifact.payload.begin()->first.empty())
    return ffi::Bytes{artifact.payload.begin()->second};
  ffi::Map map = ffi::MakeMap();
  for (const auto& [name, blob] : artifact.payload) map->items[name] = ffi::Bytes{blob};
  return map;
}

std::map<std::string, std::string, std::less<>> TextsFromMap(const char* what,
                                                             const ffi::Map& map) {
  std::map<std::string, std::string, std::less<>> texts;
  for (const auto& [name, value] : map->items) {
    if (auto bytes = value.TryAs<ffi::Bytes>())
      texts[name] = bytes->data;
    else if (auto text = value.TryAs<std::string>())
      texts[name] = *text;
    else
      TERN_THROW(TypeError) << what << "." << name << ": expected bytes or string, got "
                            << ffi::Describe(value.raw());
  }
  return texts;
}

DeviceArtifact ArtifactFromValues(const std::string& kind, const ffi::Any& payload, std::string fmt,
                                  const ffi::Map& fmap, const ffi::Map& source) {
  DeviceArtifact artifact{.kind = kind, .fmt = std::move(fmt)};
  artifact.fmap = KernelMapFromValue(fmap);
  if (auto map = payload.TryAs<ffi::Map>())
    artifact.payload = TextsFromMap("payload", *map);
  else
    artifact.payload = TextsFromMap("payload", ffi::MakeMap({{"", payload}}));
  artifact.source = TextsFromMap("source", source);
  return artifact;
}

void RegisterUnlessTaken(const std::string& name, const ffi::Function& function) {
  if (!ffi::FindGlobal(name)) ffi::RegisterGlobal(name, function);
}

template <class F>
void ForEachDeviceModule(const ffi::Module& module, const F& f) {
  if (auto* kernels = dynamic_cast<DeviceModuleObj*>(module.get())) f(*kernels);
  for (const ffi::Module& import : module->imports()) ForEachDeviceModule(import, f);
}

}  // namespace

ffi::Module CreateDeviceModule(DeviceArtifact artifact) {
  if (FallbackIsForced()) return MakeModule(std::move(artifact), /*is_forced_fallback=*/true);
  std::string key = kCreatePrefix + artifact.kind;
  ffi::Function create = ffi::FindGlobal(key);
  if (!create && TryLoadPlugin(artifact.kind)) create = ffi::FindGlobal(key);
  if (!create) return MakeModule(std::move(artifact));
  ffi::Map source = ffi::MakeMap();
  for (const auto& [format, text] : artifact.source) source->items[format] = text;
  return create(PayloadToValue(artifact), artifact.fmt, KernelMapToValue(artifact.fmap), source)
      .As<ffi::Module>();
}

ffi::Module LoadDeviceModule(std::string kind, std::string_view bytes) {
  if (ffi::Function load = ffi::FindGlobal(kLoadPrefix + kind))
    return load(ffi::Bytes{std::string(bytes)}).As<ffi::Module>();
  return MakeModule(LoadDeviceArtifact(std::move(kind), bytes));
}

void PrepareKernels(const ffi::Module& module, TernDevice device) {
  ForEachDeviceModule(module, [&](DeviceModuleObj& kernels) { kernels.PrepareKernels(device); });
}

void LoadKernels(const ffi::Module& module, TernDevice device) {
  ForEachDeviceModule(module, [&](DeviceModuleObj& kernels) { kernels.LoadKernels(device); });
}

void RegisterKernelLoader(const std::string& kind, const TernKernelLoader* table,
                          DriverRef driver) {
  Loaders().Add(kind, std::make_unique<const KernelLoader>(kind, table, std::move(driver)));
  std::string create = kCreatePrefix + kind, load = kLoadPrefix + kind;
  RegisterUnlessTaken(
      create, ffi::Function::FromTyped(create, [kind](ffi::Any payload, std::string fmt,
                                                      ffi::Map fmap, ffi::Map source) {
        return MakeModule(ArtifactFromValues(kind, payload, std::move(fmt), fmap, source));
      }));
  RegisterUnlessTaken(load, ffi::Function::FromTyped(load, [kind](ffi::Bytes bytes) {
                        return MakeModule(LoadDeviceArtifact(kind, bytes.data));
                      }));
}

void UnregisterKernelLoader(const std::string& kind) {
  Loaders().Remove(kind);
  ffi::RemoveGlobal(kCreatePrefix + kind);
  ffi::RemoveGlobal(kLoadPrefix + kind);
}

const KernelLoader* FindKernelLoader(std::string_view kind) {
  const auto* loader = Loaders().Find(kind);
  return loader ? loader->get() : nullptr;
}

}  // namespace tern::runtime
