// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/schedule/matrix_cores.h"

#include <fmt/format.h>

#include "tern/backend/rocm/schedule/architecture.h"
#include "tern/schedule/rules/matrix_matmul.h"
#include "tern/schedule/tensor_intrinsic.h"

namespace tern::backend::rocm {
namespace {

using schedule::Fragment;

// The intrinsics of one wave size.
class Intrinsics {
 public:
  Intrinsics(std::string prefix, int lanes)
      : prefix_(std::move(prefix)), lanes_(lanes), elements_(256 / lanes) {}

  void Register() const {
    for (const auto& [suffix, dtype] :
         {std::pair<std::string, std::string>{"_f16", "float16"}, {"_bf16", "bfloat16"}}) {
      for (bool left : {true, false})
        for (bool transposed : {false, true}) RegisterLoad(suffix, dtype, left, transposed);
      RegisterMultiply(suffix, dtype);
      RegisterStore(suffix, dtype);
    }
    RegisterStore("_f32", "float32");
    Define("_fill", fmt::format("C: float32{}", shape()),
           fmt::format("for i in 0..16, j in 0..16 {{\nC{} = 0.0\n}}\n", At("i", "j")),
           fmt::format("for e in 0..{} unrolled {{\nC[lane, e] = 0.0\n}}\n", elements_));
    for (const auto& [name, op] : {std::pair{"_scale", "*"}, {"_divide", "/"}})
      Define(name, fmt::format("C: float32{}, S: float32[16]", shape()),
             fmt::format("for i in 0..16, j in 0..16 {{\nC{0} = C{0} {1} S[i]\n}}\n", At("i", "j"),
                         op),
             fmt::format("for e in 0..{0} unrolled {{\n"
                         "C[lane, e] = C[lane, e] {1} S[lane // 16 * {0} + e]\n}}\n",
                         elements_, op));
  }

 private:
  std::string shape() const { return fmt::format("[{}, {}]", lanes_, elements_); }
  // Where a tile has what is `along` its lanes' elements, and `across` them.
  std::string At(const std::string& along, const std::string& across) const {
    return fmt::format("[{1} // {0} * 16 + {2}, {1} % {0}]", elements_, along, across);
  }

  void Define(const std::string& name, const std::string& params, const std::string& description,
              const std::string& implementation, const std::string& attrs = "") const {
    schedule::RegisterTensorIntrinsic(
        prefix_ + name,
        fmt::format("func description({0}) {{\n{1}}}\nfunc implementation({0}){3} {{\n"
                    "for lane in 0..{4} bind(threadIdx.x) {{\n{2}}}\n}}\n",
                    params, description, implementation, attrs, lanes_));
  }

  // A lane's elements are neighbours in memory, or below one another.
  void RegisterLoad(const std::string& suffix, const std::string& dtype, bool left,
                    bool transposed) const {
    std::string axis = left ? "i" : "j";
    bool k_first = left == transposed;  // in memory
    std::string first = k_first ? "k" : axis, second = k_first ? axis : "k";
    std::string element = fmt::format("lane // 16 * {} + e", elements_);
    std::string place = k_first ? element + ", lane % 16" : "lane % 16, " + element;
    Define(std::string("_load_") + (left ? "a" : "b") + (transposed ? "t" : "") + suffix,
           fmt::format("F: {0}{1}, S: {0}[16, 16]", dtype, shape()),
           fmt::format("for {0} in 0..16, {1} in 0..16 {{\nF{2} = S[{0}, {1}]\n}}\n", first, second,
                       At("k", axis)),
           fmt::format("for e in 0..{} {} {{\nF[lane, e] = S[{}]\n}}\n", elements_,
                       k_first ? "unrolled" : "vectorized", place));
  }

  void RegisterMultiply(const std::string& suffix, const std::string& dtype) const {
    std::string sum = "C" + At("i", "j"), all = fmt::format("[lane, ramp(0, 1, {})]", elements_);
    Define(suffix, fmt::format("C: float32{1}, A: {0}{1}, B: {0}{1}", dtype, shape()),
           fmt::format("for i in 0..16, j in 0..16, k in 0..16 {{\n{0} = {0} + float32(A{1}) * "
                       "float32(B{2})\n}}\n",
                       sum, At("k", "i"), At("k", "j")),
           fmt::format("C{0} = warp_matrix_multiply_tile(C{0}, A{0}, B{0})\n", all),
           " attrs {reassociate = true}");
  }

  void RegisterStore(const std::string& suffix, const std::string& dtype) const {
    auto value = [&](const std::string& sum) {
      return dtype == "float32" ? sum : dtype + "(" + sum + ")";
    };
    Define(
        "_store" + suffix, fmt::format("D: {}[16, 16], C: float32{}", dtype, shape()),
        fmt::format("for i in 0..16, j in 0..16 {{\nD[i, j] = {}\n}}\n", value("C" + At("i", "j"))),
        fmt::format("for e in 0..{0} unrolled {{\nD[lane // 16 * {0} + e, lane % 16] = {1}\n}}\n",
                    elements_, value("C[lane, e]")));
  }

  std::string prefix_;
  int lanes_, elements_;
};

template <int lanes>
std::string Layout(Fragment fragment, bool transposed) {
  std::string row = transposed ? "j" : "i", column = transposed ? "i" : "j";
  // Of a left operand a lane has a row, else a column.
  bool left = fragment == Fragment::kA;
  return fmt::format("(i, j) -> (i // 16, j // 16, {0} % 16 // {2} * 16 + {1} % 16, {0} % {2})",
                     left ? column : row, left ? row : column, 256 / lanes);
}

void RegisterRule(const std::string& prefix, MatrixCores cores, int lanes,
                  std::string (*layout)(Fragment, bool)) {
  Intrinsics(prefix, lanes).Register();
  schedule::RegisterMatrixMatmul(
      {.rule = prefix + "_matmul",
       .description = "float16 and bfloat16 on matrix cores, A and B in shared memory",
       .attention = prefix + "_attention",
       .prefix = prefix,
       .lanes = lanes,
       .layout = layout,
       .fits = [cores](const schedule::TargetInfo& target) {
         return target.target && target.target->kind->module_kind == "rocm" &&
                MatrixCoresOf(target.target->GetString("arch")) == cores;
       }});
}

}  // namespace

void RegisterMatrixCores() {
  RegisterRule("mfma", MatrixCores::kMfma, 64, Layout<64>);
  RegisterRule("wmma", MatrixCores::kWmma, 32, Layout<32>);
}

}  // namespace tern::backend::rocm
