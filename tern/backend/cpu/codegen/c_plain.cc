// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/c_plain.h"

#include <fmt/format.h>

#include <algorithm>

#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"
#include "tern/tir/visitor.h"

namespace tern::backend::cpu {
namespace {

constexpr const char* kWorkspace = "tern_workspace";
constexpr const char* kArena = "tern_arena";

// The functions that some function calls.
class Callees : public tir::StmtVisitor {
 public:
  std::set<std::string> names;

 private:
  using StmtVisitor::VisitNode;
  void VisitNode(const ir::CallNode* node) override {
    if (node->name == tir::intrinsic::kCallFunction)
      names.insert(node->args[0].As<ir::StringImmNode>()->value);
    VisitChildren(node);
  }
};

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

CodeGenCPlain::CodeGenCPlain(std::set<std::string> called) : called_(std::move(called)) {
  names_.Reserve(kWorkspace);
  names_.Reserve(kArena);
}

std::string CodeGenCPlain::Preamble() const {
  std::string text = Includes() + PrototypeLines();
  auto define = [&](const char* name, int64_t bytes, const char* what) {
    if (bytes > 0)
      text += fmt::format("\n// {}\nstatic uint8_t {}[{}] __attribute__((aligned({})));\n", what,
                          name, bytes, static_alignment_);
  };
  define(kWorkspace, workspace_bytes_,
         "Temporary memory of the functions, which therefore cannot run at the same time.");
  define(kArena, arena_bytes_, "What functions that call others keep between the calls.");
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
  std::string head = AddPrototype(
      function->name, fmt::format("{}({})", function->name, params.empty() ? "void" : params));
  Callees callees;
  callees.VisitFunction(function);
  is_caller_ = !callees.names.empty();
  TERN_CHECK(!is_caller_ || !called_.contains(function->name))
      << "function " << function->name
      << " calls functions and is called: plain functions that share static memory call only those "
         "that call none";
  return called_.contains(function->name) ? MakeInternal(function->name) : head;
}

void CodeGenCPlain::EmitCall(const ir::CallNode* node) {
  if (node->name != tir::intrinsic::kCallFunction) return CodeGenCHost::EmitCall(node);
  std::string args;
  for (size_t i = 1; i < node->args.size(); ++i) {
    const auto* tensor = node->args[i].As<ir::CallNode>();
    bool is_tensor = tensor && tir::IsTensorArgument(tensor);
    args += i == 1 ? "" : ", ";
    args += is_tensor ? "(void*)(" + PrintConverted(tensor->args[1]) + ")"
                      : PrintConverted(node->args[i]);
  }
  Line(fmt::format("if ({}({}) != 0) return -1;", node->args[0].As<ir::StringImmNode>()->value,
                   args));
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
  int64_t& bytes = is_caller_ ? arena_bytes_ : workspace_bytes_;
  bytes = std::max(bytes, ConstantSize(node->buffer));
  static_alignment_ = std::max(static_alignment_, node->buffer->alignment);
  DefineArray(node->buffer, is_caller_ ? kArena : kWorkspace, StorageType(node->buffer->dtype));
}

std::string CodeGenCPlain::FunctionName(const ir::CallNode* node) {
  if (node->name != "sqrt" || !tir::IsWideFloat(node->dtype)) return "";
  std::string name = "tern_sqrt_" + TypeSuffix(node->dtype);
  return UseHelper(name, SquareRoot(name, node->dtype.bits() == 64));
}

CSource WritePlainC(const ir::IRModule& module) {
  Callees callees;
  for (const auto& [name, function] : module->functions)
    callees.VisitFunction(tir::AsPrimFunc(function));
  CodeGenCPlain gen(callees.names);
  for (const auto& [name, function] : module->functions) gen.AddFunction(tir::AsPrimFunc(function));
  return {gen.Finish(), gen.prototypes(), gen.static_bytes()};
}

}  // namespace tern::backend::cpu
