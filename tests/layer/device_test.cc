// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// vkCreateDevice: extensions, robustness, and devices beside each other.

#include "tests/layer/device_fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::layer_test {
namespace {

TEST_F(DeviceTest, AddsExtensionsBelowVulkan13)
{
   driver.api_version = VK_API_VERSION_1_1;
   for (const char *name :
        {VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME,
         VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME})
      driver.extensions.push_back(name);
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   EXPECT_TRUE(enabled(VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME));
   EXPECT_TRUE(enabled(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME));
   EXPECT_TRUE(enabled(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME));
   EXPECT_TRUE(enabled(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME));
   EXPECT_FALSE(enabled(VK_KHR_8BIT_STORAGE_EXTENSION_NAME));  // the driver lacks it
   EXPECT_FALSE(enabled(VK_KHR_16BIT_STORAGE_EXTENSION_NAME)); // core in 1.1
   const spirv::Driver lowered_for = compiled_for();
   EXPECT_EQ(lowered_for.spirv_version, 0x00010300u);
   EXPECT_TRUE(lowered_for.float16);
   EXPECT_FALSE(lowered_for.storage_buffer_8bit);
   EXPECT_TRUE(lowered_for.storage_buffer_16bit);
   destroy_device();

   const char *const names[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
                                VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME};
   const VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = VK_TRUE,
   };
   ASSERT_VK(create_device(
      {.pNext = &matrices, .enabledExtensionCount = 2, .ppEnabledExtensionNames = names}));
   EXPECT_EQ(std::ranges::count(driver.enabled_extensions, names[1]), 1); // none twice
}

/// The layer implements this feature for any driver; shaders check bounds only on devices that
/// enable it.
TEST_F(DeviceTest, RobustMatrices)
{
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   compiled_for();
   EXPECT_FALSE(compiler.seen.back().options.robust_access);
   destroy_device();

   const VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = VK_TRUE,
      .cooperativeMatrixRobustBufferAccess = VK_TRUE,
   };
   const char *const names[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};
   ASSERT_VK(create_device(
      {.pNext = &matrices, .enabledExtensionCount = 1, .ppEnabledExtensionNames = names}));
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR), 0u);
   EXPECT_FALSE(driver.enabled.robustBufferAccess); // only the application enables it
   compiled_for();
   EXPECT_TRUE(compiler.seen.back().options.robust_access);
}

/// The stage's robustness overrides the pipeline's, and both override the device's features.
TEST_F(DeviceTest, PipelinesChooseTheirRobustness)
{
   constexpr auto as_the_device = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DEVICE_DEFAULT,
                  disabled = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED,
                  robust = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS,
                  exact = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2;
   driver.extensions.push_back(VK_EXT_ROBUSTNESS_2_EXTENSION_NAME);
   driver.robust_buffer_access_2 = true;
   ASSERT_VK(create_instance());
   for (const VkBool32 on : {VK_FALSE, VK_TRUE}) {
      SCOPED_TRACE(on ? "robust device" : "plain device");
      VkPhysicalDeviceRobustness2FeaturesEXT buffers = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT,
         .robustBufferAccess2 = on,
      };
      const VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
         .pNext = &buffers,
         .cooperativeMatrix = VK_TRUE,
         .cooperativeMatrixRobustBufferAccess = on,
      };
      const char *const names[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};
      ASSERT_VK(create_device(
         {.pNext = &matrices, .enabledExtensionCount = 1, .ppEnabledExtensionNames = names}));
      const struct {
         VkPipelineRobustnessBufferBehavior storage, uniform;
         bool exact, matrices;
      } cases[] = {
         {as_the_device, as_the_device, bool(on), bool(on)},
         {as_the_device, disabled, bool(on), bool(on)},
         {disabled, disabled, false, false},
         {disabled, as_the_device, bool(on), false},
         {robust, robust, false, bool(on)},
         {exact, disabled, true, bool(on)},
         {robust, exact, true, bool(on)},
      };
      for (const auto &c : cases) {
         SCOPED_TRACE(std::to_string(c.storage) + " " + std::to_string(c.uniform));
         const VkPipelineRobustnessCreateInfo wish = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO,
            .storageBuffers = c.storage,
            .uniformBuffers = c.uniform,
         };
         const VkPipelineRobustnessCreateInfo other = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO,
            .storageBuffers = c.exact ? disabled : exact,
            .uniformBuffers = c.exact ? disabled : exact,
         };
         EXPECT_EQ(compiled_for(&wish).robust_buffer_access_2, c.exact);
         EXPECT_EQ(compiler.seen.back().options.robust_access, c.matrices);
         EXPECT_EQ(compiled_for(nullptr, &wish).robust_buffer_access_2, c.exact);
         EXPECT_EQ(compiler.seen.back().options.robust_access, c.matrices);
         EXPECT_EQ(compiled_for(&wish, &other).robust_buffer_access_2, c.exact);
         EXPECT_EQ(compiler.seen.back().options.robust_access, c.matrices);
      }
      destroy_device();
   }
}

/// Without the extension the layer changes nothing in vkCreateDevice and intercepts no command.
TEST_F(DeviceTest, WithoutMatrices)
{
   ASSERT_VK(create_instance());
   const VkPhysicalDeviceVulkan12Features features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
   };
   ASSERT_VK(create_device({.pNext = &features}));
   EXPECT_FALSE(driver.enabled12.shaderInt8);
   EXPECT_FALSE(driver.used_enabled_features);
   EXPECT_TRUE(driver.enabled_extensions.empty());
   for (const char *name : {"vkCreateShaderModule", "vkDestroyShaderModule",
                            "vkCreateComputePipelines", "vkDestroyPipeline", "vkCreateShadersEXT"})
      EXPECT_EQ(layer.pfnGetDeviceProcAddr(device, name),
                FakeDriver::get_device_proc_addr(device, name))
         << name;
   const VkShaderModule module = make_module(matrix_module());
   EXPECT_EQ(driver.modules.back(), matrix_module());
   destroy_module(module);
}

TEST_F(DeviceTest, BesideNativeMatrices)
{
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   EXPECT_TRUE(enabled(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME));
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR), 1u);
   EXPECT_TRUE(driver.enabled12.shaderInt8);
   EXPECT_NE(layer.pfnGetDeviceProcAddr(device, "vkCreateShaderModule"),
             FakeDriver::get_device_proc_addr(device, "vkCreateShaderModule"));
}

TEST_F(DeviceTest, AsideOfNativeMatrices)
{
   driver.native_matrices = true;
   compiler.operations.clear();
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   EXPECT_TRUE(enabled(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME));
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR), 1u);
   EXPECT_EQ(layer.pfnGetDeviceProcAddr(device, "vkCreateShaderModule"),
             FakeDriver::get_device_proc_addr(device, "vkCreateShaderModule"));
}

TEST_F(DeviceTest, HiddenExtensionsCannotBeEnabled)
{
   const Environment registers("WEFT_LOWERING", "registers");
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   driver.extensions.push_back(VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_EXTENSION_NAME);
   driver.subgroup_operations &= ~VkSubgroupFeatureFlags(VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
   ASSERT_VK(create_instance());
   const char *const names[] = {VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_EXTENSION_NAME};
   EXPECT_EQ(create_device({.enabledExtensionCount = 1, .ppEnabledExtensionNames = names}),
             VK_ERROR_EXTENSION_NOT_PRESENT);
   ASSERT_VK(create_matrix_device());
   EXPECT_FALSE(enabled(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME));
}

/// Features that the layer lowers itself are removed from the driver's.
TEST_F(DeviceTest, LoweredExtensionsStayAboveTheDriver)
{
   const Environment registers("WEFT_LOWERING", "registers");
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   driver.extensions.push_back(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
   ASSERT_VK(create_instance());
   VkPhysicalDeviceCooperativeMatrix2FeaturesNV features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV,
      .cooperativeMatrixReductions = VK_TRUE,
   };
   const char *const names[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
                                VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME};
   ASSERT_VK(create_device(
      {.pNext = &features, .enabledExtensionCount = 2, .ppEnabledExtensionNames = names}));
   EXPECT_FALSE(enabled(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME));
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV), 0u);
}

TEST_F(DeviceTest, ErrorsOfTheDriverComeThrough)
{
   ASSERT_VK(create_instance());
   for (VkResult error : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_TOO_MANY_OBJECTS,
                          VK_ERROR_FEATURE_NOT_PRESENT, VK_ERROR_DEVICE_LOST}) {
      driver.fail("vkCreateDevice", error);
      EXPECT_EQ(create_matrix_device(), error);
      driver.fail("vkCreateInstance", error);
      VkInstance kept = std::exchange(instance, VkInstance(VK_NULL_HANDLE));
      EXPECT_EQ(create_instance(), error);
      instance = kept;
   }
}

/// Several devices and instances at once do not affect each other.
TEST_F(DeviceTest, SeveralAtOnce)
{
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   const VkDevice with = std::exchange(device, VkDevice(VK_NULL_HANDLE));
   ASSERT_VK(create_device({}));
   const VkDevice without = device;
   EXPECT_EQ(layer.pfnGetDeviceProcAddr(without, "vkCreateShaderModule"),
             FakeDriver::get_device_proc_addr(without, "vkCreateShaderModule"));
   EXPECT_NE(layer.pfnGetDeviceProcAddr(with, "vkCreateShaderModule"),
             FakeDriver::get_device_proc_addr(with, "vkCreateShaderModule"));
   destroy_device();
   device = with;
   const VkShaderModule module = make_module(matrix_module());
   EXPECT_NE(driver.modules.back(), matrix_module());
   destroy_module(module);
}

TEST_F(DeviceTest, NullHandlesAreIgnored)
{
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   device_function<PFN_vkDestroyShaderModule>("vkDestroyShaderModule")(device, VK_NULL_HANDLE,
                                                                       nullptr);
   device_function<PFN_vkDestroyPipeline>("vkDestroyPipeline")(device, VK_NULL_HANDLE, nullptr);
   device_function<PFN_vkDestroyDevice>("vkDestroyDevice")(VK_NULL_HANDLE, nullptr);
   instance_function<PFN_vkDestroyInstance>("vkDestroyInstance")(VK_NULL_HANDLE, nullptr);
}

} // namespace
} // namespace weft::layer_test
