// SPDX-License-Identifier: Apache-2.0
//
// Whatever an operator is given, it makes results or says what is wrong with the inputs: no model
// gets the compiler to read past a shape, or to blame itself.
#include <gtest/gtest.h>

#include <random>

#include "tern/compile.h"
#include "tern/ffi/error.h"
#include "tern/graph/builder.h"

namespace tern::op {
namespace {

using graph::AttrKind;

class RandomCalls {
 public:
  explicit RandomCalls(uint64_t seed) : random_(seed) {}

  // Throws what the operator throws.
  void Call(const graph::Op& op) {
    graph::Builder builder("main");
    std::vector<graph::Value> inputs;
    size_t most = std::min<size_t>(op.max_inputs(), op.min_inputs() + 3);
    for (size_t i = Between(op.min_inputs(), most); i > 0; --i)
      inputs.push_back(OneIn(8) ? graph::Value() : Input(&builder));
    ir::Attrs attrs;
    for (const graph::AttrSpec& attr : op.attrs)
      if (attr.required || OneIn(2)) attrs[attr.name] = AttrOf(attr.kind);
    builder.Add(op, inputs, attrs);
  }

 private:
  int64_t Between(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random_() % static_cast<uint64_t>(hi - lo + 1));
  }
  bool OneIn(int64_t count) { return Between(1, count) == 1; }

  graph::Value Input(graph::Builder* builder) {
    if (OneIn(4)) return builder->Ints(Numbers());
    if (OneIn(8)) return builder->Scalar(DataType::Float(32), 0.5);
    std::vector<ir::Expr> shape;
    for (int64_t i = Between(0, 5); i > 0; --i)
      shape.push_back(OneIn(6) ? ir::Expr(n_) : ir::Expr(Between(0, 6)));
    DataType dtypes[] = {DataType::Float(32), DataType::Float(32), DataType::Int(64),
                         DataType::Bool(), DataType::Float(16)};
    return builder->Param("x", {dtypes[Between(0, 4)], shape});
  }

  std::vector<int64_t> Numbers() {
    std::vector<int64_t> numbers(Between(0, 5));
    for (int64_t& number : numbers)
      number = OneIn(20) ? Between(INT64_MIN / 2, INT64_MAX / 2) : Between(-3, 6);
    return numbers;
  }

  ffi::Any AttrOf(AttrKind kind) {
    const char* texts[] = {"", "SAME_UPPER", "VALID", "constant", "reflect", "linear", "nonsense"};
    std::vector<ffi::Any> items;
    switch (kind) {
      case AttrKind::kInt:
        return ffi::Any(Between(-3, 6));
      case AttrKind::kFloat:
        return ffi::Any(0.25 * static_cast<double>(Between(-4, 8)));
      case AttrKind::kString:
        return ffi::Any(std::string(texts[Between(0, 6)]));
      case AttrKind::kInts:
        for (int64_t number : Numbers()) items.emplace_back(number);
        break;
      case AttrKind::kFloats:
        for (int64_t number : Numbers()) items.emplace_back(0.5 * static_cast<double>(number));
        break;
    }
    return ffi::Any(ffi::MakeArray(std::move(items)));
  }

  std::mt19937_64 random_;
  ir::Var n_{"n"};
};

TEST(Operators, RandomCallsAreRightOrRefused) {
  Initialize();
  int made = 0;
  uint64_t seed = 0;
  for (const graph::Op* op : graph::AllOps())
    for (int i = 0; i < 200; ++i) {
      try {
        RandomCalls(++seed).Call(*op);
        ++made;
      } catch (const Error& error) {
        EXPECT_NE(error.kind(), "InternalError")
            << op->name << ", seed " << seed << ": " << error.what();
      }
    }
  EXPECT_GT(made, 1000);
}

}  // namespace
}  // namespace tern::op
