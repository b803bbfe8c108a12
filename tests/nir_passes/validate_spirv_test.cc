// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The validator before the front end knows the whole family. Tests each capability, encoding and
/// instruction that is newer than SPIRV-Tools' release, in a valid module and in invalid ones.

#include "tests/nir_passes/validate_spirv_cases.h"

#include <algorithm>
#include <string>
#include <vector>

namespace weft {
namespace {

using namespace validate_spirv_cases;

/// Valid modules are validated once, and known by all of their words.
TEST(ValidateSpirv, RemembersValidModulesOnly)
{
   const std::vector<uint32_t> module = test::assemble(text_of({.name = "small"}));
   for (int i = 0; i < 2; i++)
      EXPECT_TRUE(validate_spirv(module));
   for (const size_t at : {size_t(5), module.size() - 1}) {
      std::vector<uint32_t> damaged = module;
      damaged[at] = 0xffff0000;
      for (int i = 0; i < 2; i++)
         EXPECT_FALSE(validate_spirv(damaged)) << "word " << at;
   }
   EXPECT_TRUE(validate_spirv(module));
}

TEST(ValidateSpirv, Encodings)
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

TEST(ValidateSpirv, DotProductsAndSaturation)
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

/// Of SPV_ARM_cooperative_matrix_layouts.
TEST(ValidateSpirv, BlockedLayouts)
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
   /* The access is in a function that no entry point calls, because an entry point would have to
    * list the memory. */
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

/// Matrices, tensor layouts and views have no layout in memory.
TEST(ValidateSpirv, PointersToTypesWithoutLayout)
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

/// Mesa keeps these offsets as negative numbers.
TEST(ValidateSpirv, HugeOffsets)
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

/// A function that follows its caller is checked after it, so its result may have an invalid type
/// at the call.
TEST(ValidateSpirv, TypesOfLaterFunctions)
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

TEST(ValidateSpirv, CapabilitiesAndTheirNames)
{
   check({
      {"layouts", {"CooperativeMatrixKHR", "CooperativeMatrixLayoutsARM"}, "", ""},
      {"decode_vector",
       {"CooperativeMatrixKHR", "TensorAddressingNV", "CooperativeMatrixTensorAddressingNV",
        "CooperativeMatrixBlockLoadsNV", "CooperativeMatrixDecodeVectorNV"},
       "",
       ""},
   });
   std::vector<uint32_t> words =
      test::assemble(text_of({.name = "unknown", .capabilities = {"CooperativeMatrixKHR"}}));
   std::ranges::replace(words, 6022u, 7777u);
   const Result<bool> unknown = validate_spirv(words);
   ASSERT_FALSE(unknown);
   EXPECT_NE(unknown.error().message.find("apability"), std::string::npos)
      << unknown.error().message;
}

} // namespace
} // namespace weft
