// SPDX-License-Identifier: Apache-2.0
//
// The commands of `tern`, one file each: what each can be told, and the function that does it.
// main.cc reads the command line. A function that can fail without an error returns the exit
// status.
#ifndef TOOLS_TERN_COMMANDS_H_
#define TOOLS_TERN_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/generate.h"
#include "tools/session_flags.h"

namespace tern::tools {

// A .tir file to a file of the format that the output's ending names.
struct CompileOptions {
  std::string input, output;
  std::string postproc, compile_hook;  // shared libraries, or ""
  std::vector<std::string> targets;    // one, or several hosts; none: this machine
  std::vector<std::string> hosts;
  // "none", "beside", "only", or "": none for several hosts, else beside. Of a model: "compile",
  // "load", or "": load for several hosts, else compile.
  std::string prepack;
  std::string executor = "vm";                  // of a model: or "aot"
  std::string program;                          // of a model whose kernels the input has, or ""
  std::vector<std::string> weights;             // of the model: name=file.npy
  std::vector<std::string> input_shapes, dims;  // of an .onnx file
  bool freeze = false;                    // the same: initializers that are inputs are constants
  std::vector<std::string> bound;         // the same: NAME=16000, an input that is a constant
  bool fuse = true, strict_math = false;  // of a model
  std::string precision;                  // the same: "fp16", "bf16", "mixed" or ""
  std::vector<std::string> offload;       // the same
  bool keep_source = false, bounds_checks = false, default_schedules = true;
};
void Compile(const CompileOptions& options);

// The conformance suite.
struct CtsOptions {
  std::string target, host, filter, runner, image_runner, export_folder;
  std::vector<std::string> known_gaps, programs;
  bool full = false, list = false, verbose = false, compile_only = false;
  int timeout = 300;  // seconds for a case; 0: no limit
  // The words of the command line, with which another process can be started, and the first case
  // that this one runs where it is such a process.
  std::vector<std::string> words;
  std::optional<size_t> worker;
};
int Cts(const CtsOptions& options);

// Where the values of a compiled model first differ from a reference.
struct DebugOptions {
  std::string input, target, host;
  std::string against = "reference";  // or "onnx-outputs", or a folder
  std::string dump;                   // a folder for all values, or ""
  std::vector<std::string> inputs, input_shapes, dims;
  double tolerance = 1e-3;
  uint64_t seed = 0;
};
int Debug(const DebugOptions& options);

// What a model becomes on a target: kernels, rules, plans, memory.
struct ExplainOptions {
  std::string input, target, host;
  std::string html;    // a page to write, or ""
  std::string kernel;  // the one to show, or ""
  std::vector<std::string> input_shapes, dims;
  bool freeze = false;
  std::vector<std::string> bound;
  bool fuse = true, strict_math = false;
  std::string precision;
  std::vector<std::string> offload;
};
void Explain(const ExplainOptions& options);

// What is in a compiled file or an ONNX model. Nothing of it is executed. Fails where any of it was
// altered.
struct InspectOptions {
  std::string input, format;
};
int Inspect(const InspectOptions& options);

// A server of the Language Server Protocol for .tir files.
int Lsp();

// Text IR in, passes, text IR out.
struct OptOptions {
  std::string input, target, trace, replay;
  std::vector<std::string> passes, print_after;  // each a list with commas
  bool list = false, list_onnx = false, list_ops = false, list_rules = false, json = false,
       no_verify = false, schedule = false, timing = false;
  bool explain_schedule = false;
  std::optional<int64_t> step;  // of the schedule, the last that is done
};
void Opt(const OptOptions& options);

// A model with weights of few bits, or with quantized activations.
struct QuantizeOptions {
  std::string input, output;
  std::string mode = "int8";  // or "int4", or "qdq"
  int64_t block_size = 32;
  bool per_tensor = false;
  std::vector<std::string> exclude, calibrate, input_shapes, dims;
  size_t random = 0;        // samples, in place of `calibrate`
  double percentile = 100;  // of the elements are inside of a range
  uint64_t seed = 0;
};
void Quantize(const QuantizeOptions& options);

// Compile in memory where needed, fill the inputs, call, compare, report.
struct RunOptions {
  std::string input, target, host, entry, check;
  std::vector<std::string> inputs, dims, outputs;
  int64_t offset = 0;
  uint64_t seed = 0;
  int repeat = 1;
  bool bounds_checks = false, default_schedules = true, prepare = false, summary = true;
  std::vector<std::string> input_shapes;  // of an .onnx file
  bool profile = false;                   // of a model
  std::string trace;                      // of a model: a file to write, or ""
  std::string precision;                  // of an .onnx file
  std::vector<std::string> offload;       // the same
  std::string specialize;                 // of an .onnx file: "lazy", "eager", "off" or ""
  SessionFlags session;                   // of a model
  GenerateOptions generate;               // of a decoder model
};
int Run(const RunOptions& options);

// What can be compiled for, and what can run here.
void Targets();

}  // namespace tern::tools

#endif  // TOOLS_TERN_COMMANDS_H_
