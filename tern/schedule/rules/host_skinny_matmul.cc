// SPDX-License-Identifier: Apache-2.0
//
// Products of few rows whose factors both lie along the sum, as those of a vector and the rows of
// weights do: every result is a sum along memory. To pack the right factor would take longer.
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/product.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// More rows would not stay in the first cache while columns go by.
constexpr int64_t kFewRows = 4;
// Columns whose sums go by at a time, at most: as many places of memory are read side by side.
constexpr int64_t kMostColumns = 8;
// Cycles to copy an element of the right factor, and to add up the lanes of one sum.
constexpr int64_t kCopiesPerCycle = 4, kLaneCycles = 5;

// A vector of sums for each of some rows and columns; those of a vector of columns are turned over
// in registers, so that the lanes of all of them are added up at once.
class DotProducts {
 public:
  DotProducts(Schedule* schedule, const BlockInfo& block, const Product& product, int64_t lanes,
              int64_t columns)
      : schedule_(*schedule),
        block_(block.name),
        product_(product),
        lanes_(lanes),
        columns_(columns) {
    const BlockAccess& result = block.accesses[0];
    while (block.axes[result.axes[column_dim_]].role != AxisRole::kN) ++column_dim_;
  }

  void Run() {
    schedule_.Split(At(product_.column), {lanes_}, {Name("jo"), Name("ji")});
    schedule_.Split(At(product_.sum), {lanes_}, {Name("lo"), Name("li")});
    std::string parts = schedule_.Rfactor(At(Name("li")), Name("partial"));
    schedule_.SetScope(parts, "local");
    Names order = product_.batch;
    order.insert(order.end(), {Name("jo"), product_.row, Name("li"), Name("ji")});
    schedule_.Reorder(Around(block_, order));
    std::string sums = schedule_.CacheRead(block_, parts, "local", Name("acc")),
                turned = schedule_.CacheRead(block_, sums, "local", Name("transposed"));
    for (const std::string& block : {turned, sums}) schedule_.ComputeAt(block, At(Name("jo")));
    Copy(sums, parts);
    Add(parts);
    Turn(turned);
    std::string init = schedule_.DecomposeReduction(block_, At(Name("li")), Name("init"));
    schedule_.Unroll(At(Name("li")));
    for (const std::string& block : {init, block_}) schedule_.Vectorize(LoopOf(block, Name("ji")));
  }

 private:
  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  std::string At(const std::string& loop) const { return LoopOf(block_, loop); }

  // Elsewhere in memory: lanes, the last dimension, and columns are the last two.
  void PutLast(const std::string& buffer, size_t rank, bool columns_last) {
    std::string from, to, column = "d" + std::to_string(column_dim_),
                          lane = "d" + std::to_string(rank - 1);
    for (size_t d = 0; d < rank; ++d) {
      std::string dim = "d" + std::to_string(d);
      from += (d ? ", " : "") + dim;
      if (d + 1 != rank && d != column_dim_) to += dim + ", ";
    }
    to += columns_last ? lane + ", " + column : column + ", " + lane;
    schedule_.TransformLayout(buffer, IndexMap::Parse("(" + from + ") -> (" + to + ")"));
  }

  // The sums of some columns are made, then copied.
  void Copy(const std::string& sums, const std::string& parts) {
    Names loops = LoopsOfAxes(schedule_, sums), order = {Name("sg")};
    schedule_.Split(LoopOf(sums, loops[column_dim_]), {columns_}, {Name("sg"), Name("sj")});
    for (size_t d = 0; d + 1 < loops.size(); ++d)
      if (d != column_dim_ && !loops[d].empty()) order.push_back(loops[d]);
    order.insert(order.end(), {Name("sj"), loops.back()});
    schedule_.Reorder(Around(sums, order));
    schedule_.ComputeAt(parts, LoopOf(sums, Name("sg")));
    for (size_t i = 1; i + 1 < order.size(); ++i) schedule_.Unroll(LoopOf(sums, order[i]));
    schedule_.Vectorize(LoopOf(sums, loops.back()));
    PutLast(sums, loops.size(), false);
  }

  // They stay in registers while the whole sum goes by.
  void Add(const std::string& parts) {
    Names loops = LoopsOfAxes(schedule_, parts), inner;
    const std::string &lane = loops[loops.size() - 2], &step = loops.back();
    for (size_t a = 0; a + 2 < loops.size(); ++a)
      if (!loops[a].empty()) inner.push_back(loops[a]);
    Names order = {step};
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(lane);
    schedule_.Reorder(Around(parts, order));
    std::string init = schedule_.DecomposeReduction(parts, LoopOf(parts, step));
    for (const std::string& block : {init, parts}) {
      for (const std::string& loop : inner) schedule_.Unroll(LoopOf(block, loop));
      schedule_.Vectorize(LoopOf(block, lane));
    }
    PutLast(parts, loops.size() - 1, false);
  }

  void Turn(const std::string& turned) {
    Names loops = LoopsOfAxes(schedule_, turned), order;
    for (size_t d = 0; d + 1 < loops.size(); ++d)
      if (d != column_dim_ && !loops[d].empty()) order.push_back(loops[d]);
    order.insert(order.end(), {loops.back(), loops[column_dim_]});
    schedule_.Reorder(Around(turned, order));
    PutLast(turned, loops.size(), true);
    schedule_.Tensorize(LoopOf(turned, loops.back()), "f32_transpose_" + std::to_string(lanes_));
  }

  Schedule& schedule_;
  std::string block_;
  const Product& product_;
  int64_t lanes_, columns_;
  size_t column_dim_ = 0;  // of what is summed in parts, whose last dimension are the lanes
};

void SumAlongMemory(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts) {
  Product product = RequireProduct(*schedule, block);
  int64_t lanes = facts.vector_bytes / 4;
  if (product.rows > kFewRows || product.rows == 0)
    Refuse("M is " + std::to_string(product.rows) + "; expected 1 to " + std::to_string(kFewRows));
  if (lanes < 4) Refuse("a vector has fewer than 4 floats");
  if (product.result->dtype != DataType::Float(32)) Refuse("the result is not float32");
  for (const Factor* factor : {&product.left, &product.right}) {
    if (factor->dtype != DataType::Float(32)) Refuse(factor->name + " is not float32");
    if (!factor->sum_is_last()) Refuse(factor->name + " is not K-contiguous");
  }
  if (product.columns == 0 || product.columns % lanes != 0 || product.steps % lanes != 0)
    Refuse("N or K is no multiple of a vector of " + std::to_string(lanes));
  if (product.steps <= kCopiesPerCycle * kLaneCycles * product.rows)
    Refuse("K is so short that packing B costs less");
  // What is packed ahead costs nothing.
  if (IsConstant(*schedule, product.right.name)) Refuse("B is constant, and can be prepacked");
  int64_t columns = std::min(kMostColumns, lanes);
  while (columns > 1 && product.rows * columns + 2 > facts.vector_registers) columns /= 2;
  int64_t work = WorkOf(*schedule, block.name);
  DotProducts(schedule, block, product, lanes, columns).Run();
  ParallelizeOuter(schedule, block.name, work, facts);
}

}  // namespace

void RegisterHostDotProductRules() {
  RegisterRule(
      {.name = "skinny_matmul",
       .description = "M up to 4, A and B K-contiguous: vectors along K; needs reassociate",
       .kinds = {BlockKind::kMatmul},
       .fits = [](const MachineFacts& facts) { return facts.is_host_with_vectors(); },
       .priority = 35,
       .apply = SumAlongMemory});
}

}  // namespace tern::schedule
