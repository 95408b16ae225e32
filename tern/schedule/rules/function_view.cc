// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/function_view.h"

namespace tern::schedule {

using namespace tern::tir;

Stmt FunctionView::Around(Stmt body) const {
  for (const Buffer& tensor : tensors) body = DeclBufferNode::Make(tensor, body, tensor->span);
  for (size_t i = lets.size(); i-- > 0;)
    body = LetStmtNode::Make(lets[i].first, lets[i].second, body, body.span());
  return body;
}

}  // namespace tern::schedule
