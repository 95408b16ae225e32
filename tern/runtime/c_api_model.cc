// SPDX-License-Identifier: Apache-2.0
//
// The models of c_api.h.
#include "tern/runtime/c_api.h"
#include "tern/runtime/c_api_error.h"
#include "tern/runtime/vm/load_model.h"
#include "tern/runtime/vm/session.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime {
namespace {

// A port as C sees it.
struct PortText {
  std::vector<int64_t> shape;
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
};

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

}  // namespace
}  // namespace tern::runtime

struct TernModel {
  explicit TernModel(std::shared_ptr<const tern::runtime::vm::Model> loaded)
      : model(std::move(loaded)),
        inputs(tern::runtime::TextsOf(model->program(), model->program().inputs)),
        outputs(tern::runtime::TextsOf(model->program(), model->program().outputs)) {}
  std::shared_ptr<const tern::runtime::vm::Model> model;
  std::vector<tern::runtime::PortText> inputs, outputs;
};

struct TernSession {
  tern::runtime::vm::Session session;
};

using tern::runtime::Give;
using tern::runtime::Tensor;
using tern::runtime::Try;

int tern_model_load(const char* path, TernModel** model) {
  return Try([&] { *model = new TernModel(tern::runtime::vm::LoadModel(path)); });
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

int tern_session_create(TernModel* model, TernSession** session) {
  return Try([&] { *session = new TernSession{tern::runtime::vm::Session(model->model)}; });
}

void tern_session_free(TernSession* session) { delete session; }

int tern_session_run(TernSession* session, TernObject* const* inputs, int32_t num_inputs,
                     TernObject** outputs, int32_t num_outputs) {
  return Try([&] {
    auto tensor = [](TernObject* object) {
      return Tensor(tern::runtime::ObjectOf<tern::runtime::TensorObj>(object, "tern_session_run"));
    };
    size_t expected = session->session.model().program().outputs.size();
    TERN_CHECK(num_inputs >= 0 && num_outputs >= 0 && static_cast<size_t>(num_outputs) == expected)
        << "tern_session_run: the model has " << expected << " outputs, " << num_outputs
        << " were given";
    std::vector<Tensor> given, wanted;
    for (int32_t i = 0; i < num_inputs; ++i) given.push_back(tensor(inputs[i]));
    for (int32_t i = 0; i < num_outputs; ++i)
      wanted.push_back(outputs[i] ? tensor(outputs[i]) : Tensor());
    std::vector<Tensor> results = session->session.Run(given, wanted);
    for (size_t i = 0; i < results.size(); ++i)
      if (!outputs[i]) outputs[i] = Give(std::move(results[i]));
  });
}
