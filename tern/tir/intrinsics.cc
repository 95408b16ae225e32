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
    TERN_THROW(TypeError) << name << ": the offset is int64, got " << arg.dtype().str();
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
  ir::RegisterIntrinsic({ir::kIfThenElse, "if_then_else(condition: bool, a, b) -> the type of both",
                         true, false, [](const Args& args, DataType) {
                           CheckCount(ir::kIfThenElse, args, 3, 3);
                           if (args[0].dtype() != DataType::Bool())
                             TERN_THROW(TypeError)
                                 << "the condition of " << ir::kIfThenElse << " is "
                                 << args[0].dtype().str() << "; expected bool";
                           if (args[1].dtype() != args[2].dtype())
                             TERN_THROW(TypeError)
                                 << ir::kIfThenElse
                                 << " chooses between different types: " << args[1].dtype().str()
                                 << " and " << args[2].dtype().str();
                           return args[1].dtype();
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
  // The lanes give them their values: not pure.
  for (const char* name : {kWarpShuffle, kWarpShuffleUp, kWarpShuffleDown, kWarpShuffleXor})
    ir::RegisterIntrinsic({name, std::string(name) + "(x, lane: int) -> type of x", false, false,
                           [name](const Args& args, DataType) {
                             CheckCount(name, args, 2, 2);
                             DataType dtype = args[0].dtype(), lane = args[1].dtype();
                             if (!dtype.is_scalar() || dtype.is_handle())
                               TERN_THROW(TypeError)
                                   << name << " takes a scalar, got " << dtype.str();
                             if (!lane.is_integer() || !lane.is_scalar())
                               TERN_THROW(TypeError)
                                   << name << ": the lane is an integer, got " << lane.str();
                             return dtype;
                           }});
  for (const char* name : {kWarpAny, kWarpAll, kWarpBallot})
    ir::RegisterIntrinsic(
        {name, std::string(name) + "(c: bool) -> " + (name == kWarpBallot ? "uint64" : "bool"),
         false, false, [name](const Args& args, DataType) {
           CheckCount(name, args, 1, 1);
           if (args[0].dtype() != DataType::Bool())
             TERN_THROW(TypeError) << name << " takes a bool, got " << args[0].dtype().str();
           return name == kWarpBallot ? DataType::UInt(64) : DataType::Bool();
         }});
  ir::RegisterIntrinsic(
      {kLaneIndex, "lane_index() -> int64", false, false, [](const Args& args, DataType) {
         CheckCount(kLaneIndex, args, 0, 0);
         return DataType::Int(64);
       }});
}

bool IsWarpOperation(const ir::CallNode* call) { return call->name.starts_with("warp_"); }

bool IsBarrier(const Expr& expr) {
  const auto* call = expr.As<ir::CallNode>();
  return call && call->name == intrinsic::kBarrier;
}

}  // namespace tern::tir
