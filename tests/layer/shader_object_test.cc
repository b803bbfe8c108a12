// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/layer/fixture.h"

#include <algorithm>
#include <array>

namespace weft::layer_test {

/// Whether the driver got the same code and description.
static bool operator==(const SeenShader &a, const SeenShader &b)
{
   return a.words == b.words && a.flags == b.flags && a.required_size == b.required_size &&
          a.specialized == b.specialized;
}

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

   VkResult binary_of(VkShaderEXT shader, size_t *size, void *data)
   {
      return device_function<PFN_vkGetShaderBinaryDataEXT>("vkGetShaderBinaryDataEXT")(
         device, shader, size, data);
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
   messages.clear();
   EXPECT_EQ(create(infos, shaders), VK_ERROR_OUT_OF_DEVICE_MEMORY);
   EXPECT_TRUE(!shaders[0] && !shaders[1] && !shaders[2]);
   ASSERT_EQ(messages.size(), 2u); // the failure of the driver, and that of the compiler
   EXPECT_TRUE(std::ranges::any_of(messages, [](const std::string &message) {
      return message.find("(VkResult -2); an invocation has 12345 bytes") != std::string::npos;
   }));
}

/// A driver takes the binary of a lowered shader with the description that the shader had.
TEST_F(ShaderObject, BinariesOfLoweredShaders)
{
   const VkSpecializationInfo constants = {};
   VkShaderCreateInfoEXT infos[] = {info(plain), info(matrices)};
   for (VkShaderCreateInfoEXT &i : infos) {
      i.flags = VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT;
      i.pSpecializationInfo = &constants;
   }
   VkShaderEXT shaders[2];
   ASSERT_VK(create(infos, shaders));
   const std::vector<SeenShader> seen = driver.shaders;
   ASSERT_NE(seen[0], seen[1]);
   for (int generation = 0; generation < 2; generation++) {
      std::vector<uint8_t> binaries[2];
      for (int i = 0; i < 2; i++) {
         size_t size = 0;
         ASSERT_VK(binary_of(shaders[i], &size, nullptr));
         // The driver's binary stays aligned to 16 bytes.
         EXPECT_EQ(size - seen[i].words.size() * 4, i == 0 ? 0u : 32u);
         binaries[i].resize(size, 0xee);
         for (size_t less : {size - 1, size_t(31), size_t(0)}) {
            EXPECT_EQ(binary_of(shaders[i], &less, binaries[i].data()), VK_INCOMPLETE);
            EXPECT_EQ(less, 0u);
            EXPECT_EQ(std::ranges::count(binaries[i], 0xee), ptrdiff_t(size));
         }
         ASSERT_VK(binary_of(shaders[i], &size, binaries[i].data()));
         infos[i].codeType = VK_SHADER_CODE_TYPE_BINARY_EXT;
         infos[i].pCode = binaries[i].data();
         infos[i].codeSize = size;
      }
      destroy(shaders);
      driver.shaders.clear();
      ASSERT_VK(create(infos, shaders));
      EXPECT_EQ(driver.shaders[0], seen[0]);
      EXPECT_EQ(driver.shaders[1], seen[1]);
      // A short or damaged header is the driver's to refuse.
      infos[1].codeSize = 31;
      binaries[1][3] ^= 1;
      VkShaderEXT refused;
      ASSERT_VK(create({&infos[1], 1}, {&refused, 1}));
      EXPECT_EQ(driver.shaders.back().words.size(), 31u / 4);
      destroy({&refused, 1});
   }
   destroy(shaders);
}

TEST_F(ShaderObject, BinariesAreOfDriverAndLayer)
{
   const auto uuid = [&] {
      VkPhysicalDeviceShaderObjectPropertiesEXT objects = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_PROPERTIES_EXT};
      VkPhysicalDeviceProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &objects};
      instance_function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
         physical, &properties);
      return std::to_array(objects.shaderBinaryUUID);
   };
   std::array<uint8_t, VK_UUID_SIZE> of_driver;
   of_driver.fill(0x11);
   EXPECT_NE(uuid(), of_driver);
   destroy_device();
   destroy_instance();
   driver.features12.vulkanMemoryModel = VK_FALSE; // so nothing is lowered
   ASSERT_VK(create_instance());
   EXPECT_EQ(uuid(), of_driver);
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
