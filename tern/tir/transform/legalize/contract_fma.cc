// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/legalize/contract_fma.h"

#include "tern/target/target.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class Contractor : public StmtMutator {
 public:
  explicit Contractor(const target::Target& target) : target_(target) {}

 private:
  using StmtMutator::MutateNode;

  Expr MutateNode(const ir::AddNode* node, const Expr& self) override {
    Expr sum = MutateChildren(node, self);
    const auto* add = sum.As<ir::AddNode>();
    DataType dtype = add->dtype;
    if (!dtype.is_scalar() || !IsWideFloat(dtype)) return sum;
    for (bool swapped : {false, true}) {
      const Expr& product = swapped ? add->a : add->b;
      const Expr& other = swapped ? add->b : add->a;
      if (const auto* mul = product.As<ir::MulNode>())
        if (Expr fma = Fma(mul->a, mul->b, other, node->span); fma.get()) return fma;
    }
    return sum;
  }
  // Null where the target has none.
  Expr Fma(const Expr& a, const Expr& b, const Expr& c, const Span& span) const {
    Expr fma = ir::CallNode::Make("fma", {a, b, c}, DataType::Void(), span);
    Expr lowered = ApplyLoweringRules(fma.As<ir::CallNode>(), target_->kind->name);
    return lowered.same(fma) ? fma : Expr();
  }

  target::Target target_;
};

}  // namespace

PrimFunc ContractFma(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  bool contracts = it != function->attrs.end() && HasFlag(function, attr::kReassociate) &&
                   it->second.As<target::Target>()->is_device();
  return contracts ? Contractor(it->second.As<target::Target>()).MutateFunction(function)
                   : function;
}

}  // namespace tern::tir
