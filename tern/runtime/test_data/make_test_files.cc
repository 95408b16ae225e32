// SPDX-License-Identifier: Apache-2.0
//
// make_test_files DIRECTORY: writes m.so, m.tern and altered.so there, for the tests of whole
// programs.
#include "tern/runtime/artifact.h"
#include "tern/runtime/file_bytes.h"
#include "tern/runtime/test_data/test_artifact.h"

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
  return 0;
}
