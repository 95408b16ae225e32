// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/containers.h"

namespace tern::ffi {
namespace {

TernBytesCell CellOf(const std::string& text) { return {text.data(), text.size()}; }

std::string TextOf(const TernBytesCell& cell) { return {cell.data, cell.size}; }

}  // namespace

ErrorObj::ErrorObj(const Error& error) : kind_(error.kind()), message_(error.message()) {
  for (const std::string& line : error.context()) context_ += line + "\n";
  cell_.kind = CellOf(kind_);
  cell_.message = CellOf(message_);
  cell_.backtrace = CellOf(context_);
  // Callers in other languages add to the backtrace.
  cell_.update_backtrace = [](TernObject* header, const TernBytesCell* text, int32_t mode) {
    auto* self = static_cast<ErrorObj*>(Object::FromHeader(header));
    constexpr int32_t kReplace = 0;
    if (mode == kReplace) self->context_.clear();
    self->context_.append(text->data, text->size);
    self->cell_.backtrace = CellOf(self->context_);
  };
}

Error ErrorFromValue(const AnyView& value) {
  TERN_CHECK(value.type_index() == kTernError) << "expected Error, got " << Describe(value.raw());
  const auto& cell = *reinterpret_cast<const TernErrorCell*>(value.raw().v_obj + 1);
  Error error(TextOf(cell.kind), TextOf(cell.message));
  std::istringstream lines(TextOf(cell.backtrace));
  for (std::string line; std::getline(lines, line);) error.AddContext(line);
  return error;
}

ArrayObj::ArrayObj(std::vector<Any> items) {
  static_assert(sizeof(Any) == sizeof(TernAny) && std::is_standard_layout_v<Any>);
  size_t size = items.size();
  if (size) cell_.data = static_cast<TernAny*>(std::malloc(size * sizeof(TernAny)));
  if (size && !cell_.data) throw std::bad_alloc();
  for (size_t i = 0; i < size; ++i) cell_.data[i] = items[i].Release();
  cell_.size = cell_.capacity = static_cast<int64_t>(size);
  cell_.data_deleter = std::free;
}

ArrayObj::~ArrayObj() {
  for (int64_t i = 0; i < cell_.size; ++i) Any::Adopt(cell_.data[i]);
  cell_.data_deleter(cell_.data);
}

}  // namespace tern::ffi
