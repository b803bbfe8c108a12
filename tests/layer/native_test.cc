// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer beside a driver's own matrices: which shaders the driver gets as they are.

#include "tests/layer/fixture.h"

namespace weft::layer_test {

namespace {

/// Multiplications by K: what the driver has, what the layer adds, what neither has.
constexpr uint32_t native_k = 7, added_k = 16, unknown_k = 99;

class Native : public LayerTest {
protected:
   void create()
   {
      driver.native_matrices = true;
      driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
      ASSERT_VK(create_instance());
      ASSERT_VK(create_matrix_device());
   }

   /// What the driver gets for a pipeline with a specialization constant.
   SeenShader pipeline_shader(uint32_t k)
   {
      const uint32_t value = 5;
      const VkSpecializationMapEntry entry = {1, 0, sizeof(value)};
      const VkSpecializationInfo constants = {1, &entry, sizeof(value), &value};
      const VkShaderModule module = make_module(matrix_module(k));
      VkComputePipelineCreateInfo info = pipeline_info(module);
      info.stage.pSpecializationInfo = &constants;
      VkPipeline pipeline;
      EXPECT_VK(create_pipelines({&info, 1}, {&pipeline, 1}));
      destroy_pipelines({&pipeline, 1});
      destroy_module(module);
      return driver.shaders.back();
   }

   SeenShader shader_object(uint32_t k, VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT)
   {
      const std::vector<uint32_t> words = matrix_module(k);
      const VkShaderCreateInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
         .stage = stage,
         .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
         .codeSize = words.size() * sizeof(uint32_t),
         .pCode = words.data(),
         .pName = "main",
      };
      VkShaderEXT shader;
      EXPECT_VK(device_function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT")(device, 1, &info,
                                                                              nullptr, &shader));
      device_function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT")(device, shader, nullptr);
      return driver.shaders.back();
   }
};

TEST_F(Native, the_drivers_shaders_stay_as_they_are)
{
   create();
   for (uint32_t k : {native_k, unknown_k}) {
      const SeenShader seen = pipeline_shader(k);
      EXPECT_EQ(seen.words, matrix_module(k));
      EXPECT_EQ(seen.specialized, true);
      EXPECT_EQ(seen.required_size, 0u);
      EXPECT_EQ(shader_object(k).words, matrix_module(k));
   }
   EXPECT_TRUE(compiler.seen.empty());
}

TEST_F(Native, the_layers_shaders_are_lowered_to_the_drivers_tiles)
{
   create();
   const SeenShader seen = pipeline_shader(added_k);
   EXPECT_TRUE(is_lowered(seen.words, 32));
   EXPECT_EQ(seen.specialized, false);
   EXPECT_TRUE(is_lowered(shader_object(added_k).words, 32));
   ASSERT_EQ(compiler.seen.size(), 2u);
   ASSERT_EQ(compiler.seen[0].options.native_operations.size(), 1u);
   EXPECT_EQ(compiler.seen[0].options.native_operations[0].k, native_k);
   // A shader may have both.
   EXPECT_EQ(compiler.seen[0].options.operations.size(), 1 + compiler.operations.size());
}

TEST_F(Native, every_shader_is_lowered_when_told)
{
   const Environment tiles("WEFT_LOWERING", "tiles");
   create();
   for (uint32_t k : {native_k, added_k}) {
      EXPECT_TRUE(is_lowered(pipeline_shader(k).words, 32));
      EXPECT_EQ(compiler.seen.back().options.native_operations.size(), 1u);
   }
}

TEST_F(Native, nothing_native_is_used_when_hidden)
{
   const Environment registers("WEFT_LOWERING", "registers");
   create();
   EXPECT_TRUE(is_lowered(pipeline_shader(added_k).words, 32));
   EXPECT_TRUE(compiler.seen.back().options.native_operations.empty());
}

/// Workgroup scope, and component types that the layer does not know.
TEST_F(Native, foreign_operations_are_listed_but_not_built_from)
{
   VkCooperativeMatrixPropertiesKHR workgroup = driver.native_properties[0],
                                    bfloat16 = driver.native_properties[0];
   workgroup.scope = VK_SCOPE_WORKGROUP_KHR;
   bfloat16.AType = bfloat16.BType = VkComponentTypeKHR(1000141000);
   driver.native_properties = {workgroup, bfloat16};
   create();
   EXPECT_EQ(matrix_properties().size(), 2 + compiler.operations.size());
   EXPECT_TRUE(is_lowered(pipeline_shader(added_k).words, 32));
   EXPECT_TRUE(compiler.seen.back().options.native_operations.empty());
}

TEST_F(Native, other_stages_are_the_drivers)
{
   create();
   EXPECT_EQ(shader_object(added_k, VK_SHADER_STAGE_VERTEX_BIT).words, matrix_module(added_k));
   const VkShaderModule module = make_module(matrix_module(added_k));
   const VkPipelineShaderStageCreateInfo stage = pipeline_info(module).stage;
   const VkGraphicsPipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
      .stageCount = 1,
      .pStages = &stage,
   };
   VkPipeline pipeline;
   EXPECT_VK(device_function<PFN_vkCreateGraphicsPipelines>("vkCreateGraphicsPipelines")(
      device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline));
   destroy_pipelines({&pipeline, 1});
   destroy_module(module);
}

} // namespace

} // namespace weft::layer_test
