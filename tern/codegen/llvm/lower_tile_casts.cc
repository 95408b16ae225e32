// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/llvm/lower_tile_casts.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <map>

#include "tern/ffi/error.h"

namespace tern::codegen {
namespace {

using llvm::Intrinsic::x86_cast_tile_to_vector;
using llvm::Intrinsic::x86_cast_vector_to_tile;

bool Is(const llvm::Value* value, llvm::Intrinsic::ID id) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  return call && call->getIntrinsicID() == id;
}

using Casts = std::vector<llvm::IntrinsicInst*>;

Casts CastsOf(llvm::Function& function, llvm::Intrinsic::ID id) {
  Casts casts;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (Is(&instruction, id)) casts.push_back(llvm::cast<llvm::IntrinsicInst>(&instruction));
  return casts;
}

// vector_to_tile(tile_to_vector(t)) is t.
void FoldPairs(llvm::Function& function) {
  for (llvm::IntrinsicInst* cast : CastsOf(function, x86_cast_vector_to_tile)) {
    if (!Is(cast->getArgOperand(0), x86_cast_tile_to_vector)) continue;
    auto* inner = llvm::cast<llvm::IntrinsicInst>(cast->getArgOperand(0));
    cast->replaceAllUsesWith(inner->getArgOperand(0));
    cast->eraseFromParent();
  }
}

// Phis that pass vectors to each other.
using Web = llvm::SetVector<llvm::PHINode*>;

Web WebOf(llvm::PHINode* start) {
  Web web;
  web.insert(start);
  for (size_t i = 0; i < web.size(); ++i) {
    llvm::PHINode* phi = web[i];
    for (llvm::Value* value : phi->incoming_values())
      if (auto* other = llvm::dyn_cast<llvm::PHINode>(value)) web.insert(other);
    for (llvm::User* user : phi->users())
      if (auto* other = llvm::dyn_cast<llvm::PHINode>(user)) web.insert(other);
  }
  return web;
}

// All that comes in was a tile, and all users want one.
bool HoldsTiles(const Web& web) {
  for (const llvm::PHINode* phi : web) {
    for (const llvm::Value* value : phi->incoming_values())
      if (!llvm::isa<llvm::PHINode>(value) && !Is(value, x86_cast_tile_to_vector)) return false;
    for (const llvm::User* user : phi->users())
      if (!llvm::isa<llvm::PHINode>(user) && !Is(user, x86_cast_vector_to_tile)) return false;
  }
  return true;
}

void FoldWeb(const Web& web) {
  std::map<llvm::Value*, llvm::PHINode*> tiles;
  llvm::Type* tile = llvm::Type::getX86_AMXTy((*web.begin())->getContext());
  for (llvm::PHINode* phi : web)
    tiles[phi] =
        llvm::PHINode::Create(tile, phi->getNumIncomingValues(), "tile", phi->getIterator());
  for (llvm::PHINode* phi : web) {
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
      llvm::Value* value = phi->getIncomingValue(i);
      auto it = tiles.find(value);
      tiles[phi]->addIncoming(
          it != tiles.end() ? it->second : llvm::cast<llvm::IntrinsicInst>(value)->getArgOperand(0),
          phi->getIncomingBlock(i));
    }
    for (llvm::User* user : llvm::make_early_inc_range(phi->users()))
      if (auto* cast = llvm::dyn_cast<llvm::IntrinsicInst>(user)) {
        cast->replaceAllUsesWith(tiles[phi]);
        cast->eraseFromParent();
      }
  }
  for (llvm::PHINode* phi : web) phi->replaceAllUsesWith(llvm::PoisonValue::get(phi->getType()));
  for (llvm::PHINode* phi : web) phi->eraseFromParent();
}

void FoldPhis(llvm::Function& function) {
  llvm::SetVector<llvm::PHINode*> phis;
  for (llvm::IntrinsicInst* cast : CastsOf(function, x86_cast_vector_to_tile))
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(cast->getArgOperand(0))) phis.insert(phi);
  while (!phis.empty()) {
    Web web = WebOf(phis.back());
    for (llvm::PHINode* phi : web) phis.remove(phi);
    if (HoldsTiles(web)) FoldWeb(web);
  }
}

// Rows, and bytes of a row.
struct Shape {
  llvm::Value* rows;
  llvm::Value* columns;
};

// The intrinsics that make a tile have its shape in front.
Shape ShapeOfResult(const llvm::IntrinsicInst* made) {
  return {made->getArgOperand(0), made->getArgOperand(1)};
}

// Of an argument: of tdp*(m, n, k, C, A, B), where four bytes of k are a row of B, or of
// tilestored(rows, columns, pointer, stride, tile).
Shape ShapeOfArgument(const llvm::Use& use, llvm::IRBuilder<>& builder) {
  const auto* call = llvm::cast<llvm::IntrinsicInst>(use.getUser());
  constexpr unsigned kA = 4, kB = 5;
  bool multiplies = call->arg_size() == kB + 1;
  if (multiplies && use.getOperandNo() == kA)
    return {call->getArgOperand(0), call->getArgOperand(2)};
  if (multiplies && use.getOperandNo() == kB)
    return {builder.CreateUDiv(call->getArgOperand(2), builder.getInt16(4)),
            call->getArgOperand(1)};
  return ShapeOfResult(call);
}

// A tile's place in memory: as many bytes as the vector.
llvm::AllocaInst* MakePlace(llvm::Function& function, llvm::Type* vector) {
  llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  llvm::AllocaInst* place = builder.CreateAlloca(vector, nullptr, "tile");
  place->setAlignment(llvm::Align(64));
  return place;
}

llvm::Value* Stride(const Shape& shape, llvm::IRBuilder<>& builder) {
  return builder.CreateSExt(shape.columns, builder.getInt64Ty());
}

// A tile that is used as a vector: it is stored, and the vector loaded.
void ThroughMemory(llvm::Function& function) {
  for (llvm::IntrinsicInst* cast : CastsOf(function, x86_cast_tile_to_vector)) {
    if (!cast->use_empty()) {
      llvm::IRBuilder<> builder(cast);
      auto* tile = llvm::dyn_cast<llvm::IntrinsicInst>(cast->getArgOperand(0));
      TERN_ICHECK(tile) << "a tile without a shape";
      Shape shape = ShapeOfResult(tile);
      llvm::AllocaInst* place = MakePlace(function, cast->getType());
      builder.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64_internal, {},
                              {shape.rows, shape.columns, place, Stride(shape, builder), tile});
      cast->replaceAllUsesWith(builder.CreateAlignedLoad(cast->getType(), place, llvm::Align(64)));
    }
    cast->eraseFromParent();
  }
  for (llvm::IntrinsicInst* cast : CastsOf(function, x86_cast_vector_to_tile)) {
    llvm::Value* vector = cast->getArgOperand(0);
    llvm::IRBuilder<> builder(cast);
    llvm::AllocaInst* place = nullptr;
    for (llvm::Use& use : llvm::make_early_inc_range(cast->uses())) {
      if (!place) {
        place = MakePlace(function, vector->getType());
        builder.CreateAlignedStore(vector, place, llvm::Align(64));
      }
      builder.SetInsertPoint(llvm::cast<llvm::Instruction>(use.getUser()));
      Shape shape = ShapeOfArgument(use, builder);
      use.set(builder.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64_internal, {},
                                      {shape.rows, shape.columns, place, Stride(shape, builder)}));
    }
    cast->eraseFromParent();
  }
}

}  // namespace

void LowerTileCasts(llvm::Module* module) {
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    FoldPairs(function);
    FoldPhis(function);
    ThroughMemory(function);
  }
}

}  // namespace tern::codegen
