/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_arrays.h"

#include "nir_passes/front_end/vtn_handlers.h"

/* ---- arrays ---- */

/* Consecutive numbers of 8, 16 or 32 bits, in words of 32 bits. */
struct words {
   nir_def **defs;
   unsigned count;
};

static unsigned element_bits(struct vtn_builder *b, const struct vtn_type *array)
{
   vtn_fail_if(array->base_type != vtn_base_type_array ||
                  array->array_element->base_type != vtn_base_type_scalar ||
                  !glsl_type_is_numeric(array->array_element->type),
               "An array of elements that are no numbers");
   const unsigned bits = glsl_get_bit_size(array->array_element->type);
   vtn_fail_if(bits > 32, "An array of numbers of %u bits: at most 32 are supported", bits);
   return bits;
}

static struct words pack(struct vtn_builder *b, nir_def *const *elements, unsigned count)
{
   nir_builder *nb = &b->nb;
   const unsigned bits = elements[0]->bit_size, per_word = 32 / bits;
   struct words words = {.count = DIV_ROUND_UP(count, per_word)};
   words.defs = vtn_alloc_array(b, nir_def *, words.count);
   for (unsigned i = 0; i < count; i++) {
      nir_def **word = &words.defs[i / per_word];
      nir_def *part = nir_ishl_imm(nb, nir_u2u32(nb, elements[i]), i % per_word * bits);
      *word = i % per_word ? nir_ior(nb, *word, part) : part;
   }
   return words;
}

static struct words pack_array(struct vtn_builder *b, uint32_t id)
{
   const struct vtn_type *type = vtn_get_value_type(b, id);
   element_bits(b, type);
   struct vtn_ssa_value *array = vtn_ssa_value(b, id);
   nir_def **elements = vtn_alloc_array(b, nir_def *, type->length);
   for (unsigned i = 0; i < type->length; i++)
      elements[i] = array->elems[i]->def;
   return pack(b, elements, type->length);
}

/* Makes the array of these words the result of the instruction. */
static void push_array(struct vtn_builder *b, const uint32_t *w, const struct words *words)
{
   const struct vtn_type *type = vtn_get_type(b, w[1]);
   const unsigned bits = element_bits(b, type), per_word = 32 / bits;
   struct vtn_ssa_value *array = vtn_create_ssa_value(b, type->type);
   for (unsigned i = 0; i < type->length; i++) {
      nir_def *word = words->defs[i / per_word];
      array->elems[i]->def =
         nir_u2uN(&b->nb, nir_ushr_imm(&b->nb, word, i % per_word * bits), bits);
   }
   vtn_push_ssa_value(b, w[2], array);
}

/* vtn does not know that these instructions have results. */
static struct vtn_type *give_type(struct vtn_builder *b, const uint32_t *w)
{
   return vtn_untyped_value(b, w[2])->type = vtn_get_type(b, w[1]);
}

void weft_bit_cast_array(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const struct vtn_type *to = give_type(b, w), *from = vtn_get_value_type(b, w[3]);
   vtn_fail_if(element_bits(b, to) * to->length != element_bits(b, from) * from->length,
               "OpBitCastArrayQCOM to an array of another size");
   const struct words words = pack_array(b, w[3]);
   push_array(b, w, &words);
}

void weft_extract_sub_array(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   nir_builder *nb = &b->nb;
   const struct vtn_type *to = give_type(b, w), *from = vtn_get_value_type(b, w[3]);
   vtn_fail_if(element_bits(b, to) != element_bits(b, from) || to->length > from->length,
               "OpExtractSubArrayQCOM of %u elements, from %u", to->length, from->length);
   nir_variable *source = nir_local_variable_create(nb->impl, from->type, "array");
   nir_deref_instr *deref = nir_build_deref_var(nb, source);
   vtn_local_store(b, vtn_ssa_value(b, w[3]), deref, 0);
   /* Elements outside of the source are undefined, but may not be read. */
   nir_def *first =
      nir_umin(nb, vtn_get_nir_ssa(b, w[4]), nir_imm_int(nb, (int)(from->length - to->length)));
   struct vtn_ssa_value *result = vtn_create_ssa_value(b, to->type);
   for (unsigned i = 0; i < to->length; i++) {
      nir_deref_instr *element = nir_build_deref_array(nb, deref, nir_iadd_imm(nb, first, i));
      result->elems[i]->def = nir_load_deref(nb, element);
   }
   vtn_push_ssa_value(b, w[2], result);
}

/* ---- matrices ---- */

/* The rows of a matrix, or the columns of B. */
struct lines {
   unsigned count, length;
   bool are_columns;
};

static struct lines lines_of(struct vtn_builder *b, const struct vtn_type *matrix,
                             const struct vtn_type *array, const char *opcode)
{
   const struct weft_front_end *front_end = b->options->handlers.private_data;
   const struct glsl_cmat_description *desc = &matrix->desc;
   vtn_fail_if(desc->scope != SCOPE_SUBGROUP || desc->use == GLSL_CMAT_USE_NONE,
               "%s: the matrix has another scope than the subgroup, or no use", opcode);
   const struct lines lines = desc->use == GLSL_CMAT_USE_B
                                 ? (struct lines){desc->cols, desc->rows, true}
                                 : (struct lines){desc->rows, desc->cols, false};
   const char *what = lines.are_columns ? "columns" : "rows";
   vtn_fail_if(lines.count > front_end->subgroup_size,
               "%s: a matrix of %u %s, more than a subgroup's %u invocations", opcode, lines.count,
               what, front_end->subgroup_size);

   const struct glsl_type *component = matrix->component_type->type;
   const unsigned bits = glsl_get_bit_size(component);
   vtn_fail_if(vtn_is_bits_only_float(component) || bits > 32 ||
                  (bits == 16 && glsl_type_is_integer(component)),
               "%s of a component type other than 8- or 32-bit integers and 16- or 32-bit floats",
               opcode);
   const bool of_words = array->array_element->type == glsl_uint_type();
   vtn_fail_if((array->array_element->type != component && !of_words) ||
                  element_bits(b, array) * array->length != bits * lines.length,
               "%s: an array of %u elements does not fit the %s, which have %u components of %u "
               "bits",
               opcode, array->length, what, lines.length, bits);
   return lines;
}

struct gather {
   struct lines lines;
   struct words words;
   nir_deref_instr *result;
   unsigned bits;
};

/* Takes an element of the result from the invocation that has its row or column. */
static void take_from_array(struct vtn_builder *b, const struct gather *gather, nir_def *component,
                            nir_def *row, nir_def *col)
{
   nir_builder *nb = &b->nb;
   nir_def *line = gather->lines.are_columns ? col : row,
           *place = gather->lines.are_columns ? row : col;
   const unsigned per_word = 32 / gather->bits;
   nir_def *word_number = nir_udiv_imm(nb, place, per_word), *word = NULL;
   for (unsigned i = 0; i < gather->words.count; i++) {
      nir_def *candidate = nir_shuffle(nb, gather->words.defs[i], line);
      word = word ? nir_bcsel(nb, nir_ieq_imm(nb, word_number, i), candidate, word) : candidate;
   }
   nir_def *shift = nir_imul_imm(nb, nir_umod_imm(nb, place, per_word), gather->bits);
   nir_def *value = nir_u2uN(nb, nir_ushr(nb, word, shift), gather->bits);
   nir_cmat_insert(nb, &gather->result->def, value, &gather->result->def, component);
}

/* A loop over the components that the invocation has in the matrix. */
static void gather_all(struct vtn_builder *b, const struct glsl_cmat_description *desc,
                       const struct gather *gather)
{
   nir_builder *nb = &b->nb;
   nir_variable *counter = nir_local_variable_create(nb->impl, glsl_uint_type(), "component");
   nir_store_var(nb, counter, nir_imm_int(nb, 0), 1);
   nir_def *count = nir_cmat_length(nb, .cmat_desc = *desc);
   nir_loop *loop = nir_push_loop(nb);
   {
      nir_def *number = nir_load_var(nb, counter);
      nir_break_if(nb, nir_uge(nb, number, count));
      nir_def *element = nir_cmat_coordinates_weft(nb, number, .cmat_desc = *desc);
      nir_if *inside = nir_push_if(nb, nir_ine_imm(nb, nir_channel(nb, element, 2), 0));
      {
         nir_def *row = nir_channel(nb, element, 0), *col = nir_channel(nb, element, 1);
         take_from_array(b, gather, number, row, col);
      }
      nir_pop_if(nb, inside);
      nir_store_var(nb, counter, nir_iadd_imm(nb, number, 1), 1);
   }
   nir_pop_loop(nb, loop);
}

void weft_matrix_of_arrays(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const struct vtn_type *type = give_type(b, w);
   struct gather gather = {
      .lines = lines_of(b, type, vtn_get_value_type(b, w[3]), "OpCompositeConstructCoopMatQCOM"),
      .words = pack_array(b, w[3]),
      .result = vtn_create_cmat_temporary(b, type->type, "cmat_of_arrays"),
      .bits = glsl_get_bit_size(type->component_type->type),
   };
   gather_all(b, &type->desc, &gather);
   vtn_push_var_ssa(b, w[2], gather.result->var);
}

void weft_array_of_matrix(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   nir_builder *nb = &b->nb;
   const struct vtn_type *type = vtn_get_value_type(b, w[3]);
   const struct lines lines = lines_of(b, type, give_type(b, w), "OpCompositeExtractCoopMatQCOM");
   nir_deref_instr *matrix = vtn_get_cmat_deref(b, w[3]);
   const unsigned bits = glsl_get_bit_size(type->component_type->type);
   /* Invocations beyond the last line get undefined arrays. */
   nir_def *line =
      nir_umin(nb, nir_load_subgroup_invocation(nb), nir_imm_int(nb, (int)(lines.count - 1)));
   nir_def **elements = vtn_alloc_array(b, nir_def *, lines.length);
   for (unsigned i = 0; i < lines.length; i++) {
      nir_def *place = nir_imm_int(nb, (int)i);
      elements[i] = nir_cmat_element_weft(nb, bits, &matrix->def, lines.are_columns ? place : line,
                                          lines.are_columns ? line : place);
   }
   const struct words words = pack(b, elements, lines.length);
   push_array(b, w, &words);
}
