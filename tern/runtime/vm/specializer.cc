// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/specializer.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tern/ffi/log.h"
#include "tern/runtime/vm/model.h"

namespace tern::runtime::vm {

std::optional<Specializer::When> Specializer::Parse(std::string_view text) {
  if (text.empty() || text == "off") return std::nullopt;
  TERN_CHECK(text == "lazy" || text == "eager")
      << "specialize: expected off, lazy or eager, got \"" << text << "\"";
  return text == "lazy" ? When::kLazy : When::kEager;
}

Specializer::Specializer(When when, std::vector<std::string> dim_names, Compile compile)
    : when_(when), dim_names_(std::move(dim_names)), compile_(std::move(compile)) {}

Specializer::~Specializer() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
}

Specialization* Specializer::FindShape(const std::vector<int64_t>& dims) {
  auto found = std::find_if(shapes_.begin(), shapes_.end(),
                            [&](const Specialization& one) { return one.dims == dims; });
  return found == shapes_.end() ? nullptr : &*found;
}

bool Specializer::CameBefore(const std::vector<int64_t>& dims) {
  constexpr size_t kMostKept = 64;
  if (std::find(came_once_.begin(), came_once_.end(), dims) != came_once_.end()) return true;
  came_once_.push_front(dims);
  if (came_once_.size() > kMostKept) came_once_.pop_back();
  return false;
}

std::shared_ptr<const Model> Specializer::Find(const std::vector<int64_t>& dims) {
  if (dims.empty()) return nullptr;
  std::unique_lock lock(mutex_);
  Specialization* shape = FindShape(dims);
  if (!shape) {
    if (shapes_.size() == kMaxShapes) {
      if (num_refused_++ == 0)
        Log("specialize", "no more than " + std::to_string(kMaxShapes) +
                              " shapes are compiled: others take the general model");
      return nullptr;
    }
    if (when_ == When::kLazy && !CameBefore(dims)) return nullptr;
    shapes_.push_back({.dims = dims});
    shape = &shapes_.back();
    if (when_ == When::kEager) {
      CompileNow(shape, &lock);
    } else if (!worker_.joinable()) {
      worker_ = std::thread([this] { Work(); });
    }
    changed_.notify_all();
  }
  // Where another thread compiles it before its own run.
  if (when_ == When::kEager)
    changed_.wait(lock, [&] { return shape->state != Specialization::State::kWaiting; });
  return shape->model;
}

void Specializer::CompileNow(Specialization* shape, std::unique_lock<std::mutex>* lock) {
  std::vector<int64_t> dims = shape->dims;
  lock->unlock();
  auto start = std::chrono::steady_clock::now();
  std::shared_ptr<const Model> model;
  std::string error;
  try {
    model = compile_(dims);
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  lock->lock();
  shape->state = model ? Specialization::State::kReady : Specialization::State::kFailed;
  shape->model = std::move(model);
  shape->error = std::move(error);
  shape->seconds = seconds.count();
  Log("specialize", Describe(*shape));
  changed_.notify_all();
}

void Specializer::Work() {
  constexpr int kNice = 10;             // runs come first
  setpriority(PRIO_PROCESS, 0, kNice);  // of this thread, and of those that it starts
  std::unique_lock lock(mutex_);
  auto next = [&] {
    return std::find_if(shapes_.begin(), shapes_.end(), [](const Specialization& one) {
      return one.state == Specialization::State::kWaiting;
    });
  };
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || next() != shapes_.end(); });
    if (ends_) return;
    CompileNow(&*next(), &lock);
  }
}

void Specializer::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::none_of(shapes_.begin(), shapes_.end(), [](const Specialization& one) {
      return one.state == Specialization::State::kWaiting;
    });
  });
}

std::vector<Specialization> Specializer::All() const {
  std::lock_guard lock(mutex_);
  return {shapes_.begin(), shapes_.end()};
}

uint64_t Specializer::num_refused() const {
  std::lock_guard lock(mutex_);
  return num_refused_;
}

std::string Specializer::Describe(const Specialization& one) const {
  std::string text;
  for (size_t i = 0; i < one.dims.size(); ++i)
    text += (i == 0 ? "" : ", ") + (i < dim_names_.size() ? dim_names_[i] : "?") + " = " +
            std::to_string(one.dims[i]);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.2f s", one.seconds);
  switch (one.state) {
    case Specialization::State::kWaiting:
      return text + ": not compiled yet";
    case Specialization::State::kReady:
      return text + ": compiled in " + seconds;
    case Specialization::State::kFailed:
      break;
  }
  return text + ": the general model goes on, as compiling failed: " + one.error;
}

}  // namespace tern::runtime::vm
