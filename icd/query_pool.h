// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_query_pool.h"

#include <cstdint>

namespace weft {

struct Device;

/// Guarded by Device::progress.
struct QueryResult {
   uint64_t value; ///< of an active query, the invocations before it
   bool available;
};

/// Holds timestamps, pipeline statistics or, with a graphics queue, occlusion queries. Nothing is
/// drawn. So all numbers but the timestamps and the number of compute invocations are 0.
struct QueryPool {
   vk_query_pool vk;
   QueryResult *results; ///< query_count elements, in the same allocation

   /// The numbers that a query writes.
   uint32_t number_count() const;
   /// The index of the number that is not 0; number_count() if all are.
   uint32_t number_index() const;
};

VK_DEFINE_NONDISP_HANDLE_CASTS(QueryPool, vk.base, VkQueryPool, VK_OBJECT_TYPE_QUERY_POOL)

/// Makes the results unavailable.
void reset_queries(Device *, QueryPool *, uint32_t first, uint32_t count);
/// Makes the query available with the current time, and wakes the threads that wait for it.
void write_timestamp(Device *, QueryPool *, uint32_t query);
/// A query counts the invocations between two values of Queue::invocations.
void begin_count(Device *, QueryPool *, uint32_t query, uint64_t invocations);
void end_count(Device *, QueryPool *, uint32_t query, uint64_t invocations);
/// Writes results as vkGetQueryPoolResults and vkCmdCopyQueryPoolResults do. VK_NOT_READY if a
/// result was unavailable: the flags do not request waiting, or the device is lost.
VkResult read_queries(Device *, const QueryPool *, uint32_t first, uint32_t count, uint8_t *out,
                      uint64_t stride, VkQueryResultFlags flags);

} // namespace weft
