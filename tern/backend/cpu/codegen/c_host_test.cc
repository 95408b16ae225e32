// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/c_host.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>

#include "tern/backend/cpu/codegen/c_compiler.h"
#include "tern/backend/cpu/codegen/c_module.h"
#include "tern/codegen/c/arithmetic_cases.h"
#include "tern/codegen/load_linkable.h"
#include "tern/codegen/packed_test_function.h"
#include "tern/compile.h"
#include "tern/ffi/c_abi.h"
#include "tern/ffi/float16.h"
#include "tern/ffi/registry.h"

namespace tern::backend::cpu {
namespace {

namespace written {
#include "tern/ffi/host_abi.inc"
}  // namespace written

// What C files declare is what the ABI is.
static_assert(sizeof(written::TernAny) == sizeof(::TernAny));
static_assert(offsetof(written::TernAny, small_len) == offsetof(::TernAny, small_len));
static_assert(offsetof(written::TernAny, v) == offsetof(::TernAny, v_int));
static_assert(sizeof(written::TernEnv) == sizeof(::TernEnv));
static_assert(offsetof(written::TernEnv, module) == offsetof(::TernEnv, module));
static_assert(offsetof(written::TernEnv, raise) == offsetof(::TernEnv, raise));
static_assert(offsetof(written::TernEnv, call) == offsetof(::TernEnv, call));
static_assert(offsetof(written::TernEnv, alloc_workspace) == offsetof(::TernEnv, alloc_workspace));
static_assert(offsetof(written::TernEnv, free_workspace) == offsetof(::TernEnv, free_workspace));
static_assert(offsetof(written::TernEnv, parallel_for) == offsetof(::TernEnv, parallel_for));
static_assert(sizeof(written::TernTensorView) == sizeof(::TernTensorView));
static_assert(offsetof(written::TernTensorView, device_type) == offsetof(::TernTensorView, device));
static_assert(offsetof(written::TernTensorView, ndim) == offsetof(::TernTensorView, ndim));
static_assert(offsetof(written::TernTensorView, code) == offsetof(::TernTensorView, dtype));
static_assert(offsetof(written::TernTensorView, strides) == offsetof(::TernTensorView, strides));
static_assert(offsetof(written::TernTensorView, byte_offset) ==
              offsetof(::TernTensorView, byte_offset));

using codegen::Element;
using ir::Buffer;
using ir::BufferNode;
using ir::Expr;
using ir::Var;
using tir::ForKind;
using tir::Stmt;

Expr Call(const char* name, std::vector<Expr> args, DataType dtype = DataType::Void()) {
  return ir::CallNode::Make(name, std::move(args), dtype);
}
Expr Text(const char* text) { return ir::StringImmNode::Make(text); }

// A function in the packed convention, put together from its arguments inwards.
class PackedBuilder {
 public:
  explicit PackedBuilder(std::string name) : name_(std::move(name)) { Initialize(); }

  // The payload of the next argument, as a scalar or as the address of a buffer.
  Var Arg(const std::string& name, DataType dtype) {
    Var var(name, dtype);
    lets_.emplace_back(
        var, Call("ptr_load", {args, 16 * static_cast<int64_t>(lets_.size()) + 8}, dtype));
    return var;
  }
  Buffer BufferArg(const std::string& name, DataType dtype) {
    Var data = Arg(name + ".data", DataType::Handle());
    buffers_.push_back(
        BufferNode::Make(name, dtype, {Expr(1)}, {}, ir::StorageScope::kGlobal, data));
    return buffers_.back();
  }
  tir::PrimFunc Finish(Stmt body) {
    for (auto it = buffers_.rbegin(); it != buffers_.rend(); ++it)
      body = tir::DeclBufferNode::Make(*it, body);
    for (auto it = lets_.rbegin(); it != lets_.rend(); ++it)
      body = tir::LetStmtNode::Make(it->first, it->second, body);
    return tir::PrimFunc::Make(name_, {{env, {}}, {args, {}}, {num_args, {}}, {result, {}}}, body,
                               {{tir::attr::kCallingConvention,
                                 tir::CallingConventionName(tir::CallingConvention::kPacked)}});
  }

  Var env{"env", DataType::Handle()}, args{"args", DataType::Handle()},
      num_args{"num_args", DataType::Int(32)}, result{"result", DataType::Handle()};

 private:
  std::string name_;
  std::vector<std::pair<Var, Expr>> lets_;
  std::vector<Buffer> buffers_;
};

// Everything that is written in these tests compiles without a warning, with every compiler there
// is.
const std::vector<std::string>& StrictCompilers() {
  static const std::vector<std::string> compilers = [] {
    std::vector<std::string> found;
    for (const char* name : {"gcc", "clang", "clang-22"}) {
      try {
        CCompiler(name).Triple();
        found.push_back(std::string(name) + " -pedantic -Wall -Wextra -Werror");
      } catch (const Error&) {
      }
    }
    return found;
  }();
  return compilers;
}

// Compiles with all of them, and loads what the last one made.
ffi::Module Load(const std::vector<tir::PrimFunc>& functions) {
  std::vector<ir::BaseFunc> lowered;
  for (const tir::PrimFunc& function : functions)
    lowered.push_back(codegen::LowerForTest(function, target::Target::Parse("c")));
  CSource source = WriteC(ir::IRModule::Make(lowered));
  ffi::Module loaded;
  for (const std::string& compiler : StrictCompilers())
    loaded = codegen::LoadLinkable(ffi::Module(ffi::Make<CSourceModule>(source, compiler)));
  TERN_CHECK(loaded) << "there is no C compiler to test with";
  return loaded;
}

std::string BodyOf(const tir::PrimFunc& function) {
  std::string source = WriteC(ir::IRModule::Make({function})).text;
  size_t begin = source.find("\n// " + function->name + "\n");
  return source.substr(source.find("{\n", begin) + 2);
}

// void f(a*, b*, out*, n): out[i] = value(a[i], b[i])
tir::PrimFunc Elementwise(const std::string& name, DataType dtype,
                          const std::function<Expr(Expr, Expr)>& value) {
  PackedBuilder f(name);
  Buffer a = f.BufferArg("a", dtype), b = f.BufferArg("b", dtype), out = f.BufferArg("out", dtype);
  Var n = f.Arg("n", DataType::Int(64)), i("i");
  Expr x = ir::BufferLoadNode::Make(a, {i}), y = ir::BufferLoadNode::Make(b, {i});
  return f.Finish(tir::ForNode::Make(i, 0, n, ForKind::kSerial,
                                     tir::BufferStoreNode::Make(out, {i}, value(x, y))));
}

TEST(CHost, WritesAReadableFile) {
  tir::PrimFunc add = Elementwise("add", DataType::Float(32), [](Expr a, Expr b) { return a + b; });
  EXPECT_EQ(WriteC(ir::IRModule::Make({add})).text, R"(// Written by Tern.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

// The part of Tern's ABI that is used here.
typedef struct TernAny {
  int32_t type_index;
  uint32_t small_len;
  union {
    int64_t i;
    double f;
    const void* p;
    const char* s;
  } v;
} TernAny;

typedef struct TernEnv {
  uint32_t size;
  uint32_t version;
  void* module;
  void (*raise)(const struct TernEnv* env, const char* kind, const TernAny* parts, int32_t num_parts);
  int (*call)(const struct TernEnv* env, const char* name, const TernAny* args, int32_t num_args,
              TernAny* result);
  void* (*alloc_workspace)(const struct TernEnv* env, int32_t device_type, int32_t device_id,
                           int64_t bytes, int64_t alignment);
  void (*free_workspace)(const struct TernEnv* env, int32_t device_type, int32_t device_id,
                         void* memory);
  int (*parallel_for)(const struct TernEnv* env,
                      int (*body)(const struct TernEnv* env, int64_t begin, int64_t end,
                                  const void* captures),
                      int64_t extent, const void* captures);
} TernEnv;

typedef struct TernTensorView {
  void* data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  const int64_t* shape;
  const int64_t* strides;
  uint64_t byte_offset;
} TernTensorView;

int32_t __tern_add(const struct TernEnv* env, const struct TernAny* args, int32_t num_args, struct TernAny* result);

#define TERN_AT(type, p, offset) (*(type const*)((const char*)(p) + (offset)))

// add
int32_t __tern_add(const struct TernEnv* env, const struct TernAny* args, int32_t num_args, struct TernAny* result) {
  (void)env;
  (void)num_args;
  (void)result;
  void* a_data = TERN_AT(void*, args, 8);
  void* b_data = TERN_AT(void*, args, 24);
  void* out_data = TERN_AT(void*, args, 40);
  int64_t n = TERN_AT(int64_t, args, 56);
  const float* a = (const float*)a_data;
  const float* b = (const float*)b_data;
  float* out = (float*)out_data;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = a[i] + b[i];
  }
  return 0;
}
)");
}

template <class T>
class CHostArithmetic : public testing::Test {};
TYPED_TEST_SUITE(CHostArithmetic, codegen::ElementTypes<testing::Types>);

TYPED_TEST(CHostArithmetic, IsExact) {
  using T = TypeParam;
  auto cases = codegen::ArithmeticCases<T>();
  std::vector<tir::PrimFunc> functions;
  for (const auto& c : cases) functions.push_back(Elementwise(c.name, Element<T>::kType, c.build));
  ffi::Module module = Load(functions);
  std::vector<T> samples = codegen::Samples<T>(), a, b;
  for (T x : samples)
    for (T y : samples) a.push_back(x), b.push_back(y);
  for (const auto& c : cases) {
    std::vector<T> out(a.size());
    module->GetFunction(c.name)(static_cast<void*>(a.data()), static_cast<void*>(b.data()),
                                static_cast<void*>(out.data()), static_cast<int64_t>(a.size()));
    for (size_t i = 0; i < a.size(); ++i) {
      T expected = c.expected(a[i], b[i]);
      EXPECT_EQ(std::memcmp(&out[i], &expected, sizeof(T)), 0)
          << c.name << "(" << +Element<T>::Get(a[i]) << ", " << +Element<T>::Get(b[i]) << ") gave "
          << +Element<T>::Get(out[i]) << ", expected " << +Element<T>::Get(expected);
    }
  }
}

TEST(CHost, ConvertsEveryNarrowFloat) {
  for (DataType dtype : {DataType::Float(16), DataType::Bfloat16()}) {
    auto through_float = [&](Expr a, Expr) {
      Expr wide = ir::CastNode::Make(DataType::Float(32), a);
      return ir::CastNode::Make(dtype, wide * ir::MakeConst(DataType::Float(32), 1));
    };
    ffi::Module module = Load({Elementwise("same", dtype, through_float)});
    std::vector<uint16_t> in(65536), out(65536);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>(i);
    module->GetFunction("same")(static_cast<void*>(in.data()), static_cast<void*>(in.data()),
                                static_cast<void*>(out.data()), int64_t{65536});
    for (size_t i = 0; i < in.size(); ++i) {
      float value = dtype.is_bfloat16() ? Bfloat16ToFloat(in[i]) : HalfToFloat(in[i]);
      if (std::isnan(value)) {
        EXPECT_TRUE(
            std::isnan(dtype.is_bfloat16() ? Bfloat16ToFloat(out[i]) : HalfToFloat(out[i])));
      } else {
        EXPECT_EQ(out[i], in[i]) << dtype.str();
      }
    }
  }
}

// Stores constants and reads them back.
template <class T>
std::vector<T> RoundTrip(DataType dtype, const std::vector<Expr>& values) {
  PackedBuilder f("constants");
  Buffer out = f.BufferArg("out", dtype);
  std::vector<Stmt> stores;
  for (size_t i = 0; i < values.size(); ++i)
    stores.push_back(tir::BufferStoreNode::Make(out, {Expr(static_cast<int64_t>(i))}, values[i]));
  std::vector<T> result(values.size());
  Load({f.Finish(tir::SeqNode::Make(stores))})
      ->GetFunction("constants")(static_cast<void*>(result.data()));
  return result;
}

TEST(CHost, ConstantsAreExact) {
  constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min(),
                    kMax64 = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(
      RoundTrip<int64_t>(DataType::Int(64), {Expr(kMin64), Expr(kMax64), Expr(kMin64) + Expr(1),
                                             Expr(100000) * Expr(100000), Expr(-5)}),
      (std::vector<int64_t>{kMin64, kMax64, kMin64 + 1, 10000000000, -5}));
  auto i32 = [](int64_t value) { return ir::IntImmNode::Make(DataType::Int(32), value); };
  EXPECT_EQ(
      RoundTrip<int32_t>(DataType::Int(32), {i32(INT32_MIN), i32(INT32_MAX), i32(7) - i32(-7)}),
      (std::vector<int32_t>{INT32_MIN, INT32_MAX, 14}));
  auto u64 = [](uint64_t value) {
    return ir::IntImmNode::Make(DataType::UInt(64), static_cast<int64_t>(value));
  };
  EXPECT_EQ(RoundTrip<uint64_t>(DataType::UInt(64), {u64(UINT64_MAX), u64(1) - u64(2)}),
            (std::vector<uint64_t>{UINT64_MAX, UINT64_MAX}));
  for (double value : {0.1, 1e300, -0.0, 5e-324, HUGE_VAL, -HUGE_VAL, 123456789.0}) {
    double got = RoundTrip<double>(DataType::Float(64),
                                   {ir::FloatImmNode::Make(DataType::Float(64), value)})[0];
    EXPECT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(value)) << value;
    auto single = static_cast<float>(value);
    float got_single = RoundTrip<float>(DataType::Float(32),
                                        {ir::FloatImmNode::Make(DataType::Float(32), single)})[0];
    EXPECT_EQ(std::bit_cast<uint32_t>(got_single), std::bit_cast<uint32_t>(single)) << single;
  }
  EXPECT_TRUE(std::isnan(RoundTrip<float>(DataType::Float(32),
                                          {ir::FloatImmNode::Make(DataType::Float(32), NAN)})[0]));
}

TEST(CHost, ABoolIsAByteThatIsZeroOrOne) {
  PackedBuilder f("equal");
  Buffer a = f.BufferArg("a", DataType::Bool()), out = f.BufferArg("out", DataType::Bool());
  Expr first = ir::BufferLoadNode::Make(a, {Expr(0)}),
       second = ir::BufferLoadNode::Make(a, {Expr(1)});
  ffi::Module module =
      Load({f.Finish(tir::BufferStoreNode::Make(out, {Expr(0)}, first == second))});
  uint8_t in[] = {2, 1}, result = 9;
  module->GetFunction("equal")(static_cast<void*>(in), static_cast<void*>(&result));
  EXPECT_EQ(result, 1);
}

TEST(CHost, WritesFewParentheses) {
  PackedBuilder f("f");
  Buffer out = f.BufferArg("out", DataType::Int(64)),
         flags = f.BufferArg("flags", DataType::Bool());
  Var a = f.Arg("a", DataType::Int(64)), b = f.Arg("b", DataType::Int(64));
  auto store = [&](Expr value) { return tir::BufferStoreNode::Make(out, {Expr(0)}, value); };
  auto flag = [&](Expr value) { return tir::BufferStoreNode::Make(flags, {a * b + a}, value); };
  tir::PrimFunc function = f.Finish(tir::SeqNode::Make({
      store((a + b) * (a - (b - a))),
      store(a * b + a),
      store(ir::TruncDivNode::Make(a, ir::TruncModNode::Make(b, a * b))),
      store(ir::SelectNode::Make(a < b, a + 1, ir::SelectNode::Make(b < a, b, 0))),
      store(ir::SelectNode::Make(a < b, 1, 2) + a),
      flag((a < b && b < a) || (a == b && (a < 3 && b < 3))),
      flag((a < b) == (b < a)),
      flag(ir::NotNode::Make(a < b || b < a)),
      flag(ir::NotNode::Make(a == b)),
  }));
  std::string body = BodyOf(function);
  EXPECT_EQ(body.substr(body.find("  out[0]")), R"(  out[0] = (a + b) * (a - (b - a));
  out[0] = a * b + a;
  out[0] = a / (b % (a * b));
  out[0] = a < b ? a + 1 : b < a ? b : 0;
  out[0] = (a < b ? 1LL : 2LL) + a;
  flags[a * b + a] = (a < b && b < a) || (a == b && a < 3 && b < 3);
  flags[a * b + a] = (a < b) == (b < a);
  flags[a * b + a] = !(a < b || b < a);
  flags[a * b + a] = a != b;
  return 0;
}
)");
  Load({function});
}

TEST(CHost, NamesAreMadeLegalAndUnique) {
  PackedBuilder f("double");  // as a symbol it has a prefix
  Buffer out = f.BufferArg("register", DataType::Int(64));
  Var n = f.Arg("env", DataType::Int(64)), i("i"), j("i"), k("i");
  Stmt inner =
      tir::ForNode::Make(j, 0, n, ForKind::kSerial, tir::BufferStoreNode::Make(out, {i}, i + j));
  Stmt first = tir::ForNode::Make(i, 2, 3, ForKind::kSerial, inner);
  Stmt second =
      tir::ForNode::Make(k, n, n, ForKind::kSerial, tir::BufferStoreNode::Make(out, {k}, k));
  tir::PrimFunc function = f.Finish(tir::SeqNode::Make({first, second}));
  std::string body = BodyOf(function);
  EXPECT_EQ(body.substr(body.find("  int64_t* ")),
            R"(  int64_t* register_1 = (int64_t*)register_data;
  for (int64_t i = 2; i < 5; ++i) {
    for (int64_t i_1 = 0; i_1 < env_1; ++i_1) {
      register_1[i] = i + i_1;
    }
  }
  for (int64_t i = env_1; i < env_1 + env_1; ++i) {
    register_1[i] = i;
  }
  return 0;
}
)");
  Load({function});
}

TEST(CHost, BindingsInsideExpressionsAreMadeOnlyWhereTheyAreEvaluated) {
  // while (i < n && (let x = a[i] in x != x * 0)) { a[i] = 0; i = i + 1 } with i in memory
  PackedBuilder f("clear");
  Buffer a = f.BufferArg("a", DataType::Int(64)), i = f.BufferArg("i", DataType::Int(64));
  Var n = f.Arg("n", DataType::Int(64)), x("x"), unused("unused");
  Expr at = ir::BufferLoadNode::Make(i, {Expr(0)});
  Expr element = ir::LetNode::Make(x, ir::BufferLoadNode::Make(a, {at}), x != x * 0);
  Stmt clear = tir::BufferStoreNode::Make(a, {at}, 0);
  Stmt step =
      tir::LetStmtNode::Make(unused, n * n, tir::BufferStoreNode::Make(i, {Expr(0)}, at + 1));
  tir::PrimFunc function =
      f.Finish(tir::WhileNode::Make(at < n && element, tir::SeqNode::Make({clear, step})));
  EXPECT_NE(BodyOf(function).find(R"(  for (;;) {
    bool holds = i[0] < n;
    if (holds) {
      int64_t x = a[i[0]];
      holds = x != x * 0;
    }
    if (!holds) break;
    a[i[0]] = 0;
    i[0] = i[0] + 1;
  }
)"),
            std::string::npos)
      << BodyOf(function);
  int64_t data[] = {3, 2, 0, 1}, index = 0;
  Load({function})
      ->GetFunction("clear")(static_cast<void*>(data), static_cast<void*>(&index), int64_t{4});
  EXPECT_EQ(index, 2);
  EXPECT_EQ(data[1], 0);
  EXPECT_EQ(data[3], 1);
}

TEST(CHost, ALoopThatChangesItsExtentRunsAsOftenAsAtItsStart) {
  PackedBuilder f("shrink");
  Buffer n = f.BufferArg("n", DataType::Int(64));
  Var i("i");
  Expr count = ir::BufferLoadNode::Make(n, {Expr(0)}),
       total = ir::BufferLoadNode::Make(n, {Expr(1)});
  Stmt body = tir::SeqNode::Make({tir::BufferStoreNode::Make(n, {Expr(0)}, 0),
                                  tir::BufferStoreNode::Make(n, {Expr(1)}, total + 1)});
  ffi::Module module = Load({f.Finish(tir::ForNode::Make(i, 0, count, ForKind::kSerial, body))});
  int64_t data[] = {5, 0};
  module->GetFunction("shrink")(static_cast<void*>(data));
  EXPECT_EQ(data[1], 5);
}

TEST(CHost, ChainsOfConditionsAndLocalArrays) {
  PackedBuilder f("classify");
  Buffer out = f.BufferArg("out", DataType::Int(64));
  Var n = f.Arg("n", DataType::Int(64));
  Buffer scratch = BufferNode::Make("scratch", DataType::Int(64), {Expr(2), Expr(2)}, {},
                                    ir::StorageScope::kLocal);
  Buffer flat = BufferNode::Make("scratch", DataType::Int(64), {Expr(4)}, {},
                                 ir::StorageScope::kLocal, scratch->data);
  auto set = [&](int64_t value) { return tir::BufferStoreNode::Make(flat, {Expr(3)}, value); };
  Stmt choose =
      tir::IfThenElseNode::Make(n < 0, set(-1), tir::IfThenElseNode::Make(n == 0, set(0), set(1)));
  Stmt copy = tir::BufferStoreNode::Make(out, {Expr(0)}, ir::BufferLoadNode::Make(flat, {Expr(3)}));
  Stmt body = tir::AllocateNode::Make(flat, tir::SeqNode::Make({choose, copy}));
  tir::PrimFunc function = f.Finish(body);
  EXPECT_NE(BodyOf(function).find(R"(  int64_t scratch[4];
  if (n < 0) {
    scratch[3] = -1;
  } else if (n == 0) {
    scratch[3] = 0;
  } else {
    scratch[3] = 1;
  }
)"),
            std::string::npos)
      << BodyOf(function);
  ffi::Function classify = Load({function})->GetFunction("classify");
  for (int64_t value : {-7, 0, 9}) {
    int64_t result = 5;
    classify(static_cast<void*>(&result), value);
    EXPECT_EQ(result, (value > 0) - (value < 0));
  }
}

// What calling the function raises.
std::string Raised(const ffi::Function& function, ffi::Args args) {
  try {
    function.CallPacked(args);
  } catch (const Error& error) {
    return error.kind() + ": " + error.message();
  }
  return "nothing";
}

TEST(CHost, AssertsRaiseWithTheirMessage) {
  PackedBuilder f("check");
  Expr size = ir::CastNode::Make(DataType::Int(64), f.num_args);
  tir::PrimFunc function = f.Finish(tir::SeqNode::Make({
      tir::AssertNode::Make(f.num_args == ir::IntImmNode::Make(DataType::Int(32), 1), "TypeError",
                            {Text("check: \"quoted\" what?\?) \\ caf\xc3\xa9, got "), size}),
      tir::AssertNode::Make(Call("ptr_load", {f.args, 0}, DataType::Int(32)) ==
                                ir::IntImmNode::Make(DataType::Int(32), kTernInt),
                            "ValueError",
                            {Text("got "), f.args, Text(", "),
                             ir::MakeConst(DataType::Float(32), 1.5), Text(", "), ir::ConstTrue()}),
      tir::AssertNode::Make(f.num_args != ir::IntImmNode::Make(DataType::Int(32), 1),
                            "RuntimeError", {}),
  }));
  ffi::Function check = Load({function})->GetFunction("check");
  EXPECT_EQ(Raised(check, {}), "TypeError: check: \"quoted\" what?\?) \\ caf\xc3\xa9, got 0");
  ffi::AnyView number(TernAny{kTernFloat, 0, {.v_float = 2}}),
      integer(TernAny{kTernInt, 0, {.v_int = 2}});
  std::string message = Raised(check, {&number, 1});
  EXPECT_TRUE(message.starts_with("ValueError: got float")) << message;
  EXPECT_NE(message.find("1.5"), std::string::npos) << message;
  EXPECT_EQ(Raised(check, {&integer, 1}), "RuntimeError: ");
}

TEST(CHost, CallsImportsWithValues) {
  PackedBuilder f("call");
  Var p = f.Arg("p", DataType::Handle()), n = f.Arg("n", DataType::Int(32)),
      flag = f.Arg("flag", DataType::Bool()), x = f.Arg("x", DataType::Float(64));
  Stmt first = tir::EvaluateNode::Make(
      Call("call_import", {f.env, Text("test.c_host.record"), p, n, flag, x}));
  Stmt second = tir::EvaluateNode::Make(Call("call_import", {f.env, Text("test.c_host.fail")}));
  std::string got;
  ffi::RegisterGlobal(
      "test.c_host.record", ffi::Function::FromPacked([&](ffi::Args args) {
        got = ffi::Describe(args[0].raw()) + " " + std::to_string(args[1].As<int64_t>()) + " " +
              std::to_string(args[2].type_index()) + " " + std::to_string(args[3].As<double>());
        return ffi::Any();
      }));
  ffi::RegisterGlobal("test.c_host.fail", ffi::Function::FromPacked([](ffi::Args) -> ffi::Any {
                        TERN_THROW(KeyError) << "no";
                      }));
  ffi::Function call = Load({f.Finish(tir::SeqNode::Make({first, second}))})->GetFunction("call");
  ffi::AnyView args[] = {ffi::AnyView(TernAny{kTernOpaquePtr, 0, {.v_ptr = &got}}),
                         ffi::AnyView(TernAny{kTernInt, 0, {.v_int = -4}}),
                         ffi::AnyView(TernAny{kTernBool, 0, {.v_int = 1}}),
                         ffi::AnyView(TernAny{kTernFloat, 0, {.v_float = 0.5}})};
  EXPECT_EQ(Raised(call, args), "KeyError: no");
  EXPECT_TRUE(got.ends_with(" -4 2 0.500000")) << got;
  ffi::RemoveGlobal("test.c_host.record");
  ffi::RemoveGlobal("test.c_host.fail");
}

TEST(CHost, TheFunctionNameMustBeASymbol) {
  PackedBuilder f("a.b");
  try {
    WriteC(ir::IRModule::Make({f.Finish(tir::SeqNode::Make({}))}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "ValueError");
    EXPECT_NE(error.message().find("a.b"), std::string::npos);
  }
}

}  // namespace
}  // namespace tern::backend::cpu
