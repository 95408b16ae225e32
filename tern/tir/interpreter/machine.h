// SPDX-License-Identifier: Apache-2.0
//
// The state of one interpretation, and the functions that run a program on it: statements and
// memory in machine.cc, expressions in machine_expr.cc, threads in machine_threads.cc, warps in
// machine_warps.cc, what is waited for later in machine_async.cc.
#ifndef TERN_TIR_INTERPRETER_MACHINE_H_
#define TERN_TIR_INTERPRETER_MACHINE_H_

#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "tern/ffi/any.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/function.h"
#include "tern/tir/interpreter/async_accesses.h"
#include "tern/tir/interpreter/instances.h"
#include "tern/tir/interpreter/intrinsic_reference.h"
#include "tern/tir/interpreter/pointer_map.h"
#include "tern/tir/interpreter/shadow_memory.h"
#include "tern/tir/interpreter/value.h"

namespace tern::tir {

// A tensor that is passed to a function of the registry.
struct TensorArgument {
  std::vector<int64_t> shape;
  TernTensorView view;
};

class Machine {
 public:
  explicit Machine(const ir::IRModule& module);

  void Call(const std::string& function, const std::vector<ffi::Any>& args);

 private:
  // Memory in one piece: a tensor that was passed in, or an allocation.
  struct Piece {
    char* data;
    ShadowMemory shadow;
    uint32_t depth;  // of the task it belongs to; only deeper ones can race in it
    ScopeOwner owner;
    std::unique_ptr<char[]> owned;    // null: the caller's
    std::vector<InstanceId> writers;  // of each half of a byte; empty: no block wrote to it
    AsyncMemory async = {};
  };
  // A buffer as it stands at run time: extents and strides are numbers.
  struct View {
    char* data = nullptr;
    std::vector<int64_t> shape, strides;
    Piece* piece = nullptr;  // null: memory that the caller passed as a bare pointer
    bool is_packed = false;  // two elements to a byte
    int64_t first = 0;       // where it is packed, the element at which it begins
  };
  // A region as it stands at run time.
  struct Box {
    const BufferNode* buffer;
    std::vector<std::pair<int64_t, int64_t>> ranges;  // first, one past the last
  };
  // What an instance of a block says that it touches.
  struct BlockRegions {
    const BlockNode* block;
    std::vector<Box> reads, writes;
    std::unordered_set<const BufferNode*> outside;  // in scope where the block begins
  };
  // What is in scope.
  struct Frame {
    Variables vars;
    PointerMap<BufferNode, View> views;
    std::shared_ptr<const BlockRegions> regions;  // null where nothing is said
    InstanceId instance = 0;                      // of the block that runs
  };
  // A thread of a block whose threads wait for each other.
  struct Thread {
    TaskId task;
    ThreadIndex index;
    int64_t number;          // in its block
    int64_t virtual_number;  // of a virtual thread in its thread
    Frame frame;
    std::unordered_map<const ir::CallNode*, Value> exchanged;  // results of warp operations
  };
  using Group = std::vector<Thread*>;

  // ---- arguments
  void CallPacked(const PrimFunc& function, const std::vector<ffi::Any>& args);
  Value ScalarArgument(const std::string& function, size_t i, const Param& param,
                       const ffi::Any& arg);
  void BindExtents(const std::string& function, size_t i, const Param& param, const ffi::Any& arg);
  void BindTensor(const std::string& function, size_t i, const Param& param,
                  const runtime::Tensor& tensor);

  // ---- memory
  // Whether an access is done at once, or begun: a copy to memory, an operand that a product reads,
  // the sum that it reads and writes.
  enum class Async : uint8_t { kNone, kCopy, kOperand, kSum };
  struct AccessSite {
    const Buffer& buffer;
    const std::vector<Expr>& indices;
    const Span& span;
    bool is_write;
    Expr predicate = {};     // null: all lanes are on
    bool is_atomic = false;  // a read-modify-write
    Async async = Async::kNone;
  };
  Value RunAtomic(const ir::CallNode* node);
  // Calls `visit` with every lane that is on, and its address.
  template <class F>
  void ForEachLane(const AccessSite& site, F&& visit);
  const View& FindView(const AccessSite& site) const;
  // Adds what an index contributes to the element's offset.
  void AddIndex(const AccessSite& site, const View& view, size_t dimension, int64_t index,
                int64_t* offset) const;
  // Checks and records the access to the element at `offset`; returns its address.
  ElementPlace Touch(const AccessSite& site, const View& view, int lane, int64_t offset);
  [[noreturn]] void ReportRace(const Span& place, const std::string& what, const MemoryAccess& now,
                               const MemoryAccess& earlier, ScopeOwner owner);
  uint32_t EpochOf(const Piece& piece) const;
  // Throws where the instance that runs depends on another one of its block, though they differ in
  // a spatial axis; notes who writes.
  void CheckIndependence(const AccessSite& site, int lane, Piece* piece, size_t place, int half);
  // Throws where the block that runs does not say that it touches the element.
  void CheckRegions(const AccessSite& site, int lane);
  std::vector<int64_t> EvalIndices(const AccessSite& site, int lane);
  // "A[3, 4]"
  std::string ElementText(const AccessSite& site, int lane);

  // Fixes the extents of a buffer whose address is known.
  void Define(const BufferNode* buffer);
  View MakeView(const BufferNode* buffer);
  Piece* FindPiece(const char* address) const;
  void AddArgumentPiece(char* data, size_t size);
  std::unique_ptr<Piece> Allocate(const AllocateNode* node, uint32_t depth);
  void Release(const AllocateNode* node, const Piece& piece);
  std::unique_ptr<Piece> NewPiece(int64_t size, int64_t alignment, uint32_t depth,
                                  ScopeOwner owner);
  Value CallWorkspace(const ir::CallNode* node);

  // ---- asynchronous accesses (machine_async.cc)
  static AccessSite SiteOf(const BufferStoreNode* node);
  // Refuses an access to what is under way; notes one that is begun.
  void TouchAsync(const AccessSite& site, int lane, Piece* piece, const char* address,
                  size_t bytes);
  // The thread waits until no more than `count` groups of it are under way.
  void EndAsync(AsyncGroups* groups, int64_t count);
  [[noreturn]] void ReportAsync(const AccessSite& site, int lane, const AsyncAccess& other);

  // ---- expressions
  int64_t EvalInt(const Expr& expr);
  Value Eval(const Expr& expr);
  Value EvalNode(const ir::IntImmNode* node);
  Value EvalNode(const ir::FloatImmNode* node);
  Value EvalNode(const ir::StringImmNode* node);
  Value EvalNode(const VarNode* node);
  template <ExprKind K>
  Value EvalNode(const ir::BinaryNode<K>* node);
  Value EvalNode(const ir::NotNode* node);
  Value EvalNode(const ir::SelectNode* node);
  Value EvalNode(const ir::CastNode* node);
  Value EvalNode(const ir::RampNode* node);
  Value EvalNode(const ir::BroadcastNode* node);
  Value EvalNode(const ir::ShuffleNode* node);
  Value EvalNode(const ir::LetNode* node);
  Value EvalNode(const ir::BufferLoadNode* node);
  Value EvalNode(const ir::CallNode* node);
  Value CallLaneWise(const ir::CallNode* node, const LaneFunction& reference);
  Value Reinterpret(const ir::CallNode* node);
  Value CopyBox(const ir::CallNode* node);
  // Calls a function of the global registry; its name is argument `name_at`, its arguments follow.
  Value CallRegistry(const ir::CallNode* node, size_t name_at);
  TensorArgument MakeTensorArgument(const ir::CallNode* node);
  Value AddressOf(const ir::CallNode* node);

  // ---- statements
  void Run(const Stmt& stmt);
  void RunNode(const BufferStoreNode* node);
  void RunNode(const LetStmtNode* node);
  void RunNode(const AllocateNode* node);
  void RunNode(const DeclBufferNode* node);
  void RunNode(const ForNode* node);
  void RunNode(const WhileNode* node);
  void RunNode(const IfThenElseNode* node);
  void RunNode(const SeqNode* node);
  void RunNode(const AssertNode* node);
  void RunNode(const EvaluateNode* node);
  void RunNode(const BlockNode* node);
  struct LoopRange {
    int64_t min, extent;
  };
  LoopRange EvalRange(const ForNode* node);
  void SetVar(const Var& var, int64_t value);
  enum class Instance { kNone, kFirst, kLater };
  // Gives the axes their values; says whether there is an instance, and whether it is the first
  // step of the reduction.
  Instance BindAxes(const BlockNode* node);
  void EnterBlock(const BlockNode* node);
  void LeaveBlock(InstanceId outer);
  void EnterRegions(const BlockNode* node);
  std::vector<Box> EvalRegions(const std::vector<BufferRegion>& regions);

  // ---- threads
  void RunParallel(const ForNode* node);  // virtual threads too
  // The name and the first argument stand at these places of the call.
  Value LaunchKernel(const ir::CallNode* node, size_t name_at, size_t first);
  Value ParallelFor(const ir::CallNode* node);
  static void RefuseExternKernel(const ir::BaseFunc& function);
  void RunKernel(const ForNode* outermost);
  void RunBlocks(const ForNode* outermost, const ThreadIndex& extents, int64_t num_threads,
                 int64_t block_size);
  void Enter(Thread* thread);
  // The memory of a reduction along threads, while its block runs.
  void SetAccumulators(const BlockNode* block);
  // The threads that `condition` holds for.
  Group Filter(const Group& group, const Expr& condition);

  // ---- warps (machine_warps.cc)
  // The threads of a warp that are in a group, by their lanes.
  struct Warp {
    std::vector<Thread*> lanes;
    size_t size;  // threads that the warp has
  };
  // The warps, or as many threads in a row as are said.
  std::vector<Warp> WarpsOf(const Group& group, int64_t threads) const;
  // Computes the warp operations in an expression, innermost first, for threads that come to it
  // together.
  void Exchange(const Expr& expr, const Group& group);
  void Exchange(const std::vector<Expr>& exprs, const Group& group);
  void ExchangeCall(const ir::CallNode* call, const Group& group);
  Value ExchangedValue(const ir::CallNode* call, const Warp& warp, size_t lane,
                       const std::vector<Value>& values, int64_t other);
  // The same of a call on matrices.
  void ExchangeMatrices(const ir::CallNode* call, const Warp& warp);
  void ExchangeGroup(const ir::CallNode* call, const Warp& warps);
  [[noreturn]] void ReportDivergence(const ir::Node* place, const std::string& what,
                                     const Group& group, const Group& all, const char* of);
  // Threads of one block run a statement: those that contain no barrier one after another, the
  // others step by step, each step by all threads before the next.
  void RunTogether(const Stmt& stmt, const Group& group);
  void RunNodeTogether(const BufferStoreNode* node, const Group& group);
  void RunNodeTogether(const AssertNode* node, const Group& group);
  void RunNodeTogether(const LetStmtNode* node, const Group& group);
  void RunNodeTogether(const AllocateNode* node, const Group& group);
  void RunNodeTogether(const DeclBufferNode* node, const Group& group);
  void RunNodeTogether(const ForNode* node, const Group& group);
  void RunNodeTogether(const WhileNode* node, const Group& group);
  void RunNodeTogether(const IfThenElseNode* node, const Group& group);
  void RunNodeTogether(const SeqNode* node, const Group& group);
  void RunNodeTogether(const EvaluateNode* node, const Group& group);
  void RunNodeTogether(const BlockNode* node, const Group& group);
  void RunVirtualTogether(const ForNode* node, const Group& group);

  ir::IRModule module_;
  Instances instances_;
  Frame root_;
  Frame* frame_ = &root_;

  std::map<const char*, Piece*> pieces_;  // by address
  std::vector<std::unique_ptr<Piece>> argument_pieces_;
  std::map<const char*, std::unique_ptr<Piece>> workspace_;  // by address

  TaskTree tasks_;
  TaskId task_ = TaskTree::kRoot;
  uint32_t depth_ = 0;                  // of task_
  const ThreadIndex* index_ = nullptr;  // of the current thread; null outside of kernels

  std::unordered_map<const ForNode*, KernelShape> shapes_;
  const KernelShape* shape_ = nullptr;  // of the kernel whose blocks run
  const Group* block_ = nullptr;        // all threads of the block that runs
  // One piece for a block, however often its statement is reached.
  std::unordered_map<const AllocateNode*, std::unique_ptr<Piece>> shared_;
  // Which accesses a barrier has ordered, or the steps of a warp.
  uint32_t shared_epoch_ = 0, global_epoch_ = 0, warp_epoch_ = 0;
  int64_t warp_size_ = 0;
  ThreadIndex extents_{};     // of the launch
  Thread* thread_ = nullptr;  // the current one, in a block whose threads run together
  // What the threads that run have begun and not waited for, and what loads are that an operation
  // does now.
  struct AsyncWork {
    AsyncGroups copies, products;
  };
  std::unordered_map<TaskId, AsyncWork> under_way_;
  Async async_ = Async::kNone;
  // Memory that the reduction along threads which runs updates in order.
  const std::unordered_set<const VarNode*>* accumulators_ = nullptr;
};

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_MACHINE_H_
