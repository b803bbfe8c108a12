// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Limits and features that Vulkan 1.4 requires, of graphics too (Vulkan, "Required Limits" and
/// "Vulkan Version 1.4").

#include "tests/icd/fixture.h"

#include <utility>
#include <vector>

namespace weft::icd_test {

namespace {

enum class Bound { at_least, at_most };

struct Limit {
   const char *name;
   double value;
   Bound bound;
   double required;
};

/// The limits whose value is a number.
std::vector<Limit> limits_of(const VkPhysicalDeviceLimits &l)
{
#define MIN(member, value) {#member, double(l.member), Bound::at_least, double(value)}
#define MAX(member, value) {#member, double(l.member), Bound::at_most, double(value)}
   return {
      MIN(maxImageDimension1D, 8192),
      MIN(maxImageDimension2D, 8192),
      MIN(maxImageDimension3D, 512),
      MIN(maxImageDimensionCube, 8192),
      MIN(maxImageArrayLayers, 2048),
      MIN(maxTexelBufferElements, 65536),
      MIN(maxUniformBufferRange, 65536),
      MIN(maxStorageBufferRange, 1 << 27),
      MIN(maxPushConstantsSize, 256),
      MIN(maxMemoryAllocationCount, 4096),
      MIN(maxSamplerAllocationCount, 4000),
      MAX(bufferImageGranularity, 4096),
      MIN(maxBoundDescriptorSets, 7),
      MIN(maxPerStageDescriptorSamplers, 16),
      MIN(maxPerStageDescriptorUniformBuffers, 15),
      MIN(maxPerStageDescriptorStorageBuffers, 4),
      MIN(maxPerStageDescriptorSampledImages, 16),
      MIN(maxPerStageDescriptorStorageImages, 4),
      MIN(maxPerStageDescriptorInputAttachments, 4),
      MIN(maxPerStageResources, 200),
      MIN(maxDescriptorSetSamplers, 96),
      MIN(maxDescriptorSetUniformBuffers, 90),
      MIN(maxDescriptorSetUniformBuffersDynamic, 8),
      MIN(maxDescriptorSetStorageBuffers, 96),
      MIN(maxDescriptorSetStorageBuffersDynamic, 4),
      MIN(maxDescriptorSetSampledImages, 96),
      MIN(maxDescriptorSetStorageImages, 144),
      MIN(maxDescriptorSetInputAttachments, 4),
      MIN(maxVertexInputAttributes, 16),
      MIN(maxVertexInputBindings, 16),
      MIN(maxVertexInputAttributeOffset, 2047),
      MIN(maxVertexInputBindingStride, 2048),
      MIN(maxVertexOutputComponents, 64),
      MIN(maxFragmentInputComponents, 64),
      MIN(maxFragmentOutputAttachments, 4),
      MIN(maxFragmentDualSrcAttachments, 1),
      MIN(maxFragmentCombinedOutputResources, 16),
      MIN(maxComputeSharedMemorySize, 16384),
      MIN(maxComputeWorkGroupCount[0], 65535),
      MIN(maxComputeWorkGroupCount[1], 65535),
      MIN(maxComputeWorkGroupCount[2], 65535),
      MIN(maxComputeWorkGroupInvocations, 256),
      MIN(maxComputeWorkGroupSize[0], 256),
      MIN(maxComputeWorkGroupSize[1], 256),
      MIN(maxComputeWorkGroupSize[2], 64),
      MIN(subPixelPrecisionBits, 4),
      MIN(subTexelPrecisionBits, 8),
      MIN(mipmapPrecisionBits, 6),
      MIN(maxDrawIndexedIndexValue, UINT32_MAX),
      MIN(maxDrawIndirectCount, 65535),
      MIN(maxSamplerLodBias, 14),
      MIN(maxSamplerAnisotropy, 16),
      MIN(maxViewports, 1),
      MIN(maxViewportDimensions[0], 7680),
      MIN(maxViewportDimensions[1], 7680),
      MAX(viewportBoundsRange[0], -15360),
      MIN(viewportBoundsRange[1], 15359),
      MIN(minMemoryMapAlignment, 64),
      MAX(minTexelBufferOffsetAlignment, 256),
      MAX(minUniformBufferOffsetAlignment, 256),
      MAX(minStorageBufferOffsetAlignment, 256),
      MAX(minTexelOffset, -8),
      MIN(maxTexelOffset, 7),
      MAX(minTexelGatherOffset, -8),
      MIN(maxTexelGatherOffset, 7),
      MAX(minInterpolationOffset, -0.5),
      MIN(maxInterpolationOffset, 0.4375),
      MIN(subPixelInterpolationOffsetBits, 4),
      MIN(maxFramebufferWidth, 7680),
      MIN(maxFramebufferHeight, 7680),
      MIN(maxFramebufferLayers, 256),
      MIN(maxColorAttachments, 8),
      MIN(maxSampleMaskWords, 1),
      MIN(timestampComputeAndGraphics, 1),
      MIN(discreteQueuePriorities, 2),
      MAX(pointSizeRange[0], 1),
      MIN(pointSizeRange[1], 256 - l.pointSizeGranularity),
      MAX(pointSizeGranularity, 0.125),
      MAX(lineWidthRange[0], 1),
      MIN(lineWidthRange[1], 1),
      MAX(lineWidthGranularity, 0),
      MIN(standardSampleLocations, 1),
      MAX(nonCoherentAtomSize, 256),
   };
#undef MIN
#undef MAX
}

class LimitTest : public IcdTest {};

} // namespace

TEST_F(LimitTest, NumbersOfVulkan14)
{
   VkPhysicalDeviceProperties properties;
   vkGetPhysicalDeviceProperties(physical, &properties);
   for (const Limit &limit : limits_of(properties.limits)) {
      if (limit.bound == Bound::at_least)
         EXPECT_GE(limit.value, limit.required) << limit.name;
      else
         EXPECT_LE(limit.value, limit.required) << limit.name;
   }
   const VkPhysicalDeviceLimits &l = properties.limits;
   constexpr VkSampleCountFlags one_and_four = VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT;
   for (VkSampleCountFlags counts :
        {l.framebufferColorSampleCounts, l.framebufferDepthSampleCounts,
         l.framebufferStencilSampleCounts, l.framebufferNoAttachmentsSampleCounts,
         l.sampledImageColorSampleCounts, l.sampledImageDepthSampleCounts,
         l.sampledImageStencilSampleCounts})
      EXPECT_EQ(counts & one_and_four, one_and_four);
   for (VkSampleCountFlags counts : {l.sampledImageIntegerSampleCounts, l.storageImageSampleCounts})
      EXPECT_TRUE(counts & VK_SAMPLE_COUNT_1_BIT);
}

TEST_F(LimitTest, PropertiesOfVulkan14)
{
   VkPhysicalDeviceVulkan14Properties p14 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_PROPERTIES};
   VkPhysicalDeviceVulkan12Properties p12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES, .pNext = &p14};
   VkPhysicalDeviceVulkan11Properties p11 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, .pNext = &p12};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &p11};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   constexpr VkSubgroupFeatureFlags clustered =
      VK_SUBGROUP_FEATURE_CLUSTERED_BIT | VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR;
   EXPECT_EQ(p11.subgroupSupportedOperations & clustered, clustered);
   EXPECT_GE(p11.subgroupSize, 4u);
   EXPECT_GE(p11.maxMultiviewViewCount, 6u);
   EXPECT_GE(p11.maxPerSetDescriptors, 1024u);
   EXPECT_GE(p11.maxMemoryAllocationSize, 1u << 30);
   EXPECT_TRUE(p12.shaderSignedZeroInfNanPreserveFloat16);
   EXPECT_TRUE(p12.shaderSignedZeroInfNanPreserveFloat32);
   EXPECT_GE(p14.lineSubPixelPrecisionBits, 4u);
   EXPECT_GE(p14.maxVertexAttribDivisor, 65535u);
   EXPECT_GE(p14.maxPushDescriptors, 32u);
   EXPECT_GE(p14.maxCombinedImageSamplerDescriptorCount, 1u);
   // VK_KHR_dynamic_rendering_local_read is listed, so both are supported.
   EXPECT_TRUE(p14.dynamicRenderingLocalReadDepthStencilAttachments);
   EXPECT_TRUE(p14.dynamicRenderingLocalReadMultisampledAttachments);
   EXPECT_GT(p14.copySrcLayoutCount, 0u);
   EXPECT_GT(p14.copyDstLayoutCount, 0u);
}

TEST_F(LimitTest, FeaturesOfVulkan14)
{
   VkPhysicalDeviceVulkan14Features f14 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_FEATURES};
   VkPhysicalDeviceVulkan12Features f12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &f14};
   VkPhysicalDeviceVulkan11Features f11 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &f12};
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &f11};
   vkGetPhysicalDeviceFeatures2(physical, &features);
   const VkPhysicalDeviceFeatures &f = features.features;
#define FEATURE(set, member)                                                                       \
   std::pair<const char *, VkBool32>                                                               \
   {                                                                                               \
      #member, (set).member                                                                        \
   }
   for (const auto &[name, value] : {FEATURE(f, fullDrawIndexUint32),
                                     FEATURE(f, imageCubeArray),
                                     FEATURE(f, independentBlend),
                                     FEATURE(f, sampleRateShading),
                                     FEATURE(f, drawIndirectFirstInstance),
                                     FEATURE(f, depthClamp),
                                     FEATURE(f, depthBiasClamp),
                                     FEATURE(f, samplerAnisotropy),
                                     FEATURE(f, fragmentStoresAndAtomics),
                                     FEATURE(f, shaderStorageImageExtendedFormats),
                                     FEATURE(f, shaderUniformBufferArrayDynamicIndexing),
                                     FEATURE(f, shaderSampledImageArrayDynamicIndexing),
                                     FEATURE(f, shaderStorageBufferArrayDynamicIndexing),
                                     FEATURE(f, shaderStorageImageArrayDynamicIndexing),
                                     FEATURE(f, shaderImageGatherExtended),
                                     FEATURE(f, shaderInt16),
                                     FEATURE(f, largePoints),
                                     FEATURE(f11, samplerYcbcrConversion),
                                     FEATURE(f11, storageBuffer16BitAccess),
                                     FEATURE(f11, variablePointers),
                                     FEATURE(f11, variablePointersStorageBuffer),
                                     FEATURE(f12, samplerMirrorClampToEdge),
                                     FEATURE(f12, scalarBlockLayout),
                                     FEATURE(f12, shaderUniformTexelBufferArrayDynamicIndexing),
                                     FEATURE(f12, shaderStorageTexelBufferArrayDynamicIndexing),
                                     FEATURE(f12, shaderInt8),
                                     FEATURE(f12, storageBuffer8BitAccess),
                                     FEATURE(f14, globalPriorityQuery),
                                     FEATURE(f14, shaderSubgroupRotate),
                                     FEATURE(f14, shaderSubgroupRotateClustered),
                                     FEATURE(f14, shaderFloatControls2),
                                     FEATURE(f14, shaderExpectAssume),
                                     FEATURE(f14, bresenhamLines),
                                     FEATURE(f14, vertexAttributeInstanceRateDivisor),
                                     FEATURE(f14, indexTypeUint8),
                                     FEATURE(f14, dynamicRenderingLocalRead),
                                     FEATURE(f14, maintenance5),
                                     FEATURE(f14, maintenance6),
                                     FEATURE(f14, pipelineRobustness),
                                     FEATURE(f14, hostImageCopy),
                                     FEATURE(f14, pushDescriptor)})
      EXPECT_TRUE(value) << name;
#undef FEATURE
}

TEST_F(LimitTest, OneGlobalPriority)
{
   VkQueueFamilyGlobalPriorityPropertiesKHR priorities = {
      .sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_GLOBAL_PRIORITY_PROPERTIES_KHR};
   VkQueueFamilyProperties2 family = {.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2,
                                      .pNext = &priorities};
   uint32_t count = 1;
   vkGetPhysicalDeviceQueueFamilyProperties2(physical, &count, &family);
   ASSERT_EQ(priorities.priorityCount, 1u);
   EXPECT_EQ(priorities.priorities[0], VK_QUEUE_GLOBAL_PRIORITY_MEDIUM_KHR);

   const auto create = [&](VkQueueGlobalPriorityKHR priority, bool has_feature) {
      const VkDeviceQueueGlobalPriorityCreateInfoKHR global = {
         .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR,
         .globalPriority = priority};
      const float one = 1;
      const VkDeviceQueueCreateInfo queue_info = {.sType =
                                                     VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                                  .pNext = &global,
                                                  .queueCount = 1,
                                                  .pQueuePriorities = &one};
      const VkPhysicalDeviceGlobalPriorityQueryFeaturesKHR feature = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GLOBAL_PRIORITY_QUERY_FEATURES_KHR,
         .globalPriorityQuery = has_feature};
      const char *extension = VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME;
      const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                       .pNext = &feature,
                                       .queueCreateInfoCount = 1,
                                       .pQueueCreateInfos = &queue_info,
                                       .enabledExtensionCount = 1,
                                       .ppEnabledExtensionNames = &extension};
      VkDevice other = VK_NULL_HANDLE;
      const VkResult result = vkCreateDevice(physical, &info, nullptr, &other);
      if (result == VK_SUCCESS)
         vkDestroyDevice(other, nullptr);
      return result;
   };
   for (bool has_feature : {false, true})
      EXPECT_VK(create(VK_QUEUE_GLOBAL_PRIORITY_MEDIUM_KHR, has_feature));
   EXPECT_VK(create(VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR, false));
   EXPECT_EQ(create(VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR, false), VK_ERROR_NOT_PERMITTED_KHR);
   for (VkQueueGlobalPriorityKHR priority :
        {VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR, VK_QUEUE_GLOBAL_PRIORITY_REALTIME_KHR})
      EXPECT_EQ(create(priority, true), VK_ERROR_INITIALIZATION_FAILED);
}

/// Commands of graphics without draws.
TEST_F(LimitTest, CommandsWithoutDraws)
{
   VkCommandBuffer cmd = begin();
   device_function<PFN_vkCmdSetLineStippleKHR>("vkCmdSetLineStippleKHR")(cmd, 1, 0xffff);
   device_function<PFN_vkCmdBindIndexBuffer2KHR>("vkCmdBindIndexBuffer2KHR")(
      cmd, VK_NULL_HANDLE, 0, 0, VK_INDEX_TYPE_UINT8_KHR);
   const VkRenderingInfo rendering = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INFO, .renderArea = {{0, 0}, {1, 1}}, .layerCount = 1};
   vkCmdBeginRendering(cmd, &rendering);
   const uint32_t location = 0;
   const VkRenderingAttachmentLocationInfoKHR locations = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_LOCATION_INFO_KHR,
      .colorAttachmentCount = 1,
      .pColorAttachmentLocations = &location};
   device_function<PFN_vkCmdSetRenderingAttachmentLocationsKHR>(
      "vkCmdSetRenderingAttachmentLocationsKHR")(cmd, &locations);
   const VkRenderingInputAttachmentIndexInfoKHR indices = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INPUT_ATTACHMENT_INDEX_INFO_KHR,
      .colorAttachmentCount = 1,
      .pColorAttachmentInputIndices = &location};
   device_function<PFN_vkCmdSetRenderingInputAttachmentIndicesKHR>(
      "vkCmdSetRenderingInputAttachmentIndicesKHR")(cmd, &indices);
   vkCmdEndRendering(cmd);
   run(cmd);
}

} // namespace weft::icd_test
