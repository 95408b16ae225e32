// SPDX-License-Identifier: Apache-2.0
//
// Eigen, compiled for the machine at hand; its products use the threads of OpenMP.
#include <Eigen/Core>

#include "bench/cpu/worker.h"

namespace tern::bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<Matrix, Eigen::Aligned64>;
using Row = Eigen::Map<Eigen::Array<float, 1, Eigen::Dynamic>, Eigen::Aligned64>;

// A tensor of one axis is one row.
View ViewOf(const Case& the_case, const Buffers& buffers, const std::string& name) {
  const std::vector<int64_t>& shape = the_case.tensor(name).shape;
  return {buffers.Get<float>(name), shape.size() == 2 ? shape[0] : 1, shape.back()};
}

std::vector<Variant> Matmul(const Case& the_case, const Buffers& buffers) {
  if (the_case.tensor("A").dtype != "float32") throw Unsupported("products of float32 alone");
  View a = ViewOf(the_case, buffers, "A"), b = ViewOf(the_case, buffers, "B"),
       c = ViewOf(the_case, buffers, "C");
  if (a.rows() == 1) return {{"vector", [=]() mutable { c.row(0).noalias() = a.row(0) * b; }}};
  return {{"product", [=]() mutable { c.noalias() = a * b; }}};
}

void Softmax(const View& x, View* y) {
  for (int64_t i = 0; i < x.rows(); ++i) {
    y->row(i) = (x.row(i).array() - x.row(i).maxCoeff()).exp();
    y->row(i) /= y->row(i).sum();
  }
}

void LayerNorm(const View& x, const Row& scale, const Row& shift, View* y) {
  for (int64_t i = 0; i < x.rows(); ++i) {
    auto centred = x.row(i).array() - x.row(i).mean();
    y->row(i) = centred;
    float variance = y->row(i).squaredNorm() / static_cast<float>(x.cols());
    y->row(i) = y->row(i).array() * (1 / std::sqrt(variance + 1e-5F)) * scale + shift;
  }
}

std::vector<Variant> PrepareEigen(const Case& the_case, const Buffers& buffers) {
  const std::string& kind = the_case.kind();
  if (kind == "matmul") return Matmul(the_case, buffers);
  if (kind == "conv" || kind == "bias_gelu") throw Unsupported("no " + kind);
  View x = ViewOf(the_case, buffers, "X"), y = ViewOf(the_case, buffers, the_case.output().name);
  if (kind == "softmax") return {{kind, [=]() mutable { Softmax(x, &y); }}};
  if (kind == "transpose") return {{kind, [=]() mutable { y = x.transpose(); }}};
  if (kind == "sum") return {{kind, [=]() mutable { y.row(0) = x.rowwise().sum().transpose(); }}};
  Row scale(buffers.Get<float>("scale"), x.cols()), shift(buffers.Get<float>("shift"), x.cols());
  return {{kind, [=]() mutable { LayerNorm(x, scale, shift, &y); }}};
}

}  // namespace
}  // namespace tern::bench

int main() {
  return tern::bench::WorkerMain(
      [] {
        return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) +
               "." + std::to_string(EIGEN_MINOR_VERSION);
      },
      tern::bench::PrepareEigen);
}
