// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer between a test, which plays the application and the loader, and the fake driver.

#pragma once

#include "layer/matrix_family.h"
#include "tests/layer/fake_compiler.h"
#include "tests/layer/fake_driver.h"

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <gtest/gtest.h>

#include <mutex>
#include <span>

namespace weft::layer_test {

#define ASSERT_VK(call) ASSERT_EQ(call, VK_SUCCESS)
#define EXPECT_VK(call) EXPECT_EQ(call, VK_SUCCESS)

/// Sets an environment variable for as long as it lives.
class Environment {
public:
   Environment(const char *name, const char *value);
   ~Environment();
   Environment(const Environment &) = delete;
   Environment &operator=(const Environment &) = delete;

private:
   const char *name;
};

class LayerTest : public testing::Test {
protected:
   LayerTest();
   ~LayerTest() override;

   VkResult create_instance(uint32_t api_version = VK_API_VERSION_1_3, const void *next = nullptr);
   VkResult create_device(const VkDeviceCreateInfo &);
   /// Creates a device with the matrix extension and feature.
   VkResult create_matrix_device(const void *next = nullptr);
   void destroy_device();
   void destroy_instance();

   template <typename F>
   F instance_function(const char *name)
   {
      return reinterpret_cast<F>(layer.pfnGetInstanceProcAddr(instance, name));
   }
   template <typename F>
   F device_function(const char *name)
   {
      return reinterpret_cast<F>(layer.pfnGetDeviceProcAddr(device, name));
   }

   std::vector<std::string> extension_names();
   bool advertised();
   std::vector<VkCooperativeMatrixPropertiesKHR> matrix_properties();
   std::vector<WeftMatrixExtension> matrix_extensions();

   VkShaderModule make_module(const std::vector<uint32_t> &words);
   void destroy_module(VkShaderModule);
   VkResult create_pipelines(std::span<const VkComputePipelineCreateInfo>,
                             std::span<VkPipeline> out);
   void destroy_pipelines(std::span<const VkPipeline>);
   /// A messenger for everything, whose callback gets `user`.
   static VkDebugUtilsMessengerCreateInfoEXT messenger_info(PFN_vkDebugUtilsMessengerCallbackEXT,
                                                            void *user);
   VkResult create_messenger(const VkDebugUtilsMessengerCreateInfoEXT &,
                             VkDebugUtilsMessengerEXT *);
   void destroy_messenger(VkDebugUtilsMessengerEXT);

   static VkComputePipelineCreateInfo pipeline_info(VkShaderModule, const char *entry = "main",
                                                    const void *stage_next = nullptr);

   const char *engine = nullptr; ///< of the application
   FakeDriver driver;
   FakeCompiler compiler;
   VkNegotiateLayerInterface layer = {};
   VkInstance instance = VK_NULL_HANDLE;
   VkPhysicalDevice physical = VK_NULL_HANDLE;
   VkDevice device = VK_NULL_HANDLE;
   /// Every instance has a messenger for these: warnings and errors, and all other messages.
   std::vector<std::string> messages, infos;

private:
   std::mutex messages_mutex;
   VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
};

} // namespace weft::layer_test
