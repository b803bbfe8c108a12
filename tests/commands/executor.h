// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The executor's state: execute.cc has the host's steps, execute_commands.cc records commands.

#pragma once

#include "tests/commands/execute.h"

namespace weft::commands {

/// The observed timestamps, byte for byte, by their numbers in order of time.
class Timestamps {
public:
   void see(uint32_t token, uint8_t byte);
   /// Throws a Failure unless all timestamps are in order and within these bounds.
   void check_all(uint64_t first, uint64_t last) const;

private:
   struct Seen {
      std::array<std::optional<uint8_t>, 8> bytes;
   };
   std::map<uint32_t, Seen> all;
};

/// Entries and data of a descriptor update template.
struct TemplateData {
   std::vector<VkDescriptorUpdateTemplateEntry> entries;
   std::vector<uint8_t> data;
};

class Executor {
public:
   Executor(Machine &, const Case &, const Interpretation &);
   ~Executor();

   void run();
   std::string where; ///< the step

private:
   // execute.cc
   void make_objects();
   void allocate_set(uint32_t set);
   void run_step(const Step &, const Observation &);
   void update_sets(const UpdateSets &);
   void submit(const Submit &);
   void submit1(const Submit &);
   void submit2(const Submit &);
   void compare_bytes(const uint8_t *actual, const Observation &, size_t offset, size_t size,
                      const std::string &what);
   void check_memory(const Observation &);
   void write_memory(uint32_t number, uint32_t offset, const uint8_t *data, size_t size, bool flush,
                     bool second);
   uint64_t now() const;
   VkSemaphore semaphore(uint32_t number) const
   {
      return number < timeline_count ? timelines[number] : binaries[number - timeline_count];
   }

   // execute_commands.cc
   void record(const Record &);
   void record_command(VkCommandBuffer, const Command &);
   void barrier(VkCommandBuffer);
   void wait_events(VkCommandBuffer, const WaitEvents &);
   VkDescriptorBufferInfo buffer_info(const Descriptor &) const;
   TemplateData template_data(const std::vector<Write> &, const SetKind &) const;
   VkDescriptorUpdateTemplate make_template(const TemplateData &, VkPipelineLayout push_layout,
                                            VkDescriptorSetLayout, uint32_t set);
   void push_descriptors(VkCommandBuffer, const PushDescriptors &);

   friend struct WriteList;

   Machine &machine;
   const VkDevice device;
   const Case &c;
   const Interpretation &expected;
   Timestamps timestamps;
   uint64_t start = 0;
   uint32_t turns = 0; ///< number of barriers, which alternate in form

   std::vector<VkBuffer> buffers;
   std::vector<VkDescriptorSetLayout> set_layouts; ///< equal to the machine's
   std::vector<VkPipelineLayout> layouts;
   std::array<VkDescriptorPool, 2> descriptor_pools = {}; ///< the second one for late updates
   std::vector<VkDescriptorSet> sets;
   std::vector<VkDescriptorUpdateTemplate> templates;
   std::array<VkCommandPool, pool_count> pools = {};
   std::vector<VkCommandBuffer> command_buffers;
   std::array<VkFence, fence_count> fences = {};
   std::array<VkSemaphore, timeline_count> timelines = {};
   std::array<VkSemaphore, binary_count> binaries = {};
   std::array<VkEvent, event_count> events = {};
   std::array<VkQueryPool, query_pool_count> query_pools = {};
};

/// Writes as Vulkan's structs, which point into this object.
struct WriteList {
   std::vector<VkWriteDescriptorSet> writes;
   void add(const Executor &, VkDescriptorSet, const SetKind &, const Write &);

private:
   std::vector<std::unique_ptr<std::vector<VkDescriptorBufferInfo>>> infos;
   std::vector<std::unique_ptr<VkWriteDescriptorSetInlineUniformBlock>> blocks;
};

VkQueryResultFlags query_flags(uint32_t flags);

} // namespace weft::commands
