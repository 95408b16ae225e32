// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_BACKEND_HEXAGON_SCHEDULE_HVX_RULES_H_
#define TERN_BACKEND_HEXAGON_SCHEDULE_HVX_RULES_H_

namespace tern::backend::hexagon {

// The rules that give functions for Hexagon vectors of integers.
void RegisterHvxRules();

}  // namespace tern::backend::hexagon

#endif  // TERN_BACKEND_HEXAGON_SCHEDULE_HVX_RULES_H_
