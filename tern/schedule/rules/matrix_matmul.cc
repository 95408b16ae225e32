// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/matrix_matmul.h"

#include <algorithm>
#include <optional>

#include "tern/schedule/index_map.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/rule.h"

namespace tern::schedule {
namespace {

using Names = Schedule::Names;

constexpr int64_t kCopyBytes = 16;      // at once
constexpr int64_t kEnoughBlocks = 128;  // for large GPUs to be busy

// One of the two operands.
struct Operand {
  std::string name;
  bool transposed = false;  // in memory: its columns are rows
};

struct Product {
  std::string batch, row, column, sum;  // loops; the first may be ""
  int64_t batches = 1, rows = 0, columns = 0, steps = 0;
  Operand left, right;
  std::string result, type;  // of the operands, as their machine calls it
  int64_t bytes = 0;         // of an element of theirs
};

struct Tiles : MatrixTiles {
  int64_t steps = 0;   // of the sum, at a time
  int64_t stages = 1;  // of steps whose copies are under way, and the one that is computed with

  int64_t warps() const { return warp_rows * warp_columns; }
};

// Whether the target has the type, and not its bits alone.
bool Stores(const MachineFacts& facts, DataType dtype) {
  const auto& stores = facts.target->kind->stores;
  return !dtype.is_narrow_float() || (stores && stores(facts.target, dtype));
}

std::optional<Product> ProductOf(const BlockInfo& block, const MachineFacts& facts,
                                 const MatrixInstructions& machine) {
  const BlockAxis *batch = nullptr, *row = nullptr, *column = nullptr, *sum = nullptr;
  for (const BlockAxis& axis : block.axes) {
    const BlockAxis*& place = axis.role == AxisRole::kM       ? row
                              : axis.role == AxisRole::kN     ? column
                              : axis.role == AxisRole::kBatch ? batch
                                                              : sum;
    bool known = axis.role == AxisRole::kK || axis.role == AxisRole::kM ||
                 axis.role == AxisRole::kN || axis.role == AxisRole::kBatch;
    if (!known || place || axis.loop.empty() || !ir::AsConstInt(axis.extent)) return {};
    place = &axis;
  }
  if (!row || !column || !sum || block.conditional) return {};
  Product product;
  product.batch = batch ? batch->loop : "";
  product.batches = batch ? *ir::AsConstInt(batch->extent) : 1;
  product.row = row->loop;
  product.column = column->loop;
  product.sum = sum->loop;
  product.rows = *ir::AsConstInt(row->extent);
  product.columns = *ir::AsConstInt(column->extent);
  product.steps = *ir::AsConstInt(sum->extent);
  for (const BlockAccess& access : block.accesses) {
    // A matrix, or one of several.
    size_t first = batch ? 1 : 0;
    if (access.indices.size() != first + 2 || !access.by_axes ||
        (batch && access.indices[0].get() != batch->var.get()))
      return {};
    auto is_first = [&](const BlockAxis* axis) {
      return access.indices[first].get() == axis->var.get();
    };
    auto uses = [&](const BlockAxis* axis) {
      return is_first(axis) || access.indices[first + 1].get() == axis->var.get();
    };
    const ir::Buffer& buffer = access.buffer;
    if (access.store || !uses(sum)) {
      if (buffer->dtype != DataType::Float(32) || !is_first(row) || !uses(column)) return {};
      product.result = buffer->name;
      continue;
    }
    auto type = std::find_if(machine.types.begin(), machine.types.end(),
                             [&](const auto& known) { return known.first == buffer->dtype; });
    if (type == machine.types.end() || !Stores(facts, buffer->dtype) ||
        (!product.type.empty() && product.type != type->second))
      return {};
    product.type = type->second;
    product.bytes = buffer->dtype.bytes();
    if (uses(row))
      product.left = {buffer->name, is_first(sum)};
    else
      product.right = {buffer->name, is_first(column)};
  }
  if (product.left.name.empty() || product.right.name.empty() || product.result.empty()) return {};
  return product;
}

// Rows of shared memory start on different banks.
int64_t Padded(int64_t elements, int64_t bytes) { return elements + kCopyBytes / bytes; }

int64_t StageBytes(const Product& product, const Tiles& tiles) {
  auto bytes = [&](bool along_steps, int64_t extent) {
    int64_t rows = along_steps ? tiles.steps : extent, row = along_steps ? extent : tiles.steps;
    return rows * Padded(row, product.bytes) * product.bytes;
  };
  return bytes(product.left.transposed, tiles.rows) +
         bytes(!product.right.transposed, tiles.columns);
}

// Whether a block behind takes sums from shared memory.
bool SharesSums(const MatrixInstructions& machine, const std::string& reader) {
  return !reader.empty() && !machine.stores_rounded;
}

// With asynchronous copies long steps, three under way, or short ones, as many as there is memory
// for; nullopt where it is less than for two. Else one short step, so that several blocks of
// threads have room, and one computes while another one copies.
std::optional<Tiles> WithStages(const Product& product, Tiles tiles, int64_t memory,
                                bool async_copies) {
  struct Pace {
    int64_t steps, most, least;
  };
  std::vector<Pace> paces = {{32, 1, 1}};
  if (async_copies) paces = {{64, 3, 3}, {32, 4, 2}};
  for (const Pace& pace : paces) {
    tiles.steps = pace.steps;
    tiles.stages = std::min(memory / StageBytes(product, tiles), pace.most);
    if (product.steps % pace.steps == 0 && tiles.stages >= pace.least) return tiles;
  }
  return {};
}

// The largest that divide the sizes and make enough blocks of threads; else the smallest that
// divide them.
std::optional<Tiles> ChooseTiles(const Product& product, const MachineFacts& facts,
                                 const MatrixInstructions& machine, bool shares_sums) {
  constexpr int64_t kMostBlocks = 65535;  // on the axes y and z
  std::optional<Tiles> best;
  for (const MatrixTiles& choice : machine.tiles) {
    if (product.rows % choice.rows != 0 || product.columns % choice.columns != 0) continue;
    int64_t sums = shares_sums ? choice.rows * choice.columns * int64_t{sizeof(float)} : 0;
    std::optional<Tiles> tiles =
        WithStages(product, {choice}, facts.shared_bytes - sums, machine.async_copies);
    int64_t rows = product.rows / choice.rows, columns = product.columns / choice.columns;
    if (!tiles || tiles->warps() * machine.lanes > facts.max_threads || rows > kMostBlocks)
      continue;
    best = tiles;
    if (product.batches * rows * columns >= kEnoughBlocks) break;
  }
  return product.batches > kMostBlocks ? std::nullopt : best;
}

// Of a result that is allocated; "" where there is none.
std::string SoleReader(const Schedule& schedule, const std::string& writer,
                       const std::string& result) {
  const tir::Stmt& body = schedule.function()->body;
  if (!FindAllocation(body, result)) return "";
  std::string reader;
  for (const tir::BlockNode* block : BlocksIn(body))
    for (const Access& access : AccessesOf(AsStmt(block)))
      if (block->name != writer && access.buffer->name == result) {
        if (!reader.empty() && reader != block->name) return "";
        reader = block->name;
      }
  return reader;
}

class Scheduler {
 public:
  Scheduler(Schedule* schedule, const std::string& block, const Product& product,
            const Tiles& tiles, const MatrixInstructions& machine)
      : schedule_(*schedule), block_(block), product_(product), tiles_(tiles), machine_(machine) {}

  // `reader`: the one block that reads the result, which is allocated; or "".
  void Run(const std::string& reader) {
    bool shares_sums = SharesSums(machine_, reader);
    if (!reader.empty())
      schedule_.SetScope(product_.result, shares_sums ? "shared" : "fragment.accumulator");
    Tile();
    Stage left = Load(product_.left, true), right = Load(product_.right, false);
    std::string sums = KeepSums(shares_sums ? "" : reader);
    Names read;
    if (shares_sums) read = schedule_.ReverseComputeAt(reader, Loop("jb"), Own("r", "i", "j"));
    schedule_.DecomposeReduction(block_, Loop("lo"), Name("init"));
    BindWarps(Name("init"));
    BindWarps(block_);
    Names right_fragment = schedule_.ComputeAt(right.fragment, Loop("lk"), Own("bf", "k", "j"));
    Names left_fragment = schedule_.ComputeAt(left.fragment, Loop("lk"), Own("af", "i", "k"));
    Names right_copy = schedule_.ComputeAt(right.shared, Loop("lo"), Own("bs", "k", "j"));
    Names left_copy = schedule_.ComputeAt(left.shared, Loop("lo"), Own("as", "i", "k"));
    auto layout = [&](const std::string& buffer, Fragment fragment, bool transposed) {
      schedule_.TransformLayout(
          buffer, IndexMap::Parse(machine_.layout(fragment, transposed, !product_.batch.empty())));
    };
    layout(sums_buffer_, Fragment::kSum, false);
    layout(left.fragment, Fragment::kLeft, product_.left.transposed);
    layout(right.fragment, Fragment::kRight, product_.right.transposed);
    Align(left.shared, product_.left.transposed ? tiles_.rows : tiles_.steps);
    Align(right.shared, product_.right.transposed ? tiles_.steps : tiles_.columns);
    int64_t lanes = std::min(kCopyBytes / product_.bytes, machine_.copy_lanes);
    Share(left.shared, left_copy, "as", lanes);
    Share(right.shared, right_copy, "bs", lanes);
    Multiply();
    LoadTiles(left.fragment, left_fragment, "af", product_.left, true);
    LoadTiles(right.fragment, right_fragment, "bf", product_.right, false);
    Store(sums);
    if (shares_sums) Share(reader, read, "r", machine_.copy_lanes);
    int64_t stages = std::min(tiles_.stages, product_.steps / tiles_.steps);
    if (stages > 1) schedule_.Pipeline(lo_, {0, 0, stages - 1}, {0});
  }

 private:
  struct Stage {
    std::string shared, fragment;  // blocks and buffers
  };

  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  std::string Intrinsic(const std::string& what) const { return machine_.prefix + "_" + what; }
  Names Own(const std::string& prefix, const std::string& a, const std::string& b) const {
    return {Name(prefix + a), Name(prefix + b)};
  }
  // One of the loops around the block.
  std::string Loop(const std::string& what) const { return block_ + "." + Name(what); }

  void Tile() {
    int64_t rows = tiles_.rows / tiles_.warp_rows / machine_.tile,
            columns = tiles_.columns / tiles_.warp_columns / machine_.tile;
    schedule_.Split(block_ + "." + product_.row, {tiles_.warp_rows, rows, machine_.tile},
                    {Name("ib"), Name("iw"), Name("it"), Name("ii")});
    schedule_.Split(block_ + "." + product_.column, {tiles_.warp_columns, columns, machine_.tile},
                    {Name("jb"), Name("jw"), Name("jt"), Name("ji")});
    schedule_.Split(block_ + "." + product_.sum, {tiles_.steps / machine_.tile, machine_.tile},
                    {Name("lo"), Name("lk"), Name("li")});
    lo_ = Name("lo");
    Names order;
    if (!product_.batch.empty()) order.push_back(block_ + "." + product_.batch);
    for (const char* loop : {"ib", "jb", "lo", "iw", "jw", "lk", "it", "jt", "ii", "ji", "li"})
      order.push_back(Loop(loop));
    schedule_.Reorder(order);
    if (!product_.batch.empty()) schedule_.Bind(order[0], "blockIdx.z");
    schedule_.Bind(Loop("ib"), "blockIdx.y");
    schedule_.Bind(Loop("jb"), "blockIdx.x");
  }

  // The sums are a fragment; returns the block that takes them to memory. A result that one other
  // block reads, to round it, is the fragment itself.
  std::string KeepSums(std::string reader) {
    sums_buffer_ = product_.result;
    if (reader.empty())
      sums_buffer_ = reader =
          schedule_.CacheWrite(block_, product_.result, "fragment.accumulator", Name("acc"));
    schedule_.ReverseComputeAt(reader, Loop("jb"), {Name("ci"), Name("cj")});
    return reader;
  }
  void BindWarps(const std::string& block) {
    schedule_.Bind(block + "." + Name("iw"), "threadIdx.z");
    schedule_.Bind(block + "." + Name("jw"), "threadIdx.y");
  }

  Stage Load(const Operand& operand, bool left) {
    Stage stage;
    stage.shared = schedule_.CacheRead(block_, operand.name, "shared", Name(left ? "as" : "bs"));
    stage.fragment = schedule_.CacheRead(block_, stage.shared, left ? "fragment.a" : "fragment.b",
                                         Name(left ? "af" : "bf"));
    return stage;
  }

  void Align(const std::string& block, int64_t row) {
    constexpr int64_t kBanks = 128;  // bytes
    int64_t line = kBanks / product_.bytes;
    schedule_.StorageAlign(block, product_.batch.empty() ? 0 : 1, line,
                           Padded(row, product_.bytes) % line);
  }

  // All threads take part in a tile of a block, each with a vector at a time.
  void Share(const std::string& block, const Names& loops, const std::string& prefix,
             int64_t lanes) {
    std::string all =
        schedule_.Fuse({block + "." + loops[0], block + "." + loops[1]}, Name(prefix));
    Names parts = schedule_.Split(block + "." + all,
                                  {tiles_.warp_rows, tiles_.warp_columns, machine_.lanes, lanes},
                                  {Name(prefix + "n"), Name(prefix + "z"), Name(prefix + "y"),
                                   Name(prefix + "x"), Name(prefix + "v")});
    schedule_.Unroll(block + "." + parts[0]);
    schedule_.Bind(block + "." + parts[1], "threadIdx.z");
    schedule_.Bind(block + "." + parts[2], "threadIdx.y");
    schedule_.Bind(block + "." + parts[3], "threadIdx.x");
    schedule_.Vectorize(block + "." + parts[4]);
  }

  void Multiply() {
    for (const std::string& block : {Name("init"), block_})
      for (const char* loop : {"it", "jt"}) schedule_.Unroll(block + "." + Name(loop));
    schedule_.Unroll(Loop("lk"));
    schedule_.Tensorize(Name("init") + "." + Name("ii"), Intrinsic("fill"));
    schedule_.Tensorize(Loop("ii"), Intrinsic(product_.type));
  }

  // One dimension of what a warp loads is a tile, the other one several.
  void LoadTiles(const std::string& block, const Names& loops, const std::string& prefix,
                 const Operand& operand, bool left) {
    bool tiles_first = left != operand.transposed;
    const std::string& split = loops[tiles_first ? 0 : 1];
    Names parts = schedule_.Split(block + "." + split, {machine_.tile},
                                  {Name(prefix + "t"), Name(prefix + "r")});
    std::string outer = block + "." + parts[0], inner = block + "." + parts[1],
                other = block + "." + loops[tiles_first ? 1 : 0];
    Names order = tiles_first ? Names{outer, inner, other} : Names{outer, other, inner};
    schedule_.Reorder(order);
    schedule_.Unroll(outer);
    schedule_.Tensorize(order[1], Intrinsic("load_") + (left ? "a" : "b") +
                                      (operand.transposed ? "t_" : "_") + product_.type);
  }

  void Store(const std::string& block) {
    auto split = [&](const char* loop, int64_t extent, const Names& names) {
      schedule_.Split(block + "." + Name(loop), {extent / machine_.tile, machine_.tile}, names);
    };
    split("ci", tiles_.rows / tiles_.warp_rows, {Name("cz"), Name("ct"), Name("cr")});
    split("cj", tiles_.columns / tiles_.warp_columns, {Name("cy"), Name("cu"), Name("cv")});
    auto loop = [&](const char* name) { return block + "." + Name(name); };
    schedule_.Reorder({loop("cz"), loop("cy"), loop("ct"), loop("cu"), loop("cr"), loop("cv")});
    schedule_.Bind(loop("cz"), "threadIdx.z");
    schedule_.Bind(loop("cy"), "threadIdx.y");
    schedule_.Unroll(loop("ct"));
    schedule_.Unroll(loop("cu"));
    schedule_.Tensorize(loop("cr"), Intrinsic("store_" + TypeWrittenBy(block)));
  }
  std::string TypeWrittenBy(const std::string& block) const {
    for (const tir::BlockNode* writer : BlocksIn(schedule_.function()->body))
      for (const Access& access : AccessesOf(AsStmt(writer)))
        if (writer->name == block && access.store)
          for (const auto& [dtype, type] : machine_.types)
            if (access.buffer->dtype == dtype) return type;
    return "f32";
  }

  Schedule& schedule_;
  std::string block_, lo_, sums_buffer_;
  const Product& product_;
  const Tiles& tiles_;
  const MatrixInstructions& machine_;
};

void Apply(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts,
           const MatrixInstructions& machine) {
  std::optional<Product> product = ProductOf(block, facts, machine);
  if (!product)
    Refuse(
        "it is no matmul of static sizes, of types that the machine multiplies, summed in "
        "float32");
  if (!tir::HasFlag(schedule->function(), tir::attr::kReassociate))
    Refuse("matrix instructions sum in another order, and the function does not say reassociate");
  std::string reader = SoleReader(*schedule, block.name, product->result);
  std::optional<Tiles> tiles = ChooseTiles(*product, facts, machine, SharesSums(machine, reader));
  if (!tiles)
    Refuse("no tile divides M = " + std::to_string(product->rows) +
           ", N = " + std::to_string(product->columns) +
           " and K = " + std::to_string(product->steps) + " and fits in shared memory");
  Scheduler(schedule, block.name, *product, *tiles, machine).Run(reader);
}

}  // namespace

void RegisterMatrixMatmul(const MatrixInstructions& instructions) {
  RegisterRule({.name = instructions.rule,
                .description = instructions.description,
                .kinds = {BlockKind::kMatmul},
                .fits = instructions.fits,
                .priority = 100,
                .apply = [instructions](Schedule* schedule, const BlockInfo& block,
                                        const MachineFacts& facts) {
                  Apply(schedule, block, facts, instructions);
                }});
}

}  // namespace tern::schedule
