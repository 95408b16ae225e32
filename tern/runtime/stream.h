// SPDX-License-Identifier: Apache-2.0
//
// Streams, on which a device works in order, and events, which mark places in them. Both belong to
// the device that they were made for.
#ifndef TERN_RUNTIME_STREAM_H_
#define TERN_RUNTIME_STREAM_H_

#include <string_view>
#include <utility>

#include "tern/runtime/device.h"

namespace tern::runtime {

class Stream {
 public:
  explicit Stream(TernDevice device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  TernDevice device() const { return device_; }
  void* handle() const { return handle_; }
  void Synchronize() const;

 private:
  TernDevice device_;
  void* handle_;
};

class Event {
 public:
  // Throws where the device has no events.
  explicit Event(TernDevice device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Where this thread's current stream is now.
  void Record();
  // What this thread gives to its current stream from now on is done after the event.
  void HoldCurrentStream() const;
  void Synchronize() const;
  // The device's time between two events that were recorded; waits for both.
  static double SecondsBetween(const Event& start, const Event& stop);

 private:
  TernDevice device_;
  void* handle_;
};

// The stream to which this thread gives its kernels and copies; null is the device's default one.
void* CurrentStream(TernDevice device);
// Whether this thread has any but default ones: a quick answer for every launch.
bool HasCurrentStreams();
// Returns the one before.
void* SetCurrentStream(TernDevice device, void* stream);

// Makes a stream the current one of this thread, for a while.
class StreamScope {
 public:
  explicit StreamScope(const Stream& stream)
      : device_(stream.device()), before_(SetCurrentStream(device_, stream.handle())) {}
  ~StreamScope() { SetCurrentStream(device_, before_); }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  TernDevice device_;
  void* before_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_STREAM_H_
