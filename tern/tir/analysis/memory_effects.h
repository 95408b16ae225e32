// SPDX-License-Identifier: Apache-2.0
//
// Which memory statements write, as far as that can be told apart.
#ifndef TERN_TIR_ANALYSIS_MEMORY_EFFECTS_H_
#define TERN_TIR_ANALYSIS_MEMORY_EFFECTS_H_

#include <unordered_set>

#include "tern/tir/function.h"

namespace tern::tir {

class MemoryEffects {
 public:
  explicit MemoryEffects(const PrimFunc& function);

  // Memory that nothing else can be: the address of an allocation, or of a parameter of a function
  // whose tensors are distinct, that is used for nothing but buffers. All other memory is one
  // place: null.
  const VarNode* PlaceOf(const Buffer& buffer) const;
  // Whether the memory at a place is an allocation of the function, which nobody else sees.
  bool IsTemporary(const VarNode* place) const { return temporary_.count(place) > 0; }

  struct Writes {
    std::unordered_set<const VarNode*> places;
    bool anything = false;  // a barrier, or a call made for its effect
    bool Contain(const VarNode* place) const { return anything || places.count(place) > 0; }
  };
  Writes WritesOf(const Stmt& stmt) const;

 private:
  std::unordered_set<const VarNode*> own_, temporary_;
};

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_MEMORY_EFFECTS_H_
