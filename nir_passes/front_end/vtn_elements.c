/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_elements.h"

#include "nir_passes/front_end/vtn_callees.h"
#include "nir_passes/front_end/vtn_small_floats.h"
#include "nir_passes/matrices/small_floats.h"
#include "nir_passes/spirv_enums.h"

static struct glsl_cmat_description desc_of(nir_deref_instr *matrix)
{
   return *glsl_get_cmat_description(matrix->type);
}

static nir_deref_instr *create_result(struct vtn_builder *b, const uint32_t *w, const char *name)
{
   return vtn_create_cmat_temporary(b, vtn_get_type(b, w[1])->type, name);
}

static void find_transpose(struct vtn_builder *b, struct vtn_value *value, int member,
                           const struct vtn_decoration *decoration, void *transpose)
{
   if (decoration->scope == VTN_DEC_DECORATION &&
       (uint32_t)decoration->decoration == WeftSpvDecorationCooperativeMatrixTransposeEXT)
      *(bool *)transpose = true;
}

static bool is_transposing(struct vtn_builder *b, uint32_t id)
{
   bool transpose = false;
   vtn_foreach_decoration(b, vtn_untyped_value(b, id), find_transpose, &transpose);
   return transpose;
}

/* ---- conversions ---- */

/* `opcode` converts the components of one type to the other. */
static void transpose(struct vtn_builder *b, const uint32_t *w, uint32_t opcode)
{
   nir_deref_instr *result = create_result(b, w, "cmat_transpose"),
                   *source = vtn_get_cmat_deref(b, w[3]);
   const bool converts = glsl_get_cmat_element(source->type) != glsl_get_cmat_element(result->type);
   const nir_op op =
      converts ? weft_component_conversion(b, opcode, source->type, result->type) : nir_op_mov;
   nir_cmat_transpose_weft(&b->nb, &result->def, &source->def, .alu_op = op,
                           .saturate = weft_is_saturating(b, w[2]));
   vtn_push_var_ssa(b, w[2], result->var);
}

static bool is_float(const struct glsl_type *element)
{
   return weft_is_small_float(glsl_get_base_type(element)) || !glsl_type_is_integer(element);
}

static bool is_signed_integer(const struct glsl_type *element)
{
   const nir_alu_type type = nir_get_nir_type_for_glsl_base_type(glsl_get_base_type(element));
   return nir_alu_type_get_base_type(type) == nir_type_int;
}

/* The conversion between two types. */
static uint32_t conversion_between(const struct glsl_type *from, const struct glsl_type *to)
{
   const bool is_signed = is_signed_integer(from);
   if (is_float(from) && is_float(to))
      return SpvOpFConvert;
   if (is_float(to))
      return is_signed ? SpvOpConvertSToF : SpvOpConvertUToF;
   if (is_float(from))
      return is_signed_integer(to) ? SpvOpConvertFToS : SpvOpConvertFToU;
   return is_signed ? SpvOpSConvert : SpvOpUConvert;
}

/* The component types may be different: SPV_NV_cooperative_matrix2 does not forbid it, and programs
 * rely on it. */
void weft_transpose(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const struct glsl_type *from = glsl_get_cmat_element(vtn_get_cmat_deref(b, w[3])->type),
                          *to = glsl_get_cmat_element(vtn_get_type(b, w[1])->type);
   transpose(b, w, conversion_between(from, to));
}

void weft_convert_use(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   if (is_transposing(b, w[2])) {
      weft_transpose(b, w, count);
      return;
   }
   nir_deref_instr *result = create_result(b, w, "cmat_convert");
   nir_cmat_convert_weft(&b->nb, &result->def, &vtn_get_cmat_deref(b, w[3])->def);
   vtn_push_var_ssa(b, w[2], result->var);
}

bool weft_handle_transposing_conversion(struct vtn_builder *b, uint32_t opcode, const uint32_t *w)
{
   switch (opcode) {
   case SpvOpFConvert:
   case SpvOpSConvert:
   case SpvOpUConvert:
   case SpvOpConvertFToU:
   case SpvOpConvertFToS:
   case SpvOpConvertSToF:
   case SpvOpConvertUToF:
      if (!glsl_type_is_cmat(vtn_get_type(b, w[1])->type) || !is_transposing(b, w[2]))
         return false;
      transpose(b, w, opcode);
      return true;
   default:
      return false;
   }
}

/* ---- reductions ---- */

static void check_operand(struct vtn_builder *b, const struct vtn_type *type,
                          const struct glsl_type *element, const char *what)
{
   vtn_fail_if(type->base_type != vtn_base_type_scalar ||
                  glsl_get_bit_size(type->type) != glsl_get_bit_size(element),
               "A reduction's function has %s of another type than the matrices' components", what);
}

/* Checks that a function combines two components to one. */
static void check_combination(struct vtn_builder *b, const struct vtn_function *function,
                              const struct glsl_type *element)
{
   vtn_fail_if(function->type->length != 2, "A reduction's function has two parameters");
   for (unsigned i = 0; i < 2; i++)
      check_operand(b, function->type->params[i], element, "a parameter");
   check_operand(b, function->type->return_type, element, "a result");
}

void weft_reduce(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   nir_deref_instr *source = vtn_get_cmat_deref(b, w[3]);
   const uint32_t reduce = w[4];
   struct vtn_function *function = vtn_value(b, w[5], vtn_value_type_function)->func;
   nir_deref_instr *result = create_result(b, w, "cmat_reduce");
   const struct glsl_cmat_description from = desc_of(source), to = desc_of(result);

   /* The validator does not know dimensions that are specialization constants. */
   const bool rows = reduce & SpvCooperativeMatrixReduceRowMask,
              columns = reduce & SpvCooperativeMatrixReduceColumnMask;
   vtn_fail_if(from.use != GLSL_CMAT_USE_ACCUMULATOR || to.use != GLSL_CMAT_USE_ACCUMULATOR,
               "OpCooperativeMatrixReduceNV of matrices that are no accumulators");
   vtn_fail_if(from.element_type != to.element_type || from.scope != to.scope,
               "OpCooperativeMatrixReduceNV to another component type or scope");
   vtn_fail_if(reduce == 0 || reduce > SpvCooperativeMatrixReduce2x2Mask,
               "OpCooperativeMatrixReduceNV: unknown Reduce %u", reduce);
   vtn_fail_if(reduce == SpvCooperativeMatrixReduce2x2Mask
                  ? from.rows != 2 * to.rows || from.cols != 2 * to.cols
                  : (!columns && from.rows != to.rows) || (!rows && from.cols != to.cols),
               "OpCooperativeMatrixReduceNV of a %ux%u matrix to %ux%u", from.rows, from.cols,
               to.rows, to.cols);

   check_combination(b, function, glsl_get_cmat_element(source->type));
   nir_cmat_reduce_weft(&b->nb, &result->def, &source->def, .reduction = reduce,
                        .callee = weft_callee(b, function));
   vtn_push_var_ssa(b, w[2], result->var);
}

/* ---- per-element operations ---- */

static bool takes_element(const struct glsl_type *operand, const struct glsl_type *param)
{
   return operand && glsl_type_is_cmat(operand) && !glsl_type_is_cmat(param);
}

static void check_argument(struct vtn_builder *b, const struct glsl_type *operand,
                           const struct glsl_type *param, struct glsl_cmat_description result)
{
   if (!takes_element(operand, param)) {
      vtn_fail_if(!operand || glsl_get_bare_type(operand) != glsl_get_bare_type(param),
                  "OpCooperativeMatrixPerElementOpNV: an operand of another type than the "
                  "function's parameter");
      return;
   }
   const struct glsl_cmat_description other = *glsl_get_cmat_description(operand);
   vtn_fail_if(other.rows != result.rows || other.cols != result.cols || other.use != result.use ||
                  other.scope != result.scope,
               "OpCooperativeMatrixPerElementOpNV with a matrix of another shape, use or scope");
   vtn_fail_if(glsl_get_cmat_element(operand) != param,
               "OpCooperativeMatrixPerElementOpNV: a matrix's elements are no operands of the "
               "function");
}

/* The parameters of a per-element operation's function: row, column, element, operands[]. */
static void check_parameters(struct vtn_builder *b, const struct vtn_type *function,
                             const struct glsl_type *matrix, const uint32_t *operands,
                             unsigned count)
{
   const struct glsl_type *element = glsl_get_cmat_element(matrix);
   vtn_fail_if(function->length != 3 + count,
               "OpCooperativeMatrixPerElementOpNV: a function of %u parameters for %u operands",
               function->length, count);
   for (unsigned i = 0; i < 2; i++) {
      const struct glsl_type *type = function->params[i]->type;
      vtn_fail_if(!glsl_type_is_scalar(type) || glsl_get_bit_size(type) != 32,
                  "A per-element operation's function takes row and column as numbers of 32 bits");
   }
   vtn_fail_if(function->params[2]->type != element || function->return_type->type != element,
               "A per-element operation's function takes and returns an element of the matrix");
   for (unsigned i = 0; i < count; i++)
      check_argument(b, vtn_get_value_type(b, operands[i])->type, function->params[3 + i]->type,
                     *glsl_get_cmat_description(matrix));
}

/* Adds a value to the front of a list of arguments. Calls have a parameter for each scalar, vector
 * and pointer. */
static nir_def *add_argument(struct vtn_builder *b, struct vtn_ssa_value *value, nir_def *list)
{
   if (glsl_type_is_cmat(value->type))
      return nir_cmat_argument_weft(&b->nb, list, &vtn_get_deref_for_ssa_value(b, value)->def);
   if (glsl_type_is_vector_or_scalar(value->type))
      return nir_cmat_argument_weft(&b->nb, list, value->def);
   for (unsigned i = glsl_get_length(value->type); i-- > 0;)
      list = add_argument(b, value->elems[i], list);
   return list;
}

void weft_per_element_op(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   nir_builder *nb = &b->nb;
   const uint32_t *operands = w + 5;
   const unsigned operand_count = count - 5;
   struct vtn_function *function = vtn_value(b, w[4], vtn_value_type_function)->func;
   nir_deref_instr *source = vtn_get_cmat_deref(b, w[3]),
                   *result = create_result(b, w, "cmat_per_element");
   vtn_fail_if(result->type != source->type, "OpCooperativeMatrixPerElementOpNV to another type");
   check_parameters(b, function->type, result->type, operands, operand_count);

   nir_def *arguments = nir_undef(nb, 1, 32);
   for (unsigned i = operand_count; i-- > 0;) {
      if (takes_element(vtn_get_value_type(b, operands[i])->type,
                        function->type->params[3 + i]->type))
         arguments =
            nir_cmat_element_argument_weft(nb, arguments, &vtn_get_cmat_deref(b, operands[i])->def);
      else
         arguments = add_argument(b, vtn_ssa_value(b, operands[i]), arguments);
   }
   nir_cmat_per_element_weft(nb, &result->def, &source->def, arguments, nir_imm_ivec2(nb, 0, 0),
                             .callee = weft_callee(b, function));
   vtn_push_var_ssa(b, w[2], result->var);
}

/* ---- coordinates ---- */

void weft_get_coordinate(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   /* vtn does not know that this one has a result. */
   vtn_untyped_value(b, w[2])->type = vtn_get_type(b, w[1]);
   nir_builder *nb = &b->nb;
   nir_deref_instr *matrix = vtn_get_cmat_deref(b, w[3]);
   nir_def *number = vtn_get_nir_ssa(b, w[4]);
   nir_def *element = nir_cmat_coordinates_weft(nb, number, .cmat_desc = desc_of(matrix));
   vtn_push_nir_ssa(b, w[2], nir_trim_vector(nb, element, 2));
}
