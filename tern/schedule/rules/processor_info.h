// SPDX-License-Identifier: Apache-2.0
//
// Devices that are processors, whose thread blocks are tasks of its cores: the rules of hosts are
// for them.
#ifndef TERN_SCHEDULE_RULES_PROCESSOR_INFO_H_
#define TERN_SCHEDULE_RULES_PROCESSOR_INFO_H_

#include "tern/schedule/rules/target_info.h"

namespace tern::schedule {

// Whether a device says that it is one; TargetInfo::Of describes it as a host.
bool IsProcessor(const target::Target& target);
// Any device as one of many threads.
TargetInfo DescribeThreads(const target::Target& target);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_PROCESSOR_INFO_H_
