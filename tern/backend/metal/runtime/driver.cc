// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/metal/runtime/driver.h"

#include <dlfcn.h>

#include <algorithm>

namespace tern::backend::metal {
namespace {

constexpr const char* kObjc = "libobjc.A.dylib";
// Its place on every machine that has it, then wherever the loader looks.
constexpr const char* kFramework[] = {"/System/Library/Frameworks/Metal.framework/Metal", "Metal"};
constexpr UInt kStatusCompleted = 4, kStatusError = 5;

template <class Function>
void Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (!*function) TERN_THROW(RuntimeError) << kObjc << " has no function " << name;
}

void FindObjc(void* library) {
  Find(library, "objc_getClass", &objc.get_class);
  Find(library, "sel_registerName", &objc.register_name);
  Find(library, "objc_msgSend", &objc.send);
  Find(library, "objc_autoreleasePoolPush", &objc.pool_push);
  Find(library, "objc_autoreleasePoolPop", &objc.pool_pop);
}

std::string ErrorOf(Id commands) {
  if (Send<UInt>(commands, "status") != kStatusError) return "";
  return "a command buffer failed: " + MessageOf(Send<Id>(commands, "error"));
}

}  // namespace

// ---- Streams.

Ref Stream::Submit(const std::function<void(Id commands)>& encode) {
  Pool pool;
  Ref commands = Ref::Retain(Send<Id>(queue_.get(), "commandBuffer"));
  if (!commands) TERN_THROW(RuntimeError) << "the queue gives no command buffer";
  encode(commands.get());
  Send<void>(commands.get(), "commit");
  std::lock_guard lock(mutex_);
  Forget();
  pending_.push_back(Ref::Retain(commands.get()));
  return commands;
}

void Stream::Forget() {
  auto is_done = [](const Ref& commands) {
    return Send<UInt>(commands.get(), "status") == kStatusCompleted;
  };
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(), is_done), pending_.end());
}

// What is waited for stays pending: another thread may have to wait for it too.
void Stream::Drain() {
  Pool pool;
  std::vector<Ref> waited;
  {
    std::lock_guard lock(mutex_);
    for (const Ref& commands : pending_) waited.push_back(Ref::Retain(commands.get()));
  }
  std::string error;
  for (const Ref& commands : waited) {
    Send<void>(commands.get(), "waitUntilCompleted");
    if (error.empty()) error = ErrorOf(commands.get());
  }
  {
    std::lock_guard lock(mutex_);
    std::erase_if(pending_, [&](const Ref& commands) {
      return std::any_of(waited.begin(), waited.end(),
                         [&](const Ref& one) { return one.get() == commands.get(); });
    });
  }
  if (!error.empty()) TERN_THROW(RuntimeError) << error;
}

void WaitFor(Id commands) {
  Pool pool;
  Send<void>(commands, "waitUntilCompleted");
  std::string error = ErrorOf(commands);
  if (!error.empty()) TERN_THROW(RuntimeError) << error;
}

// ---- Devices.

std::string Device::name() const {
  Pool pool;
  return TextOf(Send<Id>(handle(), "name"));
}

bool Device::IsOfFamily(Int family) const {
  return Send<bool>(handle(), "supportsFamily:", family);
}

UInt Device::max_threads() const { return IsOfFamily(kApple4) || IsOfFamily(kMac2) ? 1024 : 512; }

std::unique_ptr<Stream> Device::NewStream() const {
  Ref queue = Ref::Take(Send<Id>(handle(), "newCommandQueue"));
  if (!queue) TERN_THROW(RuntimeError) << "metal:" << number_ << " makes no more queues";
  return std::make_unique<Stream>(std::move(queue));
}

Stream& Device::stream(void* stream) {
  if (stream) return *static_cast<Stream*>(stream);
  std::lock_guard lock(mutex_);
  if (!default_stream_) default_stream_ = NewStream();
  return *default_stream_;
}

// ---- The driver.

Driver& Driver::Get() {
  // If the constructor throws, the next use tries again.
  static Driver* driver = new Driver;
  return *driver;
}

Driver::Driver() {
  Open();
  if (devices_function_) ListDevices();
}

void Driver::Open() {
  void* library = dlopen(kObjc, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    absence_ = std::string(kObjc) + " cannot be opened: " + dlerror();
    return;
  }
  void* framework = nullptr;
  for (const char* name : kFramework)
    if (!framework) framework = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!framework) {
    absence_ = std::string("the Metal framework cannot be opened: ") + dlerror();
    return;
  }
  FindObjc(library);
  create_data = reinterpret_cast<decltype(create_data)>(dlsym(library, "dispatch_data_create"));
  if (!create_data)
    create_data =
        reinterpret_cast<decltype(create_data)>(dlsym(RTLD_DEFAULT, "dispatch_data_create"));
  // Phones have the default device alone.
  devices_function_ = dlsym(framework, "MTLCopyAllDevices");
  if (devices_function_) return;
  devices_function_ = dlsym(framework, "MTLCreateSystemDefaultDevice");
  if (!devices_function_) TERN_THROW(RuntimeError) << "the Metal framework has no list of devices";
  is_default_ = true;
}

void Driver::ListDevices() {
  Pool pool;
  Ref found = Ref::Take(reinterpret_cast<Id (*)()>(devices_function_)());
  if (is_default_) {
    if (found) devices_.push_back(new Device(std::move(found), 0));
  } else if (found) {
    UInt count = Send<UInt>(found.get(), "count");
    for (UInt i = 0; i < count; ++i)
      devices_.push_back(new Device(Ref::Retain(Send<Id>(found.get(), "objectAtIndex:", i)),
                                    static_cast<int32_t>(i)));
  }
  if (devices_.empty()) absence_ = "Metal has no device";
}

Device& Driver::device(int32_t number) {
  if (number < 0 || number >= count())
    TERN_THROW(ValueError) << "no such device: metal:" << number << "; "
                           << (absence_.empty() ? "there are " + std::to_string(count())
                                                : absence_);
  return *devices_[static_cast<size_t>(number)];
}

}  // namespace tern::backend::metal
