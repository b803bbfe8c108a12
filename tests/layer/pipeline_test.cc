// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Shader modules and compute pipelines.

#include "tests/layer/fixture.h"

#include "spirv-tools/libspirv.h"
#include <vulkan/vulkan_beta.h>

#include <algorithm>
#include <cstring>

namespace weft::layer_test {

namespace {

class PipelineTest : public LayerTest {
protected:
   void SetUp() override
   {
      ASSERT_VK(create_instance());
      ASSERT_VK(create_matrix_device());
   }

   VkResult create_one(const VkComputePipelineCreateInfo &info)
   {
      VkPipeline pipeline;
      const VkResult result = create_pipelines({&info, 1}, {&pipeline, 1});
      EXPECT_EQ(pipeline == VK_NULL_HANDLE, result != VK_SUCCESS);
      destroy_pipelines({&pipeline, 1});
      return result;
   }
};

VkShaderModuleCreateInfo module_info(const std::vector<uint32_t> &words, const void *next = nullptr)
{
   return {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .pNext = next,
      .codeSize = words.size() * sizeof(uint32_t),
      .pCode = words.data(),
   };
}

TEST_F(PipelineTest, PlainModulesPassThrough)
{
   const VkShaderModule module = make_module(plain_module());
   EXPECT_EQ(driver.modules.back(), plain_module());
   const VkComputePipelineCreateInfo infos[] = {pipeline_info(module), pipeline_info(module)};
   VkPipeline pipelines[2];
   ASSERT_VK(create_pipelines(infos, pipelines));
   EXPECT_EQ(driver.calls("vkCreateComputePipelines"), 1u); // one call for both
   EXPECT_EQ(driver.shaders[0].required_size, 0u);
   EXPECT_TRUE(compiler.seen.empty());
   destroy_pipelines(pipelines);
   destroy_module(module);
}

TEST_F(PipelineTest, MatrixModuleIsLoweredWhenThePipelineIsCreated)
{
   const VkShaderModule module = make_module(matrix_module(5));
   const VkShaderModule other = make_module(matrix_module(5));
   EXPECT_NE(module, other);
   EXPECT_NE(driver.modules[0], driver.modules[1]); // placeholders, each its own
   const uint32_t matrices[] = {6022};              // CooperativeMatrixKHR
   EXPECT_FALSE(spirv::declares_any(driver.modules[0], matrices));
   EXPECT_TRUE(compiler.seen.empty());

   const uint32_t values[] = {3, 4};
   const VkSpecializationMapEntry entries[] = {{10, 0, 4}, {11, 4, 4}, {12, 8, 4}};
   const VkSpecializationInfo specialization = {3, entries, sizeof(values), values};
   VkComputePipelineCreateInfo info = pipeline_info(module, "entry");
   info.stage.pSpecializationInfo = &specialization;
   const auto cache = VkPipelineCache(uintptr_t(0xcace));
   VkPipeline pipeline;
   ASSERT_VK(device_function<PFN_vkCreateComputePipelines>("vkCreateComputePipelines")(
      device, cache, 1, &info, nullptr, &pipeline));
   ASSERT_EQ(compiler.seen.size(), 1u);
   EXPECT_EQ(compiler.seen[0].words, matrix_module(5));
   EXPECT_EQ(compiler.seen[0].entry_point, "entry");
   // The third entry lies outside of the data.
   EXPECT_EQ(compiler.seen[0].spec_constants,
             (std::vector<std::pair<uint32_t, uint32_t>>{{10, 3}, {11, 4}}));
   EXPECT_EQ(compiler.seen[0].options.operations, compiler.operations);
   EXPECT_EQ(compiler.seen[0].options.staging_bytes, 32768u / 4); // a quarter of shared memory
   const SeenShader &seen = driver.shaders.back();
   EXPECT_TRUE(is_lowered(seen.words, 32));
   EXPECT_EQ(seen.entry_point, "entry");
   EXPECT_EQ(seen.required_size, 32u);
   EXPECT_EQ(seen.stage_flags, VkFlags(VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT));
   EXPECT_FALSE(seen.specialized);
   EXPECT_EQ(seen.cache, cache);
   // Instance, messenger, device, two modules, pipeline: no more modules.
   EXPECT_EQ(driver.live(), 6u);
   destroy_pipelines({&pipeline, 1});
   destroy_module(module);
   destroy_module(other);
}

TEST_F(PipelineTest, PlaceholderIsValid)
{
   const VkShaderModule module = make_module(matrix_module());
   const std::vector<uint32_t> &words = driver.modules.back();
   spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_1);
   spv_diagnostic diagnostic = nullptr;
   EXPECT_EQ(spvValidateBinary(context, words.data(), words.size(), &diagnostic), SPV_SUCCESS)
      << diagnostic->error;
   spvDiagnosticDestroy(diagnostic);
   spvContextDestroy(context);
   destroy_module(module);
}

TEST_F(PipelineTest, InlineModule)
{
   const std::vector<uint32_t> words = matrix_module(9);
   const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = 16,
   };
   const VkShaderModuleCreateInfo inlined = module_info(words, &size);
   EXPECT_VK(create_one(pipeline_info(VK_NULL_HANDLE, "main", &inlined)));
   EXPECT_EQ(compiler.seen.back().words, words);
   EXPECT_EQ(compiler.seen.back().options.subgroup_size, 16u);
   EXPECT_TRUE(is_lowered(driver.shaders.back().words, 16));
   EXPECT_FALSE(driver.shaders.back().inline_module);
   EXPECT_EQ(driver.shaders.back().required_size, 16u);

   // The layer's struct stands behind a struct that cannot be copied.
   const VkBaseInStructure unknown = {VkStructureType(1999999000),
                                      reinterpret_cast<const VkBaseInStructure *>(&inlined)};
   EXPECT_VK(create_one(pipeline_info(VK_NULL_HANDLE, "main", &unknown)));
   EXPECT_TRUE(is_lowered(driver.shaders.back().words, 16));
   EXPECT_EQ(driver.shaders.back().required_size, 16u);

   const std::vector<uint32_t> plain = plain_module();
   const VkShaderModuleCreateInfo inlined_plain = module_info(plain);
   EXPECT_VK(create_one(pipeline_info(VK_NULL_HANDLE, "main", &inlined_plain)));
   EXPECT_TRUE(driver.shaders.back().inline_module);
   EXPECT_EQ(compiler.seen.size(), 2u);
}

TEST_F(PipelineTest, SubgroupDemands)
{
   const VkShaderModule module = make_module(matrix_module());
   VkComputePipelineCreateInfo info = pipeline_info(module);
   info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
   compiler.local_size[0] = 48; // not of full subgroups
   EXPECT_VK(create_one(info));
   EXPECT_EQ(driver.shaders.back().stage_flags, 0u);
   EXPECT_EQ(driver.shaders.back().required_size, 32u);
   compiler.local_size[0] = 32;
   compiler.local_size[1] = 17; // more subgroups than the driver runs at a required size
   EXPECT_EQ(create_one(info), VK_ERROR_UNKNOWN);
   destroy_module(module);
}

TEST_F(PipelineTest, DriverWithOneSubgroupSizeIsNotTold)
{
   destroy_device();
   destroy_instance();
   driver.min_subgroup_size = driver.max_subgroup_size = 32;
   SetUp();
   compiler.local_size[1] = 100;
   const VkShaderModule module = make_module(matrix_module());
   EXPECT_VK(create_one(pipeline_info(module)));
   EXPECT_EQ(driver.shaders.back().required_size, 0u);
   EXPECT_EQ(driver.shaders.back().stage_flags,
             VkFlags(VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT));
   destroy_module(module);
}

TEST_F(PipelineTest, DriverWhoseSubgroupSizeIsOutOfHand)
{
   EXPECT_FALSE(compiler.seen.size());
   destroy_device();
   destroy_instance();
   driver.features13.subgroupSizeControl = VK_FALSE;
   SetUp();
   compiler.local_size[1] = 100;
   const VkShaderModule module = make_module(matrix_module());
   EXPECT_VK(create_one(pipeline_info(module)));
   EXPECT_TRUE(compiler.seen.back().options.subgroups_are_blocks);
   EXPECT_EQ(compiler.seen.back().options.max_shared_bytes, 32768u);
   EXPECT_TRUE(is_lowered(driver.shaders.back().words, 32));
   EXPECT_EQ(driver.shaders.back().required_size, 0u);
   destroy_module(module);
}

TEST_F(PipelineTest, SomeFail)
{
   const VkShaderModule module = make_module(matrix_module());
   const VkShaderModule plain = make_module(plain_module());
   VkComputePipelineCreateInfo infos[] = {pipeline_info(module), pipeline_info(module, "fail"),
                                          pipeline_info(plain), pipeline_info(module)};
   VkPipeline pipelines[4];
   EXPECT_EQ(create_pipelines(infos, pipelines), VK_ERROR_UNKNOWN);
   EXPECT_TRUE(pipelines[0] && !pipelines[1] && pipelines[2] && pipelines[3]);
   ASSERT_EQ(messages.size(), 1u);
   EXPECT_NE(messages[0].find("'fail': made to fail"), std::string::npos);
   destroy_pipelines(pipelines);

   infos[1].flags = VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT;
   EXPECT_EQ(create_pipelines(infos, pipelines), VK_ERROR_UNKNOWN);
   EXPECT_TRUE(pipelines[0] && !pipelines[1] && !pipelines[2] && !pipelines[3]);
   destroy_pipelines(pipelines);

   // The driver's own failures, of the second of four pipelines and of its module.
   infos[1] = pipeline_info(module);
   driver.fail("vkCreateComputePipelines", VK_ERROR_OUT_OF_DEVICE_MEMORY, 1);
   messages.clear();
   EXPECT_EQ(create_pipelines(infos, pipelines), VK_ERROR_OUT_OF_DEVICE_MEMORY);
   EXPECT_TRUE(pipelines[0] && !pipelines[1] && pipelines[2] && pipelines[3]);
   ASSERT_EQ(messages.size(), 1u);
   EXPECT_NE(messages[0].find("(VkResult -2); an invocation has 12345 bytes"), std::string::npos)
      << messages[0];
   destroy_pipelines(pipelines);
   driver.fail("vkCreateShaderModule", VK_ERROR_OUT_OF_HOST_MEMORY, 1);
   EXPECT_EQ(create_pipelines(infos, pipelines), VK_ERROR_OUT_OF_HOST_MEMORY);
   EXPECT_TRUE(pipelines[0] && !pipelines[1] && pipelines[2] && pipelines[3]);
   destroy_pipelines(pipelines);
   destroy_module(module);
   destroy_module(plain);
}

TEST_F(PipelineTest, CompileRequired)
{
   const VkShaderModule module = make_module(matrix_module());
   const VkShaderModule plain = make_module(plain_module());
   VkComputePipelineCreateInfo infos[] = {pipeline_info(plain), pipeline_info(module),
                                          pipeline_info(plain)};
   for (VkComputePipelineCreateInfo &info : infos)
      info.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
   VkPipeline pipelines[3];
   EXPECT_EQ(create_pipelines(infos, pipelines), VK_PIPELINE_COMPILE_REQUIRED);
   EXPECT_TRUE(pipelines[0] && !pipelines[1] && pipelines[2]);
   EXPECT_TRUE(compiler.seen.empty());
   destroy_pipelines(pipelines);

   // An error takes precedence over VK_PIPELINE_COMPILE_REQUIRED, in any order.
   driver.fail("vkCreateComputePipelines", VK_ERROR_OUT_OF_DEVICE_MEMORY,
               1); // the second plain one
   EXPECT_EQ(create_pipelines(infos, pipelines), VK_ERROR_OUT_OF_DEVICE_MEMORY);
   EXPECT_TRUE(pipelines[0] && !pipelines[1] && !pipelines[2]);
   destroy_pipelines(pipelines);

   // maintenance5's flags replace the older ones.
   const VkPipelineCreateFlags2CreateInfoKHR flags2 = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
      .flags = VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT_KHR |
               VK_PIPELINE_CREATE_2_EARLY_RETURN_ON_FAILURE_BIT_KHR,
   };
   infos[1].flags = 0;
   infos[1].pNext = &flags2;
   EXPECT_EQ(create_pipelines(infos, pipelines), VK_PIPELINE_COMPILE_REQUIRED);
   EXPECT_TRUE(pipelines[0] && !pipelines[1] && !pipelines[2]);
   destroy_pipelines(pipelines);
   destroy_module(module);
   destroy_module(plain);
}

TEST_F(PipelineTest, Derivatives)
{
   const VkShaderModule module = make_module(matrix_module());
   VkComputePipelineCreateInfo infos[] = {pipeline_info(module), pipeline_info(module),
                                          pipeline_info(module, "fail"), pipeline_info(module)};
   infos[0].flags = infos[2].flags = VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT;
   infos[1].flags = infos[3].flags = VK_PIPELINE_CREATE_DERIVATIVE_BIT;
   infos[1].basePipelineIndex = 0;
   infos[3].basePipelineIndex = 2; // which fails
   VkPipeline pipelines[4];
   EXPECT_EQ(create_pipelines(infos, pipelines), VK_ERROR_UNKNOWN);
   ASSERT_EQ(driver.shaders.size(), 3u);
   EXPECT_EQ(driver.shaders[1].base, pipelines[0]);
   EXPECT_EQ(driver.shaders[1].base_index, -1);
   EXPECT_EQ(driver.shaders[2].flags, 0u);
   destroy_pipelines(pipelines);
   destroy_module(module);
}

TEST_F(PipelineTest, CreationFeedback)
{
   const VkShaderModule module = make_module(matrix_module());
   VkPipelineCreationFeedback feedback = {77, 77}, stage = {77, 77};
   const VkPipelineCreationFeedbackCreateInfo feedback_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
      .pPipelineCreationFeedback = &feedback,
      .pipelineStageCreationFeedbackCount = 1,
      .pPipelineStageCreationFeedbacks = &stage,
   };
   VkComputePipelineCreateInfo info = pipeline_info(module);
   info.pNext = &feedback_info;
   EXPECT_VK(create_one(info));
   EXPECT_EQ(feedback.flags, VkFlags(VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT));
   EXPECT_GT(feedback.duration, 1u); // the driver says 1
   EXPECT_EQ(stage.flags, 0u);       // the driver gives no feedback for the stage
   info.stage.pName = "fail";
   EXPECT_EQ(create_one(info), VK_ERROR_UNKNOWN);
   EXPECT_EQ(feedback.flags, 0u);
   destroy_module(module);
}

TEST_F(PipelineTest, ModuleIdentifiers)
{
   auto of_module =
      device_function<PFN_vkGetShaderModuleIdentifierEXT>("vkGetShaderModuleIdentifierEXT");
   auto of_info = device_function<PFN_vkGetShaderModuleCreateInfoIdentifierEXT>(
      "vkGetShaderModuleCreateInfoIdentifierEXT");
   const std::vector<uint32_t> words = matrix_module(3), others = matrix_module(4);
   const VkShaderModule module = make_module(words), again = make_module(words);
   const VkShaderModule other = make_module(others), plain = make_module(plain_module());
   const auto identify = [&](VkShaderModule m) {
      VkShaderModuleIdentifierEXT id = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_IDENTIFIER_EXT};
      of_module(device, m, &id);
      return std::vector<uint8_t>(id.identifier, id.identifier + id.identifierSize);
   };
   EXPECT_EQ(identify(module), identify(again));
   EXPECT_NE(identify(module), identify(other));
   EXPECT_EQ(identify(plain), std::vector<uint8_t>{0xaa});
   const VkShaderModuleCreateInfo info = module_info(words);
   VkShaderModuleIdentifierEXT id = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_IDENTIFIER_EXT};
   of_info(device, &info, &id);
   EXPECT_EQ(std::vector<uint8_t>(id.identifier, id.identifier + id.identifierSize),
             identify(module));

   const VkPipelineShaderStageModuleIdentifierCreateInfoEXT by_identifier = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT,
      .identifierSize = id.identifierSize,
      .pIdentifier = id.identifier,
   };
   VkComputePipelineCreateInfo identified = pipeline_info(VK_NULL_HANDLE, "main", &by_identifier);
   identified.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
   EXPECT_EQ(create_one(identified), VK_PIPELINE_COMPILE_REQUIRED);
   EXPECT_EQ(driver.calls("vkCreateComputePipelines"), 0u);
   for (VkShaderModule m : {module, again, other, plain})
      destroy_module(m);
}

TEST_F(PipelineTest, IndirectMemoryIsThatOfTheLoweredPipeline)
{
   const VkShaderModule module = make_module(matrix_module());
   VkComputePipelineCreateInfo info = pipeline_info(module);
   VkMemoryRequirements2 requirements = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
   auto get = device_function<PFN_vkGetPipelineIndirectMemoryRequirementsNV>(
      "vkGetPipelineIndirectMemoryRequirementsNV");
   get(device, &info, &requirements);
   EXPECT_TRUE(is_lowered(driver.shaders.back().words, 32));
   EXPECT_EQ(requirements.memoryRequirements.size, 7u); // words of a lowered module
   info.stage.pName = "fail";
   get(device, &info, &requirements);
   EXPECT_EQ(messages.size(), 1u);
   destroy_module(module);
}

/// The driver gets an entry point without matrices, and no other part of the module.
TEST_F(PipelineTest, EntryPointsWithoutMatrices)
{
   const VkShaderModule module = make_module(matrix_module(6));
   const uint32_t value = 5;
   const VkSpecializationMapEntry entry = {1, 0, sizeof(value)};
   const VkSpecializationInfo constants = {1, &entry, sizeof(value), &value};
   VkComputePipelineCreateInfo compute = pipeline_info(module, "plain");
   compute.stage.pSpecializationInfo = &constants;
   compute.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT; // the driver's to say
   EXPECT_VK(create_one(compute));
   EXPECT_EQ(driver.shaders.back().words, plain_module(6));
   EXPECT_TRUE(driver.shaders.back().specialized);
   EXPECT_EQ(driver.shaders.back().required_size, 0u);

   VkPipelineShaderStageCreateInfo stages[2];
   stages[0] = stages[1] = compute.stage;
   stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
   stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
   const std::vector<uint32_t> words = matrix_module(7);
   const VkShaderModuleCreateInfo inlined = module_info(words);
   stages[1].module = VK_NULL_HANDLE;
   stages[1].pNext = &inlined;
   const VkGraphicsPipelineCreateInfo graphics = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .stageCount = 2, .pStages = stages};
   VkPipeline pipeline;
   ASSERT_VK(device_function<PFN_vkCreateGraphicsPipelines>("vkCreateGraphicsPipelines")(
      device, VK_NULL_HANDLE, 1, &graphics, nullptr, &pipeline));
   ASSERT_EQ(driver.shaders.size(), 3u);
   EXPECT_EQ(driver.shaders[1].words, plain_module(6));
   EXPECT_TRUE(driver.shaders[1].specialized);
   EXPECT_EQ(driver.shaders[2].words, plain_module(7));
   EXPECT_FALSE(driver.shaders[2].inline_module);
   // Instance, messenger, device, module, pipeline: no more modules.
   EXPECT_EQ(driver.live(), 5u);
   EXPECT_TRUE(compiler.seen.empty());
   destroy_pipelines({&pipeline, 1});

   // Edited structs live as long as the call, so the call is not deferred.
   const VkRayTracingPipelineCreateInfoKHR rays = {
      .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR,
      .stageCount = 1,
      .pStages = stages};
   EXPECT_EQ(device_function<PFN_vkCreateRayTracingPipelinesKHR>("vkCreateRayTracingPipelinesKHR")(
                device, VkDeferredOperationKHR(uintptr_t(0xdef)), VK_NULL_HANDLE, 1, &rays, nullptr,
                &pipeline),
             VK_OPERATION_NOT_DEFERRED_KHR);
   EXPECT_EQ(driver.deferred_operation, VkDeferredOperationKHR(VK_NULL_HANDLE));
   EXPECT_EQ(driver.shaders.back().words, plain_module(6));
   destroy_pipelines({&pipeline, 1});
   destroy_module(module);
}

TEST_F(PipelineTest, EntryPointsThatAreNotUnderstood)
{
   const VkShaderModule module = make_module(matrix_module());
   VkPipelineShaderStageCreateInfo stage = pipeline_info(module, "broken").stage;
   stage.stage = VK_SHADER_STAGE_FRAGMENT_BIT;
   const VkGraphicsPipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .stageCount = 1, .pStages = &stage};
   VkPipeline pipeline;
   EXPECT_EQ(device_function<PFN_vkCreateGraphicsPipelines>("vkCreateGraphicsPipelines")(
                device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
             VK_ERROR_UNKNOWN);
   ASSERT_EQ(messages.size(), 1u);
   EXPECT_NE(messages[0].find("made not to be understood"), std::string::npos);
   // The compiler decides about compute shaders.
   EXPECT_VK(create_one(pipeline_info(module, "broken")));
   EXPECT_TRUE(is_lowered(driver.shaders.back().words, 32));
   destroy_module(module);
}

/// No other command with a stage may get the placeholder.
TEST_F(PipelineTest, PipelinesOfOtherExtensions)
{
   const VkShaderModule module = make_module(matrix_module());
   VkPipelineShaderStageCreateInfo stage = pipeline_info(module).stage;
   VkPipeline pipeline;
   const VkExecutionGraphPipelineCreateInfoAMDX graph = {
      .sType = VkStructureType(1000134003), // which is for beta extensions only
      .stageCount = 1,
      .pStages = &stage};
   const auto create_graph = device_function<PFN_vkCreateExecutionGraphPipelinesAMDX>(
      "vkCreateExecutionGraphPipelinesAMDX");
   EXPECT_EQ(create_graph(device, VK_NULL_HANDLE, 1, &graph, nullptr, &pipeline), VK_ERROR_UNKNOWN);
   EXPECT_EQ(pipeline, VkPipeline(VK_NULL_HANDLE));
   stage.pName = "plain";
   EXPECT_VK(create_graph(device, VK_NULL_HANDLE, 1, &graph, nullptr, &pipeline));
   EXPECT_EQ(driver.shaders.back().words, plain_module());
   destroy_pipelines({&pipeline, 1});

   stage.stage = VK_SHADER_STAGE_RAYGEN_BIT_KHR;
   const VkRayTracingPipelineCreateInfoNV rays = {
      .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV,
      .stageCount = 1,
      .pStages = &stage};
   const auto create_rays =
      device_function<PFN_vkCreateRayTracingPipelinesNV>("vkCreateRayTracingPipelinesNV");
   EXPECT_VK(create_rays(device, VK_NULL_HANDLE, 1, &rays, nullptr, &pipeline));
   EXPECT_EQ(driver.shaders.back().words, plain_module());
   destroy_pipelines({&pipeline, 1});
   stage.pName = "main";
   EXPECT_EQ(create_rays(device, VK_NULL_HANDLE, 1, &rays, nullptr, &pipeline), VK_ERROR_UNKNOWN);

   const VkGraphicsShaderGroupCreateInfoNV group = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_SHADER_GROUP_CREATE_INFO_NV,
      .stageCount = 1,
      .pStages = &stage};
   const VkGraphicsPipelineShaderGroupsCreateInfoNV groups = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_SHADER_GROUPS_CREATE_INFO_NV,
      .groupCount = 1,
      .pGroups = &group};
   const VkGraphicsPipelineCreateInfo graphics = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .pNext = &groups};
   EXPECT_EQ(device_function<PFN_vkCreateGraphicsPipelines>("vkCreateGraphicsPipelines")(
                device, VK_NULL_HANDLE, 1, &graphics, nullptr, &pipeline),
             VK_ERROR_UNKNOWN);
   destroy_module(module);
}

TEST_F(PipelineTest, GraphicsPipelines)
{
   auto create = device_function<PFN_vkCreateGraphicsPipelines>("vkCreateGraphicsPipelines");
   const VkShaderModule module = make_module(matrix_module());
   VkPipelineShaderStageCreateInfo stage = pipeline_info(module).stage;
   stage.stage = VK_SHADER_STAGE_VERTEX_BIT;
   VkGraphicsPipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .stageCount = 1, .pStages = &stage};
   VkPipeline pipeline = VkPipeline(uintptr_t(1));
   EXPECT_EQ(create(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline), VK_ERROR_UNKNOWN);
   EXPECT_EQ(pipeline, VkPipeline(VK_NULL_HANDLE));
   EXPECT_EQ(messages.size(), 1u);
   info.stageCount = 0;
   EXPECT_VK(create(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline));
   destroy_pipelines({&pipeline, 1});
   destroy_module(module);
}

TEST_F(PipelineTest, RayTracingPipelines)
{
   auto create =
      device_function<PFN_vkCreateRayTracingPipelinesKHR>("vkCreateRayTracingPipelinesKHR");
   const auto operation = VkDeferredOperationKHR(uintptr_t(0xdef));
   VkRayTracingPipelineCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR};
   VkPipeline pipeline;
   EXPECT_EQ(create(device, operation, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
             VK_OPERATION_DEFERRED_KHR);
   EXPECT_EQ(driver.deferred_operation, operation);
   destroy_pipelines({&pipeline, 1});

   const std::vector<uint32_t> words = matrix_module();
   const VkShaderModuleCreateInfo inlined = module_info(words);
   const VkPipelineShaderStageCreateInfo stage =
      pipeline_info(VK_NULL_HANDLE, "main", &inlined).stage;
   info.stageCount = 1;
   info.pStages = &stage;
   EXPECT_EQ(create(device, operation, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
             VK_ERROR_UNKNOWN);
   EXPECT_EQ(pipeline, VkPipeline(VK_NULL_HANDLE));
}

TEST_F(PipelineTest, CodeThatIsNotSpirvIsTheDrivers)
{
   for (const std::vector<uint32_t> &words :
        {std::vector<uint32_t>{}, {1, 2, 3}, {0x07230203}, {0x07230203, 0, 0, 0, 0, 0xffffffff}}) {
      const VkShaderModule module = make_module(words);
      EXPECT_EQ(driver.modules.back(), words);
      destroy_module(module);
   }
   // A size that is not of whole words.
   const std::vector<uint32_t> words = matrix_module();
   VkShaderModuleCreateInfo info = module_info(words);
   info.codeSize -= 1;
   VkShaderModule module;
   ASSERT_VK(device_function<PFN_vkCreateShaderModule>("vkCreateShaderModule")(device, &info,
                                                                               nullptr, &module));
   EXPECT_EQ(driver.modules.back().size(), words.size() - 1);
   destroy_module(module);
}

TEST_F(PipelineTest, ModuleThatTheDriverRefuses)
{
   const std::vector<uint32_t> words = matrix_module();
   const VkShaderModuleCreateInfo info = module_info(words);
   auto create = device_function<PFN_vkCreateShaderModule>("vkCreateShaderModule");
   VkShaderModule module;
   driver.fail("vkCreateShaderModule", VK_ERROR_OUT_OF_DEVICE_MEMORY);
   EXPECT_EQ(create(device, &info, nullptr, &module), VK_ERROR_OUT_OF_DEVICE_MEMORY);
}

} // namespace

} // namespace weft::layer_test
