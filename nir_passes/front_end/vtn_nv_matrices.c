/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_nv_matrices.h"

#include "nir_passes/front_end/vtn_handlers.h"

void weft_nv_matrix_type(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   struct vtn_value *value = vtn_push_value(b, w[1], vtn_value_type_type);
   vtn_fail_if(value->type, "OpTypeCooperativeMatrixNV has a forward declaration");
   struct vtn_type *component = vtn_get_type(b, w[2]);
   const uint32_t rows = vtn_constant_uint(b, w[4]), cols = vtn_constant_uint(b, w[5]);
   vtn_fail_if(rows == 0 || rows > 1024 || cols == 0 || cols > 1024,
               "A cooperative matrix of %u x %u: there may be 1 to 1024 rows and columns", rows,
               cols);
   vtn_fail_if(
      !glsl_type_is_scalar(component->type) || !glsl_type_is_numeric(component->type) ||
         vtn_is_bits_only_float(component->type),
      "OpTypeCooperativeMatrixNV: the component type is neither an integer's nor IEEE 754's");

   b->shader->info.cs.has_cooperative_matrix = true;
   struct vtn_type *type = value->type = vtn_zalloc(b, struct vtn_type);
   type->id = w[1];
   type->base_type = vtn_base_type_cooperative_matrix;
   type->component_type = component;
   type->desc.element_type = glsl_get_base_type(component->type);
   type->desc.scope = vtn_translate_scope(b, vtn_constant_uint(b, w[3]));
   type->desc.rows = rows;
   type->desc.cols = cols;
   type->desc.use = GLSL_CMAT_USE_NONE;
   type->type = glsl_cmat_type(&type->desc);
}

/* The layout that a boolean constant selects. */
static enum glsl_matrix_layout layout(struct vtn_builder *b, uint32_t column_major)
{
   const struct vtn_value *value = vtn_value(b, column_major, vtn_value_type_constant);
   vtn_fail_if(!glsl_type_is_boolean(value->type->type) || !glsl_type_is_scalar(value->type->type),
               "Column Major is no constant of type bool");
   return value->constant->values[0].b ? GLSL_MATRIX_LAYOUT_COLUMN_MAJOR
                                       : GLSL_MATRIX_LAYOUT_ROW_MAJOR;
}

void weft_nv_load(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   struct vtn_pointer *source = vtn_value_to_pointer(b, vtn_value(b, w[3], vtn_value_type_pointer));
   SpvMemoryAccessMask access = SpvMemoryAccessMaskNone;
   if (count > 6) {
      unsigned at = 6, alignment;
      SpvScope scope;
      vtn_get_mem_operands(b, w, count, &at, &access, &alignment, NULL, &scope);
      vtn_emit_make_visible_barrier(b, access, scope, source->mode);
   }
   nir_deref_instr *result = vtn_create_cmat_temporary(b, vtn_get_type(b, w[1])->type, "cmat_load");
   nir_cmat_load(&b->nb, &result->def, vtn_pointer_to_ssa(b, source), vtn_get_nir_ssa(b, w[4]),
                 .matrix_layout = layout(b, w[5]), .access = vtn_cmat_access(source, access));
   vtn_push_var_ssa(b, w[2], result->var);
}

void weft_nv_store(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   struct vtn_pointer *target = vtn_value_to_pointer(b, vtn_value(b, w[1], vtn_value_type_pointer));
   SpvMemoryAccessMask access = SpvMemoryAccessMaskNone;
   SpvScope scope = SpvScopeInvocation;
   if (count > 5) {
      unsigned at = 5, alignment;
      vtn_get_mem_operands(b, w, count, &at, &access, &alignment, &scope, NULL);
   }
   nir_cmat_store(&b->nb, vtn_pointer_to_ssa(b, target), &vtn_get_cmat_deref(b, w[2])->def,
                  vtn_get_nir_ssa(b, w[3]), .matrix_layout = layout(b, w[4]),
                  .access = vtn_cmat_access(target, access));
   vtn_emit_make_available_barrier(b, access, scope, target->mode);
}

/* A copy of the matrix, with a use. */
static nir_deref_instr *with_use(struct vtn_builder *b, uint32_t id, enum glsl_cmat_use use)
{
   nir_deref_instr *matrix = vtn_get_cmat_deref(b, id);
   struct glsl_cmat_description desc = *glsl_get_cmat_description(matrix->type);
   desc.use = use;
   nir_deref_instr *copy = vtn_create_cmat_temporary(b, glsl_cmat_type(&desc), "cmat_with_use");
   nir_cmat_convert_weft(&b->nb, &copy->def, &matrix->def);
   return copy;
}

static nir_cmat_signed sign_of(nir_deref_instr *matrix, nir_cmat_signed sign)
{
   const nir_alu_type type =
      nir_get_nir_type_for_glsl_base_type(glsl_get_base_type(glsl_get_cmat_element(matrix->type)));
   return nir_alu_type_get_base_type(type) == nir_type_int ? sign : 0;
}

void weft_nv_muladd(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   nir_deref_instr *x = with_use(b, w[3], GLSL_CMAT_USE_A), *y = with_use(b, w[4], GLSL_CMAT_USE_B),
                   *c = with_use(b, w[5], GLSL_CMAT_USE_ACCUMULATOR);
   nir_deref_instr *result =
      vtn_create_cmat_temporary(b, vtn_get_type(b, w[1])->type, "cmat_muladd");
   struct glsl_cmat_description desc = *glsl_get_cmat_description(result->type);
   desc.use = GLSL_CMAT_USE_ACCUMULATOR;
   nir_deref_instr *sum = vtn_create_cmat_temporary(b, glsl_cmat_type(&desc), "cmat_sum");
   const nir_cmat_signed signs = sign_of(x, NIR_CMAT_A_SIGNED) | sign_of(y, NIR_CMAT_B_SIGNED) |
                                 sign_of(c, NIR_CMAT_C_SIGNED) |
                                 sign_of(sum, NIR_CMAT_RESULT_SIGNED);
   nir_cmat_muladd(&b->nb, &sum->def, &x->def, &y->def, &c->def, .cmat_signed_mask = signs);
   nir_cmat_convert_weft(&b->nb, &result->def, &sum->def);
   vtn_push_var_ssa(b, w[2], result->var);
}

void weft_nv_length(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   vtn_push_nir_ssa(b, w[2], nir_cmat_length(&b->nb, .cmat_desc = vtn_get_type(b, w[3])->desc));
}

bool weft_handle_constant_length(struct vtn_builder *b, uint32_t opcode, const uint32_t *w)
{
   if (opcode != SpvOpSpecConstantOp ||
       (w[3] != SpvOpCooperativeMatrixLengthKHR && w[3] != SpvOpCooperativeMatrixLengthNV))
      return false;
   const struct vtn_type *matrix = vtn_get_type(b, w[4]);
   const bool is_nv = w[3] == SpvOpCooperativeMatrixLengthNV;
   vtn_fail_if(matrix->base_type != vtn_base_type_cooperative_matrix ||
                  (matrix->desc.use == GLSL_CMAT_USE_NONE) != is_nv,
               "OpCooperativeMatrixLength%s of another type than OpTypeCooperativeMatrix%s",
               is_nv ? "NV" : "KHR", is_nv ? "NV" : "KHR");
   struct vtn_value *value = vtn_push_value(b, w[2], vtn_value_type_constant);
   value->type = vtn_get_type(b, w[1]);
   vtn_fail_if(value->type->type != glsl_uint_type() && value->type->type != glsl_int_type(),
               "The length of a cooperative matrix is an integer of 32 bits");
   const struct weft_front_end *front_end = b->options->handlers.private_data;
   value->constant = rzalloc(b, nir_constant);
   value->constant->values[0].u32 = front_end->length(front_end, &matrix->desc);
   return true;
}
