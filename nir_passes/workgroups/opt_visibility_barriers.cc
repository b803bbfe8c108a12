// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/workgroups/opt_visibility_barriers.h"

#include "compiler/nir/nir_builder.h"

namespace weft {

namespace {

bool is_wider_than_workgroup(mesa_scope scope)
{
   return scope == SCOPE_DEVICE || scope == SCOPE_QUEUE_FAMILY;
}

bool remove_barrier(nir_builder *, nir_intrinsic_instr *instr, void *data)
{
   const nir_variable_mode modes = *static_cast<const nir_variable_mode *>(data);
   if (instr->intrinsic != nir_intrinsic_barrier || nir_intrinsic_memory_modes(instr) & ~modes ||
       nir_intrinsic_execution_scope(instr) != SCOPE_NONE ||
       is_wider_than_workgroup(nir_intrinsic_memory_scope(instr)))
      return false;
   const nir_memory_semantics semantics = nir_intrinsic_memory_semantics(instr);
   if (semantics != (NIR_MEMORY_RELEASE | NIR_MEMORY_MAKE_AVAILABLE) &&
       semantics != (NIR_MEMORY_ACQUIRE | NIR_MEMORY_MAKE_VISIBLE))
      return false;
   nir_instr_remove(&instr->instr);
   return true;
}

} // namespace

bool opt_visibility_barriers(nir_shader *nir, nir_variable_mode modes)
{
   if (!nir_shader_intrinsics_pass(nir, remove_barrier, nir_metadata_control_flow, &modes))
      return false;
   nir_foreach_variable_with_modes(var, nir, nir_var_mem_shared)
      var->data.access |= ACCESS_COHERENT;
   return true;
}

} // namespace weft
