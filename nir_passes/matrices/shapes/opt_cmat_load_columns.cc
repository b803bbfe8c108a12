// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/opt_cmat_load_columns.h"

#include "nir_passes/matrices/cmat_callee.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

#include <unordered_map>

namespace weft {

namespace {

using UseCounts = std::unordered_map<const nir_variable *, uint32_t>;

/// Counts the uses of each variable's derefs.
UseCounts count_uses(nir_function_impl *impl)
{
   UseCounts counts;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_deref)
            continue;
         nir_deref_instr *deref = nir_instr_as_deref(instr);
         if (const nir_variable *variable = nir_deref_instr_get_variable(deref))
            counts[variable] += uint32_t(list_length(&deref->def.uses));
      }
   }
   return counts;
}

bool is_barrier(const nir_instr *instr)
{
   return instr->type == nir_instr_type_intrinsic &&
          nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_barrier;
}

bool may_move(const nir_intrinsic_instr *load)
{
   return !(nir_intrinsic_access(load) & (ACCESS_VOLATILE | ACCESS_COHERENT));
}

/// The load of the matrix that an insertion reads; null if the matrix has other uses, or if the
/// load may not move to the insertion.
nir_intrinsic_instr *load_for(nir_intrinsic_instr *insertion, const UseCounts &uses)
{
   constexpr uint32_t load_and_insertion = 2;
   const nir_variable *variable = nir_intrinsic_get_var(insertion, 1);
   if (!variable || uses.at(variable) != load_and_insertion)
      return nullptr;
   uint32_t barriers = 0;
   for (nir_instr *instr = nir_instr_prev(&insertion->instr); instr;
        instr = nir_instr_prev(instr)) {
      if (instr->type == nir_instr_type_intrinsic) {
         nir_intrinsic_instr *load = nir_instr_as_intrinsic(instr);
         if (load->intrinsic == nir_intrinsic_cmat_load &&
             nir_intrinsic_get_var(load, 0) == variable)
            return may_move(load) ? load : nullptr;
      }
      /* The insertion's own barrier is the only one that a load may pass. */
      const bool passes = is_barrier(instr) ? ++barriers == 1 : !may_change_memory(instr);
      if (!passes)
         return nullptr;
   }
   return nullptr;
}

} // namespace

bool opt_cmat_load_columns(nir_shader *nir)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   nir_builder b = nir_builder_create(impl);
   const UseCounts uses = count_uses(impl);
   bool progress = false;
   nir_foreach_block(block, impl) {
      nir_foreach_instr_safe(instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         nir_intrinsic_instr *insertion = nir_instr_as_intrinsic(instr);
         if (insertion->intrinsic != nir_intrinsic_cmat_insert_columns_weft)
            continue;
         nir_intrinsic_instr *load = load_for(insertion, uses);
         if (!load)
            continue;
         b.cursor = nir_before_instr(instr);
         const glsl_type *columns = nir_src_as_deref(load->src[0])->type;
         _nir_build_cmat_load_columns_weft(&b, insertion->src[0].ssa, load->src[1].ssa,
                                           load->src[2].ssa, insertion->src[2].ssa,
                                           {._ = 0,
                                            .cmat_desc = *glsl_get_cmat_description(columns),
                                            .matrix_layout = nir_intrinsic_matrix_layout(load),
                                            .access = nir_intrinsic_access(load)});
         nir_instr_remove(&load->instr);
         nir_instr_remove(instr);
         progress = true;
      }
   }
   nir_metadata_preserve(impl, progress ? nir_metadata_control_flow : nir_metadata_all);
   return progress;
}

} // namespace weft
