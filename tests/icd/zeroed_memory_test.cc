// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_zero_initialize_device_memory.

#include "tests/icd/image_fixture.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace weft::icd_test {

class ZeroedMemoryTest : public ImageTest {
protected:
   std::span<uint8_t> allocate(VkDeviceSize size, uint32_t type, VkDeviceMemory *memory,
                               VkMemoryAllocateFlags more = 0, const void *next = nullptr)
   {
      const VkMemoryAllocateFlagsInfo flags = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
         .pNext = next,
         .flags = VK_MEMORY_ALLOCATE_ZERO_INITIALIZE_BIT_EXT | more,
      };
      const VkMemoryAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
         .pNext = &flags,
         .allocationSize = size,
         .memoryTypeIndex = type,
      };
      EXPECT_VK(vkAllocateMemory(device, &info, nullptr, memory));
      void *map = nullptr;
      EXPECT_VK(vkMapMemory(device, *memory, 0, VK_WHOLE_SIZE, 0, &map));
      return {static_cast<uint8_t *>(map), size};
   }

   static bool is_zero(std::span<const uint8_t> bytes)
   {
      return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
   }
};

TEST_F(ZeroedMemoryTest, IsAFeature)
{
   VkPhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT zeroed = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ZERO_INITIALIZE_DEVICE_MEMORY_FEATURES_EXT};
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &zeroed};
   vkGetPhysicalDeviceFeatures2(physical, &features);
   EXPECT_TRUE(zeroed.zeroInitializeDeviceMemory);
}

/// Small allocations share mappings, in which another one keeps the pages of its neighbours mapped.
TEST_F(ZeroedMemoryTest, PagesThatHeldNumbers)
{
   VkDeviceMemory neighbour;
   allocate(4096, 0, &neighbour);
   for (const VkDeviceSize size : {1u, 4096u, 100'000u, 3u << 20}) {
      for (uint32_t round = 0; round < 3; round++) {
         VkDeviceMemory memory;
         const auto bytes = allocate(size, round % 2, &memory);
         EXPECT_TRUE(is_zero(bytes)) << size;
         std::ranges::fill(bytes, 0xa5);
         vkFreeMemory(device, memory, nullptr);
      }
   }
   vkFreeMemory(device, neighbour, nullptr);
}

TEST_F(ZeroedMemoryTest, EachKindOfMemory)
{
   const VkExportMemoryAllocateInfo exported = {
      .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
      .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
   };
   constexpr VkMemoryAllocateFlags replayed =
      VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT | VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
   const std::pair<VkMemoryAllocateFlags, const void *> kinds[] = {{0, &exported},
                                                                   {replayed, nullptr}};
   for (const auto &[flags, next] : kinds) {
      VkDeviceMemory memory;
      EXPECT_TRUE(is_zero(allocate(10'000, 0, &memory, flags, next)));
      vkFreeMemory(device, memory, nullptr);
   }
}

TEST_F(ZeroedMemoryTest, ImagesBeginWithZeros)
{
   TestImage image = {.recipe = {.format = VK_FORMAT_R32_UINT, .extent = {20, 10, 1}, .levels = 2}};
   const VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .imageType = image.recipe.type,
      .format = image.recipe.format,
      .extent = image.recipe.extent,
      .mipLevels = image.recipe.levels,
      .arrayLayers = 1,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
      .initialLayout = VK_IMAGE_LAYOUT_ZERO_INITIALIZED_EXT,
   };
   ASSERT_VK(vkCreateImage(device, &info, nullptr, &image.handle));
   VkMemoryRequirements needed;
   vkGetImageMemoryRequirements(device, image.handle, &needed);
   VkDeviceMemory memory;
   allocate(needed.size, 0, &memory);
   EXPECT_VK(vkBindImageMemory(device, image.handle, memory, 0));
   const VkImageMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
      .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
      .oldLayout = VK_IMAGE_LAYOUT_ZERO_INITIALIZED_EXT,
      .newLayout = VK_IMAGE_LAYOUT_GENERAL,
      .image = image.handle,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 2, 0, 1},
   };
   VkCommandBuffer cmd = begin();
   vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                        0, nullptr, 0, nullptr, 1, &barrier);
   run(cmd);
   for (uint32_t level = 0; level < 2; level++) {
      const TestBuffer texels = make_random_buffer(20 * 10 * 4);
      read_back(image, texels, level);
      EXPECT_TRUE(is_zero(texels.as<uint8_t>().first(size_t(800) >> 2 * level)));
   }
   vkDestroyImage(device, image.handle, nullptr);
   vkFreeMemory(device, memory, nullptr);
}

} // namespace weft::icd_test
