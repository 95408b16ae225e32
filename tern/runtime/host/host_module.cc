// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/host_module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "tern/ffi/environment.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/host/thread_pool.h"
#include "tern/runtime/host/workspace.h"
#include "tern/runtime/plugin/plugin.h"

namespace tern::runtime {
namespace {

void Raise(const TernEnv*, const char* kind, const TernAny* parts, int32_t num_parts) {
  // A failure to make the message (memory) is itself raised.
  ffi::Guard([&] {
    std::string message;
    for (int32_t i = 0; i < num_parts; ++i) {
      ffi::AnyView part(parts[i]);
      if (auto text = part.TryAs<std::string>())
        message += *text;
      else if (part.type_index() == kTernInt)
        message += std::to_string(parts[i].v_int);
      else if (part.type_index() == kTernFloat)
        message += (std::ostringstream() << parts[i].v_float).str();
      else if (part.type_index() == kTernOpaquePtr)
        message += ffi::Describe(*static_cast<const TernAny*>(parts[i].v_ptr));
      else
        message += ffi::Describe(parts[i]);
    }
    throw Error(kind, message);
  });
}

// "x.f" may come with the plugin x.
std::string_view PluginOf(std::string_view name) {
  size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

[[noreturn]] void ThrowNoCallee(std::string_view name) {
  std::string_view plugin = PluginOf(name);
  bool absent = !plugin.empty() && !IsPluginLoaded(plugin);
  TERN_THROW(RuntimeError) << "compiled code calls " << name
                           << ", which is neither in the module's imports nor registered"
                           << (absent ? "; " + WhyPluginAbsent(plugin) : "");
  __builtin_unreachable();
}

void* AllocWorkspaceFor(const TernEnv*, int32_t device_type, int32_t device_id, int64_t bytes,
                        int64_t alignment) {
  return AllocWorkspace({device_type, device_id}, bytes, alignment);
}
void FreeWorkspaceFor(const TernEnv*, int32_t device_type, int32_t device_id, void* memory) {
  FreeWorkspace({device_type, device_id}, memory);
}

int ParallelForEnv(const TernEnv* env, TernParallelBody body, int64_t extent,
                   const void* captures) {
  return ffi::Guard([&] {
    ParallelFor(extent, [&](int64_t begin, int64_t end) {
      WorkspaceFrame frame;
      ffi::CheckCall(body(env, begin, end, captures));
    });
  });
}

class EntryFunctionObj : public ffi::FunctionObj {
 public:
  EntryFunctionObj(ffi::Module module, const TernEnv* env, TernEntry entry)
      : FunctionObj(&Invoke), module_(std::move(module)), env_(env), entry_(entry) {}

 private:
  static int Invoke(void* handle, const TernAny* args, int32_t num_args, TernAny* result) {
    auto* self =
        static_cast<EntryFunctionObj*>(ffi::Object::FromHeader(static_cast<TernObject*>(handle)));
    WorkspaceFrame frame;
    return self->entry_(self->env_, args, num_args, result);
  }

  ffi::Module module_;
  const TernEnv* env_;
  TernEntry entry_;
};

class LibraryModuleObj : public ffi::ModuleObj {
 public:
  // Takes over `file`, a descriptor that stays open as long as the library is mapped (-1: none).
  LibraryModuleObj(const std::string& path, int file, const std::vector<std::string>& names)
      : env_(this), file_(file) {
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) {
      std::string reason = dlerror();
      Close();
      throw Error("RuntimeError", "the host code cannot be loaded: " + reason);
    }
    try {
      if (dlsym(library_, kUsesTiles)) AskForTiles();
    } catch (...) {
      Close();
      throw;
    }
    for (const std::string& name : names) {
      void* entry = dlsym(library_, (TERN_SYMBOL_PREFIX + name).c_str());
      if (!entry) {
        Close();
        throw Error("RuntimeError", "the host code has no function " + name);
      }
      entries_[name] = reinterpret_cast<TernEntry>(entry);
    }
  }

  ~LibraryModuleObj() override { Close(); }

  std::string kind() const override { return "library"; }
  uint32_t properties() const override { return kRunnable; }

  ffi::Function GetFunction(std::string_view name) override {
    auto it = entries_.find(name);
    if (it == entries_.end()) return {};
    return FunctionFromEntry(ffi::Module(ffi::Ref<ModuleObj>(this)), &env_, it->second);
  }

  std::vector<std::string> FunctionNames() const override {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

 private:
  void Close() {
    if (library_) dlclose(library_);
    if (file_ >= 0) close(file_);
  }

  ModuleEnv env_;
  void* library_ = nullptr;
  int file_;
  std::map<std::string, TernEntry, std::less<>> entries_;
};

// A file that only this process can name: in memory, or, where the kernel has no memfd, a temporary
// one without a name.
int AnonymousFile() {
  int file = memfd_create("tern host code", MFD_CLOEXEC);
  if (file >= 0 || errno != ENOSYS) return file;
  std::string path = environment::TemporaryDirectory() + "/tern-XXXXXX";
  file = mkostemp(path.data(), O_CLOEXEC);
  if (file >= 0) unlink(path.c_str());
  return file;
}

}  // namespace

void AskForTiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0) return;
  std::string reason = std::strerror(errno);
#else
  std::string reason = "this machine has none";
#endif
  throw Error("RuntimeError",
              "the host code uses tile registers (AMX), which the system does not give to this "
              "process: " +
                  reason);
}

ModuleEnv::ModuleEnv(ffi::ModuleObj* module)
    : TernEnv{sizeof(TernEnv),    TERN_ENV_VERSION,  module,         &Raise, &Call,
              &AllocWorkspaceFor, &FreeWorkspaceFor, &ParallelForEnv} {}

int ModuleEnv::Call(const TernEnv* env, const char* name, const TernAny* args, int32_t num_args,
                    TernAny* result) {
  const auto* self = static_cast<const ModuleEnv*>(env);
  if (const Callee* known = self->Find(name)) [[likely]] {
    ffi::FunctionObj* callee = known->function.get();
    return callee->safe_call()(callee->header(), args, num_args, result);
  }
  return ffi::Guard([&] {
    ffi::Function callee = FindCallee(static_cast<ffi::ModuleObj*>(env->module), name);
    self->Remember(name, callee);
    ffi::CheckCall(callee->safe_call()(callee->header(), args, num_args, result));
  });
}

void ModuleEnv::Remember(const char* name, const ffi::Function& function) const {
  if (ffi::FindGlobal(name).get() == function.get()) return;
  const auto* callee = new Callee{name, name, function};
  for (size_t probe = 0; probe < kProbes; ++probe) {
    const Callee* nobody = nullptr;
    if (Place(name, probe).compare_exchange_strong(nobody, callee, std::memory_order_acq_rel))
      return;
  }
  delete callee;
}

ModuleEnv::~ModuleEnv() {
  for (std::atomic<const Callee*>& place : places_) delete place.load();
}

ffi::Function FindCallee(ffi::ModuleObj* module, const char* name) {
  ffi::Function callee = module->FindCallee(name);
  if (!callee && TryLoadPlugin(PluginOf(name))) callee = ffi::FindGlobal(name);
  if (!callee) ThrowNoCallee(name);
  return callee;
}

void CallFromModule(ffi::ModuleObj* module, const char* name, const TernAny* args, int32_t num_args,
                    TernAny* result) {
  ffi::Function callee = FindCallee(module, name);
  ffi::CheckCall(callee->safe_call()(callee->header(), args, num_args, result));
}

ffi::Function FunctionFromEntry(ffi::Module module, const TernEnv* env, TernEntry entry) {
  return ffi::Function(ffi::Make<EntryFunctionObj>(std::move(module), env, entry));
}

ffi::Module OpenLibrary(const std::string& path, std::vector<std::string> function_names) {
  // A name without a slash would be searched for on the library path.
  std::string named = path.find('/') == std::string::npos ? "./" + path : path;
  return ffi::Module(ffi::Make<LibraryModuleObj>(named, -1, function_names));
}

ffi::Module OpenLibraryFromMemory(std::string_view bytes, std::vector<std::string> function_names) {
  int file = AnonymousFile();
  TERN_CHECK(file >= 0) << "no room for the host code: " << std::strerror(errno);
  for (std::string_view rest = bytes; !rest.empty();) {
    ssize_t written = write(file, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      int code = errno;
      close(file);
      TERN_THROW(RuntimeError) << "no room for the host code: " << std::strerror(code);
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  // The dynamic linker knows libraries by name. As the descriptor stays open with the library, its
  // number names no other one.
  return ffi::Module(
      ffi::Make<LibraryModuleObj>("/proc/self/fd/" + std::to_string(file), file, function_names));
}

}  // namespace tern::runtime
