// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/command_buffer.h"

#include "icd/device.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_command_pool.h"
#include "vk_log.h"

#include "util/u_math.h"

#include <algorithm>

namespace weft {

struct alignas(host_alignment) CommandChunk {
   CommandChunk *full; ///< list of the chunks that were filled before
   size_t capacity, used;

   uint8_t *bytes() { return reinterpret_cast<uint8_t *>(this + 1); }
};

namespace {

constexpr size_t first_chunk_bytes = 8 << 10, largest_chunk_bytes = 1 << 20;

void start_recording(CommandBuffer *cmd)
{
   cmd->first = nullptr;
   cmd->last_link = &cmd->first;
   cmd->state = {};
   cmd->state.push_set = cpu::max_sets;
}

/// Frees all chunks except the newest, which is the largest; with `all`, that too.
void free_chunks(CommandBuffer *cmd, bool all)
{
   CommandChunk *chunk = cmd->chunk;
   if (chunk && !all) {
      chunk = cmd->chunk->full;
      cmd->chunk->full = nullptr;
      cmd->chunk->used = 0;
   } else {
      cmd->chunk = nullptr;
   }
   while (chunk) {
      CommandChunk *full = chunk->full;
      vk_free(&cmd->vk.pool->alloc, chunk);
      chunk = full;
   }
}

VkResult create(vk_command_pool *pool, VkCommandBufferLevel level, vk_command_buffer **out)
{
   auto *cmd = static_cast<CommandBuffer *>(
      vk_zalloc(&pool->alloc, sizeof(CommandBuffer), 8, VK_SYSTEM_ALLOCATION_SCOPE_OBJECT));
   if (!cmd)
      return vk_error(pool, VK_ERROR_OUT_OF_HOST_MEMORY);
   VkResult result = vk_command_buffer_init(pool, &cmd->vk, &command_buffer_ops, level);
   if (result != VK_SUCCESS) {
      vk_free(&pool->alloc, cmd);
      return result;
   }
   start_recording(cmd);
   *out = &cmd->vk;
   return VK_SUCCESS;
}

void reset(vk_command_buffer *vk, VkCommandBufferResetFlags flags)
{
   auto *cmd = reinterpret_cast<CommandBuffer *>(vk);
   vk_command_buffer_reset(vk);
   free_chunks(cmd, flags & VK_COMMAND_BUFFER_RESET_RELEASE_RESOURCES_BIT);
   start_recording(cmd);
}

void destroy(vk_command_buffer *vk)
{
   auto *cmd = reinterpret_cast<CommandBuffer *>(vk);
   vk_command_pool *pool = vk->pool;
   free_chunks(cmd, true);
   vk_command_buffer_finish(vk);
   vk_free(&pool->alloc, cmd);
}

} // namespace

const vk_command_buffer_ops command_buffer_ops = {
   .create = create,
   .reset = reset,
   .destroy = destroy,
};

void *allocate_command_memory(CommandBuffer *cmd, size_t size)
{
   size = align64(size, host_alignment);
   CommandChunk *chunk = cmd->chunk;
   if (!chunk || chunk->capacity - chunk->used < size) {
      size_t capacity =
         chunk ? std::min(2 * chunk->capacity, largest_chunk_bytes) : first_chunk_bytes;
      capacity = std::max(capacity, size);
      auto *fresh =
         static_cast<CommandChunk *>(vk_alloc(&cmd->vk.pool->alloc, sizeof(CommandChunk) + capacity,
                                              host_alignment, VK_SYSTEM_ALLOCATION_SCOPE_OBJECT));
      if (!fresh) {
         vk_command_buffer_set_error(&cmd->vk, VK_ERROR_OUT_OF_HOST_MEMORY);
         return nullptr;
      }
      *fresh = {.full = chunk, .capacity = capacity, .used = 0};
      cmd->chunk = chunk = fresh;
   }
   void *memory = chunk->bytes() + chunk->used;
   chunk->used += size;
   return memory;
}

bool execute_command_buffer(Queue *queue, const CommandBuffer *cmd)
{
   for (const Command *command = cmd->first; command; command = command->next) {
      if (!command->run(queue, command))
         return false;
   }
   return true;
}

} // namespace weft

using namespace weft;

namespace {

struct ExecuteCommands : Command {
   const CommandBuffer *secondary;
};

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL weft_BeginCommandBuffer(VkCommandBuffer commandBuffer,
                                                       const VkCommandBufferBeginInfo *pBeginInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   vk_command_buffer_begin(&cmd->vk, pBeginInfo);
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_EndCommandBuffer(VkCommandBuffer commandBuffer)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   return vk_command_buffer_end(&cmd->vk);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdExecuteCommands(VkCommandBuffer commandBuffer,
                                                   uint32_t commandBufferCount,
                                                   const VkCommandBuffer *pCommandBuffers)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   for (uint32_t i = 0; i < commandBufferCount; i++) {
      VK_FROM_HANDLE(CommandBuffer, secondary, pCommandBuffers[i]);
      auto *command = record<ExecuteCommands>(cmd);
      if (!command)
         return;
      command->secondary = secondary;
      command->run = [](Queue *queue, const Command *c) {
         return execute_command_buffer(queue, static_cast<const ExecuteCommands *>(c)->secondary);
      };
   }
}
