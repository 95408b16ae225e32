// SPDX-License-Identifier: Apache-2.0
//
// What roll and roll_parts make of loops that stand one behind the other; roll.cc says what that
// is, and what has to hold.
#ifndef TERN_SCHEDULE_ROLLER_H_
#define TERN_SCHEDULE_ROLLER_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tern/schedule/nest.h"
#include "tern/schedule/new_block.h"
#include "tern/schedule/reduction_nest.h"

namespace tern::schedule {

// One of the loops, with the block in it.
struct RolledLoop {
  const tir::ForNode* loop = nullptr;  // along the steps
  const tir::ForNode* part = nullptr;  // that around it, where there are parts
  Nest nest;
  const tir::BlockNode* block = nullptr;
  const tir::BlockIter* step = nullptr;         // the axis along the loop
  std::optional<tir::ReductionUpdate> update;   // of one that reduces along the loop
  const tir::BufferStoreNode* store = nullptr;  // of the others, where that is all they do
  tir::Buffer result;
  tir::Stmt scaled, divided;  // a result that is corrected: in every step, and behind the loop
  tir::Expr m;                // that it is corrected for, where it is
  tir::Buffer parts, all;     // of parts: the results of each, and of all
  tir::Buffer undivided;      // of all, where they are divided

  bool reduces() const { return update.has_value(); }
  const std::string& name() const { return block->name; }
};

// Buffers of a result: of the part at hand, of each, of all.
struct PartResult {
  tir::Buffer own, parts, all, undivided;  // the last, where they are divided behind
};

// What is made of the loops. Throws ScheduleError where they are no such reductions.
class Roller {
 public:
  explicit Roller(std::vector<RolledLoop> members);

  const std::vector<RolledLoop>& members() const { return members_; }
  // The results, which have their values behind the loop.
  std::vector<tir::Buffer> Results() const;
  // The buffers of elements, and whether they are computed of results so far.
  struct Elements {
    tir::Buffer buffer;
    bool of_results;
  };
  std::vector<Elements> AllElements() const;

  // ---- The statements: before the loop, in it, behind it

  std::vector<tir::Stmt> Inits() const;
  tir::Stmt Body(const tir::Var& var) const;
  // How many steps of the loop may have an element that counts, where later ones have none: their
  // values are select(c, x, -inf), and c does not hold for any row. Null: that is not known.
  tir::Expr StepsThatCount(const tir::ForNode* loop) const;
  std::vector<tir::Stmt> Quotients() const;

  // ---- Of parts

  // What each part ends with: its results.
  std::vector<tir::Stmt> PartStores() const;
  // The results of all parts, in loops of their own.
  std::vector<tir::Stmt> Combined() const;
  std::vector<PartResult> PartResults() const;
  const tir::Buffer& weight() const { return weight_; }

  // The new blocks, with those that they are over the results of.
  std::vector<std::pair<std::string, std::string>> NewBlocks() const;
  std::vector<tir::Buffer> NewBuffers() const;

 private:
  static void Describe(RolledLoop* member);

  // The member that computes a buffer, or null.
  const RolledLoop* WriterOf(const tir::Buffer& buffer) const;
  // Whether it reads the result of a reduction, or what is computed of one.
  bool DependsOnResults(const RolledLoop& member) const;

  // What the axes of a store at its axes are where an element is loaded.
  static std::optional<ir::VarMap> AxesOf(const tir::BufferStoreNode& store,
                                          const std::vector<tir::Expr>& at);
  // Of a condition a <= b or a < b on indices, the least a - b, or a - b + 1, of all iterations of
  // the leader's inner loops: where it is above 0, the condition does not hold. Null for others.
  tir::Expr LeastOf(const tir::Expr& condition) const;

  // ---- Values

  bool HasResult(const tir::Expr& expr) const;
  // A value with the elements of other members in terms of what these are computed of.
  tir::Expr Expanded(const tir::Expr& value) const;
  static tir::Expr RewriteLoads(
      const tir::Expr& value,
      const std::function<tir::Expr(const tir::Buffer&, const std::vector<tir::Expr>&)>& rewrite);

  // What a value is a product of, as far as it depends on results.
  struct Factors {
    tir::Expr power, difference;   // exp((x - m) * c), and the x - m in it
    tir::Expr m, divisor;          // loads
    std::vector<tir::Expr> where;  // conditions without which the value is 0
  };
  Factors FactorsOf(const RolledLoop& member, const tir::Expr& value) const;
  bool Follow(const tir::Expr& value, Factors* factors) const;
  // (x - m) * c
  bool FollowExponent(const tir::Expr& value, Factors* factors) const;

  // ---- Corrections

  void Correct(RolledLoop* member);

  static tir::Expr InitOf(const RolledLoop& member);

  // x of exp((x - m) * c) is what m is the largest of, at the same step.
  void CheckIsLargest(const RolledLoop& member, const Factors& factors) const;

  // The factor exp((m_before - m) * c) is the same for all.
  void CheckPower(const RolledLoop& member, const Factors& factors);

  void MakeBuffers();

  // exp((m_before - m) * c)
  tir::Expr Change() const;
  // exp((from - to) * c), or 0 where `from` is -inf.
  tir::Expr Factor(const tir::Expr& from, const tir::Expr& to) const;

  tir::Expr Start() const { return InitOf(*leader_); }
  static tir::Expr Zero(const tir::Expr& like) { return ir::MakeConst(like.dtype(), 0); }
  tir::Expr Row(const tir::Buffer& buffer) const;
  tir::Stmt StoreRow(const tir::Buffer& buffer, const tir::Expr& value) const;

  // A block over the results of a member, and another axis.
  tir::Stmt OfRows(const RolledLoop& member, const char* suffix, const tir::Stmt& body,
                   const tir::BlockIter* axis = nullptr) const;

  // ---- Parts

  // The loop of parts of the last member is that of all.
  ir::VarMap PartVars() const;
  // A step of a reduction, whose results are those of one part: this is an axis, and the other
  // loops along the steps are.
  static tir::Stmt InPart(const RolledLoop& member, const tir::Stmt& block);
  static std::vector<tir::Expr> WithPart(const tir::Expr& part, std::vector<tir::Expr> at);
  void MakePartBuffers();
  static void AddRows(const RolledLoop& member, NewBlock* block);
  static std::vector<tir::Expr> At(const std::vector<tir::Expr>& indices, const NewBlock& block);
  tir::Stmt AllOf(const RolledLoop& member) const;
  // exp((m_parts - m_all) * c)
  tir::Stmt Weights() const;

  // What a block does with results so far: m_now in the place of m, and no quotients.
  tir::Stmt WithCurrent(const RolledLoop& member) const;

  std::vector<RolledLoop> members_;
  const RolledLoop* leader_ = nullptr;  // the reduction that others depend on
  tir::Expr power_, difference_;
  tir::Buffer before_, now_, change_;
  tir::Buffer weight_;  // of each part, in the results of all
};

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_ROLLER_H_
