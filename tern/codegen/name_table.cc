// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/name_table.h"

#include <algorithm>
#include <charconv>
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
  if (taken_.insert(base).second) return base;
  int& number = first_number_.try_emplace(base, 1).first->second;
  while (true) {
    std::string name = base + "_" + std::to_string(number++);
    if (taken_.insert(name).second) return name;
  }
}

// It may be a variation of another name.
void NameTable::Free(const std::string& name) {
  taken_.erase(name);
  size_t mark = name.rfind('_');
  if (mark == std::string::npos) return;
  auto it = first_number_.find(name.substr(0, mark));
  if (it == first_number_.end()) return;
  int number = 0;
  std::from_chars(name.data() + mark + 1, name.data() + name.size(), number);
  if (number > 0) it->second = std::min(it->second, number);
}

std::string NameTable::Define(std::string_view wanted) {
  return defined_.emplace_back(Take(wanted));
}

std::string NameTable::DefineOutermost(std::string_view wanted) {
  return outermost_.emplace_back(Take(wanted));
}

NameTable::Scope::~Scope() {
  auto forget = [this](std::vector<std::string>& names, size_t count) {
    for (; names.size() > count; names.pop_back()) table_.Free(names.back());
  };
  forget(table_.defined_, depth_);
  if (--table_.open_scopes_ == 0) forget(table_.outermost_, 0);
}

}  // namespace tern::codegen
