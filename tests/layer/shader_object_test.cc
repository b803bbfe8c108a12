// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/layer/fixture.h"

namespace weft::layer_test {

namespace {

class ShaderObject : public LayerTest {
protected:
   void SetUp() override
   {
      ASSERT_VK(create_instance());
      ASSERT_VK(create_matrix_device());
   }

   VkResult create(std::span<const VkShaderCreateInfoEXT> infos, std::span<VkShaderEXT> out)
   {
      return device_function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT")(
         device, uint32_t(infos.size()), infos.data(), nullptr, out.data());
   }

   void destroy(std::span<const VkShaderEXT> shaders)
   {
      for (VkShaderEXT shader : shaders)
         device_function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT")(device, shader, nullptr);
   }

   VkShaderCreateInfoEXT info(const std::vector<uint32_t> &words, const char *entry = "main")
   {
      return {
         .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
         .stage = VK_SHADER_STAGE_COMPUTE_BIT,
         .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
         .codeSize = words.size() * sizeof(uint32_t),
         .pCode = words.data(),
         .pName = entry,
      };
   }

   const std::vector<uint32_t> matrices = matrix_module(), plain = plain_module();
};

TEST_F(ShaderObject, LowersThoseWithMatrices)
{
   VkShaderCreateInfoEXT infos[] = {info(plain), info(matrices), info(matrices)};
   const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = 64,
   };
   infos[1].flags = VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT;
   infos[2].pNext = &size;
   VkShaderEXT shaders[3];
   ASSERT_VK(create(infos, shaders));
   EXPECT_EQ(driver.calls("vkCreateShadersEXT"), 1u);
   EXPECT_EQ(driver.shaders[0].words, plain);
   EXPECT_EQ(driver.shaders[0].required_size, 0u);
   EXPECT_TRUE(is_lowered(driver.shaders[1].words, 32));
   EXPECT_EQ(driver.shaders[1].required_size, 32u);
   EXPECT_EQ(driver.shaders[1].flags, VkFlags(VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT));
   EXPECT_TRUE(is_lowered(driver.shaders[2].words, 64));
   EXPECT_EQ(driver.shaders[2].required_size, 64u);
   destroy(shaders);
}

TEST_F(ShaderObject, AnErrorIsOfTheFirstThatIsMissing)
{
   VkShaderCreateInfoEXT infos[] = {info(matrices), info(matrices, "fail"), info(plain)};
   VkShaderEXT shaders[3];
   EXPECT_EQ(create(infos, shaders), VK_ERROR_UNKNOWN);
   EXPECT_TRUE(shaders[0] && !shaders[1] && !shaders[2]);
   destroy(shaders);
   std::swap(infos[0], infos[1]);
   EXPECT_EQ(create(infos, shaders), VK_ERROR_UNKNOWN);
   EXPECT_TRUE(!shaders[0] && !shaders[1] && !shaders[2]);
   driver.fail("vkCreateShadersEXT", VK_ERROR_OUT_OF_DEVICE_MEMORY);
   std::swap(infos[0], infos[1]);
   EXPECT_EQ(create(infos, shaders), VK_ERROR_OUT_OF_DEVICE_MEMORY);
   EXPECT_TRUE(!shaders[0] && !shaders[1] && !shaders[2]);
}

TEST_F(ShaderObject, OtherStagesAndBinaries)
{
   VkShaderCreateInfoEXT vertex = info(matrices);
   vertex.stage = VK_SHADER_STAGE_VERTEX_BIT;
   VkShaderEXT shader;
   EXPECT_EQ(create({&vertex, 1}, {&shader, 1}), VK_ERROR_UNKNOWN);
   EXPECT_TRUE(compiler.seen.empty());
   vertex.pName = "plain"; // an entry point without matrices
   ASSERT_VK(create({&vertex, 1}, {&shader, 1}));
   EXPECT_EQ(driver.shaders.back().words, plain);
   destroy({&shader, 1});
   VkShaderCreateInfoEXT binary = info(matrices);
   binary.codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
   ASSERT_VK(create({&binary, 1}, {&shader, 1}));
   EXPECT_EQ(driver.shaders.back().words, matrices);
   destroy({&shader, 1});
}

} // namespace

} // namespace weft::layer_test
