// SPDX-License-Identifier: Apache-2.0
//
// GEMM of 3 to 16 rows with weights B[j, k] that a block computes of packed elements, on matrix
// instructions of warps: decoding with weights of 4 bits, with scales and zero points of groups.
//
//   for part, jb                              blockIdx: a part of K, tile_n columns of C
//     for lo, blocks of tile_k, pipelined in `stages`
//       A_shared, packed_shared, ...          asynchronous copies of what is in memory
//       for jw                                threadIdx.y: warps
//         for lk                              32 of K
//           A_fragment = A_shared             16 bytes a lane
//           for jt                            16 columns
//             B_fragment = unpacked           by the lane that multiplies it, of 4 bytes
//             acc += B_fragment * A_fragment  columns of C are the 16 rows of an instruction
//     C = epilogue(acc)
//
// B is read once, as it is packed. Cycles: those of the busiest multiprocessor, by the bytes of B
// and A that its thread blocks read, and of a kernel that adds up parts of K. Declines where B is
// not computed of narrower elements, or has rows that are no whole tiles, and where A has more
// rows.
#include <algorithm>
#include <array>
#include <cmath>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/matrix_fragments.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/analysis/vector_move.h"

namespace tern::schedule {
namespace {

// Of an instruction: rows, which are columns of C; columns, which are its rows. K of two of them.
constexpr int64_t kColumns = 16, kRows = 8, kSteps = 32;
constexpr int64_t kLeastRows = 3, kMostRows = 16, kLanes = 32, kMostStages = 6;
// Bytes under way on a multiprocessor, which keep memory busy.
constexpr int64_t kBytesUnderWay = 48 << 10;
constexpr int64_t kMostParts = 16, kLeastSteps = 3;
// Bytes of B that a multiprocessor unpacks and multiplies in a cycle, with several thread blocks
// and with one; of A that it reads. As measured on an H200, where plans differ by up to a half.
constexpr double kBytesPerCycle = 9, kBytesPerCycleAlone = 7, kRowBytesPerCycle = 15;
// Steps until the pipeline is full. What few warps take longer.
constexpr double kFill = 2, kFewWarps = 1.3;
// The same of copies of few bytes, which are not asynchronous.
constexpr double kWaits = 1.2;
constexpr int64_t kWarps = 4;
// Until the first thread block runs, and a second kernel, which adds up parts; their bytes in a
// cycle, and those of all memory.
constexpr double kStartCycles = 3000, kLaunchCycles = 2500;
constexpr double kPartBytesPerCycle = 930, kMemoryBytesPerCycle = 2400;
// Thread blocks of a multiprocessor that share what is under way.
constexpr int64_t kResident = 2;

struct PackedPlan : DeviceGemmPlan {
  int64_t warps = 1;

  static const std::vector<PlanField<PackedPlan>>& Fields() {
    using P = PackedPlan;
    static const std::vector<PlanField<P>> fields = {
        {"tile_m", &P::tile_m}, {"tile_n", &P::tile_n}, {"tile_k", &P::tile_k},
        {"warps", &P::warps},   {"stages", &P::stages}, {"split_k", &P::split_k}};
    return fields;
  }
};
using P = PackedPlan;

// What computes B, and the narrower elements that it reads along K.
struct Packed {
  BlockRef block;
  std::vector<tir::Buffer> read;  // beside these, scales and zero points
  double bytes = 0;               // of an element of B
  double least = kCopyBytes;      // bytes of a row of one of them, for each of K
};

Packed RequirePacked(const Schedule& schedule, const Gemm& gemm) {
  BlockRef block = ProducerOf(schedule, gemm.b.buffer);
  BlockInfo info = block ? DescribeBlock(schedule, block) : BlockInfo();
  bool is_elementwise = block && !info.conditional &&
                        std::all_of(info.axes.begin(), info.axes.end(), [](const BlockAxis& axis) {
                          return axis.kind == tir::IterKind::kSpatial;
                        });
  Packed packed{.block = block};
  bool is_narrower = false;
  for (const BlockAccess& access : info.accesses) {
    if (access.store || access.buffer.same(gemm.b.buffer)) continue;
    if (std::none_of(packed.read.begin(), packed.read.end(),
                     [&](const tir::Buffer& other) { return other.same(access.buffer); }))
      packed.read.push_back(access.buffer);
    is_narrower |= access.buffer->dtype.bits() < gemm.b.dtype.bits();
  }
  if (!is_elementwise || !is_narrower) Refuse("B is not computed of narrower elements");
  for (const tir::Buffer& buffer : packed.read) {
    double elements = buffer->dtype.bytes();
    for (const ir::Expr& extent : buffer->shape)
      elements *= static_cast<double>(ir::AsConstInt(extent).value_or(1));
    if (buffer->shape.size() == 2)
      packed.least = std::min(
          packed.least, buffer->dtype.bytes() *
                            static_cast<double>(ir::AsConstInt(buffer->shape[1]).value_or(1)) /
                            static_cast<double>(gemm.k));
    packed.bytes += elements / (static_cast<double>(gemm.n) * static_cast<double>(gemm.k));
  }
  return packed;
}

int64_t StageBytes(const Gemm& gemm, const Packed& packed, const P& plan) {
  auto b = static_cast<int64_t>(packed.bytes * static_cast<double>(plan.tile_n * plan.tile_k));
  return plan.tile_m * PaddedRow(plan.tile_k, gemm.a.bytes()) * gemm.a.bytes() + b +
         plan.tile_n * kCopyBytes;
}

// Cycles of the busiest multiprocessor: its thread blocks, each of which fills its pipeline first.
void SetCost(const Gemm& gemm, const Packed& packed, const TargetInfo& target, P* plan) {
  auto multiprocessors = static_cast<double>(target.busy_blocks);
  int64_t blocks = gemm.batch * (gemm.n / plan->tile_n) * plan->split_k,
          steps = gemm.k / plan->split_k / plan->tile_k;
  double most = std::ceil(static_cast<double>(blocks) / multiprocessors);
  auto depth = static_cast<double>(plan->tile_k);
  double step = static_cast<double>(plan->tile_n) * depth * packed.bytes /
                    (most > 1 ? kBytesPerCycle : kBytesPerCycleAlone) +
                static_cast<double>(plan->tile_m * gemm.a.bytes()) * depth / kRowBytesPerCycle;
  // Short tiles, and few warps, wait more often.
  step *= 1 + kSteps / depth;
  if (plan->warps < kWarps) step *= kFewWarps;
  if (packed.least * depth < tir::kLeastAsyncBytes) step *= kWaits;
  plan->cycles = kStartCycles + most * (static_cast<double>(steps) + kFill) * step;
  if (plan->split_k > 1)
    plan->cycles += kLaunchCycles + static_cast<double>(plan->split_k * gemm.m * gemm.n *
                                                        gemm.c->dtype.bytes() * 2) /
                                        kPartBytesPerCycle;
  plan->limit = static_cast<double>(gemm.n) * static_cast<double>(gemm.k) * packed.bytes /
                kMemoryBytesPerCycle;
}

std::vector<P> Plans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                     const MatrixInstructions& machine, const Wanted<P>& want) {
  if (machine.packed.empty()) Refuse("the machine has no such instructions");
  Gemm gemm = RequireDeviceGemm(schedule, block.ref, target);
  MatrixTypeOf(gemm, target, machine);
  CheckMatrixDims(gemm, target);
  if (!tir::HasFlag(schedule->function(), tir::attr::kReassociate))
    Refuse("matrix instructions sum in another order, and the function does not say reassociate");
  Packed packed = RequirePacked(*schedule, gemm);
  if (gemm.is_dynamic() || gemm.m < kLeastRows || gemm.m > kMostRows || !gemm.a.k_contiguous() ||
      !gemm.b.k_contiguous())
    Refuse("it is not for " + std::to_string(kLeastRows) + " to " + std::to_string(kMostRows) +
           " rows, of operands along K");
  std::vector<P> plans;
  for (const auto& [columns, warps] : {std::array{128, 4}, {64, 4}, {64, 2}, {32, 2}, {16, 1}})
    for (int64_t tile_k : {256, 128, 64, 32})
      for (int64_t parts = 1; parts <= kMostParts; parts *= 2) {
        P plan;
        plan.tile_m = CeilDiv(gemm.m, kRows) * kRows;
        plan.tile_n = want.Or(&P::tile_n, columns);
        plan.tile_k = want.Or(&P::tile_k, tile_k);
        plan.warps = want.Or(&P::warps, warps);
        plan.split_k = want.Or(&P::split_k, parts);
        if (gemm.n % plan.tile_n != 0 || gemm.k % (plan.tile_k * plan.split_k) != 0) continue;
        if (plan.tile_n % (plan.warps * kColumns) != 0) continue;
        if (parts > 1 && gemm.k / plan.split_k < kLeastSteps * plan.tile_k) continue;
        int64_t stage = StageBytes(gemm, packed, plan);
        plan.stages = want.Or(
            &P::stages,
            std::clamp<int64_t>(1 + CeilDiv(kBytesUnderWay / kResident, stage), 3, kMostStages));
        if (plan.stages * stage > target.shared_bytes) continue;
        SetCost(gemm, packed, target, &plan);
        plans.push_back(plan);
      }
  if (plans.empty()) Refuse("rows of B are no whole tiles");
  return plans;
}

class PackedScheduler : public MatrixSteps {
 public:
  PackedScheduler(Schedule* schedule, const BlockRef& block, const Gemm& gemm, const Packed& packed,
                  const std::string& type, const P& plan, const MatrixInstructions& machine)
      : MatrixSteps(schedule, block, gemm, type, plan,
                    {{"threadIdx.y", plan.warps}, {"threadIdx.x", kLanes}}, machine),
        plan_(plan),
        packed_(packed) {}

  void Run() {
    const BlockRef& b = packed_.block;
    schedule_.SetScope(gemm_.b.buffer, tir::StorageScope::kFragmentA);
    BlockRef reader =
        KeepAccumulators(&schedule_, block_, gemm_, tir::StorageScope::kFragmentAccumulator);
    BufferRef sums = gemm_.epilogue.empty() ? CopiedBy(reader) : BufferRef(gemm_.c);
    Tile();
    CopyRef rows = CopyToShared(gemm_.a);
    CopyRef a = schedule_.CacheRead(block_, rows, tir::StorageScope::kFragmentB, Name("af"));
    struct Copy {
      CopyRef shared, local;
    };
    std::vector<Copy> copies;
    for (const tir::Buffer& buffer : packed_.read) {
      if (!HasRows(buffer)) continue;
      std::string number = std::to_string(copies.size());
      Copy copy;
      copy.local = schedule_.CacheRead(b, buffer, tir::StorageScope::kLocal, Name("pl" + number));
      copy.shared =
          schedule_.CacheRead(copy.local, buffer, tir::StorageScope::kShared, Name("ps" + number));
      copies.push_back(copy);
    }
    LoopRefs stored = schedule_.ReverseComputeAt(reader, At("jb"), Own("c", "i", "j"));
    BlockRef init = schedule_.DecomposeReduction(block_, At("lo"), Name("init"));
    for (const BlockRef& block : {init, block_}) schedule_.Bind(At(block, "jw"), "threadIdx.y");
    LoopRefs unpacked = schedule_.ComputeAt(b, At("jt"), Own("w", "j", "k"));
    if (ExtentOf(unpacked[0]) != kColumns) std::swap(unpacked[0], unpacked[1]);
    LoopRefs loaded = schedule_.ComputeAt(a, At("lk"), Own("af", "i", "k"));
    LoopRefs row_copy = schedule_.ComputeAt(rows, At("lo"), Own("as", "i", "k"));
    SetMatrixLayout(sums, gemm_.c->shape.size(),
                    "i // 8, j // 16, j % 8 * 4 + i % 8 // 2, j % 16 // 8 * 2 + i % 2");
    SetMatrixLayout(a, gemm_.a.rank, "i // 8, j // 32, i % 8 * 4 + j % 32 // 8, j % 8");
    SetMatrixLayout(gemm_.b.buffer, gemm_.b.rank,
                    "i // 16, j // 32, i % 8 * 4 + j % 32 // 8, "
                    "j % 8 // 4 * 8 + j % 4 // 2 * 4 + i % 16 // 8 * 2 + j % 2");
    LoopRef columns = Unpack(unpacked);
    for (size_t i = 0; i < copies.size(); ++i) {
      const auto& [shared, local] = copies[i];
      LoopRefs own = schedule_.ComputeAt(local, columns);
      if (!own.empty()) schedule_.Vectorize(own.back().Of(local));
      LoopRefs all = schedule_.ComputeAt(shared, At("lo"));
      AlignRow(shared, 16);
      ShareAmongThreads(shared, all, "p" + std::to_string(i));
    }
    AlignRow(rows, 64);
    ShareAmongThreads(rows, row_copy, "as");
    LoadRows(a, loaded);
    Multiply(init);
    Store(reader, stored);
    Pipeline(static_cast<int64_t>(copies.size()) + 1);
  }

 private:
  void Tile() {
    Split(gemm_.loops.m, {plan_.tile_m / kRows, kRows}, {"ib", "it", "ii"});
    Split(gemm_.loops.n, {plan_.warps, plan_.tile_n / plan_.warps / kColumns, kColumns},
          {"jb", "jw", "jt", "ji"});
    Split(gemm_.loops.k, {plan_.tile_k / kSteps, kSteps}, {"lo", "lk", "li"});
    OrderLoops({"jw", "lk", "jt", "it", "ji", "ii", "li"});
  }

  // The buffer that a copy takes to memory.
  BufferRef CopiedBy(const BlockRef& block) const {
    for (const Access& access : AccessesOf(AsStmt(schedule_.At(block))))
      if (!access.store) return access.buffer;
    Refuse("the accumulators are not copied");
  }

  // Whether the part of a tile is a box, rows of at least what is copied asynchronously.
  bool HasRows(const tir::Buffer& buffer) const {
    return buffer->shape.size() == 2 && buffer->scope == tir::StorageScope::kGlobal;
  }

  void SetMatrixLayout(const BufferRef& buffer, size_t rank, const std::string& to) {
    std::string batch;
    for (size_t d = 0; d + 2 < rank; ++d) batch += "b" + std::to_string(d) + ", ";
    schedule_.TransformLayout(buffer,
                              IndexMap::Parse("(" + batch + "i, j) -> (" + batch + to + ")"));
  }

  // Rows of shared memory start at a distance of so many bytes from each other, of 128.
  void AlignRow(const BufferRef& buffer, int64_t offset) {
    const tir::Buffer& shared = schedule_.BufferAt(buffer);
    int64_t bytes = shared->dtype.bytes();
    auto rank = static_cast<int64_t>(shared->shape.size());
    schedule_.StorageAlign(buffer, rank - 2, 128 / bytes, offset / bytes);
  }

  int64_t ExtentOf(const LoopRef& loop) const {
    return ir::AsConstInt(schedule_.At(loop)->extent).value_or(0);
  }

  // Splits a loop of a block. The names are the schedule's own.
  LoopRefs SplitOf(const BlockRef& block, const LoopRef& loop, const std::vector<int64_t>& factors,
                   const std::vector<std::string>& names) {
    Schedule::Names own;
    for (const std::string& name : names) own.push_back(Name(name));
    return schedule_.Split(loop.Of(block), factors, own).Of(block);
  }
  // Binds two adjacent loops of a block to the lanes of a warp.
  void BindLanes(const BlockRef& block, const LoopRef& outer, const LoopRef& inner) {
    schedule_.Bind(FuseLoops(&schedule_, block, {outer, inner}).Of(block), "threadIdx.x");
  }

  // 16 columns by 32 of K: a lane has two columns, and 8 of K in a row of each. Returns the loop
  // over its columns.
  LoopRef Unpack(const LoopRefs& loops) {
    const BlockRef& b = packed_.block;
    LoopRefs j = SplitOf(b, loops[0], {2, kRows}, {"wt", "wh", "wg"}),
             k = SplitOf(b, loops[1], {4, 4, 2}, {"wu", "wq", "wp", "we"});
    schedule_.Reorder({j[0], k[0], j[2], k[1], j[1], k[2], k[3]});
    BindLanes(b, j[2], k[1]);
    schedule_.Unroll(j[1]);
    schedule_.Unroll(k[2]);
    schedule_.Vectorize(k[3]);
    return j[1];
  }

  void LoadRows(const BlockRef& block, const LoopRefs& loops) {
    LoopRefs i = SplitOf(block, loops[0], {kRows}, {"xt", "xg"}),
             k = SplitOf(block, loops[1], {4, 8}, {"xu", "xq", "xv"});
    schedule_.Reorder({k[0], i[1], k[1], i[0], k[2]});
    BindLanes(block, i[1], k[1]);
    schedule_.Unroll(i[0]);
    schedule_.Vectorize(k[2]);
  }

  void Multiply(const BlockRef& init) {
    for (const BlockRef& block : {init, block_})
      for (const char* loop : {"jt", "it"}) schedule_.Unroll(At(block, loop));
    schedule_.Unroll(At("lk"));
    schedule_.Tensorize(At(init, "ji"), machine_.packed + "_fill");
    schedule_.Tensorize(At("ji"), machine_.packed + "_" + type_);
  }

  // The lane that has an element stores it.
  void Store(const BlockRef& block, const LoopRefs& loops) {
    LoopRefs i = SplitOf(block, loops[0], {4, 2}, {"ct", "cq", "ce"}),
             j = SplitOf(block, loops[1], {plan_.tile_n / plan_.warps / kColumns, 2, kRows},
                         {"cw", "cu", "ch", "cg"});
    schedule_.Reorder({j[0], j[3], i[1], i[0], i[2], j[1], j[2]});
    schedule_.Bind(j[0], "threadIdx.y");
    BindLanes(block, j[3], i[1]);
    for (const LoopRef& loop : {i[0], i[2], j[1], j[2]}) schedule_.Unroll(loop);
  }

  void Pipeline(int64_t copies) {
    int64_t stages = std::min(plan_.stages, CeilDiv(gemm_.k, plan_.tile_k));
    if (stages < 2) return;
    std::vector<int64_t> of(static_cast<size_t>(copies), 0);
    of.push_back(stages - 1);
    Try(&schedule_, [&](Schedule* attempt) { attempt->Pipeline(loops_.Bare("lo"), of, {0}); });
  }

  const P& plan_;
  const Packed& packed_;
};

void Apply(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
           const MatrixInstructions& machine, const P& plan) {
  GemmPart part = SplitK(schedule, block.ref, plan, target);
  std::string type = MatrixTypeOf(part.gemm, target, machine);
  Gemm gemm = PadToTiles(schedule, part, plan);
  // Parts of K are a copy of B.
  BlockRef copy = ProducerOf(*schedule, gemm.b.buffer);
  if (copy.empty()) Refuse("B is not computed");
  FusePrologue(schedule, copy, Producers::kOwn);
  Packed packed = RequirePacked(*schedule, gemm);
  PackedScheduler(schedule, part.block, gemm, packed, type, plan, machine).Run();
}

}  // namespace

void RegisterPackedMatmul(const MatrixInstructions& instructions) {
  RegisterRule(
      {.name = instructions.packed_rule,
       .description = "GEMM of few rows with weights that are unpacked in registers",
       .kinds = {BlockKind::kMatmul, BlockKind::kReduction},
       .fits = instructions.fits,
       .priority = 120,
       .planned = Planned<P>(
           [instructions](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          const Wanted<P>& want) {
             return Plans(schedule, block, target, instructions, want);
           },
           [instructions](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          const P& plan) { Apply(schedule, block, target, instructions, plan); })});
}

}  // namespace tern::schedule
