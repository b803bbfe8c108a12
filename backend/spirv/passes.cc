// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/passes.h"

#include "backend/spirv/emit/alu_table.h"
#include "backend/spirv/emit/validate_spirv_form.h"
#include "backend/spirv/passes/lower_buffer_choices.h"
#include "backend/spirv/passes/lower_single_levels.h"
#include "backend/spirv/passes/lower_small_arithmetic.h"

#include "nir_passes/matrices/validate_cmat.h"
#include "nir_passes/memory/lower_access_units.h"
#include "nir_passes/memory/lower_descriptors.h"
#include "nir_passes/memory/lower_shared_memory.h"
#include "nir_passes/memory/opt_combine_accesses.h"
#include "nir_passes/stages.h"
#include "nir_passes/workgroups/lower_subgroup_blocks.h"
#include "nir_passes/workgroups/opt_visibility_barriers.h"

namespace weft::spirv {

namespace {

/// NIR has no instruction for DeviceIndex.
Result<bool> refuse_device_index(nir_shader *nir)
{
   nir_foreach_variable_with_modes(var, nir, nir_var_system_value) {
      if (var->data.location == SYSTEM_VALUE_DEVICE_INDEX)
         return Error{"the built-in input DeviceIndex is not supported"};
   }
   return true;
}

/// The bit size for operations that Vulkan's SPIR-V defines for 32 bits only.
unsigned spirv_bit_size(const nir_instr *instr, void *data)
{
   const Driver &driver = *static_cast<const Driver *>(data);
   if (instr->type == nir_instr_type_alu) {
      const nir_alu_instr *alu = nir_instr_as_alu(instr);
      const unsigned bits = alu->src[0].src.ssa->bit_size;
      const bool is_small_integer = bits == 8 || bits == 16;
      return is_small_integer && !find_alu_rule(alu->op, bits) && find_alu_rule(alu->op, 32) ? 32
                                                                                             : 0;
   }
   if (instr->type == nir_instr_type_intrinsic && !driver.subgroup_extended_types) {
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

} // namespace

Result<Shader> lower_for_driver(const ShaderSource &source, const PassOptions &options)
{
   const Driver &driver = options.driver;
   constexpr bool unroll_tiles = false;
   Result<Shader> shader = read_shader(source, Consumer::driver, options.target.subgroup_size,
                                       options.observe, options.control);
   if (!shader)
      return shader;
   PassRunner run(shader->get(), options.observe, options.control);

   /* Matrices become the driver's own, or private arrays. */
   run.check(validate_cmat, options.matrices);
   lower_matrices(run, target_for(source, options.target));

   run.check(refuse_device_index);
   /* Textures and system values keep the forms that SPIR-V has. */
   nir_lower_tex_options textures = {};
   textures.lower_txp = ~0u;
   textures.lower_txp_array = true;
   RUN(run, nir_lower_tex, &textures);
   RUN(run, lower_single_levels);
   RUN(run, nir_lower_system_values);
   /* Only OpenCL has ids that do not begin at 0. */
   const nir_lower_compute_system_values_options ids = {};
   RUN(run, nir_lower_compute_system_values, &ids);

   /* Variables become values. */
   RUN(run, nir_split_var_copies);
   RUN(run, nir_lower_var_copies);
   optimize(run, unroll_tiles);
   RUN(run, nir_remove_dead_variables,
       nir_variable_mode(nir_var_function_temp | nir_var_mem_shared), nullptr);

   /* Shared memory becomes arrays of scalars, buffers become addresses. */
   RUN(run, opt_visibility_barriers, nir_var_mem_shared);
   /* Must come before lower_explicit_io, while accesses name their variables. */
   RUN(run, lower_shared_memory);

   RUN(run, nir_lower_explicit_io, nir_variable_mode(nir_var_mem_ubo | nir_var_mem_ssbo),
       nir_address_format_vec2_index_32bit_offset);
   RUN(run, nir_lower_explicit_io, nir_var_mem_push_const, nir_address_format_32bit_offset);
   RUN(run, nir_lower_explicit_io, nir_var_mem_global, nir_address_format_64bit_global);
   RUN(run, lower_descriptors, own_bindings(run.nir));

   optimize(run, unroll_tiles);
   /* With robustBufferAccess2, each access of the shader is in bounds or not by itself.
    * robustBufferAccess allows accesses within 16 bytes to be checked together, so joining them is
    * valid. */
   RUN(run, opt_combine_accesses, CombineOptions{.keep_buffers = driver.robust_buffer_access_2});
   /* Must come after accesses are joined, so that few are left, and before units, which differ by
    * buffer. */
   RUN(run, lower_buffer_choices);
   /* The last pass that reads byte offsets. */
   RUN(run, lower_access_units,
       SmallUnits{driver.storage_buffer_8bit, driver.storage_buffer_16bit});
   optimize(run, unroll_tiles);
   RUN(run, nir_remove_dead_variables,
       nir_variable_mode(nir_var_function_temp | nir_var_mem_shared), nullptr);

   /* Must come after branch conditions are values and buffer accesses are intrinsics. */
   if (options.blocks)
      RUN(run, lower_subgroup_blocks,
          BlockOptions{options.target.subgroup_size, options.max_shared_bytes});

   /* Lowers operations that SPIR-V lacks or the driver does not accept. */
   nir_lower_subgroups_options subgroups = {};
   subgroups.subgroup_size = uint8_t(options.target.subgroup_size);
   subgroups.ballot_bit_size = 32;
   subgroups.ballot_components = 4;
   subgroups.lower_to_scalar = true;
   subgroups.lower_quad_vote = true;
   subgroups.lower_reduce = !driver.subgroup_arithmetic_with_matrices && keeps_matrices(run.nir);
   RUN(run, nir_lower_subgroups, &subgroups);
   RUN(run, nir_lower_frexp);
   RUN(run, nir_lower_flrp, unsigned(16 | 32 | 64), false);
   RUN(run, nir_lower_int64);
   RUN(run, nir_lower_bit_size, spirv_bit_size, const_cast<Driver *>(&driver));
   optimize(run, unroll_tiles);
   optimize_late(run);
   RUN(run, lower_small_arithmetic, small_arithmetic(driver));

   if (run.refused())
      return run.error();
   nir_shader_gather_info(run.nir, nir_shader_get_entrypoint(run.nir));
   nir_sweep(run.nir);

   /* Variables replace phis: drivers turn them into values again. */
   RUN(run, nir_convert_from_ssa, true, false);
   run.check(validate_spirv_form);
   if (run.refused())
      return run.error();
   return shader;
}

} // namespace weft::spirv
