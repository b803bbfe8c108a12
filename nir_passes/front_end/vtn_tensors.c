/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_tensors.h"

/* The members of a layout's struct: dim numbers of each kind in this order, and the clamp value. */
enum layout_member {
   BLOCK_SIZE,
   DIMENSION,
   STRIDE,
   OFFSET,
   SPAN,
   LAYOUT_KINDS,
};

/* The members of a view's struct: dim numbers of each kind, and the clip. */
enum view_member {
   VIEW_DIMENSION,
   VIEW_STRIDE,
   VIEW_KINDS,
};

enum clip_member {
   CLIP_ROW_OFFSET,
   CLIP_ROW_SPAN,
   CLIP_COL_OFFSET,
   CLIP_COL_SPAN,
   CLIP_MEMBERS,
};

/* The operands of a type. They are kept as the constant of the type's id, which is unused
 * otherwise. */
enum type_operand {
   TYPE_OPCODE,
   TYPE_DIM,
   TYPE_MODE, /* of a layout: the clamp mode; of a view: whether it has dimensions */
   TYPE_PERMUTATION,
   TYPE_OPERANDS = TYPE_PERMUTATION + WEFT_MAX_TENSOR_DIM,
};

static unsigned get_dim(struct vtn_builder *b, uint32_t id)
{
   const uint64_t dim = vtn_constant_uint(b, id);
   vtn_fail_if(dim < 1 || dim > WEFT_MAX_TENSOR_DIM,
               "A tensor layout or view of %" PRIu64 " dimensions: there may be 1 to %u", dim,
               WEFT_MAX_TENSOR_DIM);
   return dim;
}

/* Makes the type w[1] a struct of `members` numbers, and returns the place for its operands. */
static nir_const_value *push_type(struct vtn_builder *b, const uint32_t *w, SpvOp opcode,
                                  const char *name, unsigned dim, unsigned members)
{
   struct vtn_type *number = vtn_zalloc(b, struct vtn_type);
   number->base_type = vtn_base_type_scalar;
   number->type = glsl_uint_type();
   number->length = 1;

   struct vtn_type *type = vtn_zalloc(b, struct vtn_type);
   type->id = w[1];
   type->base_type = vtn_base_type_struct;
   type->length = members;
   type->members = vtn_alloc_array(b, struct vtn_type *, members);
   type->offsets = vtn_alloc_array(b, unsigned, members);
   struct glsl_struct_field *fields = vtn_alloc_array(b, struct glsl_struct_field, members);
   for (unsigned i = 0; i < members; i++) {
      type->members[i] = number;
      type->offsets[i] = i * sizeof(uint32_t);
      fields[i] = (struct glsl_struct_field){
         .type = number->type,
         .name = ralloc_asprintf(b, "number%u", i),
         .location = -1,
         .offset = -1,
      };
   }
   type->type = glsl_struct_type(fields, members, name, false);

   struct vtn_value *val = vtn_push_value(b, w[1], vtn_value_type_type);
   val->type = type;
   val->constant = vtn_zalloc(b, nir_constant);
   STATIC_ASSERT(TYPE_OPERANDS <= ARRAY_SIZE(val->constant->values));
   val->constant->values[TYPE_OPCODE].u32 = opcode;
   val->constant->values[TYPE_DIM].u32 = dim;
   return val->constant->values;
}

static const nir_const_value *type_operands(struct vtn_builder *b, const struct vtn_type *type,
                                            SpvOp opcode)
{
   const struct vtn_value *val = type->id ? vtn_untyped_value(b, type->id) : NULL;
   const bool right = val && val->value_type == vtn_value_type_type && val->constant &&
                      val->constant->values[TYPE_OPCODE].u32 == opcode;
   vtn_fail_if(!right, "%s where there has to be a tensor %s",
               type->base_type == vtn_base_type_struct ? "Another struct" : "A value",
               opcode == SpvOpTypeTensorLayoutNV ? "layout" : "view");
   return val->constant->values;
}

void weft_type_tensor_layout(struct vtn_builder *b, const uint32_t *w, UNUSED unsigned count)
{
   const unsigned dim = get_dim(b, w[2]);
   const uint64_t mode = vtn_constant_uint(b, w[3]);
   vtn_fail_if(mode > SpvTensorClampModeRepeatMirrored, "Unknown tensor clamp mode %" PRIu64, mode);

   nir_const_value *operands =
      push_type(b, w, SpvOpTypeTensorLayoutNV, "tensorLayoutNV", dim, LAYOUT_KINDS * dim + 1);
   operands[TYPE_MODE].u32 = mode;
}

void weft_type_tensor_view(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const unsigned dim = get_dim(b, w[2]);
   const struct vtn_value *has_dimensions = vtn_value(b, w[3], vtn_value_type_constant);
   vtn_fail_if(!glsl_type_is_boolean(has_dimensions->type->type),
               "HasDimensions of a tensor view has to be a boolean constant");
   vtn_fail_if(count != 4 + dim, "A tensor view of %u dimensions with a permutation of %u", dim,
               count - 4);

   nir_const_value *operands =
      push_type(b, w, SpvOpTypeTensorViewNV, "tensorViewNV", dim, VIEW_KINDS * dim + CLIP_MEMBERS);
   operands[TYPE_MODE].u32 = has_dimensions->constant->values[0].b;
   unsigned seen = 0;
   for (unsigned i = 0; i < dim; i++) {
      const uint64_t p = vtn_constant_uint(b, w[4 + i]);
      vtn_fail_if(p >= dim || seen & BITFIELD_BIT(p),
                  "The permutation of a tensor view has to have each of its dimensions once");
      seen |= BITFIELD_BIT(p);
      operands[TYPE_PERMUTATION + i].u32 = p;
   }
}

/* A new value of an instruction's result type, and the number of its dimensions. */
static struct vtn_ssa_value *create_value(struct vtn_builder *b, const uint32_t *w, SpvOp opcode,
                                          unsigned *dim)
{
   struct vtn_type *type = vtn_get_type(b, w[1]);
   *dim = type_operands(b, type, opcode)[TYPE_DIM].u32;
   return vtn_create_ssa_value(b, type->type);
}

/* A copy of the value w[3], for an instruction that changes it. */
static struct vtn_ssa_value *copy_value(struct vtn_builder *b, const uint32_t *w, unsigned count,
                                        SpvOp opcode, unsigned operands_per_dim, unsigned *dim)
{
   struct vtn_ssa_value *copy = create_value(b, w, opcode, dim);
   const struct vtn_ssa_value *source = vtn_ssa_value(b, w[3]);
   vtn_fail_if(source->type != copy->type,
               "A tensor layout or view is changed into one of another type");
   vtn_fail_if(operands_per_dim && count != 4 + operands_per_dim * *dim,
               "%u operands for a tensor layout or view of %u dimensions", count - 4, *dim);
   for (unsigned i = 0; i < glsl_get_length(copy->type); i++)
      copy->elems[i]->def = source->elems[i]->def;
   return copy;
}

static nir_def *get_number(struct vtn_builder *b, uint32_t id)
{
   nir_def *def = vtn_get_nir_ssa(b, id);
   vtn_fail_if(def->num_components != 1 || def->bit_size != 32,
               "A number of a tensor layout or view has to be of 32 bits");
   return def;
}

static void set_numbers(struct vtn_builder *b, struct vtn_ssa_value *value, unsigned first,
                        const uint32_t *ids, unsigned count)
{
   for (unsigned i = 0; i < count; i++)
      value->elems[first + i]->def = get_number(b, ids[i]);
}

static void fill(struct vtn_builder *b, struct vtn_ssa_value *value, unsigned first, unsigned count,
                 uint32_t number)
{
   for (unsigned i = 0; i < count; i++)
      value->elems[first + i]->def = nir_imm_int(&b->nb, number);
}

void weft_create_tensor_layout(struct vtn_builder *b, const uint32_t *w, UNUSED unsigned count)
{
   unsigned dim;
   struct vtn_ssa_value *value = create_value(b, w, SpvOpTypeTensorLayoutNV, &dim);
   fill(b, value, 0, LAYOUT_KINDS * dim + 1, 0);
   fill(b, value, BLOCK_SIZE * dim, dim, 1);
   vtn_push_ssa_value(b, w[2], value);
}

void weft_tensor_layout_set_block_size(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   unsigned dim;
   struct vtn_ssa_value *value = copy_value(b, w, count, SpvOpTypeTensorLayoutNV, 1, &dim);
   set_numbers(b, value, BLOCK_SIZE * dim, w + 4, dim);
   vtn_push_ssa_value(b, w[2], value);
}

static nir_def *blocks(nir_builder *nb, nir_def *elements, nir_def *block_size)
{
   nir_def *whole = nir_udiv(nb, elements, block_size);
   nir_def *rest = nir_ine_imm(nb, nir_umod(nb, elements, block_size), 0);
   return nir_iadd(nb, whole, nir_b2i32(nb, rest));
}

void weft_tensor_layout_set_dimension(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   unsigned dim;
   struct vtn_ssa_value *value = copy_value(b, w, count, SpvOpTypeTensorLayoutNV, 1, &dim);
   set_numbers(b, value, DIMENSION * dim, w + 4, dim);
   set_numbers(b, value, SPAN * dim, w + 4, dim);
   fill(b, value, OFFSET * dim, dim, 0);
   nir_def *stride = nir_imm_int(&b->nb, 1);
   for (unsigned i = dim; i-- > 0;) {
      value->elems[STRIDE * dim + i]->def = stride;
      stride = nir_imul(&b->nb, stride,
                        blocks(&b->nb, value->elems[DIMENSION * dim + i]->def,
                               value->elems[BLOCK_SIZE * dim + i]->def));
   }
   vtn_push_ssa_value(b, w[2], value);
}

void weft_tensor_layout_set_stride(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   unsigned dim;
   struct vtn_ssa_value *value = copy_value(b, w, count, SpvOpTypeTensorLayoutNV, 1, &dim);
   set_numbers(b, value, STRIDE * dim, w + 4, dim);
   vtn_push_ssa_value(b, w[2], value);
}

void weft_tensor_layout_slice(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   unsigned dim;
   struct vtn_ssa_value *value = copy_value(b, w, count, SpvOpTypeTensorLayoutNV, 2, &dim);
   for (unsigned i = 0; i < dim; i++) {
      struct vtn_ssa_value *offset = value->elems[OFFSET * dim + i];
      offset->def = nir_iadd(&b->nb, offset->def, get_number(b, w[4 + 2 * i]));
      value->elems[SPAN * dim + i]->def = get_number(b, w[4 + 2 * i + 1]);
   }
   vtn_push_ssa_value(b, w[2], value);
}

void weft_tensor_layout_set_clamp_value(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   unsigned dim;
   struct vtn_ssa_value *value = copy_value(b, w, count, SpvOpTypeTensorLayoutNV, 0, &dim);
   set_numbers(b, value, LAYOUT_KINDS * dim, w + 4, 1);
   vtn_push_ssa_value(b, w[2], value);
}

void weft_create_tensor_view(struct vtn_builder *b, const uint32_t *w, UNUSED unsigned count)
{
   unsigned dim;
   struct vtn_ssa_value *value = create_value(b, w, SpvOpTypeTensorViewNV, &dim);
   fill(b, value, 0, VIEW_KINDS * dim + CLIP_MEMBERS, 0);
   fill(b, value, VIEW_KINDS * dim + CLIP_ROW_SPAN, 1, UINT32_MAX);
   fill(b, value, VIEW_KINDS * dim + CLIP_COL_SPAN, 1, UINT32_MAX);
   vtn_push_ssa_value(b, w[2], value);
}

void weft_tensor_view_set_dimension(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   unsigned dim;
   struct vtn_ssa_value *value = copy_value(b, w, count, SpvOpTypeTensorViewNV, 1, &dim);
   set_numbers(b, value, VIEW_DIMENSION * dim, w + 4, dim);
   nir_def *stride = nir_imm_int(&b->nb, 1);
   for (unsigned i = dim; i-- > 0;) {
      value->elems[VIEW_STRIDE * dim + i]->def = stride;
      stride = nir_imul(&b->nb, stride, value->elems[VIEW_DIMENSION * dim + i]->def);
   }
   vtn_push_ssa_value(b, w[2], value);
}

void weft_tensor_view_set_stride(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   unsigned dim;
   struct vtn_ssa_value *value = copy_value(b, w, count, SpvOpTypeTensorViewNV, 1, &dim);
   set_numbers(b, value, VIEW_STRIDE * dim, w + 4, dim);
   vtn_push_ssa_value(b, w[2], value);
}

void weft_tensor_view_set_clip(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   unsigned dim;
   struct vtn_ssa_value *value = copy_value(b, w, count, SpvOpTypeTensorViewNV, 0, &dim);
   set_numbers(b, value, VIEW_KINDS * dim, w + 4, CLIP_MEMBERS);
   vtn_push_ssa_value(b, w[2], value);
}

static nir_def *get_vector(struct vtn_builder *b, const struct vtn_ssa_value *value, unsigned first,
                           unsigned count)
{
   nir_def *numbers[WEFT_MAX_TENSOR_DIM];
   for (unsigned i = 0; i < count; i++)
      numbers[i] = value->elems[first + i]->def;
   return nir_vec(&b->nb, numbers, count);
}

nir_def *weft_tensor_layout(struct vtn_builder *b, uint32_t id, unsigned *dim)
{
   const nir_const_value *operands =
      type_operands(b, vtn_get_value_type(b, id), SpvOpTypeTensorLayoutNV);
   const struct vtn_ssa_value *value = vtn_ssa_value(b, id);
   *dim = operands[TYPE_DIM].u32;
   nir_def *vectors[LAYOUT_KINDS];
   for (unsigned kind = 0; kind < LAYOUT_KINDS; kind++)
      vectors[kind] = get_vector(b, value, kind * *dim, *dim);
   return nir_cmat_tensor_layout_weft(
      &b->nb, vectors[BLOCK_SIZE], vectors[DIMENSION], vectors[STRIDE], vectors[OFFSET],
      vectors[SPAN], value->elems[LAYOUT_KINDS * *dim]->def, .clamp_mode = operands[TYPE_MODE].u32);
}

nir_def *weft_tensor_view(struct vtn_builder *b, uint32_t id, unsigned layout_dim)
{
   const nir_const_value *operands =
      type_operands(b, vtn_get_value_type(b, id), SpvOpTypeTensorViewNV);
   const struct vtn_ssa_value *value = vtn_ssa_value(b, id);
   const unsigned dim = operands[TYPE_DIM].u32;
   const bool has_dimensions = operands[TYPE_MODE].u32;
   vtn_fail_if(!has_dimensions && dim > layout_dim,
               "A tensor view of %u dimensions, but with those of a tensor layout of %u", dim,
               layout_dim);
   unsigned permutation = 0;
   for (unsigned i = 0; i < dim; i++)
      permutation = weft_add_permuted_dimension(permutation, i, operands[TYPE_PERMUTATION + i].u32);
   nir_def *dimension = get_vector(b, value, VIEW_DIMENSION * dim, dim),
           *stride = get_vector(b, value, VIEW_STRIDE * dim, dim),
           *clip = get_vector(b, value, VIEW_KINDS * dim, CLIP_MEMBERS);
   return nir_cmat_tensor_view_weft(&b->nb, dimension, stride, clip,
                                    .has_dimensions = has_dimensions, .permutation = permutation);
}

nir_def *weft_whole_tensor_view(struct vtn_builder *b, unsigned dim)
{
   unsigned permutation = 0;
   for (unsigned i = 0; i < dim; i++)
      permutation = weft_add_permuted_dimension(permutation, i, i);
   nir_def *unused = nir_imm_zero(&b->nb, dim, 32);
   nir_def *clip = nir_imm_ivec4(&b->nb, 0, -1, 0, -1);
   return nir_cmat_tensor_view_weft(&b->nb, unused, unused, clip, .has_dimensions = false,
                                    .permutation = permutation);
}
