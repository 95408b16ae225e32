// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/stmt_tree.h"

#include <algorithm>
#include <utility>

#include "tern/schedule/nest.h"
#include "tern/tir/transform/threads/pipeline_loops.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

template <class F>
void VisitChild(const Stmt& child, const F& f) {
  if (child) f(child.get());
}
template <class F>
void VisitChild(const std::vector<Stmt>& children, const F& f) {
  for (const Stmt& child : children) f(child.get());
}
template <class T, class F>
void VisitChild(const T&, const F&) {}

template <class F>
void ForEachChild(const StmtNode* stmt, const F& f) {
  DispatchStmt(stmt, [&](const auto* node) {
    std::apply([&](const auto&... field) { (VisitChild(field, f), ...); }, node->fields());
  });
}

bool IsEmpty(const Stmt& stmt) {
  const auto* seq = stmt.As<SeqNode>();
  return seq && seq->stmts.empty();
}

void Swap(Stmt& stmt, const StmtNode* old, const Stmt& child) {
  if (stmt.get() == old) stmt = child;
}
void Swap(std::vector<Stmt>& stmts, const StmtNode* old, const Stmt& child) {
  for (Stmt& stmt : stmts) Swap(stmt, old, child);
}
template <class T>
void Swap(T&, const StmtNode*, const Stmt&) {}

// A statement with one child in the place of another. A sequence in a sequence is one.
Stmt WithChild(const StmtNode* parent, const StmtNode* old, const Stmt& child) {
  return DispatchStmt(parent, [&](const auto* node) -> Stmt {
    using T = std::remove_cvref_t<decltype(*node)>;
    auto copy = ffi::Make<T>(*node);
    std::apply([&](auto&... field) { (Swap(field, old, child), ...); }, copy->fields());
    if constexpr (std::is_same_v<T, SeqNode>) return SeqNode::Make(copy->stmts, copy->span);
    return copy;
  });
}

// Whether a statement does nothing but for what it holds, and that is nothing.
bool IsHollow(const Stmt& stmt) {
  switch (stmt.get()->kind) {
    case StmtKind::kSeq:
    case StmtKind::kFor:
    case StmtKind::kAllocate:
    case StmtKind::kDeclBuffer:
    case StmtKind::kLetStmt:
    case StmtKind::kIfThenElse:
      break;
    default:
      return false;
  }
  bool hollow = true;
  ForEachChild(stmt.get(), [&](const StmtNode* child) { hollow &= IsEmpty(AsStmt(child)); });
  return hollow;
}

}  // namespace

StmtTree::StmtTree(Stmt root) : root_(std::move(root)) { Add(root_.get(), nullptr); }

void StmtTree::Update(Stmt root) {
  if (root.same(root_)) return;
  Stmt old = std::exchange(root_, std::move(root));  // what is dropped lives until the end
  Add(root_.get(), nullptr);
  if (Has(old.get()) && !ParentOf(old.get())) Drop(old.get());
}

bool StmtTree::Add(const StmtNode* stmt, const StmtNode* parent) {
  if (auto it = parents_.find(stmt); it != parents_.end()) {
    it->second = parent;
    return true;
  }
  bool is_known = !parent || stmt->kind == StmtKind::kFor || stmt->kind == StmtKind::kBlock ||
                  stmt->kind == StmtKind::kAllocate;
  ForEachChild(stmt, [&](const StmtNode* child) { is_known |= Add(child, stmt); });
  if (!is_known) return false;
  parents_[stmt] = parent;
  List(stmt, true);
  return true;
}

void StmtTree::Drop(const StmtNode* stmt) {
  List(stmt, false);
  parents_.erase(stmt);
  // A child that has another parent now is part of the new body.
  ForEachChild(stmt, [&](const StmtNode* child) {
    if (auto it = parents_.find(child); it != parents_.end() && it->second == stmt) Drop(child);
  });
}

template <class T>
void StmtTree::Enter(ByName<T>* map, const std::string& name, const T* node, bool enter) {
  if (enter) {
    (*map)[name].push_back(node);
  } else {
    auto it = map->find(name);
    std::erase(it->second, node);
    if (it->second.empty()) map->erase(it);
  }
}

void StmtTree::List(const StmtNode* stmt, bool enter) {
  int64_t change = enter ? 1 : -1;
  // A statement comes before the one that it replaces goes.
  if (stmt->kind == StmtKind::kFor) {
    const auto* loop = static_cast<const ForNode*>(stmt);
    auto it = by_var_.find(loop->var.node());
    if (enter && it != by_var_.end()) {
      std::vector<const ForNode*>& named = loops_.at(loop->var.name());
      std::replace(named.begin(), named.end(), it->second, loop);
      it->second = loop;
    } else if (enter) {
      by_var_[loop->var.node()] = loop;
      Enter(&loops_, loop->var.name(), loop, true);
    } else if (it != by_var_.end() && it->second == loop) {
      by_var_.erase(it);
      Enter(&loops_, loop->var.name(), loop, false);
    }
    threads_ += loop->for_kind == ForKind::kThread ? change : 0;
    pipelines_ += IsPipelined(loop) ? change : 0;
  } else if (stmt->kind == StmtKind::kBlock) {
    const auto* block = static_cast<const BlockNode*>(stmt);
    BlockEntry* entry = EnterBlock(block->name);
    if (enter)
      entry->nodes.push_back(block);
    else
      std::erase(entry->nodes, block);
    if (entry->nodes.empty()) gone_.push_back(entry->name.get());
  } else if (stmt->kind == StmtKind::kAllocate) {
    const auto* allocation = static_cast<const AllocateNode*>(stmt);
    Enter(&allocations_, allocation->buffer->name, allocation, enter);
    const VarNode* data = allocation->buffer->data.node();
    if (enter)
      by_data_[data] = allocation;
    else if (auto it = by_data_.find(data); it != by_data_.end() && it->second == allocation)
      by_data_.erase(it);
  }
}

const StmtTree::BlockEntry* StmtTree::EntryOf(std::string_view name) const {
  auto it = block_names_.find(name);
  return it == block_names_.end() ? nullptr : &blocks_.at(it->second);
}

StmtTree::BlockEntry* StmtTree::EnterBlock(const std::string& name) {
  if (auto it = block_names_.find(name); it != block_names_.end()) return &blocks_.at(it->second);
  auto shared = std::make_shared<const std::string>(name);
  block_names_[*shared] = shared.get();
  BlockEntry* entry = &blocks_[shared.get()];
  entry->name = std::move(shared);
  return entry;
}

void StmtTree::EndStep() {
  for (const std::string* name : std::exchange(gone_, {}))
    if (auto it = blocks_.find(name); it != blocks_.end() && it->second.nodes.empty()) {
      block_names_.erase(*name);
      blocks_.erase(it);
    }
}

const ForNode* StmtTree::At(const LoopRef& loop) const {
  if (!loop) Refuse("there is no such loop");
  auto it = by_var_.find(loop.var_.node());
  TERN_ICHECK(it != by_var_.end())
      << "a reference to loop " << loop.str() << " is used, which is gone";
  return it->second;
}

const std::vector<const BlockNode*>& StmtTree::At(const BlockRef& block) const {
  if (!block) Refuse("there is no such block");
  auto it = blocks_.find(block.name_.get());
  TERN_ICHECK(it != blocks_.end() && !it->second.nodes.empty())
      << "a reference to block " << block.name() << " is used, which is gone";
  return it->second.nodes;
}

const AllocateNode* StmtTree::At(const BufferRef& buffer) const {
  auto it = by_data_.find(buffer.data_.node());
  return it == by_data_.end() ? nullptr : it->second;
}

std::vector<const ForNode*> StmtTree::LoopsCalled(const std::string& text) const {
  size_t dot = text.find('.');
  if (dot == std::string::npos) return LoopsNamed(text);
  std::vector<const ForNode*> found = LoopsNamed(text.substr(dot + 1));
  const std::vector<const BlockNode*>& blocks = BlocksNamed(text.substr(0, dot));
  std::erase_if(found, [&](const ForNode* loop) {
    return std::none_of(blocks.begin(), blocks.end(),
                        [&](const BlockNode* block) { return IsInside(block, loop); });
  });
  return found;
}

std::string StmtTree::TextOf(const LoopRef& loop) const {
  const ForNode* node = At(loop);
  auto means = [&](const std::string& text) { return LoopsCalled(text).size() == 1; };
  if (loop.block_) {
    const std::vector<const BlockNode*>& blocks = BlocksNamed(loop.block_.name());
    bool is_inside = std::any_of(blocks.begin(), blocks.end(),
                                 [&](const BlockNode* block) { return IsInside(block, node); });
    TERN_ICHECK(is_inside) << "loop " << loop.name() << " is not around block "
                           << loop.block_.name();
  }
  if (LoopsNamed(loop.name()).size() == 1 || (loop.block_ && means(loop.str()))) return loop.str();
  for (const BlockNode* block : BlocksIn(node->body))
    if (std::string text = block->name + "." + loop.name(); means(text)) return text;
  return "";
}

BlockFacts StmtTree::FactsOf(const std::string& block) const {
  const BlockEntry* entry = EntryOf(block);
  return entry ? entry->facts : BlockFacts{};
}

void StmtTree::SetFacts(const std::string& block, const BlockFacts& facts) {
  BlockEntry* entry = EnterBlock(block);
  entry->facts = facts;
  if (entry->nodes.empty()) gone_.push_back(entry->name.get());
}

Path StmtTree::PathTo(const StmtNode* stmt) const {
  Path path;
  if (!Has(stmt)) return path;
  for (; stmt; stmt = ParentOf(stmt)) path.push_back(stmt);
  std::reverse(path.begin(), path.end());
  return path;
}

bool StmtTree::IsUpToDate() const {
  auto same = [](auto a, auto b) {
    if (a.size() != b.size()) return false;
    for (auto& [name, nodes] : a) {
      auto it = b.find(name);
      if (it == b.end()) return false;
      std::sort(nodes.begin(), nodes.end());
      std::sort(it->second.begin(), it->second.end());
      if (nodes != it->second) return false;
    }
    return true;
  };
  auto by_name = [](const StmtTree& tree) {
    ByName<BlockNode> blocks;
    for (const auto& [name, entry] : tree.blocks_)
      if (!entry.nodes.empty()) blocks[*name] = entry.nodes;
    return blocks;
  };
  StmtTree fresh(root_);
  return parents_ == fresh.parents_ && by_var_ == fresh.by_var_ && by_data_ == fresh.by_data_ &&
         same(loops_, fresh.loops_) && same(by_name(*this), by_name(fresh)) &&
         same(allocations_, fresh.allocations_) && threads_ == fresh.threads_ &&
         pipelines_ == fresh.pipelines_;
}

Stmt ReplaceAt(const Path& path, const Stmt& replacement) {
  TERN_ICHECK(!path.empty()) << "a statement to replace is not there";
  Stmt result = replacement;
  for (size_t i = path.size() - 1; i-- > 0;) result = WithChild(path[i], path[i + 1], result);
  return result;
}

Stmt RemoveAt(const Path& path) {
  TERN_ICHECK(!path.empty()) << "a statement to remove is not there";
  Stmt result = SeqNode::Make({});
  for (size_t i = path.size() - 1; i-- > 0;) {
    result = WithChild(path[i], path[i + 1], result);
    if (IsHollow(result)) result = SeqNode::Make({});
  }
  return result;
}

}  // namespace tern::schedule
