/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Translates loads and stores of matrices through tensor layouts and views
 * (SPV_NV_cooperative_matrix2, "Tensor Layout and View"), and checks their operands.
 * matrices/tensors/ lowers them. */

#include "nir_passes/front_end/vtn_callees.h"
#include "nir_passes/front_end/vtn_tensors.h"
#include "nir_passes/spirv_enums.h"

/* The operands of a load or store behind its pointer and layout. */
struct tensor_operands {
   SpvMemoryAccessMask memory;
   SpvScope scope;
   enum gl_access_qualifier qualifiers;
   nir_def *view;
   bool has_view;
   struct vtn_function *decode, *decode_run; /* NULL: none */
   unsigned run_length;                      /* components that decode_run returns */
};

/* The function of the operand DecodeFunc or DecodeVectorFunc. */
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

/* Whether all members have an Offset and all arrays an ArrayStride. */
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

/* The type of the blocks that a decode function reads. A runtime array is one element: ggml's
 * decode functions of single elements have no other block. */
static const struct glsl_type *block_type(struct vtn_builder *b, const struct vtn_function *decode)
{
   const struct glsl_type *block =
      vtn_type_get_nir_type(b, decode->type->params[0]->pointed, vtn_variable_mode_phys_ssbo);
   vtn_fail_if(!has_layout(block),
               "A decode function's block has members without Offset or ArrayStride");
   return block;
}

/* The number of components that a vector decode function returns. */
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

/* The operands from w[at] on: Memory Operands, then Tensor Addressing Operands. */
static struct tensor_operands read_tensor_operands(struct vtn_builder *b, const uint32_t *w,
                                                   unsigned count, unsigned at, bool is_store,
                                                   const struct vtn_type *matrix,
                                                   unsigned layout_dim)
{
   struct tensor_operands o = {.scope = SpvScopeInvocation};
   unsigned alignment;
   if (!vtn_get_mem_operands(b, w, count, &at, &o.memory, &alignment, is_store ? &o.scope : NULL,
                             is_store ? NULL : &o.scope) ||
       at >= count)
      vtn_fail("A tensor load or store lacks operands");
   o.qualifiers |= o.memory & SpvMemoryAccessVolatileMask ? ACCESS_VOLATILE : 0;
   o.qualifiers |= o.memory & SpvMemoryAccessNontemporalMask ? ACCESS_NON_TEMPORAL : 0;

   const uint32_t operands = w[at++];
   const uint32_t decode_vector = WeftSpvTensorAddressingOperandsDecodeVectorFunc;
   const uint32_t known = SpvTensorAddressingOperandsTensorViewMask |
                          SpvTensorAddressingOperandsDecodeFuncMask | decode_vector;
   vtn_fail_if(operands & ~known, "Unknown tensor addressing operands 0x%x", operands & ~known);
   vtn_fail_if(at + util_bitcount(operands) != count,
               "A tensor load or store with %u operands instead of %u", count - at,
               util_bitcount(operands));

   o.has_view = operands & SpvTensorAddressingOperandsTensorViewMask;
   o.view =
      o.has_view ? weft_tensor_view(b, w[at++], layout_dim) : weft_whole_tensor_view(b, layout_dim);
   if (operands & SpvTensorAddressingOperandsDecodeFuncMask) {
      vtn_fail_if(is_store, "A store with a decode function");
      o.decode = get_decode_function(b, w[at++], layout_dim);
      vtn_fail_if(o.decode->type->return_type->type != matrix->component_type->type,
                  "A decode function has to return a component of the matrix");
   }
   if (operands & decode_vector) {
      vtn_fail_if(!o.decode, "A vector decode function without a decode function");
      o.decode_run = get_decode_function(b, w[at++], layout_dim);
      o.run_length = vector_length(b, o.decode_run->type->return_type, matrix);
   }
   return o;
}

/* A pointer to the first element or block. The type of the pointer's target does not matter. */
static nir_deref_instr *cast_memory(struct vtn_builder *b, const struct vtn_function *decode,
                                    struct vtn_pointer *pointer, const struct vtn_type *matrix)
{
   nir_deref_instr *deref = vtn_pointer_to_deref(b, pointer);
   const nir_variable_mode modes = nir_var_mem_ssbo | nir_var_mem_global | nir_var_mem_shared;
   vtn_fail_if(!nir_deref_mode_must_be(deref, modes),
               "A tensor load or store of memory that is not in a storage buffer or shared");
   vtn_fail_if(decode && nir_deref_mode_is(deref, nir_var_mem_shared),
               "A decode function cannot read shared memory");
   const struct glsl_type *type = decode ? block_type(b, decode) : matrix->component_type->type;
   return nir_build_deref_cast(&b->nb, &deref->def, deref->modes, type, 0);
}

static struct vtn_pointer *get_tensor_pointer(struct vtn_builder *b, uint32_t id)
{
   return vtn_value_to_pointer(b, vtn_value(b, id, vtn_value_type_pointer));
}

static const struct vtn_type *matrix_type(struct vtn_builder *b, const struct vtn_type *type)
{
   vtn_fail_if(type->base_type != vtn_base_type_cooperative_matrix,
               "A tensor load or store of a value that is no cooperative matrix");
   return type;
}

static unsigned callee(struct vtn_builder *b, struct vtn_function *function)
{
   return function ? weft_callee(b, function) : WEFT_NO_CALLEE;
}

void weft_cooperative_matrix_load_tensor(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   nir_builder *nb = &b->nb;
   const struct vtn_type *type = matrix_type(b, vtn_get_type(b, w[1]));
   struct vtn_pointer *pointer = get_tensor_pointer(b, w[3]);
   unsigned dim;
   nir_def *layout = weft_tensor_layout(b, w[5], &dim);
   const struct tensor_operands o = read_tensor_operands(b, w, count, 6, false, type, dim);
   nir_deref_instr *memory = cast_memory(b, o.decode, pointer, type);

   vtn_emit_make_visible_barrier(b, o.memory, o.scope, pointer->mode);
   nir_deref_instr *result = vtn_create_cmat_temporary(b, type->type, "cmat_load_tensor");
   nir_def *origin = nir_imm_ivec2(nb, 0, 0);
   nir_def *object = o.has_view ? &vtn_get_cmat_deref(b, w[4])->def : nir_undef(nb, 1, 32);
   nir_cmat_load_tensor_weft(nb, &result->def, object, &memory->def, layout, o.view, origin,
                             .cmat_desc = type->desc, .callee = callee(b, o.decode),
                             .run_callee = callee(b, o.decode_run), .run_length = o.run_length,
                             .access = pointer->access | o.qualifiers);
   vtn_push_var_ssa(b, w[2], result->var);
}

void weft_cooperative_matrix_store_tensor(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   nir_builder *nb = &b->nb;
   const struct vtn_type *type = matrix_type(b, vtn_get_value_type(b, w[2]));
   struct vtn_pointer *pointer = get_tensor_pointer(b, w[1]);
   unsigned dim;
   nir_def *layout = weft_tensor_layout(b, w[3], &dim);
   const struct tensor_operands o = read_tensor_operands(b, w, count, 4, true, type, dim);
   nir_deref_instr *memory = cast_memory(b, NULL, pointer, type);

   nir_deref_instr *matrix = vtn_get_cmat_deref(b, w[2]);
   nir_cmat_store_tensor_weft(nb, &memory->def, &matrix->def, layout, o.view,
                              nir_imm_ivec2(nb, 0, 0), .cmat_desc = type->desc,
                              .access = pointer->access | o.qualifiers);
   vtn_emit_make_available_barrier(b, o.memory, o.scope, pointer->mode);
}
