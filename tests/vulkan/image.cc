// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/vulkan/image.h"

#include "tests/vulkan/objects.h"
#include "tests/vulkan/result.h"

namespace weft::vulkan {

BufferView::BufferView(Device &device, const Buffer &buffer, VkFormat format, VkDeviceSize offset,
                       VkDeviceSize size)
    : device(device)
{
   const VkBufferViewCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
      .buffer = buffer.handle(),
      .format = format,
      .offset = offset,
      .range = size,
   };
   check(vkCreateBufferView(device.device, &info, nullptr, &view), "vkCreateBufferView");
}

BufferView::~BufferView()
{
   vkDestroyBufferView(device.device, view, nullptr);
}

Image::Image(Device &device, const ImageRecipe &recipe) : device(device), recipe(recipe)
{
   try {
      create();
   } catch (...) {
      destroy();
      throw;
   }
}

Image::~Image()
{
   destroy();
}

void Image::destroy()
{
   vkDestroySampler(device.device, sampler, nullptr);
   vkDestroyImageView(device.device, view, nullptr);
   vkDestroyImage(device.device, image, nullptr);
   vkFreeMemory(device.device, memory, nullptr);
}

static VkImageType image_type(VkImageViewType type)
{
   switch (type) {
   case VK_IMAGE_VIEW_TYPE_1D:
   case VK_IMAGE_VIEW_TYPE_1D_ARRAY:
      return VK_IMAGE_TYPE_1D;
   case VK_IMAGE_VIEW_TYPE_3D:
      return VK_IMAGE_TYPE_3D;
   default:
      return VK_IMAGE_TYPE_2D;
   }
}

void Image::create()
{
   const VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .imageType = image_type(recipe.type),
      .format = recipe.format,
      .extent = recipe.extent,
      .mipLevels = 1,
      .arrayLayers = recipe.layers,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .usage = recipe.usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
   };
   check(vkCreateImage(device.device, &info, nullptr, &image), "vkCreateImage");
   VkMemoryRequirements needed;
   vkGetImageMemoryRequirements(device.device, image, &needed);
   const VkMemoryAllocateInfo allocation = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .allocationSize = needed.size,
      .memoryTypeIndex = device.memory_type(needed.memoryTypeBits, MemoryPlace::device),
   };
   check(vkAllocateMemory(device.device, &allocation, nullptr, &memory), "vkAllocateMemory");
   check(vkBindImageMemory(device.device, image, memory, 0), "vkBindImageMemory");
   const VkImageViewCreateInfo view_info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
      .image = image,
      .viewType = recipe.type,
      .format = recipe.format,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, recipe.layers},
   };
   check(vkCreateImageView(device.device, &view_info, nullptr, &view), "vkCreateImageView");
   const VkSamplerCreateInfo sampler_info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
   check(vkCreateSampler(device.device, &sampler_info, nullptr, &sampler), "vkCreateSampler");
}

VkBufferImageCopy Image::whole(VkDeviceSize offset) const
{
   return {
      .bufferOffset = offset,
      .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, recipe.layers},
      .imageExtent = recipe.extent,
   };
}

void Image::write(const Buffer &buffer, VkDeviceSize offset)
{
   const VkCommandBuffer commands = begin_commands(device.device, device.pool);
   const VkImageMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
      .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
      .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
      .newLayout = VK_IMAGE_LAYOUT_GENERAL,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .image = image,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, recipe.layers},
   };
   vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                        0, 0, nullptr, 0, nullptr, 1, &barrier);
   const VkBufferImageCopy copy = whole(offset);
   vkCmdCopyBufferToImage(commands, buffer.handle(), image, VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
   run(commands);
}

void Image::read(const Buffer &buffer, VkDeviceSize offset)
{
   const VkCommandBuffer commands = begin_commands(device.device, device.pool);
   const VkBufferImageCopy copy = whole(offset);
   vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, buffer.handle(), 1, &copy);
   run(commands);
}

/// Other submissions, before and after, are waited for, and wait.
void Image::run(VkCommandBuffer commands)
{
   const auto barrier = [&](VkPipelineStageFlags stage, VkAccessFlags access) {
      const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                      .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                      .dstAccessMask = access};
      vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, stage, 0, 1, &memory, 0,
                           nullptr, 0, nullptr);
   };
   barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
           VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
   barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
   check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
   device.run(commands);
}

} // namespace weft::vulkan
