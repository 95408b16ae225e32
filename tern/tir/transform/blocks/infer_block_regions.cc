// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/blocks/infer_block_regions.h"

#include "tern/tir/analysis/access_regions.h"
#include "tern/tir/analyzed_mutator.h"

namespace tern::tir {
namespace {

std::vector<BufferRegion> Regions(const std::vector<AccessRegion>& found) {
  std::vector<BufferRegion> regions;
  for (const AccessRegion& region : found) regions.push_back({region.buffer, region.ranges});
  return regions;
}

class RegionInferrer : public AnalyzedMutator {
  using AnalyzedMutator::MutateNode;

  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    if (!node->reads.empty() || !node->writes.empty()) return self;
    for (const BlockIter& iter : node->iters)
      analyzer_.BindRange(iter.var, ir::MakeConst(iter.var.dtype(), 0), iter.extent);
    std::vector<Stmt> parts;
    if (node->init) parts.push_back(node->init);
    parts.push_back(node->body);
    AccessRegions found = FindAccessRegions(SeqNode::Make(std::move(parts)), analyzer_);
    if (!found.opaque.empty()) return self;
    auto stated = ffi::Make<BlockNode>(*node);
    stated->reads = Regions(found.reads);
    stated->writes = Regions(found.writes);
    return Stmt(stated);
  }
};

}  // namespace

PrimFunc InferBlockRegions(const PrimFunc& function) {
  return RegionInferrer().MutateFunction(function);
}

}  // namespace tern::tir
