// SPDX-License-Identifier: Apache-2.0
//
// For authors of plugins: keeps C++ on this side of the C boundary. Header-only, and without a
// symbol of Tern, as plugins link against nothing of it.
#ifndef TERN_RUNTIME_PLUGIN_SDK_H_
#define TERN_RUNTIME_PLUGIN_SDK_H_

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tern/ffi/error.h"
#include "tern/runtime/plugin_api.h"

// The symbol of the entry: TERN_PLUGIN_ENTRY, unless the plugin becomes a part of the runtime.
#ifndef TERN_PLUGIN_ENTRY_NAME
#define TERN_PLUGIN_ENTRY_NAME tern_plugin
#endif

// The plugin's entry:
//   TERN_PLUGIN(host, registrar) { ...register with tern::plugin::Check...; }
// What it throws becomes the error of the load.
#define TERN_PLUGIN(host, registrar)                                             \
  static void TernPluginInit(const TernHostApi* host, TernRegistrar* registrar); \
  extern "C" __attribute__((visibility("default"))) int TERN_PLUGIN_ENTRY_NAME(  \
      const TernHostApi* host, TernRegistrar* registrar) {                       \
    ::tern::plugin::host_api = host;                                             \
    return ::tern::plugin::Guard([&] {                                           \
      ::tern::plugin::CheckHost(host, registrar);                                \
      TernPluginInit(host, registrar);                                           \
    });                                                                          \
  }                                                                              \
  static void TernPluginInit([[maybe_unused]] const TernHostApi* host,           \
                             [[maybe_unused]] TernRegistrar* registrar)

namespace tern::plugin {

// Of the runtime that loaded this plugin; each plugin has its own.
inline const TernHostApi* host_api = nullptr;

// After a call into the runtime that failed: stops the plugin's entry, and leaves the error that
// the runtime has set.
struct AlreadySet : std::exception {
  const char* what() const noexcept override { return "registration was refused"; }
};
inline void Check(int code) {
  if (code != 0) throw AlreadySet();
}

// Runs `body` behind a function of the C tables: 0, or -1 with what it threw set as the error.
template <class Body>
int Guard(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const AlreadySet&) {
  } catch (const Error& error) {
    host_api->set_error(error.kind().c_str(), error.what());
  } catch (const std::exception& error) {
    host_api->set_error("RuntimeError", error.what());
  } catch (...) {
    host_api->set_error("RuntimeError", "unknown exception");
  }
  return -1;
}

inline void CheckHost(const TernHostApi* host, const TernRegistrar* registrar) {
  if (host->version < TERN_PLUGIN_API_VERSION || registrar->version < TERN_PLUGIN_API_VERSION)
    throw Error("RuntimeError", "built for version " + std::to_string(TERN_PLUGIN_API_VERSION) +
                                    " of the plugin API; this runtime offers version " +
                                    std::to_string(host->version));
}

// What the driver makes of a program, from the runtime's cache on disk.
class CachedProgram {
 public:
  // `parts` are all that the program depends on, by name.
  CachedProgram(std::string kind, std::vector<std::pair<std::string, std::string>> parts)
      : kind_(std::move(kind)), parts_(std::move(parts)) {
    for (const auto& [name, value] : parts_)
      blobs_.push_back({name.c_str(), value.data(), value.size()});
  }
  CachedProgram(const CachedProgram&) = delete;

  // Whether it is there; then `code` is it.
  bool Find(std::string* code) const {
    return host_api->find_program(kind_.c_str(), blobs_.data(), static_cast<int32_t>(blobs_.size()),
                                  code, [](void* sink, const char* data, uint64_t size) {
                                    static_cast<std::string*>(sink)->assign(data, size);
                                  }) != 0;
  }
  void Store(const std::string& code) const {
    host_api->store_program(kind_.c_str(), blobs_.data(), static_cast<int32_t>(blobs_.size()),
                            code.data(), code.size());
  }

 private:
  std::string kind_;
  std::vector<std::pair<std::string, std::string>> parts_;
  std::vector<TernBlob> blobs_;
};

// Values for TernPropertySink, borrowed from their argument.
inline TernAny TextValue(const char* text) { return {kTernRawStr, 0, {.v_str = text}}; }
inline TernAny IntValue(int64_t value) { return {kTernInt, 0, {.v_int = value}}; }

}  // namespace tern::plugin

#endif  // TERN_RUNTIME_PLUGIN_SDK_H_
