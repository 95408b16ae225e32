// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tern/ir/deep_stack.h"
#include "tern/runtime/host/thread_pool.h"
#include "tern/target/target.h"

namespace tern::codegen {
namespace {

thread_local bool in_loop = false;

std::mutex progress_mutex;
std::function<void(size_t, size_t)> progress;

void Report(size_t done, size_t count) {
  std::lock_guard lock(progress_mutex);
  if (progress) progress(done, count);
}

}  // namespace

ProgressObserver::ProgressObserver(std::function<void(size_t done, size_t count)> observe) {
  std::lock_guard lock(progress_mutex);
  previous_ = std::exchange(progress, std::move(observe));
}

ProgressObserver::~ProgressObserver() {
  std::lock_guard lock(progress_mutex);
  progress = std::move(previous_);
}

void ParallelFor(size_t count, const std::function<void(size_t)>& body) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<size_t> next = 0, done = 0;
  bool is_outermost = !in_loop;
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      try {
        body(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
      if (is_outermost) Report(++done, count);
    }
  };
  size_t threads = in_loop ? 1 : std::min(count, static_cast<size_t>(runtime::NumThreads()));
  std::vector<std::thread> others;
  target::Target current = target::CurrentTarget();
  for (size_t i = 1; i < threads; ++i)
    others.emplace_back([&] {
      std::optional<target::TargetScope> scope;
      if (current) scope.emplace(current);
      in_loop = true;
      ir::OnDeepStack(work);
    });
  bool was_in_loop = std::exchange(in_loop, true);
  ir::OnDeepStack(work);
  in_loop = was_in_loop;
  for (std::thread& thread : others) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace tern::codegen
