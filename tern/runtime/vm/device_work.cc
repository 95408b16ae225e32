// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/device_work.h"

namespace tern::runtime::vm {
namespace {

// For what is done after an error, or in destructors: a device that was lost has nothing to wait
// for.
template <class F>
void Quietly(F&& f) {
  try {
    f();
  } catch (const Error&) {
  }
}

bool IsLike(const Tensor& tensor, const Tensor& other) {
  return tensor && tensor->shape() == other->shape() && tensor->dtype() == other->dtype();
}

}  // namespace

DeviceWork::DeviceWork(TernDevice device)
    : device_(device), stream_(device), workspace_(MakeDeviceWorkspace()) {
  if (!GetDeviceKind(device.type).HasEvents()) return;
  before_.emplace(device);
  after_.emplace(device);
}

DeviceWork::~DeviceWork() {
  Quietly([&] { Wait(); });
}

void DeviceWork::Wait() {
  stream_.Synchronize();
  for (Pair& pair : uploads_) pair.is_read = false;
}

DeviceWork::Scope::Scope(DeviceWork* work) : work_(*work) {
  if (work_.before_)
    work_.before_->Record();
  else
    GetDeviceKind(work_.device_.type).Synchronize(work_.device_.id, CurrentStream(work_.device_));
  before_ = SetCurrentStream(work_.device_, work_.stream_.handle());
  workspace_before_ = UseDeviceWorkspace(work_.workspace_.get());
  if (!work_.before_) return;
  try {
    work_.before_->HoldCurrentStream();
  } catch (...) {
    Restore();
    throw;
  }
}

DeviceWork::Scope::~Scope() {
  if (!is_entered_) return;
  Quietly([&] { work_.Wait(); });
  Restore();
}

void DeviceWork::Scope::Restore() {
  UseDeviceWorkspace(workspace_before_);
  SetCurrentStream(work_.device_, before_);
  is_entered_ = false;
}

void DeviceWork::Scope::Leave() {
  if (work_.after_)
    work_.after_->Record();
  else
    work_.Wait();
  Restore();
  if (work_.after_) work_.after_->HoldCurrentStream();
}

Tensor DeviceWork::PageLocked(const Tensor& like) const {
  return Tensor::EmptyPageLocked(like->shape(), like->dtype(), device_);
}

Tensor DeviceWork::Upload(size_t index, const Tensor& host) {
  if (uploads_.size() <= index) uploads_.resize(index + 1);
  Pair& pair = uploads_[index];
  if (pair.is_read) Wait();
  if (!IsLike(pair.device, host)) {
    pair = {};
    pair = {PageLocked(host), Tensor::Empty(host->shape(), host->dtype(), device_)};
  }
  CopyElements(host, pair.host);
  pair.is_read = true;
  CopyAsync(pair.host, pair.device);
  return pair.device;
}

Tensor DeviceWork::Download(size_t index, const Tensor& from) {
  if (downloads_.size() <= index) downloads_.resize(index + 1);
  Pair& pair = downloads_[index];
  if (!IsLike(pair.host, from)) pair.host = PageLocked(from);
  CopyAsync(from, pair.host);
  return pair.host;
}

}  // namespace tern::runtime::vm
