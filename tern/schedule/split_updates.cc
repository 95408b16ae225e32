// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/copy_with_fresh_defs.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// The stores of a block's body or init, with the values of `let`s in them; none where there is
// something else.
std::vector<Stmt> StoresOf(Stmt body) {
  for (const auto* let = body.As<LetStmtNode>(); let; let = body.As<LetStmtNode>())
    body = Substitute(let->body, {{let->var.node(), let->value}});
  std::vector<Stmt> stores = {body};
  if (const auto* sequence = body.As<SeqNode>()) stores = sequence->stmts;
  bool plain = std::all_of(stores.begin(), stores.end(),
                           [](const Stmt& stmt) { return stmt.As<BufferStoreNode>() != nullptr; });
  return plain ? stores : std::vector<Stmt>();
}

const Buffer& StoredBy(const Stmt& store) { return store.As<BufferStoreNode>()->buffer; }

}  // namespace

BlockRefs Schedule::SplitUpdates(const BlockRef& block_ref, Names names) {
  return Do("split_updates", {TextOf(block_ref)}, [&] {
    const BlockNode* block = At(block_ref);
    const std::string name = block->name;
    Nest nest = NestOf(tree(), block);
    std::vector<Stmt> updates = StoresOf(block->body), inits;
    if (block->init) inits = StoresOf(block->init);
    if (updates.size() < 2 || inits.size() != updates.size())
      Refuse("block " + name + " is not several updates with an init for each");
    for (size_t i = 1; i < updates.size(); ++i) {
      if (names.size() < i) names.push_back(name + "_" + std::to_string(i));
      CheckNewBlock(names[i - 1]);
    }
    Stmt top = nest.top();
    std::vector<Stmt> parts;
    for (size_t i = 0; i < updates.size(); ++i) {
      auto part = CopyBlock(block);
      if (i > 0) part->name = names[i - 1];
      part->body = updates[i];
      auto init = std::find_if(inits.begin(), inits.end(), [&](const Stmt& store) {
        return StoredBy(store).same(StoredBy(updates[i]));
      });
      if (init == inits.end()) Refuse("an update of block " + name + " has no init");
      part->init = *init;
      if (!PlainUpdate(part.get()))
        Refuse("block " + name + " has an update that is not of its own old value alone");
      for (size_t j = 0; j < updates.size(); ++j)
        if (j != i && Touches(updates[i], StoredBy(updates[j])))
          Refuse("block " + name + " has an update that reads the result of another");
      Stmt whole = ReplaceAt(PathTo(top, block), Stmt(part));
      parts.push_back(i == 0 ? whole : CopyWithFreshDefs(whole));
      SetFacts(part->name, FactsOf(block));
    }
    ReplaceStmt(top.get(), SeqNode::Make(parts));
    BlockRefs made;
    for (const std::string& fresh : names) made.push_back(BlockNamed(fresh));
    return made;
  });
}

}  // namespace tern::schedule
