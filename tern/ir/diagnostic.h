// SPDX-License-Identifier: Apache-2.0
//
// Errors with a place: collected, so that one run reports several, and rendered with the line and a
// caret.
#ifndef TERN_IR_DIAGNOSTIC_H_
#define TERN_IR_DIAGNOSTIC_H_

#include <string>
#include <vector>

#include "tern/ir/span.h"

namespace tern::ir {

// "matmul.tir:3:7: ", which a message follows; "" where the place is not known.
std::string At(const Span& span);

struct Diagnostic {
  Span span;
  std::string message;
};

class Diagnostics {
 public:
  // Past this many, further errors are counted but not kept.
  static constexpr size_t kMax = 20;

  void Add(const Span& span, std::string message);
  bool empty() const { return items_.empty(); }
  const std::vector<Diagnostic>& items() const { return items_; }
  // "file:line:col: error: message", the line, a caret; "... and N more errors" at
  // the end.
  std::string Render() const;
  // Throws a `kind` error with the rendered text if there is any diagnostic.
  void ThrowIfAny(const char* kind) const;

 private:
  std::vector<Diagnostic> items_;
  size_t dropped_ = 0;
};

}  // namespace tern::ir

#endif  // TERN_IR_DIAGNOSTIC_H_
