// SPDX-License-Identifier: Apache-2.0
//
// Functions of the loop IR.
#ifndef TERN_TIR_FUNCTION_H_
#define TERN_TIR_FUNCTION_H_

#include <optional>
#include <string_view>
#include <vector>

#include "tern/ir/module.h"
#include "tern/tir/stmt.h"

namespace tern::tir {

// A scalar, or a tensor.
struct Param {
  Var var;           // a tensor's is `buffer.data`
  BufferDef buffer;  // null for a scalar
  bool is_tensor() const { return static_cast<bool>(buffer); }
  const std::string& name() const { return is_tensor() ? buffer->name : var.name(); }
};

// A variable that stands as an extent or stride of a tensor parameter, and is no parameter itself,
// is defined by that tensor.
struct PrimFuncNode : ir::BaseFuncNode {
  std::vector<Param> params;
  Stmt body;

  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("tir.PrimFunc");
    return index;
  }
};

class PrimFunc : public ffi::Ref<const PrimFuncNode> {
 public:
  PrimFunc() = default;
  PrimFunc(const ffi::Ref<const PrimFuncNode>& node) : Ref(node) {}
  static PrimFunc Make(std::string name, std::vector<Param> params, Stmt body, ir::Attrs attrs = {},
                       Span span = {});

  PrimFunc WithBody(Stmt body) const;
  PrimFunc WithAttr(const std::string& key, ffi::Any value) const;
};

// How a function is called.
enum class CallingConvention {
  kAsWritten,  // with tensors and scalars
  kPacked,     // by the packed ABI (after make_packed_api)
  kPlain,      // with tensors as pointers and extents as parameters (after make_plain_api)
  kKernel,     // a device function, with tensors as pointers (after split_host_device)
  kParallel,   // iterations of a loop of a packed function (after outline_parallel_loops)
};
// The text form: "packed", "plain", "kernel", "parallel"; kAsWritten has none.
const char* CallingConventionName(CallingConvention convention);
std::optional<CallingConvention> FindCallingConvention(std::string_view name);

// Attributes of functions.
namespace attr {
inline constexpr const char* kTarget =
    "target";  // target::Target: what the function is compiled for
// String: the name of its CallingConvention. Absent: as written.
inline constexpr const char* kCallingConvention = "calling_convention";
// Int, of a packed function: DLPack's code of the device that its tensors are on. Absent: the host.
inline constexpr const char* kDeviceType = "device_type";
// Bool: sums and products of floats may be computed in another order; by default they are not.
inline constexpr const char* kReassociate = "reassociate";
// Bool: tensors may overlap that are written; by default they do not, and callers are checked.
inline constexpr const char* kMayAlias = "may_alias";
// ScheduleSteps: the steps that make its loops fast (tern/schedule); in the text form a section of
// its own.
inline constexpr const char* kSchedule = "schedule";
// String: "host", "device" or a target kind, the targets that the schedule is for. Absent: all.
inline constexpr const char* kScheduleFor = "schedule_for";
inline constexpr const char* kLaunchTags =
    "launch_tags";  // Array of strings: a kernel's launch parameters, in order
}  // namespace attr

// Whether an attribute is there and true.
bool HasFlag(const PrimFunc& function, const char* attribute);
CallingConvention CallingConventionOf(const PrimFunc& function);

// A function of a module that is a PrimFunc.
PrimFunc AsPrimFunc(const ir::BaseFunc& function);
// Null where it is of another kind.
PrimFunc IfPrimFunc(const ir::BaseFunc& function);
// A module pass of a function from PrimFunc to PrimFunc; functions of other kinds stay as they are.
ir::IRModule MapFunctions(const ir::IRModule& module,
                          const std::function<PrimFunc(const PrimFunc&)>& f);

// Equal up to the names of what they define.
bool StructuralEqual(const PrimFunc& a, const PrimFunc& b);
bool StructuralEqual(const ir::IRModule& a, const ir::IRModule& b);
// Contents of constants do not count. Equal ones have the same hash, in every process.
uint64_t StructuralHash(const PrimFunc& function);
uint64_t StructuralHash(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_FUNCTION_H_
