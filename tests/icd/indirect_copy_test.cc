// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_copy_memory_indirect: copies that memory describes, compared with scalar models.

#include "tests/icd/image_fixture.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace weft::icd_test {

namespace {

constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;

/// A described copy, and words that the stride skips.
template <typename Region>
struct Described {
   Region region;
   uint32_t skipped[2];
};

} // namespace

class IndirectCopyTest : public ImageTest {
protected:
   VkDeviceAddress address_of(const TestBuffer &buffer)
   {
      const VkBufferDeviceAddressInfo info = {
         .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
         .buffer = buffer.handle,
      };
      return vkGetBufferDeviceAddress(device, &info);
   }

   template <typename Region>
   VkStridedDeviceAddressRangeKHR range_of(const TestBuffer &buffer, uint32_t count)
   {
      return {address_of(buffer), count * sizeof(Described<Region>), sizeof(Described<Region>)};
   }

   /// Copies regions, which a command buffer writes first, to the image.
   void copy_to_image(const TestImage &image,
                      const std::vector<VkCopyMemoryToImageIndirectCommandKHR> &regions)
   {
      using Region = VkCopyMemoryToImageIndirectCommandKHR;
      std::vector<Described<Region>> described;
      std::vector<VkImageSubresourceLayers> layers;
      for (const Region &region : regions) {
         described.push_back({region, {0xa5a5a5a5, 0xa5a5a5a5}});
         layers.push_back(region.imageSubresource);
      }
      const auto bytes = described.size() * sizeof(described[0]);
      const TestBuffer from = make_buffer(bytes, described.data()), parameters = make_buffer(bytes);
      const VkCopyMemoryToImageIndirectInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INDIRECT_INFO_KHR,
         .srcCopyFlags = VK_ADDRESS_COPY_DEVICE_LOCAL_BIT_KHR,
         .copyCount = uint32_t(regions.size()),
         .copyAddressRange = range_of<Region>(parameters, uint32_t(regions.size())),
         .dstImage = image.handle,
         .dstImageLayout = general,
         .pImageSubresources = layers.data(),
      };
      VkCommandBuffer cmd = begin();
      const VkBufferCopy copy = {0, 0, bytes};
      vkCmdCopyBuffer(cmd, from.handle, parameters.handle, 1, &copy);
      device_function<PFN_vkCmdCopyMemoryToImageIndirectKHR>("vkCmdCopyMemoryToImageIndirectKHR")(
         cmd, &info);
      run(cmd);
   }
};

TEST_F(IndirectCopyTest, IsAFeatureOfAllQueues)
{
   VkPhysicalDeviceCopyMemoryIndirectFeaturesKHR copies = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COPY_MEMORY_INDIRECT_FEATURES_KHR};
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &copies};
   vkGetPhysicalDeviceFeatures2(physical, &features);
   EXPECT_TRUE(copies.indirectMemoryCopy);
   EXPECT_TRUE(copies.indirectMemoryToImageCopy);
   VkPhysicalDeviceCopyMemoryIndirectPropertiesKHR queues = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COPY_MEMORY_INDIRECT_PROPERTIES_KHR};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &queues};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_TRUE(queues.supportedQueues & VK_QUEUE_COMPUTE_BIT);
   EXPECT_TRUE(queues.supportedQueues & VK_QUEUE_TRANSFER_BIT);
   VkFormatProperties3 format = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3};
   VkFormatProperties2 whole = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2, .pNext = &format};
   vkGetPhysicalDeviceFormatProperties2(physical, VK_FORMAT_R8G8B8A8_UNORM, &whole);
   EXPECT_TRUE(format.optimalTilingFeatures & VK_FORMAT_FEATURE_2_COPY_IMAGE_INDIRECT_DST_BIT_KHR);
}

/// Regions of random places and sizes, also of none, from one half of a buffer to the other. The
/// command buffer writes the descriptions itself.
TEST_F(IndirectCopyTest, Memory)
{
   using Region = VkCopyMemoryIndirectCommandKHR;
   constexpr uint32_t count = 37, slot = 64;
   const TestBuffer from = make_random_buffer(count * slot), to = make_random_buffer(count * slot);
   std::vector<uint8_t> expected(to.map, to.map + to.size);
   std::vector<Described<Region>> described;
   for (uint32_t i = 0; i < count; ++i) {
      const uint64_t source = random() % (from.size - slot), size = random() % (slot / 2),
                     target = i * slot + random() % (slot / 2);
      memcpy(expected.data() + target, from.map + source, size);
      described.push_back({{address_of(from) + source, address_of(to) + target, size}, {~0u, ~0u}});
   }
   const auto bytes = count * sizeof(described[0]);
   const TestBuffer source = make_buffer(bytes, described.data()), parameters = make_buffer(bytes);
   VkCopyMemoryIndirectInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_COPY_MEMORY_INDIRECT_INFO_KHR,
      .copyCount = 0,
      .copyAddressRange = range_of<Region>(parameters, count),
   };
   const auto copy_memory =
      device_function<PFN_vkCmdCopyMemoryIndirectKHR>("vkCmdCopyMemoryIndirectKHR");
   VkCommandBuffer cmd = begin();
   copy_memory(cmd, &info);
   info.copyCount = count;
   const VkBufferCopy copy = {0, 0, bytes};
   vkCmdCopyBuffer(cmd, source.handle, parameters.handle, 1, &copy);
   copy_memory(cmd, &info);
   run(cmd);
   EXPECT_TRUE(std::ranges::equal(to.as<uint8_t>(), expected));
}

TEST_F(IndirectCopyTest, LayersOfALevel)
{
   constexpr uint32_t layers = 5, width = 9, height = 6, row = 11, rows = 8;
   const TestImage image =
      make_image({.extent = {2 * width, 2 * height, 1}, .levels = 2, .layers = layers});
   const TestBuffer before = make_random_buffer(width * height * layers * 4),
                    after = make_random_buffer(before.size),
                    texels = make_random_buffer(row * rows * layers * 4);
   fill(image, before, 1);
   std::vector<uint32_t> expected(before.as().begin(), before.as().end());
   // One layer with gaps in the buffer, and all layers from the fourth on without.
   const VkExtent3D part = {4, 3, 1}, whole = {width, height, 1};
   copy_to_image(image,
                 {{address_of(texels) + 40, row, rows, {1, 1, 2, 1}, {3, 2, 0}, part},
                  {address_of(texels), 0, 0, {1, 1, 3, VK_REMAINING_ARRAY_LAYERS}, {}, whole}});
   for (uint32_t i = 0; i < expected.size(); ++i) {
      const uint32_t layer = i / (width * height), x = i % width, y = i / width % height;
      if (layer >= 3)
         expected[i] = texels.as()[i - 3 * width * height];
      else if (layer == 2 && x >= 3 && x < 7 && y >= 2 && y < 5)
         expected[i] = texels.as()[10 + (y - 2) * row + x - 3];
   }
   read_back(image, after, 1);
   EXPECT_TRUE(std::ranges::equal(after.as(), expected));
}

/// The layers of a region are the slices, which its offset and its extent do not name.
TEST_F(IndirectCopyTest, SlicesAreGivenAsLayers)
{
   constexpr uint32_t width = 5, height = 4, depth = 6;
   const TestImage image = make_image({.type = VK_IMAGE_TYPE_3D, .extent = {width, height, depth}});
   const TestBuffer before = make_random_buffer(width * height * depth * 4),
                    after = make_random_buffer(before.size),
                    texels = make_random_buffer(before.size);
   fill(image, before);
   std::vector<uint32_t> expected(before.as().begin(), before.as().end());
   const VkExtent3D part = {3, 2, 1};
   copy_to_image(image, {{address_of(texels), 0, 0, {1, 0, 1, 2}, {1, 2, 0}, part},
                         {address_of(texels) + 48, 0, 0, {1, 0, 5, 1}, {0, 0, 5}, part}});
   for (uint32_t i = 0; i < expected.size(); ++i) {
      const uint32_t z = i / (width * height), x = i % width, y = i / width % height;
      if ((z == 1 || z == 2) && x >= 1 && x < 4 && y >= 2)
         expected[i] = texels.as()[(z - 1) * 6 + (y - 2) * 3 + x - 1];
      else if (z == 5 && x < 3 && y < 2)
         expected[i] = texels.as()[12 + y * 3 + x];
   }
   read_back(image, after);
   EXPECT_TRUE(std::ranges::equal(after.as(), expected));
}

} // namespace weft::icd_test
