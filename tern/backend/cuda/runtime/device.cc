// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tern/backend/cuda/runtime/driver.h"
#include "tern/backend/cuda/runtime/plugin.h"
#include "tern/backend/cuda/runtime/streams.h"

namespace tern::backend::cuda {
namespace {

using plugin::Guard;

cu::DevicePointer Address(const void* memory, uint64_t offset) {
  return reinterpret_cast<cu::DevicePointer>(memory) + offset;
}

int Count(int32_t* count) {
  return Guard([&] { *count = Driver::Get().count(); });
}

void EmitLimits(Device& device, void* sink, TernPropertySink emit) {
  auto number = [&](const char* name, uint64_t value) {
    TernAny any = plugin::IntValue(static_cast<int64_t>(value));
    emit(sink, name, &any);
  };
  number("max_threads", device.Attribute(cu::kMaxThreadsPerBlock));
  number("max_shared_memory", device.Attribute(cu::kMaxSharedMemoryPerBlockOptin));
}

int Describe(int32_t device_id, void* sink, TernPropertySink emit) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    auto text = [&](const char* name, const std::string& value) {
      TernAny any = plugin::TextValue(value.c_str());
      emit(sink, name, &any);
    };
    auto number = [&](const char* name, uint64_t value) {
      TernAny any = plugin::IntValue(static_cast<int64_t>(value));
      emit(sink, name, &any);
    };
    text("name", device.name());
    text("driver", Driver::Get().version());
    text("arch", device.architecture());
    EmitLimits(device, sink, emit);
    number("num_cores", device.Attribute(cu::kMultiprocessorCount));
    number("warp_size", device.Attribute(cu::kWarpSize));
    number("memory", device.memory());
  });
}

int Detect(int32_t device_id, void* sink, TernPropertySink emit) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    std::string arch = device.architecture();
    TernAny any = plugin::TextValue(arch.c_str());
    emit(sink, "arch", &any);
    EmitLimits(device, sink, emit);
  });
}

// The driver aligns to 256 bytes, more than any kernel asks for.
int Alloc(int32_t device_id, uint64_t bytes, uint64_t, void** out) {
  return Guard([&] {
    Current current(device_id);
    BesideCaptures beside;
    cu::DevicePointer memory = 0;
    // The driver makes no empty buffer.
    cu::Result result = Cu().MemAlloc(&memory, std::max<uint64_t>(bytes, 1));
    if (result == cu::kOutOfMemory)
      TERN_THROW(MemoryError) << "cuda:" << device_id << ": there is no memory for " << bytes
                              << " bytes";
    Check(result, "cuMemAlloc");
    *out = reinterpret_cast<void*>(memory);  // NOLINT: the driver's addresses are numbers
  });
}

int Free(int32_t device_id, void* memory) {
  return Guard([&] {
    Current current(device_id);
    BesideCaptures beside(/*may_fail=*/true);
    Check(Cu().MemFree(Address(memory, 0)), "cuMemFree");
  });
}

void CopyToPeer(const TernCopy& copy) {
  Device &from = Driver::Get().device(copy.src_device.id),
         &to = Driver::Get().device(copy.dst_device.id);
  Check(Cu().MemcpyPeer(Address(copy.dst, copy.dst_offset), to.context(),
                        Address(copy.src, copy.src_offset), from.context(), copy.bytes,
                        Streams::AsStream(copy.stream)),
        "cuMemcpyPeerAsync");
}

int AllocHost(int32_t device_id, uint64_t bytes, void** out) {
  return Guard([&] {
    Current current(device_id);
    Check(Cu().MemHostAlloc(out, std::max<uint64_t>(bytes, 1), cu::kHostPortable),
          "cuMemHostAlloc");
  });
}

int FreeHost(int32_t device_id, void* memory) {
  return Guard([&] {
    Current current(device_id);
    Check(Cu().MemFreeHost(memory), "cuMemFreeHost");
  });
}

// The driver itself waits where the host's memory is not page-locked, which may go away when this
// returns. Between devices this does, whose streams do not know of each other.
int Copy(const TernCopy* copy) {
  return Guard([&] {
    bool from_host = copy->src_device.type == kTernDeviceCpu,
         to_host = copy->dst_device.type == kTernDeviceCpu;
    bool is_peer = !from_host && !to_host && copy->src_device.id != copy->dst_device.id;
    if (copy->bytes == 0) return;
    Current current(from_host ? copy->dst_device.id : copy->src_device.id);
    cu::Stream stream = Streams::AsStream(copy->stream);
    if (from_host)
      Check(Cu().MemcpyHtoD(Address(copy->dst, copy->dst_offset),
                            static_cast<const char*>(copy->src) + copy->src_offset, copy->bytes,
                            stream),
            "cuMemcpyHtoDAsync");
    else if (to_host)
      Check(Cu().MemcpyDtoH(static_cast<char*>(copy->dst) + copy->dst_offset,
                            Address(copy->src, copy->src_offset), copy->bytes, stream),
            "cuMemcpyDtoHAsync");
    else if (is_peer)
      CopyToPeer(*copy);
    else
      Check(Cu().MemcpyDtoD(Address(copy->dst, copy->dst_offset),
                            Address(copy->src, copy->src_offset), copy->bytes, stream),
            "cuMemcpyDtoDAsync");
    if (is_peer) Check(Cu().StreamSynchronize(stream), "cuStreamSynchronize");
  });
}

int MemoryInfo(int32_t device_id, uint64_t* free_bytes, uint64_t* total_bytes) {
  return Guard([&] {
    Current current(device_id);
    size_t unused = 0, total = 0;
    Check(Cu().MemGetInfo(&unused, &total), "cuMemGetInfo");
    *free_bytes = unused;
    *total_bytes = total;
  });
}

}  // namespace

const TernDeviceApi kDeviceApi = {
    .size = sizeof(TernDeviceApi),
    .version = TERN_PLUGIN_API_VERSION,
    .device_type = 2,
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
    .alloc_host = AllocHost,
    .free_host = FreeHost,
    .begin_capture = Streams::BeginCapture,
    .end_capture = Streams::EndCapture,
    .destroy_graph = Streams::DestroyGraph,
    .instantiate_graph = Streams::InstantiateGraph,
    .update_graph = Streams::UpdateGraph,
    .launch_graph = Streams::LaunchGraph,
    .destroy_executable = Streams::DestroyExecutable,
};

}  // namespace tern::backend::cuda
