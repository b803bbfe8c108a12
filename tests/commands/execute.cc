// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/execute.h"

#include "tests/commands/executor.h"
#include "tests/commands/print.h"
#include "tests/vulkan/result.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace weft::commands {
namespace {

/// Nanoseconds: a driver that fails to wait continues within this time.
constexpr uint64_t moment = 2'000'000;

uint64_t timeout(const Machine &machine, Patience patience)
{
   return patience == Patience::none     ? 0
          : patience == Patience::little ? moment
                                         : machine.longest_wait;
}

void check_outcome(VkResult result, VkResult yes, VkResult no, Outcome outcome)
{
   if (result == (outcome == Outcome::no ? no : yes) ||
       (outcome == Outcome::either && result == no))
      return;
   const auto name = [](VkResult r) {
      return r == VK_EVENT_SET     ? std::string("VK_EVENT_SET")
             : r == VK_EVENT_RESET ? std::string("VK_EVENT_RESET")
                                   : std::string(vulkan::result_name(r));
   };
   throw Failure("returned " + name(result) + " instead of " +
                 name(outcome == Outcome::no ? no : yes));
}

} // namespace

void Timestamps::see(uint32_t token, uint8_t byte)
{
   std::optional<uint8_t> &seen = all[token / 8 - 1].bytes[token % 8];
   if (seen && *seen != byte)
      throw Failure("a timestamp was read twice, and differs");
   seen = byte;
}

void Timestamps::check_all(uint64_t first, uint64_t last) const
{
   uint64_t before = first;
   for (const auto &[number, seen] : all) {
      uint64_t value = 0;
      uint32_t known = 0;
      for (; known < 8 && seen.bytes[known]; known++)
         value |= uint64_t(*seen.bytes[known]) << (8 * known);
      // If a timestamp has 32 bits, its upper bits follow from the bounds, which are seconds apart.
      if (known >= 4 && known < 8) {
         value = (before & ~uint64_t(UINT32_MAX)) | (value & UINT32_MAX);
         if (value < before)
            value += uint64_t(1) << 32;
      } else if (known < 8) {
         continue;
      }
      if (value < before || value > last)
         throw Failure("timestamp " + std::to_string(number) + " is " + std::to_string(value) +
                       ", not between " + std::to_string(before) + " and " + std::to_string(last));
      before = value;
   }
}

Executor::Executor(Machine &machine, const Case &c, const Interpretation &expected)
    : machine(machine), device(machine.device), c(c), expected(expected)
{
}

uint64_t Executor::now() const
{
   const VkCalibratedTimestampInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
      .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT,
   };
   uint64_t time, deviation;
   CHECK_VK(machine.functions.calibrated_timestamps(device, 1, &info, &time, &deviation));
   return time;
}

void Executor::make_objects()
{
   for (const Buffer &buffer : c.buffers) {
      const VkBufferCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
         .size = buffer.size,
         .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                  VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                  VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
      };
      VkBuffer &made = buffers.emplace_back();
      CHECK_VK(vkCreateBuffer(device, &info, nullptr, &made));
      VkMemoryRequirements needs;
      vkGetBufferMemoryRequirements(device, made, &needs);
      if (needs.alignment > memory_alignment || buffer.offset + needs.size > memory_bytes)
         throw Failure("a buffer needs more alignment or memory than expected");
      CHECK_VK(vkBindBufferMemory(device, made, machine.memory[buffer.memory], buffer.offset));
   }
   for (uint32_t kind = 0; kind < set_kinds().size(); kind++)
      set_layouts.push_back(machine.make_set_layout(kind));
   for (const Layout &layout : c.layouts)
      layouts.push_back(machine.make_layout(layout, set_layouts));

   for (uint32_t late = 0; late < 2; late++) {
      std::vector<VkDescriptorPoolSize> sizes = {
         {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 100},
         {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 100},
         {VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 1000},
      };
      if (!late) {
         sizes.push_back({VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 100});
         sizes.push_back({VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 100});
      }
      const VkDescriptorPoolInlineUniformBlockCreateInfo blocks = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
         .maxInlineUniformBlockBindings = 50,
      };
      const VkDescriptorPoolCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
         .pNext = &blocks,
         .flags =
            VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT |
            (late ? VkDescriptorPoolCreateFlags(VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT)
                  : 0),
         .maxSets = 32,
         .poolSizeCount = uint32_t(sizes.size()),
         .pPoolSizes = sizes.data(),
      };
      CHECK_VK(vkCreateDescriptorPool(device, &info, nullptr, &descriptor_pools[late]));
   }
   sets.resize(c.sets.size());
   for (uint32_t s = 0; s < sets.size(); s++)
      allocate_set(s);

   for (uint32_t p = 0; p < pool_count; p++) {
      const VkCommandPoolCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
         .flags =
            p == 0 ? VkCommandPoolCreateFlags(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT) : 0,
      };
      CHECK_VK(vkCreateCommandPool(device, &info, nullptr, &pools[p]));
   }
   for (const CommandBuffer &buffer : c.command_buffers) {
      const VkCommandBufferAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
         .commandPool = pools[buffer.pool],
         .level =
            buffer.secondary ? VK_COMMAND_BUFFER_LEVEL_SECONDARY : VK_COMMAND_BUFFER_LEVEL_PRIMARY,
         .commandBufferCount = 1,
      };
      CHECK_VK(vkAllocateCommandBuffers(device, &info, &command_buffers.emplace_back()));
   }
   for (uint32_t f = 0; f < fence_count; f++) {
      const VkFenceCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO,
         .flags = c.signaled_fences[f] ? VkFenceCreateFlags(VK_FENCE_CREATE_SIGNALED_BIT) : 0,
      };
      CHECK_VK(vkCreateFence(device, &info, nullptr, &fences[f]));
   }
   for (uint32_t s = 0; s < timeline_count + binary_count; s++) {
      const VkSemaphoreTypeCreateInfo type = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
         .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
         .initialValue = s < timeline_count ? c.timelines[s] : 0,
      };
      const VkSemaphoreCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
         .pNext = s < timeline_count ? &type : nullptr,
      };
      CHECK_VK(
         vkCreateSemaphore(device, &info, nullptr,
                           s < timeline_count ? &timelines[s] : &binaries[s - timeline_count]));
   }
   for (uint32_t e = 0; e < event_count; e++) {
      const VkEventCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO,
         .flags = event_kinds[e] == EventKind::device_only
                     ? VkEventCreateFlags(VK_EVENT_CREATE_DEVICE_ONLY_BIT)
                     : 0,
      };
      CHECK_VK(vkCreateEvent(device, &info, nullptr, &events[e]));
   }
   for (VkQueryPool &pool : query_pools) {
      const VkQueryPoolCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
         .queryType = VK_QUERY_TYPE_TIMESTAMP,
         .queryCount = queries,
      };
      CHECK_VK(vkCreateQueryPool(device, &info, nullptr, &pool));
   }
}

Executor::~Executor()
{
   for (VkQueryPool pool : query_pools)
      vkDestroyQueryPool(device, pool, nullptr);
   for (VkEvent event : events)
      vkDestroyEvent(device, event, nullptr);
   for (VkSemaphore s : timelines)
      vkDestroySemaphore(device, s, nullptr);
   for (VkSemaphore s : binaries)
      vkDestroySemaphore(device, s, nullptr);
   for (VkFence fence : fences)
      vkDestroyFence(device, fence, nullptr);
   for (VkCommandPool pool : pools)
      vkDestroyCommandPool(device, pool, nullptr);
   for (VkDescriptorUpdateTemplate t : templates)
      vkDestroyDescriptorUpdateTemplate(device, t, nullptr);
   for (VkDescriptorPool pool : descriptor_pools)
      vkDestroyDescriptorPool(device, pool, nullptr);
   for (VkPipelineLayout layout : layouts)
      vkDestroyPipelineLayout(device, layout, nullptr);
   for (VkDescriptorSetLayout layout : set_layouts)
      vkDestroyDescriptorSetLayout(device, layout, nullptr);
   for (VkBuffer buffer : buffers)
      vkDestroyBuffer(device, buffer, nullptr);
}

void Executor::allocate_set(uint32_t set)
{
   const Set &s = c.sets[set];
   const VkDescriptorSetVariableDescriptorCountAllocateInfo variable = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
      .descriptorSetCount = 1,
      .pDescriptorCounts = &s.variable_count,
   };
   const bool is_variable = std::ranges::any_of(set_kinds()[s.kind].bindings, &Binding::variable);
   const VkDescriptorSetAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .pNext = is_variable ? &variable : nullptr,
      .descriptorPool = descriptor_pools[set_kinds()[s.kind].late],
      .descriptorSetCount = 1,
      .pSetLayouts = &set_layouts[s.kind],
   };
   CHECK_VK(vkAllocateDescriptorSets(device, &info, &sets[set]));
}

void Executor::write_memory(uint32_t number, uint32_t offset, const uint8_t *data, size_t size,
                            bool flush, bool second)
{
   // Ranges that are flushed begin at whole atoms, which are 256 bytes at most.
   const uint32_t begin = offset / 256 * 256;
   void *map;
   const VkMemoryMapInfoKHR map_info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_MAP_INFO_KHR,
      .memory = machine.memory[number],
      .offset = begin,
      .size = VK_WHOLE_SIZE,
   };
   if (second)
      CHECK_VK(machine.functions.map_memory2(device, &map_info, &map));
   else
      CHECK_VK(vkMapMemory(device, map_info.memory, begin, VK_WHOLE_SIZE, 0, &map));
   memcpy(static_cast<uint8_t *>(map) + (offset - begin), data, size);
   const VkMappedMemoryRange range = {
      .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
      .memory = map_info.memory,
      .offset = begin,
      .size = VK_WHOLE_SIZE,
   };
   if (flush)
      CHECK_VK(vkFlushMappedMemoryRanges(device, 1, &range));
   const VkMemoryUnmapInfoKHR unmap_info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_UNMAP_INFO_KHR,
      .memory = map_info.memory,
   };
   if (second)
      CHECK_VK(machine.functions.unmap_memory2(device, &unmap_info));
   else
      vkUnmapMemory(device, map_info.memory);
}

void Executor::compare_bytes(const uint8_t *actual, const Observation &o, size_t offset,
                             size_t size, const std::string &what)
{
   std::string text;
   size_t wrong = 0;
   for (size_t i = 0; i < size; i++) {
      if (o.tokens[offset + i]) {
         timestamps.see(o.tokens[offset + i], actual[i]);
      } else if (actual[i] != o.bytes[offset + i] && wrong++ < 8) {
         char line[100];
         snprintf(line, sizeof(line), "\n   at %zu: %02x instead of %02x", i, actual[i],
                  o.bytes[offset + i]);
         text += line;
      }
   }
   if (wrong > 0)
      throw Failure(what + ": " + std::to_string(wrong) + " bytes differ" + text);
}

void Executor::check_memory(const Observation &o)
{
   for (uint32_t m = 0; m < memory_count; m++) {
      void *map;
      CHECK_VK(vkMapMemory(device, machine.memory[m], 0, VK_WHOLE_SIZE, 0, &map));
      const VkMappedMemoryRange range = {
         .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
         .memory = machine.memory[m],
         .size = VK_WHOLE_SIZE,
      };
      CHECK_VK(vkInvalidateMappedMemoryRanges(device, 1, &range));
      const auto *bytes = static_cast<const uint8_t *>(map);
      std::vector<uint8_t> copy(bytes, bytes + memory_bytes);
      vkUnmapMemory(device, machine.memory[m]);
      compare_bytes(copy.data(), o, size_t(m) * memory_bytes, memory_bytes,
                    "memory " + std::to_string(m));
   }
}

void Executor::update_sets(const UpdateSets &update)
{
   if (update.by_template) {
      const uint32_t set = update.writes[0].set;
      std::vector<Write> writes;
      for (const SetWrite &w : update.writes)
         writes.push_back(w.write);
      const TemplateData data = template_data(writes, set_kinds()[c.sets[set].kind]);
      vkUpdateDescriptorSetWithTemplate(
         device, sets[set], make_template(data, VK_NULL_HANDLE, set_layouts[c.sets[set].kind], 0),
         data.data.data());
      return;
   }
   WriteList list;
   for (const SetWrite &w : update.writes)
      list.add(*this, sets[w.set], set_kinds()[c.sets[w.set].kind], w.write);
   std::vector<VkCopyDescriptorSet> copies;
   for (const SetCopy &copy : update.copies) {
      copies.push_back({
         .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
         .srcSet = sets[copy.source],
         .srcBinding = copy.source_binding,
         .srcArrayElement = copy.source_element,
         .dstSet = sets[copy.destination],
         .dstBinding = copy.binding,
         .dstArrayElement = copy.element,
         .descriptorCount = copy.count,
      });
   }
   vkUpdateDescriptorSets(device, uint32_t(list.writes.size()), list.writes.data(),
                          uint32_t(copies.size()), copies.data());
}

void Executor::submit1(const Submit &s)
{
   struct Parts {
      std::vector<VkSemaphore> waits, signals;
      std::vector<VkPipelineStageFlags> stages;
      std::vector<uint64_t> wait_values, signal_values;
      std::vector<VkCommandBuffer> buffers;
      VkTimelineSemaphoreSubmitInfo timeline;
   };
   std::vector<Parts> parts(s.batches.size());
   std::vector<VkSubmitInfo> infos;
   for (size_t i = 0; i < s.batches.size(); i++) {
      Parts &p = parts[i];
      for (const SemaphoreValue &wait : s.batches[i].waits) {
         p.waits.push_back(semaphore(wait.semaphore));
         p.wait_values.push_back(wait.value);
         p.stages.push_back(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
      }
      for (const SemaphoreValue &signal : s.batches[i].signals) {
         p.signals.push_back(semaphore(signal.semaphore));
         p.signal_values.push_back(signal.value);
      }
      for (const uint32_t b : s.batches[i].buffers)
         p.buffers.push_back(command_buffers[b]);
      p.timeline = {
         .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
         .waitSemaphoreValueCount = uint32_t(p.wait_values.size()),
         .pWaitSemaphoreValues = p.wait_values.data(),
         .signalSemaphoreValueCount = uint32_t(p.signal_values.size()),
         .pSignalSemaphoreValues = p.signal_values.data(),
      };
      infos.push_back({
         .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
         .pNext = &p.timeline,
         .waitSemaphoreCount = uint32_t(p.waits.size()),
         .pWaitSemaphores = p.waits.data(),
         .pWaitDstStageMask = p.stages.data(),
         .commandBufferCount = uint32_t(p.buffers.size()),
         .pCommandBuffers = p.buffers.data(),
         .signalSemaphoreCount = uint32_t(p.signals.size()),
         .pSignalSemaphores = p.signals.data(),
      });
   }
   CHECK_VK(vkQueueSubmit(machine.queue, uint32_t(infos.size()), infos.data(),
                          s.fence == none ? VK_NULL_HANDLE : fences[s.fence]));
}

void Executor::submit2(const Submit &s)
{
   struct Parts {
      std::vector<VkSemaphoreSubmitInfo> waits, signals;
      std::vector<VkCommandBufferSubmitInfo> buffers;
   };
   std::vector<Parts> parts(s.batches.size());
   std::vector<VkSubmitInfo2> infos;
   const auto semaphore_info = [&](const SemaphoreValue &value) {
      return VkSemaphoreSubmitInfo{
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
         .semaphore = semaphore(value.semaphore),
         .value = value.value,
         .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      };
   };
   for (size_t i = 0; i < s.batches.size(); i++) {
      Parts &p = parts[i];
      for (const SemaphoreValue &wait : s.batches[i].waits)
         p.waits.push_back(semaphore_info(wait));
      for (const SemaphoreValue &signal : s.batches[i].signals)
         p.signals.push_back(semaphore_info(signal));
      for (const uint32_t b : s.batches[i].buffers)
         p.buffers.push_back({.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                              .commandBuffer = command_buffers[b]});
      infos.push_back({
         .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
         .waitSemaphoreInfoCount = uint32_t(p.waits.size()),
         .pWaitSemaphoreInfos = p.waits.data(),
         .commandBufferInfoCount = uint32_t(p.buffers.size()),
         .pCommandBufferInfos = p.buffers.data(),
         .signalSemaphoreInfoCount = uint32_t(p.signals.size()),
         .pSignalSemaphoreInfos = p.signals.data(),
      });
   }
   CHECK_VK(vkQueueSubmit2(machine.queue, uint32_t(infos.size()), infos.data(),
                           s.fence == none ? VK_NULL_HANDLE : fences[s.fence]));
}

void Executor::run_step(const Step &step, const Observation &o)
{
   const Visitor visitor = {
      [&](const WriteMemory &w) {
         write_memory(w.memory, w.offset, w.bytes.data(), w.bytes.size(), w.flush, w.second);
      },
      [&](const CheckMemory &) { check_memory(o); },
      [&](const UpdateSets &u) { update_sets(u); },
      [&](const ReallocateSet &r) {
         CHECK_VK(vkFreeDescriptorSets(
            device, descriptor_pools[set_kinds()[c.sets[r.set].kind].late], 1, &sets[r.set]));
         allocate_set(r.set);
      },
      [&](const Record &r) { record(r); },
      [&](const ResetBuffer &r) {
         CHECK_VK(vkResetCommandBuffer(
            command_buffers[r.buffer],
            r.release ? VkCommandBufferResetFlags(VK_COMMAND_BUFFER_RESET_RELEASE_RESOURCES_BIT)
                      : 0));
      },
      [&](const ResetPool &r) {
         CHECK_VK(vkResetCommandPool(
            device, pools[r.pool],
            r.release ? VkCommandPoolResetFlags(VK_COMMAND_POOL_RESET_RELEASE_RESOURCES_BIT) : 0));
      },
      [&](const Submit &s) { s.second ? submit2(s) : submit1(s); },
      [&](const WaitIdle &w) {
         if (w.device)
            CHECK_VK(vkDeviceWaitIdle(device));
         else
            CHECK_VK(vkQueueWaitIdle(machine.queue));
      },
      [&](const SignalTimeline &s) {
         const VkSemaphoreSignalInfo info = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
            .semaphore = timelines[s.signal.semaphore],
            .value = s.signal.value,
         };
         CHECK_VK(vkSignalSemaphore(device, &info));
      },
      [&](const WaitTimelines &w) {
         std::vector<VkSemaphore> list;
         std::vector<uint64_t> values;
         for (const SemaphoreValue &value : w.values) {
            list.push_back(timelines[value.semaphore]);
            values.push_back(value.value);
         }
         const VkSemaphoreWaitInfo info = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
            .flags = w.any ? VkSemaphoreWaitFlags(VK_SEMAPHORE_WAIT_ANY_BIT) : 0,
            .semaphoreCount = uint32_t(list.size()),
            .pSemaphores = list.data(),
            .pValues = values.data(),
         };
         check_outcome(vkWaitSemaphores(device, &info, timeout(machine, w.patience)), VK_SUCCESS,
                       VK_TIMEOUT, o.outcome);
      },
      [&](const ReadTimeline &r) {
         uint64_t value = 0;
         CHECK_VK(vkGetSemaphoreCounterValue(device, timelines[r.semaphore], &value));
         if (value < o.low || value > o.high)
            throw Failure("the counter is " + std::to_string(value) + ", not " +
                          std::to_string(o.low) + " to " + std::to_string(o.high));
      },
      [&](const WaitFences &w) {
         std::vector<VkFence> list;
         for (const uint32_t f : w.fences)
            list.push_back(fences[f]);
         check_outcome(vkWaitForFences(device, uint32_t(list.size()), list.data(), !w.any,
                                       timeout(machine, w.patience)),
                       VK_SUCCESS, VK_TIMEOUT, o.outcome);
      },
      [&](const ReadFence &r) {
         check_outcome(vkGetFenceStatus(device, fences[r.fence]), VK_SUCCESS, VK_NOT_READY,
                       o.outcome);
      },
      [&](const ResetFences &r) {
         std::vector<VkFence> list;
         for (const uint32_t f : r.fences)
            list.push_back(fences[f]);
         CHECK_VK(vkResetFences(device, uint32_t(list.size()), list.data()));
      },
      [&](const HostEvent &h) {
         if (h.set)
            CHECK_VK(vkSetEvent(device, events[h.event]));
         else
            CHECK_VK(vkResetEvent(device, events[h.event]));
      },
      [&](const ReadEvent &r) {
         check_outcome(vkGetEventStatus(device, events[r.event]), VK_EVENT_SET, VK_EVENT_RESET,
                       o.outcome);
      },
      [&](const HostResetQueries &r) {
         vkResetQueryPool(device, query_pools[r.pool], r.first, r.count);
      },
      [&](const ReadQueries &r) {
         std::vector<uint8_t> bytes(o.bytes.size(), 0xa5);
         check_outcome(vkGetQueryPoolResults(device, query_pools[r.pool], r.first, r.count,
                                             bytes.size(), bytes.data(), r.stride,
                                             query_flags(r.flags)),
                       VK_SUCCESS, VK_NOT_READY, o.outcome);
         compare_bytes(bytes.data(), o, 0, bytes.size(), "query results");
      },
   };
   std::visit(visitor, step);
}

void Executor::run()
{
   make_objects();
   for (uint32_t m = 0; m < memory_count; m++) {
      uint8_t bytes[memory_bytes];
      for (uint32_t i = 0; i < memory_bytes; i++)
         bytes[i] = poison(c.seed, m, i);
      write_memory(m, 0, bytes, memory_bytes, false, false);
   }
   start = now();
   for (size_t i = 0; i < c.steps.size(); i++) {
      where = std::to_string(i) + ": " + to_text(c.steps[i]);
      run_step(c.steps[i], expected.steps[i]);
   }
   where = "timestamps";
   timestamps.check_all(start, now());
}

std::optional<std::string> execute(Machine &machine, const Case &c, const Interpretation &expected)
{
   // A case that fails leaves its objects behind, as the queue may still use them.
   auto executor = std::make_unique<Executor>(machine, c, expected);
   try {
      executor->run();
   } catch (const std::exception &e) {
      const std::string where = executor->where;
      (void)executor.release();
      return "step " + where + "\n" + e.what() + "\n";
   }
   return std::nullopt;
}

} // namespace weft::commands
