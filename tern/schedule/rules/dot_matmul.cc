// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/dot_matmul.h"

#include <algorithm>
#include <limits>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/product.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// Packing pays where the packed factor is used for so many rows.
constexpr int64_t kLeastUses = 4;
// Zeros that are multiplied too cost no more than so many times the product.
constexpr int64_t kMostPadding = 4;
constexpr int64_t kSumBytes = 4;
// Words of each column, and bytes of each row, that are packed at a time: rows are read by lines of
// the cache, and not more of them than it has room for.
constexpr int64_t kPackedWords = 16, kLineBytes = 64;

// How one product is computed.
struct Plan {
  const DotTypes* types = nullptr;
  DotTile tile;                   // in instructions
  int64_t rows = 0, columns = 0;  // of the tile
  int64_t steps = 0, word = 0;    // of an instruction, and side by side; elements
  ProductBlocks blocks;
};

std::string Text(int64_t number) { return std::to_string(number); }

// The largest divisor of a number that is not above `most`.
int64_t LargestDivisor(int64_t number, int64_t most) {
  while (number % most != 0) --most;
  return most;
}

// The one that takes least: sums are added to one after the other, and factors are loaded for each
// tile.
DotTile ChooseTile(const DotInstructions& machine, const Product& product, int64_t registers) {
  int64_t rows = RoundUp(product.rows, machine.rows) / machine.rows,
          columns = RoundUp(product.columns, machine.columns) / machine.columns;
  if (machine.tiles.empty()) {
    RegisterTile tile =
        ChooseRegisterTile(rows, columns, registers, 1, machine.columns * machine.step_bytes,
                           machine.left_in_registers);
    return {tile.rows, tile.vectors};
  }
  DotTile best;
  double least = std::numeric_limits<double>::infinity();
  for (const DotTile& tile : machine.tiles) {
    int64_t tiles =
        RoundUp(rows, tile.rows) / tile.rows * RoundUp(columns, tile.columns) / tile.columns;
    double cost = static_cast<double>(tiles) *
                  (static_cast<double>(tile.rows * tile.columns) +
                   static_cast<double>(tile.rows + tile.columns) / kLoadsPerCycle);
    if (cost >= least) continue;
    least = cost;
    best = tile;
  }
  return best;
}

// A block of about so much of a number that all blocks can have, where the number is extended a
// little; a multiple of a tile's.
int64_t EvenBlock(int64_t number, int64_t block, int64_t tile) {
  int64_t blocks = RoundUp(number, block) / block;
  return RoundUp(RoundUp(number, blocks) / blocks, tile);
}

// `constant`: the right factor is, so that packing it costs nothing. Refuses what the instructions
// do not compute, or no faster.
Plan ChoosePlan(const DotInstructions& machine, const Product& product, const MachineFacts& facts,
                bool constant) {
  auto types = std::find_if(machine.types.begin(), machine.types.end(), [&](const DotTypes& types) {
    return types.left == product.left.dtype && types.right == product.right.dtype &&
           types.sum == product.result->dtype && types.fits(facts);
  });
  bool empty = product.rows == 0 || product.columns == 0 || product.steps == 0;
  if (types == machine.types.end())
    Refuse("the machine has no such instructions for " + product.left.dtype.str() + " times " +
           product.right.dtype.str() + " summed in " + product.result->dtype.str());
  if (empty) Refuse("M, N or K is 0");
  if (facts.vector_registers < kLeastRegisters)
    Refuse("there are fewer than " + std::to_string(kLeastRegisters) + " vector registers");
  int64_t bytes = types->wide.value_or(types->right).bytes();
  Plan plan{.types = &*types,
            .tile = ChooseTile(machine, product, facts.vector_registers),
            .steps = machine.step_bytes / bytes,
            .word = machine.word_bytes / bytes};
  plan.rows = plan.tile.rows * machine.rows;
  plan.columns = plan.tile.columns * machine.columns;
  int64_t rows = RoundUp(product.rows, plan.rows), columns = RoundUp(product.columns, plan.columns),
          steps = RoundUp(product.steps, plan.steps);
  double padded = static_cast<double>(rows) * static_cast<double>(columns * steps),
         useful = static_cast<double>(product.rows) *
                  static_cast<double>(product.columns * product.steps);
  if (product.rows < kLeastUses && !constant)
    Refuse("B would be packed for M = " + std::to_string(product.rows) + " rows; that pays from " +
           std::to_string(kLeastUses) + " on");
  if (padded > kMostPadding * useful)
    Refuse("M, N and K padded to whole tiles are too much more work");
  ProductBlocks blocks = ChooseBlocks(rows, columns, plan.rows, plan.columns, steps * bytes, facts);
  // A dynamic M is padded to whole tiles and no further.
  plan.blocks = {product.dynamic_rows ? plan.rows : EvenBlock(rows, blocks.rows, plan.rows),
                 EvenBlock(columns, blocks.columns, plan.columns)};
  return plan;
}

class DotMatmul {
 public:
  DotMatmul(Schedule* schedule, const std::string& block, const Product& product, const Plan& plan,
            const DotInstructions& machine, const MachineFacts& facts)
      : schedule_(*schedule),
        block_(block),
        product_(product),
        plan_(plan),
        machine_(machine),
        facts_(facts) {}

  // `pads`: blocks that extend factors with zeros.
  void Run(const Names& pads) {
    int64_t work = WorkOf(schedule_, block_);
    std::string right = Copy(product_.right, "packed"), left;
    if (!product_.left.sum_is_last() || plan_.types->wide) left = Copy(product_.left, "rows");
    std::string reader = SoleReader(schedule_, block_, product_.result), sums = MakeLocal(reader);
    SplitLoops();
    for (const std::string& copy : {right, left})
      if (!copy.empty() && !IsApart(copy)) schedule_.ComputeAt(copy, At(Name("jb")));
    for (const std::string& pad : pads) CopyPadded(pad);
    Names made = schedule_.ReverseComputeAt(sums.empty() ? reader : sums, At(Name("jo"))), read;
    if (!sums.empty() && !reader.empty()) read = schedule_.ReverseComputeAt(reader, At(Name("jo")));
    std::string init = schedule_.DecomposeReduction(block_, At(Name("lo")), Name("init"));
    PutSumsInRows(read.empty() ? "" : product_.result->name);
    // What instructions do with addresses is not looked into later.
    ParallelizeOuter(&schedule_, block_, work, facts_);
    PackRight(right);
    if (!left.empty()) PackLeft(left);
    Multiply(init);
    if (!sums.empty()) StoreSums(sums, made);
    if (!reader.empty()) StoreVectors(reader, sums.empty() ? made : read);
  }

 private:
  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  std::string At(const std::string& loop) const { return LoopOf(block_, loop); }
  bool whole_tiles() const { return !machine_.tiles.empty(); }
  std::string Intrinsic(const std::string& what) const {
    std::string name = machine_.prefix + what + "_" + plan_.types->name;
    return whole_tiles() ? name + "_" + Text(plan_.tile.rows) + "x" + Text(plan_.tile.columns)
                         : name;
  }

  // What is made of constants alone is made before any call, all of it, where it is in no loop. Of
  // several threads each would make again what others have made, which costs as much as products.
  bool IsApart(const std::string& copy) const {
    return facts_.threads != 1 || IsConstant(schedule_, copy);
  }
  void ParallelizeCopy(const std::string& copy) {
    if (IsApart(copy)) ParallelizeOuter(&schedule_, copy, WorkOf(schedule_, copy), facts_);
  }

  std::string Copy(const Factor& factor, const std::string& name) {
    std::string copy = schedule_.CacheRead(block_, factor.name, "global", Name(name));
    if (plan_.types->wide) schedule_.SetDtype(copy, *plan_.types->wide);
    return copy;
  }

  // The sums of a tile are in a buffer of their own. The block that takes them from there; "" where
  // that is the reader. What instructions alone can read goes through memory.
  std::string MakeLocal(const std::string& reader) {
    if (!reader.empty()) schedule_.SetScope(product_.result->name, "local");
    sums_ = product_.result->name;
    if (!reader.empty() && !whole_tiles()) return "";
    return sums_ = schedule_.CacheWrite(block_, product_.result->name, "local", Name("acc"));
  }

  void SplitLoops() {
    auto split = [&](const std::string& loop, int64_t parts, int64_t tile, int64_t part,
                     const std::string& i) {
      std::vector<int64_t> factors = {parts, tile};
      Names names = {Name(i + "b"), Name(i + "o"), Name(i + "t")};
      if (whole_tiles()) {
        factors = {parts, tile * part};
        names = {Name(i + "b"), Name(i + "o"), Name(i + "i")};
      } else if (part > 1) {
        factors.push_back(part);
        names.push_back(Name(i + "i"));
      }
      schedule_.Split(At(loop), factors, names);
    };
    split(product_.row, plan_.blocks.rows / plan_.rows, plan_.tile.rows, machine_.rows, "i");
    split(product_.column, plan_.blocks.columns / plan_.columns, plan_.tile.columns,
          machine_.columns, "j");
    schedule_.Split(At(product_.sum), {plan_.steps}, {Name("lo"), Name("li")});
    Names order = Around(block_, product_.batch);
    for (const char* loop : {"ib", "jb", "io", "jo", "lo"}) order.push_back(At(Name(loop)));
    for (const std::string& loop : TileLoops()) order.push_back(At(loop));
    for (const std::string& loop : InstructionLoops()) order.push_back(At(loop));
    order.push_back(At(Name("li")));
    schedule_.Reorder(order);
  }
  Names TileLoops() const { return whole_tiles() ? Names{} : Names{Name("it"), Name("jt")}; }
  Names InstructionLoops() const {
    bool one_row = !whole_tiles() && machine_.rows == 1;
    return one_row ? Names{Name("ji")} : Names{Name("ii"), Name("ji")};
  }

  void CopyPadded(const std::string& pad) {
    if (!IsApart(pad)) schedule_.ComputeAt(pad, At(Name("jb")));
    const BlockNode* block = FindBlockNamed(schedule_, pad);
    VectorizeCopy(pad, NestOf(schedule_.function()->body, block).loops.back()->var.name());
  }
  // Along memory, where that is so.
  void VectorizeCopy(const std::string& copy, const std::string& loop) {
    Try(&schedule_, [&](Schedule* attempt) {
      BlockInfo info = DescribeBlock(FindBlockNamed(*attempt, copy));
      int64_t lanes = facts_.vector_bytes / info.accesses[0].buffer->dtype.bytes();
      attempt->Vectorize(LoopOf(copy, SplitLanes(attempt, copy, loop, lanes).inner));
    });
    ParallelizeCopy(copy);
  }

  // The map of a buffer's dimensions: others as they are, then what is said of the last two.
  static IndexMap Layout(size_t rank, size_t own, size_t sum, const std::string& to) {
    std::string from, others;
    for (size_t d = 0; d < rank; ++d) {
      std::string dim = d == own ? "x" : d == sum ? "s" : "d" + Text(static_cast<int64_t>(d));
      from += (d ? ", " : "") + dim;
      if (d != own && d != sum) others += dim + ", ";
    }
    return IndexMap::Parse("(" + from + ") -> (" + others + to + ")");
  }

  // Of instructions, and of tiles on their way through memory.
  void PutSumsInRows(const std::string& staged) {
    if (machine_.rows == 1) return;
    std::string r = Text(machine_.rows), c = Text(machine_.columns);
    size_t rank = product_.result->shape.size();
    schedule_.TransformLayout(
        sums_, Layout(rank, product_.result_row_dim, rank - 1,
                      "x // " + r + ", s // " + c + ", x % " + r + " * " + c + " + s % " + c));
    if (staged.empty()) return;
    std::string m = Text(plan_.rows), n = Text(plan_.columns);
    schedule_.TransformLayout(staged,
                              Layout(rank, product_.result_row_dim, rank - 1,
                                     "x // " + m + ", s // " + n + ", x % " + m + ", s % " + n));
  }

  void Multiply(const std::string& init) {
    for (const std::string& block : {init, block_})
      for (const std::string& loop : TileLoops()) schedule_.Unroll(LoopOf(block, loop));
    schedule_.Tensorize(At(InstructionLoops()[0]), Intrinsic(""));
    if (whole_tiles()) {
      schedule_.Tensorize(LoopOf(init, Name("ii")), Intrinsic("_fill"));
      return;
    }
    if (machine_.rows > 1) schedule_.Unroll(LoopOf(init, Name("ii")));
    schedule_.Vectorize(LoopOf(init, Name("ji")));
  }

  // The loops of a copy along the factor's own axis and along the sum; the others, in their order.
  struct CopyLoops {
    std::string own, sum;
    Names others;
  };
  CopyLoops LoopsOfCopy(const std::string& copy, const Factor& factor) const {
    const BlockNode* block = FindBlockNamed(schedule_, copy);
    Nest nest = NestOf(schedule_.function()->body, block);
    CopyLoops loops;
    for (size_t d = 0; d < factor.rank; ++d)
      for (const ForNode* loop : nest.loops) {
        if (!ir::UsesVar(block->iters[d].binding, loop->var.node())) continue;
        if (d == factor.own_dim || d == factor.sum_dim)
          (d == factor.own_dim ? loops.own : loops.sum) = loop->var.name();
        else
          loops.others.push_back(loop->var.name());
      }
    return loops;
  }

  // Each step of a tile is behind the one before.
  void PackRight(const std::string& copy) {
    const Factor& factor = product_.right;
    CopyLoops loops = LoopsOfCopy(copy, factor);
    std::string n = Text(machine_.columns), t = Text(plan_.columns), k = Text(plan_.steps),
                w = Text(plan_.word);
    std::string words = plan_.word < plan_.steps ? "s % " + k + " // " + w + ", " : "";
    schedule_.TransformLayout(
        copy, Layout(factor.rank, factor.own_dim, factor.sum_dim,
                     "x // " + t + ", s // " + k + ", x % " + t + " // " + n + ", " + words +
                         "x % " + n + " * " + w + " + s % " + w));
    int64_t row_bytes = machine_.columns * factor.bytes();
    int64_t in_line = LargestDivisor(plan_.blocks.columns / machine_.columns,
                                     std::max<int64_t>(kLineBytes / row_bytes, 1)),
            all_words = RoundUp(product_.steps, plan_.steps) / plan_.word,
            at_once = LargestDivisor(all_words, std::min(kPackedWords, all_words));
    Names own = {copy + "_o", copy + "_u", copy + "_i"},
          sum = {copy + "_so", copy + "_q", copy + "_r"}, order = loops.others;
    schedule_.Split(LoopOf(copy, loops.own), {in_line, machine_.columns}, own);
    schedule_.Split(LoopOf(copy, loops.sum), {at_once, plan_.word}, sum);
    if (factor.sum_is_last())
      order.insert(order.end(), {own[0], own[1], sum[0], sum[1], own[2], sum[2]});
    else
      order.insert(order.end(), {sum[0], own[0], sum[1], own[1], sum[2], own[2]});
    schedule_.Reorder(Around(copy, order));
    schedule_.Unroll(LoopOf(copy, own[factor.sum_is_last() ? 2 : 1]));
    ParallelizeCopy(copy);
    // Words as they are.
    if (factor.sum_is_last()) return schedule_.Vectorize(LoopOf(copy, sum[2]));
    std::string wide = plan_.types->wide ? plan_.types->wide->str() + "_" : "";
    schedule_.Tensorize(LoopOf(copy, sum[2]),
                        "interleave_" + factor.dtype.str() + "_" + wide + w + "x" + n);
  }

  // Rows that lie along the sum.
  void PackLeft(const std::string& copy) {
    const Factor& factor = product_.left;
    CopyLoops loops = LoopsOfCopy(copy, factor);
    if (factor.sum_is_last()) return VectorizeCopy(copy, loops.sum);
    schedule_.TransformLayout(copy, Layout(factor.rank, factor.own_dim, factor.sum_dim, "x, s"));
    Names sum = {copy + "_so", copy + "_r"}, order = loops.others;
    schedule_.Split(LoopOf(copy, loops.sum), {plan_.word}, sum);
    order.insert(order.end(), {sum[0], loops.own, sum[1]});
    schedule_.Reorder(Around(copy, order));
    schedule_.Unroll(LoopOf(copy, sum[1]));
    ParallelizeCopy(copy);
  }

  void StoreSums(const std::string& block, const Names& made) {
    if (whole_tiles())
      schedule_.Tensorize(LoopOf(block, made[made.size() - 2]), Intrinsic("_store"));
    else
      StoreVectors(block, made);
  }

  void StoreVectors(const std::string& block, const Names& made) {
    if (made.empty()) return;
    int64_t lanes = facts_.vector_bytes / product_.result->dtype.bytes();
    Names names = {Name("cv"), Name("ci")};
    schedule_.Split(LoopOf(block, made.back()), {std::min(lanes, plan_.columns)}, names);
    schedule_.Vectorize(LoopOf(block, names[1]));
    if (whole_tiles()) return;
    schedule_.Unroll(LoopOf(block, names[0]));
    if (made.size() > 1) schedule_.Unroll(LoopOf(block, made[made.size() - 2]));
  }

  Schedule& schedule_;
  std::string block_, sums_;
  const Product& product_;
  const Plan& plan_;
  const DotInstructions& machine_;
  const MachineFacts& facts_;
};

void Apply(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts,
           const DotInstructions& machine) {
  Product product = RequireProduct(*schedule, block, Sizes::kAllButRows);
  Plan plan = ChoosePlan(machine, product, facts, IsConstant(*schedule, product.right.name));
  if (product.result->dtype.is_float() && !HasFlag(schedule->function(), attr::kReassociate))
    Refuse(
        "sums of floats are made in another order; the attribute reassociate of the function "
        "says that they may be");
  const ProductBlocks& blocks = plan.blocks;
  bool whole = !product.dynamic_rows && product.rows % blocks.rows == 0 &&
               product.columns % blocks.columns == 0 && product.steps % plan.steps == 0;
  Names pads;
  if (!whole) {
    std::vector<int64_t> factors;
    for (const BlockAxis& axis : block.axes)
      factors.push_back(axis.role == AxisRole::kM   ? blocks.rows
                        : axis.role == AxisRole::kN ? blocks.columns
                        : axis.role == AxisRole::kK ? plan.steps
                                                    : 1);
    Names before = {product.left.name, product.right.name};
    PadProduct(schedule, block, factors);
    product = RequireProduct(*schedule, DescribeBlock(FindBlockNamed(*schedule, block.name)),
                             Sizes::kAllButRows);
    for (const std::string& name : {product.right.name, product.left.name})
      if (!Contains(before, name)) pads.push_back(name);
  }
  DotMatmul(schedule, block.name, product, plan, machine, facts).Run(pads);
}

}  // namespace

void RegisterDotMatmul(const DotInstructions& instructions) {
  RegisterRule(
      {.name = instructions.rule,
       .description = instructions.description,
       .kinds = {BlockKind::kMatmul},
       .fits =
           [instructions](const MachineFacts& facts) {
             bool has_room =
                 !instructions.tiles.empty() ||
                 instructions.rows * instructions.columns * kSumBytes <= facts.vector_bytes;
             return facts.is_host_with_vectors() && has_room &&
                    std::any_of(instructions.types.begin(), instructions.types.end(),
                                [&](const DotTypes& types) { return types.fits(facts); });
           },
       .priority = instructions.priority,
       .apply =
           [instructions](Schedule* schedule, const BlockInfo& block, const MachineFacts& facts) {
             return Apply(schedule, block, facts, instructions);
           }});
}

}  // namespace tern::schedule
