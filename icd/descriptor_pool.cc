// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/descriptor_pool.h"

#include "icd/descriptor_set.h"
#include "icd/descriptor_set_layout.h"
#include "icd/device.h"
#include "icd/physical_device.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_log.h"
#include "vk_util.h"

using namespace weft;

namespace {

void free_set(Device *device, DescriptorPool *pool, DescriptorSet *set)
{
   pool->sets_left++;
   pool->bytes_left += set->pool_bytes;
   pool->dynamic_left += set->layout->dynamic_count;
   list_del(&set->link);
   vk_descriptor_set_layout_unref(&device->vk, &set->layout->vk);
   vk_object_base_finish(&set->base);
   vk_free(&pool->alloc, set);
}

void free_all_sets(Device *device, DescriptorPool *pool)
{
   while (!list_is_empty(&pool->sets)) {
      auto *set = reinterpret_cast<DescriptorSet *>(reinterpret_cast<char *>(pool->sets.next) -
                                                    offsetof(DescriptorSet, link));
      free_set(device, pool, set);
   }
}

VkResult allocate_set(Device *device, DescriptorPool *pool, DescriptorSetLayout *layout,
                      uint32_t data_size, uint32_t pool_bytes, DescriptorSet **set_out)
{
   if (pool->sets_left == 0 || pool_bytes > pool->bytes_left ||
       layout->dynamic_count > pool->dynamic_left)
      return vk_error(pool, VK_ERROR_OUT_OF_POOL_MEMORY);

   // One allocation for the set, its dynamic descriptors and its data.
   size_t dynamic_offset = align64(sizeof(DescriptorSet), alignof(cpu::BufferDescriptor));
   size_t data_offset = align64(
      dynamic_offset + layout->dynamic_count * sizeof(cpu::BufferDescriptor), host_alignment);
   auto *memory = static_cast<uint8_t *>(vk_zalloc(
      &pool->alloc, data_offset + data_size, host_alignment, VK_SYSTEM_ALLOCATION_SCOPE_OBJECT));
   if (!memory)
      return vk_error(pool, VK_ERROR_OUT_OF_HOST_MEMORY);

   auto *set = reinterpret_cast<DescriptorSet *>(memory);
   vk_object_base_init(&device->vk, &set->base, VK_OBJECT_TYPE_DESCRIPTOR_SET);
   vk_descriptor_set_layout_ref(&layout->vk);
   set->layout = layout;
   set->pool_bytes = pool_bytes;
   set->storage = {
      .layout = layout,
      .data = memory + data_offset,
      .dynamic = reinterpret_cast<cpu::BufferDescriptor *>(memory + dynamic_offset),
   };

   write_immutable_samplers(set->storage, data_size);

   pool->sets_left--;
   pool->bytes_left -= pool_bytes;
   pool->dynamic_left -= layout->dynamic_count;
   list_addtail(&set->link, &pool->sets);
   *set_out = set;
   return VK_SUCCESS;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateDescriptorPool(
   VkDevice _device, const VkDescriptorPoolCreateInfo *pCreateInfo,
   const VkAllocationCallbacks *pAllocator, VkDescriptorPool *pDescriptorPool)
{
   VK_FROM_HANDLE(Device, device, _device);
   auto *pool = static_cast<DescriptorPool *>(vk_object_zalloc(
      &device->vk, pAllocator, sizeof(DescriptorPool), VK_OBJECT_TYPE_DESCRIPTOR_POOL));
   if (!pool)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);

   pool->alloc = pAllocator ? *pAllocator : device->vk.alloc;
   list_inithead(&pool->sets);
   pool->sets_left = pCreateInfo->maxSets;
   const VkMutableDescriptorTypeCreateInfoEXT *mutable_info =
      vk_find_struct_const(pCreateInfo->pNext, MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT);
   for (uint32_t i = 0; i < pCreateInfo->poolSizeCount; i++) {
      const VkDescriptorPoolSize &size = pCreateInfo->pPoolSizes[i];
      if (is_dynamic(size.type))
         pool->dynamic_left += size.descriptorCount;
      else
         pool->bytes_left +=
            uint64_t(size.descriptorCount) * descriptor_bytes(size.type, mutable_info, i);
   }

   // Every inline uniform block is rounded up to whole descriptors.
   const VkDescriptorPoolInlineUniformBlockCreateInfo *inline_info =
      vk_find_struct_const(pCreateInfo->pNext, DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO);
   if (inline_info)
      pool->bytes_left +=
         uint64_t(inline_info->maxInlineUniformBlockBindings) * sizeof(cpu::BufferDescriptor);

   *pDescriptorPool = DescriptorPool_to_handle(pool);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyDescriptorPool(VkDevice _device,
                                                      VkDescriptorPool descriptorPool,
                                                      const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(DescriptorPool, pool, descriptorPool);
   if (!pool)
      return;
   free_all_sets(device, pool);
   vk_object_free(&device->vk, pAllocator, pool);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_ResetDescriptorPool(VkDevice _device,
                                                        VkDescriptorPool descriptorPool,
                                                        VkDescriptorPoolResetFlags)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(DescriptorPool, pool, descriptorPool);
   free_all_sets(device, pool);
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
weft_AllocateDescriptorSets(VkDevice _device, const VkDescriptorSetAllocateInfo *pAllocateInfo,
                            VkDescriptorSet *pDescriptorSets)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(DescriptorPool, pool, pAllocateInfo->descriptorPool);

   const VkDescriptorSetVariableDescriptorCountAllocateInfo *variable = vk_find_struct_const(
      pAllocateInfo->pNext, DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO);

   for (uint32_t i = 0; i < pAllocateInfo->descriptorSetCount; i++) {
      VK_FROM_HANDLE(DescriptorSetLayout, layout, pAllocateInfo->pSetLayouts[i]);

      uint32_t data_size = layout->data_size, pool_bytes = data_size;
      if (layout->binding_count > 0 && (layout->bindings[layout->binding_count - 1].flags &
                                        VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT)) {
         // Without the structure the variable count is zero
         // (VkDescriptorSetVariableDescriptorCountAllocateInfo).
         bool given = variable && variable->descriptorSetCount > 0;
         const uint32_t count = given ? variable->pDescriptorCounts[i] : 0;
         data_size = layout->data_size_with(count);
         pool_bytes = layout->pool_bytes_with(count);
      }

      DescriptorSet *set = nullptr;
      VkResult result = allocate_set(device, pool, layout, data_size, pool_bytes, &set);
      if (result != VK_SUCCESS) {
         weft_FreeDescriptorSets(_device, pAllocateInfo->descriptorPool, i, pDescriptorSets);
         for (uint32_t j = 0; j < pAllocateInfo->descriptorSetCount; j++)
            pDescriptorSets[j] = VK_NULL_HANDLE;
         return result;
      }
      pDescriptorSets[i] = DescriptorSet_to_handle(set);
   }
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_FreeDescriptorSets(VkDevice _device,
                                                       VkDescriptorPool descriptorPool,
                                                       uint32_t descriptorSetCount,
                                                       const VkDescriptorSet *pDescriptorSets)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(DescriptorPool, pool, descriptorPool);
   for (uint32_t i = 0; i < descriptorSetCount; i++) {
      VK_FROM_HANDLE(DescriptorSet, set, pDescriptorSets[i]);
      if (set)
         free_set(device, pool, set);
   }
   return VK_SUCCESS;
}
