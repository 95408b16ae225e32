// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/plugin/plugin_loader.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>

#include "tern/ffi/environment.h"
#include "tern/ffi/log.h"
#include "tern/runtime/artifact/elf_file.h"
#include "tern/runtime/plugin/plugin_boundary.h"

namespace tern::runtime {
namespace {

bool AutoloadIsOff() { return !environment::Flag("TERN_BACKEND_AUTOLOAD", true); }

// The dynamic linker says "cannot open shared object file" of a library for another machine; this
// says which. Of one that is cut off it says nothing, and the process is ended by SIGBUS.
void CheckElf(const std::string& path) {
  std::error_code failed;
  TERN_CHECK(std::filesystem::is_regular_file(path, failed)) << "not a file";
  uint64_t size = std::filesystem::file_size(path, failed);
  std::ifstream file(path, std::ios::binary);
  TERN_CHECK(file && !failed) << "cannot be read";
  uint16_t machine = CheckElfExtent(size, [&](uint64_t offset, uint64_t bytes) {
    std::string read(bytes, '\0');
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(read.data(), static_cast<std::streamsize>(bytes));
    read.resize(static_cast<size_t>(file.gcount()));
    file.clear();
    return read;
  });
  TERN_CHECK(machine == HostElfMachine())
      << "built for " << ElfMachineName(machine) << ", this machine is "
      << ElfMachineName(HostElfMachine());
}

}  // namespace

PluginLibrary::PluginLibrary(const std::string& path) {
  CheckElf(path);
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) throw Error("RuntimeError", dlerror());
}

PluginLibrary::~PluginLibrary() {
  if (handle_) dlclose(handle_);
}

void* PluginLibrary::Find(const char* symbol) const { return dlsym(handle_, symbol); }

PluginLoader::PluginLoader(PluginPart part, std::string what, LoadFile load, LinkedIn linked_in)
    : part_(part),
      what_(std::move(what)),
      load_(std::move(load)),
      linked_in_(std::move(linked_in)) {}

std::vector<PluginLoader::Candidate> PluginLoader::Candidates(std::string_view name,
                                                              bool search) const {
  std::vector<Candidate> found;
  if (auto it = linked_in_.find(name); it != linked_in_.end())
    found.push_back({it->first + " (linked in)", it->second});
  if (search && IsPluginName(name))
    for (const std::string& path : FindPlugins(part_, name))
      found.push_back({path, [this, name = std::string(name), path] { load_(name, path); }});
  return found;
}

void PluginLoader::Initialise(std::string_view name, const Candidate& candidate) {
  auto place = loading_.emplace(name).first;
  try {
    candidate.load();
  } catch (const Error&) {
    loading_.erase(place);
    throw;
  } catch (...) {
    loading_.erase(place);
    ThrowForeign("loading it");
  }
  loading_.erase(place);
  refused_.erase(candidate.place);
  loaded_.emplace(name);
  Log("plugins", "the " + std::string(name) + " " + what_ + " is loaded from " + candidate.place);
}

bool PluginLoader::TryLoad(std::string_view name) {
  std::lock_guard lock(mutex_);
  if (loaded_.contains(name)) return true;
  if (loading_.contains(name)) return false;
  for (const Candidate& candidate : Candidates(name, !AutoloadIsOff())) {
    if (refused_.contains(candidate.place)) continue;
    try {
      Initialise(name, candidate);
      return true;
    } catch (const Error& error) {
      refused_[candidate.place] = error.message();
      WarnOfPlugin(candidate.place + ": " + error.message());
    }
  }
  return false;
}

void PluginLoader::Load(std::string_view name) {
  TERN_CHECK(IsPluginName(name)) << "\"" << name
                                 << "\" is not a backend's name: letters a-z, digits and _ are";
  InitialiseOnce(name, [&] {
    std::vector<Candidate> candidates = Candidates(name, true);
    if (candidates.empty()) TERN_THROW(RuntimeError) << PluginNotFound(part_, name);
    return candidates.front();
  });
}

void PluginLoader::LoadPath(const std::string& path) {
  std::string file = std::filesystem::path(path).filename().string(),
              pattern = PluginFileName(part_, "*");
  size_t star = pattern.find('*'), behind = pattern.size() - star - 1;
  bool fits = file.size() > star + behind && file.starts_with(pattern.substr(0, star)) &&
              file.ends_with(pattern.substr(star + 1));
  std::string name = fits ? file.substr(star, file.size() - star - behind) : "";
  TERN_CHECK(IsPluginName(name)) << path << ": expected a library of the name "
                                 << PluginFileName(part_, "<name>");
  // The dynamic linker would look for a bare name elsewhere.
  std::string absolute = std::filesystem::absolute(path).string();
  InitialiseOnce(name, [&] { return Candidate{path, [&] { load_(name, absolute); }}; });
}

void PluginLoader::InitialiseOnce(std::string_view name, const std::function<Candidate()>& find) {
  std::lock_guard lock(mutex_);
  if (loaded_.contains(name)) return;
  TERN_CHECK(!loading_.contains(name)) << "the initialisation of " << name << " asks for itself";
  Candidate candidate = find();
  try {
    Initialise(name, candidate);
  } catch (const Error& error) {
    throw Error("RuntimeError", candidate.place + ": " + error.message());
  }
}

bool PluginLoader::IsLoaded(std::string_view name) {
  std::lock_guard lock(mutex_);
  return loaded_.contains(name);
}

std::vector<std::string> PluginLoader::LoadAll() {
  std::lock_guard lock(mutex_);
  for (const auto& [name, load] : linked_in_) TryLoad(name);
  for (const std::string& name : PluginNames(part_)) TryLoad(name);
  return {loaded_.begin(), loaded_.end()};
}

std::string PluginLoader::WhyAbsent(std::string_view name) {
  std::string library = "the " + std::string(name) + " " + what_,
              start = library + " is not loaded: ";
  if (!IsPluginName(name)) return start + "that is not a backend's name";
  std::lock_guard lock(mutex_);
  if (loaded_.contains(name)) return library + " is loaded, but brings nothing of that kind";
  for (const Candidate& candidate : Candidates(name, true))
    if (auto it = refused_.find(candidate.place); it != refused_.end())
      return start + candidate.place + ": " + it->second;
  if (AutoloadIsOff()) return start + "TERN_BACKEND_AUTOLOAD turns the search off";
  return start + PluginNotFound(part_, name);
}

}  // namespace tern::runtime
