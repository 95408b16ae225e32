// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/opencl/runtime/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

namespace tern::backend::opencl {

static constexpr const char* kLibrary = "libOpenCL.so.1";

namespace cl {
namespace {

Functions FindFunctions(void* library) {
  Functions functions;
#define TERN_OPENCL_FIND(name, result, ...)                                               \
  functions.name = reinterpret_cast<result (*)(__VA_ARGS__)>(dlsym(library, "cl" #name)); \
  if (!functions.name) TERN_THROW(RuntimeError) << kLibrary << " has no function cl" #name;
  TERN_OPENCL_FUNCTIONS(TERN_OPENCL_FIND)
#undef TERN_OPENCL_FIND
  return functions;
}

}  // namespace
}  // namespace cl

namespace {

const char* ErrorName(cl::Int code) {
  switch (code) {
    case -1:
      return "CL_DEVICE_NOT_FOUND";
    case -2:
      return "CL_DEVICE_NOT_AVAILABLE";
    case -3:
      return "CL_COMPILER_NOT_AVAILABLE";
    case -4:
      return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case -5:
      return "CL_OUT_OF_RESOURCES";
    case -6:
      return "CL_OUT_OF_HOST_MEMORY";
    case -11:
      return "CL_BUILD_PROGRAM_FAILURE";
    case -30:
      return "CL_INVALID_VALUE";
    case -36:
      return "CL_INVALID_COMMAND_QUEUE";
    case -38:
      return "CL_INVALID_MEM_OBJECT";
    case -42:
      return "CL_INVALID_BINARY";
    case -45:
      return "CL_INVALID_PROGRAM_EXECUTABLE";
    case -46:
      return "CL_INVALID_KERNEL_NAME";
    case -48:
      return "CL_INVALID_KERNEL";
    case -49:
      return "CL_INVALID_ARG_INDEX";
    case -50:
      return "CL_INVALID_ARG_VALUE";
    case -51:
      return "CL_INVALID_ARG_SIZE";
    case -52:
      return "CL_INVALID_KERNEL_ARGS";
    case -54:
      return "CL_INVALID_WORK_GROUP_SIZE";
    case -55:
      return "CL_INVALID_WORK_ITEM_SIZE";
    case -61:
      return "CL_INVALID_BUFFER_SIZE";
    case -63:
      return "CL_INVALID_GLOBAL_WORK_SIZE";
    default:
      return "error";
  }
}

}  // namespace

void Check(cl::Int code, const char* call) {
  if (code != cl::kSuccess)
    TERN_THROW(RuntimeError) << call << " failed: " << ErrorName(code) << " (" << code << ")";
}

std::string Device::Text(cl::UInt property) const {
  size_t size = 0;
  Check(Cl().GetDeviceInfo(id_, property, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, '\0');
  Check(Cl().GetDeviceInfo(id_, property, size, text.data(), nullptr), "clGetDeviceInfo");
  text.resize(std::strlen(text.c_str()));  // the size counts a final zero
  return text;
}

cl::Context Device::context() {
  std::lock_guard lock(mutex_);
  if (!context_) {
    cl::Int code = cl::kSuccess;
    cl::Context context = Cl().CreateContext(nullptr, 1, &id_, nullptr, nullptr, &code);
    Check(code, "clCreateContext");
    context_ = context;
  }
  return context_;
}

cl::Queue Device::queue(void* stream) {
  if (stream) return static_cast<cl::Queue>(stream);
  context();  // takes the lock itself
  std::lock_guard lock(mutex_);
  if (!queue_) queue_ = NewQueue();
  return queue_;
}

cl::Queue Device::NewQueue() {
  cl::Int code = cl::kSuccess;
  // Events tell the time only on queues that were made for it.
  cl::Queue queue = Cl().CreateCommandQueue(context_, id_, cl::kQueueProfiling, &code);
  Check(code, "clCreateCommandQueue");
  return queue;
}

Driver& Driver::Get() {
  // If the constructor throws, the next use tries again.
  static Driver* driver = new Driver;
  return *driver;
}

Driver::Driver() {
  Open();
  if (functions_.GetPlatformIDs) ListDevices();
}

void Driver::Open() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    absence_ = std::string(kLibrary) + " cannot be opened: " + dlerror();
    return;
  }
  functions_ = cl::FindFunctions(library);
}

void Driver::ListDevices() {
  cl::UInt num_platforms = 0;
  cl::Int code = functions_.GetPlatformIDs(0, nullptr, &num_platforms);
  if (code != cl::kPlatformNotFound) Check(code, "clGetPlatformIDs");
  std::vector<cl::Platform> platforms(num_platforms);
  if (num_platforms)
    Check(functions_.GetPlatformIDs(num_platforms, platforms.data(), nullptr), "clGetPlatformIDs");

  std::vector<std::pair<bool, cl::Device>> found;  // whether it is no GPU
  for (cl::Platform platform : platforms) {
    cl::UInt count = 0;
    code = functions_.GetDeviceIDs(platform, cl::kDeviceTypeAll, 0, nullptr, &count);
    // A platform whose driver is broken must not hide the others.
    if (code != cl::kSuccess || count == 0) continue;
    std::vector<cl::Device> devices(count);
    Check(functions_.GetDeviceIDs(platform, cl::kDeviceTypeAll, count, devices.data(), nullptr),
          "clGetDeviceIDs");
    for (cl::Device device : devices) {
      cl::Bits type = 0;
      Check(functions_.GetDeviceInfo(device, cl::kDeviceType, sizeof type, &type, nullptr),
            "clGetDeviceInfo");
      found.emplace_back(!(type & cl::kDeviceTypeGpu), device);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [is_no_gpu, device] : found) devices_.push_back(new Device(device, count()));
  if (devices_.empty()) absence_ = std::string(kLibrary) + " lists no device";
}

Device& Driver::device(int32_t number) {
  if (number < 0 || number >= count())
    TERN_THROW(ValueError) << "no such device: opencl:" << number << "; "
                           << (absence_.empty() ? "there are " + std::to_string(count())
                                                : absence_);
  return *devices_[static_cast<size_t>(number)];
}

}  // namespace tern::backend::opencl
