// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/descriptor_set_layout.h"
#include "icd/device_pages.h"
#include "icd/graphics_queue.h"
#include "icd/image.h"
#include "icd/indirect_commands_layout.h"
#include "icd/indirect_execution_set.h"
#include "icd/physical_device.h"
#include "icd/planes.h"
#include "icd/program_binary.h"
#include "icd/settings.h"
#include "icd/sparse.h"

#include "backend/cpu/abi.h"
#include "backend/cpu/compiler.h"
#include "backend/cpu/options.h"
#include "nir_passes/compile_limits.h"
#include "nir_passes/images/texel_descriptor.h"
#include "vulkan_util/text.h"

#include "util/mesa-blake3.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace weft {
namespace {

/// VkPhysicalDeviceProperties::vendorID. Low numbers are PCI vendors, and this device is on no bus;
/// Khronos assigns numbers from 0x10000 on to vendors without a PCI number. Weft has no number, and
/// programs work around the bugs of vendors that they recognize. So it uses Khronos' own number
/// (VK_VENDOR_ID_KHRONOS), which stands for no hardware.
constexpr uint32_t vendor_id = 0x10000;
/// VkPhysicalDeviceProperties::deviceID: "WEFT" in ASCII; the vendor is free to choose.
constexpr uint32_t device_id = 0x57454654;

constexpr uint32_t max_shared_memory = 64 << 10;
constexpr uint32_t max_workgroup_invocations = 1024;
static_assert(max_shared_memory <= limits::shared_bytes &&
              max_workgroup_invocations <= limits::workgroup_invocations);
constexpr uint32_t min_subgroup_size = 8, max_subgroup_size = 64;
/// Descriptors are plain memory, so any limit works; this is more than programs need.
constexpr uint32_t max_descriptors = 1 << 20;
constexpr uint32_t max_inline_uniform_blocks = 16, max_inline_uniform_block_size = 4096;

/// Identical for all drivers, processes and boots of one machine, and different on another machine.
/// A hash of the CPU's name and of the machine's id (machine-id(5)), which must not be exposed
/// itself.
void get_device_uuid(uint8_t (&uuid)[VK_UUID_SIZE])
{
   std::string machine;
   std::getline(std::ifstream("/etc/machine-id"), machine);
   const std::string text = "Weft CPU device\n" + machine + "\n" + cpu::host_name();
   blake3_hash hash;
   _mesa_blake3_compute(text.data(), text.size(), hash);
   memcpy(uuid, hash, VK_UUID_SIZE);
}

void get_identity(vk_properties *p)
{
   p->apiVersion = api_version;
   p->driverVersion =
      VK_MAKE_API_VERSION(0, WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
   p->vendorID = vendor_id;
   p->deviceID = device_id;
   p->deviceType = settings().integrated_gpu ? VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU
                                             : VK_PHYSICAL_DEVICE_TYPE_CPU;
   const std::string cpu_name = cpu::host_description();
   copy_text(p->deviceName, ("Weft on " + cpu_name).c_str());

   std::array<std::byte, 16> uuid = cpu::cache_uuid();
   static_assert(sizeof(uuid) == VK_UUID_SIZE);
   memcpy(p->pipelineCacheUUID, uuid.data(), VK_UUID_SIZE);
   memcpy(p->driverUUID, uuid.data(), VK_UUID_SIZE);
   memcpy(p->shaderBinaryUUID, uuid.data(), VK_UUID_SIZE);
   p->shaderBinaryVersion = shader_binary_version;
   get_device_uuid(p->deviceUUID);

   // Weft has no VkDriverId; programs can read the name.
   p->driverID = VkDriverId(0);
   copy_text(p->driverName, "Weft");
   // "(AVX-512, VNNI)", the end of the device's name unless an identity is presented.
   const std::string instructions = cpu_name.substr(cpu_name.rfind('('));
   copy_text(
      p->driverInfo,
      ("Weft " WEFT_VERSION " (LLVM " WEFT_LLVM_VERSION "; " + instructions.substr(1)).c_str());
   p->conformanceVersion = {}; // not submitted

   if (const Identity *identity = settings().identity) {
      present_device(*identity, *p);
      present_driver(*identity, *p);
      if (cpu::options().has_debug("log"))
         fprintf(stderr, "weft: the device presents itself as %s\n", describe(*identity).c_str());
   }
}

/// Products of packed bytes are instructions (backend/cpu/codegen/emit/emit_dot.cc).
void get_dot_products(vk_properties *p)
{
   p->integerDotProduct4x8BitPackedUnsignedAccelerated = true;
   p->integerDotProduct4x8BitPackedSignedAccelerated = true;
   p->integerDotProduct4x8BitPackedMixedSignednessAccelerated = true;
   p->integerDotProductAccumulatingSaturating4x8BitPackedUnsignedAccelerated = true;
   p->integerDotProductAccumulatingSaturating4x8BitPackedSignedAccelerated = true;
   p->integerDotProductAccumulatingSaturating4x8BitPackedMixedSignednessAccelerated = true;
}

void get_compute_limits(vk_properties *p)
{
   p->maxComputeSharedMemorySize = max_shared_memory;
   p->maxComputeWorkGroupCount[0] = INT32_MAX;
   p->maxComputeWorkGroupCount[1] = UINT16_MAX;
   p->maxComputeWorkGroupCount[2] = UINT16_MAX;
   p->maxComputeWorkGroupInvocations = max_workgroup_invocations;
   std::fill_n(p->maxComputeWorkGroupSize, 3, max_workgroup_invocations);

   p->subgroupSize = settings().default_subgroup_size();
   p->subgroupSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
   // No fragment shader ever runs, but programs require subgroups in both kinds.
   if (settings().graphics_queue)
      p->subgroupSupportedStages |= VK_SHADER_STAGE_FRAGMENT_BIT;
   p->subgroupSupportedOperations =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
      VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT |
      VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT |
      VK_SUBGROUP_FEATURE_CLUSTERED_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT |
      VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR | VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR |
      VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV;
   p->subgroupQuadOperationsInAllStages = false;
   const SubgroupSizes sizes =
      presented_sizes({min_subgroup_size, max_subgroup_size}, settings().identity, p->subgroupSize);
   p->minSubgroupSize = sizes.min;
   p->maxSubgroupSize = sizes.max;
   p->maxComputeWorkgroupSubgroups = max_workgroup_invocations / min_subgroup_size;
   p->requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
   p->cooperativeMatrixSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
   p->cooperativeMatrixFlexibleDimensionsMaxDimension = cpu::max_matrix_dimension;
   p->cooperativeMatrixWorkgroupScopeMaxWorkgroupSize = matrix_workgroups.back();
   // Workgroup matrices use no part of maxComputeSharedMemorySize.
   p->cooperativeMatrixWorkgroupScopeReservedSharedMemory = 0;

   // The CPU's own behaviour: denormals are preserved, results rounded to nearest even.
   p->denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
   p->roundingModeIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
   p->shaderSignedZeroInfNanPreserveFloat16 = true;
   p->shaderSignedZeroInfNanPreserveFloat32 = true;
   p->shaderSignedZeroInfNanPreserveFloat64 = true;
   p->shaderDenormPreserveFloat16 = true;
   p->shaderDenormPreserveFloat32 = true;
   p->shaderDenormPreserveFloat64 = true;
   p->shaderRoundingModeRTEFloat16 = true;
   p->shaderRoundingModeRTEFloat32 = true;
   p->shaderRoundingModeRTEFloat64 = true;
}

void get_memory_limits(uint64_t heap_size, vk_properties *p)
{
   p->maxUniformBufferRange = limits::buffer_range;
   p->maxStorageBufferRange = limits::buffer_range;
   p->maxPushConstantsSize = max_push_constants_size;
   // Each allocation takes at least a page, and small ones share mappings.
   p->maxMemoryAllocationCount = uint32_t(std::min<uint64_t>(heap_size / page_size, UINT32_MAX));
   p->maxMemoryAllocationSize = heap_size;
   p->maxBufferSize = std::min(heap_size, max_buffer_size);
   p->bufferImageGranularity = 1;
   p->sparseAddressSpaceSize = sparse_addresses;
   p->sparseResidencyStandard2DBlockShape = true;
   p->minMemoryMapAlignment = page_size;
   p->minImportedHostPointerAlignment = page_size;
   p->maxImageDimension1D = max_image_extent;
   p->maxImageDimension2D = max_image_extent;
   p->maxImageDimension3D = max_image_depth;
   p->maxImageDimensionCube = max_image_extent;
   p->maxImageArrayLayers = max_image_layers;
   p->blockTexelViewCompatibleMultipleLayers = true;
   p->sampledImageColorSampleCounts = sample_counts;
   p->sampledImageIntegerSampleCounts = sample_counts;
   p->sampledImageDepthSampleCounts = sample_counts;
   p->sampledImageStencilSampleCounts = sample_counts;
   p->maxTexelBufferElements = max_texel_elements;
   p->minTexelBufferOffsetAlignment = 16;
   p->storageTexelBufferOffsetAlignmentBytes = 16;
   p->uniformTexelBufferOffsetAlignmentBytes = 16;
   p->minUniformBufferOffsetAlignment = 16;
   p->minStorageBufferOffsetAlignment = 16;
   p->optimalBufferCopyOffsetAlignment = memory_alignment;
   p->optimalBufferCopyRowPitchAlignment = memory_alignment;
   p->nonCoherentAtomSize = 64;
}

void get_descriptor_limits(vk_properties *p)
{
   p->maxBoundDescriptorSets = cpu::max_sets;
   p->maxPerSetDescriptors = max_descriptors;
   p->maxPushDescriptors = max_push_descriptors;
   p->maxPerStageResources = max_descriptors;
   p->maxPerStageUpdateAfterBindResources = max_descriptors;
   p->maxUpdateAfterBindDescriptorsInAllPools = UINT32_MAX;

   p->maxPerStageDescriptorUniformBuffers = max_descriptors;
   p->maxPerStageDescriptorUpdateAfterBindUniformBuffers = max_descriptors;
   p->maxDescriptorSetUniformBuffers = max_descriptors;
   p->maxDescriptorSetUpdateAfterBindUniformBuffers = max_descriptors;
   p->maxDescriptorSetUniformBuffersDynamic = max_dynamic_buffers;
   p->maxDescriptorSetUpdateAfterBindUniformBuffersDynamic = max_dynamic_buffers;
   p->maxDescriptorSetTotalUniformBuffersDynamic = max_dynamic_buffers;
   p->maxDescriptorSetUpdateAfterBindTotalUniformBuffersDynamic = max_dynamic_buffers;

   p->maxPerStageDescriptorStorageBuffers = max_descriptors;
   p->maxPerStageDescriptorUpdateAfterBindStorageBuffers = max_descriptors;
   p->maxDescriptorSetStorageBuffers = max_descriptors;
   p->maxDescriptorSetUpdateAfterBindStorageBuffers = max_descriptors;
   p->maxDescriptorSetStorageBuffersDynamic = max_dynamic_buffers;
   p->maxDescriptorSetUpdateAfterBindStorageBuffersDynamic = max_dynamic_buffers;
   p->maxDescriptorSetTotalStorageBuffersDynamic = max_dynamic_buffers;
   p->maxDescriptorSetUpdateAfterBindTotalStorageBuffersDynamic = max_dynamic_buffers;
   p->maxDescriptorSetTotalBuffersDynamic = 2 * max_dynamic_buffers;
   p->maxDescriptorSetUpdateAfterBindTotalBuffersDynamic = 2 * max_dynamic_buffers;

   p->maxPerStageDescriptorSampledImages = max_descriptors;
   p->maxPerStageDescriptorUpdateAfterBindSampledImages = max_descriptors;
   p->maxDescriptorSetSampledImages = max_descriptors;
   p->maxDescriptorSetUpdateAfterBindSampledImages = max_descriptors;
   p->maxPerStageDescriptorStorageImages = max_descriptors;
   p->maxPerStageDescriptorUpdateAfterBindStorageImages = max_descriptors;
   p->maxDescriptorSetStorageImages = max_descriptors;
   p->maxDescriptorSetUpdateAfterBindStorageImages = max_descriptors;

   p->maxPerStageDescriptorSamplers = max_descriptors;
   p->maxPerStageDescriptorUpdateAfterBindSamplers = max_descriptors;
   p->maxDescriptorSetSamplers = max_descriptors;
   p->maxDescriptorSetUpdateAfterBindSamplers = max_descriptors;

   p->maxInlineUniformBlockSize = max_inline_uniform_block_size;
   p->maxPerStageDescriptorInlineUniformBlocks = max_inline_uniform_blocks;
   p->maxPerStageDescriptorUpdateAfterBindInlineUniformBlocks = max_inline_uniform_blocks;
   p->maxDescriptorSetInlineUniformBlocks = max_inline_uniform_blocks;
   p->maxDescriptorSetUpdateAfterBindInlineUniformBlocks = max_inline_uniform_blocks;
   p->maxInlineUniformTotalSize = max_inline_uniform_blocks * max_inline_uniform_block_size;

   p->robustStorageBufferAccessSizeAlignment = 1;
   p->robustUniformBufferAccessSizeAlignment = 1;
   p->shaderUniformBufferArrayNonUniformIndexingNative = true;
   p->shaderStorageBufferArrayNonUniformIndexingNative = true;
   p->shaderSampledImageArrayNonUniformIndexingNative = true;
   p->shaderStorageImageArrayNonUniformIndexingNative = true;
   p->robustBufferAccessUpdateAfterBind = true;

   // Without robustness features, accesses are not checked.
   p->defaultRobustnessStorageBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT;
   p->defaultRobustnessUniformBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT;
   p->defaultRobustnessVertexInputs = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT;
   p->defaultRobustnessImages = VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_DISABLED_EXT;
}

/// A descriptor buffer is memory as any other.
void get_descriptor_buffer_properties(vk_properties *p)
{
   p->combinedImageSamplerDescriptorSingleArray = true;
   p->bufferlessPushDescriptors = true;
   p->allowSamplerImageViewPostSubmitCreation = true;
   p->descriptorBufferOffsetAlignment = host_alignment;
   p->maxDescriptorBufferBindings = max_descriptor_buffers;
   p->maxResourceDescriptorBufferBindings = max_descriptor_buffers;
   p->maxSamplerDescriptorBufferBindings = max_descriptor_buffers;
   p->maxEmbeddedImmutableSamplerBindings = cpu::max_sets;
   p->maxEmbeddedImmutableSamplers = max_descriptors;
   p->maxSamplerDescriptorBufferRange = max_buffer_size;
   p->maxResourceDescriptorBufferRange = max_buffer_size;
   p->samplerDescriptorBufferAddressSpaceSize = max_buffer_size;
   p->resourceDescriptorBufferAddressSpaceSize = max_buffer_size;
   p->descriptorBufferAddressSpaceSize = max_buffer_size;

   p->bufferCaptureReplayDescriptorDataSize = capture_bytes;
   p->imageCaptureReplayDescriptorDataSize = capture_bytes;
   p->imageViewCaptureReplayDescriptorDataSize = capture_bytes;
   p->samplerCaptureReplayDescriptorDataSize = capture_bytes;

   p->samplerDescriptorSize = descriptor_bytes(VK_DESCRIPTOR_TYPE_SAMPLER);
   p->combinedImageSamplerDescriptorSize =
      descriptor_bytes(VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER);
   p->sampledImageDescriptorSize = descriptor_bytes(VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE);
   p->storageImageDescriptorSize = descriptor_bytes(VK_DESCRIPTOR_TYPE_STORAGE_IMAGE);
   p->uniformTexelBufferDescriptorSize = p->robustUniformTexelBufferDescriptorSize =
      descriptor_bytes(VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER);
   p->storageTexelBufferDescriptorSize = p->robustStorageTexelBufferDescriptorSize =
      descriptor_bytes(VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER);
   p->uniformBufferDescriptorSize = p->robustUniformBufferDescriptorSize =
      descriptor_bytes(VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER);
   p->storageBufferDescriptorSize = p->robustStorageBufferDescriptorSize =
      descriptor_bytes(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
   p->inputAttachmentDescriptorSize = descriptor_bytes(VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT);
}

void get_generated_commands_limits(vk_properties *p)
{
   p->maxIndirectPipelineCount = max_execution_set_elements;
   p->maxIndirectShaderObjectCount = max_execution_set_elements;
   p->maxIndirectSequenceCount = UINT32_MAX;
   p->maxIndirectCommandsTokenCount = max_indirect_tokens;
   p->maxIndirectCommandsTokenOffset = UINT32_MAX;
   p->maxIndirectCommandsIndirectStride = UINT32_MAX;
   p->supportedIndirectCommandsShaderStages = VK_SHADER_STAGE_COMPUTE_BIT;
   p->supportedIndirectCommandsShaderStagesPipelineBinding = VK_SHADER_STAGE_COMPUTE_BIT;
   p->supportedIndirectCommandsShaderStagesShaderBinding = VK_SHADER_STAGE_COMPUTE_BIT;
}

/// Coordinates and weights of filters are computed in f32.
void get_sampler_limits(vk_properties *p)
{
   p->maxSamplerAllocationCount = 1 << 16;
   p->maxCustomBorderColorSamplers = p->maxSamplerAllocationCount;
   p->maxSamplerLodBias = max_lod_bias;
   p->maxSamplerAnisotropy = max_anisotropy;
   p->subTexelPrecisionBits = 8;
   p->mipmapPrecisionBits = 8;
   p->minTexelOffset = p->minTexelGatherOffset = -32;
   p->maxTexelOffset = p->maxTexelGatherOffset = 31;
   p->filterMinmaxSingleComponentFormats = true;
   p->filterMinmaxImageComponentMapping = true;
}

/// An image has the same memory in every layout.
void get_host_copy_properties(vk_properties *p)
{
   static VkImageLayout layouts[] = {
      VK_IMAGE_LAYOUT_PREINITIALIZED,
      VK_IMAGE_LAYOUT_GENERAL,
      VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
      VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
      VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL,
      VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
      VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
      VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL,
      VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL,
      VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL,
      VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL,
      VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL,
      VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL,
      VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL,
      VK_IMAGE_LAYOUT_ATTACHMENT_OPTIMAL,
   };
   p->pCopySrcLayouts = p->pCopyDstLayouts = layouts;
   p->copySrcLayoutCount = p->copyDstLayoutCount = uint32_t(std::size(layouts));
   p->identicalMemoryTypeRequirements = true;
   // The rows of image.h; a change of them needs another identifier.
   constexpr uint8_t rows[VK_UUID_SIZE] = "Weft, rows, 1";
   static_assert(sizeof(rows) == sizeof(p->optimalTilingLayoutUUID));
   memcpy(p->optimalTilingLayoutUUID, rows, sizeof(rows));
}

/// Limits of graphics, which this device lacks. They are zero, except for limits that
/// programs divide by and limits of mandatory features.
void get_absent_limits(vk_properties *p)
{
   p->pointSizeRange[0] = 1.0f;
   p->pointSizeRange[1] = 256.0f;
   p->lineWidthRange[0] = p->lineWidthRange[1] = 1.0f;
   p->maxMultiviewViewCount = 6;
   p->maxMultiviewInstanceIndex = (1 << 27) - 1;
   p->pointClippingBehavior = VK_POINT_CLIPPING_BEHAVIOR_ALL_CLIP_PLANES;
   p->supportedDepthResolveModes = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT;
   p->supportedStencilResolveModes = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT;
   p->independentResolve = p->independentResolveNone = true;
   p->framebufferIntegerColorSampleCounts = sample_counts;
}

} // namespace

void get_device_properties(uint64_t heap_size, vk_properties *p)
{
   get_identity(p);
   get_compute_limits(p);
   get_dot_products(p);
   get_memory_limits(heap_size, p);
   get_descriptor_limits(p);
   get_descriptor_buffer_properties(p);
   get_generated_commands_limits(p);
   get_sampler_limits(p);
   get_host_copy_properties(p);
   get_absent_limits(p);

   get_graphics_limits(p);
   // The cache of compiled shaders (VK_KHR_pipeline_binary).
   p->pipelineBinaryInternalCache = true;
   p->pipelineBinaryInternalCacheControl = true;
   p->image2DViewOf3DSparse = true;
   p->defaultVertexAttributeValue = VK_DEFAULT_VERTEX_ATTRIBUTE_VALUE_ZERO_ZERO_ZERO_ZERO_KHR;
   for (const VkQueueFlags family : queue_families())
      p->supportedQueues |= family;
   p->rgba4OpaqueBlackSwizzled = true;
   p->resolveSrgbFormatAppliesTransferFunction = true;
   p->maxCombinedImageSamplerDescriptorCount = converted_descriptors;
   p->maxCommandBufferNestingLevel = UINT32_MAX;
   p->discreteQueuePriorities = 2;
   p->timestampComputeAndGraphics = true;
   p->timestampPeriod = 1.0f; // nanoseconds
   p->maxTimelineSemaphoreValueDifference = UINT64_MAX;
}

} // namespace weft
