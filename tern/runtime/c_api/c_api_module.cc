// SPDX-License-Identifier: Apache-2.0
//
// The modules and files of c_api.h.
#include "tern/runtime/c_api/c_api_module.h"

#include <map>

#include "tern/ffi/json.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/sha256.h"
#include "tern/runtime/c_api/c_api_error.h"
#include "tern/runtime/extent.h"
#include "tern/runtime/kernel/device_module.h"
#include "tern/runtime/vm/load_model.h"
#include "tern/runtime/vm/text.h"
#include "tern/runtime/vm/verify.h"

namespace tern::runtime {
namespace {

using ffi::Any;

TernModule* LoadFrom(const Artifact& artifact) {
  return new TernModule{artifact.Load(), artifact.meta()};
}

Any TextArray(const std::vector<std::string>& texts) {
  return ffi::MakeArray(std::vector<Any>(texts.begin(), texts.end()));
}

Any DescribePorts(const vm::Program& program, const std::vector<vm::Port>& ports) {
  std::vector<Any> all;
  for (const vm::Port& port : ports) {
    std::vector<std::string> shape;
    for (const vm::IntExpr& extent : port.shape) shape.push_back(PrintExtent(program, extent));
    all.emplace_back(ffi::MakeMap(
        {{"name", port.name}, {"dtype", port.dtype.str()}, {"shape", TextArray(shape)}}));
  }
  return ffi::MakeArray(std::move(all));
}

Any DescribeProgram(const Artifact& artifact) {
  vm::Program program = vm::ReadProgram(artifact);
  VerifyProgram(program, &artifact.meta().functions);
  const WeightsTable* weights = artifact.weights();
  return ffi::MakeMap(
      {{"dims", TextArray(program.dims)},
       {"inputs", DescribePorts(program, program.inputs)},
       {"outputs", DescribePorts(program, program.outputs)},
       {"kernels", TextArray(program.kernels)},
       {"weight_bytes", weights ? static_cast<int64_t>(weights->data_bytes) : int64_t{0}}});
}

std::string DescribeFile(const std::string& path) {
  Artifact artifact = Artifact::Open(path);
  artifact.Verify();
  std::vector<Any> sections;
  for (const ContainerReader::Section& section : artifact.container().sections())
    sections.emplace_back(ffi::MakeMap({{"name", section.name},
                                        {"bytes", static_cast<int64_t>(section.bytes.size())},
                                        {"sha256", ToHex(section.sha256)}}));
  ffi::Map file = ffi::MakeMap({{"path", path},
                                {"format", artifact.is_shared_object() ? "so" : "tern"},
                                {"meta", ffi::ParseJson(WriteMeta(artifact.meta()))},
                                {"hosts", TextArray(artifact.hosts())},
                                {"sections", ffi::MakeArray(std::move(sections))}});
  if (vm::HasModel(artifact)) file->items["model"] = DescribeProgram(artifact);
  return ffi::WriteJson(Any(file));
}

}  // namespace
}  // namespace tern::runtime

using tern::ffi::Any;
using tern::runtime::Give;
using tern::runtime::Try;

int tern_module_load(const char* path, TernModule** module) {
  return Try([&] { *module = tern::runtime::LoadFrom(tern::runtime::Artifact::Open(path)); });
}

int tern_module_load_bytes(const char* data, uint64_t size, const char* name, TernModule** module) {
  return Try([&] {
    *module = tern::runtime::LoadFrom(tern::runtime::Artifact::FromBytes({data, size}, name));
  });
}

void tern_module_free(TernModule* module) { delete module; }

int tern_module_get_function(TernModule* module, const char* name, TernObject** function) {
  return Try([&] {
    tern::ffi::Function found = module->module->GetFunction(name);
    std::vector<std::string> names = module->module->FunctionNames();
    TERN_CHECK(found) << "there is no function " << name << tern::ffi::DidYouMean(name, names)
                      << "; the functions are " << tern::ffi::Join(names);
    *function = Give(std::move(found));
  });
}

int tern_module_function_names(TernModule* module, TernAny* names) {
  return Try(
      [&] { *names = Any(tern::runtime::TextArray(module->module->FunctionNames())).Release(); });
}

int tern_module_load_kernels(TernModule* module, TernDevice device) {
  return Try([&] { tern::runtime::LoadKernels(module->module, device); });
}

int tern_module_describe(TernModule* module, TernAny* json) {
  return Try([&] { *json = Any(tern::runtime::WriteMeta(module->meta)).Release(); });
}

int tern_file_describe(const char* path, TernAny* json) {
  return Try([&] { *json = Any(tern::runtime::DescribeFile(path)).Release(); });
}

int tern_extent_evaluate(const char* text, const char* const* symbols, const int64_t* values,
                         int32_t count, int64_t* extent) {
  return Try([&] {
    std::map<std::string, int64_t> known;
    for (int32_t i = 0; i < count; ++i) known[symbols[i]] = values[i];
    *extent = tern::runtime::EvaluateExtent(text, known);
  });
}
