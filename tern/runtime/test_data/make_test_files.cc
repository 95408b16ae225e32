// SPDX-License-Identifier: Apache-2.0
//
// make_test_files DIRECTORY: writes m.so, m.tern, altered.so, and the models model.tern,
// altered_model.tern, short_model.tern and outputs.tern there, for the tests of whole programs.
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/test_data/test_artifact.h"
#include "tern/runtime/vm/text.h"

namespace {

// y = x + x + w, where w is (1, 2, 3, 4)
constexpr const char* kModel = R"(model 1
dim n
input x: float32[n]
output y: float32[n]
constant w: float32[4] weights
func main(i0, t0: float32[:]) -> (tensor) {
  t1: float32[:]
  t2: float32[:]
  t3: float32[:]
  check i0 == 4, "x has {} elements, and w has 4", i0
  t1 = alloc [i0]
  call add(t0, t0, t1)
  t2 = const w
  t3 = alloc [i0] output 0
  call add(t1, t2, t3)
  free t1
  ret t3
}
)";
// y = 2 x, z = 3 x; calls c_test.probe between them where there are 5 elements.
constexpr const char* kOutputs = R"(model 1
dim n
input x: float32[n]
output y: float32[n]
output z: float32[n]
func main(i0, t0: float32[:]) -> (tensor, tensor) {
  t1: float32[:]
  t2: float32[:]
  t1 = alloc [i0] output 0
  call add(t0, t0, t1)
  branch i0 != 5, L6
  call_packed c_test.probe()
  L6:
  t2 = alloc [i0] output 1
  call add(t1, t0, t2)
  ret t1, t2
}
)";
constexpr char kWeights[] = "\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40";

}  // namespace

int main(int argc, char** argv) {
  using namespace tern::runtime;
  if (argc != 2) return 2;
  std::string directory = std::string(argv[1]) + "/";
  std::string shared_object = ReadFile(std::string(TERN_TEST_DATA) + "/embedded.so");
  SealSharedObject(&shared_object);
  WriteFile(directory + "m.so", shared_object);
  shared_object[shared_object.find(TERN_SYMBOL_PREFIX)] ^= 1;  // the name of a symbol
  WriteFile(directory + "altered.so", shared_object);
  ContainerWriter writer = TestContainer();
  writer.Add("host." + HostTriple(), ReadFile(std::string(TERN_TEST_DATA) + "/bare.so"));
  WriteFile(directory + "m.tern", writer.Finish());

  ContainerWriter outputs = writer;
  outputs.Add(vm::kModelSection, vm::EncodeProgram(vm::ParseProgram(kOutputs, "outputs")));
  WriteFile(directory + "outputs.tern", outputs.Finish());

  WeightsWriter weights({{"w", tern::DataType::Float(32), {4}, {kWeights, sizeof kWeights - 1}}});
  writer.Add(vm::kModelSection, vm::EncodeProgram(vm::ParseProgram(kModel, "model")));
  writer.Add(kWeightsSection, EncodeWeights(weights.table()));
  std::string model = writer.Finish();
  model.resize(WeightsStart(model.size()));
  weights.WriteData([&](std::string_view part) { model += part; });
  WriteFile(directory + "model.tern", model);
  WriteFile(directory + "short_model.tern", model.substr(0, model.size() - 4));
  model.back() ^= 1;
  WriteFile(directory + "altered_model.tern", model);
  return 0;
}
