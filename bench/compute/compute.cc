// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Measures ordinary compute shaders, alternately on all devices and in C++.
///
/// Usage: compute FOLDER ROUNDS [PART]. FOLDER has the modules of this folder's shaders; PART is a
/// part of the names of the cases to be run. The program prints one JSON object per line:
///
///    the names of the devices
///    each case: medians of milliseconds (wall time, CPU time of all threads) of C++ and of each
///    device, the milliseconds in which each device makes its pipelines and runs first, and whether
///    each device's results are right
///    the number of wrong results

#include "bench/compute/cases.h"
#include "bench/images/objects.h"

#include <memory>
#include <optional>

using namespace weft::bench;

namespace {

constexpr uint32_t bindings = 4;

/// A case on one device.
class DeviceCase {
public:
   DeviceCase(const Device &device, const Case &c, const std::string &folder)
       : device(device), result_binding(c.result)
   {
      for (const Words &words : c.memory.buffers) {
         buffers.emplace_back(device, 4 * words.size());
         memcpy(buffers.back().map, words.data(), 4 * words.size());
      }
      make_set();
      first = measure([&] {
         for (const std::string &shader : c.shaders)
            pipelines.push_back(make_pipeline(device, layout, folder + "/" + shader + ".spv"));
         work.emplace(device, [&](VkCommandBuffer commands) { record(commands, c); });
         work->run();
      });
   }

   DeviceCase(const DeviceCase &) = delete;
   DeviceCase &operator=(const DeviceCase &) = delete;
   ~DeviceCase()
   {
      for (const Buffer &buffer : buffers)
         buffer.release(device);
   }

   Times run() const
   {
      return measure([&] { work->run(); });
   }

   Words result() const
   {
      const Buffer &buffer = buffers[result_binding];
      Words words(buffer.size / 4);
      memcpy(words.data(), buffer.map, buffer.size);
      return words;
   }

   Times first; ///< of the pipelines and the first run

private:
   void make_set()
   {
      std::vector<VkDescriptorSetLayoutBinding> members;
      for (uint32_t i = 0; i < bindings; i++)
         members.push_back(
            {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
      const VkDescriptorSetLayoutCreateInfo set_info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
         .bindingCount = bindings,
         .pBindings = members.data(),
      };
      VkDescriptorSetLayout set_layout;
      check(vkCreateDescriptorSetLayout(device.device, &set_info, nullptr, &set_layout),
            "vkCreateDescriptorSetLayout");
      const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Constants)};
      const VkPipelineLayoutCreateInfo layout_info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
         .setLayoutCount = 1,
         .pSetLayouts = &set_layout,
         .pushConstantRangeCount = 1,
         .pPushConstantRanges = &range,
      };
      check(vkCreatePipelineLayout(device.device, &layout_info, nullptr, &layout),
            "vkCreatePipelineLayout");
      const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, bindings};
      const VkDescriptorPoolCreateInfo pool_info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
         .maxSets = 1,
         .poolSizeCount = 1,
         .pPoolSizes = &size,
      };
      VkDescriptorPool pool;
      check(vkCreateDescriptorPool(device.device, &pool_info, nullptr, &pool),
            "vkCreateDescriptorPool");
      const VkDescriptorSetAllocateInfo allocation = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
         .descriptorPool = pool,
         .descriptorSetCount = 1,
         .pSetLayouts = &set_layout,
      };
      check(vkAllocateDescriptorSets(device.device, &allocation, &set), "vkAllocateDescriptorSets");
      for (uint32_t i = 0; i < buffers.size(); i++) {
         const VkDescriptorBufferInfo buffer = {buffers[i].handle, 0, VK_WHOLE_SIZE};
         const VkWriteDescriptorSet write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = set,
            .dstBinding = i,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &buffer,
         };
         vkUpdateDescriptorSets(device.device, 1, &write, 0, nullptr);
      }
   }

   void record(VkCommandBuffer commands, const Case &c) const
   {
      const VkMemoryBarrier barrier = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
         .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
         .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
      };
      vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                              nullptr);
      for (uint32_t i = 0; i < c.repeats; i++) {
         for (const Dispatch &dispatch : c.dispatches) {
            vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[dispatch.shader]);
            vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Constants),
                               &dispatch.constants);
            vkCmdDispatch(commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
            vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                 VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr,
                                 0, nullptr);
         }
      }
   }

   const Device &device;
   uint32_t result_binding;
   std::vector<Buffer> buffers;
   VkPipelineLayout layout;
   VkDescriptorSet set;
   std::vector<VkPipeline> pipelines;
   std::optional<Commands> work;
};

/// Runs a case and prints it; returns the number of devices with wrong results.
int run(const std::string &name, Case c, const std::vector<Device> &devices,
        const std::string &folder, int rounds)
{
   std::vector<std::unique_ptr<DeviceCase>> on_devices;
   std::vector<bool> right;
   Memory memory = c.memory;
   c.peer(memory);
   for (const Device &device : devices) {
      on_devices.push_back(std::make_unique<DeviceCase>(device, c, folder));
      right.push_back(c.is_right(memory.buffers[c.result], on_devices.back()->result()));
   }
   std::vector<Times> peer;
   std::vector<std::vector<Times>> times(devices.size());
   for (int round = 0; round < rounds; round++) {
      peer.push_back(measure([&] { c.peer(memory); }));
      for (size_t d = 0; d < devices.size(); d++)
         times[d].push_back(on_devices[d]->run());
   }
   const auto print = [](const Times &t) { printf("[%.3f, %.3f]", t.wall, t.cpu); };
   printf("{\"case\": \"%s\", \"C++\": ", name.c_str());
   print(median(peer));
   printf(", \"devices\": [");
   for (size_t d = 0; d < devices.size(); d++) {
      printf("%s{\"run\": ", d ? ", " : "");
      print(median(times[d]));
      printf(", \"first\": ");
      print(on_devices[d]->first);
      printf(", \"right\": %s}", right[d] ? "true" : "false");
   }
   printf("]}\n");
   fflush(stdout);
   return int(std::ranges::count(right, false));
}

} // namespace

int main(int argc, char **argv)
{
   if (argc != 3 && argc != 4) {
      fprintf(stderr, "usage: compute FOLDER ROUNDS [PART_OF_A_NAME]\n");
      return 2;
   }
   VkPhysicalDeviceVulkan13Features integer_dots = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
      .shaderIntegerDotProduct = true,
   };
   const VkPhysicalDeviceFeatures2 features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
      .pNext = &integer_dots,
      .features = {.shaderFloat64 = true},
   };
   const std::vector<Device> devices = all_devices(&features);
   const std::string part = argc == 4 ? argv[3] : "";
   int wrong = 0;
   for (const NamedCase &named : all_cases()) {
      if (named.name.find(part) != std::string::npos)
         wrong += run(named.name, named.make(), devices, argv[1], atoi(argv[2]));
   }
   printf("{\"wrong\": %d}\n", wrong);
   return wrong ? 1 : 0;
}
