// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/codegen/codegen_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "tern/backend/cuda/codegen/gpu_kind.h"
#include "tern/backend/cuda/codegen/tensor_core_code.h"
#include "tern/codegen/kernel_info.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/print_call.h"
#include "tern/tir/visitor.h"

namespace tern::backend::cuda {

using codegen::Code;
using codegen::Precedence;
using ir::Expr;

namespace {

std::string IntegerName(DataType dtype) {
  std::string sign = dtype.is_uint() ? "unsigned " : dtype.bits() == 8 ? "signed " : "";
  switch (dtype.bits()) {
    case 8:
      return sign + "char";
    case 16:
      return sign + "short";
    case 32:
      return sign + "int";
    default:
      return sign + "long long";
  }
}

// The language's function for an intrinsic, or "".
std::string FunctionOf(const std::string& intrinsic, DataType dtype) {
  if (dtype.is_integer()) {
    std::string wide = dtype.bits() == 64 ? "ll" : "";
    if (intrinsic == "popcount") return "__popc" + wide;
    return intrinsic == "clz" ? "__clz" + wide : "";
  }
  if (!tir::IsWideFloat(dtype)) return "";
  std::string function = codegen::MathFunction(intrinsic);
  return function.empty() || dtype.bits() != 32 ? function : function + "f";
}

// x of a condition `x != 0` that a vote can take as it is; otherwise null.
const Expr* ComparedWithZero(const Expr& condition) {
  const auto* unequal = condition.As<ir::NENode>();
  bool is_word = unequal && unequal->a.dtype().bits() == 32 && unequal->a.dtype().is_integer();
  return is_word && ir::IsConst(unequal->b, 0) ? &unequal->a : nullptr;
}

// Whether nothing changes: atomic_or(A[i], 0) is how a kernel reads what others update.
bool LeavesElement(const tir::Atomic& atomic) {
  using enum tir::AtomicKind;
  bool keeps_all = atomic.kind == kAdd || atomic.kind == kOr || atomic.kind == kXor;
  return keeps_all && !atomic.seq_cst && atomic.old && atomic.dtype().is_integer() &&
         ir::IsConst(atomic.operands[0], 0);
}

// Shared memory that multiplications of groups of warps read.
std::set<const ir::BufferNode*> GroupOperands(const tir::PrimFunc& function) {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::CallNode* node) override {
      if (!tir::IsWarpGroupOperation(node)) return VisitChildren(node);
      for (size_t i = 2; i < node->args.size(); ++i)
        if (const auto* load = node->args[i].As<ir::BufferLoadNode>();
            load && load->buffer->scope != ir::StorageScope::kLocal)
          found.insert(load->buffer.get());
    }
    std::set<const ir::BufferNode*> found;
  } scan;
  scan.Visit(function->body);
  return scan.found;
}

// Multiplications of groups of warps that another one follows at once.
std::set<const ir::CallNode*> FollowedMultiplications(const tir::PrimFunc& function) {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::BufferStoreNode* node) override {
      const auto* call = node->value.As<ir::CallNode>();
      bool multiplies = call && call->name == tir::intrinsic::kWarpMatrixMultiplyGroup;
      if (multiplies && last) found.insert(last);
      last = multiplies ? call : nullptr;
    }
    void VisitNode(const tir::EvaluateNode*) override { last = nullptr; }
    void VisitNode(const tir::LetStmtNode* node) override {
      if (ir::MayFault(node->value)) last = nullptr;  // it may read
      VisitChildren(node);
    }
    void VisitNode(const tir::ForNode* node) override { Apart(node->body); }
    void VisitNode(const tir::WhileNode* node) override { Apart(node->body); }
    void VisitNode(const tir::IfThenElseNode* node) override {
      Apart(node->then_case);
      if (node->else_case) Apart(node->else_case);
    }
    void Apart(const tir::Stmt& stmt) {
      last = nullptr;
      Visit(stmt);
      last = nullptr;
    }
    const ir::CallNode* last = nullptr;
    std::set<const ir::CallNode*> found;
  } scan;
  scan.Visit(function->body);
  return scan.found;
}

// Exponentials of float32 whose last digits are lost: those that are rounded to 16 bits, as they
// are or as a factor, if they are used as they are, too; and where there are such, those that are
// added up in registers, as what the rounded ones are divided by.
std::map<const ir::CallNode*, Expr> CoarsePowers(const tir::PrimFunc& function) {
  using Powers = std::map<const ir::CallNode*, Expr>;
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::LetStmtNode* node) override {
      variables[node->var.node()] = node->value;
      VisitChildren(node);
    }
    void VisitNode(const ir::CastNode* node) override {
      if (node->dtype == DataType::Float(16) || node->dtype == DataType::Bfloat16())
        AddAll(node->value, &rounded);
      VisitChildren(node);
    }
    void VisitNode(const tir::BufferStoreNode* node) override {
      const auto* sum = node->value.As<ir::AddNode>();
      const auto* before = sum ? sum->a.As<ir::BufferLoadNode>() : nullptr;
      if (before && before->buffer.same(node->buffer) &&
          node->buffer->scope == ir::StorageScope::kLocal)
        AddAll(sum->b, &summed);
      VisitChildren(node);
    }
    // What the value is one of.
    void AddAll(const Expr& value, Powers* powers) {
      const auto* call = value.As<ir::CallNode>();
      if (call && call->name == "exp" && call->dtype == DataType::Float(32))
        (*powers)[call] = value;
      if (auto it = variables.find(value.As<ir::VarNode>()); it != variables.end())
        AddAll(it->second, powers);
      if (const auto* product = value.As<ir::MulNode>()) {
        AddAll(product->a, powers);
        AddAll(product->b, powers);
      }
      if (const auto* quotient = value.As<ir::DivNode>()) {
        AddAll(quotient->a, powers);
        AddAll(quotient->b, powers);
      }
      if (call && call->name == ir::kIfThenElse) {
        AddAll(call->args[1], powers);
        AddAll(call->args[2], powers);
      }
      if (const auto* select = value.As<ir::SelectNode>()) {
        AddAll(select->true_value, powers);
        AddAll(select->false_value, powers);
      }
    }
    std::map<const ir::VarNode*, Expr> variables;
    Powers rounded, summed;
  } scan;
  scan.Visit(function->body);
  if (!scan.rounded.empty()) scan.rounded.merge(scan.summed);
  return scan.rounded;
}

// Calls of erf of float32 in what is rounded to 16 bits: where they are added to 1, few digits of
// the sum are enough.
std::set<const ir::CallNode*> CoarseErrors(const tir::PrimFunc& function) {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::LetStmtNode* node) override {
      variables[node->var.node()] = node->value;
      VisitChildren(node);
    }
    void VisitNode(const ir::CastNode* node) override {
      bool was = is_rounded;
      is_rounded |= node->dtype == DataType::Float(16) || node->dtype == DataType::Bfloat16();
      VisitChildren(node);
      is_rounded = was;
    }
    void VisitNode(const ir::CallNode* node) override {
      if (is_rounded && node->name == "erf" && node->dtype == DataType::Float(32))
        found.insert(node);
      // Other functions may make more of a difference.
      bool was = is_rounded;
      is_rounded &= node->name == "fma";
      VisitChildren(node);
      is_rounded = was;
    }
    void VisitNode(const ir::VarNode* node) override {
      auto it = variables.find(node);
      if (is_rounded && it != variables.end() && seen.insert(node).second) Visit(it->second);
    }
    bool is_rounded = false;
    std::map<const ir::VarNode*, Expr> variables;
    std::set<const ir::VarNode*> seen;
    std::set<const ir::CallNode*> found;
  } scan;
  scan.Visit(function->body);
  return scan.found;
}

// 1 + erf(x) as 2^-Q(|x|), or 2 less that: -log2(1 - erf(x)) is nearly a polynomial. Off by 2^-20,
// and by 2^-11 of the result.
constexpr const char* kOnePlusErf =
    "static __device__ __forceinline__ float tern_one_plus_erf(float x) {\n"
    "  float a = fabsf(x) > 5.0f ? 5.0f : fabsf(x);\n"
    "  float q = fmaf(a, fmaf(a, fmaf(a, fmaf(a, fmaf(a, 2.413005e-4f, -4.131387e-3f), "
    "3.1662136e-2f), -1.5023173e-1f), -9.1801554e-1f), -1.6279377f) * a;\n"
    "  float power;\n"
    "  asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(power) : \"f\"(q));\n"
    "  return x < 0.0f ? power : 2.0f - power;\n}\n";

}  // namespace

constexpr int64_t kMoveBytes = 16;  // the most that an instruction moves

CodeGenCuda::CodeGenCuda() {
  names_.Reserve(
      "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t "
      "char16_t "
      "char32_t class compl concept const consteval constexpr constinit const_cast continue "
      "co_await co_return co_yield decltype default delete do double dynamic_cast else enum "
      "explicit export extern false float for friend goto if inline int long mutable namespace new "
      "noexcept not not_eq nullptr operator or or_eq private protected public register "
      "reinterpret_cast requires return short signed sizeof static static_assert static_cast "
      "struct "
      "switch template this thread_local throw true try typedef typeid typename union unsigned "
      "using virtual void volatile wchar_t while xor xor_eq typeof restrict");
  // What is there without a declaration.
  names_.Reserve(
      "blockIdx blockDim threadIdx gridDim warpSize dim3 size_t ptrdiff_t NULL clock clock64 "
      "printf "
      "malloc free memcpy memset assert abs min max isnan isinf isfinite signbit half nv_bfloat16 "
      "cudaError cudaStream_t clock_t FILE int8_t int16_t int32_t int64_t uint8_t uint16_t "
      "uint32_t "
      "uint64_t intptr_t uintptr_t uint3 tern_shared");
  for (const char* element : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
                              "longlong", "ulonglong", "float", "double"})
    names_.Reserve(fmt::format("{0}1 {0}2 {0}3 {0}4", element));
  for (const std::string& intrinsic : codegen::MathIntrinsics())
    for (const char* suffix : {"", "f", "l"})
      names_.Reserve(codegen::MathFunction(intrinsic) + suffix);
  names_.Reserve(
      "round roundf fmod fmodf fmin fmax fminf fmaxf cbrt cbrtf hypot hypotf ldexp frexp modf "
      "remainder lgamma tgamma erfc erfcf erfinv exp10 exp10f log1p acosh asinh atanh nearbyint "
      "lrint llrint lround llround logb ilogb nextafter norm j0 j1 y0 y1 yn jn sincos sincosf "
      "sinpi cospi sincospi rhypot rcbrt normcdf normcdfinv scalbn fdim nan saturate");
}

std::string CodeGenCuda::ValueType(DataType dtype) {
  if (IsPacked(dtype)) return "unsigned int";
  TERN_ICHECK(dtype.is_scalar()) << dtype.str() << " was not lowered: vectors are made of scalars";
  TERN_ICHECK(!dtype.is_handle()) << "a pointer is used as a value in a kernel";
  if (dtype.is_bool()) return "bool";
  if (dtype.is_float()) return dtype.bits() == 64 ? "double" : "float";
  return IntegerName(dtype);
}

std::string CodeGenCuda::StorageType(DataType dtype) {
  if (dtype.is_bool()) return "unsigned char";
  return StoresFloat(dtype) ? "unsigned short" : ValueType(dtype);
}

std::string CodeGenCuda::NonFiniteLiteral(DataType dtype, double value) {
  bool wide = dtype.bits() == 64;
  std::string infinity =
      wide ? "__longlong_as_double(0x7ff0000000000000LL)" : "__int_as_float(0x7f800000)";
  if (std::isnan(value))
    return wide ? "__longlong_as_double(0x7ff8000000000000LL)" : "__int_as_float(0x7fc00000)";
  return value < 0 ? "-" + infinity : infinity;
}

std::string CodeGenCuda::Preamble() const { return "// Written by Tern.\n"; }

// ---- Functions.

std::string CodeGenCuda::FunctionHead(const tir::PrimFunc& function) {
  distinct_ = tir::TensorsAreDistinct(function);
  read_only_.clear();
  reassociates_ = tir::HasFlag(function, tir::attr::kReassociate);
  operands_.Begin(function);
  group_operands_ = GroupOperands(function);
  coarse_powers_.clear();
  coarse_errors_.clear();
  if (reassociates_) {
    coarse_powers_ = CoarsePowers(function);
    coarse_errors_ = CoarseErrors(function);
  }
  followed_ = FollowedMultiplications(function);
  threads_ = codegen::BlockThreads(function);  // so that registers are found for all of them
  std::string params = BeginKernel(function, "CUDA C++") + TensorMapParams(function);
  kernel().tensor_maps = tensor_maps_;
  std::string bounds =
      threads_ > 0 ? fmt::format("__launch_bounds__({}{}) ", threads_, sets_registers_ ? ", 1" : "")
                   : "";
  return fmt::format("extern \"C\" __global__ void {}{}({})", bounds, function->name, params);
}

std::string CodeGenCuda::PrintParam(const tir::Param& param) {
  if (param.is_tensor()) {
    bool is_const = !usage().written.contains(param.var.node());
    std::string name = DefineBuffer(param.buffer);
    DefineAddress(param.buffer, name);
    if (distinct_ && is_const) read_only_.insert(name);
    // What threads of a block hand on through memory may not be taken to be a thread's own.
    return PointerType(StorageType(param.buffer->dtype), ir::StorageScope::kGlobal, is_const) +
           (distinct_ && is_const ? " __restrict__ " : " ") + name;
  }
  DataType dtype = param.var.dtype();
  std::string name = DefineVar(param.var);
  if (dtype.is_bool()) return "unsigned char " + name;
  return ValueType(dtype) + " " + name;
}

std::string CodeGenCuda::ThreadIndex(const std::string& axis) {
  TERN_ICHECK(axis.starts_with("blockIdx.") || axis.starts_with("threadIdx."))
      << "CUDA has no thread axis " << axis;
  return axis;
}

// ---- Memory.

void CodeGenCuda::EmitAllocate(const tir::AllocateNode* node) {
  const ir::Buffer& buffer = node->buffer;
  bool is_dynamic = buffer->scope == ir::StorageScope::kSharedDynamic;
  bool is_shared = is_dynamic || buffer->scope == ir::StorageScope::kShared;
  TERN_ICHECK(is_shared || buffer->scope == ir::StorageScope::kLocal)
      << "buffer " << buffer->name << " of scope " << buffer->scope;
  std::string name = is_shared ? DefineHoistedBuffer(buffer) : DefineBuffer(buffer);
  std::string type = StorageType(buffer->dtype);
  DefineArray(buffer, name, type);
  if (is_dynamic) return HoistLine(fmt::format("{0}* {1} = ({0}*)tern_shared;", type, name));
  int64_t size = ConstantSize(buffer), alignment = std::max(buffer->alignment, kMoveBytes);
  if (group_operands_.contains(buffer.get())) alignment = kGroupOperandAlignment;
  if (is_shared && dynamic_shared_) {
    uint64_t& bytes = kernel().dynamic_shared_bytes;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    HoistLine(fmt::format("{0}* {1} = ({0}*)(tern_shared + {2});", type, name, bytes));
    bytes += static_cast<uint64_t>(size) * buffer->dtype.bytes();
    return;
  }
  // For vectors that are moved at once.
  std::string text = fmt::format("{}__align__({}) {} {}[{}];", is_shared ? "__shared__ " : "",
                                 alignment, type, name, size);
  if (!is_shared) return Line(text);
  NoteShared(buffer, size);
  HoistLine(text);
}

// Arrays of shared memory have a limit; what is given at the launch may be more.
void CodeGenCuda::EmitFunctionStart(const tir::PrimFunc& function) {
  dynamic_shared_ = codegen::SharedAtLaunch(function, kMoveBytes, kMostStaticShared);
  if (dynamic_shared_ || codegen::DynamicShared(function))
    HoistLine(fmt::format("extern __shared__ __align__({}) unsigned char tern_shared[];",
                          group_operands_.empty() ? 128 : kGroupOperandAlignment));
}

std::string CodeGenCuda::FromBits(DataType dtype) {
  if (dtype == DataType::Bfloat16())
    return UseHelper("tern_from_bf16",
                     "static __device__ __forceinline__ float tern_from_bf16(unsigned short x) {\n"
                     "  return __uint_as_float((unsigned int)x << 16);\n"
                     "}\n");
  return UseHelper("tern_from_f16",
                   "static __device__ __forceinline__ float tern_from_f16(unsigned short x) {\n"
                   "  float value;\n"
                   "  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(value) : \"h\"(x));\n"
                   "  return value;\n"
                   "}\n");
}

std::string CodeGenCuda::ToBits(DataType dtype) {
  std::string type = dtype == DataType::Bfloat16() ? "bf16" : "f16";
  return UseHelper("tern_to_" + type,
                   fmt::format("static __device__ __forceinline__ unsigned short tern_to_{0}(float "
                               "x) {{\n"
                               "  unsigned short bits;\n"
                               "  asm(\"cvt.rn.{0}.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(x));\n"
                               "  return bits;\n"
                               "}}\n",
                               type));
}

Code CodeGenCuda::PrintLoad(const ir::BufferLoadNode* node) {
  if (IsPacked(node->dtype))
    return {"*(const unsigned int*)" + AddressOf(node->buffer, node->indices[0]),
            Precedence::kUnary};
  if (!StoresFloat(node->dtype)) return CodeGenC::PrintLoad(node);
  return {fmt::format("{}({}[{}])", FromBits(node->dtype), NameOf(node->buffer),
                      PlaceOf(node->buffer, PrintConverted(node->indices[0])))};
}

void CodeGenCuda::EmitStore(const tir::BufferStoreNode* node) {
  DataType dtype = node->value.dtype();
  if (!dtype.is_scalar()) return EmitVectorStore(node);
  if (EmitElementCopy(node)) return;
  if (!StoresFloat(dtype)) return CodeGenC::EmitStore(node);
  std::string place = PlaceOf(node->buffer, PrintConverted(node->indices[0]));
  if (const auto* load = node->value.As<ir::BufferLoadNode>())  // its bits
    return Line(fmt::format("{}[{}] = {}[{}];", NameOf(node->buffer), place, NameOf(load->buffer),
                            PlaceOf(load->buffer, PrintConverted(load->indices[0]))));
  // Storing rounds, so the value need not be rounded before.
  const auto* cast = node->value.As<ir::CastNode>();
  bool from_float = cast && cast->value.dtype() == DataType::Float(32);
  std::string bits = ElementBits(node->value);
  if (bits.empty())
    bits = fmt::format("{}({})", ToBits(dtype),
                       from_float ? PrintToRound(cast->value) : Print(node->value).text);
  Line(fmt::format("{}[{}] = {};", NameOf(node->buffer), place, bits));
}

std::string CodeGenCuda::PlaceOf(const ir::Buffer& buffer, const std::string& index) {
  if (!group_operands_.contains(buffer.get())) return index;
  Helper helper = SwizzleHelper(buffer->dtype.bytes());
  return UseHelper(helper.name, helper.definition) + "(" + index + ")";
}

// By the functions of CUDA; the least and the greatest of floats by a loop of compare-exchange.
std::string CodeGenCuda::UseAtomic(const tir::Atomic& atomic) {
  using enum tir::AtomicKind;
  static const std::map<tir::AtomicKind, const char*> kFunctions = {
      {kAdd, "atomicAdd"},       {kMin, "atomicMin"},
      {kMax, "atomicMax"},       {kAnd, "atomicAnd"},
      {kOr, "atomicOr"},         {kXor, "atomicXor"},
      {kExchange, "atomicExch"}, {kCompareExchange, "atomicCAS"}};
  DataType dtype = atomic.dtype();
  bool is_wide = dtype.bits() == 64;
  bool is_order = atomic.kind == kMin || atomic.kind == kMax;
  std::string name = AtomicHelperName(atomic), type = ValueType(dtype);
  std::string bits = is_wide ? "unsigned long long" : "unsigned int";
  std::string fence = atomic.seq_cst ? "  __threadfence();\n" : "";
  std::string operands = atomic.operands.size() > 1 ? ", " + type + " y" : "", body;
  if (LeavesElement(atomic)) {  // it is read, past L1, which is not coherent
    name = "tern_atomic_load_" + TypeSuffix(dtype);
    body = fmt::format("  {0} old = *(volatile {0}*)p;\n", type);
  } else if (dtype.is_float() && is_order) {
    const char* to = is_wide ? "__double_as_longlong" : "__float_as_uint";
    const char* from = is_wide ? "__longlong_as_double" : "__uint_as_float";
    body = fmt::format(
        "  {0}* q = ({0}*)p;\n"
        "  {0} seen = *(volatile {0}*)q, before;\n"
        "  {1} old;\n"
        "  do {{\n"
        "    before = seen;\n"
        "    old = {2}(before);\n"
        "    seen = atomicCAS(q, before, ({0}){3}({4}));\n"
        "  }} while (seen != before);\n",
        bits, type, from, to, AtomicUpdate(atomic.kind, "old", "x"));
  } else if (dtype.is_float() && atomic.kind == kExchange && is_wide) {
    body = fmt::format(
        "  {0} old = __longlong_as_double(atomicExch(({1}*)p, ({1})__double_as_longlong(x)));\n",
        type, bits);
  } else if (dtype.is_float()) {
    body = fmt::format("  {} old = {}(p, x);\n", type, kFunctions.at(atomic.kind));
  } else {
    std::string as = is_order && dtype.is_int() ? (is_wide ? "long long" : "int") : bits;
    body = fmt::format("  {0} old = ({0}){1}(({2}*)p, ({2})x{3});\n", type,
                       kFunctions.at(atomic.kind), as, operands.empty() ? "" : ", (" + as + ")y");
  }
  return UseHelper(name, fmt::format("static __device__ {0} {1}({0}* p, {0} x{2}) {{\n{3}{4}{3}  "
                                     "return old;\n}}\n",
                                     type, name, operands, fence, body));
}

void CodeGenCuda::EmitCall(const ir::CallNode* node) {
  if (node->name == tir::intrinsic::kBarrier) {
    // Multiplications of groups read what came to shared memory in another way than they do.
    if (!group_operands_.empty()) EmitHelper(MatrixFenceHelper());
    return Line("__syncthreads();");
  }
  if (node->name == tir::intrinsic::kMatrixWait)
    return EmitHelper(MatrixWaitHelper(*ir::AsConstInt(node->args[0])));
  if (node->name == tir::intrinsic::kPrint) return EmitPrintf(node, "ll", "long long");
  if (EmitBarrierCall(node)) return;
  if (node->name != tir::intrinsic::kAsyncCommit && node->name != tir::intrinsic::kAsyncWait)
    return CodeGenC::EmitCall(node);
  EmitHelper(node->name == tir::intrinsic::kAsyncCommit
                 ? AsyncCommitHelper()
                 : AsyncWaitHelper(*ir::AsConstInt(node->args[0])));
}

void CodeGenCuda::EmitHelper(const Helper& helper, const std::string& args) {
  Line(fmt::format("{}({});", UseHelper(helper.name, helper.definition), args));
}

// All threads of a warp come to such a call, so the mask names all of them.
Code CodeGenCuda::PrintCall(const ir::CallNode* node) {
  using namespace tir::intrinsic;
  static const std::map<std::string, const char*> kFunctions = {
      {kWarpShuffle, "__shfl_sync"},
      {kWarpShuffleUp, "__shfl_up_sync"},
      {kWarpShuffleDown, "__shfl_down_sync"},
      {kWarpShuffleXor, "__shfl_xor_sync"},
      {kWarpAny, "__any_sync"},
      {kWarpAll, "__all_sync"},
      {kWarpBallot, "__ballot_sync"}};
  if (node->name == kAsyncCopy) return Print(node->args[0]);  // of few bytes: done at once
  if (auto power = coarse_powers_.find(node); power != coarse_powers_.end())
    return {PrintToRound(power->second)};
  if (node->name == kLaneIndex)
    return {fmt::format("({})((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * "
                        "threadIdx.z)) & 31)",
                        ValueType(node->dtype)),
            Precedence::kUnary};
  auto function = kFunctions.find(node->name);
  if (function == kFunctions.end()) return CodeGenC::PrintCall(node);
  std::string args = "0xffffffffu";
  for (const Expr& arg : node->args) args += ", " + PrintVoted(arg);
  // Narrow integers are exchanged as int.
  return {fmt::format("({}){}({})", ValueType(node->dtype), function->second, args),
          Precedence::kUnary};
}

// NVRTC makes a shift, a mask and a comparison of each tested bit that is voted on. What it cannot
// look into is a comparison, and those of several bits are one instruction (R2P).
std::string CodeGenCuda::PrintVoted(const Expr& arg) {
  const Expr* compared = ComparedWithZero(arg);
  if (!compared) return Print(arg).text;
  return fmt::format(
      "{}((unsigned int){})",
      UseHelper("tern_opaque",
                "static __device__ __forceinline__ unsigned int tern_opaque(unsigned int x) {\n"
                "  unsigned int same;\n"
                "  asm(\"mov.b32 %0, %1;\" : \"=r\"(same) : \"r\"(x));\n"
                "  return same;\n"
                "}\n"),
      Print(*compared, Precedence::kUnary));
}

std::string CodeGenCuda::FunctionName(const ir::CallNode* node) {
  return FunctionOf(node->name, node->dtype);
}

Code CodeGenCuda::PrintReinterpret(const ir::CallNode* node) {
  DataType from = node->args[0].dtype(), to = node->dtype;
  if (from == to) return Print(node->args[0]);
  std::string value = Print(node->args[0]).text;
  if (StoresFloat(from))
    return {fmt::format("({}){}({})", ValueType(to), ToBits(from), value), Precedence::kUnary};
  if (StoresFloat(to))
    return {fmt::format("{}((unsigned short){})", FromBits(to), "(" + value + ")")};
  if (from.is_float() && to.is_integer())
    return {fmt::format("({}){}({})", ValueType(to),
                        from.bits() == 64 ? "__double_as_longlong" : "__float_as_int", value),
            Precedence::kUnary};
  if (to.is_float())
    return {
        fmt::format("{}({})", to.bits() == 64 ? "__longlong_as_double" : "__int_as_float", value)};
  return {fmt::format("({})({})", ValueType(to), value), Precedence::kUnary};
}

Code CodeGenCuda::PrintConversion(const ir::CastNode* node) {
  if (!StoresFloat(node->dtype)) return CodeGenC::PrintConversion(node);
  // Rounded as memory would. A double is rounded once.
  TERN_ICHECK(node->value.dtype() == DataType::Float(32) || StoresFloat(node->value.dtype()))
      << "a conversion from " << node->value.dtype().str() << " to " << node->dtype.str();
  std::string from = FromBits(node->dtype), to = ToBits(node->dtype);
  return {fmt::format("{}({}({}))", from, to, PrintToRound(node->value))};
}

// Of a reduction that is kept in registers, one instruction, which takes the other one of a number
// and NaN: where the order is free, so is what a reduction makes of NaN. Others, as those that clip
// by a constant, keep it.
Code CodeGenCuda::PrintMinMax(ir::ExprKind kind, const Expr& a, const Expr& b) {
  if (IsPacked(a.dtype())) return PrintPackedMinMax(kind, a, b);
  const auto* kept = a.As<ir::BufferLoadNode>();
  if (!reassociates_ || a.dtype() != DataType::Float(32) || !kept ||
      kept->buffer->scope != ir::StorageScope::kLocal || b.As<ir::FloatImmNode>())
    return CodeGenC::PrintMinMax(kind, a, b);
  std::string left = PrintConverted(a);
  return {fmt::format("{}({}, {})", kind == ir::ExprKind::kMin ? "fminf" : "fmaxf", left,
                      PrintConverted(b))};
}

// "" where it is something else.
std::string CodeGenCuda::PrintOnePlusErf(const Expr& a, const Expr& b) {
  const auto* one = a.As<ir::FloatImmNode>();
  const auto* erf = b.As<ir::CallNode>();
  if (!one) return erf || !b.As<ir::FloatImmNode>() ? "" : PrintOnePlusErf(b, a);
  if (one->value != 1 || !erf || !coarse_errors_.count(erf)) return "";
  return fmt::format("{}({})", UseHelper("tern_one_plus_erf", kOnePlusErf),
                     Print(erf->args[0]).text);
}

// Of exp the machine's power of two is enough then, which has more digits than are left; so is
// (a - b) * c as a * c - b * c, rounded once, where all rows of an a have one b.
std::string CodeGenCuda::PrintToRound(const Expr& value) {
  const auto* call = value.As<ir::CallNode>();
  if (!call || call->name != "exp" || value.dtype() != DataType::Float(32))
    return Print(value).text;
  double factor = std::numbers::log2e;
  Expr exponent = call->args[0];
  if (const auto* product = exponent.As<ir::MulNode>())
    if (const auto* number = product->b.As<ir::FloatImmNode>()) {
      factor *= number->value;
      exponent = product->a;
    }
  Expr scale = ir::MakeConst(DataType::Float(32), factor);
  const auto* difference = exponent.As<ir::SubNode>();
  std::string power = difference ? fmt::format("fmaf({}, {}, -({}))", Print(difference->a).text,
                                               Print(scale).text, Print(difference->b * scale).text)
                                 : Print(exponent * scale).text;
  return fmt::format("{}({})",
                     UseHelper("tern_exp2_f32",
                               "static __device__ __forceinline__ float tern_exp2_f32(float x) {\n"
                               "  float power;\n"
                               "  asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(power) : \"f\"(x));\n"
                               "  return power;\n}\n"),
                     power);
}

}  // namespace tern::backend::cuda
