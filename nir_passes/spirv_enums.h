/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* The numbers of SPIR-V that Mesa's spirv.h lacks, with the names of SPIR-V's grammar. The test
 * spirv_enums compares them with the grammar. */

#pragma once

enum weft_spirv_opcode {
   /* SPV_QCOM_cooperative_matrix_conversion */
   WeftSpvOpBitCastArrayQCOM = 4497,
   WeftSpvOpCompositeConstructCoopMatQCOM = 4540,
   WeftSpvOpCompositeExtractCoopMatQCOM = 4541,
   WeftSpvOpExtractSubArrayQCOM = 4542,
   /* SPV_EXT_cooperative_matrix_maintenance1 */
   WeftSpvOpCooperativeMatrixGetCoordinateEXT = 5363,
};

enum weft_spirv_capability {
   /* SPV_EXT_float8 */
   WeftSpvCapabilityFloat8EXT = 4212,
   WeftSpvCapabilityFloat8CooperativeMatrixEXT = 4213,
   /* SPV_QCOM_cooperative_matrix_conversion */
   WeftSpvCapabilityCooperativeMatrixConversionQCOM = 4496,
   /* SPV_KHR_bfloat16 */
   WeftSpvCapabilityBFloat16TypeKHR = 5116,
   WeftSpvCapabilityBFloat16DotProductKHR = 5117,
   WeftSpvCapabilityBFloat16CooperativeMatrixKHR = 5118,
   /* SPV_EXT_cooperative_matrix_maintenance1 */
   WeftSpvCapabilityCooperativeMatrixConversionsEXT = 5429,
   WeftSpvCapabilityCooperativeMatrixGetCoordinateEXT = 5438,
   /* SPV_NV_cooperative_matrix_decode_vector */
   WeftSpvCapabilityCooperativeMatrixDecodeVectorNV = 5447,
};

enum weft_spirv_decoration {
   /* SPV_EXT_float8 */
   WeftSpvDecorationSaturatedToLargestFloat8NormalConversionEXT = 4216,
   /* SPV_EXT_cooperative_matrix_maintenance1 */
   WeftSpvDecorationCooperativeMatrixTransposeEXT = 5440,
};

enum weft_spirv_fp_encoding {
   /* SPV_KHR_bfloat16 */
   WeftSpvFPEncodingBFloat16KHR = 0,
   /* SPV_EXT_float8 */
   WeftSpvFPEncodingFloat8E4M3EXT = 4214,
   WeftSpvFPEncodingFloat8E5M2EXT = 4215,
};

enum weft_spirv_tensor_addressing_operands {
   /* SPV_NV_cooperative_matrix_decode_vector */
   WeftSpvTensorAddressingOperandsDecodeVectorFunc = 0x4,
};
