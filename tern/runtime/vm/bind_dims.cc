// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/bind_dims.h"

#include "tern/ffi/text.h"
#include "tern/runtime/vm/int_value.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {

std::vector<int64_t> BindDims(const Program& program, const std::vector<Tensor>& inputs) {
  TERN_CHECK(inputs.size() == program.inputs.size())
      << "the model has " << program.inputs.size() << " inputs, " << inputs.size() << " were given";
  std::vector<int64_t> dims(program.dims.size(), -1);
  std::vector<const Port*> told_by(program.dims.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = program.inputs[i];
    TERN_CHECK(inputs[i]) << "input " << port.name << " is not given";
    TERN_CHECK(inputs[i]->dtype() == port.dtype)
        << "input " << port.name << " is " << inputs[i]->dtype().str() << ", the model wants "
        << port.dtype.str();
    const std::vector<int64_t>& shape = inputs[i]->shape();
    TERN_CHECK(shape.size() == port.shape.size())
        << "input " << port.name << " has shape " << ffi::ShapeText(shape) << ", the model wants "
        << PrintPortType(program, port);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (!port.shape[axis].is_register()) continue;
      auto dim = static_cast<size_t>(port.shape[axis].tokens[0].value);
      if (!told_by[dim]) {
        dims[dim] = shape[axis];
        told_by[dim] = &port;
      }
      TERN_CHECK(dims[dim] == shape[axis])
          << "input " << port.name << ": dimension " << axis << " is " << shape[axis] << ", and "
          << program.dims[dim] << " is " << dims[dim] << " by input " << told_by[dim]->name;
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = program.inputs[i];
    for (size_t axis = 0; axis < port.shape.size(); ++axis) {
      int64_t wanted = ValueOf(port.shape[axis], dims.data()), given = inputs[i]->shape()[axis];
      TERN_CHECK(given == wanted) << "input " << port.name << ": dimension " << axis << " is "
                                  << given << ", the model wants " << wanted;
    }
  }
  return dims;
}

void CheckOutput(const Program& program, size_t output, const Tensor& given,
                 const std::vector<int64_t>& shape) {
  const Port& port = program.outputs[output];
  TERN_CHECK(given->dtype() == port.dtype && given->shape() == shape)
      << "output " << port.name << ": the given tensor is " << given->dtype().str() << " of shape "
      << ffi::ShapeText(given->shape()) << ", the model gives " << port.dtype.str() << " of shape "
      << ffi::ShapeText(shape);
}

}  // namespace tern::runtime::vm
