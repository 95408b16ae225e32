// SPDX-License-Identifier: Apache-2.0
//
// The rules for GPUs. They use target info only: threads of a block, bytes of a vector access,
// shared memory. Floats are combined across threads only with `reassociate`. Each rule has its loop
// sketch in its file.
#include "tern/schedule/rules/default_schedules.h"

namespace tern::schedule {

void RegisterDeviceRules() {
  RegisterDeviceMatmulRules();
  RegisterFlashDecoding();
  RegisterDeviceRowRules();
  RegisterDeviceReductionRules();
  RegisterDeviceScanRules();
  RegisterDeviceStagedRowRules();
  RegisterDeviceTransposeRules();
  RegisterDeviceElementwiseRules();
  RegisterDeviceOutputRules();
  RegisterAtomicUpdateRules();
}

}  // namespace tern::schedule
