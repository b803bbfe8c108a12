// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The exported function, and the commands that the layer intercepts. All other commands go past
/// the layer.

#include "layer/compute_pipeline.h"
#include "layer/device.h"
#include "layer/instance.h"
#include "layer/other_pipelines.h"
#include "layer/physical_device_queries.h"
#include "layer/pipeline_binary.h"
#include "layer/pipeline_executable.h"
#include "layer/shader_module.h"
#include "layer/shader_object.h"

#include <cstring>

namespace weft::layer {

namespace {

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance, const char *name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice, const char *name);

enum class Level {
   global, ///< before there is an instance
   instance,
   physical_device, ///< if the next layer has it too
   matrices,        ///< of a physical device; also without the next layer
   device,
   lowering, ///< of a device whose shaders the layer may have to edit
};

struct EntryPoint {
   const char *name;
   Level level;
   PFN_vkVoidFunction function;
};

template <typename F>
EntryPoint entry(const char *name, Level level, F function)
{
   return {name, level, reinterpret_cast<PFN_vkVoidFunction>(function)};
}

const EntryPoint entry_points[] = {
   entry("vkGetInstanceProcAddr", Level::global, get_instance_proc_addr),
   entry("vkCreateInstance", Level::global, create_instance),
   entry("vkEnumerateInstanceLayerProperties", Level::global, enumerate_instance_layer_properties),
   entry("vkEnumerateInstanceExtensionProperties", Level::global,
         enumerate_instance_extension_properties),

   entry("vkDestroyInstance", Level::instance, destroy_instance),
   entry("vkCreateDevice", Level::instance, create_device),
   entry("vkCreateDebugUtilsMessengerEXT", Level::instance, create_debug_utils_messenger),
   entry("vkDestroyDebugUtilsMessengerEXT", Level::instance, destroy_debug_utils_messenger),

   entry("vkEnumerateDeviceLayerProperties", Level::physical_device,
         enumerate_device_layer_properties),
   entry("vkEnumerateDeviceExtensionProperties", Level::physical_device,
         enumerate_device_extension_properties),
   entry("vkGetPhysicalDeviceFeatures2", Level::physical_device, get_physical_device_features2),
   entry("vkGetPhysicalDeviceFeatures2KHR", Level::physical_device, get_physical_device_features2),
   entry("vkGetPhysicalDeviceProperties", Level::physical_device, get_physical_device_properties),
   entry("vkGetPhysicalDeviceProperties2", Level::physical_device, get_physical_device_properties2),
   entry("vkGetPhysicalDeviceProperties2KHR", Level::physical_device,
         get_physical_device_properties2),
   entry("vkGetPhysicalDeviceToolProperties", Level::physical_device,
         get_physical_device_tool_properties),
   entry("vkGetPhysicalDeviceToolPropertiesEXT", Level::physical_device,
         get_physical_device_tool_properties),
   entry("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", Level::matrices,
         get_physical_device_cooperative_matrix_properties),
   entry("vkGetPhysicalDeviceCooperativeMatrixPropertiesNV", Level::matrices,
         get_physical_device_cooperative_matrix_properties_nv),
   entry("vkGetPhysicalDeviceCooperativeMatrixProperties2EXT", Level::matrices,
         get_physical_device_cooperative_matrix_properties2),
   entry("vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV", Level::matrices,
         get_physical_device_cooperative_matrix_flexible_dimensions),
   entry("vkGetPhysicalDeviceMatrixExtensionsWEFT", Level::matrices,
         get_physical_device_matrix_extensions),
   entry("vkGetPhysicalDeviceDriverReportWEFT", Level::matrices, get_physical_device_driver_report),

   entry("vkGetDeviceProcAddr", Level::device, get_device_proc_addr),
   entry("vkDestroyDevice", Level::device, destroy_device),

   entry("vkCreateShaderModule", Level::lowering, create_shader_module),
   entry("vkDestroyShaderModule", Level::lowering, destroy_shader_module),
   entry("vkGetShaderModuleIdentifierEXT", Level::lowering, get_shader_module_identifier),
   entry("vkGetShaderModuleCreateInfoIdentifierEXT", Level::lowering,
         get_shader_module_create_info_identifier),
   entry("vkCreateComputePipelines", Level::lowering, create_compute_pipelines),
   entry("vkCreateGraphicsPipelines", Level::lowering, create_graphics_pipelines),
   entry("vkCreateRayTracingPipelinesKHR", Level::lowering, create_ray_tracing_pipelines),
   entry("vkCreateRayTracingPipelinesNV", Level::lowering, create_ray_tracing_pipelines_nv),
   entry("vkCreateExecutionGraphPipelinesAMDX", Level::lowering, create_execution_graph_pipelines),
   entry("vkDestroyPipeline", Level::lowering, destroy_pipeline),
   entry("vkGetPipelineIndirectMemoryRequirementsNV", Level::lowering,
         get_pipeline_indirect_memory_requirements),
   entry("vkGetPipelineKeyKHR", Level::lowering, get_pipeline_key),
   entry("vkCreatePipelineBinariesKHR", Level::lowering, create_pipeline_binaries),
   entry("vkGetPipelineBinaryDataKHR", Level::lowering, get_pipeline_binary_data),
   entry("vkDestroyPipelineBinaryKHR", Level::lowering, destroy_pipeline_binary),
   entry("vkGetPipelineExecutableInternalRepresentationsKHR", Level::lowering,
         get_pipeline_executable_internal_representations),
   entry("vkCreateShadersEXT", Level::lowering, create_shaders),
   entry("vkDestroyShaderEXT", Level::lowering, destroy_shader),
   entry("vkGetShaderBinaryDataEXT", Level::lowering, get_shader_binary_data),
};

const EntryPoint *find_entry_point(const char *name)
{
   for (const EntryPoint &entry : entry_points) {
      if (strcmp(entry.name, name) == 0)
         return &entry;
   }
   return nullptr;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle, const char *name)
{
   const EntryPoint *entry = find_entry_point(name);
   if (entry && entry->level == Level::global)
      return entry->function;
   const Instance *instance = handle ? find_instance(handle) : nullptr;
   if (!instance)
      return nullptr;
   if (entry && entry->level == Level::matrices)
      return entry->function;
   const PFN_vkVoidFunction next = instance->next_get_proc_addr(handle, name);
   return entry && next ? entry->function : next;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice handle, const char *name)
{
   const Device *device = find_device(handle);
   if (!device)
      return nullptr;
   const PFN_vkVoidFunction next = device->next_get_proc_addr(handle, name);
   const EntryPoint *entry = next ? find_entry_point(name) : nullptr;
   const bool ours = entry && (entry->level == Level::device ||
                               (entry->level == Level::lowering && device->edits_shaders));
   return ours ? entry->function : next;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_physical_device_proc_addr(VkInstance handle,
                                                                       const char *name)
{
   // Also answers for an unfinished instance: while it is created, the layer queries these commands
   // of the next layer. Loaders before 1.3.211 then query the layer, and keep its answer.
   const EntryPoint *entry = find_entry_point(name);
   if (entry && entry->level == Level::matrices)
      return entry->function;
   const Instance *instance = handle ? find_instance(handle) : nullptr;
   if (!instance)
      return nullptr;
   if (entry && entry->level == Level::physical_device)
      return instance->next_get_proc_addr(handle, name) ? entry->function : nullptr;
   const auto next = instance->next_get_physical_device_proc_addr;
   return next ? next(handle, name) : nullptr;
}

} // namespace

} // namespace weft::layer

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface)
{
   if (!interface || interface->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
       interface->loaderLayerInterfaceVersion < 2)
      return VK_ERROR_INITIALIZATION_FAILED;
   interface->loaderLayerInterfaceVersion = 2;
   interface->pfnGetInstanceProcAddr = weft::layer::get_instance_proc_addr;
   interface->pfnGetDeviceProcAddr = weft::layer::get_device_proc_addr;
   interface->pfnGetPhysicalDeviceProcAddr = weft::layer::get_physical_device_proc_addr;
   return VK_SUCCESS;
}
