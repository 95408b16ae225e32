// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/linker.h"

#include <lld/Common/Driver.h>

#include <mutex>

#include "tern/codegen/temporary_directory.h"
#include "tern/codegen/undefined_symbols.h"
#include "tern/ffi/error.h"
#include "tern/runtime/artifact/file_bytes.h"

LLD_HAS_DRIVER(elf)
LLD_HAS_DRIVER(wasm)

namespace tern::codegen {
namespace {

// LLD keeps its state in globals, and cannot be called again after a crash that it recovered from.
void RunLinker(const std::vector<std::string>& arguments, const std::string& directory) {
  static std::mutex mutex;
  static bool usable = true;
  std::scoped_lock lock(mutex);
  TERN_CHECK(usable) << "the linker crashed earlier in this process and cannot be used again";
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(argv, llvm::nulls(), stream,
                                    {{lld::Gnu, &lld::elf::link}, {lld::Wasm, &lld::wasm::link}});
  usable = result.canRunAgain;
  if (result.retCode == 0) return;
  // The directory has another name every time, and means nothing to the reader.
  for (size_t at; (at = messages.find(directory)) != std::string::npos;)
    messages.erase(at, directory.size());
  TERN_THROW(RuntimeError) << "linking failed: " << messages;
}

// Links the objects as the arguments say.
std::string Link(std::vector<std::string> arguments, const std::vector<std::string>& objects) {
  TemporaryDirectory directory;
  std::string output = directory.File("linked");
  arguments.insert(arguments.end(), {"--threads=1", "-o", output});
  for (size_t i = 0; i < objects.size(); ++i) {
    arguments.push_back(directory.File(std::to_string(i) + ".o"));
    runtime::WriteFile(arguments.back(), objects[i]);
  }
  RunLinker(arguments, directory.path() + "/");
  return runtime::ReadFile(output);
}

}  // namespace

std::string LinkElfSharedObject(const std::vector<std::string>& objects,
                                const std::string& emulation) {
  std::string linked =
      Link({"ld.lld", "-shared", "-m", emulation, "--build-id=none", "--hash-style=gnu", "-z",
            "noexecstack", "-z", "relro", "-z", "now", "-z", "separate-code", "-rpath", "$ORIGIN"},
           objects);
  CheckUndefinedSymbols(linked);
  return linked;
}

std::string LinkDeviceObject(const std::vector<std::string>& objects, const std::string& emulation,
                             bool drop_unused) {
  std::vector<std::string> args = {"ld.lld",         "-shared",         "-m",        emulation,
                                   "--no-undefined", "--build-id=none", "-Bsymbolic"};
  if (drop_unused) args.emplace_back("--gc-sections");
  return Link(args, objects);
}

std::string LinkWasmModule(const std::vector<std::string>& objects,
                           const std::vector<std::string>& symbols) {
  // The stack lies below the data, so that too deep a one traps.
  std::vector<std::string> arguments = {"wasm-ld",         "--no-entry", "--export-table",
                                        "--stack-first",   "-z",         "stack-size=1048576",
                                        "--growable-table"};
  for (const std::string& symbol : symbols) arguments.push_back("--export=" + symbol);
  return Link(std::move(arguments), objects);
}

}  // namespace tern::codegen
