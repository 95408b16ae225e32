// SPDX-License-Identifier: Apache-2.0
//
// What MakeRandomKernel writes a kernel with: a tensor at hand, and stages that each make another
// of it. Stages and elementwise blocks are in random_kernel.cc, convolutions and pooling in
// random_kernel_windows.cc, reductions, scans and row chains in random_kernel_reductions.cc.
#ifndef TEST_FUZZ_KERNEL_WRITER_H_
#define TEST_FUZZ_KERNEL_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tern/ffi/text.h"
#include "test/fuzz/random.h"
#include "test/fuzz/random_kernel.h"

namespace tern::fuzz {

// Instances of blocks that the interpreter runs in some milliseconds.
constexpr int64_t kMostInstances = 20000;
constexpr int64_t kMostExtent = 40;
// Beyond this, sums of products could overflow an int32.
constexpr double kMostInteger = 1 << 29;

using Texts = std::vector<std::string>;

// A number, or an expression of dynamic extents and its value at the call.
struct Extent {
  std::string text;
  int64_t value = 0;
  bool is_static() const { return text == std::to_string(value); }
};
inline Extent Static(int64_t value) { return {std::to_string(value), value}; }

struct Array {
  std::string name, dtype;
  std::vector<Extent> shape;
  double magnitude = 1;  // of floats about; of integers at most
  size_t rank() const { return shape.size(); }
  bool is_float() const { return dtype.find("float") != std::string::npos; }
  int64_t size() const {
    int64_t size = 1;
    for (const Extent& extent : shape) size *= extent.value;
    return size;
  }
};

struct Axis {
  std::string var;  // of the block; its loop is "i_" + var
  Extent extent;
  bool reduces = false, scans = false;
};

// How one spatial dimension is seen through the windows of a convolution or pooling.
struct Window {
  Extent size;
  int64_t stride = 1, dilation = 1, padding = 0;
  Extent out;
};

inline bool IsFloat(const std::string& dtype) { return dtype.find("float") != std::string::npos; }

inline std::string At(const Array& array, const Texts& indices) {
  return array.name + "[" + ffi::Join(indices) + "]";
}

inline Texts VarsOf(const std::vector<Axis>& axes) {
  Texts vars;
  for (const Axis& axis : axes) vars.push_back(axis.var);
  return vars;
}

// The least value of a type, from which maxima start; with `most`, the largest.
inline std::string EndOf(const std::string& dtype, bool most) {
  if (IsFloat(dtype)) return most ? "inf" : "-inf";
  if (dtype == "int8") return most ? "127" : "-128";
  return most ? "2147483647" : "-2147483648";
}

class KernelWriter {
 public:
  explicit KernelWriter(uint64_t seed) : random_(seed) {
    kernel_.arguments.seed = seed;
    kernel_.reassociates = random_.OneIn(2);
    dynamic_ = random_.OneIn(3);
    constants_ = random_.OneIn(3);
    budget_ = random_.OneIn(10) ? 4 * kMostInstances : kMostInstances;
  }

  RandomKernel Make();

 private:
  // ---- Extents and arrays

  int64_t DrawExtent(int64_t most = kMostExtent);

  // An extent of a new tensor, which names it where it is dynamic.
  Extent Fresh(int64_t value);

  std::string DrawType();
  // Of weights: at times of 4 bits.
  std::string WeightType();
  // The type that products or elements are summed in.
  std::string SumType(const std::string& dtype);

  Array Input(const std::string& dtype, const std::vector<Extent>& shape, bool weight = false);
  Array Result(const std::string& dtype, const std::vector<Extent>& shape);
  static std::string Declare(const Array& array);
  // Every rounding of the coarsest type may show.
  void Note(const std::string& dtype);

  // ---- Blocks

  std::vector<Axis> AxesOf(const std::vector<Extent>& shape);

  static int64_t InstancesOf(const std::vector<Axis>& axes);

  void Block(const std::string& name, std::vector<Axis> axes, const std::string& init,
             const std::string& statement);

  // The sum of `value` along the axes that reduce; with op "max" or "min", that of them.
  void Reduce(const std::string& name, const Array& result, const Texts& at,
              const std::vector<Axis>& axes, const std::string& op, const std::string& value);

  std::string Convert(const std::string& value, const std::string& from, const std::string& to);

  // ---- Stages: each makes another tensor of the current one

  void MakeFirst();

  void MakeNext();

  // Values stay small, so that nothing overflows and errors are relative to about one.
  void Tame();

  void MakeImage();
  void MakeMatrix();
  void MakeAny();
  void MakeInput(const std::vector<Extent>& shape);
  // The largest are halved until there are no more elements than so many.
  static void Shrink(std::vector<int64_t>* sizes, int64_t most);

  // A block of the current tensor alone, of any expression of `x`, its element.
  void Map(const std::string& name, const std::string& value, double magnitude,
           std::string dtype = "");

  void Elementwise();

  // A bias along some axes, or a tensor of the same shape.
  void AddTensor();

  void ConvertType();

  // A permutation of the dimensions, or a part, or with a border.
  void Move();

  // ---- Windows

  Window DrawWindow(const Extent& in);

  // Which dimensions windows slide along; none where the current tensor has none.
  std::vector<size_t> SpatialDims() const;
  size_t ChannelDim() const { return channels_last_ ? current_.rank() - 1 : 1; }

  // Axes of output pixels and of windows, and how they index the input.
  struct Windows {
    std::vector<Axis> pixels, steps;
    Texts indices;       // of the input's spatial dimensions
    std::string inside;  // "" without a border
  };
  Windows DrawWindows(const std::vector<size_t>& dims);

  // The current tensor's element at batch, channel and window; `border` outside of it.
  std::string Element(const Windows& windows, const std::vector<size_t>& dims,
                      const std::string& channel, const std::string& border) const;

  // Batch, channels and pixels in the order of the layout.
  std::vector<Axis> InLayout(const Axis& batch, const Axis& channel,
                             const std::vector<Axis>& pixels) const;
  static std::vector<Extent> ShapeOf(const std::vector<Axis>& axes);

  // Those of a transposed convolution: outputs that are as many apart as the stride have an input.
  Windows DrawTransposedWindows(const std::vector<size_t>& dims);

  void Convolution();

  // Dynamic extents that no tensor before names alone cannot be those of a new parameter.
  bool Known(const std::vector<Extent>& shape) const;
  void SetMagnitude(Array* result, int64_t steps, double each);

  void Pooling();

  // ---- Matmuls and reductions

  // The last two dimensions, in either order, are rows and steps; those before are a batch, or rows
  // too where the other operand has none of them.
  void Matmul();

  // Of any axes, several or all; where all, into a tensor of one element.
  void Reduction();

  // Of a matrix with itself: an operand that is read twice.
  void Gram();

  // ---- Scans, and indices that are data

  size_t DrawDim() { return random_.Below(static_cast<int64_t>(current_.rank())); }

  void Scan();

  // An element of the index tensor, made an index of the extent.
  static std::string IndexIn(const Array& index, const std::string& at, const Extent& extent);

  // Slices of one dimension, as an index tensor says.
  void Gather();

  // Adds slices of the first dimension to those of the result that an index tensor says, by loops
  // without a block.
  void ScatterAdd();

  // The largest elements and where they are: two results of one reduction. Of what is exact alone:
  // another rounding would make another one the largest.
  void ArgMax();

  // ---- Row chains

  // A row of the current tensor: along its last axis, seldom along another.
  struct Rows {
    std::vector<Axis> axes, rows, reduced;  // reduced: `axes`, of which the row's reduces
  };
  std::optional<Rows> DrawRows();

  void Softmax();

  void Normalization();

  // ---- The function

  void Finish();

  Random random_;
  RandomKernel kernel_;
  bool dynamic_ = false, constants_ = false, channels_last_ = false;
  int64_t budget_ = 0;  // of instances that are left
  int64_t most_steps_ = 1;
  double rounding_ = 0;
  int count_ = 0;  // of names
  Array current_;
  Texts params_, constant_names_;
  std::vector<std::pair<Array, bool>> results_;  // and whether it goes out in any case
  std::string body_;
};

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_KERNEL_WRITER_H_
