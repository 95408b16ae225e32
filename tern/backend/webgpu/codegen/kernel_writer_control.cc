// SPDX-License-Identifier: Apache-2.0
//
// Control flow of KernelWriter: loops, threads, and what barriers ask of both.
#include <fmt/format.h>

#include <algorithm>

#include "tern/backend/webgpu/codegen/kernel_writer.h"
#include "tern/ir/visitor.h"
#include "tern/tir/analysis/kernel_shape.h"

namespace tern::backend::webgpu {

void KernelWriter::EmitNode(const tir::IfThenElseNode* node) {
  Value condition = Emit(node->condition);
  if ((HasBarrier(node->then_case) || (node->else_case.get() && HasBarrier(node->else_case))) &&
      !IsUniform(node->condition))
    condition = MakeUniform(condition, DataType::Bool());
  Line(fmt::format("if ({}) {{", condition.text));
  Indented([&] { Emit(node->then_case); });
  if (node->else_case.get()) {
    Line("} else {");
    Indented([&] { Emit(node->else_case); });
  }
  Line("}");
}

bool KernelWriter::LiesInRows(const tir::ForNode* node) const {
  const std::vector<std::string>& tags = info_.launch_tags;
  bool has_known_size = true;
  ir::ForEachExpr(node->extent, [&](const ir::Expr& expr) {
    const auto* var = expr.As<ir::VarNode>();
    has_known_size = has_known_size && (!var || values_.contains(var));
  });
  return node->thread == "blockIdx.x" && has_known_size &&
         std::none_of(tags.begin(), tags.end(), [](const std::string& tag) {
           return tag == "blockIdx.y" || tag == "blockIdx.z";
         });
}

void KernelWriter::EmitThreadLoop(const tir::ForNode* node) {
  int axis = tir::ThreadAxisNumber(node->thread);
  bool is_block = axis >= tir::kNumThreadAxesOfBlock;
  char lane = kAxes[axis % tir::kNumThreadAxesOfBlock];
  DataType word = DataType::UInt(32), dtype = node->var.dtype();
  if (!is_block || !LiesInRows(node)) {
    if (is_block) uniform_.insert(node->var.node());
    Value index{fmt::format("{}.{}", is_block ? "tern_block" : "tern_thread", lane)};
    Bind(node->var, Convert(index, word, dtype));
    return Emit(node->body);
  }
  bindings_.rows = true;
  uniform_.insert(node->var.node());
  Value place{"tern_block.y * tern_blocks.x + tern_block.x", false};
  std::string name = Name(place, "place");
  Value extent = Emit(node->extent);
  Braced(fmt::format("if ({})",
                     Compare(ir::ExprKind::kLT, dtype, Convert({name}, word, dtype), extent).text),
         [&] {
           Bind(node->var, Convert({name}, word, dtype));
           Emit(node->body);
         });
}

void KernelWriter::EmitNode(const tir::ForNode* node) {
  if (node->for_kind == tir::ForKind::kThread) return EmitThreadLoop(node);
  DataType dtype = node->var.dtype();
  Value min = Emit(node->min), end = Emit(node->extent);
  if (!ir::IsConst(node->min, 0)) end = IntBinary(ir::ExprKind::kAdd, dtype, min, end);
  bool is_uniform = IsUniform(node->min) && IsUniform(node->extent);
  if (HasBarrier(node->body) && !is_uniform) {
    if (!IsUniform(node->min)) min = MakeUniform(min, dtype);
    end = MakeUniform(end, dtype);
    is_uniform = true;
  }
  if (is_uniform) uniform_.insert(node->var.node());
  if (!end.is_literal) end = {Name(end, "end")};
  codegen::NameTable::Scope scope(names_);
  std::string name = DefineVar(node->var);
  std::string step = dtype.bits() == 64 ? fmt::format("{} = {}", name,
                                                      Call("add", {{name}, Literal(dtype, 1)}).text)
                                        : name + "++";
  Braced(fmt::format("for (var {} = {}; {}; {})", name, min.text,
                     Compare(ir::ExprKind::kLT, dtype, {name}, end).text, step),
         [&] { Emit(node->body); });
}

void KernelWriter::EmitNode(const tir::WhileNode* node) {
  Braced("loop", [&] {
    Value condition = Emit(node->condition);
    if (HasBarrier(node->body) && !IsUniform(node->condition))
      condition = MakeUniform(condition, DataType::Bool());
    Line(fmt::format("if (!{}) {{ break; }}", Operand(condition)));
    Emit(node->body);
  });
}

// ---- Uniform control flow ----

bool KernelWriter::HasBarrier(const tir::Stmt& stmt) const {
  return has_barrier_.contains(stmt.get());
}

bool KernelWriter::IsUniform(const ir::Expr& expr) const {
  std::unordered_set<const ir::VarNode*> bound;
  bool is_uniform = true;
  ir::ForEachExpr(expr, [&](const ir::Expr& part) {
    const auto* var = part.As<ir::VarNode>();
    if (const auto* let = part.As<ir::LetNode>()) bound.insert(let->var.node());
    is_uniform = is_uniform && !part.As<ir::BufferLoadNode>();
    is_uniform = is_uniform && (!var || uniform_.contains(var) || bound.contains(var));
  });
  return is_uniform;
}

KernelWriter::Value KernelWriter::MakeUniform(const Value& value, DataType dtype) {
  std::string type = dtype.bits() == 64 ? "vec2<u32>" : "u32";
  if (uniform_words_.insert(type).second) info_.static_shared_bytes += type == "u32" ? 4 : 8;
  std::string place = dtype.bits() == 64 ? "tern_uniform_words" : "tern_uniform_word";
  Value bits = ToBits(value, dtype);
  Braced("if (tern_index == 0u)", [&] { Line(fmt::format("{} = {};", place, bits.text)); });
  return {Name(FromBits({fmt::format("workgroupUniformLoad(&{})", place)}, dtype), "same")};
}

}  // namespace tern::backend::webgpu
