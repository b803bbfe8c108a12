/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Loads and stores of matrices through tensor layouts and views (SPV_NV_cooperative_matrix2, "Tensor
 * Layout and View"): each invocation moves its components one by one.  An element's way to memory:
 *
 *    row, column ── clip ──► index ──► view coordinates, permuted ──► index      (with a view)
 *    index ──► coordinates in the span ── offset, clamp ──► coordinates in the tensor
 *          ──► block, place in the block ──► number of the element (or block) in memory
 *
 * All of it is arithmetic of 32 bits.  What the types alone tell is known here; that most numbers
 * are constants shows only once variables are gone, so conditions that fold then are written out. */

#include "nir_passes/front_end/vtn_components.h"
#include "nir_passes/front_end/vtn_handlers.h"
#include "nir_passes/front_end/vtn_tensors.h"
#include "nir_passes/matrices/cmat_marks.h"

struct access {
   bool is_store;
   struct glsl_cmat_description desc;
   struct weft_tensor_layout layout;
   const struct weft_tensor_view *view;
   nir_deref_instr *memory; /* an array of components, or of what the decode function reads */
   bool is_aligned;         /* what becomes of it has to be: weft_front_end's aligned_matrices */
   enum gl_access_qualifier qualifiers;
   struct vtn_function *decode, *decode_vector;
   struct weft_runs runs; /* that decode_vector may fill; of length 0: none */
   bool in_runs;          /* it does */
   nir_deref_instr *matrix;
};

/* A number, and what is known of it.  Where radix is set, it is high * radix + low with low < radix;
 * where bound is, it is below that. */
struct number {
   nir_def *value;
   nir_def *high, *low, *radix;
   nir_def *bound;
};

/* The remainder of the division by a number; n becomes the quotient.  Spans mostly are what matrices
 * have as rows and columns, and then nothing has to be divided. */
static nir_def *divide(nir_builder *nb, struct number *n, nir_def *by)
{
   nir_def *remainder = nir_umod(nb, n->value, by), *quotient = nir_udiv(nb, n->value, by);
   if (n->radix) {
      nir_def *same = nir_ieq(nb, n->radix, by);
      remainder = nir_bcsel(nb, same, n->low, remainder);
      quotient = nir_bcsel(nb, same, n->high, quotient);
   }
   nir_def *bound = NULL;
   if (n->bound) {
      nir_def *is_below = nir_uge(nb, by, n->bound);
      remainder = nir_bcsel(nb, is_below, n->value, remainder);
      quotient = nir_bcsel(nb, is_below, nir_imm_int(nb, 0), quotient);
      bound = nir_iadd_imm(nb, nir_udiv(nb, nir_iadd_imm(nb, n->bound, -1), by), 1);
   }
   *n = (struct number){.value = quotient, .bound = bound};
   return remainder;
}

/* The matrix as a view of two dimensions: all of it, or the clip's part of it. */
static struct number matrix_index(nir_builder *nb, const struct access *a,
                                  const struct weft_component *element)
{
   nir_def *row = element->row, *col = element->col;
   nir_def *width = nir_imm_int(nb, a->desc.cols);
   if (a->view) {
      row = nir_isub(nb, row, a->view->clip_row_offset);
      col = nir_isub(nb, col, a->view->clip_col_offset);
      width = nir_umin(nb, width, a->view->clip_col_span);
   }
   return (struct number){
      .value = nir_iadd(nb, nir_imul(nb, row, width), col),
      .high = row,
      .low = col,
      .radix = width,
      .bound = nir_imul_imm(nb, width, a->desc.rows),
   };
}

/* first + span <= i wraps around as all arithmetic here. */
static nir_def *is_clipped(nir_builder *nb, nir_def *i, unsigned count, nir_def *first,
                           nir_def *span)
{
   nir_def *end = nir_iadd(nb, first, span);
   /* That no index reaches a large end is nothing that could be found out later. */
   nir_def *is_beyond = nir_iand(nb, nir_ult_imm(nb, end, count), nir_uge(nb, i, end));
   return nir_ior(nb, nir_ult(nb, i, first), is_beyond);
}

/* Replaces the index by coordinates in the span: through the view, where there is one. */
static void get_span_coordinates(nir_builder *nb, const struct access *a, struct number index,
                                 nir_def **coordinates)
{
   const struct weft_tensor_layout *layout = &a->layout;
   const struct weft_tensor_view *view = a->view;
   if (view) {
      nir_def *const *dimension = view->has_dimensions ? view->dimension : layout->span;
      nir_def *in_view[WEFT_MAX_TENSOR_DIM];
      for (unsigned i = view->dim; i-- > 0;) {
         const unsigned d = view->permutation[i];
         in_view[d] = divide(nb, &index, dimension[d]);
      }
      /* Then the view's coordinates are the span's. */
      if (!view->has_dimensions && view->dim == layout->dim) {
         memcpy(coordinates, in_view, sizeof(in_view));
         return;
      }
      nir_def *stride = nir_imm_int(nb, 1);
      index = (struct number){.value = nir_imm_int(nb, 0)};
      for (unsigned i = view->dim; i-- > 0;) {
         nir_def *step = view->has_dimensions ? view->stride[i] : stride;
         index.value = nir_iadd(nb, index.value, nir_imul(nb, in_view[i], step));
         stride = nir_imul(nb, stride, dimension[i]);
      }
   }
   for (unsigned i = layout->dim; i-- > 0;)
      coordinates[i] = divide(nb, &index, layout->span[i]);
}

/* The remainder of i, a signed number, with the divisor's sign (OpSMod).  What imod makes of negative
 * numbers is undefined in Vulkan. */
static nir_def *modulo(nir_builder *nb, nir_def *i, nir_def *by)
{
   nir_def *is_negative = nir_ilt_imm(nb, i, 0);
   nir_def *rest = nir_umod(nb, nir_bcsel(nb, is_negative, nir_inot(nb, i), i), by);
   return nir_bcsel(nb, is_negative, nir_isub(nb, nir_iadd_imm(nb, by, -1), rest), rest);
}

/* Of an outside coordinate, as the clamp mode says. */
static nir_def *clamp(nir_builder *nb, SpvTensorClampMode mode, nir_def *c, nir_def *is_outside,
                      nir_def *dimension)
{
   nir_def *last = nir_iadd_imm(nb, dimension, -1);
   switch (mode) {
   case SpvTensorClampModeClampToEdge:
      return nir_bcsel(nb, nir_ilt_imm(nb, c, 0), nir_imm_int(nb, 0), nir_umin(nb, c, last));
   case SpvTensorClampModeRepeat:
      return nir_bcsel(nb, is_outside, modulo(nb, c, dimension), c);
   case SpvTensorClampModeRepeatMirrored: {
      nir_def *period = nir_ishl_imm(nb, last, 1);
      /* The specification divides by 0 where there is but one element. */
      nir_def *r = modulo(nb, c, nir_umax(nb, period, nir_imm_int(nb, 1)));
      r = nir_bcsel(nb, nir_uge(nb, r, dimension), nir_isub(nb, period, r), r);
      return nir_bcsel(nb, is_outside, r, c);
   }
   default:
      return c;
   }
}

/* Of what lies one after the other in a span, as much as is always in the same block, if the
 * conditions of fits_runs() hold. */
static nir_def *piece_of_block(nir_builder *nb, const struct weft_tensor_layout *layout)
{
   const unsigned last = layout->dim - 1;
   return nir_umin(nb, layout->span[last], layout->block_size[last]);
}

/* The block and the place in it of a last coordinate, where fits_runs(): apart from the offset,
 * from which nobody can tell in advance that it is a multiple. */
static void split_run_coordinate(nir_builder *nb, const struct weft_tensor_layout *layout,
                                 nir_def *in_span, nir_def **block, nir_def **in_block)
{
   const unsigned last = layout->dim - 1;
   nir_def *size = layout->block_size[last], *offset = layout->offset[last];
   nir_def *piece = piece_of_block(nb, layout);
   nir_def *pieces = nir_udiv(nb, nir_umod(nb, offset, size), piece);
   pieces = nir_bcsel(nb, nir_ieq(nb, piece, size), nir_imm_int(nb, 0), pieces);

   struct number n = {.value = in_span, .bound = layout->span[last]};
   *in_block = nir_iadd(nb, nir_imul(nb, pieces, piece), divide(nb, &n, size));
   *block = nir_iadd(nb, nir_udiv(nb, offset, size), n.value);
}

struct place {
   nir_def *index; /* of the element or block in memory */
   nir_def *block[WEFT_MAX_TENSOR_DIM], *in_block[WEFT_MAX_TENSOR_DIM];
   nir_def *is_inside; /* NULL: there is something in any case */
};

static struct place get_place(nir_builder *nb, const struct access *a,
                              const struct weft_component *element)
{
   const struct weft_tensor_layout *layout = &a->layout;
   SpvTensorClampMode mode = layout->clamp_mode;
   if (a->is_store && mode != SpvTensorClampModeUndefined)
      mode = SpvTensorClampModeConstant;

   nir_def *coordinates[WEFT_MAX_TENSOR_DIM];
   get_span_coordinates(nb, a, matrix_index(nb, a, element), coordinates);

   struct place place = {.index = nir_imm_int(nb, 0)};
   for (unsigned i = 0; i < layout->dim; i++) {
      nir_def *c = nir_iadd(nb, coordinates[i], layout->offset[i]);
      if (mode != SpvTensorClampModeUndefined) {
         /* Also c < 0, were a dimension larger than any int. */
         nir_def *limit = nir_umin(nb, layout->dimension[i], nir_imm_int(nb, INT32_MIN));
         nir_def *is_outside = nir_uge(nb, c, limit);
         if (mode == SpvTensorClampModeConstant) {
            nir_def *is_inside = nir_inot(nb, is_outside);
            place.is_inside =
               place.is_inside ? nir_iand(nb, place.is_inside, is_inside) : is_inside;
         }
         c = clamp(nb, mode, c, is_outside, layout->dimension[i]);
      }
      if (a->in_runs && i == layout->dim - 1) {
         split_run_coordinate(nb, layout, coordinates[i], &place.block[i], &place.in_block[i]);
      } else {
         place.in_block[i] = nir_umod(nb, c, layout->block_size[i]);
         place.block[i] = nir_udiv(nb, c, layout->block_size[i]);
      }
      place.index = nir_iadd(nb, place.index, nir_imul(nb, place.block[i], layout->stride[i]));
   }
   return place;
}

static nir_deref_instr *get_element(nir_builder *nb, const struct access *a, nir_def *index)
{
   return nir_build_deref_ptr_as_array(nb, a->memory, nir_u2uN(nb, index, a->memory->def.bit_size));
}

static struct vtn_ssa_value *coordinate_array(struct vtn_builder *b, const struct vtn_type *type,
                                              nir_def *const *coordinates)
{
   struct vtn_ssa_value *array = vtn_create_ssa_value(b, type->type);
   for (unsigned i = 0; i < type->length; i++)
      array->elems[i]->def = coordinates[i];
   return array;
}

/* Calls a function with a pointer to the element's block.  The parameter is a physical pointer; a
 * descriptor's is packed into one, which lower_decode_pointers.h makes a descriptor's again. */
static nir_def *decode_element(struct vtn_builder *b, const struct access *a,
                               const struct place *place)
{
   struct vtn_function *function = a->in_runs ? a->decode_vector : a->decode;
   nir_builder *nb = &b->nb;
   nir_deref_instr *block = get_element(nb, a, place->index);
   struct vtn_type *const *params = function->type->params;
   struct vtn_ssa_value *pointer = vtn_create_ssa_value(b, params[0]->type);
   pointer->def = &block->def;
   if (!nir_deref_mode_is(block, nir_var_mem_global))
      pointer->def = weft_pack_decode_pointer(nb, block);

   struct vtn_ssa_value *const args[] = {
      pointer,
      coordinate_array(b, params[1], place->block),
      coordinate_array(b, params[2], place->in_block),
   };
   return vtn_call_function(b, function, args, ARRAY_SIZE(args))->def;
}

static nir_def *load_element(struct vtn_builder *b, const struct access *a,
                             const struct place *place)
{
   if (a->decode)
      return decode_element(b, a, place);
   return nir_load_deref_with_access(&b->nb, get_element(&b->nb, a, place->index), a->qualifiers);
}

static void load_component(struct vtn_builder *b, const struct weft_component *component,
                           const struct access *a)
{
   nir_builder *nb = &b->nb;
   const struct place place = get_place(nb, a, component);
   nir_def *value;
   if (place.is_inside) {
      nir_if *inside = nir_push_if(nb, place.is_inside);
      nir_def *loaded = load_element(b, a, &place);
      nir_push_else(nb, inside);
      nir_def *outside = nir_replicate(nb, nir_u2uN(nb, a->layout.clamp_value, loaded->bit_size),
                                       loaded->num_components);
      nir_pop_if(nb, inside);
      value = nir_if_phi(nb, loaded, outside);
   } else {
      value = load_element(b, a, &place);
   }
   if (a->in_runs)
      nir_cmat_insert_run_weft(nb, &a->matrix->def, value, &a->matrix->def, component->number,
                               .matrix_layout = a->runs.layout);
   else
      nir_cmat_insert(nb, &a->matrix->def, value, &a->matrix->def, component->number);
}

static void store_component(struct vtn_builder *b, const struct weft_component *component,
                            const struct access *a)
{
   nir_builder *nb = &b->nb;
   const struct place place = get_place(nb, a, component);
   nir_if *inside = place.is_inside ? nir_push_if(nb, place.is_inside) : NULL;
   nir_def *value =
      nir_cmat_extract(nb, glsl_get_bit_size(a->memory->type), &a->matrix->def, component->number);
   nir_store_deref_with_access(nb, get_element(nb, a, place.index), value, 1, a->qualifiers);
   if (inside)
      nir_pop_if(nb, inside);
}

/* The body of the loop. */
static void access_component(struct vtn_builder *b, const struct weft_component *component,
                             void *data)
{
   const struct access *a = data;
   nir_if *unclipped = NULL;
   if (a->view) {
      nir_builder *nb = &b->nb;
      nir_def *is_clipped_away =
         nir_ior(nb,
                 is_clipped(nb, component->row, a->desc.rows, a->view->clip_row_offset,
                            a->view->clip_row_span),
                 is_clipped(nb, component->col, a->desc.cols, a->view->clip_col_offset,
                            a->view->clip_col_span));
      unclipped = nir_push_if(nb, nir_inot(nb, is_clipped_away));
   }
   (a->is_store ? store_component : load_component)(b, component, a);
   if (unclipped)
      nir_pop_if(&b->nb, unclipped);
}

/* Whether the view's clip leaves nothing out. */
static nir_def *is_unclipped(nir_builder *nb, const struct access *a)
{
   nir_def *offsets = nir_ior(nb, a->view->clip_row_offset, a->view->clip_col_offset);
   nir_def *spans = nir_iand(nb, nir_uge_imm(nb, a->view->clip_row_span, a->desc.rows),
                             nir_uge_imm(nb, a->view->clip_col_span, a->desc.cols));
   return nir_iand(nb, nir_ieq_imm(nb, offsets, 0), spans);
}

/* A matrix whose rows or columns lie in memory as those of any other, nothing of it clipped or
 * clamped, is moved whole. */
struct plain {
   enum glsl_matrix_layout matrix_layout;
   nir_def *first, *stride; /* the number of its first element; elements from line to line */
   nir_def *is_so;
};

/* What the types tell. */
static bool may_be_plain(const struct access *a)
{
   const bool orders = !a->view || (!a->view->has_dimensions && a->view->dim == 2);
   return a->layout.dim == 2 && orders && !a->decode &&
          !(a->qualifiers & (ACCESS_VOLATILE | ACCESS_COHERENT));
}

static nir_def *is_multiple(nir_builder *nb, nir_def *n, unsigned of)
{
   return nir_ieq_imm(nb, nir_iand_imm(nb, n, of - 1), 0);
}

/* The distance of an array's elements in bytes, also where no layout says so. */
static unsigned element_bytes(nir_deref_instr *deref)
{
   const unsigned stride = nir_deref_instr_array_stride(deref);
   if (stride)
      return stride;
   unsigned size, alignment;
   glsl_get_natural_size_align_bytes(deref->type, &size, &alignment);
   return align(size, alignment);
}

/* A number that is a multiple of a power of two, up to 16, only if the pointer is: descriptors and
 * variables begin at multiples of all of these. */
static nir_def *misalignment(nir_builder *nb, nir_deref_instr *pointer)
{
   nir_def *bits = nir_imm_int(nb, 0);
   for (nir_deref_instr *deref = pointer; deref; deref = nir_deref_instr_parent(deref)) {
      nir_def *offset;
      switch (deref->deref_type) {
      case nir_deref_type_array:
      case nir_deref_type_ptr_as_array:
         offset = nir_imul_imm(nb, nir_u2u32(nb, deref->arr.index.ssa), element_bytes(deref));
         break;
      case nir_deref_type_struct:
         /* Without a layout it is any number of bytes. */
         offset = nir_imm_int(nb, glsl_get_struct_field_offset(nir_deref_instr_parent(deref)->type,
                                                               deref->strct.index));
         break;
      case nir_deref_type_cast:
         if (nir_deref_instr_parent(deref) || !nir_deref_mode_is(deref, nir_var_mem_global))
            continue;
         offset = nir_u2u32(nb, deref->parent.ssa); /* an address */
         break;
      default:
         continue;
      }
      bits = nir_ior(nb, bits, offset);
   }
   return bits;
}

/* What the numbers tell, which are the same for all invocations: a constant in many shaders. */
static struct plain get_plain(nir_builder *nb, const struct access *a)
{
   const struct weft_tensor_layout *layout = &a->layout;
   const bool row_major = !a->view || a->view->permutation[0] == 0;
   const unsigned size[2] = {row_major ? a->desc.rows : a->desc.cols,
                             row_major ? a->desc.cols : a->desc.rows};
   nir_def *stride = layout->stride[0];
   struct plain plain = {
      .matrix_layout = row_major ? GLSL_MATRIX_LAYOUT_ROW_MAJOR : GLSL_MATRIX_LAYOUT_COLUMN_MAJOR,
      .first = nir_iadd(nb, nir_imul(nb, layout->offset[0], stride), layout->offset[1]),
      .stride = stride,
      .is_so = nir_ieq_imm(nb, layout->stride[1], 1),
   };
   for (unsigned i = 0; i < 2; i++) {
      plain.is_so = nir_iand(nb, plain.is_so, nir_ieq_imm(nb, layout->span[i], size[i]));
      plain.is_so = nir_iand(nb, plain.is_so, nir_ieq_imm(nb, layout->block_size[i], 1));
      if (layout->clamp_mode == SpvTensorClampModeUndefined)
         continue;
      nir_def *largest_offset = nir_iadd_imm(nb, layout->dimension[i], -(int)size[i]);
      plain.is_so = nir_iand(nb, plain.is_so, nir_ige(nb, largest_offset, layout->offset[i]));
      plain.is_so = nir_iand(nb, plain.is_so, nir_ige_imm(nb, layout->offset[i], 0));
   }
   if (a->view)
      plain.is_so = nir_iand(nb, plain.is_so, is_unclipped(nb, a));
   if (a->is_aligned) {
      /* A tensor's pointer, offsets and strides may be any; those of cmat_load and cmat_store are
       * multiples of 16 bytes, or of a shorter line (VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986). */
      const unsigned bytes = glsl_get_bit_size(a->memory->type) / 8, line = size[1] * bytes;
      const unsigned align = line < 16 && util_is_power_of_two_nonzero(line) ? line : 16;
      nir_def *rest = nir_imul_imm(nb, nir_ior(nb, plain.first, stride), bytes);
      rest = nir_ior(nb, rest, misalignment(nb, a->memory));
      plain.is_so = nir_iand(nb, plain.is_so, is_multiple(nb, rest, align));
   }
   return plain;
}

static void access_plain(nir_builder *nb, const struct access *a, const struct plain *plain)
{
   nir_def *memory = &get_element(nb, a, plain->first)->def;
   const enum gl_access_qualifier access =
      a->qualifiers & (ACCESS_NON_TEMPORAL | ACCESS_NON_UNIFORM);
   if (a->is_store)
      nir_cmat_store(nb, memory, &a->matrix->def, plain->stride,
                     .matrix_layout = plain->matrix_layout, .access = access);
   else
      nir_cmat_load(nb, &a->matrix->def, memory, plain->stride,
                    .matrix_layout = plain->matrix_layout, .access = access);
}

/* Whether clips leave runs whole, in the direction along which they lie. */
static nir_def *clips_whole_runs(nir_builder *nb, const struct access *a)
{
   const bool in_row = a->runs.layout == GLSL_MATRIX_LAYOUT_ROW_MAJOR;
   nir_def *first = in_row ? a->view->clip_col_offset : a->view->clip_row_offset;
   nir_def *span = in_row ? a->view->clip_col_span : a->view->clip_row_span;
   const unsigned count = in_row ? a->desc.cols : a->desc.rows;
   nir_def *is_all = nir_iand(nb, nir_ieq_imm(nb, first, 0), nir_uge_imm(nb, span, count));
   return nir_ior(nb, is_all, is_multiple(nb, nir_ior(nb, first, span), a->runs.length));
}

/* Whether runs are neighbours in a block, all of them in the tensor or none: then the vector decode
 * function is called for each.  Lines are wanted to begin where a block, or an equal piece of one,
 * does, so that all invocations that work on a line can be seen to look at the same block. */
static nir_def *fits_runs(nir_builder *nb, const struct access *a)
{
   const struct weft_tensor_layout *layout = &a->layout;
   const unsigned last = layout->dim - 1, length = a->runs.length;
   nir_def *offset = layout->offset[last], *span = layout->span[last],
           *dimension = layout->dimension[last], *piece = piece_of_block(nb, layout);
   nir_def *rests =
      nir_ior(nb, nir_umod(nb, layout->block_size[last], piece), nir_umod(nb, offset, piece));
   nir_def *conditions[] = {
      nir_ine_imm(nb, weft_count_runs(nb, &a->desc, &a->runs), 0),
      is_multiple(nb, nir_ior(nb, span, layout->block_size[last]), length),
      nir_ieq_imm(nb, rests, 0),
      nir_ige_imm(nb, offset, 0),
   };
   nir_def *fits = nir_imm_true(nb);
   for (unsigned i = 0; i < ARRAY_SIZE(conditions); i++)
      fits = nir_iand(nb, fits, conditions[i]);

   if (layout->clamp_mode != SpvTensorClampModeUndefined) {
      nir_def *is_whole = nir_ige(nb, nir_isub(nb, dimension, span), offset);
      if (layout->clamp_mode == SpvTensorClampModeConstant)
         is_whole = nir_ior(nb, is_whole, is_multiple(nb, dimension, length));
      fits = nir_iand(nb, fits, is_whole);
   }
   if (a->view) {
      fits = nir_iand(nb, fits, clips_whole_runs(nb, a));
      if (a->runs.layout != GLSL_MATRIX_LAYOUT_ROW_MAJOR) {
         nir_def *width = nir_umin(nb, nir_imm_int(nb, a->desc.cols), a->view->clip_col_span);
         nir_def *innermost = layout->span[a->view->permutation[last]];
         fits = nir_iand(nb, fits, nir_ieq(nb, width, innermost));
      }
   }
   return fits;
}

/* A load leaves what is outside of a clip as it is in the object. */
static void access_matrix(struct vtn_builder *b, const struct access *a, nir_deref_instr *object)
{
   nir_builder *nb = &b->nb;
   nir_if *branch = NULL;
   if (a->view && !a->is_store) {
      nir_if *clipped = nir_push_if(nb, nir_inot(nb, is_unclipped(nb, a)));
      nir_cmat_copy(nb, &a->matrix->def, &object->def);
      nir_pop_if(nb, clipped);
   }
   if (may_be_plain(a)) {
      const struct plain plain = get_plain(nb, a);
      branch = nir_push_if(nb, plain.is_so);
      access_plain(nb, a, &plain);
      nir_push_else(nb, branch);
   }
   if (a->runs.length) {
      struct access in_runs = *a;
      in_runs.in_runs = true;
      branch = nir_push_if(nb, fits_runs(nb, a));
      weft_for_each_run(b, &a->desc, &a->runs, access_component, &in_runs);
      nir_push_else(nb, branch);
   }
   weft_for_each_component(b, &a->desc, access_component, (void *)a);
   if (branch)
      nir_pop_if(nb, branch);
}

/* The function of the operand DecodeFunc or DecodeVectorFunc, whose parameters it checks. */
static struct vtn_function *get_decode_function(struct vtn_builder *b, uint32_t id, unsigned dim)
{
   struct vtn_function *decode = vtn_value(b, id, vtn_value_type_function)->func;
   const struct vtn_type *type = decode->type;
   vtn_fail_if(type->length != 3,
               "A decode function has to have three parameters: a pointer to the block, the "
               "block's coordinates and those in the block");
   vtn_fail_if(type->params[0]->base_type != vtn_base_type_pointer ||
                  type->params[0]->storage_class != SpvStorageClassPhysicalStorageBuffer,
               "A decode function's first parameter has to be a PhysicalStorageBuffer pointer");
   for (unsigned i = 1; i < 3; i++) {
      const struct vtn_type *array = type->params[i];
      const bool right = array->base_type == vtn_base_type_array && array->length == dim &&
                         glsl_type_is_integer(array->array_element->type) &&
                         glsl_type_is_scalar(array->array_element->type) &&
                         glsl_get_bit_size(array->array_element->type) == 32;
      vtn_fail_if(!right,
                  "A decode function's parameter %u has to be an array of %u integers of 32 bits, "
                  "as many as the tensor layout has dimensions",
                  i, dim);
   }
   return decode;
}

/* Whether Offset and ArrayStride say where everything is. */
static bool has_layout(const struct glsl_type *type)
{
   if (glsl_type_is_array(type))
      return glsl_get_explicit_stride(type) > 0 && has_layout(glsl_get_array_element(type));
   if (!glsl_type_is_struct_or_ifc(type))
      return true;
   for (unsigned i = 0; i < glsl_get_length(type); i++) {
      if (glsl_get_struct_field_offset(type, i) < 0 || !has_layout(glsl_get_struct_field(type, i)))
         return false;
   }
   return true;
}

/* Bytes from one block to the next: the size of the pointee, as C has it.  A runtime array is one
 * element: ggml's decode functions of single elements have a block of nothing else. */
static unsigned block_bytes(struct vtn_builder *b, const struct glsl_type *block)
{
   vtn_fail_if(!has_layout(block),
               "A decode function's block has members without Offset or ArrayStride");
   unsigned size, alignment;
   glsl_get_natural_size_align_bytes(block, &size, &alignment);
   return align(glsl_get_explicit_size(block, false), alignment);
}

/* How many components a vector decode function returns. */
static unsigned vector_length(struct vtn_builder *b, const struct vtn_type *vector,
                              const struct vtn_type *matrix)
{
   const unsigned length =
      glsl_type_is_vector(vector->type) ? glsl_get_vector_elements(vector->type) : 0;
   vtn_fail_if((length != 2 && length != 4 && length != 8) ||
                  vector->array_element->type != matrix->component_type->type,
               "A vector decode function has to return 2, 4 or 8 components of the matrix");
   return length;
}

/* Where in the matrix the last coordinate of the tensor goes up, as far as the types tell. */
static struct weft_runs get_runs(const struct access *a, unsigned length)
{
   const struct weft_tensor_view *view = a->view;
   const unsigned last = a->layout.dim - 1;
   const struct weft_runs rows = {length, GLSL_MATRIX_LAYOUT_ROW_MAJOR},
                          columns = {length, GLSL_MATRIX_LAYOUT_COLUMN_MAJOR}, none = {0};
   if (view && (view->has_dimensions || view->dim != a->layout.dim))
      return none;
   if (!view || view->permutation[last] == last)
      return a->desc.cols % length == 0 ? rows : none;
   if (view->permutation[last - 1] == last)
      return a->desc.rows % length == 0 ? columns : none;
   return none;
}

/* The operands from w[*at] on: Memory Operands, then Tensor Addressing Operands. */
static void read_operands(struct vtn_builder *b, const uint32_t *w, unsigned count, unsigned at,
                          struct access *a, const struct vtn_type *matrix,
                          SpvMemoryAccessMask *memory, SpvScope *scope)
{
   unsigned alignment;
   *scope = SpvScopeInvocation;
   if (!vtn_get_mem_operands(b, w, count, &at, memory, &alignment, a->is_store ? scope : NULL,
                             a->is_store ? NULL : scope) ||
       at >= count)
      vtn_fail("A tensor load or store lacks operands");
   a->qualifiers |= *memory & SpvMemoryAccessVolatileMask ? ACCESS_VOLATILE : 0;
   a->qualifiers |= *memory & SpvMemoryAccessNontemporalMask ? ACCESS_NON_TEMPORAL : 0;

   const uint32_t operands = w[at++];
   const uint32_t decode_vector = 0x4; /* SPV_NV_cooperative_matrix_decode_vector */
   const uint32_t known = SpvTensorAddressingOperandsTensorViewMask |
                          SpvTensorAddressingOperandsDecodeFuncMask | decode_vector;
   vtn_fail_if(operands & ~known, "Unknown tensor addressing operands 0x%x", operands & ~known);
   vtn_fail_if(at + util_bitcount(operands) != count,
               "A tensor load or store with %u operands instead of %u", count - at,
               util_bitcount(operands));

   if (operands & SpvTensorAddressingOperandsTensorViewMask) {
      struct weft_tensor_view *view = vtn_alloc(b, struct weft_tensor_view);
      *view = weft_get_tensor_view(b, w[at++]);
      vtn_fail_if(!view->has_dimensions && view->dim > a->layout.dim,
                  "A tensor view of %u dimensions, but with those of a tensor layout of %u",
                  view->dim, a->layout.dim);
      a->view = view;
   }
   if (operands & SpvTensorAddressingOperandsDecodeFuncMask) {
      vtn_fail_if(a->is_store, "A store with a decode function");
      a->decode = get_decode_function(b, w[at++], a->layout.dim);
      vtn_fail_if(a->decode->type->return_type->type != matrix->component_type->type,
                  "A decode function has to return a component of the matrix");
   }
   if (operands & decode_vector) {
      vtn_fail_if(!a->decode, "A vector decode function without a decode function");
      a->decode_vector = get_decode_function(b, w[at++], a->layout.dim);
      a->runs = get_runs(a, vector_length(b, a->decode_vector->type->return_type, matrix));
   }
}

/* The memory as an array of what is loaded: its own type counts for nothing. */
static void cast_memory(struct vtn_builder *b, struct access *a, struct vtn_pointer *pointer,
                        const struct vtn_type *matrix)
{
   const struct weft_front_end *front_end = b->options->handlers.private_data;
   a->is_aligned = front_end->aligned_matrices;
   nir_deref_instr *deref = vtn_pointer_to_deref(b, pointer);
   const nir_variable_mode modes = nir_var_mem_ssbo | nir_var_mem_global | nir_var_mem_shared;
   vtn_fail_if(!nir_deref_mode_must_be(deref, modes),
               "A tensor load or store of memory that is not in a storage buffer or shared");
   const struct glsl_type *type = matrix->component_type->type;
   unsigned stride = glsl_get_bit_size(type) / 8;
   if (a->decode) {
      vtn_fail_if(nir_deref_mode_is(deref, nir_var_mem_shared),
                  "A decode function cannot read shared memory");
      type =
         vtn_type_get_nir_type(b, a->decode->type->params[0]->pointed, vtn_variable_mode_phys_ssbo);
      stride = block_bytes(b, type);
   }
   a->memory = nir_build_deref_cast(&b->nb, &deref->def, deref->modes, type, stride);
}

static struct vtn_pointer *get_pointer(struct vtn_builder *b, uint32_t id)
{
   return vtn_value_to_pointer(b, vtn_value(b, id, vtn_value_type_pointer));
}

static const struct vtn_type *matrix_type(struct vtn_builder *b, const struct vtn_type *type)
{
   vtn_fail_if(type->base_type != vtn_base_type_cooperative_matrix,
               "A tensor load or store of what is no cooperative matrix");
   return type;
}

void weft_cooperative_matrix_load_tensor(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const struct vtn_type *type = matrix_type(b, vtn_get_type(b, w[1]));
   struct vtn_pointer *pointer = get_pointer(b, w[3]);
   struct access a = {
      .desc = type->desc,
      .layout = weft_get_tensor_layout(b, w[5]),
      .qualifiers = pointer->access,
   };
   SpvMemoryAccessMask memory;
   SpvScope scope;
   read_operands(b, w, count, 6, &a, type, &memory, &scope);
   cast_memory(b, &a, pointer, type);

   vtn_emit_make_visible_barrier(b, memory, scope, pointer->mode);
   a.matrix = vtn_create_cmat_temporary(b, type->type, "cmat_load_tensor");
   /* Every invocation that has an element loads the same: lower_cmat_scope(). */
   if (!(a.qualifiers & (ACCESS_VOLATILE | ACCESS_COHERENT)))
      a.matrix->var->data.access = ACCESS_CAN_REORDER;
   access_matrix(b, &a, a.view ? vtn_get_cmat_deref(b, w[4]) : NULL);
   vtn_push_var_ssa(b, w[2], a.matrix->var);
}

void weft_cooperative_matrix_store_tensor(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const struct vtn_type *type = matrix_type(b, vtn_get_value_type(b, w[2]));
   struct vtn_pointer *pointer = get_pointer(b, w[1]);
   struct access a = {
      .is_store = true,
      .desc = type->desc,
      .layout = weft_get_tensor_layout(b, w[3]),
      .qualifiers = pointer->access,
      .matrix = vtn_get_cmat_deref(b, w[2]),
   };
   SpvMemoryAccessMask memory;
   SpvScope scope;
   read_operands(b, w, count, 4, &a, type, &memory, &scope);
   cast_memory(b, &a, pointer, type);

   access_matrix(b, &a, NULL);
   vtn_emit_make_available_barrier(b, memory, scope, pointer->mode);
}
