// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/hexagon/runtime/executor.h"

#include <limits>

#include "tern/ffi/error.h"

namespace tern::backend::hexagon {
namespace {

constexpr unsigned char kProgram[] = {
#include "tern/backend/hexagon/runtime/executor.inc"
};

}  // namespace

std::string_view ExecutorProgram() {
  return {reinterpret_cast<const char*>(kProgram), sizeof kProgram};
}

Executor::Executor(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {
  TernAnswer hello;
  transport_->Receive(&hello, sizeof hello);
  if (hello.status != TERN_EXECUTOR_HELLO || hello.value != TERN_EXECUTOR_VERSION)
    TERN_THROW(RuntimeError) << "what was started is no executor of this version of Tern";
}

bool Executor::is_dead() const {
  std::scoped_lock lock(mutex_);
  return dead_;
}

uint32_t Executor::Request(const TernRequest& request, const void* data, uint64_t bytes,
                           void* answer, uint64_t answer_bytes) {
  if (dead_) TERN_THROW(RuntimeError) << "the executor is dead, by an error before";
  try {
    transport_->Send(&request, sizeof request);
    transport_->Send(data, bytes);
    TernAnswer result;
    transport_->Receive(&result, sizeof result);
    if (result.status != 0 && request.kind == TERN_REQUEST_ALLOC)
      TERN_THROW(MemoryError) << "the executor has no " << request.a << " bytes left (error "
                              << result.status << ")";
    if (result.status != 0)
      TERN_THROW(RuntimeError) << "the executor refused request " << request.kind << " (error "
                               << result.status << ")";
    transport_->Receive(answer, answer_bytes);
    return result.value;
  } catch (const Error& error) {
    dead_ = error.kind() != "MemoryError";
    throw;
  }
}

void Executor::CheckInside(uint32_t address, uint64_t bytes) {
  auto it = sizes_.upper_bound(address);
  bool inside = it != sizes_.begin();
  if (inside) {
    --it;
    inside = address - it->first <= it->second && bytes <= it->second - (address - it->first);
  }
  if (!inside)
    TERN_THROW(ValueError) << bytes << " bytes at address " << address
                           << " are not memory of the executor";
}

uint32_t Executor::Alloc(uint64_t bytes, bool is_code) {
  std::scoped_lock lock(mutex_);
  bytes = bytes == 0 ? 1 : bytes;
  if (bytes > std::numeric_limits<int32_t>::max())
    TERN_THROW(MemoryError) << bytes
                            << " bytes are more than a machine of 32 bits has in one piece";
  auto size = static_cast<uint32_t>(bytes);
  uint32_t address = Request({TERN_REQUEST_ALLOC, size, is_code, 0}, nullptr, 0, nullptr, 0);
  sizes_[address] = size;
  return address;
}

void Executor::Free(uint32_t address) {
  std::scoped_lock lock(mutex_);
  auto it = sizes_.find(address);
  if (it == sizes_.end())
    TERN_THROW(ValueError) << "address " << address << " was not allocated on the executor";
  TernRequest request = {TERN_REQUEST_FREE, address, it->second, 0};
  sizes_.erase(it);
  if (!dead_) Request(request, nullptr, 0, nullptr, 0);
}

void Executor::Write(uint32_t address, const void* data, uint64_t bytes) {
  std::scoped_lock lock(mutex_);
  CheckInside(address, bytes);
  Request({TERN_REQUEST_WRITE, address, static_cast<uint32_t>(bytes), 0}, data, bytes, nullptr, 0);
}

void Executor::Read(uint32_t address, void* data, uint64_t bytes) {
  std::scoped_lock lock(mutex_);
  CheckInside(address, bytes);
  Request({TERN_REQUEST_READ, address, static_cast<uint32_t>(bytes), 0}, nullptr, 0, data, bytes);
}

void Executor::Copy(uint32_t to, uint32_t from, uint64_t bytes) {
  std::scoped_lock lock(mutex_);
  CheckInside(to, bytes);
  CheckInside(from, bytes);
  Request({TERN_REQUEST_COPY, to, from, static_cast<uint32_t>(bytes)}, nullptr, 0, nullptr, 0);
}

uint32_t Executor::Call(uint32_t function, const std::vector<char>& arguments) {
  std::scoped_lock lock(mutex_);
  CheckInside(function, 1);
  if (arguments.size() > TERN_EXECUTOR_MAX_ARGUMENTS)
    TERN_THROW(ValueError) << arguments.size() << " bytes of arguments; an executor takes "
                           << TERN_EXECUTOR_MAX_ARGUMENTS;
  return Request({TERN_REQUEST_CALL, function, static_cast<uint32_t>(arguments.size()), 0},
                 arguments.data(), arguments.size(), nullptr, 0);
}

}  // namespace tern::backend::hexagon
