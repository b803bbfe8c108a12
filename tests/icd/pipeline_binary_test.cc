// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_pipeline_binary.

#include "tests/icd/pipeline_fixture.h"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <thread>

namespace weft::icd_test {

class PipelineBinaryTest : public PipelineTest {
protected:
   using Key = std::vector<uint8_t>;
   struct Data {
      Key key;
      std::vector<uint8_t> bytes;
   };

   void SetUp() override
   {
      PipelineTest::SetUp();
      create = device_function<PFN_vkCreatePipelineBinariesKHR>("vkCreatePipelineBinariesKHR");
      get_key = device_function<PFN_vkGetPipelineKeyKHR>("vkGetPipelineKeyKHR");
      get_data = device_function<PFN_vkGetPipelineBinaryDataKHR>("vkGetPipelineBinaryDataKHR");
   }

   static Key key_of(const VkPipelineBinaryKeyKHR &key) { return {key.key, key.key + key.keySize}; }

   VkComputePipelineCreateInfo pipeline_info(const void *next = nullptr)
   {
      return {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
              .pNext = next,
              .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                        .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                        .module = make_module(spirv),
                        .pName = "main",
                        .pSpecializationInfo = constants ? &*constants : nullptr},
              .layout = layout};
   }

   VkPipeline create_pipeline(const VkComputePipelineCreateInfo &info)
   {
      VkPipeline pipeline = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline));
      clean_up.push_back([this, pipeline] { vkDestroyPipeline(device, pipeline, nullptr); });
      return pipeline;
   }

   VkPipeline captured_pipeline()
   {
      const VkPipelineCreateFlags2CreateInfoKHR flags = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
         .flags = VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR};
      return create_pipeline(pipeline_info(&flags));
   }

   VkResult create_one(const VkPipelineBinaryCreateInfoKHR &info, VkPipelineBinaryKHR *binary)
   {
      *binary = VkPipelineBinaryKHR(1);
      VkPipelineBinaryHandlesInfoKHR handles = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR};
      EXPECT_VK(create(device, &info, nullptr, &handles));
      EXPECT_EQ(handles.pipelineBinaryCount, 1u);
      handles.pPipelineBinaries = binary;
      const VkResult result = create(device, &info, nullptr, &handles);
      EXPECT_EQ(handles.pipelineBinaryCount, 1u);
      EXPECT_EQ(result == VK_SUCCESS, *binary != VK_NULL_HANDLE);
      clean_up.push_back([this, created = *binary] {
         device_function<PFN_vkDestroyPipelineBinaryKHR>("vkDestroyPipelineBinaryKHR")(
            device, created, nullptr);
      });
      return result;
   }

   VkPipelineBinaryKHR binary_of(VkPipeline pipeline)
   {
      const VkPipelineBinaryCreateInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR, .pipeline = pipeline};
      VkPipelineBinaryKHR binary;
      EXPECT_VK(create_one(info, &binary));
      return binary;
   }

   VkResult binary_of(const Data &data, VkPipelineBinaryKHR *binary)
   {
      VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR,
                                    .keySize = uint32_t(data.key.size())};
      memcpy(key.key, data.key.data(), data.key.size());
      const VkPipelineBinaryDataKHR part = {data.bytes.size(),
                                            const_cast<uint8_t *>(data.bytes.data())};
      const VkPipelineBinaryKeysAndDataKHR both = {1, &key, &part};
      const VkPipelineBinaryCreateInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR, .pKeysAndDataInfo = &both};
      return create_one(info, binary);
   }

   Data data_of(VkPipelineBinaryKHR binary)
   {
      const VkPipelineBinaryDataInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_DATA_INFO_KHR, .pipelineBinary = binary};
      VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
      size_t size = 0;
      EXPECT_VK(get_data(device, &info, &key, &size, nullptr));
      Data data = {key_of(key), std::vector<uint8_t>(size)};
      EXPECT_VK(get_data(device, &info, &key, &size, data.bytes.data()));
      EXPECT_EQ(size, data.bytes.size());
      EXPECT_EQ(key_of(key), data.key);
      return data;
   }

   Key pipeline_key(const VkComputePipelineCreateInfo &pipeline)
   {
      const VkPipelineCreateInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR,
         .pNext = const_cast<void *>(static_cast<const void *>(&pipeline))};
      VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
      EXPECT_VK(get_key(device, &info, &key));
      return key_of(key);
   }

   void expect_result(VkPipeline pipeline, uint32_t first)
   {
      memset(out.map, 0, out.size);
      dispatch(pipeline);
      EXPECT_EQ(out.as()[0], first);
      EXPECT_EQ(out.as()[1], 22u);
   }

   /// A pipeline without a shader.
   VkPipeline pipeline_from(VkPipelineBinaryKHR binary)
   {
      const VkPipelineBinaryInfoKHR binaries = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR,
                                                .binaryCount = 1,
                                                .pPipelineBinaries = &binary};
      VkComputePipelineCreateInfo info = pipeline_info(&binaries);
      info.stage.module = VK_NULL_HANDLE;
      return create_pipeline(info);
   }

   PFN_vkCreatePipelineBinariesKHR create = nullptr;
   PFN_vkGetPipelineKeyKHR get_key = nullptr;
   PFN_vkGetPipelineBinaryDataKHR get_data = nullptr;
   std::optional<VkSpecializationInfo> constants;
};

TEST_F(PipelineBinaryTest, PipelinesOfBinaries)
{
   const VkPipeline original = captured_pipeline();
   const VkPipelineBinaryKHR binary = binary_of(original);
   expect_result(pipeline_from(binary), 11);
   const Data data = data_of(binary);
   // Dispatches change neither the data nor the key.
   expect_result(original, 11);
   EXPECT_EQ(data_of(binary).bytes, data.bytes);
   const VkReleaseCapturedPipelineDataInfoKHR release = {
      .sType = VK_STRUCTURE_TYPE_RELEASE_CAPTURED_PIPELINE_DATA_INFO_KHR, .pipeline = original};
   EXPECT_VK(device_function<PFN_vkReleaseCapturedPipelineDataKHR>(
      "vkReleaseCapturedPipelineDataKHR")(device, &release, nullptr));
   expect_result(original, 11);

   VkPipelineBinaryKHR again;
   ASSERT_VK(binary_of(data, &again));
   EXPECT_EQ(data_of(again).key, data.key);
   expect_result(pipeline_from(again), 11);
}

TEST_F(PipelineBinaryTest, BinariesOfAnotherDevice)
{
   const Data data = data_of(binary_of(captured_pipeline()));
   TearDown();
   SetUp();
   VkPipelineBinaryKHR binary;
   ASSERT_VK(binary_of(data, &binary));
   expect_result(pipeline_from(binary), 11);
}

TEST_F(PipelineBinaryTest, KeysTellShadersApart)
{
   const Key plain = pipeline_key(pipeline_info());
   ASSERT_GT(plain.size(), 0u);
   EXPECT_EQ(pipeline_key(pipeline_info()), plain);
   const Key plain_data = data_of(binary_of(captured_pipeline())).key;
   const uint32_t value = 5;
   const VkSpecializationMapEntry entry = {0, 0, 4};
   constants = VkSpecializationInfo{1, &entry, 4, &value};
   EXPECT_NE(pipeline_key(pipeline_info()), plain);
   const VkPipelineBinaryKHR other = binary_of(captured_pipeline());
   EXPECT_NE(data_of(other).key, plain_data);
   expect_result(pipeline_from(other), 5);
   VkPipelineBinaryKeyKHR global = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR},
                          second = global;
   EXPECT_VK(get_key(device, nullptr, &global));
   EXPECT_VK(get_key(device, nullptr, &second));
   EXPECT_GT(global.keySize, 0u);
   EXPECT_EQ(key_of(global), key_of(second));
   EXPECT_NE(key_of(global), plain);
}

TEST_F(PipelineBinaryTest, TooLittleSpace)
{
   const VkPipeline pipeline = captured_pipeline();
   const VkPipelineBinaryKHR binary = binary_of(pipeline);
   const size_t size = data_of(binary).bytes.size();
   const VkPipelineBinaryDataInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_DATA_INFO_KHR, .pipelineBinary = binary};
   VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
   std::vector<uint8_t> bytes(size, 0x5a);
   size_t space = size - 1;
   EXPECT_EQ(get_data(device, &info, &key, &space, bytes.data()), VK_ERROR_NOT_ENOUGH_SPACE_KHR);
   EXPECT_EQ(space, size);
   EXPECT_EQ(bytes, std::vector<uint8_t>(size, 0x5a));

   const VkPipelineBinaryCreateInfoKHR create_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR, .pipeline = pipeline};
   VkPipelineBinaryKHR none = VK_NULL_HANDLE;
   VkPipelineBinaryHandlesInfoKHR handles = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR, .pPipelineBinaries = &none};
   EXPECT_EQ(create(device, &create_info, nullptr, &handles), VK_INCOMPLETE);
   EXPECT_EQ(handles.pipelineBinaryCount, 0u);
}

TEST_F(PipelineBinaryTest, DamagedDataIsRefused)
{
   const Data good = data_of(binary_of(captured_pipeline()));
   VkPipelineBinaryKHR binary;
   const auto expect_refused = [&](auto damage) {
      Data bad = good;
      damage(bad);
      EXPECT_EQ(binary_of(bad, &binary), VK_ERROR_INITIALIZATION_FAILED);
   };
   expect_refused([](Data &d) { d.bytes.clear(); });
   expect_refused([](Data &d) { d.bytes.pop_back(); });
   expect_refused([](Data &d) { d.bytes.push_back(0); });
   expect_refused([](Data &d) { d.bytes.resize(20); });
   expect_refused([](Data &d) { d.key[3] ^= 1; });
   expect_refused([](Data &d) { d.key.pop_back(); });
   for (size_t i = 0; i < good.bytes.size(); i += 1 + good.bytes.size() / 97)
      expect_refused([i](Data &d) { d.bytes[i] ^= 0x10; });
   EXPECT_NE(messages.find("vkCreatePipelineBinariesKHR: the binary is truncated"),
             std::string::npos);
   EXPECT_NE(messages.find("the key is another binary's"), std::string::npos);
   ASSERT_VK(binary_of(good, &binary));
}

/// Binaries of the cache of compiled shaders. Most tests run without it.
TEST_F(PipelineBinaryTest, BinariesOfTheCache)
{
   std::mt19937 random(std::random_device{}()); // a shader that the cache does not have
   const uint32_t value = random();
   const VkSpecializationMapEntry entry = {0, 0, 4};
   constants = VkSpecializationInfo{1, &entry, 4, &value};
   VkComputePipelineCreateInfo pipeline = pipeline_info();
   const VkPipelineCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR,
                                         .pNext = &pipeline};
   const VkPipelineBinaryCreateInfoKHR create_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR, .pPipelineCreateInfo = &info};
   VkPipelineBinaryKHR binary;
   EXPECT_EQ(create_one(create_info, &binary), VK_PIPELINE_BINARY_MISSING_KHR);
   expect_result(create_pipeline(pipeline), value);
   if (getenv("WEFT_SHADER_CACHE_DISABLE") != std::string("false")) {
      EXPECT_EQ(create_one(create_info, &binary), VK_PIPELINE_BINARY_MISSING_KHR);
      return;
   }
   // Another thread writes the cache.
   while (create_one(create_info, &binary) == VK_PIPELINE_BINARY_MISSING_KHR)
      std::this_thread::yield();
   EXPECT_EQ(data_of(binary).key, pipeline_key(pipeline));
   expect_result(pipeline_from(binary), value);
}

/// The numbers of dynamic buffers come from the layout, not from the binary.
TEST_F(PipelineBinaryTest, DynamicBuffersOfEachSet)
{
   const VkDescriptorSetLayout set_layout =
      make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC)});
   recipe.sets = {set_layout, set_layout};
   layout = make_layout(recipe);
   spirv = e2e::compile_glsl(std::string(e2e::glsl_header) + R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) buffer First { uint first; };
      layout(set = 1, binding = 0) buffer Second { uint second; };
      void main() { first = 1; second = 2; })");
   const VkPipeline pipeline = pipeline_from(binary_of(captured_pipeline()));
   const VkDescriptorSet sets[] = {make_set(set_layout), make_set(set_layout)};
   for (VkDescriptorSet s : sets)
      write_buffer(s, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, out, 0, 4);
   const uint32_t offsets[] = {64, 128};
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 2, sets, 2, offsets);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   EXPECT_EQ(out.as()[16], 1u);
   EXPECT_EQ(out.as()[32], 2u);
}

/// No binaries in the chain are no binaries at all.
TEST_F(PipelineBinaryTest, AnEmptyListOfBinaries)
{
   const VkPipelineBinaryInfoKHR none = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR};
   expect_result(create_pipeline(pipeline_info(&none)), 11);
}

} // namespace weft::icd_test
