// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/workgroups/lower_invocation_ids.h"

#include "compiler/nir/nir_builder.h"

namespace weft {

namespace {

struct Subgroups {
   uint32_t size;
   uint32_t count; ///< per workgroup
};

nir_def *load_subgroup_id(nir_builder *b, const Subgroups &subgroups)
{
   return subgroups.count == 1 ? nir_imm_int(b, 0) : nir_load_subgroup_id(b);
}

bool lower_instr(nir_builder *b, nir_intrinsic_instr *instr, void *data)
{
   const Subgroups &subgroups = *static_cast<const Subgroups *>(data);
   b->cursor = nir_before_instr(&instr->instr);
   nir_def *value;
   switch (instr->intrinsic) {
   case nir_intrinsic_load_local_invocation_index: {
      nir_def *first = nir_imul_imm(b, load_subgroup_id(b, subgroups), subgroups.size);
      value = nir_iadd(b, first, nir_load_subgroup_invocation(b));
      break;
   }
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
   Subgroups subgroups = {subgroup_size, (invocations + subgroup_size - 1) / subgroup_size};
   return nir_shader_intrinsics_pass(nir, lower_instr, nir_metadata_control_flow, &subgroups);
}

} // namespace weft
