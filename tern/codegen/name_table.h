// SPDX-License-Identifier: Apache-2.0
//
// Names for what generated source declares.
#ifndef TERN_CODEGEN_NAME_TABLE_H_
#define TERN_CODEGEN_NAME_TABLE_H_

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tern::codegen {

// Gives names that are identifiers of C, differ from every name still in scope, and are no reserved
// word. The name a person chose is kept where it can be: "A.data" becomes "A_data", a second "i"
// inside the first becomes "i_1".
class NameTable {
 public:
  // Words separated by white space.
  void Reserve(const std::string& words);
  // Whether a declaration could carry exactly this name.
  bool IsLegal(std::string_view name) const;
  std::string Define(std::string_view wanted);
  // In scope until the outermost Scope ends, whichever is open now: for declarations that are moved
  // to the start of a function.
  std::string DefineOutermost(std::string_view wanted);

  // What is defined while a Scope lives goes out of scope with it.
  class Scope {
   public:
    explicit Scope(NameTable& table) : table_(table), depth_(table.defined_.size()) {
      ++table.open_scopes_;
    }
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    NameTable& table_;
    size_t depth_;
  };

 private:
  // Takes the first free variation of the name.
  std::string Take(std::string_view wanted);
  void Free(const std::string& name);

  std::set<std::string, std::less<>> taken_;  // reserved words and the names in scope
  // By name: no variation with a smaller number is free.
  std::unordered_map<std::string, int> first_number_;
  std::vector<std::string> defined_;    // the names in scope, in order
  std::vector<std::string> outermost_;  // those of DefineOutermost
  int open_scopes_ = 0;
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_NAME_TABLE_H_
