// SPDX-License-Identifier: Apache-2.0
//
// tern: compile, run and look at tensor programs. The only file that knows the command line.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "tern/codegen/plugin.h"
#include "tern/compile.h"
#include "tern/ffi/text.h"
#include "tools/finish_output.h"
#include "tools/tern/bench.h"
#include "tools/tern/commands.h"
#include "tools/tern/completion.h"
#include "tools/tern/usage_error.h"

namespace tern::tools {
namespace {

constexpr const char* kTargetHelp = "target, as in \"llvm -mcpu=native\"; tern targets lists them";
constexpr const char* kHostHelp = "host target, for a device target";
constexpr const char* kBoundsCheckHelp = "host code checks every access against its tensor's shape";

constexpr const char* kInputShapeHelp =
    "NAME=1,3,224,224: the shape of an input of an .onnx file; ? leaves an extent as it is; "
    "several shapes of one input are versions in one file";
constexpr const char* kDimHelp =
    "NAME=8: an extent that the model names, or INPUT_AXIS where it does not; NAME=1..512: it is "
    "between these; NAME=1,64,1..512: with versions for 1 and 64; of an input that is a sequence: "
    "how many elements it has";
constexpr const char* kFreezeHelp =
    "initializers of an .onnx file that are inputs too are constants: no run can give them";
constexpr const char* kBindHelp =
    "NAME=16000: an input of an .onnx file, of one element, is this constant";
constexpr const char* kSeedHelp = "of the random inputs";
constexpr const char* kNoFuseHelp = "of a model: every operator is a kernel";
constexpr const char* kStrictMathHelp =
    "of a model: sums in the order written, no fused multiply-add";
constexpr const char* kNoDefaultHelp =
    "functions without a schedule stay as they are; by default the target's rules choose one";

void AddPrecision(CLI::App* command, std::string* precision, std::vector<std::string>* offload) {
  command
      ->add_option("--precision", *precision,
                   "of a float32 model: fp16 or bf16 (narrow floats wherever their range is "
                   "enough), mixed (float16 operands of convolutions and matmuls alone) or tf32 "
                   "(these with 10 bits of mantissa, where the target has instructions for it); "
                   "sums stay float32, inputs and outputs as they are")
      ->check(OneOf({"fp16", "bf16", "mixed", "tf32"}));
  command->add_option(
      "--offload", *offload,
      "of a model: a library that computes what it takes: blas (matmuls, by that of "
      "the machine that runs it), or a device's, as cublaslt; may be given several times");
}

void AddCompile(CLI::App* app) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command =
      app->add_subcommand("compile", "compile a model, or a .tir file, for a target");
  command
      ->add_option(
          "input", options->input,
          ".onnx or .tir file; - is a .tir text on standard input; behind a .tir file stand "
          "instances of its templates, as in f.tir:gemm[float16, 64]")
      ->required();
  command
      ->add_option("-t,--target", options->targets,
                   std::string(kTargetHelp) +
                       "; given several times, the .tern file has code for all of these hosts")
      ->expected(1)
      ->take_all();
  command
      ->add_option(
          "--host", options->hosts,
          "host target; given several times, or for a host target, the .tern file has code "
          "for all of them")
      ->expected(1)
      ->take_all();
  command
      ->add_option("-o,--output", options->output,
                   "file to write, by its ending: .so, .tern, .a, .tar, .o, or a form of the "
                   "target's code (.c, .ll, .s, .bc)")
      ->required();
  command->add_option("--postproc", options->postproc,
                      "shared library whose tern_postproc changes the code of the device "
                      "(docs/hooks.md)");
  command->add_option("--compile-hook", options->compile_hook,
                      "shared library whose tern_compile compiles the code of the device");
  command
      ->add_option("--prepack", options->prepack,
                   "of host functions with constants: none (the function as written), beside (also "
                   "f_prepare and f_prepared; the default for one host) or only (these two); of a "
                   "model: compile (weights that do not grow by it are packed now; the default "
                   "for one host) or load (all when it is loaded)")
      ->check(OneOf({"none", "beside", "only", "compile", "load"}));
  command
      ->add_option("--executor", options->executor,
                   "of a model: vm (a program for the runtime; the default) or aot (the program as "
                   "a host function that calls the kernels: for WebAssembly, plain C and clients "
                   "without a runtime; docs/aot.md)")
      ->check(OneOf({"vm", "aot"}));
  command->add_option("--program", options->program,
                      "program of a model, as text, whose kernels are the functions of the input "
                      "(docs/vm.md); the output is .so or .tern");
  command->add_option("--weight", options->weights, "NAME=file.npy: a weight of the program");
  command->add_option("--input-shape", options->input_shapes, kInputShapeHelp);
  command->add_option("--dim", options->dims, kDimHelp);
  command->add_flag("--freeze", options->freeze, kFreezeHelp);
  command->add_option("--bind", options->bound, kBindHelp);
  command->add_flag("!--no-fuse", options->fuse, kNoFuseHelp);
  command->add_flag("--strict-math", options->strict_math, kStrictMathHelp);
  AddPrecision(command, &options->precision, &options->offload);
  command->add_flag("--keep-source", options->keep_source,
                    "store readable forms of the code too, in .so, .tern and .tar files");
  command->add_flag("--bounds-check", options->bounds_checks, kBoundsCheckHelp);
  command->add_flag("!--no-default-schedules", options->default_schedules, kNoDefaultHelp);
  command->callback([options] { Compile(*options); });
}

void AddSessionFlags(CLI::App* command, SessionFlags* flags) {
  command
      ->add_option("--threads", flags->threads,
                   "of a model: threads of its loops (default: as many as affinity and container "
                   "let run at once)")
      ->check(IntegerBetween(1, runtime::kMaxThreads));
  command->add_option("--cpus", flags->cpus,
                      "of a model: the CPUs that its threads run on, as in 0-3,6");
  command->add_option("--denormals", flags->denormals, "of a model, in kernels: flush or keep")
      ->check(OneOf({"flush", "keep"}));
  command
      ->add_option("--timeout", flags->timeout,
                   "of a model: a run that takes longer, in seconds, fails")
      ->check(Number());
  command->add_option("--device", flags->device, "of a model: number of the device (default: 0)")
      ->check(IntegerBetween(0, std::numeric_limits<int32_t>::max()));
  command
      ->add_option("--graphs", flags->graphs,
                   "of a model: on (default) or off: record launches and do them again where the "
                   "device can")
      ->check(OneOf({"on", "off"}));
  command->add_option("--state", flags->states,
                      "of a model, PAST=PRESENT: this input is that output of the call before; it "
                      "begins as its --input, or empty");
  command->add_option("--select", flags->select,
                      "NAME: of a model, compute this output alone; may be given several times");
}

void AddRun(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app->add_subcommand("run", "run a model, or the functions of a .tir, .so or .tern file");
  command
      ->add_option(
          "input", options->input,
          ".onnx, .tir, .so or .tern file; - is a .tir text on standard input; behind a .tir "
          "file stand instances of its templates, as in f.tir:gemm[float16, 64]")
      ->required();
  command->add_option("-t,--target", options->target, kTargetHelp);
  command->add_option("--host", options->host, kHostHelp);
  command->add_option("--entry", options->entry, "function to run (default: all)");
  command->add_option(
      "--dim", options->dims,
      "NAME=N: a symbolic extent or integer parameter (default: 128; batches of models: 1)");
  command->add_option(
      "--input", options->inputs,
      "NAME=file.npy|random|ones|zeros, of a tensor (default: random; of one that the function "
      "writes, zeros), or the value of a scalar of any type");
  command->add_option("--output", options->outputs, "NAME=file.npy: write a tensor after the call");
  command->add_option("--check", options->check,
                      "interp, NAME=file.npy, or host (of an .onnx file: the same on the host, in "
                      "float32): what the results are compared with");
  command->add_option("--repeat", options->repeat, "number of timed calls")
      ->check(IntegerBetween(1, 1000000));
  command
      ->add_option("--offset", options->offset,
                   "elements of memory before the first one of each tensor")
      ->check(IntegerBetween(0, std::numeric_limits<int64_t>::max()));
  command->add_option("--seed", options->seed, kSeedHelp)
      ->check(IntegerBetween(0, std::numeric_limits<int64_t>::max()));
  command->add_flag("--bounds-check", options->bounds_checks, kBoundsCheckHelp);
  command->add_flag("!--no-default-schedules", options->default_schedules, kNoDefaultHelp);
  command->add_flag("--prepare", options->prepare, "prepare constant tensors first, once");
  command->add_flag("!--no-summary", options->summary, "do not sum the results");
  command->add_option("--input-shape", options->input_shapes, kInputShapeHelp);
  AddPrecision(command, &options->precision, &options->offload);
  command->add_flag("--profile", options->profile, "of a model: print the time of each kernel");
  command->add_option("--trace", options->trace,
                      "of a model: write a JSON file of one run's calls, for Perfetto");
  command
      ->add_option("--specialize", options->specialize,
                   "of an .onnx file: off (default: extents that are given are compiled in), or "
                   "lazy or eager: compile it for all shapes, and again for those of the run, by "
                   "another thread while it runs or before it does")
      ->check(OneOf({"off", "lazy", "eager"}));
  AddSessionFlags(command, &options->session);
  GenerateOptions& generate = options->generate;
  command
      ->add_option("--generate", generate.count,
                   "of a decoder model: print so many tokens that follow --tokens")
      ->check(IntegerBetween(1, 1000000));
  command->add_option("--tokens", generate.tokens, "of --generate: ids to begin with, as in 5,17,3")
      ->delimiter(',');
  command
      ->add_option("--temperature", generate.temperature,
                   "of --generate: draw tokens by their probabilities at this temperature, with "
                   "--seed (default: 0, the likeliest)")
      ->check(Number());
  command->add_option("--top-k", generate.top_k, "of --temperature: among so many of the likeliest")
      ->check(IntegerBetween(1, std::numeric_limits<int32_t>::max()));
  command->add_option("--end-token", generate.end_token, "of --generate: the id that ends the text")
      ->check(IntegerBetween(0, std::numeric_limits<int64_t>::max()));
  command->callback([options, exit_code] { *exit_code = Run(*options); });
}

void AddBench(CLI::App* app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app->add_subcommand(
      "bench", "time functions of .tir, .so and .tern files, each against the first");
  command->add_option("input", options->files, ".tir, .so and .tern files")->required();
  command->add_option("-t,--target", options->targets,
                      std::string(kTargetHelp) + "; given several times, all are timed");
  command->add_option("--host", options->host, kHostHelp);
  command->add_option("--entry", options->entry, "function to time (default: all)");
  command->add_option("--dim", options->dims,
                      "NAME=N: a symbolic extent or integer parameter (default: 128)");
  command->add_option("--input", options->inputs, "as tern run takes them");
  command->add_option("--repeat", options->repeat, "calls in a round, of which the median counts")
      ->check(CLI::Range(2, 1000000));
  command->add_option("--rounds", options->rounds, "rounds, whose medians are the spread")
      ->check(CLI::Range(1, 1000));
  command->add_flag("!--no-default-schedules", options->default_schedules, kNoDefaultHelp);
  command->add_flag("--steps", options->steps,
                    "time functions after each step of their schedules, and what the rules make of "
                    "them");
  command->add_flag("--roofline", options->roofline,
                    "measure a matrix product, a polynomial and a copy of as many bytes on the "
                    "target, and print the share of what they reach");
  command->callback([options] { Bench(*options); });
}

void AddDebug(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<DebugOptions>();
  CLI::App* command = app->add_subcommand(
      "debug", "find the first value of a compiled model that differs from a reference");
  command->add_option("input", options->input, ".onnx or .tir file")->required();
  command->add_option("-t,--target", options->target, kTargetHelp);
  command->add_option("--host", options->host, kHostHelp);
  command->add_option("--against", options->against,
                      "reference (every operator by itself, without schedules, on the host; the "
                      "default), onnx-outputs (the folder test_data_set_0 beside the model), or a "
                      "folder of NAME.npy and NAME.pb");
  command->add_option("--input", options->inputs,
                      "NAME=file.npy|random|ones|zeros (default: random)");
  command->add_option("--input-shape", options->input_shapes, kInputShapeHelp);
  command->add_option("--dim", options->dims, kDimHelp);
  command
      ->add_option("--tolerance", options->tolerance,
                   "largest error, relative to the value above 1 (default: 0.001)")
      ->check(Number());
  command->add_option("--dump", options->dump, "write every value to this folder, as .npy");
  command->add_option("--seed", options->seed, kSeedHelp)
      ->check(IntegerBetween(0, std::numeric_limits<int64_t>::max()));
  command->callback([options, exit_code] { *exit_code = Debug(*options); });
}

void AddQuantize(CLI::App* app) {
  auto options = std::make_shared<QuantizeOptions>();
  CLI::App* command = app->add_subcommand(
      "quantize", "write an .onnx file with weights, or weights and activations, of few bits");
  command->add_option("input", options->input, ".onnx file")->required();
  command->add_option("-o,--output", options->output, ".onnx file to write")->required();
  command
      ->add_option("--mode", options->mode,
                   "int8 (weights alone; the default), int4 (the same, of products), or qdq "
                   "(activations too, by ranges of calibration data)")
      ->check(OneOf({"int8", "int4", "qdq"}));
  command
      ->add_option("--block-size", options->block_size,
                   "of int8 and int4: elements that share a scale (default: 32)")
      ->check(IntegerBetween(16, 4096));
  command->add_flag("--per-tensor", options->per_tensor, "one scale for all channels of a tensor");
  command->add_option("--exclude", options->exclude, "name of a node that stays as it is");
  command->add_option("--calibrate", options->calibrate,
                      "of qdq: NAME=file.npy|file.pb|file.npz|folder: samples of an input; given "
                      "several times, those of one input are samples one after the other; "
                      "file.npz: its arrays are samples of the inputs of their names");
  command
      ->add_option("--percentile", options->percentile,
                   "of qdq: so many percent of a tensor's elements are inside of its range, the "
                   "others are limited (default: 100)")
      ->check(CLI::Range(50.0, 100.0));
  command->add_option("--random", options->random, "of qdq: so many random samples")
      ->check(IntegerBetween(1, 1000));
  command->add_option("--input-shape", options->input_shapes, kInputShapeHelp);
  command->add_option("--dim", options->dims, kDimHelp);
  command->add_option("--seed", options->seed, kSeedHelp)
      ->check(IntegerBetween(0, std::numeric_limits<int64_t>::max()));
  command->callback([options] { Quantize(*options); });
}

void AddExplain(CLI::App* app) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app->add_subcommand(
      "explain", "show what a model becomes on a target: kernels, schedule rules, flops, memory");
  command->add_option("input", options->input, ".onnx or .tir file")->required();
  command->add_option("-t,--target", options->target, kTargetHelp);
  command->add_option("--host", options->host, kHostHelp);
  command->add_option("--html", options->html, "write a page with all schedules and the graph");
  command->add_option("--kernel", options->kernel,
                      "show this one: its loops, and its schedule with the rules passed over");
  command->add_option("--input-shape", options->input_shapes, kInputShapeHelp);
  command->add_option("--dim", options->dims, kDimHelp);
  command->add_flag("--freeze", options->freeze, kFreezeHelp);
  command->add_option("--bind", options->bound, kBindHelp);
  command->add_flag("!--no-fuse", options->fuse, kNoFuseHelp);
  command->add_flag("--strict-math", options->strict_math, kStrictMathHelp);
  AddPrecision(command, &options->precision, &options->offload);
  command->callback([options] { Explain(*options); });
}

void AddInspect(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app->add_subcommand("inspect", "show what is in a compiled file or a model");
  command->add_option("input", options->input, "x.so, x.tern or x.onnx")->required();
  command->add_option("--format", options->format,
                      "print the source of this format only; of a model: nodes");
  command->callback([options, exit_code] { *exit_code = Inspect(*options); });
}

void AddOpt(CLI::App* app) {
  auto options = std::make_shared<OptOptions>();
  CLI::App* command =
      app->add_subcommand("opt", "run passes on a .tir or .onnx file and print the result");
  command->add_option("input", options->input, ".tir or .onnx file");
  command->add_option("-p,--passes", options->passes,
                      "passes to run, in order, separated by commas: name, or "
                      "name{option=value,...}");
  command->add_option("-t,--target", options->target, kTargetHelp);
  command->add_option("--print-after", options->print_after,
                      "print the module after these passes ('*': all)");
  CLI::Option* schedule =
      command->add_flag("--schedule", options->schedule, "first do what the schedules say");
  command
      ->add_option("--step", options->step,
                   "with --schedule: do no more than the first N steps of the file's one schedule")
      ->needs(schedule)
      ->check(IntegerBetween(0, std::numeric_limits<int32_t>::max()));
  command->add_flag("--explain-schedule", options->explain_schedule,
                    "print which rule is applied to which block, as schedule sections");
  command->add_flag("--json", options->json, "print the result as JSON, for other tools");
  command->add_flag("--list-ops", options->list_ops, "list the operators of graphs");
  command->add_flag("--list-onnx", options->list_onnx,
                    "list the operators of ONNX that models may have");
  command->add_flag("--list-rules", options->list_rules, "list the rules that choose schedules");
  command->add_option("--trace", options->trace,
                      "write the steps of the function's schedule to this file, as JSON");
  command->add_option("--replay", options->replay,
                      "first do the steps of this file, JSON or text, instead of the schedule");
  command->add_flag("--no-verify", options->no_verify, "do not check the module between passes");
  command->add_flag("--timing", options->timing, "print the time each pass took");
  command->add_flag("--list,--list-passes", options->list, "list the passes and their options");
  command->callback([options] { Opt(*options); });
}

void AddTargets(CLI::App* app) {
  app->add_subcommand("targets", "list the targets: code generators, plugins, devices, tags")
      ->callback(Targets);
}

void AddCts(CLI::App* app, std::vector<std::string> words, int* exit_code) {
  auto options = std::make_shared<CtsOptions>();
  options->words = std::move(words);
  CLI::App* command = app->add_subcommand("cts", "run the conformance suite on a target");
  command->add_option("target", options->target, kTargetHelp)->required();
  command->add_option("--host", options->host, kHostHelp);
  command->add_option("--filter", options->filter, "run only the cases whose name contains this");
  command->add_option("--runner", options->runner,
                      "command that runs the compiled files, as in \"qemu-aarch64 -L DIR "
                      "tern-run\", or the program of "
                      "plain functions, an emulator (default: this program, on this machine)");
  command->add_option("--image-runner", options->image_runner,
                      "command that runs the compiled files on arguments as they lie in memory, as "
                      "in \"node wasm_runner.mjs\"");
  command->add_option("--export", options->export_folder,
                      "run nothing: write a folder that runs the cases with tern-run alone, "
                      "elsewhere (run.sh in it)");
  command->add_option(
      "--known-gap", options->known_gaps,
      "\"PATTERN: REASON\": cases that must fail, beside those that the target lists");
  command
      ->add_option("--timeout", options->timeout,
                   "seconds for a case, after which it has failed; 0: no limit (default: 300)")
      ->check(IntegerBetween(0, 1000000));
  command->add_option("--worker", options->worker, "")->group("");  // for the suite itself
  command->add_option("--program", options->programs,
                      ".tir files with cases, instead of those of the suite");
  command->add_flag("--full", options->full, "all cases, not only those of the smoke tier");
  command->add_flag("--list", options->list, "print the names of the cases");
  command->add_flag("--compile-only", options->compile_only,
                    "compile the cases, and run none: for a target that cannot run here");
  command->add_flag("-v,--verbose", options->verbose,
                    "print the cases that pass, and the known gaps, too");
  command->callback([options, exit_code] { *exit_code = Cts(*options); });
}

void AddLsp(CLI::App* app, int* exit_code) {
  app->add_subcommand("lsp", "serve editors of .tir files, over standard input and output")
      ->callback([exit_code] { *exit_code = Lsp(); });
}

void AddCompletion(CLI::App* app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app->add_subcommand(
      "completion", "print a script that completes commands and options in a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(OneOf({"bash", "zsh", "fish"}));
  command->callback([app, shell] { std::fputs(CompletionScript(*app, *shell).c_str(), stdout); });
}

// Of all commands that read models.
void AddOperatorLibraries(CLI::App* app) {
  for (const char* name : {"compile", "run", "debug", "explain", "opt", "quantize"})
    app->get_subcommand(name)->add_option_function<std::vector<std::string>>(
        "--custom-op-library",
        [](const std::vector<std::string>& paths) {
          for (const std::string& path : paths) codegen::LoadCodegenFile(path);
        },
        "libtern_codegen_DOMAIN.so with operators of a domain of one's own");
}

int Main(int argc, char** argv) {
  CLI::App app("tern compiles tensor programs for any device, into one file, and runs them.",
               "tern");
  app.require_subcommand(1);
  app.set_version_flag("--version", TERN_VERSION);
  int exit_code = 0;
  AddCompile(&app);
  AddRun(&app, &exit_code);
  AddBench(&app);
  AddDebug(&app, &exit_code);
  AddExplain(&app);
  AddQuantize(&app);
  AddInspect(&app, &exit_code);
  AddOpt(&app);
  AddTargets(&app);
  AddCts(&app, {argv + 1, argv + argc}, &exit_code);
  AddLsp(&app, &exit_code);
  AddCompletion(&app);
  AddOperatorLibraries(&app);
  try {
    if (argc == 1) {
      std::fputs(app.help().c_str(), stdout);
      return 0;
    }
    Initialize();
    CheckCommand(app, argc, argv);
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    // Help and the version are ends of this kind too.
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "tern: error: %s\n", UsageError(app, error).c_str());
  } catch (const Error& error) {
    // Diagnostics carry their own "file:line:col: error:".
    bool located = std::strstr(error.what(), ": error: ") != nullptr;
    std::fprintf(stderr, "%s%s\n", located ? "" : "tern: error: ", ErrorText(error).c_str());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tern: error: there is not enough memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern: error: %s\n", ErrorText(error).c_str());
  }
  return 2;
}

}  // namespace
}  // namespace tern::tools

int main(int argc, char** argv) {
  return tern::tools::FinishOutput("tern", tern::tools::Main(argc, argv));
}
