// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// How many digits of integers a type has for certain.
int Digits(DataType dtype) {
  if (dtype == DataType::Float(64)) return 53;
  if (dtype == DataType::Float(32)) return 24;
  if (dtype.is_float()) return 0;
  return dtype.is_int() ? dtype.bits() - 1 : dtype.bits();
}

// Whether every value of one type is one of the other.
bool Contains(DataType wide, DataType dtype) {
  if (wide == dtype) return true;
  if (dtype.is_float()) {
    bool narrow = dtype == DataType::Float(16) || dtype == DataType::Bfloat16() ||
                  dtype == DataType::Float(32);
    return narrow && wide.is_float() && wide.bits() >= 32 && wide.bits() > dtype.bits();
  }
  bool has_sign = wide.is_int() || wide.is_float();
  return dtype.is_integer() && (has_sign || !dtype.is_int()) && Digits(wide) >= Digits(dtype);
}

// Accesses of one buffer are of another one, of a wider type.
class Widener : public StmtMutator {
 public:
  Widener(const Buffer& old, const Buffer& buffer) : old_(old), buffer_(buffer) {}

 private:
  using StmtMutator::MutateNode;
  Expr Load(const ir::BufferLoadNode* node) {
    std::vector<Expr> at;
    for (const Expr& index : node->indices) at.push_back(Mutate(index));
    return ir::BufferLoadNode::Make(buffer_, at, node->span, MutateOptional(node->predicate));
  }
  DataType Wide(DataType like) const { return buffer_->dtype.with_lanes(like.lanes()); }

  // What is converted to a type that has all values of the wider one need not be narrow before.
  Expr MutateNode(const ir::CastNode* node, const Expr& self) override {
    const auto* load = node->value.As<ir::BufferLoadNode>();
    if (!load || !load->buffer.same(old_) ||
        !Contains(node->dtype.element(), buffer_->dtype.element()))
      return MutateChildren(node, self);
    Expr value = Load(load);
    return value.dtype() == node->dtype ? value
                                        : ir::CastNode::Make(node->dtype, value, node->span);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (!node->buffer.same(old_)) return MutateChildren(node, self);
    return ir::CastNode::Make(node->dtype, Load(node), node->span);
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    if (!node->buffer.same(old_)) return MutateChildren(node, self);
    std::vector<Expr> at;
    for (const Expr& index : node->indices) at.push_back(Mutate(index));
    Expr value = Mutate(node->value);
    return BufferStoreNode::Make(buffer_, at,
                                 ir::CastNode::Make(Wide(value.dtype()), value, node->span),
                                 node->span, MutateOptional(node->predicate));
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    if (!node->buffer.same(old_)) return MutateChildren(node, self);
    return AllocateNode::Make(buffer_, Mutate(node->body), node->span);
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    Stmt bare = Touches(self, old_) ? Stmt(CopyBlock(node)) : self;
    return MutateChildren(bare.As<BlockNode>(), bare);
  }

  const Buffer &old_, &buffer_;
};

}  // namespace

void Schedule::SetDtype(const BufferRef& of, DataType dtype) {
  Do("set_dtype", {of.name(), dtype.str()}, [&] {
    const AllocateNode* allocation = Temporary(of);
    const Buffer old = allocation->buffer;
    if (!dtype.is_scalar() || dtype == old->dtype || !Contains(dtype, old->dtype))
      Refuse(dtype.str() + " is no wider type that has all values of " + old->dtype.str() +
             ", the type of " + of.name());
    auto copy = ffi::Make<ir::BufferNode>(*old);
    copy->dtype = dtype;
    copy->alignment = 0;
    Buffer buffer(copy.get());
    SetBody(Widener(old, buffer).Mutate(function_->body));
  });
}

}  // namespace tern::schedule
