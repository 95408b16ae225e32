// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_KERNEL_PARSER_H_
#define TERN_TIR_KERNEL_PARSER_H_

#include "tern/tir/extern_kernel.h"
#include "tern/tir/signature_parser.h"
#include "tern/tir/source_files.h"

namespace tern::tir {

// kernel name(parameters) launch(axes) writes(tensors) from "kind" format "format" { code }
ExternKernel ParseKernel(SignatureParser& parser, const SourceFiles& files);

}  // namespace tern::tir

#endif  // TERN_TIR_KERNEL_PARSER_H_
