// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tern/backend/rocm/runtime/driver.h"
#include "tern/backend/rocm/runtime/graph.h"
#include "tern/backend/rocm/runtime/plugin.h"

namespace tern::backend::rocm {
namespace {

using plugin::Guard;

char* Address(const void* memory, uint64_t offset) {
  return static_cast<char*>(const_cast<void*>(memory)) + offset;
}
hip::Stream AsStream(void* stream) { return static_cast<hip::Stream>(stream); }
hip::Event AsEvent(void* event) { return static_cast<hip::Event>(event); }

int Count(int32_t* count) {
  return Guard([&] { *count = Driver::Get().count(); });
}

int Describe(int32_t device, void* sink, TernPropertySink emit) {
  return Guard([&] {
    Driver::Get().CheckDevice(device);
    auto text = [&](const char* name, const std::string& value) {
      TernAny any = plugin::TextValue(value.c_str());
      emit(sink, name, &any);
    };
    auto number = [&](const char* name, uint64_t value) {
      TernAny any = plugin::IntValue(static_cast<int64_t>(value));
      emit(sink, name, &any);
    };
    size_t memory = 0;
    Check(Hip().DeviceTotalMem(&memory, device), "hipDeviceTotalMem");
    text("name", DeviceName(device));
    text("driver", Driver::Get().version());
    number("max_threads", Attribute(device, hip::kMaxThreadsPerBlock));
    number("max_shared_memory", Attribute(device, hip::kMaxSharedMemoryPerBlock));
    number("num_cores", Attribute(device, hip::kMultiprocessorCount));
    number("warp_size", Attribute(device, hip::kWarpSize));
    number("memory", memory);
  });
}

int Detect(int32_t device, void* sink, TernPropertySink emit) {
  return Guard([&] {
    Driver::Get().CheckDevice(device);
    std::string arch = Architecture(device);
    TernAny any = plugin::TextValue(arch.c_str());
    emit(sink, "arch", &any);
  });
}

// HIP aligns to 256 bytes, more than any kernel asks for.
int Alloc(int32_t device_id, uint64_t bytes, uint64_t, void** out) {
  return Guard([&] {
    Current current(device_id);
    BesideCaptures beside;
    // There is no address of an empty buffer.
    hip::Result result = Hip().Malloc(out, std::max<uint64_t>(bytes, 1));
    if (result == hip::kOutOfMemory)
      TERN_THROW(MemoryError) << "rocm:" << device_id << ": there is no memory for " << bytes
                              << " bytes";
    Check(result, "hipMalloc");
  });
}

int Free(int32_t device_id, void* memory) {
  return Guard([&] {
    Current current(device_id);
    BesideCaptures beside(/*may_fail=*/true);
    Check(Hip().Free(memory), "hipFree");
  });
}

// To and from the host it waits: the host's memory may go away when this returns; between devices
// too, whose streams do not know of each other.
int Copy(const TernCopy* copy) {
  return Guard([&] {
    bool from_host = copy->src_device.type == kTernDeviceCpu,
         to_host = copy->dst_device.type == kTernDeviceCpu;
    bool is_peer = !from_host && !to_host && copy->src_device.id != copy->dst_device.id;
    if (copy->bytes == 0) return;
    Current current(from_host ? copy->dst_device.id : copy->src_device.id);
    hip::Stream stream = AsStream(copy->stream);
    char *to = Address(copy->dst, copy->dst_offset), *from = Address(copy->src, copy->src_offset);
    if (is_peer)
      Check(Hip().MemcpyPeerAsync(to, copy->dst_device.id, from, copy->src_device.id, copy->bytes,
                                  stream),
            "hipMemcpyPeerAsync");
    else
      Check(Hip().MemcpyAsync(to, from, copy->bytes,
                              from_host ? hip::kHostToDevice
                              : to_host ? hip::kDeviceToHost
                                        : hip::kDeviceToDevice,
                              stream),
            "hipMemcpyAsync");
    if (from_host || to_host || is_peer)
      Check(Hip().StreamSynchronize(stream), "hipStreamSynchronize");
  });
}

int CreateStream(int32_t device_id, void** out) {
  return Guard([&] {
    Current current(device_id);
    hip::Stream stream = nullptr;
    Check(Hip().StreamCreate(&stream, hip::kStreamNonBlocking), "hipStreamCreateWithFlags");
    *out = stream;
  });
}

int DestroyStream(int32_t device_id, void* stream) {
  return Guard([&] {
    Current current(device_id);
    if (stream) Check(Hip().StreamDestroy(AsStream(stream)), "hipStreamDestroy");
  });
}

int Synchronize(int32_t device_id, void* stream) {
  return Guard([&] {
    Current current(device_id);
    Check(Hip().StreamSynchronize(AsStream(stream)), "hipStreamSynchronize");
  });
}

int MemoryInfo(int32_t device_id, uint64_t* free_bytes, uint64_t* total_bytes) {
  return Guard([&] {
    Current current(device_id);
    size_t unused = 0, total = 0;
    Check(Hip().MemGetInfo(&unused, &total), "hipMemGetInfo");
    *free_bytes = unused;
    *total_bytes = total;
  });
}

int CreateEvent(int32_t device_id, void** out) {
  return Guard([&] {
    Current current(device_id);
    hip::Event event = nullptr;
    Check(Hip().EventCreate(&event), "hipEventCreate");
    *out = event;
  });
}

int DestroyEvent(int32_t device_id, void* event) {
  return Guard([&] {
    Current current(device_id);
    Check(Hip().EventDestroy(AsEvent(event)), "hipEventDestroy");
  });
}

int RecordEvent(int32_t device_id, void* event, void* stream) {
  return Guard([&] {
    Current current(device_id);
    Check(Hip().EventRecord(AsEvent(event), AsStream(stream)), "hipEventRecord");
  });
}

int WaitEvent(int32_t device_id, void* event, void* stream) {
  return Guard([&] {
    Current current(device_id);
    Check(Hip().StreamWaitEvent(AsStream(stream), AsEvent(event), 0), "hipStreamWaitEvent");
  });
}

int SynchronizeEvent(int32_t device_id, void* event) {
  return Guard([&] {
    Current current(device_id);
    Check(Hip().EventSynchronize(AsEvent(event)), "hipEventSynchronize");
  });
}

int Elapsed(int32_t device_id, void* start, void* stop, double* seconds) {
  return Guard([&] {
    Current current(device_id);
    Check(Hip().EventSynchronize(AsEvent(start)), "hipEventSynchronize");
    Check(Hip().EventSynchronize(AsEvent(stop)), "hipEventSynchronize");
    float milliseconds = 0;
    hip::Result result = Hip().EventElapsedTime(&milliseconds, AsEvent(start), AsEvent(stop));
    if (result == hip::kInvalidHandle)
      TERN_THROW(ValueError) << "an event that was never recorded has no time";
    Check(result, "hipEventElapsedTime");
    *seconds = milliseconds * 1e-3;
  });
}

}  // namespace

const TernDeviceApi kDeviceApi = {
    .size = sizeof(TernDeviceApi),
    .version = TERN_PLUGIN_API_VERSION,
    .device_type = 10,
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
    .begin_capture = BeginCapture,
    .end_capture = EndCapture,
    .destroy_graph = DestroyGraph,
    .instantiate_graph = InstantiateGraph,
    .update_graph = UpdateGraph,
    .launch_graph = LaunchGraph,
    .destroy_executable = DestroyExecutable,
};

}  // namespace tern::backend::rocm
