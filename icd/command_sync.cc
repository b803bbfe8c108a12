// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Barriers, events and queries. A queue runs its commands one after the other, and every command
/// is complete, its writes visible, before the next begins; so barriers do nothing.

#include "icd/buffer.h"
#include "icd/command_buffer.h"
#include "icd/device.h"
#include "icd/event.h"
#include "icd/query_pool.h"
#include "weft_entrypoints.h"

#include <algorithm>

using namespace weft;

namespace {

struct ChangeEvent : Command {
   Event *event;
   bool set;
};

struct WaitEvents : Command {
   uint32_t count;

   Event **events() { return reinterpret_cast<Event **>(this + 1); }
   Event *const *events() const { return reinterpret_cast<Event *const *>(this + 1); }
};

struct QueryRange : Command {
   QueryPool *pool;
   uint32_t first, count;
};

struct CopyQueries : QueryRange {
   uint8_t *dst;
   uint64_t stride;
   VkQueryResultFlags flags;
};

bool run_change_event(Queue *queue, const Command *command)
{
   auto *change = static_cast<const ChangeEvent *>(command);
   queue->device()->progress.update([&] { change->event->set = change->set; });
   return true;
}

/// The host may set an event while the queue waits for it (VK_PIPELINE_STAGE_HOST_BIT).
bool run_wait_events(Queue *queue, const Command *command)
{
   auto *wait = static_cast<const WaitEvents *>(command);
   return wait_in_queue(queue, [&] {
      return std::all_of(wait->events(), wait->events() + wait->count,
                         [](const Event *event) { return event->set; });
   });
}

bool run_reset_queries(Queue *queue, const Command *command)
{
   auto *range = static_cast<const QueryRange *>(command);
   reset_queries(queue->device(), range->pool, range->first, range->count);
   return true;
}

bool run_write_timestamp(Queue *queue, const Command *command)
{
   auto *range = static_cast<const QueryRange *>(command);
   write_timestamp(queue->device(), range->pool, range->first);
   return true;
}

bool run_begin_query(Queue *queue, const Command *command)
{
   auto *range = static_cast<const QueryRange *>(command);
   begin_count(queue->device(), range->pool, range->first, queue->invocations);
   return true;
}

bool run_end_query(Queue *queue, const Command *command)
{
   auto *range = static_cast<const QueryRange *>(command);
   end_count(queue->device(), range->pool, range->first, queue->invocations);
   return true;
}

bool run_copy_queries(Queue *queue, const Command *command)
{
   auto *copy = static_cast<const CopyQueries *>(command);
   (void)read_queries(queue->device(), copy->pool, copy->first, copy->count, copy->dst,
                      copy->stride, copy->flags);
   return true;
}

void record_queries(VkCommandBuffer commandBuffer, VkQueryPool queryPool, uint32_t first,
                    uint32_t count, bool (*run)(Queue *, const Command *))
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(QueryPool, pool, queryPool);
   if (auto *range = record<QueryRange>(cmd)) {
      range->run = run;
      range->pool = pool;
      range->first = first;
      range->count = count;
   }
}

void record_event_change(VkCommandBuffer commandBuffer, VkEvent _event, bool set)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Event, event, _event);
   if (auto *change = record<ChangeEvent>(cmd)) {
      change->run = run_change_event;
      change->event = event;
      change->set = set;
   }
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_CmdPipelineBarrier2(VkCommandBuffer, const VkDependencyInfo *) {}

VKAPI_ATTR void VKAPI_CALL weft_CmdSetEvent2(VkCommandBuffer commandBuffer, VkEvent event,
                                             const VkDependencyInfo *)
{
   record_event_change(commandBuffer, event, true);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdResetEvent2(VkCommandBuffer commandBuffer, VkEvent event,
                                               VkPipelineStageFlags2)
{
   record_event_change(commandBuffer, event, false);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdWaitEvents2(VkCommandBuffer commandBuffer, uint32_t eventCount,
                                               const VkEvent *pEvents, const VkDependencyInfo *)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   auto *wait = record<WaitEvents>(cmd, eventCount * sizeof(Event *));
   if (!wait)
      return;
   wait->run = run_wait_events;
   wait->count = eventCount;
   for (uint32_t i = 0; i < eventCount; i++)
      wait->events()[i] = Event_from_handle(pEvents[i]);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdResetQueryPool(VkCommandBuffer commandBuffer,
                                                  VkQueryPool queryPool, uint32_t firstQuery,
                                                  uint32_t queryCount)
{
   record_queries(commandBuffer, queryPool, firstQuery, queryCount, run_reset_queries);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdBeginQuery(VkCommandBuffer commandBuffer, VkQueryPool queryPool,
                                              uint32_t query, VkQueryControlFlags)
{
   record_queries(commandBuffer, queryPool, query, 1, run_begin_query);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdEndQuery(VkCommandBuffer commandBuffer, VkQueryPool queryPool,
                                            uint32_t query)
{
   record_queries(commandBuffer, queryPool, query, 1, run_end_query);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdWriteTimestamp2(VkCommandBuffer commandBuffer,
                                                   VkPipelineStageFlags2, VkQueryPool queryPool,
                                                   uint32_t query)
{
   record_queries(commandBuffer, queryPool, query, 1, run_write_timestamp);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdCopyQueryPoolResults(VkCommandBuffer commandBuffer,
                                                        VkQueryPool queryPool, uint32_t firstQuery,
                                                        uint32_t queryCount, VkBuffer dstBuffer,
                                                        VkDeviceSize dstOffset, VkDeviceSize stride,
                                                        VkQueryResultFlags flags)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(QueryPool, pool, queryPool);
   VK_FROM_HANDLE(Buffer, dst, dstBuffer);
   if (auto *copy = record<CopyQueries>(cmd)) {
      copy->run = run_copy_queries;
      copy->pool = pool;
      copy->first = firstQuery;
      copy->count = queryCount;
      copy->dst = dst->address + dstOffset;
      copy->stride = stride;
      copy->flags = flags;
   }
}
