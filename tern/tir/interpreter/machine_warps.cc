// SPDX-License-Identifier: Apache-2.0
//
// Warps: threads of a block that exchange values.
#include "tern/ir/diagnostic.h"
#include "tern/ir/visitor.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/interpreter/machine.h"
#include "tern/tir/intrinsics.h"

namespace tern::tir {

std::vector<Machine::Warp> Machine::WarpsOf(const Group& group, int64_t threads) const {
  std::map<std::pair<int64_t, int64_t>, Warp> warps;
  auto place = [&](const Thread* thread) {
    return std::pair(thread->virtual_number, thread->number / threads);
  };
  for (Thread* thread : group) warps[place(thread)].lanes.push_back(thread);
  for (Thread* thread : *block_)
    if (auto it = warps.find(place(thread)); it != warps.end()) ++it->second.size;
  std::vector<Warp> result;
  for (auto& [number, warp] : warps) result.push_back(std::move(warp));
  return result;
}

void Machine::Exchange(const std::vector<Expr>& exprs, const Group& group) {
  for (const Expr& expr : exprs) Exchange(expr, group);
}

void Machine::Exchange(const Expr& expr, const Group& group) {
  if (!shape_->exchanges) return;
  struct Walker : ir::ExprVisitor {
    Walker(Machine* machine, const Group& group) : machine(machine), group(group) {}
    using ExprVisitor::VisitNode;
    void VisitNode(const ir::CallNode* node) override {
      VisitChildren(node);
      if (IsWarpOperation(node)) machine->ExchangeCall(node, group);
    }
    // What no warp operation needs may stand where it is not evaluated.
    void VisitNode(const ir::LetNode* node) override {
      if (!HasWarpOperation(node->value) && !HasWarpOperation(node->body)) return;
      Visit(node->value);
      for (Thread* thread : group) {
        machine->Enter(thread);
        machine->frame_->vars[node->var.node()] = machine->Eval(node->value);
      }
      Visit(node->body);
    }
    static bool HasWarpOperation(const Expr& expr) {
      bool found = false;
      ir::ForEachExpr(expr, [&](const Expr& e) {
        const auto* call = e.As<ir::CallNode>();
        found |= call && IsWarpOperation(call);
      });
      return found;
    }
    Machine* machine;
    const Group& group;
  };
  Walker(this, group).Visit(expr);
}

void Machine::ExchangeCall(const ir::CallNode* call, const Group& group) {
  bool of_group = IsWarpGroupOperation(call);
  int64_t threads = of_group ? kWarpGroupThreads : warp_size_;
  for (const Warp& warp : WarpsOf(group, threads)) {
    if (warp.lanes.size() != warp.size) {
      const Thread* first = warp.lanes[0];
      Group all;
      for (Thread* thread : *block_)
        if (thread->number / threads == first->number / threads &&
            thread->virtual_number == first->virtual_number)
          all.push_back(thread);
      ReportDivergence(call, call->name, warp.lanes, all,
                       of_group ? " of a group of warps" : " of a warp");
    }
    if (of_group) {
      ExchangeGroup(call, warp);
      continue;
    }
    if (IsWarpMatrixOperation(call)) {
      ExchangeMatrices(call, warp);
      continue;
    }
    std::vector<Value> values;
    std::vector<int64_t> others;  // what the second argument says
    for (Thread* thread : warp.lanes) {
      Enter(thread);
      values.push_back(Eval(call->args[0]));
      others.push_back(call->args.size() > 1 ? EvalInt(call->args[1]) : 0);
    }
    for (size_t lane = 0; lane < warp.lanes.size(); ++lane)
      warp.lanes[lane]->exchanged[call] = ExchangedValue(call, warp, lane, values, others[lane]);
  }
}

namespace {

constexpr int kTileElements = 256;

// Of the warp that the operation is for.
size_t MatrixLanes(const ir::CallNode* call) {
  bool is_tile = call->name == intrinsic::kWarpMatrixMultiplyTile;
  return is_tile ? static_cast<size_t>(kTileElements / call->dtype.lanes()) : 32;
}

// Element `e` of `values`, which the lanes have of tiles: see intrinsics.h.
struct MatrixElement {
  size_t lane;
  int element;
};
// (row, column) of a matrix of 16 x 16, or of its left half.
MatrixElement InTiles(int row, int column) {
  return {static_cast<size_t>(row % 8 * 4 + column % 8 / 2),
          column / 8 * 4 + row / 8 * 2 + column % 2};
}
// (row, column) of a matrix of 16 x 8 by columns.
MatrixElement InColumns(int row, int column) {
  return {static_cast<size_t>(column * 4 + row % 8 / 2), row / 8 * 2 + row % 2};
}

using MatrixArgs = std::vector<std::vector<Value>>;  // by lane, then argument

Value MatrixRows(const ir::CallNode* call, int lane, const MatrixArgs& args) {
  bool transposed = call->name == intrinsic::kWarpMatrixLoadTransposed;
  Value result(call->dtype);
  for (int e = 0; e < 8; ++e) {
    int row = lane / 4, column = lane % 4 * 2 + e % 2;
    if (transposed) std::swap(row, column);
    result[e] = args[e / 2 * 8 + row][0][column];
  }
  return result;
}

// sums + x * y, of two elements of operands.
Lane AddProduct(DataType sum, Lane so_far, DataType factor, Lane x, Lane y) {
  Lane product =
      BinaryLane(ir::ExprKind::kMul, sum, CastLane(factor, sum, x), CastLane(factor, sum, y));
  return BinaryLane(ir::ExprKind::kAdd, sum, so_far, product);
}

Value MatrixSum(const ir::CallNode* call, int lane, const MatrixArgs& args) {
  bool is_tile = call->name == intrinsic::kWarpMatrixMultiply8x8;
  DataType sum = call->dtype.element(), factor = args[0][1].dtype.element();
  Value result = args[lane][0];
  for (int e = 0; e < call->dtype.lanes(); ++e)
    for (int k = 0; k < (is_tile ? 8 : 16); ++k) {
      int row = e / 2 * 8 + lane / 4, column = lane % 4 * 2 + e % 2;
      MatrixElement a = InTiles(row, k), b = is_tile ? InTiles(k, column) : InColumns(k, column);
      result[e] = AddProduct(sum, result[e], factor, args[a.lane][1][a.element],
                             args[b.lane][2][b.element]);
    }
  return result;
}

Value TileSum(const ir::CallNode* call, int lane, const MatrixArgs& args) {
  DataType sum = call->dtype.element(), factor = args[0][1].dtype.element();
  int elements = call->dtype.lanes();
  Value result = args[lane][0];
  for (int e = 0; e < elements; ++e)
    for (int k = 0; k < 16; ++k) {
      int row = lane / 16 * elements + e, column = lane % 16, part = k / elements * 16;
      result[e] = AddProduct(sum, result[e], factor, args[part + row][1][k % elements],
                             args[part + column][2][k % elements]);
    }
  return result;
}

Value TransposedTile(const ir::CallNode* call, int lane, const MatrixArgs& args) {
  Value result(call->dtype);
  for (int e = 0; e < 2; ++e) {
    MatrixElement from = InTiles(lane % 4 * 2 + e, lane / 4);
    result[e] = args[from.lane][0][from.element];
  }
  return result;
}

// Element (row, column) of a block with rows of `depth`, or of its transpose.
const Lane& InBlock(const Value& block, int depth, bool transposed, int row, int column) {
  if (transposed) std::swap(row, column);
  return block[row * depth + column];
}

// Element e of a matrix that a thread of the group has in registers.
struct GroupElement {
  int row, column;
};
GroupElement GroupElementAt(int thread, int e) {
  int warp = thread / 32, lane = thread % 32;
  return {warp * 16 + e / 2 % 2 * 8 + lane / 4, e / 4 * 8 + lane % 4 * 2 + e % 2};
}
void PutInBlock(const Value& part, int thread, Value* block) {
  for (int e = 0; e < part.dtype.lanes(); ++e) {
    auto [row, column] = GroupElementAt(thread, e);
    (*block)[row * kWarpGroupBlock + column] = part[e];
  }
}

// Of a thread of the group. Products of floats of up to 16 bits are exact; tf32 keeps all bits
// here.
Value GroupSum(const ir::CallNode* call, int thread, Value sums, const std::vector<Value>& blocks) {
  std::string layout = GroupLayoutOf(call);
  const GroupType& type = GroupTypeOf(call);
  for (int e = 0; e < call->dtype.lanes(); ++e) {
    auto [row, column] = GroupElementAt(thread, e);
    const Value& right = blocks[1 + column / kWarpGroupBlock];
    for (int k = 0; k < type.depth(); ++k) {
      auto a = InBlock(blocks[0], type.depth(), layout[0] == 't', row, k),
           b = InBlock(right, type.depth(), layout[1] == 't', k, column % kWarpGroupBlock);
      if (type.sum.is_float())
        sums[e].f = static_cast<float>(sums[e].f + a.f * b.f);
      else
        sums[e].i = static_cast<int32_t>(sums[e].i + a.i * b.i);
    }
  }
  return sums;
}

Value MatrixResult(const ir::CallNode* call, int lane, const MatrixArgs& args) {
  if (call->name == intrinsic::kWarpMatrixMove) return args[lane][0];
  if (call->name == intrinsic::kWarpMatrixMoveTransposed) return TransposedTile(call, lane, args);
  if (call->name == intrinsic::kWarpMatrixMultiplyTile) return TileSum(call, lane, args);
  return call->args.size() == 1 ? MatrixRows(call, lane, args) : MatrixSum(call, lane, args);
}

}  // namespace

void Machine::ExchangeMatrices(const ir::CallNode* call, const Warp& warp) {
  size_t lanes = MatrixLanes(call);
  if (warp.lanes.size() != lanes)
    TERN_THROW(RuntimeError) << ir::At(call->span) << call->name << " takes a warp of " << lanes
                             << " lanes; this one has " << warp.lanes.size();
  MatrixArgs args(warp.lanes.size());
  for (size_t lane = 0; lane < warp.lanes.size(); ++lane) {
    Enter(warp.lanes[lane]);
    for (const Expr& arg : call->args) args[lane].push_back(Eval(arg));
  }
  for (size_t lane = 0; lane < warp.lanes.size(); ++lane)
    warp.lanes[lane]->exchanged[call] = MatrixResult(call, static_cast<int>(lane), args);
}

// All threads name the same operands in shared memory; those of the first one are read. Of a left
// operand in registers each one has a part.
void Machine::ExchangeGroup(const ir::CallNode* call, const Warp& warps) {
  if (warp_size_ != 32 || warps.lanes.size() != kWarpGroupThreads)
    TERN_THROW(RuntimeError) << ir::At(call->span) << call->name << " takes "
                             << kWarpGroupThreads / 32 << " warps of 32 lanes; these are "
                             << warps.lanes.size() << " threads, in warps of " << warp_size_;
  bool in_registers = HasLeftInRegisters(call);
  bool is_async = call->name == intrinsic::kWarpMatrixMultiplyGroupAsync;
  Enter(warps.lanes[0]);
  std::vector<Value> blocks(1);
  async_ = is_async ? Async::kOperand : Async::kNone;
  if (!in_registers) blocks[0] = Eval(call->args[2]);
  for (size_t i = 3; i < call->args.size(); ++i) blocks.push_back(Eval(call->args[i]));
  if (in_registers) {
    blocks[0] = Value(call->args[3].dtype());
    for (size_t i = 0; i < warps.lanes.size(); ++i) {
      Enter(warps.lanes[i]);
      PutInBlock(Eval(call->args[2]), static_cast<int>(i), &blocks[0]);
    }
  }
  async_ = Async::kSum;
  for (size_t i = 0; i < warps.lanes.size(); ++i) {
    Enter(warps.lanes[i]);
    warps.lanes[i]->exchanged[call] =
        GroupSum(call, static_cast<int>(i), Eval(call->args[0]), blocks);
    AsyncGroups& products = under_way_[task_].products;
    products.Commit();
    if (!is_async) EndAsync(&products, 0);
  }
  async_ = Async::kNone;
}

Value Machine::ExchangedValue(const ir::CallNode* call, const Warp& warp, size_t lane,
                              const std::vector<Value>& values, int64_t other) {
  using namespace intrinsic;
  uint64_t ballot = 0;
  if (call->args.size() == 1) {
    for (size_t i = 0; i < values.size(); ++i) ballot |= uint64_t{values[i].i() != 0} << i;
    uint64_t all = values.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << values.size()) - 1;
    int64_t result = call->name == kWarpAny   ? ballot != 0
                     : call->name == kWarpAll ? ballot == all
                                              : static_cast<int64_t>(ballot);
    return Value::Int(call->dtype, result);
  }
  auto count = static_cast<int64_t>(values.size()), own = static_cast<int64_t>(lane);
  bool direct = call->name == kWarpShuffle;
  if (other < 0 || (direct && other >= count))
    TERN_THROW(RuntimeError) << ir::At(call->span) << tasks_.Describe(warp.lanes[lane]->task)
                             << " asks " << call->name << " for "
                             << (direct ? "lane " : "a distance of ") << other << "; the warp has "
                             << count << " lanes";
  int64_t source = direct                           ? other
                   : call->name == kWarpShuffleUp   ? own - other
                   : call->name == kWarpShuffleDown ? (other < count ? own + other : count)
                                                    : own ^ other;
  return values[source >= 0 && source < count ? source : own];
}

}  // namespace tern::tir
