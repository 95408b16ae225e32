// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/distribute_loop.h"

#include <algorithm>
#include <unordered_set>

#include "tern/arith/analyzer.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class Distributor {
 public:
  Distributor(const ForNode* loop, const DistributeOptions& options)
      : loop_(loop), options_(options) {
    dependent_.insert(loop->var.get());
  }

  Stmt Distribute(const Stmt& stmt) {
    bool splits = RunsOnce(stmt);
    if (!splits && (!options_.innermost || IsInOrder(stmt))) return Loop(stmt);
    return DispatchStmt(stmt.get(), [&](auto* node) { return Enter(node, stmt, splits); });
  }

 private:
  // ---- what statements are

  bool RunsOnce(const Stmt& stmt) const {
    struct Scan : StmtVisitor {
      explicit Scan(const DistributeOptions& options) : options(options) {}
      using StmtVisitor::VisitNode;
      void VisitNode(const EvaluateNode* node) override { found |= options.runs_once(node); }
      const DistributeOptions& options;
      bool found = false;
    } scan(options_);
    scan.Visit(stmt);
    return scan.found;
  }

  // Whether a reduction runs along the loop: its order stays as it is.
  bool IsInOrder(const Stmt& stmt) const {
    struct Scan : StmtVisitor {
      explicit Scan(const Distributor* outer) : outer(outer) {}
      using StmtVisitor::VisitNode;
      void VisitNode(const BlockNode* node) override {
        for (const BlockIter& iter : node->iters)
          found |= iter.kind != IterKind::kSpatial && outer->Depends(iter.binding);
      }
      const Distributor* outer;
      bool found = false;
    } scan(this);
    scan.Visit(stmt);
    return scan.found;
  }

  // Where something that runs once is in the statement, all iterations come to it equally often:
  // what one of them has in memory, all have. Null where it differs for sure.
  Expr OfAll(const Expr& expr) const {
    bool differs = false;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      const auto* var = e.As<VarNode>();
      differs |= var && dependent_.count(var) && !kept_.count(var);
    });
    if (differs) return {};
    return ir::Substitute(ExpandExpr(expr), {{loop_->var.node(), loop_->min}});
  }

  bool Depends(const Expr& expr) const {
    bool depends = false;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      const auto* load = e.As<ir::BufferLoadNode>();
      depends |= dependent_.count(e.get()) || (load && expanded_.count(load->buffer->data.get()));
    });
    return depends;
  }

  [[noreturn]] void Refuse(const Span& span, const std::string& what) const {
    TERN_THROW(ValueError) << ir::At(span) << what << " depends on the " << options_.iteration
                           << " " << loop_->var.name() << ", but a barrier stands in it";
  }

  // ---- loops

  // The statement in a loop of its own, with the definitions around it.
  Stmt Loop(Stmt stmt) const {
    for (size_t i = definitions_.size(); i-- > 0;) {
      const Stmt& definition = definitions_[i];
      if (const auto* let = definition.As<LetStmtNode>())
        stmt = LetStmtNode::Make(let->var, let->value, stmt, let->span);
      else
        stmt =
            DeclBufferNode::Make(definition.As<DeclBufferNode>()->buffer, stmt, definition.span());
    }
    stmt = Expand(stmt);
    stmt = ForNode::Make(loop_->var, loop_->min, loop_->extent, options_.kind, stmt, "",
                         loop_->span, loop_->annotations);
    return CopyWithFreshDefs(stmt);
  }

  // Accesses to memory that each iteration has: its part.
  struct Expander : StmtMutator {
    explicit Expander(const Distributor* outer) : outer(outer) {
      new_buffers_.insert(outer->new_buffers_.begin(), outer->new_buffers_.end());
    }
    using StmtMutator::Mutate;
    using StmtMutator::MutateNode;
    std::vector<Expr> Indices(const std::vector<Expr>& indices) {
      std::vector<Expr> result{outer->Position()};
      for (const Expr& index : indices) result.push_back(Mutate(index));
      return result;
    }
    Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
      auto it = outer->new_buffers_.find(node->buffer.get());
      if (it == outer->new_buffers_.end()) return MutateChildren(node, self);
      return ir::BufferLoadNode::Make(it->second, Indices(node->indices), node->span,
                                      MutateOptional(node->predicate));
    }
    Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
      auto it = outer->new_buffers_.find(node->buffer.get());
      if (it == outer->new_buffers_.end()) return MutateChildren(node, self);
      return BufferStoreNode::Make(it->second, Indices(node->indices), Mutate(node->value),
                                   node->span, MutateOptional(node->predicate));
    }
    Expr MutateNode(const VarNode* node, const Expr& self) override {
      auto it = outer->kept_.find(node);
      if (it == outer->kept_.end()) return self;
      return ir::BufferLoadNode::Make(it->second, {outer->Position()}, node->span);
    }
    Buffer MutateDef(const BufferDef& buffer) override {
      auto it = outer->expanded_.find(buffer->data.get());
      if (it == outer->expanded_.end()) return StmtMutator::MutateDef(buffer);
      // A view of memory that is now larger: it starts at the iteration's part.
      const Buffer& whole = it->second;
      if (whole->dtype != buffer->dtype)
        TERN_THROW(ValueError) << ir::At(buffer->span) << buffer->name << " sees " << whole->name
                               << " as another type; each " << outer->options_.iteration
                               << " has its own, which needs one type";
      Expr offset = outer->Position();
      if (!whole->strides.empty()) offset = offset * whole->strides[0];
      for (size_t d = 1; whole->strides.empty() && d < whole->shape.size(); ++d)
        offset = offset * whole->shape[d];
      auto view = ffi::Make<BufferNode>(*buffer);
      view->data = whole->data;
      view->offset = buffer->offset ? offset + Mutate(buffer->offset) : offset;
      view->alignment = 0;
      return new_buffers_[buffer.get()] = Buffer(view.get());
    }
    const Distributor* outer;
  };
  Stmt Expand(const Stmt& stmt) const { return Expander(this).Mutate(stmt); }
  Expr ExpandExpr(const Expr& expr) const { return Expander(this).Mutate(expr); }
  Expr Position() const {
    Expr position = ir::IsConst(loop_->min, 0) ? Expr(loop_->var) : loop_->var - loop_->min;
    return position.dtype() == DataType::Int(64) ? position
                                                 : ir::CastNode::Make(DataType::Int(64), position);
  }
  // A buffer with one more dimension.
  Buffer Expanded(const Buffer& buffer) const {
    auto larger = ffi::Make<BufferNode>(*buffer);
    Expr extent = loop_->extent;
    if (extent.dtype() != DataType::Int(64)) extent = ir::CastNode::Make(DataType::Int(64), extent);
    // One part behind the other.
    if (!buffer->strides.empty()) {
      Expr elements(1);
      for (size_t d = 0; d < buffer->shape.size(); ++d)
        elements = elements + (buffer->shape[d] - Expr(1)) * buffer->strides[d];
      larger->strides.insert(larger->strides.begin(), arith::Analyzer().Simplify(elements));
    }
    larger->shape.insert(larger->shape.begin(), extent);
    return Buffer(larger.get());
  }

  // ---- going into statements

  template <class T>
  Stmt WithBody(const T* node) {
    auto copy = ffi::Make<T>(*node);
    copy->body = Distribute(node->body);
    return copy;
  }

  Stmt Enter(const SeqNode* node, const Stmt&, bool) {
    std::vector<Stmt> stmts, together;
    auto flush = [&] {
      if (!together.empty()) stmts.push_back(Distribute(SeqNode::Make(together, node->span)));
      together.clear();
    };
    for (const Stmt& stmt : node->stmts) {
      if (!options_.innermost && !RunsOnce(stmt)) {
        together.push_back(stmt);
        continue;
      }
      flush();
      stmts.push_back(Distribute(stmt));
    }
    flush();
    return SeqNode::Make(std::move(stmts), node->span);
  }
  Stmt Enter(const EvaluateNode* node, const Stmt& self, bool) {
    return options_.runs_once(node) ? self : Loop(self);
  }
  Stmt Enter(const BufferStoreNode*, const Stmt& self, bool) { return Loop(self); }
  Stmt Enter(const AssertNode*, const Stmt& self, bool) { return Loop(self); }

  Stmt Enter(const LetStmtNode* node, const Stmt& self, bool) {
    if (!Depends(node->value)) return WithBody(node);
    dependent_.insert(node->var.get());
    if (!ir::MayFault(node->value)) {
      // Computed again where it is used.
      definitions_.push_back(self);
      Stmt body = Distribute(node->body);
      definitions_.pop_back();
      return body;
    }
    Buffer kept = ir::BufferNode::Make(node->var.name(), node->var.dtype(),
                                       {Expanded(Scalar(node->var.dtype()))->shape[0]}, {},
                                       StorageScope::kLocal, {}, node->span);
    Stmt keep = Loop(BufferStoreNode::Make(kept, {Position()}, node->value, node->span));
    kept_[node->var.node()] = kept;
    return AllocateNode::Make(kept, SeqNode::Make({keep, Distribute(node->body)}, node->span),
                              node->span);
  }
  static Buffer Scalar(DataType dtype) { return ir::BufferNode::Make("", dtype, {}); }

  Stmt Enter(const AllocateNode* node, const Stmt&, bool) {
    const Buffer& buffer = node->buffer;
    bool fixed = true, common = options_.is_common(node);
    for (const auto* exprs : {&buffer->shape, &buffer->strides})
      for (const Expr& expr : *exprs) fixed &= !Depends(expr);
    if (!fixed)
      TERN_THROW(ValueError) << ir::At(node->span) << buffer->name << " is allocated for each "
                             << options_.iteration << " " << loop_->var.name()
                             << "; its extents and strides must be the same for all";
    if (common) return WithBody(node);
    Buffer larger = Expanded(buffer);
    new_buffers_[buffer.get()] = larger;
    expanded_[buffer->data.get()] = larger;
    return AllocateNode::Make(larger, Distribute(node->body), node->span);
  }
  Stmt Enter(const DeclBufferNode* node, const Stmt& self, bool) {
    bool depends = expanded_.count(node->buffer->data.get()) ||
                   dependent_.count(node->buffer->data.get()) ||
                   (node->buffer->offset.get() && Depends(node->buffer->offset));
    for (const auto* exprs : {&node->buffer->shape, &node->buffer->strides})
      for (const Expr& expr : *exprs) depends |= Depends(expr);
    if (!depends) return WithBody(node);
    definitions_.push_back(self);
    Stmt body = Distribute(node->body);
    definitions_.pop_back();
    return body;
  }

  Stmt Enter(const ForNode* node, const Stmt& self, bool splits) {
    bool at_once = node->for_kind == ForKind::kParallel || node->for_kind == ForKind::kVectorized;
    if (!Depends(node->min) && !Depends(node->extent) && !at_once) return WithBody(node);
    if (!splits) return Loop(self);
    auto copy = ffi::Make<ForNode>(*node);
    copy->min = OfAll(node->min);
    copy->extent = OfAll(node->extent);
    if (!copy->min || !copy->extent)
      Refuse(node->span, "the number of iterations of loop " + node->var.name());
    copy->body = Distribute(node->body);
    return copy;
  }
  Stmt Enter(const WhileNode* node, const Stmt& self, bool splits) {
    if (!Depends(node->condition)) return WithBody(node);
    if (!splits) return Loop(self);
    Expr condition = OfAll(node->condition);
    if (!condition) Refuse(node->span, "the condition of this loop");
    return WhileNode::Make(condition, Distribute(node->body), node->span);
  }
  Stmt Enter(const IfThenElseNode* node, const Stmt& self, bool splits) {
    Expr condition = node->condition;
    if (Depends(condition)) {
      if (!splits) return Loop(self);
      condition = OfAll(condition);
      if (!condition) Refuse(node->span, "this condition");
    }
    Stmt else_case = node->else_case ? Distribute(node->else_case) : Stmt();
    return IfThenElseNode::Make(condition, Distribute(node->then_case), else_case, node->span);
  }
  Stmt Enter(const BlockNode* node, const Stmt& self, bool splits) {
    if (splits)
      TERN_THROW(ValueError) << ir::At(node->span) << "block " << node->name
                             << " has a barrier and runs for each " << options_.iteration << " "
                             << loop_->var.name() << "; lower its blocks first";
    return Loop(self);
  }

  const ForNode* loop_;
  const DistributeOptions& options_;
  std::unordered_set<const ir::Node*> dependent_;              // variables
  std::vector<Stmt> definitions_;                              // to be made again, outermost first
  std::unordered_map<const BufferNode*, Buffer> new_buffers_;  // with one more dimension
  std::unordered_map<const ir::Node*, Buffer> expanded_;       // likewise, by the old address
  std::unordered_map<const VarNode*, Buffer> kept_;            // values of definitions
};

}  // namespace

Stmt DistributeLoop(const ForNode* loop, const DistributeOptions& options) {
  Stmt result = Distributor(loop, options).Distribute(loop->body);
  Expr runs = ir::MakeConst(loop->extent.dtype(), 0) < loop->extent;
  if (arith::Analyzer().CanProve(runs)) return result;
  return IfThenElseNode::Make(runs, result, {}, loop->span);
}

}  // namespace tern::tir
