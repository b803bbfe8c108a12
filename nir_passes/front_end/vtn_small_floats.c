/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_small_floats.h"

#include "nir_passes/matrices/small_floats.h"
#include "nir_passes/spirv_enums.h"

static void find_saturation(struct vtn_builder *b, struct vtn_value *value, int member,
                            const struct vtn_decoration *decoration, void *saturate)
{
   if (decoration->scope == VTN_DEC_DECORATION &&
       (uint32_t)decoration->decoration ==
          WeftSpvDecorationSaturatedToLargestFloat8NormalConversionEXT)
      *(bool *)saturate = true;
}

/* The component type of a scalar, a vector or a matrix. */
static enum glsl_base_type component_type(const struct glsl_type *type)
{
   return glsl_get_base_type(glsl_type_is_cmat(type) ? glsl_get_cmat_element(type) : type);
}

/* NIR's conversion of the f32 on the way (small_floats.h). */
static nir_op conversion(struct vtn_builder *b, uint32_t opcode, enum glsl_base_type from,
                         enum glsl_base_type to)
{
   bool ignored = false;
   const unsigned from_bits = weft_is_small_float(from) ? 32 : glsl_base_type_get_bit_size(from),
                  to_bits = weft_is_small_float(to) ? 32 : glsl_base_type_get_bit_size(to);
   return vtn_nir_alu_op_for_spirv_opcode(b, opcode, &ignored, &ignored, from_bits, to_bits);
}

static nir_def *convert_vector(nir_builder *nb, nir_def *value, nir_op op, enum glsl_base_type from,
                               enum glsl_base_type to, bool saturate)
{
   nir_def *components[NIR_MAX_VEC_COMPONENTS];
   for (unsigned i = 0; i < value->num_components; i++)
      components[i] =
         weft_convert_small_float(nb, nir_channel(nb, value, i), op, from, to, saturate);
   return nir_vec(nb, components, value->num_components);
}

bool weft_is_saturating(struct vtn_builder *b, uint32_t id)
{
   bool saturate = false;
   vtn_foreach_decoration(b, vtn_untyped_value(b, id), find_saturation, &saturate);
   return saturate;
}

nir_op weft_component_conversion(struct vtn_builder *b, uint32_t opcode,
                                 const struct glsl_type *source, const struct glsl_type *result)
{
   return conversion(b, opcode, component_type(source), component_type(result));
}

static bool handle_conversion(struct vtn_builder *b, uint32_t opcode, const uint32_t *w)
{
   const struct glsl_type *result = vtn_get_type(b, w[1])->type,
                          *source = vtn_get_value_type(b, w[3])->type;
   if (!vtn_is_bits_only_float(result) && !vtn_is_bits_only_float(source))
      return false;

   const bool saturate = weft_is_saturating(b, w[2]);
   const enum glsl_base_type from = component_type(source), to = component_type(result);
   const nir_op op = conversion(b, opcode, from, to);
   if (glsl_type_is_cmat(result)) {
      nir_deref_instr *matrix = vtn_create_cmat_temporary(b, result, "cmat_convert");
      nir_cmat_unary_op(&b->nb, &matrix->def, &vtn_get_cmat_deref(b, w[3])->def, .alu_op = op,
                        .saturate = saturate);
      vtn_push_var_ssa(b, w[2], matrix->var);
   } else {
      vtn_push_nir_ssa(b, w[2],
                       convert_vector(&b->nb, vtn_get_nir_ssa(b, w[3]), op, from, to, saturate));
   }
   return true;
}

/* Translates OpSpecConstantOp with OpFConvert, the only arithmetic of floats that Vulkan allows
 * there. */
static bool handle_constant_conversion(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   if (count != 5 || w[3] != SpvOpFConvert)
      return false;
   struct vtn_type *type = vtn_get_type(b, w[1]);
   const struct glsl_type *result = type->type, *source = vtn_get_value_type(b, w[4])->type;
   if (!vtn_is_bits_only_float(result) && !vtn_is_bits_only_float(source))
      return false;
   const unsigned components = glsl_get_vector_elements(result);
   vtn_fail_if(components == 0 || glsl_get_vector_elements(source) != components,
               "OpFConvert to another number of components");

   const nir_constant *operand = vtn_value(b, w[4], vtn_value_type_constant)->constant;
   const enum glsl_base_type from = component_type(source), to = component_type(result);
   const nir_op op = conversion(b, SpvOpFConvert, from, to);
   struct vtn_value *value = vtn_push_value(b, w[2], vtn_value_type_constant);
   value->type = type;
   value->constant = rzalloc(b, nir_constant);
   for (unsigned i = 0; i < components; i++)
      value->constant->values[i] = weft_convert_small_constant(operand->values[i], op, from, to);
   return true;
}

/* Translates OpDot; the sum is in f32. */
static bool handle_dot(struct vtn_builder *b, const uint32_t *w)
{
   const struct glsl_type *type = vtn_get_type(b, w[1])->type;
   if (!vtn_is_bits_only_float(type))
      return false;
   vtn_fail_if(component_type(type) != GLSL_TYPE_BFLOAT16, "OpDot of a float8");
   nir_builder *nb = &b->nb;
   nir_def *x = vtn_get_nir_ssa(b, w[3]), *y = vtn_get_nir_ssa(b, w[4]);
   nir_def *sum = nir_imm_float(nb, 0.0f);
   for (unsigned i = 0; i < x->num_components; i++) {
      nir_def *fx = weft_small_float_to_f32(nb, nir_channel(nb, x, i), GLSL_TYPE_BFLOAT16);
      nir_def *fy = weft_small_float_to_f32(nb, nir_channel(nb, y, i), GLSL_TYPE_BFLOAT16);
      sum = i == 0 ? nir_fmul(nb, fx, fy) : nir_ffma(nb, fx, fy, sum);
   }
   vtn_push_nir_ssa(b, w[2], weft_f32_to_small_float(nb, sum, GLSL_TYPE_BFLOAT16, false));
   return true;
}

bool weft_handle_small_floats(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                              unsigned count)
{
   switch (opcode) {
   case SpvOpFConvert:
   case SpvOpConvertFToU:
   case SpvOpConvertFToS:
   case SpvOpConvertSToF:
   case SpvOpConvertUToF:
      return handle_conversion(b, opcode, w);
   case SpvOpSpecConstantOp:
      return handle_constant_conversion(b, w, count);
   case SpvOpDot:
      return handle_dot(b, w);
   default:
      return false;
   }
}
