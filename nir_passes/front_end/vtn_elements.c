/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_elements.h"

#include "nir_passes/front_end/vtn_components.h"
#include "nir_passes/front_end/vtn_small_floats.h"
#include "nir_passes/matrices/small_floats.h"
#include "nir_passes/spirv_enums.h"

static struct glsl_cmat_description desc_of(nir_deref_instr *matrix)
{
   return *glsl_get_cmat_description(matrix->type);
}

static unsigned bits_of(nir_deref_instr *matrix)
{
   return glsl_get_bit_size(glsl_get_cmat_element(matrix->type));
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

/* ---- calls ---- */

static struct vtn_ssa_value *scalar(struct vtn_builder *b, const struct glsl_type *type,
                                    nir_def *def)
{
   struct vtn_ssa_value *value = vtn_create_ssa_value(b, type);
   value->def = def;
   return value;
}

/* The place of a function in the list of functions, which is its name in an intrinsic. Also has the
 * function translated. */
static unsigned reference(struct vtn_builder *b, struct vtn_function *function)
{
   function->referenced = true;
   unsigned number = 0;
   nir_foreach_function(other, b->shader)
   {
      if (other == function->nir_func)
         return number;
      number++;
   }
   vtn_fail("A function that the module does not have");
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
                        .callee = reference(b, function));
   vtn_push_var_ssa(b, w[2], result->var);
}

/* ---- per-element operations ---- */

struct operation {
   struct vtn_function *function;
   nir_deref_instr *result, *source;
   const uint32_t *operands; /* ids of the further operands */
   unsigned count;
};

static void operate(struct vtn_builder *b, const struct weft_component *c, void *data)
{
   const struct operation *op = data;
   nir_builder *nb = &b->nb;
   struct vtn_type **params = op->function->type->params;
   struct vtn_ssa_value **args = vtn_alloc_array(b, struct vtn_ssa_value *, 3 + op->count);
   args[0] = scalar(b, params[0]->type, c->row);
   args[1] = scalar(b, params[1]->type, c->col);
   args[2] = scalar(b, params[2]->type,
                    nir_cmat_extract(nb, bits_of(op->source), &op->source->def, c->number));
   for (unsigned i = 0; i < op->count; i++) {
      struct vtn_ssa_value *operand = vtn_ssa_value(b, op->operands[i]);
      const struct glsl_type *type = params[3 + i]->type;
      if (glsl_type_is_cmat(operand->type) && !glsl_type_is_cmat(type)) {
         nir_deref_instr *matrix = vtn_get_cmat_deref(b, op->operands[i]);
         operand = scalar(b, type, nir_cmat_extract(nb, bits_of(matrix), &matrix->def, c->number));
      }
      args[3 + i] = operand;
   }
   struct vtn_ssa_value *value = vtn_call_function(b, op->function, args, 3 + op->count);
   vtn_fail_if(!value, "A per-element operation's function returns nothing");
   nir_cmat_insert(nb, &op->result->def, value->def, &op->result->def, c->number);
}

void weft_per_element_op(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const unsigned first = 5;
   struct operation op = {vtn_value(b, w[4], vtn_value_type_function)->func,
                          create_result(b, w, "cmat_per_element"), vtn_get_cmat_deref(b, w[3]),
                          w + first, count - first};
   const struct glsl_cmat_description desc = desc_of(op.result);
   vtn_fail_if(op.result->type != op.source->type,
               "OpCooperativeMatrixPerElementOpNV to another type");
   vtn_fail_if(op.function->type->length != 3 + op.count,
               "OpCooperativeMatrixPerElementOpNV: a function of %u parameters for %u operands",
               op.function->type->length, op.count);
   for (unsigned i = 0; i < op.count; i++) {
      const struct glsl_type *operand = vtn_get_value_type(b, op.operands[i])->type,
                             *param = op.function->type->params[3 + i]->type;
      if (!operand || !glsl_type_is_cmat(operand) || glsl_type_is_cmat(param))
         continue;
      const struct glsl_cmat_description other = *glsl_get_cmat_description(operand);
      vtn_fail_if(other.rows != desc.rows || other.cols != desc.cols || other.use != desc.use ||
                     other.scope != desc.scope,
                  "OpCooperativeMatrixPerElementOpNV with a matrix of another shape, use or scope");
      vtn_fail_if(glsl_get_cmat_element(operand) != param,
                  "OpCooperativeMatrixPerElementOpNV: a matrix's elements are no operands of the "
                  "function");
   }
   weft_for_each_component(b, &desc, operate, &op);
   vtn_push_var_ssa(b, w[2], op.result->var);
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
