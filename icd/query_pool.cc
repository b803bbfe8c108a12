// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/query_pool.h"

#include "icd/device.h"
#include "icd/settings.h"
#include "weft_entrypoints.h"

#include "util/bitscan.h"
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

void write_numbers(const QueryPool &pool, const QueryResult &result, uint8_t *out,
                   VkQueryResultFlags flags)
{
   const uint32_t count = pool.number_count(), own = pool.number_index();
   // The numbers of a query that is not available are between 0 and the final ones.
   if (result.available || flags & VK_QUERY_RESULT_PARTIAL_BIT) {
      for (uint32_t i = 0; i < count; i++)
         write_number(out, i, i == own && result.available ? result.value : 0, flags);
   }
   if (flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT)
      write_number(out, count, result.available, flags);
}

bool is_supported(VkQueryType type)
{
   return type == VK_QUERY_TYPE_TIMESTAMP || type == VK_QUERY_TYPE_PIPELINE_STATISTICS ||
          (type == VK_QUERY_TYPE_OCCLUSION && settings().graphics_queue);
}

} // namespace

uint32_t QueryPool::number_count() const
{
   const bool is_statistics = vk.query_type == VK_QUERY_TYPE_PIPELINE_STATISTICS;
   return is_statistics ? util_bitcount(vk.pipeline_statistics) : 1;
}

uint32_t QueryPool::number_index() const
{
   if (vk.query_type == VK_QUERY_TYPE_TIMESTAMP)
      return 0;
   constexpr uint32_t own = VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT;
   return vk.pipeline_statistics & own ? util_bitcount(vk.pipeline_statistics & (own - 1))
                                       : number_count();
}

void begin_count(Device *device, QueryPool *pool, uint32_t query, uint64_t invocations)
{
   device->progress.update([&] { pool->results[query] = {invocations, false}; });
}

void end_count(Device *device, QueryPool *pool, uint32_t query, uint64_t invocations)
{
   device->progress.update([&] {
      QueryResult &result = pool->results[query];
      result = {invocations - result.value, true};
   });
}

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
      if (!result.available && !(flags & VK_QUERY_RESULT_PARTIAL_BIT))
         status = VK_NOT_READY;
      write_numbers(*pool, result, out, flags);
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
   if (!is_supported(pCreateInfo->queryType))
      return vk_errorf(device, VK_ERROR_UNKNOWN, "queries of this kind need graphics");

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
