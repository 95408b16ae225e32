// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_UPDATE_H_
#define TERN_SCHEDULE_UPDATE_H_

#include <optional>

#include "tern/tir/stmt.h"

namespace tern::schedule {

// What a reduction does at each step: buffer[indices] = buffer[indices] (+) value, where the value
// does not read the buffer, and (+) is +, *, min or max.
struct Update {
  const tir::BufferStoreNode* store = nullptr;
  tir::NodeKind combine{};
  tir::Expr value;
};
std::optional<Update> MatchUpdate(const tir::BlockNode* block);

tir::Expr Combine(tir::NodeKind combine, const tir::Expr& a, const tir::Expr& b);
// What changes nothing when it is combined; null where the type has no such value.
tir::Expr IdentityOf(tir::NodeKind combine, DataType dtype);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_UPDATE_H_
