// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/emit/validate_spirv_form.h"

#include "backend/spirv/emit/alu_table.h"
#include "backend/spirv/emit/emit.h"

#include "nir_passes/validate_instructions.h"

namespace weft::spirv {

namespace {

/* ---- arithmetic ---- */

bool is_translated(const nir_alu_instr *alu)
{
   const nir_op_info &info = nir_op_infos[alu->op];
   const unsigned bits = alu->src[0].src.ssa->bit_size;
   if (alu->op == nir_op_mov || nir_op_is_vec(alu->op))
      return true;
   const AluRule *rule = find_alu_rule(alu->op, bits);
   if (alu->def.num_components > 1)
      return rule && rule->is_packing();
   if (!info.is_conversion)
      return rule;
   /* Booleans have one bit here, and come from comparisons. */
   const nir_alu_type from = nir_alu_type_get_base_type(info.input_types[0]);
   return (from == nir_type_bool) == (bits == 1) && (bits == 1 || alu->def.bit_size > 1);
}

/* ---- intrinsics ---- */

bool is_zero(const nir_src &source)
{
   return nir_src_is_const(source) && nir_src_as_uint(source) == 0;
}

bool is_atomic_op(nir_atomic_op op)
{
   switch (op) {
   case nir_atomic_op_iadd:
   case nir_atomic_op_imin:
   case nir_atomic_op_umin:
   case nir_atomic_op_imax:
   case nir_atomic_op_umax:
   case nir_atomic_op_iand:
   case nir_atomic_op_ior:
   case nir_atomic_op_ixor:
   case nir_atomic_op_xchg:
   case nir_atomic_op_cmpxchg:
   case nir_atomic_op_fadd:
   case nir_atomic_op_fmin:
   case nir_atomic_op_fmax:
      return true;
   default:
      return false;
   }
}

bool is_scope(mesa_scope scope)
{
   switch (scope) {
   case SCOPE_NONE:
   case SCOPE_INVOCATION:
   case SCOPE_SUBGROUP:
   case SCOPE_WORKGROUP:
   case SCOPE_QUEUE_FAMILY:
   case SCOPE_DEVICE:
      return true;
   default:
      return false;
   }
}

std::string objection_to_subgroup(nir_intrinsic_instr *instr)
{
   const bool is_mask = instr->intrinsic == nir_intrinsic_ballot;
   if (is_mask != (instr->def.num_components == 4) || (!is_mask && instr->def.num_components != 1))
      return "of vectors";
   const bool votes =
      instr->intrinsic == nir_intrinsic_vote_ieq || instr->intrinsic == nir_intrinsic_vote_feq;
   if (votes && instr->src[0].ssa->num_components != 1)
      return "of vectors";
   if (is_mask && instr->def.bit_size != 32)
      return "of another form than 4×32 bits";
   if (nir_intrinsic_has_reduction_op(instr) &&
       subgroup_arithmetic_op(nir_op(nir_intrinsic_reduction_op(instr)),
                              instr->def.bit_size == 1) == SpvOpNop)
      return std::string("by ") + nir_op_infos[nir_intrinsic_reduction_op(instr)].name;
   return {};
}

std::string objection_to_image(nir_intrinsic_instr *instr)
{
   const nir_src *lod = nullptr;
   switch (instr->intrinsic) {
   case nir_intrinsic_image_deref_load:
      lod = &instr->src[3];
      break;
   case nir_intrinsic_image_deref_store:
      lod = &instr->src[4];
      break;
   case nir_intrinsic_image_deref_size:
      lod = &instr->src[1];
      break;
   default:
      break;
   }
   return lod && !is_zero(*lod) ? "at a level of detail" : "";
}

/// Operands that the translator ignores must have their neutral values.
std::string objection_to_operands(nir_intrinsic_instr *instr, IntrinsicGroup group)
{
   if (nir_intrinsic_has_base(instr) && nir_intrinsic_base(instr) != 0)
      return "with a base";
   if (nir_intrinsic_has_atomic_op(instr) && !is_atomic_op(nir_intrinsic_atomic_op(instr)))
      return "of an operation that SPIR-V lacks";
   if (nir_intrinsic_has_matrix_layout(instr) &&
       nir_intrinsic_matrix_layout(instr) != GLSL_MATRIX_LAYOUT_ROW_MAJOR &&
       nir_intrinsic_matrix_layout(instr) != GLSL_MATRIX_LAYOUT_COLUMN_MAJOR)
      return "of a layout other than row and column major";
   switch (group) {
   case IntrinsicGroup::barrier:
      return is_scope(nir_intrinsic_execution_scope(instr)) &&
                   is_scope(nir_intrinsic_memory_scope(instr))
                ? ""
                : "of another scope";
   case IntrinsicGroup::declare_register:
      return nir_intrinsic_num_array_elems(instr) ? "of an array" : "";
   case IntrinsicGroup::system:
      return instr->def.bit_size == 32 ? "" : "of a size other than 32 bits";
   case IntrinsicGroup::subgroup:
      return objection_to_subgroup(instr);
   case IntrinsicGroup::image:
      return objection_to_image(instr);
   default:
      return {};
   }
}

std::string objection_to_intrinsic(nir_intrinsic_instr *instr)
{
   const std::string name =
      std::string("the intrinsic ") + nir_intrinsic_infos[instr->intrinsic].name;
   const IntrinsicGroup group = group_of(instr->intrinsic);
   if (group == IntrinsicGroup::unsupported)
      return name + " is not supported";
   const std::string why = objection_to_operands(instr, group);
   return why.empty() ? "" : name + " " + why + " is not supported";
}

/* ---- textures ---- */

bool is_translated(nir_texop op)
{
   switch (op) {
   case nir_texop_txl:
   case nir_texop_txd:
   case nir_texop_tg4:
   case nir_texop_txf:
   case nir_texop_txf_ms:
   case nir_texop_txs:
   case nir_texop_query_levels:
   case nir_texop_texture_samples:
      return true;
   default:
      return false;
   }
}

/// Names a texture source without a translation; null for other sources.
const char *unsupported(nir_tex_src_type type)
{
   switch (type) {
   case nir_tex_src_texture_deref:
   case nir_tex_src_sampler_deref:
   case nir_tex_src_coord:
   case nir_tex_src_comparator:
   case nir_tex_src_lod:
   case nir_tex_src_ddx:
   case nir_tex_src_ddy:
   case nir_tex_src_offset:
   case nir_tex_src_ms_index:
      return nullptr;
   case nir_tex_src_min_lod:
      return "a minimum level of detail (MinLod)";
   case nir_tex_src_projector:
      return "a projection";
   case nir_tex_src_bias:
      return "a bias";
   default:
      return "an operand of an unknown kind";
   }
}

std::string objection_to_texture(nir_tex_instr *tex)
{
   if (nir_tex_instr_src_index(tex, nir_tex_src_texture_deref) < 0 || tex->is_sparse)
      return "a texture operation without a variable, or a sparse one, is not supported";
   if (!is_translated(tex->op))
      return "sampling with an implicit level of detail is not supported";
   for (unsigned i = 0; i < tex->num_srcs; ++i) {
      if (const char *name = unsupported(tex->src[i].src_type))
         return std::string("sampling with ") + name + " is not supported";
   }
   return {};
}

bool is_translated(nir_deref_type type)
{
   switch (type) {
   case nir_deref_type_var:
   case nir_deref_type_array:
   case nir_deref_type_struct:
      return true;
   default:
      return false;
   }
}

} // namespace

IntrinsicGroup group_of(nir_intrinsic_op op)
{
   switch (op) {
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_load_ubo:
      return IntrinsicGroup::load_buffer;
   case nir_intrinsic_store_ssbo:
      return IntrinsicGroup::store_buffer;
   case nir_intrinsic_get_ssbo_size:
      return IntrinsicGroup::buffer_size;
   case nir_intrinsic_load_push_constant:
      return IntrinsicGroup::push_constant;
   case nir_intrinsic_load_global:
   case nir_intrinsic_load_global_constant:
      return IntrinsicGroup::load_global;
   case nir_intrinsic_store_global:
      return IntrinsicGroup::store_global;
   case nir_intrinsic_load_deref:
      return IntrinsicGroup::load_variable;
   case nir_intrinsic_store_deref:
      return IntrinsicGroup::store_variable;
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
   case nir_intrinsic_deref_atomic:
   case nir_intrinsic_deref_atomic_swap:
      return IntrinsicGroup::atomic;
   case nir_intrinsic_barrier:
      return IntrinsicGroup::barrier;
   case nir_intrinsic_decl_reg:
      return IntrinsicGroup::declare_register;
   case nir_intrinsic_load_reg:
      return IntrinsicGroup::load_register;
   case nir_intrinsic_store_reg:
      return IntrinsicGroup::store_register;

   case nir_intrinsic_elect:
   case nir_intrinsic_vote_any:
   case nir_intrinsic_vote_all:
   case nir_intrinsic_vote_ieq:
   case nir_intrinsic_vote_feq:
   case nir_intrinsic_ballot:
   case nir_intrinsic_inverse_ballot:
   case nir_intrinsic_ballot_bitfield_extract:
   case nir_intrinsic_ballot_bit_count_reduce:
   case nir_intrinsic_ballot_bit_count_inclusive:
   case nir_intrinsic_ballot_bit_count_exclusive:
   case nir_intrinsic_ballot_find_lsb:
   case nir_intrinsic_ballot_find_msb:
   case nir_intrinsic_first_invocation:
   case nir_intrinsic_last_invocation:
   case nir_intrinsic_read_invocation:
   case nir_intrinsic_read_first_invocation:
   case nir_intrinsic_shuffle:
   case nir_intrinsic_shuffle_xor:
   case nir_intrinsic_shuffle_up:
   case nir_intrinsic_shuffle_down:
   case nir_intrinsic_rotate:
   case nir_intrinsic_reduce:
   case nir_intrinsic_inclusive_scan:
   case nir_intrinsic_exclusive_scan:
   case nir_intrinsic_quad_broadcast:
   case nir_intrinsic_quad_swap_horizontal:
   case nir_intrinsic_quad_swap_vertical:
   case nir_intrinsic_quad_swap_diagonal:
      return IntrinsicGroup::subgroup;

   case nir_intrinsic_load_workgroup_id:
   case nir_intrinsic_load_num_workgroups:
   case nir_intrinsic_load_local_invocation_id:
   case nir_intrinsic_load_local_invocation_index:
   case nir_intrinsic_load_global_invocation_id:
   case nir_intrinsic_load_subgroup_size:
   case nir_intrinsic_load_subgroup_id:
   case nir_intrinsic_load_num_subgroups:
   case nir_intrinsic_load_subgroup_invocation:
   case nir_intrinsic_load_subgroup_eq_mask:
   case nir_intrinsic_load_subgroup_ge_mask:
   case nir_intrinsic_load_subgroup_gt_mask:
   case nir_intrinsic_load_subgroup_le_mask:
   case nir_intrinsic_load_subgroup_lt_mask:
   case nir_intrinsic_shader_clock:
      return IntrinsicGroup::system;

   case nir_intrinsic_image_deref_load:
   case nir_intrinsic_image_deref_store:
   case nir_intrinsic_image_deref_atomic:
   case nir_intrinsic_image_deref_atomic_swap:
   case nir_intrinsic_image_deref_size:
   case nir_intrinsic_image_deref_samples:
      return IntrinsicGroup::image;

   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_store_weft:
   case nir_intrinsic_tile_muladd_weft:
   case nir_intrinsic_cmat_construct:
   case nir_intrinsic_cmat_unary_op:
   case nir_intrinsic_cmat_binary_op:
   case nir_intrinsic_cmat_scalar_op:
   case nir_intrinsic_cmat_bitcast:
   case nir_intrinsic_cmat_copy:
   case nir_intrinsic_cmat_extract:
   case nir_intrinsic_cmat_insert:
   case nir_intrinsic_cmat_length:
      return IntrinsicGroup::matrix;

   default:
      return IntrinsicGroup::unsupported;
   }
}

std::string objection(nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_alu: {
      const nir_alu_instr *alu = nir_instr_as_alu(instr);
      if (is_translated(alu))
         return {};
      return std::string("the operation ") + nir_op_infos[alu->op].name + " of " +
             std::to_string(alu->src[0].src.ssa->bit_size) +
             (alu->def.num_components > 1 ? " bits, on vectors, is not supported"
                                          : " bits is not supported");
   }
   case nir_instr_type_intrinsic:
      return objection_to_intrinsic(nir_instr_as_intrinsic(instr));
   case nir_instr_type_tex:
      return objection_to_texture(nir_instr_as_tex(instr));
   case nir_instr_type_deref:
      return is_translated(nir_instr_as_deref(instr)->deref_type)
                ? ""
                : "a pointer to a variable under another type is not supported";
   case nir_instr_type_load_const:
   case nir_instr_type_undef:
      return {};
   case nir_instr_type_jump:
      return objection_to_jump(nir_instr_as_jump(instr));
   case nir_instr_type_phi:
      return "a phi is not supported";
   default:
      return "an instruction is not supported";
   }
}

Result<bool> validate_spirv_form(nir_shader *nir)
{
   return validate_instructions(nir, objection);
}

} // namespace weft::spirv
