/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_handlers.h"

#include "nir_passes/front_end/vtn_arrays.h"
#include "nir_passes/front_end/vtn_elements.h"
#include "nir_passes/front_end/vtn_layouts.h"
#include "nir_passes/front_end/vtn_nv_matrices.h"
#include "nir_passes/front_end/vtn_small_floats.h"
#include "nir_passes/front_end/vtn_tensors.h"

#include "compiler/spirv/vtn_private.h"

/* Translates one instruction. w points to its first word. If it has a result, the result's type is
 * set. */
typedef void (*translate_function)(struct vtn_builder *b, const uint32_t *w, unsigned count);

struct row {
   uint32_t number;
   const char *name; /* for readers */
   translate_function translate;
};

/* Instructions of SPV_NV_cooperative_matrix, SPV_NV_cooperative_matrix2, SPV_NV_tensor_addressing,
 * SPV_EXT_cooperative_matrix_maintenance1, which has other names for some of them, and
 * SPV_QCOM_cooperative_matrix_conversion. */
static const struct row instructions[] = {
   {4497, "OpBitCastArrayQCOM", weft_bit_cast_array},
   {4540, "OpCompositeConstructCoopMatQCOM", weft_matrix_of_arrays},
   {4541, "OpCompositeExtractCoopMatQCOM", weft_array_of_matrix},
   {4542, "OpExtractSubArrayQCOM", weft_extract_sub_array},
   {5293, "OpCooperativeMatrixConvertNV", weft_convert_use},
   {5358, "OpTypeCooperativeMatrixNV", weft_nv_matrix_type},
   {5359, "OpCooperativeMatrixLoadNV", weft_nv_load},
   {5360, "OpCooperativeMatrixStoreNV", weft_nv_store},
   {5361, "OpCooperativeMatrixMulAddNV", weft_nv_muladd},
   {5362, "OpCooperativeMatrixLengthNV", weft_nv_length},
   {5363, "OpCooperativeMatrixGetCoordinateEXT", weft_get_coordinate},
   {5366, "OpCooperativeMatrixReduceNV", weft_reduce},
   {5367, "OpCooperativeMatrixLoadTensorNV", weft_cooperative_matrix_load_tensor},
   {5368, "OpCooperativeMatrixStoreTensorNV", weft_cooperative_matrix_store_tensor},
   {5369, "OpCooperativeMatrixPerElementOpNV", weft_per_element_op},
   {5370, "OpTypeTensorLayoutNV", weft_type_tensor_layout},
   {5371, "OpTypeTensorViewNV", weft_type_tensor_view},
   {5372, "OpCreateTensorLayoutNV", weft_create_tensor_layout},
   {5373, "OpTensorLayoutSetDimensionNV", weft_tensor_layout_set_dimension},
   {5374, "OpTensorLayoutSetStrideNV", weft_tensor_layout_set_stride},
   {5375, "OpTensorLayoutSliceNV", weft_tensor_layout_slice},
   {5376, "OpTensorLayoutSetClampValueNV", weft_tensor_layout_set_clamp_value},
   {5377, "OpCreateTensorViewNV", weft_create_tensor_view},
   {5378, "OpTensorViewSetDimensionNV", weft_tensor_view_set_dimension},
   {5379, "OpTensorViewSetStrideNV", weft_tensor_view_set_stride},
   {5382, "OpTensorViewSetClipNV", weft_tensor_view_set_clip},
   {5384, "OpTensorLayoutSetBlockSizeNV", weft_tensor_layout_set_block_size},
   {5390, "OpCooperativeMatrixTransposeNV", weft_transpose},
};

/* Capabilities of the same extensions, and of SPV_NV_cooperative_matrix_decode_vector,
 * SPV_ARM_cooperative_matrix_layouts, SPV_KHR_bfloat16 and SPV_EXT_float8. */
static const struct {
   uint32_t number;
   const char *name; /* for readers */
} capabilities[] = {
   {4201, "CooperativeMatrixLayoutsARM"},
   {4212, "Float8EXT"},
   {4213, "Float8CooperativeMatrixEXT"},
   {4496, "CooperativeMatrixConversionQCOM"},
   {5116, "BFloat16TypeKHR"},
   {5117, "BFloat16DotProductKHR"},
   {5118, "BFloat16CooperativeMatrixKHR"},
   {5357, "CooperativeMatrixNV"},
   {5429, "CooperativeMatrixConversionsEXT"},
   {5430, "CooperativeMatrixReductionsNV"},
   {5431, "CooperativeMatrixConversionsNV"},
   {5432, "CooperativeMatrixPerElementOperationsNV"},
   {5433, "CooperativeMatrixTensorAddressingNV"},
   {5434, "CooperativeMatrixBlockLoadsNV"},
   {5438, "CooperativeMatrixGetCoordinateEXT"},
   {5439, "TensorAddressingNV"},
   {5447, "CooperativeMatrixDecodeVectorNV"},
};

static const struct row *find_instruction(uint32_t opcode)
{
   for (size_t i = 0; i < ARRAY_SIZE(instructions); i++) {
      if (instructions[i].number == opcode)
         return &instructions[i];
   }
   return NULL;
}

bool weft_is_family_capability(uint32_t capability)
{
   for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
      if (capabilities[i].number == capability)
         return true;
   }
   return false;
}

static bool handle_capability(struct vtn_builder *b, uint32_t capability)
{
   return weft_is_family_capability(capability);
}

static bool handle_instruction(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                               unsigned count)
{
   if (weft_handle_constant_length(b, opcode, w) ||
       weft_handle_transposing_conversion(b, opcode, w) ||
       weft_handle_small_floats(b, opcode, w, count) ||
       weft_handle_blocked_layout(b, opcode, w, count))
      return true;
   const struct row *row = find_instruction(opcode);
   if (!row)
      return false;
   row->translate(b, w, count);
   return true;
}

void weft_set_vtn_handlers(struct spirv_to_nir_options *options, struct weft_front_end *front_end)
{
   options->handlers.private_data = front_end;
   options->handlers.capability = handle_capability;
   options->handlers.type = handle_instruction;
   options->handlers.instruction = handle_instruction;
}
