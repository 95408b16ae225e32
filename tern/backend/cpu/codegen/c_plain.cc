// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/c_plain.h"

#include <fmt/format.h>

#include <algorithm>

#include "tern/tir/intrinsic_rules.h"

namespace tern::backend::cpu {
namespace {

constexpr const char* kWorkspace = "tern_workspace";

// Names that compilers know without a declaration, and the names of the C library: a function
// cannot have one of them.
constexpr const char* kLibraryNames =
    "main abort abs acos acosh asin asinh assert atan atan2 atanh atexit atof atoi atol atoll "
    "bsearch "
    "cabs calloc carg cbrt ccos ceil cexp cimag clog clock conj copysign cos cosh cpow cproj creal "
    "csin csqrt ctan difftime div erf erfc errno exit exp exp2 expm1 fabs fdim floor fma fmax fmin "
    "fmod fprintf fputc fputs free frexp fscanf fwrite getenv hypot ilogb imaxabs isalnum isalpha "
    "isblank iscntrl isdigit isfinite isgraph isinf islower isnan isnormal isprint ispunct isspace "
    "isupper isxdigit labs ldexp ldiv lgamma llabs lldiv llrint llround log log10 log1p log2 logb "
    "longjmp lrint lround malloc memchr memcmp memcpy memmove memset mktime modf nan nearbyint "
    "nextafter nexttoward pow printf putchar puts qsort raise rand realloc remainder remove remquo "
    "rename rewind rint round scalbln scalbn scanf setjmp setlocale signal signbit sin sinh "
    "snprintf "
    "sprintf sqrt srand sscanf strcat strchr strcmp strcoll strcpy strcspn strerror strftime "
    "strlen "
    "strncat strncmp strncpy strpbrk strrchr strspn strstr strtod strtof strtok strtol strtoul "
    "strxfrm system tan tanh tgamma time tmpfile tmpnam tolower toupper trunc ungetc vfprintf "
    "vprintf "
    "vsnprintf vsprintf";

// The square root, rounded right, without a library: by the machine's instruction, or digit by
// digit.
constexpr const char* kSquareRoot = R"(static {type} {name}({type} x) {{
#if defined(__aarch64__)
  __asm__("fsqrt %{arm}0, %{arm}1" : "=w"(x) : "w"(x));
  return x;
#elif defined(__ARM_FP) && (__ARM_FP & {fpu})
  __asm__("vsqrt.f{bits} %{vfp}0, %{vfp}1" : "={reg}"(x) : "{reg}"(x));
  return x;
#elif defined(__SSE2__)
  __asm__("sqrts{sse} %1, %0" : "=x"(x) : "x"(x));
  return x;
#else
  union {{ {type} value; uint{bits}_t bits; }} u;
  u.value = x;
  if (x == 0 || u.bits >= {infinity}U{suffix}) {{  /* zeros, infinity, NaN, and what is negative */
    if (x < 0) u.bits = {nan}U{suffix};
    return u.value;
  }}
  int32_t exponent = (int32_t)(u.bits >> {mantissa}) - {bias};
  uint{bits}_t rest = u.bits & (((uint{bits}_t)1 << {mantissa}) - 1), root = 0, twice = 0;
  if (exponent == -{bias}) {{
    while (!(rest >> {mantissa})) {{
      rest <<= 1;
      --exponent;
    }}
    ++exponent;
  }} else {{
    rest |= (uint{bits}_t)1 << {mantissa};
  }}
  if (exponent % 2 != 0) {{
    rest <<= 1;
    --exponent;
  }}
  rest <<= 1;
  for (uint{bits}_t digit = (uint{bits}_t)1 << ({mantissa} + 1); digit; digit >>= 1) {{
    if (twice + digit <= rest) {{
      rest -= twice + digit;
      twice += 2 * digit;
      root += digit;
    }}
    rest <<= 1;
  }}
  if (rest) root += root & 1;
  u.bits = (root >> 1) + ((uint{bits}_t)(exponent / 2 + {bias} - 1) << {mantissa});
  return u.value;
#endif
}}
)";

std::string SquareRoot(const std::string& name, bool wide) {
  using fmt::arg;
  return fmt::format(
      kSquareRoot, arg("name", name), arg("type", wide ? "double" : "float"),
      arg("bits", wide ? 64 : 32), arg("arm", wide ? "d" : "s"), arg("vfp", wide ? "P" : ""),
      arg("reg", wide ? "w" : "t"), arg("fpu", wide ? 8 : 4), arg("sse", wide ? "d" : "s"),
      arg("suffix", wide ? "LL" : ""), arg("infinity", wide ? "0x7ff0000000000000" : "0x7f800000"),
      arg("nan", wide ? "0x7ff8000000000000" : "0x7fc00000"), arg("mantissa", wide ? 52 : 23),
      arg("bias", wide ? 1023 : 127));
}

}  // namespace

CodeGenCPlain::CodeGenCPlain() { names_.Reserve(kWorkspace); }

std::string CodeGenCPlain::Preamble() const {
  std::string text = Includes() + PrototypeLines();
  if (workspace_bytes_)
    text += fmt::format(
        "\n// Temporary memory of the functions, which therefore cannot run at the same time.\n"
        "static uint8_t {}[{}] __attribute__((aligned({})));\n",
        kWorkspace, workspace_bytes_, workspace_alignment_);
  return text;
}

std::string CodeGenCPlain::FunctionHead(const tir::PrimFunc& function) {
  CheckSymbol(function->name);
  codegen::NameTable reserved;
  reserved.Reserve(kLibraryNames);
  TERN_CHECK(names_.IsLegal(function->name) && reserved.IsLegal(function->name))
      << "function " << function->name
      << " cannot be written in C, where the name means something else; rename it";
  std::string params;
  for (const tir::Param& param : function->params)
    params += (params.empty() ? "" : ", ") + PrintParam(param);
  return AddPrototype(function->name,
                      fmt::format("{}({})", function->name, params.empty() ? "void" : params));
}

std::string CodeGenCPlain::PrintParam(const tir::Param& param) {
  if (!param.is_tensor()) return ValueType(param.var.dtype()) + " " + DefineVar(param.var);
  bool is_const = !usage().written.contains(param.var.node());
  std::string name = DefineBuffer(param.buffer);
  DefineAddress(param.buffer, name);
  return PointerType(StorageType(param.buffer->dtype), param.buffer->scope, is_const) + " " + name;
}

void CodeGenCPlain::EmitFunctionStart(const tir::PrimFunc& function) {
  for (const tir::Param& param : function->params)
    if (!IsRead(param.var)) Line(fmt::format("(void){};", NameOf(param.var.node())));
}

void CodeGenCPlain::EmitAssert(const tir::AssertNode* node) {
  Line(fmt::format("if ({}) return -1;", PrintNot(node->condition).text));
}

void CodeGenCPlain::EmitAllocate(const tir::AllocateNode* node) {
  if (node->buffer->scope != ir::StorageScope::kGlobal) return CodeGenCHost::EmitAllocate(node);
  workspace_bytes_ = std::max(workspace_bytes_, ConstantSize(node->buffer));
  workspace_alignment_ = std::max(workspace_alignment_, node->buffer->alignment);
  DefineArray(node->buffer, kWorkspace, StorageType(node->buffer->dtype));
}

std::string CodeGenCPlain::FunctionName(const ir::CallNode* node) {
  if (node->name != "sqrt" || !tir::IsWideFloat(node->dtype)) return "";
  std::string name = "tern_sqrt_" + TypeSuffix(node->dtype);
  return UseHelper(name, SquareRoot(name, node->dtype.bits() == 64));
}

CSource WritePlainC(const ir::IRModule& module) {
  CodeGenCPlain gen;
  for (const auto& [name, function] : module->functions) gen.AddFunction(tir::AsPrimFunc(function));
  return {gen.Finish(), gen.prototypes(), gen.has_workspace()};
}

}  // namespace tern::backend::cpu
