// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/graphics_queue.h"
#include "icd/physical_device.h"
#include "icd/settings.h"

#include "backend/cpu/compiler.h"

namespace weft {
namespace {

/// Features of shaders.
void get_shader_features(vk_features *f)
{
   f->shaderFloat64 = true;
   f->shaderInt64 = true;
   f->shaderInt16 = !settings().hides_int16;
   f->shaderFloat16 = !settings().hides_float16;
   f->shaderInt8 = !settings().hides_int8;

   const bool has_storage16 = !settings().hides_storage16,
              has_storage8 = !settings().hides_storage8;
   f->storageBuffer16BitAccess = has_storage16;
   f->uniformAndStorageBuffer16BitAccess = has_storage16;
   f->storagePushConstant16 = has_storage16;
   f->storageBuffer8BitAccess = has_storage8;
   f->uniformAndStorageBuffer8BitAccess = has_storage8;
   f->storagePushConstant8 = has_storage8;
   f->scalarBlockLayout = true;
   f->shaderFloatControls2 = true;
   f->uniformBufferStandardLayout = true;

   f->variablePointers = true;
   f->variablePointersStorageBuffer = true;
   f->bufferDeviceAddress = true;
   f->bufferDeviceAddressCaptureReplay = true;
   f->shaderUniformBufferArrayDynamicIndexing = true;
   f->shaderStorageBufferArrayDynamicIndexing = true;
   f->shaderUniformBufferArrayNonUniformIndexing = true;
   f->shaderStorageBufferArrayNonUniformIndexing = true;
   f->shaderUniformTexelBufferArrayDynamicIndexing = true;
   f->shaderStorageTexelBufferArrayDynamicIndexing = true;
   f->shaderUniformTexelBufferArrayNonUniformIndexing = true;
   f->shaderStorageTexelBufferArrayNonUniformIndexing = true;
   f->imageCubeArray = true;
   f->shaderImageGatherExtended = true;
   f->shaderSampledImageArrayDynamicIndexing = true;
   f->shaderSampledImageArrayNonUniformIndexing = true;
   f->textureCompressionBC = true;
   f->formatA4R4G4B4 = true;
   f->formatA4B4G4R4 = true;
   f->samplerMirrorClampToEdge = true;
   f->nonSeamlessCubeMap = true;
   f->samplerAnisotropy = true;
   f->samplerYcbcrConversion = true;
   f->ycbcrImageArrays = true;
   f->samplerFilterMinmax = true;
   f->customBorderColors = true;
   f->customBorderColorWithoutFormat = true;
   f->borderColorSwizzle = true;
   f->borderColorSwizzleFromImage = true;
   f->shaderStorageImageArrayDynamicIndexing = true;
   f->shaderStorageImageArrayNonUniformIndexing = true;
   f->shaderStorageImageExtendedFormats = true;
   f->shaderResourceMinLod = true;
   f->shaderResourceResidency = true;
   f->shaderStorageImageReadWithoutFormat = true;
   f->shaderStorageImageWriteWithoutFormat = true;
   f->runtimeDescriptorArray = true;

   f->shaderBufferInt64Atomics = true;
   f->shaderSharedInt64Atomics = true;
   f->shaderBufferFloat32Atomics = true;
   f->shaderBufferFloat32AtomicAdd = true;
   f->shaderBufferFloat32AtomicMinMax = true;
   f->shaderBufferFloat64Atomics = true;
   f->shaderBufferFloat64AtomicAdd = true;
   f->shaderBufferFloat64AtomicMinMax = true;
   f->shaderImageInt64Atomics = true;
   f->shaderImageFloat32Atomics = true;
   f->shaderImageFloat32AtomicAdd = true;
   f->shaderImageFloat32AtomicMinMax = true;
   f->sparseImageInt64Atomics = true;
   f->sparseImageFloat32Atomics = true;
   f->sparseImageFloat32AtomicAdd = true;
   f->sparseImageFloat32AtomicMinMax = true;
   f->shaderSharedFloat32Atomics = true;
   f->shaderSharedFloat32AtomicAdd = true;
   f->shaderSharedFloat32AtomicMinMax = true;
   f->shaderSharedFloat64Atomics = true;
   f->shaderSharedFloat64AtomicAdd = true;
   f->shaderSharedFloat64AtomicMinMax = true;

   f->vulkanMemoryModel = true;
   f->vulkanMemoryModelDeviceScope = true;
   f->vulkanMemoryModelAvailabilityVisibilityChains = true;

   f->subgroupSizeControl = f->computeFullSubgroups = !settings().hides_subgroup_sizes;
   f->subgroupBroadcastDynamicId = true;
   f->shaderSubgroupExtendedTypes = true;
   f->shaderSubgroupUniformControlFlow = true;
   f->shaderMaximalReconvergence = true;
   f->shaderQuadControl = true;
   f->computeDerivativeGroupQuads = true;
   f->computeDerivativeGroupLinear = true;
   f->shaderSubgroupRotate = true;
   f->shaderSubgroupRotateClustered = true;

   f->shaderExpectAssume = true;
   f->shaderReplicatedComposites = true;
   f->shaderSubgroupClock = true;
   f->shaderDeviceClock = true;
   f->shaderIntegerDotProduct = true;
   f->shaderZeroInitializeWorkgroupMemory = true;
   f->workgroupMemoryExplicitLayout = true;
   f->workgroupMemoryExplicitLayoutScalarBlockLayout = true;
   f->workgroupMemoryExplicitLayout8BitAccess = true;
   f->workgroupMemoryExplicitLayout16BitAccess = true;
}

/// Features of the matrix extensions that are listed.
void get_matrix_features(const vk_device_extension_table &e, vk_features *f)
{
   f->cooperativeMatrix = e.KHR_cooperative_matrix;
   f->cooperativeMatrixRobustBufferAccess = e.KHR_cooperative_matrix;
   f->cooperativeMatrixNV = e.NV_cooperative_matrix;
   f->cooperativeMatrixRobustBufferAccessNV = e.NV_cooperative_matrix;
   f->cooperativeMatrixConversion = e.QCOM_cooperative_matrix_conversion;
   f->cooperativeMatrixArmLayouts = e.ARM_cooperative_matrix_layouts;

   f->shaderBFloat16Type = e.KHR_shader_bfloat16;
   f->shaderBFloat16DotProduct = e.KHR_shader_bfloat16;
   f->shaderBFloat16CooperativeMatrix = e.KHR_shader_bfloat16;
   f->shaderFloat8 = e.EXT_shader_float8;
   f->shaderFloat8CooperativeMatrix = e.EXT_shader_float8;

   f->cooperativeMatrixWorkgroupScope = e.NV_cooperative_matrix2;
   f->cooperativeMatrixFlexibleDimensions = e.NV_cooperative_matrix2;
   f->cooperativeMatrixReductions = e.NV_cooperative_matrix2;
   f->cooperativeMatrixConversions = e.NV_cooperative_matrix2;
   f->cooperativeMatrixPerElementOperations = e.NV_cooperative_matrix2;
   f->cooperativeMatrixTensorAddressing = e.NV_cooperative_matrix2;
   f->cooperativeMatrixBlockLoads = e.NV_cooperative_matrix2;
   f->cooperativeMatrixDecodeVector = e.NV_cooperative_matrix_decode_vector;

   f->cooperativeMatrixProperties2 = e.EXT_cooperative_matrix_maintenance1;
   f->cooperativeMatrixReductionsEXT = e.EXT_cooperative_matrix_maintenance1;
   f->cooperativeMatrixConversionsEXT = e.EXT_cooperative_matrix_maintenance1;
   f->cooperativeMatrixPerElementOperationsEXT = e.EXT_cooperative_matrix_maintenance1;
   f->cooperativeMatrixGetCoordinate = e.EXT_cooperative_matrix_maintenance1;
}

/// Features of the API.
void get_api_features(vk_features *f)
{
   f->robustBufferAccess = true;
   f->robustImageAccess = true;
   f->pipelineRobustness = true;
   f->nullDescriptor = true;
   f->robustBufferAccess2 = true;
   f->robustImageAccess2 = true;

   f->descriptorIndexing = true;
   f->descriptorBindingUniformBufferUpdateAfterBind = true;
   f->descriptorBindingStorageBufferUpdateAfterBind = true;
   f->descriptorBindingUniformTexelBufferUpdateAfterBind = true;
   f->descriptorBindingStorageTexelBufferUpdateAfterBind = true;
   f->descriptorBindingSampledImageUpdateAfterBind = true;
   f->descriptorBindingStorageImageUpdateAfterBind = true;
   f->descriptorBindingUpdateUnusedWhilePending = true;
   f->descriptorBindingPartiallyBound = true;
   f->descriptorBindingVariableDescriptorCount = true;
   f->descriptorBuffer = true;
   f->descriptorBufferCaptureReplay = true;
   f->descriptorBufferImageLayoutIgnored = true;
   f->descriptorBufferPushDescriptors = true;
   f->deviceGeneratedCommands = true;
   f->dynamicGeneratedPipelineLayout = true;
   f->inlineUniformBlock = true;
   f->descriptorBindingInlineUniformBlockUpdateAfterBind = true;

   f->conditionalRendering = true;
   f->inheritedConditionalRendering = true;
   f->indirectMemoryCopy = true;
   f->indirectMemoryToImageCopy = true;
   f->unifiedImageLayouts = true; // no layout means anything
   f->globalPriorityQuery = true;
   f->hostImageCopy = true;
   f->hostQueryReset = true;
   f->pipelineStatisticsQuery = true;
   f->inheritedQueries = true;
   f->timelineSemaphore = true;
   f->synchronization2 = true;
   f->privateData = true;
   f->pushDescriptor = true;
   f->maintenance4 = true;
   f->maintenance5 = true;
   f->maintenance6 = true;
   f->maintenance7 = true;
   f->maintenance8 = true;
   f->maintenance9 = true;
   f->maintenance10 = true;
   f->nestedCommandBuffer = true;
   f->nestedCommandBufferRendering = false;
   f->nestedCommandBufferSimultaneousUse = true;
   f->pipelineCreationCacheControl = true;
   f->pipelineExecutableInfo = true;
   f->pipelineBinaries = true;
   f->shaderObject = true;
   f->memoryPriority = true;
   f->mutableDescriptorType = true;
   f->pageableDeviceLocalMemory = true;
   f->image2DViewOf3D = true;
   f->sampler2DViewOf3D = true;
   f->imageSlicedViewOf3D = true;
   f->sparseBinding = true;
   f->sparseResidencyBuffer = true;
   f->sparseResidencyImage2D = true;
   f->sparseResidencyImage3D = true;
   f->sparseResidencyAliased = true;
   f->shaderRelaxedExtendedInstruction = true;
   f->texelBufferAlignment = true;
   f->zeroInitializeDeviceMemory = true;
}

/// Features of images and graphics that every device with Vulkan 1.4 must report ("Feature
/// Requirements"), or that programs expect. They are vacuous, because the queue has no graphics.
void get_vacuous_features(vk_features *f)
{
   f->multiview = true;
   f->imagelessFramebuffer = true;
   f->separateDepthStencilLayouts = true;
   f->dynamicRendering = true;
   f->shaderDemoteToHelperInvocation = true;
   f->shaderTerminateInvocation = true;

   // Vulkan 1.4
   f->fullDrawIndexUint32 = true;
   f->independentBlend = true;
   f->sampleRateShading = true;
   f->drawIndirectFirstInstance = true;
   f->depthClamp = true;
   f->depthBiasClamp = true;
   f->largePoints = true;
   f->bresenhamLines = true;
   f->vertexAttributeInstanceRateDivisor = true;
   f->indexTypeUint8 = true;
   f->dynamicRenderingLocalRead = true;

   // Khronos' validation layers instrument shaders (printf, checks of accesses) only on devices
   // with these features, even for programs with compute stages only.
   f->fragmentStoresAndAtomics = true;
   f->vertexPipelineStoresAndAtomics = true;
}

} // namespace

void get_device_features(const vk_device_extension_table &extensions, vk_features *f)
{
   get_shader_features(f);
   get_matrix_features(extensions, f);
   get_api_features(f);
   get_vacuous_features(f);
   get_graphics_features(f);
}

} // namespace weft
