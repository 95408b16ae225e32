// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/print_call.h"

#include "tern/ir/intrinsic.h"
#include "tern/tir/intrinsics.h"

namespace tern::tir {

using ir::Expr;

Expr PackedPrint(const ir::CallNode* print) {
  std::vector<Expr> args{ir::StringImmNode::Make("runtime.print")};
  args.insert(args.end(), print->args.begin(), print->args.end());
  return ir::CallNode::Make(intrinsic::kCallPacked, std::move(args), DataType::Void(), print->span);
}

void RegisterPrint() {
  ir::RegisterIntrinsic(
      {.name = intrinsic::kPrint,
       .signature = "print(\"text\" or value...)",
       .pure = false,
       .infer = [](const std::vector<Expr>& args, DataType) {
         if (args.empty()) TERN_THROW(TypeError) << "print needs a text or a value";
         for (const Expr& arg : args) {
           if (arg.As<ir::StringImmNode>()) continue;
           DataType dtype = arg.dtype();
           if (!dtype.is_scalar() || dtype.is_handle() || dtype.is_narrow_float())
             TERN_THROW(TypeError)
                 << "print writes texts, integers, bools, float32 and float64, not " << dtype.str()
                 << (dtype.is_narrow_float() ? "; cast it, as in float32(x)" : "");
         }
         return DataType::Void();
       }});
}

}  // namespace tern::tir
