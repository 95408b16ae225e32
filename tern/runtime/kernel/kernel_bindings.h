// SPDX-License-Identifier: Apache-2.0
//
// How the arguments of a kernel are bound, for runtimes that make bind groups of them: a part of
// fmap that says what elsewhere the driver is told by the order of arguments
// (docs/artifact_format.md).
#ifndef TERN_RUNTIME_KERNEL_KERNEL_BINDINGS_H_
#define TERN_RUNTIME_KERNEL_KERNEL_BINDINGS_H_

#include <array>
#include <string>
#include <vector>

#include "tern/ffi/containers.h"
#include "tern/runtime/artifact/value_reader.h"

namespace tern::runtime {

struct KernelBindings {
  struct Tensor {
    bool is_written = false;
    uint32_t binding = 0;
    std::string type;  // of the elements of the shader's array

    friend bool operator==(const Tensor&, const Tensor&) = default;
  };
  // The arguments that are no tensors, in one buffer of `bytes` bytes; 0: there are none.
  struct Scalars {
    uint32_t binding = 0;
    uint64_t bytes = 0;
    std::vector<uint64_t> offsets;

    friend bool operator==(const Scalars&, const Scalars&) = default;
  };

  std::array<uint32_t, 3> block{};    // its extents; 0: the launch says
  std::vector<std::string> features;  // that the device must have
  bool rows = false;                  // whether blocks on axis x may lie in rows
  Scalars scalars;
  std::vector<Tensor> tensors;

  friend bool operator==(const KernelBindings&, const KernelBindings&) = default;
};

ffi::Map KernelBindingsToValue(const KernelBindings& bindings);
// Checks every field, and that there is a place for each of so many arguments.
KernelBindings KernelBindingsFromValue(const ValueReader& value, size_t num_tensors,
                                       size_t num_scalars);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_KERNEL_KERNEL_BINDINGS_H_
