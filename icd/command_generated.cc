// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Commands that memory holds (VK_EXT_device_generated_commands): sequences of push constants, a
/// choice among shaders, and a dispatch. The queue reads them when it executes them, so
/// preprocessing has nothing to do and needs no memory.

#include "icd/command_buffer.h"
#include "icd/command_dispatch.h"
#include "icd/compute_shader.h"
#include "icd/indirect_commands_layout.h"
#include "icd/indirect_execution_set.h"
#include "icd/queue.h"
#include "icd/resource_memory.h"
#include "weft_entrypoints.h"

#include <algorithm>
#include <cstring>
#include <exception>

using namespace weft;

namespace {

struct GeneratedCommands : Command {
   const IndirectCommandsLayout *layout;
   const IndirectExecutionSet *set;   ///< null: all sequences have one program
   const cpu::FutureProgram *program; ///< null: the set has the programs
   cpu::DispatchState state;
   cpu::DispatchFacts facts; ///< of all sequences
   const uint8_t *sequences;
   uint64_t bytes;       ///< of all sequences
   const uint8_t *count; ///< 32 bits, or null
   uint32_t max_count;
};

/// No sequence reads memory behind the size that the application states.
uint32_t sequence_count(const GeneratedCommands &commands)
{
   const IndirectCommandsLayout &layout = *commands.layout;
   uint32_t count = commands.max_count;
   if (commands.count)
      count = std::min(count, read_memory<uint32_t>(commands.count));
   if (layout.bytes > commands.bytes)
      return 0;
   if (layout.stride > 0)
      count =
         uint32_t(std::min<uint64_t>(count, (commands.bytes - layout.bytes) / layout.stride + 1));
   return count;
}

/// The programs of a set's elements, which sequences in a row often share.
struct ElementPrograms {
   const GeneratedCommands &commands;
   const ComputeShader *last = nullptr;
   const cpu::FutureProgram *program = nullptr; ///< of the last shader

   /// Null if the set has no such element. Throws std::bad_alloc.
   const cpu::FutureProgram *find(uint32_t element)
   {
      const ComputeShader *shader = commands.set->shader(element);
      if (shader != last)
         program = shader ? &shader->programs().program_for(commands.facts) : nullptr;
      last = shader;
      return program;
   }
};

bool run_sequences(Queue *queue, const GeneratedCommands &commands)
{
   const IndirectCommandsLayout &layout = *commands.layout;
   alignas(host_alignment) uint8_t push_constants[max_push_constants_size];
   memcpy(push_constants, commands.state.push_constants, sizeof(push_constants));
   cpu::DispatchState state = commands.state;
   state.push_constants = push_constants;
   ElementPrograms elements = {commands};

   const uint32_t count = sequence_count(commands);
   for (uint32_t s = 0; s < count; s++) {
      const uint8_t *sequence = commands.sequences + uint64_t(s) * layout.stride;
      if (!read_size(sequence + layout.dispatch, &state))
         continue;
      const cpu::FutureProgram *program =
         commands.set ? elements.find(read_memory<uint32_t>(sequence + layout.element))
                      : commands.program;
      if (!program)
         continue;
      for (uint32_t p = 0; p < layout.push_count; p++) {
         const IndirectCommandsLayout::Push &push = layout.pushes[p];
         if (push.from == no_token)
            memcpy(push_constants + push.to, &s, sizeof(s));
         else
            memcpy(push_constants + push.to, sequence + push.from, push.size);
      }
      if (!dispatch_now(queue, *program, state))
         return false;
   }
   return true;
}

bool run_generated(Queue *queue, const Command *command)
{
   try {
      return run_sequences(queue, *static_cast<const GeneratedCommands *>(command));
   } catch (const std::exception &) {
      queue->failure = "no memory to choose a program for generated commands";
      return false;
   }
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_GetGeneratedCommandsMemoryRequirementsEXT(
   VkDevice, const VkGeneratedCommandsMemoryRequirementsInfoEXT *,
   VkMemoryRequirements2 *pMemoryRequirements)
{
   write_requirements(0, 0, pMemoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdPreprocessGeneratedCommandsEXT(
   VkCommandBuffer, const VkGeneratedCommandsInfoEXT *, VkCommandBuffer)
{
}

VKAPI_ATTR void VKAPI_CALL
weft_CmdExecuteGeneratedCommandsEXT(VkCommandBuffer commandBuffer, VkBool32,
                                    const VkGeneratedCommandsInfoEXT *pGeneratedCommandsInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   const VkGeneratedCommandsInfoEXT &info = *pGeneratedCommandsInfo;
   VK_FROM_HANDLE(IndirectCommandsLayout, layout, info.indirectCommandsLayout);
   VK_FROM_HANDLE(IndirectExecutionSet, set, info.indirectExecutionSet);
   if (layout->element == no_token)
      set = nullptr;
   if (layout->dispatch == no_token ||
       (!set && (layout->element != no_token || !cmd->state.shader)))
      return;

   const cpu::DispatchState state = resolve_state(cmd);
   cpu::DispatchFacts facts = known_facts(cmd, state);
   if (!state.push_constants)
      return;
   facts.push_constants = facts.push_constants.first(layout->kept_constants);
   const cpu::FutureProgram *program = set ? nullptr : program_for(cmd, facts);
   auto *commands = set || program ? record<GeneratedCommands>(cmd) : nullptr;
   if (!commands)
      return;
   commands->run = run_generated;
   commands->layout = layout;
   commands->set = set;
   commands->program = program;
   commands->state = state;
   commands->facts = facts;
   commands->sequences = reinterpret_cast<const uint8_t *>(info.indirectAddress);
   commands->bytes = info.indirectAddressSize;
   commands->count = reinterpret_cast<const uint8_t *>(info.sequenceCountAddress);
   commands->max_count = info.maxSequenceCount;
}
