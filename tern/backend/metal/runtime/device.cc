// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "tern/backend/metal/runtime/driver.h"
#include "tern/backend/metal/runtime/plugin.h"

namespace tern::backend::metal {
namespace {

using plugin::Guard;

constexpr UInt kStorageShared = 0;  // MTLResourceStorageModeShared

int Count(int32_t* count) {
  return Guard([&] { *count = Driver::Get().count(); });
}

void EmitNumber(void* sink, TernPropertySink emit, const char* name, uint64_t value) {
  TernAny any = plugin::IntValue(static_cast<int64_t>(value));
  emit(sink, name, &any);
}

int Describe(int32_t device_id, void* sink, TernPropertySink emit) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    std::string name = device.name();
    TernAny text = plugin::TextValue(name.c_str());
    emit(sink, "name", &text);
    TernAny driver = plugin::TextValue(device.IsOfFamily(kMetal3) ? "Metal 3" : "Metal 2");
    emit(sink, "driver", &driver);
    EmitNumber(sink, emit, "max_threads", device.max_threads());
    EmitNumber(sink, emit, "max_shared_memory", device.Number("maxThreadgroupMemoryLength"));
    EmitNumber(sink, emit, "memory", device.Number("recommendedMaxWorkingSetSize"));
    EmitNumber(sink, emit, "max_alloc", device.Number("maxBufferLength"));
  });
}

// Within what the target's attributes may be.
int Detect(int32_t device_id, void* sink, TernPropertySink emit) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    EmitNumber(sink, emit, "max_threads", device.max_threads());
    EmitNumber(sink, emit, "max_shared_memory",
               std::min<uint64_t>(device.Number("maxThreadgroupMemoryLength"), 65536));
    if (device.IsOfFamily(kApple7)) EmitNumber(sink, emit, "warp_size", 32);
    for (Int family = kLastApple; family >= kFirstApple; --family)
      if (device.IsOfFamily(family)) {
        EmitNumber(sink, emit, "family", static_cast<uint64_t>(family - kFirstApple + 1));
        break;
      }
    TernAny version = plugin::TextValue(device.IsOfFamily(kMetal3) ? "3.0" : "2.4");
    emit(sink, "msl", &version);
  });
}

// Buffers start at pages.
int Alloc(int32_t device_id, uint64_t bytes, uint64_t, void** out) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    uint64_t limit = device.Number("maxBufferLength");
    if (bytes > limit)
      TERN_THROW(MemoryError) << "metal:" << device_id << ": " << bytes
                              << " bytes are more than one buffer can have there, " << limit;
    // There are no empty buffers.
    Id buffer = Send<Id>(device.handle(), "newBufferWithLength:options:",
                         static_cast<UInt>(std::max<uint64_t>(bytes, 1)), kStorageShared);
    if (!buffer)
      TERN_THROW(MemoryError) << "metal:" << device_id << " has no memory for " << bytes
                              << " bytes";
    *out = buffer;
  });
}

// What was committed holds the buffers that it uses.
int Free(int32_t, void* memory) {
  return Guard([&] { Send<void>(static_cast<Id>(memory), "release"); });
}

char* Contents(const void* buffer, uint64_t offset) {
  void* start = Send<void*>(static_cast<Id>(const_cast<void*>(buffer)), "contents");
  return static_cast<char*>(start) + offset;
}

// The host does it, behind all that the stream has: memory is shared, and Metal's own copies want
// multiples of 4 bytes.
int Copy(const TernCopy* copy) {
  return Guard([&] {
    bool from_host = copy->src_device.type == kTernDeviceCpu,
         to_host = copy->dst_device.type == kTernDeviceCpu;
    Device& device = Driver::Get().device(from_host ? copy->dst_device.id : copy->src_device.id);
    device.stream(copy->stream).Drain();
    if (copy->bytes == 0) return;
    const char* source = from_host ? static_cast<const char*>(copy->src) + copy->src_offset
                                   : Contents(copy->src, copy->src_offset);
    char* target = to_host ? static_cast<char*>(copy->dst) + copy->dst_offset
                           : Contents(copy->dst, copy->dst_offset);
    std::memmove(target, source, copy->bytes);
  });
}

int CreateStream(int32_t device_id, void** out) {
  return Guard([&] { *out = Driver::Get().device(device_id).NewStream().release(); });
}

int DestroyStream(int32_t, void* stream) {
  return Guard([&] {
    std::unique_ptr<Stream> owned(static_cast<Stream*>(stream));
    if (owned) owned->Drain();
  });
}

int Synchronize(int32_t device_id, void* stream) {
  return Guard([&] { Driver::Get().device(device_id).stream(stream).Drain(); });
}

int MemoryInfo(int32_t device_id, uint64_t* free_bytes, uint64_t* total_bytes) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    *total_bytes = device.Number("recommendedMaxWorkingSetSize");
    uint64_t used = device.Number("currentAllocatedSize");
    *free_bytes = *total_bytes > used ? *total_bytes - used : 0;
  });
}

// A place in a stream: the command buffer that was put there last, which signals a number.
struct Place {
  explicit Place(Device& device) : event(Ref::Take(Send<Id>(device.handle(), "newEvent"))) {}
  Ref event, commands;
  uint64_t value = 0;
};

int CreateEvent(int32_t device_id, void** out) {
  return Guard([&] { *out = new Place(Driver::Get().device(device_id)); });
}

int DestroyEvent(int32_t, void* event) {
  delete static_cast<Place*>(event);
  return 0;
}

int RecordEvent(int32_t device_id, void* event, void* stream) {
  return Guard([&] {
    auto& place = *static_cast<Place*>(event);
    ++place.value;
    place.commands = Driver::Get().device(device_id).stream(stream).Submit([&](Id commands) {
      Send<void>(commands, "encodeSignalEvent:value:", place.event.get(), place.value);
    });
  });
}

int WaitEvent(int32_t device_id, void* event, void* stream) {
  return Guard([&] {
    auto& place = *static_cast<Place*>(event);
    if (!place.commands) return;
    Driver::Get().device(device_id).stream(stream).Submit([&](Id commands) {
      Send<void>(commands, "encodeWaitForEvent:value:", place.event.get(), place.value);
    });
  });
}

int SynchronizeEvent(int32_t, void* event) {
  return Guard([&] {
    auto& place = *static_cast<Place*>(event);
    if (place.commands) WaitFor(place.commands.get());
  });
}

// Of a place that was recorded, in seconds of the device's clock.
double TimeOf(void* event) {
  auto& place = *static_cast<Place*>(event);
  if (!place.commands) TERN_THROW(ValueError) << "an event that was never recorded has no time";
  WaitFor(place.commands.get());
  return Send<double>(place.commands.get(), "GPUEndTime");
}

int Elapsed(int32_t, void* start, void* stop, double* seconds) {
  return Guard([&] {
    double from = TimeOf(start), to = TimeOf(stop);
    *seconds = to - from;
  });
}

}  // namespace

const TernDeviceApi kDeviceApi = {
    .size = sizeof(TernDeviceApi),
    .version = TERN_PLUGIN_API_VERSION,
    .device_type = 8,
    .device_count = Count,
    .describe = Describe,
    .alloc = Alloc,
    .free = Free,
    .copy = Copy,
    .create_stream = CreateStream,
    .destroy_stream = DestroyStream,
    .synchronize = Synchronize,
    .memory_info = MemoryInfo,
    .create_event = CreateEvent,
    .destroy_event = DestroyEvent,
    .record_event = RecordEvent,
    .wait_event = WaitEvent,
    .synchronize_event = SynchronizeEvent,
    .elapsed = Elapsed,
    .detect = Detect,
};

}  // namespace tern::backend::metal
