// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Vulkan objects of images.cc and of bench/compute, which live until the process ends, and their
/// clocks.

#pragma once

#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace weft::bench {

inline void check(VkResult result, const char *what)
{
   if (result == VK_SUCCESS)
      return;
   fprintf(stderr, "%s: VkResult %d\n", what, result);
   exit(1);
}

struct Times {
   double wall, cpu; ///< milliseconds
};

inline double clock_ms(clockid_t clock)
{
   timespec t;
   clock_gettime(clock, &t);
   return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

template <typename Work>
Times measure(const Work &work)
{
   const Times begin = {clock_ms(CLOCK_MONOTONIC), clock_ms(CLOCK_PROCESS_CPUTIME_ID)};
   work();
   return {clock_ms(CLOCK_MONOTONIC) - begin.wall, clock_ms(CLOCK_PROCESS_CPUTIME_ID) - begin.cpu};
}

inline Times median(const std::vector<Times> &all)
{
   const auto of = [&](double Times::*member) {
      std::vector<double> values;
      for (const Times &t : all)
         values.push_back(t.*member);
      std::sort(values.begin(), values.end());
      return values[values.size() / 2];
   };
   return {of(&Times::wall), of(&Times::cpu)};
}

struct Device {
   std::string name;
   VkDevice device;
   VkQueue queue;
   VkCommandPool pool;
   uint32_t memory_type = 0;

   Device(VkPhysicalDevice physical, const VkPhysicalDeviceFeatures2 *features)
   {
      VkPhysicalDeviceProperties properties;
      vkGetPhysicalDeviceProperties(physical, &properties);
      name = properties.deviceName;
      const float priority = 1;
      const VkDeviceQueueCreateInfo queue_info = {
         .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
         .queueCount = 1,
         .pQueuePriorities = &priority,
      };
      const VkDeviceCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
         .pNext = features,
         .queueCreateInfoCount = 1,
         .pQueueCreateInfos = &queue_info,
      };
      check(vkCreateDevice(physical, &info, nullptr, &device), "vkCreateDevice");
      vkGetDeviceQueue(device, 0, 0, &queue);
      const VkCommandPoolCreateInfo pool_info = {.sType =
                                                    VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
      check(vkCreateCommandPool(device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
      VkPhysicalDeviceMemoryProperties memory;
      vkGetPhysicalDeviceMemoryProperties(physical, &memory);
      constexpr VkMemoryPropertyFlags mapped =
         VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
      while ((memory.memoryTypes[memory_type].propertyFlags & mapped) != mapped)
         memory_type++;
   }

   VkDeviceMemory allocate(const VkMemoryRequirements &needs) const
   {
      const VkMemoryAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
         .allocationSize = needs.size,
         .memoryTypeIndex = memory_type,
      };
      VkDeviceMemory memory;
      check(vkAllocateMemory(device, &info, nullptr, &memory), "vkAllocateMemory");
      return memory;
   }
};

/// All devices, with these features. Prints their names.
inline std::vector<Device> all_devices(const VkPhysicalDeviceFeatures2 *features = nullptr)
{
   const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                          .apiVersion = VK_API_VERSION_1_3};
   const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                      .pApplicationInfo = &application};
   VkInstance instance;
   check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
   uint32_t count = 0;
   check(vkEnumeratePhysicalDevices(instance, &count, nullptr), "vkEnumeratePhysicalDevices");
   std::vector<VkPhysicalDevice> physical(count);
   check(vkEnumeratePhysicalDevices(instance, &count, physical.data()),
         "vkEnumeratePhysicalDevices");
   std::vector<Device> devices;
   for (VkPhysicalDevice device : physical)
      devices.emplace_back(device, features);
   printf("{\"devices\": [");
   for (size_t d = 0; d < devices.size(); d++)
      printf("%s\"%s\"", d ? ", " : "", devices[d].name.c_str());
   printf("]}\n");
   return devices;
}

struct Buffer {
   VkBuffer handle;
   VkDeviceMemory memory;
   uint8_t *map;
   size_t size;

   Buffer(const Device &device, size_t size) : size(size)
   {
      const VkBufferCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
         .size = size,
         .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                  VK_BUFFER_USAGE_TRANSFER_DST_BIT,
      };
      check(vkCreateBuffer(device.device, &info, nullptr, &handle), "vkCreateBuffer");
      VkMemoryRequirements needs;
      vkGetBufferMemoryRequirements(device.device, handle, &needs);
      memory = device.allocate(needs);
      check(vkBindBufferMemory(device.device, handle, memory, 0), "vkBindBufferMemory");
      void *address;
      check(vkMapMemory(device.device, memory, 0, VK_WHOLE_SIZE, 0, &address), "vkMapMemory");
      map = static_cast<uint8_t *>(address);
      memset(map, 0, size);
   }

   /// Large buffers are released, so that many cases fit into memory.
   void release(const Device &device) const
   {
      vkDestroyBuffer(device.device, handle, nullptr);
      vkFreeMemory(device.device, memory, nullptr);
   }
};

struct Image {
   VkImage handle;
   VkImageView view;
   VkExtent3D extent;

   Image(const Device &device, VkFormat format, VkExtent3D extent) : extent(extent)
   {
      const bool is_3d = extent.depth > 1;
      const VkImageCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
         .imageType = is_3d ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D,
         .format = format,
         .extent = extent,
         .mipLevels = 1,
         .arrayLayers = 1,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                  VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
      };
      check(vkCreateImage(device.device, &info, nullptr, &handle), "vkCreateImage");
      VkMemoryRequirements needs;
      vkGetImageMemoryRequirements(device.device, handle, &needs);
      check(vkBindImageMemory(device.device, handle, device.allocate(needs), 0),
            "vkBindImageMemory");
      const VkImageViewCreateInfo view_info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
         .image = handle,
         .viewType = is_3d ? VK_IMAGE_VIEW_TYPE_3D : VK_IMAGE_VIEW_TYPE_2D,
         .format = format,
         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
      };
      check(vkCreateImageView(device.device, &view_info, nullptr, &view), "vkCreateImageView");
   }
};

inline VkSampler make_sampler(const Device &device, VkFilter filter)
{
   const VkSamplerCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
      .magFilter = filter,
      .minFilter = filter,
      .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
      .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
      .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
   };
   VkSampler sampler;
   check(vkCreateSampler(device.device, &info, nullptr, &sampler), "vkCreateSampler");
   return sampler;
}

/// The words of a SPIR-V module. Ends the process if the file cannot be read.
inline std::vector<char> read_module(const std::string &path)
{
   std::ifstream file(path, std::ios::binary);
   if (!file) {
      fprintf(stderr, "%s cannot be read\n", path.c_str());
      exit(1);
   }
   return {std::istreambuf_iterator<char>(file), {}};
}

/// A pipeline of a module's function "main".
inline VkPipeline make_pipeline(const Device &device, VkPipelineLayout layout,
                                const std::string &module)
{
   const std::vector<char> code = read_module(module);
   const VkShaderModuleCreateInfo module_info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = code.size(),
      .pCode = reinterpret_cast<const uint32_t *>(code.data()),
   };
   VkShaderModule shader;
   check(vkCreateShaderModule(device.device, &module_info, nullptr, &shader),
         "vkCreateShaderModule");
   const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = shader,
                .pName = "main"},
      .layout = layout,
   };
   VkPipeline pipeline;
   check(vkCreateComputePipelines(device.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
         "vkCreateComputePipelines");
   return pipeline;
}

/// One recorded piece of work.
class Commands {
public:
   Commands(const Device &device, const std::function<void(VkCommandBuffer)> &record)
       : device(&device)
   {
      const VkCommandBufferAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
         .commandPool = device.pool,
         .commandBufferCount = 1,
      };
      check(vkAllocateCommandBuffers(device.device, &info, &commands), "vkAllocateCommandBuffers");
      const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
      check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
      record(commands);
      check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
   }

   void run() const
   {
      const VkSubmitInfo info = {
         .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
         .commandBufferCount = 1,
         .pCommandBuffers = &commands,
      };
      check(vkQueueSubmit(device->queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
      check(vkQueueWaitIdle(device->queue), "vkQueueWaitIdle");
   }

private:
   const Device *device;
   VkCommandBuffer commands;
};

constexpr VkImageSubresourceLayers color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};

inline VkBufferImageCopy whole(const Image &image)
{
   return {.imageSubresource = color, .imageExtent = image.extent};
}

inline void become_general(VkCommandBuffer commands, const Image &image)
{
   const VkImageMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
      .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
      .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
      .newLayout = VK_IMAGE_LAYOUT_GENERAL,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .image = image.handle,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
   };
   vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1, &barrier);
}

} // namespace weft::bench
