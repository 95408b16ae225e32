// SPDX-License-Identifier: Apache-2.0
//
// XNNPACK: what it can compute in the layout of the cases (products, softmax, depthwise
// convolutions with channels first).
#include <pthreadpool.h>
#include <xnnpack.h>

#include <cmath>
#include <memory>

#include "bench/cpu/worker.h"

namespace tern::bench {
namespace {

pthreadpool_t Threads() {
  static pthreadpool_t pool = [] {
    const char* count = std::getenv("OMP_NUM_THREADS");
    return pthreadpool_create(count ? std::stoul(count) : 0);
  }();
  return pool;
}

void Check(xnn_status status, const std::string& what) {
  if (status != xnn_status_success)
    throw Unsupported(what + ": status " + std::to_string(static_cast<int>(status)));
}

struct Delete {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};

Variant Finished(const std::string& name, xnn_operator_t op) {
  std::shared_ptr<xnn_operator> owned(op, Delete());
  return {name, [owned] { Check(xnn_run_operator(owned.get(), Threads()), "run"); }};
}

Variant Matmul(const Case& the_case, const Buffers& buffers) {
  if (the_case.tensor("A").dtype != "float32") throw Unsupported("products of float32 alone");
  size_t m = the_case.tensor("A").shape[0], k = the_case.tensor("A").shape[1],
         n = the_case.tensor("B").shape[1];
  xnn_operator_t op = nullptr;
  Check(xnn_create_fully_connected_nc_f32(k, n, k, n, buffers.Get<float>("B"), nullptr, -INFINITY,
                                          INFINITY, XNN_FLAG_TRANSPOSE_WEIGHTS, &op),
        "fully connected");
  Check(xnn_setup_fully_connected_nc_f32(op, m, buffers.Get<float>("A"), buffers.Get<float>("C"),
                                         Threads()),
        "fully connected");
  return Finished("fully_connected", op);
}

Variant Conv(const Case& the_case, const Buffers& buffers) {
  const std::vector<int64_t>&x = the_case.tensor("X").shape, &w = the_case.tensor("W").shape;
  uint32_t stride = the_case.Number("stride"), pad = the_case.Number("pad"),
           groups = the_case.Number("groups"), height = w[2], width = w[3];
  xnn_operator_t op = nullptr;
  Check(xnn_create_convolution2d_nchw_f32(
            pad, pad, pad, pad, height, width, stride, stride, 1, 1, groups, w[1], w[0] / groups,
            x[1], w[0], buffers.Get<float>("W"), nullptr, -INFINITY, INFINITY, 0, &op),
        "convolution with channels first");
  Check(xnn_setup_convolution2d_nchw_f32(op, 1, x[2], x[3], buffers.Get<float>("X"),
                                         buffers.Get<float>("Y"), Threads()),
        "convolution with channels first");
  return Finished("nchw", op);
}

Variant Softmax(const Case& the_case, const Buffers& buffers) {
  size_t n = the_case.tensor("X").shape[0], m = the_case.tensor("X").shape[1];
  xnn_operator_t op = nullptr;
  Check(xnn_create_softmax_nc_f32(m, m, m, 0, &op), "softmax");
  Check(
      xnn_setup_softmax_nc_f32(op, n, buffers.Get<float>("X"), buffers.Get<float>("Y"), Threads()),
      "softmax");
  return Finished("softmax", op);
}

std::vector<Variant> PrepareXnnpack(const Case& the_case, const Buffers& buffers) {
  const std::string& kind = the_case.kind();
  if (kind == "matmul") return {Matmul(the_case, buffers)};
  if (kind == "conv") return {Conv(the_case, buffers)};
  if (kind == "softmax") return {Softmax(the_case, buffers)};
  throw Unsupported("no " + kind);
}

}  // namespace
}  // namespace tern::bench

int main() {
  using namespace tern::bench;
  return WorkerMain(
      [] {
        Check(xnn_initialize(nullptr), "initialize");
        return std::string("of the distribution");
      },
      PrepareXnnpack);
}
