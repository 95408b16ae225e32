// SPDX-License-Identifier: Apache-2.0
//
// Values of the interpreter, and the operators on them.
#ifndef TERN_TIR_INTERPRETER_VALUE_H_
#define TERN_TIR_INTERPRETER_VALUE_H_

#include <string>
#include <vector>

#include "tern/ffi/dtype.h"
#include "tern/ir/expr.h"

namespace tern::tir {

// One lane: integers and bools in `i` (unsigned ones zero-extended), floats in `f` (exactly
// representable in their type), handles in `p`.
union Lane {
  int64_t i;
  double f;
  void* p;
};

// What vscale() is here: not 1, so that programs that take it for 1 are found out.
constexpr int kVscale = 2;

struct Value {
  Value() = default;
  explicit Value(DataType dtype) : dtype(dtype) {
    if (!dtype.is_scalar()) vector_.resize(lanes());
  }
  static Value Int(DataType dtype, int64_t i) {
    Value value(dtype);
    value[0].i = i;
    return value;
  }
  static Value Float(DataType dtype, double f) {
    Value value(dtype);
    value[0].f = f;
    return value;
  }
  static Value Handle(void* p) {
    Value value(DataType::Handle());
    value[0].p = p;
    return value;
  }

  // Of scalars; as `*this = Int(dtype, i)`.
  void SetInt(DataType to, int64_t i) {
    dtype = to;
    vector_.clear();
    scalar_.i = i;
  }

  Lane& operator[](int lane) { return vector_.empty() ? scalar_ : vector_[lane]; }
  const Lane& operator[](int lane) const { return vector_.empty() ? scalar_ : vector_[lane]; }
  int lanes() const { return dtype.is_scalable() ? -dtype.lanes() * kVscale : dtype.lanes(); }
  int64_t i() const { return (*this)[0].i; }
  void* p() const { return (*this)[0].p; }

  DataType dtype;

 private:
  Lane scalar_{};
  std::vector<Lane> vector_;  // empty for a scalar
};

// The operators of the IR on one lane of type `dtype` (the operands' type). Throw ValueError on
// overflow and division by zero.
Lane BinaryLane(ir::ExprKind kind, DataType dtype, Lane a, Lane b);
Lane CastLane(DataType from, DataType to, Lane value);

// What an element takes that shares its bytes with no other.
constexpr int64_t ElementBytes(DataType dtype) {
  return dtype.is_packed() ? 1 : dtype.element().bytes();
}

// To and from memory.
Lane LoadLane(DataType dtype, const void* memory);
void StoreLane(DataType dtype, void* memory, Lane value);

// Where an element is: its bytes, or one half of a byte.
struct ElementPlace {
  char* data;
  int half = -1;  // 0: the low one, 1: the high one
};
Lane LoadLane(DataType dtype, ElementPlace place);
void StoreLane(DataType dtype, ElementPlace place, Lane value);

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_VALUE_H_
