// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/random_program.h"

#include "tern/ir/pass.h"
#include "tern/tir/atomics.h"
#include "tern/tir/function.h"
#include "tern/tir/intrinsics.h"
#include "test/fuzz/annotate_pipelines.h"
#include "test/fuzz/loosen_allocations.h"
#include "test/fuzz/random_expr.h"
#include "test/fuzz/random_vector.h"

namespace tern::fuzz {
namespace {

using namespace tern::tir;  // the statement classes

// What the statements being made may write.
struct Writable {
  Buffer buffer;
  std::vector<Expr> only_at;
  bool anywhere = false;
};

class ProgramGenerator {
 public:
  ProgramGenerator(uint64_t seed, const ProgramOptions& options)
      : random_(seed), exprs_(&random_, options.float_arithmetic) {
    program_.arguments.seed = seed;
    program_.rounds_floats = options.float_arithmetic;
  }

  RandomProgram Make() {
    binds_threads_ = random_.OneIn(3);
    has_asserts_ = random_.OneIn(5);
    MakeSymbols();
    std::vector<Param> params = MakeParams();
    std::vector<Stmt> stages;
    for (int64_t i = random_.Between(1, 3); i > 0; --i) stages.push_back(MakeStage());
    if (has_asserts_ && random_.OneIn(3))
      stages.insert(stages.begin() + random_.Below(static_cast<int64_t>(stages.size()) + 1),
                    MakeFailingStage());
    Stmt body = SeqNode::Make(std::move(stages));
    for (const Buffer& buffer : shared_by_launches_) body = AllocateNode::Make(buffer, body);
    if (random_.OneIn(2)) body = LoosenAllocations(body, &random_);
    ir::Attrs attrs;
    if (has_warps_) attrs["warp_size"] = kWarpSize;
    if (has_asserts_) program_.optional_features.emplace_back("assert");
    PrimFunc function = PrimFunc::Make("f", std::move(params), body, attrs);
    if (random_.OneIn(3)) function = WithPipeline(function);
    program_.module = ir::IRModule::Make({function});
    return std::move(program_);
  }

 private:
  static constexpr int64_t kWarpSize = 32;

  // The function with a loop that is pipelined, where one can be.
  PrimFunc WithPipeline(const PrimFunc& function) {
    PrimFunc pipelined = function.WithBody(AnnotatePipelines(function->body, &random_));
    try {
      ir::RunPasses(ir::IRModule::Make({pipelined}), {"pipeline_loops"});
      return pipelined;
    } catch (const Error&) {
      return function;
    }
  }

  // ---- parameters

  void MakeSymbols() {
    for (const char* name : {"n", "m"})
      if (random_.OneIn(2)) symbols_.emplace_back(name);
    for (const Var& symbol : symbols_) {
      // Now and then nothing runs, and nothing may be evaluated that would fault then.
      int64_t extent = random_.OneIn(12) ? 0 : random_.Between(1, 5);
      program_.arguments.dims[symbol.name()] = extent;
      if (extent == 0) zeros_.push_back(symbol);
      exprs_.vars.push_back({{symbol, 5}, {}});
    }
  }

  Expr MakeExtent() {
    if (symbols_.empty() || random_.OneIn(3)) return random_.Between(1, 5);
    Expr symbol = random_.Pick(symbols_);
    if (random_.OneIn(5)) return symbol * Expr(2);
    if (random_.OneIn(5)) return symbol + Expr(1);
    return symbol;
  }

  Buffer MakeTensor(const std::string& name) {
    std::vector<Expr> shape(random_.Below(4));
    for (Expr& extent : shape) extent = MakeExtent();
    std::vector<Expr> strides;
    if (zeros_.empty() && random_.OneIn(6)) {
      strides.assign(shape.size(), 1);
      for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    }
    return ir::BufferNode::Make(name, random_.Pick(AllTypes()), shape, strides);
  }

  std::vector<Param> MakeParams() {
    std::vector<Param> params;
    auto add = [&](const Buffer& buffer) {
      params.push_back({buffer->data, buffer});
      exprs_.buffers.push_back({buffer, {}, true});
    };
    // Every symbol stands alone somewhere, or it would have no value.
    for (const Var& symbol : symbols_)
      add(ir::BufferNode::Make("S" + symbol.name(), random_.Pick(AllTypes()), {symbol}));
    for (int64_t i = 0, count = random_.Below(3); i < count; ++i)
      add(MakeTensor("A" + std::to_string(i)));
    if (random_.OneIn(6)) {
      program_.has_packed_elements = true;
      add(ir::BufferNode::Make("Q", random_.OneIn(2) ? DataType::Int(4) : DataType::UInt(4),
                               {MakeExtent(), MakeExtent()}));
    }
    for (int64_t i = 0, count = random_.Between(1, 2); i < count; ++i) {
      outputs_.push_back(MakeTensor("C" + std::to_string(i)));
      add(outputs_.back());
    }
    for (int64_t i = 0, count = random_.Below(3); i < count; ++i) {
      params.push_back({MakeScalar("s" + std::to_string(i)), {}});
    }
    for (size_t i = params.size(); i > 1; --i)
      std::swap(params[i - 1], params[random_.Below(static_cast<int64_t>(i))]);
    return params;
  }

  Var MakeScalar(const std::string& name) {
    DataType dtype = random_.Pick(AllTypes());
    int64_t value = random_.Below(dtype.is_bool() ? 2 : 8);
    if (dtype.is_float())
      program_.arguments.inputs[name] = std::to_string(value) + ".5";
    else
      program_.arguments.dims[name] = value;
    Var var(name, dtype);
    exprs_.vars.push_back({{var, ContentLimit(dtype)}, {}});
    return var;
  }

  // ---- scopes

  // What `make` brings into scope is gone afterwards.
  template <class F>
  auto Scoped(F&& make) {
    size_t vars = exprs_.vars.size(), buffers = exprs_.buffers.size(), writes = writable_.size();
    auto result = make();
    exprs_.vars.resize(vars);
    exprs_.buffers.resize(buffers);
    writable_.resize(writes);
    return result;
  }

  Var NewVar(const char* prefix, DataType dtype = DataType::Int(64)) {
    return Var(prefix + std::to_string(names_++), dtype);
  }

  // ---- stages: the top-level statements

  Stmt MakeStage() {
    std::vector<Writable> saved_writable;
    std::swap(saved_writable, writable_);
    std::vector<Readable> saved_buffers = exprs_.buffers;
    Stmt stage = Scoped([&] {
      if (binds_threads_ && random_.OneIn(3)) return MakeCooperativeStage();
      if (random_.OneIn(5)) return MakeAtomicStage();
      switch (random_.Below(5)) {
        case 0:
          return MakeSerialStage();
        case 1:
        case 2:
          return MakeBlockStage();
        default:
          return MakeElementStage();
      }
    });
    exprs_.buffers = std::move(saved_buffers);
    std::swap(saved_writable, writable_);
    for (const Var& zero : zeros_)
      stage = ForNode::Make(NewVar("z"), 0, zero, ForKind::kSerial, stage);
    return stage;
  }

  // Iterations in order, which may write anywhere.
  Stmt MakeSerialStage() {
    for (const Buffer& output : outputs_) writable_.push_back({output, {}, true});
    return Threads({}, MakeFor([&] { return MakeBody(2); }, false));
  }

  // One instance per element of an output, in any order: each writes its own and reads nothing that
  // another writes.
  Stmt MakeElementStage() {
    Buffer output = random_.Pick(outputs_);
    std::vector<Loop> loops;
    for (const Expr& extent : output->shape) loops.push_back(NewLoop(extent));
    std::vector<Expr> element;
    for (const Loop& loop : loops) element.push_back(loop.value);
    OwnElement(output, element);
    return Threads(loops, MakeBody(2));
  }

  // The same as a block, with reductions.
  Stmt MakeBlockStage() {
    Buffer output = random_.Pick(outputs_);
    std::vector<Loop> loops;
    std::vector<BlockIter> iters;
    std::vector<Expr> element;
    auto add_iter = [&](const Expr& extent, IterKind kind) {
      loops.push_back(NewLoop(extent, kind == IterKind::kSpatial));
      if (kind == IterKind::kSpatial && random_.OneIn(8))
        kind = random_.OneIn(2) ? IterKind::kScan : IterKind::kOpaque;
      Var axis = NewVar("v");
      Expr binding = loops.back().value;
      if (random_.OneIn(6)) binding = extent - 1 - binding;
      iters.push_back({extent, binding, axis, kind});
      return axis;
    };
    for (const Expr& extent : output->shape)
      element.push_back(add_iter(extent, IterKind::kSpatial));
    // Now and then there is nothing to reduce, and only the init runs.
    for (int64_t i = random_.Below(3); i > 0; --i)
      add_iter(random_.OneIn(10) ? Expr(0) : MakeExtent(), IterKind::kReduce);
    // In a block only its axes are in scope.
    for (size_t i = exprs_.vars.size() - loops.size(), k = 0; k < loops.size(); ++i, ++k)
      exprs_.vars[i] = {{iters[k].var, 10}, iters[k].extent};
    OwnElement(output, element);

    bool reduces = loops.size() > element.size();
    Stmt init, body;
    if (reduces) {
      Value own{ir::BufferLoadNode::Make(output, element), ContentLimit(output->dtype)};
      init = MakeStoreOf(writable_.back(), exprs_.Make(output->dtype, 0));
      body = MakeStoreOf(writable_.back(), exprs_.Accumulate(own, exprs_.Make(output->dtype, 3)));
      // Without init the reduction goes on from what is there.
      if (random_.OneIn(4)) init = {};
    } else {
      body = MakeBody(1);
    }
    return Threads(loops, BlockNode::Make("b" + std::to_string(names_++), iters, init, body));
  }

  // Instances of which some fail an assert, where there are as many.
  Stmt MakeFailingStage() {
    program_.may_fail = true;
    return Scoped([&] {
      Loop loop = NewLoop(MakeExtent());
      Expr limit = random_.Below(4);
      return Threads({loop}, AssertNode::Make(loop.value < limit, "ValueError",
                                              {ir::StringImmNode::Make(kFailureWord), loop.value}));
    });
  }

  // Threads of a block that exchange values in shared memory, with barriers between, and in warps.
  // Each writes an element of an output, where there is one for it.
  Stmt MakeCooperativeStage() {
    int64_t groups = random_.Between(1, 3), threads = random_.Between(2, 40);
    Buffer output = random_.Pick(outputs_);
    std::erase_if(exprs_.buffers,
                  [&](const Readable& readable) { return readable.buffer.same(output); });
    Var group = NewVar("g"), thread = NewVar("t");
    exprs_.vars.push_back({{group, 3}, Expr(groups)});
    exprs_.vars.push_back({{thread, 40}, Expr(threads)});
    DataType dtype = random_.Pick(AllTypes());
    Buffer shared = ir::BufferNode::Make("h" + std::to_string(names_++), dtype, {Expr(threads)}, {},
                                         StorageScope::kShared);
    Writable own = {shared, {thread}, false};
    Stmt barrier = EvaluateNode::Make(MakeBarrier(BarrierKind::kShared));
    std::vector<Stmt> stmts = {MakeStoreOf(own, exprs_.Make(dtype, 2)), barrier};
    Buffer counter = random_.OneIn(3) ? MakeSharedCounter(thread, barrier, &stmts) : Buffer();
    exprs_.buffers.push_back({shared, {}, true});
    for (int64_t i = random_.Between(1, 2); i > 0; --i) stmts.push_back(MakeExchange(own, barrier));
    Expr rest = Expr(group) * Expr(threads) + thread, count = 1;
    Expr number = rest;
    std::vector<Expr> element(output->shape.size());
    for (size_t d = element.size(); d-- > 0;) {
      element[d] = d == 0 ? rest : FloorMod(rest, output->shape[d]);
      rest = FloorDiv(rest, output->shape[d]);
      count = count * output->shape[d];
    }
    Stmt store = MakeStoreOf({output, element, false}, exprs_.Make(output->dtype, 3));
    stmts.push_back(IfThenElseNode::Make(number < count, store));
    Stmt body = ForNode::Make(thread, 0, threads, ForKind::kThread, SeqNode::Make(std::move(stmts)),
                              "threadIdx.x");
    if (counter) body = AllocateNode::Make(counter, body);
    return ForNode::Make(group, 0, groups, ForKind::kThread, AllocateNode::Make(shared, body),
                         "blockIdx.x");
  }

  // A counter in shared memory that all threads of a block update, and read behind a barrier.
  Buffer MakeSharedCounter(const Var& thread, const Stmt& barrier, std::vector<Stmt>* stmts) {
    program_.optional_features.emplace_back("atomic");
    DataType dtype = random_.Pick(AtomicTypes());
    Buffer counter = ir::BufferNode::Make("h" + std::to_string(names_++), dtype, {Expr(1)}, {},
                                          StorageScope::kShared);
    Stmt clear = BufferStoreNode::Make(counter, {Expr(0)}, ir::MakeConst(dtype, random_.Below(8)));
    stmts->push_back(IfThenElseNode::Make(Expr(thread) == Expr(0), clear));
    stmts->push_back(barrier);
    stmts->push_back(MakeUpdate(counter, Expr(0), random_.Pick(AtomicUpdates())));
    stmts->push_back(barrier);
    exprs_.buffers.push_back({counter, {}, true});
    return counter;
  }
  static std::vector<DataType> AtomicTypes() {
    return {DataType::Int(32), DataType::UInt(32), DataType::Int(64), DataType::UInt(64)};
  }
  static std::vector<const char*> AtomicUpdates() {
    return {"atomic_add", "atomic_min", "atomic_max", "atomic_and", "atomic_or", "atomic_xor"};
  }
  // By any value: so small that all of them together stay below what a buffer holds.
  Stmt MakeUpdate(const Buffer& counters, const Expr& index, const char* operation) {
    Expr value = Fit(exprs_.Make(counters->dtype, 2), 7, &random_).expr;
    return EvaluateNode::Make(MakeAtomic(operation, Ordered(counters, index, {value}), {}));
  }
  // The arguments of an atomic operation, now and then with an order.
  std::vector<Expr> Ordered(const Buffer& counters, const Expr& index, std::vector<Expr> operands) {
    operands.insert(operands.begin(), ir::BufferLoadNode::Make(counters, {index}));
    if (random_.OneIn(6)) operands.push_back(ir::StringImmNode::Make("seq_cst"));
    return operands;
  }
  // By constants, so that the old values of all updates together are the same in any order; they
  // are combined in another element.
  Stmt MakeUpdateWithOld(const Buffer& counters, const Expr& index, const Buffer& olds) {
    DataType dtype = counters->dtype;
    auto constant = [&] { return ir::MakeConst(dtype, random_.Between(1, 3)); };
    Buffer old = ir::BufferNode::Make("o" + std::to_string(names_++), dtype, {Expr(1)}, {},
                                      StorageScope::kLocal);
    Expr was = ir::BufferLoadNode::Make(old, {Expr(0)});
    const char* operation = random_.Pick(
        std::vector<const char*>{"atomic_add", "atomic_exchange", "atomic_compare_exchange"});
    std::vector<Expr> operands = {constant()};
    if (operation == std::string("atomic_compare_exchange")) operands.push_back(constant());
    Stmt update = EvaluateNode::Make(
        MakeAtomic(operation, Ordered(counters, index, std::move(operands)), {}, was));
    const char* combine =
        random_.Pick(std::vector<const char*>{"atomic_xor", "atomic_or", "atomic_max"});
    Stmt keep = EvaluateNode::Make(MakeAtomic(combine, Ordered(olds, Expr(0), {was}), {}));
    return AllocateNode::Make(old, SeqNode::Make({update, keep}));
  }

  // All threads read what others wrote, and then write their own.
  Stmt MakeExchange(const Writable& own, const Stmt& barrier) {
    return Scoped([&] {
      DataType dtype = own.buffer->dtype;
      Value value = Fit(exprs_.Make(dtype, 3), ContentLimit(dtype), &random_);
      Var before = NewVar("y", dtype), moved = NewVar("w", dtype);
      exprs_.vars.push_back({{before, value.bound}, {}});
      bool exchanges = random_.OneIn(3);
      if (exchanges) exprs_.vars.push_back({{moved, value.bound}, {}});
      // While all write, each reads its own alone.
      exprs_.buffers.back() = {own.buffer, own.only_at, false};
      Stmt body = SeqNode::Make({barrier, MakeStoreOf(own, exprs_.Make(dtype, 2)), barrier});
      exprs_.buffers.back() = {own.buffer, {}, true};
      if (exchanges) body = LetStmtNode::Make(moved, MakeWarpOperation(before), body);
      return LetStmtNode::Make(before, value.expr, body);
    });
  }

  // Of the lanes' values of `x`, a value of its type.
  Expr MakeWarpOperation(const Var& x) {
    if (!has_warps_) program_.optional_features.emplace_back("warp");
    has_warps_ = true;
    DataType dtype = x.dtype();
    auto lane = [](int64_t number) { return ir::IntImmNode::Make(DataType::Int(32), number); };
    if (dtype.is_bool() && random_.OneIn(2))
      return ir::CallNode::Make(random_.OneIn(2) ? intrinsic::kWarpAny : intrinsic::kWarpAll, {x});
    switch (random_.Below(4)) {
      case 0:
        return ir::CallNode::Make(intrinsic::kWarpShuffle, {x, lane(0)});
      case 1:
        return ir::CallNode::Make(intrinsic::kWarpShuffleUp, {x, lane(random_.Between(0, 31))});
      case 2:
        return ir::CallNode::Make(intrinsic::kWarpShuffleDown, {x, lane(random_.Between(0, 31))});
      default:
        return ir::CallNode::Make(intrinsic::kWarpShuffleXor, {x, lane(random_.Between(0, 31))});
    }
  }

  // Counters that are set, updated at once in any order, and read.
  Stmt MakeAtomicStage() {
    program_.optional_features.emplace_back("atomic");
    DataType dtype = random_.Pick(AtomicTypes());
    int64_t size = random_.Between(1, 5);
    bool keeps_old = random_.OneIn(3);
    auto make_counters = [&](int64_t extent) {
      shared_by_launches_.push_back(
          ir::BufferNode::Make("h" + std::to_string(names_++), dtype, {Expr(extent)}, {}));
      return shared_by_launches_.back();
    };
    Buffer counters = make_counters(size), olds = keeps_old ? make_counters(1) : Buffer();
    auto clear = [&](const Buffer& buffer) {
      return Scoped([&] {
        Loop loop = NewLoop(buffer->shape[0]);
        return Threads({loop}, BufferStoreNode::Make(buffer, {loop.value},
                                                     ir::MakeConst(dtype, random_.Below(8))));
      });
    };
    std::vector<Stmt> stmts = {clear(counters)};
    if (keeps_old) stmts.push_back(clear(olds));
    stmts.push_back(Scoped([&] {
      std::vector<Loop> loops;
      for (int64_t i = random_.Between(1, 2); i > 0; --i) loops.push_back(NewLoop(MakeExtent()));
      Expr index = exprs_.Index(size, 2);
      return Threads(loops, keeps_old ? MakeUpdateWithOld(counters, index, olds)
                                      : MakeUpdate(counters, index, random_.Pick(AtomicUpdates())));
    }));
    exprs_.buffers.push_back({counters, {}, true});
    if (keeps_old) exprs_.buffers.push_back({olds, {}, true});
    stmts.push_back(MakeElementStage());
    return SeqNode::Make(std::move(stmts));
  }

  void OwnElement(const Buffer& output, const std::vector<Expr>& element) {
    for (Readable& readable : exprs_.buffers)
      if (readable.buffer.same(output)) readable = {output, element, false};
    writable_.push_back({output, element, false});
  }

  // ---- loops

  // One loop, or two whose variables together run over the extent.
  struct Loop {
    Expr extent, value;
    Var outer, inner;  // no inner: not split
    int64_t factor = 0;
    bool independent = true;  // iterations touch nothing of each other's
  };

  Loop NewLoop(const Expr& extent, bool independent = true) {
    Loop loop{extent, {}, NewVar("i"), {}, 0, independent};
    loop.value = loop.outer;
    if (random_.OneIn(4)) {
      loop.inner = NewVar("j");
      loop.factor = random_.Between(1, 4);
      loop.value = loop.outer * Expr(loop.factor) + loop.inner;
    }
    exprs_.vars.push_back({{loop.value, 10}, extent});
    return loop;
  }

  // The loops around `body`, first outermost, independent ones first. In a program that binds
  // threads, at least one loop of every stage is bound.
  Stmt Threads(const std::vector<Loop>& loops, Stmt body) {
    std::vector<const char*> axes = {"blockIdx.x", "threadIdx.x", "threadIdx.y"};
    size_t independent = 0;
    while (independent < loops.size() && loops[independent].independent) ++independent;
    size_t bound = binds_threads_ ? std::min<size_t>(independent, random_.Between(1, 3)) : 0;
    for (size_t i = loops.size(); i-- > 0;) {
      const Loop& loop = loops[i];
      if (loop.inner) {
        body = Where(loop.value < loop.extent, body);
        body = ForNode::Make(loop.inner, 0, loop.factor, RandomKind(loop.independent, loop.factor),
                             body);
      }
      Expr count = loop.inner ? ir::CeilDiv(loop.extent, loop.factor) : loop.extent;
      bool is_bound = i < bound;
      ForKind kind = is_bound ? ForKind::kThread : RandomKind(loop.independent, count);
      body = ForNode::Make(loop.outer, 0, count, kind, body, is_bound ? axes[i] : "");
    }
    if (binds_threads_ && bound == 0)
      body = ForNode::Make(NewVar("t"), 0, 1, ForKind::kThread, body, axes[1]);
    return body;
  }

  // `body` where the condition holds.
  Stmt Where(const Expr& condition, const Stmt& body) {
    const auto* block = body.As<BlockNode>();
    if (!block || random_.OneIn(2)) return IfThenElseNode::Make(condition, body);
    auto predicated = ffi::Make<BlockNode>(*block);
    predicated->predicate = block->predicate ? block->predicate && condition : condition;
    return predicated;
  }

  // Only what is independent runs in parallel, and only constant extents can be unrolled.
  ForKind RandomKind(bool independent, const Expr& extent) {
    std::vector<ForKind> kinds = {ForKind::kSerial, ForKind::kSerial};
    if (independent) kinds.push_back(ForKind::kParallel);
    std::optional<int64_t> constant = ir::AsConstInt(extent);
    if (constant) kinds.push_back(ForKind::kUnrolled);
    if (constant && *constant > 1) kinds.push_back(ForKind::kVectorized);
    return random_.Pick(kinds);
  }

  // A loop inside of a stage: its iterations run in order.
  template <class F>
  Stmt MakeFor(F&& make_body, bool unrollable = true) {
    return Scoped([&] {
      bool narrow = random_.OneIn(4);
      DataType dtype = narrow ? DataType::Int(32) : DataType::Int(64);
      Var var = NewVar("k", dtype);
      Expr extent =
          narrow ? ir::MakeConst(dtype, static_cast<double>(random_.Between(1, 4))) : MakeExtent();
      int64_t first = random_.OneIn(3) ? random_.Between(-3, 3) : 0;
      exprs_.vars.push_back({{var, 13}, first == 0 && !narrow ? extent : Expr()});
      bool unrolls = unrollable && ir::AsConstInt(extent) && random_.OneIn(4);
      ForKind kind = unrolls ? ForKind::kUnrolled : ForKind::kSerial;
      ir::Attrs annotations;
      if (!unrolls && random_.OneIn(6)) {
        kind = ForKind::kVectorized;
        annotations["lanes"] = random_.Between(2, 4);
        if (random_.OneIn(2)) annotations["tail"] = std::string("mask");
      }
      return ForNode::Make(var, ir::IntImmNode::Make(dtype, first), extent, kind, make_body(), "",
                           {}, annotations);
    });
  }

  // ---- statements of a stage's body

  Stmt MakeBody(int depth) {
    std::vector<Stmt> stmts;
    for (int64_t i = random_.Between(1, 3); i > 0; --i) stmts.push_back(MakeStmt(depth));
    return SeqNode::Make(std::move(stmts));
  }

  Stmt MakeStmt(int depth) {
    if (has_asserts_ && random_.OneIn(5)) return MakeAssert();
    if (depth <= 0) return MakeStore();
    switch (random_.Below(11)) {
      case 10:
        return MakeVectors(depth);
      case 0: {
        Expr condition = exprs_.Make(DataType::Bool(), 2).expr;
        Stmt then_case = MakeBody(depth - 1);
        return IfThenElseNode::Make(condition, then_case,
                                    random_.OneIn(2) ? MakeBody(depth - 1) : Stmt());
      }
      case 1:
        return MakeLet(depth);
      case 2:
        return MakeLocal(depth);
      case 3:
        return MakeWhile(depth);
      case 4:
      case 5:
        return MakeFor([&] { return MakeBody(depth - 1); });
      default:
        return MakeStore();
    }
  }

  // Of what holds, though code cannot know.
  Stmt MakeAssert() {
    DataType dtype = random_.OneIn(2) ? DataType::Int(32) : DataType::Int(64);
    Value value = Fit(exprs_.Make(dtype, 2), 1000, &random_);
    Expr holds = ir::LENode::Make(value.expr, ir::MakeConst(dtype, 1000));
    return AssertNode::Make(holds, "ValueError", {ir::StringImmNode::Make("got "), value.expr});
  }

  Stmt MakeStore() {
    const Writable& to = random_.Pick(writable_);
    return MakeStoreOf(to, exprs_.Make(to.buffer->dtype, 4));
  }

  Stmt MakeStoreOf(const Writable& to, Value value) {
    value = Fit(value, ContentLimit(to.buffer->dtype), &random_);
    return BufferStoreNode::Make(to.buffer, to.anywhere ? exprs_.Indices(to.buffer, 2) : to.only_at,
                                 value.expr);
  }

  Stmt MakeLet(int depth) {
    return Scoped([&] {
      Value value = exprs_.Make(random_.Pick(AllTypes()), 3);
      Var var = NewVar("y", value.expr.dtype());
      exprs_.vars.push_back({{var, value.bound}, {}});
      return LetStmtNode::Make(var, value.expr, MakeBody(depth - 1));
    });
  }

  // An array of the instance's own, filled before it is used.
  Stmt MakeLocal(int depth) {
    return Scoped([&] {
      std::vector<Expr> shape(random_.Below(3));
      for (Expr& extent : shape) extent = random_.Between(1, 4);
      Buffer local = ir::BufferNode::Make("t" + std::to_string(names_++), random_.Pick(AllTypes()),
                                          shape, {}, StorageScope::kLocal);
      std::vector<Var> vars;
      std::vector<Expr> indices;
      for (size_t i = 0; i < shape.size(); ++i) {
        vars.push_back(NewVar("k"));
        indices.push_back(vars.back());
      }
      Stmt fill = MakeStoreOf({local, indices, false}, exprs_.Make(local->dtype, 1));
      for (size_t i = shape.size(); i-- > 0;)
        fill = ForNode::Make(vars[i], 0, shape[i], ForKind::kSerial, fill);
      exprs_.buffers.push_back({local, {}, true});
      writable_.push_back({local, {}, true});
      Buffer view = random_.OneIn(3) ? MakeView(local) : Buffer();
      Stmt body = MakeBody(depth - 1);
      if (view) body = DeclBufferNode::Make(view, body);
      return AllocateNode::Make(local, SeqNode::Make({fill, body}));
    });
  }

  // Some elements of a compact buffer of constant size, seen through strides and an offset.
  Buffer MakeView(const Buffer& local) {
    int64_t size = 1;
    for (const Expr& extent : local->shape) size *= *ir::AsConstInt(extent);
    auto view = ffi::Make<BufferNode>(*local);
    view->name = "u" + std::to_string(names_++);
    int64_t offset = random_.Below(size), stride = random_.Between(1, 3);
    view->shape = {Expr((size - 1 - offset) / stride + 1)};
    view->strides = stride == 1 ? std::vector<Expr>{} : std::vector<Expr>{stride};
    if (offset > 0) view->offset = offset;
    Buffer result(view.get());
    exprs_.buffers.push_back({result, {}, true});
    writable_.push_back({result, {}, true});
    return result;
  }

  // Vector statements on an array of the instance's own.
  Stmt MakeVectors(int depth) {
    return Scoped([&] {
      DataType dtype = random_.Pick(AllTypes());
      int64_t size = random_.Between(4, 9);
      Buffer array = ir::BufferNode::Make("a" + std::to_string(names_++), dtype, {size}, {},
                                          StorageScope::kLocal);
      Var k = NewVar("k");
      Stmt fill = ForNode::Make(k, 0, size, ForKind::kSerial,
                                MakeStoreOf({array, {k}, false}, exprs_.Make(dtype, 1)));
      VectorGenerator vectors(&random_, &exprs_, program_.rounds_floats, array);
      std::vector<Stmt> stmts = {fill};
      for (int64_t i = random_.Between(1, 3); i > 0; --i) {
        int lanes = static_cast<int>(random_.Between(2, 4));
        Value value = Fit(vectors.Make(dtype.with_lanes(lanes), 3), ContentLimit(dtype), &random_);
        Expr places = vectors.Places(lanes);
        if (random_.OneIn(3)) {
          Var var = NewVar("y", value.expr.dtype());
          stmts.push_back(
              LetStmtNode::Make(var, value.expr, BufferStoreNode::Make(array, {places}, var)));
        } else if (random_.OneIn(3)) {
          auto [index, predicate] = vectors.PlacesWithMask(lanes);
          stmts.push_back(BufferStoreNode::Make(array, {index}, value.expr, {}, predicate));
        } else {
          stmts.push_back(BufferStoreNode::Make(array, {places}, value.expr));
        }
      }
      exprs_.buffers.push_back({array, {}, true});
      stmts.push_back(MakeBody(depth - 1));
      return AllocateNode::Make(array, SeqNode::Make(std::move(stmts)));
    });
  }

  // At most a few iterations, whatever the condition says.
  Stmt MakeWhile(int depth) {
    return Scoped([&] {
      Buffer counter = ir::BufferNode::Make(kCounterName, DataType::Int(32), {Expr(1)}, {},
                                            StorageScope::kLocal);
      auto constant = [](int64_t value) { return ir::IntImmNode::Make(DataType::Int(32), value); };
      Expr count = ir::BufferLoadNode::Make(counter, {0});
      Expr in_time = count < constant(random_.Between(1, 4));
      Expr condition = in_time && exprs_.Make(DataType::Bool(), 2).expr;
      Stmt body = SeqNode::Make(
          {MakeBody(depth - 1), BufferStoreNode::Make(counter, {0}, count + constant(1))});
      return AllocateNode::Make(counter,
                                SeqNode::Make({BufferStoreNode::Make(counter, {0}, constant(0)),
                                               WhileNode::Make(condition, body)}));
    });
  }

  Random random_;
  ExprGenerator exprs_;
  RandomProgram program_;
  bool binds_threads_ = false, has_asserts_ = false, has_warps_ = false;
  std::vector<Var> symbols_, zeros_;  // extents, and those that are 0
  std::vector<Buffer> outputs_, shared_by_launches_;
  std::vector<Writable> writable_;
  int names_ = 0;
};

}  // namespace

RandomProgram MakeRandomProgram(uint64_t seed, const ProgramOptions& options) {
  return ProgramGenerator(seed, options).Make();
}

}  // namespace tern::fuzz
