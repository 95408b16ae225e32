// SPDX-License-Identifier: Apache-2.0
//
// Any text is a program or a list of mistakes; a well-formed program prints to text that reads back
// to it.
#include <cstdint>
#include <cstdlib>

#include "tern/compile.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tern::Initialize();
  tern::ir::IRModule module;
  try {
    module = tern::tir::ParseModule("fuzz.tir", std::string(bytes));
    tern::tir::Verify(module);
  } catch (const tern::Error& error) {
    if (error.kind() == "InternalError") std::abort();
    return 0;
  }
  std::string text = tern::tir::PrintModule(module);
  if (!tern::tir::StructuralEqual(module, tern::tir::ParseModule("fuzz.tir", text))) std::abort();
  return 0;
}
