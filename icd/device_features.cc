// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/physical_device.h"
#include "icd/settings.h"

#include "backend/cpu/compiler.h"

namespace weft {
namespace {

/// What shaders may use.
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
   f->uniformBufferStandardLayout = true;

   f->variablePointers = true;
   f->variablePointersStorageBuffer = true;
   f->bufferDeviceAddress = true;
   f->shaderUniformBufferArrayDynamicIndexing = true;
   f->shaderStorageBufferArrayDynamicIndexing = true;
   f->shaderUniformBufferArrayNonUniformIndexing = true;
   f->shaderStorageBufferArrayNonUniformIndexing = true;
   f->runtimeDescriptorArray = true;

   f->shaderBufferInt64Atomics = true;
   f->shaderSharedInt64Atomics = true;
   f->shaderBufferFloat32Atomics = true;
   f->shaderBufferFloat32AtomicAdd = true;
   f->shaderBufferFloat32AtomicMinMax = true;
   f->shaderBufferFloat64Atomics = true;
   f->shaderBufferFloat64AtomicAdd = true;
   f->shaderBufferFloat64AtomicMinMax = true;
   f->shaderSharedFloat32Atomics = true;
   f->shaderSharedFloat32AtomicAdd = true;
   f->shaderSharedFloat32AtomicMinMax = true;
   f->shaderSharedFloat64Atomics = true;
   f->shaderSharedFloat64AtomicAdd = true;
   f->shaderSharedFloat64AtomicMinMax = true;

   f->vulkanMemoryModel = true;
   f->vulkanMemoryModelDeviceScope = true;
   f->vulkanMemoryModelAvailabilityVisibilityChains = true;

   f->subgroupSizeControl = true;
   f->computeFullSubgroups = true;
   f->subgroupBroadcastDynamicId = true;
   f->shaderSubgroupExtendedTypes = true;
   f->shaderSubgroupRotate = true;
   f->shaderSubgroupRotateClustered = true;

   f->shaderExpectAssume = true;
   f->shaderIntegerDotProduct = true;
   f->shaderZeroInitializeWorkgroupMemory = true;
   f->workgroupMemoryExplicitLayout = true;
   f->workgroupMemoryExplicitLayoutScalarBlockLayout = true;
   f->workgroupMemoryExplicitLayout8BitAccess = true;
   f->workgroupMemoryExplicitLayout16BitAccess = true;

   f->cooperativeMatrix = !advertised_matrices().operations.empty();
   f->cooperativeMatrixRobustBufferAccess = f->cooperativeMatrix;
   f->cooperativeMatrixNV = f->cooperativeMatrix;
   f->cooperativeMatrixRobustBufferAccessNV = f->cooperativeMatrix;
   f->cooperativeMatrixConversion = f->cooperativeMatrix;
   f->cooperativeMatrixArmLayouts = f->cooperativeMatrix;

   f->shaderBFloat16Type = advertises_matrices_of(ComponentType::bf16);
   f->shaderBFloat16DotProduct = f->shaderBFloat16Type;
   f->shaderBFloat16CooperativeMatrix = f->shaderBFloat16Type;
   f->shaderFloat8 = advertises_matrices_of(ComponentType::e4m3);
   f->shaderFloat8CooperativeMatrix = f->shaderFloat8;

   // VK_NV_cooperative_matrix2 and what extends it, VK_EXT_cooperative_matrix_maintenance1
   f->cooperativeMatrixWorkgroupScope = f->cooperativeMatrix;
   f->cooperativeMatrixFlexibleDimensions = f->cooperativeMatrix;
   f->cooperativeMatrixReductions = f->cooperativeMatrix;
   f->cooperativeMatrixReductionsEXT = f->cooperativeMatrix;
   f->cooperativeMatrixConversions = f->cooperativeMatrix;
   f->cooperativeMatrixConversionsEXT = f->cooperativeMatrix;
   f->cooperativeMatrixPerElementOperations = f->cooperativeMatrix;
   f->cooperativeMatrixTensorAddressing = f->cooperativeMatrix;
   f->cooperativeMatrixBlockLoads = f->cooperativeMatrix;
   f->cooperativeMatrixDecodeVector = f->cooperativeMatrix;
   f->cooperativeMatrixPerElementOperationsEXT = f->cooperativeMatrix;
   f->cooperativeMatrixGetCoordinate = f->cooperativeMatrix;
   f->cooperativeMatrixProperties2 = f->cooperativeMatrix;
}

/// What the API may be used for.
void get_api_features(vk_features *f)
{
   f->robustBufferAccess = true;
   f->pipelineRobustness = true;
   f->nullDescriptor = true;

   f->descriptorBindingUniformBufferUpdateAfterBind = true;
   f->descriptorBindingStorageBufferUpdateAfterBind = true;
   f->descriptorBindingUpdateUnusedWhilePending = true;
   f->descriptorBindingPartiallyBound = true;
   f->descriptorBindingVariableDescriptorCount = true;
   f->inlineUniformBlock = true;
   f->descriptorBindingInlineUniformBlockUpdateAfterBind = true;

   f->hostQueryReset = true;
   f->timelineSemaphore = true;
   f->synchronization2 = true;
   f->privateData = true;
   f->maintenance4 = true;
   f->maintenance5 = true;
   f->maintenance6 = true;
   f->nestedCommandBuffer = true;
   f->nestedCommandBufferRendering = false;
   f->nestedCommandBufferSimultaneousUse = true;
   f->pipelineCreationCacheControl = true;
   f->pipelineExecutableInfo = true;
}

/// Features of images and graphics that every Vulkan 1.3 device must report ("Feature
/// Requirements"), or that programs expect. With no image format and no graphics queue there is
/// nothing they could be used with.
void get_vacuous_features(vk_features *f)
{
   f->multiview = true;
   f->imagelessFramebuffer = true;
   f->separateDepthStencilLayouts = true;
   f->robustImageAccess = true;
   f->dynamicRendering = true;
   f->shaderDemoteToHelperInvocation = true;
   f->shaderTerminateInvocation = true;

   // Khronos' validation layers instrument shaders (printf, checks of accesses) only on devices
   // with these, whatever stages the program has.
   f->fragmentStoresAndAtomics = true;
   f->vertexPipelineStoresAndAtomics = true;
}

} // namespace

void get_device_features(vk_features *f)
{
   get_shader_features(f);
   get_api_features(f);
   get_vacuous_features(f);
}

} // namespace weft
