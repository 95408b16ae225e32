// SPDX-License-Identifier: Apache-2.0
//
// Devices, memory and programs.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tern/backend/metal/test/metal_objects.h"
#include "tern/ffi/environment.h"

namespace tern::backend::metal::standin {
namespace {

constexpr unsigned long kMaxBufferLength = 1ul << 32, kMemory = 1ul << 33;
constexpr unsigned long kStorageShared = 0, kStoragePrivate = 2 << 4;
constexpr size_t kPage = 4096;

Class* ClassOf(const char* name) { return Runtime::Get().GetClass(name); }

Device* Self(Object* self) { return static_cast<Device*>(self); }

Buffer* MakeBuffer(Object* self, const char* method, unsigned long length, unsigned long options) {
  if (length == 0) Misuse(std::string(method) + ": a buffer has at least one byte");
  if (length > kMaxBufferLength) Misuse(std::string(method) + ": longer than maxBufferLength");
  if (options != kStorageShared && options != kStoragePrivate)
    Misuse(std::string(method) + ": options " + std::to_string(options) + " are not known here");
  return new Buffer(Self(self), length, options == kStoragePrivate);
}

Object* NewBuffer(Object* self, const char* method, unsigned long length, unsigned long options) {
  TERN_METHOD;
  return MakeBuffer(self, method, length, options);
}

Object* NewBufferWithBytes(Object* self, const char* method, const void* bytes,
                           unsigned long length, unsigned long options) {
  TERN_METHOD;
  if (!bytes) Misuse(std::string(method) + ": no bytes");
  Buffer* buffer = MakeBuffer(self, method, length, options);
  if (buffer->is_private) Misuse(std::string(method) + ": private memory has no bytes of the host");
  std::memcpy(buffer->memory, bytes, length);
  return buffer;
}

Object* Compile(Object* self, const std::string& source, const MslOptions& options,
                Object** error) {
  std::string log;
  auto program = CompileMsl(source, options, &log);
  if (program) return new Library(Self(self), program);
  if (error) *error = MakeError("program_source: " + log);
  return nullptr;
}

Object* NewLibraryWithSource(Object* self, const char* method, Object* source, Object* options,
                             Object** error) {
  TERN_METHOD;
  MslOptions with;
  if (options) with = Argument<CompileOptions>(options, method, "MTLCompileOptions")->options;
  return Compile(self, Argument<String>(source, method, "NSString")->text, with, error);
}

// What metallib files are to this device: their own name, and the source.
Object* NewLibraryWithData(Object* self, const char* method, Object* data, Object** error) {
  TERN_METHOD;
  constexpr std::string_view kMagic = "MTLB";
  const std::string& bytes = DataOf(data, method);
  if (bytes.starts_with(kMagic))
    return Compile(self, bytes.substr(kMagic.size()), {.fast_math = false}, error);
  if (error) *error = MakeError("Invalid library file");
  return nullptr;
}

Object* NewPipeline(Object* self, const char* method, Object* function, Object** error) {
  TERN_METHOD;
  auto* made = Argument<Function>(function, method, "MTLFunction");
  if (made->device != self) Misuse(std::string(method) + ": the function is of another device");
  auto* pipeline = new Pipeline(made);
  if (pipeline->shared_bytes() <= kMaxThreadgroupMemory) return pipeline;
  if (error)
    *error = MakeError("Threadgroup memory size (" + std::to_string(pipeline->shared_bytes()) +
                       ") exceeds the maximum threadgroup memory allowed (32768)");
  Runtime::Get().Release(pipeline);
  return nullptr;
}

Object* NewFunction(Object* self, const char* method, Object* name) {
  TERN_METHOD;
  auto* library = static_cast<Library*>(self);
  auto it = library->program->kernels.find(Argument<String>(name, method, "NSString")->text);
  return it == library->program->kernels.end() ? nullptr : new Function(library, &it->second);
}

void RegisterDeviceMethods(Class* device) {
  device->Add(
      "name", +[](Object*, const char*) {
        TERN_METHOD;
        return Runtime::Get().Autorelease(new String("Tern stand-in"));
      });
  device->Add(
      "maxThreadgroupMemoryLength", +[](Object*, const char*) { return kMaxThreadgroupMemory; });
  device->Add("maxBufferLength", +[](Object*, const char*) { return kMaxBufferLength; });
  device->Add("recommendedMaxWorkingSetSize", +[](Object*, const char*) { return kMemory; });
  device->Add(
      "currentAllocatedSize", +[](Object* self, const char*) { return Self(self)->allocated; });
  device->Add(
      "supportsFamily:", +[](Object*, const char*, long family) {
        bool is_old = environment::Flag("TERN_STANDIN_METAL2", false);
        return (family >= 1001 && family <= 1007) || (family == 5001 && !is_old);
      });
  device->Add("newBufferWithLength:options:", NewBuffer);
  device->Add("newBufferWithBytes:length:options:", NewBufferWithBytes);
  device->Add("newLibraryWithSource:options:error:", NewLibraryWithSource);
  device->Add("newLibraryWithData:error:", NewLibraryWithData);
  device->Add("newComputePipelineStateWithFunction:error:", NewPipeline);
  device->Add(
      "newCommandQueue", +[](Object* self, const char*) {
        TERN_METHOD;
        return MakeQueue(Self(self));
      });
  device->Add(
      "newEvent", +[](Object* self, const char*) -> Object* {
        TERN_METHOD;
        return new Event(Self(self));
      });
}

void RegisterMemoryAndPrograms(Runtime& runtime) {
  Class* buffer = runtime.GetClass("MTLBuffer");
  buffer->Add(
      "contents", +[](Object* self, const char*) -> void* {
        auto* made = static_cast<Buffer*>(self);
        return made->is_private ? nullptr : made->memory;
      });
  buffer->Add(
      "length", +[](Object* self, const char*) { return static_cast<Buffer*>(self)->length; });
  buffer->Add(
      "gpuAddress", +[](Object* self, const char*) {
        return reinterpret_cast<uint64_t>(static_cast<Buffer*>(self)->memory);
      });
  runtime.GetClass("MTLLibrary")->Add("newFunctionWithName:", NewFunction);
  Class* pipeline = runtime.GetClass("MTLComputePipelineState");
  pipeline->Add(
      "maxTotalThreadsPerThreadgroup",
      +[](Object* self, const char*) { return static_cast<Pipeline*>(self)->max_threads(); });
  pipeline->Add(
      "staticThreadgroupMemoryLength",
      +[](Object* self, const char*) { return static_cast<Pipeline*>(self)->shared_bytes(); });
  pipeline->Add("threadExecutionWidth", +[](Object*, const char*) { return 32ul; });
  Class* options = runtime.GetClass("MTLCompileOptions");
  options->AddToClass(
      "new", +[](Object*, const char*) -> Object* {
        TERN_METHOD;
        return new CompileOptions;
      });
  options->Add(
      "setFastMathEnabled:", +[](Object* self, const char*, bool value) {
        static_cast<CompileOptions*>(self)->options.fast_math = value;
      });
  options->Add(
      "setLanguageVersion:", +[](Object* self, const char*, unsigned long value) {
        unsigned long major = value >> 16, minor = value & 0xffff;
        if (major < 2 || major > 3 || minor > 4)
          Misuse("setLanguageVersion: there is no such version");
        static_cast<CompileOptions*>(self)->options.version =
            static_cast<unsigned>(major * 100 + minor * 10);
      });
}

std::vector<Device*>& Devices() {
  static auto* devices = new std::vector<Device*>;
  if (devices->empty()) {
    const char* count = std::getenv("TERN_STANDIN_DEVICES");
    for (int i = 0; i < (count ? std::strtol(count, nullptr, 10) : 1); ++i)
      devices->push_back(new Device(i));
  }
  return *devices;
}

}  // namespace

Device::Device(int number) : Object(ClassOf("MTLDevice")), number(number) {}

// What nobody wrote is no number.
Buffer::Buffer(Device* device, size_t length, bool is_private)
    : Object(ClassOf("MTLBuffer")),
      device(device),
      length(length),
      is_private(is_private),
      memory(static_cast<char*>(std::aligned_alloc(kPage, (length + kPage - 1) / kPage * kPage))) {
  std::memset(memory, 0xff, length);
  device->allocated += length;
}
void Buffer::Dealloc() {
  device->allocated -= length;
  std::free(memory);
  memory = nullptr;
}

CompileOptions::CompileOptions() : Object(ClassOf("MTLCompileOptions")) {}
Library::Library(Device* device, std::shared_ptr<MslProgram> program)
    : Object(ClassOf("MTLLibrary")), device(device), program(std::move(program)) {}
Function::Function(Library* library, const MslProgram::Kernel* kernel)
    : Object(ClassOf("MTLFunction")),
      device(library->device),
      program(library->program),
      kernel(kernel) {}
Pipeline::Pipeline(Function* function)
    : Object(ClassOf("MTLComputePipelineState")),
      device(function->device),
      program(function->program),
      kernel(function->kernel) {}
Event::Event(Device* device) : Object(ClassOf("MTLEvent")), device(device) {}

void RegisterDevice(Runtime& runtime) {
  RegisterDeviceMethods(runtime.GetClass("MTLDevice"));
  RegisterMemoryAndPrograms(runtime);
}

}  // namespace tern::backend::metal::standin

using namespace tern::backend::metal::standin;

TERN_STANDIN_API Object* MTLCopyAllDevices() {
  TERN_METHOD;
  std::vector<Object*> devices(Devices().begin(), Devices().end());
  return MakeArray(devices);
}

TERN_STANDIN_API Object* MTLCreateSystemDefaultDevice() {
  TERN_METHOD;
  if (Devices().empty()) return nullptr;
  Runtime::Get().Retain(Devices()[0]);
  return Devices()[0];
}
