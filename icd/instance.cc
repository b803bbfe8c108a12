// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/instance.h"

#include "icd/physical_device.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_log.h"

using namespace weft;

namespace {

const vk_instance_extension_table instance_extensions = [] {
   vk_instance_extension_table t = {};
   t.KHR_device_group_creation = true;
   t.KHR_external_fence_capabilities = true;
   t.KHR_external_memory_capabilities = true;
   t.KHR_external_semaphore_capabilities = true;
   t.KHR_get_physical_device_properties2 = true;
   t.EXT_debug_report = true;
   t.EXT_debug_utils = true;
   return t;
}();

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL weft_EnumerateInstanceVersion(uint32_t *pApiVersion)
{
   *pApiVersion = api_version;
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_EnumerateInstanceExtensionProperties(
   const char *pLayerName, uint32_t *pPropertyCount, VkExtensionProperties *pProperties)
{
   if (pLayerName)
      return vk_error(nullptr, VK_ERROR_LAYER_NOT_PRESENT);
   return vk_enumerate_instance_extension_properties(&instance_extensions, pPropertyCount,
                                                     pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateInstance(const VkInstanceCreateInfo *pCreateInfo,
                                                   const VkAllocationCallbacks *pAllocator,
                                                   VkInstance *pInstance)
{
   if (!pAllocator)
      pAllocator = vk_default_allocator();

   auto *instance = static_cast<Instance *>(
      vk_zalloc(pAllocator, sizeof(Instance), 8, VK_SYSTEM_ALLOCATION_SCOPE_INSTANCE));
   if (!instance)
      return vk_error(nullptr, VK_ERROR_OUT_OF_HOST_MEMORY);

   vk_instance_dispatch_table dispatch_table;
   vk_instance_dispatch_table_from_entrypoints(&dispatch_table, &weft_instance_entrypoints, true);

   VkResult result = vk_instance_init(&instance->vk, &instance_extensions, &dispatch_table,
                                      pCreateInfo, pAllocator);
   if (result != VK_SUCCESS) {
      vk_free(pAllocator, instance);
      return result;
   }
   instance->vk.physical_devices.enumerate = enumerate_physical_devices;
   instance->vk.physical_devices.destroy = destroy_physical_device;

   *pInstance = Instance_to_handle(instance);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyInstance(VkInstance _instance, const VkAllocationCallbacks *)
{
   VK_FROM_HANDLE(Instance, instance, _instance);
   if (!instance)
      return;
   vk_instance_finish(&instance->vk);
   vk_free(&instance->vk.alloc, instance);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL weft_GetInstanceProcAddr(VkInstance _instance,
                                                                  const char *pName)
{
   VK_FROM_HANDLE(Instance, instance, _instance);
   return vk_instance_get_proc_addr(instance ? &instance->vk : nullptr, &weft_instance_entrypoints,
                                    pName);
}

/// The loader's entry point; vk_icdNegotiateLoaderICDInterfaceVersion and
/// vk_icdGetPhysicalDeviceProcAddr are part of the runtime.
extern "C" PUBLIC VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vk_icdGetInstanceProcAddr(VkInstance instance, const char *pName)
{
   return weft_GetInstanceProcAddr(instance, pName);
}
