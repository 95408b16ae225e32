// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/schedule/dot_instructions.h"

#include <optional>
#include <set>
#include <vector>

#include "tern/schedule/rules/dot_matmul.h"
#include "tern/schedule/tensor_intrinsic.h"

namespace tern::backend::cpu {
namespace {

using schedule::DotInstructions;
using schedule::DotTile;

std::string Text(int64_t number) { return std::to_string(number); }

// Numbers from..from + count, with commas between.
std::string Row(int64_t from, int64_t count) {
  std::string row;
  for (int64_t i = 0; i < count; ++i) row += (i ? ", " : "") + Text(from + i);
  return row;
}

// One instruction for factors of these types; the name is LLVM's, without the prefix.
struct Instruction {
  DataType left, right;
  std::string name, feature;
  bool swapped = false;  // it takes the right factor first
  bool adds = true;      // its first operand is the sums
};

DataType SumOf(const Instruction& instruction) {
  return instruction.left.is_float() ? DataType::Float(32) : DataType::Int(32);
}
std::string TypeName(DataType dtype) {
  if (dtype.is_float()) return dtype == DataType::Float(16) ? "f16" : "bf16";
  return (dtype.is_uint() ? "u" : "s") + Text(dtype.bits());
}
std::string NameOf(const Instruction& instruction) {
  std::string left = TypeName(instruction.left), right = TypeName(instruction.right);
  return left == right ? left : left + right;
}
// Floats are summed in another order.
std::string Attributes(const Instruction& instruction) {
  return instruction.left.is_float() ? " attrs {reassociate = true}" : "";
}

void Register(const std::string& name, const std::string& params, const std::string& attributes,
              const std::string& description, const std::string& implementation) {
  schedule::RegisterTensorIntrinsic(name, "func description(" + params + ") {\n" + description +
                                              "}\nfunc implementation(" + params + ")" +
                                              attributes + " {\n" + implementation + "}\n");
}

std::string Product(const Instruction& instruction, const std::string& sum, const std::string& left,
                    const std::string& right) {
  std::string type = SumOf(instruction).str();
  return sum + " = " + sum + " + " + type + "(" + left + ") * " + type + "(" + right + ")\n";
}

// ---- Vectors: rows x columns of sums are one.

// One row's word for every column, or the words of all rows.
std::string LeftVector(int64_t rows, int64_t columns, int64_t word, const std::string& type) {
  std::string w = Text(word), parts;
  if (rows == 1)
    return "reinterpret<" + type + ">(broadcast(reinterpret<uint32>(A[ramp(0, 1, " + w + ")]), " +
           Text(columns) + "))";
  for (int64_t i = 0; i < rows; ++i)
    parts += (i ? ", A[" : "A[") + Text(i) + ", ramp(0, 1, " + w + ")]";
  return "reinterpret<" + type + ">(shuffle([" + parts + "], [" + Row(0, rows * word) + "]))";
}

void RegisterVector(const Instruction& instruction, const std::string& name, int64_t rows,
                    int64_t columns, int64_t word) {
  std::string sum = SumOf(instruction).str(), n = Text(rows * columns), w = Text(word),
              c = Text(columns), vector = Text(columns * word);
  std::string a_shape = rows == 1 ? "[" + w + "]" : "[" + Text(rows) + ", " + w + "] strides(s, 1)";
  std::string params = "C: " + sum + "[" + n + "], A: " + instruction.left.str() + a_shape +
                       ", B: " + instruction.right.str() + "[" + vector + "]";
  std::string loops = "for " + std::string(rows == 1 ? "" : "i in 0.." + Text(rows) + ", ") +
                      "j in 0.." + c + ", k in 0.." + w + " {\n";
  std::string place = rows == 1 ? "j" : "i * " + c + " + j",
              right = "B[ramp(0, 1, " + vector + ")]", sums = "C[ramp(0, 1, " + n + ")]";
  // Of bfloat16 the bits: as values they would become float32.
  bool bits = instruction.left.is_float();
  std::string left_type = (bits ? "uint16" : instruction.left.str()) + "x" + vector;
  std::string left = LeftVector(rows, columns, word, left_type);
  if (bits) right = "reinterpret<uint16x" + vector + ">(" + right + ")";
  std::string factors = instruction.swapped ? right + ", " + left : left + ", " + right;
  Register(name, params, Attributes(instruction),
           loops +
               Product(instruction, "C[" + place + "]",
                       "A[" + std::string(rows == 1 ? "" : "i, ") + "k]", "B[j * " + w + " + k]") +
               "}\n",
           sums + " = " + (instruction.adds ? "" : sums + " + ") + "llvm.call_pure<" + sum + "x" +
               n + ">(\"llvm." + instruction.name + "\", " + (instruction.adds ? sums + ", " : "") +
               factors + ")\n");
}

// Y has the words of columns, in a row each, of which X has the steps.
void RegisterInterleave(DataType dtype, std::optional<DataType> wide, int64_t word,
                        int64_t columns) {
  static auto* const done = new std::set<std::string>;
  std::string w = Text(word), n = Text(columns), all = Text(word * columns), type = dtype.str(),
              to = wide.value_or(dtype).str();
  std::string name = "interleave_" + type + "_" + (wide ? to + "_" : "") + w + "x" + n;
  if (!done->insert(name).second) return;
  auto converted = [&](const std::string& value, const std::string& lanes) {
    return wide ? to + lanes + "(" + value + ")" : value;
  };
  std::string rows, order;
  for (int64_t k = 0; k < word; ++k)
    rows += (k ? ", " : "") + converted("X[" + Text(k) + ", ramp(0, 1, " + n + ")]", "x" + n);
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t k = 0; k < word; ++k) order += (order.empty() ? "" : ", ") + Text(k * columns + j);
  Register(name, "Y: " + to + "[" + all + "], X: " + type + "[" + w + ", " + n + "]", "",
           "for k in 0.." + w + ", j in 0.." + n + " {\nY[j * " + w +
               " + k] = " + converted("X[k, j]", "") + "\n}\n",
           "Y[ramp(0, 1, " + all + ")] = shuffle([" + rows + "], [" + order + "])\n");
}

// The same of so many words of K-contiguous columns, whose words are in rows of Y: a transposition,
// in each step of which pairs of vectors exchange halves of ever larger parts.
void RegisterInterleaveColumns(DataType dtype, int64_t word, int64_t columns) {
  static auto* const done = new std::set<std::string>;
  std::string w = Text(word), n = Text(columns), all = Text(word * columns), type = dtype.str();
  std::string name = "interleave_columns_" + type + "_" + w + "x" + n;
  if (!done->insert(name).second) return;
  std::string words = "uint" + Text(8 * word * dtype.bytes()) + "x" + n;
  std::string body;
  auto vector = [&](const std::string& value, int64_t part, int64_t i) {
    std::string made = "x" + Text(part) + "_" + Text(i);
    body += "let " + made + " = " + value + "\n";
  };
  auto row = [&](const char* buffer, int64_t i) {
    return std::string(buffer) + "[" + Text(i) + ", ramp(0, 1, " + all + ")]";
  };
  for (int64_t i = 0; i < columns; ++i)
    vector("reinterpret<" + words + ">(" + row("X", i) + ")", 1, i);
  for (int64_t part = 1; part < columns; part *= 2)
    for (int64_t i = 0; i < columns; ++i) {
      int64_t low = i & ~part, upper = i & part;
      std::string from;
      for (int64_t lane = 0; lane < columns; ++lane) {
        int64_t second = lane & part, source = upper == second ? lane
                                               : upper         ? lane + part
                                                               : lane - part;
        from += (lane ? ", " : "") + Text((second ? columns : 0) + source);
      }
      vector("shuffle([x" + Text(part) + "_" + Text(low) + ", x" + Text(part) + "_" +
                 Text(low | part) + "], [" + from + "])",
             2 * part, i);
    }
  for (int64_t i = 0; i < columns; ++i)
    body += row("Y", i) + " = reinterpret<" + type + "x" + all + ">(x" + Text(columns) + "_" +
            Text(i) + ")\n";
  Register(name,
           "Y: " + type + "[" + n + ", " + all + "], X: " + type + "[" + n + ", " + all +
               "] strides(s, 1)",
           "",
           "for q in 0.." + n + ", j in 0.." + n + ", k in 0.." + w + " {\nY[q, j * " + w +
               " + k] = X[j, q * " + w + " + k]\n}\n",
           body);
}

// ---- Tiles of x86 (AMX): 16 rows of 64 bytes, which LLVM has registers for.

constexpr int64_t kTileRows = 16, kTileBytes = 64;
constexpr const char* kTileShape = "int16(16), int16(64)";

struct TileNames {
  std::string c, sum, sums_type;
  DotTile tile;

  TileNames(const Instruction& instruction, const DotTile& shape) : tile(shape) {
    sum = SumOf(instruction).str();
    sums_type = sum + "x256";
    c = "C: " + sum + "[" + Text(tile.rows) + ", " + Text(tile.columns) + ", 256]";
  }
  std::string loops() const {
    return "for i in 0.." + Text(tile.rows * kTileRows) + ", j in 0.." +
           Text(tile.columns * kTileRows);
  }
  static std::string SumsAt(int64_t i, int64_t j) {
    return "C[" + Text(i) + ", " + Text(j) + ", ramp(0, 1, 256)]";
  }
  template <class F>
  std::string ForEach(F line) const {
    std::string text;
    for (int64_t i = 0; i < tile.rows; ++i)
      for (int64_t j = 0; j < tile.columns; ++j) text += line(i, j);
    return text;
  }
};

constexpr const char* kSum = "C[i // 16, j // 16, i % 16 * 16 + j % 16]";

void RegisterTileMultiply(const Instruction& instruction, const DotTile& shape,
                          const std::string& name) {
  TileNames names(instruction, shape);
  int64_t bytes = instruction.left.bytes(), word = 4 / bytes;
  std::string steps = Text(kTileBytes / bytes), w = Text(word);
  std::string params = names.c + ", A: " + instruction.left.str() + "[" +
                       Text(shape.rows * kTileRows) + ", " + steps +
                       "] strides(s, 1), B: " + instruction.right.str() + "[" +
                       Text(shape.columns) + ", 16, " + steps + "] strides(u, " + steps + ", 1)";
  auto load = [&](const std::string& value, const std::string& element, const std::string& stride) {
    return "let " + value + " = llvm.call<int8x1024>(\"llvm.x86.tileloadd64.internal\", " +
           kTileShape + ", address_of(" + element + ", 16, " + steps + "), " + stride + ")\n";
  };
  std::string body;
  for (int64_t i = 0; i < shape.rows; ++i)
    body += load("a" + Text(i), "A[" + Text(i * kTileRows) + ", 0]", "s * " + Text(bytes));
  for (int64_t j = 0; j < shape.columns; ++j)
    body += load("b" + Text(j), "B[" + Text(j) + ", 0, 0]", "64");
  body += names.ForEach([&](int64_t i, int64_t j) {
    std::string sums = TileNames::SumsAt(i, j);
    return sums + " = llvm.call_pure<" + names.sums_type + ">(\"llvm." + instruction.name +
           "\", int16(16), int16(64), int16(64), " + sums + ", a" + Text(i) + ", b" + Text(j) +
           ")\n";
  });
  Register(name, params, Attributes(instruction),
           names.loops() + ", k in 0.." + steps + " {\n" +
               Product(instruction, kSum, "A[i, k]",
                       "B[j // 16, k // " + w + ", j % 16 * " + w + " + k % " + w + "]") +
               "}\n",
           body);
}

void RegisterTiles(const Instruction& instruction, const DotTile& shape) {
  TileNames names(instruction, shape);
  std::string tail = NameOf(instruction) + "_" + Text(shape.rows) + "x" + Text(shape.columns);
  RegisterTileMultiply(instruction, shape, "amx_" + tail);
  Register("amx_fill_" + tail, names.c, "",
           names.loops() + " {\n" + kSum + " = " + names.sum + "(0)\n}\n",
           names.ForEach([&](int64_t i, int64_t j) {
             // Not pure: each is a register of its own.
             return TileNames::SumsAt(i, j) + " = llvm.call<" + names.sums_type +
                    ">(\"llvm.x86.tilezero.internal\", " + kTileShape + ")\n";
           }));
  Register("amx_store_" + tail,
           "Y: " + names.sum + "[" + Text(shape.rows * kTileRows) + ", " +
               Text(shape.columns * kTileRows) + "] strides(s, 1), " + names.c,
           "", names.loops() + " {\nY[i, j] = " + kSum + "\n}\n",
           names.ForEach([&](int64_t i, int64_t j) {
             return "llvm.call(\"llvm.x86.tilestored64.internal\", " + std::string(kTileShape) +
                    ", address_of(Y[" + Text(i * kTileRows) + ", " + Text(j * kTileRows) +
                    "], 16, 16, \"write\"), s * 4, " + TileNames::SumsAt(i, j) + ")\n";
           }));
}

// ---- The rules

const DataType kS8 = DataType::Int(8), kS16 = DataType::Int(16), kU8 = DataType::UInt(8),
               kBf16 = DataType::Bfloat16(), kF16 = DataType::Float(16);

// Whether a machine has an instruction.
std::function<bool(const schedule::TargetInfo&)> Has(const HasFeature& has,
                                                     const std::string& architecture,
                                                     const std::string& feature) {
  return
      [=](const schedule::TargetInfo& target) { return has(target.target, architecture, feature); };
}

void AddRule(DotInstructions rule, const std::vector<Instruction>& instructions,
             const std::string& architecture, const HasFeature& has) {
  for (const Instruction& instruction : instructions) {
    int64_t word = rule.word_bytes / instruction.left.bytes();
    std::string name = NameOf(instruction);
    for (const DotTile& tile : rule.tiles) RegisterTiles(instruction, tile);
    if (rule.tiles.empty())
      RegisterVector(instruction, rule.prefix + "_" + name, rule.rows, rule.columns, word);
    RegisterInterleave(instruction.right, {}, word, rule.columns);
    if (!rule.tiles.empty()) RegisterInterleaveColumns(instruction.right, word, rule.columns);
    rule.types.push_back({instruction.left, instruction.right, SumOf(instruction), name,
                          Has(has, architecture, instruction.feature)});
  }
  schedule::RegisterDotMatmul(rule);
}

// Products of int16 in pairs, and of bytes that become such.
void AddPairs(const std::string& name, int priority, int64_t columns,
              const Instruction& instruction, const HasFeature& has) {
  DotInstructions rule{.rule = "madd_matmul_" + name,
                       .description = "int8 and int16 by pmaddwd, B K-interleaved by 2",
                       .priority = priority,
                       .prefix = "madd_" + name,
                       .columns = columns,
                       .step_bytes = 4,
                       .word_bytes = 4};
  std::string type = NameOf(instruction);
  RegisterVector(instruction, rule.prefix + "_" + type, 1, columns, 2);
  auto fits = Has(has, "x86_64", instruction.feature);
  for (DataType left : {kS8, kU8, kS16})
    for (DataType right : {kS8, kU8, kS16}) {
      if ((left == kS16) != (right == kS16)) continue;
      std::optional<DataType> wide = left == kS16 ? std::nullopt : std::optional(kS16);
      RegisterInterleave(right, wide, 2, columns);
      rule.types.push_back({left, right, DataType::Int(32), type, fits, wide});
    }
  schedule::RegisterDotMatmul(rule);
}

void AddX86(const HasFeature& has) {
  AddRule({.rule = "amx_matmul",
           .description = "int8, bfloat16 and float16 by AMX tiles (tdp*), B in VNNI layout",
           .priority = 38,
           .prefix = "amx",
           .rows = kTileRows,
           .columns = kTileRows,
           .step_bytes = kTileBytes,
           .word_bytes = 4,
           .tiles = {{2, 2}, {1, 2}, {2, 1}, {1, 1}}},
          {{kU8, kS8, "x86.tdpbusd.internal", "amx-int8"},
           {kS8, kU8, "x86.tdpbsud.internal", "amx-int8"},
           {kS8, kS8, "x86.tdpbssd.internal", "amx-int8"},
           {kU8, kU8, "x86.tdpbuud.internal", "amx-int8"},
           {kBf16, kBf16, "x86.tdpbf16ps.internal", "amx-bf16"},
           {kF16, kF16, "x86.tdpfp16ps.internal", "amx-fp16"}},
          "x86_64", has);
  AddRule({.rule = "vnni_matmul_512",
           .description = "int8 and bfloat16 by vpdpbusd and vdpbf16ps, B in VNNI layout",
           .priority = 36,
           .prefix = "vnni_512",
           .columns = 16,
           .step_bytes = 4,
           .word_bytes = 4},
          {{kU8, kS8, "x86.avx512.vpdpbusd.512", "avx512vnni"},
           {kS8, kU8, "x86.avx512.vpdpbusd.512", "avx512vnni", true},
           {kBf16, kBf16, "x86.avx512bf16.dpbf16ps.512", "avx512bf16"}},
          "x86_64", has);
  AddRule({.rule = "vnni_matmul_256",
           .description = "int8 by 256-bit vpdpbusd (AVX-VNNI), B in VNNI layout",
           .priority = 35,
           .prefix = "vnni_256",
           .columns = 8,
           .step_bytes = 4,
           .word_bytes = 4},
          {{kU8, kS8, "x86.avx512.vpdpbusd.256", "avxvnni"},
           {kS8, kU8, "x86.avx512.vpdpbusd.256", "avxvnni", true}},
          "x86_64", has);
  Instruction adds{kS16, kS16, "x86.avx512.vpdpwssd.512", "avx512vnni"};
  AddPairs("512_vnni", 34, 16, adds, has);
  auto pairs = [&](const std::string& name, int priority, int64_t columns,
                   const std::string& instruction, const std::string& feature) {
    AddPairs(name, priority, columns, {kS16, kS16, instruction, feature, false, false}, has);
  };
  pairs("512", 33, 16, "x86.avx512.pmaddw.d.512", "avx512bw");
  pairs("256", 32, 8, "x86.avx2.pmadd.wd", "avx2");
  pairs("128", 31, 4, "x86.sse2.pmadd.wd", "sse2");
}

void AddArm(const HasFeature& has) {
  AddRule({.rule = "mmla_matmul",
           .description = "int8 and bfloat16 by smmla and bfmmla, 2 x 2 accumulators per vector",
           .priority = 37,
           .prefix = "mmla",
           .rows = 2,
           .columns = 2,
           .step_bytes = 8,
           .word_bytes = 8,
           .left_in_registers = true},
          {{kS8, kS8, "aarch64.neon.smmla.v4i32.v16i8", "i8mm"},
           {kU8, kU8, "aarch64.neon.ummla.v4i32.v16i8", "i8mm"},
           {kU8, kS8, "aarch64.neon.usmmla.v4i32.v16i8", "i8mm"},
           {kBf16, kBf16, "aarch64.neon.bfmmla", "bf16"}},
          "aarch64", has);
  AddRule({.rule = "sdot_matmul",
           .description = "int8 by sdot, B K-interleaved by 4",
           .priority = 36,
           .prefix = "sdot",
           .columns = 4,
           .step_bytes = 4,
           .word_bytes = 4,
           .left_in_registers = true},
          {{kS8, kS8, "aarch64.neon.sdot.v4i32.v16i8", "dotprod"},
           {kU8, kU8, "aarch64.neon.udot.v4i32.v16i8", "dotprod"},
           {kS8, kU8, "aarch64.neon.usdot.v4i32.v16i8", "i8mm", true}},
          "aarch64", has);
}

}  // namespace

void RegisterDotInstructions(const HasFeature& has) {
  AddX86(has);
  AddArm(has);
}

}  // namespace tern::backend::cpu
