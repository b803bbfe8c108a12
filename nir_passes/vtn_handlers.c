/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/vtn_handlers.h"

#include "nir_passes/vtn_small_floats.h"

#include "compiler/spirv/vtn_private.h"

/* Translates one instruction: w points to its first word, and for those with a result the result's
 * type is set. */
typedef void (*translate_function)(struct vtn_builder *b, const uint32_t *w, unsigned count);

struct row {
   uint32_t number;
   const char *name;
   translate_function translate; /* of an instruction; NULL: not supported */
};

/* SPV_NV_cooperative_matrix, SPV_NV_cooperative_matrix2, SPV_NV_tensor_addressing. */
static const struct row instructions[] = {
   {5293, "OpCooperativeMatrixConvertNV", NULL},
   {5358, "OpTypeCooperativeMatrixNV", NULL},
   {5359, "OpCooperativeMatrixLoadNV", NULL},
   {5360, "OpCooperativeMatrixStoreNV", NULL},
   {5361, "OpCooperativeMatrixMulAddNV", NULL},
   {5362, "OpCooperativeMatrixLengthNV", NULL},
   {5366, "OpCooperativeMatrixReduceNV", NULL},
   {5367, "OpCooperativeMatrixLoadTensorNV", NULL},
   {5368, "OpCooperativeMatrixStoreTensorNV", NULL},
   {5369, "OpCooperativeMatrixPerElementOpNV", NULL},
   {5370, "OpTypeTensorLayoutNV", NULL},
   {5371, "OpTypeTensorViewNV", NULL},
   {5372, "OpCreateTensorLayoutNV", NULL},
   {5373, "OpTensorLayoutSetDimensionNV", NULL},
   {5374, "OpTensorLayoutSetStrideNV", NULL},
   {5375, "OpTensorLayoutSliceNV", NULL},
   {5376, "OpTensorLayoutSetClampValueNV", NULL},
   {5377, "OpCreateTensorViewNV", NULL},
   {5378, "OpTensorViewSetDimensionNV", NULL},
   {5379, "OpTensorViewSetStrideNV", NULL},
   {5382, "OpTensorViewSetClipNV", NULL},
   {5384, "OpTensorLayoutSetBlockSizeNV", NULL},
   {5390, "OpCooperativeMatrixTransposeNV", NULL},
};

/* The same, and SPV_NV_cooperative_matrix_decode_vector, SPV_KHR_bfloat16, SPV_EXT_float8. */
static const struct row capabilities[] = {
   {4212, "Float8EXT", NULL},
   {4213, "Float8CooperativeMatrixEXT", NULL},
   {5116, "BFloat16TypeKHR", NULL},
   {5117, "BFloat16DotProductKHR", NULL},
   {5118, "BFloat16CooperativeMatrixKHR", NULL},
   {5357, "CooperativeMatrixNV", NULL},
   {5430, "CooperativeMatrixReductionsNV", NULL},
   {5431, "CooperativeMatrixConversionsNV", NULL},
   {5432, "CooperativeMatrixPerElementOperationsNV", NULL},
   {5433, "CooperativeMatrixTensorAddressingNV", NULL},
   {5434, "CooperativeMatrixBlockLoadsNV", NULL},
   {5439, "TensorAddressingNV", NULL},
   {5447, "CooperativeMatrixDecodeVectorNV", NULL},
};

static const struct row *find_row(const struct row *rows, size_t count, uint32_t number)
{
   for (size_t i = 0; i < count; i++) {
      if (rows[i].number == number)
         return &rows[i];
   }
   return NULL;
}

static bool handle_capability(struct vtn_builder *b, uint32_t capability)
{
   const char *name = weft_family_capability(capability);
   vtn_fail_if(name, "the SPIR-V capability %s is not supported", name);
   return false;
}

static bool handle_instruction(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                               unsigned count)
{
   if (weft_handle_small_floats(b, opcode, w, count))
      return true;
   const struct row *row = find_row(instructions, ARRAY_SIZE(instructions), opcode);
   if (!row)
      return false;
   vtn_fail_if(!row->translate, "%s is not supported", row->name);
   row->translate(b, w, count);
   return true;
}

const char *weft_family_capability(uint32_t capability)
{
   const struct row *row = find_row(capabilities, ARRAY_SIZE(capabilities), capability);
   return row ? row->name : NULL;
}

void weft_set_vtn_handlers(struct spirv_to_nir_options *options)
{
   options->handlers.capability = handle_capability;
   options->handlers.type = handle_instruction;
   options->handlers.instruction = handle_instruction;
}
