// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Pipeline caches, and their data in other processes and on other devices.

#include "tests/icd/pipeline_fixture.h"

#include "tests/backend/cpu/seed.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <unistd.h>

namespace weft::icd_test {

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

/// New programs are compiled while command buffers are recorded, so the data grows.
TEST_F(PipelineTest, CacheDataGrowsWithItsPrograms)
{
   recipe.push_bytes = 4;
   recipe.cache = make_cache();
   layout = make_layout(recipe);
   const VkPipeline pipeline = make_pipeline(two_ways, recipe, layout);
   std::vector<size_t> sizes;
   for (const uint32_t way : {0, 1}) {
      VkCommandBuffer cmd = begin();
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &way);
      vkCmdDispatch(cmd, 1, 1, 1);
      run(cmd);
      sizes.push_back(cache_data(recipe.cache).size()); // cache_data() expects that all data fits
   }
   EXPECT_GT(sizes[1], sizes[0]);
}

/// A shader whose machine code calls external functions: vector mathematics and matrix kernels.
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
      // The test in the other process, which must not compile.
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

/// A CPU with fewer instructions must not run the cached programs.
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
      // A hit is possible if padding was damaged. A hit must compute the right result.
      is_cached(make_cache(damaged));
   }
   EXPECT_TRUE(is_cached(make_cache(data)));
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

/// Data of another driver, device or build, by the fields of VkPipelineCacheHeaderVersionOne.
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
