// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/layer/fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::layer_test {

namespace {

class Executable : public LayerTest {
protected:
   void make(VkPipelineCreateFlags flags)
   {
      ASSERT_VK(create_instance());
      ASSERT_VK(create_matrix_device());
      const VkShaderModule module = make_module(matrix_module());
      VkComputePipelineCreateInfo info = pipeline_info(module);
      info.flags = flags;
      ASSERT_VK(create_pipelines({&info, 1}, {&pipeline, 1}));
      destroy_module(module);
   }

   void TearDown() override { destroy_pipelines({&pipeline, 1}); }

   VkResult get(uint32_t *count, VkPipelineExecutableInternalRepresentationKHR *out,
                uint32_t executable = 0)
   {
      const VkPipelineExecutableInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
         .pipeline = pipeline,
         .executableIndex = executable,
      };
      return device_function<PFN_vkGetPipelineExecutableInternalRepresentationsKHR>(
         "vkGetPipelineExecutableInternalRepresentationsKHR")(device, &info, count, out);
   }

   VkPipeline pipeline = VK_NULL_HANDLE;
};

constexpr VkPipelineCreateFlags capture =
   VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;

TEST_F(Executable, TextsFollowTheDrivers)
{
   make(capture);
   for (uint32_t theirs : {0u, 1u, 3u}) {
      driver.representations = theirs;
      uint32_t count = 0;
      ASSERT_VK(get(&count, nullptr));
      ASSERT_EQ(count, theirs + 2);
      std::vector<VkPipelineExecutableInternalRepresentationKHR> list(count);
      ASSERT_VK(get(&count, list.data())); // sizes
      ASSERT_EQ(count, theirs + 2);
      const auto &nir = list[theirs], &spirv = list[theirs + 1];
      EXPECT_STREQ(nir.name, "Weft NIR");
      EXPECT_STREQ(spirv.name, "Weft SPIR-V");
      EXPECT_TRUE(nir.isText && spirv.isText);
      if (theirs) {
         EXPECT_STREQ(list[theirs - 1].name, "driver");
      }
      ASSERT_EQ(nir.dataSize, strlen("the NIR") + 1);
      for (size_t size = 0; size <= nir.dataSize + 1; size++) {
         std::string text(size + 1, '#');
         for (auto &entry : list)
            entry.pData = nullptr;
         list[theirs].pData = text.data();
         list[theirs].dataSize = size;
         const bool fits = size >= strlen("the NIR") + 1;
         EXPECT_EQ(get(&count, list.data()), fits ? VK_SUCCESS : VK_INCOMPLETE);
         EXPECT_EQ(text[size], '#');
         if (size > 0) {
            EXPECT_EQ(std::string(text.c_str()), std::string("the NIR").substr(0, size - 1));
         }
      }
   }
}

TEST_F(Executable, Capacity)
{
   make(capture);
   driver.representations = 2;
   for (uint32_t capacity = 0; capacity <= 5; capacity++) {
      VkPipelineExecutableInternalRepresentationKHR list[6] = {};
      uint32_t count = capacity;
      EXPECT_EQ(get(&count, list), capacity < 4 ? VK_INCOMPLETE : VK_SUCCESS);
      EXPECT_EQ(count, std::min(capacity, 4u));
      EXPECT_STREQ(list[count].name, "");
   }
}

TEST_F(Executable, OnlyWhenCaptured)
{
   make(0);
   uint32_t count = 0;
   EXPECT_VK(get(&count, nullptr));
   EXPECT_EQ(count, 1u);
}

TEST_F(Executable, FirstExecutableAndErrors)
{
   make(capture);
   uint32_t count = 0;
   EXPECT_VK(get(&count, nullptr, 1));
   EXPECT_EQ(count, 1u);
   driver.fail("vkGetPipelineExecutableInternalRepresentationsKHR", VK_ERROR_OUT_OF_HOST_MEMORY);
   EXPECT_EQ(get(&count, nullptr), VK_ERROR_OUT_OF_HOST_MEMORY);
}

} // namespace

} // namespace weft::layer_test
