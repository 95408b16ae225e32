// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/opencl/codegen/codegen_opencl.h"

#include <fmt/format.h>

#include <cmath>

#include "tern/codegen/kernel_info.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/print_call.h"

namespace tern::backend::opencl {

using codegen::Code;
using codegen::Precedence;

namespace {

// The one narrow float that the language stores; as a value it is a float, unless the device has
// the extension for it.
bool IsHalf(DataType dtype) { return dtype.element() == DataType::Float(16); }

std::string ScopeQualifier(ir::StorageScope scope) {
  if (scope == ir::StorageScope::kGlobal) return "__global ";
  if (ir::IsSharedScope(scope)) return "__local ";
  TERN_ICHECK(scope == ir::StorageScope::kLocal)
      << "scope " << scope << " has no address space in OpenCL";
  return "";
}

const char* IntegerName(DataType dtype) {
  switch (dtype.bits()) {
    case 8:
      return dtype.is_uint() ? "uchar" : "char";
    case 16:
      return dtype.is_uint() ? "ushort" : "short";
    case 32:
      return dtype.is_uint() ? "uint" : "int";
    default:
      return dtype.is_uint() ? "ulong" : "long";
  }
}

bool HasLanes(int lanes) {
  return lanes == 2 || lanes == 3 || lanes == 4 || lanes == 8 || lanes == 16;
}

std::string WithLanes(const std::string& element, DataType dtype) {
  if (dtype.is_scalar()) return element;
  int lanes = dtype.lanes();
  TERN_ICHECK(HasLanes(lanes)) << dtype.str()
                               << " was not lowered: OpenCL has vectors of 2, 3, 4, 8 and 16 lanes";
  return element + std::to_string(lanes);
}

// The language's function for an intrinsic, or "".
std::string FunctionOf(const std::string& intrinsic, DataType dtype) {
  if (dtype.is_integer()) return intrinsic == "popcount" || intrinsic == "clz" ? intrinsic : "";
  if (!tir::IsWideFloat(dtype)) return "";
  return codegen::MathFunction(intrinsic);
}

bool TakesVectorCall(const ir::CallNode* call) {
  DataType operand = call->args[0].dtype();
  if (operand.is_narrow_float() || call->dtype.is_narrow_float()) return false;
  bool is_operator = call->name.starts_with("bit_") || call->name.starts_with("shift_");
  return is_operator || call->name == tir::intrinsic::kReinterpret ||
         !FunctionOf(call->name, operand).empty();
}

}  // namespace

bool TakesVector(const ir::Expr& expr) {
  using ir::ExprKind;
  DataType dtype = expr.dtype();
  if (!HasLanes(dtype.lanes()) || dtype.is_bool()) return false;
  // Conversions that are written out choose between lanes.
  if (dtype.is_narrow_float() && !IsHalf(dtype)) return false;
  ExprKind kind = expr->kind;
  if (kind == ExprKind::kBufferLoad) {
    const auto* ramp = expr.As<ir::BufferLoadNode>()->indices.back().As<ir::RampNode>();
    return ramp && ir::IsConst(ramp->stride, 1);
  }
  if (const auto* call = expr.As<ir::CallNode>()) return TakesVectorCall(call);
  // Rounding and wrapping are written for scalars.
  bool computes = kind >= ExprKind::kAdd && kind <= ExprKind::kMax;
  if (computes && dtype.bits() < 32) return false;
  if (kind == ExprKind::kFloorDiv || kind == ExprKind::kFloorMod) return dtype.is_uint();
  return kind != ExprKind::kCast || !IsHalf(dtype);
}

CodeGenOpenCL::CodeGenOpenCL(bool has_fp16) : has_fp16_(has_fp16) {
  names_.Reserve(
      "auto break case char const continue default do double else enum extern float for goto if "
      "inline int long register "
      "restrict return short signed sizeof static struct switch typedef union unsigned void "
      "volatile while "
      "bool true false half uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t event_t "
      "sampler_t complex imaginary "
      "quad image1d_t image2d_t image3d_t kernel global local constant private read_only "
      "write_only read_write uniform pipe "
      "NULL INFINITY NAN HUGE_VAL HUGE_VALF MAXFLOAT");
  for (const char* element : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
                              "half", "float", "double", "bool"})
    names_.Reserve(fmt::format("{0}2 {0}3 {0}4 {0}8 {0}16", element));
  // Functions that are there without a declaration: a kernel cannot be called like one.
  names_.Reserve(
      "abs all any atan atan2 barrier ceil clamp cos cross degrees distance dot erf exp exp2 exp10 "
      "fabs floor fma fmax fmin fmod "
      "length log log2 log10 mad max min mix normalize pow prefetch printf radians rint rotate "
      "round rsqrt select shuffle "
      "sign sin sqrt step tan tanh trunc "
      "acos acosh acospi asin asinh asinpi atan2pi atanh atanpi cbrt clz copysign cosh cospi erfc "
      "expm1 fdim fract frexp hypot ilogb ldexp lgamma log1p logb maxmag minmag modf nan nextafter "
      "popcount pown powr remainder remquo rootn sincos sinh sinpi tanpi tgamma mad24 mul24 mad_hi "
      "mul_hi hadd rhadd add_sat sub_sat upsample isequal isfinite isinf isnan isnormal signbit "
      "bitselect");
}

std::string CodeGenOpenCL::ValueType(DataType dtype) {
  if (dtype.is_bool()) {
    TERN_ICHECK(dtype.is_scalar())
        << dtype.str() << " was not lowered: OpenCL has no vectors of bool";
    return "bool";
  }
  TERN_ICHECK(!dtype.is_handle()) << "a pointer is used as a value in a kernel";
  if (IsHalf(dtype) && has_fp16_) {
    uses_fp16_ = true;
    return WithLanes("half", dtype);
  }
  if (dtype.is_float()) {
    uses_fp64_ |= dtype.bits() == 64;
    return WithLanes(dtype.bits() == 64 ? "double" : "float", dtype);
  }
  return WithLanes(IntegerName(dtype), dtype);
}

std::string CodeGenOpenCL::StorageType(DataType dtype) {
  if (dtype.is_bool()) return "uchar";
  return IsBoxedHalf(dtype) ? "half" : ValueType(dtype);
}

std::string CodeGenOpenCL::PointerType(const std::string& storage, ir::StorageScope scope,
                                       bool is_const) {
  return ScopeQualifier(scope) + CodeGenC::PointerType(storage, scope, is_const);
}

std::string CodeGenOpenCL::FloatLiteral(DataType dtype, double value) {
  std::string text = CodeGenC::FloatLiteral(dtype, value);
  return IsHalf(dtype) && has_fp16_ ? "((half)" + text + ")" : text;
}

std::string CodeGenOpenCL::NonFiniteLiteral(DataType, double value) {
  return std::isnan(value) ? "NAN" : value < 0 ? "-INFINITY" : "INFINITY";
}

std::string CodeGenOpenCL::Preamble() const {
  // A product and a sum are two operations, each rounded (docs/numerics.md).
  std::string text = "// Written by Tern.\n#pragma OPENCL FP_CONTRACT OFF\n";
  if (uses_fp16_) text += "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
  return uses_fp64_ ? text + "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : text;
}

// ---- Functions.

std::string CodeGenOpenCL::FunctionHead(const tir::PrimFunc& function) {
  std::string params = BeginKernel(function, "OpenCL C");
  // Memory whose size the launch gives is the parameter behind the others.
  if (ir::Buffer buffer = codegen::DynamicShared(function)) {
    std::string name = DefineBuffer(buffer);
    DefineAddress(buffer, name);
    params += (params.empty() ? "" : ", ") +
              PointerType(StorageType(buffer->dtype), buffer->scope, false) + " " + name;
  }
  return fmt::format("__kernel void {}({})", function->name, params);
}

std::string CodeGenOpenCL::PrintParam(const tir::Param& param) {
  if (param.is_tensor()) {
    bool is_const = !usage().written.contains(param.var.node());
    std::string name = DefineBuffer(param.buffer);
    DefineAddress(param.buffer, name);
    return PointerType(StorageType(param.buffer->dtype), ir::StorageScope::kGlobal, is_const) +
           " " + name;
  }
  DataType dtype = param.var.dtype();
  std::string name = DefineVar(param.var);
  // Arguments have the size of a type in memory, and bool is no type of arguments.
  if (dtype.is_bool()) return "uchar " + name;
  return ValueType(dtype) + " " + name;
}

std::string CodeGenOpenCL::ThreadIndex(const std::string& axis) {
  std::string_view space = axis.starts_with("blockIdx.")    ? "group"
                           : axis.starts_with("threadIdx.") ? "local"
                                                            : "";
  int dimension = axis.back() - 'x';
  TERN_ICHECK(!space.empty() && dimension >= 0 && dimension < 3)
      << "OpenCL has no thread axis " << axis;
  return fmt::format("get_{}_id({})", space, dimension);
}

// Where a work item is a hardware thread its arrays are to become registers. Drivers for processors
// make loops over the work items between barriers, and take long for long code there.
std::string CodeGenOpenCL::UnrollHint() {
  return UseHelper("TERN_UNROLL",
                   "#ifdef TERN_CPU\n"
                   "#define TERN_UNROLL\n"
                   "#else\n"
                   "#define TERN_UNROLL _Pragma(\"unroll\")\n"
                   "#endif\n");
}

// ---- Memory.

void CodeGenOpenCL::EmitAllocate(const tir::AllocateNode* node) {
  const ir::Buffer& buffer = node->buffer;
  if (buffer->scope == ir::StorageScope::kSharedDynamic) return;  // a parameter
  bool is_shared = buffer->scope == ir::StorageScope::kShared;
  std::string name = is_shared ? DefineHoistedBuffer(buffer) : DefineBuffer(buffer);
  DefineAddress(buffer, name);
  int64_t size = ConstantSize(buffer);
  std::string qualifier = ScopeQualifier(buffer->scope);
  TERN_ICHECK(is_shared || buffer->scope == ir::StorageScope::kLocal)
      << "buffer " << buffer->name << " of scope " << buffer->scope;
  // Shared memory is declared in the outermost scope of a kernel.
  auto declare = [&](const std::string& text) { is_shared ? HoistLine(text) : Line(text); };
  if (is_shared) NoteShared(buffer, size);
  if (!IsBoxedHalf(buffer->dtype)) {
    declare(fmt::format("{}{} {}[{}]{};", qualifier, StorageType(buffer->dtype), name, size,
                        AlignmentAttribute(buffer)));
    return;
  }
  // There are pointers to half, but no arrays of it.
  std::string bits =
      is_shared ? names_.DefineOutermost(name + "_bits") : names_.Define(name + "_bits");
  declare(fmt::format("{}ushort {}[{}]{};", qualifier, bits, size, AlignmentAttribute(buffer)));
  declare(fmt::format("{0}half* {1} = ({0}half*){2};", qualifier, name, bits));
}

std::string CodeGenOpenCL::PrintPlace(const ir::Buffer& buffer, const ir::Expr& index) {
  if (index.dtype().is_scalar()) return PrintConverted(index) + ", " + NameOf(buffer);
  auto* ramp = index.As<ir::RampNode>();
  TERN_ICHECK(ramp && ir::IsConst(ramp->stride, 1))
      << "an access of " << buffer->name
      << " to elements that are not next to each other was not lowered to scalars";
  TERN_ICHECK(!buffer->dtype.is_bool())
      << "a vector access of " << buffer->name
      << " was not lowered to scalars: OpenCL has no vectors of " << buffer->dtype.str();
  return fmt::format("0, {} + {}", NameOf(buffer),
                     PrintConverted(ramp->base, Precedence::kMultiplicative));
}

Code CodeGenOpenCL::PrintLoad(const ir::BufferLoadNode* node) {
  DataType dtype = node->dtype;
  if (dtype.is_scalar() && !IsBoxedHalf(dtype)) return CodeGenC::PrintLoad(node);
  std::string function = WithLanes(IsBoxedHalf(dtype) ? "vload_half" : "vload", dtype);
  return {fmt::format("{}({})", function, PrintPlace(node->buffer, node->indices[0]))};
}

void CodeGenOpenCL::EmitStore(const tir::BufferStoreNode* node) {
  DataType dtype = node->value.dtype();
  if (dtype.is_scalar() && !IsBoxedHalf(dtype)) return CodeGenC::EmitStore(node);
  std::string function =
      IsBoxedHalf(dtype) ? WithLanes("vstore_half", dtype) + "_rte" : WithLanes("vstore", dtype);
  const auto* load = node->value.As<ir::BufferLoadNode>();
  if (load && IsBoxedHalf(dtype) && dtype.is_scalar()) {
    // What is copied is not converted: a driver may do that in software.
    auto element = [&](const ir::Buffer& buffer, const char* type, const ir::Expr& index) {
      return fmt::format("(({}{}*){})[{}]", ScopeQualifier(buffer->scope), type, NameOf(buffer),
                         PrintConverted(index));
    };
    return Line(element(node->buffer, "ushort", node->indices[0]) + " = " +
                element(load->buffer, "const ushort", load->indices[0]) + ";");
  }
  // Storing rounds, so the value need not be rounded before.
  const auto* cast = node->value.As<ir::CastNode>();
  std::string value = Print(IsBoxedHalf(dtype) && cast ? cast->value : node->value).text;
  Line(fmt::format("{}({}, {});", function, value, PrintPlace(node->buffer, node->indices[0])));
}

// By the functions of OpenCL C 1.2, of 64 bits by those of an extension; floats by a loop of
// compare-exchange.
std::string CodeGenOpenCL::UseAtomic(const tir::Atomic& atomic) {
  using enum tir::AtomicKind;
  static const std::map<tir::AtomicKind, const char*> kWords = {
      {kAdd, "add"}, {kMin, "min"}, {kMax, "max"},       {kAnd, "and"},
      {kOr, "or"},   {kXor, "xor"}, {kExchange, "xchg"}, {kCompareExchange, "cmpxchg"}};
  DataType dtype = atomic.dtype();
  TERN_CHECK(!atomic.seq_cst) << ir::At(atomic.element->span) << "OpenCL C 1.2 has no "
                              << atomic.name() << " of order seq_cst; \"relaxed\" is there";
  bool is_wide = dtype.bits() == 64;
  ir::StorageScope scope = atomic.element->buffer->scope;
  bool is_local = IsSharedScope(scope);
  std::string name = AtomicHelperName(atomic) + (is_local ? "_local" : "");
  std::string type = ValueType(dtype), prefix = is_wide ? "atom_" : "atomic_";
  std::string bits = is_wide ? "ulong" : "uint";
  std::string pointer = std::string("volatile ") + (is_local ? "__local " : "__global ");
  std::string head = is_wide ? "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
                               "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"
                             : "";
  head += fmt::format("static {0} {1}({2}{0}* p, {0} x{3}) {{\n", type, name, pointer,
                      atomic.operands.size() > 1 ? ", " + type + " y" : "");
  std::string body;
  if (!dtype.is_float())
    body = fmt::format("  return {}{}(p, x{});\n", prefix, kWords.at(atomic.kind),
                       atomic.operands.size() > 1 ? ", y" : "");
  else if (atomic.kind == kExchange)
    body = fmt::format("  return as_{}({}xchg(({}{}*)p, as_{}(x)));\n", type, prefix, pointer, bits,
                       bits);
  else
    body = fmt::format(
        "  {0}{1}* q = ({0}{1}*)p;\n"
        "  {1} seen = *q, before;\n"
        "  {2} old;\n"
        "  do {{\n"
        "    before = seen;\n"
        "    old = as_{2}(before);\n"
        "    seen = {3}cmpxchg(q, before, as_{1}(({2})({4})));\n"
        "  }} while (seen != before);\n"
        "  return old;\n",
        pointer, bits, type, prefix, AtomicUpdate(atomic.kind, "old", "x"));
  return UseHelper(name, head + body + "}\n");
}

void CodeGenOpenCL::EmitCall(const ir::CallNode* node) {
  if (node->name == tir::intrinsic::kPrint) return EmitPrintf(node, "l", "long");
  if (node->name != tir::intrinsic::kBarrier) return CodeGenC::EmitCall(node);
  bool orders_global = tir::BarrierKindOf(node) == tir::BarrierKind::kGlobal;
  Line(fmt::format("barrier(CLK_LOCAL_MEM_FENCE{});",
                   orders_global ? " | CLK_GLOBAL_MEM_FENCE" : ""));
}

std::string CodeGenOpenCL::FunctionName(const ir::CallNode* node) {
  return FunctionOf(node->name, node->dtype);
}

Code CodeGenOpenCL::PrintReinterpret(const ir::CallNode* node) {
  DataType from = node->args[0].dtype(), to = node->dtype;
  if (from == to) return Print(node->args[0]);
  TERN_ICHECK((!IsBoxedHalf(from) && !IsBoxedHalf(to)) || to.is_scalar())
      << "reinterpret between " << from.str() << " and " << to.str();
  // A half is a half in memory alone.
  if (IsBoxedHalf(from)) {
    UseHelper("tern_half_bits",
              "static ushort tern_half_bits(float x) {\n"
              "  ushort bits;\n"
              "  vstore_half_rte(x, 0, (half*)&bits);\n"
              "  return bits;\n"
              "}\n");
    std::string bits = "tern_half_bits(" + Print(node->args[0]).text + ")";
    return {to.is_int() ? "as_short(" + bits + ")" : bits};
  }
  if (IsBoxedHalf(to)) {
    UseHelper(
        "tern_half",
        "static float tern_half(ushort bits) { return vload_half(0, (const half*)&bits); }\n");
    return {"tern_half(" + PrintConverted(node->args[0]) + ")"};
  }
  return {fmt::format("as_{}({})", ValueType(node->dtype), Print(node->args[0]).text)};
}

// ---- Vectors.

Code CodeGenOpenCL::PrintConversion(const ir::CastNode* node) {
  if (IsBoxedHalf(node->dtype)) {
    // Rounded as memory would.
    TERN_ICHECK(node->dtype.is_scalar()) << "a conversion to " << node->dtype.str();
    UseHelper("tern_round_half",
              "static float tern_round_half(float x) {\n"
              "  ushort bits;\n"
              "  vstore_half_rte(x, 0, (half*)&bits);\n"
              "  return vload_half(0, (half*)&bits);\n"
              "}\n");
    return {"tern_round_half(" + Print(node->value).text + ")"};
  }
  if (node->dtype.is_scalar()) return CodeGenC::PrintConversion(node);
  std::string type = ValueType(node->dtype);
  if (type == ValueType(node->value.dtype())) return Print(node->value);
  return {fmt::format("convert_{}({})", type, Print(node->value).text)};
}

Code CodeGenOpenCL::PrintRamp(const ir::RampNode* node) {
  std::string steps;
  for (int64_t i = 0; i < node->lanes; ++i) steps += (i == 0 ? "" : ", ") + std::to_string(i);
  std::string base = PrintConverted(node->base, Precedence::kAdditive);
  std::string stride = PrintConverted(node->stride, Precedence::kMultiplicative);
  return {fmt::format("{} + {} * ({})({})", base, stride, ValueType(node->dtype), steps),
          Precedence::kAdditive};
}

Code CodeGenOpenCL::PrintBroadcast(const ir::BroadcastNode* node) {
  return {fmt::format("({})({})", ValueType(node->dtype), PrintConverted(node->value)),
          Precedence::kUnary};
}

Code CodeGenOpenCL::PrintShuffle(const ir::ShuffleNode* node) {
  std::vector<std::string> lanes;
  for (const ir::Expr& vector : node->vectors) {
    std::string text = Print(vector, Precedence::kPrimary);
    if (vector.dtype().is_scalar()) lanes.push_back(text);
    for (int i = 0; i < vector.dtype().lanes() && !vector.dtype().is_scalar(); ++i)
      lanes.push_back(fmt::format("{}.s{:x}", text, i));
  }
  if (node->dtype.is_scalar()) return {lanes[node->indices[0]]};
  std::string taken;
  for (int64_t index : node->indices) taken += (taken.empty() ? "" : ", ") + lanes[index];
  return {fmt::format("({})({})", ValueType(node->dtype), taken), Precedence::kUnary};
}

}  // namespace tern::backend::opencl
