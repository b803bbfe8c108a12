// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Copies, fills and updates of buffers.

#include "icd/buffer.h"
#include "icd/command_buffer.h"
#include "icd/repeat_bytes.h"
#include "weft_entrypoints.h"

#include <cstring>

using namespace weft;

namespace {

struct CopyRegion {
   uint8_t *dst;
   const uint8_t *src;
   uint64_t size;
};

struct CopyBuffer : Command {
   uint32_t region_count;

   CopyRegion *regions() { return reinterpret_cast<CopyRegion *>(this + 1); }
   const CopyRegion *regions() const { return reinterpret_cast<const CopyRegion *>(this + 1); }
};

struct FillBuffer : Command {
   uint8_t *dst;
   uint64_t words;
   uint32_t value;
};

struct UpdateBuffer : Command {
   uint8_t *dst;
   uint64_t size;

   uint8_t *data() { return reinterpret_cast<uint8_t *>(this + 1); }
   const uint8_t *data() const { return reinterpret_cast<const uint8_t *>(this + 1); }
};

bool run_copy(Queue *, const Command *command)
{
   auto *copy = static_cast<const CopyBuffer *>(command);
   for (uint32_t i = 0; i < copy->region_count; i++) {
      const CopyRegion &region = copy->regions()[i];
      memcpy(region.dst, region.src, region.size);
   }
   return true;
}

bool run_fill(Queue *, const Command *command)
{
   auto *fill = static_cast<const FillBuffer *>(command);
   RepeatedBytes(&fill->value, sizeof(fill->value)).fill(fill->dst, fill->words * sizeof(uint32_t));
   return true;
}

bool run_update(Queue *, const Command *command)
{
   auto *update = static_cast<const UpdateBuffer *>(command);
   memcpy(update->dst, update->data(), update->size);
   return true;
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_CmdCopyBuffer2(VkCommandBuffer commandBuffer,
                                               const VkCopyBufferInfo2 *pCopyBufferInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Buffer, src, pCopyBufferInfo->srcBuffer);
   VK_FROM_HANDLE(Buffer, dst, pCopyBufferInfo->dstBuffer);

   uint32_t count = pCopyBufferInfo->regionCount;
   auto *copy = record<CopyBuffer>(cmd, count * sizeof(CopyRegion));
   if (!copy)
      return;
   copy->run = run_copy;
   copy->region_count = count;
   for (uint32_t i = 0; i < count; i++) {
      const VkBufferCopy2 &region = pCopyBufferInfo->pRegions[i];
      copy->regions()[i] = {
         .dst = dst->address + region.dstOffset,
         .src = src->address + region.srcOffset,
         .size = region.size,
      };
   }
}

VKAPI_ATTR void VKAPI_CALL weft_CmdFillBuffer(VkCommandBuffer commandBuffer, VkBuffer dstBuffer,
                                              VkDeviceSize dstOffset, VkDeviceSize size,
                                              uint32_t data)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Buffer, dst, dstBuffer);
   auto *fill = record<FillBuffer>(cmd);
   if (!fill)
      return;
   fill->run = run_fill;
   fill->dst = dst->address + dstOffset;
   // A whole-size fill leaves the bytes after the last multiple of four unchanged.
   fill->words = vk_buffer_range(&dst->vk, dstOffset, size) / sizeof(uint32_t);
   fill->value = data;
}

VKAPI_ATTR void VKAPI_CALL weft_CmdUpdateBuffer(VkCommandBuffer commandBuffer, VkBuffer dstBuffer,
                                                VkDeviceSize dstOffset, VkDeviceSize dataSize,
                                                const void *pData)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Buffer, dst, dstBuffer);
   auto *update = record<UpdateBuffer>(cmd, dataSize);
   if (!update)
      return;
   update->run = run_update;
   update->dst = dst->address + dstOffset;
   update->size = dataSize;
   memcpy(update->data(), pData, dataSize);
}
