// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/check_program.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/ir/pass.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/function.h"
#include "tern/tir/text.h"
#include "test/fuzz/annotate_pipelines.h"
#include "test/fuzz/outline_calls.h"
#include "test/fuzz/random.h"
#include "tools/tern/reference.h"

namespace tern::fuzz {
namespace {

// Passes that are for functions of a target.
const std::set<std::string> kNeedsTarget = {"make_packed_api", "make_plain_api"};

class Checker {
 public:
  Checker(const RandomProgram& program, std::string* stage) : program_(program), stage_(stage) {}

  void Run(const std::vector<target::Target>& targets) {
    Enter("verify");
    tir::Verify(program_.module);
    Enter("interpret");
    info_ = DescribeModule(program_.module, target::Target::Parse("interp")).functions.at(0);
    expected_ =
        Attempt([&] { return tools::RunReference(program_.module, info_, program_.arguments); });
    CheckText();
    if (!program_.has_packed_elements) CheckPasses();
    CheckPipelines();
    CheckCalls();
    for (const target::TargetKind* kind : target::TargetKinds())
      if (kind->lowered && kind->unavailable.empty()) CheckLowering(kind->name);
    for (const target::Target& target : targets) CheckCompiled(target);
  }

 private:
  void Enter(std::string stage) { *stage_ = std::move(stage); }

  void CheckText() {
    Enter("text");
    std::string text = tir::PrintModule(program_.module);
    ir::IRModule parsed = tir::ParseModule("fuzz.tir", text);
    TERN_CHECK(tir::StructuralEqual(program_.module, parsed))
        << "the text reads back to another program:\n"
        << tir::PrintModule(parsed);
    // Parts that the program shares are separate in what was read, and named apart; from there on
    // the text stays.
    std::string normal = tir::PrintModule(parsed);
    std::string again = tir::PrintModule(tir::ParseModule("fuzz.tir", normal));
    TERN_CHECK(normal == again) << "printed, read and printed again, the text differs:\n" << again;
  }

  // Every pass alone, on the program as it was written.
  void CheckPasses() {
    for (const std::string& name : ir::PassNames()) {
      if (kNeedsTarget.count(name)) continue;
      Enter("pass " + name);
      ExpectSame(ir::RunPasses(program_.module, {name}));
    }
  }

  // Loops pipelined at random, one at a time: the pass refuses them, or they compute the same.
  void CheckPipelines() {
    Enter("pass pipeline_loops, stages at random");
    Random random(program_.arguments.seed);
    for (int i = 0; i < 4; ++i) {
      ir::IRModule annotated =
          tir::MapFunctions(program_.module, [&](const tir::PrimFunc& function) {
            return function.WithBody(AnnotatePipelines(function->body, &random));
          });
      ir::IRModule pipelined;
      try {
        pipelined = ir::RunPasses(annotated, {"pipeline_loops"});
      } catch (const Error& error) {
        TERN_CHECK(error.kind() == "ValueError") << error.what();
        continue;
      }
      ExpectSame(pipelined);
    }
  }

  // Parts of the program as functions that it calls.
  void CheckCalls() {
    Enter("calls");
    Random random(program_.arguments.seed);
    for (int i = 0; i < 3; ++i) {
      tir::PrimFunc function = tir::AsPrimFunc(program_.module->functions.begin()->second);
      std::string text = OutlineCall(function, &random);
      if (text.empty()) return;
      ir::IRModule called;
      try {
        called = tir::ParseModule("fuzz.tir", text);
      } catch (const Error& error) {
        TERN_THROW(InternalError) << error.what() << "\nwhile reading\n" << text;
      }
      ExpectSame(ir::IRModule::Make({called->functions.at(function->name)}));
    }
  }

  // What a run gives; nothing where an assert fails that may.
  template <class F>
  std::optional<runtime::RunResult> Attempt(F&& run) {
    try {
      return run();
    } catch (const Error& error) {
      bool is_assert =
          error.kind() == "ValueError" && error.message().find(kFailureWord) != std::string::npos;
      if (!program_.may_fail || !is_assert) throw;
      return std::nullopt;
    }
  }

  // Whether a target refuses what it does not have.
  bool IsRefusal(const Error& error) const {
    if (error.kind() == "InternalError" || is_comparing_) return false;
    return std::any_of(
        program_.optional_features.begin(), program_.optional_features.end(),
        [&](const std::string& word) { return error.message().find(word) != std::string::npos; });
  }

  // The passes of a compilation one after another.
  void CheckLowering(const std::string& kind) {
    Enter("lowering for " + kind);
    target::Target target = target::Target::Parse(kind);
    std::vector<std::string> passes = LoweringPasses(target);
    ir::IRModule bound = tir::MapFunctions(program_.module, [&](const tir::PrimFunc& function) {
      return function.WithAttr(tir::attr::kTarget, target);
    });
    ir::PassOptions options;
    options.verify = [&](const ir::IRModule& module, const std::string& pass) {
      if (pass.empty()) return;
      Enter("lowering for " + kind + ", after " + pass);
      ExpectSame(module);
    };
    try {
      ir::RunPasses(bound, passes, options);
    } catch (const Error& error) {
      if (!IsRefusal(error)) throw;
    }
  }

  // The interpreter must compute the same bits.
  void ExpectSame(const ir::IRModule& module) {
    is_comparing_ = true;
    tir::Verify(module);
    std::optional<runtime::RunResult> actual =
        Attempt([&] { return tools::RunReference(module, info_, program_.arguments); });
    TERN_CHECK(actual.has_value() == expected_.has_value())
        << (actual ? "no assert fails, but one does" : "an assert fails, but none does")
        << " in the program as written; it became\n"
        << tir::PrintModule(module);
    for (size_t i = 0; actual && i < info_.params.size(); ++i) {
      const runtime::Tensor &a = actual->args[i], &b = expected_->args[i];
      TERN_CHECK(!b || std::memcmp(a->data(), b->data(), b->num_bytes()) == 0)
          << info_.params[i].name << " differs from that of the program as written; it became\n"
          << tir::PrintModule(module);
    }
    is_comparing_ = false;
  }

  void CheckCompiled(const target::Target& target) {
    if (target->is_device() && program_.rounds_floats) return;
    Enter("compiling for " + target->str());
    ffi::Module compiled;
    try {
      compiled = codegen::LoadLinkable(tern::Compile(program_.module, target));
    } catch (const Error& error) {
      if (!IsRefusal(error)) throw;
      return;
    }
    Enter("compiled for " + target->str());
    std::optional<runtime::RunResult> actual = Attempt([&] {
      return runtime::RunFunction(compiled->GetFunction(info_.name), info_, target->kind->device,
                                  program_.arguments);
    });
    TERN_CHECK(actual.has_value() == expected_.has_value())
        << (actual ? "no assert fails, but one does" : "an assert fails, but none does")
        << " in the program as written";
    if (!actual) return;
    for (const tools::Comparison& output : tools::CompareResults(info_, *actual, *expected_))
      TERN_CHECK(output.within()) << tools::ErrorLine(output.name, output.error, output.tolerance);
  }

  const RandomProgram& program_;
  std::string* stage_;
  bool is_comparing_ = false;
  runtime::FunctionInfo info_;
  std::optional<runtime::RunResult> expected_;  // nothing: an assert fails
};

}  // namespace

std::optional<Failure> CheckProgram(const RandomProgram& program,
                                    const std::vector<target::Target>& targets,
                                    std::string* stage) {
  std::string own_stage;
  if (!stage) stage = &own_stage;
  try {
    Checker(program, stage).Run(targets);
    return std::nullopt;
  } catch (const Error& error) {
    return Failure{*stage, error.what()};
  }
}

}  // namespace tern::fuzz
