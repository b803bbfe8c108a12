// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compute pipelines and pipeline caches.

#include "tests/icd/fixture.h"

#include "tests/backend/cpu/seed.h"
#include "tests/e2e/glsl.h"

#include <spirv-tools/libspirv.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <pthread.h>
#include <random>
#include <set>
#include <thread>
#include <unistd.h>

namespace weft::icd_test {
namespace {

const char *const write_constant = R"(
layout(local_size_x = 1) in;
layout(constant_id = 0) const uint first = 11;
layout(constant_id = 7) const uint second = 22;
layout(constant_id = 8) const bool third = false;
layout(set = 0, binding = 0) buffer Out { uint data[]; };
void main() { data[0] = first; data[1] = second; data[2] = third ? 1 : 0; data[3] = gl_SubgroupSize; })";

} // namespace

class PipelineTest : public IcdTest {
protected:
   void SetUp() override
   {
      IcdTest::SetUp();
      recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
      layout = make_layout(recipe);
      out = make_buffer(256);
      set = make_set(recipe.sets[0]);
      write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
      spirv = e2e::compile_glsl(std::string(e2e::glsl_header) + write_constant);
   }

   void dispatch(VkPipeline pipeline)
   {
      VkCommandBuffer cmd = begin();
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      vkCmdDispatch(cmd, 1, 1, 1);
      run(cmd);
   }

   VkPipelineCache make_cache(std::span<const uint8_t> data = {})
   {
      VkPipelineCacheCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
         .initialDataSize = data.size(),
         .pInitialData = data.data(),
      };
      VkPipelineCache cache = VK_NULL_HANDLE;
      EXPECT_VK(vkCreatePipelineCache(device, &info, nullptr, &cache));
      clean_up.push_back([this, cache] { vkDestroyPipelineCache(device, cache, nullptr); });
      return cache;
   }

   std::vector<uint8_t> cache_data(VkPipelineCache cache)
   {
      size_t size = 0;
      EXPECT_VK(vkGetPipelineCacheData(device, cache, &size, nullptr));
      std::vector<uint8_t> data(size);
      EXPECT_VK(vkGetPipelineCacheData(device, cache, &size, data.data()));
      data.resize(size);
      return data;
   }

   /// Whether a pipeline of the shader comes out of the cache without compiling.
   bool is_cached(VkPipelineCache cache)
   {
      PipelineRecipe cached = recipe;
      cached.cache = cache;
      cached.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
      VkPipeline pipeline = VK_NULL_HANDLE;
      VkResult result = try_pipeline(spirv, cached, layout, &pipeline);
      if (result == VK_SUCCESS) {
         memset(out.map, 0, out.size);
         dispatch(pipeline);
         EXPECT_EQ(out.as()[1], 22u);
         return true;
      }
      EXPECT_EQ(result, VK_PIPELINE_COMPILE_REQUIRED);
      EXPECT_EQ(pipeline, VkPipeline(VK_NULL_HANDLE));
      return false;
   }

   PipelineRecipe recipe;
   VkPipelineLayout layout = VK_NULL_HANDLE;
   VkDescriptorSet set = VK_NULL_HANDLE;
   TestBuffer out;
   std::vector<uint32_t> spirv;
};

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

/// SPIR-V allows ids up to 4,194,303, wherever they lie.
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
   const spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
   spv_binary binary = nullptr;
   ASSERT_EQ(spvTextToBinaryWithOptions(context, text, strlen(text),
                                        SPV_TEXT_TO_BINARY_OPTION_PRESERVE_NUMERIC_IDS, &binary,
                                        nullptr),
             SPV_SUCCESS);
   const std::vector<uint32_t> words(binary->code, binary->code + binary->wordCount);
   spvBinaryDestroy(binary);
   spvContextDestroy(context);
   ASSERT_EQ(words[3], 4194303u);
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(words, recipe, layout, &pipeline)) << messages;
   dispatch(pipeline);
   EXPECT_EQ(out.as()[0], 4711u);
}

/// Where the size is free, which it is from SPIR-V 1.6 on, matrices of a workgroup get few subgroups.
TEST_F(PipelineTest, SubgroupSizesOfWorkgroupMatrices)
{
   // A profile says which size there is (icd_identity: NVIDIA's).
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

TEST_F(PipelineTest, CacheHitsAndFeedback)
{
   VkPipelineCreationFeedback feedback = {}, stage_feedback = {};
   VkPipelineCreationFeedbackCreateInfo feedback_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
      .pPipelineCreationFeedback = &feedback,
      .pipelineStageCreationFeedbackCount = 1,
      .pPipelineStageCreationFeedbacks = &stage_feedback,
   };
   recipe.cache = make_cache();
   recipe.next = &feedback_info;
   EXPECT_FALSE(is_cached(recipe.cache));
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   EXPECT_EQ(feedback.flags,
             VkPipelineCreationFeedbackFlags(VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT));
   EXPECT_GT(feedback.duration, 0u);
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   EXPECT_EQ(feedback.flags, VkPipelineCreationFeedbackFlags(
                                VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT |
                                VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT));
   EXPECT_TRUE(is_cached(recipe.cache));

   // Another value of a constant is another program.
   const uint32_t value = 5;
   VkSpecializationMapEntry entry = {0, 0, 4};
   VkSpecializationInfo info = {1, &entry, 4, &value};
   recipe.specialization = &info;
   EXPECT_FALSE(is_cached(recipe.cache));
}

TEST_F(PipelineTest, CacheDataRoundTrip)
{
   recipe.cache = make_cache();
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   std::vector<uint8_t> data = cache_data(recipe.cache);
   ASSERT_GT(data.size(), 32u);
   EXPECT_TRUE(is_cached(make_cache(data)));

   VkPipelineCache merged = make_cache();
   ASSERT_VK(vkMergePipelineCaches(device, merged, 1, &recipe.cache));
   EXPECT_TRUE(is_cached(merged));

   size_t size = data.size() / 2;
   EXPECT_EQ(vkGetPipelineCacheData(device, recipe.cache, &size, data.data()), VK_INCOMPLETE);
   EXPECT_LE(size, data.size() / 2);
}

/// Programs for new ways come while command buffers are recorded: the data grows.
TEST_F(PipelineTest, CacheDataGrowsWithItsPrograms)
{
   const char *ways = R"(
      layout(local_size_x = 1) in;
      layout(push_constant) uniform Push { uint way; };
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      #define STEP(n) x = (x ^ way) * (2 * n + 3) + (x >> (n + 1));
      #define STEPS(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n)
      void main()
      {
         uint x = data[0];
         if (way == 0) { STEPS(0) STEPS(0) } else { STEPS(1) STEPS(1) }
         data[1] = x;
      })";
   recipe.push_bytes = 4;
   recipe.cache = make_cache();
   layout = make_layout(recipe);
   const VkPipeline pipeline = make_pipeline(ways, recipe, layout);
   std::vector<size_t> sizes;
   for (const uint32_t way : {0, 1}) {
      VkCommandBuffer cmd = begin();
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &way);
      vkCmdDispatch(cmd, 1, 1, 1);
      run(cmd);
      sizes.push_back(cache_data(recipe.cache).size()); // which expects that all of it fits
   }
   EXPECT_GT(sizes[1], sizes[0]);
}

/// A shader whose machine code calls out of itself: vector mathematics and matrix kernels.
const char *const calls_out = R"(
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Out { float data[]; };
void main()
{
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>(2.0);
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>(3.0);
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c =
      coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(1.0);
   coopMatStore(coopMatMulAdd(a, b, c), data, 64, 16, gl_CooperativeMatrixLayoutRowMajor);
   data[gl_LocalInvocationID.x] = exp2(float(gl_LocalInvocationID.x % 8)) + pow(3.0, float(gl_LocalInvocationID.x % 4));
})";

class CacheFileTest : public PipelineTest {
protected:
   void SetUp() override
   {
      PipelineTest::SetUp();
      spirv = e2e::compile_glsl(std::string(e2e::glsl_header) + calls_out);
      VkDescriptorBufferInfo info = {(large = make_buffer(4096)).handle, 0, VK_WHOLE_SIZE};
      VkWriteDescriptorSet write = {
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = set,
         .descriptorCount = 1,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .pBufferInfo = &info,
      };
      vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
   }

   void check_result()
   {
      for (uint32_t i = 0; i < 32; i++)
         EXPECT_NEAR(large.as<float>()[i], std::exp2(i % 8) + std::pow(3.0, i % 4), 1e-3);
      for (uint32_t i = 64; i < 64 + 256; i++)
         EXPECT_EQ(large.as<float>()[i], 97.0f);
   }

   static std::vector<uint8_t> read_file(const char *path)
   {
      std::ifstream file(path, std::ios::binary);
      return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
   }

   /// The data of recipe.cache as a file; returns its path.
   std::string write_cache()
   {
      char path[] = "/tmp/weft-cache-XXXXXX";
      const int fd = mkstemp(path);
      EXPECT_GE(fd, 0);
      close(fd);
      const std::vector<uint8_t> data = cache_data(recipe.cache);
      std::ofstream(path, std::ios::binary)
         .write(reinterpret_cast<const char *>(data.data()), data.size());
      return path;
   }

   TestBuffer large;
};

constexpr const char *cache_file_variable = "WEFT_TEST_CACHE_FILE";

/// Runs a test of this program again, with `variables` set.
int run_again(const std::string &variables, const std::string &test)
{
   const std::string self = std::filesystem::read_symlink("/proc/self/exe");
   return system(
      (variables + " '" + self + "' --gtest_output= --gtest_filter=CacheFileTest." + test).c_str());
}

TEST_F(CacheFileTest, IsGoodInAnotherProcess)
{
   if (const char *path = getenv(cache_file_variable)) {
      // The other process: nothing may be compiled here.
      recipe.cache = make_cache(read_file(path));
      recipe.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
      VkPipeline pipeline = VK_NULL_HANDLE;
      ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
      dispatch(pipeline);
      check_result();
      return;
   }

   recipe.cache = make_cache();
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline)) << messages;
   dispatch(pipeline);
   check_result();
   const std::string path = write_cache();
   EXPECT_EQ(run_again(std::string(cache_file_variable) + "=" + path, "IsGoodInAnotherProcess"), 0);
   unlink(path.c_str());
}

/// A CPU with fewer instructions must not run what is in the cache.
TEST_F(CacheFileTest, IsOfNoUseToAnotherCpu)
{
   if (const char *path = getenv(cache_file_variable)) {
      recipe.cache = make_cache(read_file(path));
      recipe.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
      VkPipeline pipeline = VK_NULL_HANDLE;
      ASSERT_EQ(try_pipeline(spirv, recipe, layout, &pipeline), VK_PIPELINE_COMPILE_REQUIRED);
      recipe.flags = 0;
      ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
      dispatch(pipeline);
      check_result();
      return;
   }
   VkPhysicalDeviceProperties properties;
   vkGetPhysicalDeviceProperties(physical, &properties);
   if (!strstr(properties.deviceName, "AVX-512"))
      GTEST_SKIP() << "this CPU has no AVX-512 to do without";
   recipe.cache = make_cache();
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline)) << messages;
   const std::string path = write_cache();
   EXPECT_EQ(run_again("WEFT_ISA=avx2 " + std::string(cache_file_variable) + "=" + path,
                       "IsOfNoUseToAnotherCpu"),
             0);
   unlink(path.c_str());
}

TEST_F(PipelineTest, DamagedCacheDataIsIgnored)
{
   recipe.cache = make_cache();
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   const std::vector<uint8_t> data = cache_data(recipe.cache);

   for (size_t size :
        {size_t(0), size_t(1), size_t(31), size_t(36), data.size() / 2, data.size() - 1})
      EXPECT_FALSE(is_cached(make_cache(std::span(data).first(size)))) << size;

   std::mt19937_64 random(cpu::test::test_seed());
   for (int i = 0; i < 100; i++) {
      std::vector<uint8_t> damaged = data;
      damaged[random() % damaged.size()] ^= 1u << random() % 8;
      // Whether it still hits (padding was damaged) or not, a hit must compute the right thing.
      is_cached(make_cache(damaged));
   }
   EXPECT_TRUE(is_cached(make_cache(data)));
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

/// Some of the threads use one cache together, some none; the queue is at work meanwhile.
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

/// They are made by several threads.
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

/// The compiler calls itself for what is nested, and the threads of some programs and languages have little stack.
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

TEST_F(PipelineTest, CacheDataIsGoodOnAnotherDevice)
{
   recipe.cache = make_cache();
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   const std::vector<uint8_t> data = cache_data(recipe.cache);

   AnotherDevice other;
   VkPipelineCacheCreateInfo cache_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
      .initialDataSize = data.size(),
      .pInitialData = data.data(),
   };
   PipelineRecipe there;
   ASSERT_VK(vkCreatePipelineCache(other.device, &cache_info, nullptr, &there.cache));
   other.clean_up.push_back(
      [to = other.device, cache = there.cache] { vkDestroyPipelineCache(to, cache, nullptr); });
   there.sets = {other.make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   there.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
   VkPipelineLayout other_layout = other.make_layout(there);
   VkPipeline cached = VK_NULL_HANDLE;
   ASSERT_VK(other.try_pipeline(spirv, there, other_layout, &cached));
   TestBuffer buffer = other.make_buffer(16);
   VkDescriptorSet other_set = other.make_set(there.sets[0]);
   other.write_buffer(other_set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffer);
   VkCommandBuffer cmd = other.begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, cached);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, other_layout, 0, 1, &other_set, 0,
                           nullptr);
   vkCmdDispatch(cmd, 1, 1, 1);
   // The program outlives the cache and the device that it was compiled for.
   destroy_device();
   other.run(cmd);
   EXPECT_EQ(buffer.as()[0], 11u);
   EXPECT_EQ(buffer.as()[1], 22u);
}

/// Of another driver, another device, or another build: what VkPipelineCacheHeaderVersionOne names.
TEST_F(PipelineTest, CacheDataOfOthersIsIgnored)
{
   recipe.cache = make_cache();
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline));
   const std::vector<uint8_t> data = cache_data(recipe.cache);
   EXPECT_TRUE(is_cached(make_cache(data)));
   for (size_t at : {offsetof(VkPipelineCacheHeaderVersionOne, headerVersion),
                     offsetof(VkPipelineCacheHeaderVersionOne, vendorID),
                     offsetof(VkPipelineCacheHeaderVersionOne, deviceID),
                     offsetof(VkPipelineCacheHeaderVersionOne, pipelineCacheUUID),
                     offsetof(VkPipelineCacheHeaderVersionOne, pipelineCacheUUID) + 15}) {
      std::vector<uint8_t> other = data;
      other[at] ^= 1;
      EXPECT_FALSE(is_cached(make_cache(other))) << at;
   }
}

} // namespace weft::icd_test
