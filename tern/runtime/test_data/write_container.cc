// SPDX-License-Identifier: Apache-2.0
//
// Writes the wrapped container that host_code.c embeds: write_container OUT.
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/kernel/device_artifact.h"
#include "tern/runtime/test_data/test_artifact.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tern::runtime::WriteFile(
      argv[1], tern::runtime::WrapForSharedObject(tern::runtime::TestContainer().Finish()));
  return 0;
}
