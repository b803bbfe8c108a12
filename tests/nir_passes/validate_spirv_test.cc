// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The gate before the front end knows the whole family: each capability, encoding and instruction
/// that is newer than SPIRV-Tools' release, in a good module and in bad ones.

#include "nir_passes/front_end/validate_spirv.h"

#include <spirv-tools/libspirv.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

struct Case {
   const char *name;
   std::vector<std::string> capabilities = {}; // and the extensions that they need
   std::string types = "";                     // after the common ones
   std::string body = "";                      // in main()
   std::string functions = "";                 // after main()
   std::string decorations = "";
   std::string error = ""; // a part of it; none: the module is good
};

const char *const extensions[][2] = {
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

std::string text_of(const Case &test)
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

/// The module's words; none if it is no SPIR-V assembly.
std::vector<uint32_t> assemble(const std::string &text, std::string &error)
{
   const spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
   spv_binary binary = nullptr;
   spv_diagnostic diagnostic = nullptr;
   std::vector<uint32_t> words;
   if (spvTextToBinary(context, text.data(), text.size(), &binary, &diagnostic) == SPV_SUCCESS)
      words.assign(binary->code, binary->code + binary->wordCount);
   else
      error = diagnostic ? diagnostic->error : "not assembled";
   spvDiagnosticDestroy(diagnostic);
   spvBinaryDestroy(binary);
   spvContextDestroy(context);
   return words;
}

void check(const std::vector<Case> &cases)
{
   for (const Case &test : cases) {
      SCOPED_TRACE(test.name);
      const std::string text = text_of(test);
      std::string error;
      const std::vector<uint32_t> words = assemble(text, error);
      if (!words.empty()) {
         const Result<bool> valid = validate_spirv(words);
         if (!valid)
            error = valid.error().message;
      }
      if (test.error.empty())
         EXPECT_EQ(error, "") << text;
      else
         EXPECT_NE(error.find(test.error), std::string::npos) << "said: " << error << "\n" << text;
   }
}

const std::string bf16 = "%bf16 = OpTypeFloat 16 BFloat16KHR\n%b1 = OpConstant %bf16 0x3f80\n";
const std::string fp8 = "%e4m3 = OpTypeFloat 8 Float8E4M3EXT\n"
                        "%e5m2 = OpTypeFloat 8 Float8E5M2EXT\n"
                        "%q1 = OpConstant %e4m3 0x38\n";

TEST(validate_spirv, encodings)
{
   check({
      {"bfloat16", {"BFloat16TypeKHR"}, bf16, "%x = OpFConvert %f32 %b1\n%y = OpFConvert %bf16 %x"},
      {"float8", {"Float8EXT"}, fp8, "%x = OpFConvert %e5m2 %q1\n%y = OpFConvert %f32 %x"},
      {"to integers",
       {"Float8EXT", "BFloat16TypeKHR"},
       bf16 + fp8,
       "%x = OpConvertFToS %int %q1\n%y = OpConvertSToF %bf16 %x"},
      {.name = "a width that the encoding has not",
       .capabilities = {"BFloat16TypeKHR"},
       .types = "%bf16 = OpTypeFloat 32 BFloat16KHR",
       .error = "Invalid number of bits (32)"},
      {.name = "an 8-bit encoding of 16 bits",
       .capabilities = {"Float8EXT", "Float16"},
       .types = "%e4m3 = OpTypeFloat 16 Float8E4M3EXT",
       .error = "Invalid number of bits (16)"},
      {.name = "8 bits without an encoding",
       .capabilities = {"Float8EXT"},
       .types = "%f8 = OpTypeFloat 8",
       .error = "Invalid number of bits (8)"},
      {.name = "bfloat16 without its capability",
       .capabilities = {"Float16"},
       .types = bf16,
       .error = "BFloat16TypeKHR"},
      {.name = "float8 without its capability", .types = fp8, .error = "Float8EXT"},
      {.name = "a conversion to the same type",
       .capabilities = {"Float8EXT"},
       .types = fp8,
       .body = "%x = OpFConvert %e4m3 %q1",
       .error = "different bit width"},
      {.name = "arithmetic",
       .capabilities = {"BFloat16TypeKHR"},
       .types = bf16,
       .body = "%x = OpFAdd %bf16 %b1 %b1",
       .error = "FAdd cannot be used with this FP Encoding"},
      {.name = "comparison",
       .capabilities = {"Float8EXT"},
       .types = fp8 + "%bool = OpTypeBool\n",
       .body = "%x = OpFOrdLessThan %bool %q1 %q1",
       .error = "FOrdLessThan cannot be used with this FP Encoding"},
   });
}

TEST(validate_spirv, dot_products_and_saturation)
{
   const std::string vectors = bf16 + "%bf16v2 = OpTypeVector %bf16 2\n"
                                      "%v = OpConstantComposite %bf16v2 %b1 %b1\n";
   check({
      {"dot product", {"BFloat16DotProductKHR"}, vectors, "%x = OpDot %bf16 %v %v"},
      {.name = "dot product without its capability",
       .capabilities = {"BFloat16TypeKHR"},
       .types = vectors,
       .body = "%x = OpDot %bf16 %v %v",
       .error = "Dot cannot be used with this FP Encoding"},
      {.name = "saturation",
       .capabilities = {"Float8EXT"},
       .types = fp8,
       .body = "%x = OpFConvert %e4m3 %f1",
       .decorations = "OpDecorate %x SaturatedToLargestFloat8NormalConversionEXT"},
      {.name = "saturation to another type",
       .capabilities = {"Float8EXT"},
       .types = fp8,
       .body = "%x = OpFConvert %f32 %q1",
       .decorations = "OpDecorate %x SaturatedToLargestFloat8NormalConversionEXT",
       .error = "8-bit float"},
   });
}

/// f32 matrices by use, 16x16, and accumulators of other sizes.
const std::string matrices = R"(
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

TEST(validate_spirv, matrices_of_encoded_floats)
{
   const std::string types = "OpTypeCooperativeMatrixKHR %bf16 %u3 %u16 %u16 %u0\n";
   check({
      {"bfloat16",
       {"CooperativeMatrixKHR", "BFloat16CooperativeMatrixKHR"},
       bf16 + "%M = " + types + "%m = OpConstantComposite %M %b1\n",
       "%x = OpCooperativeMatrixLengthKHR %uint %M"},
      {"float8",
       {"CooperativeMatrixKHR", "Float8CooperativeMatrixEXT"},
       fp8 + "%M = OpTypeCooperativeMatrixKHR %e5m2 %u3 %u16 %u16 %u2\n",
       ""},
      {.name = "bfloat16 without the matrices' capability",
       .capabilities = {"CooperativeMatrixKHR", "BFloat16TypeKHR"},
       .types = bf16 + "%M = " + types,
       .error = "BFloat16CooperativeMatrixKHR"},
      {.name = "float8 without the matrices' capability",
       .capabilities = {"CooperativeMatrixKHR", "Float8EXT"},
       .types = fp8 + "%M = OpTypeCooperativeMatrixKHR %e5m2 %u3 %u16 %u16 %u2\n",
       .error = "Float8CooperativeMatrixEXT"},
      {.name = "arithmetic",
       .capabilities = {"CooperativeMatrixKHR", "BFloat16CooperativeMatrixKHR"},
       .types = bf16 + "%M = " + types + "%m = OpConstantComposite %M %b1\n",
       .body = "%x = OpFMul %M %m %m",
       .error = "FMul cannot be used with this FP Encoding"},
   });
}

TEST(validate_spirv, conversions_of_use)
{
   const std::vector<std::string> nv = {"CooperativeMatrixKHR", "CooperativeMatrixConversionsNV"};
   const std::vector<std::string> ext = {"CooperativeMatrixKHR", "CooperativeMatrixConversionsEXT"};
   const std::string transpose = "OpDecorate %x CooperativeMatrixTransposeEXT";
   check({
      {"NV", nv, matrices, "%x = OpCooperativeMatrixConvertNV %A %c"},
      {"EXT, to an operand", ext, matrices, "%x = OpCooperativeMatrixConvertUseEXT %B %c"},
      {"EXT, to an accumulator", ext, matrices, "%x = OpCooperativeMatrixConvertUseEXT %C %a"},
      {"NV, transposed", nv, matrices, "%x = OpCooperativeMatrixTransposeNV %B8x16 %c16x8"},
      {"EXT, transposed", ext, matrices, "%x = OpCooperativeMatrixConvertUseEXT %A8x16 %c16x8", "",
       transpose},
      {"EXT, transposed and of another type",
       {"CooperativeMatrixKHR", "CooperativeMatrixConversionsEXT", "Float16"},
       matrices + "%f16 = OpTypeFloat 16\n"
                  "%H = OpTypeCooperativeMatrixKHR %f16 %u3 %u8 %u16 %u1\n",
       "%x = OpFConvert %H %c16x8",
       "",
       transpose},
      {.name = "without a capability",
       .capabilities = {"CooperativeMatrixKHR"},
       .types = matrices,
       .body = "%x = OpCooperativeMatrixConvertNV %A %c",
       .error = "CooperativeMatrixConversionsNV"},
      {.name = "NV, to an accumulator",
       .capabilities = nv,
       .types = matrices,
       .body = "%x = OpCooperativeMatrixConvertNV %C %a",
       .error = "Use"},
      {.name = "from operand to operand",
       .capabilities = ext,
       .types = matrices,
       .body = "%x = OpCooperativeMatrixConvertUseEXT %B %a",
       .error = "Use"},
      {.name = "to the same use",
       .capabilities = ext,
       .types = matrices,
       .body = "%x = OpCooperativeMatrixConvertUseEXT %C %c",
       .error = "Use"},
      {.name = "to another shape",
       .capabilities = ext,
       .types = matrices,
       .body = "%x = OpCooperativeMatrixConvertUseEXT %A8x16 %c16x8",
       .error = "rows"},
      {.name = "transposed to the same shape",
       .capabilities = ext,
       .types = matrices,
       .body = "%x = OpCooperativeMatrixConvertUseEXT %A %c16x8",
       .decorations = transpose,
       .error = "swapped"},
      {.name = "transposed from an operand",
       .capabilities = ext,
       .types = matrices,
       .body = "%x = OpCooperativeMatrixConvertUseEXT %C %a",
       .decorations = transpose,
       .error = "CooperativeMatrixTransposeEXT needs"},
      {.name = "the decoration of what is no conversion",
       .capabilities = ext,
       .types = matrices,
       .body = "%x = OpFAdd %C %c %c",
       .decorations = transpose,
       .error = "must be a conversion"},
      {.name = "NV's transpose to A",
       .capabilities = nv,
       .types = matrices,
       .body = "%x = OpCooperativeMatrixTransposeNV %A8x16 %c16x8",
       .error = "UseB"},
   });
}

TEST(validate_spirv, reductions)
{
   const std::vector<std::string> nv = {"CooperativeMatrixKHR", "CooperativeMatrixReductionsNV"};
   const std::vector<std::string> ext = {"CooperativeMatrixKHR", "CooperativeMatrixReductionsEXT"};
   const std::string types = matrices + "%binary = OpTypeFunction %f32 %f32 %f32\n"
                                        "%unary = OpTypeFunction %f32 %f32\n";
   const std::string functions = R"(
      %combine = OpFunction %f32 None %binary
      %p = OpFunctionParameter %f32
      %q = OpFunctionParameter %f32
      %l1 = OpLabel
      %sum = OpFAdd %f32 %p %q
      OpReturnValue %sum
      OpFunctionEnd
      %other = OpFunction %f32 None %unary
      %r = OpFunctionParameter %f32
      %l2 = OpLabel
      OpReturnValue %r
      OpFunctionEnd
)";
   const auto with = [&](const std::string &body, const std::string &error = "") {
      return Case{body.c_str(), nv, types, body, functions, "", error};
   };
   const std::string rows = "%x = OpCooperativeMatrixReduceNV %C16x8 %c Row %combine";
   const std::string columns = "%x = OpCooperativeMatrixReduceNV %C8x16 %c Column %combine";
   const std::string both = "%x = OpCooperativeMatrixReduceNV %C8x16 %c16x8 Row|Column %combine";
   const std::string quads = "%x = OpCooperativeMatrixReduceNV %C8x8 %c 2x2 %combine";
   const std::string wrong_rows = "%x = OpCooperativeMatrixReduceNV %C8x16 %c Row %combine";
   const std::string wrong_half = "%x = OpCooperativeMatrixReduceNV %C16x8 %c 2x2 %combine";
   const std::string mixed = "%x = OpCooperativeMatrixReduceNV %C8x8 %c Row|2x2 %combine";
   const std::string operand = "%x = OpCooperativeMatrixReduceNV %A %a Row %combine";
   const std::string one_parameter = "%x = OpCooperativeMatrixReduceNV %C %c Row %other";
   check({
      with(rows),
      with(columns),
      with(both),
      with(quads),
      {"EXT", ext, types, "%x = OpCooperativeMatrixReduceEXT %C %c Row %combine", functions},
      {"without a capability",
       {"CooperativeMatrixKHR"},
       types,
       rows,
       functions,
       "",
       "CooperativeMatrixReductions"},
      with(wrong_rows, "rows"),
      with(wrong_half, "half"),
      with(mixed, "2x2 must not"),
      with(operand, "UseAccumulator"),
      with(one_parameter, "two parameters"),
   });
}

TEST(validate_spirv, per_element_operations)
{
   const std::vector<std::string> nv = {"CooperativeMatrixKHR",
                                        "CooperativeMatrixPerElementOperationsNV"};
   const std::vector<std::string> ext = {"CooperativeMatrixKHR",
                                         "CooperativeMatrixPerElementOperationsEXT"};
   const std::string types = matrices + "%F = OpTypeFunction %f32 %uint %uint %f32\n"
                                        "%G = OpTypeFunction %f32 %uint %uint %f32 %f32\n";
   const std::string functions = R"(
      %f = OpFunction %f32 None %F
      %f_row = OpFunctionParameter %uint
      %f_col = OpFunctionParameter %uint
      %f_x = OpFunctionParameter %f32
      %l1 = OpLabel
      OpReturnValue %f_x
      OpFunctionEnd
      %g = OpFunction %f32 None %G
      %g_row = OpFunctionParameter %uint
      %g_col = OpFunctionParameter %uint
      %g_x = OpFunctionParameter %f32
      %g_y = OpFunctionParameter %f32
      %l2 = OpLabel
      OpReturnValue %g_y
      OpFunctionEnd
)";
   const auto with = [&](const std::string &body, const std::string &error = "") {
      return Case{"per element", nv, types, body, functions, "", error};
   };
   check({
      with("%x = OpCooperativeMatrixPerElementOpNV %C %c %f"),
      with("%x = OpCooperativeMatrixPerElementOpNV %C %c %g %f1"),
      with("%x = OpCooperativeMatrixPerElementOpNV %C %c %g %c"),
      with("%x = OpCooperativeMatrixPerElementOpNV %A %a %g %a"),
      {"EXT", ext, types, "%x = OpCooperativeMatrixPerElementOpEXT %C %c %f", functions},
      {"without a capability",
       {"CooperativeMatrixKHR"},
       types,
       "%x = OpCooperativeMatrixPerElementOpNV %C %c %f",
       functions,
       "",
       "CooperativeMatrixPerElementOperations"},
      with("%x = OpCooperativeMatrixPerElementOpNV %A %c %f", "must match matrix type"),
      with("%x = OpCooperativeMatrixPerElementOpNV %C %c %g", "number of operands"),
      with("%x = OpCooperativeMatrixPerElementOpNV %C %c %f %f1", "number of operands"),
      with("%x = OpCooperativeMatrixPerElementOpNV %C %c %g %u1", "function's parameter"),
      with("%x = OpCooperativeMatrixPerElementOpNV %C %c %g %c16x8", "columns"),
      with("%x = OpCooperativeMatrixPerElementOpNV %C %c %g %a", "Use"),
   });
}

/// Functions that are called by these instructions are parts of the call graph as others are.
TEST(validate_spirv, recursion)
{
   const std::string types = matrices + "%F = OpTypeFunction %f32 %uint %uint %f32\n"
                                        "%G = OpTypeFunction %f32 %f32 %f32\n";
   const std::string functions = R"(
      %f = OpFunction %f32 None %F
      %f_row = OpFunctionParameter %uint
      %f_col = OpFunctionParameter %uint
      %f_x = OpFunctionParameter %f32
      %l1 = OpLabel
      %f_y = OpFunctionCall %f32 %f %f_col %f_row %f_x
      OpReturnValue %f_y
      OpFunctionEnd
      %g = OpFunction %f32 None %G
      %g_x = OpFunctionParameter %f32
      %g_y = OpFunctionParameter %f32
      %l2 = OpLabel
      %g_z = OpFunctionCall %f32 %h %g_y %g_x
      OpReturnValue %g_z
      OpFunctionEnd
      %h = OpFunction %f32 None %G
      %h_x = OpFunctionParameter %f32
      %h_y = OpFunctionParameter %f32
      %l3 = OpLabel
      %m = OpCooperativeMatrixReduceNV %C %c Row %g
      OpReturnValue %h_x
      OpFunctionEnd
)";
   const std::vector<std::string> per_element = {"CooperativeMatrixKHR",
                                                 "CooperativeMatrixPerElementOperationsNV",
                                                 "CooperativeMatrixReductionsNV"};
   check({
      {"per element", per_element, types, "%x = OpCooperativeMatrixPerElementOpNV %C %c %f",
       functions, "", "call graph with cycles"},
      {"reduction", per_element, types, "%x = OpCooperativeMatrixReduceNV %C %c Row %g", functions,
       "", "call graph with cycles"},
   });
}

/// Elements' functions run for some invocations and not for others.
TEST(validate_spirv, functions_of_elements_have_no_tangled_instructions)
{
   const std::vector<std::string> capabilities = {
      "CooperativeMatrixKHR", "CooperativeMatrixReductionsNV", "GroupNonUniformArithmetic"};
   const std::string types = matrices + "%G = OpTypeFunction %f32 %f32 %f32\n"
                                        "%U = OpTypeFunction %f32 %f32\n";
   const auto functions = [](const std::string &instruction) {
      return R"(
      %g = OpFunction %f32 None %G
      %g_x = OpFunctionParameter %f32
      %g_y = OpFunctionParameter %f32
      %l2 = OpLabel
      %g_z = OpFunctionCall %f32 %h %g_y
      OpReturnValue %g_z
      OpFunctionEnd
      %h = OpFunction %f32 None %U
      %h_x = OpFunctionParameter %f32
      %l3 = OpLabel
)" + instruction +
             R"(
      OpReturnValue %h_x
      OpFunctionEnd
)";
   };
   const std::string reduce = "%x = OpCooperativeMatrixReduceNV %C %c Row %g";
   check({
      {"none", capabilities, types, reduce, functions("%y = OpFAdd %f32 %h_x %h_x")},
      {"in the caller", capabilities, types,
       reduce + "\nOpControlBarrier %u3 %u3 %u0\n%y = OpGroupNonUniformFAdd %f32 %u3 Reduce %f1",
       functions("")},
      {"a barrier", capabilities, types, reduce, functions("OpControlBarrier %u3 %u3 %u0"), "",
       "ControlBarrier cannot be in a function"},
      {"a subgroup operation", capabilities, types, reduce,
       functions("%y = OpGroupNonUniformFAdd %f32 %u3 Reduce %h_x"), "",
       "GroupNonUniformFAdd cannot be in a function"},
      {"another reduction", capabilities, types, reduce,
       functions("%y = OpCooperativeMatrixReduceNV %C %c Row %other") + R"(
      %other = OpFunction %f32 None %G
      %o_x = OpFunctionParameter %f32
      %o_y = OpFunctionParameter %f32
      %l4 = OpLabel
      OpReturnValue %o_x
      OpFunctionEnd
)",
       "", "CooperativeMatrixReduceNV cannot be in a function"},
   });
}

TEST(validate_spirv, coordinates)
{
   const std::vector<std::string> ext = {"CooperativeMatrixKHR",
                                         "CooperativeMatrixGetCoordinateEXT"};
   check({
      {"coordinate", ext, matrices, "%x = OpCooperativeMatrixGetCoordinateEXT %uint2 %c %u1"},
      {"without its capability",
       {"CooperativeMatrixKHR"},
       matrices,
       "%x = OpCooperativeMatrixGetCoordinateEXT %uint2 %c %u1",
       "",
       "",
       "CooperativeMatrixGetCoordinateEXT"},
      {"a scalar", ext, matrices, "%x = OpCooperativeMatrixGetCoordinateEXT %uint %c %u1", "", "",
       "vector of two"},
      {"not of a matrix", ext, matrices, "%x = OpCooperativeMatrixGetCoordinateEXT %uint2 %u1 %u1",
       "", "", "not a cooperative matrix"},
      {"a float index", ext, matrices, "%x = OpCooperativeMatrixGetCoordinateEXT %uint2 %c %f1", "",
       "", "32-bit integer"},
   });
}

TEST(validate_spirv, arrays_and_matrices)
{
   const std::vector<std::string> qcom = {"CooperativeMatrixConversionQCOM"};
   const std::string types = matrices + R"(
      %uint8a = OpTypeArray %uint %u8
      %uint16a = OpTypeArray %uint %u16
      %f32a8 = OpTypeArray %f32 %u8
      %f32a16 = OpTypeArray %f32 %u16
      %array = OpUndef %f32a16
      %words = OpUndef %uint16a
      %ints = OpTypeArray %int %u16
      %integers = OpUndef %ints
)";
   check({
      {"bit cast", qcom, types, "%x = OpBitCastArrayQCOM %uint16a %array"},
      {"sub-array", qcom, types, "%x = OpExtractSubArrayQCOM %f32a8 %array %u8"},
      {"matrix of arrays", qcom, types, "%x = OpCompositeConstructCoopMatQCOM %C %array"},
      {"matrix of words", qcom, types, "%x = OpCompositeConstructCoopMatQCOM %C %words"},
      {"array of a matrix", qcom, types, "%x = OpCompositeExtractCoopMatQCOM %f32a16 %c"},
      {"without its capability",
       {"CooperativeMatrixKHR"},
       types,
       "%x = OpBitCastArrayQCOM %uint16a %array",
       "",
       "",
       "CooperativeMatrixConversionQCOM"},
      {"bit cast to another size", qcom, types, "%x = OpBitCastArrayQCOM %uint8a %array", "", "",
       "same size"},
      {"sub-array of another type", qcom, types, "%x = OpExtractSubArrayQCOM %uint8a %array %u8",
       "", "", "same element type"},
      {"a float index", qcom, types, "%x = OpExtractSubArrayQCOM %f32a8 %array %f1", "", "",
       "32-bit integer"},
      {"matrix of other elements", qcom, types, "%x = OpCompositeConstructCoopMatQCOM %C %integers",
       "", "", "component type"},
      {"array of no matrix", qcom, types, "%x = OpCompositeExtractCoopMatQCOM %f32a16 %array", "",
       "", "cooperative matrix"},
   });
}

/// Of SPV_ARM_cooperative_matrix_layouts.
TEST(validate_spirv, blocked_layouts)
{
   const std::string types = R"(
      %rows_first = OpConstant %uint 4202
      %columns_first = OpConstant %uint 4203
      %u12 = OpConstant %uint 12
      %some = OpSpecConstant %uint 3
      %matrix = OpTypeCooperativeMatrixKHR %f32 %u3 %u8 %u8 %u2
      %flat = OpTypeCooperativeMatrixKHR %f32 %u3 %u4 %u8 %u2
      %odd = OpTypeCooperativeMatrixKHR %f32 %u3 %u12 %u12 %u2
      %one = OpConstantComposite %matrix %f1
      %numbers = OpTypeArray %f32 %u16
      %pointer = OpTypePointer Workgroup %f32
      %shared = OpTypePointer Workgroup %numbers
      %memory = OpVariable %shared Workgroup
)";
   const std::vector<std::string> arm = {"CooperativeMatrixKHR", "CooperativeMatrixLayoutsARM"};
   /* In a function that no entry point calls, as these would have to list the memory. */
   const auto access = [&](const std::string &instruction, const std::string &error = "",
                           const std::string &before = "") {
      return Case{.name = "an access",
                  .capabilities = arm,
                  .types = types,
                  .functions = "%function = OpFunction %void None %procedure\n%label = OpLabel\n" +
                               before + "%at = OpAccessChain %pointer %memory %u0\n" + instruction +
                               "\nOpReturn\nOpFunctionEnd",
                  .error = error};
   };
   const std::string load = "%x = OpCooperativeMatrixLoadKHR ",
                     store = "OpCooperativeMatrixStoreKHR %at %one ";
   Case undeclared = access(load + "%matrix %at %rows_first %u2", "CooperativeMatrixLayoutsARM");
   undeclared.capabilities.pop_back();
   check({
      access(load + "%matrix %at %rows_first %u2"),
      access(load + "%matrix %at %columns_first %u2"),
      access(store + "%rows_first %u1"),
      access(load + "%matrix %at %rows_first %some"),
      undeclared,
      access(load + "%matrix %at %rows_first", "requires a Stride"),
      access(load + "%matrix %at %rows_first %u3", "1, 2 or 4"),
      access(load + "%matrix %at %rows_first %sum", "from a constant instruction",
             "%sum = OpIAdd %uint %u1 %u1\n"),
      access(load + "%odd %at %rows_first %u2", "Columns"),
      access(load + "%flat %at %columns_first %u2", "Rows"),
      access(store + "%columns_first %u4", "Rows"),
   });
}

/// Matrices, tensor layouts and views are in invocations, not in memory.
TEST(validate_spirv, pointers_to_types_without_layout)
{
   std::vector<Case> cases;
   for (const std::string type : {"C", "layout", "view"}) {
      for (const std::string storage :
           {"Function", "Private", "Workgroup", "StorageBuffer", "PushConstant"}) {
         const bool good = storage == "Function" || storage == "Private";
         for (const bool in_struct : {false, true})
            cases.push_back({.name = "a pointer",
                             .capabilities = {"CooperativeMatrixKHR", "TensorAddressingNV"},
                             .types = matrices + R"(
      %bool = OpTypeBool
      %false = OpConstantFalse %bool
      %layout = OpTypeTensorLayoutNV %u2 %u0
      %view = OpTypeTensorViewNV %u2 %false %u0 %u1
      %struct = OpTypeStruct %)" + type +
                                      "\n%pointer = OpTypePointer " + storage + " %" +
                                      (in_struct ? "struct" : type),
                             .error = good ? "" : "can only be in Function or Private"});
      }
   }
   check(cases);
}

/// Which are negative where Mesa keeps them.
TEST(validate_spirv, huge_offsets)
{
   const std::string type = "%two_members = OpTypeStruct %uint %uint\n";
   const auto at = [](const std::string &offset) {
      return "OpMemberDecorate %two_members 0 Offset 0\nOpMemberDecorate %two_members 1 Offset " +
             offset + "\n";
   };
   check({
      {.name = "the largest", .types = type, .decorations = at("2147483644")},
      {.name = "too large",
       .types = type,
       .decorations = at("2147483648"),
       .error = "Offset of 2147483648"},
      {.name = "in a decoration group",
       .types = type,
       .decorations =
          "OpMemberDecorate %two_members 0 Offset 0\nOpDecorate %group Offset 4294967292\n"
          "%group = OpDecorationGroup\nOpGroupMemberDecorate %group %two_members 1\n",
       .error = "Offset of 4294967292"},
   });
}

/// A function that stands behind its caller is checked behind it: what it has for a type may be none of a function.
TEST(validate_spirv, types_of_later_functions)
{
   const std::vector<std::string> capabilities = {
      "CooperativeMatrixKHR",          "CooperativeMatrixPerElementOperationsNV",
      "CooperativeMatrixReductionsNV", "TensorAddressingNV",
      "CooperativeMatrixBlockLoadsNV", "CooperativeMatrixTensorAddressingNV",
      "PhysicalStorageBufferAddresses"};
   const std::string types = matrices + R"(
      %three = OpTypeStruct %f32 %f32 %f32
      %array = OpTypeRuntimeArray %f32
      %block = OpTypeStruct %array
      %pointer = OpTypePointer StorageBuffer %block
      %element = OpTypePointer StorageBuffer %array
      %buffer = OpVariable %pointer StorageBuffer
      %Layout = OpTypeTensorLayoutNV %u2 %u0
)";
   const std::string decorations = "OpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
                                   "OpDecorate %array ArrayStride 4\n"
                                   "OpDecorate %buffer DescriptorSet 0\n"
                                   "OpDecorate %buffer Binding 0\n";
   const std::string load =
      "%p = OpAccessChain %element %buffer %u0\n"
      "%layout = OpCreateTensorLayoutNV %Layout\n"
      "%x = OpCooperativeMatrixLoadTensorNV %C %p %c %layout None DecodeFunc %f";
   for (const std::string type : {"%void", "%f32", "%three", "%pointer", "%C"}) {
      const auto with = [&](const std::string &body, const std::string &error) {
         return Case{"function type",
                     capabilities,
                     types,
                     body,
                     "%f = OpFunction %f32 None " + type +
                        "\n%l1 = OpLabel\nOpReturnValue %f1\n"
                        "OpFunctionEnd\n",
                     decorations,
                     error};
      };
      check({
         with("%x = OpCooperativeMatrixPerElementOpNV %C %c %f", "no function type"),
         with("%x = OpCooperativeMatrixReduceNV %C %c Row %f", "two parameters"),
         with(load, "return type must match"),
      });
   }
}

TEST(validate_spirv, capabilities_and_their_names)
{
   check({
      {"layouts", {"CooperativeMatrixKHR", "CooperativeMatrixLayoutsARM"}, "", ""},
      {"decode_vector",
       {"CooperativeMatrixKHR", "TensorAddressingNV", "CooperativeMatrixTensorAddressingNV",
        "CooperativeMatrixBlockLoadsNV", "CooperativeMatrixDecodeVectorNV"},
       "",
       ""},
      {.name = "an unknown capability", .capabilities = {"7777"}, .error = "capability"},
   });
}

} // namespace
} // namespace weft
