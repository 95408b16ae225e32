// SPDX-License-Identifier: Apache-2.0
//
// Atomic operations of KernelWriter. Memory that has any is an array of atomic words: what WGSL has
// no operation for on words (floats, signed min and max) is a loop of compare-exchange.
#include <fmt/format.h>

#include "tern/backend/webgpu/codegen/kernel_writer.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/atomics.h"

namespace tern::backend::webgpu {

namespace {

using tir::AtomicKind;

// Of words; null where there is none for the type.
const char* FunctionFor(AtomicKind kind, DataType dtype) {
  switch (kind) {
    case AtomicKind::kAdd:
      return dtype.is_float() ? nullptr : "atomicAdd";
    case AtomicKind::kMin:
      return dtype.is_uint() ? "atomicMin" : nullptr;
    case AtomicKind::kMax:
      return dtype.is_uint() ? "atomicMax" : nullptr;
    case AtomicKind::kAnd:
      return "atomicAnd";
    case AtomicKind::kOr:
      return "atomicOr";
    case AtomicKind::kXor:
      return "atomicXor";
    case AtomicKind::kExchange:
      return "atomicExchange";
    case AtomicKind::kCompareExchange:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

KernelWriter::Value KernelWriter::Combined(AtomicKind kind, DataType dtype, const Value& a,
                                           const Value& b) {
  if (kind == AtomicKind::kMin) return MinMax(ir::ExprKind::kMin, dtype, a, b);
  if (kind == AtomicKind::kMax) return MinMax(ir::ExprKind::kMax, dtype, a, b);
  return {fmt::format("{} + {}", Operand(a), Operand(b)), false};
}

void KernelWriter::EmitAtomic(const ir::CallNode* call) {
  tir::Atomic atomic = tir::AtomicOf(call);
  DataType dtype = atomic.dtype();
  TERN_CHECK(dtype.bits() == 32) << ir::At(call->span) << call->name << " of " << dtype.str()
                                 << ": WGSL has atomic operations of 32 bits alone";
  TERN_CHECK(!atomic.seq_cst) << ir::At(call->span) << call->name
                              << ": atomic operations of WGSL are relaxed";
  const Memory& memory = MemoryOf(atomic.element->buffer);
  std::string place = fmt::format("&{}[{}]", memory.name,
                                  Name({Index(memory, atomic.element->indices[0], dtype)}, "at"));
  std::vector<std::string> operands;
  for (const ir::Expr& operand : atomic.operands)
    operands.push_back(Name(ToBits(Emit(operand), dtype), "operand"));
  std::string old = names_.Define("old");
  if (const char* function = FunctionFor(atomic.kind, dtype)) {
    Line(fmt::format("let {} = {}({}, {});", old, function, place, operands[0]));
  } else {
    bool compares = atomic.kind == AtomicKind::kCompareExchange;
    Line(compares ? fmt::format("var {} = {};", old, operands[0])
                  : fmt::format("var {} = atomicLoad({});", old, place));
    Braced("loop", [&] {
      std::string next = compares ? operands[1]
                                  : Name(ToBits(Combined(atomic.kind, dtype, FromBits({old}, dtype),
                                                         FromBits({operands[0]}, dtype)),
                                                dtype),
                                         "next");
      std::string seen = Name({fmt::format("atomicCompareExchangeWeak({}, {}, {})", place,
                                           compares ? operands[0] : old, next)},
                              "seen");
      // The exchange may fail for no reason.
      if (compares) {
        Line(fmt::format("{} = {}.old_value;", old, seen));
        Line(fmt::format("if ({}.exchanged || {} != {}) {{ break; }}", seen, old, operands[0]));
      } else {
        Line(fmt::format("if ({}.exchanged) {{ break; }}", seen));
        Line(fmt::format("{} = {}.old_value;", old, seen));
      }
    });
  }
  if (!atomic.old) return;
  const Memory& kept = MemoryOf(atomic.old->buffer);
  Store(kept, Index(kept, atomic.old->indices[0], dtype), dtype, FromBits({old}, dtype));
}

}  // namespace tern::backend::webgpu
