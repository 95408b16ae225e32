// SPDX-License-Identifier: Apache-2.0
//
// The artifact of the tests: the functions of host_code.c, and one imported module for the toy
// plugin.
#ifndef TERN_RUNTIME_TEST_DATA_TEST_ARTIFACT_H_
#define TERN_RUNTIME_TEST_DATA_TEST_ARTIFACT_H_

#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/kernel/device_artifact.h"

namespace tern::runtime {

inline DeviceArtifact ToyArtifact() {
  DeviceArtifact artifact{.kind = "toy", .fmt = "toy"};
  artifact.fmap["fill"] = {{DataType::Handle(), DataType::Int(32), DataType::Float(32)},
                           {"blockIdx.x", "threadIdx.x"},
                           0};
  artifact.fmap["broken"] = {{}, {"threadIdx.x", "blockIdx.y"}, 16, 24};
  artifact.payload[""] = "fill fill\nbroken fail\n";
  return artifact;
}

inline ArtifactMeta TestMeta() {
  auto tensor = [](const char* name, bool is_output) {
    return ParamInfo{name, DataType::Float(32), true, {"n"}, is_output};
  };
  ArtifactMeta meta;
  meta.tern_version = "test";
  meta.target = "test";
  meta.device = "cpu";
  meta.functions = {{"add", {tensor("A", false), tensor("B", false), tensor("C", true)}},
                    {"call", {ParamInfo{"x", DataType::Int(64)}}}};
  meta.imports = {{"toy", {}}};
  meta.root_imports = {0};
  return meta;
}

inline ContainerWriter TestContainer() {
  ContainerWriter writer;
  writer.Add("meta", WriteMeta(TestMeta()));
  writer.Add("module.0", SaveDeviceArtifact(ToyArtifact()));
  return writer;
}

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_TEST_DATA_TEST_ARTIFACT_H_
