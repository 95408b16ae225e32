// SPDX-License-Identifier: Apache-2.0
//
// Matrices of SIMD-groups: which memory they are, and where their tiles lie in other memory.
#ifndef TERN_BACKEND_METAL_CODEGEN_MATRICES_H_
#define TERN_BACKEND_METAL_CODEGEN_MATRICES_H_

#include <unordered_set>

#include "tern/arith/analyzer.h"
#include "tern/ir/mutator.h"
#include "tern/tir/function.h"

namespace tern::backend::metal {

class Matrices {
 public:
  static constexpr int64_t kLanes = 32;
  static constexpr int64_t kElements = 2;  // of a tile in a lane

  // What follows is of this kernel. Throws where it touches a matrix by anything but operations on
  // matrices: how the lanes have its elements is not known.
  void Begin(const tir::PrimFunc& kernel);
  // Whether the memory is matrices, one for every two elements of a lane.
  bool Contains(const ir::Buffer& buffer) const { return matrices_.contains(buffer.get()); }
  // The number of a matrix in its memory.
  ir::Expr Number(const ir::Buffer& buffer, const ir::Expr& index) const;

  // A tile in memory.
  struct Tile {
    ir::Expr first, row;  // the place of its first element; between rows
  };
  // By the places that each lane has of it. Throws where they are not those of a tile.
  Tile TileAt(const ir::Buffer& buffer, const ir::Expr& index) const;

 private:
  ir::Expr InLane(const ir::Expr& expr, int64_t lane) const;
  ir::Expr Between(const ir::Expr& from, const ir::Expr& to) const;

  std::unordered_set<const ir::BufferNode*> matrices_;
  ir::Var lane_;       // null where no axis has as many threads as there are lanes
  ir::VarMap values_;  // of variables that differ between lanes
  arith::Analyzer known_;
};

}  // namespace tern::backend::metal

#endif  // TERN_BACKEND_METAL_CODEGEN_MATRICES_H_
