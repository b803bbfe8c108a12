// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/passes.h"

#include "backend/cpu/codegen/passes/choose_unrolling.h"
#include "backend/cpu/codegen/passes/hoist_constants.h"
#include "backend/cpu/codegen/passes/opt_interior.h"
#include "backend/cpu/codegen/passes/opt_uniform.h"
#include "backend/cpu/codegen/passes/opt_uniform_branches.h"
#include "backend/cpu/codegen/passes/split_overlapping_loads.h"
#include "backend/cpu/codegen/passes/validate_final_form.h"
#include "backend/cpu/codegen/products/opt_product_depth.h"
#include "backend/cpu/codegen/products/opt_product_order.h"
#include "backend/cpu/codegen/products/opt_shared_packs.h"
#include "backend/cpu/codegen/products/pack_factors.h"
#include "backend/cpu/codegen/products/shared_tile.h"
#include "backend/cpu/specialize/join_workgroups.h"
#include "backend/cpu/specialize/specialize_branches.h"

#include "nir_passes/compile_limits.h"
#include "nir_passes/images/lower_images.h"
#include "nir_passes/images/lower_sampling.h"
#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/validate_cmat.h"
#include "nir_passes/memory/lower_descriptors.h"
#include "nir_passes/memory/opt_combine_accesses.h"
#include "nir_passes/memory/opt_shift_pairs.h"
#include "nir_passes/opt_quotient_factors.h"
#include "nir_passes/shader_limits.h"
#include "nir_passes/stages.h"
#include "nir_passes/workgroups/lower_derivatives.h"
#include "nir_passes/workgroups/lower_invocation_ids.h"
#include "nir_passes/workgroups/opt_visibility_barriers.h"

#include "util/u_math.h"

#include <algorithm>

namespace weft::cpu {

namespace {

/// Transcendental functions exist for f32 and f64 only.
unsigned wider_bit_size(const nir_instr *instr, void *)
{
   if (instr->type != nir_instr_type_alu)
      return 0;
   const nir_alu_instr *alu = nir_instr_as_alu(instr);
   switch (alu->op) {
   case nir_op_fsin:
   case nir_op_fcos:
   case nir_op_fexp2:
   case nir_op_flog2:
   case nir_op_fpow:
      return alu->def.bit_size == 16 ? 32 : 0;
   default:
      return 0;
   }
}

nir_lower_subgroups_options subgroup_options(uint32_t subgroup_size)
{
   nir_lower_subgroups_options o = {};
   o.subgroup_size = uint8_t(subgroup_size);
   o.ballot_bit_size = 64;
   o.ballot_components = 1;
   o.lower_to_scalar = true;
   o.lower_vote_eq = true;
   o.lower_vote_bool_eq = true;
   o.lower_subgroup_masks = true;
   o.lower_relative_shuffle = true;
   o.lower_quad = true;
   o.lower_quad_vote = true;
   o.lower_elect = true;
   o.lower_rotate_to_shuffle = true;
   o.lower_rotate_clustered_to_shuffle = true;
   o.lower_inverse_ballot = true;
   o.lower_boolean_reduce = true;
   return o;
}

/// Shared memory for tiles. Shared memory with the shader's own layout has no room for them.
uint32_t shared_bytes_left(nir_shader *nir)
{
   if (nir->info.shared_memory_explicit_layout)
      return 0;
   uint32_t used = nir->info.shared_size;
   nir_foreach_variable_with_modes(tiles, nir, nir_var_mem_shared)
      used += shared_tiles_bytes(tiles->type);
   return limits::shared_bytes - std::min(limits::shared_bytes, used);
}

} // namespace

Result<Shader> read_for_cpu(const ShaderSource &source, const PassOptions &options)
{
   const Target target = target_for(source, options.target);
   Result<Shader> shader = read_shader(source, Consumer::cpu, target.subgroup_size, options.observe,
                                       options.control, target.form);
   if (!shader)
      return shader;
   PassRunner run(shader->get(), options.observe, options.control);
   /* Matrices become private arrays. */
   run.check(validate_cmat, options.matrices);
   lower_matrices(run, target);
   if (run.refused())
      return run.error();
   return shader;
}

Result<Shader> finish_for_cpu(Shader shader, const PassOptions &options)
{
   const uint32_t W = options.target.subgroup_size;
   constexpr bool unroll_tiles = true;
   PassRunner run(shader.get(), options.observe, options.control);
   RUN(run, pack_factors, W);
   /* Must run before the first loop is unrolled. */
   RUN(run, choose_unrolling, W);

   /* Must come before optimizations, which know nothing of gradients. Few shaders have any. */
   if (run.nir->info.derivative_group != DERIVATIVE_GROUP_NONE) {
      const nir_lower_tex_options projections = projection_options();
      RUN(run, nir_lower_tex, &projections);
      RUN(run, lower_derivatives);
   }

   /* System values become the subgroup's ids. */
   RUN(run, nir_lower_system_values);
   nir_lower_compute_system_values_options ids = {};
   ids.lower_cs_local_id_to_index = true;
   RUN(run, nir_lower_compute_system_values, &ids);
   /* Must come after the pass above, which computes local ids from the index. */
   RUN(run, lower_invocation_ids, W);

   /* Variables become values. Copies of whole arrays and structs go first, because vars_to_ssa and
    * explicit_io handle only loads and stores. */
   RUN(run, nir_split_var_copies);
   RUN(run, nir_lower_var_copies);
   optimize(run, unroll_tiles);

   /* Without this pass, every invocation would build tables of constants in scratch memory. It must
    * come before function_temp variables get explicit types, and after the removal of dead
    * variables, on which nir_opt_large_constants would crash. */
   RUN(run, nir_remove_dead_variables, nir_var_function_temp, nullptr);
   RUN(run, nir_opt_large_constants, glsl_get_natural_size_align_bytes, 32u);

   /* Must come after copy propagation within an invocation, and before accesses are combined. */
   RUN(run, opt_visibility_barriers, nir_var_all);
   /* Runs again for loops of products: now their iterations can be counted, and nothing moves
    * across the remaining barriers. The next optimize() unrolls. */
   RUN(run, choose_unrolling, W);

   /* Buffers and shared memory become addresses. SPIR-V defines the layout of buffers; shared
    * memory gets a layout here. */
   if (!run.nir->info.shared_memory_explicit_layout) {
      RUN(run, nir_lower_vars_to_explicit_types, nir_var_mem_shared,
          glsl_get_natural_size_align_bytes);
   }
   RUN(run, nir_lower_explicit_io, nir_variable_mode(nir_var_mem_ubo | nir_var_mem_ssbo),
       nir_address_format_vec2_index_32bit_offset);
   RUN(run, nir_lower_explicit_io, nir_variable_mode(nir_var_mem_push_const | nir_var_mem_shared),
       nir_address_format_32bit_offset);
   RUN(run, nir_lower_explicit_io, nir_variable_mode(nir_var_mem_global | nir_var_mem_constant),
       nir_address_format_64bit_global);
   if (run.nir->info.zero_initialize_shared_memory && run.nir->info.shared_size > 0) {
      /* The pass writes whole chunks. */
      constexpr unsigned chunk = 16;
      run.nir->info.shared_size = align(run.nir->info.shared_size, chunk);
      RUN(run, nir_zero_initialize_shared_memory, run.nir->info.shared_size, chunk);
   }

   /* Before the pass that makes places of all other descriptors. */
   const nir_lower_tex_options sampling = sampling_options();
   RUN(run, nir_lower_tex, &sampling);
   RUN(run, lower_sampling, options.bindings, options.may_have_tiled_images);
   RUN(run, lower_images, options.bindings, options.may_have_tiled_images);
   /* The bases of buffer addresses are plain values only from here on. */
   RUN(run, lower_descriptors, options.bindings);

   optimize(run, unroll_tiles);
   /* Must come after addresses are simplified and unused accesses are removed. */
   if (RUN(run, opt_shift_pairs))
      RUN(run, nir_opt_cse);
   RUN(run, opt_combine_accesses, CombineOptions{.checks_components = true});

   /* Must come after all passes that fold indices of tiles to constants, and before tile memory has
    * addresses. */
   RUN(run, nir_remove_dead_variables, nir_var_mem_shared, nullptr);
   RUN(run, opt_product_order, W, shared_bytes_left(run.nir));
   /* Must come after each load has a tile of its own. The tiles that it replaces are dead. */
   if (RUN(run, opt_product_depth, W))
      RUN(run, nir_remove_dead_variables, nir_var_mem_shared, nullptr);
   /* Must come after products are joined, which also joins their loads. */
   if (RUN(run, opt_shared_packs, W, shared_bytes_left(run.nir)))
      RUN(run, nir_remove_dead_variables, nir_var_mem_shared, nullptr);

   /* Lowers the remaining variables: arrays with dynamic indices, and tiles. */
   RUN(run, nir_remove_dead_variables, nir_var_function_temp, nullptr);
   run.check(validate_private_memory);
   RUN(run, nir_lower_vars_to_explicit_types, nir_var_function_temp,
       glsl_get_natural_size_align_bytes);
   RUN(run, nir_lower_explicit_io, nir_var_function_temp, nir_address_format_32bit_offset);
   /* Lowers tiles that opt_product_order moved to shared memory. */
   if (!run.nir->info.shared_memory_explicit_layout) {
      RUN(run, nir_lower_vars_to_explicit_types, nir_var_mem_shared,
          glsl_get_natural_size_align_bytes);
      RUN(run, nir_lower_explicit_io, nir_var_mem_shared, WEFT_SHARED_TILE_ADDRESS);
   }

   /* Lowers instructions that the translator does not handle. */
   const nir_lower_subgroups_options subgroups = subgroup_options(W);
   RUN(run, nir_lower_subgroups, &subgroups);
   /* nir_lower_subgroups turned quads and rotations into shuffles that use the subgroup's size and
    * the invocation's number. */
   RUN(run, lower_invocation_ids, W);
   RUN(run, nir_lower_frexp);
   RUN(run, nir_lower_flrp, unsigned(16 | 32 | 64), false);
   RUN(run, nir_lower_pack);
   RUN(run, nir_lower_int64);
   RUN(run, nir_lower_bit_size, wider_bit_size, nullptr);
   optimize(run, unroll_tiles);
   optimize_late(run);

   if (run.refused())
      return run.error();
   nir_shader_gather_info(run.nir, nir_shader_get_entrypoint(run.nir));

   run.check(check_shader_limits);
   run.check(validate_final_form);
   if (run.refused())
      return run.error();
   return shader;
}

namespace {

void clean_up_specialized(PassRunner &run)
{
   uint64_t before;
   do {
      before = run.changes;
      REPEAT(run, nir_opt_dead_cf);
      REPEAT(run, nir_opt_remove_phis);
      REPEAT(run, nir_copy_prop);
      REPEAT(run, opt_quotient_factors);
      REPEAT(run, nir_opt_constant_folding);
      REPEAT(run, nir_opt_cse);
      REPEAT(run, nir_opt_dce);
   } while (run.changes != before);
   run.check(validate_final_form);
}

} // namespace

void specialize_for_dispatch(PassRunner &run, const BranchConditions &conditions,
                             const BranchDecisions &decisions, uint32_t max_sums)
{
   if (RUN(run, specialize_branches, &conditions, decisions))
      clean_up_specialized(run);
   // Behind the decisions: the branches that are left must not depend on the workgroup.
   if (may_join_workgroups(conditions) && decisions.back() == BranchDecision::then_side &&
       RUN(run, join_workgroups, max_sums))
      clean_up_specialized(run);
}

void find_uniform_values(PassRunner &run, uint32_t subgroup_size)
{
   if (RUN(run, opt_interior, subgroup_size))
      clean_up_specialized(run);
   RUN(run, hoist_constants);
   /* Every value that leaves a loop goes through a phi, so that lanes which leave in different
    * iterations each keep their own value. This includes loop invariants, because a loop of masks
    * has exits that NIR's control flow does not show. */
   RUN(run, nir_convert_to_lcssa, false, false);
   RUN(run, nir_divergence_analysis);
   if (RUN(run, opt_uniform, subgroup_size))
      RUN(run, nir_divergence_analysis);
   if (RUN(run, opt_uniform_branches))
      RUN(run, nir_divergence_analysis);
   if (RUN(run, split_overlapping_loads, subgroup_size))
      RUN(run, nir_divergence_analysis);
}

} // namespace weft::cpu
