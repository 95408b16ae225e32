// SPDX-License-Identifier: Apache-2.0
//
// Copies and products that a thread begins and waits for later. The interpreter does them at once,
// and refuses whatever would see that: an access to their elements before the thread has waited for
// them counts as one at any time between, and the wait as the access itself to other threads.
#include "tern/ir/diagnostic.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/interpreter/machine.h"
#include "tern/tir/intrinsics.h"

namespace tern::tir {

Machine::AccessSite Machine::SiteOf(const BufferStoreNode* node) {
  AccessSite site = {node->buffer, node->indices, node->span, true, node->predicate};
  if (const auto* call = node->value.As<ir::CallNode>()) {
    if (call->name == intrinsic::kAsyncCopy) site.async = Async::kCopy;
    if (call->name == intrinsic::kWarpMatrixMultiplyGroupAsync) site.async = Async::kSum;
  }
  return site;
}

void Machine::TouchAsync(const AccessSite& site, int lane, Piece* piece, const char* address,
                         size_t bytes) {
  Async kind = site.async != Async::kNone ? site.async : async_;
  // Products add to a sum in the order in which they were begun.
  if (kind != Async::kSum)
    if (const AsyncAccess* other = piece->async.Find(address, bytes, site.is_write))
      ReportAsync(site, lane, *other);
  if (kind == Async::kNone || (kind == Async::kSum && !site.is_write)) return;
  auto& [copies, products] = under_way_[task_];
  AsyncGroups& groups = kind == Async::kCopy ? copies : products;
  AsyncAccess access = {address, bytes, &site.span, site.is_write, task_, groups.open()};
  // A sum is stored when its product is a group already.
  if (kind == Async::kSum) --access.group;
  groups.Add(access);
  piece->async.Begin(access);
}

void Machine::EndAsync(AsyncGroups* groups, int64_t count) {
  for (const AsyncAccess& access : groups->Wait(count)) {
    Piece* piece = FindPiece(access.address);
    if (!piece || !piece->async.End(access) || depth_ <= piece->depth) continue;
    MemoryAccess now = {{task_, EpochOf(*piece)}, access.place, access.is_write};
    auto offset = static_cast<size_t>(access.address - piece->data);
    if (const MemoryAccess* earlier = piece->shadow.Record(tasks_, offset, access.bytes, now))
      ReportRace(*access.place, "what is accessed asynchronously", now, *earlier, piece->owner);
  }
}

void Machine::ReportAsync(const AccessSite& site, int lane, const AsyncAccess& other) {
  bool is_copy = other.is_write && under_way_[other.task].copies.Has(other);
  TERN_THROW(RuntimeError) << ir::At(site.span) << ElementText(site, lane) << " is "
                           << (site.is_write ? "written" : "read") << ", but "
                           << (other.task == TaskTree::kRoot ? "the function"
                                                             : tasks_.Describe(other.task))
                           << (is_copy          ? " copies to it asynchronously"
                               : other.is_write ? " adds a product of matrices to it"
                                                : " multiplies it as a matrix")
                           << " at " << other.place->str() << ", and has not waited for that; is "
                           << (is_copy ? intrinsic::kAsyncWait : intrinsic::kMatrixWait)
                           << " missing?";
}

}  // namespace tern::tir
