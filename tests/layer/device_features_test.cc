// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// vkCreateDevice: the driver's features in place of the application's matrices.

#include "tests/layer/device_fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::layer_test {
namespace {

TEST_F(DeviceTest, WithoutAnyFeatures)
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
   EXPECT_TRUE(lowered_for.int64); // for addresses; the original module declares them without int64
   EXPECT_FALSE(lowered_for.buffer_device_address || lowered_for.float64);
   EXPECT_FALSE(lowered_for.integer_dot_product);
   EXPECT_TRUE(lowered_for.float16_sums);
   EXPECT_EQ(lowered_for.subgroup_operations, 0xffu);
   EXPECT_TRUE(lowered_for.preserve_nan_32);
   EXPECT_FALSE(lowered_for.preserve_nan_16 || lowered_for.preserve_nan_64);
}

/// CPUs would convert each operand.
TEST_F(DeviceTest, SumsOfFloat16AreInFloat32OnCpus)
{
   driver.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   EXPECT_TRUE(compiled_for().float16);
   EXPECT_FALSE(compiled_for().float16_sums);
}

TEST_F(DeviceTest, IntegerDotProductIsEnabledWhereTheDriverHasIt)
{
   driver.features13.shaderIntegerDotProduct = VK_TRUE;
   ASSERT_VK(create_instance());
   ASSERT_VK(create_matrix_device());
   EXPECT_TRUE(driver.enabled13.shaderIntegerDotProduct);
   EXPECT_TRUE(compiled_for().integer_dot_product);
}

/// The application enables robustBufferAccess2, and the compiler depends on the choice.
TEST_F(DeviceTest, RobustBufferAccess2IsPassedOn)
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

TEST_F(DeviceTest, PartialBarriersAreNotForLavapipe)
{
   for (const VkDriverId id : {VK_DRIVER_ID_MESA_RADV, VK_DRIVER_ID_MESA_LLVMPIPE}) {
      driver.id = id;
      ASSERT_VK(create_instance());
      ASSERT_VK(create_matrix_device());
      EXPECT_EQ(compiled_for().partial_barriers, id == VK_DRIVER_ID_MESA_RADV);
      const auto says_it = [](const std::string &message) {
         return message.starts_with("for 'fake', shaders have no barriers of memory alone");
      };
      EXPECT_EQ(std::ranges::count_if(infos, says_it), id == VK_DRIVER_ID_MESA_LLVMPIPE);
      infos.clear();
      destroy_device();
      destroy_instance();
   }
}

TEST_F(DeviceTest, WithLegacyFeatures)
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

TEST_F(DeviceTest, SmallFloatsAreTheLayersOwn)
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

TEST_F(DeviceTest, WithStructsOfVulkan11To13)
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

TEST_F(DeviceTest, WithSingleStructs)
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

/// A struct newer than the layer, of unknown size: nothing behind it can be edited.
TEST_F(DeviceTest, WithAStructOfUnknownSize)
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

/// Above a driver without matrices, the layer's struct must not reach it.
TEST_F(DeviceTest, WithNewerStructsBeforeTheMatrices)
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

   // An unknown one.
   newer.sType = VkStructureType(1999999000);
   EXPECT_EQ(create_device(info), VK_ERROR_FEATURE_NOT_PRESENT);
   EXPECT_EQ(driver.calls("vkCreateDevice"), 1u);
   ASSERT_EQ(messages.size(), 1u);
   EXPECT_NE(messages[0].find("1999999000"), std::string::npos);
}

/// Programs enable all features that they have found, without the extensions that they do not use.
TEST_F(DeviceTest, FeaturesWithoutTheirExtensionAreIgnored)
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

   // The successor's features beside the extension that it replaces.
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

   // The driver skips structs that it does not know, so the layer need not remove them.
   matrices.cooperativeMatrix = VK_TRUE;
   VkBaseInStructure unknown = {VkStructureType(1999999000),
                                reinterpret_cast<VkBaseInStructure *>(&matrices)};
   EXPECT_VK(create_device({.pNext = &unknown}));
   EXPECT_EQ(in_chain(matrices.sType), 1u);
}

/// If the driver's matrices are hidden, an extension of a type stays, but its matrix features are
/// hidden.
TEST_F(DeviceTest, HiddenFeaturesCannotBeEnabled)
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

} // namespace
} // namespace weft::layer_test
