// SPDX-License-Identifier: Apache-2.0
//
// Random vector expressions, as well defined as the scalar ones of random_expr.h.
#ifndef TEST_FUZZ_RANDOM_VECTOR_H_
#define TEST_FUZZ_RANDOM_VECTOR_H_

#include "test/fuzz/random_expr.h"

namespace tern::fuzz {

class VectorGenerator {
 public:
  // Scalars in the lanes come from `scalars`; vectors are read from `memory`, of rank 1 and
  // constant size.
  VectorGenerator(Random* random, ExprGenerator* scalars, bool float_arithmetic, ir::Buffer memory)
      : random_(random),
        scalars_(scalars),
        float_arithmetic_(float_arithmetic),
        memory_(std::move(memory)) {}

  Value Make(DataType dtype, int depth);
  // Indices of different elements of `memory`.
  ir::Expr Places(int lanes);
  // Indices some of which may be outside of `memory`, and a predicate that none of those has.
  struct MaskedPlaces {
    ir::Expr index, predicate;
  };
  MaskedPlaces PlacesWithMask(int lanes);

 private:
  Value Leaf(DataType dtype);
  Value Arithmetic(DataType dtype, int depth);
  Value Shuffle(DataType dtype, int depth);
  Value Convert(DataType dtype, int depth);

  Random* random_;
  ExprGenerator* scalars_;
  bool float_arithmetic_;
  ir::Buffer memory_;
  int lets_ = 0;
};

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_RANDOM_VECTOR_H_
