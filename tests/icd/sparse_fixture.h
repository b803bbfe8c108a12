// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sparse resources, and memory of their own kind to bind to them.

#pragma once

#include "tests/icd/sampling_fixture.h"

#include <algorithm>
#include <vector>

namespace weft::icd_test {

struct Memory {
   VkDeviceMemory handle = VK_NULL_HANDLE;
   std::span<uint32_t> words;
};

class SparseTest : public SamplingTest {
protected:
   static constexpr VkDeviceSize page = 4096;

   static constexpr uint32_t memory_type = 2; ///< the only one of sparse resources

   Memory allocate(uint32_t pages, uint32_t filled_with)
   {
      const VkMemoryAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
         .allocationSize = pages * page,
         .memoryTypeIndex = memory_type,
      };
      Memory memory;
      EXPECT_VK(vkAllocateMemory(device, &info, nullptr, &memory.handle));
      void *map = nullptr;
      EXPECT_VK(vkMapMemory(device, memory.handle, 0, VK_WHOLE_SIZE, 0, &map));
      memory.words = {static_cast<uint32_t *>(map), size_t(pages * page / 4)};
      std::ranges::fill(memory.words, filled_with);
      clean_up.push_back([this, memory] { vkFreeMemory(device, memory.handle, nullptr); });
      return memory;
   }

   VkBuffer make_sparse_buffer(uint32_t pages, VkBufferCreateFlags more = 0,
                               const void *next = nullptr)
   {
      const VkBufferCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
         .pNext = next,
         .flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT | more,
         .size = pages * page,
         .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                  VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                  VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
                  VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
      };
      VkBuffer buffer = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateBuffer(device, &info, nullptr, &buffer));
      EXPECT_EQ(vulkan::requirements(device, buffer).memoryTypeBits, 1u << memory_type);
      return buffer;
   }

   VkBuffer make_kept_buffer(uint32_t pages)
   {
      const VkBuffer buffer = make_sparse_buffer(pages, VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT |
                                                           VK_BUFFER_CREATE_SPARSE_ALIASED_BIT);
      clean_up.push_back([this, buffer] { vkDestroyBuffer(device, buffer, nullptr); });
      return buffer;
   }

   /// Pages of the resource from `at` on become as many pages of the memory from `from` on.
   static VkSparseMemoryBind part(uint32_t at, uint32_t pages, const Memory &memory = {},
                                  uint32_t from = 0)
   {
      return {.resourceOffset = at * page,
              .size = pages * page,
              .memory = memory.handle,
              .memoryOffset = from * page};
   }

   void submit(const VkBindSparseInfo &info)
   {
      const VkFence fence = vulkan::create_fence(device);
      EXPECT_VK(vkQueueBindSparse(queue, 1, &info, fence));
      EXPECT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
      vkDestroyFence(device, fence, nullptr);
   }

   void bind(VkBuffer buffer, const std::vector<VkSparseMemoryBind> &parts)
   {
      const VkSparseBufferMemoryBindInfo binds = {buffer, uint32_t(parts.size()), parts.data()};
      submit({.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO,
              .bufferBindCount = 1,
              .pBufferBinds = &binds});
   }

   /// The first word of each page.
   std::vector<uint32_t> pages_of(VkBuffer buffer, uint32_t pages)
   {
      const TestBuffer out = make_buffer(pages * page);
      VkCommandBuffer cmd = begin();
      const VkBufferCopy all = {0, 0, pages * page};
      vkCmdCopyBuffer(cmd, buffer, out.handle, 1, &all);
      run(cmd);
      std::vector<uint32_t> words;
      for (uint32_t i = 0; i < pages; i++)
         words.push_back(out.as()[i * page / 4]);
      return words;
   }

   uint64_t address_of(VkBuffer buffer)
   {
      const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                              .buffer = buffer};
      return vkGetBufferDeviceAddress(device, &info);
   }
};

} // namespace weft::icd_test
