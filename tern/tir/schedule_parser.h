// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_SCHEDULE_PARSER_H_
#define TERN_TIR_SCHEDULE_PARSER_H_

#include "tern/tir/expr_parser.h"
#include "tern/tir/function.h"

namespace tern::tir {

// The function with the schedule that stands here: schedule NAME for TARGETS { one step a line }
PrimFunc ParseScheduleOf(ExprParser& parser, const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_SCHEDULE_PARSER_H_
