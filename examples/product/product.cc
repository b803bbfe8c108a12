// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// Multiplies a tile of matrices on the first device that has VK_KHR_cooperative_matrix.
//
//    product MODULE.spv                MODULE: product.comp, compiled

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include <vulkan/vulkan.h>

static constexpr uint32_t size = 16; // rows and columns

[[noreturn]] static void fail(const char *text)
{
   fprintf(stderr, "product: %s\n", text);
   exit(1);
}

static void check(VkResult result, const char *call)
{
   if (result != VK_SUCCESS)
      fail(call);
}

static bool has_matrices(VkPhysicalDevice device)
{
   uint32_t count = 0;
   vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
   std::vector<VkExtensionProperties> extensions(count);
   vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
   for (const VkExtensionProperties &extension : extensions)
      if (!strcmp(extension.extensionName, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
         return true;
   return false;
}

// Whether 16×16×16 products of f16, summed in f32, are among the device's operations.
static bool has_operation(VkInstance instance, VkPhysicalDevice device)
{
   const auto properties = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
   uint32_t count = 0;
   properties(device, &count, nullptr);
   std::vector<VkCooperativeMatrixPropertiesKHR> operations(
      count, {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
   properties(device, &count, operations.data());
   for (const VkCooperativeMatrixPropertiesKHR &o : operations)
      if (o.MSize == size && o.NSize == size && o.KSize == size &&
          o.AType == VK_COMPONENT_TYPE_FLOAT16_KHR && o.BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
          o.CType == VK_COMPONENT_TYPE_FLOAT32_KHR && o.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR)
         return true;
   return false;
}

// Whole numbers up to 2048, which f16 holds exactly.
static uint16_t to_half(int value)
{
   if (value == 0)
      return 0;
   const int magnitude = abs(value), exponent = ilogb(magnitude);
   const int fraction = (magnitude << (10 - exponent)) & 0x3ff;
   return (value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 | fraction;
}

int main(int argc, char **argv)
{
   if (argc != 2)
      fail("usage: product MODULE.spv");
   std::ifstream file(argv[1], std::ios::binary);
   const std::vector<char> code{std::istreambuf_iterator<char>(file), {}};

   const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                       .apiVersion = VK_API_VERSION_1_3};
   const VkInstanceCreateInfo instance_info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                            .pApplicationInfo = &application};
   VkInstance instance;
   check(vkCreateInstance(&instance_info, nullptr, &instance), "vkCreateInstance");
   uint32_t count = 0;
   vkEnumeratePhysicalDevices(instance, &count, nullptr);
   std::vector<VkPhysicalDevice> devices(count);
   vkEnumeratePhysicalDevices(instance, &count, devices.data());
   VkPhysicalDevice physical = nullptr;
   for (VkPhysicalDevice candidate : devices)
      if (!physical && has_matrices(candidate) && has_operation(instance, candidate))
         physical = candidate;
   if (!physical)
      fail("no device has the matrices that the shader needs");
   VkPhysicalDeviceSubgroupProperties subgroup{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
   VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                          .pNext = &subgroup};
   vkGetPhysicalDeviceProperties2(physical, &properties);

   VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = VK_TRUE};
   VkPhysicalDeviceVulkan12Features vulkan12{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .pNext = &matrices,
      .shaderFloat16 = VK_TRUE,
      .vulkanMemoryModel = VK_TRUE};
   VkPhysicalDeviceVulkan11Features vulkan11{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
      .pNext = &vulkan12,
      .storageBuffer16BitAccess = VK_TRUE};
   const float priority = 1;
   const VkDeviceQueueCreateInfo queue_info{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueCount = 1,
                                            .pQueuePriorities = &priority};
   const char *extension = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
   const VkDeviceCreateInfo device_info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                        .pNext = &vulkan11,
                                        .queueCreateInfoCount = 1,
                                        .pQueueCreateInfos = &queue_info,
                                        .enabledExtensionCount = 1,
                                        .ppEnabledExtensionNames = &extension};
   VkDevice device;
   check(vkCreateDevice(physical, &device_info, nullptr, &device), "vkCreateDevice");
   VkQueue queue;
   vkGetDeviceQueue(device, 0, 0, &queue);

   // A, B and C lie in one buffer, a page apart.
   constexpr VkDeviceSize part = 4096;
   const VkBufferCreateInfo buffer_info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                        .size = 3 * part,
                                        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
   VkBuffer buffer;
   check(vkCreateBuffer(device, &buffer_info, nullptr, &buffer), "vkCreateBuffer");
   VkMemoryRequirements needs;
   vkGetBufferMemoryRequirements(device, buffer, &needs);
   VkPhysicalDeviceMemoryProperties memories;
   vkGetPhysicalDeviceMemoryProperties(physical, &memories);
   constexpr VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
   uint32_t type = 0;
   while (!(needs.memoryTypeBits >> type & 1) ||
          (memories.memoryTypes[type].propertyFlags & wanted) != wanted)
      type++;
   const VkMemoryAllocateInfo memory_info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                          .allocationSize = needs.size,
                                          .memoryTypeIndex = type};
   VkDeviceMemory memory;
   check(vkAllocateMemory(device, &memory_info, nullptr, &memory), "vkAllocateMemory");
   check(vkBindBufferMemory(device, buffer, memory, 0), "vkBindBufferMemory");
   void *mapped;
   check(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
   auto *bytes = static_cast<char *>(mapped);
   auto *a = reinterpret_cast<uint16_t *>(bytes), *b = reinterpret_cast<uint16_t *>(bytes + part);
   auto *c = reinterpret_cast<float *>(bytes + 2 * part);
   const auto a_value = [](uint32_t i) { return int(i * 7 % 23) - 11; };
   const auto b_value = [](uint32_t i) { return int(i * 5 % 19) - 9; };
   for (uint32_t i = 0; i < size * size; i++) {
      a[i] = to_half(a_value(i));
      b[i] = to_half(b_value(i));
      c[i] = i;
   }

   VkDescriptorSetLayoutBinding bindings[3];
   for (uint32_t i = 0; i < 3; i++)
      bindings[i] = {.binding = i,
                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                     .descriptorCount = 1,
                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                     .pImmutableSamplers = nullptr};
   const VkDescriptorSetLayoutCreateInfo set_layout_info{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = 3,
      .pBindings = bindings};
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
   const VkSpecializationMapEntry entry{.constantID = 0, .offset = 0, .size = sizeof(uint32_t)};
   const VkSpecializationInfo specialization{.mapEntryCount = 1,
                                             .pMapEntries = &entry,
                                             .dataSize = sizeof(uint32_t),
                                             .pData = &subgroup.subgroupSize};
   const VkComputePipelineCreateInfo pipeline_info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main",
                .pSpecializationInfo = &specialization},
      .layout = layout};
   VkPipeline pipeline;
   check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &pipeline_info, nullptr, &pipeline),
         "vkCreateComputePipelines");

   const VkDescriptorPoolSize pool_size{.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .descriptorCount = 3};
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
   for (uint32_t i = 0; i < 3; i++) {
      const VkDescriptorBufferInfo range{.buffer = buffer, .offset = i * part, .range = part};
      const VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = set,
                                       .dstBinding = i,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &range};
      vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
   }

   const VkCommandPoolCreateInfo command_pool_info{.sType =
                                                      VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
   VkCommandPool command_pool;
   check(vkCreateCommandPool(device, &command_pool_info, nullptr, &command_pool),
         "vkCreateCommandPool");
   const VkCommandBufferAllocateInfo command_info{.sType =
                                                     VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = command_pool,
                                                  .commandBufferCount = 1};
   VkCommandBuffer commands;
   check(vkAllocateCommandBuffers(device, &command_info, &commands), "vkAllocateCommandBuffers");
   const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
   check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
   vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                           nullptr);
   vkCmdDispatch(commands, 1, 1, 1);
   const VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
   vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                        0, 1, &barrier, 0, nullptr, 0, nullptr);
   check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
   const VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .commandBufferCount = 1,
                             .pCommandBuffers = &commands};
   check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
   check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");

   for (uint32_t i = 0; i < size * size; i++) {
      int expected = i;
      for (uint32_t k = 0; k < size; k++)
         expected += a_value(i / size * size + k) * b_value(k * size + i % size);
      if (c[i] != expected) {
         fprintf(stderr, "product: element %u is %g instead of %d\n", i, c[i], expected);
         return 1;
      }
   }
   printf("%s: %u elements are right\n", properties.properties.deviceName, size * size);
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
}
