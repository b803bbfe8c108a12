// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/lowering/lower_cmat_layouts.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_bounds.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/cmat_origin.h"

#include <algorithm>
#include <optional>

namespace weft {

namespace {

constexpr uint32_t block_rows = 4, row_bytes = 16, word_bytes = 4, block_words = 16;

/// One load or store.
class Access {
public:
   Access(nir_builder *b, nir_intrinsic_instr *instr, bool robust_access)
       : b(b), is_store(instr->intrinsic == nir_intrinsic_cmat_store_blocked_weft),
         matrix(nir_src_as_deref(instr->src[is_store ? 1 : 0])), origin(instr->src[2].ssa),
         desc(nir_intrinsic_cmat_desc(instr)),
         rows_first(nir_intrinsic_matrix_layout(instr) == GLSL_MATRIX_LAYOUT_ROW_MAJOR),
         stride(nir_intrinsic_interleaved_blocks(instr)),
         unit_bytes(std::min(component_bits(desc) / 8, word_bytes)),
         access(nir_intrinsic_access(instr))
   {
      nir_deref_instr *pointer = nir_src_as_deref(instr->src[is_store ? 0 : 1]);
      if (robust_access && nir_deref_mode_is(pointer, nir_var_mem_ssbo))
         bounds = cmat::bounds(b, pointer, nir_imm_int(b, 0), unit_bytes);
      memory = nir_build_deref_cast(b, &pointer->def, pointer->modes,
                                    glsl_uintN_t_type(unit_bytes * 8), unit_bytes);
   }

   void lower()
   {
      const glsl_cmat_description part = *glsl_get_cmat_description(matrix->type);
      nir_def *length = _nir_build_cmat_length(b, {._ = 0, .cmat_desc = part});
      /* Unlike the loops of cmat_components.h, this one is not unrolled. */
      build_loop(b, length, [&](nir_def *number) {
         nir_def *in_part =
            _nir_build_cmat_coordinates_weft(b, number, {._ = 0, .cmat_desc = part});
         nir_if *inside = nir_push_if(b, nir_ine_imm(b, nir_channel(b, in_part, 2), 0));
         const cmat::Coordinates at = cmat::in_whole(b, origin, in_part);
         move(number, first_unit(at.row, at.col));
         nir_pop_if(b, inside);
      });
   }

private:
   /// The number of the unit in memory at which an element begins.
   nir_def *first_unit(nir_def *row, nir_def *col)
   {
      const uint32_t bytes = component_bits(desc) / 8, block_cols = row_bytes / bytes;
      nir_def *block_row = nir_udiv_imm(b, row, block_rows),
              *block_col = nir_udiv_imm(b, col, block_cols);
      nir_def *block =
         rows_first ? nir_iadd(b, nir_imul_imm(b, block_row, desc.cols / block_cols), block_col)
                    : nir_iadd(b, nir_imul_imm(b, block_col, desc.rows / block_rows), block_row);
      nir_def *byte = nir_iadd(b, nir_imul_imm(b, nir_umod_imm(b, row, block_rows), row_bytes),
                               nir_imul_imm(b, nir_umod_imm(b, col, block_cols), bytes));
      nir_def *word = nir_iadd(b, nir_imul_imm(b, nir_udiv_imm(b, block, stride), block_words),
                               nir_udiv_imm(b, byte, word_bytes));
      nir_def *place = nir_iadd(b, nir_imul_imm(b, word, stride), nir_umod_imm(b, block, stride));
      const uint32_t units = word_bytes / unit_bytes;
      return nir_iadd(b, nir_imul_imm(b, place, units),
                      nir_udiv_imm(b, nir_umod_imm(b, byte, word_bytes), unit_bytes));
   }

   void move(nir_def *number, nir_def *unit)
   {
      nir_def *next = nir_iadd_imm(b, unit, stride); // of 64 bits, the other word
      const bool two_words = component_bits(desc) == 64;
      if (!is_store) {
         nir_def *value = load(unit);
         if (two_words)
            value = nir_pack_64_2x32_split(b, value, load(next));
         nir_cmat_insert(b, &matrix->def, value, &matrix->def, number);
         return;
      }
      nir_def *value = nir_cmat_extract(b, component_bits(desc), &matrix->def, number);
      if (two_words) {
         store(next, nir_unpack_64_2x32_split_y(b, value));
         value = nir_unpack_64_2x32_split_x(b, value);
      }
      store(unit, value);
   }

   nir_deref_instr *at(nir_def *unit)
   {
      return nir_build_deref_ptr_as_array(b, memory, nir_u2uN(b, unit, memory->def.bit_size));
   }

   nir_if *push_if_inside(nir_def *unit)
   {
      return bounds ? nir_push_if(b, cmat::is_inside(b, *bounds, nir_imm_int(b, 0), unit))
                    : nullptr;
   }

   nir_def *load(nir_def *unit)
   {
      nir_if *inside = push_if_inside(unit);
      nir_def *value = nir_load_deref_with_access(b, at(unit), access);
      if (!inside)
         return value;
      nir_push_else(b, inside);
      nir_def *zero = nir_imm_intN_t(b, 0, value->bit_size);
      nir_pop_if(b, inside);
      return nir_if_phi(b, value, zero);
   }

   void store(nir_def *unit, nir_def *value)
   {
      nir_if *inside = push_if_inside(unit);
      nir_store_deref_with_access(b, at(unit), value, 1, access);
      if (inside)
         nir_pop_if(b, inside);
   }

   nir_builder *b;
   const bool is_store;
   nir_deref_instr *const matrix; ///< the part that the invocations have
   nir_def *const origin;
   const glsl_cmat_description desc; ///< of the program's matrix
   const bool rows_first;
   const uint32_t stride;
   const uint32_t unit_bytes; ///< of one access: an element, or a word of it
   const gl_access_qualifier access;
   std::optional<cmat::Bounds> bounds;
   nir_deref_instr *memory; ///< an array of such units
};

bool lower_access(nir_builder *b, nir_intrinsic_instr *instr, void *robust_access)
{
   if (instr->intrinsic != nir_intrinsic_cmat_load_blocked_weft &&
       instr->intrinsic != nir_intrinsic_cmat_store_blocked_weft)
      return false;
   b->cursor = nir_before_instr(&instr->instr);
   Access(b, instr, *static_cast<bool *>(robust_access)).lower();
   nir_instr_remove(&instr->instr);
   return true;
}

} // namespace

bool lower_cmat_layouts(nir_shader *nir, bool robust_access)
{
   return nir_shader_intrinsics_pass(nir, lower_access, nir_metadata_none, &robust_access);
}

} // namespace weft
