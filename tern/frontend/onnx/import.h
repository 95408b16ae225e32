// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_FRONTEND_ONNX_IMPORT_H_
#define TERN_FRONTEND_ONNX_IMPORT_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tern/frontend/onnx/model.h"
#include "tern/ir/module.h"

namespace tern::frontend::onnx {

struct ImportOptions {
  // Shapes of inputs that the model leaves open, by the name of the input; -1 leaves an extent as
  // it is.
  std::map<std::string, std::vector<int64_t>> input_shapes;
  // Extents by the name that the model gives to them. Of an input that is a sequence, by its name:
  // how many elements it has, which are inputs of their own: x[0], x[1], ... (otherwise those that
  // have a shape in `input_shapes`). Of an optional, 0: it has no element.
  std::map<std::string, int64_t> dims;
  // The least and the most that extents can be which stay open, by that name. An extent without a
  // name has that of its input and axis: `image_2`.
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
  // Extents for which the module has versions of the graph (tern/graph/versions.h): each fixes some
  // that are open otherwise.
  struct Version {
    std::map<std::string, int64_t> dims;
    std::map<std::string, std::vector<int64_t>> input_shapes;
  };
  std::vector<Version> versions;
  bool versions_only = false;  // other extents are errors when the model runs
  // Inputs that have initializers and can be given nevertheless, by name; none: all that can.
  std::optional<std::set<std::string>> overridable;
  // Inputs that are constants, by name: their elements are known when compiling. Of those with one
  // element the number is enough.
  std::map<std::string, Tensor> constants;
  std::map<std::string, double> scalars;
};

// The model as a module: the graph `main`, and its weights as constants, which stay in the mapped
// file. Opsets 6 to 28. A name of a dimension is one variable in all inputs; dimensions without one
// are variables of their own. What the file says about shapes inside of the graph is not looked at.
// An input that has an initializer is a constant before IR version 4. After it the initializer is
// its default (operator with_default); those of integers and bools, which may be shapes, stay
// constants.
// Outputs that are maps are left out, with what only they need; strings are bytes of UTF-8, each a
// row that ends with zeros.
// Those that are sequences are one output for each element: y[0], y[1], ... Functions of the model
// are put in place of their calls.
//
// Throws one error for all operators that are not supported, with their nodes; otherwise the error
// of the first node that is wrong, by its name.
ir::IRModule Import(const Model& model, const ImportOptions& options = {});

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_IMPORT_H_
