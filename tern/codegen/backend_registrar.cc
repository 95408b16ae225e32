// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/backend_registrar.h"

#include <algorithm>

#include "tern/ffi/registry.h"

namespace tern::codegen {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What bind_threads asks every device for.
void CheckLimits(const target::TargetKind& kind) {
  if (kind.role != target::Role::kDevice || !kind.lowered) return;
  auto it = kind.attrs.find("max_threads");
  TERN_CHECK(it != kind.attrs.end() && it->second.type == target::AttrSpec::Type::kInt &&
             !it->second.default_value.is_none())
      << "target kind " << kind.name
      << ": a device has the attribute max_threads, an integer with a default";
}

std::string BuildName(const target::TargetKind& kind) { return "target.build." + kind.name; }

}  // namespace

void BackendRegistrar::CheckNamespace(const char* what, const std::string& name) const {
  TERN_CHECK(name.starts_with(name_ + ".") && name.size() > name_.size() + 1)
      << what << " " << name << ": those of backend " << name_ << " are named " << name_
      << ".<anything>";
}

void BackendRegistrar::AddTargetKind(target::TargetKind kind, Build build) {
  TERN_CHECK(!kind.name.empty()) << "a target kind is registered without a name";
  TERN_CHECK(build) << "target kind " << kind.name << " has no code generator";
  TERN_CHECK(kind.host_rank == 0) << "target kind " << kind.name
                                  << ": only a kind of the tree can be the default host";
  CheckLimits(kind);
  std::vector<std::string> names = {kind.name};
  for (const auto& [tag, text] : kind.tags) names.push_back(tag);
  for (const std::string& name : names) {
    bool staged = std::any_of(kinds_.begin(), kinds_.end(), [&](const Kind& other) {
      return other.kind.name == name || other.kind.tags.contains(name);
    });
    TERN_CHECK(!staged && !target::HasTargetKindOrTag(name))
        << "target " << name << " is already registered";
  }
  TERN_CHECK(!ffi::FindGlobal(BuildName(kind)))
      << "global function " << BuildName(kind) << " is already registered";
  kinds_.push_back({std::move(kind), std::move(build)});
}

void BackendRegistrar::AddIntrinsic(ir::Intrinsic intrinsic, tir::LaneFunction reference) {
  CheckNamespace("intrinsic", intrinsic.name);
  TERN_CHECK(intrinsic.infer) << "intrinsic " << intrinsic.name << " has no `infer`";
  bool staged = std::any_of(intrinsics_.begin(), intrinsics_.end(), [&](const Intrinsic& other) {
    return other.intrinsic.name == intrinsic.name;
  });
  TERN_CHECK(!staged && !Contains(ir::IntrinsicNames(), intrinsic.name))
      << "intrinsic " << intrinsic.name << " is already registered";
  intrinsics_.push_back({std::move(intrinsic), std::move(reference)});
}

void BackendRegistrar::AddLoweringRule(std::string intrinsic, std::string kind,
                                       tir::LoweringRule rule) {
  TERN_CHECK(rule) << "a lowering rule of " << intrinsic << " is null";
  bool own_kind = std::any_of(kinds_.begin(), kinds_.end(),
                              [&](const Kind& own) { return own.kind.name == kind; });
  if (kind.empty())
    CheckNamespace("a lowering rule for all kinds, of", intrinsic);
  else
    TERN_CHECK(own_kind) << "a lowering rule of " << intrinsic << ": backend " << name_
                         << " has added no target kind " << kind;
  rules_.push_back({std::move(intrinsic), std::move(kind), std::move(rule)});
}

void BackendRegistrar::KeepIntrinsics(const std::string& kind,
                                      const std::vector<std::string>& intrinsics,
                                      const std::function<bool(DataType operand)>& takes) {
  for (const std::string& intrinsic : intrinsics)
    AddLoweringRule(intrinsic, kind, tir::KeepingRule(takes));
}

void BackendRegistrar::AddPass(ir::Pass pass) {
  CheckNamespace("pass", pass.name);
  bool staged = std::any_of(passes_.begin(), passes_.end(),
                            [&](const ir::Pass& other) { return other.name == pass.name; });
  TERN_CHECK(!staged && !Contains(ir::PassNames(), pass.name))
      << "pass " << pass.name << " is already registered";
  passes_.push_back(std::move(pass));
}

void BackendRegistrar::AddScheduleRule(schedule::Rule rule) {
  CheckNamespace("schedule rule", rule.name);
  TERN_CHECK(rule.apply) << "schedule rule " << rule.name << " has no function";
  auto has_name = [&](const std::string& other) { return other == rule.name; };
  bool staged = std::any_of(schedule_rules_.begin(), schedule_rules_.end(),
                            [&](const schedule::Rule& other) { return has_name(other.name); });
  std::vector<const schedule::Rule*> known = schedule::AllRules();
  bool taken = std::any_of(known.begin(), known.end(),
                           [&](const schedule::Rule* other) { return has_name(other->name); });
  TERN_CHECK(!staged && !taken) << "schedule rule " << rule.name << " is already registered";
  std::vector<std::string> kinds;
  for (const Kind& own : kinds_) kinds.push_back(own.kind.name);
  rule.fits = [kinds, fits = rule.fits](const schedule::TargetInfo& info) {
    return info.target && Contains(kinds, info.target->kind->name) && (!fits || fits(info));
  };
  schedule_rules_.push_back(std::move(rule));
}

// The one table that others fill too, and so the one that can still refuse.
void BackendRegistrar::RegisterBuilds() {
  size_t done = 0;
  try {
    for (; done < kinds_.size(); ++done) {
      std::string name = BuildName(kinds_[done].kind);
      ffi::RegisterGlobal(name, ffi::Function::FromTyped(name, kinds_[done].build));
    }
  } catch (const Error&) {
    while (done-- > 0) ffi::RemoveGlobal(BuildName(kinds_[done].kind));
    throw;
  }
}

// Everything else was checked when it was staged, and is registered under the loader's lock alone.
// Kinds come last: one that is there is whole.
void BackendRegistrar::Commit() {
  RegisterBuilds();
  for (ir::Pass& pass : passes_) ir::RegisterPass(std::move(pass));
  for (Intrinsic& staged : intrinsics_) {
    if (staged.reference)
      tir::RegisterIntrinsicReference(staged.intrinsic.name, std::move(staged.reference));
    ir::RegisterIntrinsic(std::move(staged.intrinsic));
  }
  for (Rule& rule : rules_)
    tir::RegisterLoweringRule(rule.intrinsic, rule.kind, std::move(rule.rule));
  for (schedule::Rule& rule : schedule_rules_) schedule::RegisterRule(std::move(rule));
  for (Kind& staged : kinds_) target::RegisterTargetKind(std::move(staged.kind));
}

}  // namespace tern::codegen
