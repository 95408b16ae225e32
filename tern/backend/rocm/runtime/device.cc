// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tern/backend/rocm/runtime/driver.h"
#include "tern/backend/rocm/runtime/plugin.h"
#include "tern/backend/rocm/runtime/streams.h"

namespace tern::backend::rocm {
namespace {

using plugin::Guard;

char* Address(const void* memory, uint64_t offset) {
  return static_cast<char*>(const_cast<void*>(memory)) + offset;
}

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
    hip::Stream stream = Streams::AsStream(copy->stream);
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

int MemoryInfo(int32_t device_id, uint64_t* free_bytes, uint64_t* total_bytes) {
  return Guard([&] {
    Current current(device_id);
    size_t unused = 0, total = 0;
    Check(Hip().MemGetInfo(&unused, &total), "hipMemGetInfo");
    *free_bytes = unused;
    *total_bytes = total;
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
    .create_stream = Streams::CreateStream,
    .destroy_stream = Streams::DestroyStream,
    .synchronize = Streams::Synchronize,
    .memory_info = MemoryInfo,
    .create_event = Streams::CreateEvent,
    .destroy_event = Streams::DestroyEvent,
    .record_event = Streams::RecordEvent,
    .wait_event = Streams::WaitEvent,
    .synchronize_event = Streams::SynchronizeEvent,
    .elapsed = Streams::Elapsed,
    .detect = Detect,
    .begin_capture = Streams::BeginCapture,
    .end_capture = Streams::EndCapture,
    .destroy_graph = Streams::DestroyGraph,
    .instantiate_graph = Streams::InstantiateGraph,
    .update_graph = Streams::UpdateGraph,
    .launch_graph = Streams::LaunchGraph,
    .destroy_executable = Streams::DestroyExecutable,
};

}  // namespace tern::backend::rocm
