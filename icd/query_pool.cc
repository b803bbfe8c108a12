// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/query_pool.h"

#include "icd/device.h"
#include "weft_entrypoints.h"

#include "vk_log.h"

namespace weft {
namespace {

void write_number(uint8_t *out, uint32_t index, uint64_t value, VkQueryResultFlags flags)
{
   if (flags & VK_QUERY_RESULT_64_BIT)
      reinterpret_cast<uint64_t *>(out)[index] = value;
   else
      reinterpret_cast<uint32_t *>(out)[index] = uint32_t(value);
}

} // namespace

void reset_queries(Device *device, QueryPool *pool, uint32_t first, uint32_t count)
{
   std::lock_guard lock(device->progress.mutex);
   for (uint32_t i = first; i < first + count; i++)
      pool->results[i] = {};
}

void write_timestamp(Device *device, QueryPool *pool, uint32_t query)
{
   device->progress.update([&] { pool->results[query] = {device_timestamp(), true}; });
}

VkResult read_queries(Device *device, const QueryPool *pool, uint32_t first, uint32_t count,
                      uint8_t *out, uint64_t stride, VkQueryResultFlags flags)
{
   if (flags & VK_QUERY_RESULT_WAIT_BIT) {
      // A lost device never writes the missing results.
      device->progress.wait([&] {
         if (device->progress.closing || vk_device_is_lost_no_report(&device->vk))
            return true;
         for (uint32_t i = first; i < first + count; i++) {
            if (!pool->results[i].available)
               return false;
         }
         return true;
      });
   }

   VkResult status = VK_SUCCESS;
   std::lock_guard lock(device->progress.mutex);
   for (uint32_t i = 0; i < count; i++, out += stride) {
      const QueryResult &result = pool->results[first + i];
      // The intermediate value of an unavailable timestamp is zero (VK_QUERY_RESULT_PARTIAL_BIT is
      // not allowed for timestamps: VUID-vkGetQueryPoolResults-queryType-09439).
      if (result.available)
         write_number(out, 0, result.value, flags);
      else
         status = VK_NOT_READY;
      if (flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT)
         write_number(out, 1, result.available, flags);
   }
   return status;
}

} // namespace weft

using namespace weft;

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateQueryPool(VkDevice _device,
                                                    const VkQueryPoolCreateInfo *pCreateInfo,
                                                    const VkAllocationCallbacks *pAllocator,
                                                    VkQueryPool *pQueryPool)
{
   VK_FROM_HANDLE(Device, device, _device);
   if (pCreateInfo->queryType != VK_QUERY_TYPE_TIMESTAMP)
      return vk_errorf(device, VK_ERROR_UNKNOWN, "only timestamp queries exist");

   size_t size = sizeof(QueryPool) + pCreateInfo->queryCount * sizeof(QueryResult);
   auto *pool =
      static_cast<QueryPool *>(vk_query_pool_create(&device->vk, pCreateInfo, pAllocator, size));
   if (!pool)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   pool->results = reinterpret_cast<QueryResult *>(pool + 1);
   *pQueryPool = QueryPool_to_handle(pool);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyQueryPool(VkDevice _device, VkQueryPool queryPool,
                                                 const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(QueryPool, pool, queryPool);
   if (pool)
      vk_query_pool_destroy(&device->vk, pAllocator, &pool->vk);
}

VKAPI_ATTR void VKAPI_CALL weft_ResetQueryPool(VkDevice _device, VkQueryPool queryPool,
                                               uint32_t firstQuery, uint32_t queryCount)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(QueryPool, pool, queryPool);
   reset_queries(device, pool, firstQuery, queryCount);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetQueryPoolResults(VkDevice _device, VkQueryPool queryPool,
                                                        uint32_t firstQuery, uint32_t queryCount,
                                                        size_t, void *pData, VkDeviceSize stride,
                                                        VkQueryResultFlags flags)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(QueryPool, pool, queryPool);
   const VkResult result = read_queries(device, pool, firstQuery, queryCount,
                                        static_cast<uint8_t *>(pData), stride, flags);
   return vk_device_is_lost(&device->vk) ? VK_ERROR_DEVICE_LOST : result;
}
