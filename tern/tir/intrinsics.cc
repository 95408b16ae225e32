// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/intrinsics.h"

#include "tern/ffi/text.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/argument_table.h"
#include "tern/tir/atomics.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/module_calls.h"
#include "tern/tir/print_call.h"

namespace tern::tir {
namespace {

using ir::Expr;
using Args = std::vector<Expr>;

const char* BarrierKindName(BarrierKind kind) {
  return kind == BarrierKind::kShared ? "shared" : "global";
}
std::optional<BarrierKind> FindBarrierKind(const std::string& name) {
  for (BarrierKind kind : {BarrierKind::kShared, BarrierKind::kGlobal})
    if (name == BarrierKindName(kind)) return kind;
  return {};
}

// ---- Computed lane by lane, on operands of one type.

enum class Operands { kFloat, kInteger, kInt32, kNumber };
enum class Result { kOperand, kBool };

struct LaneWise {
  const char* name;
  std::vector<const char*> params;
  Operands operands;
  Result result = Result::kOperand;
  bool may_fault = false;
};

const LaneWise kLaneWise[] = {
    {"exp", {"x"}, Operands::kFloat},
    {"exp2", {"x"}, Operands::kFloat},
    {"expm1", {"x"}, Operands::kFloat},
    {"log", {"x"}, Operands::kFloat},
    {"log2", {"x"}, Operands::kFloat},
    {"log10", {"x"}, Operands::kFloat},
    {"log1p", {"x"}, Operands::kFloat},
    {"sqrt", {"x"}, Operands::kFloat},
    {"rsqrt", {"x"}, Operands::kFloat},
    {"pow", {"x", "y"}, Operands::kFloat},
    {"sin", {"x"}, Operands::kFloat},
    {"cos", {"x"}, Operands::kFloat},
    {"tan", {"x"}, Operands::kFloat},
    {"asin", {"x"}, Operands::kFloat},
    {"acos", {"x"}, Operands::kFloat},
    {"atan", {"x"}, Operands::kFloat},
    {"atan2", {"y", "x"}, Operands::kFloat},
    {"sinh", {"x"}, Operands::kFloat},
    {"cosh", {"x"}, Operands::kFloat},
    {"tanh", {"x"}, Operands::kFloat},
    {"erf", {"x"}, Operands::kFloat},
    {"sigmoid", {"x"}, Operands::kFloat},
    {"floor", {"x"}, Operands::kFloat},
    {"ceil", {"x"}, Operands::kFloat},
    {"trunc", {"x"}, Operands::kFloat},
    {"round", {"x"}, Operands::kFloat},
    {"abs", {"x"}, Operands::kNumber},
    {"fma", {"a", "b", "c"}, Operands::kFloat},
    {"copysign", {"x", "sign"}, Operands::kFloat},
    {"isnan", {"x"}, Operands::kFloat, Result::kBool},
    {"isinf", {"x"}, Operands::kFloat, Result::kBool},
    {"isfinite", {"x"}, Operands::kFloat, Result::kBool},
    {"shift_left", {"x", "bits"}, Operands::kInteger, Result::kOperand, true},
    {"shift_right", {"x", "bits"}, Operands::kInteger, Result::kOperand, true},
    {"bit_and", {"a", "b"}, Operands::kInteger},
    {"bit_or", {"a", "b"}, Operands::kInteger},
    {"bit_xor", {"a", "b"}, Operands::kInteger},
    {"bit_not", {"x"}, Operands::kInteger},
    {"popcount", {"x"}, Operands::kInteger},
    {"clz", {"x"}, Operands::kInteger},
    {"ctz", {"x"}, Operands::kInteger},
    {"dot4", {"a", "b", "sum"}, Operands::kInt32},
    {"streamed", {"x"}, Operands::kNumber},
};

bool Takes(Operands operands, DataType dtype) {
  if (operands == Operands::kInt32) return dtype.is_int() && dtype.bits() == 32;
  return (operands != Operands::kInteger && dtype.is_float()) ||
         (operands != Operands::kFloat && dtype.is_integer());
}

const char* Text(Operands operands) {
  return operands == Operands::kFloat     ? "float"
         : operands == Operands::kInteger ? "integer"
         : operands == Operands::kInt32   ? "int32"
                                          : "number";
}

// "pow(x: float, y: float) -> float"
std::string Signature(const LaneWise& entry) {
  std::string text;
  for (const char* param : entry.params)
    text += (text.empty() ? "" : ", ") + std::string(param) + ": " + Text(entry.operands);
  return std::string(entry.name) + "(" + text + ") -> " +
         (entry.result == Result::kBool ? "bool" : Text(entry.operands));
}

DataType Infer(const LaneWise& entry, const std::string& signature, const Args& args) {
  if (args.size() != entry.params.size())
    TERN_THROW(TypeError) << entry.name << " takes " << entry.params.size() << " arguments, got "
                          << args.size() << ": " << signature;
  DataType dtype = args[0].dtype();
  for (const Expr& arg : args) {
    if (!Takes(entry.operands, arg.dtype()))
      TERN_THROW(TypeError) << entry.name << " does not take " << arg.dtype().str() << ": "
                            << signature;
    if (arg.dtype() != dtype)
      TERN_THROW(TypeError) << "arguments of " << entry.name
                            << " have different types: " << dtype.str() << " and "
                            << arg.dtype().str();
  }
  return entry.result == Result::kBool ? DataType::Bool(dtype.lanes()) : dtype;
}

void RegisterLaneWise() {
  for (const LaneWise& entry : kLaneWise) {
    std::string signature = Signature(entry);
    ir::RegisterIntrinsic(
        {.name = entry.name,
         .signature = signature,
         .infer = [&entry, signature](const Args& args,
                                      DataType) { return Infer(entry, signature, args); },
         .lane_wise = true,
         .one_type = true,
         .may_fault = entry.may_fault});
  }
}

// ---- The others, which have rules of their own.

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

// What follows the callee's name.
void CheckScalars(const char* name, const Args& args) {
  for (const Expr& arg : args)
    if (!arg.dtype().is_scalar())
      TERN_THROW(TypeError) << name << " passes scalars and handles, got " << arg.dtype().str();
}

// tensor_in("dtype", p, extent...), and tensor_view with `more` numbers behind p.
void CheckTensorArgument(const char* name, const Args& args, size_t more) {
  CheckCount(name, args, 2 + more, 65535);
  const auto* dtype = args[0].As<ir::StringImmNode>();
  if (!dtype || !DataType::Parse(dtype->value))
    TERN_THROW(TypeError) << name << ": expected a dtype as a string, \"float32\"";
  CheckHandle(name, args[1]);
  for (size_t i = 2 + more; i < args.size(); ++i) CheckOffset(name, args[i]);
}

// C has no type for them.
void CheckExternTypes(const Args& args, DataType result) {
  std::vector<DataType> types = {result};
  for (const Expr& arg : args) types.push_back(arg.dtype());
  for (DataType dtype : types)
    if (dtype.is_float() && dtype.bits() < 32)
      TERN_THROW(TypeError) << intrinsic::kCallExtern << ": C has no " << dtype.str()
                            << "; convert it to float32";
}

// Behind the element of address_of.
void CheckTile(const Args& args) {
  for (size_t i = 1; i < args.size(); ++i) {
    std::optional<int64_t> extent = ir::AsConstInt(args[i]);
    const auto* word = args[i].As<ir::StringImmNode>();
    bool writes = word && word->value == "write" && i > 1 && i + 1 == args.size();
    if ((!extent || *extent < 1) && !writes)
      TERN_THROW(TypeError)
          << intrinsic::kAddressOf
          << " takes extents of a tile that are constants from 1 on, and \"write\" "
             "behind them, as in address_of(A[i, j], 16, 16, \"write\")";
  }
}

void CheckReinterpret(const Args& args, DataType to) {
  constexpr const char* kName = intrinsic::kReinterpret;
  CheckCount(kName, args, 1, 1);
  DataType from = args[0].dtype();
  if (to.is_void()) TERN_THROW(TypeError) << kName << " needs a type, as in reinterpret<uint32>(x)";
  for (DataType dtype : {from, to})
    if (!dtype.is_integer() && !dtype.is_float())
      TERN_THROW(TypeError) << kName << " is between integers and floats, not " << dtype.str();
  if (from.bytes() != to.bytes())
    TERN_THROW(TypeError) << kName << ": " << from.str() << " has " << from.bytes() << " bytes, "
                          << to.str() << " has " << to.bytes();
}

// Lanes of 16-bit floats that make a warp's matrix.
void CheckMatrix(const char* name, const Expr& arg, int lanes) {
  DataType dtype = arg.dtype();
  if (dtype.is_float() && dtype.bits() == 16 && dtype.lanes() == lanes) return;
  TERN_THROW(TypeError) << name << ": expected " << lanes << " lanes of float16 or bfloat16, got "
                        << dtype.str();
}

// Of products of two operands of one type.
void CheckSums(const char* name, const Args& args, int lanes) {
  DataType sums = DataType::Float(32, lanes);
  if (args[0].dtype() == sums && args[1].dtype().element() == args[2].dtype().element()) return;
  TERN_THROW(TypeError) << name << " adds products of one type to " << sums.str() << ", got "
                        << args[0].dtype().str() << ", " << args[1].dtype().str() << " and "
                        << args[2].dtype().str();
}

// Of a tile of 8 x 8.
void CheckTile(const char* name, const Expr& arg) {
  DataType dtype = arg.dtype();
  if (dtype.is_float() && (dtype.bits() == 16 || dtype.bits() == 32) && dtype.lanes() == 2) return;
  TERN_THROW(TypeError) << name << ": expected 2 lanes of float16, bfloat16 or float32, got "
                        << dtype.str();
}

void RegisterTileOperations() {
  using namespace intrinsic;
  for (const char* name : {kWarpMatrixMove, kWarpMatrixMoveTransposed})
    ir::RegisterIntrinsic({.name = name,
                           .signature = std::string(name) + "(x: float16x2) -> type of x",
                           .pure = false,
                           .infer = [name](const Args& args, DataType) {
                             CheckCount(name, args, 1, 1);
                             CheckTile(name, args[0]);
                             return args[0].dtype();
                           }});
  ir::RegisterIntrinsic(
      {.name = kWarpMatrixMultiply8x8,
       .signature =
           "warp_matrix_multiply_8x8(c: float32x2, a: float16x2, b: float16x2) -> float32x2",
       .pure = false,
       .infer = [](const Args& args, DataType) {
         CheckCount(kWarpMatrixMultiply8x8, args, 3, 3);
         CheckTile(kWarpMatrixMultiply8x8, args[1]);
         CheckTile(kWarpMatrixMultiply8x8, args[2]);
         CheckSums(kWarpMatrixMultiply8x8, args, 2);
         return args[0].dtype();
       }});
}

void RegisterMatrixOperations() {
  using namespace intrinsic;
  RegisterTileOperations();
  for (const char* name : {kWarpMatrixLoad, kWarpMatrixLoadTransposed})
    ir::RegisterIntrinsic({.name = name,
                           .signature = std::string(name) + "(row: float16x8) -> float16x8",
                           .pure = false,
                           .infer = [name](const Args& args, DataType) {
                             CheckCount(name, args, 1, 1);
                             CheckMatrix(name, args[0], 8);
                             return args[0].dtype();
                           }});
  ir::RegisterIntrinsic(
      {.name = kWarpMatrixMultiply,
       .signature = "warp_matrix_multiply(c: float32x4, a: float16x8, b: float16x4) -> float32x4",
       .pure = false,
       .infer = [](const Args& args, DataType) {
         CheckCount(kWarpMatrixMultiply, args, 3, 3);
         CheckMatrix(kWarpMatrixMultiply, args[1], 8);
         CheckMatrix(kWarpMatrixMultiply, args[2], 4);
         CheckSums(kWarpMatrixMultiply, args, 4);
         return args[0].dtype();
       }});
  ir::RegisterIntrinsic(
      {.name = kWarpMatrixMultiplyTile,
       .signature = "warp_matrix_multiply_tile(c: float32xN, a: float16xN, b: float16xN) -> "
                    "float32xN, N = 256 / lanes of the warp: 4 or 8",
       .pure = false,
       .infer = [](const Args& args, DataType) {
         CheckCount(kWarpMatrixMultiplyTile, args, 3, 3);
         int lanes = args[0].dtype().lanes() == 4 ? 4 : 8;
         CheckMatrix(kWarpMatrixMultiplyTile, args[1], lanes);
         CheckMatrix(kWarpMatrixMultiplyTile, args[2], lanes);
         CheckSums(kWarpMatrixMultiplyTile, args, lanes);
         return args[0].dtype();
       }});
}

const GroupType* FindGroupType(const std::string& name) {
  const auto* type = std::find_if(std::begin(kGroupTypes), std::end(kGroupTypes),
                                  [&](const GroupType& one) { return one.name == name; });
  return type == std::end(kGroupTypes) ? nullptr : type;
}

// c, how the operands lie, a and the blocks of b.
DataType CheckGroup(const char* name, const Args& args) {
  constexpr int kElements = kWarpGroupBlock * kWarpGroupBlock, kMostBlocks = 4;
  CheckCount(name, args, 4, 3 + kMostBlocks);
  const auto* text = args[1].As<ir::StringImmNode>();
  std::string layout = text ? text->value : "";
  auto blocks = static_cast<int>(args.size()) - 3;
  int sums = blocks * kWarpGroupBlock / 2;
  if (layout.starts_with("nt_")) {
    const GroupType* type = FindGroupType(layout.substr(3));
    if (!type || type->element.bits() == 16)
      TERN_THROW(TypeError) << name << ": operands are of type e4m3, e5m2, s8, u8 or tf32, not "
                            << layout.substr(3);
    DataType block = type->element.with_lanes(kWarpGroupBlock * type->depth()),
             sum = type->sum.with_lanes(sums);
    for (size_t i = 2; i < args.size(); ++i) {
      // Where a target stores no such floats these are their bits.
      DataType given = args[i].dtype(), bits = DataType::UInt(block.bits(), block.lanes());
      if (given != block && given != bits)
        TERN_THROW(TypeError) << name << ": expected " << block.str() << ", got " << given.str();
    }
    if (args[0].dtype() != sum)
      TERN_THROW(TypeError) << name << " adds products of " << type->name << " to " << sum.str()
                            << ", not to " << args[0].dtype().str();
    return sum;
  }
  bool known = layout.size() == 2 && std::string("ntr").find(layout[0]) != std::string::npos &&
               std::string("nt").find(layout[1]) != std::string::npos;
  if (!known)
    TERN_THROW(TypeError)
        << name << ": the layout of the operands is "
        << R"("nn", "nt", "tn", "tt", "rn" or "rt", or of other types as in "nt_e4m3")";
  CheckMatrix(name, args[2], layout[0] == 'r' ? kElements / kWarpGroupThreads : kElements);
  int block = kElements;
  for (int columns : kNarrowColumns)
    if (blocks == 1 && layout[1] == 't' && args[3].dtype().lanes() == columns * kWarpGroupBlock) {
      block = columns * kWarpGroupBlock;
      sums = columns / 2;
    }
  for (size_t i = 3; i < args.size(); ++i) {
    CheckMatrix(name, args[i], block);
    CheckSums(name, {args[0], args[2], args[i]}, sums);
  }
  return args[0].dtype();
}

void CheckGroups(const char* name, const Args& args) {
  CheckCount(name, args, 1, 1);
  std::optional<int64_t> groups = ir::AsConstInt(args[0]);
  if (!groups || *groups < 0)
    TERN_THROW(TypeError) << name << " takes a number of groups, a constant from 0 on";
}

void RegisterGroupOperations() {
  using namespace intrinsic;
  for (const char* name : {kWarpMatrixMultiplyGroup, kWarpMatrixMultiplyGroupAsync})
    ir::RegisterIntrinsic(
        {.name = name,
         .signature = std::string(name) +
                      "(c: float32xN, \"nn\", a: float16x4096, b: float16x4096...) -> float32xN, "
                      "N = 32 for each b",
         .pure = false,
         .infer = [name](const Args& args, DataType) { return CheckGroup(name, args); }});
  ir::RegisterIntrinsic({.name = kMatrixWait,
                         .signature = "matrix_wait(n: int)",
                         .pure = false,
                         .infer = [](const Args& args, DataType) {
                           CheckGroups(kMatrixWait, args);
                           return DataType::Void();
                         }});
}

void RegisterAsyncCopies() {
  using namespace intrinsic;
  ir::RegisterIntrinsic({.name = kAsyncCopy,
                         .signature = "async_copy(x) -> type of x",
                         .infer =
                             [](const Args& args, DataType) {
                               CheckCount(kAsyncCopy, args, 1, 1);
                               return args[0].dtype();
                             },
                         .lane_wise = true,
                         .may_fault = false});
  ir::RegisterIntrinsic({.name = kAsyncCommit,
                         .signature = "async_commit()",
                         .pure = false,
                         .infer = [](const Args& args, DataType) {
                           CheckCount(kAsyncCommit, args, 0, 0);
                           return DataType::Void();
                         }});
  ir::RegisterIntrinsic({.name = kAsyncWait,
                         .signature = "async_wait(n: int)",
                         .pure = false,
                         .infer = [](const Args& args, DataType) {
                           CheckGroups(kAsyncWait, args);
                           return DataType::Void();
                         }});
}

// Calls between functions of a module.
void RegisterModuleCalls() {
  constexpr size_t kAnyNumber = 65535;
  using namespace intrinsic;
  ir::RegisterIntrinsic({.name = kCallFunction,
                         .signature = "call_function(\"name\", argument...)",
                         .pure = false,
                         .infer = [](const Args& args, DataType) {
                           CheckCount(kCallFunction, args, 1, kAnyNumber);
                           CheckName(kCallFunction, args[0]);
                           CheckScalars(kCallFunction, args);
                           return DataType::Void();
                         }});
  ir::RegisterIntrinsic({.name = kCallEntry,
                         .signature = "call_entry(env: handle, \"name\", argument...)",
                         .pure = false,
                         .infer = [](const Args& args, DataType) {
                           CheckCount(kCallEntry, args, 2, kAnyNumber);
                           CheckHandle(kCallEntry, args[0]);
                           CheckName(kCallEntry, args[1]);
                           return DataType::Void();
                         }});
  for (const char* name : {kTensorIn, kTensorOut})
    ir::RegisterIntrinsic(
        {.name = name,
         .signature = std::string(name) + "(\"dtype\", p: handle, extent: int64...) -> handle",
         .pure = false,
         .infer = [name](const Args& args, DataType) {
           CheckTensorArgument(name, args, 0);
           return DataType::Handle();
         }});
  ir::RegisterIntrinsic(
      {.name = kTensorView,
       .signature = "tensor_view(\"dtype\", p: handle, offset: int64, type: int32, id: int32, "
                    "extent: int64...) -> handle",
       .pure = false,
       .infer = [](const Args& args, DataType) {
         CheckTensorArgument(kTensorView, args, 3);
         return DataType::Handle();
       }});
  ir::RegisterIntrinsic({.name = kSymbolAddress,
                         .signature = "symbol_address(\"symbol\", bytes: int64) -> handle",
                         .infer = [](const Args& args, DataType) {
                           CheckCount(kSymbolAddress, args, 2, 2);
                           CheckName(kSymbolAddress, args[0]);
                           CheckOffset(kSymbolAddress, args[1]);
                           return DataType::Handle();
                         }});
}

}  // namespace

bool IsTensorArgument(const ir::CallNode* call) {
  return call->name == intrinsic::kTensorIn || call->name == intrinsic::kTensorOut;
}

void RegisterIntrinsics() {
  constexpr size_t kAnyNumber = 65535;
  using namespace intrinsic;
  RegisterLaneWise();
  ir::RegisterIntrinsic({.name = kLaunchKernel,
                         .signature = "launch_kernel(\"name\", argument..., extent...)",
                         .pure = false,
                         .infer = [](const Args& args, DataType) {
                           CheckCount(kLaunchKernel, args, 1, kAnyNumber);
                           CheckName(kLaunchKernel, args[0]);
                           return DataType::Void();
                         }});
  ir::RegisterIntrinsic({.name = kCallImport,
                         .signature = "call_import(env: handle, \"name\", argument...)",
                         .pure = false,
                         .infer = [](const Args& args, DataType) {
                           CheckCount(kCallImport, args, 2, kAnyNumber);
                           CheckHandle(kCallImport, args[0]);
                           CheckName(kCallImport, args[1]);
                           return DataType::Void();
                         }});
  ir::RegisterIntrinsic(
      {.name = kCheckArguments,
       .signature = "check_arguments(env: handle, args: handle, num_args: int32, slots: handle, "
                    "steps: int32, table...)",
       .pure = false,
       .infer = [](const Args& args, DataType) {
         CheckCount(kCheckArguments, args, kArgumentTableWords, kAnyNumber);
         for (size_t i : {0, 1, 3}) CheckHandle(kCheckArguments, args[i]);
         for (size_t i = kArgumentTableWords - 1; i < args.size(); ++i)
           if (!ir::AsConstInt(args[i]) && !args[i].As<ir::StringImmNode>())
             TERN_THROW(TypeError) << kCheckArguments << " takes a table of constants";
         return DataType::Void();
       }});
  ir::RegisterIntrinsic(
      {.name = kParallelFor,
       .signature = "parallel_for(env: handle, \"name\", extent: int64, value...)",
       .pure = false,
       .infer = [](const Args& args, DataType) {
         CheckCount(kParallelFor, args, 3, kAnyNumber);
         CheckHandle(kParallelFor, args[0]);
         CheckName(kParallelFor, args[1]);
         CheckOffset(kParallelFor, args[2]);
         CheckScalars(kParallelFor, args);
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
  ir::RegisterIntrinsic({.name = kCallPacked,
                         .signature = "call_packed(\"name\", argument...)",
                         .pure = false,
                         .infer = [](const Args& args, DataType) {
                           CheckCount(kCallPacked, args, 1, kAnyNumber);
                           CheckName(kCallPacked, args[0]);
                           CheckScalars(kCallPacked, args);
                           return DataType::Void();
                         }});
  RegisterModuleCalls();
  ir::RegisterIntrinsic({.name = kCallExtern,
                         .signature = "call_extern<dtype>(\"symbol\", argument...) -> dtype",
                         .pure = false,
                         .explicit_dtype = true,
                         .infer = [](const Args& args, DataType given) {
                           CheckCount(kCallExtern, args, 1, kAnyNumber);
                           CheckName(kCallExtern, args[0]);
                           CheckScalars(kCallExtern, args);
                           CheckExternTypes(args, given);
                           if (!given.is_void() && !given.is_scalar())
                             TERN_THROW(TypeError)
                                 << kCallExtern << " returns a scalar, not " << given.str();
                           return given;
                         }});
  ir::RegisterIntrinsic({.name = kAddressOf,
                         .signature = "address_of(A[i], extent..., [\"write\"]) -> handle",
                         .infer = [](const Args& args, DataType) {
                           CheckCount(kAddressOf, args, 1, kAnyNumber);
                           if (!args[0].As<ir::BufferLoadNode>() || !args[0].dtype().is_scalar())
                             TERN_THROW(TypeError)
                                 << kAddressOf << " takes one element, as in address_of(A[i])";
                           CheckTile(args);
                           return DataType::Handle();
                         }});
  ir::RegisterIntrinsic({.name = kPtrLoad,
                         .signature = "ptr_load<dtype>(p: handle, offset: int64) -> dtype",
                         .explicit_dtype = true,
                         .infer = [](const Args& args, DataType given) {
                           CheckCount(kPtrLoad, args, 2, 2);
                           CheckHandle(kPtrLoad, args[0]);
                           CheckOffset(kPtrLoad, args[1]);
                           if (given.is_void() || !given.is_scalar())
                             TERN_THROW(TypeError)
                                 << kPtrLoad
                                 << " needs the type of a scalar, as in ptr_load<int64>(p, 8)";
                           return given;
                         }});
  ir::RegisterIntrinsic({.name = kPtrLessEqual,
                         .signature = "ptr_less_equal(p: handle, q: handle) -> bool",
                         .infer = [](const Args& args, DataType) {
                           CheckCount(kPtrLessEqual, args, 2, 2);
                           CheckHandle(kPtrLessEqual, args[0]);
                           CheckHandle(kPtrLessEqual, args[1]);
                           return DataType::Bool();
                         }});
  ir::RegisterIntrinsic({.name = kPtrAdd,
                         .signature = "ptr_add(p: handle, offset: int64) -> handle",
                         .infer = [](const Args& args, DataType) {
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
  ir::RegisterIntrinsic({kVscale, "vscale() -> int64", true, false,
                         [](const Args& args, DataType) {
                           CheckCount(kVscale, args, 0, 0);
                           return DataType::Int(64);
                         },
                         false, false, false});
  ir::RegisterIntrinsic(
      {ir::kIfThenElse, "if_then_else(condition: bool, a, b) -> the type of both", true, false,
       [](const Args& args, DataType) {
         CheckCount(ir::kIfThenElse, args, 3, 3);
         if (args[0].dtype() != DataType::Bool())
           TERN_THROW(TypeError) << "the condition of " << ir::kIfThenElse << " is "
                                 << args[0].dtype().str() << "; expected bool";
         if (args[1].dtype() != args[2].dtype())
           TERN_THROW(TypeError) << ir::kIfThenElse
                                 << " chooses between different types: " << args[1].dtype().str()
                                 << " and " << args[2].dtype().str();
         return args[1].dtype();
       },
       false, false, false});
  ir::RegisterIntrinsic(
      {kBarrier, "barrier(\"shared\" or \"global\")", false, false, [](const Args& args, DataType) {
         CheckCount(kBarrier, args, 1, 1);
         const auto* kind = args[0].As<ir::StringImmNode>();
         if (!kind || !FindBarrierKind(kind->value))
           TERN_THROW(TypeError) << kBarrier
                                 << " takes the memory it orders, \"shared\" or \"global\""
                                 << (kind ? ffi::DidYouMean(kind->value, {"shared", "global"})
                                          : "");
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
  ir::RegisterIntrinsic({.name = kReinterpret,
                         .signature = "reinterpret<dtype>(x) -> dtype",
                         .explicit_dtype = true,
                         .infer =
                             [](const Args& args, DataType given) {
                               CheckReinterpret(args, given);
                               return given;
                             },
                         .lane_wise = true,
                         .may_fault = false});
  RegisterMatrixOperations();
  RegisterGroupOperations();
  RegisterAsyncCopies();
  RegisterBulkIntrinsics();
  RegisterAtomics();
  RegisterPrint();
}

bool IsWarpMatrixOperation(const ir::CallNode* call) {
  return call->name.starts_with("warp_matrix_");
}

bool IsWarpGroupOperation(const ir::CallNode* call) {
  return call->name.starts_with(intrinsic::kWarpMatrixMultiplyGroup);
}
std::string GroupLayoutOf(const ir::CallNode* call) {
  return call->args[1].As<ir::StringImmNode>()->value.substr(0, 2);
}
const GroupType& GroupTypeOf(const ir::CallNode* call) {
  const std::string& layout = call->args[1].As<ir::StringImmNode>()->value;
  if (layout.size() > 2) return *FindGroupType(layout.substr(3));
  return *FindGroupType(call->args[2].dtype().is_bfloat16() ? "bf16" : "f16");
}
bool HasLeftInRegisters(const ir::CallNode* call) { return GroupLayoutOf(call)[0] == 'r'; }

bool IsWarpOperation(const ir::CallNode* call) { return call->name.starts_with("warp_"); }

bool IsBarrier(const Expr& expr) {
  const auto* call = expr.As<ir::CallNode>();
  return call && call->name == intrinsic::kBarrier;
}

BarrierKind BarrierKindOf(const ir::CallNode* barrier) {
  return *FindBarrierKind(barrier->args[0].As<ir::StringImmNode>()->value);
}

Expr MakeBarrier(BarrierKind kind, ir::Span span) {
  return ir::CallNode::Make(intrinsic::kBarrier, {ir::StringImmNode::Make(BarrierKindName(kind))},
                            DataType::Void(), std::move(span));
}

}  // namespace tern::tir
