// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/opt_combine_accesses.h"

#include "nir_passes/matrices/cmat_intrinsics.h"

namespace weft {

namespace {

constexpr unsigned max_bytes = 32;

/// Whether a tile load or store lies between two instructions of a block.
bool tile_between(nir_instr *first, nir_instr *last)
{
   for (nir_instr *i = nir_instr_next(first); i && i != last; i = nir_instr_next(i)) {
      if (is_tile_access(i))
         return true;
   }
   return false;
}

bool crosses_tile(nir_instr *x, nir_instr *y)
{
   return nir_instr_is_before(x, y) ? tile_between(x, y) : tile_between(y, x);
}

/// The size of the components that a load returns or a store takes.
unsigned component_bits(const nir_intrinsic_instr *instr)
{
   return nir_intrinsic_infos[instr->intrinsic].has_dest ? instr->def.bit_size
                                                         : instr->src[0].ssa->bit_size;
}

bool should_combine(unsigned, unsigned, unsigned bit_size, unsigned components, int64_t hole,
                    nir_intrinsic_instr *low, nir_intrinsic_instr *high, void *has_tiles)
{
   /* Memory without addresses has types. */
   if (low->intrinsic == nir_intrinsic_load_deref || low->intrinsic == nir_intrinsic_store_deref)
      return false;
   /* NIR allows five components, but a vector of five keeps eight from being found. */
   return hole <= 0 && components != 5 && bit_size == component_bits(low) &&
          bit_size == component_bits(high) && nir_num_components_valid(components) &&
          bit_size * components <= max_bytes * 8 &&
          !(*static_cast<bool *>(has_tiles) && crosses_tile(&low->instr, &high->instr));
}

} // namespace

bool opt_combine_accesses(nir_shader *nir, const CombineOptions &wanted)
{
   bool has_tiles = false;
   nir_foreach_block(block, nir_shader_get_entrypoint(nir))
      has_tiles |= uses_tile(block);

   nir_load_store_vectorize_options options = {};
   options.callback = should_combine;
   options.cb_data = &has_tiles;
   constexpr auto buffers = nir_variable_mode(nir_var_mem_ubo | nir_var_mem_ssbo);
   options.modes = nir_variable_mode((wanted.keep_buffers ? 0 : buffers) | nir_var_mem_shared |
                                     nir_var_mem_global | nir_var_mem_push_const);
   if (!wanted.checks_components)
      options.robust_modes = buffers;
   /* No vector has six components: pairs of pairs need another iteration. */
   bool progress = false;
   while (nir_opt_load_store_vectorize(nir, &options))
      progress = true;
   return progress;
}

} // namespace weft
