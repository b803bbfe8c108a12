// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"
#include "tests/vulkan/descriptor.h"
#include "tests/vulkan/instance.h"
#include "tests/vulkan/time_limits.h"

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
   vulkan::disable_shader_cache();
   return vulkan::create_instance({.allocator = allocator, .api_version = VK_API_VERSION_1_4});
}

VkPhysicalDevice get_physical_device(VkInstance instance)
{
   uint32_t count = 1;
   VkPhysicalDevice physical = VK_NULL_HANDLE;
   EXPECT_VK(vkEnumeratePhysicalDevices(instance, &count, &physical));
   return physical;
}

VkResult create_device(VkPhysicalDevice physical, const VkAllocationCallbacks *allocator,
                       VkDevice *device, bool robust)
{
   VkPhysicalDeviceUnifiedImageLayoutsFeaturesKHR layouts = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_UNIFIED_IMAGE_LAYOUTS_FEATURES_KHR,
   };
   VkPhysicalDeviceMaintenance10FeaturesKHR maintenance10 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_10_FEATURES_KHR,
      .pNext = &layouts,
   };
   VkPhysicalDeviceCopyMemoryIndirectFeaturesKHR indirect_copies = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COPY_MEMORY_INDIRECT_FEATURES_KHR,
      .pNext = &maintenance10,
   };
   VkPhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT zeroed_memory = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ZERO_INITIALIZE_DEVICE_MEMORY_FEATURES_EXT,
      .pNext = &indirect_copies,
   };
   VkPhysicalDeviceConditionalRenderingFeaturesEXT conditions = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT,
      .pNext = &zeroed_memory,
   };
   VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT generated_commands = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_GENERATED_COMMANDS_FEATURES_EXT,
      .pNext = &conditions,
   };
   VkPhysicalDeviceYcbcrImageArraysFeaturesEXT planar_arrays = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_YCBCR_IMAGE_ARRAYS_FEATURES_EXT,
      .pNext = &generated_commands,
   };
   VkPhysicalDeviceImageSlicedViewOf3DFeaturesEXT sliced_views = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_SLICED_VIEW_OF_3D_FEATURES_EXT,
      .pNext = &planar_arrays,
   };
   VkPhysicalDeviceNonSeamlessCubeMapFeaturesEXT single_faces = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NON_SEAMLESS_CUBE_MAP_FEATURES_EXT,
      .pNext = &sliced_views,
   };
   VkPhysicalDeviceComputeShaderDerivativesFeaturesKHR derivatives = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COMPUTE_SHADER_DERIVATIVES_FEATURES_KHR,
      .pNext = &single_faces,
   };
   VkPhysicalDeviceShaderImageAtomicInt64FeaturesEXT image_atomics = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_IMAGE_ATOMIC_INT64_FEATURES_EXT,
      .pNext = &derivatives,
   };
   VkPhysicalDeviceHostImageCopyFeaturesEXT host_copies = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_FEATURES_EXT,
      .pNext = &image_atomics,
   };
   VkPhysicalDeviceBorderColorSwizzleFeaturesEXT border_swizzle = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BORDER_COLOR_SWIZZLE_FEATURES_EXT,
      .pNext = &host_copies,
   };
   VkPhysicalDeviceCustomBorderColorFeaturesEXT border_color = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_BORDER_COLOR_FEATURES_EXT,
      .pNext = &border_swizzle,
   };
   VkPhysicalDeviceRobustness2FeaturesEXT robustness2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT,
      .pNext = &border_color,
   };
   VkPhysicalDeviceNestedCommandBufferFeaturesEXT nested = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NESTED_COMMAND_BUFFER_FEATURES_EXT,
      .pNext = &robustness2,
   };
   VkPhysicalDeviceMaintenance5FeaturesKHR maintenance5 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR,
      .pNext = &nested,
   };
   VkPhysicalDeviceMaintenance8FeaturesKHR maintenance8 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_8_FEATURES_KHR,
      .pNext = &maintenance5,
   };
   VkPhysicalDeviceMaintenance9FeaturesKHR maintenance9 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_9_FEATURES_KHR,
      .pNext = &maintenance8,
   };
   VkPhysicalDeviceDescriptorBufferFeaturesEXT descriptor_buffer = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_FEATURES_EXT,
      .pNext = &maintenance9,
   };
   VkPhysicalDeviceMutableDescriptorTypeFeaturesEXT mutable_descriptors = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MUTABLE_DESCRIPTOR_TYPE_FEATURES_EXT,
      .pNext = &descriptor_buffer,
   };
   VkPhysicalDeviceShaderObjectFeaturesEXT shader_object = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT,
      .pNext = &mutable_descriptors,
   };
   VkPhysicalDevicePipelineBinaryFeaturesKHR pipeline_binary = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_FEATURES_KHR,
      .pNext = &shader_object,
   };
   VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR explicit_layout = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR,
      .pNext = &pipeline_binary,
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

   const std::vector<std::string> names = vulkan::device_extensions(physical);
   std::vector<const char *> name_pointers;
   for (const std::string &name : names)
      name_pointers.push_back(name.c_str());
   uint32_t families = 0;
   vkGetPhysicalDeviceQueueFamilyProperties(physical, &families, nullptr);
   return vulkan::try_device(
      physical,
      {.extensions = name_pointers, .next = &features, .queues = families, .allocator = allocator},
      device);
}

// A message of the validation layers (VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation) is a failure,
// except for tests that break a rule on purpose.
static VKAPI_ATTR VkBool32 VKAPI_CALL keep_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                                   VkDebugUtilsMessageTypeFlagsEXT types,
                                                   const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                   void *user)
{
   if (types & VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT)
      return VK_FALSE;
   if (types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT)
      ADD_FAILURE() << data->pMessage;
   *static_cast<std::string *>(user) += std::string(data->pMessage) + "\n";
   return VK_FALSE;
}

void IcdTest::SetUp()
{
   static_assert(vulkan::hang_limit > wait_limit / 1'000'000'000);
   alarm(vulkan::hang_limit);
   instance = create_instance();
   messenger = vulkan::create_messenger(instance, vulkan::messenger_info(keep_message, &messages));

   physical = get_physical_device(instance);
   ASSERT_VK(create_device(physical, nullptr, &device, robust_device));
   vkGetDeviceQueue(device, 0, 0, &queue);
   pool = vulkan::create_command_pool(device, 0, VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
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
   vulkan::destroy_messenger(instance, messenger);
   vkDestroyInstance(instance, nullptr);
}

TestBuffer IcdTest::make_buffer(VkDeviceSize size, const void *initial)
{
   const VkBuffer handle = vulkan::create_buffer(
      device, size,
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
         VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
         VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
         VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
         VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT);
   const TestBuffer buffer = vulkan::bind_mapped(device, handle, size, 0, true);
   if (initial)
      memcpy(buffer.map, initial, size);
   clean_up.push_back([this, buffer] { vulkan::destroy(device, buffer); });
   return buffer;
}

VkDescriptorSetLayout
IcdTest::make_set_layout(const std::vector<VkDescriptorSetLayoutBinding> &bindings,
                         VkDescriptorSetLayoutCreateFlags flags, const void *next)
{
   const VkDescriptorSetLayout layout = vulkan::create_set_layout(device, bindings, flags, next);
   clean_up.push_back([this, layout] { vkDestroyDescriptorSetLayout(device, layout, nullptr); });
   return layout;
}

VkDescriptorSet IcdTest::make_set(VkDescriptorSetLayout layout, VkDescriptorPoolCreateFlags flags,
                                  const void *next)
{
   const VkDescriptorPoolSize sizes[] = {
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 64},
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 64},
      {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 64},
      {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, 64},
      {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 64},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 16},
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 16},
      {VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 1024},
   };
   const VkDescriptorPoolInlineUniformBlockCreateInfo inline_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
      .maxInlineUniformBlockBindings = 4,
   };
   const VkDescriptorPool descriptor_pool =
      vulkan::create_descriptor_pool(device, sizes, flags, &inline_info);
   clean_up.push_back(
      [this, descriptor_pool] { vkDestroyDescriptorPool(device, descriptor_pool, nullptr); });
   return vulkan::allocate_set(device, descriptor_pool, layout, next);
}

void IcdTest::write_buffer(VkDescriptorSet set, uint32_t binding, VkDescriptorType type,
                           const TestBuffer &buffer, VkDeviceSize offset, VkDeviceSize range,
                           uint32_t element)
{
   vulkan::write_descriptor(device, set, binding, type, {.buffer = {buffer.handle, offset, range}},
                            element);
}

VkPipelineLayout IcdTest::make_layout(const PipelineRecipe &recipe)
{
   const VkPipelineLayout layout =
      vulkan::create_pipeline_layout(device, recipe.sets, {.size = recipe.push_bytes});
   clean_up.push_back([this, layout] { vkDestroyPipelineLayout(device, layout, nullptr); });
   return layout;
}

VkShaderModule IcdTest::make_module(std::span<const uint32_t> spirv)
{
   const VkShaderModule module = vulkan::create_shader_module(device, spirv);
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
      .stage = vulkan::compute_stage(make_module(spirv)),
      .layout = layout,
   };
   info.stage.pNext = recipe.stage_next;
   info.stage.pSpecializationInfo = recipe.specialization;
   const VkResult result =
      vkCreateComputePipelines(device, recipe.cache, 1, &info, nullptr, pipeline);
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

VkBufferView IcdTest::make_texel_view(VkBuffer buffer, VkFormat format, VkDeviceSize offset,
                                      VkDeviceSize range)
{
   const VkBufferViewCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
      .buffer = buffer,
      .format = format,
      .offset = offset,
      .range = range,
   };
   VkBufferView view = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateBufferView(device, &info, nullptr, &view));
   clean_up.push_back([this, view] { vkDestroyBufferView(device, view, nullptr); });
   return view;
}

VkQueryPool IcdTest::make_query_pool(VkQueryType type, uint32_t count,
                                     VkQueryPipelineStatisticFlags statistics)
{
   const VkQueryPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
      .queryType = type,
      .queryCount = count,
      .pipelineStatistics = statistics,
   };
   VkQueryPool queries = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateQueryPool(device, &info, nullptr, &queries));
   clean_up.push_back([this, queries] { vkDestroyQueryPool(device, queries, nullptr); });
   return queries;
}

VkSemaphore IcdTest::make_timeline(uint64_t value)
{
   const VkSemaphoreTypeCreateInfo type = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
      .initialValue = value,
   };
   const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                       .pNext = &type};
   VkSemaphore semaphore = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateSemaphore(device, &info, nullptr, &semaphore));
   clean_up.push_back([this, semaphore] { vkDestroySemaphore(device, semaphore, nullptr); });
   return semaphore;
}

VkCommandBuffer IcdTest::begin(VkCommandBufferLevel level, VkCommandBufferUsageFlags flags)
{
   return vulkan::begin_commands(device, pool, flags, level);
}

VkResult IcdTest::submit(VkCommandBuffer cmd, VkFence fence)
{
   return vulkan::submit(queue, cmd, fence);
}

void IcdTest::run(VkCommandBuffer cmd)
{
   EXPECT_VK(vkEndCommandBuffer(cmd));
   EXPECT_VK(vulkan::submit_and_wait(device, queue, cmd, wait_limit));
}

} // namespace weft::icd_test
