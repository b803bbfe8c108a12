// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Modules with several entry points, only some of which have matrices.

#include "backend/spirv/compiler.h"
#include "backend/spirv/words/spirv_text.h"
#include "tests/backend/spirv/compiled.h"
#include "tests/spirv/assemble.h"

#include <vulkan/vulkan_core.h>

#include <cstring>
#include <gtest/gtest.h>

namespace weft {
namespace {

using test::has;

/// A vertex shader "main" that calls a function, a compute shader "main" with a matrix, and a
/// compute shader "plain" without.
constexpr char assembly[] = R"(
   OpCapability Shader
   OpCapability Float16
   OpCapability VulkanMemoryModel
   OpCapability CooperativeMatrixKHR
   OpExtension "SPV_KHR_vulkan_memory_model"
   OpExtension "SPV_KHR_cooperative_matrix"
   %glsl = OpExtInstImport "GLSL.std.450"
   OpMemoryModel Logical Vulkan
   OpEntryPoint Vertex %vertex "main" %position
   OpEntryPoint GLCompute %compute "main" %buffer
   OpEntryPoint GLCompute %plain "plain" %buffer
   OpExecutionMode %compute LocalSize 32 1 1
   OpExecutionModeId %plain LocalSizeId %size %uint_1 %uint_1
   OpSource GLSL 460
   OpName %vertex "vertex"
   OpName %matrices "matrices"
   OpDecorate %position BuiltIn Position
   OpDecorate %size SpecId 3
   OpDecorate %buffer DescriptorSet 0
   OpDecorate %buffer Binding 0
   OpDecorate %array ArrayStride 4
   OpDecorate %block Block
   OpMemberDecorate %block 0 Offset 0
   %void = OpTypeVoid
   %void_function = OpTypeFunction %void
   %uint = OpTypeInt 32 0
   %uint_0 = OpConstant %uint 0
   %uint_1 = OpConstant %uint 1
   %uint_2 = OpConstant %uint 2
   %uint_3 = OpConstant %uint 3
   %uint_16 = OpConstant %uint 16
   %size = OpSpecConstant %uint 32
   %half = OpTypeFloat 16
   %float = OpTypeFloat 32
   %float_1 = OpConstant %float 1
   %float4 = OpTypeVector %float 4
   %float_function = OpTypeFunction %float
   %float4_out = OpTypePointer Output %float4
   %position = OpVariable %float4_out Output
   %array = OpTypeRuntimeArray %uint
   %block = OpTypeStruct %array
   %block_pointer = OpTypePointer StorageBuffer %block
   %uint_pointer = OpTypePointer StorageBuffer %uint
   %buffer = OpVariable %block_pointer StorageBuffer
   %matrix = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_2
   %half_0 = OpConstant %half 0
   %zero = OpConstantComposite %matrix %half_0
   %matrix_pointer = OpTypePointer Function %matrix
   %one = OpFunction %float None %float_function
   %one_body = OpLabel
   %root = OpExtInst %float %glsl Sqrt %float_1
   OpReturnValue %root
   OpFunctionEnd
   %vertex = OpFunction %void None %void_function
   %vertex_body = OpLabel
   %x = OpFunctionCall %float %one
   %v = OpCompositeConstruct %float4 %x %x %x %x
   OpStore %position %v
   OpReturn
   OpFunctionEnd
   %matrices = OpFunction %void None %void_function
   %matrices_body = OpLabel
   %local = OpVariable %matrix_pointer Function
   OpStore %local %zero
   OpReturn
   OpFunctionEnd
   %compute = OpFunction %void None %void_function
   %compute_body = OpLabel
   %call = OpFunctionCall %void %matrices
   OpReturn
   OpFunctionEnd
   %plain = OpFunction %void None %void_function
   %plain_body = OpLabel
   %element = OpAccessChain %uint_pointer %buffer %uint_0 %uint_0
   OpStore %element %size
   OpReturn
   OpFunctionEnd
)";

const spirv::Declarations dropped = {{6022}, {"SPV_KHR_cooperative_matrix"}};

TEST(WithoutMatrices, KeepsWhatAnEntryPointReaches)
{
   const std::vector<uint32_t> words = test::assemble(assembly);
   const auto vertex = spirv::without_matrices(words, VK_SHADER_STAGE_VERTEX_BIT, "main", dropped);
   ASSERT_TRUE(vertex) << vertex.error().message;
   ASSERT_TRUE(*vertex);
   std::string text = spirv::disassemble(**vertex);
   const Result<bool> valid = spirv::validate(**vertex);
   EXPECT_TRUE(valid) << valid.error().message << text;
   EXPECT_FALSE(has(text, "ooperative")) << text;
   EXPECT_TRUE(has(text, "Sqrt") && has(text, "BuiltIn Position") && has(text, "\"vertex\""));
   EXPECT_TRUE(has(text, "OpCapability Float16"));
   EXPECT_FALSE(has(text, "GLCompute") || has(text, "LocalSize") || has(text, "StorageBuffer") ||
                has(text, "SpecId") || has(text, "\"matrices\""))
      << text;

   const auto plain = spirv::without_matrices(words, VK_SHADER_STAGE_COMPUTE_BIT, "plain", dropped);
   ASSERT_TRUE(plain && *plain);
   text = spirv::disassemble(**plain);
   EXPECT_TRUE(spirv::validate(**plain)) << text;
   EXPECT_TRUE(has(text, "LocalSizeId") && has(text, "SpecId 3") && has(text, "Binding 0"));
   EXPECT_FALSE(has(text, "Vertex") || has(text, "ooperative")) << text;
}

TEST(WithoutMatrices, LeavesThoseWithMatrices)
{
   const std::vector<uint32_t> words = test::assemble(assembly);
   const auto compute =
      spirv::without_matrices(words, VK_SHADER_STAGE_COMPUTE_BIT, "main", dropped);
   ASSERT_TRUE(compute);
   EXPECT_FALSE(*compute);
}

TEST(WithoutMatrices, RefusesWhatItDoesNotUnderstand)
{
   const std::vector<uint32_t> words = test::assemble(assembly);
   const auto refuses = [&](std::span<const uint32_t> module, uint32_t stage, const char *name) {
      return !spirv::without_matrices(module, stage, name, dropped);
   };
   EXPECT_TRUE(refuses(words, VK_SHADER_STAGE_VERTEX_BIT, "plain"));
   EXPECT_TRUE(refuses(words, VK_SHADER_STAGE_ALL, "main"));
   EXPECT_TRUE(refuses({}, VK_SHADER_STAGE_VERTEX_BIT, "main"));
   EXPECT_TRUE(refuses(std::span(words).first(20), VK_SHADER_STAGE_VERTEX_BIT, "main"));
}

/// Drivers may crash on a function without an end, or on an entry point without a function.
TEST(WithoutMatrices, RefusesTruncatedModules)
{
   const std::vector<uint32_t> words = test::assemble(assembly);
   for (size_t size = 0; size < words.size(); size++) {
      const auto module = std::span(words).first(size);
      // "plain" comes last, so it needs every word of the module.
      EXPECT_FALSE(spirv::without_matrices(module, VK_SHADER_STAGE_COMPUTE_BIT, "plain", dropped))
         << "cut after " << size << " of " << words.size() << " words";
      const auto vertex =
         spirv::without_matrices(module, VK_SHADER_STAGE_VERTEX_BIT, "main", dropped);
      if (vertex && *vertex) {
         EXPECT_TRUE(spirv::validate(**vertex)) << "cut after " << size << " words";
      }
   }
}

} // namespace
} // namespace weft
