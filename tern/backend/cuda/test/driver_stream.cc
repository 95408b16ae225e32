// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of the stand-in driver.
#include <chrono>

#include "tern/backend/cuda/test/driver_state.h"

using namespace tern::backend::cuda;
using namespace tern::backend::cuda::standin;

namespace {

int FailureOf(Context* context) {
  return context->failure.code ? Refuse(context->failure.code, context->failure.text) : 0;
}

double Now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int EndMark(Driver& driver, Context* context, Mark& mark) {
  driver.Drain(*mark.stream, &mark);
  return FailureOf(context);
}

}  // namespace

TERN_STANDIN_API cuStreamCreate(cu::Stream* out, unsigned flags) {
  return Call("cuStreamCreate", kInit | kCurrent, [&](Driver& driver, Context* context) {
    if (!out || flags > cu::kStreamNonBlocking) return Misuse(kErrorInvalidValue, "unknown flags");
    auto* stream = new Stream{context->device, flags == 0};
    driver.streams.insert(stream);
    *out = reinterpret_cast<cu::Stream>(stream);
    return 0;
  });
}

TERN_STANDIN_API cuStreamDestroy_v2(cu::Stream handle) {
  return Call("cuStreamDestroy", kInit | kCurrent, [&](Driver& driver, Context* context) {
    if (!handle) return Misuse(kErrorInvalidHandle, "the default stream is not destroyed");
    Stream* stream = CheckStream(driver, context, handle);
    if (!stream) return int{kErrorInvalidHandle};
    if (stream->capture) return Misuse(kErrorCaptureUnsupported, "the stream is captured");
    driver.Drain(*stream);
    driver.streams.erase(stream);
    delete stream;
    return 0;
  });
}

TERN_STANDIN_API cuStreamSynchronize(cu::Stream handle) {
  return Call("cuStreamSynchronize", kInit | kCurrent | kNoCapture,
              [&](Driver& driver, Context* context) {
                Stream* stream = CheckStream(driver, context, handle);
                if (!stream) return int{kErrorInvalidHandle};
                driver.Drain(*stream);
                return FailureOf(context);
              });
}

TERN_STANDIN_API cuStreamWaitEvent(cu::Stream stream_handle, cu::Event event_handle,
                                   unsigned flags) {
  return Call("cuStreamWaitEvent", kInit | kCurrent, [&](Driver& driver, Context* context) {
    Stream* stream = CheckStream(driver, context, stream_handle);
    Event* event = CheckEvent(driver, context, event_handle);
    if (!stream || !event) return int{kErrorInvalidHandle};
    if (flags != 0) return Misuse(kErrorInvalidValue, "the flags are 0");
    if (!event->mark) return 0;
    driver.Enqueue(*stream, NodeKind::kOther, [&driver, mark = event->mark] {
      driver.Drain(*mark->stream, mark.get());
      return KernelError{};
    });
    return 0;
  });
}

TERN_STANDIN_API cuEventCreate(cu::Event* out, unsigned) {
  return Call("cuEventCreate", kInit | kCurrent, [&](Driver& driver, Context* context) {
    if (!out) return Misuse(kErrorInvalidValue, "no place for the event");
    auto* event = new Event{context->device, nullptr};
    driver.events.insert(event);
    *out = reinterpret_cast<cu::Event>(event);
    return 0;
  });
}

TERN_STANDIN_API cuEventDestroy_v2(cu::Event handle) {
  return Call("cuEventDestroy", kInit | kCurrent, [&](Driver& driver, Context* context) {
    Event* event = CheckEvent(driver, context, handle);
    if (!event) return int{kErrorInvalidHandle};
    driver.events.erase(event);
    delete event;
    return 0;
  });
}

TERN_STANDIN_API cuEventRecord(cu::Event event_handle, cu::Stream stream_handle) {
  return Call("cuEventRecord", kInit | kCurrent, [&](Driver& driver, Context* context) {
    Event* event = CheckEvent(driver, context, event_handle);
    Stream* stream = CheckStream(driver, context, stream_handle);
    if (!stream || !event) return int{kErrorInvalidHandle};
    event->mark = std::make_shared<Mark>(Mark{stream});
    driver.Enqueue(*stream, NodeKind::kOther, [mark = event->mark] {
      mark->is_done = true;
      mark->milliseconds = Now();
      return KernelError{};
    });
    return 0;
  });
}

TERN_STANDIN_API cuEventSynchronize(cu::Event handle) {
  return Call(
      "cuEventSynchronize", kInit | kCurrent | kNoCapture, [&](Driver& driver, Context* context) {
        Event* event = CheckEvent(driver, context, handle);
        if (!event) return int{kErrorInvalidHandle};
        return event->mark && !event->mark->is_done ? EndMark(driver, context, *event->mark) : 0;
      });
}

TERN_STANDIN_API cuEventElapsedTime(float* milliseconds, cu::Event start_handle,
                                    cu::Event stop_handle) {
  return Call("cuEventElapsedTime", kInit | kCurrent, [&](Driver& driver, Context* context) {
    Event* start = CheckEvent(driver, context, start_handle);
    Event* stop = CheckEvent(driver, context, stop_handle);
    if (!start || !stop) return int{kErrorInvalidHandle};
    if (!start->mark || !stop->mark)
      return Refuse(kErrorInvalidHandle, "an event was not recorded");
    if (!start->mark->is_done || !stop->mark->is_done)
      return Misuse(kErrorInvalidValue, "an event was not waited for");
    *milliseconds = static_cast<float>(stop->mark->milliseconds - start->mark->milliseconds);
    return 0;
  });
}
