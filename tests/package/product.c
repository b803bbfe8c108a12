/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 *
 * A plain Vulkan program. On each device it computes a 16×16×16 product of half floats, with
 * cooperative matrices if the device has them, and compares with the same product in C.
 *
 * usage: product [--times] MATRIX.spv SCALAR.spv [NAME...]
 *
 * Fails unless each NAME begins the name of a device that was tried.  The last line is "verified".
 *
 * With --times, it runs once on the first device. It prints each step with milliseconds at its end:
 * of a clock since main(), and of all CPUs since the process's start. With an empty MATRIX.spv the
 * device does without matrices.
 */

#define _POSIX_C_SOURCE 200809L

#include <vulkan/vulkan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT 256

static void check(VkResult result, const char *call)
{
   if (result != VK_SUCCESS) {
      fprintf(stderr, "product: %s: VkResult %d\n", call, result);
      exit(1);
   }
}
#define CHECK(call) check(call, #call)

static double milliseconds(clockid_t clock)
{
   struct timespec now;
   clock_gettime(clock, &now);
   return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int with_times;
static double start_ms;

static void end_of(const char *step)
{
   if (with_times)
      printf("%s %.3f %.3f\n", step, milliseconds(CLOCK_MONOTONIC) - start_ms,
             milliseconds(CLOCK_PROCESS_CPUTIME_ID));
}

static uint32_t *read_file(const char *path, size_t *size)
{
   FILE *file = fopen(path, "rb");
   uint32_t *words = malloc(1 << 16);
   if (!file || !words) {
      perror(path);
      exit(1);
   }
   *size = fread(words, 1, 1 << 16, file);
   fclose(file);
   return words;
}

/* Small integers: each sum is exact. */
static int element(int matrix, int index)
{
   return (index * 7 + index / 16 * 3 + matrix * 5) % 17 - 8;
}

static uint16_t half_of(int value)
{
   if (value == 0)
      return 0;
   const unsigned sign = value < 0 ? 0x8000 : 0, magnitude = (unsigned)abs(value);
   const unsigned log = 31 - (unsigned)__builtin_clz(magnitude);
   return (uint16_t)(sign | (log + 15) << 10 | ((magnitude << (10 - log)) & 0x3ff));
}

static int has_matrices(VkPhysicalDevice physical)
{
   uint32_t count = 0;
   CHECK(vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL));
   VkExtensionProperties *extensions = calloc(count, sizeof(*extensions));
   CHECK(vkEnumerateDeviceExtensionProperties(physical, NULL, &count, extensions));
   int found = 0;
   for (uint32_t i = 0; i < count; i++)
      found |= !strcmp(extensions[i].extensionName, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   free(extensions);
   return found;
}

static uint32_t find_memory(VkPhysicalDevice physical, uint32_t types)
{
   const VkMemoryPropertyFlags needed =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
   VkPhysicalDeviceMemoryProperties memory;
   vkGetPhysicalDeviceMemoryProperties(physical, &memory);
   for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
      if ((types >> i & 1) && (memory.memoryTypes[i].propertyFlags & needed) == needed)
         return i;
   fprintf(stderr, "product: no memory for the host\n");
   exit(1);
}

static void multiply(VkPhysicalDevice physical, const char *spirv, int with_matrices)
{
   VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = VK_TRUE};
   VkPhysicalDeviceVulkan12Features features12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .pNext = &matrix,
      .shaderFloat16 = VK_TRUE,
      .vulkanMemoryModel = VK_TRUE};
   VkPhysicalDeviceVulkan11Features features11 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
      .pNext = &features12,
      .storageBuffer16BitAccess = VK_TRUE};
   const float priority = 1;
   const VkDeviceQueueCreateInfo queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                               .queueCount = 1,
                                               .pQueuePriorities = &priority};
   const char *extension = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
   VkDevice device;
   CHECK(vkCreateDevice(physical,
                        &(VkDeviceCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                              .pNext = with_matrices ? &features11 : NULL,
                                              .queueCreateInfoCount = 1,
                                              .pQueueCreateInfos = &queue_info,
                                              .enabledExtensionCount = (uint32_t)with_matrices,
                                              .ppEnabledExtensionNames = &extension},
                        NULL, &device));
   end_of("device");

   VkDescriptorSetLayoutBinding bindings[3];
   for (uint32_t i = 0; i < 3; i++)
      bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                                   VK_SHADER_STAGE_COMPUTE_BIT, NULL};
   VkDescriptorSetLayout set_layout;
   CHECK(
      vkCreateDescriptorSetLayout(device,
                                  &(VkDescriptorSetLayoutCreateInfo){
                                     .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                     .bindingCount = 3,
                                     .pBindings = bindings},
                                  NULL, &set_layout));
   VkPipelineLayout layout;
   CHECK(vkCreatePipelineLayout(
      device,
      &(VkPipelineLayoutCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                    .setLayoutCount = 1,
                                    .pSetLayouts = &set_layout},
      NULL, &layout));

   VkPhysicalDeviceSubgroupProperties subgroup = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   const VkSpecializationMapEntry entry = {0, 0, sizeof(uint32_t)};
   const VkSpecializationInfo constants = {1, &entry, sizeof(uint32_t), &subgroup.subgroupSize};
   size_t size;
   uint32_t *words = read_file(spirv, &size);
   VkShaderModule module;
   CHECK(vkCreateShaderModule(
      device,
      &(VkShaderModuleCreateInfo){
         .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = words},
      NULL, &module));
   free(words);
   VkPipeline pipeline;
   CHECK(vkCreateComputePipelines(
      device, VK_NULL_HANDLE, 1,
      &(VkComputePipelineCreateInfo){
         .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
         .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = module,
                   .pName = "main",
                   .pSpecializationInfo = &constants},
         .layout = layout},
      NULL, &pipeline));
   end_of("pipeline");

   const VkDescriptorPoolSize pool_size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
   VkDescriptorPool descriptors;
   CHECK(vkCreateDescriptorPool(
      device,
      &(VkDescriptorPoolCreateInfo){.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                    .maxSets = 1,
                                    .poolSizeCount = 1,
                                    .pPoolSizes = &pool_size},
      NULL, &descriptors));
   VkDescriptorSet set;
   CHECK(vkAllocateDescriptorSets(
      device,
      &(VkDescriptorSetAllocateInfo){.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                     .descriptorPool = descriptors,
                                     .descriptorSetCount = 1,
                                     .pSetLayouts = &set_layout},
      &set));
   VkBuffer buffers[3];
   VkDeviceMemory memory[3];
   void *mapped[3];
   for (uint32_t i = 0; i < 3; i++) {
      CHECK(vkCreateBuffer(device,
                           &(VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                                 .size = COUNT * sizeof(float),
                                                 .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT},
                           NULL, &buffers[i]));
      VkMemoryRequirements needs;
      vkGetBufferMemoryRequirements(device, buffers[i], &needs);
      CHECK(vkAllocateMemory(
         device,
         &(VkMemoryAllocateInfo){.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = needs.size,
                                 .memoryTypeIndex = find_memory(physical, needs.memoryTypeBits)},
         NULL, &memory[i]));
      CHECK(vkBindBufferMemory(device, buffers[i], memory[i], 0));
      CHECK(vkMapMemory(device, memory[i], 0, VK_WHOLE_SIZE, 0, &mapped[i]));
      const VkDescriptorBufferInfo whole = {buffers[i], 0, VK_WHOLE_SIZE};
      vkUpdateDescriptorSets(
         device, 1,
         &(VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                 .dstSet = set,
                                 .dstBinding = i,
                                 .descriptorCount = 1,
                                 .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                 .pBufferInfo = &whole},
         0, NULL);
   }
   for (int matrix_index = 0; matrix_index < 2; matrix_index++)
      for (int i = 0; i < COUNT; i++)
         ((uint16_t *)mapped[matrix_index])[i] = half_of(element(matrix_index, i));
   memset(mapped[2], 0xff, COUNT * sizeof(float));

   VkCommandPool pool;
   CHECK(vkCreateCommandPool(
      device, &(VkCommandPoolCreateInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO}, NULL,
      &pool));
   VkCommandBuffer commands;
   CHECK(vkAllocateCommandBuffers(
      device,
      &(VkCommandBufferAllocateInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                     .commandPool = pool,
                                     .commandBufferCount = 1},
      &commands));
   CHECK(vkBeginCommandBuffer(
      commands, &(VkCommandBufferBeginInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO}));
   vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
   vkCmdDispatch(commands, 1, 1, 1);
   const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
   vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                        0, 1, &to_host, 0, NULL, 0, NULL);
   CHECK(vkEndCommandBuffer(commands));
   VkQueue queue;
   vkGetDeviceQueue(device, 0, 0, &queue);
   CHECK(vkQueueSubmit(queue, 1,
                       &(VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                       .commandBufferCount = 1,
                                       .pCommandBuffers = &commands},
                       VK_NULL_HANDLE));
   CHECK(vkQueueWaitIdle(queue));
   end_of("result");

   for (int i = 0; i < COUNT; i++) {
      int sum = 0;
      for (int k = 0; k < 16; k++)
         sum += element(0, i / 16 * 16 + k) * element(1, k * 16 + i % 16);
      if (((float *)mapped[2])[i] != (float)sum) {
         fprintf(stderr, "product: row %d, column %d is %g, not %d\n", i / 16, i % 16,
                 ((float *)mapped[2])[i], sum);
         exit(1);
      }
   }
   printf("%s: %s\n", properties.properties.deviceName,
          with_matrices ? "cooperative matrix" : "scalar");
   vkDestroyCommandPool(device, pool, NULL);
   for (int i = 0; i < 3; i++) {
      vkDestroyBuffer(device, buffers[i], NULL);
      vkFreeMemory(device, memory[i], NULL);
   }
   vkDestroyDescriptorPool(device, descriptors, NULL);
   vkDestroyPipeline(device, pipeline, NULL);
   vkDestroyShaderModule(device, module, NULL);
   vkDestroyPipelineLayout(device, layout, NULL);
   vkDestroyDescriptorSetLayout(device, set_layout, NULL);
   vkDestroyDevice(device, NULL);
}

int main(int argc, char **argv)
{
   start_ms = milliseconds(CLOCK_MONOTONIC);
   with_times = argc > 1 && !strcmp(argv[1], "--times");
   argc -= with_times;
   argv += with_times;
   if (argc < 3) {
      fprintf(stderr, "usage: product [--times] MATRIX.spv SCALAR.spv [NAME...]\n");
      return 2;
   }
   VkInstance instance;
   CHECK(vkCreateInstance(
      &(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                              .pApplicationInfo =
                                 &(VkApplicationInfo){.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                                      .apiVersion = VK_API_VERSION_1_3}},
      NULL, &instance));
   VkPhysicalDevice devices[16];
   uint32_t count = 16;
   CHECK(vkEnumeratePhysicalDevices(instance, &count, devices));
   end_of("instance");
   if (with_times && count > 1)
      count = 1;
   /* Runs twice, because the second run finds the state of the first one's driver in this process.
    * */
   for (int round = 0; round < (with_times ? 1 : 2); round++)
      for (uint32_t i = 0; i < count; i++) {
         const int with_matrices = *argv[1] && has_matrices(devices[i]);
         multiply(devices[i], argv[with_matrices ? 1 : 2], with_matrices);
      }
   for (int name = 3; name < argc; name++) {
      int found = 0;
      for (uint32_t i = 0; i < count; i++) {
         VkPhysicalDeviceProperties properties;
         vkGetPhysicalDeviceProperties(devices[i], &properties);
         found |= !strncmp(properties.deviceName, argv[name], strlen(argv[name]));
      }
      if (!found) {
         fprintf(stderr, "product: no device is called %s\n", argv[name]);
         return 1;
      }
   }
   vkDestroyInstance(instance, NULL);
   if (count == 0) {
      fprintf(stderr, "product: no device\n");
      return 1;
   }
   puts("verified");
   return 0;
}
