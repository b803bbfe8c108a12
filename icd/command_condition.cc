// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Conditional rendering: a number in memory switches off dispatches and clears of attachments
/// (VK_EXT_conditional_rendering). It is read once, where the condition begins. The state is the
/// queue's, so that secondary command buffers inherit it.

#include "icd/buffer.h"
#include "icd/command_buffer.h"
#include "icd/queue.h"
#include "weft_entrypoints.h"

using namespace weft;

namespace {

struct BeginCondition : Command {
   const uint8_t *number; ///< 32 bits
   bool is_inverted;
};

struct EndCondition : Command {};

bool run_begin_condition(Queue *queue, const Command *command)
{
   auto *begin = static_cast<const BeginCondition *>(command);
   const auto number = read_memory<uint32_t>(begin->number);
   queue->discards = (number != 0) == begin->is_inverted;
   return true;
}

bool run_end_condition(Queue *queue, const Command *)
{
   queue->discards = false;
   return true;
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_CmdBeginConditionalRenderingEXT(
   VkCommandBuffer commandBuffer, const VkConditionalRenderingBeginInfoEXT *pBegin)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Buffer, buffer, pBegin->buffer);
   if (auto *begin = record<BeginCondition>(cmd)) {
      begin->run = run_begin_condition;
      begin->number = buffer->address + pBegin->offset;
      begin->is_inverted = pBegin->flags & VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT;
   }
}

VKAPI_ATTR void VKAPI_CALL weft_CmdEndConditionalRenderingEXT(VkCommandBuffer commandBuffer)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   if (auto *end = record<EndCondition>(cmd))
      end->run = run_end_condition;
}
