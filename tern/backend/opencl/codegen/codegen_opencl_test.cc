// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/opencl/codegen/codegen_opencl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tern/codegen/c/arithmetic_cases.h"
#include "tern/codegen/packed_test_function.h"
#include "tern/compile.h"
#include "tern/detect_target.h"
#include "tern/runtime/device.h"
#include "tern/runtime/kernel/device_artifact.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/intrinsics.h"

namespace tern::backend::opencl {
namespace {

using codegen::Element;
using ir::Buffer;
using ir::BufferNode;
using ir::Expr;
using ir::Var;
using runtime::Tensor;
using tir::ForKind;
using tir::Stmt;

tir::PrimFunc Kernel(const std::string& name, std::vector<tir::Param> params, Stmt body,
                     std::vector<ffi::Any> tags) {
  return tir::PrimFunc::Make(
      name, std::move(params), std::move(body),
      {{tir::attr::kCallingConvention, tir::CallingConventionName(tir::CallingConvention::kKernel)},
       {tir::attr::kLaunchTags, ffi::MakeArray(std::move(tags))}});
}
Stmt Threads(const Var& var, const std::string& axis, Stmt body) {
  return tir::ForNode::Make(var, 0, 1, ForKind::kThread, std::move(body), axis);
}
tir::Param Tensor1D(const Buffer& buffer) { return {buffer->data, buffer}; }

// One element per work group: out[i] = value(a[i], b[i])
tir::PrimFunc Elementwise(const std::string& name, DataType dtype,
                          const std::function<Expr(Expr, Expr)>& value) {
  Buffer a = BufferNode::Make("a", dtype, {Expr(1)}), b = BufferNode::Make("b", dtype, {Expr(1)}),
         out = BufferNode::Make("out", dtype, {Expr(1)});
  Var i("i");
  Expr x = ir::BufferLoadNode::Make(a, {i}), y = ir::BufferLoadNode::Make(b, {i});
  Stmt body = Threads(i, "blockIdx.x", tir::BufferStoreNode::Make(out, {i}, value(x, y)));
  return Kernel(name, {Tensor1D(a), Tensor1D(b), Tensor1D(out)}, body, {"blockIdx.x"});
}

ffi::Module Build(const std::vector<tir::PrimFunc>& kernels, const std::string& target = "opencl") {
  Initialize();
  return codegen::BuildForTest(kernels, target::Target::Parse(target));
}

// a, b and out, of which only out is written; threads, a guard, an index from two axes.
tir::PrimFunc GuardedAdd() {
  Buffer a = BufferNode::Make("A", DataType::Float(32), {Expr(1)}),
         b = BufferNode::Make("B", DataType::Float(32), {Expr(1)}),
         c = BufferNode::Make("C", DataType::Float(32), {Expr(1)});
  Var n("n"), block("block"), thread("thread"), i("index");
  Expr sum = ir::BufferLoadNode::Make(a, {i}) + ir::BufferLoadNode::Make(b, {i});
  Stmt body = tir::IfThenElseNode::Make(i < n, tir::BufferStoreNode::Make(c, {i}, sum));
  body = tir::LetStmtNode::Make(i, block * Expr(64) + thread, body);
  body = Threads(block, "blockIdx.x", Threads(thread, "threadIdx.x", body));
  return Kernel("add_kernel", {Tensor1D(a), Tensor1D(b), Tensor1D(c), {n, {}}}, body,
                {"blockIdx.x", "threadIdx.x"});
}

TEST(CodeGenOpenCL, WritesAReadableKernel) {
  ffi::Module module = Build({GuardedAdd()});
  EXPECT_EQ(module->kind(), "opencl");
  EXPECT_EQ(module->InspectSource("cl"), R"(// Written by Tern.
#pragma OPENCL FP_CONTRACT OFF

// add_kernel
__kernel void add_kernel(__global const float* A, __global const float* B, __global float* C, long n) {
  long block = (long)get_group_id(0);
  long thread = (long)get_local_id(0);
  long index = block * 64 + thread;
  if (index < n) {
    C[index] = A[index] + B[index];
  }
}
)");
  runtime::DeviceArtifact artifact = runtime::LoadDeviceArtifact("opencl", module->SaveToBytes());
  EXPECT_EQ(artifact.fmt, "cl");
  EXPECT_EQ(artifact.payload.at(""), module->InspectSource(""));
  runtime::KernelInfo expected = {
      {DataType::Handle(), DataType::Handle(), DataType::Handle(), DataType::Int(64)},
      {"blockIdx.x", "threadIdx.x"},
      0};
  EXPECT_EQ(artifact.fmap, (runtime::KernelMap{{"add_kernel", expected}}));
}

std::string SourceOf(const tir::PrimFunc& kernel) { return Build({kernel})->InspectSource("cl"); }

TEST(CodeGenOpenCL, AsksForDoublesOnlyWhereTheyAreUsed) {
  auto add = [](Expr a, Expr b) { return a + b; };
  const std::string pragma = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  EXPECT_NE(SourceOf(Elementwise("f", DataType::Float(64), add)).find(pragma), std::string::npos);
  EXPECT_EQ(SourceOf(Elementwise("f", DataType::Float(32), add)).find(pragma), std::string::npos);
}

TEST(CodeGenOpenCL, RefusesAKernelNamedLikeABuiltin) {
  EXPECT_THROW(SourceOf(Elementwise("dot", DataType::Float(32), [](Expr a, Expr) { return a; })),
               Error);
}

// Copies through shared memory that is allocated inside a condition.
tir::PrimFunc ThroughShared(DataType dtype, int64_t size) {
  Buffer a = BufferNode::Make("a", dtype, {Expr(1)}),
         out = BufferNode::Make("out", dtype, {Expr(1)});
  Buffer tile = BufferNode::Make("tile", dtype, {Expr(size)}, {}, ir::StorageScope::kShared),
         kept = BufferNode::Make("kept", dtype, {Expr(2)}, {}, ir::StorageScope::kLocal);
  Var i("i");
  Stmt body = tir::SeqNode::Make(
      {tir::BufferStoreNode::Make(tile, {i}, ir::BufferLoadNode::Make(a, {i})),
       tir::BufferStoreNode::Make(kept, {Expr(1)}, ir::BufferLoadNode::Make(tile, {i})),
       tir::BufferStoreNode::Make(out, {i}, ir::BufferLoadNode::Make(kept, {Expr(1)}))});
  body = tir::AllocateNode::Make(tile, tir::AllocateNode::Make(kept, body));
  body = Threads(i, "threadIdx.x", tir::IfThenElseNode::Make(i < size, body));
  return Kernel("copy_kernel", {Tensor1D(a), Tensor1D(out)}, body, {"threadIdx.x"});
}

TEST(CodeGenOpenCL, SharedMemoryIsDeclaredInTheOutermostScope) {
  ffi::Module module = Build({ThroughShared(DataType::Int(32), 16)});
  EXPECT_NE(module->InspectSource("cl").find(R"({
  __local int tile[16];
  long i = (long)get_local_id(0);
  if (i < 16) {
    int kept[2];
    tile[i] = a[i];
)"),
            std::string::npos)
      << module->InspectSource("cl");
  auto artifact = runtime::LoadDeviceArtifact("opencl", module->SaveToBytes());
  EXPECT_EQ(artifact.fmap.at("copy_kernel").static_shared_bytes, 64u);
}

// Shared memory of the same name in two loops, and a variable of that name behind them.
TEST(CodeGenOpenCL, NamesOfSharedMemoryAreUniqueInTheKernel) {
  Buffer a = BufferNode::Make("a", DataType::Int(64), {Expr(1)});
  auto loop = [&] {
    Buffer tile =
        BufferNode::Make("tile", DataType::Int(64), {Expr(4)}, {}, ir::StorageScope::kShared);
    Var k("k");
    return tir::ForNode::Make(
        k, 0, 2, ForKind::kSerial,
        tir::AllocateNode::Make(tile, tir::BufferStoreNode::Make(tile, {k}, k)));
  };
  Var t("t"), tile("tile");
  Stmt last = tir::LetStmtNode::Make(tile, t + Expr(1), tir::BufferStoreNode::Make(a, {t}, tile));
  Stmt body = Threads(t, "threadIdx.x", tir::SeqNode::Make({loop(), loop(), last}));
  std::string source = SourceOf(Kernel("f", {Tensor1D(a)}, body, {"threadIdx.x"}));
  for (const char* text : {"__local long tile[4];", "__local long tile_1[4];", "tile[k] = k;",
                           "tile_1[k] = k;", "long tile_2 = t + 1;"})
    EXPECT_NE(source.find(text), std::string::npos) << text << "\n" << source;
}

TEST(CodeGenOpenCL, WritesBarriers) {
  auto barrier = [](tir::BarrierKind kind) {
    return tir::EvaluateNode::Make(tir::MakeBarrier(kind));
  };
  Buffer a = BufferNode::Make("a", DataType::Int(32), {Expr(1)});
  Initialize();
  Stmt body = Threads(
      Var("t"), "threadIdx.x",
      tir::SeqNode::Make({barrier(tir::BarrierKind::kShared), barrier(tir::BarrierKind::kGlobal)}));
  EXPECT_NE(SourceOf(Kernel("f", {Tensor1D(a)}, body, {"threadIdx.x"}))
                .find("  barrier(CLK_LOCAL_MEM_FENCE);\n"
                      "  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n"),
            std::string::npos);
}

TEST(CodeGenOpenCL, CopiesHalvesAsBits) {
  Buffer a = BufferNode::Make("a", DataType::Float(16), {Expr(8)}),
         out = BufferNode::Make("out", DataType::Float(16), {Expr(8)});
  Var i("i");
  Stmt copy =
      tir::BufferStoreNode::Make(out, {i}, ir::BufferLoadNode::Make(a, {Expr(7) - Expr(i)}));
  std::string source = SourceOf(
      Kernel("f", {Tensor1D(a), Tensor1D(out)}, Threads(i, "blockIdx.x", copy), {"blockIdx.x"}));
  EXPECT_NE(source.find("((__global ushort*)out)[i] = ((__global const ushort*)a)[7 - i];"),
            std::string::npos)
      << source;
}

TEST(CodeGenOpenCL, AsksToUnrollWhereTheDeviceIsNoProcessor) {
  Buffer out = BufferNode::Make("out", DataType::Float(32), {Expr(16)});
  Var i("i"), j("j");
  Stmt loop = tir::ForNode::Make(
      j, 0, 16, ForKind::kUnrolled,
      tir::BufferStoreNode::Make(out, {j}, ir::MakeConst(DataType::Float(32), 1)));
  std::string source =
      Build({Kernel("f", {Tensor1D(out)}, Threads(i, "blockIdx.x", loop), {"blockIdx.x"})})
          ->InspectSource("cl");
  EXPECT_NE(source.find("#ifdef TERN_CPU\n#define TERN_UNROLL\n#else\n"
                        "#define TERN_UNROLL _Pragma(\"unroll\")\n#endif\n"),
            std::string::npos)
      << source;
  EXPECT_NE(source.find("  TERN_UNROLL\n  for (long j = 0; j < 16; ++j) {"), std::string::npos)
      << source;
}

TEST(CodeGenOpenCL, TargetAttributesAreChecked) {
  Initialize();
  EXPECT_EQ(target::Target::Parse("opencl")->GetInt("max_threads"), 256);
  EXPECT_EQ(target::Target::Parse("intel/arc-a770")->GetInt("max_threads"), 1024);
  EXPECT_THROW(target::Target::Parse("opencl -max_threads=0"), Error);
  EXPECT_THROW(target::Target::Parse("opencl -max_threads=5000"), Error);
}

// ---- On a device, where there is one.

constexpr TernDevice kDevice = {4, 0};

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    // Drivers that cache compiled kernels do so where nothing else is.
    static const std::string cache = [] {
      std::string path = (std::filesystem::temp_directory_path() / "tern-pocl-XXXXXX").string();
      setenv("POCL_CACHE_DIR", mkdtemp(path.data()), 1);
      std::atexit([] { std::filesystem::remove_all(std::getenv("POCL_CACHE_DIR")); });
      return path;
    }();
    const runtime::DeviceKind* kind = runtime::FindDeviceKind("opencl");
    if (!kind) GTEST_SKIP() << "the plugin of opencl was not found";
    if (kind->Count() == 0) GTEST_SKIP() << "there is no OpenCL device";
  }

  template <class T>
  static Tensor ToDevice(const std::vector<T>& values) {
    Tensor host = Tensor::Empty({static_cast<int64_t>(values.size())}, Element<T>::kType);
    std::memcpy(host->data(), values.data(), values.size() * sizeof(T));
    return host.CopyTo(kDevice);
  }
  template <class T>
  static std::vector<T> ToHost(const Tensor& tensor) {
    Tensor host = tensor.CopyTo({kTernDeviceCpu, 0});
    return {host.as<T>(), host.as<T>() + host->num_elements()};
  }
};

template <class T>
class OpenCLArithmetic : public OnDevice {};
TYPED_TEST_SUITE(OpenCLArithmetic, codegen::ElementTypes<testing::Types>);

// OpenCL divides floats to 2.5 ulp, and may fuse a product with a sum.
template <class V>
bool IsClose(const std::string& name, V x, V y, V got, V expected) {
  if constexpr (std::is_floating_point_v<V>) {
    V scale =
        name == "sum_of_products" ? std::abs(x) * (std::abs(x) + std::abs(y)) : std::abs(expected);
    return std::abs(got - expected) <= 4 * std::numeric_limits<V>::epsilon() * scale;
  }
  return false;
}

TYPED_TEST(OpenCLArithmetic, IsExactWhereOpenCLIs) {
  using T = TypeParam;
  using V = Element<T>::Value;
  auto cases = codegen::ArithmeticCases<T>();
  std::vector<tir::PrimFunc> kernels;
  for (const auto& c : cases)
    kernels.push_back(Elementwise(c.name + "_kernel", Element<T>::kType, c.build));
  ffi::Module module = Build(kernels);
  std::vector<T> samples = codegen::Samples<T>(), a, b;
  for (T x : samples)
    for (T y : samples) a.push_back(x), b.push_back(y);
  Tensor a_device = this->ToDevice(a), b_device = this->ToDevice(b), out_device = this->ToDevice(a);
  for (const auto& c : cases) {
    module->GetFunction(c.name + "_kernel")(0, a_device->data(), b_device->data(),
                                            out_device->data(), static_cast<int64_t>(a.size()));
    std::vector<T> out = this->template ToHost<T>(out_device);
    for (size_t i = 0; i < a.size(); ++i) {
      V x = Element<T>::Get(a[i]), y = Element<T>::Get(b[i]);
      V got = Element<T>::Get(out[i]), expected = Element<T>::Get(c.expected(a[i], b[i]));
      EXPECT_TRUE(got == expected || IsClose(c.name, x, y, got, expected))
          << c.name << "(" << +x << ", " << +y << ") gave " << +got << ", expected " << +expected;
    }
  }
}

TYPED_TEST(OpenCLArithmetic, SharedAndPrivateMemoryHoldEveryType) {
  using T = TypeParam;
  std::vector<T> in = codegen::Samples<T>();
  in.resize(8);
  Tensor a = this->ToDevice(in), out = this->ToDevice(std::vector<T>(8));
  Build({ThroughShared(Element<T>::kType, 8)})
      ->GetFunction("copy_kernel")(0, a->data(), out->data(), 8);
  EXPECT_EQ(std::memcmp(this->template ToHost<T>(out).data(), in.data(), 8 * sizeof(T)), 0);
}

// out[0] = cast(x): an argument of each type arrives.
TYPED_TEST(OpenCLArithmetic, TakesScalars) {
  using T = TypeParam;
  DataType dtype = Element<T>::kType;
  if (dtype.is_narrow_float()) return;  // to a kernel they come as integers
  Buffer out = BufferNode::Make("out", dtype, {Expr(1)});
  Var x("x", dtype), flag("flag", DataType::Bool()), i("i");
  Expr value = ir::SelectNode::Make(flag, x, x + x);
  Stmt body = Threads(i, "blockIdx.x", tir::BufferStoreNode::Make(out, {i}, value));
  ffi::Function f = Build({Kernel("f", {Tensor1D(out), {x, {}}, {flag, {}}}, body, {"blockIdx.x"})})
                        ->GetFunction("f");
  Tensor result = this->ToDevice(std::vector<T>(1));
  for (bool given : {true, false}) {
    auto argument = dtype.is_float() ? ffi::Any(1.5) : ffi::Any(7);
    f(0, result->data(), argument, given, 1);
    double expected = (dtype.is_float() ? 1.5 : 7) * (given ? 1 : 2);
    EXPECT_EQ(static_cast<double>(Element<T>::Get(this->template ToHost<T>(result)[0])), expected);
  }
}

TEST_F(OnDevice, IsDetected) {
  auto threads = runtime::GetDeviceKind("opencl").Describe(0)->Find("max_threads")->As<int64_t>();
  target::Target target = DetectTarget("opencl:0");
  EXPECT_EQ(target->kind->name, "opencl");
  EXPECT_EQ(target->GetInt("max_threads"), std::min<int64_t>(threads, 4096));
}

TEST_F(OnDevice, RunsVectors) {
  // out[0..4] = convert(a[0..4]) * 2 + ramp(10, 3)
  Buffer a = BufferNode::Make("a", DataType::Float(16), {Expr(4)}),
         out = BufferNode::Make("out", DataType::Float(32), {Expr(4)});
  Var i("i");
  Expr lanes = ir::RampNode::Make(i * Expr(4), 1, 4);
  Expr wide = ir::CastNode::Make(DataType::Float(32, 4), ir::BufferLoadNode::Make(a, {lanes}));
  Expr twice = wide * ir::BroadcastNode::Make(ir::MakeConst(DataType::Float(32), 2), 4);
  Expr ramp = ir::CastNode::Make(DataType::Float(32, 4), ir::RampNode::Make(Expr(10), Expr(3), 4));
  Stmt body = Threads(i, "blockIdx.x", tir::BufferStoreNode::Make(out, {lanes}, twice + ramp));
  ffi::Module module = Build({Kernel("f", {Tensor1D(a), Tensor1D(out)}, body, {"blockIdx.x"})});
  EXPECT_NE(module->InspectSource("cl").find(
                "vstore4(vload_half4(0, a + i * 4) * (float4)(2.0f) + convert_float4(10 + 3 * "
                "(long4)(0, 1, 2, 3)), 0, out + i * 4);"),
            std::string::npos)
      << module->InspectSource("cl");
  std::vector<codegen::Half> in;
  for (float x : {1.0f, 0.5f, -2.0f, 8.0f}) in.push_back(Element<codegen::Half>::Put(x));
  Tensor a_device = ToDevice(in), out_device = ToDevice(std::vector<float>(4));
  module->GetFunction("f")(0, a_device->data(), out_device->data(), 1);
  EXPECT_EQ(ToHost<float>(out_device), (std::vector<float>{12, 14, 12, 35}));
}

TEST_F(OnDevice, RunsWithAGuard) {
  std::vector<float> a(100), b(100);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i), b[i] = 0.5f;
  Tensor a_device = ToDevice(a), b_device = ToDevice(b),
         out = ToDevice(std::vector<float>(100, -1.0f));
  Build({GuardedAdd()})
      ->GetFunction("add_kernel")(0, a_device->data(), b_device->data(), out->data(), 90, 2, 64);
  std::vector<float> result = ToHost<float>(out);
  EXPECT_EQ(result[89], 89.5f);
  EXPECT_EQ(result[90], -1.0f);
}

}  // namespace
}  // namespace tern::backend::opencl
