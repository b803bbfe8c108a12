// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"
#include "tests/e2e/time_limits.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace weft::icd_test {

CountingAllocator::CountingAllocator()
{
   table.pUserData = this;
   table.pfnAllocation = allocate;
   table.pfnReallocation = reallocate;
   table.pfnFree = release;
}

// The loader's own allocations come here too; the size before the block lets reallocation copy.
void *CountingAllocator::allocate(void *user, size_t size, size_t alignment,
                                  VkSystemAllocationScope)
{
   auto *self = static_cast<CountingAllocator *>(user);
   if (self->failing >= 0 && self->failing-- <= 0) {
      self->failing = 0;
      return nullptr;
   }
   size_t offset = alignment < 16 ? 16 : alignment;
   auto *block =
      static_cast<uint8_t *>(aligned_alloc(offset, (offset + size + offset - 1) / offset * offset));
   if (!block)
      return nullptr;
   uint8_t *memory = block + offset;
   memcpy(memory - 16, &size, sizeof(size));
   memcpy(memory - 8, &offset, sizeof(offset));
   self->live_count++;
   self->total_count++;
   return memory;
}

void *CountingAllocator::reallocate(void *user, void *original, size_t size, size_t alignment,
                                    VkSystemAllocationScope scope)
{
   if (size == 0) {
      release(user, original);
      return nullptr;
   }
   void *memory = allocate(user, size, alignment, scope);
   if (memory && original) {
      size_t old_size;
      memcpy(&old_size, static_cast<uint8_t *>(original) - 16, sizeof(old_size));
      memcpy(memory, original, std::min(size, old_size));
      release(user, original);
   }
   return memory;
}

void CountingAllocator::release(void *user, void *memory)
{
   if (!memory)
      return;
   static_cast<CountingAllocator *>(user)->live_count--;
   size_t offset;
   memcpy(&offset, static_cast<uint8_t *>(memory) - 8, sizeof(offset));
   free(static_cast<uint8_t *>(memory) - offset);
}

VkInstance create_instance(const VkAllocationCallbacks *allocator)
{
   // What was compiled on this machine before is none of the tests' business.
   setenv("WEFT_SHADER_CACHE_DISABLE", "true", 0);
   VkApplicationInfo application = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
      .apiVersion = VK_API_VERSION_1_3,
   };
   const char *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
   VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .pApplicationInfo = &application,
      .enabledExtensionCount = 1,
      .ppEnabledExtensionNames = extensions,
   };
   VkInstance instance = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateInstance(&info, allocator, &instance));
   return instance;
}

VkPhysicalDevice get_physical_device(VkInstance instance)
{
   uint32_t count = 1;
   VkPhysicalDevice physical = VK_NULL_HANDLE;
   EXPECT_VK(vkEnumeratePhysicalDevices(instance, &count, &physical));
   return physical;
}

std::vector<std::string> device_extensions(VkPhysicalDevice physical)
{
   uint32_t count = 0;
   EXPECT_VK(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr));
   std::vector<VkExtensionProperties> properties(count);
   EXPECT_VK(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, properties.data()));
   std::vector<std::string> names;
   for (const VkExtensionProperties &p : properties)
      names.push_back(p.extensionName);
   return names;
}

VkResult create_device(VkPhysicalDevice physical, const VkAllocationCallbacks *allocator,
                       VkDevice *device, bool robust)
{
   VkPhysicalDeviceRobustness2FeaturesEXT robustness2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT,
   };
   VkPhysicalDeviceNestedCommandBufferFeaturesEXT nested = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NESTED_COMMAND_BUFFER_FEATURES_EXT,
      .pNext = &robustness2,
   };
   VkPhysicalDeviceMaintenance5FeaturesKHR maintenance5 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR,
      .pNext = &nested,
   };
   VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR explicit_layout = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR,
      .pNext = &maintenance5,
   };
   VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT atomic_float2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_2_FEATURES_EXT,
      .pNext = &explicit_layout,
   };
   VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT,
      .pNext = &atomic_float2,
   };
   VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
      .pNext = &atomic_float,
   };
   VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .pNext = &executable,
   };
   VkPhysicalDevicePipelineRobustnessFeaturesEXT robustness = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_FEATURES_EXT,
      .pNext = &matrix,
   };
   VkPhysicalDeviceVulkan13Features features13 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
      .pNext = &robustness,
   };
   VkPhysicalDeviceVulkan12Features features12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .pNext = &features13,
   };
   VkPhysicalDeviceVulkan11Features features11 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
      .pNext = &features12,
   };
   VkPhysicalDeviceFeatures2 features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
      .pNext = &features11,
   };
   vkGetPhysicalDeviceFeatures2(physical, &features);
   if (!robust) {
      features.features.robustBufferAccess = false;
      robustness2.robustBufferAccess2 = robustness2.nullDescriptor = false;
   }

   std::vector<std::string> names = device_extensions(physical);
   std::vector<const char *> name_pointers;
   for (const std::string &name : names)
      name_pointers.push_back(name.c_str());

   float priority = 1;
   VkDeviceQueueCreateInfo queue_info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
      .queueFamilyIndex = 0,
      .queueCount = 1,
      .pQueuePriorities = &priority,
   };
   VkDeviceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .pNext = &features,
      .queueCreateInfoCount = 1,
      .pQueueCreateInfos = &queue_info,
      .enabledExtensionCount = uint32_t(name_pointers.size()),
      .ppEnabledExtensionNames = name_pointers.data(),
   };
   return vkCreateDevice(physical, &info, allocator, device);
}

// With the validation layers (VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation) their complaints are
// failures: right for all tests but those that break a rule on purpose, to see that the driver
// survives it.
static VKAPI_ATTR VkBool32 VKAPI_CALL keep_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                                   VkDebugUtilsMessageTypeFlagsEXT types,
                                                   const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                   void *user)
{
   if (types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT)
      ADD_FAILURE() << data->pMessage;
   *static_cast<std::string *>(user) += std::string(data->pMessage) + "\n";
   return VK_FALSE;
}

void IcdTest::SetUp()
{
   static_assert(e2e::hang_limit > wait_limit / 1'000'000'000);
   alarm(e2e::hang_limit);
   instance = create_instance();
   ASSERT_NE(instance, VkInstance(VK_NULL_HANDLE));
   VkDebugUtilsMessengerCreateInfoEXT messenger_info = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
      .pfnUserCallback = keep_message,
      .pUserData = &messages,
   };
   auto create_messenger = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
   ASSERT_VK(create_messenger(instance, &messenger_info, nullptr, &messenger));

   physical = get_physical_device(instance);
   ASSERT_VK(create_device(physical, nullptr, &device, robust_device));
   vkGetDeviceQueue(device, 0, 0, &queue);
   VkCommandPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
   };
   ASSERT_VK(vkCreateCommandPool(device, &pool_info, nullptr, &pool));
}

void IcdTest::destroy_device()
{
   if (!device)
      return;
   vkDeviceWaitIdle(device);
   for (auto f = clean_up.rbegin(); f != clean_up.rend(); ++f)
      (*f)();
   clean_up.clear();
   vkDestroyCommandPool(device, pool, nullptr);
   vkDestroyDevice(device, nullptr);
   device = VK_NULL_HANDLE;
}

void IcdTest::TearDown()
{
   destroy_device();
   if (messenger) {
      auto destroy_messenger = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
         vkGetInstanceProcAddr(instance, "vkDestroyDebugUtilsMessengerEXT"));
      destroy_messenger(instance, messenger, nullptr);
   }
   vkDestroyInstance(instance, nullptr);
}

TestBuffer IcdTest::make_buffer(VkDeviceSize size, const void *initial)
{
   TestBuffer buffer;
   buffer.size = size;
   VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = size,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
               VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
   };
   EXPECT_VK(vkCreateBuffer(device, &info, nullptr, &buffer.handle));
   VkMemoryRequirements requirements;
   vkGetBufferMemoryRequirements(device, buffer.handle, &requirements);
   VkMemoryAllocateFlagsInfo flags = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
   };
   VkMemoryAllocateInfo memory_info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = &flags,
      .allocationSize = requirements.size,
      .memoryTypeIndex = 0,
   };
   EXPECT_VK(vkAllocateMemory(device, &memory_info, nullptr, &buffer.memory));
   EXPECT_VK(vkBindBufferMemory(device, buffer.handle, buffer.memory, 0));
   EXPECT_VK(vkMapMemory(device, buffer.memory, 0, VK_WHOLE_SIZE, 0,
                         reinterpret_cast<void **>(&buffer.map)));
   if (initial)
      memcpy(buffer.map, initial, size);
   clean_up.push_back([this, buffer] {
      vkDestroyBuffer(device, buffer.handle, nullptr);
      vkFreeMemory(device, buffer.memory, nullptr);
   });
   return buffer;
}

VkDescriptorSetLayout
IcdTest::make_set_layout(const std::vector<VkDescriptorSetLayoutBinding> &bindings,
                         VkDescriptorSetLayoutCreateFlags flags, const void *next)
{
   VkDescriptorSetLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .pNext = next,
      .flags = flags,
      .bindingCount = uint32_t(bindings.size()),
      .pBindings = bindings.data(),
   };
   VkDescriptorSetLayout layout = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateDescriptorSetLayout(device, &info, nullptr, &layout));
   clean_up.push_back([this, layout] { vkDestroyDescriptorSetLayout(device, layout, nullptr); });
   return layout;
}

VkDescriptorSet IcdTest::make_set(VkDescriptorSetLayout layout, VkDescriptorPoolCreateFlags flags,
                                  const void *next)
{
   VkDescriptorPoolSize sizes[] = {
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 64},
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 64},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 16},
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 16},
      {VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 1024},
   };
   VkDescriptorPoolInlineUniformBlockCreateInfo inline_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
      .maxInlineUniformBlockBindings = 4,
   };
   VkDescriptorPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .pNext = &inline_info,
      .flags = flags,
      .maxSets = 1,
      .poolSizeCount = std::size(sizes),
      .pPoolSizes = sizes,
   };
   VkDescriptorPool descriptor_pool = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateDescriptorPool(device, &pool_info, nullptr, &descriptor_pool));
   clean_up.push_back(
      [this, descriptor_pool] { vkDestroyDescriptorPool(device, descriptor_pool, nullptr); });
   VkDescriptorSetAllocateInfo set_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .pNext = next,
      .descriptorPool = descriptor_pool,
      .descriptorSetCount = 1,
      .pSetLayouts = &layout,
   };
   VkDescriptorSet set = VK_NULL_HANDLE;
   EXPECT_VK(vkAllocateDescriptorSets(device, &set_info, &set));
   return set;
}

void IcdTest::write_buffer(VkDescriptorSet set, uint32_t binding, VkDescriptorType type,
                           const TestBuffer &buffer, VkDeviceSize offset, VkDeviceSize range,
                           uint32_t element)
{
   VkDescriptorBufferInfo info = {buffer.handle, offset, range};
   VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstSet = set,
      .dstBinding = binding,
      .dstArrayElement = element,
      .descriptorCount = 1,
      .descriptorType = type,
      .pBufferInfo = &info,
   };
   vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
}

VkPipelineLayout IcdTest::make_layout(const PipelineRecipe &recipe)
{
   VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, recipe.push_bytes};
   VkPipelineLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = uint32_t(recipe.sets.size()),
      .pSetLayouts = recipe.sets.data(),
      .pushConstantRangeCount = recipe.push_bytes ? 1u : 0u,
      .pPushConstantRanges = &range,
   };
   VkPipelineLayout layout = VK_NULL_HANDLE;
   EXPECT_VK(vkCreatePipelineLayout(device, &info, nullptr, &layout));
   clean_up.push_back([this, layout] { vkDestroyPipelineLayout(device, layout, nullptr); });
   return layout;
}

VkShaderModule IcdTest::make_module(std::span<const uint32_t> spirv)
{
   VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = spirv.size_bytes(),
      .pCode = spirv.data(),
   };
   VkShaderModule module = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateShaderModule(device, &info, nullptr, &module));
   clean_up.push_back([this, module] { vkDestroyShaderModule(device, module, nullptr); });
   return module;
}

VkResult IcdTest::try_pipeline(std::span<const uint32_t> spirv, const PipelineRecipe &recipe,
                               VkPipelineLayout layout, VkPipeline *pipeline)
{
   VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .pNext = recipe.next,
      .flags = recipe.flags,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .pNext = recipe.stage_next,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = make_module(spirv),
            .pName = "main",
            .pSpecializationInfo = recipe.specialization,
         },
      .layout = layout,
   };
   VkResult result = vkCreateComputePipelines(device, recipe.cache, 1, &info, nullptr, pipeline);
   if (*pipeline)
      clean_up.push_back([this, p = *pipeline] { vkDestroyPipeline(device, p, nullptr); });
   return result;
}

VkPipeline IcdTest::make_pipeline(const std::string &glsl, const PipelineRecipe &recipe,
                                  VkPipelineLayout layout)
{
   VkPipeline pipeline = VK_NULL_HANDLE;
   EXPECT_VK(try_pipeline(e2e::compile_glsl(e2e::glsl_header + glsl), recipe, layout, &pipeline))
      << messages;
   return pipeline;
}

VkCommandBuffer IcdTest::begin(VkCommandBufferLevel level, VkCommandBufferUsageFlags flags)
{
   VkCommandBufferAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = pool,
      .level = level,
      .commandBufferCount = 1,
   };
   VkCommandBuffer cmd = VK_NULL_HANDLE;
   EXPECT_VK(vkAllocateCommandBuffers(device, &info, &cmd));
   VkCommandBufferInheritanceInfo inheritance = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
   };
   VkCommandBufferBeginInfo begin_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = flags,
      .pInheritanceInfo = level == VK_COMMAND_BUFFER_LEVEL_SECONDARY ? &inheritance : nullptr,
   };
   EXPECT_VK(vkBeginCommandBuffer(cmd, &begin_info));
   return cmd;
}

VkResult IcdTest::submit(VkCommandBuffer cmd, VkFence fence)
{
   VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .commandBufferCount = 1,
      .pCommandBuffers = &cmd,
   };
   return vkQueueSubmit(queue, 1, &info, fence);
}

void IcdTest::run(VkCommandBuffer cmd)
{
   EXPECT_VK(vkEndCommandBuffer(cmd));
   VkFence fence;
   VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   EXPECT_VK(vkCreateFence(device, &fence_info, nullptr, &fence));
   EXPECT_VK(submit(cmd, fence));
   EXPECT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
   vkDestroyFence(device, fence, nullptr);
}

} // namespace weft::icd_test
