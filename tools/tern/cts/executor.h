// SPDX-License-Identifier: Apache-2.0
//
// Who runs the compiled programs of the conformance suite. The suite compiles and compares; an
// executor gets the compiled programs, then all calls at once, and says what came of each.
#ifndef TOOLS_TERN_CTS_EXECUTOR_H_
#define TOOLS_TERN_CTS_EXECUTOR_H_

#include <memory>
#include <string>
#include <vector>

#include "tern/ffi/module.h"
#include "tern/runtime/runner.h"

namespace tern::tools {

// One function on one set of arguments, which runtime::MakeArguments makes the same everywhere.
struct Call {
  size_t program;  // what Add returned
  const runtime::FunctionInfo* function;
  const runtime::RunOptions* options;
};

// The tensors after the call, by parameter, on the host: at least those that the function writes.
struct Outcome {
  std::string error;  // why there are none; empty: there are
  std::vector<runtime::Tensor> args;
};

class Executor {
 public:
  Executor() = default;
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;

  // Takes a compiled program; throws where it cannot be run.
  virtual size_t Add(const ffi::Module& compiled, const runtime::ArtifactMeta& meta) = 0;
  // One outcome for each call, in their order. Throws where nothing can be run at all.
  virtual std::vector<Outcome> Run(const std::vector<Call>& calls) = 0;
};

// In this process, on this machine's devices.
std::unique_ptr<Executor> MakeLocalExecutor();
// By another program: `command --batch FILE`, where each line of FILE is a call as the command line
// of tern-run says it, with tabs between its words (tools/tern_run.cc). It is a worker (worker.h),
// with so many seconds for a call.
std::unique_ptr<Executor> MakeCommandExecutor(const std::string& command, int timeout);
// The same for a program that makes no arguments: each line of FILE is a JSON object with the
// compiled `module` (a file), the `function`, and `args`: {int: "5"},
// {float: 0.5}, and tensors {memory, dtype, shape, strides, byte_offset}, where `memory` is a file
// of bytes. It writes the bytes after the call to the same files.
std::unique_ptr<Executor> MakeImageExecutor(const std::string& command, int timeout);
// For plain functions (target::HasPlainApi): makes one C program of all of them and the calls, with
// `compiler`, a command, and runs it by `emulator`, a command that takes the program's file as its
// last argument; where it is empty, the program runs here. The program is a worker that reads its
// inputs from a file and writes what it has to another, with stdio.
std::unique_ptr<Executor> MakePlainExecutor(const std::string& compiler,
                                            const std::string& emulator, int timeout);

}  // namespace tern::tools

#endif  // TOOLS_TERN_CTS_EXECUTOR_H_
