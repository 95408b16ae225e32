// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/dot_matmul.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/schedule/tensor_intrinsic.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// B is packed at each call where so many rows of A use it.
constexpr int64_t kLeastUses = 4;
// The same of floats along whose columns vectors are converted as they are read.
constexpr int64_t kLeastUsesOfFloats = 8;
// M, N and K padded to whole tiles may be so many times the work, or more where the instructions
// are faster all the same, and cost at most so much of what vectors would. Bytes of A that are
// copied, and of B that are packed, in a cycle; cycles to store a vector of results.
constexpr int64_t kMostPadding = 4;
constexpr double kMostCost = 0.8, kCopiedBytes = 32, kPackedBytes = 8, kStoreCycles = 2;
constexpr int64_t kAccumulatorBytes = 4;
// Fewer rows for each matrix of a batch that shares B are better one M axis, after im2col.
constexpr int64_t kLeastRowsOfBatch = 32;
// Matrices of a batch that are packed by the threads that multiply them; fewer where they stay in
// L2 until then.
constexpr int64_t kLeastBatch = 16, kLeastBatchInL2 = 4;
// The same of blocks of rows; or there are so few blocks of columns that threads have rows alone.
// Blocks of columns are packed by the threads that multiply them where there are as many.
constexpr int64_t kLeastRowBlocks = 8, kLeastColumnBlocks = 8, kFewColumnBlocks = 4;
// Words of each column, and bytes of each row, that are packed at a time: whole cache lines, and
// not more of them than L1 has room for.
constexpr int64_t kPackedWords = 16, kLineBytes = 64;

struct DotGemmPlan : HostPlan {
  int64_t tile_m = 0, tile_n = 0;  // accumulators in registers
  int64_t block_m = 0, block_n = 0;

  static const std::vector<PlanField<DotGemmPlan>>& Fields() {
    using P = DotGemmPlan;
    static const std::vector<PlanField<P>> fields = {{"tile_m", &P::tile_m},
                                                     {"tile_n", &P::tile_n},
                                                     {"block_m", &P::block_m},
                                                     {"block_n", &P::block_n},
                                                     {"parallel", &P::parallel}};
    return fields;
  }
};
using P = DotGemmPlan;

// Of several M axes that are no neighbours in A or in C, the outer ones are a batch.
Gemm RequireDotGemm(const Schedule& schedule, const BlockRef& block) {
  return RequireGemm(schedule, block, Sizes::kDynamic, BatchAxes::kOuterM);
}

std::string Text(int64_t number) { return std::to_string(number); }

// The largest divisor of a number that is not above `most`.
int64_t LargestDivisor(int64_t number, int64_t most) {
  while (number % most != 0) --most;
  return most;
}

// The instructions for the types of a GEMM; null where there are none.
const DotTypes* FindTypes(const DotInstructions& machine, const Gemm& gemm,
                          const TargetInfo& target) {
  auto types = std::find_if(machine.types.begin(), machine.types.end(), [&](const DotTypes& types) {
    return types.left == gemm.a.dtype && types.right == gemm.b.dtype &&
           types.sum == gemm.c->dtype && types.fits(target);
  });
  return types == machine.types.end() ? nullptr : &*types;
}

// K of an instruction, and contiguous K of a column; elements.
struct DotSteps {
  int64_t k = 0, word = 0;
};
DotSteps StepsOf(const DotInstructions& machine, const DotTypes& types) {
  int64_t bytes = types.wide.value_or(types.right).bytes();
  return {machine.step_bytes / bytes, machine.word_bytes / bytes};
}

// The tiles in instructions, with the cycles of one instruction's K: accumulators are added to one
// after the other, and operands are loaded for each tile.
struct CostedTile {
  DotTile tile;
  double cycles;
};
std::vector<CostedTile> TilesFor(const DotInstructions& machine, const Gemm& gemm,
                                 const TargetInfo& target) {
  int64_t m = CeilDiv(gemm.m, machine.rows), n = CeilDiv(gemm.n, machine.columns);
  std::vector<CostedTile> tiles;
  if (machine.tiles.empty()) {
    int64_t bytes = machine.columns * machine.step_bytes;
    for (const RegisterTile& tile :
         RegisterTiles(m, std::min(n, target.vector_registers), 1, target))
      if (FitsRegisters(tile, machine.left_in_registers ? tile.m : 1, target))
        tiles.push_back({{tile.m, tile.vectors}, GemmStepCycles(tile, m, n, bytes, target)});
    return tiles;
  }
  for (const DotTile& tile : machine.tiles) {
    double step =
        static_cast<double>(tile.rows * tile.columns) +
        static_cast<double>(tile.rows + tile.columns) / static_cast<double>(target.loads_per_cycle);
    int64_t count = RoundUp(m, tile.rows) / tile.rows * RoundUp(n, tile.columns) / tile.columns;
    tiles.push_back({tile, static_cast<double>(count) * step * machine.tile_cycles});
  }
  return tiles;
}

// Whether the instructions are slower than one product of vectors in a cycle, as they compute more
// than is asked for: A and B are copied, and results are stored, with what they are padded by.
bool IsTooMuchPadding(const Gemm& gemm, const P& plan, int64_t k, int64_t bytes,
                      const TargetInfo& target) {
  bool copies_a =
      !gemm.a.k_contiguous() || gemm.dynamic_k || gemm.k != k || gemm.a.bytes() != bytes;
  auto m = static_cast<double>(RoundUp(gemm.m, plan.tile_m)),
       n = static_cast<double>(RoundUp(gemm.n, plan.tile_n)), steps = static_cast<double>(k),
       batch = static_cast<double>(gemm.batch);
  if (batch * m * n * steps <= kMostPadding * gemm.flops() / 2) return false;
  int64_t whole = target.vector_bytes / kAccumulatorBytes;
  auto lanes = static_cast<double>(whole);
  double copies = batch * steps * static_cast<double>(bytes) *
                  ((copies_a ? m / kCopiedBytes : 0) + n / kPackedBytes),
         results = batch * m * n / lanes * kStoreCycles;
  return plan.cycles + copies + results >= kMostCost * gemm.flops() / 2 / lanes;
}

// Cycles to copy operands that whole blocks of the plan pad, and nothing else does.
double PaddingCycles(const Gemm& gemm, const P& plan, int64_t k) {
  if (gemm.dynamic_k || gemm.k != k) return 0;
  int64_t bytes = 0;
  if (gemm.a.k_contiguous() && !gemm.dynamic_m && gemm.m % plan.block_m != 0)
    bytes += gemm.m * k * gemm.a.bytes();
  if (!gemm.dynamic_n && gemm.n % plan.block_n != 0) bytes += gemm.n * k * gemm.b.bytes();
  return static_cast<double>(gemm.batch * bytes) / kCopiedBytes;
}

// A block of about so much of a number that all blocks can have, where the number is extended a
// little; a multiple of a tile's.
int64_t EvenBlock(int64_t number, int64_t block, int64_t tile) {
  return RoundUp(CeilDiv(number, CeilDiv(number, block)), tile);
}

// Refuses what the instructions do not compute, or no faster.
std::vector<P> DotPlans(const Schedule& schedule, const BlockInfo& block, const TargetInfo& target,
                        const DotInstructions& machine, const Wanted<P>& want) {
  Gemm gemm = RequireDotGemm(schedule, block.ref);
  GuessSizes(&gemm, target);
  auto is_m = [](const BlockAxis& axis) { return axis.role == AxisRole::kM; };
  if (std::count_if(block.axes.begin(), block.axes.end(), is_m) > 1 && gemm.m < kLeastRowsOfBatch)
    Refuse("the last of several M axes has " + Text(gemm.m) + " rows; expected " +
           Text(kLeastRowsOfBatch) + " or more");
  const DotTypes* types = FindTypes(machine, gemm, target);
  if (!types)
    Refuse("the machine has no such instructions for " + gemm.a.dtype.str() + " times " +
           gemm.b.dtype.str() + " summed in " + gemm.c->dtype.str());
  if (gemm.m == 0 || gemm.n == 0 || gemm.k == 0) Refuse("M, N or K is 0");
  if (target.vector_registers < kLeastRegisters)
    Refuse("there are fewer than " + Text(kLeastRegisters) + " vector registers");
  int64_t least =
      gemm.c->dtype.is_float() && !gemm.b.k_contiguous() ? kLeastUsesOfFloats : kLeastUses;
  if (gemm.m < least && !IsConstant(schedule, gemm.b.name))
    Refuse("B would be packed for M = " + Text(gemm.m) + " rows; that pays from " + Text(least) +
           " on");
  DotSteps steps = StepsOf(machine, *types);
  int64_t k = RoundUp(gemm.k, steps.k), bytes = types->wide.value_or(types->right).bytes();
  std::vector<P> plans;
  for (const auto& [tile, cycles] : TilesFor(machine, gemm, target)) {
    P plan;
    plan.tile_m = tile.rows * machine.rows;
    plan.tile_n = tile.columns * machine.columns;
    int64_t m = RoundUp(gemm.m, plan.tile_m), n = RoundUp(gemm.n, plan.tile_n);
    GemmBlocks blocks = ChooseBlocks(m, n, plan.tile_m, plan.tile_n, k * bytes, target);
    // A dynamic M or N is padded to whole tiles and no further.
    plan.block_m =
        want.Or(&P::block_m, gemm.dynamic_m ? plan.tile_m : EvenBlock(m, blocks.m, plan.tile_m));
    // Few rows pack what they need of B for each block of N: whole cache lines.
    int64_t line = gemm.m <= plan.tile_m ? RoundUp(kLineBytes / gemm.b.bytes(), plan.tile_n) : 0,
            columns = std::max(plan.tile_n, line);
    plan.block_n =
        want.Or(&P::block_n, gemm.dynamic_n ? columns : EvenBlock(n, blocks.n, plan.tile_n));
    bool possible = plan.block_m > 0 && plan.block_m % plan.tile_m == 0 && plan.block_n > 0 &&
                    plan.block_n % plan.tile_n == 0;
    if (!possible) continue;
    int64_t k_steps = k / steps.k;
    plan.cycles = static_cast<double>(gemm.batch) * cycles * static_cast<double>(k_steps);
    // Vectors take so much longer than copies that other tiles would not pay.
    if (!machine.tiles.empty()) plan.cycles += PaddingCycles(gemm, plan, k);
    double peak = machine.tiles.empty() ? 1.0 / static_cast<double>(target.fma_per_cycle)
                                        : machine.tile_cycles;
    plan.limit =
        gemm.flops() / 2 * peak / static_cast<double>(machine.rows * machine.columns * steps.k);
    plans.push_back(plan);
  }
  auto best = std::min_element(plans.begin(), plans.end(),
                               [](const P& a, const P& b) { return a.cycles < b.cycles; });
  if (best != plans.end() && IsTooMuchPadding(gemm, *best, k, bytes, target))
    Refuse("M, N and K padded to whole tiles are too much more work");
  return plans;
}

class DotMatmul {
 public:
  DotMatmul(Schedule* schedule, const BlockRef& block, const Gemm& gemm, const P& plan,
            const DotTypes& types, const DotInstructions& machine, const TargetInfo& target,
            bool shares_batch)
      : schedule_(*schedule),
        block_(block),
        gemm_(gemm),
        plan_(plan),
        types_(types),
        steps_(StepsOf(machine, types)),
        machine_(machine),
        target_(target),
        shares_batch_(shares_batch),
        loops_(block) {}

  // The loops, and where copies are. `pads`: blocks that pad A and B with zeros, or none.
  void TileAndPlace(const BlockRef& pad_a, const BlockRef& pad_b) {
    int64_t work = WorkOf(schedule_, block_);
    right_ = Copy(gemm_.b, "packed");
    if (!gemm_.a.k_contiguous() || types_.wide) left_ = Copy(gemm_.a, "rows");
    const BlockRef& reader = gemm_.epilogue;
    MakeLocal(reader);
    SplitLoops();
    Place(right_, gemm_.b);
    if (!left_.empty()) Place(left_, gemm_.a);
    // What is not constant is padded while it is packed.
    if (pad_b && !IsConstant(schedule_, gemm_.b.name)) padded_b_ = pad_b;
    if (pad_b && !padded_b_) CopyPadded(pad_b, gemm_.b);
    if (pad_a) CopyPadded(pad_a, gemm_.a);
    made_ = schedule_.ReverseComputeAt(tiles_.empty() ? reader : tiles_, loops_.At("jo"));
    if (!tiles_.empty() && !reader.empty())
      read_ = schedule_.ReverseComputeAt(reader, loops_.At("jo"));
    init_ = schedule_.DecomposeReduction(block_, loops_.At("lo"), Name("init"));
    PutSumsInRows(!read_.empty());
    if (!shares_batch_) ParallelizeOuter(&schedule_, block_, work, target_, &plan_);
  }

  // With what was chosen.
  const P& plan() const { return plan_; }

  // The loops of packing B, with what pads it inside.
  void TilePacking() { SplitPacking(right_, padded_b_); }

  // The instructions. What they do with addresses is not looked into later.
  void PutInstructions() {
    PackRight(right_, padded_b_);
    if (!left_.empty()) PackLeft(left_);
    Multiply(init_);
    if (!tiles_.empty()) StoreSums(tiles_, made_);
    if (!gemm_.epilogue.empty()) StoreVectors(gemm_.epilogue, tiles_.empty() ? made_ : read_);
  }

 private:
  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  DotTile tile() const { return {plan_.tile_m / machine_.rows, plan_.tile_n / machine_.columns}; }
  bool whole_tiles() const { return !machine_.tiles.empty(); }
  std::string Intrinsic(const std::string& what) const {
    std::string name = machine_.prefix + what + "_" + types_.name;
    return whole_tiles() ? name + "_" + Text(tile().rows) + "x" + Text(tile().columns) : name;
  }

  // What is made of constants alone is made before any call, all of it, where it is in no loop. Of
  // several threads each would make again what others have made, which costs as much as products;
  // matrices of a batch, and blocks of rows, are each of one thread, where there are enough for
  // all.
  bool IsApart(const BlockRef& copy) const {
    return !Contains(inside_, copy) && (target_.threads != 1 || IsConstant(schedule_, copy.name()));
  }
  void Place(const BlockRef& copy, const GemmOperand& operand) {
    const LoopRefs& batch = gemm_.loops.batch;
    auto moves_to = [&](const LoopRef& loop) {
      return !IsConstant(schedule_, copy.name()) &&
             Try(&schedule_, [&](Schedule* attempt) { attempt->ComputeAt(copy, loop.Of(block_)); });
    };
    // Threads share the matrices of a dynamic batch, whatever their number is.
    int64_t own = operand.is_a ? gemm_.m : gemm_.n,
            least = own * gemm_.k * operand.bytes() > target_.l2_bytes / 2 ? kLeastBatch
                                                                           : kLeastBatchInL2;
    bool of_batch = (target_.threads != 1 || shares_batch_) && !batch.empty() &&
                    (gemm_.dynamic_batch || gemm_.batch >= least || shares_batch_) &&
                    operand.rank == batch.size() + 2;
    if ((of_batch && moves_to(batch.back())) ||
        (HasRowBlocks(operand) && moves_to(loops_.At("ib"))) ||
        (HasColumnBlocks(operand) && moves_to(loops_.At("jb"))))
      inside_.push_back(copy);
    else if (!IsApart(copy))
      schedule_.ComputeAt(copy, loops_.At("jb"));
  }
  // Whether the operand is A, whose blocks of rows are the outermost loop and stay in L2.
  bool HasRowBlocks(const GemmOperand& operand) const {
    int64_t bytes = plan_.block_m * RoundUp(gemm_.k, steps_.k) * operand.bytes();
    bool many = !gemm_.dynamic_m && !gemm_.dynamic_k && gemm_.m / plan_.block_m >= kLeastRowBlocks,
         alone = gemm_.n / plan_.block_n < kFewColumnBlocks;
    return operand.name == gemm_.a.name && gemm_.loops.batch.empty() && !HasColumnsOutside() &&
           bytes <= target_.l2_bytes / 2 && (many || alone);
  }
  // Whether it is B, each of whose blocks of columns all rows use at once: they stay in L2.
  bool HasColumnBlocks(const GemmOperand& operand) const {
    return operand.name == gemm_.b.name && HasColumnsOutside();
  }
  // Whether there are enough blocks of columns for all threads, and packing them takes longer than
  // copying rows; or fewer, where all rows are one block.
  bool HasColumnsOutside() const {
    if (!gemm_.loops.batch.empty() || IsConstant(schedule_, gemm_.b.name)) return false;
    int64_t blocks = gemm_.n / plan_.block_n;
    bool many = !gemm_.dynamic_n && (gemm_.dynamic_m || gemm_.n >= 2 * gemm_.m) &&
                blocks >= kLeastColumnBlocks;
    return many || (HasFewRows() && blocks >= kFewColumnBlocks);
  }
  // Of a dynamic M, that they are likely to be.
  bool HasFewRows() const { return gemm_.m <= plan_.block_m; }
  void ParallelizeCopy(const BlockRef& copy) {
    if (IsApart(copy)) ParallelizeOuter(&schedule_, copy, WorkOf(schedule_, copy), target_);
  }

  CopyRef Copy(const GemmOperand& operand, const std::string& name) {
    CopyRef copy = schedule_.CacheRead(block_, operand.buffer, StorageScope::kGlobal, Name(name));
    if (types_.wide) schedule_.SetDtype(copy, *types_.wide);
    return copy;
  }

  // Accumulators are in a buffer of their own, which `tiles_` reads; or the reader does. What
  // instructions alone can read goes through memory.
  void MakeLocal(const BlockRef& reader) {
    if (reader) schedule_.SetScope(gemm_.c, StorageScope::kLocal);
    sums_ = gemm_.c;
    if (reader && !whole_tiles()) return;
    tiles_ = schedule_.CacheWrite(block_, gemm_.c, StorageScope::kLocal, Name("acc"));
    sums_ = tiles_;
  }

  void SplitLoops() {
    auto split = [&](const LoopRef& loop, int64_t parts, int64_t tile, int64_t part,
                     const std::string& i) {
      std::vector<int64_t> factors = {parts, tile};
      std::vector<std::string> names = {i + "b", i + "o", i + "t"};
      if (whole_tiles()) {
        factors = {parts, tile * part};
        names = {i + "b", i + "o", i + "i"};
      } else if (part > 1) {
        factors.push_back(part);
        names.push_back(i + "i");
      }
      loops_.Split(&schedule_, loop, factors, names);
    };
    split(gemm_.loops.m, plan_.block_m / plan_.tile_m, tile().rows, machine_.rows, "i");
    split(gemm_.loops.n, plan_.block_n / plan_.tile_n, tile().columns, machine_.columns, "j");
    loops_.Split(&schedule_, gemm_.loops.k, {steps_.k}, {"lo", "li"});
    LoopRefs order = gemm_.loops.batch.Of(block_);
    std::vector<std::string> outer = {"ib", "jb", "io", "jo", "lo"};
    if (HasColumnsOutside()) std::swap(outer[0], outer[1]);
    for (const std::string& loop : outer) order.push_back(loops_.At(loop));
    for (const LoopRef& loop : TileLoops()) order.push_back(loop);
    for (const LoopRef& loop : InstructionLoops()) order.push_back(loop);
    order.push_back(loops_.At("li"));
    schedule_.Reorder(order);
  }
  LoopRefs TileLoops() const {
    return whole_tiles() ? LoopRefs{} : LoopRefs{loops_.At("it"), loops_.At("jt")};
  }
  LoopRefs InstructionLoops() const {
    bool one_row = !whole_tiles() && machine_.rows == 1;
    return one_row ? LoopRefs{loops_.At("ji")} : LoopRefs{loops_.At("ii"), loops_.At("ji")};
  }

  void CopyPadded(const BlockRef& pad, const GemmOperand& operand) {
    Place(pad, operand);
    VectorizeCopy(pad, NestLoops(schedule_, pad).back());
  }
  // Along memory, where that is so.
  void VectorizeCopy(const BlockRef& copy, const LoopRef& loop) {
    MakeVectors(copy, loop);
    // Few rows are copied before other threads would have begun.
    if (!gemm_.dynamic_m || !HasFewRows()) ParallelizeCopy(copy);
  }
  void MakeVectors(const BlockRef& copy, const LoopRef& loop) {
    Try(&schedule_, [&](Schedule* attempt) {
      BlockInfo info = DescribeBlock(*attempt, copy);
      int64_t lanes = target_.vector_bytes / info.accesses[0].buffer->dtype.bytes();
      attempt->Vectorize(SplitLanes(attempt, copy, loop, lanes).inner.Of(copy));
    });
  }

  // Of instructions, and of tiles on their way through memory.
  void PutSumsInRows(bool are_staged) {
    if (machine_.rows == 1) return;
    std::string r = Text(machine_.rows), c = Text(machine_.columns);
    size_t rank = gemm_.c->shape.size();
    schedule_.TransformLayout(sums_, PackedLayout(rank, gemm_.c_m_dim, rank - 1,
                                                  "x // " + r + ", k // " + c + ", x % " + r +
                                                      " * " + c + " + k % " + c));
    if (!are_staged) return;
    std::string m = Text(plan_.tile_m), n = Text(plan_.tile_n);
    schedule_.TransformLayout(
        gemm_.c, PackedLayout(rank, gemm_.c_m_dim, rank - 1,
                              "x // " + m + ", k // " + n + ", x % " + m + ", k % " + n));
  }

  void Multiply(const BlockRef& init) {
    for (const BlockRef& block : {init, block_})
      for (const LoopRef& loop : TileLoops()) schedule_.Unroll(LoopAround(schedule_, block, loop));
    schedule_.Tensorize(InstructionLoops()[0], Intrinsic(""));
    auto of_init = [&](const char* loop) { return LoopAround(schedule_, init, loops_.At(loop)); };
    if (whole_tiles()) {
      schedule_.Tensorize(of_init("ii"), Intrinsic("_fill"));
      return;
    }
    if (machine_.rows > 1) schedule_.Unroll(of_init("ii"));
    schedule_.Vectorize(of_init("ji"));
  }

  // The loops of a copy along M or N, and along K; the others, in their order.
  struct CopyLoops {
    LoopRef own, sum;
    LoopRefs others;
  };
  CopyLoops LoopsOfCopy(const BlockRef& copy, const GemmOperand& operand) const {
    const BlockNode* block = schedule_.At(copy);
    Nest nest = NestOf(schedule_.tree(), block);
    CopyLoops loops;
    for (size_t d = 0; d < operand.rank; ++d)
      for (const ForNode* loop : nest.loops) {
        if (!ir::UsesVar(block->iters[d].binding, loop->var.node())) continue;
        if (d == operand.own_dim || d == operand.k_dim)
          (d == operand.own_dim ? loops.own : loops.sum) = LoopRef(loop);
        else
          loops.others.emplace_back(loop);
      }
    return loops;
  }

  // Each step of a tile is behind the one before. `pad` pads what is packed at a time, which is in
  // L1 then; or none.
  void SplitPacking(const CopyRef& copy, const BlockRef& pad) {
    const GemmOperand& operand = gemm_.b;
    CopyLoops loops = LoopsOfCopy(copy, operand);
    std::string n = Text(machine_.columns), t = Text(plan_.tile_n), k = Text(steps_.k),
                w = Text(steps_.word);
    std::string words = steps_.word < steps_.k ? "k % " + k + " // " + w + ", " : "";
    schedule_.TransformLayout(
        copy, PackedLayout(operand.rank, operand.own_dim, operand.k_dim,
                           "x // " + t + ", k // " + k + ", x % " + t + " // " + n + ", " + words +
                               "x % " + n + " * " + w + " + k % " + w));
    int64_t row_bytes = machine_.columns * operand.bytes();
    int64_t in_line = LargestDivisor(plan_.block_n / machine_.columns,
                                     std::max<int64_t>(kLineBytes / row_bytes, 1)),
            all_words = RoundUp(gemm_.dynamic_k ? 1 : gemm_.k, steps_.k) / steps_.word;
    words_at_once_ = LargestDivisor(all_words, std::min(kPackedWords, all_words));
    // Along N: lines, instructions in a line, columns; along K: words at a time, words, elements.
    packing_columns_ = schedule_.Split(loops.own.Of(copy), {in_line, machine_.columns},
                                       {copy + "_o", copy + "_u", copy + "_i"});
    packing_steps_ = schedule_.Split(loops.sum.Of(copy), {words_at_once_, steps_.word},
                                     {copy + "_so", copy + "_q", copy + "_r"});
    const LoopRefs &own = packing_columns_, &sum = packing_steps_;
    LoopRefs order = loops.others;
    if (operand.k_contiguous())
      order.insert(order.end(), {own[0], own[1], sum[0], sum[1], own[2], sum[2]});
    else
      order.insert(order.end(), {sum[0], own[0], sum[1], own[1], sum[2], own[2]});
    schedule_.Reorder(order.Of(copy));
    if (!pad.empty()) {
      ParallelizePadding(copy);
      LoopRefs made = schedule_.ComputeAt(pad, (operand.k_contiguous() ? sum[0] : own[0]).Of(copy));
      if (!made.empty()) MakeVectors(pad, made.back());
    }
  }
  void PackRight(const BlockRef& copy, const BlockRef& pad) {
    const GemmOperand& operand = gemm_.b;
    const LoopRefs &own = packing_columns_, &sum = packing_steps_;
    std::string n = Text(machine_.columns), w = Text(steps_.word);
    std::string columns = "interleave_columns_" + operand.dtype.str() + "_" + w + "x" + n;
    bool has_columns = operand.k_contiguous() && !types_.wide &&
                       words_at_once_ == machine_.columns && FindTensorIntrinsic(columns);
    if (has_columns && Try(&schedule_, [&](Schedule* attempt) {
          attempt->Unroll(sum[1].Of(copy));  // no thread has a part of it
          if (IsApart(copy) && pad.empty())
            ParallelizeOuter(attempt, copy, WorkOf(*attempt, copy), target_);
          attempt->Tensorize(sum[1].Of(copy), columns);
        }))
      return;
    schedule_.Unroll(own[operand.k_contiguous() ? 2 : 1].Of(copy));
    if (pad.empty()) ParallelizeCopy(copy);
    // Words as they are.
    if (operand.k_contiguous()) return schedule_.Vectorize(sum[2].Of(copy));
    std::string wide = types_.wide ? types_.wide->str() + "_" : "";
    schedule_.Tensorize(sum[2].Of(copy),
                        "interleave_" + operand.dtype.str() + "_" + wide + w + "x" + n);
  }

  // Of packing with padding inside: one loop, the outermost that has enough iterations for all
  // threads, or any number. In fused loops it would not be known how little is padded at a time.
  void ParallelizePadding(const BlockRef& copy) {
    int64_t most = target_.most_threads;
    if (!IsApart(copy) || !ThreadsPay(WorkOf(schedule_, copy), most, target_)) return;
    Nest nest = NestOf(schedule_.tree(), schedule_.At(copy));
    for (int64_t least : {most / 8, int64_t{2}})
      for (size_t i = 0; i + 4 < nest.loops.size(); ++i)  // outside of what is packed at a time
        if (ir::AsConstInt(nest.loops[i]->extent).value_or(least) >= least &&
            Try(&schedule_,
                [&](Schedule* attempt) { attempt->Parallel(LoopRef(nest.loops[i]).Of(copy)); }))
          return;
  }

  // A becomes K-contiguous.
  void PackLeft(const CopyRef& copy) {
    const GemmOperand& operand = gemm_.a;
    CopyLoops loops = LoopsOfCopy(copy, operand);
    if (operand.k_contiguous()) return VectorizeCopy(copy, loops.sum);
    schedule_.TransformLayout(copy,
                              PackedLayout(operand.rank, operand.own_dim, operand.k_dim, "x, k"));
    LoopRefs order = loops.others;
    auto sum = schedule_.Split(loops.sum.Of(copy), {steps_.word}, {copy + "_so", copy + "_r"});
    order.insert(order.end(), {sum[0], loops.own, sum[1]});
    schedule_.Reorder(order.Of(copy));
    schedule_.Unroll(sum[1].Of(copy));
    ParallelizeCopy(copy);
  }

  void StoreSums(const BlockRef& block, const LoopRefs& made) {
    if (whole_tiles())
      schedule_.Tensorize(made[made.size() - 2].Of(block), Intrinsic("_store"));
    else
      StoreVectors(block, made);
  }

  void StoreVectors(const BlockRef& block, const LoopRefs& made) {
    int64_t lanes = std::min(target_.vector_bytes / gemm_.c->dtype.bytes(), plan_.tile_n);
    StoreTile(&schedule_, block, made, lanes, {Name("cv"), Name("ci")}, !whole_tiles(),
              target_.masked_vectors ? TailStrategy::kMask : TailStrategy::kLoop);
  }

  Schedule& schedule_;
  BlockRef block_;
  BufferRef sums_{""};
  BlockRefs inside_;  // copies that are made for each matrix of the batch, or block of rows
  Gemm gemm_;
  P plan_;
  DotTypes types_;
  DotSteps steps_;
  DotInstructions machine_;
  TargetInfo target_;
  bool shares_batch_;  // other blocks will share the loops of the batch
  NamedLoops loops_;
  CopyRef right_, left_;       // copies of B and of A, or none
  BlockRef padded_b_;          // what pads B while it is packed, or none
  int64_t words_at_once_ = 1;  // of a column that are packed
  LoopRefs packing_columns_, packing_steps_;
  // Blocks that store tiles (none: the epilogue does) and that set them to zero; loops of what
  // reads the accumulators, and of an epilogue that reads tiles.
  CopyRef tiles_;
  BlockRef init_;
  LoopRefs made_, read_;
};

// The blocks that transpose A: into the padded copy, where there is one, by a block for what A has
// and others for the zeros.
BlockRefs TransposePadded(Schedule* schedule, const BlockRef& rows, const BlockRef& padded) {
  BlockRefs parts = {padded};
  bool done = padded && Try(schedule, [&](Schedule* attempt) {
                attempt->ComputeInline(rows);
                for (bool more = true; more;)
                  more = Try(attempt, [&](Schedule* cut) {
                    parts.push_back(
                        cut->SplitCases(padded, FreshBlockName(*cut, padded + Text(parts.size()))));
                  });
                if (parts.size() == 1) Refuse("block " + padded.name() + " has no borders");
              });
  return done ? parts : BlockRefs{rows};
}

// All but the packing of B and the instructions. The plan gets what is chosen here.
DotMatmulSteps MakeSteps(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                         const DotInstructions& machine, P* chosen, bool shares_batch) {
  const P& plan = *chosen;
  Gemm gemm = RequireDotGemm(*schedule, block.ref);
  if (gemm.c->dtype.is_float() && !HasFlag(schedule->function(), attr::kReassociate))
    Refuse(
        "sums of floats are made in another order; the attribute reassociate of the function "
        "says that they may be");
  const DotTypes& types = *FindTypes(machine, gemm, target);
  int64_t k = StepsOf(machine, types).k;
  // Elements of a column of A are in as many cache lines: it is transposed in registers first.
  BlockRef rows;
  bool transposes = gemm.a.m_contiguous() && !types.wide && !IsConstant(*schedule, gemm.a.name) &&
                    (gemm.dynamic_m || gemm.m >= kLeastTransposedRows);
  if (transposes) {
    rows = CopyRowsOfA(schedule, block.ref, gemm.a, block.ref + "_transposed");
    gemm = RequireDotGemm(*schedule, block.ref);
  }
  bool whole = !gemm.is_dynamic() && gemm.m % plan.block_m == 0 && gemm.n % plan.block_n == 0 &&
               gemm.k % k == 0;
  BlockRef pad_a, pad_b;
  if (!whole) {
    Buffer a = gemm.a.buffer, b = gemm.b.buffer;
    gemm = PadGemm(schedule, DescribeBlock(*schedule, block.ref), {plan.block_m, plan.block_n, k},
                   Sizes::kDynamic, BatchAxes::kOuterM);
    if (!gemm.a.buffer.same(a)) pad_a = ProducerOf(*schedule, gemm.a.buffer);
    if (!gemm.b.buffer.same(b)) pad_b = ProducerOf(*schedule, gemm.b.buffer);
  }
  GuessSizes(&gemm, target);
  BlockRefs copies = transposes ? TransposePadded(schedule, rows, pad_a) : BlockRefs();
  if (transposes && !Contains(copies, rows)) pad_a = {};
  auto matmul = std::make_shared<DotMatmul>(schedule, block.ref, gemm, plan, types, machine, target,
                                            shares_batch);
  matmul->TileAndPlace(pad_a, pad_b);
  *chosen = matmul->plan();
  return {[matmul] { matmul->TilePacking(); },
          [schedule, matmul, copies, target] {
            matmul->PutInstructions();
            for (const BlockRef& copy : copies)
              ApplyRules(schedule, DescribeBlock(*schedule, copy), target);
          }};
}

std::vector<DotInstructions>& Registered() {
  static auto* all = new std::vector<DotInstructions>;
  return *all;
}
const DotInstructions* FindInstructions(const std::string& rule) {
  const std::vector<DotInstructions>& all = Registered();
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const DotInstructions& one) { return one.rule == rule; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> DotMatmulRules() {
  std::vector<std::string> names;
  for (const Rule* rule : AllRules())
    if (FindInstructions(rule->name)) names.push_back(rule->name);
  return names;
}

std::vector<std::string> DotPlanFields() {
  std::vector<std::string> names;
  for (const PlanField<P>& field : P::Fields()) names.emplace_back(field.name);
  return names;
}

std::optional<DotMatmulSteps> PrepareDotMatmul(Schedule* schedule, const BlockRef& name,
                                               const TargetInfo& target) {
  BlockInfo block = DescribeBlock(*schedule, name);
  std::vector<std::pair<const DotInstructions*, P>> found;
  for (const Rule* rule : RulesFor(BlockKind::kMatmul, target)) {
    const DotInstructions* machine = FindInstructions(rule->name);
    std::vector<P> plans;
    Schedule probe = *schedule;
    if (!machine || !Try(&probe, [&](Schedule* attempt) {
          plans = DotPlans(*attempt, block, target, *machine, Wanted<P>(nullptr));
        }))
      continue;
    auto best = std::min_element(plans.begin(), plans.end(),
                                 [](const P& a, const P& b) { return a.cycles < b.cycles; });
    if (best != plans.end()) found.emplace_back(machine, *best);
  }
  // The first one whose steps are not refused.
  for (auto& [machine, plan] : found) {
    bool is_last = machine == found.back().first;
    Schedule probe = *schedule;
    if (is_last || Try(&probe, [&, machine = machine, plan = plan](Schedule* attempt) mutable {
          Schedule made = *attempt;
          DotMatmulSteps steps = MakeSteps(&made, block, target, *machine, &plan, true);
          steps.pack();
          steps.multiply();
        }))
      return MakeSteps(schedule, block, target, *machine, &plan, true);
  }
  return {};
}

bool HasDotMatmul(const target::Target& target) {
  std::vector<const Rule*> rules = RulesFor(BlockKind::kMatmul, TargetInfo::Of(target));
  return std::any_of(rules.begin(), rules.end(),
                     [](const Rule* rule) { return FindInstructions(rule->name); });
}

void RegisterDotMatmul(const DotInstructions& instructions) {
  Registered().push_back(instructions);
  RegisterRule({.name = instructions.rule,
                .description = instructions.description,
                .kinds = {BlockKind::kMatmul},
                .fits =
                    [instructions](const TargetInfo& target) {
                      bool has_room =
                          !instructions.tiles.empty() ||
                          instructions.rows * instructions.columns * kAccumulatorBytes <=
                              target.vector_bytes;
                      return target.is_host_with_vectors() && has_room &&
                             std::any_of(instructions.types.begin(), instructions.types.end(),
                                         [&](const DotTypes& types) { return types.fits(target); });
                    },
                .priority = instructions.priority,
                .planned = Planned<P>(
                    [instructions](Schedule* schedule, const BlockInfo& block,
                                   const TargetInfo& target, const Wanted<P>& want) {
                      return DotPlans(*schedule, block, target, instructions, want);
                    },
                    [instructions](Schedule* schedule, const BlockInfo& block,
                                   const TargetInfo& target, P* plan) {
                      DotMatmulSteps steps =
                          MakeSteps(schedule, block, target, instructions, plan, false);
                      steps.pack();
                      steps.multiply();
                    })});
}

}  // namespace tern::schedule
