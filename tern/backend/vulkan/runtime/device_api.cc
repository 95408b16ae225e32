// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>

#include "tern/backend/vulkan/runtime/device.h"
#include "tern/backend/vulkan/runtime/plugin.h"

namespace tern::backend::vulkan {
namespace {

using plugin::Guard;

constexpr int32_t kDeviceType = 7;  // DLPack's

int Count(int32_t* count) {
  return Guard([&] { *count = Driver::Get().count(); });
}

// Emits properties of a device.
struct Emitter {
  void* sink;
  TernPropertySink emit;

  void Text(const char* name, const std::string& value) const {
    TernAny any = plugin::TextValue(value.c_str());
    emit(sink, name, &any);
  }
  void Number(const char* name, uint64_t value) const {
    TernAny any = plugin::IntValue(static_cast<int64_t>(value));
    emit(sink, name, &any);
  }
  void Flag(const char* name, bool value) const {
    TernAny any{kTernBool, 0, {.v_int = value}};
    emit(sink, name, &any);
  }
};

bool HasFloatControls(const DeviceProperties& device) {
  constexpr int kFloat32 = 1;
  return device.float_controls.signed_zero_inf_nan_preserve[kFloat32] &&
         device.float_controls.rounding_mode_rte[kFloat32];
}

// The target attributes of the device, within what they may be.
void EmitAttributes(const DeviceProperties& device, const Emitter& out) {
  const vk::PhysicalDeviceLimits& limits = device.limits();
  out.Number("max_threads", std::min<uint32_t>(limits.max_compute_work_group_invocations, 4096));
  out.Number("max_shared_memory",
             std::min<uint32_t>(limits.max_compute_shared_memory_size, 1 << 20));
  out.Number("max_push_constants", std::min<uint32_t>(limits.max_push_constants_size, 4096));
  const char* const axes[] = {"max_threads_x", "max_threads_y", "max_threads_z"};
  for (int i = 0; i < 3; ++i)
    out.Number(axes[i], std::min<uint32_t>(limits.max_compute_work_group_size[i], 4096));
  out.Number("max_buffers",
             std::min<uint32_t>(limits.max_per_stage_descriptor_storage_buffers, 1 << 20) - 1);
  out.Flag("addresses", device.addresses.buffer_device_address);
  out.Flag("int64", device.features.shader_int64);
  out.Flag("float64", device.features.shader_float64);
  out.Flag("int8", device.arithmetic.shader_int8);
  out.Flag("int16", device.features.shader_int16);
  out.Flag("storage8", device.storage8.storage_buffer);
  out.Flag("storage16", device.storage16.storage_buffer);
  out.Flag("float_controls", HasFloatControls(device));
  // Programs that play a device are known to get halves wrong.
  constexpr int kFloat16 = 0;
  out.Flag("float16", device.arithmetic.shader_float16 && !device.is_cpu() &&
                          device.float_controls.rounding_mode_rte[kFloat16] &&
                          device.float_controls.signed_zero_inf_nan_preserve[kFloat16]);
}

int Describe(int32_t device_id, void* sink, TernPropertySink emit) {
  return Guard([&] {
    const DeviceProperties& device = Driver::Get().device(device_id).properties();
    Emitter out{sink, emit};
    uint32_t version = device.core.api_version;
    out.Text("name", device.core.device_name);
    out.Text("driver", std::string(device.driver.driver_name) + " " + device.driver.driver_info);
    out.Text("version", "Vulkan " + std::to_string(version >> 22 & 0x7f) + "." +
                            std::to_string(version >> 12 & 0x3ff) + "." +
                            std::to_string(version & 0xfff));
    out.Number("warp_size", device.subgroup.subgroup_size);
    out.Number("max_alloc", Driver::Get().device(device_id).MaxBufferBytes());
    EmitAttributes(device, out);
  });
}

int Detect(int32_t device_id, void* sink, TernPropertySink emit) {
  return Guard(
      [&] { EmitAttributes(Driver::Get().device(device_id).properties(), Emitter{sink, emit}); });
}

// The driver aligns buffers to its widest type, which is at least what any kernel asks for.
int Alloc(int32_t device_id, uint64_t bytes, uint64_t, void** out) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    if (bytes > device.MaxBufferBytes())
      TERN_THROW(MemoryError) << device.name() << ": " << bytes
                              << " bytes are more than one buffer can have there, "
                              << device.MaxBufferBytes();
    *out = device.Allocate(bytes, /*host_visible=*/false);
  });
}

int Free(int32_t device_id, void* memory) {
  return Guard([&] { Driver::Get().device(device_id).Retire(static_cast<Buffer*>(memory)); });
}

// All streams of a device are parts of its one queue, and run in the order in which they are given
// work. A stream remembers what it was given last.
struct Stream {
  std::atomic<uint64_t> last = 0;
};

// To and from the host it waits: the host's memory may go away when this returns.
int Copy(const TernCopy* copy) {
  return Guard([&] {
    bool from_host = copy->src_device.type == kTernDeviceCpu,
         to_host = copy->dst_device.type == kTernDeviceCpu;
    Device& device = Driver::Get().device(from_host ? copy->dst_device.id : copy->src_device.id);
    if (copy->bytes == 0) return;
    if (from_host)
      return device.CopyFromHost(*static_cast<Buffer*>(copy->dst), copy->dst_offset,
                                 static_cast<const char*>(copy->src) + copy->src_offset,
                                 copy->bytes);
    const auto& source = *static_cast<const Buffer*>(copy->src);
    if (to_host)
      return device.CopyToHost(static_cast<char*>(copy->dst) + copy->dst_offset, source,
                               copy->src_offset, copy->bytes);
    const auto& target = *static_cast<const Buffer*>(copy->dst);
    NoteSubmission(copy->stream, device.Submit([&](vk::CommandBuffer commands, vk::Handle) {
      vk::BufferCopy region{copy->src_offset, copy->dst_offset, copy->bytes};
      Vk().CmdCopyBuffer(commands, source.handle, target.handle, 1, &region);
    }));
  });
}

int CreateStream(int32_t, void** out) {
  return Guard([&] { *out = new Stream; });
}

int DestroyStream(int32_t, void* stream) {
  delete static_cast<Stream*>(stream);
  return 0;
}

int Synchronize(int32_t device_id, void* stream) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    device.Wait(stream ? static_cast<Stream*>(stream)->last.load() : device.last_submitted());
  });
}

// Vulkan does not tell how much is in use.
int MemoryInfo(int32_t device_id, uint64_t* free_bytes, uint64_t* total_bytes) {
  return Guard([&] {
    const vk::PhysicalDeviceMemoryProperties& memory =
        Driver::Get().device(device_id).properties().memory;
    uint64_t total = 0;
    for (uint32_t i = 0; i < memory.heap_count; ++i)
      if (memory.heaps[i].flags & vk::kMemoryDeviceLocal) total += memory.heaps[i].size;
    *free_bytes = *total_bytes = total;
  });
}

// A place in the queue, and the time at which it was reached.
struct Event {
  vk::Handle pool = 0;  // one query
  uint64_t value = 0;   // 0: never recorded
};

int CreateEvent(int32_t device_id, void** out) {
  return Guard([&] {
    auto event = std::make_unique<Event>();
    Device& device = Driver::Get().device(device_id);
    vk::QueryPoolCreateInfo info{.query_type = vk::kQueryTimestamp, .query_count = 1};
    if (device.properties().timestamp_bits > 0)
      Check(Vk().CreateQueryPool(device.handle(), &info, nullptr, &event->pool),
            "vkCreateQueryPool");
    *out = event.release();
  });
}

int DestroyEvent(int32_t device_id, void* raw) {
  return Guard([&] {
    std::unique_ptr<Event> event(static_cast<Event*>(raw));
    Device& device = Driver::Get().device(device_id);
    device.Wait(event->value);  // the query may be in use
    if (event->pool) Vk().DestroyQueryPool(device.handle(), event->pool, nullptr);
  });
}

int RecordEvent(int32_t device_id, void* raw, void* stream) {
  return Guard([&] {
    auto& event = *static_cast<Event*>(raw);
    event.value =
        Driver::Get().device(device_id).Submit([&](vk::CommandBuffer commands, vk::Handle) {
          if (!event.pool) return;
          Vk().CmdResetQueryPool(commands, event.pool, 0, 1);
          Vk().CmdWriteTimestamp(commands, vk::kPipeBottom, event.pool, 0);
        });
    NoteSubmission(stream, event.value);
  });
}

// What comes later in the one queue waits anyway.
int WaitEvent(int32_t, void*, void*) { return 0; }

int SynchronizeEvent(int32_t device_id, void* event) {
  return Guard([&] { Driver::Get().device(device_id).Wait(static_cast<Event*>(event)->value); });
}

double SecondsOf(Device& device, const Event& event) {
  if (event.value == 0) TERN_THROW(ValueError) << "an event that was never recorded has no time";
  if (!event.pool) TERN_THROW(RuntimeError) << device.name() << " has no clock";
  uint64_t ticks = 0;
  Check(Vk().GetQueryPoolResults(device.handle(), event.pool, 0, 1, sizeof ticks, &ticks,
                                 sizeof ticks, vk::kQueryResult64 | vk::kQueryResultWait),
        "vkGetQueryPoolResults");
  constexpr double kNanosecond = 1e-9;
  return static_cast<double>(ticks) * double{device.properties().limits().timestamp_period} *
         kNanosecond;
}

int Elapsed(int32_t device_id, void* start, void* stop, double* seconds) {
  return Guard([&] {
    Device& device = Driver::Get().device(device_id);
    double from = SecondsOf(device, *static_cast<Event*>(start));
    *seconds = SecondsOf(device, *static_cast<Event*>(stop)) - from;
  });
}

}  // namespace

void NoteSubmission(void* stream, uint64_t value) {
  if (stream) static_cast<Stream*>(stream)->last = value;
}

const TernDeviceApi kDeviceApi = {
    .size = sizeof(TernDeviceApi),
    .version = TERN_PLUGIN_API_VERSION,
    .device_type = kDeviceType,
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

}  // namespace tern::backend::vulkan
