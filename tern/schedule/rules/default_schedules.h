// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_DEFAULT_SCHEDULES_H_
#define TERN_SCHEDULE_RULES_DEFAULT_SCHEDULES_H_

#include <string>
#include <vector>

#include "tern/schedule/rules/rule.h"

namespace tern::schedule {

// The rules that are for every host (host_rules.cc), and for every device (device_rules.cc).
void RegisterHostRules();
void RegisterHostMatmulRules();        // by RegisterHostRules
void RegisterHostReductionRules();     // by RegisterHostRules
void RegisterHostSkinnyMatmulRules();  // by RegisterHostRules
void RegisterHostDotProductRules();    // by RegisterHostRules
void RegisterHostChannelVectorRule();  // by RegisterHostRules
void RegisterHostDepthwiseRule();      // by RegisterHostRules
void RegisterHostImplicitDotRules();   // by RegisterHostRules
void RegisterHostWindowRules();        // by RegisterHostRules
void RegisterHostWinogradRules();      // by RegisterHostRules
void RegisterHostAttentionRules();     // by RegisterHostRules
void RegisterHostScanRules();          // by RegisterHostRules
void RegisterHostRowRule();            // by RegisterHostRules
void RegisterPrivateCopyRules();       // by RegisterHostRules
void RegisterDeviceRules();
void RegisterDeviceMatmulRules();       // by RegisterDeviceRules
void RegisterDeviceRowRules();          // by RegisterDeviceRules
void RegisterDeviceReductionRules();    // by RegisterDeviceRules
void RegisterDeviceScanRules();         // by RegisterDeviceRules
void RegisterDeviceStagedRowRules();    // by RegisterDeviceRules
void RegisterDeviceTransposeRules();    // by RegisterDeviceRules
void RegisterDeviceElementwiseRules();  // by RegisterDeviceRules
void RegisterDeviceOutputRules();       // by RegisterDeviceRules
void RegisterFlashDecoding();           // by RegisterDeviceRules
void RegisterAtomicUpdateRules();       // by RegisterDeviceRules

// What the rules did to a function.
struct Explanation {
  std::string left_alone;           // why nothing was done; "" where something could be
  std::string remark;               // what the author of a function that is left alone should know
  std::vector<std::string> notes;   // what was done before the rules were asked: axes fused
  std::vector<RuleResult> results;  // in the order in which it was done
  // Versions for some values of dynamic extents: when, and what was done.
  struct Version {
    std::string when;
    std::vector<RuleResult> results;
  };
  std::vector<Version> versions;
  // What the author should know of the function and of its blocks, by name.
  std::vector<std::string> Remarks() const;
  // As text: a comment for every block, and the steps as the schedule section that does the same.
  std::string str(const std::string& function) const;
};

// Asks the rules of the function's target for every block. A schedule section of plans alone,
// plan(RULE, {tile_m = 8}), says which rules and plans are used. Left alone are functions without a
// target, those with another schedule of their own, those in which a loop is not serial, and those
// whose tensors may overlap.
tir::PrimFunc ApplyDefaultSchedule(const tir::PrimFunc& function,
                                   Explanation* explanation = nullptr);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_DEFAULT_SCHEDULES_H_
