// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/gemm.h"

#include <algorithm>
#include <numeric>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/im2col_loops.h"
#include "tern/schedule/rules/loops.h"
#include "tern/tir/analysis/preparation.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/transform/memory/flatten_buffers.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

bool IsSpatial(const BlockInfo& block) {
  return std::all_of(block.axes.begin(), block.axes.end(),
                     [](const BlockAxis& axis) { return axis.kind == IterKind::kSpatial; });
}

// Every element of the buffer is the one at the block's axes, in their order.
bool ReadsByAxes(const BlockInfo& reader, const Buffer& buffer) {
  std::vector<size_t> all(reader.axes.size());
  std::iota(all.begin(), all.end(), 0);
  return std::all_of(reader.accesses.begin(), reader.accesses.end(),
                     [&](const BlockAccess& access) {
                       if (!access.buffer.same(buffer)) return true;
                       return !access.store && access.by_axes && access.axes == all;
                     });
}

bool HasThreads(const Schedule& schedule, const BlockNode* block) {
  Nest nest = NestOf(schedule.tree(), block);
  auto is_thread = [](const ForNode* loop) { return loop->for_kind == ForKind::kThread; };
  return std::any_of(nest.loops.begin(), nest.loops.end(), is_thread);
}

// Made ahead, and for other blocks too: these would have to make it at every call.
bool IsPrepackedForOthers(const Schedule& schedule, const BlockRef& block, const Buffer& buffer) {
  if (!IsConstant(schedule, buffer->name)) return false;
  int readers = 0;
  for (const BlockNode* other : BlocksIn(schedule.function()->body))
    for (const BlockAccess& access : DescribeBlock(other).accesses)
      readers += !access.store && access.buffer.same(buffer) && other != schedule.At(block);
  return readers > 0;
}

// Whether a block calls a function, such as exp.
bool HasCalls(const BlockNode* block) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::CallNode*) override { found = true; }
    bool found = false;
  } scan;
  scan.Visit(block->body);
  return scan.found;
}

// Whether a producer is nobody else's.
bool IsOwnOf(const Schedule& schedule, const BlockRef& producer, const BlockRef& block) {
  BlockInfo info = DescribeBlock(schedule, producer);
  for (const BlockNode* other : BlocksIn(schedule.function()->body))
    if (other != schedule.At(block) && other != schedule.At(producer) &&
        Touches(AsStmt(other), info.accesses[0].buffer))
      return false;
  return true;
}

// A block that computes something that another one reads, or none.
BlockRef ProducerFor(const Schedule& schedule, const BlockRef& block, Producers producers) {
  for (const BlockAccess& access : DescribeBlock(schedule, block).accesses) {
    BlockRef producer = access.store ? BlockRef() : ProducerOf(schedule, access.buffer);
    if (producer.empty() || IsPrepackedForOthers(schedule, block, access.buffer)) continue;
    if (producers == Producers::kAll && IsSubsampled(schedule, producer)) continue;
    if (producers != Producers::kAll && !IsOwnOf(schedule, producer, block)) continue;
    // What is computed again for every tile has to be cheap.
    if (producers == Producers::kCheap && HasCalls(schedule.At(producer))) continue;
    return producer;
  }
  return {};
}

bool MayBeDynamic(const BlockAxis& axis, Sizes sizes) {
  return axis.role == AxisRole::kBatch || sizes == Sizes::kDynamic ||
         (axis.role == AxisRole::kM && sizes == Sizes::kDynamicM);
}

// Whether an axis is one of the batch, which may have all M or N axes but the last one of C.
bool IsBatch(const BlockInfo& block, size_t axis, BatchAxes batch_axes) {
  AxisRole role = block.axes[axis].role,
           several = batch_axes == BatchAxes::kOuterM ? AxisRole::kM : AxisRole::kN;
  if (role == AxisRole::kBatch) return true;
  if (batch_axes == BatchAxes::kShared || role != several) return false;
  const std::vector<size_t>& result = block.accesses[0].axes;
  auto last = std::find_if(result.rbegin(), result.rend(),
                           [&](size_t i) { return block.axes[i].role == several; });
  return last != result.rend() && *last != axis;
}

// The axes of a block that are those of a GEMM, by number.
struct GemmAxes {
  std::optional<size_t> m, n, k;
};

// Whether neighbours along an axis, in groups of so many, are neighbours in what is copied.
bool IsContiguous(const BlockNode* block, const ir::BufferLoadNode* load, size_t axis,
                  int64_t lanes) {
  const BlockIter& iter = block->iters[axis];
  DataType dtype = iter.var.dtype();
  auto number = [&](int64_t value) { return ir::MakeConst(dtype, static_cast<double>(value)); };
  Expr place = FlatIndex(load->buffer, load->indices);
  arith::Analyzer analyzer;
  for (const BlockIter& other : block->iters)
    analyzer.BindRange(other.var, number(0), other.extent);
  Var along = iter.var;
  if (lanes > 1 && Divides(lanes, iter.extent)) {
    Var vector("vector", dtype), lane("lane", dtype);
    analyzer.BindRange(vector, number(0),
                       analyzer.Simplify(ir::FloorDiv(iter.extent, number(lanes))));
    analyzer.BindRange(lane, number(0), number(lanes));
    place = ir::Substitute(place, {{iter.var.node(), vector * number(lanes) + lane}});
    along = lane;
  }
  auto linear = arith::AsLinear(analyzer.Simplify(place), along.node());
  return linear && linear->coefficient == 1;
}

}  // namespace

double Gemm::flops() const {
  return 2.0 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
         static_cast<double>(k);
}

std::optional<Gemm> MatchGemm(const Schedule& schedule, const BlockInfo& block, Sizes sizes,
                              BatchAxes batch_axes) {
  Gemm gemm;
  GemmAxes axes;
  for (size_t i = 0; i < block.axes.size(); ++i) {
    const BlockAxis& axis = block.axes[i];
    std::optional<int64_t> extent = ir::AsConstInt(axis.extent);
    if (axis.loop.empty() || (!extent && !MayBeDynamic(axis, sizes))) return {};
    int64_t size = extent ? *extent : kUnknownExtent;
    if (IsBatch(block, i, batch_axes)) {
      gemm.loops.batch.push_back(axis.loop);
      gemm.batch *= size;
      gemm.dynamic_batch |= !extent;
      continue;
    }
    auto take = [&](std::optional<size_t>* number, LoopRef* loop, int64_t* into) {
      if (*number) return false;
      *number = i;
      *loop = axis.loop;
      *into = size;
      return true;
    };
    bool taken = axis.role == AxisRole::kM   ? take(&axes.m, &gemm.loops.m, &gemm.m)
                 : axis.role == AxisRole::kN ? take(&axes.n, &gemm.loops.n, &gemm.n)
                 : axis.role == AxisRole::kK ? take(&axes.k, &gemm.loops.k, &gemm.k)
                                             : false;
    if (!taken) return {};
    if (extent) continue;
    (axis.role == AxisRole::kM   ? gemm.dynamic_m
     : axis.role == AxisRole::kN ? gemm.dynamic_n
                                 : gemm.dynamic_k) = true;
  }
  if (!axes.m || !axes.n || !axes.k || block.conditional) return {};
  gemm.c = block.accesses[0].buffer;
  for (const BlockAccess& access : block.accesses) {
    size_t rank = access.indices.size();
    if (!block.is_batched && (!access.by_axes || access.axes.size() != rank)) return {};
    auto dim_of = [&](std::optional<size_t> axis) -> size_t {
      auto is_axis = [&](const Expr& index) { return index.same(block.axes[*axis].var); };
      return std::find_if(access.indices.begin(), access.indices.end(), is_axis) -
             access.indices.begin();
    };
    if (access.buffer.same(gemm.c)) {
      gemm.c_m_dim = dim_of(axes.m);
      continue;
    }
    bool is_a = dim_of(axes.m) < rank;
    GemmOperand& operand = is_a ? gemm.a : gemm.b;
    if (!operand.name.empty()) return {};
    operand = {access.buffer,
               access.buffer->name,
               access.buffer->dtype,
               rank,
               dim_of(is_a ? axes.m : axes.n),
               dim_of(axes.k),
               is_a};
    if (operand.own_dim == rank || operand.k_dim == rank) return {};
  }
  if (gemm.a.name.empty() || gemm.b.name.empty()) return {};
  Nest nest = NestOf(schedule.tree(), schedule.At(block.ref));
  if (!nest.around.empty()) return {};
  gemm.epilogue = FindEpilogue(schedule, block.ref, gemm.c);
  return gemm;
}

Gemm RequireGemm(const Schedule& schedule, const BlockInfo& block, Sizes sizes,
                 BatchAxes batch_axes) {
  if (std::optional<Gemm> gemm = MatchGemm(schedule, block, sizes, batch_axes)) return *gemm;
  for (const BlockAxis& axis : block.axes)
    if (!ir::AsConstInt(axis.extent) && !MayBeDynamic(axis, sizes))
      Refuse("the extent of axis " + axis.var.name() + " is dynamic");
  Refuse("an operand of block " + block.name +
         " is not indexed by batch, M, N and K alone, one loop each");
}

Gemm RequireGemm(const Schedule& schedule, const BlockRef& block, Sizes sizes,
                 BatchAxes batch_axes) {
  return RequireGemm(schedule, DescribeBlock(schedule, block), sizes, batch_axes);
}

void GuessSizes(Gemm* gemm, const TargetInfo& target) {
  if (gemm->dynamic_m) gemm->m = target.likely_m;
  if (gemm->dynamic_n) gemm->n = target.likely_n;
  if (gemm->dynamic_k) gemm->k = target.likely_k;
}

Gemm PadGemm(Schedule* schedule, const BlockInfo& block, const GemmMultiples& multiples,
             Sizes sizes, BatchAxes batch_axes) {
  std::vector<int64_t> factors;
  for (size_t i = 0; i < block.axes.size(); ++i) {
    AxisRole role = block.axes[i].role;
    factors.push_back(IsBatch(block, i, batch_axes) ? 1
                      : role == AxisRole::kM        ? multiples.m
                      : role == AxisRole::kN        ? multiples.n
                      : role == AxisRole::kK        ? multiples.k
                                                    : 1);
  }
  PaddedEinsum padded = schedule->PadEinsum(block.ref, factors);
  if (padded.result)
    Try(schedule, [&](Schedule* attempt) { attempt->ComputeInline(padded.result); });
  return RequireGemm(*schedule, block.ref, sizes, batch_axes);
}

bool IsConstant(const Schedule& schedule, const std::string& buffer) {
  const Preparation& preparation = schedule.preparation();
  for (const Param& param : schedule.function()->params)
    if (param.is_tensor() && param.name() == buffer) return preparation.IsConstant(param.buffer);
  const std::vector<Buffer>& made = preparation.made();
  return std::any_of(made.begin(), made.end(),
                     [&](const Buffer& one) { return one->name == buffer; });
}

LoopRefs LoopsOfAxes(const Schedule& schedule, const BlockRef& block) {
  const BlockNode* node = schedule.At(block);
  Nest nest = NestOf(schedule.tree(), node);
  LoopRefs loops;
  for (const BlockIter& iter : node->iters) {
    auto it = std::find_if(nest.loops.begin(), nest.loops.end(), [&](const ForNode* loop) {
      return ir::UsesVar(iter.binding, loop->var.node());
    });
    loops.push_back(it == nest.loops.end() ? LoopRef() : LoopRef(*it));
  }
  return loops;
}

BlockRef ProducerOf(const Schedule& schedule, const Buffer& buffer) {
  const Stmt& body = schedule.function()->body;
  if (!AllocationOf(body, buffer)) return {};
  for (const BlockNode* block : BlocksIn(body)) {
    BlockInfo info = DescribeBlock(block);
    bool writes =
        !info.accesses.empty() && info.accesses[0].store && info.accesses[0].buffer.same(buffer);
    if (!writes) continue;
    // What has threads already is a kernel, and stays one.
    return IsSpatial(info) && !HasThreads(schedule, block) ? schedule.RefTo(block) : BlockRef();
  }
  return {};
}

BlockRef FindReader(const Schedule& schedule, const BlockRef& block, const Buffer& result) {
  const Stmt& body = schedule.function()->body;
  if (!AllocationOf(body, result)) return {};
  BlockRef reader;
  for (const BlockNode* other : BlocksIn(body)) {
    if (other == schedule.At(block) || !Touches(AsStmt(other), result)) continue;
    if (!IsSpatial(DescribeBlock(other)) || reader) return {};
    reader = schedule.RefTo(other);
  }
  return reader;
}

BlockRef FindEpilogue(const Schedule& schedule, const BlockRef& block, const Buffer& result) {
  BlockRef reader = FindReader(schedule, block, result);
  if (!reader) return {};
  const BlockNode* node = schedule.At(reader);
  // One that stands in loops with others is a part of theirs.
  bool is_alone = NestOf(schedule.tree(), node).around.empty();
  return is_alone && ReadsByAxes(DescribeBlock(node), result) ? reader : BlockRef();
}

void FuseEpilogue(Schedule* schedule, const BlockRef& block, const Buffer& result) {
  if (BlockRef epilogue = FindReader(*schedule, block, result))
    Try(schedule, [&](Schedule* attempt) { attempt->ReverseComputeInline(epilogue); });
}

BlockRef KeepAccumulators(Schedule* schedule, const BlockRef& block, const Gemm& gemm,
                          StorageScope scope) {
  if (gemm.epilogue.empty()) return schedule->CacheWrite(block, gemm.c, scope, block + "_acc");
  schedule->SetScope(gemm.c, scope);
  return gemm.epilogue;
}

void FusePrologue(Schedule* schedule, const BlockRef& block, Producers producers) {
  for (BlockRef producer = ProducerFor(*schedule, block, producers);
       producer && Try(schedule, [&](Schedule* attempt) { attempt->ComputeInline(producer); });)
    producer = ProducerFor(*schedule, block, producers);
}

bool IsChannelIndex(const Expr& index, const BlockAxis& axis) {
  if (index.get() == axis.var.get()) return true;
  if (!ir::UsesVar(index, axis.var.node()) || !ir::AsConstInt(axis.extent)) return false;
  arith::Analyzer analyzer;
  analyzer.BindRange(axis.var, ir::MakeConst(axis.var.dtype(), 0), axis.extent);
  return analyzer.CanProve(ir::FloorMod(index, axis.extent) == axis.var);
}

void MakeChannelsInnermost(Schedule* schedule, const BlockInfo& block) {
  LoopRefs taps, channels;
  for (const BlockAxis& axis : block.axes) {
    if (axis.kind != IterKind::kReduce || axis.loop.empty()) continue;
    bool is_index = true;
    for (const BlockAccess& access : block.accesses)
      for (const Expr& index : access.indices)
        is_index &= !ir::UsesVar(index, axis.var.node()) || IsChannelIndex(index, axis);
    (is_index && !axis.decides ? channels : taps).push_back(axis.loop);
  }
  if (taps.empty() || channels.empty()) return;
  taps.insert(taps.end(), channels.begin(), channels.end());
  // Floats are not summed in another order unless the function allows it.
  Try(schedule, [&](Schedule* attempt) { attempt->Reorder(taps.Of(block.ref)); });
}

namespace {

// What a block copies, or a constant beside it; null where it computes something.
const ir::BufferLoadNode* CopiedBy(const BlockNode* block) {
  Stmt body = block->body;
  for (const auto* let = body.As<LetStmtNode>(); let; let = body.As<LetStmtNode>())
    body = Substitute(let->body, {{let->var.node(), let->value}});
  const auto* store = body.As<BufferStoreNode>();
  return store ? CopiedOrConstant(store->value) : nullptr;
}

// The last two dimensions change places.
IndexMap SwapLastTwo(size_t rank) {
  std::string batch;
  for (size_t d = 0; d + 2 < rank; ++d) batch += "b" + std::to_string(d) + ", ";
  return IndexMap::Parse("(" + batch + "i, j) -> (" + batch + "j, i)");
}

}  // namespace

void PutContiguousLast(Schedule* schedule, const CopyRef& operand, int64_t vector_bytes) {
  const BlockNode* block = schedule->At(operand);
  const ir::BufferLoadNode* load = CopiedBy(block);
  if (!load) return;
  int64_t lanes = vector_bytes / load->buffer->dtype.bytes();
  size_t rank = block->iters.size();
  if (!IsContiguous(block, load, rank - 2, lanes) ||
      (lanes > 1 && IsContiguous(block, load, rank - 1, lanes)))
    return;
  schedule->TransformLayout(operand, SwapLastTwo(rank));
}

bool SwapNarrow(Schedule* schedule, const BlockRef& block, const BlockRef& a,
                int64_t vector_bytes) {
  Gemm gemm = RequireGemm(*schedule, block, Sizes::kDynamic);
  int64_t lanes = vector_bytes / gemm.c->dtype.bytes();
  if (gemm.dynamic_n || gemm.n >= lanes || (!gemm.dynamic_m && gemm.m < 2 * lanes)) return false;
  const BlockNode* copy = schedule->At(a);
  const ir::BufferLoadNode* load = CopiedBy(copy);
  size_t rank = copy->iters.size();
  if (!load ||
      (!IsContiguous(copy, load, rank - 1, lanes) && !IsContiguous(copy, load, rank - 2, lanes)))
    return false;
  schedule->TransformLayout(gemm.c, SwapLastTwo(gemm.c->shape.size()));
  return true;
}

Schedule::Names SharedAxes(const BlockInfo& block) {
  std::vector<const BlockAccess*> loads;
  for (const BlockAccess& access : block.accesses)
    if (!access.store && !access.buffer.same(block.accesses[0].buffer)) loads.push_back(&access);
  Schedule::Names shared;
  for (const BlockAxis& axis : block.axes) {
    bool in_all = axis.kind == IterKind::kSpatial && loads.size() == 2;
    for (const BlockAccess* load : loads)
      in_all =
          in_all && std::any_of(load->indices.begin(), load->indices.end(),
                                [&](const Expr& e) { return ir::UsesVar(e, axis.var.node()); });
    if (in_all) shared.push_back(axis.var.name());
  }
  return shared;
}

bool HasCheapProducer(const Schedule& schedule, const BlockRef& block) {
  return !ProducerFor(schedule, block, Producers::kCheap).empty();
}

IndexMap PackedLayout(size_t rank, size_t own_dim, size_t k_dim, const std::string& to) {
  std::string from, others;
  for (size_t d = 0; d < rank; ++d) {
    std::string dim = d == own_dim ? "x" : d == k_dim ? "k" : "d" + std::to_string(d);
    from += (d ? ", " : "") + dim;
    if (d != own_dim && d != k_dim) others += dim + ", ";
  }
  return IndexMap::Parse("(" + from + ") -> (" + others + to + ")");
}

CopyRef CopyRowsOfA(Schedule* schedule, const BlockRef& block, const GemmOperand& a,
                    const std::string& name) {
  CopyRef copy = schedule->CacheRead(block, a.buffer, StorageScope::kGlobal, name);
  schedule->TransformLayout(copy, PackedLayout(a.rank, a.own_dim, a.k_dim, "x, k"));
  return copy;
}

void StoreTile(Schedule* schedule, const BlockRef& block, const LoopRefs& loops, int64_t lanes,
               const Schedule::Names& names, bool unroll, TailStrategy tail) {
  if (loops.empty()) return;
  auto [vectors, lane] = schedule->Split(loops.back().Of(block), {lanes}, names, tail);
  schedule->Vectorize(lane.Of(block));
  if (!unroll) return;
  schedule->Unroll(vectors.Of(block));
  if (loops.size() > 1) schedule->Unroll(loops[loops.size() - 2].Of(block));
}

}  // namespace tern::schedule
