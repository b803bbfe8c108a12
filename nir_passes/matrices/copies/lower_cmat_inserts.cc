// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/copies/lower_cmat_inserts.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

namespace weft {

namespace {

constexpr unsigned result_source = 0, matrix_source = 2;

bool lower(nir_builder *b, nir_intrinsic_instr *instr, void *)
{
   const bool inserts = instr->intrinsic == nir_intrinsic_cmat_insert ||
                        instr->intrinsic == nir_intrinsic_cmat_insert_run_weft;
   if (!inserts || is_in_place(instr))
      return false;
   b->cursor = nir_before_instr(&instr->instr);
   nir_def *result = instr->src[result_source].ssa;
   nir_cmat_copy(b, result, instr->src[matrix_source].ssa);
   nir_src_rewrite(&instr->src[matrix_source], result);
   return true;
}

} // namespace

bool is_in_place(const nir_intrinsic_instr *insert)
{
   nir_deref_instr *result = nir_src_as_deref(insert->src[result_source]),
                   *matrix = nir_src_as_deref(insert->src[matrix_source]);
   return nir_compare_derefs(result, matrix) & nir_derefs_equal_bit;
}

bool lower_cmat_inserts(nir_shader *nir)
{
   return nir_shader_intrinsics_pass(nir, lower, nir_metadata_control_flow, nullptr);
}

} // namespace weft
