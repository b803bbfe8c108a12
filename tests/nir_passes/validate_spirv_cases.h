// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Modules for validate_spirv, good and bad, in parts.

#pragma once

#include "nir_passes/front_end/validate_spirv.h"
#include "tests/spirv/assemble.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::validate_spirv_cases {

struct Case {
   const char *name;
   std::vector<std::string> capabilities = {}; // and the extensions that they need
   std::string types = "";                     // after the common ones
   std::string body = "";                      // in main()
   std::string functions = "";                 // after main()
   std::string decorations = "";
   std::string error = ""; // a part of it; none: the module is good
};

inline const char *const extensions[][2] = {
   {"BFloat16TypeKHR", "SPV_KHR_bfloat16"},
   {"BFloat16DotProductKHR", "SPV_KHR_bfloat16"},
   {"BFloat16CooperativeMatrixKHR", "SPV_KHR_bfloat16"},
   {"Float8EXT", "SPV_EXT_float8"},
   {"Float8CooperativeMatrixEXT", "SPV_EXT_float8"},
   {"CooperativeMatrixKHR", "SPV_KHR_cooperative_matrix"},
   {"CooperativeMatrixConversionsNV", "SPV_NV_cooperative_matrix2"},
   {"CooperativeMatrixConversionsEXT", "SPV_EXT_cooperative_matrix_maintenance1"},
   {"CooperativeMatrixReductionsNV", "SPV_NV_cooperative_matrix2"},
   {"CooperativeMatrixReductionsEXT", "SPV_EXT_cooperative_matrix_maintenance1"},
   {"CooperativeMatrixPerElementOperationsNV", "SPV_NV_cooperative_matrix2"},
   {"CooperativeMatrixPerElementOperationsEXT", "SPV_EXT_cooperative_matrix_maintenance1"},
   {"CooperativeMatrixGetCoordinateEXT", "SPV_EXT_cooperative_matrix_maintenance1"},
   {"CooperativeMatrixConversionQCOM", "SPV_QCOM_cooperative_matrix_conversion"},
   {"CooperativeMatrixLayoutsARM", "SPV_ARM_cooperative_matrix_layouts"},
   {"CooperativeMatrixDecodeVectorNV", "SPV_NV_cooperative_matrix_decode_vector"},
   {"CooperativeMatrixBlockLoadsNV", "SPV_NV_cooperative_matrix2"},
   {"CooperativeMatrixTensorAddressingNV", "SPV_NV_cooperative_matrix2"},
   {"TensorAddressingNV", "SPV_NV_tensor_addressing"},
};

inline std::string text_of(const Case &test)
{
   std::string capabilities = "OpCapability Shader\nOpCapability VulkanMemoryModel\n";
   std::string names;
   for (const std::string &capability : test.capabilities) {
      capabilities += "OpCapability " + capability + "\n";
      for (const auto &[of, extension] : extensions) {
         if (of == capability)
            names += "OpExtension \"" + std::string(extension) + "\"\n";
      }
   }
   return capabilities + names + R"(
      OpMemoryModel Logical Vulkan
      OpEntryPoint GLCompute %main "main"
      OpExecutionMode %main LocalSize 32 1 1
)" + test.decorations +
          R"(
      %void = OpTypeVoid
      %procedure = OpTypeFunction %void
      %int = OpTypeInt 32 1
      %uint = OpTypeInt 32 0
      %uint2 = OpTypeVector %uint 2
      %f32 = OpTypeFloat 32
      %u0 = OpConstant %uint 0
      %u1 = OpConstant %uint 1
      %u2 = OpConstant %uint 2
      %u3 = OpConstant %uint 3
      %u4 = OpConstant %uint 4
      %u8 = OpConstant %uint 8
      %u16 = OpConstant %uint 16
      %f1 = OpConstant %f32 1
)" + test.types +
          R"(
      %main = OpFunction %void None %procedure
      %entry = OpLabel
)" + test.body +
          R"(
      OpReturn
      OpFunctionEnd
)" + test.functions;
}

inline void check(const std::vector<Case> &cases)
{
   for (const Case &test : cases) {
      SCOPED_TRACE(test.name);
      const std::string text = text_of(test);
      const Result<bool> valid = validate_spirv(test::assemble(text));
      const std::string error = valid ? "" : valid.error().message;
      if (test.error.empty())
         EXPECT_EQ(error, "") << text;
      else
         EXPECT_NE(error.find(test.error), std::string::npos) << "said: " << error << "\n" << text;
   }
}

inline const std::string bf16 =
   "%bf16 = OpTypeFloat 16 BFloat16KHR\n%b1 = OpConstant %bf16 0x3f80\n";
inline const std::string fp8 = "%e4m3 = OpTypeFloat 8 Float8E4M3EXT\n"
                               "%e5m2 = OpTypeFloat 8 Float8E5M2EXT\n"
                               "%q1 = OpConstant %e4m3 0x38\n";

/// f32 matrices by use, 16x16, and accumulators of other sizes.
inline const std::string matrices = R"(
   %A = OpTypeCooperativeMatrixKHR %f32 %u3 %u16 %u16 %u0
   %B = OpTypeCooperativeMatrixKHR %f32 %u3 %u16 %u16 %u1
   %C = OpTypeCooperativeMatrixKHR %f32 %u3 %u16 %u16 %u2
   %C8x16 = OpTypeCooperativeMatrixKHR %f32 %u3 %u8 %u16 %u2
   %C16x8 = OpTypeCooperativeMatrixKHR %f32 %u3 %u16 %u8 %u2
   %C8x8 = OpTypeCooperativeMatrixKHR %f32 %u3 %u8 %u8 %u2
   %A8x16 = OpTypeCooperativeMatrixKHR %f32 %u3 %u8 %u16 %u0
   %B8x16 = OpTypeCooperativeMatrixKHR %f32 %u3 %u8 %u16 %u1
   %a = OpConstantComposite %A %f1
   %b = OpConstantComposite %B %f1
   %c = OpConstantComposite %C %f1
   %c16x8 = OpConstantComposite %C16x8 %f1
)";

} // namespace weft::validate_spirv_cases
