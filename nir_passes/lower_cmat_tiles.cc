// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads, stores and multiplications of matrices for a back end with tile operations.

#include "nir_passes/cmat_state.h"

namespace weft::cmat {

namespace {

/// The stride of cmat_load and cmat_store in bytes.  In SPIR-V it counts elements of the type that
/// the pointer points to: scalars or vectors, without padding between them.
nir_def *stride_in_bytes(nir_builder *b, const nir_deref_instr *pointer, nir_def *stride)
{
   const uint32_t element =
      glsl_get_vector_elements(pointer->type) * glsl_get_bit_size(pointer->type) / 8;
   return nir_imul_imm(b, nir_u2u64(b, stride), element);
}

} // namespace

void lower_load_to_tiles(State &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0);
   nir_deref_instr *pointer = nir_src_as_deref(instr->src[1]);
   _nir_build_tile_load_weft(&s.b, &result.deref->def, &pointer->def,
                             stride_in_bytes(&s.b, pointer, instr->src[2].ssa),
                             {._ = 0,
                              .cmat_desc = result.desc,
                              .matrix_layout = nir_intrinsic_matrix_layout(instr),
                              .memory_modes = pointer->modes});
}

void lower_store_to_tiles(State &s, nir_intrinsic_instr *instr)
{
   nir_deref_instr *pointer = nir_src_as_deref(instr->src[0]);
   const Matrix source = s.operand(instr, 1);
   _nir_build_tile_store_weft(&s.b, &pointer->def, &source.deref->def,
                              stride_in_bytes(&s.b, pointer, instr->src[2].ssa),
                              {._ = 0,
                               .cmat_desc = source.desc,
                               .matrix_layout = nir_intrinsic_matrix_layout(instr),
                               .memory_modes = pointer->modes});
}

void lower_muladd_to_tiles(State &s, nir_intrinsic_instr *instr)
{
   const Matrix d = s.operand(instr, 0), a = s.operand(instr, 1), b = s.operand(instr, 2),
                c = s.operand(instr, 3);
   _nir_build_tile_muladd_weft(&s.b, &d.deref->def, &a.deref->def, &b.deref->def, &c.deref->def,
                               {._ = 0,
                                .cmat_desc = d.desc,
                                .a_cmat_desc = a.desc,
                                .b_cmat_desc = b.desc,
                                .saturate = nir_intrinsic_saturate(instr),
                                .cmat_signed_mask = nir_intrinsic_cmat_signed_mask(instr)});
}

} // namespace weft::cmat
