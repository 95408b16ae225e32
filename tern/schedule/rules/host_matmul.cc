// SPDX-License-Identifier: Apache-2.0
//
// GEMM on hosts, register-tiled, with B packed in panels for L2:
//
//   B_packed = pack(B)                       all of it where B is constant (prepacked), else below
//   for jb, blocks of N, in parallel         block_n
//     for ib, blocks of M, in parallel       block_m
//       for io, jo, tiles of a block
//         acc[tile_m, tile_n] = 0            vector registers
//         for k
//           acc += A[tile_m, k] * B_packed[k, tile_n]
//         C = epilogue(acc)
//
// Cycles: tiles * K * max(FMAs, loads, bytes of B from L2, latency), and packing. Sums are added in
// the order written. With few rows of a B larger than L2 it reads B in place, block_k rows at a
// time. A dynamic M is one block, whose last tile has a body for each number of rows; a dynamic N
// is blocks of one tile, padded with zeros. Where a plan says so there is no loop jb: all of N is
// packed, once for each matrix of the batch.
#include <algorithm>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/im2col_loops.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/packed_gemm_plan.h"
#include "tern/tir/transform/memory/flatten_buffers.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using P = PackedGemmPlan;

// Columns of a sum of products that are padded to a vector where there is no other one.
constexpr int64_t kLeastColumns = 2;
// With a dynamic M, blocks of N run in parallel where there are so many, else the M tiles.
constexpr int64_t kDynamicRowBlocks = 8;

class HostMatmul {
 public:
  // `left`: the block that converts A, or pads its rows, or none; `masks`: the last vectors along N
  // are masked where they are loaded, too.
  HostMatmul(Schedule* schedule, const BlockRef& block, const BlockRef& left, const Gemm& gemm,
             P* plan, const TargetInfo& target, bool masks)
      : schedule_(*schedule),
        block_(block),
        left_(left),
        gemm_(gemm),
        plan_(*plan),
        target_(target),
        tail_of_n_(masks ? TailStrategy::kMask : TailStrategy::kLoop),
        loops_(block) {}

  void Run() {
    int64_t work = WorkOf(schedule_, block_);
    CopyRef packed;
    BlockRef rows;
    if (plan_.pack_b) {
      rows = FindRowsOfB();
      packed = schedule_.CacheRead(block_, gemm_.b.buffer, StorageScope::kGlobal, Name("packed"));
      FusePrologue(&schedule_, rows.empty() ? packed : rows);
    }
    if (plan_.pack_a == kPrepacked) PackLeft();
    // Rows of C that are any length apart might overlap, for all that a compiler knows.
    bool in_c = plan_.block_k && !gemm_.dynamic_n;
    BlockRef reader =
        in_c ? BlockRef() : KeepAccumulators(&schedule_, block_, gemm_, StorageScope::kLocal);
    SplitLoops();
    if (plan_.pack_b == kPacked) PackInside(packed);
    if (!rows.empty()) PackInside(rows);
    // Where A is packed, it is converted on the way.
    if (left_ && schedule_.tree().Has(left_)) ConvertLeft();
    LoopRefs out;
    if (!reader.empty())
      out = schedule_.ReverseComputeAt(reader, loops_.At(plan_.block_k   ? "ib"
                                                         : plan_.n_outer ? "io"
                                                                         : "jo"));
    BlockRef init = schedule_.DecomposeReduction(
        block_, SplitsK() ? loops_.At("lo") : At(gemm_.loops.k), Name("init"));
    for (const BlockRef& block : {init, block_}) {
      schedule_.Unroll(LoopAround(schedule_, block, loops_.At("ii")));
      schedule_.Unroll(LoopAround(schedule_, block, loops_.At("jv")));
      schedule_.Vectorize(LoopAround(schedule_, block, loops_.At("ji")));
    }
    if (plan_.k_streams > 1) schedule_.Unroll(loops_.At("li"));
    if (plan_.pack_b) Pack(packed);
    if (!rows.empty()) CopyRows(rows);
    if (!reader.empty())
      StoreTile(&schedule_, reader, out, plan_.vector, {Name("cv"), Name("ci")}, !plan_.block_k,
                target_.masked_vectors ? TailStrategy::kMask : TailStrategy::kLoop);
    if (!gemm_.epilogue.empty()) PrefetchEpilogue();
    RunInParallel(work, packed);
    if (prepacked() && !transposed_) ParallelizePacking(&schedule_, packed);
  }

 private:
  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  LoopRef At(const LoopRef& loop) const { return loop.Of(block_); }

  bool SplitsK() const { return plan_.block_k > 0 || plan_.k_streams > 1; }
  bool prepacked() const { return plan_.pack_b == kPrepacked; }

  // A copy of B is made for a block of columns, or for all of a matrix.
  void PackInside(const BlockRef& copy) {
    if (plan_.block_n)
      schedule_.ComputeAt(copy, loops_.At("jb"));
    else if (!gemm_.loops.batch.empty())
      schedule_.ComputeAt(copy, At(gemm_.loops.batch.back()));
  }

  // What a tile's epilogue reads, such as a residual, is in other lines of memory for each of its
  // rows. Where the next tile is below, and L2 does not hold it all, what that reads is asked for
  // before its K loop: 64 to 256 channels of 56 x 56, with a residual, take 600 us instead of 660.
  void PrefetchEpilogue() {
    bool goes_down = plan_.n_outer || plan_.block_n == plan_.tile_n;
    if (gemm_.is_dynamic() || !goes_down || plan_.block_k ||
        gemm_.m * gemm_.n * gemm_.b.bytes() <= target_.l2_bytes)
      return;
    BlockInfo info = DescribeBlock(schedule_, gemm_.epilogue);
    for (const BlockAccess& access : info.accesses)
      if (!access.store && access.by_axes && access.axes.size() == info.axes.size() &&
          access.buffer->name != gemm_.c->name)
        schedule_.Prefetch(gemm_.epilogue, access.buffer);
  }

  // Threads share the blocks of columns, or the rows of each, whichever are more. Loops are not
  // joined: the last rows could not be told from others then.
  void RunInParallel(int64_t work, const BlockRef& packed) {
    int64_t rows = plan_.block_m ? plan_.block_m : plan_.tile_m,
            row_blocks = CeilDiv(gemm_.m, rows),
            column_blocks = plan_.block_n ? CeilDiv(gemm_.n, plan_.block_n) : 1;
    if (!plan_.block_m) row_blocks = std::min(row_blocks, kDynamicRowBlocks);
    // Tiles of a dynamic M are inside of the steps of K, each of which would start threads.
    if (!plan_.block_m && plan_.block_k) row_blocks = 1;
    bool by_rows = row_blocks > column_blocks;
    int64_t most = std::max(row_blocks, column_blocks);
    bool takes = plan_.parallel == P::kOpen ? ThreadsPay(work, most, target_) : plan_.parallel == 1;
    bool one_loop = takes && target_.threads != 1 && gemm_.loops.batch.empty() && most > 1;
    if (!one_loop || !Try(&schedule_, [&](Schedule* attempt) {
          attempt->Parallel(loops_.At(!by_rows ? "jb" : plan_.block_m ? "ib" : "io"));
        }))
      return ParallelizeOuter(&schedule_, block_, work, target_, &plan_);
    ShareWork(1, work, most, target_, &plan_);
    // What is an instruction's has no loops to share.
    if (!by_rows || packed.empty() || prepacked() || transposed_) return;
    Nest nest = NestOf(schedule_.tree(), schedule_.At(packed));
    Try(&schedule_,
        [&](Schedule* attempt) { attempt->Parallel(LoopRef(nest.loops.front()).Of(packed)); });
  }

  void SplitLoops() {
    RegisterTile tile = plan_.tile();
    if (plan_.block_m)
      loops_.Split(&schedule_, gemm_.loops.m, {plan_.block_m / tile.m, tile.m}, {"ib", "io", "ii"});
    else
      loops_.Split(&schedule_, gemm_.loops.m, {tile.m}, {"io", "ii"});
    if (plan_.block_n)
      loops_.Split(&schedule_, gemm_.loops.n,
                   {plan_.block_n / plan_.tile_n, tile.vectors, tile.lanes},
                   {"jb", "jo", "jv", "ji"}, tail_of_n_);
    else
      loops_.Split(&schedule_, gemm_.loops.n, {tile.vectors, tile.lanes}, {"jo", "jv", "ji"},
                   tail_of_n_);
    if (SplitsK())
      loops_.Split(&schedule_, gemm_.loops.k, {plan_.block_k ? plan_.block_k : plan_.k_streams},
                   {"lo", "li"});
    LoopRefs order = gemm_.loops.batch.Of(block_);
    std::vector<std::string> outer = {"jb", "ib", "io", "jo"};
    if (plan_.n_outer) std::swap(outer[2], outer[3]);
    if (SplitsK()) outer.insert(outer.begin() + (plan_.block_k ? 2 : 4), "lo");
    if (!plan_.block_m) std::erase(outer, "ib");
    if (!plan_.block_n) std::erase(outer, "jb");
    for (const std::string& loop : outer) order.push_back(loops_.At(loop));
    order.push_back(SplitsK() ? loops_.At("li") : At(gemm_.loops.k));
    for (const char* loop : {"ii", "jv", "ji"}) order.push_back(loops_.At(loop));
    schedule_.Reorder(order);
  }

  // A is converted by blocks of rows, which stay in L2, where no other block of columns needs them;
  // else all of a matrix of the batch; else all of it, in parallel.
  void ConvertLeft() {
    LoopRef loop;
    bool all_of_n = !plan_.block_n || (gemm_.n <= plan_.block_n && !gemm_.dynamic_n);
    if (plan_.block_k == 0 && all_of_n)
      loop = loops_.At(plan_.block_m ? "ib" : "io");
    else if (!gemm_.loops.batch.empty())
      loop = gemm_.loops.batch.back();
    if (loop && Try(&schedule_, [&](Schedule* attempt) {
          LoopRefs made = attempt->ComputeAt(left_, At(loop));
          if (made.empty()) return;
          Lanes split = SplitLanes(attempt, left_, made.back(), plan_.vector, TailStrategy::kMask);
          attempt->Vectorize(split.inner.Of(left_));
        }))
      return;
    ApplyRules(&schedule_, DescribeBlock(schedule_, left_), target_);
  }

  void ParallelizePacking(Schedule* schedule, const BlockRef& copy) const {
    ParallelizeOuter(schedule, copy, WorkOf(*schedule, copy), target_);
  }

  // What is computed only to be multiplied is computed on the way.
  CopyRef Copy(const GemmOperand& operand, const std::string& name) {
    CopyRef copy = schedule_.CacheRead(block_, operand.buffer, StorageScope::kGlobal, name);
    FusePrologue(&schedule_, copy);
    return copy;
  }

  // Panels of tile_m rows of A.
  void PackLeft() {
    CopyRef copy = Copy(gemm_.a, Name("left_packed"));
    PackPanels(copy, gemm_.a, plan_.tile_m, 1);
    ParallelizeOuter(&schedule_, copy, WorkOf(schedule_, copy), target_);
  }

  // The block that converts a K-contiguous B, or pads it: vectors along K, which are transposed in
  // registers then. None where B is packed as it is, or its block has threads of its own already:
  // then it is computed while it is packed.
  BlockRef FindRowsOfB() const {
    if (plan_.pack_b != kPacked || !gemm_.b.k_contiguous() ||
        gemm_.b.dtype != DataType::Float(32) || (!gemm_.dynamic_k && gemm_.k < plan_.vector))
      return {};
    BlockRef rows = ProducerOf(schedule_, gemm_.b.buffer);
    if (rows.empty()) return {};
    std::vector<const ForNode*> loops = NestOf(schedule_.tree(), schedule_.At(rows)).loops;
    bool is_parallel = std::any_of(loops.begin(), loops.end(), [](const ForNode* loop) {
      return loop->for_kind == ForKind::kParallel;
    });
    return is_parallel ? BlockRef() : rows;
  }
  void CopyRows(const BlockRef& rows) {
    LoopRefs loops = LoopsOfAxes(schedule_, rows);
    const LoopRef& sum = loops[gemm_.b.k_dim];
    if (sum.empty()) return;
    Try(&schedule_, [&](Schedule* attempt) {
      Lanes split = SplitLanes(attempt, rows, sum, plan_.vector, TailStrategy::kMask);
      attempt->Vectorize(split.inner.Of(rows));
    });
  }

  // Panels of so many rows or columns, K-major; with several streams, K is interleaved over them.
  void PackPanels(const CopyRef& copy, const GemmOperand& operand, int64_t tile, int64_t streams) {
    std::string size = std::to_string(tile), count = std::to_string(streams),
                k = streams > 1 ? "k % " + count + ", k // " + count : "k";
    schedule_.TransformLayout(copy, PackedLayout(operand.rank, operand.own_dim, operand.k_dim,
                                                 "x // " + size + ", " + k + ", x % " + size));
  }

  void Pack(const CopyRef& copy) {
    const GemmOperand& operand = gemm_.b;
    LoopRefs loops = LoopsOfAxes(schedule_, copy), order;
    PackPanels(copy, operand, plan_.tile_n, plan_.k_streams);
    for (size_t d = 0; d < operand.rank; ++d)
      if (d != operand.own_dim && d != operand.k_dim && loops[d]) order.push_back(loops[d]);
    if (loops[operand.own_dim].empty()) Refuse("one column is no vector");
    if (operand.k_contiguous() && Transpose(copy, loops, order)) return;
    LoopRefs own = SplitColumns(&schedule_, copy, loops, tail_of_n_);
    const LoopRef& sum = loops[operand.k_dim];
    if (sum.empty()) {
      order.push_back(own[0]);
    } else if (operand.k_contiguous()) {
      order.insert(order.end(), {own[0], sum});
    } else {
      // Some rows of B at a time, each of which is read along memory.
      LoopRefs steps = SplitRows(&schedule_, copy, sum, kRowStreams);
      order.insert(order.end(), {steps[0], own[0], steps[1]});
    }
    order.insert(order.end(), {own[1], own[2]});
    schedule_.Reorder(order.Of(copy));
    if (operand.k_contiguous() ||
        !Try(&schedule_, [&](Schedule* attempt) { attempt->Vectorize(own[2].Of(copy)); }))
      schedule_.Unroll(own[2].Of(copy));
  }
  LoopRefs SplitColumns(Schedule* schedule, const BlockRef& copy, const LoopRefs& loops,
                        TailStrategy tail) const {
    return schedule->Split(loops[gemm_.b.own_dim].Of(copy),
                           {plan_.tile_n / plan_.vector, plan_.vector},
                           {copy + "_o", copy + "_v", copy + "_i"}, tail);
  }
  static LoopRefs SplitRows(Schedule* schedule, const BlockRef& copy, const LoopRef& sum,
                            int64_t rows) {
    return schedule->Split(sum.Of(copy), {rows}, {copy + "_so", copy + "_si"});
  }

  // The steps behind the last vector of K are copied by themselves. Returns the loop of the others.
  LoopRef PartSteps(Schedule* schedule, const BlockRef& copy, const LoopRefs& loops) const {
    const LoopRef &sum = loops[gemm_.b.k_dim], &own = loops[gemm_.b.own_dim];
    Expr extent = schedule->At(sum)->extent;
    if (Divides(plan_.vector, extent)) return sum;
    schedule->Reorder(LoopRefs{sum, own}.Of(copy));
    return schedule->LoopPartition(sum.Of(copy),
                                   ir::FloorDiv(extent, Expr(plan_.vector)) * Expr(plan_.vector),
                                   {sum + "_f", sum + "_r"})[0];
  }

  // K-contiguous B is transposed in registers, a vector of vectors at a time.
  bool Transpose(const CopyRef& copy, const LoopRefs& loops, LoopRefs order) {
    const LoopRef& sum = loops[gemm_.b.k_dim];
    if (sum.empty() || gemm_.b.dtype != DataType::Float(32)) return false;
    return transposed_ = Try(&schedule_, [&](Schedule* attempt) {
             LoopRef whole = prepacked() ? sum : PartSteps(attempt, copy, loops);
             LoopRefs own = SplitColumns(attempt, copy, loops, TailStrategy::kLoop),
                      steps = SplitRows(attempt, copy, whole, plan_.vector);
             order.insert(order.end(), {own[0], steps[0], own[1], steps[1], own[2]});
             attempt->Reorder(order.Of(copy));
             if (prepacked()) ParallelizePacking(attempt, copy);
             attempt->Tensorize(steps[1].Of(copy), "f32_transpose_" + std::to_string(plan_.vector));
           });
  }

  Schedule& schedule_;
  BlockRef block_, left_;
  const Gemm& gemm_;
  P& plan_;
  const TargetInfo& target_;
  TailStrategy tail_of_n_;
  bool transposed_ = false;  // the packed block is an instruction's then
  NamedLoops loops_;
};

// Floats of 32 and 64 bits, and integers of 32.
bool IsComputed(DataType dtype) {
  return dtype == DataType::Float(32) || dtype == DataType::Float(64) || dtype == DataType::Int(32);
}

bool IsPlain(const Gemm& gemm) {
  DataType dtype = gemm.c->dtype;
  return gemm.a.dtype == dtype && gemm.b.dtype == dtype;
}

// Operands are converted once: A before it is used (ConvertLeft), B while it is packed.
Gemm WidenOperands(Schedule* schedule, const BlockInfo& block, const Gemm& gemm,
                   BatchAxes batch_axes) {
  DataType dtype = gemm.c->dtype;
  for (const GemmOperand& operand : {gemm.a, gemm.b}) {
    if (operand.dtype == dtype) continue;
    CopyRef copy = schedule->CacheRead(block.ref, operand.buffer, StorageScope::kGlobal,
                                       FreshBlockName(*schedule, block.ref + "_" + operand.name));
    schedule->SetDtype(copy, dtype);
  }
  return RequireGemm(*schedule, block.ref, Sizes::kDynamic, batch_axes);
}

// Refuses what is not worth a tile of vectors.
void CheckTakesVectors(const Gemm& gemm, const TargetInfo& target) {
  DataType dtype = gemm.c->dtype;
  if (!IsComputed(dtype))
    Refuse("the result is " + dtype.str() + "; expected float32, float64 or int32");
  int64_t lanes = target.vector_bytes / dtype.bytes();
  if (gemm.m == 0 || gemm.n == 0 || gemm.k == 0) Refuse("M, N or K is 0");
  if (lanes < 2) Refuse("a vector has room for one " + dtype.str() + " alone");
  if (target.vector_registers < kLeastRegisters)
    Refuse("there are fewer than " + std::to_string(kLeastRegisters) + " vector registers");
}

// What the plans need to know, once operands have the type of the accumulators.
PackedGemmProblem MakeProblem(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                              LayoutOfB b_layout, BatchAxes batch_axes = BatchAxes::kShared) {
  PackedGemmProblem problem{RequireGemm(*schedule, block, Sizes::kDynamic, batch_axes), b_layout};
  Gemm& gemm = problem.gemm;
  GuessSizes(&gemm, target);
  CheckTakesVectors(gemm, target);
  // Few rows convert B while they read it.
  bool in_place = gemm.m < kFewRows && !gemm.b.k_contiguous() && b_layout != LayoutOfB::kGathered;
  if (!IsPlain(gemm) && !in_place) {
    if (gemm.m < kPackUses && !gemm.b.k_contiguous())
      Refuse("operands would be converted for M = " + std::to_string(gemm.m) +
             " rows; that pays from " + std::to_string(kPackUses) + " on");
    gemm = WidenOperands(schedule, block, gemm, batch_axes);
    GuessSizes(&gemm, target);
    if (!IsPlain(gemm)) Refuse("an operand could not be converted to the type of the result");
    problem.b_layout = LayoutOfB::kGathered;
  }
  problem.constant_a = IsConstant(*schedule, gemm.a.name);
  problem.constant_b = IsConstant(*schedule, gemm.b.name);
  problem.lanes = target.vector_bytes / gemm.c->dtype.bytes();
  return problem;
}

std::string RowsOfLeft(const BlockInfo& block) { return block.name + "_rows"; }

// Steps along K of an M-contiguous A are in K cache lines, or pages. Where these do not stay in L2
// until the next tile of M, A is copied to rows of K first, transposed in registers.
void TurnLeft(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  Gemm gemm = RequireGemm(*schedule, block, Sizes::kDynamic);
  GuessSizes(&gemm, target);
  const GemmOperand& a = gemm.a;
  bool is_large = gemm.dynamic_k || gemm.m * gemm.k * a.bytes() > target.l2_bytes;
  if (!a.m_contiguous() || a.dtype != DataType::Float(32) || gemm.c->dtype != a.dtype ||
      gemm.m < kLeastTransposedRows || !is_large || IsConstant(*schedule, a.name))
    return;
  CopyRowsOfA(schedule, block.ref, a, RowsOfLeft(block));
}

std::vector<P> PackedPlans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                           const Wanted<P>& want) {
  TurnLeft(schedule, block, target);
  BlockInfo turned = DescribeBlock(*schedule, block.ref);
  return PackedGemmPlans(MakeProblem(schedule, turned, target, LayoutOfB::kAsIndexed), target,
                         want);
}

// The block that converts A, for this block alone, or none.
BlockRef FindConversion(const Schedule& schedule, const BlockRef& block, const Gemm& gemm) {
  BlockRef producer = ProducerOf(schedule, gemm.a.buffer);
  if (!producer) return {};
  BlockInfo copy = DescribeBlock(schedule, producer);
  bool converts = copy.kind == BlockKind::kElementwise && copy.accesses.size() == 2 &&
                  copy.accesses[0].buffer->dtype != copy.accesses[1].buffer->dtype;
  for (const BlockNode* other : BlocksIn(schedule.function()->body))
    converts &= other == schedule.At(producer) || other == schedule.At(block) ||
                !Touches(AsStmt(other), gemm.a.buffer);
  return converts ? producer : BlockRef();
}

void ApplyPacked(Schedule* schedule, const BlockInfo& before, const TargetInfo& target, P* chosen) {
  const P& plan = *chosen;
  BlockInfo block = DescribeBlock(*schedule, before.ref);
  BatchAxes batch_axes = plan.batch_axes();
  Gemm gemm = RequireGemm(*schedule, block, Sizes::kDynamic, batch_axes);
  BlockRef left = FindConversion(*schedule, block.ref, gemm);
  // LLVM vectorizes the static tail of a copy.
  bool masks =
      target.masked_vectors && (gemm.dynamic_n || (!plan.pack_b && gemm.n % plan.tile_n != 0));
  bool all_of_m = gemm.dynamic_m && !plan.block_m;
  int64_t columns = plan.multiple_of_n(gemm.dynamic_n);
  bool whole_m = all_of_m || (!gemm.dynamic_m && gemm.m % plan.tile_m == 0),
       whole_n = !gemm.dynamic_n && gemm.n % columns == 0;
  if (!plan.block_k && !(whole_m && whole_n)) {
    Buffer a = gemm.a.buffer, b = gemm.b.buffer;
    gemm = PadGemm(schedule, block, {.m = all_of_m ? 1 : plan.tile_m, .n = columns},
                   Sizes::kDynamic, batch_axes);
    // Padding is no copy, unless all of it is copied, or a block of rows.
    bool pads_a = !gemm.a.buffer.same(a), pads_b = !gemm.b.buffer.same(b);
    if (pads_a && plan.pack_a == kPacked) {
      left = ProducerOf(*schedule, gemm.a.buffer);
      FusePrologue(schedule, left);
    } else if (pads_a && !plan.pack_a) {
      schedule->ComputeInline(ProducerOf(*schedule, gemm.a.buffer));
    }
    if (pads_b && !plan.pack_b) schedule->ComputeInline(ProducerOf(*schedule, gemm.b.buffer));
  }
  GuessSizes(&gemm, target);
  HostMatmul(schedule, block.ref, left, gemm, chosen, target, masks).Run();
}

void ApplyMatmul(Schedule* schedule, const BlockInfo& block, const TargetInfo& target, P* plan) {
  ApplyPacked(schedule, block, target, plan);
  if (BlockRef copy = FindBlock(*schedule, RowsOfLeft(block)))
    ApplyRules(schedule, DescribeBlock(*schedule, copy), target);
}

// Whether what a block copies, [K, N], has N contiguous.
bool IsContiguousN(const Schedule& schedule, const BlockRef& copy) {
  const BlockNode* block = schedule.At(copy);
  const auto* store = block->body.As<BufferStoreNode>();
  const auto* load = store ? store->value.As<ir::BufferLoadNode>() : nullptr;
  if (!load || !load->buffer->strides.empty()) return false;
  arith::Analyzer analyzer;
  for (const BlockIter& iter : block->iters)
    analyzer.BindRange(iter.var, ir::MakeConst(iter.var.dtype(), 0), iter.extent);
  auto place = arith::AsLinear(analyzer.Simplify(FlatIndex(load->buffer, load->indices)),
                               block->iters.back().var.node());
  return place && place->coefficient == 1;
}

// Whether what is summed over is contiguous in an operand, as channels of NHWC are.
bool HasContiguousChannels(const BlockInfo& block) {
  return std::any_of(block.accesses.begin(), block.accesses.end(), [&](const BlockAccess& access) {
    return std::any_of(block.axes.begin(), block.axes.end(), [&](const BlockAxis& axis) {
      return axis.kind == IterKind::kReduce && !access.indices.empty() &&
             IsChannelIndex(access.indices.back(), axis) && access.axes.size() > 2;
    });
  });
}

// implicit_gemm: convolutions, several M, N or K axes, other sums of products.
//
//   the nest of packed_matmul on im2col's matrices. Of NHWC, M are pixels, N output channels and K
//   the window's channels; of NCHW, A are the weights, and N the pixels:
//     B_packed = pack(W)                     im2col of W, inlined into the packing
//     for k_o, k_i                           K split at its innermost axis: no quotients in k_i
//       acc += X[pixel + window, channel] * B_packed        im2col of X, inlined into the loads
//     Y[pixel, channel] = epilogue(acc)      the copy back from im2col
//
// Costs and limits are those of packed_matmul. Declines what im2col or packed_matmul decline.
struct ImplicitGemm {
  PackedGemmProblem problem;
  CopyRefs matrices;  // A, B and C
};
ImplicitGemm MakeImplicit(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          BatchAxes batch_axes) {
  bool batch = batch_axes == BatchAxes::kOuterN;
  bool has_vectors = FindVectorAxis(block) || FindReducedVectorAxis(block);
  ColumnsApart apart = FindColumnsApart(block);
  if (HasContiguousChannels(block)) MakeChannelsInnermost(schedule, block);
  Schedule::Names in_batch = SharedAxes(block);
  if (batch) in_batch.insert(in_batch.end(), apart.axes.begin(), apart.axes.end());
  CopyRefs made =
      schedule->Im2col(block.ref, in_batch, {block.ref + "_a", block.ref + "_b", block.ref + "_c"});
  FuseEpilogue(schedule, made[2], block.accesses[0].buffer);
  bool swapped = block.kind == BlockKind::kReduction &&
                 SwapNarrow(schedule, block.ref, made[0], target.vector_bytes);
  LayoutOfB layout = !swapped && IsContiguousN(*schedule, made[1]) ? LayoutOfB::kContiguousN
                                                                   : LayoutOfB::kGathered;
  PutContiguousLast(schedule, made[swapped ? 0 : 1]);
  BlockInfo gemm = DescribeBlock(*schedule, block.ref);
  PackedGemmProblem problem = MakeProblem(schedule, gemm, target, layout, batch_axes);
  // Depthwise convolutions and other sums of products with few rows, or with so few columns that
  // vectors along other axes are better, where there are any.
  bool narrow = problem.gemm.n < problem.lanes && (problem.gemm.n < kLeastColumns || has_vectors);
  if (block.kind == BlockKind::kReduction && (problem.gemm.m < kPackUses || narrow))
    Refuse("M is " + std::to_string(problem.gemm.m) + " and N " + std::to_string(problem.gemm.n) +
           "; expected " + std::to_string(kPackUses) + " and " +
           std::to_string(has_vectors ? problem.lanes : kLeastColumns) + " or more");
  problem.scattered = !batch && !apart.axes.empty() && apart.contiguous % problem.lanes != 0;
  return {problem, made};
}

std::vector<P> ImplicitPlans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                             const Wanted<P>& want) {
  std::vector<P> plans;
  auto add = [&](Schedule* attempt, BatchAxes batch_axes) {
    PackedGemmProblem problem = MakeImplicit(attempt, block, target, batch_axes).problem;
    for (P plan : PackedGemmPlans(problem, target, want)) {
      plan.batch = batch_axes == BatchAxes::kOuterN;
      plans.push_back(plan);
    }
  };
  Schedule fused = *schedule, apart = *schedule;
  add(&fused, BatchAxes::kShared);
  if (!FindColumnsApart(block).axes.empty())
    Try(&apart, [&](Schedule* attempt) { add(attempt, BatchAxes::kOuterN); });
  return plans;
}

void ApplyImplicit(Schedule* schedule, const BlockInfo& block, const TargetInfo& target, P* plan) {
  CopyRefs made = MakeImplicit(schedule, block, target, plan->batch_axes()).matrices;
  const BlockNode* left = schedule->At(made[0]);
  int64_t part = InnermostFused(*schedule, made[0], left->iters.size() - 1);
  ApplyPacked(schedule, block, target, plan);
  // im2col is fused into the packing, or into the loads.
  for (const CopyRef& operand : {made[0], made[1]})
    if (schedule->tree().Has(operand))
      Try(schedule, [&](Schedule* attempt) { attempt->ComputeInline(operand); });
  // Loops of their own spare the quotients of fused axes.
  if (part < 2 || plan->block_k || plan->k_streams > 1) return;
  for (const LoopRef& loop : LoopsOfAxes(*schedule, block.ref))
    if (loop.name() == block.name + "_l") SplitLanes(schedule, block.ref, loop, part);
}

// subsampled_matmul: 1x1 convolutions with strides whose pixels are contiguous (NCHW).
//
//   B[k, n] = X[k, y * 2, x * 2]        im2col, no larger than X: copied once, by rows
//   Y = epilogue(W * B)                 by channel_vectors or packed_matmul
//
// implicit_gemm would gather B element by element while it packs it.
// Declines: windows of several elements, no stride along the contiguous axis, fewer output channels
// than L1 has ways, dynamic sizes, not float32 or float64 alone.
void CheckSubsampled(const BlockInfo& block, const TargetInfo& target) {
  DataType dtype = block.accesses[0].buffer->dtype;
  int64_t channels = 0;
  for (const BlockAxis& axis : block.axes) {
    std::optional<int64_t> extent = ir::AsConstInt(axis.extent);
    if (!extent) Refuse("the extent of axis " + axis.var.name() + " is dynamic");
    if (axis.role == AxisRole::kWindow && *extent > 1) Refuse("its windows have several elements");
    if (axis.role == AxisRole::kN) channels = std::max(channels, *extent);
  }
  if (dtype != DataType::Float(32) && dtype != DataType::Float(64))
    Refuse("it computes with " + dtype.str() + "; expected float32 or float64");
  for (const BlockAccess& access : block.accesses)
    if (access.buffer->dtype != dtype) Refuse("its tensors are not of one type");
  if (channels < target.l1_ways)
    Refuse("it has " + std::to_string(channels) + " output channels; expected " +
           std::to_string(target.l1_ways) + " or more");
}

void SubsampledMatmul(Schedule* schedule, const BlockInfo& block, const TargetInfo& target) {
  CheckSubsampled(block, target);
  CopyRefs made = schedule->Im2col(block.ref, SharedAxes(block),
                                   {block.ref + "_a", block.ref + "_b", block.ref + "_c"});
  if (!IsSubsampled(*schedule, made[1])) Refuse("its pixels are read without strides");
  FuseEpilogue(schedule, made[2], block.accesses[0].buffer);
  // Vectors along the channels of weights [o, c, 1, 1] would be along no last index.
  bool in_rows = std::all_of(block.accesses.begin(), block.accesses.end(), [](const auto& access) {
    return access.indices.empty() || !ir::AsConstInt(access.indices.back());
  });
  auto takes = [&](const char* rule) {
    PlanRequest request{block.name, rule, {}};
    BlockInfo product = DescribeBlock(*schedule, block.ref);
    return !ApplyRules(schedule, product, target, &request).rule.empty();
  };
  if (!(in_rows && takes("channel_vectors")) && !takes("packed_matmul"))
    Refuse("no rule takes the GEMM");
  if (schedule->tree().Has(made[0]))
    Try(schedule, [&](Schedule* attempt) { attempt->ComputeInline(made[0]); });
  if (schedule->tree().Has(made[1])) CopyOperand(schedule, made[1], target);
}

}  // namespace

void RegisterHostMatmulRules() {
  auto has_vectors = [](const TargetInfo& target) { return target.is_host_with_vectors(); };
  RegisterRule({.name = "packed_matmul",
                .description = "register-tiled GEMM, B packed in panels for L2, fused epilogue",
                .kinds = {BlockKind::kMatmul},
                .fits = has_vectors,
                .priority = 30,
                .planned = Planned<P>(PackedPlans, ApplyMatmul)});
  RegisterRule({.name = "subsampled_matmul",
                .description = "1x1 convolutions with strides: pixels copied by rows, then a GEMM",
                .kinds = {BlockKind::kConvolution},
                .fits = has_vectors,
                .priority = 29,
                .apply = SubsampledMatmul});
  RegisterRule({.name = "implicit_gemm",
                .description = "packed_matmul after im2col, which is fused into the packing",
                .kinds = {BlockKind::kMatmul, BlockKind::kConvolution, BlockKind::kReduction},
                .fits = has_vectors,
                .priority = 25,
                .planned = Planned<P>(ImplicitPlans, ApplyImplicit)});
}

}  // namespace tern::schedule
