// SPDX-License-Identifier: Apache-2.0
//
// Transformations of loops that keep what a function computes. Each one is checked: where it would
// change the result, or where that cannot be told, it throws a ScheduleError that says why, and the
// function stays as it was.
//
// Loops are called by the names of their variables; where several have one name, by the name of a
// block below and theirs, "matmul.i". What was done is a trace: one line of text per step, which
// can be written in a .tir file too and replayed on another function. docs/schedules.md has all of
// them.
#ifndef TERN_SCHEDULE_SCHEDULE_H_
#define TERN_SCHEDULE_SCHEDULE_H_

#include <set>
#include <string>
#include <vector>

#include "tern/tir/function.h"

namespace tern::schedule {

class Schedule {
 public:
  explicit Schedule(tir::PrimFunc function);

  const tir::PrimFunc& function() const { return function_; }
  // "io, ii = split(i, 8)"
  const std::vector<std::string>& trace() const { return trace_; }

  // A loop becomes a nest of one more than there are factors, the innermost of the last factor; the
  // outermost is as long as it takes. Where the extent is no multiple, the iterations beyond it do
  // nothing. Returns the names, outermost first: those given, or i_0, i_1, ...
  std::vector<std::string> Split(const std::string& loop, const std::vector<int64_t>& factors,
                                 std::vector<std::string> names = {});
  // Loops, each the whole body of the one before, become one.
  std::string Fuse(const std::vector<std::string>& loops, std::string name = "");
  // Loops of one nest change places, so that they stand in the order given. Others stay where they
  // are.
  void Reorder(const std::vector<std::string>& loops);
  // How a loop runs. All but Unroll need iterations that are independent.
  void Parallel(const std::string& loop);
  void Vectorize(const std::string& loop);
  void Unroll(const std::string& loop);
  void Bind(const std::string& loop, const std::string& axis);

  // One step, as text.
  void Apply(const std::string& step);

 private:
  const tir::ForNode* FindLoop(const std::string& name) const;
  // Throws unless the iterations may run in any order, and at the same time.
  void CheckIndependent(const tir::ForNode* loop, const std::string& step) const;
  // What the iterations of a loop are to the blocks below it.
  enum class Role { kIndependent, kReduction, kOrdered };
  Role RoleOf(const tir::ForNode* loop) const;
  void CheckNewName(const std::string& name) const;
  void SetKind(const std::string& loop, tir::ForKind kind, const std::string& step,
               const std::string& axis = "");
  void Finish(tir::Stmt body, std::string step);

  tir::PrimFunc function_;
  std::vector<std::string> trace_;
  std::set<std::string> irregular_;  // blocks whose axes are not bound to one loop each
};

// The function with the schedule that it carries (attr::kSchedule) applied, and gone.
tir::PrimFunc ApplySchedule(const tir::PrimFunc& function);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_SCHEDULE_H_
