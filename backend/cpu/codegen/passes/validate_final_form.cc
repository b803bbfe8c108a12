// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/passes/validate_final_form.h"

#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/validate_instructions.h"

#include <string>

namespace weft::cpu {

bool is_in_final_form(nir_op op, unsigned bit_size)
{
   switch (op) {
   /* Only these and loads define vectors. */
   case nir_op_mov:
   case nir_op_vec2:
   case nir_op_vec3:
   case nir_op_vec4:
   case nir_op_vec5:
   case nir_op_vec8:
   case nir_op_vec16:

   case nir_op_bcsel:

   case nir_op_fadd:
   case nir_op_fsub:
   case nir_op_fmul:
   case nir_op_fdiv:
   case nir_op_frcp:
   case nir_op_fsqrt:
   case nir_op_frsq:
   case nir_op_fneg:
   case nir_op_fabs:
   case nir_op_fmin:
   case nir_op_fmax:
   case nir_op_ffloor:
   case nir_op_fceil:
   case nir_op_ftrunc:
   case nir_op_fround_even:
   case nir_op_feq:
   case nir_op_fneu:
   case nir_op_flt:
   case nir_op_fge:

   case nir_op_iadd:
   case nir_op_isub:
   case nir_op_imul:
   case nir_op_ineg:
   case nir_op_iabs:
   case nir_op_imin:
   case nir_op_imax:
   case nir_op_umin:
   case nir_op_umax:
   /* Division by 0 gives 0. The least integer divided by -1 gives itself, as in constant folding
    * (dispatch_values.cc). */
   case nir_op_idiv:
   case nir_op_udiv:
   case nir_op_irem:
   case nir_op_imod:
   case nir_op_umod:
   case nir_op_iadd_sat:
   case nir_op_isub_sat:
   case nir_op_uadd_sat:
   case nir_op_usub_sat:
   case nir_op_ieq:
   case nir_op_ine:
   case nir_op_ilt:
   case nir_op_ige:
   case nir_op_ult:
   case nir_op_uge:
   case nir_op_iand:
   case nir_op_ior:
   case nir_op_ixor:
   case nir_op_inot:
   /* Shift amounts have 32 bits and count modulo the size. */
   case nir_op_ishl:
   case nir_op_ishr:
   case nir_op_ushr:
   case nir_op_bit_count:
   case nir_op_bitfield_reverse:
   case nir_op_find_lsb:
   case nir_op_ufind_msb:
   case nir_op_imul_2x32_64:
   case nir_op_umul_2x32_64:
   /* Four bytes in 32 bits. */
   case nir_op_sdot_4x8_iadd:
   case nir_op_sdot_4x8_iadd_sat:
   case nir_op_udot_4x8_uadd:
   case nir_op_udot_4x8_uadd_sat:
   case nir_op_sudot_4x8_iadd:
   case nir_op_sudot_4x8_iadd_sat:

   case nir_op_f2f16:
   case nir_op_f2f16_rtne:
   case nir_op_f2f16_rtz:
   case nir_op_f2f32:
   case nir_op_f2f64:
   case nir_op_f2i8:
   case nir_op_f2i16:
   case nir_op_f2i32:
   case nir_op_f2i64:
   case nir_op_f2u8:
   case nir_op_f2u16:
   case nir_op_f2u32:
   case nir_op_f2u64:
   case nir_op_i2f16:
   case nir_op_i2f32:
   case nir_op_i2f64:
   case nir_op_u2f16:
   case nir_op_u2f32:
   case nir_op_u2f64:
   case nir_op_i2i8:
   case nir_op_i2i16:
   case nir_op_i2i32:
   case nir_op_i2i64:
   case nir_op_u2u8:
   case nir_op_u2u16:
   case nir_op_u2u32:
   case nir_op_u2u64:
   case nir_op_b2i8:
   case nir_op_b2i16:
   case nir_op_b2i32:
   case nir_op_b2i64:
   case nir_op_b2f16:
   case nir_op_b2f32:
   case nir_op_b2f64:
   /* Booleans in memory. */
   case nir_op_b2b1:
   case nir_op_b2b32:
   case nir_op_ffma:
      return true;

   case nir_op_fsin:
   case nir_op_fcos:
   case nir_op_fexp2:
   case nir_op_flog2:
      return bit_size >= 32;
   case nir_op_imul_high:
   case nir_op_umul_high:
      return bit_size <= 32;
   default:
      return false;
   }
}

namespace {

bool may_be_vector(nir_op op)
{
   return op == nir_op_mov || nir_op_is_vec(op);
}

} // namespace

bool is_in_final_form(nir_intrinsic_op op)
{
   switch (op) {
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
   case nir_intrinsic_get_ssbo_size:
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_push_constant:
   case nir_intrinsic_load_constant:
   case nir_intrinsic_load_shared:
   case nir_intrinsic_store_shared:
   case nir_intrinsic_shared_atomic:
   case nir_intrinsic_shared_atomic_swap:
   case nir_intrinsic_load_global:
   case nir_intrinsic_load_global_constant:
   case nir_intrinsic_store_global:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
   case nir_intrinsic_load_scratch:
   case nir_intrinsic_store_scratch:

   /* A texel of a compressed block (decode_texel()). */
   case nir_intrinsic_image_load:
   /* Whether sparse memory is bound at an address (is_resident()). */
   case nir_intrinsic_is_sparse_resident_zink:

   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_store_weft:
   case nir_intrinsic_tile_muladd_weft:
   case nir_intrinsic_tile_pack_weft:
   case nir_intrinsic_tile_element_weft:
   case nir_intrinsic_tile_insert_weft:

   case nir_intrinsic_barrier:
   case nir_intrinsic_shader_clock:
   case nir_intrinsic_load_workgroup_id:
   case nir_intrinsic_load_num_workgroups:
   case nir_intrinsic_load_subgroup_id:
   case nir_intrinsic_load_subgroup_invocation:

   case nir_intrinsic_ballot:
   case nir_intrinsic_vote_any:
   case nir_intrinsic_vote_all:
   case nir_intrinsic_reduce:
   case nir_intrinsic_inclusive_scan:
   case nir_intrinsic_exclusive_scan:
   case nir_intrinsic_shuffle:
   case nir_intrinsic_read_invocation:
   case nir_intrinsic_read_first_invocation:
   case nir_intrinsic_first_invocation:
      return true;
   default:
      return false;
   }
}

namespace {

/// Whether another tile than a factor lies in shared memory (cmat_marks.h).
bool has_other_shared_tile(const nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_tile_muladd_weft:
      return weft_is_shared_tile(instr->src[0]) || weft_is_shared_tile(instr->src[3]);
   case nir_intrinsic_tile_store_weft:
      return weft_is_shared_tile(instr->src[1]);
   default:
      return false;
   }
}

std::string objection(nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_alu: {
      const nir_alu_instr *alu = nir_instr_as_alu(instr);
      const std::string name = nir_op_infos[alu->op].name;
      if (!is_in_final_form(alu->op, alu->def.bit_size))
         return "the operation " + name + " of " + std::to_string(alu->def.bit_size) +
                " bits is not supported";
      if (alu->def.num_components > 1 && !may_be_vector(alu->op))
         return "the operation " + name + " of vectors is not supported";
      return {};
   }
   case nir_instr_type_intrinsic: {
      const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      const std::string name = nir_intrinsic_infos[intrinsic->intrinsic].name;
      if (!is_in_final_form(intrinsic->intrinsic))
         return "the intrinsic " + name + " is not supported";
      if (has_other_shared_tile(intrinsic))
         return "the intrinsic " + name + " with an accumulator in shared memory is not supported";
      return {};
   }
   case nir_instr_type_load_const:
   case nir_instr_type_undef:
   case nir_instr_type_phi:
      return {};
   case nir_instr_type_jump:
      return objection_to_jump(nir_instr_as_jump(instr));
   case nir_instr_type_tex:
      return "sampled images are not supported";
   case nir_instr_type_deref:
      return "a pointer to a variable that is neither memory nor a value is not supported";
   default:
      return "an instruction is not supported";
   }
}

/// Whether a cast changes neither the elements nor their layout: split_cmat_shapes() treats an
/// array of tiles as one.
bool is_same_array(const nir_deref_instr *cast)
{
   const nir_deref_instr *parent = nir_deref_instr_parent(cast);
   return parent && glsl_without_array(cast->type) == glsl_without_array(parent->type) &&
          glsl_get_aoa_size(cast->type) <= glsl_get_aoa_size(parent->type);
}

} // namespace

Result<bool> validate_final_form(nir_shader *nir)
{
   return validate_instructions(nir, objection);
}

Result<bool> validate_private_memory(nir_shader *nir)
{
   return validate_instructions(nir, [](nir_instr *instr) -> std::string {
      if (instr->type != nir_instr_type_deref)
         return {};
      const nir_deref_instr *deref = nir_instr_as_deref(instr);
      const bool other_type = (deref->deref_type == nir_deref_type_cast && !is_same_array(deref)) ||
                              deref->deref_type == nir_deref_type_ptr_as_array;
      return other_type && nir_deref_mode_may_be(deref, nir_var_function_temp)
                ? "private memory accessed as another type is not supported"
                : "";
   });
}

} // namespace weft::cpu
