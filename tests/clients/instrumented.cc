// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// Runs the shader of instrumented.comp through all layers that the loader has. `ci/clients printf`
// reads the text that Khronos' validation layers then print.
//
//    instrumented MODULE.spv MULTIPLICAND WORD
//
// The shader writes thrice MULTIPLICAND to the buffer, which has 4 words. Unless WORD is 0, it also
// writes to the word of that number. The status is 0 if the buffer holds the right numbers.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include <vulkan/vulkan.h>

namespace {

constexpr uint32_t words = 4;
constexpr uint32_t poison = 0xdeadbeef;

void check(VkResult result, const char *call)
{
   if (result == VK_SUCCESS)
      return;
   fprintf(stderr, "instrumented: %s gave %d\n", call, result);
   exit(2);
}

std::vector<char> read_file(const char *path)
{
   std::ifstream file(path, std::ios::binary);
   return {std::istreambuf_iterator<char>(file), {}};
}

uint32_t host_visible_type(VkPhysicalDevice physical, uint32_t allowed)
{
   VkPhysicalDeviceMemoryProperties memory;
   vkGetPhysicalDeviceMemoryProperties(physical, &memory);
   constexpr VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
   for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
      if (allowed >> i & 1 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted)
         return i;
   fprintf(stderr, "instrumented: no memory for the host\n");
   exit(2);
}

} // namespace

int main(int argc, char **argv)
{
   if (argc != 4) {
      fprintf(stderr, "usage: instrumented MODULE.spv MULTIPLICAND WORD\n");
      return 2;
   }
   const std::vector<char> code = read_file(argv[1]);
   const uint32_t multiplicand = strtoul(argv[2], nullptr, 0);
   const uint32_t out_of_bounds = strtoul(argv[3], nullptr, 0);

   const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                       .apiVersion = VK_API_VERSION_1_3};
   const VkInstanceCreateInfo instance_info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                            .pApplicationInfo = &application};
   VkInstance instance;
   check(vkCreateInstance(&instance_info, nullptr, &instance), "vkCreateInstance");
   uint32_t count = 1;
   VkPhysicalDevice physical;
   vkEnumeratePhysicalDevices(instance, &count, &physical);
   if (count != 1)
      check(VK_ERROR_INITIALIZATION_FAILED, "vkEnumeratePhysicalDevices");

   const float priority = 1;
   const VkDeviceQueueCreateInfo queue_info{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueCount = 1,
                                            .pQueuePriorities = &priority};
   const VkDeviceCreateInfo device_info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                        .queueCreateInfoCount = 1,
                                        .pQueueCreateInfos = &queue_info};
   VkDevice device;
   check(vkCreateDevice(physical, &device_info, nullptr, &device), "vkCreateDevice");
   VkQueue queue;
   vkGetDeviceQueue(device, 0, 0, &queue);

   const VkBufferCreateInfo buffer_info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                        .size = words * sizeof(uint32_t),
                                        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
   VkBuffer buffer;
   check(vkCreateBuffer(device, &buffer_info, nullptr, &buffer), "vkCreateBuffer");
   VkMemoryRequirements needs;
   vkGetBufferMemoryRequirements(device, buffer, &needs);
   // Room for the write behind the end, if no layer prevents it.
   const VkMemoryAllocateInfo memory_info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                          .allocationSize = needs.size + 4096,
                                          .memoryTypeIndex =
                                             host_visible_type(physical, needs.memoryTypeBits)};
   VkDeviceMemory memory;
   check(vkAllocateMemory(device, &memory_info, nullptr, &memory), "vkAllocateMemory");
   check(vkBindBufferMemory(device, buffer, memory, 0), "vkBindBufferMemory");
   void *mapped;
   check(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
   auto *numbers = static_cast<volatile uint32_t *>(mapped);
   numbers[0] = out_of_bounds;
   numbers[1] = poison;
   numbers[2] = multiplicand;
   numbers[3] = poison;

   const VkDescriptorSetLayoutBinding binding{.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                              .descriptorCount = 1,
                                              .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
   const VkDescriptorSetLayoutCreateInfo set_layout_info{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = 1,
      .pBindings = &binding};
   VkDescriptorSetLayout set_layout;
   check(vkCreateDescriptorSetLayout(device, &set_layout_info, nullptr, &set_layout),
         "vkCreateDescriptorSetLayout");
   const VkPipelineLayoutCreateInfo layout_info{.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                                .setLayoutCount = 1,
                                                .pSetLayouts = &set_layout};
   VkPipelineLayout layout;
   check(vkCreatePipelineLayout(device, &layout_info, nullptr, &layout), "vkCreatePipelineLayout");
   const VkShaderModuleCreateInfo module_info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                              .codeSize = code.size(),
                                              .pCode =
                                                 reinterpret_cast<const uint32_t *>(code.data())};
   VkShaderModule module;
   check(vkCreateShaderModule(device, &module_info, nullptr, &module), "vkCreateShaderModule");
   const VkComputePipelineCreateInfo pipeline_info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main"},
      .layout = layout};
   VkPipeline pipeline;
   check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &pipeline_info, nullptr, &pipeline),
         "vkCreateComputePipelines");

   const VkDescriptorPoolSize pool_size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
   const VkDescriptorPoolCreateInfo pool_info{.sType =
                                                 VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                              .maxSets = 1,
                                              .poolSizeCount = 1,
                                              .pPoolSizes = &pool_size};
   VkDescriptorPool pool;
   check(vkCreateDescriptorPool(device, &pool_info, nullptr, &pool), "vkCreateDescriptorPool");
   const VkDescriptorSetAllocateInfo set_info{.sType =
                                                 VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = pool,
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &set_layout};
   VkDescriptorSet set;
   check(vkAllocateDescriptorSets(device, &set_info, &set), "vkAllocateDescriptorSets");
   const VkDescriptorBufferInfo whole{buffer, 0, VK_WHOLE_SIZE};
   const VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                    .dstSet = set,
                                    .descriptorCount = 1,
                                    .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                    .pBufferInfo = &whole};
   vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);

   const VkCommandPoolCreateInfo commands_info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
   VkCommandPool command_pool;
   check(vkCreateCommandPool(device, &commands_info, nullptr, &command_pool),
         "vkCreateCommandPool");
   const VkCommandBufferAllocateInfo command_info{.sType =
                                                     VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = command_pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
   VkCommandBuffer commands;
   check(vkAllocateCommandBuffers(device, &command_info, &commands), "vkAllocateCommandBuffers");
   const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
   check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
   vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                           nullptr);
   vkCmdDispatch(commands, 1, 1, 1);
   check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
   const VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .commandBufferCount = 1,
                             .pCommandBuffers = &commands};
   check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
   check(vkDeviceWaitIdle(device), "vkDeviceWaitIdle");

   const bool right = numbers[1] == multiplicand * 3 && numbers[3] == poison;
   printf("the buffer holds %u and %#x\n", numbers[1], numbers[3]);
   vkDestroyCommandPool(device, command_pool, nullptr);
   vkDestroyDescriptorPool(device, pool, nullptr);
   vkDestroyPipeline(device, pipeline, nullptr);
   vkDestroyShaderModule(device, module, nullptr);
   vkDestroyPipelineLayout(device, layout, nullptr);
   vkDestroyDescriptorSetLayout(device, set_layout, nullptr);
   vkDestroyBuffer(device, buffer, nullptr);
   vkFreeMemory(device, memory, nullptr);
   vkDestroyDevice(device, nullptr);
   vkDestroyInstance(instance, nullptr);
   return right ? 0 : 1;
}
