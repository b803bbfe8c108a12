// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/executor.h"

#include <algorithm>
#include <cstring>

namespace weft::commands {

VkQueryResultFlags query_flags(uint32_t flags)
{
   return (flags & query_64 ? VK_QUERY_RESULT_64_BIT : 0) |
          (flags & query_wait ? VK_QUERY_RESULT_WAIT_BIT : 0) |
          (flags & query_availability ? VK_QUERY_RESULT_WITH_AVAILABILITY_BIT : 0);
}

VkDescriptorBufferInfo Executor::buffer_info(const Descriptor &d) const
{
   if (d.buffer == none)
      return {VK_NULL_HANDLE, 0, VK_WHOLE_SIZE};
   return {buffers[d.buffer], d.offset, d.range == whole ? VK_WHOLE_SIZE : d.range};
}

void WriteList::add(const Executor &executor, VkDescriptorSet set, const SetKind &kind,
                    const Write &write)
{
   VkWriteDescriptorSet w = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstSet = set,
      .dstBinding = write.binding,
      .dstArrayElement = write.element,
      .descriptorType = vulkan_type(find_binding(kind, write.binding)->kind),
   };
   if (w.descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
      blocks.push_back(std::make_unique<VkWriteDescriptorSetInlineUniformBlock>());
      *blocks.back() = {
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
         .dataSize = uint32_t(write.bytes.size()),
         .pData = write.bytes.data(),
      };
      w.pNext = blocks.back().get();
      w.descriptorCount = uint32_t(write.bytes.size());
   } else {
      infos.push_back(std::make_unique<std::vector<VkDescriptorBufferInfo>>());
      for (const Descriptor &d : write.descriptors)
         infos.back()->push_back(executor.buffer_info(d));
      w.descriptorCount = uint32_t(write.descriptors.size());
      w.pBufferInfo = infos.back()->data();
   }
   writes.push_back(w);
}

/// Descriptors lie `stride` bytes apart, writes with a gap between. The bytes between them are no
/// descriptors.
TemplateData Executor::template_data(const std::vector<Write> &writes, const SetKind &kind) const
{
   TemplateData t;
   for (const Write &write : writes) {
      const DescriptorKind type = find_binding(kind, write.binding)->kind;
      const bool is_inline = type == DescriptorKind::inline_block;
      const size_t offset = (t.data.size() + 7) / 8 * 8 + 8;
      const size_t count = is_inline ? write.bytes.size() : write.descriptors.size();
      t.entries.push_back({write.binding, write.element, uint32_t(count), vulkan_type(type), offset,
                           is_inline ? 0 : write.stride});
      t.data.resize(offset + (is_inline ? count : count * write.stride), 0x5a);
      if (is_inline)
         std::ranges::copy(write.bytes, t.data.begin() + int64_t(offset));
      for (size_t i = 0; i < write.descriptors.size(); i++) {
         const VkDescriptorBufferInfo info = buffer_info(write.descriptors[i]);
         memcpy(&t.data[offset + i * write.stride], &info, sizeof(info));
      }
   }
   return t;
}

VkDescriptorUpdateTemplate Executor::make_template(const TemplateData &data,
                                                   VkPipelineLayout push_layout,
                                                   VkDescriptorSetLayout set_layout, uint32_t set)
{
   const VkDescriptorUpdateTemplateCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
      .descriptorUpdateEntryCount = uint32_t(data.entries.size()),
      .pDescriptorUpdateEntries = data.entries.data(),
      .templateType = push_layout ? VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR
                                  : VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
      .descriptorSetLayout = set_layout,
      .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
      .pipelineLayout = push_layout,
      .set = set,
   };
   VkDescriptorUpdateTemplate made;
   CHECK_VK(vkCreateDescriptorUpdateTemplate(device, &info, nullptr, &made));
   templates.push_back(made);
   return made;
}

void Executor::push_descriptors(VkCommandBuffer cmd, const PushDescriptors &push)
{
   const SetKind &kind = set_kinds()[c.layouts[push.layout].sets[push.set]];
   const VkPipelineLayout layout = layouts[push.layout];
   const ExtensionFunctions &f = machine.functions;
   if (push.by_template) {
      const TemplateData data = template_data(push.writes, kind);
      const VkDescriptorUpdateTemplate made = make_template(data, layout, VK_NULL_HANDLE, push.set);
      const VkPushDescriptorSetWithTemplateInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_WITH_TEMPLATE_INFO_KHR,
         .descriptorUpdateTemplate = made,
         .layout = layout,
         .set = push.set,
         .pData = data.data.data(),
      };
      if (push.second)
         f.push_descriptor_set_with_template2(cmd, &info);
      else
         f.push_descriptor_set_with_template(cmd, made, layout, push.set, data.data.data());
      return;
   }
   WriteList list;
   for (const Write &write : push.writes)
      list.add(*this, VK_NULL_HANDLE, kind, write);
   const uint32_t count = uint32_t(list.writes.size());
   if (push.second) {
      const VkPushDescriptorSetInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_PUSH_DESCRIPTOR_SET_INFO_KHR,
         .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
         .layout = layout,
         .set = push.set,
         .descriptorWriteCount = count,
         .pDescriptorWrites = list.writes.data(),
      };
      f.push_descriptor_set2(cmd, &info);
   } else {
      f.push_descriptor_set(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, push.set, count,
                            list.writes.data());
   }
}

namespace {

constexpr VkMemoryBarrier2 full_barrier = {
   .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
   .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
   .srcAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
   .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
   .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT |
                    VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_HOST_WRITE_BIT,
};
constexpr VkDependencyInfo full_dependency = {
   .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
   .memoryBarrierCount = 1,
   .pMemoryBarriers = &full_barrier,
};
constexpr VkMemoryBarrier old_full_barrier = {
   .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
   .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
   .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT |
                    VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT,
};
constexpr VkPipelineStageFlags all_commands = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                               host = VK_PIPELINE_STAGE_HOST_BIT;

} // namespace

void Executor::barrier(VkCommandBuffer cmd)
{
   if (turns++ % 2)
      vkCmdPipelineBarrier2(cmd, &full_dependency);
   else
      vkCmdPipelineBarrier(cmd, all_commands, all_commands | host, 0, 1, &old_full_barrier, 0,
                           nullptr, 0, nullptr);
}

void Executor::wait_events(VkCommandBuffer cmd, const WaitEvents &wait)
{
   std::vector<VkEvent> list;
   VkPipelineStageFlags stages = 0;
   for (const uint32_t e : wait.events) {
      list.push_back(events[e]);
      stages |= event_kinds[e] == EventKind::host ? host : all_commands;
   }
   if (event_kinds[wait.events[0]] == EventKind::device_only) {
      // As set.
      const std::vector<VkDependencyInfo> dependencies(list.size(), full_dependency);
      vkCmdWaitEvents2(cmd, uint32_t(list.size()), list.data(), dependencies.data());
   } else {
      vkCmdWaitEvents(cmd, uint32_t(list.size()), list.data(), stages, all_commands, 0, nullptr, 0,
                      nullptr, 0, nullptr);
   }
   barrier(cmd);
}

void Executor::record_command(VkCommandBuffer cmd, const Command &command)
{
   const ExtensionFunctions &f = machine.functions;
   const Visitor visitor = {
      [&](const BindPipeline &bind) {
         vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, machine.pipeline(bind.pipeline));
      },
      [&](const BindSets &bind) {
         std::vector<VkDescriptorSet> list;
         for (const uint32_t set : bind.sets)
            list.push_back(sets[set]);
         const VkBindDescriptorSetsInfoKHR info = {
            .sType = VK_STRUCTURE_TYPE_BIND_DESCRIPTOR_SETS_INFO_KHR,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
            .layout = layouts[bind.layout],
            .firstSet = bind.first,
            .descriptorSetCount = uint32_t(list.size()),
            .pDescriptorSets = list.data(),
            .dynamicOffsetCount = uint32_t(bind.dynamic_offsets.size()),
            .pDynamicOffsets = bind.dynamic_offsets.data(),
         };
         if (bind.second)
            f.bind_descriptor_sets2(cmd, &info);
         else
            vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, info.layout, info.firstSet,
                                    info.descriptorSetCount, info.pDescriptorSets,
                                    info.dynamicOffsetCount, info.pDynamicOffsets);
      },
      [&](const PushConstants &push) {
         std::vector<uint32_t> words = push.words;
         if (push.reference) {
            const VkBufferDeviceAddressInfo info = {
               .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
               .buffer = buffers[(*push.reference)[0]],
            };
            const uint64_t address = vkGetBufferDeviceAddress(device, &info) + (*push.reference)[1];
            const uint32_t begin = push_ranges[c.layouts[push.layout].push].offset + 16;
            memcpy(&words[(begin - push.offset) / 4], &address, 8);
         }
         const VkPushConstantsInfoKHR info = {
            .sType = VK_STRUCTURE_TYPE_PUSH_CONSTANTS_INFO_KHR,
            .layout = layouts[push.layout],
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
            .offset = push.offset,
            .size = uint32_t(words.size() * 4),
            .pValues = words.data(),
         };
         if (push.second)
            f.push_constants2(cmd, &info);
         else
            vkCmdPushConstants(cmd, info.layout, info.stageFlags, info.offset, info.size,
                               info.pValues);
      },
      [&](const PushDescriptors &push) { push_descriptors(cmd, push); },
      [&](const Dispatch &d) {
         if (d.with_base)
            vkCmdDispatchBase(cmd, d.base[0], d.base[1], d.base[2], d.count[0], d.count[1],
                              d.count[2]);
         else
            vkCmdDispatch(cmd, d.count[0], d.count[1], d.count[2]);
         barrier(cmd);
      },
      [&](const DispatchIndirect &d) {
         vkCmdDispatchIndirect(cmd, buffers[d.buffer], d.offset);
         barrier(cmd);
      },
      [&](const CopyBuffer &copy) {
         if (copy.second) {
            std::vector<VkBufferCopy2> regions;
            for (const CopyRegion &r : copy.regions)
               regions.push_back(
                  {VK_STRUCTURE_TYPE_BUFFER_COPY_2, nullptr, r.source, r.destination, r.size});
            const VkCopyBufferInfo2 info = {
               .sType = VK_STRUCTURE_TYPE_COPY_BUFFER_INFO_2,
               .srcBuffer = buffers[copy.source],
               .dstBuffer = buffers[copy.destination],
               .regionCount = uint32_t(regions.size()),
               .pRegions = regions.data(),
            };
            vkCmdCopyBuffer2(cmd, &info);
         } else {
            std::vector<VkBufferCopy> regions;
            for (const CopyRegion &r : copy.regions)
               regions.push_back({r.source, r.destination, r.size});
            vkCmdCopyBuffer(cmd, buffers[copy.source], buffers[copy.destination],
                            uint32_t(regions.size()), regions.data());
         }
         barrier(cmd);
      },
      [&](const FillBuffer &fill) {
         vkCmdFillBuffer(cmd, buffers[fill.buffer], fill.offset,
                         fill.size == whole ? VK_WHOLE_SIZE : fill.size, fill.value);
         barrier(cmd);
      },
      [&](const UpdateBuffer &update) {
         vkCmdUpdateBuffer(cmd, buffers[update.buffer], update.offset, update.words.size() * 4,
                           update.words.data());
         barrier(cmd);
      },
      [&](const ResetQueries &reset) {
         vkCmdResetQueryPool(cmd, query_pools[reset.pool], reset.first, reset.count);
         barrier(cmd);
      },
      [&](const WriteTimestamp &write) {
         if (write.second)
            vkCmdWriteTimestamp2(cmd, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, query_pools[write.pool],
                                 write.query);
         else
            vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, query_pools[write.pool],
                                write.query);
         barrier(cmd);
      },
      [&](const CopyQueries &copy) {
         vkCmdCopyQueryPoolResults(cmd, query_pools[copy.pool], copy.first, copy.count,
                                   buffers[copy.buffer], copy.offset, copy.stride,
                                   query_flags(copy.flags));
         barrier(cmd);
      },
      [&](const ChangeEvent &change) {
         const VkEvent event = events[change.event];
         if (event_kinds[change.event] != EventKind::device_only) {
            if (change.set)
               vkCmdSetEvent(cmd, event, all_commands);
            else
               vkCmdResetEvent(cmd, event, all_commands);
         } else if (change.set) {
            vkCmdSetEvent2(cmd, event, &full_dependency);
         } else {
            vkCmdResetEvent2(cmd, event, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
         }
         barrier(cmd);
      },
      [&](const WaitEvents &wait) { wait_events(cmd, wait); },
      [&](const Execute &execute) {
         std::vector<VkCommandBuffer> list;
         for (const uint32_t b : execute.buffers)
            list.push_back(command_buffers[b]);
         vkCmdExecuteCommands(cmd, uint32_t(list.size()), list.data());
         barrier(cmd);
      },
   };
   std::visit(visitor, command);
}

void Executor::record(const Record &step)
{
   const VkCommandBuffer cmd = command_buffers[step.buffer];
   const VkCommandBufferInheritanceInfo inheritance = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
   };
   const VkCommandBufferBeginInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags =
         (step.once ? VkCommandBufferUsageFlags(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT) : 0) |
         (step.simultaneous ? VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT : 0),
      .pInheritanceInfo = &inheritance,
   };
   CHECK_VK(vkBeginCommandBuffer(cmd, &info));
   barrier(cmd);
   for (const Command &command : step.commands)
      record_command(cmd, command);
   CHECK_VK(vkEndCommandBuffer(cmd));
}

} // namespace weft::commands
