// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tests with one small shader, a buffer and pipeline caches.

#pragma once

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"

#include <cstring>

namespace weft::icd_test {

inline const char *const write_constant = R"(
layout(local_size_x = 1) in;
layout(constant_id = 0) const uint first = 11;
layout(constant_id = 7) const uint second = 22;
layout(constant_id = 8) const bool third = false;
layout(set = 0, binding = 0) buffer Out { uint data[]; };
void main() { data[0] = first; data[1] = second; data[2] = third ? 1 : 0; data[3] = gl_SubgroupSize; })";

/// The push constant decides the way of a dispatch: each has a program of its own.
inline const char *const two_ways = R"(
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

} // namespace weft::icd_test
