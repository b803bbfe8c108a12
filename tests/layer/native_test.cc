// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer beside a driver's own matrices: which shaders the driver gets as they are.

#include "tests/layer/fixture.h"

#include <algorithm>
#include <set>

namespace weft::layer_test {

namespace {

/// Multiplications by K: of the driver, added by the layer, and of neither. The types of foreign_k
/// are foreign to the driver.
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

   /// A device with extensions and their features, besides the matrices that are the driver's.
   void create_with(std::initializer_list<const char *> others, void *features)
   {
      driver.native_matrices = true;
      driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
      ASSERT_VK(create_instance());
      std::vector<const char *> names = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};
      names.insert(names.end(), others);
      VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
         .pNext = features,
         .cooperativeMatrix = VK_TRUE,
      };
      ASSERT_VK(create_device({.pNext = &matrices,
                               .enabledExtensionCount = uint32_t(names.size()),
                               .ppEnabledExtensionNames = names.data()}));
   }

   /// The driver's input for a pipeline with a specialization constant.
   SeenShader pipeline_shader(uint32_t k, const char *entry = "main")
   {
      return pipeline_shader(matrix_module(k), entry);
   }
   SeenShader pipeline_shader(const std::vector<uint32_t> &words, const char *entry = "main")
   {
      const uint32_t value = 5;
      const VkSpecializationMapEntry map = {1, 0, sizeof(value)};
      const VkSpecializationInfo constants = {1, &map, sizeof(value), &value};
      const VkShaderModule module = make_module(words);
      VkComputePipelineCreateInfo info = pipeline_info(module, entry);
      info.stage.pSpecializationInfo = &constants;
      VkPipeline pipeline;
      EXPECT_VK(create_pipelines({&info, 1}, {&pipeline, 1}));
      destroy_pipelines({&pipeline, 1});
      destroy_module(module);
      return driver.shaders.back();
   }

   SeenShader shader_object(uint32_t k, VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT,
                            const char *entry = "main")
   {
      const std::vector<uint32_t> words = matrix_module(k);
      const VkShaderCreateInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
         .stage = stage,
         .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
         .codeSize = words.size() * sizeof(uint32_t),
         .pCode = words.data(),
         .pName = entry,
      };
      VkShaderEXT shader;
      EXPECT_VK(device_function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT")(device, 1, &info,
                                                                              nullptr, &shader));
      device_function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT")(device, shader, nullptr);
      return driver.shaders.back();
   }
};

TEST_F(Native, TheDriversShadersStayAsTheyAre)
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

TEST_F(Native, TheLayersShadersAreLoweredToTheDriversTiles)
{
   create();
   const SeenShader seen = pipeline_shader(added_k);
   EXPECT_TRUE(is_lowered(seen.words, 32));
   EXPECT_EQ(seen.specialized, false);
   EXPECT_TRUE(is_lowered(shader_object(added_k).words, 32));
   ASSERT_EQ(compiler.seen.size(), 2u);
   ASSERT_EQ(compiler.seen[0].options.native_operations.size(), 1u);
   EXPECT_EQ(compiler.seen[0].options.native_operations[0].k, native_k);
   // A shader may use both the driver's and the layer's operations.
   EXPECT_EQ(compiler.seen[0].options.operations.size(), 1 + compiler.operations.size());
}

TEST_F(Native, EveryShaderIsLoweredWhenTold)
{
   const Environment tiles("WEFT_LOWERING", "tiles");
   create();
   for (uint32_t k : {native_k, added_k}) {
      EXPECT_TRUE(is_lowered(pipeline_shader(k).words, 32));
      EXPECT_EQ(compiler.seen.back().options.native_operations.size(), 1u);
   }
}

/// Programs that run without the layer run under it.
TEST_F(Native, ShadersThatTheCompilerRefusesAreLeftToTheDriver)
{
   const Environment tiles("WEFT_LOWERING", "tiles");
   create();
   for (uint32_t k : {native_k, unknown_k}) {
      infos.clear();
      const SeenShader seen = pipeline_shader(k, "fail");
      EXPECT_EQ(seen.words, matrix_module(k));
      EXPECT_TRUE(seen.specialized);
      EXPECT_EQ(seen.required_size, 0u);
      EXPECT_EQ(shader_object(k, VK_SHADER_STAGE_COMPUTE_BIT, "fail").words, matrix_module(k));
      ASSERT_EQ(infos.size(), 2u);
      EXPECT_NE(infos[0].find("'fail': left to the driver"), std::string::npos);
      EXPECT_NE(infos[0].find("made to fail"), std::string::npos);
   }
   // A shader with the layer's own operations does not go to the driver.
   const VkShaderModule module = make_module(matrix_module(added_k));
   const VkComputePipelineCreateInfo info = pipeline_info(module, "fail");
   VkPipeline pipeline;
   EXPECT_EQ(create_pipelines({&info, 1}, {&pipeline, 1}), VK_ERROR_UNKNOWN);
   destroy_module(module);
}

/// Flexible dimensions make shapes the driver's that it does not list.
TEST_F(Native, WithExtensionsOfTheDriverAnyMatricesMayBeItsOwn)
{
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   driver.extensions.push_back(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   const VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = VK_TRUE,
   };
   const char *const names[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
                                VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME};
   ASSERT_VK(create_device(
      {.pNext = &matrices, .enabledExtensionCount = 2, .ppEnabledExtensionNames = names}));
   EXPECT_TRUE(is_lowered(pipeline_shader(added_k).words, 32));
   EXPECT_EQ(pipeline_shader(added_k, "fail").words, matrix_module(added_k));
}

TEST_F(Native, WorkgroupsThatCannotBeLoweredAreLeftToTheDriver)
{
   const Environment tiles("WEFT_LOWERING", "tiles");
   create();
   compiler.local_size[1] = 100;
   EXPECT_EQ(pipeline_shader(native_k).words, matrix_module(native_k));
   EXPECT_EQ(shader_object(native_k).words, matrix_module(native_k));
}

/// With FAIL_ON_PIPELINE_COMPILE_REQUIRED, the driver decides about its own shaders as without the
/// layer.
TEST_F(Native, OnlyTheLayersShadersRequireACompilation)
{
   create();
   for (uint32_t k : {native_k, unknown_k, added_k}) {
      const VkShaderModule module = make_module(matrix_module(k));
      VkComputePipelineCreateInfo info = pipeline_info(module);
      info.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
      VkPipeline pipeline;
      EXPECT_EQ(create_pipelines({&info, 1}, {&pipeline, 1}),
                k == added_k ? VK_PIPELINE_COMPILE_REQUIRED : VK_SUCCESS);
      destroy_pipelines({&pipeline, 1});
      destroy_module(module);
   }
   EXPECT_TRUE(compiler.seen.empty());
}

/// The driver's cache knows a pipeline by the identifiers of its modules.
TEST_F(Native, IdentifiersAreTheDrivers)
{
   create();
   const std::vector<uint32_t> words = matrix_module(native_k);
   const VkShaderModule module = make_module(words);
   VkShaderModuleIdentifierEXT id = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_IDENTIFIER_EXT};
   device_function<PFN_vkGetShaderModuleIdentifierEXT>("vkGetShaderModuleIdentifierEXT")(
      device, module, &id);
   EXPECT_EQ(id.identifier[0], 0xaa);
   const VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = words.size() * sizeof(uint32_t),
      .pCode = words.data(),
   };
   id = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_IDENTIFIER_EXT};
   device_function<PFN_vkGetShaderModuleCreateInfoIdentifierEXT>(
      "vkGetShaderModuleCreateInfoIdentifierEXT")(device, &info, &id);
   EXPECT_EQ(id.identifier[0], 0xaa);
   destroy_module(module);
}

/// A driver may give equal modules one handle.
TEST_F(Native, ModulesOfOneHandle)
{
   create();
   driver.equal_handles = true;
   const VkShaderModule first = make_module(matrix_module(added_k));
   const VkShaderModule second = make_module(matrix_module(added_k));
   ASSERT_EQ(first, second);
   destroy_module(first);
   const VkComputePipelineCreateInfo info = pipeline_info(second);
   VkPipeline pipeline;
   EXPECT_VK(create_pipelines({&info, 1}, {&pipeline, 1}));
   EXPECT_TRUE(is_lowered(driver.shaders.back().words, 32));
   destroy_pipelines({&pipeline, 1});
   destroy_module(second);
}

TEST_F(Native, EntryPointsWithoutMatricesStayAsTheyAre)
{
   const Environment tiles("WEFT_LOWERING", "tiles");
   create();
   EXPECT_EQ(pipeline_shader(native_k, "plain").words, matrix_module(native_k));
   EXPECT_TRUE(compiler.seen.empty());
}

TEST_F(Native, NothingNativeIsUsedWhenHidden)
{
   const Environment registers("WEFT_LOWERING", "registers");
   create();
   EXPECT_TRUE(is_lowered(pipeline_shader(added_k).words, 32));
   EXPECT_TRUE(compiler.seen.back().options.native_operations.empty());
}

/// Workgroup scope, and component types that the layer does not know.
TEST_F(Native, ForeignOperationsAreListedButNotBuiltFrom)
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

/// The driver has bfloat16 but no float8: the layer enables the driver's type and lowers for both.
TEST_F(Native, TypesOfTheDriverBesideTheLayers)
{
   using enum ComponentType;
   const MatrixOperation wide = {16, 16, added_k, bf16, bf16, f32, f32, false},
                         narrow = {16, 16, added_k, e4m3, e4m3, f32, f32, false};
   compiler.operations.insert(compiler.operations.end(), {wide, narrow});
   driver.extensions.push_back(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
   VkPhysicalDeviceShaderFloat8FeaturesEXT float8 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT,
      .shaderFloat8 = VK_TRUE,
      .shaderFloat8CooperativeMatrix = VK_TRUE,
   };
   create_with({VK_EXT_SHADER_FLOAT8_EXTENSION_NAME}, &float8);

   constexpr uint32_t float8_matrices = 4213, capability_word = 6;
   const auto is_wide = [](const FlexibleOperation &f) { return f.granularity.a == bf16; };
   for (const bool with_float8 : {false, true}) {
      std::vector<uint32_t> words = matrix_module(added_k);
      if (with_float8)
         words[capability_word] = float8_matrices;
      pipeline_shader(words);
      const auto &operations = compiler.seen.back().options.operations;
      EXPECT_EQ(std::ranges::count(operations, narrow), 1);
      EXPECT_EQ(std::ranges::count(operations, wide), with_float8);
      EXPECT_EQ(std::ranges::any_of(compiler.seen.back().options.flexible, is_wide), with_float8);
   }
   // The driver would crash on types that it lacks. The shader may have its types too.
   EXPECT_TRUE(is_lowered(pipeline_shader(foreign_k).words, 32));
   EXPECT_EQ(std::ranges::count(compiler.seen.back().options.operations, wide), 1);
   EXPECT_TRUE(std::ranges::any_of(compiler.seen.back().options.flexible, is_wide));
}

/// If the compiler refuses a shader that the driver cannot have, the pipeline fails.
TEST_F(Native, TypesThatTheDriverLacksAreNotLeftToIt)
{
   create();
   const VkShaderModule module = make_module(matrix_module(foreign_k));
   for (const char *entry : {"main", "fail"}) {
      const VkComputePipelineCreateInfo info = pipeline_info(module, entry);
      VkPipeline pipeline;
      const bool fails = entry[0] == 'f';
      EXPECT_EQ(create_pipelines({&info, 1}, {&pipeline, 1}),
                fails ? VK_ERROR_UNKNOWN : VK_SUCCESS);
      destroy_pipelines({&pipeline, 1});
   }
   destroy_module(module);
   EXPECT_EQ(driver.shaders.size(), 1u);
}

/// VK_EXT_cooperative_matrix_maintenance1 took its capabilities from VK_NV_cooperative_matrix2: a
/// driver that has one of the two knows them.
TEST_F(Native, CapabilitiesThatExtensionsShare)
{
   driver.extensions.push_back(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
   VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT maintenance1 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_MAINTENANCE_1_FEATURES_EXT,
      .cooperativeMatrixReductions = VK_TRUE,
   };
   create_with({VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME,
                VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_EXTENSION_NAME},
               &maintenance1);

   constexpr uint32_t reductions = 5430, get_coordinate = 5438, capability_word = 6;
   for (const uint32_t capability : {reductions, get_coordinate}) {
      std::vector<uint32_t> words = matrix_module(native_k);
      words[capability_word] = capability;
      EXPECT_EQ(is_lowered(pipeline_shader(words).words, 32), capability == get_coordinate);
   }
}

/// The driver has matrices of workgroup scope and no vector decode functions: a shader with both is
/// lowered in the workgroups for which the driver reports matrices.
TEST_F(Native, WorkgroupsOfTheDriversMatrices)
{
   driver.extensions.push_back(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
   for (const uint32_t invocations : {0, 512, 32, 512}) {
      VkCooperativeMatrixFlexibleDimensionsPropertiesNV row = {
         .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV,
         .scope = invocations ? VK_SCOPE_WORKGROUP_KHR : VK_SCOPE_SUBGROUP_KHR,
         .workgroupInvocations = invocations,
      };
      driver.flexible_properties.push_back(row);
   }
   create_with({VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME}, nullptr);
   EXPECT_TRUE(is_lowered(pipeline_shader(added_k).words, 32));

   std::set<uint32_t> seen;
   for (const FlexibleOperation &operation : compiler.seen.back().options.flexible)
      seen.insert(operation.workgroup_invocations);
   EXPECT_EQ(seen, (std::set<uint32_t>{0, 32, 512}));
}

TEST_F(Native, OtherStagesAreTheDrivers)
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
