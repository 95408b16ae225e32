// SPDX-License-Identifier: Apache-2.0
//
// Tensors whose elements are smaller than a byte: which they are, and who stores into a byte.
#ifndef TERN_TIR_ANALYSIS_PACKED_ELEMENTS_H_
#define TERN_TIR_ANALYSIS_PACKED_ELEMENTS_H_

#include <unordered_set>
#include <vector>

#include "tern/tir/function.h"

namespace tern::tir {

// Whether a function's body has values of such types.
bool HasPackedElements(const PrimFunc& function);

// Memory that a function allocates has an element of such a type in each byte; all other memory,
// that of its tensors, has two.
class PackedElements {
 public:
  explicit PackedElements(const PrimFunc& function);

  // Whether two elements of a buffer share a byte.
  bool InOneByte(const Buffer& buffer) const {
    return buffer->dtype.is_packed() && !allocated_.count(buffer->data.node());
  }
  // Whether the function stores into such a buffer.
  bool are_stored() const { return are_stored_; }
  // A store of the loop for which it is not proven that iterations store into bytes of their own;
  // null where there is none. `around` are loops whose variables may be in its indices.
  const BufferStoreNode* FindSharedByte(const ForNode* loop,
                                        const std::vector<const ForNode*>& around) const;

 private:
  std::unordered_set<const VarNode*> allocated_;
  bool are_stored_ = false;
};

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_PACKED_ELEMENTS_H_
