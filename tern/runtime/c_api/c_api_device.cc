// SPDX-License-Identifier: Apache-2.0
//
// Tensors, devices, streams and events for C.
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/c_api.h"
#include "tern/runtime/c_api/c_api_error.h"
#include "tern/runtime/dlpack.h"
#include "tern/runtime/stream.h"

namespace tern::runtime {
namespace {

const DeviceKind& KindOf(TernDevice device) { return GetDeviceKind(device.type); }

Tensor TensorFrom(TernObject* object, const char* function) {
  return Tensor(ObjectOf<TensorObj>(object, function));
}

// The device that does a copy: one side is the host, or both are the same.
TernDevice CopierOf(TernDevice to, TernDevice from) {
  if (from.type == kTernDeviceCpu) return to;
  TERN_CHECK(to.type == kTernDeviceCpu || (to.type == from.type && to.id == from.id))
      << "cannot copy from " << DeviceName(from) << " to " << DeviceName(to)
      << ": one of them must be the host";
  return from;
}

}  // namespace
}  // namespace tern::runtime

using tern::runtime::CurrentStream;
using tern::runtime::Give;
using tern::runtime::KindOf;
using tern::runtime::TensorFrom;
using tern::runtime::Try;

int tern_tensor_make(const int64_t* shape, int32_t ndim, TernDType dtype, TernDevice device,
                     TernObject** tensor) {
  return Try([&] {
    TERN_CHECK(ndim >= 0) << "tern_tensor_make: a tensor cannot have " << ndim << " axes";
    *tensor = Give(tern::runtime::Tensor::Empty(std::vector<int64_t>(shape, shape + ndim),
                                                tern::DataType(dtype), device));
  });
}

int tern_tensor_get_view(TernObject* tensor, TernTensorView** view) {
  return Try([&] {
    const auto& found = TensorFrom(tensor, "tern_tensor_get_view")->view();
    *view = const_cast<TernTensorView*>(&found);
  });
}

int tern_tensor_copy(TernObject* tensor, TernDevice device, TernObject** copy) {
  return Try([&] { *copy = Give(TensorFrom(tensor, "tern_tensor_copy").CopyTo(device)); });
}

int tern_tensor_from_dlpack(TernManagedTensor* managed, TernObject** tensor) {
  return Try([&] { *tensor = Give(tern::runtime::FromDLPack(managed)); });
}

int tern_tensor_from_dlpack_versioned(TernManagedTensorVersioned* managed, TernObject** tensor) {
  return Try([&] { *tensor = Give(tern::runtime::FromDLPack(managed)); });
}

int tern_tensor_to_dlpack(TernObject* tensor, TernManagedTensor** managed) {
  return Try(
      [&] { *managed = tern::runtime::ToDLPack(TensorFrom(tensor, "tern_tensor_to_dlpack")); });
}

int tern_tensor_to_dlpack_versioned(TernObject* tensor, TernManagedTensorVersioned** managed) {
  return Try([&] {
    *managed =
        tern::runtime::ToDLPackVersioned(TensorFrom(tensor, "tern_tensor_to_dlpack_versioned"));
  });
}

int tern_tensor_read_npy(const char* path, TernObject** tensor) {
  return Try([&] { *tensor = Give(tern::runtime::ReadNpy(path)); });
}

int tern_tensor_write_npy(const char* path, TernObject* tensor) {
  return Try([&] {
    tern::runtime::Tensor host = TensorFrom(tensor, "tern_tensor_write_npy");
    TERN_CHECK(host->device().type == kTernDeviceCpu)
        << "tern_tensor_write_npy: the tensor is on " << tern::runtime::DeviceName(host->device())
        << "; copy it to the host first";
    tern::runtime::WriteNpy(path, host);
  });
}

int tern_device_find(const char* kind, int32_t id, TernDevice* device) {
  return Try([&] {
    const tern::runtime::DeviceKind& found = tern::runtime::GetDeviceKind(kind);
    TERN_CHECK(id >= 0 && id < found.Count())
        << "there is no device " << kind << ":" << id << "; there are " << found.Count();
    *device = {found.device_type(), id};
  });
}

int tern_device_name(TernDevice device, TernAny* name) {
  return Try([&] { *name = tern::ffi::Any(tern::runtime::DeviceName(device)).Release(); });
}

int tern_device_count(const char* kind, int32_t* count) {
  return Try([&] { *count = tern::runtime::GetDeviceKind(kind).Count(); });
}

int tern_device_memory(TernDevice device, uint64_t* free_bytes, uint64_t* total_bytes) {
  return Try([&] {
    auto memory = KindOf(device).Memory(device.id);
    *free_bytes = memory.free_bytes;
    *total_bytes = memory.total_bytes;
  });
}

int tern_device_alloc(TernDevice device, uint64_t bytes, uint64_t alignment, void** memory) {
  return Try([&] {
    TERN_CHECK((alignment & (alignment - 1)) == 0)
        << "tern_device_alloc: an alignment is a power of two, not " << alignment;
    *memory = KindOf(device).Alloc(device.id, bytes, alignment);
  });
}

int tern_device_free(TernDevice device, void* memory) {
  return Try([&] { KindOf(device).Free(device.id, memory); });
}

int tern_device_copy(void* to, TernDevice to_device, const void* from, TernDevice from_device,
                     uint64_t bytes) {
  return Try([&] {
    TernDevice copier = tern::runtime::CopierOf(to_device, from_device);
    const tern::runtime::DeviceKind& kind = KindOf(copier);
    kind.Copy({.src = from,
               .src_offset = 0,
               .src_device = from_device,
               .dst = to,
               .dst_offset = 0,
               .dst_device = to_device,
               .bytes = bytes,
               .stream = CurrentStream(copier)});
    kind.Synchronize(copier.id, CurrentStream(copier));
  });
}

int tern_device_synchronize(TernDevice device) {
  return Try([&] { KindOf(device).Synchronize(device.id, CurrentStream(device)); });
}

int tern_stream_make(TernDevice device, void** stream) {
  return Try([&] { *stream = KindOf(device).CreateStream(device.id); });
}

int tern_stream_free(TernDevice device, void* stream) {
  return Try([&] { KindOf(device).DestroyStream(device.id, stream); });
}

int tern_stream_use(TernDevice device, void* stream, void** before) {
  return Try([&] {
    void* used = tern::runtime::SetCurrentStream(device, stream);
    if (before) *before = used;
  });
}

int tern_event_make(TernDevice device, void** event) {
  return Try([&] { *event = KindOf(device).CreateEvent(device.id); });
}

int tern_event_free(TernDevice device, void* event) {
  return Try([&] { KindOf(device).DestroyEvent(device.id, event); });
}

int tern_event_record(TernDevice device, void* event) {
  return Try([&] { KindOf(device).RecordEvent(device.id, event, CurrentStream(device)); });
}

int tern_event_hold(TernDevice device, void* event) {
  return Try([&] { KindOf(device).WaitEvent(device.id, event, CurrentStream(device)); });
}

int tern_event_synchronize(TernDevice device, void* event) {
  return Try([&] { KindOf(device).SynchronizeEvent(device.id, event); });
}

int tern_event_elapsed(TernDevice device, void* start, void* stop, double* seconds) {
  return Try([&] { *seconds = KindOf(device).SecondsBetween(device.id, start, stop); });
}
