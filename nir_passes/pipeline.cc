// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/pipeline.h"

#include "nir_passes/choose_native_shape.h"
#include "nir_passes/cmat_intrinsics.h"
#include "nir_passes/limit_unrolling.h"
#include "nir_passes/lower_access_units.h"
#include "nir_passes/lower_cmat.h"
#include "nir_passes/lower_invocation_ids.h"
#include "nir_passes/lower_shared_memory.h"
#include "nir_passes/opt_cmat_copies.h"
#include "nir_passes/opt_combine_accesses.h"
#include "nir_passes/opt_visibility_barriers.h"
#include "nir_passes/pass_runner.h"
#include "nir_passes/shader_limits.h"
#include "nir_passes/split_cmat_shapes.h"
#include "nir_passes/validate_cmat.h"
#include "nir_passes/validate_final_form.h"

#include <cstdio>
#include <cstdlib>

namespace weft {

namespace {

bool uses_tiles(nir_shader *nir)
{
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      if (uses_tile(block))
         return true;
   }
   return false;
}

/// Everything that makes a shader smaller, until nothing changes.
void optimize(PassRunner &run, FinalForm form)
{
   const bool tiles = uses_tiles(run.nir);
   /* These follow values through variables and know nothing of tiles, which change them too. */
   const bool variables = !tiles;
   /* Where the driver has tiles, it knows what unrolling them is worth. */
   const bool unroll = !tiles || form == FinalForm::machine;
   /* Each round opens chances for the next; pathological shaders gain nothing from more rounds than
    * this. */
   for (unsigned round = 0; round < 16; ++round) {
      run.progress = false;
      if (variables) {
         RUN(run, nir_split_array_vars, nir_var_function_temp);
         RUN(run, nir_shrink_vec_array_vars, nir_var_function_temp);
      }
      RUN(run, nir_opt_deref);
      RUN(run, nir_lower_vars_to_ssa);
      if (variables) {
         RUN(run, nir_opt_copy_prop_vars);
         RUN(run, nir_opt_dead_write_vars);
      }
      RUN(run, nir_copy_prop);
      RUN(run, nir_opt_dce);
      RUN(run, nir_opt_cse);
      RUN(run, nir_lower_alu_to_scalar, nullptr, nullptr);
      RUN(run, nir_lower_phis_to_scalar, true);
      RUN(run, nir_opt_algebraic);
      RUN(run, nir_opt_constant_folding);
      RUN(run, nir_opt_remove_phis);
      /* Both sides of small branches at once: a select is cheaper than masks. */
      RUN(run, nir_opt_peephole_select, 8, true, true);
      if (RUN(run, nir_opt_loop)) {
         /* nir_opt_if and unrolling want its result cleaned up. */
         RUN(run, nir_copy_prop);
         RUN(run, nir_opt_dce);
         RUN(run, nir_opt_remove_phis);
      }
      RUN(run, nir_opt_if, nir_opt_if_optimize_phi_true_false);
      RUN(run, nir_opt_dead_cf);
      RUN(run, nir_opt_remove_phis);
      RUN(run, nir_opt_undef);
      if (unroll)
         RUN(run, nir_opt_loop_unroll);
      if (!run.progress)
         return;
   }
}

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

nir_lower_subgroups_options subgroup_options(const Target &target)
{
   nir_lower_subgroups_options o = {};
   o.subgroup_size = target.subgroup_size;
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

/// What becomes of a shader's matrices.
struct MatrixPlan {
   MatrixForm form;
   std::optional<NativeShape> split; ///< first into these tiles
};

Result<MatrixPlan> plan_matrices(nir_shader *nir, const MatrixLowering &lowering)
{
   const Result<CmatUses> uses = gather_cmat_uses(nir);
   if (!uses)
      return uses.error();
   if (lowering.form == MatrixForm::registers || uses->matrices.empty())
      return MatrixPlan{MatrixForm::registers, {}};
   const bool is_private = lowering.form == MatrixForm::private_tiles;
   const TileRules rules = {lowering.native, /* any_sign */ is_private, /* may_pad */ is_private};
   if (are_native(*uses, rules))
      return MatrixPlan{lowering.form, {}};
   if (const std::optional<NativeShape> shape = choose_native_shape(*uses, rules))
      return MatrixPlan{lowering.form, shape};
   if (is_private)
      return Error{"the shader's cooperative matrices cannot be built from tiles that there are"};
   return MatrixPlan{MatrixForm::registers, {}};
}

/// Matrices become tiles or registers.
Result<bool> lower_matrices(PassRunner &run, const Target &target)
{
   /* Indices into arrays of matrices become values that opt_cmat_copies can compare.  None of these
    * passes looks into a matrix. */
   RUN(run, nir_lower_vars_to_ssa);
   RUN(run, nir_copy_prop);
   RUN(run, nir_opt_constant_folding);
   RUN(run, nir_opt_cse);
   RUN(run, nir_opt_dce);
   /* While a copy is one instruction. */
   RUN(run, opt_cmat_copies);

   const Result<MatrixPlan> plan = plan_matrices(run.nir, target.lowering);
   if (!plan)
      return plan.error();
   if (plan->split) {
      const SplitOptions options = {*plan->split, target.subgroup_size,
                                    target.lowering.robust_access};
      RUN(run, split_cmat_shapes, options);
   }
   /* While pointers are derefs, whose types give the unit of strides. */
   RUN(run, lower_cmat, target, plan->form);
   /* Before the first loop is unrolled.  Where the driver has tiles, it knows what unrolling them
    * is worth. */
   if (plan->form != MatrixForm::driver_tiles)
      RUN(run, limit_unrolling);
   return true;
}

Result<bool> refuse_images(nir_shader *nir)
{
   nir_foreach_variable_with_modes(var, nir, nir_var_uniform | nir_var_image) {
      return Error{std::string("images and samplers are not supported: ") +
                   (var->name ? var->name : "a variable without a name")};
   }
   return true;
}

/// Variables and system values become values; buffers and shared memory become addresses.
Result<bool> lower_memory(PassRunner &run, const Target &target, const PipelineOptions &options)
{
   RUN(run, nir_lower_system_values);
   nir_lower_compute_system_values_options ids = {};
   ids.lower_cs_local_id_to_index = true;
   RUN(run, nir_lower_compute_system_values, &ids);
   /* After the pass above, which makes local ids from the index. */
   RUN(run, lower_invocation_ids, target.subgroup_size);

   /* Copies of whole arrays and structs, for vars_to_ssa and explicit_io know loads and stores
    * only. */
   RUN(run, nir_split_var_copies);
   RUN(run, nir_lower_var_copies);
   optimize(run, FinalForm::machine);

   /* Tables of constants would otherwise be built in scratch memory by every invocation.  Before
    * function_temp gets explicit types; without dead variables, which nir_opt_large_constants does
    * not survive. */
   RUN(run, nir_remove_dead_variables, nir_var_function_temp, nullptr);
   RUN(run, nir_opt_large_constants, glsl_get_natural_size_align_bytes, 32u);

   /* After copy propagation within an invocation, before accesses are combined. */
   RUN(run, opt_visibility_barriers, nir_var_all);

   /* Buffers have their layout from SPIR-V, shared memory gets one here. */
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

   /* The bases of buffer addresses are plain values only now. */
   Result<bool> images = refuse_images(run.nir);
   if (!images)
      return images;
   Result<bool> descriptors = RUN(run, lower_descriptors, options.bindings);
   if (!descriptors)
      return descriptors;

   optimize(run, FinalForm::machine);
   /* Once addresses are simple, and accesses that nobody needs are gone. */
   RUN(run, opt_combine_accesses, false);

   /* What could not become values: arrays with dynamic indices, and tiles. */
   RUN(run, nir_remove_dead_variables, nir_var_function_temp, nullptr);
   Result<bool> private_memory = RUN(run, validate_private_memory);
   if (!private_memory)
      return private_memory;
   RUN(run, nir_lower_vars_to_explicit_types, nir_var_function_temp,
       glsl_get_natural_size_align_bytes);
   RUN(run, nir_lower_explicit_io, nir_var_function_temp, nir_address_format_32bit_offset);
   return true;
}

/// After everything else: hides additions and multiplications from nir_opt_algebraic, and fuses
/// them (where not NoContraction) if the back end wants it.
void clean_up_late(PassRunner &run)
{
   for (unsigned round = 0; round < 16; ++round) {
      if (!RUN(run, nir_opt_algebraic_late))
         break;
      RUN(run, nir_opt_constant_folding);
      RUN(run, nir_copy_prop);
      RUN(run, nir_opt_dce);
      RUN(run, nir_opt_cse);
   }
   RUN(run, nir_lower_alu_to_scalar, nullptr, nullptr);
   RUN(run, nir_lower_load_const_to_scalar);
   RUN(run, nir_copy_prop);
   RUN(run, nir_opt_cse);
   RUN(run, nir_opt_dce);
}

/// NIR has no instruction for it.
Result<bool> refuse_device_index(nir_shader *nir)
{
   nir_foreach_variable_with_modes(var, nir, nir_var_system_value) {
      if (var->data.location == SYSTEM_VALUE_DEVICE_INDEX)
         return Error{"the built-in input DeviceIndex is not supported"};
   }
   return true;
}

/// The same for SPIR-V, where variables and system values remain, and buffers are arrays of units.
Result<bool> lower_memory_to_units(PassRunner &run, const Target &target)
{
   Result<bool> device_index = refuse_device_index(run.nir);
   if (!device_index)
      return device_index;
   nir_lower_tex_options textures = {};
   textures.lower_txp = ~0u;
   textures.lower_txp_array = true;
   RUN(run, nir_lower_tex, &textures);
   RUN(run, nir_lower_system_values);
   /* Ids that do not begin at 0 are OpenCL's. */
   const nir_lower_compute_system_values_options ids = {};
   RUN(run, nir_lower_compute_system_values, &ids);

   RUN(run, nir_split_var_copies);
   RUN(run, nir_lower_var_copies);
   optimize(run, FinalForm::spirv);
   RUN(run, nir_remove_dead_variables,
       nir_variable_mode(nir_var_function_temp | nir_var_mem_shared), nullptr);

   RUN(run, opt_visibility_barriers, nir_var_mem_shared);
   /* While accesses name their variables. */
   Result<bool> shared = RUN(run, lower_shared_memory);
   if (!shared)
      return shared;

   RUN(run, nir_lower_explicit_io, nir_variable_mode(nir_var_mem_ubo | nir_var_mem_ssbo),
       nir_address_format_vec2_index_32bit_offset);
   RUN(run, nir_lower_explicit_io, nir_var_mem_push_const, nir_address_format_32bit_offset);
   RUN(run, nir_lower_explicit_io, nir_var_mem_global, nir_address_format_64bit_global);
   Result<bool> descriptors = RUN(run, lower_descriptors, own_bindings(run.nir));
   if (!descriptors)
      return descriptors;

   optimize(run, FinalForm::spirv);
   RUN(run, opt_combine_accesses, target.spirv.scalar_bounds);
   /* The last that looks at byte offsets. */
   RUN(run, lower_access_units);
   optimize(run, FinalForm::spirv);
   RUN(run, nir_remove_dead_variables,
       nir_variable_mode(nir_var_function_temp | nir_var_mem_shared), nullptr);
   return true;
}

/// What SPIR-V in Vulkan has at 32 bits only.
unsigned spirv_bit_size(const nir_instr *instr, void *data)
{
   const Target &target = *static_cast<const Target *>(data);
   if (instr->type == nir_instr_type_alu) {
      const nir_alu_instr *alu = nir_instr_as_alu(instr);
      switch (alu->op) {
      case nir_op_bit_count:
      case nir_op_bitfield_reverse:
      case nir_op_find_lsb:
      case nir_op_ufind_msb:
      case nir_op_imul_high:
      case nir_op_umul_high:
         return alu->src[0].src.ssa->bit_size < 32 ? 32 : 0;
      default:
         return 0;
      }
   }
   if (instr->type == nir_instr_type_intrinsic && !target.spirv.small_subgroup_operands) {
      const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      switch (intrinsic->intrinsic) {
      case nir_intrinsic_shuffle:
      case nir_intrinsic_shuffle_up:
      case nir_intrinsic_shuffle_xor:
      case nir_intrinsic_read_invocation:
         return intrinsic->def.bit_size > 1 && intrinsic->def.bit_size < 32 ? 32 : 0;
      default:
         return 0;
      }
   }
   return 0;
}

bool keeps_matrices(nir_shader *nir)
{
   nir_foreach_function_temp_variable(var, nir_shader_get_entrypoint(nir)) {
      if (glsl_type_is_cmat(glsl_without_array(var->type)))
         return true;
   }
   return false;
}

/// What SPIR-V cannot say, or the driver does not take.
void lower_late_for_spirv(PassRunner &run, const Target &target)
{
   nir_lower_subgroups_options subgroups = {};
   subgroups.subgroup_size = uint8_t(target.subgroup_size);
   subgroups.ballot_bit_size = 32;
   subgroups.ballot_components = 4;
   subgroups.lower_to_scalar = true;
   subgroups.lower_reduce =
      !target.spirv.subgroup_arithmetic_with_matrices && keeps_matrices(run.nir);
   RUN(run, nir_lower_subgroups, &subgroups);
   RUN(run, nir_lower_frexp);
   RUN(run, nir_lower_flrp, unsigned(16 | 32 | 64), false);
   RUN(run, nir_lower_int64);
   RUN(run, nir_lower_bit_size, spirv_bit_size, const_cast<Target *>(&target));
   optimize(run, FinalForm::spirv);
   clean_up_late(run);
}

/// Instructions that no back end wants.
void lower_late(PassRunner &run, const Target &target)
{
   const nir_lower_subgroups_options subgroups = subgroup_options(target);
   RUN(run, nir_lower_subgroups, &subgroups);
   /* Quads and rotations became shuffles by the subgroup's size and the invocation's number. */
   RUN(run, lower_invocation_ids, target.subgroup_size);
   RUN(run, nir_lower_frexp);
   RUN(run, nir_lower_flrp, unsigned(16 | 32 | 64), false);
   RUN(run, nir_lower_pack);
   RUN(run, nir_lower_int64);
   RUN(run, nir_lower_bit_size, wider_bit_size, nullptr);
   optimize(run, FinalForm::machine);

   clean_up_late(run);
}

} // namespace

Result<Shader> spirv_to_target(const ShaderSource &source, const Target &target,
                               const PipelineOptions &options)
{
   PassObserver observe;
   if (options.dump)
      observe = [&](const char *pass, nir_shader *nir) { options.dump(pass, shader_text(nir)); };

   Result<Shader> shader = spirv_to_nir(source, target, observe, options.control);
   if (!shader)
      return shader;
   PassRunner run(shader->get(), observe, options.control);

   Result<bool> legal = validate_cmat(run.nir, target.matrices);
   if (!legal)
      return legal.error();
   Result<bool> matrices = lower_matrices(run, target);
   if (!matrices)
      return matrices.error();
   const bool machine = target.form == FinalForm::machine;
   Result<bool> memory =
      machine ? lower_memory(run, target, options) : lower_memory_to_units(run, target);
   if (!memory)
      return memory.error();
   machine ? lower_late(run, target) : lower_late_for_spirv(run, target);

   nir_shader_gather_info(run.nir, nir_shader_get_entrypoint(run.nir));
   if (machine) {
      Result<bool> limits = check_shader_limits(run.nir);
      if (!limits)
         return limits.error();
      Result<bool> form = validate_final_form(run.nir);
      if (!form)
         return form.error();
   }
   nir_sweep(run.nir);
   return shader;
}

std::string shader_text(nir_shader *nir)
{
   char *buffer = nullptr;
   size_t size = 0;
   FILE *file = open_memstream(&buffer, &size);
   if (!file)
      return {};
   nir_print_shader(nir, file);
   fclose(file);
   std::string text(buffer, size);
   free(buffer);
   return text;
}

} // namespace weft
