// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/c/name_table.h"

#include <iterator>
#include <sstream>

namespace tern::codegen {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Names that start like this belong to the implementation of C or to the declarations Tern writes.
bool HasReservedPrefix(std::string_view name) {
  for (std::string_view prefix : {"_", "tern_", "Tern", "TERN_"})
    if (name.starts_with(prefix)) return true;
  return false;
}

std::string MakeIdentifier(std::string_view wanted) {
  std::string name(wanted);
  for (char& c : name)
    if (!IsLetter(c) && !IsDigit(c)) c = '_';
  if (name.empty() || IsDigit(name[0]) || HasReservedPrefix(name)) name.insert(0, "v_");
  return name;
}

}  // namespace

void NameTable::Reserve(const std::string& words) {
  std::istringstream stream(words);
  taken_.insert(std::istream_iterator<std::string>(stream), {});
}

bool NameTable::IsLegal(std::string_view name) const {
  return MakeIdentifier(name) == name && !taken_.contains(name);
}

std::string NameTable::Take(std::string_view wanted) {
  std::string base = MakeIdentifier(wanted);
  std::string name = base;
  for (int i = 1; !taken_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

std::string NameTable::Define(std::string_view wanted) {
  return defined_.emplace_back(Take(wanted));
}

std::string NameTable::DefineOutermost(std::string_view wanted) {
  return outermost_.emplace_back(Take(wanted));
}

NameTable::Scope::~Scope() {
  auto forget = [this](std::vector<std::string>& names, size_t count) {
    for (; names.size() > count; names.pop_back()) table_.taken_.erase(names.back());
  };
  forget(table_.defined_, depth_);
  if (--table_.open_scopes_ == 0) forget(table_.outermost_, 0);
}

}  // namespace tern::codegen
