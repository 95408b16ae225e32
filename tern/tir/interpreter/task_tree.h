// SPDX-License-Identifier: Apache-2.0
//
// What may run at the same time.
#ifndef TERN_TIR_INTERPRETER_TASK_TREE_H_
#define TERN_TIR_INTERPRETER_TASK_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tern::tir {

// Numbers grow; they are not used again.
using TaskId = uint32_t;

// When a task did something: a barrier of its block starts a new epoch.
struct Moment {
  TaskId task = 0;
  uint32_t epoch = 0;
};

// The iterations of a parallel loop, or the threads of a launch.
struct Team {
  const char* member;  // "iteration", "thread"
  struct Axis {
    std::string name;
    int64_t min, extent;
  };
  std::vector<Axis> axes;  // the one whose index changes fastest comes first
  int64_t block_size = 1;  // tasks in a row that barriers order
};

// The interpreter runs tasks in turn; the tree knows which of them a machine could run at once. Its
// root is what runs outside of any parallel loop or launch; a task that contains such a loop is the
// parent of its iterations.
class TaskTree {
 public:
  static constexpr TaskId kRoot = 0;

  // Until EndTeam, AddTask adds tasks of this team to `parent`. Teams nest.
  void BeginTeam(Team team, TaskId parent);
  void EndTeam();
  // The task number `index` of the team, 0 for the first.
  TaskId AddTask(int64_t index);

  // Whether no order is given between the two.
  bool Concurrent(Moment a, Moment b) const;
  // Whether the two are threads that a barrier could order.
  bool InOneBlock(TaskId a, TaskId b) const;
  // "thread blockIdx.x=1, threadIdx.x=5"; the indices of nested teams from the outermost on.
  std::string Describe(TaskId task) const;
  // The block of a thread: "blockIdx.x=1", or nothing where there is one block.
  std::string DescribeBlock(TaskId task) const;

 private:
  struct Task {
    TaskId parent;
    uint32_t depth;  // of a child of the root: 1
    uint32_t team;
    int64_t index;
  };
  const Task& Get(TaskId id) const { return tasks_[id - first_]; }
  // "blockIdx.x=1, threadIdx.x=5", or the axes of blocks alone.
  std::string DescribeAxes(const Task& task, bool blocks_only) const;

  std::vector<Task> tasks_;  // of the outermost team and all within it
  TaskId first_ = 1;         // the number of tasks_[0]
  std::vector<Team> teams_;  // likewise
  struct Open {
    uint32_t team;
    TaskId parent;
  };
  std::vector<Open> open_;
};

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_TASK_TREE_H_
