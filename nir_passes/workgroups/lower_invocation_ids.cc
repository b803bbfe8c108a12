// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/workgroups/lower_invocation_ids.h"

#include "compiler/nir/nir_builder.h"

namespace weft {

namespace {

struct Subgroups {
   uint32_t size;
   uint32_t count;        ///< per workgroup
   uint32_t quad_columns; ///< invocations of a row of the workgroup; 0 without squares of quads
};

nir_def *load_subgroup_id(nir_builder *b, const Subgroups &subgroups)
{
   return subgroups.count == 1 ? nir_imm_int(b, 0) : nir_load_subgroup_id(b);
}

nir_def *load_index(nir_builder *b, const Subgroups &subgroups)
{
   nir_def *first = nir_imul_imm(b, load_subgroup_id(b, subgroups), subgroups.size);
   nir_def *number = nir_iadd(b, first, nir_load_subgroup_invocation(b));
   if (!subgroups.quad_columns)
      return number;
   /* Slices have an even number of rows, so pairs of rows continue from slice to slice. */
   const uint32_t pair = 2 * subgroups.quad_columns;
   nir_def *in_pair = nir_umod_imm(b, number, pair);
   nir_def *row = nir_iadd(b, nir_imul_imm(b, nir_udiv_imm(b, number, pair), 2),
                           nir_iand_imm(b, nir_ushr_imm(b, number, 1), 1));
   nir_def *column =
      nir_iadd(b, nir_imul_imm(b, nir_ushr_imm(b, in_pair, 2), 2), nir_iand_imm(b, number, 1));
   return nir_iadd(b, nir_imul_imm(b, row, subgroups.quad_columns), column);
}

bool lower_instr(nir_builder *b, nir_intrinsic_instr *instr, void *data)
{
   const Subgroups &subgroups = *static_cast<const Subgroups *>(data);
   b->cursor = nir_before_instr(&instr->instr);
   nir_def *value;
   switch (instr->intrinsic) {
   case nir_intrinsic_load_local_invocation_index:
      value = load_index(b, subgroups);
      break;
   case nir_intrinsic_load_num_subgroups:
      value = nir_imm_int(b, int(subgroups.count));
      break;
   case nir_intrinsic_load_subgroup_size:
      value = nir_imm_int(b, int(subgroups.size));
      break;
   case nir_intrinsic_load_subgroup_id:
      if (subgroups.count != 1)
         return false;
      value = nir_imm_int(b, 0);
      break;
   default:
      return false;
   }
   nir_def_replace(&instr->def, value);
   return true;
}

} // namespace

bool lower_invocation_ids(nir_shader *nir, uint32_t subgroup_size)
{
   const uint16_t *size = nir->info.workgroup_size;
   const uint32_t invocations = uint32_t(size[0]) * size[1] * size[2];
   const bool has_squares = nir->info.derivative_group == DERIVATIVE_GROUP_QUADS;
   Subgroups subgroups = {subgroup_size, (invocations + subgroup_size - 1) / subgroup_size,
                          has_squares ? size[0] : 0u};
   return nir_shader_intrinsics_pass(nir, lower_instr, nir_metadata_control_flow, &subgroups);
}

} // namespace weft
