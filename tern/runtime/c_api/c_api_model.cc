// SPDX-License-Identifier: Apache-2.0
//
// The models of c_api.h.
#include "tern/runtime/c_api/c_api_model.h"
#include "tern/ffi/json.h"
#include "tern/runtime/c_api.h"
#include "tern/runtime/c_api/c_api_error.h"
#include "tern/runtime/vm/load_model.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime {
namespace {

std::vector<PortText> TextsOf(const vm::Program& program, const std::vector<vm::Port>& ports) {
  std::vector<PortText> all(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    for (const vm::IntExpr& extent : ports[i].shape) {
      all[i].shape.push_back(extent.is_const() ? extent.tokens[0].value : -1);
      all[i].texts.push_back(PrintExtent(program, extent));
    }
    for (const std::string& text : all[i].texts) all[i].pointers.push_back(text.c_str());
  }
  return all;
}

TernPort PortAt(const char* function, const std::vector<vm::Port>& ports,
                const std::vector<PortText>& texts, int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= ports.size())
    TERN_THROW(IndexError) << function << ": there is no " << index << " among " << ports.size();
  const vm::Port& port = ports[static_cast<size_t>(index)];
  const PortText& text = texts[static_cast<size_t>(index)];
  return {port.name.c_str(), port.dtype.raw(), static_cast<int32_t>(port.shape.size()),
          text.shape.data(), text.pointers.data()};
}

ffi::Any Describe(const vm::Program& program, const vm::Specialization& one) {
  using State = vm::Specialization::State;
  ffi::Map dims = ffi::MakeMap();
  for (size_t i = 0; i < one.dims.size(); ++i) dims->items[program.dims[i]] = one.dims[i];
  const char* state = one.state == State::kWaiting ? "waiting"
                      : one.state == State::kReady ? "ready"
                                                   : "failed";
  return ffi::Any(ffi::MakeMap(
      {{"dims", dims}, {"state", state}, {"seconds", one.seconds}, {"error", one.error}}));
}

}  // namespace
}  // namespace tern::runtime

TernModel::TernModel(std::shared_ptr<const tern::runtime::vm::Model> loaded,
                     std::shared_ptr<tern::runtime::vm::Specializer> made)
    : model(std::move(loaded)),
      specializer(std::move(made)),
      inputs(tern::runtime::TextsOf(model->program(), model->program().inputs)),
      outputs(tern::runtime::TextsOf(model->program(), model->program().outputs)) {}

TernModel* tern::runtime::WrapModel(std::shared_ptr<const vm::Model> model,
                                    std::shared_ptr<vm::Specializer> specializer) {
  return new TernModel(std::move(model), std::move(specializer));
}

using tern::runtime::Try;

int tern_model_load(const char* path, TernModel** model) {
  return Try([&] { *model = new TernModel(tern::runtime::vm::LoadModel(path)); });
}

int tern_model_load_on(const char* path, int32_t device_id, TernModel** model) {
  return Try([&] { *model = new TernModel(tern::runtime::vm::LoadModel(path, device_id)); });
}

int tern_model_warm(TernModel* model) {
  return Try([&] { model->model->Warm(); });
}

void tern_model_free(TernModel* model) { delete model; }

int tern_model_num_inputs(TernModel* model, int32_t* count) {
  return Try([&] { *count = static_cast<int32_t>(model->inputs.size()); });
}

int tern_model_num_outputs(TernModel* model, int32_t* count) {
  return Try([&] { *count = static_cast<int32_t>(model->outputs.size()); });
}

int tern_model_input(TernModel* model, int32_t index, TernPort* port) {
  return Try([&] {
    *port = tern::runtime::PortAt("tern_model_input", model->model->program().inputs, model->inputs,
                                  index);
  });
}

int tern_model_output(TernModel* model, int32_t index, TernPort* port) {
  return Try([&] {
    *port = tern::runtime::PortAt("tern_model_output", model->model->program().outputs,
                                  model->outputs, index);
  });
}

int tern_model_input_has_default(TernModel* model, int32_t index, int32_t* has_default) {
  return Try([&] {
    (void)tern::runtime::PortAt("tern_model_input_has_default", model->model->program().inputs,
                                model->inputs, index);
    *has_default = static_cast<bool>(model->model->input_default(static_cast<size_t>(index)));
  });
}

int tern_model_device(TernModel* model, TernDevice* device) {
  return Try([&] { *device = model->model->device(); });
}

int tern_model_specializations(TernModel* model, int32_t waits, TernAny* json) {
  return Try([&] {
    std::vector<tern::ffi::Any> all;
    if (model->specializer) {
      if (waits) model->specializer->Wait();
      for (const tern::runtime::vm::Specialization& one : model->specializer->All())
        all.push_back(tern::runtime::Describe(model->model->program(), one));
    }
    tern::ffi::Any array(tern::ffi::MakeArray(std::move(all)));
    *json = tern::ffi::Any(tern::ffi::WriteJson(array)).Release();
  });
}
