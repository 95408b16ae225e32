// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/check_kernel.h"

#include <cstring>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/ir/pass.h"
#include "tern/runtime/host/thread_pool.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/function.h"
#include "tools/run_report.h"
#include "tools/tern/reference.h"

namespace tern::fuzz {
namespace {

// A device may lack a type; nothing else may be wrong with these kernels.
bool LacksType(const Error& error) {
  return error.message().find("has values of ") != std::string::npos;
}

// A rule took an instruction of the machine, which only compiled code has.
bool CallsMachine(const Error& error) {
  return error.message().find("the interpreter cannot call llvm.") != std::string::npos;
}

// The kernel itself computes what no type holds, as twice the least of nothing: it has no result.
bool Overflows(const Error& error) {
  return error.message().find(" overflow") != std::string::npos;
}

// A driver that would end the loops of a thread early, and a kernel that no rule gave more threads.
bool LoopsTooLong(const Error& error) {
  return error.message().find("the results may be wrong: the loops of a thread") !=
         std::string::npos;
}

class Checker {
 public:
  Checker(const RandomKernel& kernel, const ir::IRModule& module, Refusals* refusals,
          std::string* stage)
      : kernel_(kernel), module_(module), refusals_(*refusals), stage_(*stage) {}

  void Run(const KernelTargets& targets) {
    stage_ = "verify";
    tir::Verify(module_);
    stage_ = "interpret";
    info_ = DescribeModule(module_, target::Target::Parse("interp")).functions.at(0);
    try {
      expected_ = tools::RunReference(module_, info_, kernel_.arguments);
    } catch (const Error& error) {
      if (!Overflows(error)) throw;
      ++refusals_["interp: overflow"];
      return;
    }
    for (const target::Target& target : targets.interpreted) CheckInterpreted(target);
    for (const target::Target& target : targets.compiled) {
      stage_ = "compiling for " + target->str();
      Compile(target);
    }
    for (const target::Target& target : targets.run) CheckRun(target);
  }

 private:
  // What the rules made of it, before code is generated: the same to the last bit, but for sums
  // that may be reassociated.
  void CheckInterpreted(const target::Target& target) {
    stage_ = "scheduling for " + target->str();
    ir::IRModule bound = tir::MapFunctions(module_, [&](const tir::PrimFunc& function) {
      return function.WithAttr(tir::attr::kTarget, target);
    });
    std::vector<std::string> passes = {"default_schedules"};
    if (target->is_device())
      passes.insert(passes.end(),
                    {"bind_threads", "initialize_empty_reductions", "pipeline_loops",
                     "lower_thread_reductions", "hoist_thread_loops", "lower_warp_memory",
                     "lower_warp_operations", "insert_barriers"});
    ir::IRModule scheduled = ir::RunPasses(bound, passes);
    tir::Verify(scheduled);
    stage_ = "scheduled for " + target->str();
    try {
      Compare(tools::RunReference(scheduled, info_, kernel_.arguments),
              kernel_.reassociates ? kernel_.tolerance : 0);
    } catch (const Error& error) {
      if (!CallsMachine(error)) throw;
      ++refusals_[target->kind->name + ": scheduled with an instruction of the machine"];
    }
  }

  // Nothing where a device cannot.
  std::optional<ffi::Module> Compile(const target::Target& target) {
    try {
      return tern::Compile(module_, target);
    } catch (const Error& error) {
      if (!target->is_device() || !LacksType(error)) throw;
      ++refusals_[target->kind->name + ": " + error.message()];
      return std::nullopt;
    }
  }

  void CheckRun(const target::Target& target) {
    stage_ = "compiling for " + target->str();
    std::optional<ffi::Module> compiled = Compile(target);
    if (!compiled) return;
    stage_ = "loading what was compiled for " + target->str();
    ffi::Module loaded = codegen::LoadLinkable(*compiled);
    bool exact = !kernel_.reassociates && !kernel_.calls_math;
    double tolerance = exact ? 0 : kernel_.tolerance;
    stage_ = "compiled for " + target->str();
    ffi::Function function = loaded->GetFunction(info_.name);
    auto run = [&] {
      return runtime::RunFunction(function, info_, target->kind->device, kernel_.arguments);
    };
    try {
      runtime::RunResult actual = run();
      Compare(actual, tolerance);
      // In any order of sums, the same one in every run, on so many threads as there are.
      for (int threads : {1, 3}) {
        stage_ = "compiled for " + target->str() + ", once more on " + std::to_string(threads);
        std::shared_ptr<runtime::ThreadPool> pool = runtime::MakeThreadPool(threads);
        runtime::UseThreadPool use(pool.get());
        CheckSameBits(run(), actual);
      }
    } catch (const Error& error) {
      if (!target->is_device() || !LoopsTooLong(error)) throw;
      ++refusals_[target->kind->name + ": the driver has a limit of loops"];
      return;
    }
    // The two parts of a function with constants.
    runtime::ArtifactMeta meta = DescribeModule(module_, target);
    if (meta.functions.size() == 1) return;
    stage_ = "prepared for " + target->str();
    for (const runtime::FunctionInfo& info : meta.functions)
      if (info.name == info_.name)
        Compare(runtime::RunFunction(tools::PreparingFunction(loaded, meta, info), info,
                                     target->kind->device, kernel_.arguments),
                tolerance);
  }

  void CheckSameBits(const runtime::RunResult& again, const runtime::RunResult& first) const {
    for (size_t i = 0; i < info_.params.size(); ++i) {
      if (!info_.params[i].is_output) continue;
      const runtime::Tensor &a = first.args[i], &b = again.args[i];
      TERN_CHECK(a->storage_bytes() == b->storage_bytes() &&
                 std::memcmp(a->data(), b->data(), a->storage_bytes()) == 0)
          << info_.params[i].name << " has other bits in another run: "
          << tools::ErrorLine(info_.params[i].name, runtime::CompareTensors(b, a), 0);
    }
  }

  void Compare(const runtime::RunResult& actual, double tolerance) const {
    for (tools::Comparison& output : tools::CompareResults(info_, actual, expected_)) {
      if (output.tolerance > 0) output.tolerance = tolerance;  // integers are exact
      TERN_CHECK(output.within()) << tools::ErrorLine(output.name, output.error, output.tolerance);
    }
  }

  const RandomKernel& kernel_;
  const ir::IRModule& module_;
  Refusals& refusals_;
  std::string& stage_;
  runtime::FunctionInfo info_;
  runtime::RunResult expected_;
};

}  // namespace

std::optional<Failure> CheckKernel(const RandomKernel& kernel, const ir::IRModule& module,
                                   const KernelTargets& targets, Refusals* refusals,
                                   std::string* stage) {
  try {
    Checker(kernel, module, refusals, stage).Run(targets);
    return std::nullopt;
  } catch (const Error& error) {
    return Failure{*stage, error.kind() + ": " + error.what()};
  }
}

}  // namespace tern::fuzz
