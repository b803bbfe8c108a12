/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_elements.h"

#include "nir_passes/front_end/vtn_components.h"
#include "nir_passes/front_end/vtn_small_floats.h"
#include "nir_passes/matrices/small_floats.h"

#define DECORATION_TRANSPOSE 5440

/* CooperativeMatrixReduce */
#define REDUCE_ROW 1
#define REDUCE_COLUMN 2
#define REDUCE_2X2 4

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
       (uint32_t)decoration->decoration == DECORATION_TRANSPOSE)
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

/* The combination of two elements. */
static nir_def *combine(struct vtn_builder *b, struct vtn_function *function, nir_def *x,
                        nir_def *y)
{
   vtn_fail_if(function->type->length != 2, "A reduction's function has two parameters");
   struct vtn_ssa_value *args[] = {scalar(b, function->type->params[0]->type, x),
                                   scalar(b, function->type->params[1]->type, y)};
   struct vtn_ssa_value *result = vtn_call_function(b, function, args, 2);
   vtn_fail_if(!result, "A reduction's function returns nothing");
   return result->def;
}

/* ---- conversions ---- */

struct conversion {
   nir_deref_instr *result, *source;
   uint32_t opcode;
   bool saturate;
};

static void convert_transposed(struct vtn_builder *b, const struct weft_component *c, void *data)
{
   const struct conversion *conversion = data;
   nir_builder *nb = &b->nb;
   nir_def *value = nir_cmat_element_weft(nb, bits_of(conversion->source), &conversion->source->def,
                                          c->col, c->row);
   value = weft_convert_component(b, value, conversion->opcode, conversion->source->type,
                                  conversion->result->type, conversion->saturate);
   nir_cmat_insert(nb, &conversion->result->def, value, &conversion->result->def, c->number);
}

static void convert_and_transpose(struct vtn_builder *b, const uint32_t *w, uint32_t opcode)
{
   struct conversion conversion = {create_result(b, w, "cmat_transpose"),
                                   vtn_get_cmat_deref(b, w[3]), opcode,
                                   weft_is_saturating(b, w[2])};
   const struct glsl_cmat_description desc = desc_of(conversion.result);
   weft_for_each_component(b, &desc, convert_transposed, &conversion);
   vtn_push_var_ssa(b, w[2], conversion.result->var);
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

/* The conversion that the types ask for by themselves. */
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

/* The component types may be different (SPV_NV_cooperative_matrix2 does not say that they are the
 * same, and programs rely on it). */
void weft_transpose(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   nir_deref_instr *source = vtn_get_cmat_deref(b, w[3]);
   const struct glsl_type *from = glsl_get_cmat_element(source->type),
                          *to = glsl_get_cmat_element(vtn_get_type(b, w[1])->type);
   if (from != to) {
      convert_and_transpose(b, w, conversion_between(from, to));
      return;
   }
   nir_deref_instr *result = create_result(b, w, "cmat_transpose");
   nir_cmat_transpose_weft(&b->nb, &result->def, &source->def);
   vtn_push_var_ssa(b, w[2], result->var);
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
      convert_and_transpose(b, w, opcode);
      return true;
   default:
      return false;
   }
}

/* ---- reductions ---- */

/* One step along rows or columns: elements fall into groups of `factor` of them, `stride` apart,
 * and all of a group become the combination of them.  Each of the group takes the same elements in
 * the same order, so that all have the same value to the last bit. */
struct step {
   struct vtn_function *function;
   nir_deref_instr *result, *source;
   bool along_row;
   unsigned stride, factor;
};

/* Of the row or column that a component is in, the element at a place. */
static nir_def *line_element(nir_builder *nb, nir_deref_instr *matrix, bool along_row,
                             const struct weft_component *c, nir_def *place)
{
   return nir_cmat_element_weft(nb, bits_of(matrix), &matrix->def, along_row ? c->row : place,
                                along_row ? place : c->col);
}

/* The element of a group: the one at `first` and those after it. */
static nir_def *group_element(nir_builder *nb, const struct step *step,
                              const struct weft_component *c, nir_def *first, nir_def *number)
{
   nir_def *place = nir_iadd(nb, first, nir_imul_imm(nb, number, step->stride));
   return line_element(nb, step->source, step->along_row, c, place);
}

static void combine_group(struct vtn_builder *b, const struct weft_component *c, void *data)
{
   const struct step *step = data;
   nir_builder *nb = &b->nb;
   nir_def *at = step->along_row ? c->col : c->row;
   nir_def *in_group = nir_umod_imm(nb, nir_udiv_imm(nb, at, step->stride), step->factor);
   nir_def *first = nir_isub(nb, at, nir_imul_imm(nb, in_group, step->stride));
   nir_def *value = group_element(nb, step, c, first, nir_imm_int(nb, 0));
   nir_variable *sum =
      nir_local_variable_create(nb->impl, glsl_uintN_t_type(value->bit_size), "combined");
   nir_variable *counter = nir_local_variable_create(nb->impl, glsl_uint_type(), "of_group");
   nir_store_var(nb, sum, value, 1);
   nir_store_var(nb, counter, nir_imm_int(nb, 1), 1);
   nir_loop *loop = nir_push_loop(nb);
   {
      nir_def *number = nir_load_var(nb, counter);
      nir_break_if(nb, nir_uge_imm(nb, number, step->factor));
      nir_def *element = group_element(nb, step, c, first, number);
      nir_store_var(nb, sum, combine(b, step->function, nir_load_var(nb, sum), element), 1);
      nir_store_var(nb, counter, nir_iadd_imm(nb, number, 1), 1);
   }
   nir_pop_loop(nb, loop);
   nir_cmat_insert(nb, &step->result->def, nir_load_var(nb, sum), &step->result->def, c->number);
}

static unsigned smallest_odd_factor(unsigned n)
{
   for (unsigned factor = 3; factor * factor <= n; factor += 2) {
      if (n % factor == 0)
         return factor;
   }
   return n;
}

/* A step whose groups are pairs. */
struct pairs {
   struct vtn_function *function;
   nir_deref_instr *result, *source;
   bool along_row;
   unsigned stride; /* a power of two */
};

/* The first of a pair stands first in both of its elements' sums. */
static void combine_pair(struct vtn_builder *b, const struct weft_component *c, void *data)
{
   const struct pairs *pairs = data;
   nir_builder *nb = &b->nb;
   nir_def *at = pairs->along_row ? c->col : c->row;
   nir_def *stride = nir_imm_int(nb, (int)pairs->stride);
   nir_def *own = nir_cmat_extract(nb, bits_of(pairs->source), &pairs->source->def, c->number);
   nir_def *other = line_element(nb, pairs->source, pairs->along_row, c, nir_ixor(nb, at, stride));
   nir_def *is_second = nir_ine_imm(nb, nir_iand(nb, at, stride), 0);
   nir_def *value = combine(b, pairs->function, nir_bcsel(nb, is_second, other, own),
                            nir_bcsel(nb, is_second, own, other));
   nir_cmat_insert(nb, &pairs->result->def, value, &pairs->result->def, c->number);
}

/* All elements that are equal in their place along the line but for the bits below `stride` become
 * the combination of them.  No loop: where strides are constant, back ends know which invocation
 * has the other of a pair. */
static nir_deref_instr *reduce_pairs(struct vtn_builder *b, struct vtn_function *function,
                                     nir_deref_instr *matrix, bool along_row, unsigned stride)
{
   const struct glsl_cmat_description desc = desc_of(matrix);
   struct pairs pairs = {function, NULL, matrix, along_row, 1};
   nir_deref_instr *unused = NULL;
   for (; pairs.stride < stride; pairs.stride *= 2) {
      pairs.result = unused ? unused : vtn_create_cmat_temporary(b, matrix->type, "cmat_reduce");
      weft_for_each_component(b, &desc, combine_pair, &pairs);
      unused = pairs.source == matrix ? NULL : pairs.source;
      pairs.source = pairs.result;
   }
   return pairs.source;
}

/* A matrix in which every element is the combination of its row (or column) of the source. */
static nir_deref_instr *reduce_lines(struct vtn_builder *b, struct vtn_function *function,
                                     nir_deref_instr *matrix, bool along_row)
{
   const struct glsl_cmat_description desc = desc_of(matrix);
   const unsigned length = along_row ? desc.cols : desc.rows;
   const unsigned power_of_two = length & -length;
   struct step step = {function, NULL, matrix, along_row, power_of_two, 0};
   step.source = reduce_pairs(b, function, matrix, along_row, power_of_two);
   while (step.stride < length) {
      step.factor = smallest_odd_factor(length / step.stride);
      step.result = vtn_create_cmat_temporary(b, matrix->type, "cmat_reduce");
      weft_for_each_component(b, &desc, combine_group, &step);
      step.source = step.result;
      step.stride *= step.factor;
   }
   return step.source;
}

/* Adds `value` to the sum, or makes it the sum. */
static void accumulate(struct vtn_builder *b, struct vtn_function *function, nir_variable *sum,
                       nir_def *is_first, nir_def *value)
{
   nir_builder *nb = &b->nb;
   nir_if *first = nir_push_if(nb, is_first);
   nir_store_var(nb, sum, value, 1);
   nir_push_else(nb, first);
   nir_store_var(nb, sum, combine(b, function, nir_load_var(nb, sum), value), 1);
   nir_pop_if(nb, first);
}

/* All of a matrix in whose rows all elements are the same: one row after the other, which every invocation
 * does alike.  Steps as above would move every element at each of them.  Eight rows have a sum of their own,
 * so that few roundings follow on each other. */
static nir_def *combine_rows(struct vtn_builder *b, struct vtn_function *function,
                             nir_deref_instr *matrix)
{
   nir_builder *nb = &b->nb;
   const struct glsl_type *type = glsl_uintN_t_type(bits_of(matrix));
   nir_variable *sum = nir_local_variable_create(nb->impl, type, "combined");
   nir_variable *part = nir_local_variable_create(nb->impl, type, "of_eight");
   nir_variable *counter = nir_local_variable_create(nb->impl, glsl_uint_type(), "row");
   const unsigned rows = desc_of(matrix).rows;
   nir_store_var(nb, counter, nir_imm_int(nb, 0), 1);
   nir_loop *loop = nir_push_loop(nb);
   {
      nir_def *row = nir_load_var(nb, counter), *next = nir_iadd_imm(nb, row, 1);
      nir_break_if(nb, nir_uge_imm(nb, row, rows));
      nir_def *element =
         nir_cmat_element_weft(nb, bits_of(matrix), &matrix->def, row, nir_imm_int(nb, 0));
      accumulate(b, function, part, nir_ieq_imm(nb, nir_iand_imm(nb, row, 7), 0), element);
      nir_push_if(nb, nir_ior(nb, nir_ieq_imm(nb, nir_iand_imm(nb, next, 7), 0),
                              nir_ieq_imm(nb, next, rows)));
      accumulate(b, function, sum, nir_ult_imm(nb, row, 8), nir_load_var(nb, part));
      nir_pop_if(nb, NULL);
      nir_store_var(nb, counter, next, 1);
   }
   nir_pop_loop(nb, loop);
   return nir_load_var(nb, sum);
}

/* A result whose lines are the same: any element of them will do. */
struct spread {
   nir_deref_instr *result, *source;
   bool along_row;
};

static void take_reduced(struct vtn_builder *b, const struct weft_component *c, void *data)
{
   const struct spread *spread = data;
   nir_builder *nb = &b->nb;
   nir_def *zero = nir_imm_int(nb, 0);
   nir_def *value = line_element(nb, spread->source, spread->along_row, c, zero);
   nir_cmat_insert(nb, &spread->result->def, value, &spread->result->def, c->number);
}

struct quads {
   struct vtn_function *function;
   nir_deref_instr *result, *source;
};

static void combine_quad(struct vtn_builder *b, const struct weft_component *c, void *data)
{
   const struct quads *quads = data;
   nir_builder *nb = &b->nb;
   nir_def *pairs[2];
   for (unsigned i = 0; i < 2; i++) {
      nir_def *row = nir_iadd_imm(nb, nir_imul_imm(nb, c->row, 2), i), *elements[2];
      for (unsigned j = 0; j < 2; j++) {
         nir_def *col = nir_iadd_imm(nb, nir_imul_imm(nb, c->col, 2), j);
         elements[j] =
            nir_cmat_element_weft(nb, bits_of(quads->source), &quads->source->def, row, col);
      }
      pairs[i] = combine(b, quads->function, elements[0], elements[1]);
   }
   nir_def *value = combine(b, quads->function, pairs[0], pairs[1]);
   nir_cmat_insert(nb, &quads->result->def, value, &quads->result->def, c->number);
}

void weft_reduce(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   nir_deref_instr *source = vtn_get_cmat_deref(b, w[3]);
   const uint32_t reduce = w[4];
   struct vtn_function *function = vtn_value(b, w[5], vtn_value_type_function)->func;
   nir_deref_instr *result = create_result(b, w, "cmat_reduce");
   const struct glsl_cmat_description from = desc_of(source), to = desc_of(result);

   /* What the validator cannot tell where dimensions are specialization constants. */
   const bool rows = reduce & REDUCE_ROW, columns = reduce & REDUCE_COLUMN;
   vtn_fail_if(from.use != GLSL_CMAT_USE_ACCUMULATOR || to.use != GLSL_CMAT_USE_ACCUMULATOR,
               "OpCooperativeMatrixReduceNV of matrices that are no accumulators");
   vtn_fail_if(from.element_type != to.element_type || from.scope != to.scope,
               "OpCooperativeMatrixReduceNV to another component type or scope");
   vtn_fail_if(reduce == 0 || reduce > REDUCE_2X2, "OpCooperativeMatrixReduceNV: unknown Reduce %u",
               reduce);
   vtn_fail_if(reduce == REDUCE_2X2
                  ? from.rows != 2 * to.rows || from.cols != 2 * to.cols
                  : (!columns && from.rows != to.rows) || (!rows && from.cols != to.cols),
               "OpCooperativeMatrixReduceNV of a %ux%u matrix to %ux%u", from.rows, from.cols,
               to.rows, to.cols);

   if (reduce == REDUCE_2X2) {
      struct quads quads = {function, result, source};
      weft_for_each_component(b, &to, combine_quad, &quads);
   } else {
      source = reduce_lines(b, function, source, rows);
      if (rows && columns) {
         nir_cmat_construct(&b->nb, &result->def, combine_rows(b, function, source));
      } else if (from.rows == to.rows && from.cols == to.cols) {
         nir_cmat_copy(&b->nb, &result->def, &source->def);
      } else {
         struct spread spread = {result, source, rows};
         weft_for_each_component(b, &to, take_reduced, &spread);
      }
   }
   vtn_push_var_ssa(b, w[2], result->var);
}

/* ---- per-element operations ---- */

struct operation {
   struct vtn_function *function;
   nir_deref_instr *result, *source;
   const uint32_t *operands; /* ids of the further ones */
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
