// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_MEMORY_USES_H_
#define TERN_TIR_ANALYSIS_MEMORY_USES_H_

#include <unordered_map>
#include <vector>

#include "tern/tir/stmt.h"

namespace tern::tir {

// Which statements of a program name which memory, under whatever name: one walk for any number of
// questions. The program must outlive it.
class MemoryUses {
 public:
  explicit MemoryUses(const Stmt& program);

  // Whether it is a statement of the program.
  bool Knows(const Stmt& stmt) const { return spans_.count(stmt.get()) > 0; }
  // Whether a statement that it knows names the memory at `address`.
  bool Uses(const Stmt& stmt, const VarNode* address) const;

 private:
  struct Walker;
  struct Span {
    size_t begin, end;  // of the places in it
  };
  std::unordered_map<const StmtNode*, Span> spans_;
  std::unordered_map<const VarNode*, std::vector<size_t>> places_;  // ascending, by address
};

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_MEMORY_USES_H_
