// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/byte_dots.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>

#include <numeric>
#include <string_view>

namespace tern::codegen {
namespace {

struct Instruction {
  const char* arch;
  const char* feature;
  int lanes;
  const char* name;  // LLVM's
};
// The widest first.
constexpr Instruction kInstructions[] = {
    {"x86_64", "avx512vnni", 16, "llvm.x86.avx512.vpdpbusd.512"},
    {"x86_64", "avx512vnni", 8, "llvm.x86.avx512.vpdpbusd.256"},
    {"x86_64", "avxvnni", 8, "llvm.x86.avx512.vpdpbusd.256"},
    {"x86_64", "avx512vnni", 4, "llvm.x86.avx512.vpdpbusd.128"},
    {"x86_64", "avxvnni", 4, "llvm.x86.avx512.vpdpbusd.128"},
    {"aarch64", "i8mm", 4, "llvm.aarch64.neon.usdot"},
};

const Instruction* Find(const LLVMTarget& target, int lanes) {
  for (const Instruction& instruction : kInstructions)
    if (target.arch().name && std::string_view(target.arch().name) == instruction.arch &&
        lanes % instruction.lanes == 0 && target.HasFeature(instruction.feature))
      return &instruction;
  return nullptr;
}

}  // namespace

bool HasByteDots(const LLVMTarget& target, int lanes) {
  return lanes > 1 && Find(target, lanes) != nullptr;
}

llvm::Value* EmitByteDots(llvm::IRBuilder<>& builder, const LLVMTarget& target, llvm::Value* a,
                          llvm::Value* b, llvm::Value* sum) {
  auto lanes =
      static_cast<int>(llvm::cast<llvm::FixedVectorType>(sum->getType())->getNumElements());
  const Instruction* instruction = Find(target, lanes);
  TERN_ICHECK(instruction) << "dot4 of " << lanes << " lanes is not lowered";
  int width = instruction->lanes;
  auto* bytes = llvm::FixedVectorType::get(builder.getInt8Ty(), static_cast<unsigned>(width * 4));
  std::vector<llvm::Value*> parts;
  for (int first = 0; first < lanes; first += width) {
    std::vector<int> mask(static_cast<size_t>(width));
    std::iota(mask.begin(), mask.end(), first);
    auto part = [&](llvm::Value* x) {
      return width == lanes ? x : builder.CreateShuffleVector(x, mask);
    };
    llvm::Value* sums = part(sum);
    parts.push_back(builder.CreateIntrinsic(
        sums->getType(), llvm::Intrinsic::lookupIntrinsicID(instruction->name),
        {sums, builder.CreateBitCast(part(a), bytes), builder.CreateBitCast(part(b), bytes)}));
  }
  return parts.size() == 1 ? parts[0] : llvm::concatenateVectors(builder, parts);
}

}  // namespace tern::codegen
