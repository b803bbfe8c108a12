// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Vendors' profiles: sizes, operations and identities.

#include "layer/matrix_family.h"
#include "layer/plan/extensions.h"
#include "layer/settings.h"
#include "tests/layer/fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::layer_test {
namespace {

class ProfileTest : public LayerTest {
protected:
   /// An application's view of minSubgroupSize and maxSubgroupSize.
   SubgroupSizes subgroup_sizes()
   {
      VkPhysicalDeviceVulkan13Properties core = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
      VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
         .pNext = &core};
      VkPhysicalDeviceProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &sizes};
      instance_function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
         physical, &properties);
      EXPECT_EQ(core.minSubgroupSize, sizes.minSubgroupSize);
      EXPECT_EQ(core.maxSubgroupSize, sizes.maxSubgroupSize);
      return {sizes.minSubgroupSize, sizes.maxSubgroupSize};
   }

   /// An application's view of subgroupSize.
   uint32_t subgroup_size()
   {
      VkPhysicalDeviceVulkan11Properties core = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
      VkPhysicalDeviceSubgroupProperties subgroup = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &core};
      VkPhysicalDeviceProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
      instance_function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
         physical, &properties);
      EXPECT_EQ(core.subgroupSize, subgroup.subgroupSize);
      return subgroup.subgroupSize;
   }
};

TEST_F(ProfileTest, AdvertisesWhatVendorAndCompilerShare)
{
   const Environment amd("WEFT_PROFILE", "amd");
   ASSERT_VK(create_instance());
   const auto properties = matrix_properties();
   ASSERT_EQ(properties.size(), 1u);
   EXPECT_EQ(properties[0].MSize, 16u);
   EXPECT_EQ(properties[0].NSize, 16u);
   EXPECT_EQ(subgroup_size(), 64u);
}

TEST_F(ProfileTest, HidesNativeMatrices)
{
   const Environment amd("WEFT_PROFILE", "amd");
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   EXPECT_EQ(matrix_properties()[0].MSize, 16u);
}

/// Other shaders, too, run with the subgroup size that is reported.
TEST_F(ProfileTest, SubgroupSizeOfAllPipelines)
{
   const Environment amd("WEFT_PROFILE", "amd");
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   const VkShaderModule module = make_module(matrix_module()), plain = make_module(plain_module());
   VkComputePipelineCreateInfo infos[] = {pipeline_info(module), pipeline_info(plain),
                                          pipeline_info(plain)};
   infos[2].stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
   VkPipeline pipelines[3];
   ASSERT_VK(create_pipelines(infos, pipelines));
   EXPECT_TRUE(is_lowered(driver.shaders[0].words, 64));
   EXPECT_EQ(driver.shaders[0].required_size, 64u);
   EXPECT_EQ(driver.shaders[1].words, plain_module());
   EXPECT_EQ(driver.shaders[1].required_size, 64u);
   EXPECT_EQ(driver.shaders[2].required_size, 0u);
   destroy_pipelines(pipelines);
   destroy_module(module);
   destroy_module(plain);
}

/// A device may rely on the size without having enabled matrices.
TEST_F(ProfileTest, SubgroupSizeOfDevicesWithoutMatrices)
{
   const Environment amd("WEFT_PROFILE", "amd");
   ASSERT_VK(create_instance());
   ASSERT_VK(create_device({}));
   EXPECT_TRUE(driver.enabled13.subgroupSizeControl);
   EXPECT_FALSE(driver.enabled12.shaderInt8);
   const VkShaderModule module = make_module(plain_module());
   const VkComputePipelineCreateInfo info = pipeline_info(module);
   VkPipeline pipeline;
   ASSERT_VK(create_pipelines({&info, 1}, {&pipeline, 1}));
   EXPECT_EQ(driver.shaders[0].required_size, 64u);
   destroy_pipelines({&pipeline, 1});
   destroy_module(module);
   // The device has not enabled the layer's matrices.
   const VkShaderModule matrices = make_module(matrix_module());
   EXPECT_EQ(driver.modules.back(), matrix_module());
   destroy_module(matrices);
}

TEST_F(ProfileTest, SubgroupSizeOfShaderObjects)
{
   const Environment amd("WEFT_PROFILE", "amd");
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   const std::vector<uint32_t> words = plain_module();
   VkShaderCreateInfoEXT infos[2];
   infos[0] = infos[1] = {
      .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
      .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
      .codeSize = words.size() * sizeof(uint32_t),
      .pCode = words.data(),
      .pName = "main",
   };
   infos[1].flags = VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT;
   VkShaderEXT shaders[2];
   ASSERT_VK(device_function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT")(device, 2, infos,
                                                                           nullptr, shaders));
   EXPECT_EQ(driver.shaders[0].required_size, 64u);
   EXPECT_EQ(driver.shaders[0].words, words);
   EXPECT_EQ(driver.shaders[1].required_size, 0u);
   for (VkShaderEXT shader : shaders)
      device_function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT")(device, shader, nullptr);
}

/// Stages that cannot require a size lose their subgroup operations.
TEST_F(ProfileTest, SubgroupSizeOfOtherStages)
{
   const Environment amd("WEFT_PROFILE", "amd");
   driver.subgroup_stages = VK_SHADER_STAGE_ALL;
   driver.required_size_stages =
      VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_MESH_BIT_EXT;
   ASSERT_VK(create_instance());
   VkPhysicalDeviceVulkan11Properties core = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
   VkPhysicalDeviceSubgroupProperties subgroup = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &core};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
   instance_function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
      physical, &properties);
   const VkShaderStageFlags sized = VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
   EXPECT_EQ(subgroup.supportedStages, sized);
   EXPECT_EQ(core.subgroupSupportedStages, sized);

   ASSERT_VK(create_matrix_device());
   const VkShaderModule module = make_module(plain_module());
   VkPipelineShaderStageCreateInfo stages[2];
   stages[0] = stages[1] = pipeline_info(module).stage;
   stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
   stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
   VkGraphicsPipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .stageCount = 2, .pStages = stages};
   VkPipeline pipeline;
   ASSERT_VK(device_function<PFN_vkCreateGraphicsPipelines>("vkCreateGraphicsPipelines")(
      device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline));
   ASSERT_EQ(driver.shaders.size(), 2u);
   EXPECT_EQ(driver.shaders[0].required_size, 0u);
   EXPECT_EQ(driver.shaders[1].required_size, 64u);

   // A key belongs to the same pipeline.
   const VkPipelineCreateInfoKHR described = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR,
                                              .pNext = &info};
   info.stageCount = 1;
   info.pStages = &stages[1];
   VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
   EXPECT_VK(
      device_function<PFN_vkGetPipelineKeyKHR>("vkGetPipelineKeyKHR")(device, &described, &key));
   EXPECT_EQ(driver.shaders.back().required_size, 64u);
   destroy_pipelines({&pipeline, 1});
   destroy_module(module);
}

/// A size may be required only of small enough workgroups, and then only these are allowed.
TEST_F(ProfileTest, WorkgroupsOfTheSubgroupSize)
{
   const Environment lavapipe("WEFT_PROFILE", "lavapipe"); // subgroups of 8; the driver has 16
   ASSERT_VK(create_instance());
   EXPECT_EQ(subgroup_size(), 8u);
   VkPhysicalDeviceProperties2 properties2 = {.sType =
                                                 VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
   instance_function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
      physical, &properties2);
   VkPhysicalDeviceProperties properties;
   instance_function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(
      physical, &properties);
   EXPECT_EQ(properties2.properties.limits.maxComputeWorkGroupInvocations, 8u * 16u);
   EXPECT_EQ(properties.limits.maxComputeWorkGroupInvocations, 8u * 16u);

   // Vulkan 1.4 has to allow 256.
   destroy_instance();
   driver.api_version = VK_API_VERSION_1_4;
   ASSERT_VK(create_instance(VK_API_VERSION_1_4));
   EXPECT_EQ(subgroup_size(), 32u);
   instance_function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(
      physical, &properties);
   EXPECT_EQ(properties.limits.maxComputeWorkGroupInvocations, 1024u);
}

/// Programs recognize an architecture by the sizes: llama.cpp takes an Intel device for Xe2 if the
/// least size is 16.
TEST_F(ProfileTest, SubgroupSizesOfAnIdentity)
{
   compiler.operations.push_back({8, 16, 16, ComponentType::f16, ComponentType::f16,
                                  ComponentType::f32, ComponentType::f32, false}); // Intel's
   const auto sizes_of = [&](const char *profile) {
      const Environment variable("WEFT_PROFILE", profile);
      EXPECT_VK(create_instance());
      const SubgroupSizes sizes = subgroup_sizes();
      destroy_instance();
      return std::pair(sizes.min, sizes.max);
   };
   EXPECT_EQ(sizes_of("intel"), std::pair(8u, 64u)); // the driver's
   EXPECT_EQ(sizes_of("intel+identity"), std::pair(16u, 32u));
   EXPECT_EQ(sizes_of("nvidia+identity"), std::pair(32u, 32u));
   driver.min_subgroup_size = 32;
   EXPECT_EQ(sizes_of("intel+identity"), std::pair(32u, 32u));
   driver.min_subgroup_size = driver.subgroup_size = 64;
   EXPECT_EQ(sizes_of("intel+identity"), std::pair(64u, 64u)); // it cannot run 32
}

/// No shader may run with a size that is not reported.
TEST_F(ProfileTest, SizesOfAnIdentityDoNotVary)
{
   const Environment intel("WEFT_PROFILE", "intel+identity"); // subgroups of 32, as the driver's
   compiler.operations = {{8, 16, 16, ComponentType::f16, ComponentType::f16, ComponentType::f32,
                           ComponentType::f32, false}};
   ASSERT_VK(create_instance());
   ASSERT_TRUE(advertised());
   ASSERT_VK(create_device({}));
   const std::vector<uint32_t> words = plain_module();
   const VkShaderModule module = make_module(words);
   VkComputePipelineCreateInfo info = pipeline_info(module);
   info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
   VkPipeline pipeline;
   ASSERT_VK(create_pipelines({&info, 1}, {&pipeline, 1}));
   EXPECT_EQ(driver.shaders.back().required_size, 32u);
   EXPECT_EQ(driver.shaders.back().stage_flags, 0u);
   destroy_pipelines({&pipeline, 1});
   destroy_module(module);

   const VkShaderCreateInfoEXT object = {
      .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
      .flags = VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT,
      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
      .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
      .codeSize = words.size() * sizeof(uint32_t),
      .pCode = words.data(),
      .pName = "main",
   };
   VkShaderEXT shader;
   ASSERT_VK(device_function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT")(device, 1, &object,
                                                                           nullptr, &shader));
   EXPECT_EQ(driver.shaders.back().required_size, 32u);
   EXPECT_EQ(driver.shaders.back().flags, 0u);
   device_function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT")(device, shader, nullptr);
}

/// A driver may report any number of subgroups.
TEST_F(ProfileTest, WorkgroupsWithoutALimitOfSubgroups)
{
   const Environment lavapipe("WEFT_PROFILE", "lavapipe");
   for (const uint32_t subgroups : {1u << 29, UINT32_MAX}) { // 8 times this number is 0, or nearly
      driver.max_workgroup_subgroups = subgroups;
      ASSERT_VK(create_instance());
      EXPECT_EQ(subgroup_size(), 8u);
      VkPhysicalDeviceProperties properties;
      instance_function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(
         physical, &properties);
      EXPECT_EQ(properties.limits.maxComputeWorkGroupInvocations, 1024u);
      destroy_instance();
   }
}

TEST_F(ProfileTest, SizeBeyondTheDriver)
{
   const Environment amd("WEFT_PROFILE", "amd");
   driver.subgroup_size = driver.min_subgroup_size = driver.max_subgroup_size = 8;
   ASSERT_VK(create_instance());
   EXPECT_EQ(subgroup_size(), 8u);
   EXPECT_EQ(matrix_properties().size(), 1u);
}

TEST_F(ProfileTest, NothingShared)
{
   const Environment apple("WEFT_PROFILE", "apple");
   ASSERT_VK(create_instance());
   EXPECT_FALSE(advertised());
}

TEST_F(ProfileTest, Apple)
{
   using enum ComponentType;
   const Environment apple("WEFT_PROFILE", "apple+identity");
   compiler.operations = {{16, 16, 16, f16, f16, f32, f32, false},
                          {8, 8, 8, f32, f32, f32, f32, false},
                          {8, 8, 8, f16, f16, f32, f32, false},
                          {8, 8, 8, f16, f16, f16, f16, false}};
   ASSERT_VK(create_instance());
   const auto properties = matrix_properties();
   ASSERT_EQ(properties.size(), 2u);
   EXPECT_EQ(properties[0].AType, VK_COMPONENT_TYPE_FLOAT32_KHR);
   EXPECT_EQ(properties[1].ResultType, VK_COMPONENT_TYPE_FLOAT16_KHR);
   EXPECT_EQ(subgroup_size(), 32u);
   const SubgroupSizes sizes = subgroup_sizes(); // the driver has no size 4, MoltenVK no size 64
   EXPECT_EQ(sizes.min, 8u);
   EXPECT_EQ(sizes.max, 32u);
}

TEST_F(ProfileTest, Identity)
{
   const auto query = [&](VkPhysicalDeviceDriverProperties &driver_properties,
                          VkPhysicalDeviceVulkan12Properties &core) {
      driver_properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
                           .pNext = &core};
      core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
      VkPhysicalDeviceProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver_properties};
      instance_function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
         physical, &properties);
      VkPhysicalDeviceProperties old;
      instance_function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(
         physical, &old);
      EXPECT_EQ(old.vendorID, properties.properties.vendorID);
      EXPECT_EQ(old.deviceID, properties.properties.deviceID);
      EXPECT_STREQ(old.deviceName, properties.properties.deviceName);
      return old;
   };
   VkPhysicalDeviceDriverProperties driver_properties;
   VkPhysicalDeviceVulkan12Properties core;
   const Environment nvidia("WEFT_PROFILE", "nvidia+identity");
   const Environment debug("WEFT_DEBUG", "log");
   testing::internal::CaptureStderr();
   ASSERT_VK(create_instance());
   VkPhysicalDeviceProperties properties = query(driver_properties, core);
   EXPECT_NE(testing::internal::GetCapturedStderr().find("'fake' is presented as NVIDIA H200"),
             std::string::npos);
   EXPECT_EQ(properties.vendorID, 0x10deu);
   EXPECT_EQ(properties.deviceID, 0x2335u);
   EXPECT_STREQ(properties.deviceName, "NVIDIA H200");
   EXPECT_EQ(driver_properties.driverID, VK_DRIVER_ID_NVIDIA_PROPRIETARY);
   EXPECT_STREQ(driver_properties.driverName, "NVIDIA");
   EXPECT_EQ(core.driverID, VK_DRIVER_ID_NVIDIA_PROPRIETARY);
   EXPECT_STREQ(core.driverName, "NVIDIA");

   // A driver that does not know the structs.
   destroy_instance();
   driver.api_version = VK_API_VERSION_1_1;
   ASSERT_VK(create_instance(VK_API_VERSION_1_1));
   properties = query(driver_properties, core);
   EXPECT_STREQ(core.driverName, "");

   // Nothing to lower, nothing to present.
   destroy_instance();
   driver.api_version = VK_API_VERSION_1_3;
   driver.features12.vulkanMemoryModel = VK_FALSE;
   ASSERT_VK(create_instance());
   properties = query(driver_properties, core);
   EXPECT_STREQ(properties.deviceName, "fake");
   EXPECT_STREQ(driver_properties.driverName, "");
   EXPECT_EQ(driver_properties.driverID, driver.id);
}

/// No extension of cooperative matrices is listed that the vendor's driver lacks.
TEST_F(ProfileTest, ExtensionsOfAnIdentity)
{
   using enum ComponentType;
   compiler.operations = {{16, 16, 16, f16, f16, f32, f32, false},
                          {8, 16, 16, f16, f16, f32, f32, false},
                          {16, 16, 16, bf16, bf16, f32, f32, false},
                          {16, 16, 16, e4m3, e4m3, f32, f32, false}};
   driver.extensions.push_back(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME); // without matrices
   const auto listed = [&](const char *profile) {
      const Environment variable("WEFT_PROFILE", profile);
      EXPECT_VK(create_instance());
      std::vector<std::string> names;
      for (const std::string &name : extension_names()) {
         if (layer::find_extension(name.c_str()))
            names.push_back(name);
      }
      std::ranges::sort(names);
      destroy_instance();
      return names;
   };
   using Names = std::vector<std::string>;
   EXPECT_EQ(
      listed("nvidia+identity"),
      (Names{VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME,
             VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME}));
   EXPECT_EQ(listed("intel+identity"), (Names{VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME}));
   EXPECT_EQ(listed("none").size(), layer::extension_count);
}

/// RADV's accumulators lie as the driver's tiles, and not as matrices in registers.
TEST_F(ProfileTest, AmdIsNotImitatedByName)
{
   const Environment amd("WEFT_PROFILE", "amd+identity");
   testing::internal::CaptureStderr();
   ASSERT_VK(create_instance());
   EXPECT_NE(testing::internal::GetCapturedStderr().find("amd+identity is refused"),
             std::string::npos);
   EXPECT_FALSE(advertised());
   VkPhysicalDeviceProperties properties;
   instance_function<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(
      physical, &properties);
   EXPECT_STREQ(properties.deviceName, "fake");
   for (const WeftMatrixExtension &extension : matrix_extensions())
      EXPECT_NE(std::string(extension.reason).find("refused"), std::string::npos);
}

/// Games for Windows take a heavier model where they find float8.
TEST_F(ProfileTest, Float8IsHiddenFromGames)
{
   using enum ComponentType;
   compiler.operations = {{16, 16, 16, f16, f16, f32, f32, false},
                          {16, 16, 16, e4m3, e4m3, f32, f32, false},
                          {16, 16, 16, e4m3, e5m2, e4m3, e4m3, false}};
   const auto shown = [&](const char *of_engine, const char *setting) {
      engine = of_engine;
      const Environment variable("WEFT_FLOAT8", setting);
      EXPECT_VK(create_instance());
      const bool listed =
         std::ranges::count(extension_names(), VK_EXT_SHADER_FLOAT8_EXTENSION_NAME) > 0;
      EXPECT_EQ(matrix_properties().size(), listed ? 3u : 1u);
      const auto extensions = matrix_extensions();
      EXPECT_EQ(extensions.back().support,
                listed ? WEFT_MATRIX_SUPPORT_LOWERED : WEFT_MATRIX_SUPPORT_MISSING);
      EXPECT_EQ(strstr(extensions.back().reason, "WEFT_FLOAT8") != nullptr, !listed);
      EXPECT_TRUE(advertised());
      destroy_instance();
      return listed;
   };
   EXPECT_FALSE(shown("vkd3d", ""));
   EXPECT_FALSE(shown("vkd3d", "auto"));
   EXPECT_TRUE(shown("vkd3d", "always"));
   EXPECT_TRUE(shown(nullptr, ""));
   EXPECT_TRUE(shown("DXVK", ""));
   EXPECT_FALSE(shown(nullptr, "never"));
}

TEST_F(ProfileTest, Float8OfTheDriversOwnStays)
{
   driver.extensions.push_back(VK_EXT_SHADER_FLOAT8_EXTENSION_NAME);
   engine = "vkd3d";
   ASSERT_VK(create_instance());
   EXPECT_EQ(std::ranges::count(extension_names(), VK_EXT_SHADER_FLOAT8_EXTENSION_NAME), 1);
}

TEST(Profile, EveryOperationOnce)
{
   for (const char *name : {"nvidia", "amd", "intel", "apple", "lavapipe"}) {
      const Profile *profile = find_profile(name);
      ASSERT_TRUE(profile);
      EXPECT_NE(profile_choices().find(name), std::string::npos);
      for (const MatrixOperation &operation : profile->operations)
         EXPECT_EQ(std::ranges::count(profile->operations, operation), 1);
   }
   EXPECT_FALSE(find_profile(""));
}

} // namespace
} // namespace weft::layer_test
