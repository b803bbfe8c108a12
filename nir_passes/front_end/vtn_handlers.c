/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_handlers.h"

#include "nir_passes/front_end/vtn_arrays.h"
#include "nir_passes/front_end/vtn_bit_fields.h"
#include "nir_passes/front_end/vtn_elements.h"
#include "nir_passes/front_end/vtn_layouts.h"
#include "nir_passes/front_end/vtn_nv_matrices.h"
#include "nir_passes/front_end/vtn_partitions.h"
#include "nir_passes/front_end/vtn_small_floats.h"
#include "nir_passes/front_end/vtn_tensors.h"
#include "nir_passes/spirv_enums.h"

#include "compiler/spirv/vtn_private.h"

/* Translates one instruction. w points to its first word. If it has a result, the result's type is
 * set. */
typedef void (*translate_function)(struct vtn_builder *b, const uint32_t *w, unsigned count);

struct row {
   uint32_t opcode;
   translate_function translate;
};

/* Instructions of SPV_NV_cooperative_matrix, SPV_NV_cooperative_matrix2, SPV_NV_tensor_addressing,
 * SPV_EXT_cooperative_matrix_maintenance1, which has other names for some of them,
 * SPV_QCOM_cooperative_matrix_conversion and SPV_NV_shader_subgroup_partitioned. */
static const struct row instructions[] = {
   {WeftSpvOpBitCastArrayQCOM, weft_bit_cast_array},
   {WeftSpvOpCompositeConstructCoopMatQCOM, weft_matrix_of_arrays},
   {WeftSpvOpCompositeExtractCoopMatQCOM, weft_array_of_matrix},
   {WeftSpvOpExtractSubArrayQCOM, weft_extract_sub_array},
   {SpvOpCooperativeMatrixConvertNV, weft_convert_use},
   {SpvOpTypeCooperativeMatrixNV, weft_nv_matrix_type},
   {SpvOpCooperativeMatrixLoadNV, weft_nv_load},
   {SpvOpCooperativeMatrixStoreNV, weft_nv_store},
   {SpvOpCooperativeMatrixMulAddNV, weft_nv_muladd},
   {SpvOpCooperativeMatrixLengthNV, weft_nv_length},
   {WeftSpvOpCooperativeMatrixGetCoordinateEXT, weft_get_coordinate},
   {SpvOpCooperativeMatrixReduceNV, weft_reduce},
   {SpvOpCooperativeMatrixLoadTensorNV, weft_cooperative_matrix_load_tensor},
   {SpvOpCooperativeMatrixStoreTensorNV, weft_cooperative_matrix_store_tensor},
   {SpvOpCooperativeMatrixPerElementOpNV, weft_per_element_op},
   {SpvOpTypeTensorLayoutNV, weft_type_tensor_layout},
   {SpvOpTypeTensorViewNV, weft_type_tensor_view},
   {SpvOpCreateTensorLayoutNV, weft_create_tensor_layout},
   {SpvOpTensorLayoutSetDimensionNV, weft_tensor_layout_set_dimension},
   {SpvOpTensorLayoutSetStrideNV, weft_tensor_layout_set_stride},
   {SpvOpTensorLayoutSliceNV, weft_tensor_layout_slice},
   {SpvOpTensorLayoutSetClampValueNV, weft_tensor_layout_set_clamp_value},
   {SpvOpCreateTensorViewNV, weft_create_tensor_view},
   {SpvOpTensorViewSetDimensionNV, weft_tensor_view_set_dimension},
   {SpvOpTensorViewSetStrideNV, weft_tensor_view_set_stride},
   {SpvOpTensorViewSetClipNV, weft_tensor_view_set_clip},
   {SpvOpTensorLayoutSetBlockSizeNV, weft_tensor_layout_set_block_size},
   {SpvOpCooperativeMatrixTransposeNV, weft_transpose},
   {SpvOpGroupNonUniformPartitionNV, weft_partition},
};

/* The capabilities of these extensions, and of SPV_NV_cooperative_matrix_decode_vector,
 * SPV_ARM_cooperative_matrix_layouts, SPV_KHR_bfloat16 and SPV_EXT_float8. */
static const uint32_t capabilities[] = {
   SpvCapabilityCooperativeMatrixLayoutsARM,
   WeftSpvCapabilityFloat8EXT,
   WeftSpvCapabilityFloat8CooperativeMatrixEXT,
   WeftSpvCapabilityCooperativeMatrixConversionQCOM,
   WeftSpvCapabilityBFloat16TypeKHR,
   WeftSpvCapabilityBFloat16DotProductKHR,
   WeftSpvCapabilityBFloat16CooperativeMatrixKHR,
   SpvCapabilityCooperativeMatrixNV,
   WeftSpvCapabilityCooperativeMatrixConversionsEXT,
   SpvCapabilityCooperativeMatrixReductionsNV,
   SpvCapabilityCooperativeMatrixConversionsNV,
   SpvCapabilityCooperativeMatrixPerElementOperationsNV,
   SpvCapabilityCooperativeMatrixTensorAddressingNV,
   SpvCapabilityCooperativeMatrixBlockLoadsNV,
   WeftSpvCapabilityCooperativeMatrixGetCoordinateEXT,
   SpvCapabilityTensorAddressingNV,
   WeftSpvCapabilityCooperativeMatrixDecodeVectorNV,
};

static const struct row *find_instruction(uint32_t opcode)
{
   for (size_t i = 0; i < ARRAY_SIZE(instructions); i++) {
      if (instructions[i].opcode == opcode)
         return &instructions[i];
   }
   return NULL;
}

bool weft_is_family_capability(uint32_t capability)
{
   for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
      if (capabilities[i] == capability)
         return true;
   }
   return false;
}

static bool handle_capability(struct vtn_builder *b, uint32_t capability)
{
   return weft_is_family_capability(capability) ||
          capability == SpvCapabilityGroupNonUniformPartitionedNV;
}

static bool handle_instruction(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                               unsigned count)
{
   if (weft_handle_constant_length(b, opcode, w) ||
       weft_handle_transposing_conversion(b, opcode, w) ||
       weft_handle_small_floats(b, opcode, w, count) || weft_handle_bit_fields(b, opcode, w) ||
       weft_handle_blocked_layout(b, opcode, w, count) ||
       weft_handle_partitioned_arithmetic(b, opcode, w, count))
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
