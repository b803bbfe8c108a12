// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Binding and dispatching.

#include "icd/command_dispatch.h"

#include "backend/cpu/phase_log.h"
#include "icd/buffer.h"
#include "icd/command_buffer.h"
#include "icd/descriptor_set.h"
#include "icd/descriptor_set_layout.h"
#include "icd/pipeline.h"
#include "icd/queue.h"
#include "icd/shader_object.h"
#include "weft_entrypoints.h"

#include "vk_descriptor_update_template.h"
#include "vk_pipeline_layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <span>

namespace weft {

namespace {

/// Waits until its code is generated.
const cpu::ProgramResult &code_of(const cpu::FutureProgram &program)
{
   if (program.is_ready())
      return program.get();
   const cpu::LoggedPhase phase("wait", &program);
   return program.get();
}

const uint8_t *copy_to_commands(CommandBuffer *cmd, const void *data, size_t size)
{
   void *copy = allocate_command_memory(cmd, size);
   if (copy)
      memcpy(copy, data, size);
   return static_cast<const uint8_t *>(copy);
}

const uint8_t *push_constants(CommandBuffer *cmd)
{
   ComputeState &state = cmd->state;
   if (!state.recorded_push_constants)
      state.recorded_push_constants =
         copy_to_commands(cmd, state.push_constants, sizeof(state.push_constants));
   return state.recorded_push_constants;
}

const uint8_t *push_descriptors(CommandBuffer *cmd)
{
   ComputeState &state = cmd->state;
   if (!state.recorded_push_descriptors)
      state.recorded_push_descriptors =
         copy_to_commands(cmd, state.push_descriptors, state.push_descriptor_bytes);
   return state.recorded_push_descriptors;
}

/// The dynamic buffers of all sets with their offsets applied, in the order that the shader
/// expects.
const uint8_t *dynamic_buffers(CommandBuffer *cmd)
{
   const ComputeState &state = cmd->state;
   if (!state.shader)
      return nullptr;
   const uint32_t *base = state.shader->dynamic_base;
   uint32_t count = base[cpu::max_sets];
   if (count == 0)
      return nullptr;
   auto *out = static_cast<cpu::BufferDescriptor *>(
      allocate_command_memory(cmd, count * sizeof(cpu::BufferDescriptor)));
   if (!out)
      return nullptr;
   std::fill_n(out, count, cpu::BufferDescriptor{});
   for (uint32_t s = 0; s < cpu::max_sets; s++) {
      const DescriptorSet *set = state.sets[s].object;
      if (!set)
         continue;
      uint32_t in_set = std::min(base[s + 1] - base[s], set->layout->dynamic_count);
      for (uint32_t i = 0; i < in_set; i++) {
         cpu::BufferDescriptor descriptor = set->storage.dynamic[i];
         if (descriptor.size > 0)
            descriptor.address += state.dynamic_offsets[s][i];
         out[base[s] + i] = descriptor;
      }
   }
   return reinterpret_cast<const uint8_t *>(out);
}

} // namespace

cpu::DispatchState resolve_state(CommandBuffer *cmd)
{
   const ComputeState &state = cmd->state;
   cpu::DispatchState resolved = {};
   for (uint32_t s = 0; s < cpu::max_sets; s++)
      resolved.sets[s] = state.sets[s].data;
   if (state.push_set < cpu::max_sets)
      resolved.sets[state.push_set] = push_descriptors(cmd);
   resolved.sets[cpu::dynamic_slot] = dynamic_buffers(cmd);
   resolved.push_constants = push_constants(cmd);
   return resolved;
}

cpu::DispatchFacts known_facts(const CommandBuffer *cmd, const cpu::DispatchState &resolved)
{
   const ComputeState &state = cmd->state;
   cpu::DispatchFacts facts = {};
   if (resolved.push_constants)
      facts.push_constants =
         std::as_bytes(std::span(resolved.push_constants, sizeof(state.push_constants)));
   for (uint32_t s = 0; s < cpu::max_sets; s++)
      facts.sets[s] = std::as_bytes(std::span(state.sets[s].data, state.sets[s].lasting_bytes));
   if (state.push_set < cpu::max_sets && resolved.sets[state.push_set])
      facts.sets[state.push_set] =
         std::as_bytes(std::span(resolved.sets[state.push_set], state.push_descriptor_bytes));
   return facts;
}

const cpu::FutureProgram *program_for(CommandBuffer *cmd, const cpu::DispatchFacts &facts)
{
   try {
      return &cmd->state.shader->programs().program_for(facts);
   } catch (const std::exception &) {
      vk_command_buffer_set_error(&cmd->vk, VK_ERROR_OUT_OF_HOST_MEMORY);
      return nullptr;
   }
}

bool read_size(const uint8_t *from, cpu::DispatchState *state)
{
   const auto size = read_memory<VkDispatchIndirectCommand>(from);
   state->num_workgroups[0] = size.x;
   state->num_workgroups[1] = size.y;
   state->num_workgroups[2] = size.z;
   return size.x > 0 && size.y > 0 && size.z > 0;
}

bool dispatch_now(Queue *queue, const cpu::FutureProgram &future, const cpu::DispatchState &state)
{
   if (queue->discards)
      return true;
   const auto &program = code_of(future);
   if (!program) {
      queue->failure = program.error().message.c_str();
      return false;
   }
   const auto groups = std::to_array(state.num_workgroups);
   if (queue->executor->dispatch(**program, state, groups)) {
      uint64_t invocations = 1;
      for (uint32_t d = 0; d < 3; d++)
         invocations *= uint64_t(groups[d]) * (*program)->info().workgroup_size[d];
      queue->invocations += invocations;
      return true;
   }
   queue->failure = "no memory for the stacks or the shared memory of a workgroup, or for code";
   return false;
}

} // namespace weft

using namespace weft;

namespace {

struct Dispatch : Command {
   const cpu::FutureProgram *program;
   cpu::DispatchState state;
   const uint8_t *indirect; ///< a VkDispatchIndirectCommand, read when the dispatch runs, or null
};

bool run_dispatch(Queue *queue, const Command *command)
{
   auto *dispatch = static_cast<const Dispatch *>(command);
   if (!dispatch->indirect)
      return dispatch_now(queue, *dispatch->program, dispatch->state);

   cpu::DispatchState state = dispatch->state;
   return !read_size(dispatch->indirect, &state) || dispatch_now(queue, *dispatch->program, state);
}

BoundSet bound_set(const DescriptorSet *set)
{
   if (!set)
      return {};
   const DescriptorSetLayout &layout = *set->layout;
   return {set->storage.data, set, layout.has_unknown_data ? 0 : layout.data_size};
}

/// Null without memory or a shader. Unknown sizes are zero.
Dispatch *record_dispatch(CommandBuffer *cmd, const std::array<uint32_t, 3> &base,
                          const std::array<uint32_t, 3> &groups)
{
   if (!cmd->state.shader)
      return nullptr;
   cpu::DispatchState resolved = resolve_state(cmd);
   std::ranges::copy(base, resolved.base_workgroup);
   std::ranges::copy(groups, resolved.num_workgroups);

   cpu::DispatchFacts facts = known_facts(cmd, resolved);
   facts.base_workgroup = base;
   facts.num_workgroups = groups;
   const cpu::FutureProgram *program = program_for(cmd, facts);
   auto *dispatch = program ? record<Dispatch>(cmd) : nullptr;
   if (!dispatch)
      return nullptr;
   dispatch->run = run_dispatch;
   dispatch->program = program;
   dispatch->state = resolved;
   return dispatch;
}

/// Makes `set` the command buffer's push set and returns its memory.
DescriptorStorage begin_push(CommandBuffer *cmd, const vk_pipeline_layout *layout, uint32_t set)
{
   ComputeState &state = cmd->state;
   auto *set_layout = reinterpret_cast<const DescriptorSetLayout *>(layout->set_layouts[set]);
   state.sets[set] = {};
   state.push_set = set;
   state.push_descriptor_bytes = set_layout->data_size;
   state.recorded_push_descriptors = nullptr;
   const DescriptorStorage storage = {
      .layout = set_layout,
      .data = state.push_descriptors,
      .dynamic = nullptr, // not allowed in push descriptors
                          // (VUID-VkDescriptorSetLayoutCreateInfo-flags-00280)
   };
   write_immutable_samplers(storage, set_layout->data_size);
   return storage;
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_CmdBindPipeline(VkCommandBuffer commandBuffer, VkPipelineBindPoint,
                                                VkPipeline _pipeline)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Pipeline, pipeline, _pipeline);
   cmd->state.shader = pipeline ? &pipeline->shader : nullptr;
}

VKAPI_ATTR void VKAPI_CALL weft_CmdBindShadersEXT(VkCommandBuffer commandBuffer,
                                                  uint32_t stageCount,
                                                  const VkShaderStageFlagBits *pStages,
                                                  const VkShaderEXT *pShaders)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   for (uint32_t i = 0; i < stageCount; i++) {
      if (pStages[i] != VK_SHADER_STAGE_COMPUTE_BIT)
         continue;
      VK_FROM_HANDLE(ShaderObject, object, pShaders ? pShaders[i] : VK_NULL_HANDLE);
      cmd->state.shader = object ? &object->shader : nullptr;
   }
}

VKAPI_ATTR void VKAPI_CALL weft_CmdBindDescriptorSets2KHR(
   VkCommandBuffer commandBuffer, const VkBindDescriptorSetsInfoKHR *pBindDescriptorSetsInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   if (!(pBindDescriptorSetsInfo->stageFlags & VK_SHADER_STAGE_COMPUTE_BIT))
      return;
   ComputeState &state = cmd->state;
   const uint32_t *offsets = pBindDescriptorSetsInfo->pDynamicOffsets;
   for (uint32_t i = 0; i < pBindDescriptorSetsInfo->descriptorSetCount; i++) {
      VK_FROM_HANDLE(DescriptorSet, set, pBindDescriptorSetsInfo->pDescriptorSets[i]);
      uint32_t s = pBindDescriptorSetsInfo->firstSet + i;
      state.bind(s, bound_set(set));
      if (set && set->layout->dynamic_count > 0) {
         std::copy_n(offsets, set->layout->dynamic_count, state.dynamic_offsets[s]);
         offsets += set->layout->dynamic_count;
      }
   }
}

VKAPI_ATTR void VKAPI_CALL weft_CmdPushConstants2KHR(
   VkCommandBuffer commandBuffer, const VkPushConstantsInfoKHR *pPushConstantsInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   if (!(pPushConstantsInfo->stageFlags & VK_SHADER_STAGE_COMPUTE_BIT))
      return;
   memcpy(cmd->state.push_constants + pPushConstantsInfo->offset, pPushConstantsInfo->pValues,
          pPushConstantsInfo->size);
   cmd->state.recorded_push_constants = nullptr;
}

VKAPI_ATTR void VKAPI_CALL weft_CmdPushDescriptorSet2KHR(
   VkCommandBuffer commandBuffer, const VkPushDescriptorSetInfoKHR *pPushDescriptorSetInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(vk_pipeline_layout, layout, pPushDescriptorSetInfo->layout);
   if (!(pPushDescriptorSetInfo->stageFlags & VK_SHADER_STAGE_COMPUTE_BIT))
      return;
   DescriptorStorage storage = begin_push(cmd, layout, pPushDescriptorSetInfo->set);
   for (uint32_t i = 0; i < pPushDescriptorSetInfo->descriptorWriteCount; i++)
      write_descriptors(storage, pPushDescriptorSetInfo->pDescriptorWrites[i]);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdPushDescriptorSetWithTemplate2KHR(
   VkCommandBuffer commandBuffer,
   const VkPushDescriptorSetWithTemplateInfoKHR *pPushDescriptorSetWithTemplateInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(vk_descriptor_update_template, templ,
                  pPushDescriptorSetWithTemplateInfo->descriptorUpdateTemplate);
   VK_FROM_HANDLE(vk_pipeline_layout, layout, pPushDescriptorSetWithTemplateInfo->layout);
   if (templ->bind_point != VK_PIPELINE_BIND_POINT_COMPUTE)
      return;
   DescriptorStorage storage = begin_push(cmd, layout, pPushDescriptorSetWithTemplateInfo->set);
   write_descriptors(storage, templ, pPushDescriptorSetWithTemplateInfo->pData);
}

VKAPI_ATTR void VKAPI_CALL weft_CmdDispatchBase(VkCommandBuffer commandBuffer, uint32_t baseGroupX,
                                                uint32_t baseGroupY, uint32_t baseGroupZ,
                                                uint32_t groupCountX, uint32_t groupCountY,
                                                uint32_t groupCountZ)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   if (groupCountX == 0 || groupCountY == 0 || groupCountZ == 0)
      return;
   record_dispatch(cmd, {baseGroupX, baseGroupY, baseGroupZ},
                   {groupCountX, groupCountY, groupCountZ});
}

VKAPI_ATTR void VKAPI_CALL weft_CmdDispatchIndirect(VkCommandBuffer commandBuffer, VkBuffer _buffer,
                                                    VkDeviceSize offset)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Buffer, buffer, _buffer);
   Dispatch *dispatch = record_dispatch(cmd, {}, {});
   if (dispatch)
      dispatch->indirect = buffer->address + offset;
}
