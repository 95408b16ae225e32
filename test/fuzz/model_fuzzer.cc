// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are the program of a model, as bytes and as text, and a table of weights, or an error.
// What is verified prints and reads back as it was, and runs: memory that is used again changes no
// result.
#include <cstdint>

#include "tern/ffi/error.h"
#include "tern/runtime/artifact/weights.h"
#include "tern/runtime/vm/text.h"
#include "tern/runtime/vm/verify.h"
#include "test/fuzz/check_model.h"

namespace {

using namespace tern::runtime;

template <class F>
void Try(F&& read) {
  try {
    read();
  } catch (const tern::Error&) {
  }
}

void Look(const vm::Program& program) {
  vm::VerifyProgram(program, nullptr);
  vm::PrintProgram(program);
  if (vm::EncodeProgram(vm::DecodeProgram(vm::EncodeProgram(program))) !=
      vm::EncodeProgram(program))
    __builtin_trap();
  if (!tern::fuzz::CheckModel(program).mistake.empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Try([&] { Look(vm::DecodeProgram(bytes)); });
  Try([&] { Look(vm::ParseProgram(bytes, "x")); });
  // The text as bytes, which a mutation of bytes alone would hardly find.
  Try([&] {
    std::string encoded = vm::EncodeProgram(vm::ParseProgram(bytes, "x"));
    for (size_t at = 0; at < encoded.size(); at += 1 + encoded.size() / 64) {
      std::string changed = encoded;
      changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1 << at % 8));
      Try([&] { Look(vm::DecodeProgram(changed)); });
    }
  });
  Try([&] { DecodeWeights(bytes); });
  return 0;
}
