// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/attributes.h"

#include <algorithm>
#include <functional>

#include "tern/ffi/json.h"
#include "tern/ffi/text.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/preparation.h"
#include "tern/tir/analysis/warp_size.h"
#include "tern/tir/block_op.h"
#include "tern/tir/default_arguments.h"
#include "tern/tir/schedule_steps.h"
#include "tern/tir/transform/blocks/initialize_empty_reductions.h"
#include "tern/tir/transform/calls/split_preparation.h"
#include "tern/tir/transform/loops/vectorize_loops.h"
#include "tern/tir/transform/threads/insert_barriers.h"
#include "tern/tir/transform/threads/pipeline_loops.h"

namespace tern::tir {
namespace {

// What the readers of an attribute expect.
struct AttrType {
  const char* description;
  std::function<bool(const ffi::Any&)> holds;
};

bool IsInt(const ffi::Any& value) { return value.type_index() == kTernInt; }
bool IsString(const ffi::Any& value) { return value.TryAs<std::string>().has_value(); }

AttrType ListOf(const char* description, bool (*is_item)(const ffi::Any&)) {
  return {description, [is_item](const ffi::Any& value) {
            auto array = value.TryAs<ffi::Array>();
            return array && std::all_of((*array)->begin(), (*array)->end(), is_item);
          }};
}

AttrType Flag() {
  return {"true or false", [](const ffi::Any& value) { return value.type_index() == kTernBool; }};
}
AttrType Integer() { return {"an integer", IsInt}; }
AttrType Integers() { return ListOf("a list of integers, as in [0, 1]", IsInt); }
AttrType String() { return {"a string", IsString}; }
AttrType Strings() { return ListOf("a list of names, as in [\"B\"]", IsString); }

struct KnownAttr {
  AttrPlace place;
  const char* name;
  AttrType type;
  bool by_passes = false;  // written by passes and sections, not by people
};

const std::vector<KnownAttr>& KnownAttrs() {
  using enum AttrPlace;
  static const std::vector<KnownAttr> known = {
      {kFunction, attr::kAllowTf32, Flag()},
      {kFunction, attr::kConstants, Strings()},
      {kFunction, attr::kDefaults, Strings(), true},
      {kFunction, attr::kMayAlias, Flag()},
      {kFunction, attr::kRaceFree, Flag()},
      {kFunction, attr::kReassociate, Flag()},
      {kFunction,
       attr::kTarget,
       {"a target",
        [](const ffi::Any& value) { return value.TryAs<target::Target>().has_value(); }}},
      {kFunction, attr::kWarpSize, Integer()},
      {kFunction,
       attr::kCallingConvention,
       {"\"packed\", \"plain\", \"kernel\" or \"parallel\"",
        [](const ffi::Any& value) {
          auto text = value.TryAs<std::string>();
          return text && FindCallingConvention(*text);
        }},
       true},
      {kFunction, attr::kDeviceType, Integer(), true},
      {kFunction, attr::kLaunchTags, Strings(), true},
      {kFunction, attr::kPrepare, String(), true},
      {kFunction, attr::kPrepared, String(), true},
      {kFunction,
       attr::kSchedule,
       {"a section of its own, as in schedule f { split(i, 8) }",
        [](const ffi::Any& value) { return value.TryAs<ScheduleSteps>().has_value(); }},
       true},
      {kFunction, attr::kScheduleFor, String(), true},
      {kLoop, pipeline::kAsync, Integers()},
      {kLoop, pipeline::kDoubleBuffer, Flag()},
      {kLoop, pipeline::kOrder, Integers()},
      {kLoop, pipeline::kRoles, Integers()},
      {kLoop, pipeline::kStages, Integers()},
      {kLoop, attr::kLanes, Integer()},
      {kLoop, attr::kReassociate, Flag()},
      {kLoop,
       attr::kTail,
       {"\"guard\" or \"mask\"",
        [](const ffi::Any& value) {
          auto text = value.TryAs<std::string>();
          return text == attr::kGuardTail || text == attr::kMaskTail;
        }}},
      {kBlock, attr::kInitializedIfEmpty, Flag(), true},
      {kBlock, attr::kOp, String()},
  };
  return known;
}

const char* PlaceName(AttrPlace place) {
  switch (place) {
    case AttrPlace::kFunction:
      return "function";
    case AttrPlace::kLoop:
      return "loop";
    case AttrPlace::kBlock:
      return "block";
  }
  return "?";
}

std::string ValueText(const ffi::Any& value) {
  auto target = value.TryAs<target::Target>();
  return target                         ? "the target " + (*target)->str()
         : value.TryAs<ScheduleSteps>() ? "a schedule"
                                        : ffi::WriteJson(value);
}

[[noreturn]] void ThrowUnknown(AttrPlace place, const std::string& name) {
  std::vector<std::string> names;
  for (const KnownAttr& known : KnownAttrs())
    if (known.place == place && !known.by_passes) names.emplace_back(known.name);
  TERN_THROW(ValueError) << "a " << PlaceName(place) << " has no attribute " << name
                         << ffi::DidYouMean(name, names) << "; the attributes of "
                         << PlaceName(place) << "s are " << ffi::Join(names)
                         << ", and names with a dot, as in x.y, which mean nothing to Tern";
}

}  // namespace

void CheckAttr(AttrPlace place, const std::string& name, const ffi::Any& value) {
  if (name.find('.') != std::string::npos) return;
  const std::vector<KnownAttr>& all = KnownAttrs();
  auto known = std::find_if(all.begin(), all.end(), [&](const KnownAttr& attr) {
    return attr.place == place && attr.name == name;
  });
  if (known == all.end()) ThrowUnknown(place, name);
  if (!known->type.holds(value))
    TERN_THROW(TypeError) << "attribute " << name << " of a " << PlaceName(place) << " is "
                          << ValueText(value) << "; expected " << known->type.description;
  if (name == attr::kScheduleFor) CheckScheduleFor(value.As<std::string>());
}

void CheckScheduleFor(const std::string& targets) {
  if (targets == "host" || targets == "device") return;
  try {
    target::GetTargetKind(targets);
  } catch (const Error& error) {
    TERN_THROW(ValueError) << "a schedule is for host, for device or for a target kind: "
                           << error.message();
  }
}

ffi::Any PlainAttr(const ffi::Any& value) {
  if (auto target = value.TryAs<target::Target>()) return ffi::Any((*target)->str());
  auto schedule = value.TryAs<ScheduleSteps>();
  if (!schedule) return value;
  std::string text;
  for (const ScheduleStep& step : (*schedule)->steps) text += step.text + "\n";
  return ffi::Any(text);
}

}  // namespace tern::tir
