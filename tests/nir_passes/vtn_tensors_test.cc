// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Modules with tensor layouts, views and tensor loads that the front end refuses, each with its
/// reason. tests/e2e/cmat_tensor_test.cc checks results of accepted ones.

#include "nir_passes/stages.h"
#include "tests/spirv/assemble.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace weft {
namespace {

/// A valid module. It loads a matrix from a storage buffer by a decode function, through a layout
/// and a view of two dimensions, and stores it.
const std::string good = R"(
   OpCapability Shader
   OpCapability VulkanMemoryModel
   OpCapability CooperativeMatrixKHR
   OpCapability TensorAddressingNV
   OpCapability CooperativeMatrixTensorAddressingNV
   OpCapability CooperativeMatrixBlockLoadsNV
   OpCapability PhysicalStorageBufferAddresses
   OpExtension "SPV_KHR_cooperative_matrix"
   OpExtension "SPV_NV_tensor_addressing"
   OpExtension "SPV_NV_cooperative_matrix2"
   OpExtension "SPV_KHR_physical_storage_buffer"
   OpMemoryModel PhysicalStorageBuffer64 Vulkan
   OpEntryPoint GLCompute %main "main" %memory %shared
   OpExecutionMode %main LocalSize 32 1 1
   OpDecorate %spec SpecId 0
   OpDecorate %memory DescriptorSet 0
   OpDecorate %memory Binding 0
   OpDecorate %words ArrayStride 4
   OpDecorate %struct Block
   OpMemberDecorate %struct 0 Offset 0
   OpDecorate %block Block
   OpMemberDecorate %block 0 Offset 0
   OpDecorate %endless Block
   OpMemberDecorate %endless 0 Offset 0
   %void = OpTypeVoid
   %procedure = OpTypeFunction %void
   %bool = OpTypeBool
   %true = OpConstantTrue %bool
   %false = OpConstantFalse %bool
   %uint = OpTypeInt 32 0
   %f32 = OpTypeFloat 32
   %u0 = OpConstant %uint 0
   %u1 = OpConstant %uint 1
   %u2 = OpConstant %uint 2
   %u3 = OpConstant %uint 3
   %u5 = OpConstant %uint 5
   %u6 = OpConstant %uint 6
   %u16 = OpConstant %uint 16
   %spec = OpSpecConstant %uint 2
   %words = OpTypeRuntimeArray %uint
   %struct = OpTypeStruct %words
   %buffer = OpTypePointer StorageBuffer %struct
   %in_buffer = OpTypePointer StorageBuffer %uint
   %memory = OpVariable %buffer StorageBuffer
   %words16 = OpTypeArray %uint %u16
   %workgroup = OpTypePointer Workgroup %words16
   %in_workgroup = OpTypePointer Workgroup %uint
   %shared = OpVariable %workgroup Workgroup
   %block = OpTypeStruct %uint
   %block_pointer = OpTypePointer PhysicalStorageBuffer %block
   %endless = OpTypeStruct %words
   %endless_pointer = OpTypePointer PhysicalStorageBuffer %endless
   %pair = OpTypeArray %uint %u2
   %triple = OpTypeArray %uint %u3
   %float_pair = OpTypeArray %f32 %u2
   %decodes = OpTypeFunction %f32 %block_pointer %pair %pair
   %C = OpTypeCooperativeMatrixKHR %f32 %u3 %u16 %u16 %u2
   %null = OpConstantNull %C
   %f0 = OpConstant %f32 0
   %layout = OpTypeTensorLayoutNV %u2 %u1
   %view = OpTypeTensorViewNV %u2 %false %u1 %u0
   %main = OpFunction %void None %procedure
   %entry = OpLabel
   %pointer = OpAccessChain %in_buffer %memory %u0 %u0
   %other = OpAccessChain %in_workgroup %shared %u0
   %layout0 = OpCreateTensorLayoutNV %layout
   %layout1 = OpTensorLayoutSetDimensionNV %layout %layout0 %u16 %u16
   %layout2 = OpTensorLayoutSliceNV %layout %layout1 %u0 %u16 %u0 %u16
   %view0 = OpCreateTensorViewNV %view
   %view1 = OpTensorViewSetClipNV %view %view0 %u0 %u16 %u0 %u16
   %loaded = OpCooperativeMatrixLoadTensorNV %C %pointer %null %layout2 None TensorView|DecodeFunc %view1 %decode
   OpCooperativeMatrixStoreTensorNV %pointer %loaded %layout2 None TensorView %view1
   OpReturn
   OpFunctionEnd
   %decode = OpFunction %f32 None %decodes
   %block_parameter = OpFunctionParameter %block_pointer
   %coordinates = OpFunctionParameter %pair
   %in_block = OpFunctionParameter %pair
   %decode_entry = OpLabel
   OpReturnValue %f0
   OpFunctionEnd
)";

/// The front end's error, or nothing.
std::string error_of(const std::string &text, uint32_t spec = 2)
{
   const std::vector<uint32_t> words = test::assemble(text);
   ShaderSource source = {};
   source.spirv = words;
   source.entry_point = "main";
   source.spec_constants = {{0, std::as_bytes(std::span(&spec, 1))}};
   const Result<Shader> shader = read_shader(source, Consumer::cpu, 32, {}, nullptr);
   return shader ? "" : shader.error().message;
}

std::string replaced(std::string text, const std::string &from, const std::string &to)
{
   const size_t at = text.find(from);
   EXPECT_NE(at, std::string::npos) << from;
   return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(VtnTensors, TakeWhatIsRight)
{
   EXPECT_EQ(error_of(good), "");
   // The numbers of types may be specialization constants.
   EXPECT_EQ(error_of(replaced(good, "OpTypeTensorLayoutNV %u2", "OpTypeTensorLayoutNV %spec")),
             "");
}

TEST(VtnTensors, RefuseBadModules)
{
   const struct {
      std::string from, to, error;
   } cases[] = {
      // Types
      {"OpTypeTensorLayoutNV %u2", "OpTypeTensorLayoutNV %u0", "must be between 1 and 5"},
      {"OpTypeTensorLayoutNV %u2", "OpTypeTensorLayoutNV %u6", "must be between 1 and 5"},
      {"OpTypeTensorLayoutNV %u2 %u1", "OpTypeTensorLayoutNV %u2 %u5", "valid TensorClampMode"},
      {"%u2 %false %u1 %u0", "%u2 %false %u1 %u1", "valid permutation"},
      {"%u2 %false %u1 %u0", "%u2 %false %u1 %u2", "valid dimension"},
      {"%u2 %false %u1 %u0", "%u2 %false %u0", "number of permutation values"},
      {"%u2 %false %u1 %u0", "%u2 %u0 %u1 %u0", "not a boolean"},
      // Instructions
      {"%layout0 %u16 %u16", "%layout0 %u16", "number of operands"},
      {"%layout0 %u16 %u16", "%layout0 %u16 %f0", "not a 32-bit integer"},
      {"%layout1 %u0 %u16 %u0 %u16", "%layout1 %u0 %u16 %u0", "number of operands"},
      {"%layout2 = OpTensorLayoutSliceNV %layout %layout1",
       "%layout2 = OpTensorLayoutSliceNV %layout %view0", ""},
      {"%null %layout2", "%null %view1", "tensor layout type"},
      {"DecodeFunc %view1", "DecodeFunc %layout2", "tensor view type"},
      {"None TensorView %view1", "None TensorView|DecodeFunc %view1 %decode",
       "has not been defined"},
      {"%C %pointer %null", "%C %other %null", "cannot read shared memory"},
      {"%view = OpTypeTensorViewNV %u2 %false %u1 %u0",
       "%view = OpTypeTensorViewNV %u3 %false %u1 %u0 %u2",
       "view of 3 dimensions, but with those of a tensor layout of 2"},
      // Decode functions
      {"TensorView|DecodeFunc %view1 %decode", "TensorView|DecodeFunc %view1 %main", "return type"},
      {"%decodes = OpTypeFunction %f32 %block_pointer %pair %pair\n",
       "%decodes = OpTypeFunction %f32 %block_pointer %triple %pair\n", "dimension equal"},
      {"%decodes = OpTypeFunction %f32 %block_pointer %pair %pair\n",
       "%decodes = OpTypeFunction %f32 %block_pointer %pair %uint\n", "must be array"},
      {"%decodes = OpTypeFunction %f32 %block_pointer %pair %pair\n",
       "%decodes = OpTypeFunction %f32 %block_pointer %pair\n", "three parameters"},
      {"%decodes = OpTypeFunction %f32 %block_pointer %pair %pair\n",
       "%decodes = OpTypeFunction %f32\n", "three parameters"},
      {"%decodes = OpTypeFunction %f32 %block_pointer %pair %pair\n",
       "%decodes = OpTypeFunction %f32 %bool %pair %pair\n", "PhysicalStorageBuffer"},
      {"%decodes = OpTypeFunction %f32 %block_pointer %pair %pair\n",
       "%decodes = OpTypeFunction %f32 %in_buffer %pair %pair\n", "PhysicalStorageBuffer"},
   };
   for (const auto &c : cases) {
      const std::string error = error_of(replaced(good, c.from, c.to));
      EXPECT_NE(error, "") << c.to;
      EXPECT_EQ(error.find("not assembled"), std::string::npos) << error;
      EXPECT_NE(error.find(c.error), std::string::npos) << c.to << ": " << error;
   }
}

/// The common parts of a function's type and its parameters.
TEST(VtnTensors, RefuseBadDecodeFunctions)
{
   const auto with = [](const std::string &parameters) {
      std::string text =
         replaced(good, "%f32 %block_pointer %pair %pair\n", "%f32 " + parameters + "\n");
      std::vector<std::string> types;
      for (size_t at = 0; at < parameters.size();) {
         const size_t end = std::min(parameters.find(' ', at), parameters.size());
         types.push_back(parameters.substr(at, end - at));
         at = end + 1;
      }
      text =
         replaced(text, "OpFunctionParameter %block_pointer", "OpFunctionParameter " + types[0]);
      text = replaced(text, "%coordinates = OpFunctionParameter %pair",
                      "%coordinates = OpFunctionParameter " + types[1]);
      text = replaced(text, "%in_block = OpFunctionParameter %pair",
                      "%in_block = OpFunctionParameter " + types[2]);
      return error_of(text);
   };
   EXPECT_EQ(with("%block_pointer %pair %pair"), "");
   EXPECT_NE(with("%block_pointer %float_pair %pair").find("array of 32-bit integer"),
             std::string::npos)
      << with("%block_pointer %float_pair %pair");
   EXPECT_EQ(with("%endless_pointer %pair %pair"), "");
   const std::string without_offset =
      error_of(replaced(good, "   OpMemberDecorate %block 0 Offset 0\n", ""));
   EXPECT_NE(without_offset.find("Offset"), std::string::npos) << without_offset;
}

/// The same module with a vector decode function.
std::string with_vector_function()
{
   std::string text = good;
   const std::pair<const char *, const char *> edits[] = {
      {"   OpExtension \"SPV_KHR_coop",
       "   OpCapability CooperativeMatrixDecodeVectorNV\n"
       "   OpExtension \"SPV_NV_cooperative_matrix_decode_vector\"\n"
       "   OpExtension \"SPV_KHR_coop"},
      {"   %C = ",
       "   %vector = OpTypeVector %f32 4\n   %vector_of_words = OpTypeVector %uint 4\n"
       "   %decodes_vector = OpTypeFunction %vector %block_pointer %pair %pair\n   %C = "},
      {"   %layout = ", "   %zeros = OpConstantNull %vector\n"
                        "   %zero_words = OpConstantNull %vector_of_words\n   %layout = "},
      {"DecodeFunc %view1 %decode", "DecodeFunc|DecodeVectorFunc %view1 %decode %decode_vector"},
   };
   for (const auto &[from, to] : edits)
      text = replaced(text, from, to);
   return text + R"(
   %decode_vector = OpFunction %vector None %decodes_vector
   %vector_block = OpFunctionParameter %block_pointer
   %vector_coordinates = OpFunctionParameter %pair
   %vector_in_block = OpFunctionParameter %pair
   %vector_entry = OpLabel
   OpReturnValue %zeros
   OpFunctionEnd
)";
}

TEST(VtnTensors, TakeVectorDecodeFunctions)
{
   for (const char *length : {"2", "4", "8"}) {
      const std::string vector = std::string("%vector = OpTypeVector %f32 ") + length;
      EXPECT_EQ(error_of(replaced(with_vector_function(), "%vector = OpTypeVector %f32 4", vector)),
                "");
   }
}

TEST(VtnTensors, RefuseBadVectorDecodeFunctions)
{
   const struct {
      std::string from, to, error;
   } cases[] = {
      {"DecodeFunc|DecodeVectorFunc %view1 %decode %decode_vector",
       "DecodeVectorFunc %view1 %decode_vector", "needs a DecodeFunc"},
      {"%decode %decode_vector", "%decode %decode", "vector of 2, 4 or 8 components"},
      {"%decode %decode_vector", "%decode %layout2", "is not a function"},
      {"OpTypeVector %f32 4", "OpTypeVector %f32 3", "vector of 2, 4 or 8 components"},
      {"OpTypeVector %f32 4", "OpTypeVector %f32 16", "Vector16"},
      {"%decodes_vector = OpTypeFunction %vector %block_pointer %pair %pair",
       "%decodes_vector = OpTypeFunction %vector %block_pointer %pair", "three parameters"},
      {"%decodes_vector = OpTypeFunction %vector %block_pointer %pair %pair",
       "%decodes_vector = OpTypeFunction %vector %in_buffer %pair %pair", "PhysicalStorageBuffer"},
      {"%decodes_vector = OpTypeFunction %vector %block_pointer %pair %pair",
       "%decodes_vector = OpTypeFunction %vector %block_pointer %triple %pair", "dimension equal"},
      {"   OpCapability CooperativeMatrixDecodeVectorNV\n", "", "DecodeVectorNV"},
      {"OpCooperativeMatrixStoreTensorNV %pointer %loaded %layout2 None TensorView %view1",
       "OpCooperativeMatrixStoreTensorNV %pointer %loaded %layout2 None DecodeVectorFunc "
       "%decode_vector",
       "has not been defined"},
   };
   for (const auto &c : cases) {
      const std::string error = error_of(replaced(with_vector_function(), c.from, c.to));
      EXPECT_EQ(error.find("not assembled"), std::string::npos) << error;
      EXPECT_NE(error.find(c.error), std::string::npos) << c.to << ": " << error;
   }
   // Its components are numbers of another type.
   std::string other = with_vector_function();
   for (const auto &[from, to] :
        {std::pair("%decodes_vector = OpTypeFunction %vector %block",
                   "%decodes_vector = OpTypeFunction %vector_of_words %block"),
         {"%decode_vector = OpFunction %vector ", "%decode_vector = OpFunction %vector_of_words "},
         {"OpReturnValue %zeros", "OpReturnValue %zero_words"}})
      other = replaced(other, from, to);
   EXPECT_NE(error_of(other).find("components of the matrix component type"), std::string::npos)
      << error_of(other);
}

TEST(VtnTensors, RefuseRecursion)
{
   const std::string call =
      "%decode_entry = OpLabel\n%again = OpFunctionCall %f32 %decode %block_parameter "
      "%coordinates %in_block\n";
   const std::string called = error_of(replaced(good, "%decode_entry = OpLabel\n", call));
   EXPECT_NE(called.find("call graph with cycles"), std::string::npos) << called;

   std::string load = "%decode_entry = OpLabel\n";
   for (size_t at = good.find("   %pointer ="); at < good.find("   OpCooperativeMatrixStore");) {
      const size_t end = good.find('\n', at) + 1;
      std::string line = good.substr(at, end - at);
      for (const char *name : {"%pointer", "%other", "%layout0", "%layout1", "%layout2", "%view0",
                               "%view1", "%loaded"}) {
         for (size_t i = line.find(name); i != std::string::npos; i = line.find(name, i + 1))
            line.insert(i + strlen(name), "_");
      }
      load += line;
      at = end;
   }
   const std::string loaded = error_of(replaced(good, "%decode_entry = OpLabel\n", load));
   EXPECT_NE(loaded.find("call graph with cycles"), std::string::npos) << loaded;
}

/// SPIRV-Tools does not know the values of specialization constants.
TEST(VtnTensors, RefuseBadSpecializationConstants)
{
   const std::string dim = replaced(good, "OpTypeTensorLayoutNV %u2", "OpTypeTensorLayoutNV %spec");
   EXPECT_NE(error_of(dim, 0).find("of 0 dimensions: there may be 1 to 5"), std::string::npos);
   EXPECT_NE(error_of(dim, 6).find("of 6 dimensions: there may be 1 to 5"), std::string::npos);
   EXPECT_NE(error_of(dim, 3).find("2 operands for a tensor layout or view of 3 dimensions"),
             std::string::npos)
      << error_of(dim, 3);
   const std::string mode =
      replaced(good, "OpTypeTensorLayoutNV %u2 %u1", "OpTypeTensorLayoutNV %u2 %spec");
   EXPECT_EQ(error_of(mode, 4), "");
   EXPECT_NE(error_of(mode, 5).find("Unknown tensor clamp mode 5"), std::string::npos);
   const std::string permutation = replaced(good, "%u2 %false %u1 %u0", "%u2 %false %spec %u0");
   EXPECT_EQ(error_of(permutation, 1), "");
   EXPECT_NE(error_of(permutation, 0).find("each of its dimensions once"), std::string::npos);
   EXPECT_NE(error_of(permutation, 7).find("each of its dimensions once"), std::string::npos);
   const std::string view_dim =
      replaced(good, "OpTypeTensorViewNV %u2 %false", "OpTypeTensorViewNV %spec %false");
   EXPECT_NE(error_of(view_dim, 3).find("3 dimensions with a permutation of 2"), std::string::npos);
}

} // namespace
} // namespace weft
