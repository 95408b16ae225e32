// SPDX-License-Identifier: Apache-2.0
//
// What to compile for. A target is a kind ("llvm") with attributes ("-mcpu=..."); a device target
// has a host target too.
//
// Kinds are registered by the backends; nothing here knows any of them. Making a target never asks
// the local machine about a device.
#ifndef TERN_TARGET_TARGET_H_
#define TERN_TARGET_TARGET_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/any.h"
#include "tern/ir/expr.h"

namespace tern::target {

enum class Role { kHost, kDevice };

class Target;

struct AttrSpec {
  enum class Type { kString, kInt, kBool };
  Type type = Type::kString;
  ffi::Any default_value;  // none: absent unless given
  std::string help;        // one line, with the legal values
  // Throws where the value is not legal; may be null.
  std::function<void(const ffi::Any&)> check;
};

// Cases of the conformance suite that a target is known to fail.
struct KnownGap {
  std::string cases;   // pattern of their names: "offset/*"
  std::string reason;  // one line
};

// A host, as far as schedules depend on it; where nothing is said, any 64-bit CPU of the last
// years.
struct Machine {
  int64_t vector_bytes = 16, vector_registers = 16;
  int64_t l1_bytes = 32 << 10, l2_bytes = 512 << 10;  // caches of a core
  // Whether vector loads and stores with a predicate are instructions of the machine.
  bool masked_vectors = false;
};

struct TargetKind {
  std::string name;
  Role role = Role::kHost;
  std::string description;  // one line
  std::string module_kind;  // of the modules it makes
  std::string
      device;  // the runtime's device kind whose tensors its functions take: "cpu" for a host
  int32_t device_type = kTernDeviceCpu;  // DLPack's code of that device
  // Why this build cannot generate code for it ("needs LLVM; this is a build with TERN_LLVM=OFF"),
  // or "".
  std::string unavailable;
  std::map<std::string, AttrSpec> attrs;
  std::map<std::string, std::string> tags;  // "vendor/chip" -> "kind -attribute=value"
  // Whether that device's pointers are addresses, which can be moved; if not they are handles, and
  // kernels take beside each tensor where its first element is.
  bool has_addresses = false;
  // Where a device target names no host, and where no target is named at all, the available host
  // kind of highest rank.
  int host_rank = 0;
  // Whether its functions go through the lowering passes; if not, its code generator takes them as
  // they were written.
  bool lowered = true;
  // Whether its code generator takes vectors; if not, vectorized loops run one element at a time.
  bool vectors = true;
  // Which vector expressions it takes, given that it takes the operands; a store is asked about as
  // a load of the same place. Null: all, or where it has no vectors, none.
  std::function<bool(const ir::Expr&)> takes_vector;
  // Whether it takes vector accesses with a predicate; if not, they become scalar ones.
  bool masked_accesses = false;
  // Where it has no vectors: how many bytes it copies at once from one memory to another, where
  // both places are multiples of that; 0: an element.
  int64_t move_bytes = 0;
  // Which calls it takes. Null: all.
  std::function<bool(const ir::CallNode*)> takes_call;
  // The namespaces of intrinsics that it takes: the intrinsic "llvm.call" is of "llvm". Those
  // without a namespace are everyone's.
  std::vector<std::string> intrinsic_namespaces;
  // The scopes of the memory that its functions may allocate.
  std::vector<ir::StorageScope> scopes = {ir::StorageScope::kGlobal, ir::StorageScope::kLocal,
                                          ir::StorageScope::kShared};
  // How many threads of a block exchange values by the warp intrinsics; 0: it has no such threads.
  // An attribute "warp_size" of the target has precedence.
  int64_t warp_size = 0;
  // The same where it is not one number for all targets; null: it is.
  std::function<int64_t(const Target&)> warp_size_of;
  // Which floats of 8 and 16 bits its code generator computes with, and which it reads, writes, and
  // converts from and to float32; those that it does not store are integers to it. Asked about
  // scalar types; null: none.
  std::function<bool(const Target&, DataType)> computes, stores;
  // How many bytes a pointer has; null: 8.
  std::function<int64_t(const Target&)> pointer_bytes;
  // What is known of the target's machine; null: nothing. Attributes of the target have precedence.
  std::function<Machine(const Target&)> machine;
  // Passes that run when its functions are lowered, before values that occur twice are shared.
  std::vector<std::string> final_passes;
  // What it cannot do yet. The suite fails where one of these passes.
  std::vector<KnownGap> known_gaps;
};

// Throws where the kind or a tag is taken. Kinds live as long as the process.
void RegisterTargetKind(TargetKind kind);
// Throws with the kinds and tags there are.
const TargetKind& GetTargetKind(std::string_view name);
std::vector<const TargetKind*> TargetKinds();  // by name
// What the tag stands for, if it is one.
std::optional<std::string> FindTag(std::string_view name);
// Among those that are known already.
bool HasTargetKindOrTag(std::string_view name);
// Called with a name that is neither a kind nor a tag, before it is refused: may register it. Set
// by Initialize.
using KindFinder = std::function<void(std::string_view name)>;
void SetKindFinder(KindFinder finder);

class TargetNode;

class Target : public ffi::Ref<const TargetNode> {
 public:
  Target() = default;
  Target(const ffi::Ref<const TargetNode>& node) : Ref(node) {}

  // "llvm -mcpu=native", a tag, or JSON {"kind": "llvm", "mcpu": "native", "host": ...}. Defaults
  // are filled in. Throws on an unknown kind, attribute or value, with those that are legal.
  static Target Parse(std::string_view text);
  // The same with a host, for a device target; an empty `host` gives the default host.
  static Target Parse(std::string_view text, std::string_view host);
  static Target DefaultHost();
};

class TargetNode : public ffi::Object {
 public:
  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("target.Target");
    return index;
  }

  const TargetKind* kind = nullptr;
  std::map<std::string, ffi::Any> attrs;  // checked
  Target host;                            // of a device target; null for a host

  bool is_device() const { return kind->role == Role::kDevice; }
  // Throws InternalError where the kind declares no such attribute or none was given.
  std::string GetString(const std::string& name) const;
  int64_t GetInt(const std::string& name) const;
  // "" / 0 where it was not given.
  std::string GetString(const std::string& name, const std::string& otherwise) const;
  // What Parse reads back; attributes and a host at their default are left out.
  std::string str() const;
};

// Whether code generators of the kind take a vector expression, given that they take its operands.
bool TakesVector(const TargetKind& kind, const ir::Expr& vector);
// How many bytes a pointer of the target's machine has.
int64_t PointerBytes(const Target& target);
// Whether functions of this host are called by plain prototypes, without a runtime: its attribute
// "api" is "plain".
bool HasPlainApi(const Target& host);

// Gives a host kind the attributes by which its machine is described to the rules that choose
// schedules: vector_bytes, vector_registers, l1_bytes, l2_bytes, masked_vectors, threads.
void AddMachineAttrs(TargetKind* kind);
// What its attributes say of the target's machine, and what its kind knows. Its vectors have 0
// bytes where its code generator takes none.
Machine DescribeMachine(const Target& target);

// How many threads make a warp of the target; 0: it has none.
int64_t WarpSize(const Target& target);

// The target that compilation on this thread is for, or null.
Target CurrentTarget();

class TargetScope {
 public:
  explicit TargetScope(Target target);
  ~TargetScope();
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;
};

}  // namespace tern::target

namespace tern::ffi {
template <>
struct AnyTraits<target::Target> : AnyTraits<Ref<const target::TargetNode>> {
  static std::optional<target::Target> From(const TernAny& value) {
    auto ref = AnyTraits<Ref<const target::TargetNode>>::From(value);
    return ref ? std::optional<target::Target>(*ref) : std::nullopt;
  }
};
}  // namespace tern::ffi

#endif  // TERN_TARGET_TARGET_H_
