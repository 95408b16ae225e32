// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_HOST_ELEMENTWISE_H_
#define TERN_SCHEDULE_RULES_HOST_ELEMENTWISE_H_

namespace tern::schedule {

void RegisterHostElementwiseRule();  // by RegisterHostRules
void RegisterHostTransposeRule();    // by RegisterHostRules

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_HOST_ELEMENTWISE_H_
