// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices on hosts: tiles of the result stay in registers while the whole sum goes by;
// the right factor is packed before, so that a tile reads it from one place to the next. The
// numbers of one result are added in the order written.
#include <algorithm>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/product.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/transform/flatten_buffers.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// The right factor is packed where it is used for so many tiles.
constexpr int64_t kPackUses = 4;
// Rows of the right factor that are read side by side where it is not packed.
constexpr int64_t kStreams = 16;
// Places of a packed factor that are read side by side where it comes from memory: what fetches
// ahead follows each of them to the end of a page.
constexpr int64_t kPackedStreams = 4;
// Columns that one thread takes at least where the right factor is not packed.
constexpr int64_t kStreamColumns = 2048;

// With a dynamic M, blocks of N run in parallel where there are so many, else the M tiles.
constexpr int64_t kDynamicRowBlocks = 8;

// How one product is computed.
struct Plan {
  RegisterTile tile;
  bool pack = false;       // the right factor
  bool ahead = false;      // before any call, all of it: it is constant
  bool pack_left = false;  // the left factor, ahead
  int64_t streams = 1;  // of the packed factor: the steps of a tile are dealt out to so many places
  // Columns of the right factor stay in the first cache while rows go by; else rows of the left one
  // do.
  bool columns_first = false;
  // Of columns, whose packed factor stays in the second cache while rows go by; and of rows. A
  // thread has a block of both. 0 rows: M is dynamic, and one block.
  int64_t block_columns = 0, block_rows = 0;
  // Steps of the sum that are added to the result at a time; 0: all.
  int64_t block_steps = 0;

  int64_t panels() const { return block_columns / tile.columns(); }
};

// So few rows, of a right factor that is not in the cache, that memory is what counts.
bool IsBoundByMemory(const Product& product, const MachineFacts& facts) {
  return product.rows <= std::min((facts.vector_registers - 2) / 2, kMostTileRows) &&
         product.columns * product.steps * product.right.bytes() > facts.l2_bytes;
}

// All rows, and as many columns as it takes that a sum is added to some cycles after the last time.
RegisterTile ChooseFlatTile(const Product& product, int64_t lanes) {
  RegisterTile tile{product.rows, 2, lanes};
  while (tile.rows * tile.vectors < kProductsPerCycle * kProductLatency &&
         product.columns % (2 * tile.columns()) == 0)
    tile.vectors *= 2;
  return tile;
}

// The right factor is used for a few rows alone: it is read as it lies in memory, many rows of it
// at a time, and the sums stay in the cache. One that could be packed ahead is only read so where
// that is the first cache.
bool ChooseStreams(const Product& product, const MachineFacts& facts, int64_t lanes, bool constant,
                   Plan* plan) {
  bool fits = IsBoundByMemory(product, facts) && !product.right.sum_is_last() &&
              product.steps % kStreams == 0 && product.columns % (2 * lanes) == 0;
  int64_t sums = product.rows * product.columns * product.right.bytes();
  if (!fits || (constant && sums > facts.l1_bytes / 2)) return false;
  plan->tile = ChooseFlatTile(product, lanes);
  plan->block_rows = product.rows;
  plan->block_columns = product.columns;
  while (facts.threads != 1 && plan->block_columns > kStreamColumns &&
         plan->block_columns % (2 * plan->tile.columns()) == 0)
    plan->block_columns /= 2;
  plan->block_steps = kStreams;
  return true;
}

// How the right factor lies in memory.
enum class Right {
  kPlain,     // as it is indexed
  kInRows,    // elsewhere, but columns side by side
  kGathered,  // anywhere, so that it has to be copied
};

// `constant`: to copy the right factor costs nothing.
Plan ChoosePlan(const Product& product, const MachineFacts& facts, int64_t lanes, Right right,
                bool constant) {
  Plan plan;
  int64_t right_bytes = product.columns * product.steps * product.right.bytes();
  if (right == Right::kPlain && ChooseStreams(product, facts, lanes, constant, &plan)) return plan;
  plan.ahead = constant;
  plan.tile = constant && IsBoundByMemory(product, facts) && product.columns % (2 * lanes) == 0
                  ? ChooseFlatTile(product, lanes)
                  : ChooseRegisterTile(product.rows, product.columns, facts.vector_registers, lanes,
                                       product.right.bytes());
  if (constant && right_bytes > facts.l2_bytes && product.steps % kPackedStreams == 0)
    plan.streams = kPackedStreams;
  const RegisterTile& tile = plan.tile;
  int64_t rows = RoundUp(product.rows, tile.rows),
          columns = RoundUp(product.columns, tile.columns());
  // Columns that are no neighbours in memory are no vectors; where these are read again by many
  // rows, from a cache, they should lie in one place.
  int64_t panel_bytes = tile.columns() * product.steps * product.right.bytes();
  bool fits =
      right == Right::kInRows ? panel_bytes <= facts.l1_bytes / 2 : right_bytes <= facts.l1_bytes;
  plan.pack = right == Right::kGathered || constant || product.right.sum_is_last() ||
              product.columns != columns || (rows / tile.rows >= kPackUses && !fits);
  plan.columns_first = right == Right::kInRows && !plan.pack;
  ProductBlocks blocks = ChooseBlocks(rows, columns, tile.rows, tile.columns(),
                                      product.steps * product.right.bytes(), facts, true);
  // A dynamic M is one block.
  plan.block_rows = product.dynamic_rows ? 0 : blocks.rows;
  plan.block_columns = blocks.columns;
  return plan;
}

class HostMatmul {
 public:
  HostMatmul(Schedule* schedule, const std::string& block, const Product& product, const Plan& plan,
             const MachineFacts& facts)
      : schedule_(*schedule), block_(block), product_(product), plan_(plan), facts_(facts) {}

  void Run() {
    int64_t work = WorkOf(schedule_, block_);
    std::string packed = plan_.pack ? Copy(product_.right, Name("packed")) : "";
    if (plan_.pack_left) PackLeft();
    std::string reader = plan_.block_steps ? "" : MakeLocal();
    SplitLoops();
    if (plan_.pack && !plan_.ahead) schedule_.ComputeAt(packed, At(Name("jb")));
    Names out;
    if (!reader.empty())
      out = schedule_.ReverseComputeAt(reader, At(Name(plan_.columns_first ? "io" : "jo")));
    std::string init = schedule_.DecomposeReduction(
        block_, SplitsSum() ? At(Name("lo")) : At(product_.sum), Name("init"));
    for (const std::string& block : {init, block_}) {
      schedule_.Unroll(LoopOf(block, Name("ii")));
      schedule_.Unroll(LoopOf(block, Name("jv")));
      schedule_.Vectorize(LoopOf(block, Name("ji")));
    }
    if (plan_.streams > 1) schedule_.Unroll(At(Name("li")));
    if (plan_.pack) Pack(packed);
    if (!reader.empty()) Store(reader, out);
    if (facts_.threads != 1 && work >= kParallelOperations) RunInParallel(work, packed);
    if (plan_.ahead && !transposed_) ParallelizePacking(&schedule_, packed);
  }

 private:
  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  std::string At(const std::string& loop) const { return LoopOf(block_, loop); }

  bool SplitsSum() const { return plan_.block_steps > 0 || plan_.streams > 1; }

  // Threads share the blocks of columns, or the rows of each, whichever are more. Loops are not
  // joined: the last rows could not be told from others then.
  void RunInParallel(int64_t work, const std::string& packed) {
    int64_t row_blocks = plan_.block_rows ? product_.rows / plan_.block_rows : kDynamicRowBlocks,
            column_blocks = product_.columns / plan_.block_columns;
    bool by_rows = row_blocks > column_blocks;
    const std::string loop = At(Name(!by_rows ? "jb" : plan_.block_rows ? "ib" : "io"));
    bool several = product_.batch.empty() && std::max(row_blocks, column_blocks) > 1;
    if (!several || !Try(&schedule_, [&](Schedule* attempt) { attempt->Parallel(loop); }))
      return ParallelizeOuter(&schedule_, block_, work, facts_);
    if (!by_rows || packed.empty() || plan_.ahead) return;
    Nest nest = NestOf(schedule_.function()->body, FindBlockNamed(schedule_, packed));
    Try(&schedule_, [&](Schedule* attempt) {
      attempt->Parallel(LoopOf(packed, nest.loops.front()->var.name()));
    });
  }

  // The sums of a tile are in a buffer of their own. The block that takes them from there.
  std::string MakeLocal() {
    std::string reader = SoleReader(schedule_, block_, product_.result);
    if (reader.empty())
      return schedule_.CacheWrite(block_, product_.result->name, "local", Name("acc"));
    schedule_.SetScope(product_.result->name, "local");
    return reader;
  }

  void SplitLoops() {
    const RegisterTile& tile = plan_.tile;
    if (plan_.block_rows)
      schedule_.Split(At(product_.row), {plan_.block_rows / tile.rows, tile.rows},
                      {Name("ib"), Name("io"), Name("ii")});
    else
      schedule_.Split(At(product_.row), {tile.rows}, {Name("io"), Name("ii")});
    schedule_.Split(At(product_.column), {plan_.panels(), tile.vectors, tile.lanes},
                    {Name("jb"), Name("jo"), Name("jv"), Name("ji")});
    if (SplitsSum())
      schedule_.Split(At(product_.sum), {plan_.block_steps ? plan_.block_steps : plan_.streams},
                      {Name("lo"), Name("li")});
    Names order = Around(block_, product_.batch), loops = {"jb", "ib", "io", "jo"};
    if (plan_.columns_first) std::swap(loops[2], loops[3]);
    if (SplitsSum()) loops.insert(loops.begin() + (plan_.block_steps ? 2 : 4), "lo");
    if (!plan_.block_rows) std::erase(loops, "ib");
    for (const std::string& loop : loops) order.push_back(At(Name(loop)));
    order.push_back(SplitsSum() ? At(Name("li")) : At(product_.sum));
    for (const char* loop : {"ii", "jv", "ji"}) order.push_back(At(Name(loop)));
    schedule_.Reorder(order);
  }

  void ParallelizePacking(Schedule* schedule, const std::string& copy) const {
    ParallelizeOuter(schedule, copy, WorkOf(*schedule, copy), facts_);
  }

  // What is computed only to be multiplied is computed on the way.
  std::string Copy(const Factor& factor, const std::string& name) {
    std::string copy = schedule_.CacheRead(block_, factor.name, "global", name);
    InlineMakers(&schedule_, copy);
    return copy;
  }

  // The rows of a tile are side by side.
  void PackLeft() {
    std::string copy = Copy(product_.left, Name("left_packed"));
    PutTilesInRow(copy, product_.left, plan_.tile.rows, 1);
    ParallelizeOuter(&schedule_, copy, WorkOf(schedule_, copy), facts_);
  }

  // Each step of a tile, of so many rows or columns, is behind the one before; or in the next of
  // some places.
  void PutTilesInRow(const std::string& copy, const Factor& factor, int64_t tile, int64_t places) {
    std::string from, to, own = "d" + std::to_string(factor.own_dim), size = std::to_string(tile),
                          step = "d" + std::to_string(factor.sum_dim),
                          count = std::to_string(places);
    if (places > 1) step = step + " % " + count + ", " + step + " // " + count;
    for (size_t d = 0; d < factor.rank; ++d) {
      std::string dim = "d" + std::to_string(d);
      from += (d ? ", " : "") + dim;
      if (d != factor.own_dim && d != factor.sum_dim) to += dim + ", ";
    }
    schedule_.TransformLayout(
        copy, IndexMap::Parse("(" + from + ") -> (" + to + own + " // " + size + ", " + step +
                              ", " + own + " % " + size + ")"));
  }

  void Pack(const std::string& copy) {
    const Factor& factor = product_.right;
    Names loops = LoopsOfAxes(schedule_, copy), order;
    PutTilesInRow(copy, factor, plan_.tile.columns(), plan_.streams);
    for (size_t d = 0; d < factor.rank; ++d)
      if (d != factor.own_dim && d != factor.sum_dim && !loops[d].empty())
        order.push_back(loops[d]);
    if (loops[factor.own_dim].empty()) Refuse("one column is no vector");
    Names names = {copy + "_o", copy + "_v", copy + "_i"}, steps = {copy + "_so", copy + "_si"};
    if (factor.sum_is_last() && Transpose(copy, loops, order, names, steps)) return;
    schedule_.Split(LoopOf(copy, loops[factor.own_dim]), {plan_.tile.vectors, plan_.tile.lanes},
                    names);
    const std::string& sum = loops[factor.sum_dim];
    if (sum.empty()) {
      order.push_back(names[0]);
    } else if (factor.sum_is_last()) {
      order.insert(order.end(), {names[0], sum});
    } else {
      // Some rows at a time, each of which is read from its start to its end.
      schedule_.Split(LoopOf(copy, sum), {kStreams}, steps);
      order.insert(order.end(), {steps[0], names[0], steps[1]});
    }
    order.insert(order.end(), {names[1], names[2]});
    schedule_.Reorder(Around(copy, order));
    if (factor.sum_is_last() ||
        !Try(&schedule_, [&](Schedule* attempt) { attempt->Vectorize(LoopOf(copy, names[2])); }))
      schedule_.Unroll(LoopOf(copy, names[2]));
  }

  // Columns that lie along the sum are turned over in registers, a vector of vectors at a time.
  // Only where there are whole ones.
  bool Transpose(const std::string& copy, const Names& loops, Names order, const Names& names,
                 const Names& steps) {
    const Factor& factor = product_.right;
    const std::string& sum = loops[factor.sum_dim];
    if (sum.empty() || factor.dtype != DataType::Float(32)) return false;
    order.insert(order.end(), {names[0], steps[0], names[1], steps[1], names[2]});
    return transposed_ = Try(&schedule_, [&](Schedule* attempt) {
             attempt->Split(LoopOf(copy, loops[factor.own_dim]),
                            {plan_.tile.vectors, plan_.tile.lanes}, names);
             attempt->Split(LoopOf(copy, sum), {plan_.tile.lanes}, steps);
             attempt->Reorder(Around(copy, order));
             if (plan_.ahead) ParallelizePacking(attempt, copy);
             attempt->Tensorize(LoopOf(copy, steps[1]),
                                "f32_transpose_" + std::to_string(plan_.tile.lanes));
           });
  }

  // The results of a tile are written as vectors.
  void Store(const std::string& block, const Names& made) {
    if (made.empty()) return;
    Names names = {Name("cv"), Name("ci")};
    schedule_.Split(LoopOf(block, made.back()), {plan_.tile.lanes}, names);
    schedule_.Vectorize(LoopOf(block, names[1]));
    schedule_.Unroll(LoopOf(block, names[0]));
    if (made.size() > 1) schedule_.Unroll(LoopOf(block, made[made.size() - 2]));
  }

  Schedule& schedule_;
  std::string block_;
  const Product& product_;
  const Plan& plan_;
  const MachineFacts& facts_;
  bool transposed_ = false;  // the packed block is an instruction's then
};

// Floats of 32 and 64 bits, and integers of 32.
bool IsComputed(DataType dtype) {
  return dtype == DataType::Float(32) || dtype == DataType::Float(64) || dtype == DataType::Int(32);
}

bool IsPlain(const Product& product) {
  DataType dtype = product.result->dtype;
  return product.left.dtype == dtype && product.right.dtype == dtype;
}

// The factors are converted once: the left one before, the right one while it is packed.
Product WidenFactors(Schedule* schedule, const BlockInfo& block, const Product& product,
                     const MachineFacts& facts) {
  DataType dtype = product.result->dtype;
  for (const Factor& factor : {product.left, product.right}) {
    if (factor.dtype == dtype) continue;
    std::string copy =
        schedule->CacheRead(block.name, factor.name, "global",
                            FreshBlockName(*schedule, block.name + "_" + factor.name));
    schedule->SetDtype(copy, dtype);
    if (factor.is_left) ApplyRules(schedule, DescribeBlock(FindBlockNamed(*schedule, copy)), facts);
  }
  return RequireProduct(*schedule, DescribeBlock(FindBlockNamed(*schedule, block.name)),
                        Sizes::kAllButRows);
}

// Refuses what is not worth a tile of vectors.
void CheckTakesVectors(const Product& product, const MachineFacts& facts) {
  DataType dtype = product.result->dtype;
  if (!IsComputed(dtype))
    Refuse("the result is " + dtype.str() + "; expected float32, float64 or int32");
  int64_t lanes = facts.vector_bytes / dtype.bytes();
  if (product.rows == 0 || product.steps == 0) Refuse("M or K is 0");
  if (lanes < 2) Refuse("a vector has room for one " + dtype.str() + " alone");
  if (product.columns < lanes)
    Refuse("N is " + std::to_string(product.columns) + ", less than a vector of " +
           std::to_string(lanes));
  if (facts.vector_registers < kLeastRegisters)
    Refuse("there are fewer than " + std::to_string(kLeastRegisters) + " vector registers");
  if (!IsPlain(product) && product.rows < kPackUses)
    Refuse("operands would be converted for M = " + std::to_string(product.rows) +
           " rows; that pays from " + std::to_string(kPackUses) + " on");
}

void PackProduct(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts,
                 Right right) {
  Product product = RequireProduct(*schedule, block, Sizes::kAllButRows);
  CheckTakesVectors(product, facts);
  int64_t lanes = facts.vector_bytes / product.result->dtype.bytes();
  if (!IsPlain(product)) {
    product = WidenFactors(schedule, block, product, facts);
    if (!IsPlain(product)) Refuse("an operand could not be converted to the type of the result");
    right = Right::kGathered;
  }
  bool constant = IsConstant(*schedule, product.right.name);
  Plan plan = ChoosePlan(product, facts, lanes, right, constant);
  // A larger one comes from memory while it is used, better from as many places as there are rows.
  int64_t left_bytes = product.rows * product.steps * product.left.bytes();
  plan.pack_left = plan.tile.rows > 1 && left_bytes <= facts.l2_bytes &&
                   IsConstant(*schedule, product.left.name);
  bool whole = (product.dynamic_rows || product.rows % plan.tile.rows == 0) &&
               product.columns % plan.tile.columns() == 0;
  if (!whole) {
    std::vector<int64_t> factors;
    for (const BlockAxis& axis : block.axes)
      factors.push_back(axis.role == AxisRole::kM   ? (product.dynamic_rows ? 1 : plan.tile.rows)
                        : axis.role == AxisRole::kN ? plan.tile.columns()
                                                    : 1);
    PadProduct(schedule, block, factors);
    std::string left = product.left.name;
    product = RequireProduct(*schedule, DescribeBlock(FindBlockNamed(*schedule, block.name)),
                             Sizes::kAllButRows);
    // The rows that there are not are no copy's, unless all are copied.
    if (product.left.name != left && !plan.pack_left) schedule->ComputeInline(product.left.name);
  }
  HostMatmul(schedule, block.name, product, plan, facts).Run();
}

void PackMatmul(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts) {
  PackProduct(schedule, block, facts, Right::kPlain);
}

// Whether what a block copies, [step, column], has the columns side by side.
bool IsInRows(const Schedule& schedule, const std::string& copy) {
  const BlockNode* block = FindBlockNamed(schedule, copy);
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

// Rows, columns or steps of several axes, and windows: these are gathered while they are packed.
void ImplicitGemm(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts) {
  Names made = schedule->Im2col(block.name);
  Right right = IsInRows(*schedule, made[1]) ? Right::kInRows : Right::kGathered;
  PackProduct(schedule, DescribeBlock(FindBlockNamed(*schedule, block.name)), facts, right);
  for (const std::string& factor : {made[0], made[1]})
    Try(schedule, [&](Schedule* attempt) { attempt->ComputeInline(factor); });
}

}  // namespace

void RegisterHostMatmulRules() {
  auto has_vectors = [](const MachineFacts& facts) { return facts.is_host_with_vectors(); };
  RegisterRule({.name = "packed_matmul",
                .description = "register-tiled GEMM, B packed in panels for L2, fused epilogue",
                .kinds = {BlockKind::kMatmul},
                .fits = has_vectors,
                .priority = 30,
                .apply = PackMatmul});
  RegisterRule({.name = "implicit_gemm",
                .description = "packed_matmul after im2col, which is fused into the packing",
                .kinds = {BlockKind::kMatmul, BlockKind::kConvolution},
                .fits = has_vectors,
                .priority = 25,
                .apply = ImplicitGemm});
}

}  // namespace tern::schedule
