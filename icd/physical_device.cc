// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/physical_device.h"

#include "backend/cpu/compiler.h"
#include "icd/device_memory.h"
#include "icd/graphics_queue.h"
#include "icd/instance.h"
#include "icd/log.h"
#include "icd/resource_memory.h"
#include "icd/settings.h"
#include "icd/sparse.h"
#include "icd/sync.h"
#include "icd/system_memory.h"
#include "vulkan_util/matrix_properties.h"
#include "vulkan_util/out_array.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_common_entrypoints.h"
#include "vk_log.h"
#include "vk_util.h"

#include <algorithm>
#include <exception>
#include <new>

namespace weft {

VkResult enumerate_physical_devices(vk_instance *instance)
{
   if (const std::optional<std::string> missing = cpu::missing_instructions()) {
      report_error(&instance->base, "no device: " + *missing);
      return VK_SUCCESS;
   }
   void *memory =
      vk_zalloc(&instance->alloc, sizeof(PhysicalDevice), 8, VK_SYSTEM_ALLOCATION_SCOPE_INSTANCE);
   if (!memory)
      return vk_error(instance, VK_ERROR_OUT_OF_HOST_MEMORY);
   auto *pdev = new (memory) PhysicalDevice();

   vk_physical_device_dispatch_table dispatch_table;
   vk_physical_device_dispatch_table_from_entrypoints(&dispatch_table,
                                                      &weft_physical_device_entrypoints, true);

   uint64_t heap_size = total_system_memory();
   vk_device_extension_table extensions = {};
   vk_features features = {};
   vk_properties properties = {};
   try {
      get_device_extensions(&extensions);
      get_device_features(extensions, &features);
      get_device_properties(heap_size, &properties);
   } catch (const std::exception &e) {
      vk_free(&instance->alloc, pdev);
      return vk_errorf(instance, VK_ERROR_OUT_OF_HOST_MEMORY, "%s", e.what());
   }

   VkResult result = vk_physical_device_init(&pdev->vk, instance, &extensions, &features,
                                             &properties, &dispatch_table);
   if (result != VK_SUCCESS) {
      vk_free(&instance->alloc, pdev);
      return result;
   }

   pdev->heap_size = heap_size;
   pdev->sync_types[0] = &timeline_sync_type;
   pdev->sync_types[1] = &binary_sync_type;
   pdev->sync_types[2] = nullptr;
   pdev->vk.supported_sync_types = pdev->sync_types;

   list_addtail(&pdev->vk.link, &instance->physical_devices.list);
   return VK_SUCCESS;
}

void destroy_physical_device(vk_physical_device *vk)
{
   auto *pdev = reinterpret_cast<PhysicalDevice *>(vk);
   const VkAllocationCallbacks *alloc = &vk->instance->alloc;
   vk_physical_device_finish(vk);
   pdev->~PhysicalDevice();
   vk_free(alloc, pdev);
}

} // namespace weft

using namespace weft;

VKAPI_ATTR void VKAPI_CALL weft_GetPhysicalDeviceProperties2(
   VkPhysicalDevice physicalDevice, VkPhysicalDeviceProperties2 *pProperties)
{
   vk_common_GetPhysicalDeviceProperties2(physicalDevice, pProperties);
   // The runtime does not know this struct. The device is above no other API.
   if (auto *layers =
          vk_find_struct(pProperties->pNext, PHYSICAL_DEVICE_LAYERED_API_PROPERTIES_LIST_KHR))
      layers->layeredApiCount = 0;
}

VKAPI_ATTR void VKAPI_CALL
weft_GetPhysicalDeviceQueueFamilyProperties2(VkPhysicalDevice, uint32_t *pQueueFamilyPropertyCount,
                                             VkQueueFamilyProperties2 *pQueueFamilyProperties)
{
   const auto families = queue_families();
   OutArray out(pQueueFamilyProperties, pQueueFamilyPropertyCount);
   for (const VkQueueFlags flags : families) {
      VkQueueFamilyProperties2 *p = out.append();
      if (!p)
         continue;
      p->queueFamilyProperties = VkQueueFamilyProperties{
         .queueFlags = flags,
         .queueCount = 1,
         .timestampValidBits = 64,
         .minImageTransferGranularity = {1, 1, 1},
      };
      if (auto *priorities = vk_find_struct(p->pNext, QUEUE_FAMILY_GLOBAL_PRIORITY_PROPERTIES)) {
         priorities->priorityCount = 1;
         priorities->priorities[0] = only_global_priority;
      }
      if (auto *transfers =
             vk_find_struct(p->pNext, QUEUE_FAMILY_OWNERSHIP_TRANSFER_PROPERTIES_KHR))
         transfers->optimalImageTransferToQueueFamilies = (1 << families.size()) - 1;
   }
}

VKAPI_ATTR void VKAPI_CALL weft_GetPhysicalDeviceMemoryProperties2(
   VkPhysicalDevice physicalDevice, VkPhysicalDeviceMemoryProperties2 *pMemoryProperties)
{
   VK_FROM_HANDLE(PhysicalDevice, pdev, physicalDevice);

   VkPhysicalDeviceMemoryProperties &props = pMemoryProperties->memoryProperties;
   props = {};
   // Both heaps are the system's memory, for programs that look for memory of the device and of the
   // host. A type whose flags are a subset comes first (VkPhysicalDeviceMemoryProperties), and
   // programs choose the first one of several with equal flags.
   constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                          VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                          VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
   props.memoryTypeCount = memory_types;
   props.memoryTypes[host_memory] = {.propertyFlags = host, .heapIndex = 1};
   props.memoryTypes[device_memory] = props.memoryTypes[sparse_memory] = {
      .propertyFlags = host | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, .heapIndex = 0};
   props.memoryHeapCount = 2;
   props.memoryHeaps[0] = {.size = pdev->heap_size, .flags = VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
   props.memoryHeaps[1] = {.size = pdev->heap_size};

   vk_foreach_struct(ext, pMemoryProperties->pNext)
   {
      if (ext->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT) {
         auto *budget = reinterpret_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT *>(ext);
         memset(budget->heapBudget, 0, sizeof(budget->heapBudget));
         memset(budget->heapUsage, 0, sizeof(budget->heapUsage));
         uint64_t used = heap_usage();
         uint64_t budget_size = used + available_system_memory();
         for (uint32_t heap = 0; heap < props.memoryHeapCount; heap++) {
            budget->heapBudget[heap] = std::min(budget_size, pdev->heap_size);
            budget->heapUsage[heap] = used;
         }
      }
   }
}

VKAPI_ATTR void VKAPI_CALL weft_GetPhysicalDeviceExternalBufferProperties(
   VkPhysicalDevice, const VkPhysicalDeviceExternalBufferInfo *pExternalBufferInfo,
   VkExternalBufferProperties *pExternalBufferProperties)
{
   pExternalBufferProperties->externalMemoryProperties = external_memory_properties(
      pExternalBufferInfo->handleType, pExternalBufferInfo->flags & sparse_buffer_flags);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetPhysicalDeviceCooperativeMatrixPropertiesKHR(
   VkPhysicalDevice, uint32_t *pPropertyCount, VkCooperativeMatrixPropertiesKHR *pProperties)
{
   OutArray out(pProperties, pPropertyCount);
   for (const MatrixOperation &op : advertised_matrices().operations) {
      if (auto *p = out.append())
         write_operation(op, *p);
   }
   return out.status();
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetPhysicalDeviceCooperativeMatrixPropertiesNV(
   VkPhysicalDevice, uint32_t *pPropertyCount, VkCooperativeMatrixPropertiesNV *pProperties)
{
   OutArray out(pProperties, pPropertyCount);
   for (const MatrixOperation &op : advertised_matrices().operations) {
      if (auto *p = is_nv_operation(op) ? out.append() : nullptr)
         write_operation(op, *p);
   }
   return out.status();
}

/// Independent of the subgroup size, with or without saturation. Flexible dimensions are multiples
/// of 8, so they cover these operations' multiples.
VKAPI_ATTR VkResult VKAPI_CALL weft_GetPhysicalDeviceCooperativeMatrixProperties2EXT(
   VkPhysicalDevice, const VkPhysicalDeviceCooperativeMatrixInfo2EXT *pInfo,
   uint32_t *pPropertyCount, VkCooperativeMatrixProperties2EXT *pProperties)
{
   OutArray out(pProperties, pPropertyCount);
   const bool saturating = pInfo->flags & VK_COOPERATIVE_MATRIX_SATURATING_ACCUMULATION_BIT_EXT;
   for (const MatrixOperation &op : advertised_matrices().operations) {
      if (pInfo->scope != VK_SCOPE_SUBGROUP_KHR || op.saturating != saturating)
         continue;
      if (auto *p = out.append())
         write_multiples(op, *p);
   }
   return out.status();
}

VKAPI_ATTR VkResult VKAPI_CALL
weft_GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV(
   VkPhysicalDevice, uint32_t *pPropertyCount,
   VkCooperativeMatrixFlexibleDimensionsPropertiesNV *pProperties)
{
   OutArray out(pProperties, pPropertyCount);
   for (const FlexibleOperation &flexible : advertised_matrices().flexible) {
      if (auto *p = out.append())
         write_flexible(flexible, *p);
   }
   return out.status();
}
