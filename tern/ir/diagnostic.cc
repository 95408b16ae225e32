// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/diagnostic.h"

#include <algorithm>

#include "tern/ffi/error.h"

namespace tern::ir {
namespace {

void RenderOne(const Diagnostic& diagnostic, std::string* out) {
  const Span& span = diagnostic.span;
  *out += At(span) + "error: " + diagnostic.message + "\n";
  if (!span) return;
  std::string line = span.source->Line(span.line);
  // Tabs are kept under the line, so that the caret stands right whatever their width.
  std::string indent;
  for (int i = 0; i + 1 < span.column && i < static_cast<int>(line.size()); ++i)
    indent += line[i] == '\t' ? '\t' : ' ';
  *out += "  " + line + "\n  " + indent + "^\n";
}

}  // namespace

std::string At(const Span& span) { return span ? span.str() + ": " : ""; }

void Diagnostics::Add(const Span& span, std::string message) {
  if (items_.size() < kMax)
    items_.push_back({span, std::move(message)});
  else
    ++dropped_;
}

std::string Diagnostics::Render() const {
  // In the order of the text, whoever found them first.
  std::vector<const Diagnostic*> sorted;
  for (const Diagnostic& item : items_) sorted.push_back(&item);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::pair(a->span.line, a->span.column) < std::pair(b->span.line, b->span.column);
  });
  std::string out;
  for (const Diagnostic* item : sorted) RenderOne(*item, &out);
  if (dropped_) out += "... and " + std::to_string(dropped_) + " more errors\n";
  if (!out.empty()) out.pop_back();
  return out;
}

void Diagnostics::ThrowIfAny(const char* kind) const {
  if (!empty()) throw Error(kind, Render());
}

}  // namespace tern::ir
