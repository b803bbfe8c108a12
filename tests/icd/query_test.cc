// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver's description of itself.

#include "tests/icd/fixture.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

namespace weft::icd_test {

using QueryTest = IcdTest;

TEST_F(QueryTest, DeviceIsACpu)
{
   VkPhysicalDeviceProperties properties;
   vkGetPhysicalDeviceProperties(physical, &properties);
   EXPECT_EQ(properties.deviceType, VK_PHYSICAL_DEVICE_TYPE_CPU);
   EXPECT_GE(properties.vendorID, 0x10000u);
   if (!getenv("WEFT_ICD_PROFILE")) {
      EXPECT_TRUE(std::string_view(properties.deviceName).starts_with("Weft on "));
   }
   EXPECT_GE(properties.limits.maxComputeSharedMemorySize, 32768u);
   EXPECT_GE(properties.limits.maxComputeWorkGroupInvocations, 1024u);
   EXPECT_GE(properties.limits.maxPushConstantsSize, 128u);
   EXPECT_GE(properties.limits.maxStorageBufferRange, UINT32_MAX - (8u << 20));
}

TEST_F(QueryTest, DriverNamesItself)
{
   VkPhysicalDeviceDriverProperties driver = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &driver,
   };
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_STREQ(driver.driverName, "Weft");
}

/// The device's UUID identifies the machine, the driver's UUID this build.
TEST_F(QueryTest, DeviceAndDriverHaveNumbers)
{
   VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   const std::string device_uuid(std::begin(id.deviceUUID), std::end(id.deviceUUID)),
      driver_uuid(std::begin(id.driverUUID), std::end(id.driverUUID));
   EXPECT_NE(device_uuid, std::string(VK_UUID_SIZE, '\0'));
   EXPECT_NE(device_uuid, driver_uuid);
   EXPECT_EQ(device_uuid.find("Weft"), std::string::npos);
   AnotherDevice other;
   VkPhysicalDeviceIDProperties again = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
   properties.pNext = &again;
   vkGetPhysicalDeviceProperties2(other.physical, &properties);
   EXPECT_EQ(memcmp(id.deviceUUID, again.deviceUUID, VK_UUID_SIZE), 0);
   EXPECT_EQ(memcmp(id.driverUUID, again.driverUUID, VK_UUID_SIZE), 0);
}

/// Runs in a process with WEFT_ICD_PROFILE=nvidia+identity.
TEST_F(QueryTest, DriverPresentsAnIdentity)
{
   const char *profile = getenv("WEFT_ICD_PROFILE");
   if (!profile || strcmp(profile, "nvidia+identity") != 0)
      GTEST_SKIP() << "the driver presents itself";
   VkPhysicalDeviceDriverProperties driver = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &driver,
   };
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_EQ(properties.properties.vendorID, 0x10deu);
   EXPECT_EQ(properties.properties.deviceID, 0x2335u);
   EXPECT_STREQ(properties.properties.deviceName, "NVIDIA H200");
   EXPECT_EQ(driver.driverID, VK_DRIVER_ID_NVIDIA_PROPRIETARY);
   EXPECT_STREQ(driver.driverName, "NVIDIA");
   EXPECT_EQ(strncmp(driver.driverInfo, "Weft ", 5), 0) << driver.driverInfo;
}

TEST_F(QueryTest, SubgroupSizesAre8To64)
{
   VkPhysicalDeviceVulkan13Properties properties13 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES,
   };
   VkPhysicalDeviceVulkan11Properties properties11 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
      .pNext = &properties13,
   };
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &properties11,
   };
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_EQ(properties13.minSubgroupSize, 8u);
   EXPECT_EQ(properties13.maxSubgroupSize, 64u);
   EXPECT_GE(properties11.subgroupSize, 8u);
   EXPECT_LE(properties11.subgroupSize, 64u);
   EXPECT_EQ(properties11.subgroupSupportedStages, VkShaderStageFlags(VK_SHADER_STAGE_COMPUTE_BIT));
}

/// Programs choose their integer shaders by these properties.
TEST_F(QueryTest, ProductsOfPackedBytesAreFast)
{
   VkPhysicalDeviceVulkan13Properties p = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES,
   };
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &p,
   };
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_TRUE(p.integerDotProduct4x8BitPackedUnsignedAccelerated);
   EXPECT_TRUE(p.integerDotProduct4x8BitPackedSignedAccelerated);
   EXPECT_TRUE(p.integerDotProduct4x8BitPackedMixedSignednessAccelerated);
   EXPECT_TRUE(p.integerDotProductAccumulatingSaturating4x8BitPackedUnsignedAccelerated);
   EXPECT_TRUE(p.integerDotProductAccumulatingSaturating4x8BitPackedSignedAccelerated);
   EXPECT_TRUE(p.integerDotProductAccumulatingSaturating4x8BitPackedMixedSignednessAccelerated);
   EXPECT_FALSE(p.integerDotProduct64BitSignedAccelerated);
}

/// Calls an enumeration with every capacity up to the whole, and one more.
template <typename T, typename F>
void check_enumeration(T blank, F enumerate)
{
   uint32_t count = 0;
   ASSERT_EQ(enumerate(&count, nullptr), VK_SUCCESS);
   ASSERT_GT(count, 0u);
   for (uint32_t capacity = 0; capacity <= count + 1; capacity++) {
      std::vector<T> out(capacity + 1, blank);
      uint32_t written = capacity;
      VkResult result = enumerate(&written, out.data());
      EXPECT_EQ(result, capacity < count ? VK_INCOMPLETE : VK_SUCCESS) << capacity;
      EXPECT_EQ(written, std::min(capacity, count));
      // Memory behind the capacity is not touched.
      EXPECT_EQ(memcmp(&out[written], &blank, sizeof(T)), 0);
   }
}

TEST_F(QueryTest, CooperativeMatrixProperties)
{
   auto get = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
   ASSERT_NE(get, nullptr);
   VkCooperativeMatrixPropertiesKHR blank = {
      .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
   check_enumeration(blank, [&](uint32_t *count, VkCooperativeMatrixPropertiesKHR *out) {
      return get(physical, count, out);
   });
   uint32_t count = 0;
   get(physical, &count, nullptr);
   std::vector<VkCooperativeMatrixPropertiesKHR> all(count, blank);
   get(physical, &count, all.data());
   for (const VkCooperativeMatrixPropertiesKHR &p : all) {
      EXPECT_EQ(p.scope, VK_SCOPE_SUBGROUP_KHR);
      EXPECT_GE(p.MSize * p.KSize, 64u);
   }
   // Programs take the first row with f16 operands for the preferred shape.
   EXPECT_EQ(all[0].MSize, 16u);
   EXPECT_EQ(all[0].NSize, 16u);
   EXPECT_EQ(all[0].KSize, 16u);
}

/// Each combination of types of the rows above, once for the subgroup and for each workgroup.
TEST_F(QueryTest, CooperativeMatrixFlexibleDimensions)
{
   using Row = VkCooperativeMatrixFlexibleDimensionsPropertiesNV;
   auto get =
      reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV>(
         vkGetInstanceProcAddr(
            instance, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"));
   ASSERT_NE(get, nullptr);
   const Row blank = {.sType =
                         VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV};
   check_enumeration(blank, [&](uint32_t *count, Row *out) { return get(physical, count, out); });
   uint32_t count = 0;
   get(physical, &count, nullptr);
   std::vector<Row> rows(count, blank);
   get(physical, &count, rows.data());
   for (const Row &row : rows) {
      EXPECT_EQ(row.MGranularity, 8u);
      EXPECT_EQ(row.NGranularity, 8u);
      EXPECT_EQ(row.KGranularity, 8u);
   }

   auto get_sizes = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
   get_sizes(physical, &count, nullptr);
   std::vector<VkCooperativeMatrixPropertiesKHR> sizes(
      count, {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
   get_sizes(physical, &count, sizes.data());
   for (const VkCooperativeMatrixPropertiesKHR &p : sizes) {
      for (uint32_t invocations : {0, 128, 256}) {
         const VkScopeKHR scope = invocations ? VK_SCOPE_WORKGROUP_KHR : VK_SCOPE_SUBGROUP_KHR;
         EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                                 [&](const Row &row) {
                                    return row.AType == p.AType && row.BType == p.BType &&
                                           row.CType == p.CType && row.ResultType == p.ResultType &&
                                           row.saturatingAccumulation == p.saturatingAccumulation &&
                                           row.scope == scope &&
                                           row.workgroupInvocations == invocations;
                                 }),
                   1);
      }
   }

   VkPhysicalDeviceCooperativeMatrix2PropertiesNV limits = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &limits};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   // The least that the specification allows.
   EXPECT_GE(limits.cooperativeMatrixFlexibleDimensionsMaxDimension, 256u);
   EXPECT_EQ(limits.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize, 256u);
   EXPECT_EQ(limits.cooperativeMatrixWorkgroupScopeReservedSharedMemory, 0u);
}

/// The same rows, by whether they saturate (VK_EXT_cooperative_matrix_maintenance1).
TEST_F(QueryTest, CooperativeMatrixPropertiesByClass)
{
   auto get = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
   auto get_class = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixProperties2EXT>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT"));
   ASSERT_NE(get_class, nullptr);
   uint32_t count = 0;
   get(physical, &count, nullptr);
   std::vector<VkCooperativeMatrixPropertiesKHR> all(
      count, {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
   get(physical, &count, all.data());
   for (bool saturating : {false, true}) {
      VkPhysicalDeviceCooperativeMatrixInfo2EXT info = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_INFO_2_EXT,
         .scope = VK_SCOPE_SUBGROUP_KHR,
         .flags = VkCooperativeMatrixFlagsEXT(
            saturating ? VK_COOPERATIVE_MATRIX_SATURATING_ACCUMULATION_BIT_EXT : 0),
      };
      const VkCooperativeMatrixProperties2EXT blank = {
         .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_2_EXT};
      check_enumeration(blank, [&](uint32_t *n, VkCooperativeMatrixProperties2EXT *out) {
         return get_class(physical, &info, n, out);
      });
      EXPECT_VK(get_class(physical, &info, &count, nullptr));
      std::vector<VkCooperativeMatrixProperties2EXT> rows(count, blank);
      EXPECT_VK(get_class(physical, &info, &count, rows.data()));
      size_t i = 0;
      for (const VkCooperativeMatrixPropertiesKHR &p : all) {
         if (bool(p.saturatingAccumulation) != saturating)
            continue;
         ASSERT_LT(i, rows.size());
         EXPECT_EQ(rows[i].MGranularity, p.MSize);
         EXPECT_EQ(rows[i].NGranularity, p.NSize);
         EXPECT_EQ(rows[i].KGranularity, p.KSize);
         EXPECT_EQ(rows[i].AType, p.AType);
         EXPECT_EQ(rows[i].BType, p.BType);
         EXPECT_EQ(rows[i].CType, p.CType);
         EXPECT_EQ(rows[i].ResultType, p.ResultType);
         i++;
      }
      EXPECT_EQ(i, rows.size());
   }
}

TEST_F(QueryTest, DeviceExtensionsAreEnumeratedAndKnownOnce)
{
   VkExtensionProperties blank = {};
   check_enumeration(blank, [&](uint32_t *count, VkExtensionProperties *out) {
      return vkEnumerateDeviceExtensionProperties(physical, nullptr, count, out);
   });
   std::vector<std::string> names = device_extensions(physical);
   EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
   for (const char *wanted :
        {"VK_KHR_cooperative_matrix", "VK_KHR_16bit_storage", "VK_KHR_shader_float16_int8",
         "VK_KHR_push_descriptor", "VK_EXT_subgroup_size_control", "VK_EXT_memory_budget"})
      EXPECT_NE(std::find(names.begin(), names.end(), wanted), names.end()) << wanted;
}

TEST_F(QueryTest, ToolAndTimeDomainQueries)
{
   uint32_t count = 77;
   EXPECT_VK(vkGetPhysicalDeviceToolProperties(physical, &count, nullptr));
   auto get_domains = reinterpret_cast<PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT"));
   ASSERT_NE(get_domains, nullptr);
   check_enumeration(VkTimeDomainEXT(0x7fffffff), [&](uint32_t *n, VkTimeDomainEXT *out) {
      return get_domains(physical, n, out);
   });
}

TEST_F(QueryTest, OneQueueFamilyComputesAndCopies)
{
   uint32_t count = 0;
   vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
   ASSERT_EQ(count, 1u);
   VkQueueFamilyProperties family;
   vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, &family);
   EXPECT_EQ(family.queueFlags, VkQueueFlags(VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT |
                                             VK_QUEUE_SPARSE_BINDING_BIT));
   EXPECT_EQ(family.timestampValidBits, 64u);
   count = 0;
   vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, &family);
   EXPECT_EQ(count, 0u);
}

TEST_F(QueryTest, NoImageIsDrawnOrBlitted)
{
   for (VkFormat format : {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R32_SFLOAT, VK_FORMAT_D32_SFLOAT}) {
      VkFormatProperties properties;
      vkGetPhysicalDeviceFormatProperties(physical, format, &properties);
      constexpr VkFormatFeatureFlags absent =
         VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT | VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT |
         VK_FORMAT_FEATURE_BLIT_SRC_BIT | VK_FORMAT_FEATURE_BLIT_DST_BIT;
      EXPECT_EQ(properties.optimalTilingFeatures & absent, 0u);
      EXPECT_EQ(properties.linearTilingFeatures & absent, 0u);
   }
}

TEST_F(QueryTest, UnsupportedFormatsFailCleanly)
{
   VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .imageType = VK_IMAGE_TYPE_2D,
      .format = VK_FORMAT_R8G8B8_UNORM,
      .extent = {16, 16, 1},
      .mipLevels = 1,
      .arrayLayers = 1,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .usage = VK_IMAGE_USAGE_SAMPLED_BIT,
   };
   VkImage image;
   // These commands may return only this code and the codes for a lack of memory.
   EXPECT_EQ(vkCreateImage(device, &info, nullptr, &image), VK_ERROR_UNKNOWN);
   EXPECT_EQ(image, VkImage(VK_NULL_HANDLE));
   EXPECT_NE(messages.find("the format of an image is not supported"), std::string::npos);
   vkDestroyImage(device, VK_NULL_HANDLE, nullptr);
   const VkBufferViewCreateInfo texels_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                               .format = VK_FORMAT_D32_SFLOAT};
   VkBufferView texels;
   EXPECT_EQ(vkCreateBufferView(device, &texels_info, nullptr, &texels), VK_ERROR_UNKNOWN);
   EXPECT_NE(messages.find("the format of a texel buffer is not supported"), std::string::npos);
   const VkGraphicsPipelineCreateInfo pipeline_info = {
      .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
   VkPipeline pipeline;
   EXPECT_EQ(
      vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &pipeline_info, nullptr, &pipeline),
      VK_ERROR_UNKNOWN);
}

/// VK_KHR_maintenance7: the driver is above no other API.
TEST_F(QueryTest, NoLayeredApis)
{
   VkPhysicalDeviceLayeredApiPropertiesKHR api = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_LAYERED_API_PROPERTIES_KHR, .vendorID = 77};
   VkPhysicalDeviceLayeredApiPropertiesListKHR list = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_LAYERED_API_PROPERTIES_LIST_KHR,
      .layeredApiCount = 1,
      .pLayeredApis = &api};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &list};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_EQ(list.layeredApiCount, 0u);
   EXPECT_EQ(api.vendorID, 77u);
}

TEST_F(QueryTest, UnknownExtensionAndFeatureAreRefused)
{
   float priority = 1;
   VkDeviceQueueCreateInfo queue_info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
      .queueCount = 1,
      .pQueuePriorities = &priority,
   };
   const char *name = "VK_EXT_mesh_shader";
   VkDeviceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .queueCreateInfoCount = 1,
      .pQueueCreateInfos = &queue_info,
      .enabledExtensionCount = 1,
      .ppEnabledExtensionNames = &name,
   };
   VkDevice other;
   EXPECT_EQ(vkCreateDevice(physical, &info, nullptr, &other), VK_ERROR_EXTENSION_NOT_PRESENT);
   VkPhysicalDeviceFeatures features = {.geometryShader = VK_TRUE};
   info.enabledExtensionCount = 0;
   info.pEnabledFeatures = &features;
   EXPECT_EQ(vkCreateDevice(physical, &info, nullptr, &other), VK_ERROR_FEATURE_NOT_PRESENT);
}

/// The commands of Vulkan 1.4 by their older names; core_version_test.cc has the newer ones.
TEST_F(QueryTest, CommandsOfExtensionsHaveAddresses)
{
   for (const char *name :
        {"vkMapMemory2KHR", "vkUnmapMemory2KHR", "vkGetDeviceImageSubresourceLayoutKHR",
         "vkGetImageSubresourceLayout2KHR", "vkCopyMemoryToImageEXT", "vkCopyImageToMemoryEXT",
         "vkCopyImageToImageEXT", "vkTransitionImageLayoutEXT", "vkCmdPushDescriptorSetKHR",
         "vkCmdPushDescriptorSetWithTemplateKHR", "vkCmdBindDescriptorSets2KHR",
         "vkCmdPushConstants2KHR", "vkCmdPushDescriptorSet2KHR",
         "vkCmdPushDescriptorSetWithTemplate2KHR", "vkCmdSetLineStippleKHR",
         "vkCmdBindIndexBuffer2KHR", "vkGetRenderingAreaGranularityKHR",
         "vkCmdSetRenderingAttachmentLocationsKHR", "vkCmdSetRenderingInputAttachmentIndicesKHR"})
      EXPECT_NE(vkGetDeviceProcAddr(device, name), nullptr) << name;
   EXPECT_EQ(vkGetDeviceProcAddr(device, "vkCmdDrawMeshTasksEXT"), nullptr);
}

TEST_F(QueryTest, DescriptorLayoutSupport)
{
   auto supported = [&](VkDescriptorType type, uint32_t count) {
      VkDescriptorSetLayoutBinding b = binding(3, type, count);
      VkDescriptorSetLayoutCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
         .bindingCount = 1,
         .pBindings = &b,
      };
      VkDescriptorSetLayoutSupport support = {.sType =
                                                 VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_SUPPORT};
      vkGetDescriptorSetLayoutSupport(device, &info, &support);
      return support.supported == VK_TRUE;
   };
   EXPECT_TRUE(supported(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1000));
   EXPECT_TRUE(supported(VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 256));
   EXPECT_TRUE(supported(VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1000));
   EXPECT_TRUE(supported(VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1000));
   EXPECT_FALSE(supported(VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, 1));
   EXPECT_FALSE(supported(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, UINT32_MAX));
}

} // namespace weft::icd_test
