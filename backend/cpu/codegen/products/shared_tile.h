// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads of tiles, and the shared tiles of opt_product_order(), while they are variables.

#pragma once

#include "nir_passes/matrices/cmat_marks.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace weft::cpu {

/// Whether an instruction brings a tile from memory.
inline bool is_tile_load(const nir_intrinsic_instr *instr)
{
   return instr->intrinsic == nir_intrinsic_tile_load_weft ||
          instr->intrinsic == nir_intrinsic_tile_pack_weft;
}

/// Tiles begin at a cache line.
constexpr uint32_t shared_tile_alignment = 64;

/// The variable and the number of a shared tile.
using SharedTile = std::pair<nir_variable *, uint64_t>;

/// Nothing if the operand is another tile, or its number is unknown.
inline std::optional<SharedTile> shared_tile(const nir_src &src)
{
   nir_deref_instr *deref = nir_src_as_deref(src);
   if (!deref || !weft_is_shared_tile(src) || deref->deref_type != nir_deref_type_array ||
       !nir_src_is_const(deref->arr.index))
      return {};
   nir_variable *variable = nir_deref_instr_get_variable(deref);
   return variable ? std::optional(SharedTile{variable, nir_src_as_uint(deref->arr.index)})
                   : std::nullopt;
}

/// A tile of an array of shared tiles.
inline nir_deref_instr *build_shared_tile(nir_builder *b, nir_variable *tiles, nir_def *number)
{
   return nir_build_deref_array(b, weft_build_shared_tiles(b, tiles), number);
}

inline nir_variable *create_shared_tiles(nir_shader *shader, const glsl_type *type,
                                         const char *name)
{
   nir_variable *tiles = nir_variable_create(shader, nir_var_mem_shared, type, name);
   tiles->data.alignment = shared_tile_alignment;
   return tiles;
}

/// The most shared memory that an array of tiles takes.
inline uint32_t shared_tiles_bytes(const glsl_type *type)
{
   unsigned size, alignment;
   glsl_get_natural_size_align_bytes(type, &size, &alignment);
   return size + shared_tile_alignment;
}

} // namespace weft::cpu
