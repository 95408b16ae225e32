// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_INTERPRETER_INSTANCES_H_
#define TERN_TIR_INTERPRETER_INSTANCES_H_

#include <memory>
#include <string>
#include <vector>

#include "tern/tir/function.h"
#include "tern/tir/interpreter/pointer_map.h"
#include "tern/tir/interpreter/value.h"

namespace tern::tir {

using InstanceId = uint32_t;  // 0: none
using Variables = PointerMap<VarNode, Value>;

// The instances of blocks that ran, to tell whether those that differ in a spatial axis are as
// independent as the block says. Instances of other rounds do not count: where a loop that is no
// axis of the block, or a scan or opaque axis, has another value.
class Instances {
 public:
  explicit Instances(const ir::IRModule& module);

  // The instance that begins.
  InstanceId Begin(const BlockNode* block, const Variables& vars);
  void BeginRound() { ++rounds_; }  // of a while loop

  // The first spatial axis in which two instances of one block and round differ.
  struct Difference {
    const VarNode* axis = nullptr;  // null: there is none
    int64_t now = 0, earlier = 0;
  };
  Difference Between(InstanceId now, InstanceId earlier) const;
  const BlockNode* BlockOf(InstanceId id) const { return instances_[id - 1].axes->block; }

 private:
  // What is known of a block.
  struct Axes {
    const BlockNode* block = nullptr;
    std::vector<const VarNode*> round, spatial;
    bool in_while = false;
    InstanceId last = 0;
  };
  struct Instance {
    const Axes* axes;
    size_t first;  // of its values: the round, then the spatial axes
  };
  struct Finder;

  PointerMap<BlockNode, std::unique_ptr<Axes>> axes_;
  std::vector<Instance> instances_;
  std::vector<int64_t> values_, current_;
  int64_t rounds_ = 0;
};

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_INSTANCES_H_
