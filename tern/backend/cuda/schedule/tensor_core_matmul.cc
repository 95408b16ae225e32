// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/schedule/tensor_core_matmul.h"

#include <algorithm>
#include <optional>

#include "tern/backend/cuda/codegen/architecture.h"
#include "tern/backend/cuda/schedule/tensor_intrinsics.h"
#include "tern/schedule/index_map.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/rule.h"

namespace tern::backend::cuda {
namespace {

using namespace schedule;
using Names = Schedule::Names;

constexpr int64_t kTile = 16;           // of an instruction
constexpr int64_t kCopyBytes = 16;      // at once
constexpr int64_t kFirstArch = 80;      // that has all the instructions
constexpr int64_t kSteps = 32;          // of the sum, at a time
constexpr int64_t kMaxStages = 4;       // of copies under way, and what is computed with
constexpr int64_t kEnoughBlocks = 128;  // for large GPUs to be busy

// One of the two operands.
struct Operand {
  std::string name;
  bool transposed;  // in memory: its columns are rows
};

struct Product {
  std::string row, column, sum;  // loops
  int64_t rows, columns, steps;
  Operand left, right;
  std::string result, type;  // "f16" or "bf16", of the operands
  int64_t element_bytes;
};

// What a block of threads computes, and how its warps share it.
struct Tiles {
  int64_t rows, columns, warp_rows, warp_columns;  // in elements; in warps
  int64_t stages = 2;

  int64_t threads() const { return warp_rows * warp_columns * 32; }
};

std::optional<Product> ProductOf(const BlockInfo& block) {
  const BlockAxis *row = nullptr, *column = nullptr, *sum = nullptr;
  for (const BlockAxis& axis : block.axes) {
    const BlockAxis*& place = axis.role == AxisRole::kRow      ? row
                              : axis.role == AxisRole::kColumn ? column
                                                               : sum;
    bool known = axis.role == AxisRole::kSum || axis.role == AxisRole::kRow ||
                 axis.role == AxisRole::kColumn;
    if (!known || place || axis.loop.empty() || !ir::AsConstInt(axis.extent)) return {};
    place = &axis;
  }
  if (!row || !column || !sum || block.conditional) return {};
  Product product{row->loop,
                  column->loop,
                  sum->loop,
                  *ir::AsConstInt(row->extent),
                  *ir::AsConstInt(column->extent),
                  *ir::AsConstInt(sum->extent),
                  {},
                  {},
                  {},
                  {},
                  2};
  for (const BlockAccess& access : block.accesses) {
    if (access.indices.size() != 2 || !access.by_axes) return {};
    auto is_first = [&](const BlockAxis* axis) {
      return access.indices[0].get() == axis->var.get();
    };
    auto uses = [&](const BlockAxis* axis) {
      return is_first(axis) || access.indices[1].get() == axis->var.get();
    };
    const ir::Buffer& buffer = access.buffer;
    if (access.store || !uses(sum)) {
      if (buffer->dtype != DataType::Float(32) || !is_first(row) || !uses(column)) return {};
      product.result = buffer->name;
      continue;
    }
    std::string type = buffer->dtype == DataType::Float(16)    ? "f16"
                       : buffer->dtype == DataType::Bfloat16() ? "bf16"
                                                               : "";
    if (type.empty() || (!product.type.empty() && product.type != type)) return {};
    product.type = type;
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
  auto bytes = [&](const Operand& operand, int64_t extent) {
    int64_t rows = operand.transposed == (&operand == &product.left) ? kSteps : extent;
    return rows * Padded(rows == kSteps ? extent : kSteps, product.element_bytes) *
           product.element_bytes;
  };
  return bytes(product.left, tiles.rows) + bytes(product.right, tiles.columns);
}

// The largest that divide the sizes and make enough blocks of threads; else the smallest that
// divide them.
std::optional<Tiles> ChooseTiles(const Product& product, const MachineFacts& facts) {
  constexpr Tiles kChoices[] = {{128, 128, 2, 2}, {128, 64, 2, 2}, {64, 128, 2, 2}, {64, 64, 2, 2}};
  std::optional<Tiles> best;
  for (const Tiles& choice : kChoices) {
    if (product.rows % choice.rows != 0 || product.columns % choice.columns != 0) continue;
    int64_t stages = facts.shared_bytes / StageBytes(product, choice);
    if (stages < 2 || choice.threads() > facts.max_threads) continue;
    best = choice;
    best->stages = std::min(stages, kMaxStages);
    int64_t blocks = product.rows / choice.rows * (product.columns / choice.columns);
    if (blocks >= kEnoughBlocks) break;
  }
  if (product.steps % kSteps != 0) return {};
  return best;
}

class Scheduler {
 public:
  Scheduler(Schedule* schedule, const std::string& block, const Product& product,
            const Tiles& tiles)
      : schedule_(*schedule), block_(block), product_(product), tiles_(tiles) {}

  void Run() {
    std::string reader = SoleReader();
    if (!reader.empty()) schedule_.SetScope(product_.result, "fragment.accumulator");
    Tile();
    Stage left = Load(product_.left, true), right = Load(product_.right, false);
    std::string sums = KeepSums(reader);
    schedule_.DecomposeReduction(block_, Loop("lo"), Name("init"));
    BindWarps(Name("init"));
    BindWarps(block_);
    Names right_fragment = schedule_.ComputeAt(right.fragment, Loop("lk"), Own("bf", "k", "j"));
    Names left_fragment = schedule_.ComputeAt(left.fragment, Loop("lk"), Own("af", "i", "k"));
    Names right_copy = schedule_.ComputeAt(right.shared, Loop("lo"), Own("bs", "k", "j"));
    Names left_copy = schedule_.ComputeAt(left.shared, Loop("lo"), Own("as", "i", "k"));
    auto layout = [&](const std::string& buffer, Fragment fragment, bool transposed) {
      schedule_.TransformLayout(buffer, IndexMap::Parse(FragmentLayout(fragment, transposed)));
    };
    layout(sums_buffer_, Fragment::kSum, false);
    layout(left.fragment, Fragment::kLeft, product_.left.transposed);
    layout(right.fragment, Fragment::kRight, product_.right.transposed);
    Copy(left.shared, left_copy, "as", product_.left.transposed ? tiles_.rows : kSteps);
    Copy(right.shared, right_copy, "bs", product_.right.transposed ? kSteps : tiles_.columns);
    Multiply();
    LoadTiles(left.fragment, left_fragment, "af", product_.left, true);
    LoadTiles(right.fragment, right_fragment, "bf", product_.right, false);
    Store(sums);
    int64_t stages = std::min(tiles_.stages, product_.steps / kSteps);
    if (stages > 1) schedule_.Pipeline(lo_, {0, 0, stages - 1}, {0});
  }

 private:
  struct Stage {
    std::string shared, fragment;  // blocks and buffers
  };

  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  Names Own(const std::string& prefix, const std::string& a, const std::string& b) const {
    return {Name(prefix + a), Name(prefix + b)};
  }
  // One of the loops around the block.
  std::string Loop(const std::string& what) const { return block_ + "." + Name(what); }

  void Tile() {
    int64_t rows = tiles_.rows / tiles_.warp_rows / kTile,
            columns = tiles_.columns / tiles_.warp_columns / kTile;
    schedule_.Split(block_ + "." + product_.row, {tiles_.warp_rows, rows, kTile},
                    {Name("ib"), Name("iw"), Name("it"), Name("ii")});
    schedule_.Split(block_ + "." + product_.column, {tiles_.warp_columns, columns, kTile},
                    {Name("jb"), Name("jw"), Name("jt"), Name("ji")});
    schedule_.Split(block_ + "." + product_.sum, {kSteps / kTile, kTile},
                    {Name("lo"), Name("lk"), Name("li")});
    lo_ = Name("lo");
    Names order;
    for (const char* loop : {"ib", "jb", "lo", "iw", "jw", "lk", "it", "jt", "ii", "ji", "li"})
      order.push_back(Loop(loop));
    schedule_.Reorder(order);
    schedule_.Bind(Loop("ib"), "blockIdx.y");
    schedule_.Bind(Loop("jb"), "blockIdx.x");
  }

  // The sums are a fragment; returns the block that takes them to memory. A result that one other
  // block reads, to round it, is the fragment itself.
  std::string KeepSums(std::string reader) {
    sums_buffer_ = product_.result;
    if (reader.empty())
      sums_buffer_ = reader =
          schedule_.CacheWrite(block_, product_.result, "fragment.accumulator", Name("sums"));
    schedule_.ReverseComputeAt(reader, Loop("jb"), {Name("ci"), Name("cj")});
    return reader;
  }
  // Of a result that is allocated; "" where there is none.
  std::string SoleReader() const {
    const tir::Stmt& body = schedule_.function()->body;
    if (!FindAllocation(body, product_.result)) return "";
    std::string reader;
    for (const tir::BlockNode* block : BlocksIn(body))
      for (const Access& access : AccessesOf(AsStmt(block)))
        if (block->name != block_ && access.buffer->name == product_.result) {
          if (!reader.empty() && reader != block->name) return "";
          reader = block->name;
        }
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

  // All threads copy, each a vector at a time.
  void Copy(const std::string& block, const Names& loops, const std::string& prefix, int64_t row) {
    constexpr int64_t kBanks = 128;  // bytes
    int64_t bytes = product_.element_bytes, line = kBanks / bytes;
    schedule_.StorageAlign(block, 0, line, Padded(row, bytes) % line);
    std::string all =
        schedule_.Fuse({block + "." + loops[0], block + "." + loops[1]}, Name(prefix));
    Names parts = schedule_.Split(block + "." + all,
                                  {tiles_.warp_rows, tiles_.warp_columns, 32, kCopyBytes / bytes},
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
    schedule_.Tensorize(Name("init") + "." + Name("ii"), "mma_fill");
    schedule_.Tensorize(Loop("ii"), "mma_" + product_.type);
  }

  // One dimension of what a warp loads is a tile, the other one several.
  void LoadTiles(const std::string& block, const Names& loops, const std::string& prefix,
                 const Operand& operand, bool left) {
    bool tiles_first = left != operand.transposed;
    const std::string& split = loops[tiles_first ? 0 : 1];
    Names parts =
        schedule_.Split(block + "." + split, {kTile}, {Name(prefix + "t"), Name(prefix + "r")});
    std::string outer = block + "." + parts[0], inner = block + "." + parts[1],
                other = block + "." + loops[tiles_first ? 1 : 0];
    Names order = tiles_first ? Names{outer, inner, other} : Names{outer, other, inner};
    schedule_.Reorder(order);
    schedule_.Unroll(outer);
    schedule_.Tensorize(order[1], std::string("mma_load_") + (left ? "a" : "b") +
                                      (operand.transposed ? "t_" : "_") + product_.type);
  }

  void Store(const std::string& block) {
    auto split = [&](const char* loop, int64_t extent, const Names& names) {
      schedule_.Split(block + "." + Name(loop), {extent / kTile, kTile}, names);
    };
    split("ci", tiles_.rows / tiles_.warp_rows, {Name("cz"), Name("ct"), Name("cr")});
    split("cj", tiles_.columns / tiles_.warp_columns, {Name("cy"), Name("cu"), Name("cv")});
    auto loop = [&](const char* name) { return block + "." + Name(name); };
    schedule_.Reorder({loop("cz"), loop("cy"), loop("ct"), loop("cu"), loop("cr"), loop("cv")});
    schedule_.Bind(loop("cz"), "threadIdx.z");
    schedule_.Bind(loop("cy"), "threadIdx.y");
    schedule_.Unroll(loop("ct"));
    schedule_.Unroll(loop("cu"));
    const tir::BlockNode* writer = nullptr;
    for (const tir::BlockNode* other : BlocksIn(schedule_.function()->body))
      if (other->name == block) writer = other;
    for (const Access& access : AccessesOf(AsStmt(writer)))
      if (access.store) {
        DataType dtype = access.buffer->dtype;
        std::string type = dtype == DataType::Float(32)    ? "f32"
                           : dtype == DataType::Bfloat16() ? "bf16"
                                                           : "f16";
        schedule_.Tensorize(loop("cr"), "mma_store_" + type);
        return;
      }
  }

  Schedule& schedule_;
  std::string block_, lo_, sums_buffer_;
  const Product& product_;
  const Tiles& tiles_;
};

bool Apply(Schedule* schedule, const BlockInfo& block, const MachineFacts& facts) {
  std::optional<Product> product = ProductOf(block);
  if (!product || !tir::HasFlag(schedule->function(), tir::attr::kReassociate)) return false;
  std::optional<Tiles> tiles = ChooseTiles(*product, facts);
  if (!tiles) return false;
  Scheduler(schedule, block.name, *product, *tiles).Run();
  return true;
}

}  // namespace

void RegisterTensorCoreMatmul() {
  RegisterRule({.name = "tensor_core_matmul",
                .description = "tiles of products of 16-bit floats are multiplied by tensor cores",
                .kinds = {BlockKind::kMatmul},
                .fits =
                    [](const MachineFacts& facts) {
                      return facts.target->kind->name == "cuda" &&
                             ArchitectureNumber(facts.target) >= kFirstArch;
                    },
                .priority = 100,
                .apply = Apply});
}

}  // namespace tern::backend::cuda
