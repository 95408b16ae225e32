// SPDX-License-Identifier: Apache-2.0
//
// Loading the libraries of backends: by need or on request, once each, under a lock, RTLD_LOCAL,
// and never unloaded. The runtime has one loader, for what runs kernels, and the compiler another,
// for code generators from outside of the tree.
#ifndef TERN_RUNTIME_PLUGIN_PLUGIN_LOADER_H_
#define TERN_RUNTIME_PLUGIN_PLUGIN_LOADER_H_

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tern/runtime/plugin/plugin_search.h"

namespace tern::runtime {

// An opened library, closed again unless it is kept.
class PluginLibrary {
 public:
  // Throws the reason, without the path: not for this machine, not to be loaded.
  explicit PluginLibrary(const std::string& path);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  // Null where there is none.
  void* Find(const char* symbol) const;
  void Keep() { handle_ = nullptr; }

 private:
  void* handle_;
};

class PluginLoader {
 public:
  // Initialises the library of a backend; throws the reason, without the path, and then leaves
  // nothing behind.
  using LoadFile = std::function<void(const std::string& name, const std::string& path)>;
  // What is linked in, by name, with its initialisation.
  using LinkedIn = std::map<std::string, std::function<void()>, std::less<>>;

  // `what` is for messages: "the NAME <what> is not loaded".
  PluginLoader(PluginPart part, std::string what, LoadFile load, LinkedIn linked_in = {});

  // By need: returns whether it is loaded now. One that is absent is silent; one that is broken, of
  // another version or for another machine gives one warning with its path and the reason. With
  // TERN_BACKEND_AUTOLOAD=0 no file is looked for.
  bool TryLoad(std::string_view name);
  // On request, whatever TERN_BACKEND_AUTOLOAD says: throws where it is absent or broken.
  void Load(std::string_view name);
  // The same of a file, whose name says that of the backend.
  void LoadPath(const std::string& path);
  bool IsLoaded(std::string_view name);
  // Tries all there are, and returns the names of those that are loaded.
  std::vector<std::string> LoadAll();
  // "the NAME runtime is not loaded: ...": what was not found and where, or why it was refused. Or
  // that it is loaded, and what was looked for is not in it.
  std::string WhyAbsent(std::string_view name);

 private:
  struct Candidate {
    std::string place;  // for messages
    std::function<void()> load;
  };
  // What is linked in comes first; files are searched for only if `search`.
  std::vector<Candidate> Candidates(std::string_view name, bool search) const;
  // Takes the name for loaded, unless loading throws.
  void Initialise(std::string_view name, const Candidate& candidate);
  // On request: unless it is loaded, and with the place in errors.
  void InitialiseOnce(std::string_view name, const std::function<Candidate()>& find);

  PluginPart part_;
  std::string what_;
  LoadFile load_;
  LinkedIn linked_in_;
  // Recursive: an initialisation may ask for another plugin, or for what it brings itself.
  std::recursive_mutex mutex_;
  std::set<std::string, std::less<>> loaded_, loading_;
  // Place -> why it was refused. That is warned about once, and tried again only on explicit
  // request.
  std::map<std::string, std::string> refused_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_PLUGIN_PLUGIN_LOADER_H_
