// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/stream.h"

#include <vector>

namespace tern::runtime {
namespace {

struct Current {
  TernDevice device;
  void* stream;
};

// Of the devices that have another than their default one: few, mostly none.
thread_local std::vector<Current> current_streams;
// Whether there are any, for who asks often.
constinit thread_local bool has_current_streams = false;

const DeviceKind& KindOf(TernDevice device) { return GetDeviceKind(device.type); }

// For destructors: a device that was lost has no streams either.
template <class F>
void Quietly(F&& f) {
  try {
    f();
  } catch (const Error&) {
  }
}

}  // namespace

Stream::Stream(TernDevice device)
    : device_(device), handle_(KindOf(device).CreateStream(device.id)) {}

Stream::~Stream() {
  Quietly([&] { KindOf(device_).DestroyStream(device_.id, handle_); });
}

void Stream::Synchronize() const { KindOf(device_).Synchronize(device_.id, handle_); }

Event::Event(TernDevice device) : device_(device), handle_(KindOf(device).CreateEvent(device.id)) {}

Event::~Event() {
  Quietly([&] { KindOf(device_).DestroyEvent(device_.id, handle_); });
}

void Event::Record() { KindOf(device_).RecordEvent(device_.id, handle_, CurrentStream(device_)); }

void Event::HoldCurrentStream() const {
  KindOf(device_).WaitEvent(device_.id, handle_, CurrentStream(device_));
}

void Event::Synchronize() const { KindOf(device_).SynchronizeEvent(device_.id, handle_); }

double Event::SecondsBetween(const Event& start, const Event& stop) {
  TERN_CHECK(start.device_.type == stop.device_.type && start.device_.id == stop.device_.id)
      << "there is no time between events of " << DeviceName(start.device_) << " and "
      << DeviceName(stop.device_);
  return KindOf(start.device_).SecondsBetween(start.device_.id, start.handle_, stop.handle_);
}

bool HasCurrentStreams() { return has_current_streams; }

void* CurrentStream(TernDevice device) {
  for (const Current& current : current_streams)
    if (current.device.type == device.type && current.device.id == device.id) return current.stream;
  return nullptr;
}

void* SetCurrentStream(TernDevice device, void* stream) {
  for (Current& current : current_streams) {
    if (current.device.type != device.type || current.device.id != device.id) continue;
    void* before = std::exchange(current.stream, stream);
    if (!stream) {
      std::swap(current, current_streams.back());
      current_streams.pop_back();
      has_current_streams = !current_streams.empty();
    }
    return before;
  }
  if (!stream) return nullptr;
  current_streams.push_back({device, stream});
  has_current_streams = true;
  return nullptr;
}

}  // namespace tern::runtime
