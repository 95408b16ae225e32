// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/task_tree.h"

#include "tern/ffi/error.h"

namespace tern::tir {

void TaskTree::BeginTeam(Team team, TaskId parent) {
  open_.push_back({static_cast<uint32_t>(teams_.size()), parent});
  teams_.push_back(std::move(team));
}

void TaskTree::EndTeam() {
  open_.pop_back();
  if (!open_.empty()) return;
  // What comes next waits for all of this.
  first_ += tasks_.size();
  tasks_.clear();
  teams_.clear();
}

TaskId TaskTree::AddTask(int64_t index) {
  auto [team, parent] = open_.back();
  uint32_t depth = parent == kRoot ? 1 : Get(parent).depth + 1;
  tasks_.push_back({parent, depth, team, index});
  TERN_CHECK(first_ + tasks_.size() < UINT32_MAX)
      << "the interpreter runs no more than 2^32 iterations of parallel loops";
  return first_ + static_cast<TaskId>(tasks_.size()) - 1;
}

bool TaskTree::Concurrent(Moment a, Moment b) const {
  // Tasks before first_ have ended, the root among them.
  if (a.task == b.task || a.task < first_ || b.task < first_) return false;
  const Task *x = &Get(a.task), *y = &Get(b.task);
  while (x->depth > y->depth) x = &Get(x->parent);
  while (y->depth > x->depth) y = &Get(y->parent);
  if (x == y) return false;  // one contains the other
  while (x->parent != y->parent) {
    x = &Get(x->parent);
    y = &Get(y->parent);
  }
  // One task runs its parallel loops one after another.
  if (x->team != y->team) return false;
  int64_t block_size = teams_[x->team].block_size;
  return x->index / block_size != y->index / block_size || a.epoch == b.epoch;
}

bool TaskTree::InOneBlock(TaskId a, TaskId b) const {
  const Task &x = Get(a), &y = Get(b);
  int64_t block_size = teams_[x.team].block_size;
  return x.team == y.team && x.index / block_size == y.index / block_size;
}

std::string TaskTree::DescribeAxes(const Task& task, bool blocks_only) const {
  const Team& team = teams_[task.team];
  std::string text;
  int64_t rest = task.index, stride = 1;
  for (const Team::Axis& axis : team.axes) {
    // An axis of extent 1 tells no blocks apart.
    if (!blocks_only || (stride >= team.block_size && axis.extent > 1))
      text = axis.name + "=" + std::to_string(axis.min + rest % axis.extent) +
             (text.empty() ? "" : ", ") + text;
    rest /= axis.extent;
    stride *= axis.extent;
  }
  return text;
}

std::string TaskTree::Describe(TaskId id) const {
  std::string axes = DescribeAxes(Get(id), false);
  for (TaskId outer = Get(id).parent; outer != kRoot; outer = Get(outer).parent)
    axes = DescribeAxes(Get(outer), false) + ", " + axes;
  return std::string(teams_[Get(id).team].member) + " " + axes;
}

std::string TaskTree::DescribeBlock(TaskId id) const { return DescribeAxes(Get(id), true); }

}  // namespace tern::tir
