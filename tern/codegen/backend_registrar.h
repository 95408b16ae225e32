// SPDX-License-Identifier: Apache-2.0
//
// What a code generator from outside registers: held back, checked, and put in place all at once or
// not at all.
#ifndef TERN_CODEGEN_BACKEND_REGISTRAR_H_
#define TERN_CODEGEN_BACKEND_REGISTRAR_H_

#include <functional>
#include <string>
#include <vector>

#include "tern/ffi/module.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/module.h"
#include "tern/ir/pass.h"
#include "tern/schedule/rules/rule.h"
#include "tern/target/target.h"
#include "tern/tir/interpreter/intrinsic_reference.h"
#include "tern/tir/intrinsic_rules.h"

namespace tern::codegen {

// All throw where a name is taken, or is not one that backend `name` may take.
class BackendRegistrar {
 public:
  using Build = std::function<ffi::Module(const ir::IRModule&, const target::Target&)>;

  explicit BackendRegistrar(std::string name) : name_(std::move(name)) {}
  BackendRegistrar(const BackendRegistrar&) = delete;
  BackendRegistrar& operator=(const BackendRegistrar&) = delete;

  // Of the backend: "x" for libtern_codegen_x.so.
  const std::string& name() const { return name_; }

  // A kind and its tags, and target.build.<kind>. Being the default host is not for the outside:
  // host_rank is 0.
  void AddTargetKind(target::TargetKind kind, Build build);
  // An intrinsic of the backend's namespace, "<name>.<anything>", and what the interpreter computes
  // for it (null: it cannot run it).
  void AddIntrinsic(ir::Intrinsic intrinsic, tir::LaneFunction reference = nullptr);
  // As tir::RegisterLoweringRule and tir::KeepIntrinsics, for kinds of this registrar, or, with "",
  // for intrinsics of it.
  void AddLoweringRule(std::string intrinsic, std::string kind, tir::LoweringRule rule);
  void KeepIntrinsics(const std::string& kind, const std::vector<std::string>& intrinsics,
                      const std::function<bool(DataType operand)>& takes);
  // "<name>.<anything>", for final_passes and `tern opt`.
  void AddPass(ir::Pass pass);
  // "<name>.<anything>", for functions of its kinds alone.
  void AddScheduleRule(schedule::Rule rule);

  void Commit();

 private:
  struct Kind {
    target::TargetKind kind;
    Build build;
  };
  struct Intrinsic {
    ir::Intrinsic intrinsic;
    tir::LaneFunction reference;
  };
  struct Rule {
    std::string intrinsic, kind;
    tir::LoweringRule rule;
  };

  void CheckNamespace(const char* what, const std::string& name) const;
  void RegisterBuilds();

  std::string name_;
  std::vector<Kind> kinds_;
  std::vector<Intrinsic> intrinsics_;
  std::vector<Rule> rules_;
  std::vector<ir::Pass> passes_;
  std::vector<schedule::Rule> schedule_rules_;
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_BACKEND_REGISTRAR_H_
