// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tern/backend/opencl/runtime/driver.h"
#include "tern/backend/opencl/runtime/plugin.h"

namespace tern::backend::opencl {
namespace {

using plugin::Guard;

int Count(int32_t* count) {
  return Guard([&] { *count = Driver::Get().count(); });
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
    text("name", device.Text(cl::kDeviceName));
    text("driver", device.Text(cl::kDriverVersion));
    text("vendor", device.Text(cl::kDeviceVendor));
    text("version", device.Text(cl::kDeviceVersion));
    number("max_threads", device.Number<size_t>(cl::kDeviceMaxWorkGroupSize));
    number("max_shared_memory", device.Number<cl::Bits>(cl::kDeviceLocalMemSize));
    number("num_cores", device.Number<cl::UInt>(cl::kDeviceMaxComputeUnits));
    number("memory", device.Number<cl::Bits>(cl::kDeviceGlobalMemSize));
    number("max_alloc", device.Number<cl::Bits>(cl::kDeviceMaxMemAllocSize));
    std::string extensions = " " + device.Text(cl::kDeviceExtensions) + " ";
    number("has_float16", extensions.find(" cl_khr_fp16 ") != std::string::npos);
    number("has_float64", extensions.find(" cl_khr_fp64 ") != std::string::npos);
  });
}

// Within what the target's attributes may be.
int Detect(int32_t device_id, void* sink, TernPropertySink emit) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    auto number = [&](const char* name, uint64_t value) {
      TernAny any = plugin::IntValue(static_cast<int64_t>(value));
      emit(sink, name, &any);
    };
    number("max_threads",
           std::min<uint64_t>(device.Number<size_t>(cl::kDeviceMaxWorkGroupSize), 4096));
    number("max_shared_memory",
           std::min<uint64_t>(device.Number<cl::Bits>(cl::kDeviceLocalMemSize), 1 << 20));
    std::string extensions = " " + device.Text(cl::kDeviceExtensions) + " ";
    if (extensions.find(" cl_khr_fp16 ") != std::string::npos) number("fp16", 1);
    if (device.Number<cl::Bits>(cl::kDeviceType) & cl::kDeviceTypeCpu) number("processor", 1);
  });
}

// The driver aligns buffers to its widest type, which is at least what any kernel asks for.
int Alloc(int32_t device_id, uint64_t bytes, uint64_t, void** out) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    uint64_t limit = device.Number<cl::Bits>(cl::kDeviceMaxMemAllocSize);
    if (bytes > limit)
      TERN_THROW(MemoryError) << "opencl:" << device_id << ": " << bytes
                              << " bytes are more than one buffer can have there, " << limit;
    cl::Int code = cl::kSuccess;
    // No driver makes an empty buffer.
    cl::Memory memory = Cl().CreateBuffer(device.context(), cl::kMemReadWrite,
                                          std::max<uint64_t>(bytes, 1), nullptr, &code);
    Check(code, "clCreateBuffer");
    *out = memory;
  });
}

int Free(int32_t, void* memory) {
  return Guard(
      [&] { Check(Cl().ReleaseMemObject(static_cast<cl::Memory>(memory)), "clReleaseMemObject"); });
}

// To and from the host it waits: the host's memory may go away when this returns.
int Copy(const TernCopy* copy) {
  return Guard([&] {
    bool from_host = copy->src_device.type == kTernDeviceCpu,
         to_host = copy->dst_device.type == kTernDeviceCpu;
    Device& device = Driver::Get().device(from_host ? copy->dst_device.id : copy->src_device.id);
    cl::Queue queue = device.queue(copy->stream);
    auto* source = static_cast<cl::Memory>(const_cast<void*>(copy->src));
    auto* target = static_cast<cl::Memory>(copy->dst);
    if (copy->bytes == 0) return;
    if (from_host)
      Check(Cl().EnqueueWriteBuffer(queue, target, cl::kTrue, copy->dst_offset, copy->bytes,
                                    static_cast<const char*>(copy->src) + copy->src_offset, 0,
                                    nullptr, nullptr),
            "clEnqueueWriteBuffer");
    else if (to_host)
      Check(Cl().EnqueueReadBuffer(queue, source, cl::kTrue, copy->src_offset, copy->bytes,
                                   static_cast<char*>(copy->dst) + copy->dst_offset, 0, nullptr,
                                   nullptr),
            "clEnqueueReadBuffer");
    else
      Check(Cl().EnqueueCopyBuffer(queue, source, target, copy->src_offset, copy->dst_offset,
                                   copy->bytes, 0, nullptr, nullptr),
            "clEnqueueCopyBuffer");
  });
}

int CreateStream(int32_t device_id, void** out) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    device.context();
    *out = device.NewQueue();
  });
}

int DestroyStream(int32_t, void* stream) {
  return Guard([&] {
    if (stream)
      Check(Cl().ReleaseCommandQueue(static_cast<cl::Queue>(stream)), "clReleaseCommandQueue");
  });
}

int Synchronize(int32_t device_id, void* stream) {
  return Guard(
      [&] { Check(Cl().Finish(Driver::Get().device(device_id).queue(stream)), "clFinish"); });
}

// OpenCL does not tell how much is in use.
int MemoryInfo(int32_t device_id, uint64_t* free_bytes, uint64_t* total_bytes) {
  return Guard([&] {
    *free_bytes = *total_bytes =
        Driver::Get().device(device_id).Number<cl::Bits>(cl::kDeviceGlobalMemSize);
  });
}

// A place in a queue: the marker that was put there last.
struct Place {
  cl::Event marker = nullptr;
  ~Place() { Forget(); }
  void Forget() {
    if (marker) Cl().ReleaseEvent(marker);
    marker = nullptr;
  }
};

// Of a place that was recorded, in nanoseconds of the device's clock.
cl::Bits TimeOf(void* event) {
  auto& place = *static_cast<Place*>(event);
  if (!place.marker) TERN_THROW(ValueError) << "an event that was never recorded has no time";
  Check(Cl().WaitForEvents(1, &place.marker), "clWaitForEvents");
  cl::Bits time = 0;
  Check(Cl().GetEventProfilingInfo(place.marker, cl::kProfilingCommandEnd, sizeof time, &time,
                                   nullptr),
        "clGetEventProfilingInfo");
  return time;
}

int CreateEvent(int32_t, void** out) {
  return Guard([&] { *out = new Place; });
}

int DestroyEvent(int32_t, void* event) {
  delete static_cast<Place*>(event);
  return 0;
}

int RecordEvent(int32_t device_id, void* event, void* stream) {
  return Guard([&] {
    cl::Queue queue = Driver::Get().device(device_id).queue(stream);
    auto& place = *static_cast<Place*>(event);
    place.Forget();
    Check(Cl().EnqueueMarkerWithWaitList(queue, 0, nullptr, &place.marker),
          "clEnqueueMarkerWithWaitList");
    Check(Cl().Flush(queue), "clFlush");  // other queues may wait for it
  });
}

int WaitEvent(int32_t device_id, void* event, void* stream) {
  return Guard([&] {
    auto& place = *static_cast<Place*>(event);
    if (!place.marker) return;
    Check(Cl().EnqueueBarrierWithWaitList(Driver::Get().device(device_id).queue(stream), 1,
                                          &place.marker, nullptr),
          "clEnqueueBarrierWithWaitList");
  });
}

int SynchronizeEvent(int32_t, void* event) {
  return Guard([&] {
    auto& place = *static_cast<Place*>(event);
    if (place.marker) Check(Cl().WaitForEvents(1, &place.marker), "clWaitForEvents");
  });
}

int Elapsed(int32_t, void* start, void* stop, double* seconds) {
  return Guard([&] {
    auto from = static_cast<double>(TimeOf(start)), to = static_cast<double>(TimeOf(stop));
    *seconds = (to - from) * 1e-9;
  });
}

}  // namespace

const TernDeviceApi kDeviceApi = {
    .size = sizeof(TernDeviceApi),
    .version = TERN_PLUGIN_API_VERSION,
    .device_type = 4,
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

}  // namespace tern::backend::opencl
