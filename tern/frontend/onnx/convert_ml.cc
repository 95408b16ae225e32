// SPDX-License-Identifier: Apache-2.0
//
// ai.onnx.ml: classical models, as scikit-learn exports them.
#include "tern/frontend/onnx/converter_table.h"

namespace tern::frontend::onnx {
namespace {

// Its map from names to numbers is cut to the numbers.
Values ZipMap(NodeContext& n) { return n.Emit("identity", {n.input(0)}); }

}  // namespace

const ConverterTable& MlTable() {
  static const ConverterTable table = {
      {"ZipMap", {.convert = ZipMap}},
  };
  return table;
}

}  // namespace tern::frontend::onnx
