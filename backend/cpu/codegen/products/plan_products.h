// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Plans the calls of kernels that compute a shader's products of tiles. Plain data, computed once
/// from the final NIR; emit_tile.cc writes the calls.

#pragma once

#include "backend/cpu/codegen/products/product_blocks.h"
#include "nir_passes/matrix_support.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace weft::cpu {

/// The bytes of the subgroup that a part of a tile takes in the memory of one invocation.
constexpr uint32_t bytes_of_invocation(uint32_t bytes, uint32_t subgroup_size)
{
   return (bytes + subgroup_size - 1) / subgroup_size;
}

/// The size of a whole tile in the memory of its subgroup.
uint32_t tile_bytes(const glsl_cmat_description &);

/// The tiles of an operand of a block.
struct TileOperand {
   const nir_src *offset; ///< of a tile, as the instruction has it
   uint32_t bytes;        ///< from the block's first tile to the end of its last
   int32_t beyond = 0;    ///< bytes from the tile at `offset` to the block's first tile
};

struct ProductCall {
   MatrixOperation operation;
   ProductBlock block;
   TileOperand d, a, b, c;
   bool in_place; ///< C is D
};

class ProductPlan {
public:
   /// The calls in place of a multiplication, in order. None if an earlier call includes it.
   std::span<const ProductCall> calls(const nir_intrinsic_instr *product) const
   {
      const auto found = calls_of.find(product);
      return found == calls_of.end() ? std::span<const ProductCall>() : found->second;
   }

   std::unordered_map<const nir_intrinsic_instr *, std::vector<ProductCall>> calls_of;
};

/// Groups multiplications into blocks. The multiplications of a block have only arithmetic between
/// them, and their tiles lie at known distances. An Error if a multiplication has no kernel.
Result<ProductPlan> plan_products(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
