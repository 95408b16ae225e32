// SPDX-License-Identifier: Apache-2.0
//
// Types, functions and memory; what is computed is in expressions.cc.
#include "tern/backend/metal/codegen/codegen_metal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tern/codegen/kernel_info.h"
#include "tern/tir/analysis/vector_move.h"

namespace tern::backend::metal {

using codegen::Code;
using codegen::Precedence;

namespace {

constexpr int kMaxBuffers = 31;
constexpr int kFirstWithAddresses = 300;

bool IsStoredFloat(DataType dtype) {
  return dtype.element() == DataType::Float(16) || dtype.element() == DataType::Bfloat16();
}

std::string AddressSpace(ir::StorageScope scope) {
  if (scope == ir::StorageScope::kGlobal) return "device ";
  if (ir::IsSharedScope(scope)) return "threadgroup ";
  TERN_ICHECK(scope == ir::StorageScope::kLocal)
      << "scope " << scope << " has no address space in Metal";
  return "thread ";
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

std::string WithLanes(const std::string& element, DataType dtype) {
  if (dtype.is_scalar()) return element;
  TERN_ICHECK(dtype.lanes() >= 2 && dtype.lanes() <= 4)
      << dtype.str() << " was not lowered: Metal has vectors of 2, 3 and 4 lanes";
  return element + std::to_string(dtype.lanes());
}

int64_t CountTensors(const tir::PrimFunc& function) {
  return std::count_if(function->params.begin(), function->params.end(),
                       [](const tir::Param& param) { return param.is_tensor(); });
}

}  // namespace

int LanguageVersion(const target::Target& target) {
  std::string version = target->GetString("msl");
  return (version[0] - '0') * 100 + (version[2] - '0') * 10;
}

CodeGenMetal::CodeGenMetal(const target::Target& target)
    : target_(target), has_lanes_(target::WarpSize(target) > 0) {
  names_.Reserve(
      "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
      "char32_t class compl const constexpr const_cast continue decltype default delete do double "
      "dynamic_cast else enum explicit export extern false float for friend goto if inline int "
      "long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected "
      "public register reinterpret_cast return short signed sizeof static static_assert "
      "static_cast struct switch template this thread_local throw true try typedef typeid typename "
      "union unsigned using virtual void volatile wchar_t while xor xor_eq");
  names_.Reserve(
      "device threadgroup thread constant kernel vertex fragment visible metal as_type half bfloat "
      "uchar ushort uint ulong size_t ptrdiff_t int8_t uint8_t int16_t uint16_t int32_t uint32_t "
      "int64_t uint64_t atomic_int atomic_uint atomic_bool sampler vec matrix packed_vec tern_args "
      "tern_block tern_thread tern_lane tern_lanes tern_index tern_size tern_rest precise fast "
      "main NULL INFINITY NAN MAXFLOAT mem_flags "
      "threadgroup_barrier simdgroup_barrier simd_vote discard_fragment");
  for (const char* element : {"bool", "char", "uchar", "short", "ushort", "int", "uint", "long",
                              "ulong", "half", "bfloat", "float", "double"})
    names_.Reserve(fmt::format("{0}2 {0}3 {0}4 packed_{0}2 packed_{0}3 packed_{0}4", element));
  // Functions that are there: a kernel cannot be called like one.
  for (const std::string& intrinsic : codegen::MathIntrinsics())
    names_.Reserve(codegen::MathFunction(intrinsic));
  names_.Reserve(
      "abs absdiff acosh addsat all any asinh atanh clamp clz copysign cospi cross ctz degrees "
      "distance divide dot exp10 extract_bits fdim fmax fmin fmod fract frexp hadd ilogb "
      "insert_bits isfinite isinf isnan isnormal isunordered ldexp length mad24 madhi madsat max "
      "max3 median3 min min3 mix modf mul24 mulhi nextafter normalize popcount powr radians "
      "reflect "
      "refract reverse_bits rhadd rotate round saturate select sign signbit sincos sinpi step "
      "smoothstep subsat tanpi transpose determinant simd_all simd_any simd_ballot simd_broadcast "
      "simd_max simd_min simd_prefix_exclusive_sum simd_product simd_shuffle simd_shuffle_down "
      "simd_shuffle_up simd_shuffle_xor simd_sum quad_sum quad_shuffle simdgroup_load "
      "simdgroup_store simdgroup_multiply simdgroup_multiply_accumulate simdgroup_matrix "
      "make_filled_simdgroup_matrix make_diagonal_simdgroup_matrix simdgroup_float8x8 "
      "simdgroup_half8x8 simdgroup_bfloat8x8");
}

// ---- Types.

std::string CodeGenMetal::ValueType(DataType dtype) {
  TERN_ICHECK(!dtype.is_handle()) << "a pointer is used as a value in a kernel";
  if (dtype.is_bool()) {
    TERN_ICHECK(dtype.is_scalar()) << dtype.str() << " was not lowered";
    return "bool";
  }
  if (!dtype.is_float()) return WithLanes(IntegerName(dtype), dtype);
  TERN_CHECK(dtype.bits() != 64) << "kernel " << name_ << " has values of " << dtype.str()
                                 << ", which Metal does not have; compute in float32";
  return WithLanes("float", dtype);
}

std::string CodeGenMetal::StorageType(DataType dtype) {
  if (dtype.is_bool()) return "uchar";
  if (!IsStoredFloat(dtype)) return ValueType(dtype);
  return WithLanes(dtype.element() == DataType::Float(16) ? "half" : "bfloat", dtype);
}

std::string CodeGenMetal::PointerType(const std::string& storage, ir::StorageScope scope,
                                      bool is_const) {
  return AddressSpace(scope) + CodeGenC::PointerType(storage, scope, is_const);
}

std::string CodeGenMetal::NonFiniteLiteral(DataType, double value) {
  return std::isnan(value) ? "NAN" : value < 0 ? "-INFINITY" : "INFINITY";
}

// ---- Functions.

std::string CodeGenMetal::Preamble() const {
  // The first line says to the runtime what to compile with. A product and a sum are two
  // operations, each rounded, and NaN is a number to think of (docs/numerics.md).
  std::string text = fmt::format(
      "// MSL {}, written by Tern.\n"
      "#include <metal_stdlib>\n"
      "#if __METAL_VERSION__ >= 320\n"
      "#pragma METAL fp math_mode(safe)\n"
      "#pragma METAL fp contract(off)\n"
      "#else\n"
      "#pragma clang fp contract(off)\n"
      "#endif\n"
      "using namespace metal;\n",
      target_->GetString("msl"));
  if (addresses_.empty() && numbers_.empty()) return text;
  return text + "\nstruct tern_args_t {\n" + addresses_ + numbers_ + "};\n";
}

std::string CodeGenMetal::FunctionHead(const tir::PrimFunc& function) {
  name_ = function->name;
  matrices_.Begin(function);
  int64_t tensors = CountTensors(function);
  bool has_numbers = tensors < static_cast<int64_t>(function->params.size());
  by_address_ = tensors + has_numbers > kMaxBuffers;
  TERN_CHECK(!by_address_ || LanguageVersion(target_) >= kFirstWithAddresses)
      << "kernel " << function->name << " has " << tensors
      << " tensors; with -msl=" << target_->GetString("msl") << " there are " << kMaxBuffers
      << " places for them and for all numbers together; -msl=3.0 takes more";
  std::string params = BeginKernel(function, "the Metal Shading Language");
  auto add = [&](const std::string& param) { params += (params.empty() ? "" : ", ") + param; };
  if (by_address_ || has_numbers)
    add(fmt::format("constant tern_args_t& tern_args [[buffer({})]]", num_buffers_));
  if (ir::Buffer shared = codegen::DynamicShared(function)) {
    std::string name = DefineHoistedBuffer(shared);
    DefineAddress(shared, name);
    add(fmt::format("{} {} [[threadgroup(0)]]",
                    PointerType(StorageType(shared->dtype), shared->scope, false), name));
  }
  add("uint3 tern_block [[threadgroup_position_in_grid]]");
  add("uint3 tern_thread [[thread_position_in_threadgroup]]");
  threads_ = codegen::BlockThreads(function);
  if (has_lanes_) add(LaneParams());
  std::string most =
      threads_ > 0 ? fmt::format("[[max_total_threads_per_threadgroup({})]]\n", threads_) : "";
  return fmt::format("{}kernel void {}({})", most, function->name, params);
}

// The last SIMD-group of a block may be smaller than the others.
std::string CodeGenMetal::LaneParams() {
  std::string lane = "uint tern_lane [[thread_index_in_simdgroup]]";
  if (has_full_groups()) return lane;
  HoistLine(
      "uint tern_rest = tern_size.x * tern_size.y * tern_size.z - tern_index / 32 * 32, "
      "tern_lanes = tern_rest < 32 ? tern_rest : 32;");
  return lane +
         ", uint tern_index [[thread_index_in_threadgroup]]"
         ", uint3 tern_size [[threads_per_threadgroup]]";
}

std::string CodeGenMetal::PrintParam(const tir::Param& param) {
  return param.is_tensor() ? PrintTensor(param) : PrintNumber(param);
}

std::string CodeGenMetal::PrintTensor(const tir::Param& param) {
  bool is_const = !usage().written.contains(param.var.node());
  std::string name = DefineBuffer(param.buffer);
  DefineAddress(param.buffer, name);
  std::string type =
      PointerType(StorageType(param.buffer->dtype), ir::StorageScope::kGlobal, is_const);
  if (!by_address_) return fmt::format("{} {} [[buffer({})]]", type, name, num_buffers_++);
  addresses_ += fmt::format("  {} {};\n", type, name);
  HoistLine(fmt::format("{0} {1} = tern_args.{1};", type, name));
  return "";
}

std::string CodeGenMetal::PrintNumber(const tir::Param& param) {
  DataType dtype = param.var.dtype();
  std::string name = DefineVar(param.var);
  numbers_ += fmt::format("  {} {};\n", StorageType(dtype), name);
  if (IsRead(param.var))
    HoistLine(fmt::format("{0} {1} = tern_args.{1}{2};", ValueType(dtype), name,
                          dtype.is_bool() ? " != 0" : ""));
  return "";
}

std::string CodeGenMetal::ThreadIndex(const std::string& axis) {
  TERN_ICHECK(axis.starts_with("blockIdx.") || axis.starts_with("threadIdx."))
      << "Metal has no thread axis " << axis;
  return (axis.starts_with("blockIdx.") ? "tern_block." : "tern_thread.") +
         axis.substr(axis.size() - 1);
}

// ---- Memory.

void CodeGenMetal::EmitAllocate(const tir::AllocateNode* node) {
  const ir::Buffer& buffer = node->buffer;
  if (buffer->scope == ir::StorageScope::kSharedDynamic) return;  // a parameter
  bool is_shared = buffer->scope == ir::StorageScope::kShared;
  TERN_ICHECK(is_shared || buffer->scope == ir::StorageScope::kLocal)
      << "buffer " << buffer->name << " of scope " << buffer->scope;
  std::string name = is_shared ? DefineHoistedBuffer(buffer) : DefineBuffer(buffer);
  int64_t size = ConstantSize(buffer);
  if (matrices_.Contains(buffer))
    return Line(
        fmt::format("{} {}[{}];", MatrixType(buffer->dtype), name, size / Matrices::kElements));
  std::string type = StorageType(buffer->dtype);
  DefineArray(buffer, name, type);
  std::string text = fmt::format("{}{} {}[{}]{};", is_shared ? "threadgroup " : "", type, name,
                                 size, AlignmentAttribute(buffer));
  if (!is_shared) return Line(text);
  // In the outermost scope of a kernel.
  NoteShared(buffer, size);
  HoistLine(text);
}

std::string CodeGenMetal::PackedPlace(const ir::Buffer& buffer, const ir::Expr& index,
                                      DataType dtype, bool is_const) {
  auto* ramp = index.As<ir::RampNode>();
  TERN_ICHECK(ramp && ir::IsConst(ramp->stride, 1) && !dtype.is_bool())
      << "a vector access of " << buffer->name << " was not lowered to scalars";
  return fmt::format("*({})({} + {})",
                     PointerType("packed_" + StorageType(dtype), buffer->scope, is_const),
                     NameOf(buffer), PrintConverted(ramp->base, Precedence::kMultiplicative));
}

std::string CodeGenMetal::Narrowed(DataType dtype, const std::string& value) {
  return fmt::format("{}({})", StorageType(dtype), value);
}

Code CodeGenMetal::PrintLoad(const ir::BufferLoadNode* node) {
  DataType dtype = node->dtype;
  if (dtype.is_scalar() && !IsStoredFloat(dtype)) return CodeGenC::PrintLoad(node);
  std::string element =
      dtype.is_scalar()
          ? fmt::format("{}[{}]", NameOf(node->buffer), PrintConverted(node->indices[0]))
          : Narrowed(dtype, PackedPlace(node->buffer, node->indices[0], dtype, true));
  return {IsStoredFloat(dtype) ? fmt::format("{}({})", ValueType(dtype), element) : element};
}

void CodeGenMetal::EmitStore(const tir::BufferStoreNode* node) {
  if (tir::IsMatrixStore(node)) return EmitMatrixStore(node);
  DataType dtype = node->value.dtype();
  bool is_float = IsStoredFloat(dtype);
  if (dtype.is_scalar() && !is_float) return CodeGenC::EmitStore(node);
  // Storing rounds, so the value need not be rounded before.
  const auto* cast = node->value.As<ir::CastNode>();
  bool rounds = is_float && cast && cast->value.dtype().element() == DataType::Float(32);
  std::string value = Print(rounds ? cast->value : node->value).text;
  if (is_float) value = Narrowed(dtype, value);
  std::string place = dtype.is_scalar() ? fmt::format("{}[{}]", NameOf(node->buffer),
                                                      PrintConverted(node->indices[0]))
                                        : PackedPlace(node->buffer, node->indices[0], dtype, false);
  if (!dtype.is_scalar()) value = fmt::format("packed_{}({})", StorageType(dtype), value);
  Line(fmt::format("{} = {};", place, value));
}

}  // namespace tern::backend::metal
