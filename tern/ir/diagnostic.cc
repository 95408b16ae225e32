// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/diagnostic.h"

#include <algorithm>
#include <map>
#include <tuple>

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
  // A function that is read again for each of its calls has its mistakes once.
  for (const Diagnostic& item : items_)
    if (item.span && item.span.source.get() == span.source.get() && item.span.line == span.line &&
        item.span.column == span.column && item.message == message)
      return;
  if (items_.size() < kMax)
    items_.push_back({span, std::move(message)});
  else
    ++dropped_;
}

std::string Diagnostics::Render() const {
  // In the order of the text, whoever found them first; files in the order of their first mistakes.
  std::vector<const Diagnostic*> sorted;
  std::map<const Source*, size_t> files;
  for (const Diagnostic& item : items_) {
    sorted.push_back(&item);
    files.emplace(item.span.source.get(), files.size());
  }
  auto place = [&](const Diagnostic* item) {
    return std::tuple(files[item->span.source.get()], item->span.line, item->span.column);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Diagnostic* a, const Diagnostic* b) { return place(a) < place(b); });
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
