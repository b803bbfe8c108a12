// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Recording: a list of commands in the command buffer's own memory. Recording resolves all
/// bindings to pointers, so that execution needs no state. Each kind of command is a struct derived
/// from Command, private to the file that records it, with the function that executes it.

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_command_buffer.h"

#include "icd/physical_device.h"

#include "backend/cpu/abi.h"
#include "nir_passes/images/texel_descriptor.h"

#include <cstdint>
#include <cstring>
#include <new>

namespace weft {

struct ComputeShader;
struct DescriptorSet;
struct DescriptorSetLayout;
struct Device;
struct Queue;

struct Command {
   Command *next;
   /// Executes the command. False ends the command buffer: the device is lost, or being destroyed.
   bool (*run)(Queue *, const Command *);
};

/// Memory for commands, freed all at once.
struct CommandChunk;

/// The descriptors of a set: a VkDescriptorSet's, a place in a descriptor buffer, or the samplers
/// that a set layout embeds.
struct BoundSet {
   const uint8_t *data;         ///< in the layout of DescriptorSetLayout; null: no set
   const DescriptorSet *object; ///< null for other descriptors than a VkDescriptorSet's
   /// The size of the data, if nothing changes them before the dispatch has run; else 0.
   uint32_t lasting_bytes;
};

/// State that vkCmdBind* and vkCmdPush* set, for the next dispatch.
struct ComputeState {
   const ComputeShader *shader; ///< of a pipeline or a shader object
   BoundSet sets[cpu::max_sets];
   VkDeviceAddress descriptor_buffers[max_descriptor_buffers];
   uint32_t dynamic_offsets[cpu::max_sets][2 * max_dynamic_buffers];

   uint8_t push_constants[max_push_constants_size];
   /// Their copy in command memory; null if they changed since the copy.
   const uint8_t *recorded_push_constants;

   alignas(host_alignment) uint8_t
      push_descriptors[max_push_descriptors * sizeof(CombinedDescriptor)];
   uint32_t push_set; ///< the set of the push descriptors; max_sets: none
   uint32_t push_descriptor_bytes;
   const uint8_t *recorded_push_descriptors;

   void bind(uint32_t number, const BoundSet &set)
   {
      sets[number] = set;
      if (push_set == number)
         push_set = cpu::max_sets;
   }
};

struct CommandBuffer {
   vk_command_buffer vk;
   CommandChunk *chunk; ///< the one being filled, linked to the full chunks
   Command *first, **last_link;
   ComputeState state;

   Device *device() const { return reinterpret_cast<Device *>(vk.base.device); }
};

VK_DEFINE_HANDLE_CASTS(CommandBuffer, vk.base, VkCommandBuffer, VK_OBJECT_TYPE_COMMAND_BUFFER)

extern const vk_command_buffer_ops command_buffer_ops;

/// Memory that lives as long as the recording, aligned to host_alignment. Null without memory:
/// vkEndCommandBuffer then reports the error.
void *allocate_command_memory(CommandBuffer *, size_t size);

/// Appends a command; the caller sets its run function and its other members. Null without memory.
template <typename T>
T *record(CommandBuffer *cmd, size_t extra_bytes = 0)
{
   static_assert(alignof(T) <= host_alignment);
   void *memory = allocate_command_memory(cmd, sizeof(T) + extra_bytes);
   if (!memory)
      return nullptr;
   auto *command = new (memory) T();
   *cmd->last_link = command;
   cmd->last_link = &command->next;
   return command;
}

/// A number or struct that a command reads from memory of the application.
template <typename T>
T read_memory(const uint8_t *from)
{
   T value;
   memcpy(&value, from, sizeof(value));
   return value;
}

/// Runs the commands in order. False if a command ended the command buffer early.
bool execute_command_buffer(Queue *, const CommandBuffer *);

} // namespace weft
