// SPDX-License-Identifier: Apache-2.0
//
// Constants of a module: tensors of static shape whose elements are known, as the weights of a
// model. The elements are data beside the IR, shared by all copies of a module; no pass copies
// them.
#ifndef TERN_IR_CONSTANT_H_
#define TERN_IR_CONSTANT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ir/expr.h"
#include "tern/ir/mapped_file.h"

namespace tern::ir {

struct ConstantNode : ffi::Object {
  std::string name;
  DataType dtype;  // of an element
  std::vector<int64_t> shape;
  Span span;

  // The elements: one of these.
  std::string bytes;                       // owned; of a splat, those of one element
  bool is_splat = false;                   // all elements are the one in `bytes`
  std::shared_ptr<const MappedFile> file;  // or null
  std::string file_name;                   // of `file`, as the text form has it
  uint64_t offset = 0;                     // of the first byte in `file`

  static int32_t TypeIndex() {
    static const int32_t index = ffi::DynamicTypeIndex("ir.Constant");
    return index;
  }
  std::string TypeText() const;  // float32[2, 3]
  int64_t num_elements() const;
  int64_t num_bytes() const { return dtype.BytesOf(num_elements()); }
  // The elements in row-major order, compact, in the byte order of the machine; of a splat, one
  // element. No copy.
  std::string_view data() const;
  // All elements, also those of a splat. `out` has num_bytes() bytes.
  void CopyTo(void* out) const;
};

class Constant : public ffi::Ref<const ConstantNode> {
 public:
  Constant() = default;
  Constant(const ffi::Ref<const ConstantNode>& node) : Ref(node) {}

  // All throw where the content does not fit the type. `value` is a number of that type.
  static Constant Splat(std::string name, DataType dtype, std::vector<int64_t> shape,
                        const Expr& value, Span span = {});
  static Constant Owned(std::string name, DataType dtype, std::vector<int64_t> shape,
                        std::string bytes, Span span = {});
  static Constant InFile(std::string name, DataType dtype, std::vector<int64_t> shape,
                         std::shared_ptr<const MappedFile> file, std::string file_name,
                         uint64_t offset, Span span = {});
};

// Of one name, type and content, whether or not they come from a file.
bool StructuralEqual(const Constant& a, const Constant& b);

// One element as an IntImm or FloatImm, and back. `i` counts elements, of which packed types have
// two in a byte. The number is of type `dtype`.
Expr LoadElement(DataType dtype, std::string_view bytes, int64_t i);
void StoreElement(DataType dtype, const Expr& number, char* bytes, int64_t i);

}  // namespace tern::ir

#endif  // TERN_IR_CONSTANT_H_
