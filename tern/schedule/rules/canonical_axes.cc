// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/canonical_axes.h"

#include "tern/schedule/rules/fuse_axes.h"
#include "tern/schedule/rules/last_writes.h"
#include "tern/schedule/rules/sort_updates.h"
#include "tern/schedule/rules/split_groups.h"

namespace tern::schedule {

using namespace tern::tir;

Stmt CanonicalAxes::Around(Stmt body) const {
  for (size_t i = views.size(); i-- > 0;) body = views[i].Around(body);
  return body;
}

CanonicalAxes CanonicalizeAxes(const PrimFunc& function) {
  CanonicalAxes made{DropUnitReductions(function), {}, {}};
  if (!made.function.same(function))
    made.notes.emplace_back("reduced axes of one element are dropped");
  auto it = function->attrs.find(attr::kTarget);
  TargetInfo target =
      it == function->attrs.end() ? TargetInfo() : TargetInfo::Of(it->second.As<target::Target>());
  if (target.is_host_with_vectors())
    if (std::optional<SplitGroupAxes> split = SplitGroups(made.function)) {
      made.notes.push_back(split->note);
      made.function = split->function;
      made.views.push_back(*std::move(split));
    }
  while (std::optional<FusedAxes> fused = FuseAxes(made.function, target)) {
    made.notes.insert(made.notes.end(), fused->notes.begin(), fused->notes.end());
    made.function = fused->function;
    made.views.push_back(*std::move(fused));
  }
  if (!target.has_shared_memory()) return made;
  auto order = [&](const PrimFunc& ordered, const char* note) {
    if (!ordered.same(made.function)) made.notes.emplace_back(note);
    made.function = ordered;
  };
  order(SortUpdates(made.function), "updates that collide are sorted by the element they update");
  order(LastWrites(made.function), "of rows that are written again, the last write is found first");
  return made;
}

}  // namespace tern::schedule
