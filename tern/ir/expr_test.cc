// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tern/ir/mutator.h"
#include "tern/ir/structural.h"

namespace tern::ir {
namespace {

template <class F>
std::string TypeErrorOf(F&& make) {
  try {
    make();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "TypeError");
    return error.message();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Expr, OperandsHaveOneType) {
  Var x("x"), y("y", DataType::Float(32));
  EXPECT_EQ((x + 1).dtype(), DataType::Int(64));
  EXPECT_EQ((x < 1).dtype(), DataType::Bool());
  EXPECT_EQ(TypeErrorOf([&] { x + y; }), "operands of Add have different types: int64 and float32");
  EXPECT_EQ(TypeErrorOf([&] { x / 2; }),
            "Div does not take int64; integers divide with // or truncdiv");
  EXPECT_EQ(TypeErrorOf([&] { x&& x; }), "And does not take int64");
  EXPECT_EQ(TypeErrorOf([&] { FloorDiv(y, y); }), "FloorDiv does not take float32");
}

TEST(Expr, ConstantsFitTheirType) {
  EXPECT_EQ(TypeErrorOf([] { IntImmNode::Make(DataType::Int(8), 128); }),
            "128 does not fit in int8");
  EXPECT_EQ(TypeErrorOf([] { IntImmNode::Make(DataType::UInt(8), -1); }),
            "-1 does not fit in uint8");
  EXPECT_EQ(*AsConstInt(IntImmNode::Make(DataType::Int(8), -128)), -128);
  // Constants are rounded to their type at once.
  auto value = [](DataType dtype, double x) {
    Expr made = FloatImmNode::Make(dtype, x);
    return made.As<FloatImmNode>()->value;
  };
  EXPECT_EQ(value(DataType::Float(32), 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(value(DataType::Float(16), 1.0 + 0x1p-11), 1.0);
  EXPECT_EQ(value(DataType::Float(16), 65520.0), INFINITY);
  EXPECT_EQ(value(DataType::Bfloat16(), 1.0 + 0x1p-7), 1.0 + 0x1p-7);
}

TEST(Expr, IndicesFitTheBuffer) {
  Buffer a = BufferNode::Make("A", DataType::Float(32), {4, 5});
  Var f("f", DataType::Float(32)), i("i");
  EXPECT_EQ(TypeErrorOf([&] { BufferLoadNode::Make(a, {i}); }),
            "A has rank 2, but is accessed with 1 indices");
  EXPECT_EQ(TypeErrorOf([&] { BufferLoadNode::Make(a, {i, f}); }),
            "index 1 of A is float32; expected an integer");
  EXPECT_EQ(BufferLoadNode::Make(a, {i, RampNode::Make(i, 1, 4)}).dtype(), DataType::Float(32, 4));
  EXPECT_EQ(TypeErrorOf([&] { BufferLoadNode::Make(a, {RampNode::Make(i, 1, 4), i}); }),
            "index 0 of A is int64x4; expected an integer (a vector only in the last place)");
}

TEST(Mutator, KeepsWhatDoesNotChange) {
  Var x("x"), y("y");
  Expr sum = x * 2 + y;
  EXPECT_TRUE(Substitute(sum, {}).same(sum));
  Expr changed = Substitute(sum, {{x.node(), Expr(7)}});
  EXPECT_TRUE(StructuralEqual(changed, Expr(7) * 2 + y));
  // The operand that does not contain x is shared, not copied.
  EXPECT_TRUE(changed.As<AddNode>()->b.same(y));
}

TEST(StructuralEqual, ComparesFreeVariablesByIdentity) {
  Var x("x"), other("x");
  EXPECT_TRUE(StructuralEqual(x + 1, x + 1));
  EXPECT_FALSE(StructuralEqual(x + 1, other + 1));
  EXPECT_FALSE(StructuralEqual(x + 1, x - 1));
  // Bound ones by their place.
  EXPECT_TRUE(StructuralEqual(LetNode::Make(x, 3, x + 1), LetNode::Make(other, 3, other + 1)));
  // A part that is shared on one side alone defines its variable twice.
  Var y("y"), z("z");
  Expr shared = LetNode::Make(x, 3, x + 1);
  Expr apart = LetNode::Make(y, 3, y + 1) * LetNode::Make(z, 3, z + 1);
  EXPECT_TRUE(StructuralEqual(shared * shared, apart));
  EXPECT_TRUE(StructuralEqual(apart, shared * shared));
  // Two variables on one side are two on the other.
  EXPECT_FALSE(StructuralEqual(LetNode::Make(x, 3, LetNode::Make(y, 4, x + y)),
                               LetNode::Make(x, 3, LetNode::Make(y, 4, y + y))));
  // Floats by their bits.
  Expr zero = MakeConst(DataType::Float(32), 0.0),
       minus_zero = MakeConst(DataType::Float(32), -0.0);
  EXPECT_FALSE(StructuralEqual(zero, minus_zero));
  Expr nan = MakeConst(DataType::Float(32), NAN);
  EXPECT_TRUE(StructuralEqual(nan, MakeConst(DataType::Float(32), NAN)));
}

TEST(StructuralHash, IsTheSameForWhatIsEqual) {
  Var x("x"), other("other");
  EXPECT_EQ(StructuralHash(x * 2 + 1), StructuralHash(x * 2 + 1));
  EXPECT_EQ(StructuralHash(LetNode::Make(x, 3, x + 1)),
            StructuralHash(LetNode::Make(other, 3, other + 1)));
  // A part that is shared on one side alone defines its variable twice.
  Var y("y"), z("z");
  Expr shared = LetNode::Make(x, 3, x + 1);
  EXPECT_EQ(StructuralHash(shared * shared),
            StructuralHash(LetNode::Make(y, 3, y + 1) * LetNode::Make(z, 3, z + 1)));
}

TEST(StructuralHash, DiffersForWhatDiffers) {
  Var x("x"), other("x");
  std::set<uint64_t> hashes;
  std::vector<Expr> exprs = {x,
                             other,
                             x + 1,
                             other + 1,
                             x - 1,
                             x + 2,
                             MakeConst(DataType::Float(32), 0.0),
                             MakeConst(DataType::Float(32), -0.0),
                             MakeConst(DataType::Float(64), 0.0),
                             StringImmNode::Make("a"),
                             StringImmNode::Make("b"),
                             RampNode::Make(x, 1, 4),
                             RampNode::Make(x, 1, 8),
                             LetNode::Make(x, 3, x + x),
                             LetNode::Make(x, 3, x + other)};
  for (const Expr& expr : exprs) hashes.insert(StructuralHash(expr));
  EXPECT_EQ(hashes.size(), exprs.size());
}

}  // namespace
}  // namespace tern::ir
