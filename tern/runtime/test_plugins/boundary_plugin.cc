// SPDX-License-Identifier: Apache-2.0
//
// A plugin as it was written for one version of the boundary: TERN_BOUNDARY_HEADER is that
// version's plugin_api.h, and nothing of today's is used but the values of c_abi.h. It uses all
// that its version has.
//
// Kernel "fill": (buffer, int32 count, float32 value).
#include TERN_BOUNDARY_HEADER

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

const TernHostApi* host;

int Fail(const char* reason) {
  host->set_error("RuntimeError", reason);
  return -1;
}

int Count(int32_t* count) {
  *count = 1;
  return 0;
}

int Describe(int32_t, void* sink, TernPropertySink emit) {
  TernAny version = {kTernInt, 0, {.v_int = TERN_PLUGIN_API_VERSION}};
  emit(sink, "version", &version);
  return 0;
}

int Alloc(int32_t, uint64_t bytes, uint64_t, void** out) {
  *out = std::malloc(bytes + 1);
  return *out ? 0 : Fail("no memory");
}

int Free(int32_t, void* memory) {
  std::free(memory);
  return 0;
}

int Copy(const TernCopy* copy) {
  std::memmove(static_cast<char*>(copy->dst) + copy->dst_offset,
               static_cast<const char*>(copy->src) + copy->src_offset, copy->bytes);
  return 0;
}

int CreateStream(int32_t, void** out) {
#if TERN_PLUGIN_API_VERSION >= 5
  static int stream = 0;  // default streams are not recorded
  *out = &stream;
#else
  *out = nullptr;
#endif
  return 0;
}
int Nothing(int32_t, void*) { return 0; }

#if TERN_PLUGIN_API_VERSION >= 2
int MemoryInfo(int32_t, uint64_t* free_bytes, uint64_t* total_bytes) {
  *free_bytes = *total_bytes = 12345;
  return 0;
}
int OnStream(int32_t, void*, void*) { return 0; }
int Elapsed(int32_t, void*, void*, double* seconds) {
  *seconds = 1.5;
  return 0;
}
#endif

#if TERN_PLUGIN_API_VERSION >= 3
int Detect(int32_t, void* sink, TernPropertySink emit) { return Describe(0, sink, emit); }
#endif

#if TERN_PLUGIN_API_VERSION >= 4
int AllocHost(int32_t, uint64_t bytes, void** out) { return Alloc(0, bytes, 1, out); }
#endif

int Load(int32_t, const char*, const TernBlob* blobs, int32_t num_blobs, void** program) {
  if (num_blobs != 1) return Fail("one blob is expected");
#if TERN_PLUGIN_API_VERSION >= 3
  // What was stored is found again, where there is a cache.
  host->store_program("boundary", blobs, num_blobs, "compiled", 8);
  host->find_program("boundary", blobs, num_blobs, nullptr, [](void*, const char*, uint64_t) {});
#else
  (void)blobs;
#endif
  *program = std::malloc(1);
  return 0;
}

void Unload(void* program) { std::free(program); }

int GetKernel(void* program, const char*, void** kernel) {
  *kernel = program;
  return 0;
}

template <class T>
T Argument(const TernLaunch* launch, int i) {
  T value;
  std::memcpy(&value, launch->args[i], sizeof value);
  return value;
}

struct Fill {
  float* data;
  uint32_t count;
  float value;
};
void Do(const Fill& fill) {
  for (uint32_t i = 0; i < fill.count; ++i) fill.data[i] = fill.value;
}

#if TERN_PLUGIN_API_VERSION >= 5
// One thread at a time records.
using Graph = std::vector<Fill>;
Graph* recording = nullptr;

int BeginCapture(int32_t, void*) {
  if (recording) return Fail("a stream is recorded already");
  recording = new Graph;
  return 0;
}
int EndCapture(int32_t, void*, void** graph) {
  *graph = recording;
  recording = nullptr;
  return *graph ? 0 : Fail("no stream is recorded");
}
int DestroyGraph(int32_t, void* graph) {
  delete static_cast<Graph*>(graph);
  return 0;
}
int InstantiateGraph(int32_t, void* graph, void** executable) {
  *executable = new Graph(*static_cast<Graph*>(graph));
  return 0;
}
int UpdateGraph(int32_t, void* executable, void* graph) {
  auto &to = *static_cast<Graph*>(executable), &from = *static_cast<Graph*>(graph);
  if (to.size() != from.size()) {
    host->set_error("ValueError", "the graph has other launches");
    return -1;
  }
  to = from;
  return 0;
}
int LaunchGraph(int32_t, void* executable, void*) {
  for (const Fill& fill : *static_cast<Graph*>(executable)) Do(fill);
  return 0;
}
#endif

int Launch(void*, const TernLaunch* launch) {
  if (launch->num_args != 3 || launch->arg_sizes[0] != sizeof(void*))
    return Fail("other arguments are expected");
#if TERN_PLUGIN_API_VERSION >= 4
  if (!launch->arg_is_memory[0] || launch->arg_is_memory[1])
    return Fail("the first argument alone is memory");
#endif
  uint32_t threads = launch->grid[0] * launch->block[0];
  auto count = static_cast<uint32_t>(Argument<int32_t>(launch, 1));
  Fill fill = {Argument<float*>(launch, 0), threads < count ? threads : count,
               Argument<float>(launch, 2)};
#if TERN_PLUGIN_API_VERSION >= 5
  if (launch->version < 5 || launch->size < sizeof(TernLaunch))
    return Fail("the launch is older than this plugin");
  if (launch->arg_kinds[0] != kTernArgMemory || launch->arg_kinds[2] != kTernArgNumber)
    return Fail("other kinds of arguments are expected");
  if ((launch->flags & kTernLaunchClusters) && launch->cluster[0] != launch->grid[0])
    return Fail("one cluster is expected");
  if (recording) {
    recording->push_back(fill);
    return 0;
  }
#endif
  Do(fill);
  return 0;
}

// A type of its own for each version, that no other device has.
TernDeviceApi device = {sizeof(TernDeviceApi),
                        TERN_PLUGIN_API_VERSION,
                        900 + TERN_PLUGIN_API_VERSION,
                        Count,
                        Describe,
                        Alloc,
                        Free,
                        Copy,
                        CreateStream,
                        Nothing,
                        Nothing};
TernKernelLoader loader = {
    sizeof(TernKernelLoader), TERN_PLUGIN_API_VERSION, Load, Unload, GetKernel, Launch};

#if TERN_PLUGIN_API_VERSION >= 6
int Prepare(void*) { return Fail("this plugin prepares nothing"); }
#endif

}  // namespace

extern "C" __attribute__((visibility("default"))) int tern_plugin(const TernHostApi* given,
                                                                  TernRegistrar* registrar) {
  host = given;
  if (host->version < TERN_PLUGIN_API_VERSION || host->size < sizeof(TernHostApi) ||
      registrar->version < TERN_PLUGIN_API_VERSION || registrar->size < sizeof(TernRegistrar))
    return Fail("the runtime is older than this plugin");
#if TERN_PLUGIN_API_VERSION >= 2
  device.memory_info = MemoryInfo;
  device.create_event = CreateStream;
  device.destroy_event = Nothing;
  device.record_event = OnStream;
  device.wait_event = OnStream;
  device.synchronize_event = Nothing;
  device.elapsed = Elapsed;
#endif
#if TERN_PLUGIN_API_VERSION >= 3
  device.detect = Detect;
#endif
#if TERN_PLUGIN_API_VERSION >= 4
  device.alloc_host = AllocHost;
  device.free_host = Free;
#endif
#if TERN_PLUGIN_API_VERSION >= 5
  device.begin_capture = BeginCapture;
  device.end_capture = EndCapture;
  device.destroy_graph = DestroyGraph;
  device.instantiate_graph = InstantiateGraph;
  device.update_graph = UpdateGraph;
  device.launch_graph = LaunchGraph;
  device.destroy_executable = DestroyGraph;
  loader.launch_flags = kTernLaunchClusters;
#endif
#if TERN_PLUGIN_API_VERSION >= 6
  loader.prepare = Prepare;
#endif
  if (registrar->add_device(registrar, TERN_BOUNDARY_KIND, &device)) return -1;
  return registrar->add_kernel_loader(registrar, TERN_BOUNDARY_KIND, &loader);
}
