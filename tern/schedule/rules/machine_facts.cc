// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/machine_facts.h"

namespace tern::schedule {
namespace {

int64_t NumberOr(const target::Target& target, const char* attribute, int64_t otherwise) {
  auto it = target->attrs.find(attribute);
  if (it == target->attrs.end()) return otherwise;
  auto number = it->second.TryAs<int64_t>();
  return number ? *number : otherwise;
}

constexpr int64_t kDeviceVectorBytes = 16;  // what a thread of most devices loads at once

}  // namespace

MachineFacts MachineFacts::Of(const target::Target& target) {
  MachineFacts facts;
  facts.target = target;
  facts.is_device = target->is_device();
  if (facts.is_device) {
    facts.max_threads = NumberOr(target, "max_threads", 0);
    facts.shared_bytes = NumberOr(target, "max_shared_memory", 0);
    facts.warp_size = target::WarpSize(target);
    facts.vector_bytes = target->kind->vectors ? kDeviceVectorBytes : target->kind->move_bytes;
    return facts;
  }
  target::Machine machine = target::DescribeMachine(target);
  facts.vector_bytes = machine.vector_bytes;
  facts.vector_registers = machine.vector_registers;
  facts.l1_bytes = machine.l1_bytes;
  facts.l2_bytes = machine.l2_bytes;
  // Plain functions have no environment that would start threads.
  facts.threads = target::HasPlainApi(target) ? 1 : NumberOr(target, "threads", 0);
  return facts;
}

}  // namespace tern::schedule
