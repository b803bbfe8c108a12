/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Loads and stores of matrices through tensor layouts and views (SPV_NV_cooperative_matrix2,
 * "Tensor Layout and View"): checks the operands. matrices/tensors/ has the meaning. */

#include "nir_passes/front_end/vtn_handlers.h"
#include "nir_passes/front_end/vtn_tensors.h"
#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/tensors/expand_tensor_access.h"
#include "nir_passes/spirv_enums.h"

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

/* The bytes from one block to the next: the size of the pointee in C. A runtime array is one
 * element: ggml's decode functions of single elements have no other block. */
static unsigned block_bytes(struct vtn_builder *b, const struct glsl_type *block)
{
   vtn_fail_if(!has_layout(block),
               "A decode function's block has members without Offset or ArrayStride");
   unsigned size, alignment;
   glsl_get_natural_size_align_bytes(block, &size, &alignment);
   return align(glsl_get_explicit_size(block, false), alignment);
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

/* The memory as an array of elements. The type of the pointer's target does not matter. */
static nir_deref_instr *cast_to_elements(struct vtn_builder *b, struct vtn_pointer *pointer,
                                         const struct vtn_type *matrix)
{
   nir_deref_instr *deref = vtn_pointer_to_deref(b, pointer);
   const nir_variable_mode modes = nir_var_mem_ssbo | nir_var_mem_global | nir_var_mem_shared;
   vtn_fail_if(!nir_deref_mode_must_be(deref, modes),
               "A tensor load or store of memory that is not in a storage buffer or shared");
   const struct glsl_type *type = matrix->component_type->type;
   return nir_build_deref_cast(&b->nb, &deref->def, deref->modes, type,
                               glsl_get_bit_size(type) / 8);
}

/* The memory as an array of a decode function's blocks. */
static void cast_to_blocks(struct vtn_builder *b, struct weft_tensor_access *a,
                           const struct vtn_function *decode)
{
   vtn_fail_if(nir_deref_mode_is(a->memory, nir_var_mem_shared),
               "A decode function cannot read shared memory");
   const struct glsl_type *type =
      vtn_type_get_nir_type(b, decode->type->params[0]->pointed, vtn_variable_mode_phys_ssbo);
   nir_deref_instr *pointer = nir_deref_instr_parent(a->memory);
   a->memory =
      nir_build_deref_cast(&b->nb, &pointer->def, pointer->modes, type, block_bytes(b, type));
}

/* The function as a callee of the shader. */
static nir_function *callee(struct vtn_function *function)
{
   function->referenced = true;
   return function->nir_func;
}

/* Memory Operands, as the barriers beside the access need them. */
struct memory_operands {
   SpvMemoryAccessMask mask;
   SpvScope scope;
};

/* The operands from w[at] on: Memory Operands, then Tensor Addressing Operands. The object of a load
 * is w[4]. */
static struct memory_operands read_operands(struct vtn_builder *b, const uint32_t *w,
                                            unsigned count, unsigned at,
                                            const struct vtn_type *matrix,
                                            struct weft_tensor_access *a)
{
   struct memory_operands memory = {.scope = SpvScopeInvocation};
   unsigned alignment;
   if (!vtn_get_mem_operands(b, w, count, &at, &memory.mask, &alignment,
                             a->is_store ? &memory.scope : NULL,
                             a->is_store ? NULL : &memory.scope) ||
       at >= count)
      vtn_fail("A tensor load or store lacks operands");
   a->qualifiers |= memory.mask & SpvMemoryAccessVolatileMask ? ACCESS_VOLATILE : 0;
   a->qualifiers |= memory.mask & SpvMemoryAccessNontemporalMask ? ACCESS_NON_TEMPORAL : 0;

   const unsigned dim = a->layout.dim;
   const uint32_t operands = w[at++];
   const uint32_t decode_vector = WeftSpvTensorAddressingOperandsDecodeVectorFunc;
   const uint32_t known = SpvTensorAddressingOperandsTensorViewMask |
                          SpvTensorAddressingOperandsDecodeFuncMask | decode_vector;
   vtn_fail_if(operands & ~known, "Unknown tensor addressing operands 0x%x", operands & ~known);
   vtn_fail_if(at + util_bitcount(operands) != count,
               "A tensor load or store with %u operands instead of %u", count - at,
               util_bitcount(operands));

   if (operands & SpvTensorAddressingOperandsTensorViewMask) {
      a->view = weft_get_tensor_view(b, w[at++]);
      vtn_fail_if(!a->view.has_dimensions && a->view.dim > dim,
                  "A tensor view of %u dimensions, but with those of a tensor layout of %u",
                  a->view.dim, dim);
      a->object = a->is_store ? NULL : vtn_get_cmat_deref(b, w[4]);
   } else {
      a->view = weft_whole_tensor_view(b, dim);
   }
   if (operands & SpvTensorAddressingOperandsDecodeFuncMask) {
      vtn_fail_if(a->is_store, "A store with a decode function");
      struct vtn_function *decode = get_decode_function(b, w[at++], dim);
      vtn_fail_if(decode->type->return_type->type != matrix->component_type->type,
                  "A decode function has to return a component of the matrix");
      a->decode = callee(decode);
      cast_to_blocks(b, a, decode);
   }
   if (operands & decode_vector) {
      vtn_fail_if(!a->decode, "A vector decode function without a decode function");
      struct vtn_function *decode = get_decode_function(b, w[at++], dim);
      a->run_length = vector_length(b, decode->type->return_type, matrix);
      a->decode_run = callee(decode);
   }
   return memory;
}

static struct vtn_pointer *get_pointer(struct vtn_builder *b, uint32_t id)
{
   return vtn_value_to_pointer(b, vtn_value(b, id, vtn_value_type_pointer));
}

static const struct vtn_type *matrix_type(struct vtn_builder *b, const struct vtn_type *type)
{
   vtn_fail_if(type->base_type != vtn_base_type_cooperative_matrix,
               "A tensor load or store of a value that is no cooperative matrix");
   return type;
}

static bool is_aligned(struct vtn_builder *b)
{
   const struct weft_front_end *front_end = b->options->handlers.private_data;
   return front_end->aligned_matrices;
}

void weft_cooperative_matrix_load_tensor(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const struct vtn_type *type = matrix_type(b, vtn_get_type(b, w[1]));
   struct vtn_pointer *pointer = get_pointer(b, w[3]);
   struct weft_tensor_access a = {
      .is_aligned = is_aligned(b),
      .qualifiers = pointer->access,
      .layout = weft_get_tensor_layout(b, w[5]),
      .desc = type->desc,
      .memory = cast_to_elements(b, pointer, type),
   };
   const struct memory_operands memory = read_operands(b, w, count, 6, type, &a);

   vtn_emit_make_visible_barrier(b, memory.mask, memory.scope, pointer->mode);
   a.matrix = vtn_create_cmat_temporary(b, type->type, "cmat_load_tensor");
   /* Otherwise another invocation may write the memory between two loads. */
   if (!(a.qualifiers & (ACCESS_VOLATILE | ACCESS_COHERENT)))
      weft_mark_loaded_matrix(a.matrix->var);
   weft_expand_tensor_access(&b->nb, &a);
   vtn_push_var_ssa(b, w[2], a.matrix->var);
}

void weft_cooperative_matrix_store_tensor(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const struct vtn_type *type = matrix_type(b, vtn_get_value_type(b, w[2]));
   struct vtn_pointer *pointer = get_pointer(b, w[1]);
   struct weft_tensor_access a = {
      .is_store = true,
      .is_aligned = is_aligned(b),
      .qualifiers = pointer->access,
      .layout = weft_get_tensor_layout(b, w[3]),
      .desc = type->desc,
      .matrix = vtn_get_cmat_deref(b, w[2]),
      .memory = cast_to_elements(b, pointer, type),
   };
   const struct memory_operands memory = read_operands(b, w, count, 4, type, &a);

   weft_expand_tensor_access(&b->nb, &a);
   vtn_emit_make_available_barrier(b, memory.mask, memory.scope, pointer->mode);
}
