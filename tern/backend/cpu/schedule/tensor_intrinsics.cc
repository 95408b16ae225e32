// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/schedule/tensor_intrinsics.h"

#include <string>
#include <vector>

#include "tern/schedule/tensor_intrinsic.h"

namespace tern::backend::cpu {
namespace {

// C += a * B, a row of so many numbers.
void RegisterAxpy(int lanes) {
  std::string n = std::to_string(lanes);
  std::string params = "(C: float32[" + n + "], A: float32[1], B: float32[" + n + "]) {\n";
  std::string row = "[ramp(0, 1, " + n + ")]";
  schedule::RegisterTensorIntrinsic(
      "f32_axpy_" + n, "func description" + params + "for j in 0.." + n +
                           " {\nC[j] = C[j] + A[0] * B[j]\n}\n}\nfunc implementation" + params +
                           "C" + row + " = C" + row + " + broadcast(A[0], " + n + ") * B" + row +
                           "\n}\n");
}

// C += a * b^T: a tile of so many rows and columns.
void RegisterOuterProduct(int rows, int lanes) {
  std::string m = std::to_string(rows), n = std::to_string(lanes);
  std::string params =
      "(C: float32[" + m + ", " + n + "], A: float32[" + m + "], B: float32[" + n + "]) {\n";
  std::string row = "[ramp(0, 1, " + n + ")]", tile = "C[i, ramp(0, 1, " + n + ")]";
  schedule::RegisterTensorIntrinsic(
      "f32_outer_" + m + "x" + n,
      "func description" + params + "for i in 0.." + m + ", j in 0.." + n +
          " {\nC[i, j] = C[i, j] + A[i] * B[j]\n}\n}\nfunc implementation" + params + "let b = B" +
          row + "\nfor i in 0.." + m + " unrolled {\n" + tile + " = " + tile +
          " + broadcast(A[i], " + n + ") * b\n}\n}\n");
}

// Y = X^T, of so many rows and columns. In each step pairs of rows exchange halves of ever larger
// parts.
void RegisterTranspose(const std::string& type, const std::string& name, int lanes) {
  std::string n = std::to_string(lanes), tile = type + "[" + n + ", " + n + "]";
  std::string params = "(Y: " + tile + ", X: " + tile + ") {\n";
  auto row = [&](const char* buffer, int i) {
    return std::string(buffer) + "[" + std::to_string(i) + ", ramp(0, 1, " + n + ")]";
  };
  std::string body;
  std::vector<std::string> rows;
  for (int i = 0; i < lanes; ++i) {
    rows.push_back("x" + std::to_string(i));
    body += "let " + rows.back() + " = " + row("X", i) + "\n";
  }
  for (int part = 1; part < lanes; part *= 2) {
    std::vector<std::string> exchanged(lanes);
    for (int i = 0; i < lanes; ++i) {
      // The row itself where its lanes stay, else the other one's.
      bool upper = (i & part) != 0;
      int low = i & ~part;
      std::string from;
      for (int lane = 0; lane < lanes; ++lane) {
        bool second = (lane & part) != 0;
        int source = upper == second ? lane : upper ? lane + part : lane - part;
        from += (lane ? ", " : "") + std::to_string((second ? lanes : 0) + source);
      }
      exchanged[i] = "x" + std::to_string(part) + "_" + std::to_string(i);
      body += "let " + exchanged[i] + " = shuffle([" + rows[low] + ", " + rows[low | part] +
              "], [" + from + "])\n";
    }
    rows = std::move(exchanged);
  }
  for (int i = 0; i < lanes; ++i) body += row("Y", i) + " = " + rows[i] + "\n";
  schedule::RegisterTensorIntrinsic(
      name + "_transpose_" + n, "func description" + params + "for i in 0.." + n + ", j in 0.." +
                                    n + " {\nY[i, j] = X[j, i]\n}\n}\n" + "func implementation" +
                                    params + body + "}\n");
}

// C[j] += the sum over four k of A[k] * B[j * 4 + k], products of bytes, for `rows` j.
void RegisterDot(const std::string& name, int rows, const std::string& a_type,
                 const std::string& instruction) {
  std::string n = std::to_string(rows), bytes = std::to_string(4 * rows), lanes;
  for (int i = 0; i < rows; ++i) lanes += (i ? ", " : "") + std::string("0, 1, 2, 3");
  std::string params = "(C: int32[" + n + "], A: " + a_type + "[4], B: int8[" + bytes + "]) {\n";
  std::string row = "C[ramp(0, 1, " + n + ")]";
  schedule::RegisterTensorIntrinsic(
      name, "func description" + params + "for j in 0.." + n +
                ", k in 0..4 {\nC[j] = C[j] + int32(A[k]) * int32(B[j * 4 + k])\n}\n}\n"
                "func implementation" +
                params + row + " = llvm.call_pure<int32x" + n + ">(\"" + instruction + "\", " +
                row + ", shuffle([A[ramp(0, 1, 4)]], [" + lanes + "]), B[ramp(0, 1, " + bytes +
                ")])\n}\n");
}

}  // namespace

void RegisterVectorIntrinsics() {
  for (int lanes : {4, 8, 16}) RegisterAxpy(lanes);
  for (int lanes : {4, 8, 16}) RegisterOuterProduct(4, lanes);
  for (int lanes : {4, 8, 16}) RegisterTranspose("float32", "f32", lanes);
  for (int lanes : {8, 16}) {
    RegisterTranspose("int32", "i32", lanes);
    RegisterTranspose("float16", "f16", lanes);
    RegisterTranspose("bfloat16", "bf16", lanes);
    RegisterTranspose("int8", "i8", lanes);
  }
}

void RegisterDotIntrinsics() {
  RegisterDot("x86_vnni_dot_16x4", 16, "uint8", "llvm.x86.avx512.vpdpbusd.512");
  RegisterDot("arm_sdot_4x4", 4, "int8", "llvm.aarch64.neon.sdot.v4i32.v16i8");
}

}  // namespace tern::backend::cpu
