// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>

namespace tern::bench {
namespace {

constexpr double kEpsilon = 1e-5;  // of layernorm

template <class T>
T At(const void* data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + i * sizeof(T), sizeof(T));
  return value;
}

uint16_t ToBfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Reads elements of one tensor.
class Reader {
 public:
  Reader(const Case& the_case, const Buffers& buffers, const std::string& name)
      : spec_(the_case.tensor(name)), data_(buffers.Get(name)) {}
  double operator[](int64_t i) const { return Element(spec_, data_, i); }
  int64_t extent(size_t axis) const { return spec_.shape.at(axis); }

 private:
  const TensorSpec& spec_;
  const void* data_;
};

double Matmul(const Case& the_case, const Buffers& inputs, int64_t i) {
  Reader a(the_case, inputs, "A"), b(the_case, inputs, "B");
  int64_t n = b.extent(1), k = a.extent(1);
  double sum = 0;
  for (int64_t l = 0; l < k; ++l) sum += a[i / n * k + l] * b[l * n + i % n];
  return sum;
}

double Conv(const Case& the_case, const Buffers& inputs, int64_t i) {
  Reader x(the_case, inputs, "X"), w(the_case, inputs, "W");
  const std::vector<int64_t>& out = the_case.output().shape;
  int64_t stride = the_case.Number("stride"), pad = the_case.Number("pad");
  int64_t column = i % out[3], row = i / out[3] % out[2], o = i / (out[3] * out[2]) % out[1];
  int64_t channels = w.extent(1), first = o / (out[1] / the_case.Number("groups")) * channels;
  double sum = 0;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t dy = 0; dy < w.extent(2); ++dy) {
      for (int64_t dx = 0; dx < w.extent(3); ++dx) {
        int64_t y = row * stride + dy - pad, z = column * stride + dx - pad;
        if (y < 0 || y >= x.extent(2) || z < 0 || z >= x.extent(3)) continue;
        sum += x[((first + c) * x.extent(2) + y) * x.extent(3) + z] *
               w[((o * channels + c) * w.extent(2) + dy) * w.extent(3) + dx];
      }
    }
  }
  return sum;
}

double Softmax(const Case& the_case, const Buffers& inputs, int64_t i) {
  Reader x(the_case, inputs, "X");
  int64_t m = x.extent(1), row = i / m * m;
  double largest = -INFINITY, total = 0;
  for (int64_t j = 0; j < m; ++j) largest = std::max(largest, x[row + j]);
  for (int64_t j = 0; j < m; ++j) total += std::exp(x[row + j] - largest);
  return std::exp(x[i] - largest) / total;
}

double LayerNorm(const Case& the_case, const Buffers& inputs, int64_t i) {
  Reader x(the_case, inputs, "X"), scale(the_case, inputs, "scale"),
      shift(the_case, inputs, "shift");
  int64_t m = x.extent(1), row = i / m * m;
  double mean = 0, variance = 0;
  for (int64_t j = 0; j < m; ++j) mean += x[row + j] / static_cast<double>(m);
  for (int64_t j = 0; j < m; ++j)
    variance += std::pow(x[row + j] - mean, 2) / static_cast<double>(m);
  return (x[i] - mean) / std::sqrt(variance + kEpsilon) * scale[i % m] + shift[i % m];
}

double BiasGelu(const Case& the_case, const Buffers& inputs, int64_t i) {
  Reader x(the_case, inputs, "X"), bias(the_case, inputs, "bias");
  double value = x[i] + bias[i % x.extent(1)];
  return value * 0.5 * (1 + std::erf(value / std::sqrt(2)));
}

// Rows where the output has several elements, all otherwise.
double Sum(const Case& the_case, const Buffers& inputs, int64_t i) {
  Reader x(the_case, inputs, "X");
  int64_t count = the_case.tensor("X").count() / the_case.output().count();
  double sum = 0;
  for (int64_t j = 0; j < count; ++j) sum += x[i * count + j];
  return sum;
}

double Transpose(const Case& the_case, const Buffers& inputs, int64_t i) {
  Reader x(the_case, inputs, "X");
  int64_t n = x.extent(0), m = x.extent(1);
  return x[i % n * m + i / n];
}

}  // namespace

double Element(const TensorSpec& tensor, const void* data, int64_t i) {
  if (tensor.dtype == "float32") return At<float>(data, i);
  if (tensor.dtype == "int32") return At<int32_t>(data, i);
  if (tensor.dtype == "int8") return At<int8_t>(data, i);
  if (tensor.dtype == "uint8") return At<uint8_t>(data, i);
  if (tensor.dtype == "bfloat16")
    return std::bit_cast<float>(static_cast<uint32_t>(At<uint16_t>(data, i)) << 16);
  throw std::runtime_error("there are no tensors of " + tensor.dtype + " here");
}

double Expected(const Case& the_case, const Buffers& inputs, int64_t i) {
  using Meaning = double(const Case&, const Buffers&, int64_t);
  static const std::map<std::string, Meaning*> kMeanings = {
      {"matmul", Matmul},      {"conv", Conv}, {"softmax", Softmax},    {"layernorm", LayerNorm},
      {"bias_gelu", BiasGelu}, {"sum", Sum},   {"transpose", Transpose}};
  auto found = kMeanings.find(the_case.kind());
  if (found == kMeanings.end()) throw std::runtime_error("unknown kind " + the_case.kind());
  return found->second(the_case, inputs, i);
}

double LargestError(const Case& the_case, const Buffers& inputs, const void* data,
                    int64_t samples) {
  int64_t count = the_case.output().count();
  samples = std::min(samples, count);
  double largest = 0;
  for (int64_t sample = 0; sample < samples; ++sample) {
    // The first, the last, and between them steps that meet every column.
    int64_t i = samples == 1 ? 0
                             : static_cast<int64_t>(static_cast<double>(count - 1) *
                                                    static_cast<double>(sample) /
                                                    static_cast<double>(samples - 1));
    double actual = Element(the_case.output(), data, i);
    double expected = Expected(the_case, inputs, i);
    double error = std::abs(actual - expected) / std::max(1.0, std::abs(expected));
    largest = std::isfinite(error) ? std::max(largest, error) : INFINITY;
  }
  return largest;
}

void FillRandom(const std::string& dtype, int64_t count, uint64_t seed, void* data) {
  auto* bytes = static_cast<uint8_t*>(data);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t z = (seed + static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15;  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    float number = static_cast<float>(z >> 40) * 0x1p-23F - 1;
    uint16_t rounded = ToBfloat16(number);
    if (dtype == "float32") std::memcpy(bytes + i * 4, &number, 4);
    if (dtype == "bfloat16") std::memcpy(bytes + i * 2, &rounded, 2);
    if (dtype == "int8" || dtype == "uint8") bytes[i] = static_cast<uint8_t>(z);
  }
}

}  // namespace tern::bench
