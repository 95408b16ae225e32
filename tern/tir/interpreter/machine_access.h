// SPDX-License-Identifier: Apache-2.0
//
// The access to memory that loads and stores share.
#ifndef TERN_TIR_INTERPRETER_MACHINE_ACCESS_H_
#define TERN_TIR_INTERPRETER_MACHINE_ACCESS_H_

#include <optional>
#include <vector>

#include "tern/tir/interpreter/machine.h"

namespace tern::tir {

template <class F>
void Machine::ForEachLane(const AccessSite& site, F&& visit) {
  const View& view = FindView(site);
  if (site.indices.empty() || site.indices.back().dtype().is_scalar()) {
    int64_t offset = 0;
    for (size_t d = 0; d < site.indices.size(); ++d)
      AddIndex(site, view, d, EvalInt(site.indices[d]), &offset);
    return visit(0, Touch(site, view, 0, offset));
  }
  // All indices but the last are scalars. They are evaluated whatever the predicate, and in bounds
  // only if a lane is on.
  std::vector<int64_t> scalars;
  for (size_t d = 0; d + 1 < site.indices.size(); ++d) scalars.push_back(EvalInt(site.indices[d]));
  Value last = Eval(site.indices.back());
  std::optional<Value> mask;
  if (site.predicate) mask = Eval(site.predicate);
  std::optional<int64_t> row;
  for (int lane = 0; lane < last.lanes(); ++lane) {
    if (mask && !(*mask)[lane].i) continue;
    if (!row) {
      row = 0;
      for (size_t d = 0; d < scalars.size(); ++d) AddIndex(site, view, d, scalars[d], &*row);
    }
    int64_t offset = *row;
    AddIndex(site, view, site.indices.size() - 1, last[lane].i, &offset);
    visit(lane, Touch(site, view, lane, offset));
  }
}

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_MACHINE_ACCESS_H_
