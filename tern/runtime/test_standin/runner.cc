// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/test_standin/runner.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tern::standin {

constexpr size_t kDynamicAlignment = 1024;

Failure Runner::Run(const Grid& grid) {
  grid_ = &grid;
  error_ = {};
  const char* order = std::getenv("TERN_STANDIN_ORDER");
  is_reversed_ = order && std::strcmp(order, "reverse") == 0;
  num_threads_ = grid.block.x * grid.block.y * grid.block.z;
  dynamic_memory_.assign(grid.dynamic_shared_bytes + kDynamicAlignment, '\xff');
  auto start = reinterpret_cast<uintptr_t>(dynamic_memory_.data());
  dynamic_ = dynamic_memory_.data() + (kDynamicAlignment - start % kDynamicAlignment);
  shadow_.Resize(shared_bytes());
  tern_standin::State& state = *grid.image->info()->state;
  state.block_dim = grid.block;
  state.grid_dim = grid.grid;
  *grid.image->info()->host = KernelHost();
  const uint64_t blocks = uint64_t{grid.grid.x} * grid.grid.y * grid.grid.z;
  for (uint64_t i = 0; i < blocks && !error_; ++i) {
    uint64_t number = is_reversed_ ? blocks - 1 - i : i;
    state.block = {static_cast<unsigned>(number % grid.grid.x),
                   static_cast<unsigned>(number / grid.grid.x % grid.grid.y),
                   static_cast<unsigned>(number / grid.grid.x / grid.grid.y)};
    RunBlock();
  }
  return error_;
}

void Runner::Prepare() {
  threads_.assign(num_threads_, {});
  unfenced_.reset();
  ready_.clear();
  objects_.clear();
  boxes_.clear();
  next_new_ = num_done_ = num_at_barrier_ = 0;
  ++block_phase_;
  // What no thread wrote is no number.
  std::fill(grid_->kernel->shared_begin, grid_->kernel->shared_end, '\xff');
  std::fill_n(dynamic_, grid_->dynamic_shared_bytes, '\xff');
}

void Runner::RunBlock() {
  Prepare();
  while (!error_ && num_done_ < num_threads_) {
    if (!ready_.empty()) {
      unsigned number = ready_.front();
      ready_.pop_front();
      Resume(number);
    } else if (TakeNew()) {
      thread().fiber = FreeFiber();
      Resume(current_);
    } else if (!FinishCopy()) {
      OpenBarrier();
    }
  }
  if (!error_) return;
  free_fibers_.clear();
  for (const auto& fiber : fibers_) {
    fiber->Reset();
    free_fibers_.push_back(fiber.get());
  }
}

bool Runner::TakeNew() {
  if (next_new_ == num_threads_) return false;
  SetCurrent(is_reversed_ ? num_threads_ - 1 - next_new_ : next_new_);
  ++next_new_;
  return true;
}

Fiber* Runner::FreeFiber() {
  if (free_fibers_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>());
    free_fibers_.push_back(fibers_.back().get());
  }
  Fiber* fiber = free_fibers_.back();
  free_fibers_.pop_back();
  return fiber;
}

Index Runner::IndexOf(unsigned number) const {
  const Index& block = grid_->block;
  return {number % block.x, number / block.x % block.y, number / block.x / block.y};
}

void Runner::SetCurrent(unsigned number) {
  current_ = number;
  grid_->image->info()->state->thread = IndexOf(number);
  grid_->image->info()->state->lane = number % kLanes;
}

void Runner::Resume(unsigned number) {
  SetCurrent(number);
  fiber_ = thread().fiber;
  fiber_->Enter(FiberBody);
}

// One thread after another, as long as they wait for none: these share a fiber.
void Runner::FiberBody() {
  Runner& runner = Get();
  for (;;) {
    Fiber* fiber = runner.fiber_;
    runner.grid_->kernel->run(runner.grid_->args);
    runner.thread().state = Thread::kDone;
    ++runner.num_done_;
    if (runner.TakeNew()) {
      runner.thread().fiber = fiber;
      continue;
    }
    runner.free_fibers_.push_back(fiber);
    fiber->Leave();
  }
}

void Runner::Fail(Fault fault, const std::string& what) {
  error_ = {fault, std::string("kernel ") + grid_->kernel->name + ", block " +
                       Text(grid_->image->info()->state->block) + ", " + Place(current_) + ": " +
                       what};
  fiber_->Leave();
  std::abort();
}

// ---- Threads that wait.

void Runner::Block(Thread::State state) {
  unsigned number = current_;
  thread().state = state;
  thread().fiber->Leave();
  SetCurrent(number);
}

void Runner::Barrier() {
  ++num_at_barrier_;
  Block(Thread::kAtBarrier);
}

void Runner::OpenBarrier() {
  if (num_at_barrier_ < num_threads_) {
    for (unsigned i = 0; i < num_threads_; ++i)
      if (threads_[i].state != Thread::kDone) SetCurrent(i);
    error_ = {Fault::kStuck, std::string("kernel ") + grid_->kernel->name + ", block " +
                                 Text(grid_->image->info()->state->block) + ": " + WhyStuck()};
    return;
  }
  num_at_barrier_ = 0;
  ++block_phase_;
  unfenced_.reset();
  for (unsigned i = num_threads_; i-- > 0;)
    if (threads_[i].is_unfenced) unfenced_ = i;
  for (unsigned i = 0; i < num_threads_; ++i) {
    unsigned number = is_reversed_ ? num_threads_ - 1 - i : i;
    threads_[number].state = Thread::kReady;
    ready_.push_back(number);
  }
}

std::string Runner::WhyStuck() const {
  auto first = [&](Thread::State state) -> int {
    for (unsigned i = 0; i < num_threads_; ++i)
      if (threads_[i].state == state) return static_cast<int>(i);
    return -1;
  };
  if (int at_object = first(Thread::kAtObject); at_object >= 0)
    return WhyObjectWaits(static_cast<unsigned>(at_object));
  int waiting = first(Thread::kAtBarrier), in_warp = first(Thread::kInWarp),
      done = first(Thread::kDone);
  if (in_warp >= 0) {
    std::string text = Place(static_cast<unsigned>(in_warp)) + " waits in " +
                       threads_[static_cast<size_t>(in_warp)].instruction +
                       " for lanes that do not come";
    return waiting < 0 ? text
                       : text + ": " + Place(static_cast<unsigned>(waiting)) + " is at " +
                             grid_->image->info()->barrier;
  }
  return Place(static_cast<unsigned>(waiting)) + " waits at " + grid_->image->info()->barrier +
         ", and " + Place(static_cast<unsigned>(done)) + " ended without coming there";
}

void Runner::CheckLanes(unsigned first, const char* instruction, unsigned mask) {
  if (!(mask & 1u << current_ % kLanes))
    Fail(Fault::kInstruction,
         std::string(instruction) + ": the mask does not name the lane itself");
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(mask & 1u << lane)) continue;
    unsigned number = first + lane;
    // A warp that is not full has lanes that nobody waits for.
    if (number >= num_threads_) continue;
    const Thread& other = threads_[number];
    if (other.state == Thread::kDone)
      Fail(Fault::kWrong,
           std::string(instruction) + ": the mask names " + Place(number) + ", which has ended");
    if (other.state == Thread::kInWarp && number != current_ &&
        (std::strcmp(other.instruction, instruction) != 0 || other.mask != mask))
      Fail(Fault::kWrong, std::string(instruction) + ": " + Place(number) +
                              ", which the mask names, is in " + other.instruction +
                              (other.mask == mask ? "" : " with another mask"));
  }
}

void Runner::Collective(const char* instruction, unsigned mask, const void* in, size_t size,
                        void* all) {
  unsigned first = current_ / kLanes * kLanes;
  CheckLanes(first, instruction, mask);
  Thread& self = thread();
  self.instruction = instruction;
  self.mask = mask;
  self.in = in;
  self.size = size;
  self.all = all;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    unsigned number = first + lane;
    if ((mask & 1u << lane) && number < num_threads_ && number != current_ &&
        threads_[number].state != Thread::kInWarp)
      return Block(Thread::kInWarp);
  }
  Complete(first, mask);
}

// The last lane came: gives to all, and wakes the others.
void Runner::Complete(unsigned first, unsigned mask) {
  for (unsigned to = 0; to < kLanes; ++to) {
    unsigned number = first + to;
    if (!(mask & 1u << to) || number >= num_threads_) continue;
    Thread& target = threads_[number];
    for (unsigned from = 0; from < kLanes; ++from) {
      char* place = static_cast<char*>(target.all) + from * target.size;
      if ((mask & 1u << from) && first + from < num_threads_)
        std::memcpy(place, threads_[first + from].in, target.size);
      else
        std::memset(place, 0xff, target.size);
    }
    if (number == current_) continue;
    target.state = Thread::kReady;
    ready_.push_back(number);
  }
}

}  // namespace tern::standin
