// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Memory that runs out at every point of every intercepted call, and many threads at once.

#include "tests/layer/allocation.h"
#include "tests/layer/fixture.h"

#include <atomic>
#include <functional>
#include <thread>

namespace weft::layer_test {

namespace {

class OutOfMemory : public LayerTest {
protected:
   void SetUp() override
   {
      if (!can_fail_allocations)
         GTEST_SKIP() << "ThreadSanitizer's operator new cannot be replaced";
   }

   /// Runs a call with its first, second, … allocation failing, until the call makes fewer
   /// allocations. Each failure must return the right error and leave no objects.
   void exhaust(const std::function<VkResult()> &call, const std::function<void()> &undo)
   {
      uint32_t failures = 0;
      for (int64_t nth = 0;; nth++) {
         const size_t before = driver.live();
         fail_allocation(nth);
         const VkResult result = call();
         const bool failed = allocation_failed();
         fail_allocation(-1);
         if (!failed) {
            EXPECT_VK(result);
            undo();
            break;
         }
         failures++;
         EXPECT_EQ(result, VK_ERROR_OUT_OF_HOST_MEMORY) << "allocation " << nth;
         EXPECT_EQ(driver.live(), before) << "allocation " << nth;
         ASSERT_LT(nth, 1000);
      }
      EXPECT_GT(failures, 0u);
   }
};

TEST_F(OutOfMemory, Instance)
{
   exhaust([&] { return create_instance(); }, [&] { destroy_instance(); });
}

TEST_F(OutOfMemory, Messenger)
{
   ASSERT_VK(create_instance());
   const auto hear = [](auto, auto, auto, auto) { return VkBool32(VK_FALSE); };
   VkDebugUtilsMessengerEXT messenger;
   exhaust([&] { return create_messenger(messenger_info(hear, nullptr), &messenger); },
           [&] { destroy_messenger(messenger); });
}

TEST_F(OutOfMemory, Queries)
{
   const auto forget = [&] {
      destroy_instance();
      ASSERT_VK(create_instance());
   };
   ASSERT_VK(create_instance());
   uint32_t count = 0;
   exhaust(
      [&] {
         return instance_function<PFN_vkEnumerateDeviceExtensionProperties>(
            "vkEnumerateDeviceExtensionProperties")(physical, nullptr, &count, nullptr);
      },
      forget);
   exhaust(
      [&] {
         return instance_function<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
            "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR")(physical, &count, nullptr);
      },
      forget);
   // A query that cannot return an error reports no matrices.
   VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = 77,
   };
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &matrices};
   fail_allocation(0);
   instance_function<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(physical,
                                                                                       &features);
   EXPECT_TRUE(allocation_failed());
   fail_allocation(-1);
   EXPECT_EQ(matrices.cooperativeMatrix, VK_FALSE);
}

TEST_F(OutOfMemory, Device)
{
   ASSERT_VK(create_instance());
   // The layer keeps the facts about the physical device, so the next call allocates less.
   EXPECT_TRUE(advertised());
   exhaust([&] { return create_matrix_device(); }, [&] { destroy_device(); });
}

TEST_F(OutOfMemory, ShaderModule)
{
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   const std::vector<uint32_t> words = matrix_module();
   const VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = words.size() * sizeof(uint32_t),
      .pCode = words.data(),
   };
   VkShaderModule module;
   const auto create = device_function<PFN_vkCreateShaderModule>("vkCreateShaderModule");
   exhaust([&] { return create(device, &info, nullptr, &module); },
           [&] { destroy_module(module); });
}

TEST_F(OutOfMemory, ComputePipeline)
{
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   const VkShaderModule module = make_module(matrix_module());
   VkComputePipelineCreateInfo info = pipeline_info(module);
   info.flags = VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
   VkPipeline pipeline;
   exhaust([&] { return create_pipelines({&info, 1}, {&pipeline, 1}); },
           [&] { destroy_pipelines({&pipeline, 1}); });
   destroy_module(module);
}

TEST_F(OutOfMemory, PipelineKey)
{
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   const VkShaderModule module = make_module(matrix_module());
   VkComputePipelineCreateInfo compute = pipeline_info(module);
   const VkPipelineCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR,
                                         .pNext = &compute};
   VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
   const auto get = device_function<PFN_vkGetPipelineKeyKHR>("vkGetPipelineKeyKHR");
   exhaust([&] { return get(device, &info, &key); }, [] {});
   destroy_module(module);
}

TEST_F(OutOfMemory, PipelineBinaries)
{
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   const VkShaderModule module = make_module(matrix_module());
   VkComputePipelineCreateInfo compute = pipeline_info(module);
   const VkPipelineCreateInfoKHR described = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR,
                                              .pNext = &compute};
   const VkPipelineBinaryCreateInfoKHR info = {.sType =
                                                  VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR,
                                               .pPipelineCreateInfo = &described};
   VkPipelineBinaryKHR binary = VK_NULL_HANDLE;
   VkPipelineBinaryHandlesInfoKHR handles = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR, .pPipelineBinaries = &binary};
   const auto create =
      device_function<PFN_vkCreatePipelineBinariesKHR>("vkCreatePipelineBinariesKHR");
   exhaust([&] { return create(device, &info, nullptr, &handles); },
           [&] {
              device_function<PFN_vkDestroyPipelineBinaryKHR>("vkDestroyPipelineBinaryKHR")(
                 device, binary, nullptr);
           });
   destroy_module(module);
}

TEST_F(OutOfMemory, ShaderObject)
{
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   const std::vector<uint32_t> words = matrix_module();
   const VkShaderCreateInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
      .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
      .codeSize = words.size() * sizeof(uint32_t),
      .pCode = words.data(),
      .pName = "main",
   };
   VkShaderEXT shader;
   const auto create = device_function<PFN_vkCreateShadersEXT>("vkCreateShadersEXT");
   exhaust([&] { return create(device, 1, &info, nullptr, &shader); },
           [&] {
              device_function<PFN_vkDestroyShaderEXT>("vkDestroyShaderEXT")(device, shader,
                                                                            nullptr);
           });
}

class Threads : public LayerTest {};

TEST_F(Threads, CreateAndDestroyAtOnce)
{
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   std::vector<std::thread> threads;
   for (uint32_t t = 0; t < 8; t++) {
      threads.emplace_back([&, t] {
         for (uint32_t i = 0; i < 50; i++) {
            EXPECT_EQ(matrix_properties().size(), 3u);
            const VkShaderModule module = make_module(matrix_module(t * 100 + i));
            const VkShaderModule plain = make_module(plain_module(t));
            VkComputePipelineCreateInfo infos[] = {pipeline_info(module), pipeline_info(plain)};
            infos[0].flags = VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
            VkPipeline pipelines[2];
            EXPECT_VK(create_pipelines(infos, pipelines));
            destroy_pipelines(pipelines);
            destroy_module(module);
            destroy_module(plain);
         }
      });
   }
   for (std::thread &thread : threads)
      thread.join();
   EXPECT_EQ(compiler.seen.size(), 400u);
}

TEST_F(Threads, MessagesAtOnce)
{
   constexpr uint32_t thread_count = 8, rounds = 50;
   const auto hear = [](auto severity, auto, auto, void *user) {
      if (severity == VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT)
         ++*static_cast<std::atomic<uint32_t> *>(user);
      return VkBool32(VK_FALSE);
   };
   ASSERT_VK(create_instance());
   std::atomic<uint32_t> all = 0, own[thread_count] = {};
   VkDebugUtilsMessengerEXT messenger;
   ASSERT_VK(create_messenger(messenger_info(hear, &all), &messenger));
   std::vector<std::thread> threads;
   for (std::atomic<uint32_t> &count : own) {
      threads.emplace_back([&] {
         const VkPhysicalDeviceShaderBfloat16FeaturesKHR features = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR,
            .shaderBFloat16CooperativeMatrix = VK_TRUE,
         };
         const char *const names[] = {VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME};
         for (uint32_t i = 0; i < rounds; i++) {
            VkDebugUtilsMessengerEXT mine;
            EXPECT_VK(create_messenger(messenger_info(hear, &count), &mine));
            EXPECT_EQ(create_device({.pNext = &features,
                                     .enabledExtensionCount = 1,
                                     .ppEnabledExtensionNames = names}),
                      VK_ERROR_FEATURE_NOT_PRESENT);
            destroy_messenger(mine);
         }
         EXPECT_GE(count, rounds); // and the messages of the other devices
      });
   }
   for (std::thread &thread : threads)
      thread.join();
   EXPECT_EQ(all, thread_count * rounds);
   destroy_messenger(messenger);
}

} // namespace

} // namespace weft::layer_test
