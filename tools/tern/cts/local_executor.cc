// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/load_linkable.h"
#include "tools/tern/cts/executor.h"

namespace tern::tools {
namespace {

class LocalExecutor : public Executor {
 public:
  size_t Add(const ffi::Module& compiled, const runtime::ArtifactMeta& meta) override {
    programs_.push_back({codegen::LoadLinkable(compiled), meta.device});
    return programs_.size() - 1;
  }

  std::vector<Outcome> Run(const std::vector<Call>& calls) override {
    std::vector<Outcome> outcomes;
    for (const Call& call : calls) {
      const Program& program = programs_[call.program];
      Outcome& outcome = outcomes.emplace_back();
      try {
        ffi::Function function = program.module->GetFunction(call.function->name);
        outcome.args =
            runtime::RunFunction(function, *call.function, program.device, *call.options).args;
      } catch (const Error& error) {
        outcome.error = error.what();
      }
    }
    return outcomes;
  }

 private:
  struct Program {
    ffi::Module module;
    std::string device;
  };
  std::vector<Program> programs_;
};

}  // namespace

std::unique_ptr<Executor> MakeLocalExecutor() { return std::make_unique<LocalExecutor>(); }

}  // namespace tern::tools
