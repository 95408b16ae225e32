// SPDX-License-Identifier: Apache-2.0
//
// tern_onnx_nodes FOLDER: ONNX's tests of operators, compiled and run. All kernels of all cases are
// one module, so that a case costs about what its machine code does.
//
// A case on the list of known gaps must not pass, and all others must.
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tern/codegen/load_linkable.h"
#include "tern/compile_model.h"
#include "tern/ffi/error.h"
#include "tern/runtime/vm/session.h"
#include "tern/tir/function.h"
#include "test/onnx/node_cases.h"
#include "test/onnx/rule_table.h"

namespace tern::test {
namespace {

namespace vm = runtime::vm;
using Status = NodeCase::Status;

constexpr int kSkipped = 77;

struct Options {
  std::string folder, target = "llvm", filter;
  std::vector<std::string> gaps;  // files
  std::string rules;              // a file of rules that are compared, instead
  std::vector<std::string> more;  // folders, for rules
  bool found_alone = false;       // of rules: not what no kernel starts with
  bool verbose = false, progress = false, default_schedules = true;
  int batch = 400;  // cases
  int part = 1;     // one of so many, chosen by the seed
  uint64_t seed = 1;
};

// Whether a case is in the part that is run.
bool IsChosen(const std::string& name, const Options& options) {
  uint64_t hash = 0xcbf29ce484222325U ^ options.seed * 0x9e3779b97f4a7c15U;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return (hash >> 20) % static_cast<uint64_t>(options.part) == 0;
}

struct Gap {
  std::string cases, reason;
};

// "PATTERN: REASON" in each line; # starts a comment.
void ReadGaps(const std::string& path, std::vector<Gap>* gaps) {
  std::ifstream file(path);
  TERN_CHECK(file) << path << " cannot be read";
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t colon = line.find(": ");
    TERN_CHECK(colon != std::string::npos) << path << ": expected PATTERN: REASON, got " << line;
    gaps->push_back({line.substr(0, colon), line.substr(colon + 2)});
  }
}

// Enough to know what it is about.
std::string FirstLines(const std::string& text) {
  std::istringstream lines(text);
  std::string result, line;
  for (int i = 0; i < 3 && std::getline(lines, line); ++i) result += (i ? " | " : "") + line;
  return result;
}

// Cases whose kernels are compiled together.
class Batch {
 public:
  Batch(std::vector<NodeCase*> cases, const target::Target& target, const CompileOptions& options)
      : cases_(std::move(cases)), target_(target), options_(options) {}

  void Run() {
    try {
      CompileAll();
    } catch (const Error& error) {
      if (cases_.size() == 1) {
        cases_[0]->status = Status::kRefused;
        cases_[0]->reason = FirstLines(error.what());
        return;
      }
      // One of them is wrong: halves of halves find it.
      auto middle = cases_.begin() + static_cast<std::ptrdiff_t>(cases_.size() / 2);
      Batch({cases_.begin(), middle}, target_, options_).Run();
      Batch({middle, cases_.end()}, target_, options_).Run();
      return;
    }
    for (NodeCase* one : cases_) RunCase(one);
    // Devices compile when the first kernel is called: what one case has is the error of all.
    if (cases_.size() > 1 && target_->is_device())
      for (NodeCase* one : cases_)
        if (one->status == Status::kRefused) Batch({one}, target_, options_).Run();
  }

 private:
  void CompileAll() {
    for (NodeCase* one : cases_) {
      one->kernels.clear();
      for (const std::string& name : one->lowered.program.kernels) {
        ir::BaseFunc function = one->lowered.kernels->functions.at(name);
        one->kernels.push_back(AddKernel(tir::AsPrimFunc(function)));
      }
    }
    std::vector<ir::BaseFunc> functions;
    for (const auto& [name, function] : kernels_) functions.emplace_back(function);
    if (functions.empty()) return;
    PrepackedModule module = Prepack(ir::IRModule::Make(functions), target_, options_);
    meta_ = module.meta;
    module_ = codegen::LoadLinkable(Compile(module, options_));
  }

  // Cases share kernels that are equal.
  std::string AddKernel(const tir::PrimFunc& function) {
    std::string name = function->name;
    for (;; name += "_") {
      auto [it, added] = kernels_.try_emplace(name, function);
      if (added) {
        it->second = tir::PrimFunc::Make(name, function->params, function->body, function->attrs,
                                         function->span);
        return name;
      }
      if (tir::StructuralEqual(it->second, function)) return name;
    }
  }

  void RunCase(NodeCase* one) {
    try {
      vm::ModelParts parts;
      parts.program = one->lowered.program;
      parts.program.kernels = one->kernels;
      parts.module = module_;
      parts.functions = meta_.functions;
      parts.device = meta_.device.empty() ? "cpu" : meta_.device;  // no kernels: views alone
      std::map<std::string, ir::Constant> weights;
      for (const ir::Constant& constant : one->lowered.weights) weights[constant->name] = constant;
      parts.weight = [&](const vm::Constant& constant) {
        runtime::Tensor tensor = runtime::Tensor::Empty(constant.shape, constant.dtype);
        weights.at(constant.name)->CopyTo(tensor->data());
        return tensor;
      };
      vm::SessionOptions session;
      session.poison_memory = true;
      std::vector<runtime::Tensor> outputs =
          vm::Session(std::make_shared<vm::Model>(std::move(parts)), session).Run(one->inputs);
      for (runtime::Tensor& output : outputs) output = output.CopyTo({kTernDeviceCpu, 0});
      CompareOutputs(outputs, one);
    } catch (const Error& error) {
      one->status = Status::kRefused;
      one->reason = FirstLines(error.what());
    }
  }

  std::vector<NodeCase*> cases_;
  const target::Target& target_;
  const CompileOptions& options_;
  std::map<std::string, tir::PrimFunc> kernels_;
  runtime::ArtifactMeta meta_;
  ffi::Module module_;
};

class Suite {
 public:
  explicit Suite(Options options) : options_(std::move(options)) {
    for (const std::string& path : options_.gaps) ReadGaps(path, &gaps_);
  }

  int Run() {
    Initialize();
    auto start = std::chrono::steady_clock::now();
    target::Target target = target::Target::Parse(options_.target);
    for (NodeCase& one : FindNodeCases(options_.folder))
      if ((options_.filter.empty() || fnmatch(options_.filter.c_str(), one.name.c_str(), 0) == 0) &&
          IsChosen(one.name, options_))
        cases_.push_back(std::move(one));
    CompileOptions compile;
    compile.prepack = CompileOptions::Prepack::kNone;
    compile.default_schedules = options_.default_schedules;
    std::vector<NodeCase*> ready;
    auto flush = [&] {
      if (!ready.empty()) Batch(ready, target, compile).Run();
      for (const NodeCase* one : ready) PrintStatus(*one);
      ready.clear();
    };
    auto add = [&](NodeCase* one, bool bind) {
      try {
        PrepareNodeCase(options_.folder, target, bind, one);
        ready.push_back(one);
      } catch (const Error& error) {
        one->reason = FirstLines(error.what());
        PrintStatus(*one);
      }
      if (ready.size() == static_cast<size_t>(options_.batch)) flush();
    };
    for (NodeCase& one : cases_) add(&one, false);
    flush();
    // Some operators that read what the program finds in an input take less than of constants: a
    // shape without -1.
    for (NodeCase& one : cases_)
      if (one.status == Status::kRefused && !one.bound && !one.inputs.empty()) add(&one, true);
    flush();
    NameFunctions();
    Print();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%.1f s\n", seconds.count());
    return Judge();
  }

 private:
  // The case test_x_expanded is the body of the function that test_x calls.
  void NameFunctions() {
    std::map<std::string, std::string> ops;
    for (const NodeCase& one : cases_) ops[one.name] = one.op;
    for (NodeCase& one : cases_) {
      if (!one.op.empty()) continue;
      auto it = ops.find(one.name.substr(0, one.name.find("_expanded")));
      one.op = it != ops.end() && !it->second.empty() ? it->second + " (body)" : "several";
    }
  }

  // As it comes, for long runs.
  void PrintStatus(const NodeCase& one) const {
    if (!options_.progress) return;
    const char* words[] = {"passed", "refused", "wrong"};
    std::printf("%s  %s  %s\n", words[static_cast<int>(one.status)], one.name.c_str(),
                one.reason.c_str());
    std::fflush(stdout);
  }

  void Print() const {
    struct Counts {
      size_t all = 0, passed = 0, refused = 0, wrong = 0;
    };
    std::map<std::string, Counts> by_op;
    Counts sum;
    size_t bound = 0, random = 0;
    for (const NodeCase& one : cases_) {
      for (Counts* counts : {&by_op[one.op], &sum}) {
        ++counts->all;
        counts->passed += one.status == Status::kPassed;
        counts->refused += one.status == Status::kRefused;
        counts->wrong += one.status == Status::kWrong;
      }
      bound += one.status == Status::kPassed && one.bound;
      random += one.status == Status::kPassed && one.is_random;
    }
    std::printf("%-34s %6s %6s %8s %6s\n", "operator", "cases", "passed", "refused", "wrong");
    for (const auto& [op, counts] : by_op)
      std::printf("%-34s %6zu %6zu %8zu %6zu\n", op.c_str(), counts.all, counts.passed,
                  counts.refused, counts.wrong);
    for (const NodeCase& one : cases_) {
      if (!options_.verbose || one.status == Status::kPassed) continue;
      std::printf("%s  %s (%s): %s\n", one.status == Status::kWrong ? "wrong" : "refused",
                  one.name.c_str(), one.op.c_str(), one.reason.c_str());
    }
    std::printf(
        "%zu of %zu cases pass, %zu of them with inputs that were made constants and %zu of random "
        "elements, of which shapes are compared; %zu are refused, %zu wrong\n",
        sum.passed, sum.all, bound, random, sum.refused, sum.wrong);
  }

  int Judge() {
    size_t failed = 0, known = 0;
    for (const NodeCase& one : cases_) {
      const Gap* gap = nullptr;
      for (const Gap& other : gaps_)
        if (fnmatch(other.cases.c_str(), one.name.c_str(), 0) == 0) gap = &other;
      bool passed = one.status == Status::kPassed;
      known += gap && !passed;
      if (passed == !gap) continue;
      ++failed;
      if (gap)
        std::printf("FAIL  %s: passes, but is a known gap (%s): take it off the list\n",
                    one.name.c_str(), gap->reason.c_str());
      else if (!options_.verbose)
        std::printf("FAIL  %s: %s\n", one.name.c_str(), one.reason.c_str());
    }
    std::printf("%zu known gaps; %zu cases fail\n", known, failed);
    return failed ? 1 : 0;
  }

  Options options_;
  std::vector<Gap> gaps_;
  std::vector<NodeCase> cases_;
};

}  // namespace
}  // namespace tern::test

int main(int argc, char** argv) {
  tern::test::Options options;
  CLI::App app("runs ONNX's tests of operators");
  app.add_option("folder", options.folder, "with a folder for each case")->required();
  app.add_option("-t,--target", options.target, "what is compiled for");
  app.add_option("--known-gaps", options.gaps,
                 "a file of lines PATTERN: REASON; may be given several times");
  app.add_option("--rules", options.rules,
                 "run nothing: compare the schedule rules of operators with this file");
  app.add_option("--and", options.more, "with --rules: another folder");
  app.add_flag("--found-alone", options.found_alone,
               "with --rules: no lines for operators that no kernel starts with");
  app.add_option("--filter", options.filter, "the cases that match this pattern alone");
  app.add_option("--batch", options.batch, "cases that are compiled together");
  app.add_flag("!--no-default-schedules", options.default_schedules, "loops as they are written");
  app.add_option("--part", options.part, "one case of so many alone, chosen by --seed");
  app.add_option("--seed", options.seed, "of --part");
  app.add_flag("--progress", options.progress, "what came of each case, as it comes");
  app.add_flag("--verbose", options.verbose, "why each case does not pass");
  CLI11_PARSE(app, argc, argv);
  if (options.part < 1 || options.batch < 1) {
    std::fprintf(stderr, "error: --part and --batch are 1 or more\n");
    return 2;
  }
  if (!std::filesystem::is_directory(options.folder)) {
    std::printf("SKIPPED: %s is not installed\n", options.folder.c_str());
    return tern::test::kSkipped;
  }
  try {
    if (!options.rules.empty()) {
      tern::Initialize();
      std::vector<std::string> folders = {options.folder};
      folders.insert(folders.end(), options.more.begin(), options.more.end());
      auto target = tern::target::Target::Parse(options.target);
      return tern::test::CompareRules(folders, target, options.rules, options.found_alone) == 0 ? 0
                                                                                                : 1;
    }
    return tern::test::Suite(std::move(options)).Run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
