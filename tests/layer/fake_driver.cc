// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/layer/fake_driver.h"

#include "tests/layer/allocation.h"

#include <vulkan/vulkan_beta.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace weft::layer_test {

namespace {

FakeDriver *driver;

/// An object with what the loader would write into it: its dispatch table.
struct Dispatchable {
   const void *table;
};

template <typename Handle>
uint64_t number(Handle handle)
{
   return uint64_t(handle);
}

template <typename Handle>
Handle handle_of(uint64_t number)
{
   return Handle(number);
}

template <typename T>
T *find(const void *chain, VkStructureType type)
{
   auto *s = static_cast<const VkBaseInStructure *>(chain);
   while (s && s->sType != type)
      s = s->pNext;
   return reinterpret_cast<T *>(const_cast<VkBaseInStructure *>(s));
}

template <typename T>
VkResult give(const std::vector<T> &from, uint32_t *count, T *to)
{
   if (!to) {
      *count = uint32_t(from.size());
      return VK_SUCCESS;
   }
   const uint32_t given = std::min(*count, uint32_t(from.size()));
   for (uint32_t i = 0; i < given; i++)
      to[i] = from[i];
   *count = given;
   return given < from.size() ? VK_INCOMPLETE : VK_SUCCESS;
}

/// Copies booleans between the structs of Vulkan 1.1 to 1.3 and those of single extensions; `read`
/// fills in the extension's struct from ours, otherwise ours is set where that is.
struct FeatureStructs {
   VkPhysicalDeviceFeatures &core;
   VkPhysicalDeviceVulkan11Features &f11;
   VkPhysicalDeviceVulkan12Features &f12;
   VkPhysicalDeviceVulkan13Features &f13;
   bool read;

   void copy(VkBool32 &theirs, VkBool32 &ours) const
   {
      if (read)
         theirs = ours;
      else
         ours |= theirs;
   }

   template <typename T>
   void copy_struct(void *theirs, T &ours) const
   {
      auto *s = static_cast<T *>(theirs);
      void *next = s->pNext;
      if (read)
         *s = ours;
      else
         ours = *s;
      s->pNext = next;
   }

   void visit(VkBaseOutStructure *s) const
   {
      void *p = s;
      switch (s->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2:
         if (read)
            static_cast<VkPhysicalDeviceFeatures2 *>(p)->features = core;
         else
            core = static_cast<VkPhysicalDeviceFeatures2 *>(p)->features;
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
         copy_struct(p, f11);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
         copy_struct(p, f12);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
         copy_struct(p, f13);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES: {
         auto *t = static_cast<VkPhysicalDevice16BitStorageFeatures *>(p);
         copy(t->storageBuffer16BitAccess, f11.storageBuffer16BitAccess);
         copy(t->uniformAndStorageBuffer16BitAccess, f11.uniformAndStorageBuffer16BitAccess);
         copy(t->storagePushConstant16, f11.storagePushConstant16);
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES: {
         auto *t = static_cast<VkPhysicalDevice8BitStorageFeatures *>(p);
         copy(t->storageBuffer8BitAccess, f12.storageBuffer8BitAccess);
         copy(t->uniformAndStorageBuffer8BitAccess, f12.uniformAndStorageBuffer8BitAccess);
         copy(t->storagePushConstant8, f12.storagePushConstant8);
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES: {
         auto *t = static_cast<VkPhysicalDeviceShaderFloat16Int8Features *>(p);
         copy(t->shaderFloat16, f12.shaderFloat16);
         copy(t->shaderInt8, f12.shaderInt8);
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES: {
         auto *t = static_cast<VkPhysicalDeviceVulkanMemoryModelFeatures *>(p);
         copy(t->vulkanMemoryModel, f12.vulkanMemoryModel);
         copy(t->vulkanMemoryModelDeviceScope, f12.vulkanMemoryModelDeviceScope);
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES:
         copy(static_cast<VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures *>(p)
                 ->shaderSubgroupExtendedTypes,
              f12.shaderSubgroupExtendedTypes);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
         copy(static_cast<VkPhysicalDeviceBufferDeviceAddressFeatures *>(p)->bufferDeviceAddress,
              f12.bufferDeviceAddress);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES:
         copy(static_cast<VkPhysicalDeviceShaderIntegerDotProductFeatures *>(p)
                 ->shaderIntegerDotProduct,
              f13.shaderIntegerDotProduct);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
         auto *t = static_cast<VkPhysicalDeviceSubgroupSizeControlFeatures *>(p);
         copy(t->subgroupSizeControl, f13.subgroupSizeControl);
         copy(t->computeFullSubgroups, f13.computeFullSubgroups);
         break;
      }
      default:
         break;
      }
   }
};

/* ---- instance and physical device ---- */

/// The loader's tables, one of each level; addresses are all that matters.
const int instance_table = 0;
const int device_tables[4] = {};

Dispatchable the_physical_device = {&instance_table};

VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *, const VkAllocationCallbacks *,
                                    VkInstance *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkCreateInstance"))
      return r;
   *out = VkInstance(new Dispatchable{&instance_table});
   driver->add("instance");
   return VK_SUCCESS;
}

void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks *)
{
   WithoutInjection w;
   driver->remove(0, "instance");
   delete reinterpret_cast<Dispatchable *>(instance);
}

VkResult VKAPI_CALL enumerate_physical_devices(VkInstance, uint32_t *count, VkPhysicalDevice *out)
{
   WithoutInjection w;
   return give(std::vector{VkPhysicalDevice(&the_physical_device)}, count, out);
}

VkResult VKAPI_CALL enumerate_device_extension_properties(VkPhysicalDevice, const char *layer,
                                                          uint32_t *count,
                                                          VkExtensionProperties *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkEnumerateDeviceExtensionProperties"))
      return r;
   if (layer)
      return VK_ERROR_LAYER_NOT_PRESENT;
   std::vector<VkExtensionProperties> list;
   for (const std::string &name : driver->extensions) {
      strcpy(list.emplace_back().extensionName, name.c_str());
      list.back().specVersion = 77;
   }
   return give(list, count, out);
}

void VKAPI_CALL get_properties(VkPhysicalDevice, VkPhysicalDeviceProperties *out)
{
   *out = {.apiVersion = driver->api_version,
           .limits = {.maxComputeSharedMemorySize = 32768, .maxComputeWorkGroupInvocations = 1024}};
   strcpy(out->deviceName, "fake");
}

void VKAPI_CALL get_properties2(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *out)
{
   get_properties(physical, &out->properties);
   for (void *s = out->pNext; s; s = static_cast<VkBaseOutStructure *>(s)->pNext) {
      switch (static_cast<VkBaseOutStructure *>(s)->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES: {
         auto *p = static_cast<VkPhysicalDeviceSubgroupProperties *>(s);
         p->subgroupSize = driver->subgroup_size;
         p->supportedStages = driver->subgroup_stages;
         p->supportedOperations = driver->subgroup_operations;
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES:
         static_cast<VkPhysicalDeviceVulkan11Properties *>(s)->subgroupSize = driver->subgroup_size;
         static_cast<VkPhysicalDeviceVulkan11Properties *>(s)->subgroupSupportedStages =
            driver->subgroup_stages;
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES: {
         auto *p = static_cast<VkPhysicalDeviceSubgroupSizeControlProperties *>(s);
         p->minSubgroupSize = driver->min_subgroup_size;
         p->maxSubgroupSize = driver->max_subgroup_size;
         p->maxComputeWorkgroupSubgroups = driver->max_workgroup_subgroups;
         p->requiredSubgroupSizeStages = driver->required_size_stages;
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES:
         static_cast<VkPhysicalDeviceVulkan13Properties *>(s)->minSubgroupSize =
            driver->min_subgroup_size;
         static_cast<VkPhysicalDeviceVulkan13Properties *>(s)->maxSubgroupSize =
            driver->max_subgroup_size;
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES:
         static_cast<VkPhysicalDeviceDriverProperties *>(s)->driverID = driver->id;
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES: {
         auto *p = static_cast<VkPhysicalDeviceFloatControlsProperties *>(s);
         p->shaderSignedZeroInfNanPreserveFloat32 = VK_TRUE;
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR:
         if (driver->native_matrices)
            static_cast<VkPhysicalDeviceCooperativeMatrixPropertiesKHR *>(s)
               ->cooperativeMatrixSupportedStages = VK_SHADER_STAGE_ALL;
         break;
      default:
         break;
      }
   }
}

void VKAPI_CALL get_features2(VkPhysicalDevice, VkPhysicalDeviceFeatures2 *out)
{
   const FeatureStructs structs = {driver->features, driver->features11, driver->features12,
                                   driver->features13, true};
   for (auto *s = reinterpret_cast<VkBaseOutStructure *>(out); s; s = s->pNext) {
      structs.visit(s);
      if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR &&
          driver->native_matrices) {
         auto *matrices = reinterpret_cast<VkPhysicalDeviceCooperativeMatrixFeaturesKHR *>(s);
         matrices->cooperativeMatrix = matrices->cooperativeMatrixRobustBufferAccess = VK_TRUE;
      }
      if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT)
         reinterpret_cast<VkPhysicalDeviceRobustness2FeaturesEXT *>(s)->robustBufferAccess2 =
            driver->robust_buffer_access_2;
      if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV &&
          driver->native_matrices)
         reinterpret_cast<VkPhysicalDeviceCooperativeMatrix2FeaturesNV *>(s)
            ->cooperativeMatrixReductions = VK_TRUE;
      if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR &&
          driver->native_matrices) {
         auto *bfloat16 = reinterpret_cast<VkPhysicalDeviceShaderBfloat16FeaturesKHR *>(s);
         bfloat16->shaderBFloat16Type = bfloat16->shaderBFloat16CooperativeMatrix = VK_TRUE;
      }
   }
}

void VKAPI_CALL get_queue_families(VkPhysicalDevice, uint32_t *count, VkQueueFamilyProperties *out)
{
   WithoutInjection w;
   give(std::vector{VkQueueFamilyProperties{.queueFlags = driver->queue_flags, .queueCount = 1}},
        count, out);
}

VkResult VKAPI_CALL get_native_matrices(VkPhysicalDevice, uint32_t *count,
                                        VkCooperativeMatrixPropertiesKHR *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"))
      return r;
   return give(driver->native_properties, count, out);
}

VkResult VKAPI_CALL get_flexible_matrices(VkPhysicalDevice, uint32_t *count,
                                          VkCooperativeMatrixFlexibleDimensionsPropertiesNV *out)
{
   WithoutInjection w;
   if (VkResult r =
          driver->enter("vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"))
      return r;
   return give(driver->flexible_properties, count, out);
}

VkResult VKAPI_CALL get_tools(VkPhysicalDevice, uint32_t *count,
                              VkPhysicalDeviceToolProperties *out)
{
   WithoutInjection w;
   std::vector<VkPhysicalDeviceToolProperties> tools(2);
   strcpy(tools[0].name, "one");
   strcpy(tools[1].name, "two");
   return give(tools, count, out);
}

void VKAPI_CALL submit_message(VkInstance, VkDebugUtilsMessageSeverityFlagBitsEXT,
                               VkDebugUtilsMessageTypeFlagsEXT,
                               const VkDebugUtilsMessengerCallbackDataEXT *data)
{
   WithoutInjection w;
   std::lock_guard lock(driver->mutex);
   driver->submitted.emplace_back(data->pMessage);
}

VkResult VKAPI_CALL create_messenger(VkInstance, const VkDebugUtilsMessengerCreateInfoEXT *,
                                     const VkAllocationCallbacks *, VkDebugUtilsMessengerEXT *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkCreateDebugUtilsMessengerEXT"))
      return r;
   *out = handle_of<VkDebugUtilsMessengerEXT>(driver->add("messenger"));
   return VK_SUCCESS;
}

void VKAPI_CALL destroy_messenger(VkInstance, VkDebugUtilsMessengerEXT messenger,
                                  const VkAllocationCallbacks *)
{
   WithoutInjection w;
   if (messenger)
      driver->remove(number(messenger), "messenger");
}

/* ---- device ---- */

VkResult VKAPI_CALL create_device(VkPhysicalDevice, const VkDeviceCreateInfo *info,
                                  const VkAllocationCallbacks *, VkDevice *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkCreateDevice"))
      return r;
   driver->enabled_extensions.assign(info->ppEnabledExtensionNames,
                                     info->ppEnabledExtensionNames + info->enabledExtensionCount);
   driver->device_chain.clear();
   driver->enabled = {};
   driver->enabled11 = {};
   driver->enabled12 = {};
   driver->enabled13 = {};
   const FeatureStructs structs = {driver->enabled, driver->enabled11, driver->enabled12,
                                   driver->enabled13, false};
   for (auto *s = static_cast<const VkBaseInStructure *>(info->pNext); s; s = s->pNext) {
      driver->device_chain.push_back(s->sType);
      structs.visit(reinterpret_cast<VkBaseOutStructure *>(const_cast<VkBaseInStructure *>(s)));
   }
   driver->used_enabled_features = info->pEnabledFeatures;
   if (info->pEnabledFeatures)
      driver->enabled = *info->pEnabledFeatures;
   static size_t next_table = 0;
   *out = VkDevice(new Dispatchable{&device_tables[next_table++ % 4]});
   driver->add("device");
   return VK_SUCCESS;
}

void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks *)
{
   WithoutInjection w;
   driver->remove(0, "device");
   delete reinterpret_cast<Dispatchable *>(device);
}

VkResult VKAPI_CALL create_shader_module(VkDevice, const VkShaderModuleCreateInfo *info,
                                         const VkAllocationCallbacks *, VkShaderModule *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkCreateShaderModule"))
      return r;
   std::lock_guard lock(driver->mutex);
   driver->modules.emplace_back(info->pCode, info->pCode + info->codeSize / 4);
   *out = handle_of<VkShaderModule>(driver->add_module(driver->modules.back()));
   return VK_SUCCESS;
}

void VKAPI_CALL destroy_shader_module(VkDevice, VkShaderModule module,
                                      const VkAllocationCallbacks *)
{
   WithoutInjection w;
   if (module)
      driver->remove(number(module), "module");
}

void see_required_size(SeenShader &seen, const void *chain)
{
   if (auto *size = find<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
          chain, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO))
      seen.required_size = size->requiredSubgroupSize;
}

SeenShader see(const VkPipelineShaderStageCreateInfo &stage)
{
   const auto *inline_module = find<const VkShaderModuleCreateInfo>(
      stage.pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
   SeenShader seen = {
      .words = stage.module ? driver->words_of(stage.module) : std::vector<uint32_t>(),
      .entry_point = stage.pName,
      .stage_flags = stage.flags,
      .specialized = stage.pSpecializationInfo != nullptr,
      .inline_module = inline_module != nullptr,
   };
   see_required_size(seen, stage.pNext);
   return seen;
}

SeenShader see(const VkComputePipelineCreateInfo &info, VkPipelineCache cache)
{
   SeenShader seen = see(info.stage);
   seen.flags = info.flags;
   seen.cache = cache;
   seen.base = info.basePipelineHandle;
   seen.base_index = info.basePipelineIndex;
   return seen;
}

/// Pipelines with several stages.
template <typename Info>
VkResult create_stages(const char *command, uint32_t count, const Info *infos, VkPipeline *out)
{
   const VkResult result = driver->enter(command);
   std::lock_guard lock(driver->mutex);
   for (uint32_t i = 0; i < count; i++) {
      for (uint32_t k = 0; k < infos[i].stageCount; k++)
         driver->shaders.push_back(see(infos[i].pStages[k]));
      out[i] = handle_of<VkPipeline>(driver->add("pipeline"));
   }
   return result;
}

VkResult VKAPI_CALL create_compute_pipelines(VkDevice, VkPipelineCache cache, uint32_t count,
                                             const VkComputePipelineCreateInfo *infos,
                                             const VkAllocationCallbacks *, VkPipeline *out)
{
   WithoutInjection w;
   const VkResult result = driver->enter("vkCreateComputePipelines");
   std::lock_guard lock(driver->mutex);
   for (uint32_t i = 0; i < count; i++) {
      out[i] = VK_NULL_HANDLE;
      if (result != VK_SUCCESS)
         continue;
      driver->shaders.push_back(see(infos[i], cache));
      out[i] = handle_of<VkPipeline>(driver->add("pipeline"));
      auto *feedback = find<const VkPipelineCreationFeedbackCreateInfo>(
         infos[i].pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
      if (feedback && driver->feedback)
         *feedback->pPipelineCreationFeedback = {VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT, 1};
   }
   return result;
}

VkResult VKAPI_CALL create_graphics_pipelines(VkDevice, VkPipelineCache, uint32_t count,
                                              const VkGraphicsPipelineCreateInfo *infos,
                                              const VkAllocationCallbacks *, VkPipeline *out)
{
   WithoutInjection w;
   return create_stages("vkCreateGraphicsPipelines", count, infos, out);
}

VkResult VKAPI_CALL create_ray_tracing_pipelines(VkDevice, VkDeferredOperationKHR operation,
                                                 VkPipelineCache, uint32_t count,
                                                 const VkRayTracingPipelineCreateInfoKHR *infos,
                                                 const VkAllocationCallbacks *, VkPipeline *out)
{
   WithoutInjection w;
   driver->deferred_operation = operation;
   const VkResult result = create_stages("vkCreateRayTracingPipelinesKHR", count, infos, out);
   return operation ? VK_OPERATION_DEFERRED_KHR : result;
}

VkResult VKAPI_CALL create_ray_tracing_pipelines_nv(VkDevice, VkPipelineCache, uint32_t count,
                                                    const VkRayTracingPipelineCreateInfoNV *infos,
                                                    const VkAllocationCallbacks *, VkPipeline *out)
{
   WithoutInjection w;
   return create_stages("vkCreateRayTracingPipelinesNV", count, infos, out);
}

VkResult VKAPI_CALL create_execution_graphs(VkDevice, VkPipelineCache, uint32_t count,
                                            const VkExecutionGraphPipelineCreateInfoAMDX *infos,
                                            const VkAllocationCallbacks *, VkPipeline *out)
{
   WithoutInjection w;
   return create_stages("vkCreateExecutionGraphPipelinesAMDX", count, infos, out);
}

void VKAPI_CALL get_indirect_requirements(VkDevice, const VkComputePipelineCreateInfo *info,
                                          VkMemoryRequirements2 *out)
{
   WithoutInjection w;
   driver->shaders.push_back(see(*info, VK_NULL_HANDLE));
   out->memoryRequirements.size = driver->shaders.back().words.size();
}

void VKAPI_CALL destroy_pipeline(VkDevice, VkPipeline pipeline, const VkAllocationCallbacks *)
{
   WithoutInjection w;
   if (pipeline)
      driver->remove(number(pipeline), "pipeline");
}

VkResult VKAPI_CALL get_representations(VkDevice, const VkPipelineExecutableInfoKHR *,
                                        uint32_t *count,
                                        VkPipelineExecutableInternalRepresentationKHR *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkGetPipelineExecutableInternalRepresentationsKHR"))
      return r;
   if (!out) {
      *count = driver->representations;
      return VK_SUCCESS;
   }
   const VkResult result = *count < driver->representations ? VK_INCOMPLETE : VK_SUCCESS;
   *count = std::min(*count, driver->representations);
   for (uint32_t i = 0; i < *count; i++) {
      strcpy(out[i].name, "driver");
      out[i].dataSize = 3;
   }
   return result;
}

void see_described(const VkPipelineCreateInfoKHR *info)
{
   const void *chain = info ? info->pNext : nullptr;
   if (auto *compute = find<const VkComputePipelineCreateInfo>(
          chain, VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO))
      driver->shaders.push_back(see(*compute, VK_NULL_HANDLE));
   if (auto *graphics = find<const VkGraphicsPipelineCreateInfo>(
          chain, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO))
      driver->shaders.push_back(see(*graphics->pStages));
}

VkResult VKAPI_CALL get_pipeline_key(VkDevice, const VkPipelineCreateInfoKHR *info,
                                     VkPipelineBinaryKeyKHR *key)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkGetPipelineKeyKHR"))
      return r;
   see_described(info);
   key->keySize = 1;
   key->key[0] = uint8_t(info ? driver->shaders.back().words.size() : 0);
   return VK_SUCCESS;
}

VkResult VKAPI_CALL create_binaries(VkDevice, const VkPipelineBinaryCreateInfoKHR *info,
                                    const VkAllocationCallbacks *,
                                    VkPipelineBinaryHandlesInfoKHR *out)
{
   WithoutInjection w;
   see_described(info->pPipelineCreateInfo);
   out->pipelineBinaryCount = 0;
   return driver->enter("vkCreatePipelineBinariesKHR");
}

VkResult VKAPI_CALL create_shaders(VkDevice, uint32_t count, const VkShaderCreateInfoEXT *infos,
                                   const VkAllocationCallbacks *, VkShaderEXT *out)
{
   WithoutInjection w;
   const VkResult result = driver->enter("vkCreateShadersEXT");
   for (uint32_t i = 0; i < count; i++) {
      out[i] = VK_NULL_HANDLE;
      if (result != VK_SUCCESS)
         continue;
      const auto *code = static_cast<const uint32_t *>(infos[i].pCode);
      SeenShader seen = {
         .words = {code, code + infos[i].codeSize / 4},
         .entry_point = infos[i].pName,
         .flags = infos[i].flags,
         .specialized = infos[i].pSpecializationInfo != nullptr,
      };
      see_required_size(seen, infos[i].pNext);
      driver->shaders.push_back(seen);
      out[i] = handle_of<VkShaderEXT>(driver->add("shader"));
   }
   return result;
}

void VKAPI_CALL destroy_shader(VkDevice, VkShaderEXT shader, const VkAllocationCallbacks *)
{
   WithoutInjection w;
   if (shader)
      driver->remove(number(shader), "shader");
}

void VKAPI_CALL get_module_identifier(VkDevice, VkShaderModule, VkShaderModuleIdentifierEXT *out)
{
   out->identifierSize = 1;
   out->identifier[0] = 0xaa;
}

void VKAPI_CALL get_module_info_identifier(VkDevice, const VkShaderModuleCreateInfo *,
                                           VkShaderModuleIdentifierEXT *out)
{
   out->identifierSize = 1;
   out->identifier[0] = 0xaa;
}

/* ---- names ---- */

struct Command {
   const char *name;
   PFN_vkVoidFunction function;
   const char *extension; ///< without which it is not there
};

#define COMMAND(name, function, ...)                                                               \
   Command                                                                                         \
   {                                                                                               \
      name, reinterpret_cast<PFN_vkVoidFunction>(function), ##__VA_ARGS__                          \
   }

const Command instance_commands[] = {
   COMMAND("vkCreateInstance", create_instance),
   COMMAND("vkDestroyInstance", destroy_instance),
   COMMAND("vkEnumeratePhysicalDevices", enumerate_physical_devices),
   COMMAND("vkEnumerateDeviceExtensionProperties", enumerate_device_extension_properties),
   COMMAND("vkGetPhysicalDeviceProperties", get_properties),
   COMMAND("vkGetPhysicalDeviceProperties2", get_properties2),
   COMMAND("vkGetPhysicalDeviceFeatures2", get_features2),
   COMMAND("vkGetPhysicalDeviceFeatures2KHR", get_features2),
   COMMAND("vkGetPhysicalDeviceQueueFamilyProperties", get_queue_families),
   COMMAND("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", get_native_matrices),
   COMMAND("vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
           get_flexible_matrices),
   COMMAND("vkGetPhysicalDeviceToolProperties", get_tools),
   COMMAND("vkSubmitDebugUtilsMessageEXT", submit_message),
   COMMAND("vkCreateDebugUtilsMessengerEXT", create_messenger),
   COMMAND("vkDestroyDebugUtilsMessengerEXT", destroy_messenger),
   COMMAND("vkCreateDevice", create_device),
   COMMAND("vkGetDeviceProcAddr", FakeDriver::get_device_proc_addr),
};

const Command device_commands[] = {
   COMMAND("vkGetDeviceProcAddr", FakeDriver::get_device_proc_addr),
   COMMAND("vkDestroyDevice", destroy_device),
   COMMAND("vkCreateShaderModule", create_shader_module),
   COMMAND("vkDestroyShaderModule", destroy_shader_module),
   COMMAND("vkCreateComputePipelines", create_compute_pipelines),
   COMMAND("vkCreateGraphicsPipelines", create_graphics_pipelines),
   COMMAND("vkCreateRayTracingPipelinesKHR", create_ray_tracing_pipelines),
   COMMAND("vkCreateRayTracingPipelinesNV", create_ray_tracing_pipelines_nv),
   COMMAND("vkCreateExecutionGraphPipelinesAMDX", create_execution_graphs),
   COMMAND("vkGetPipelineIndirectMemoryRequirementsNV", get_indirect_requirements),
   COMMAND("vkDestroyPipeline", destroy_pipeline),
   COMMAND("vkGetPipelineExecutableInternalRepresentationsKHR", get_representations,
           VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME),
   COMMAND("vkGetPipelineKeyKHR", get_pipeline_key, VK_KHR_PIPELINE_BINARY_EXTENSION_NAME),
   COMMAND("vkCreatePipelineBinariesKHR", create_binaries, VK_KHR_PIPELINE_BINARY_EXTENSION_NAME),
   COMMAND("vkCreateShadersEXT", create_shaders, VK_EXT_SHADER_OBJECT_EXTENSION_NAME),
   COMMAND("vkDestroyShaderEXT", destroy_shader, VK_EXT_SHADER_OBJECT_EXTENSION_NAME),
   COMMAND("vkGetShaderModuleIdentifierEXT", get_module_identifier,
           VK_EXT_SHADER_MODULE_IDENTIFIER_EXTENSION_NAME),
   COMMAND("vkGetShaderModuleCreateInfoIdentifierEXT", get_module_info_identifier,
           VK_EXT_SHADER_MODULE_IDENTIFIER_EXTENSION_NAME),
};

template <size_t n>
PFN_vkVoidFunction look_up(const Command (&commands)[n], const char *name)
{
   for (const Command &command : commands) {
      if (strcmp(command.name, name) == 0)
         return !command.extension || driver->has_extension(command.extension) ? command.function
                                                                               : nullptr;
   }
   return nullptr;
}

} // namespace

FakeDriver::FakeDriver()
{
   driver = this;
   native_properties = {{.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR,
                         .MSize = 7,
                         .NSize = 7,
                         .KSize = 7,
                         .AType = VK_COMPONENT_TYPE_FLOAT16_KHR,
                         .BType = VK_COMPONENT_TYPE_FLOAT16_KHR,
                         .CType = VK_COMPONENT_TYPE_FLOAT16_KHR,
                         .ResultType = VK_COMPONENT_TYPE_FLOAT16_KHR,
                         .scope = VK_SCOPE_SUBGROUP_KHR}};
   extensions = {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME,
                 VK_KHR_PIPELINE_BINARY_EXTENSION_NAME, VK_EXT_SHADER_OBJECT_EXTENSION_NAME,
                 VK_EXT_SHADER_MODULE_IDENTIFIER_EXTENSION_NAME};
   features.shaderInt16 = features.shaderInt64 = VK_TRUE;
   features11.storageBuffer16BitAccess = VK_TRUE;
   features12.storageBuffer8BitAccess = features12.shaderFloat16 = features12.shaderInt8 = VK_TRUE;
   features12.vulkanMemoryModel = features12.bufferDeviceAddress = VK_TRUE;
   features13.subgroupSizeControl = features13.computeFullSubgroups = VK_TRUE;
   for (auto [type, at] :
        {std::pair(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &features11.sType),
         {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &features12.sType},
         {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, &features13.sType}})
      *at = type;
}

FakeDriver::~FakeDriver()
{
   for (const auto &[handle, type] : objects)
      ADD_FAILURE() << "a " << type << " was never destroyed";
   driver = nullptr;
}

void FakeDriver::fail(const std::string &command, VkResult result, uint32_t nth)
{
   failures[command][call_counts[command] + nth] = result;
}

bool FakeDriver::has_extension(const std::string &name) const
{
   return std::ranges::find(extensions, name) != extensions.end();
}

uint32_t FakeDriver::calls(const std::string &command) const
{
   auto it = call_counts.find(command);
   return it == call_counts.end() ? 0 : it->second;
}

size_t FakeDriver::live() const
{
   std::lock_guard lock(mutex);
   return objects.size();
}

VkResult FakeDriver::enter(const char *command)
{
   std::lock_guard lock(mutex);
   const uint32_t count = call_counts[command]++;
   const auto &failing = failures[command];
   auto it = failing.find(count);
   return it == failing.end() ? VK_SUCCESS : it->second;
}

uint64_t FakeDriver::add(const char *type)
{
   std::lock_guard lock(mutex);
   static uint64_t last = 0x1000;
   objects.emplace(++last, type);
   return last;
}

void FakeDriver::remove(uint64_t handle, const char *type)
{
   std::lock_guard lock(mutex);
   auto it = handle ? objects.find(handle)
                    : std::ranges::find_if(objects, [&](auto &o) { return o.second == type; });
   if (it == objects.end() || it->second != type)
      ADD_FAILURE() << "a " << type << " is destroyed that is not there";
   else
      objects.erase(it);
}

std::vector<uint32_t> FakeDriver::words_of(VkShaderModule module) const
{
   std::lock_guard lock(mutex);
   if (!objects.contains(number(module)))
      ADD_FAILURE() << "a module is used that is not there";
   auto it = module_words.find(number(module));
   return it == module_words.end() ? std::vector<uint32_t>() : it->second;
}

uint64_t FakeDriver::add_module(const std::vector<uint32_t> &words)
{
   std::lock_guard lock(mutex);
   for (const auto &[handle, present] : module_words) {
      if (equal_handles && present == words && objects.contains(handle)) {
         objects.emplace(handle, "module");
         return handle;
      }
   }
   const uint64_t handle = add("module");
   module_words[handle] = words;
   return handle;
}

PFN_vkVoidFunction VKAPI_CALL FakeDriver::get_instance_proc_addr(VkInstance, const char *name)
{
   WithoutInjection w;
   const PFN_vkVoidFunction function = look_up(instance_commands, name);
   return function ? function : look_up(device_commands, name);
}

PFN_vkVoidFunction VKAPI_CALL FakeDriver::get_device_proc_addr(VkDevice, const char *name)
{
   WithoutInjection w;
   return look_up(device_commands, name);
}

} // namespace weft::layer_test
