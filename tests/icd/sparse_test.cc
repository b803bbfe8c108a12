// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sparse buffers and images: sparseBinding, sparseResidencyBuffer, sparseResidencyAliased.

#include "tests/icd/sparse_fixture.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace weft::icd_test {

using Words = std::vector<uint32_t>;

TEST_F(SparseTest, BuffersAreBoundByPages)
{
   const Memory a = allocate(3, 10), b = allocate(600, 20);
   a.words[page / 4] = 11;
   b.words[2 * page / 4] = 22;
   const VkBuffer buffer = make_kept_buffer(6);
   const uint64_t address = address_of(buffer);
   bind(buffer, {part(0, 2, a), part(2, 1, b, 2), part(4, 2, b, 598)});
   EXPECT_EQ(pages_of(buffer, 6), (Words{10, 11, 22, 0, 20, 20}));
   // Later binds replace earlier ones.
   bind(buffer, {part(1, 1, b, 2), part(4, 1)});
   EXPECT_EQ(pages_of(buffer, 6), (Words{10, 22, 22, 0, 0, 20}));
   EXPECT_EQ(address_of(buffer), address);
}

TEST_F(SparseTest, WritesReachTheMemory)
{
   const Memory memory = allocate(4, 1);
   const VkBuffer buffer = make_kept_buffer(3), other = make_kept_buffer(1);
   bind(buffer, {part(0, 1, memory, 3), part(1, 1, memory, 1)});
   bind(other, {part(0, 1, memory, 3)});
   VkCommandBuffer cmd = begin();
   vkCmdFillBuffer(cmd, buffer, 0, 3 * page, 7);
   run(cmd);
   for (uint32_t i = 0; i < 4; i++)
      EXPECT_EQ(memory.words[(i + 1) * page / 4 - 1], i == 0 || i == 2 ? 1 : 7) << i;
   EXPECT_EQ(pages_of(other, 1), Words{7}) << "the same page in two buffers";
}

TEST_F(SparseTest, ShadersAccessUnboundPages)
{
   const VkBuffer buffer = make_kept_buffer(2);
   EXPECT_EQ(pages_of(buffer, 2), (Words{0, 0}));
   VkCommandBuffer cmd = begin();
   vkCmdFillBuffer(cmd, buffer, 0, 2 * page, 7);
   run(cmd);
   const Memory memory = allocate(1, 3);
   bind(buffer, {part(1, 1, memory)});
   EXPECT_EQ(pages_of(buffer, 2)[1], 3u);
}

TEST_F(SparseTest, MemoryOfEachKind)
{
   const VkExportMemoryAllocateInfo exported = {
      .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
      .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
   };
   const VkMemoryAllocateFlagsInfo replayed = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT |
               VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT,
   };
   const VkBuffer buffer = make_kept_buffer(1);
   for (const void *next : {(const void *)&exported, (const void *)&replayed}) {
      const VkMemoryAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
         .pNext = next,
         .allocationSize = page,
         .memoryTypeIndex = memory_type,
      };
      Memory memory;
      ASSERT_VK(vkAllocateMemory(device, &info, nullptr, &memory.handle));
      void *map = nullptr;
      EXPECT_VK(vkMapMemory(device, memory.handle, 0, VK_WHOLE_SIZE, 0, &map));
      *static_cast<uint32_t *>(map) = 5;
      bind(buffer, {part(0, 1, memory)});
      EXPECT_EQ(pages_of(buffer, 1), Words{5});
      bind(buffer, {part(0, 1)});
      vkFreeMemory(device, memory.handle, nullptr);
   }
   const VkPhysicalDeviceExternalBufferInfo host = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
      .flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT,
      .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
   };
   VkExternalBufferProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
   vkGetPhysicalDeviceExternalBufferProperties(physical, &host, &properties);
   EXPECT_EQ(properties.externalMemoryProperties.externalMemoryFeatures, 0u);
}

/// Small allocations share mappings with a neighbour. Their pages are dropped in another way than
/// private ones.
TEST_F(SparseTest, FreedMemoryIsZeroed)
{
   allocate(1, 1);
   for (const uint32_t pages : {1u, 30u, 600u}) {
      for (uint32_t round = 0; round < 2; round++) {
         const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                            .allocationSize = pages * page,
                                            .memoryTypeIndex = memory_type};
         VkDeviceMemory memory;
         ASSERT_VK(vkAllocateMemory(device, &info, nullptr, &memory));
         void *map = nullptr;
         EXPECT_VK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &map));
         const std::span words = {static_cast<uint32_t *>(map), size_t(pages * page / 4)};
         EXPECT_EQ(std::ranges::count(words, 0u), std::ssize(words)) << pages;
         std::ranges::fill(words, 0xa5a5a5a5);
         vkFreeMemory(device, memory, nullptr);
      }
   }
}

TEST_F(SparseTest, BindsAreOrderedBySemaphores)
{
   const Memory memory = allocate(2, 1);
   memory.words[page / 4] = 2;
   const VkBuffer buffer = make_kept_buffer(1);
   bind(buffer, {part(0, 1, memory)});
   const VkSemaphore semaphore = make_timeline();
   const uint64_t before = 1, after = 2;
   const VkTimelineSemaphoreSubmitInfo values = {
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = 1,
      .pWaitSemaphoreValues = &before,
      .signalSemaphoreValueCount = 1,
      .pSignalSemaphoreValues = &after,
   };
   const VkSparseMemoryBind second = part(0, 1, memory, 1);
   const VkSparseBufferMemoryBindInfo binds = {buffer, 1, &second};
   const VkBindSparseInfo info = {
      .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO,
      .pNext = &values,
      .waitSemaphoreCount = 1,
      .pWaitSemaphores = &semaphore,
      .bufferBindCount = 1,
      .pBufferBinds = &binds,
      .signalSemaphoreCount = 1,
      .pSignalSemaphores = &semaphore,
   };
   ASSERT_VK(vkQueueBindSparse(queue, 1, &info, VK_NULL_HANDLE));
   std::this_thread::sleep_for(std::chrono::milliseconds(50));
   uint64_t value = 7;
   EXPECT_VK(vkGetSemaphoreCounterValue(device, semaphore, &value));
   EXPECT_EQ(value, 0u);
   const VkSemaphoreSignalInfo signal = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = before};
   EXPECT_VK(vkSignalSemaphore(device, &signal));
   const VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                     .semaphoreCount = 1,
                                     .pSemaphores = &semaphore,
                                     .pValues = &after};
   EXPECT_VK(vkWaitSemaphores(device, &wait, wait_limit));
   EXPECT_EQ(pages_of(buffer, 1), Words{2});
}

TEST_F(SparseTest, AddressesCanBeReplayed)
{
   constexpr VkBufferCreateFlags flags = VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
   VkBuffer buffer = make_sparse_buffer(3, flags);
   const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                           .buffer = buffer};
   const uint64_t address = address_of(buffer);
   VkBufferOpaqueCaptureAddressCreateInfo captured = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO,
      .opaqueCaptureAddress = vkGetBufferOpaqueCaptureAddress(device, &info)};
   vkDestroyBuffer(device, buffer, nullptr);
   buffer = make_sparse_buffer(3, flags, &captured);
   EXPECT_EQ(address_of(buffer), address);
   vkDestroyBuffer(device, buffer, nullptr);
}

TEST_F(SparseTest, ImagesAreBoundByPages)
{
   const VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT,
      .imageType = VK_IMAGE_TYPE_2D,
      .format = VK_FORMAT_R32_UINT,
      .extent = {50, 60, 1},
      .mipLevels = 1,
      .arrayLayers = 1,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
   };
   TestImage image = {.recipe = {.format = info.format, .extent = info.extent}};
   ASSERT_VK(vkCreateImage(device, &info, nullptr, &image.handle));
   VkMemoryRequirements needed;
   vkGetImageMemoryRequirements(device, image.handle, &needed);
   EXPECT_EQ(needed.alignment, page);
   EXPECT_EQ(needed.size, 3 * page);
   const Memory a = allocate(1, 0), b = allocate(2, 0);
   const VkSparseMemoryBind parts[] = {part(0, 1, a), part(1, 2, b)};
   const VkSparseImageOpaqueMemoryBindInfo binds = {image.handle, 2, parts};
   submit({.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO,
           .imageOpaqueBindCount = 1,
           .pImageOpaqueBinds = &binds});
   const TestBuffer texels = make_random_buffer(50 * 60 * 4), copy = make_buffer(50 * 60 * 4);
   fill(image, texels);
   EXPECT_TRUE(std::ranges::equal(texels.as().first(1024), a.words));
   EXPECT_TRUE(std::ranges::equal(texels.as().subspan(1024), b.words.first(50 * 60 - 1024)));
   read_back(image, copy);
   EXPECT_TRUE(std::ranges::equal(texels.as(), copy.as()));
   vkDestroyImage(device, image.handle, nullptr);
}

} // namespace weft::icd_test
