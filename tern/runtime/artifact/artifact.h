// SPDX-License-Identifier: Apache-2.0
//
// Files that Tern makes and loads: x.tern (a container) and x.so (a shared library with a container
// inside).
//
// Sections of the container:
// - meta: JSON with Tern's version, the target, the functions with their parameters, the import
// tree
// - module.<i>: the saved bytes of imported module i of the tree
// - host.<triple>: a shared object with the host code, in .tern files
// - model: the program of a model (vm/program.h); weights: the table of its weights, whose data
// lies behind the container or the shared object (weights.h); cpu: what its host code needs of the
// CPU
// - meta.<i>, model.<i>, cpu.<i>, host.<triple>.<i>: the same of the i-th further machine that a
// model was compiled for
// - source.<i>.<fmt>, source.host.<triple>.<fmt>: readable forms, when the sources were kept
#ifndef TERN_RUNTIME_ARTIFACT_ARTIFACT_H_
#define TERN_RUNTIME_ARTIFACT_ARTIFACT_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/module.h"
#include "tern/runtime/artifact/container.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/artifact/weights.h"

namespace tern::runtime {

// How a function is called from outside.
struct ParamInfo {
  std::string name;
  DataType dtype;
  bool is_tensor = false;
  std::vector<std::string> shape;         // a number, or the expression ("n", "n * 2") as text
  bool is_output = false;                 // written by the function
  std::vector<std::string> strides = {};  // as the shape; empty: compact

  friend bool operator==(const ParamInfo&, const ParamInfo&) = default;
};
struct FunctionInfo {
  std::string name;
  std::vector<ParamInfo> params;
  std::string device = {};  // the kind whose tensors it takes, where that is not the module's
  // The function that makes what this one needs of constant tensors, and the one that, given that,
  // does the rest; parameters of one name are the same. Or both "". See prepared_function.h.
  std::string prepare = {}, prepared = {};

  friend bool operator==(const FunctionInfo&, const FunctionInfo&) = default;
};

// "add(A: float32[n], B: float32[n] (written), s: float32)"
std::string SignatureText(const FunctionInfo& function);

struct ArtifactMeta {
  std::string tern_version;
  int64_t abi_version = TERN_ENV_VERSION;  // of the environment that the host code counts on
  std::string target;                      // as it was asked for
  std::vector<std::string> hosts;          // the targets of the host code
  std::string device;  // the device kind whose tensors the functions take ("cpu", or a plugin's)
  std::vector<FunctionInfo> functions;

  struct Import {
    std::string kind;
    std::vector<int> imports;  // indices into `imports`
    friend bool operator==(const Import&, const Import&) = default;
  };
  std::vector<Import> imports;    // all modules below the root
  std::vector<int> root_imports;  // those that the host code imports itself

  // Throws where there is no such function.
  const FunctionInfo& Get(const std::string& function) const;
  // The names of functions that are a part of another one, as FunctionInfo says.
  std::set<std::string> PartNames() const;
  // The kind whose tensors a function takes.
  const std::string& DeviceOf(const FunctionInfo& function) const {
    return function.device.empty() ? device : function.device;
  }
};

std::string WriteMeta(const ArtifactMeta& meta);
// Checks every field, and that the import indices make a tree that is not deep. Takes time in
// proportion to the text, whatever it says.
ArtifactMeta ReadMeta(std::string_view json);

// Where a file says what its host code needs of the CPU: names (cpu_features.h), each on a line.
inline constexpr const char* kCpuSection = "cpu";

// The code of one machine in a file.
struct HostCode {
  std::string triple;                      // "x86_64-linux-gnu"
  std::string suffix = {};                 // of the names of its sections: "", or ".1" for <i> = 1
  std::vector<std::string> features = {};  // that it needs of the CPU
};
// Of those for machines of this triple, all of whose features are there, the one that needs the
// most, or the first of several such. Null where there is none.
const HostCode* BestHostCode(const std::vector<HostCode>& codes, std::string_view triple,
                             const std::function<bool(std::string_view)>& has_feature);

// The section of an ELF file that holds the container.
inline constexpr const char* kContainerSection = ".tern";

// A file, its container found and verified, nothing of it executed.
class Artifact {
 public:
  // Throws with the path and the reason: not a Tern file, truncated, altered, another version.
  static Artifact Open(const std::string& path);
  // The bytes of such a file; messages call them `name`.
  static Artifact FromBytes(std::string bytes, const std::string& name);

  const std::string& path() const { return path_; }
  bool is_shared_object() const { return is_shared_object_; }
  const ContainerReader& container() const { return container_; }
  // Of the host code that is best here, or of the first.
  const ArtifactMeta& meta() const { return meta_; }
  // The section of that name that belongs to the same host code.
  std::string_view Section(const std::string& name) const { return container_.Get(name + suffix_); }
  // The code for hosts: one for a .so, any number for a .tern.
  const std::vector<HostCode>& host_codes() const { return host_codes_; }
  // Their triples.
  std::vector<std::string> hosts() const;
  // Throws where it does not go with the rest of the file.
  ArtifactMeta MetaOf(const HostCode& code) const;
  // What tells this file, and the host code that is best here, from all others: of files of one
  // identity all bytes but those of the weights are the same, and the hashes of these.
  std::string Identity() const { return hash_ + suffix_; }

  // Null where the file has none.
  const WeightsTable* weights() const { return weights_ ? &*weights_ : nullptr; }
  // Their data, mapped from the file. Throws where there is none.
  std::shared_ptr<MappedWeights> MapWeights(VerifyWeights verify) const;

  // Throws with the names of all sections that were altered, also of those that nobody needs here,
  // and where weights were.
  void Verify() const;
  // Maps the host code that is best here and makes the module with its imports. Throws where this
  // machine can run none.
  ffi::Module Load() const;
  // The imported modules alone, to look at.
  std::vector<ffi::Module> LoadImports() const;

 private:
  Artifact(std::string path, std::shared_ptr<PartlyReadFile> file);
  // Checks that weights follow, and nothing else.
  void FindWeights();
  void FindHostCodes();
  // Throws where there is none that runs here.
  const HostCode& BestHere() const;

  std::string path_;
  std::shared_ptr<PartlyReadFile> file_;  // a .so as a whole, of a .tern what is used
  uint64_t base_size_ = 0;                // of the shared object or container, without weights
  std::string hash_;                      // of that
  std::optional<WeightsTable> weights_;
  ContainerReader container_;
  bool is_shared_object_ = false;
  std::vector<HostCode> host_codes_;
  std::string suffix_;  // of the sections of the best one
  ArtifactMeta meta_;
};

// Open and load.
ffi::Module LoadModule(const std::string& path);
ffi::Module LoadModuleFromBytes(std::string bytes, const std::string& name);

// For the linker's client: what goes into the section kContainerSection of a shared object: room
// for the seal, then the container.
std::string WrapForSharedObject(std::string_view container);
// For the linker's client: the shared object in `bytes` has such a section; stores there the hash
// of the whole file (taken with the seal's place zeroed), so that a change of any byte is noticed
// before the file is mapped. Where weights will follow, `bytes` are filled up to where they start.
void SealSharedObject(std::string* bytes, bool weights_follow = false);

// The triple of the machine this runs on, as in "host.<triple>".
std::string HostTriple();

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_ARTIFACT_ARTIFACT_H_
