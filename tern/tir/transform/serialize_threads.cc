// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/serialize_threads.h"

#include "tern/target/target.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/storage_scope.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class Serializer : public StmtMutator {
  using StmtMutator::MutateNode;

  // Without barriers no thread may see what another wrote to shared memory, so each can have its
  // own.
  Buffer MutateDef(const BufferDef& buffer) override {
    Buffer mutated = StmtMutator::MutateDef(buffer);
    if (!IsSharedScope(mutated->scope)) return mutated;
    auto local = ffi::Make<BufferNode>(*mutated);
    local->scope = "local";
    return new_buffers_[buffer.get()] = Buffer(local.get());
  }

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread) return MutateChildren(node, self);
    return ForNode::Make(node->var, node->min, node->extent, ForKind::kSerial, Mutate(node->body),
                         "", node->span, node->annotations);
  }
  Stmt MutateNode(const EvaluateNode* node, const Stmt& self) override {
    if (IsBarrier(node->value))
      TERN_THROW(ValueError) << node->span.str()
                             << ": threads that wait for each other cannot be run one after "
                                "another: a host target takes no barriers yet";
    return self;
  }
};

}  // namespace

PrimFunc SerializeThreads(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end() || it->second.As<target::Target>()->is_device()) return function;
  return Serializer().MutateFunction(function);
}

}  // namespace tern::tir
