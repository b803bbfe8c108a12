// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/lower_access_units.h"

#include "nir_passes/cmat_description.h"
#include "nir_passes/unit_index.h"

#include "util/u_math.h"

#include <algorithm>
#include <bit>

namespace weft {

namespace {

nir_mem_access_size_align words(unsigned count)
{
   return {uint8_t(count), 32, uint16_t(count * 4), nir_mem_access_shift_method_scalar};
}

nir_mem_access_size_align choose_unit(nir_intrinsic_op intrinsic, uint8_t bytes, uint8_t bit_size,
                                      uint32_t align_mul, uint32_t align_offset, bool,
                                      gl_access_qualifier access, const void *)
{
   const unsigned align = std::min(nir_combined_align(align_mul, align_offset), 16u);
   const unsigned unit = std::min(align, std::bit_floor(unsigned(bytes)));
   switch (intrinsic) {
   case nir_intrinsic_load_push_constant:
      return words(1);
   case nir_intrinsic_load_ubo:
      return words(std::max(unit / 4, 1u));
   default:
      /* Atomic loads and stores are these to NIR. */
      if (access & (ACCESS_COHERENT | ACCESS_VOLATILE) && align >= bit_size / 8u)
         return {1, bit_size, uint16_t(bit_size / 8), nir_mem_access_shift_method_scalar};
      if (unit >= 4)
         return words(unit / 4);
      return {1, uint8_t(unit * 8), uint16_t(unit), nir_mem_access_shift_method_scalar};
   }
}

unsigned log2_unit(const nir_intrinsic_instr *instr)
{
   const nir_def *value =
      nir_intrinsic_infos[instr->intrinsic].has_dest ? &instr->def : instr->src[0].ssa;
   return util_logbase2(value->bit_size / 8 * util_next_power_of_two(value->num_components));
}

/// A tile in a storage buffer: units are components.  In global memory only the stride counts
/// them.
bool number_tile_units(nir_builder *b, nir_intrinsic_instr *instr)
{
   const auto modes = nir_variable_mode(nir_intrinsic_memory_modes(instr));
   if (!(modes & (nir_var_mem_ssbo | nir_var_mem_global)))
      return false;
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   assert(nir_intrinsic_stride_unit(instr) == 1);
   const unsigned bytes = component_bits(desc) / 8, log2 = util_logbase2(bytes);
   nir_intrinsic_set_stride_unit(instr, bytes);
   b->cursor = nir_before_instr(&instr->instr);
   nir_src_rewrite(&instr->src[2], unit_index(b, instr->src[2].ssa, log2));
   if (modes & nir_var_mem_ssbo) {
      nir_src &source = instr->src[instr->intrinsic == nir_intrinsic_tile_load_weft ? 1 : 0];
      nir_def *unit = unit_index(b, nir_channel(b, source.ssa, 2), log2);
      nir_src_rewrite(&source, nir_vector_insert_imm(b, source.ssa, unit, 2));
   }
   return true;
}

bool number_units(nir_builder *b, nir_intrinsic_instr *instr, void *)
{
   unsigned log2;
   switch (instr->intrinsic) {
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
      log2 = log2_unit(instr);
      break;
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_push_constant:
      log2 = 2;
      break;
   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_store_weft:
      return number_tile_units(b, instr);
   default:
      return false;
   }
   b->cursor = nir_before_instr(&instr->instr);
   nir_src *offset = nir_get_io_offset_src(instr);
   nir_def *bytes = offset->ssa;
   if (nir_intrinsic_has_base(instr)) {
      bytes = nir_iadd_imm(b, bytes, nir_intrinsic_base(instr));
      nir_intrinsic_set_base(instr, 0);
   }
   nir_src_rewrite(offset, unit_index(b, bytes, log2));
   return true;
}

} // namespace

bool lower_access_units(nir_shader *nir)
{
   nir_lower_mem_access_bit_sizes_options options = {};
   options.callback = choose_unit;
   options.modes = nir_variable_mode(nir_var_mem_ubo | nir_var_mem_ssbo | nir_var_mem_push_const |
                                     nir_var_mem_global);
   bool progress = nir_lower_mem_access_bit_sizes(nir, &options);
   progress |= nir_shader_intrinsics_pass(nir, number_units, nir_metadata_control_flow, nullptr);
   return progress;
}

} // namespace weft
