// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_GRAPH_CUSTOM_OP_H_
#define TERN_GRAPH_CUSTOM_OP_H_

#include <string_view>

#include "tern/graph/op.h"

namespace tern::graph {

// The operator of a domain that somebody else registered, by a library that is looked for by the
// domain as code generators are (tern/codegen/plugin.h): Smoothstep of com.example is the operator
// com_example_Smoothstep, of libtern_codegen_com_example.so. Null where there is none.
const Op* FindCustomOp(std::string_view domain, std::string_view name);

}  // namespace tern::graph

#endif  // TERN_GRAPH_CUSTOM_OP_H_
