// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_CODEGEN_LLVM_LIMIT_VECTORIZER_H_
#define TERN_CODEGEN_LLVM_LIMIT_VECTORIZER_H_

#include <llvm/IR/PassManager.h>

namespace tern::codegen {

// Keeps LLVM's loop vectorizer off the loops it would need ages for. To learn whether a value is
// the same in all lanes it walks every path from the value to what it is made of, and remembers
// nothing; where a loop computes something from values that do not depend on its index, with
// intermediate results that are used more than once, the paths double with every such step. It also
// compares all accesses of a loop with each other: a loop of thousands stays as it is.
struct LimitVectorizer : llvm::PassInfoMixin<LimitVectorizer> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_LIMIT_VECTORIZER_H_
