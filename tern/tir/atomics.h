// SPDX-License-Identifier: Apache-2.0
//
// Atomic read-modify-write operations, as statements:
//
//   atomic_add(A[i], x)              also _min, _max, _and, _or, _xor, _exchange
//   atomic_compare_exchange(A[i], expected, desired)
//
// Behind the operands may stand the order, "relaxed" (the default) or "seq_cst", and an element
// that gets the old value: atomic_add(A[i], x, "relaxed", old[0]). The text forms
// `let old = atomic_add(A[i], x)` and `B[j] = atomic_add(A[i], x)` are short for that.
//
// In the IR both elements are address_of(element, 1, "write"), so that every pass takes them for
// memory and not for values.
#ifndef TERN_TIR_ATOMICS_H_
#define TERN_TIR_ATOMICS_H_

#include <string>
#include <string_view>

#include "tern/ir/expr.h"

namespace tern::tir {

enum class AtomicKind { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange, kCompareExchange };

struct Atomic {
  AtomicKind kind;
  const ir::BufferLoadNode* element;
  std::vector<ir::Expr> operands;  // two of a compare_exchange, otherwise one
  bool seq_cst = false;
  const ir::BufferLoadNode* old = nullptr;  // where the old value goes; null: nowhere

  DataType dtype() const { return element->dtype; }
  const char* name() const;
};

bool IsAtomic(std::string_view name);
// The parts of a call. Only of calls with such a name.
Atomic AtomicOf(const ir::CallNode* call);
// The call with arguments as they stand in the text, elements as loads. With `old`, the old value
// goes there. Throws TypeError.
ir::Expr MakeAtomic(const std::string& name, std::vector<ir::Expr> args, ir::Span span,
                    const ir::Expr& old = {});
// As the text has the argument: an element as a load.
ir::Expr PlainArgument(const ir::Expr& arg);

void RegisterAtomics();

}  // namespace tern::tir

#endif  // TERN_TIR_ATOMICS_H_
