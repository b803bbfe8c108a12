// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_pipeline_binary: keys and binaries of lowered pipelines, and pipelines of binaries.

#include "tests/layer/fixture.h"

#include <algorithm>

namespace weft::layer_test {

namespace {

class PipelineBinary : public LayerTest {
protected:
   void SetUp() override
   {
      ASSERT_VK(create_instance());
      ASSERT_VK(create_matrix_device());
   }

   /// Creates a pipeline and destroys it.
   void create_one(const VkComputePipelineCreateInfo &info)
   {
      VkPipeline pipeline;
      EXPECT_VK(create_pipelines({&info, 1}, {&pipeline, 1}));
      destroy_pipelines({&pipeline, 1});
   }
};

TEST_F(PipelineBinary, KeyIsThatOfTheLoweredPipeline)
{
   const VkShaderModule module = make_module(matrix_module());
   VkComputePipelineCreateInfo compute = pipeline_info(module);
   const VkPipelineCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR,
                                         .pNext = &compute};
   VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
   auto get = device_function<PFN_vkGetPipelineKeyKHR>("vkGetPipelineKeyKHR");
   EXPECT_VK(get(device, &info, &key));
   EXPECT_EQ(key.key[0], 7); // words of a lowered module
   EXPECT_VK(get(device, nullptr, &key));
   EXPECT_EQ(key.key[0], 0x57); // the driver's key is 0; the layer adds its id
   compute.stage.pName = "fail";
   EXPECT_EQ(get(device, &info, &key), VK_ERROR_UNKNOWN);
   destroy_module(module);
}

/// The driver's internal cache returns binaries of the lowered pipeline.
TEST_F(PipelineBinary, BinariesAreThoseOfTheLoweredPipeline)
{
   const VkShaderModule module = make_module(matrix_module());
   VkComputePipelineCreateInfo compute = pipeline_info(module);
   const VkPipelineCreateInfoKHR described = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR,
                                              .pNext = &compute};
   VkPipelineBinaryCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR,
                                         .pPipelineCreateInfo = &described};
   VkPipelineBinaryHandlesInfoKHR handles = {.sType =
                                                VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR};
   auto create = device_function<PFN_vkCreatePipelineBinariesKHR>("vkCreatePipelineBinariesKHR");
   EXPECT_VK(create(device, &info, nullptr, &handles));
   EXPECT_TRUE(is_lowered(driver.shaders.back().words, 32));
   EXPECT_EQ(driver.shaders.back().required_size, 32u);
   compute.stage.pName = "fail";
   EXPECT_EQ(create(device, &info, nullptr, &handles), VK_ERROR_UNKNOWN);
   info.pPipelineCreateInfo = nullptr;
   EXPECT_VK(create(device, &info, nullptr, &handles));
   EXPECT_EQ(driver.calls("vkCreatePipelineBinariesKHR"), 2u);
   destroy_module(module);
}

/// A driver takes the binaries of a lowered pipeline with the description that this pipeline had.
TEST_F(PipelineBinary, BinariesOfLoweredPipelines)
{
   const auto create =
      device_function<PFN_vkCreatePipelineBinariesKHR>("vkCreatePipelineBinariesKHR");
   const auto get = device_function<PFN_vkGetPipelineBinaryDataKHR>("vkGetPipelineBinaryDataKHR");
   const auto destroy =
      device_function<PFN_vkDestroyPipelineBinaryKHR>("vkDestroyPipelineBinaryKHR");
   const VkShaderModule module = make_module(matrix_module());
   const VkSpecializationInfo constants = {};
   const VkPipelineCreateFlags2CreateInfoKHR flags = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
      .flags = VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR};
   VkComputePipelineCreateInfo compute = pipeline_info(module);
   compute.pNext = &flags;
   compute.stage.pSpecializationInfo = &constants;
   VkPipeline pipeline;
   EXPECT_VK(create_pipelines({&compute, 1}, {&pipeline, 1}));
   const SeenShader seen = driver.shaders.back();
   EXPECT_FALSE(seen.specialized);
   EXPECT_EQ(seen.required_size, 32u);

   const VkPipelineCreateInfoKHR described = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR,
                                              .pNext = &compute};
   VkPipelineBinaryDataKHR stored;
   VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
   const VkPipelineBinaryKeysAndDataKHR keys_and_data = {1, &key, &stored};
   const VkPipelineBinaryCreateInfoKHR sources[] = {
      {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR, .pipeline = pipeline},
      {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR,
       .pPipelineCreateInfo = &described},
      {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR,
       .pKeysAndDataInfo = &keys_and_data}};
   std::vector<uint8_t> data;
   for (const VkPipelineBinaryCreateInfoKHR &source : sources) {
      stored = {data.size(), data.data()};
      VkPipelineBinaryKHR binary;
      VkPipelineBinaryHandlesInfoKHR handles = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR};
      EXPECT_VK(create(device, &source, nullptr, &handles)); // the number only
      handles.pPipelineBinaries = &binary;
      EXPECT_VK(create(device, &source, nullptr, &handles));
      ASSERT_EQ(handles.pipelineBinaryCount, 1u);
      EXPECT_EQ(driver.binaries.back().data.size(), seen.words.size() * 4);

      const VkPipelineBinaryDataInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_DATA_INFO_KHR, .pipelineBinary = binary};
      size_t size = 0;
      EXPECT_VK(get(device, &info, &key, &size, nullptr));
      EXPECT_EQ(size, seen.words.size() * 4 + 32);
      EXPECT_EQ(key.key[0], 0x22);
      std::vector<uint8_t> bytes(size, 0xee);
      for (size_t less : {size - 1, size_t(31), size_t(0)}) {
         EXPECT_EQ(get(device, &info, &key, &less, bytes.data()), VK_ERROR_NOT_ENOUGH_SPACE_KHR);
         EXPECT_EQ(less, size);
      }
      EXPECT_EQ(std::ranges::count(bytes, 0xee), ptrdiff_t(size));
      EXPECT_VK(get(device, &info, &key, &size, bytes.data()));
      data = bytes;

      const VkPipelineBinaryInfoKHR binaries = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR,
                                                .binaryCount = 1,
                                                .pPipelineBinaries = &binary};
      VkComputePipelineCreateInfo of_binary = compute;
      of_binary.pNext = &binaries;
      create_one(of_binary);
      EXPECT_FALSE(driver.shaders.back().specialized);
      EXPECT_EQ(driver.shaders.back().required_size, 32u);
      EXPECT_EQ(driver.shaders.back().stage_flags, seen.stage_flags);
      destroy(device, binary, nullptr);
   }
   destroy_pipelines({&pipeline, 1});
   destroy_module(module);
}

/// Nothing is to be compiled, so the shader is not read.
TEST_F(PipelineBinary, PipelinesOfBinariesAreNotLowered)
{
   const VkShaderModule module = make_module(matrix_module());
   const auto binary = VkPipelineBinaryKHR(uintptr_t(0xb1));
   const VkPipelineBinaryInfoKHR binaries = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR,
                                             .binaryCount = 1,
                                             .pPipelineBinaries = &binary};
   VkComputePipelineCreateInfo info = pipeline_info(module);
   info.pNext = &binaries;
   info.flags = VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
   create_one(info);
   EXPECT_TRUE(compiler.seen.empty());
   destroy_module(module);
}

} // namespace

} // namespace weft::layer_test
