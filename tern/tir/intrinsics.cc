// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/intrinsics.h"

#include "tern/ir/intrinsic.h"

namespace tern::tir {
namespace {

using ir::Expr;
using Args = std::vector<Expr>;

void CheckCount(const char* name, const Args& args, size_t least, size_t most) {
  if (args.size() >= least && args.size() <= most) return;
  TERN_THROW(TypeError) << name << " takes " << least << (least == most ? "" : " or more")
                        << " arguments, got " << args.size();
}

void CheckHandle(const char* name, const Expr& arg) {
  if (!arg.dtype().is_handle())
    TERN_THROW(TypeError) << name << ": expected a handle, got " << arg.dtype().str();
}

void CheckOffset(const char* name, const Expr& arg) {
  if (arg.dtype() != DataType::Int(64))
    TERN_THROW(TypeError) << name << ": expected an int64, got " << arg.dtype().str();
}

void CheckWorkspace(const char* name, const Args& args) {
  CheckHandle(name, args[0]);
  for (const Expr& part : {args[1], args[2]})
    if (part.dtype() != DataType::Int(32))
      TERN_THROW(TypeError) << name << ": a device is two int32, got " << part.dtype().str();
}

void CheckName(const char* name, const Expr& arg) {
  if (!arg.As<ir::StringImmNode>())
    TERN_THROW(TypeError) << name << ": expected the callee's name as a string";
}

}  // namespace

void RegisterIntrinsics() {
  constexpr size_t kAnyNumber = 65535;
  using namespace intrinsic;
  ir::RegisterIntrinsic({kLaunchKernel, "launch_kernel(\"name\", argument..., extent...)", false,
                         false, [](const Args& args, DataType) {
                           CheckCount(kLaunchKernel, args, 1, kAnyNumber);
                           CheckName(kLaunchKernel, args[0]);
                           return DataType::Void();
                         }});
  ir::RegisterIntrinsic({kCallImport, "call_import(env: handle, \"name\", argument...)", false,
                         false, [](const Args& args, DataType) {
                           CheckCount(kCallImport, args, 2, kAnyNumber);
                           CheckHandle(kCallImport, args[0]);
                           CheckName(kCallImport, args[1]);
                           return DataType::Void();
                         }});
  ir::RegisterIntrinsic(
      {kAllocWorkspace,
       "alloc_workspace(env: handle, type: int32, id: int32, bytes: int64, alignment: int64) -> "
       "handle",
       false, false, [](const Args& args, DataType) {
         CheckCount(kAllocWorkspace, args, 5, 5);
         CheckWorkspace(kAllocWorkspace, args);
         CheckOffset(kAllocWorkspace, args[3]);
         CheckOffset(kAllocWorkspace, args[4]);
         return DataType::Handle();
       }});
  ir::RegisterIntrinsic({kFreeWorkspace,
                         "free_workspace(env: handle, type: int32, id: int32, p: handle)", false,
                         false, [](const Args& args, DataType) {
                           CheckCount(kFreeWorkspace, args, 4, 4);
                           CheckWorkspace(kFreeWorkspace, args);
                           CheckHandle(kFreeWorkspace, args[3]);
                           return DataType::Void();
                         }});
  ir::RegisterIntrinsic({kPtrLoad, "ptr_load<dtype>(p: handle, offset: int64) -> dtype", true, true,
                         [](const Args& args, DataType given) {
                           CheckCount(kPtrLoad, args, 2, 2);
                           CheckHandle(kPtrLoad, args[0]);
                           CheckOffset(kPtrLoad, args[1]);
                           if (given.is_void() || !given.is_scalar())
                             TERN_THROW(TypeError)
                                 << kPtrLoad
                                 << " needs the type of a scalar, as in ptr_load<int64>(p, 8)";
                           return given;
                         }});
  ir::RegisterIntrinsic({kPtrAdd, "ptr_add(p: handle, offset: int64) -> handle", true, false,
                         [](const Args& args, DataType) {
                           CheckCount(kPtrAdd, args, 2, 2);
                           CheckHandle(kPtrAdd, args[0]);
                           CheckOffset(kPtrAdd, args[1]);
                           return DataType::Handle();
                         }});
  ir::RegisterIntrinsic(
      {kIsNull, "is_null(p: handle) -> bool", true, false, [](const Args& args, DataType) {
         CheckCount(kIsNull, args, 1, 1);
         CheckHandle(kIsNull, args[0]);
         return DataType::Bool();
       }});
  ir::RegisterIntrinsic({kIsAligned, "is_aligned(p: handle, bytes: int64) -> bool", true, false,
                         [](const Args& args, DataType) {
                           CheckCount(kIsAligned, args, 2, 2);
                           CheckHandle(kIsAligned, args[0]);
                           if (!ir::AsConstInt(args[1]))
                             TERN_THROW(TypeError) << kIsAligned << ": the bytes are a constant";
                           return DataType::Bool();
                         }});
  ir::RegisterIntrinsic({kVscale, "vscale() -> int64", true, false, [](const Args& args, DataType) {
                           CheckCount(kVscale, args, 0, 0);
                           return DataType::Int(64);
                         }});
  ir::RegisterIntrinsic(
      {kBarrier, "barrier(\"shared\" or \"global\")", false, false, [](const Args& args, DataType) {
         CheckCount(kBarrier, args, 1, 1);
         const auto* scope = args[0].As<ir::StringImmNode>();
         if (!scope || (scope->value != "shared" && scope->value != "global"))
           TERN_THROW(TypeError) << kBarrier
                                 << " takes the memory it orders, \"shared\" or \"global\"";
         return DataType::Void();
       }});
}

bool IsBarrier(const Expr& expr) {
  const auto* call = expr.As<ir::CallNode>();
  return call && call->name == intrinsic::kBarrier;
}

}  // namespace tern::tir
