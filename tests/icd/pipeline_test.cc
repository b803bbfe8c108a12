// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compute pipelines.

#include "tests/icd/pipeline_fixture.h"

#include "tests/backend/cpu/seed.h"
#include "tests/spirv/assemble.h"

#include <cstring>
#include <functional>
#include <pthread.h>
#include <random>
#include <set>
#include <thread>

namespace weft::icd_test {

TEST_F(PipelineTest, SpecializationConstants)
{
   const uint32_t data[] = {0, 0, 1, 77};
   VkSpecializationMapEntry entries[] = {{7, 12, 4}, {8, 8, 4}, {99, 0, 4}};
   VkSpecializationInfo info = {3, entries, sizeof(data), data};
   recipe.specialization = &info;
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   dispatch(pipeline);
   EXPECT_EQ(out.as()[0], 11u);
   EXPECT_EQ(out.as()[1], 77u);
   EXPECT_EQ(out.as()[2], 1u);
}

TEST_F(PipelineTest, SpecializationConstantsBehindTheDataAreIgnored)
{
   const uint32_t data[] = {5, 6, 7, 77};
   VkSpecializationMapEntry entries[] = {{0, 8, 4}, {7, 12, 4}, {8, UINT32_MAX, 4}};
   VkSpecializationInfo info = {3, entries, 12, data};
   recipe.specialization = &info;
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   dispatch(pipeline);
   EXPECT_EQ(out.as()[0], 7u);
   EXPECT_EQ(out.as()[1], 22u);
   EXPECT_EQ(out.as()[2], 0u);
}

/// SPIR-V allows ids up to 4,194,303, with any gaps.
TEST_F(PipelineTest, SparseIds)
{
   const char *const text = R"(
      OpCapability Shader
      OpMemoryModel Logical GLSL450
      OpEntryPoint GLCompute %4194302 "main" %4194301
      OpExecutionMode %4194302 LocalSize 1 1 1
      OpDecorate %4194301 DescriptorSet 0
      OpDecorate %4194301 Binding 0
      OpDecorate %1000000 Block
      OpMemberDecorate %1000000 0 Offset 0
      %1 = OpTypeVoid
      %70000 = OpTypeFunction %1
      %3 = OpTypeInt 32 0
      %1000000 = OpTypeStruct %3
      %2000000 = OpTypePointer StorageBuffer %1000000
      %2000001 = OpTypePointer StorageBuffer %3
      %4194301 = OpVariable %2000000 StorageBuffer
      %65537 = OpConstant %3 4711
      %131072 = OpConstant %3 0
      %4194302 = OpFunction %1 None %70000
      %3000000 = OpLabel
      %3000001 = OpAccessChain %2000001 %4194301 %131072
      OpStore %3000001 %65537
      OpReturn
      OpFunctionEnd)";
   const std::vector<uint32_t> words = test::assemble(text, 0x00010600, test::NumericIds::kept);
   ASSERT_EQ(words[3], 4194303u);
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(words, recipe, layout, &pipeline)) << messages;
   dispatch(pipeline);
   EXPECT_EQ(out.as()[0], 4711u);
}

/// If the size is free, as from SPIR-V 1.6 on, workgroups with matrices get few subgroups.
TEST_F(PipelineTest, SubgroupSizesOfWorkgroupMatrices)
{
   // A profile sets the size (icd_identity: NVIDIA's).
   const uint32_t of_workgroups = std::getenv("WEFT_ICD_PROFILE") ? 32 : 64;
   for (const char *scope : {"gl_ScopeSubgroup", "gl_ScopeWorkgroup"}) {
      const std::string source = e2e::glsl_header + e2e::expand(R"(
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer Out { uint data[]; };
void main()
{
   coopmat<float16_t, $SCOPE, 16, 16, gl_MatrixUseA> m =
      coopmat<float16_t, $SCOPE, 16, 16, gl_MatrixUseA>(3);
   if (gl_LocalInvocationIndex == 0)
      data[0] = gl_SubgroupSize + uint(m[0]);
})",
                                                                {{"SCOPE", scope}});
      const bool workgroup = scope == std::string("gl_ScopeWorkgroup");
      spirv = e2e::compile_glsl(source);
      for (const uint32_t version : {0x00010600u, 0x00010500u}) {
         spirv[1] = version;
         VkPipeline pipeline = VK_NULL_HANDLE;
         ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
         dispatch(pipeline);
         const bool is_free = workgroup && version == 0x00010600;
         EXPECT_EQ(out.as()[0], 3 + (is_free ? of_workgroups : 32)) << scope;
      }
   }
}

TEST_F(PipelineTest, RequiredSubgroupSizes)
{
   for (uint32_t size : {8u, 16u, 32u, 64u}) {
      VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size_info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
         .requiredSubgroupSize = size,
      };
      recipe.stage_next = &size_info;
      VkPipeline pipeline = VK_NULL_HANDLE;
      ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
      dispatch(pipeline);
      EXPECT_EQ(out.as()[3], size);
   }
}

TEST_F(PipelineTest, BadShadersFailWithAMessageAndTheDeviceLives)
{
   VkPipeline good = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &good));

   std::vector<std::vector<uint32_t>> bad;
   bad.push_back(
      std::vector<uint32_t>(spirv.begin(), spirv.begin() + spirv.size() / 2)); // truncated
   bad.push_back({0x07230203});
   bad.push_back(std::vector<uint32_t>(64, 0xdeadbeef));
   std::mt19937_64 random(cpu::test::test_seed());
   for (int i = 0; i < 20; i++) {
      bad.push_back(spirv);
      for (int k = 0; k < 8; k++)
         bad.back()[5 + random() % (spirv.size() - 5)] ^= 1u << random() % 32;
   }
   uint32_t failures = 0;
   for (const std::vector<uint32_t> &words : bad) {
      messages.clear();
      VkPipeline pipeline = VkPipeline(uintptr_t(1));
      VkResult result = try_pipeline(words, recipe, layout, &pipeline);
      if (result != VK_SUCCESS) {
         failures++;
         EXPECT_EQ(pipeline, VkPipeline(VK_NULL_HANDLE));
         EXPECT_LT(result, 0);
         EXPECT_NE(messages.find("vkCreateComputePipelines"), std::string::npos) << messages;
      }
   }
   EXPECT_GE(failures, 3u);
   dispatch(good);
   EXPECT_EQ(out.as()[0], 11u);
}

TEST_F(PipelineTest, WrongEntryPointFails)
{
   VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = make_module(spirv),
            .pName = "nobody",
         },
      .layout = layout,
   };
   VkPipeline pipeline;
   EXPECT_LT(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline), 0);
   EXPECT_EQ(pipeline, VkPipeline(VK_NULL_HANDLE));
}

TEST_F(PipelineTest, OneOfSeveralFails)
{
   const std::vector<uint32_t> bad = {0x07230203, 0x00010600, 0, 1, 0};
   VkShaderModule modules[] = {make_module(spirv), make_module(bad), make_module(spirv)};
   for (bool early : {false, true}) {
      VkComputePipelineCreateInfo infos[3];
      for (int i = 0; i < 3; i++) {
         infos[i] = {
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
            .flags =
               early ? VkPipelineCreateFlags(VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT) : 0,
            .stage =
               {
                  .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = modules[i],
                  .pName = "main",
               },
            .layout = layout,
         };
      }
      VkPipeline pipelines[3];
      EXPECT_LT(vkCreateComputePipelines(device, VK_NULL_HANDLE, 3, infos, nullptr, pipelines), 0);
      EXPECT_NE(pipelines[0], VkPipeline(VK_NULL_HANDLE));
      EXPECT_EQ(pipelines[1], VkPipeline(VK_NULL_HANDLE));
      EXPECT_EQ(pipelines[2] == VkPipeline(VK_NULL_HANDLE), early);
      for (VkPipeline pipeline : pipelines)
         vkDestroyPipeline(device, pipeline, nullptr);
   }
}

TEST_F(PipelineTest, ExecutableProperties)
{
   recipe.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                  VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   auto get_executables = device_function<PFN_vkGetPipelineExecutablePropertiesKHR>(
      "vkGetPipelineExecutablePropertiesKHR");
   auto get_statistics = device_function<PFN_vkGetPipelineExecutableStatisticsKHR>(
      "vkGetPipelineExecutableStatisticsKHR");
   auto get_representations =
      device_function<PFN_vkGetPipelineExecutableInternalRepresentationsKHR>(
         "vkGetPipelineExecutableInternalRepresentationsKHR");

   VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
   uint32_t count = 1;
   VkPipelineExecutablePropertiesKHR properties = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR,
   };
   ASSERT_VK(get_executables(device, &info, &count, &properties));
   ASSERT_EQ(count, 1u);
   EXPECT_EQ(properties.stages, VkShaderStageFlags(VK_SHADER_STAGE_COMPUTE_BIT));
   EXPECT_GE(properties.subgroupSize, 8u);

   VkPipelineExecutableInfoKHR executable = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
      .pipeline = pipeline,
   };
   ASSERT_VK(get_statistics(device, &executable, &count, nullptr));
   EXPECT_GT(count, 1u);
   VkPipelineExecutableStatisticKHR statistic = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
   count = 1;
   EXPECT_EQ(get_statistics(device, &executable, &count, &statistic), VK_INCOMPLETE);
   EXPECT_EQ(statistic.value.u64, 1u); // one subgroup

   ASSERT_VK(get_representations(device, &executable, &count, nullptr));
   ASSERT_GT(count, 1u);
   std::vector<VkPipelineExecutableInternalRepresentationKHR> texts(
      count, {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR});
   ASSERT_VK(get_representations(device, &executable, &count, texts.data()));
   std::vector<std::string> storage(count);
   for (uint32_t i = 0; i < count; i++) {
      ASSERT_GT(texts[i].dataSize, 1u);
      storage[i].resize(texts[i].dataSize);
      texts[i].pData = storage[i].data();
   }
   ASSERT_VK(get_representations(device, &executable, &count, texts.data()));
   std::set<std::string> names;
   for (uint32_t i = 0; i < count; i++) {
      EXPECT_EQ(strlen(storage[i].c_str()) + 1, texts[i].dataSize) << texts[i].name;
      EXPECT_TRUE(names.insert(texts[i].name).second) << "twice: " << texts[i].name;
   }
   texts[0].dataSize = 3;
   EXPECT_EQ(get_representations(device, &executable, &count, texts.data()), VK_INCOMPLETE);
   EXPECT_EQ(texts[0].dataSize, 3u);
}

/// Some threads share a cache, others use no cache. The queue works meanwhile.
TEST_F(PipelineTest, ThreadsCreatePipelinesAtOnce)
{
   constexpr uint32_t thread_count = 4, rounds = 5, values = 6;
   recipe.cache = make_cache();
   VkShaderModule module = make_module(spirv);
   VkPipeline busy = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &busy));
   VkCommandBuffer work = begin(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
   vkCmdBindPipeline(work, VK_PIPELINE_BIND_POINT_COMPUTE, busy);
   vkCmdBindDescriptorSets(work, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   for (uint32_t i = 0; i < 1000; i++)
      vkCmdDispatch(work, 1, 1, 1);
   ASSERT_VK(vkEndCommandBuffer(work));
   ASSERT_VK(submit(work));

   VkPipeline pipelines[thread_count][rounds] = {};
   std::vector<std::thread> threads;
   for (uint32_t t = 0; t < thread_count; t++) {
      threads.emplace_back([&, t] {
         for (uint32_t i = 0; i < rounds; i++) {
            const uint32_t value = (t + i) % values;
            VkSpecializationMapEntry entry = {0, 0, 4};
            VkSpecializationInfo specialization = {1, &entry, 4, &value};
            VkComputePipelineCreateInfo info = {
               .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
               .stage =
                  {
                     .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                     .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                     .module = module,
                     .pName = "main",
                     .pSpecializationInfo = &specialization,
                  },
               .layout = layout,
            };
            EXPECT_VK(vkCreateComputePipelines(device, t % 4 ? recipe.cache : VK_NULL_HANDLE, 1,
                                               &info, nullptr, &pipelines[t][i]));
         }
      });
   }
   for (std::thread &thread : threads)
      thread.join();
   for (uint32_t t = 0; t < thread_count; t++) {
      for (uint32_t i = 0; i < rounds; i++) {
         ASSERT_NE(pipelines[t][i], VkPipeline(VK_NULL_HANDLE));
         memset(out.map, 0xff, out.size);
         dispatch(pipelines[t][i]);
         EXPECT_EQ(out.as()[0], (t + i) % values);
         EXPECT_EQ(out.as()[1], 22u);
         vkDestroyPipeline(device, pipelines[t][i], nullptr);
      }
   }
}

/// Several threads create the pipelines of one call.
TEST_F(PipelineTest, OneCallCreatesManyPipelines)
{
   constexpr uint32_t count = 12;
   VkShaderModule module = make_module(spirv);
   const VkSpecializationMapEntry entry = {0, 0, 4};
   uint32_t values[count];
   VkSpecializationInfo specializations[count];
   VkPipelineCreationFeedback feedbacks[count] = {};
   VkPipelineCreationFeedbackCreateInfo feedback_infos[count];
   VkComputePipelineCreateInfo infos[count];
   for (uint32_t i = 0; i < count; i++) {
      values[i] = 1000 + i / 2; // two of each
      specializations[i] = {1, &entry, 4, &values[i]};
      feedback_infos[i] = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
         .pPipelineCreationFeedback = &feedbacks[i],
      };
      infos[i] = {
         .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
         .pNext = &feedback_infos[i],
         .stage =
            {
               .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
               .stage = VK_SHADER_STAGE_COMPUTE_BIT,
               .module = module,
               .pName = "main",
               .pSpecializationInfo = &specializations[i],
            },
         .layout = layout,
      };
   }
   for (VkPipelineCache cache : {VkPipelineCache(VK_NULL_HANDLE), make_cache()}) {
      VkPipeline pipelines[count];
      ASSERT_VK(vkCreateComputePipelines(device, cache, count, infos, nullptr, pipelines));
      for (uint32_t i = 0; i < count; i++) {
         EXPECT_TRUE(feedbacks[i].flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT);
         memset(out.map, 0xff, out.size);
         dispatch(pipelines[i]);
         EXPECT_EQ(out.as()[0], values[i]);
         vkDestroyPipeline(device, pipelines[i], nullptr);
      }
   }
}

/// The compiler recurses over nested code, and the threads of some programs and languages have
/// little stack.
TEST_F(PipelineTest, AThreadWithASmallStackCreatesAPipeline)
{
   constexpr uint32_t depth = 200;
   std::string nested = "data[1] = 22;";
   for (uint32_t i = 0; i < depth; i++)
      nested = "if (data[" + std::to_string(2 + i % 50) + "] == 0) { data[60]++; " + nested + " }";
   spirv = e2e::compile_glsl(std::string(e2e::glsl_header) + R"(
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { uint data[]; };
void main() { )" + nested + " }");
   memset(out.map, 0, out.size);

   // Sanitized frames are larger.
   constexpr size_t stack_bytes = (WEFT_ASAN || WEFT_TSAN ? 256 : 64) * 1024;
   VkPipeline pipeline = VK_NULL_HANDLE;
   std::function<void()> create = [&] {
      EXPECT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   };
   pthread_attr_t attributes;
   ASSERT_EQ(pthread_attr_init(&attributes), 0);
   ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
   pthread_t thread;
   const auto call = [](void *function) -> void * {
      (*static_cast<std::function<void()> *>(function))();
      return nullptr;
   };
   ASSERT_EQ(pthread_create(&thread, &attributes, call, &create), 0);
   pthread_join(thread, nullptr);
   pthread_attr_destroy(&attributes);
   ASSERT_NE(pipeline, VkPipeline(VK_NULL_HANDLE));
   dispatch(pipeline);
   EXPECT_EQ(out.as()[1], 22u);
}

} // namespace weft::icd_test
