// SPDX-License-Identifier: Apache-2.0
//
// Equality by structure: the same program up to the names of what it defines. Spans do not count.
// Variables and buffers that are free in both must be the same ones. What is equal has one hash.
#ifndef TERN_IR_STRUCTURAL_H_
#define TERN_IR_STRUCTURAL_H_

#include <string_view>
#include <unordered_map>

#include "tern/ir/visitor.h"

namespace tern::ir {

class StructuralComparer {
 public:
  virtual ~StructuralComparer() = default;
  bool Equal(const Expr& a, const Expr& b);

  // From here on `a` and `b` mean the same, and nothing else means either of them. A variable may
  // be defined again where it is out of scope: parts of a program can be shared.
  bool Define(const Var& a, const Var& b);
  bool Define(const Buffer& a, const Buffer& b);

 protected:
  template <class T>
  bool EqualFields(const T* a, const T* b) {
    return std::apply(
        [&](const auto&... fa) {
          return std::apply([&](const auto&... fb) { return (EqualField(fa, fb) && ... && true); },
                            b->fields());
        },
        a->fields());
  }

  bool EqualField(const Expr& a, const Expr& b) { return Equal(a, b); }
  bool EqualField(const Var& a, const Var& b) { return Define(a, b); }
  bool EqualField(const Buffer& a, const Buffer& b) {
    auto it = buffers_.find(a.get());
    return it == buffers_.end() ? a.same(b) : it->second == b.get();
  }
  bool EqualField(const BufferDef& a, const BufferDef& b) { return Define(a, b); }
  bool EqualField(double a, double b);  // by bits: -0 is not 0, a NaN equals itself
  template <class T>
  bool EqualField(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!EqualField(a[i], b[i])) return false;
    return true;
  }
  template <class T>
  bool EqualField(const T& a, const T& b) {
    return EqualOther(a, b);
  }

 private:
  template <class T>
  bool EqualOther(const T& a, const T& b) {
    return a == b;
  }

  bool Same(const VarNode* a, const VarNode* b) const;

  std::unordered_map<const VarNode*, const VarNode*> vars_, reverse_vars_;
  std::unordered_map<const BufferNode*, const BufferNode*> buffers_;
};

// Goes through a program as the comparer does. What the program defines counts by the order of the
// definitions, so that the hash of a program without free variables is the same in every process.
class StructuralHasher {
 public:
  virtual ~StructuralHasher() = default;
  void Add(const Expr& expr);
  uint64_t hash() const { return hash_; }

  void Define(const Var& var);
  void Define(const Buffer& buffer);

 protected:
  template <class T>
  void AddFields(const T* node) {
    std::apply([&](const auto&... field) { (AddField(field), ...); }, node->fields());
  }

  void AddField(const Expr& expr) { Add(expr); }
  void AddField(const Var& var) { Define(var); }
  void AddField(const Buffer& buffer) { AddUse(buffer.get()); }
  void AddField(const BufferDef& buffer) { Define(buffer); }
  void AddField(DataType dtype);
  void AddField(double value);
  void AddField(std::string_view text);
  void AddField(const std::string& text) { AddField(std::string_view(text)); }
  template <class T>
  void AddField(const std::vector<T>& items) {
    AddNumber(items.size());
    for (const T& item : items) AddField(item);
  }
  template <class T>
  void AddField(const T& value) {
    AddNumber(static_cast<uint64_t>(value));  // numbers, enums
  }
  void AddNumber(uint64_t value);

 private:
  void AddUse(const void* object);  // a variable or a buffer

  uint64_t hash_ = 0, num_defined_ = 0;
  std::unordered_map<const void*, uint64_t> defined_;  // variables and buffers, by their number
};

bool StructuralEqual(const Expr& a, const Expr& b);
uint64_t StructuralHash(const Expr& expr);

}  // namespace tern::ir

#endif  // TERN_IR_STRUCTURAL_H_
