// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tests validate_spirv() with instructions on matrices.

#include "tests/nir_passes/validate_spirv_cases.h"

#include <algorithm>
#include <string>
#include <vector>

namespace weft {
namespace {

using namespace validate_spirv_cases;

TEST(ValidateSpirv, MatricesOfEncodedFloats)
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

TEST(ValidateSpirv, ConversionsOfUse)
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

TEST(ValidateSpirv, Reductions)
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

TEST(ValidateSpirv, PerElementOperations)
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

/// Functions that these instructions call are ordinary parts of the call graph.
TEST(ValidateSpirv, Recursion)
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

/// The functions for elements run only in some invocations.
TEST(ValidateSpirv, FunctionsOfElementsHaveNoTangledInstructions)
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

TEST(ValidateSpirv, Coordinates)
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

TEST(ValidateSpirv, ArraysAndMatrices)
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

} // namespace
} // namespace weft
