// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// vkCreateDevice: what the driver is asked for in place of the application's matrices.

#include "tests/layer/fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::layer_test {

namespace {

class DeviceTest : public LayerTest {
protected:
   bool enabled(const char *extension) const
   {
      return std::ranges::find(driver.enabled_extensions, std::string(extension)) !=
             driver.enabled_extensions.end();
   }

   size_t in_chain(VkStructureType type) const
   {
      return std::ranges::count(driver.device_chain, type);
   }

   void expect_lowering_features() const
   {
      EXPECT_TRUE(driver.enabled.shaderInt16);
      EXPECT_TRUE(driver.enabled.shaderInt64);
      EXPECT_TRUE(driver.enabled11.storageBuffer16BitAccess);
      EXPECT_TRUE(driver.enabled12.storageBuffer8BitAccess);
      EXPECT_TRUE(driver.enabled12.shaderFloat16);
      EXPECT_TRUE(driver.enabled12.shaderInt8);
      EXPECT_TRUE(driver.enabled12.vulkanMemoryModel);
      EXPECT_TRUE(driver.enabled13.subgroupSizeControl);
      EXPECT_TRUE(driver.enabled13.computeFullSubgroups);
      // What the driver lacks, and what is the application's choice.
      EXPECT_FALSE(driver.enabled12.storagePushConstant8);
      EXPECT_FALSE(driver.enabled13.shaderIntegerDotProduct);
   }

   /// The features that the compiler may use in shaders of the device.
   spirv::Driver compiled_for(const void *stage_next = nullptr, const void *next = nullptr)
   {
      const VkShaderModule module = make_module(matrix_module());
      VkComputePipelineCreateInfo info = pipeline_info(module, "main", stage_next);
      info.pNext = next;
      VkPipeline pipeline;
      EXPECT_VK(create_pipelines({&info, 1}, {&pipeline, 1}));
      destroy_pipelines({&pipeline, 1});
      destroy_module(module);
      return compiler.seen.back().options.driver;
   }
};

TEST_F(DeviceTest, without_any_features)
{
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   expect_lowering_features();
   EXPECT_TRUE(driver.used_enabled_features);
   EXPECT_FALSE(enabled(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME));
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR), 0u);
   EXPECT_TRUE(driver.enabled_extensions.empty()); // core in Vulkan 1.3
   const spirv::Driver lowered_for = compiled_for();
   EXPECT_EQ(lowered_for.spirv_version, 0x00010600u);
   EXPECT_TRUE(lowered_for.float16 && lowered_for.int8 && lowered_for.int16);
   EXPECT_TRUE(lowered_for.int64); // for addresses, which the original declares otherwise
   EXPECT_FALSE(lowered_for.buffer_device_address || lowered_for.float64);
   EXPECT_FALSE(lowered_for.integer_dot_product);
   EXPECT_EQ(lowered_for.subgroup_operations, 0xffu);
   EXPECT_TRUE(lowered_for.preserve_nan_32);
   EXPECT_FALSE(lowered_for.preserve_nan_16 || lowered_for.preserve_nan_64);
}

TEST_F(DeviceTest, integer_dot_product_is_enabled_where_the_driver_has_it)
{
   driver.features13.shaderIntegerDotProduct = VK_TRUE;
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   EXPECT_TRUE(driver.enabled13.shaderIntegerDotProduct);
   EXPECT_TRUE(compiled_for().integer_dot_product);
}

/// The application chooses it, and the compiler depends on it.
TEST_F(DeviceTest, robust_buffer_access_2_is_passed_on)
{
   driver.robust_buffer_access_2 = true;
   const VkPhysicalDeviceRobustness2FeaturesEXT robust = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT,
      .robustBufferAccess2 = VK_TRUE,
   };
   for (const char *name : {"VK_EXT_robustness2", "VK_KHR_robustness2"}) {
      SCOPED_TRACE(name);
      driver.extensions.emplace_back(name);
      ASSERT_VK(create_instance());
      ASSERT_VK(create_matrix_device());
      EXPECT_FALSE(compiled_for().robust_buffer_access_2);
      destroy_device();
      ASSERT_VK(create_matrix_device(&robust));
      EXPECT_TRUE(compiled_for().robust_buffer_access_2);
      destroy_device();
      destroy_instance();
      driver.extensions.pop_back();
   }
}

TEST_F(DeviceTest, partial_barriers_are_not_for_lavapipe)
{
   for (const VkDriverId id : {VK_DRIVER_ID_MESA_RADV, VK_DRIVER_ID_MESA_LLVMPIPE}) {
      driver.id = id;
      ASSERT_VK(create_instance());
      ASSERT_VK(create_matrix_device());
      EXPECT_EQ(compiled_for().partial_barriers, id == VK_DRIVER_ID_MESA_RADV);
      destroy_device();
      destroy_instance();
   }
}

TEST_F(DeviceTest, with_legacy_features)
{
   ASSERT_VK(create_instance());
   const VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = VK_TRUE,
   };
   const VkPhysicalDeviceFeatures features = {.robustBufferAccess = VK_TRUE,
                                              .shaderInt64 = VK_TRUE};
   const VkPhysicalDeviceFeatures before = features;
   const char *const names[] = {VK_EXT_SHADER_OBJECT_EXTENSION_NAME,
                                VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};
   ASSERT_VK(create_device({.pNext = &matrices,
                            .enabledExtensionCount = 2,
                            .ppEnabledExtensionNames = names,
                            .pEnabledFeatures = &features}));
   expect_lowering_features();
   EXPECT_TRUE(driver.enabled.robustBufferAccess);
   EXPECT_TRUE(compiled_for().int64);
   EXPECT_EQ(memcmp(&before, &features, sizeof(features)), 0);
   EXPECT_EQ(driver.enabled_extensions, std::vector<std::string>{names[0]});
}

TEST_F(DeviceTest, small_floats_are_the_layers_own)
{
   using enum ComponentType;
   compiler.operations.push_back({16, 16, 16, bf16, bf16, f32, f32, false});
   compiler.operations.push_back({16, 16, 16, e4m3, e4m3, f32, f32, false});
   ASSERT_VK(create_instance());
   VkPhysicalDeviceShaderFloat8FeaturesEXT float8 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT,
   };
   VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR,
      .pNext = &float8,
   };
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &bfloat16};
   instance_function<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(physical,
                                                                                       &features);
   EXPECT_TRUE(bfloat16.shaderBFloat16Type);
   EXPECT_TRUE(bfloat16.shaderBFloat16DotProduct);
   EXPECT_TRUE(bfloat16.shaderBFloat16CooperativeMatrix);
   EXPECT_TRUE(float8.shaderFloat8);
   EXPECT_TRUE(float8.shaderFloat8CooperativeMatrix);

   const char *const names[] = {VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME,
                                VK_EXT_SHADER_FLOAT8_EXTENSION_NAME};
   ASSERT_VK(create_device(
      {.pNext = &features, .enabledExtensionCount = 2, .ppEnabledExtensionNames = names}));
   EXPECT_EQ(driver.enabled_extensions, std::vector<std::string>());
   EXPECT_EQ(in_chain(bfloat16.sType), 0u);
   EXPECT_EQ(in_chain(float8.sType), 0u);
}

TEST_F(DeviceTest, with_structs_of_vulkan_1_1_to_1_3)
{
   ASSERT_VK(create_instance());
   const VkPhysicalDeviceVulkan11Features features11 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
      .multiview = VK_TRUE,
   };
   VkPhysicalDeviceFeatures2 features2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
      .pNext = const_cast<VkPhysicalDeviceVulkan11Features *>(&features11),
   };
   VkPhysicalDeviceVulkan12Features features12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .pNext = &features2,
      .bufferDeviceAddress = VK_TRUE,
   };
   const VkPhysicalDeviceVulkan13Features features13 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
      .pNext = &features12,
      .synchronization2 = VK_TRUE,
   };
   const auto before = std::tuple(features12.shaderInt8, features13.subgroupSizeControl);
   ASSERT_VK(create_matrix_device(&features13));
   expect_lowering_features();
   EXPECT_TRUE(driver.enabled13.synchronization2);
   EXPECT_TRUE(driver.enabled11.multiview);
   EXPECT_FALSE(driver.used_enabled_features);
   // A struct of Vulkan 1.x and the single ones that it replaces exclude each other.
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES), 0u);
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES), 0u);
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES), 0u);
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2), 1u);
   EXPECT_EQ(before, std::tuple(features12.shaderInt8, features13.subgroupSizeControl));
   EXPECT_TRUE(compiled_for().buffer_device_address);
}

TEST_F(DeviceTest, with_single_structs)
{
   ASSERT_VK(create_instance());
   const VkPhysicalDeviceShaderFloat16Int8Features types = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
   };
   const VkPhysicalDevice16BitStorageFeatures storage = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
      .pNext = const_cast<VkPhysicalDeviceShaderFloat16Int8Features *>(&types),
   };
   ASSERT_VK(create_matrix_device(&storage));
   expect_lowering_features();
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES), 1u);
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES), 1u);
   EXPECT_EQ(types.shaderInt8, VK_FALSE);
}

TEST_F(DeviceTest, adds_extensions_below_vulkan_1_3)
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
   EXPECT_FALSE(enabled(VK_KHR_8BIT_STORAGE_EXTENSION_NAME));  // it has none
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

/// A struct newer than the layer, of unknown size: nothing behind it can be edited.
TEST_F(DeviceTest, with_a_struct_of_unknown_size)
{
   struct Unknown {
      VkStructureType sType;
      const void *pNext;
      uint64_t data;
   };
   VkPhysicalDeviceVulkan12Features features12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .shaderInt8 = VK_TRUE,
      .vulkanMemoryModel = VK_TRUE,
   };
   const Unknown unknown = {VkStructureType(1999999000), &features12, 5};
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device(&unknown));
   EXPECT_EQ(in_chain(unknown.sType), 1u);
   EXPECT_EQ(in_chain(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES), 0u);
   const spirv::Driver lowered_for = compiled_for();
   EXPECT_TRUE(lowered_for.int8);
   EXPECT_FALSE(lowered_for.float16);
   destroy_device();

   features12.vulkanMemoryModel = VK_FALSE;
   EXPECT_EQ(create_matrix_device(&unknown), VK_ERROR_FEATURE_NOT_PRESENT);
   features12.vulkanMemoryModel = VK_TRUE;
   VkPhysicalDeviceVulkan13Features features13 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
   };
   features12.pNext = &features13;
   EXPECT_EQ(create_matrix_device(&unknown), VK_ERROR_FEATURE_NOT_PRESENT);
   EXPECT_NE(messages.back().find("subgroupSizeControl"), std::string::npos);
}

/// Above a driver without matrices, the struct of ours must not reach it.
TEST_F(DeviceTest, with_newer_structs_before_the_matrices)
{
   const VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = VK_TRUE,
   };
   struct Bfloat16 {
      VkStructureType sType;
      const void *pNext;
      VkBool32 type, dot_product, matrices;
   } newer = {VkStructureType(1000141000), &matrices, VK_TRUE, VK_FALSE, VK_FALSE};
   const char *const names[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};
   const VkDeviceCreateInfo info = {
      .pNext = &newer, .enabledExtensionCount = 1, .ppEnabledExtensionNames = names};
   ASSERT_VK(create_instance());
   ASSERT_VK(create_device(info));
   EXPECT_EQ(in_chain(newer.sType), 1u);
   EXPECT_EQ(in_chain(matrices.sType), 0u);
   expect_lowering_features();
   destroy_device();

   // One that nobody knows.
   newer.sType = VkStructureType(1999999000);
   EXPECT_EQ(create_device(info), VK_ERROR_FEATURE_NOT_PRESENT);
   EXPECT_EQ(driver.calls("vkCreateDevice"), 1u);
   ASSERT_EQ(messages.size(), 1u);
   EXPECT_NE(messages[0].find("1999999000"), std::string::npos);
}

/// The layer's own feature, whatever the driver has; shaders pay for it only where it is enabled.
TEST_F(DeviceTest, robust_matrices)
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
   EXPECT_FALSE(driver.enabled.robustBufferAccess); // that is the application's own choice
   compiled_for();
   EXPECT_TRUE(compiler.seen.back().options.robust_access);
}

/// The stage's wish comes before the pipeline's, and both before the device's features.
TEST_F(DeviceTest, pipelines_choose_their_robustness)
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

/// Programs enable all features that they have found, without the extensions that they do not use.
TEST_F(DeviceTest, features_without_their_extension_are_ignored)
{
   ASSERT_VK(create_instance());
   VkPhysicalDeviceVulkan12Features core = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
   };
   VkPhysicalDeviceCooperativeMatrix2FeaturesNV successor = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV,
      .pNext = &core,
      .cooperativeMatrixReductions = VK_TRUE,
   };
   VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .pNext = &successor,
      .cooperativeMatrix = VK_TRUE,
   };
   const char *const names[] = {VK_EXT_SHADER_OBJECT_EXTENSION_NAME};
   ASSERT_VK(create_device(
      {.pNext = &matrices, .enabledExtensionCount = 1, .ppEnabledExtensionNames = names}));
   // The driver may know the structs and report the features as absent.
   EXPECT_EQ(in_chain(matrices.sType), 0u);
   EXPECT_EQ(in_chain(successor.sType), 0u);
   EXPECT_EQ(in_chain(core.sType), 1u);
   EXPECT_EQ(driver.enabled_extensions, std::vector<std::string>{names[0]});
   EXPECT_FALSE(driver.enabled12.shaderInt8);
   EXPECT_FALSE(driver.used_enabled_features);
   EXPECT_EQ(layer.pfnGetDeviceProcAddr(device, "vkCreateShaderModule"),
             FakeDriver::get_device_proc_addr(device, "vkCreateShaderModule"));
   ASSERT_EQ(messages.size(), 2u);
   EXPECT_NE(messages[0].find("VK_KHR_cooperative_matrix are ignored"), std::string::npos);
   EXPECT_NE(messages[1].find("VK_NV_cooperative_matrix2 are ignored"), std::string::npos);
   destroy_device();

   // The features of one beside the extension of the other.
   ASSERT_VK(create_matrix_device(&successor));
   EXPECT_EQ(in_chain(successor.sType), 0u);
   expect_lowering_features();
   EXPECT_EQ(messages.size(), 3u);
   destroy_device();

   // Off is no request.
   matrices.cooperativeMatrix = VK_FALSE;
   successor.cooperativeMatrixReductions = VK_FALSE;
   ASSERT_VK(create_device({.pNext = &matrices}));
   EXPECT_EQ(messages.size(), 3u);
   destroy_device();

   // The driver skips structs that it does not know: nothing has to be taken out of the chain.
   matrices.cooperativeMatrix = VK_TRUE;
   VkBaseInStructure unknown = {VkStructureType(1999999000),
                                reinterpret_cast<VkBaseInStructure *>(&matrices)};
   EXPECT_VK(create_device({.pNext = &unknown}));
   EXPECT_EQ(in_chain(matrices.sType), 1u);
}

/// Without the extension the layer is not there: neither in vkCreateDevice nor in any command.
TEST_F(DeviceTest, without_matrices)
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

TEST_F(DeviceTest, beside_native_matrices)
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

TEST_F(DeviceTest, aside_of_native_matrices)
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

TEST_F(DeviceTest, hidden_extensions_cannot_be_enabled)
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

/// What the layer lowers itself is not the driver's any more.
TEST_F(DeviceTest, lowered_extensions_stay_above_the_driver)
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

/// Types that have other uses stay, without matrices of them.
TEST_F(DeviceTest, hidden_features_cannot_be_enabled)
{
   const Environment registers("WEFT_LOWERING", "registers");
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   driver.extensions.push_back("VK_KHR_shader_bfloat16");
   ASSERT_VK(create_instance());
   struct {
      VkStructureType sType;
      void *pNext;
      VkBool32 type, dot_product, matrices;
   } bfloat16 = {VkStructureType(1000141000), nullptr, VK_TRUE, VK_TRUE, VK_TRUE};
   const char *const names[] = {"VK_KHR_shader_bfloat16"};
   const VkDeviceCreateInfo info = {
      .pNext = &bfloat16, .enabledExtensionCount = 1, .ppEnabledExtensionNames = names};
   EXPECT_EQ(create_device(info), VK_ERROR_FEATURE_NOT_PRESENT);
   bfloat16.matrices = VK_FALSE;
   EXPECT_VK(create_device(info));
   EXPECT_TRUE(enabled("VK_KHR_shader_bfloat16"));
}

TEST_F(DeviceTest, errors_of_the_driver_come_through)
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

/// Several devices and instances at once have nothing to do with each other.
TEST_F(DeviceTest, several_at_once)
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

TEST_F(DeviceTest, null_handles_are_ignored)
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
