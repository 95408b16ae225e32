// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/target_info.h"

#include "tern/schedule/rules/processor_info.h"

namespace tern::schedule {
namespace {

int64_t NumberOr(const target::Target& target, const char* attribute, int64_t otherwise) {
  auto it = target->attrs.find(attribute);
  if (it == target->attrs.end()) return otherwise;
  auto number = it->second.TryAs<int64_t>();
  return number ? *number : otherwise;
}

// M, and N and K, of a dynamic GEMM on a host.
constexpr int64_t kHostRows = 128, kHostColumns = 512;
constexpr int64_t kDeviceVectorBytes = 16;  // what a thread of most devices loads at once

}  // namespace

bool IsProcessor(const target::Target& target) {
  return target->is_device() && NumberOr(target, "processor", 0) != 0;
}

TargetInfo DescribeThreads(const target::Target& target) {
  TargetInfo info;
  info.target = target;
  info.is_device = true;
  info.max_threads = NumberOr(target, "max_threads", 0);
  info.shared_bytes = NumberOr(target, "max_shared_memory", 0);
  info.warp_size = target::WarpSize(target);
  info.vector_bytes = target->kind->vectors ? kDeviceVectorBytes : target->kind->move_bytes;
  return info;
}

TargetInfo TargetInfo::Of(const target::Target& target) {
  if (target->is_device() && !IsProcessor(target)) return DescribeThreads(target);
  TargetInfo info;
  info.target = target;
  target::Machine machine = target::DescribeMachine(target);
  info.vector_bytes = machine.vector_bytes;
  info.vector_registers = machine.vector_registers;
  info.masked_vectors = machine.masked_vectors;
  info.likely_m = kHostRows;
  info.likely_n = info.likely_k = kHostColumns;
  info.l1_bytes = machine.l1_bytes;
  info.l2_bytes = machine.l2_bytes;
  // Plain functions have no environment that would start threads.
  info.threads = target::HasPlainApi(target) ? 1 : NumberOr(target, "threads", 0);
  if (info.threads > 0) info.likely_threads = info.threads;
  return info;
}

}  // namespace tern::schedule
