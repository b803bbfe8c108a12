// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/machine.h"

#include "tests/commands/shaders.h"
#include "tests/e2e/glsl.h"
#include "tests/vulkan/instance.h"
#include "tests/vulkan/objects.h"
#include "tests/vulkan/result.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft::commands {

void check(VkResult result, const char *call)
{
   if (result != VK_SUCCESS)
      throw Failure(std::string(call) + ": " + vulkan::result_name(result));
}

VkDescriptorType vulkan_type(DescriptorKind kind)
{
   switch (kind) {
   case DescriptorKind::storage:
      return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
   case DescriptorKind::uniform:
      return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
   case DescriptorKind::storage_dynamic:
      return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
   case DescriptorKind::uniform_dynamic:
      return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
   default:
      return VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
   }
}

const std::vector<uint32_t> &shader_code(uint32_t pipeline_kind)
{
   static std::map<uint32_t, std::vector<uint32_t>> modules;
   std::vector<uint32_t> &code = modules[pipeline_kind];
   if (code.empty())
      code = e2e::compile_glsl(to_glsl(pipeline_kinds()[pipeline_kind]));
   return code;
}

namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL keep_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                            VkDebugUtilsMessageTypeFlagsEXT,
                                            const VkDebugUtilsMessengerCallbackDataEXT *data,
                                            void *user)
{
   *static_cast<std::string *>(user) += std::string(data->pMessage) + "\n";
   return VK_FALSE;
}

} // namespace

Instance::Instance(const VulkanFiles &files)
{
   setenv("VK_DRIVER_FILES", files.driver_manifest.c_str(), 1);
   setenv("VK_ICD_FILENAMES", files.driver_manifest.c_str(), 1);
   if (!files.layer_folder.empty()) {
      setenv("VK_LAYER_PATH", files.layer_folder.c_str(), 1);
      setenv("VK_INSTANCE_LAYERS", "VK_LAYER_WEFT_cooperative_matrix", 1);
      setenv("WEFT_LOWERING", "tiles", 1);
   }
   const char *layers = getenv("VK_INSTANCE_LAYERS");
   const bool is_validated = layers && strstr(layers, "validation");
   instance = vulkan::create_instance(
      {.extensions = std::span(vulkan::debug_utils).first(is_validated ? 1 : 0)});
   uint32_t count = 1;
   const VkResult result = vkEnumeratePhysicalDevices(instance, &count, &physical);
   if (result != VK_SUCCESS && result != VK_INCOMPLETE)
      check(result, "vkEnumeratePhysicalDevices");
   if (!is_validated)
      return;
   VkDebugUtilsMessengerCreateInfoEXT info = vulkan::messenger_info(keep_message, &messages);
   info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
   info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
   messenger = vulkan::create_messenger(instance, info);
}

Instance::~Instance()
{
   vulkan::destroy_messenger(instance, messenger);
   vkDestroyInstance(instance, nullptr);
}

namespace {

VkDevice create_device(VkPhysicalDevice physical, const Features &f)
{
   void *chain = nullptr;
   std::vector<const char *> extensions = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME,
                                           VK_KHR_MAP_MEMORY_2_EXTENSION_NAME,
                                           VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME};
   const auto enable = [&](auto &features, const char *extension) {
      features.pNext = chain;
      chain = &features;
      if (extension)
         extensions.push_back(extension);
   };
   VkPhysicalDeviceRobustness2FeaturesEXT robustness2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT,
      .nullDescriptor = true,
   };
   VkPhysicalDevicePipelineRobustnessFeaturesEXT pipeline_robustness = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_FEATURES_EXT,
      .pipelineRobustness = true,
   };
   VkPhysicalDeviceMaintenance6FeaturesKHR maintenance6 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_6_FEATURES_KHR,
      .maintenance6 = true,
   };
   VkPhysicalDeviceNestedCommandBufferFeaturesEXT nested = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NESTED_COMMAND_BUFFER_FEATURES_EXT,
      .nestedCommandBuffer = true,
      .nestedCommandBufferSimultaneousUse = true,
   };
   VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .cooperativeMatrix = true,
   };
   if (f.null_descriptors)
      enable(robustness2, VK_EXT_ROBUSTNESS_2_EXTENSION_NAME);
   if (f.pipeline_robustness)
      enable(pipeline_robustness, VK_EXT_PIPELINE_ROBUSTNESS_EXTENSION_NAME);
   if (f.maintenance6)
      enable(maintenance6, VK_KHR_MAINTENANCE_6_EXTENSION_NAME);
   if (f.nested)
      enable(nested, VK_EXT_NESTED_COMMAND_BUFFER_EXTENSION_NAME);
   if (f.matrices)
      enable(matrices, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   VkPhysicalDeviceVulkan12Features features12 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .descriptorIndexing = false,
      .descriptorBindingUniformBufferUpdateAfterBind = true,
      .descriptorBindingStorageBufferUpdateAfterBind = true,
      .descriptorBindingPartiallyBound = true,
      .descriptorBindingVariableDescriptorCount = true,
      .uniformBufferStandardLayout = true,
      .hostQueryReset = true,
      .timelineSemaphore = true,
      .bufferDeviceAddress = true,
      .vulkanMemoryModel = f.matrices,
      .vulkanMemoryModelDeviceScope = f.matrices,
   };
   VkPhysicalDeviceVulkan13Features features13 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
      .inlineUniformBlock = true,
      .descriptorBindingInlineUniformBlockUpdateAfterBind = true,
      .synchronization2 = true,
      .maintenance4 = true,
   };
   enable(features12, nullptr);
   enable(features13, nullptr);
   const VkPhysicalDeviceFeatures2 features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
      .pNext = chain,
      .features = {.robustBufferAccess = f.robust, .shaderStorageBufferArrayDynamicIndexing = true},
   };
   return vulkan::create_device(physical, {.extensions = extensions, .next = &features});
}

} // namespace

Machine::Machine(const Instance &instance, const Features &features)
    : features(features), device(create_device(instance.physical, features))
{
   vkGetDeviceQueue(device, 0, 0, &queue);
   const auto get = [&]<typename F>(F &function, const char *name) {
      function = reinterpret_cast<F>(vkGetDeviceProcAddr(device, name));
   };
   get(functions.push_descriptor_set, "vkCmdPushDescriptorSetKHR");
   get(functions.push_descriptor_set_with_template, "vkCmdPushDescriptorSetWithTemplateKHR");
   get(functions.bind_descriptor_sets2, "vkCmdBindDescriptorSets2KHR");
   get(functions.push_constants2, "vkCmdPushConstants2KHR");
   get(functions.push_descriptor_set2, "vkCmdPushDescriptorSet2KHR");
   get(functions.push_descriptor_set_with_template2, "vkCmdPushDescriptorSetWithTemplate2KHR");
   get(functions.map_memory2, "vkMapMemory2KHR");
   get(functions.unmap_memory2, "vkUnmapMemory2KHR");
   get(functions.calibrated_timestamps, "vkGetCalibratedTimestampsEXT");

   VkPhysicalDeviceMemoryProperties properties;
   vkGetPhysicalDeviceMemoryProperties(instance.physical, &properties);
   uint32_t type = 0;
   const VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
   while (type + 1 < properties.memoryTypeCount &&
          (properties.memoryTypes[type].propertyFlags & wanted) != wanted)
      type++;
   const VkMemoryAllocateFlagsInfo flags = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
   };
   const VkMemoryAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = &flags,
      .allocationSize = memory_bytes,
      .memoryTypeIndex = type,
   };
   for (VkDeviceMemory &m : memory)
      CHECK_VK(vkAllocateMemory(device, &info, nullptr, &m));
   for (uint32_t kind = 0; kind < set_kinds().size(); kind++)
      set_layouts.push_back(make_set_layout(kind));
}

Machine::~Machine()
{
   for (const auto &[kind, pipeline] : pipelines)
      vkDestroyPipeline(device, pipeline, nullptr);
   for (VkPipelineLayout layout : layouts)
      vkDestroyPipelineLayout(device, layout, nullptr);
   for (VkDescriptorSetLayout layout : set_layouts)
      vkDestroyDescriptorSetLayout(device, layout, nullptr);
   for (VkDeviceMemory m : memory)
      vkFreeMemory(device, m, nullptr);
   vkDestroyDevice(device, nullptr);
}

VkDescriptorSetLayout Machine::make_set_layout(uint32_t number) const
{
   const SetKind &kind = set_kinds()[number];
   std::vector<VkDescriptorSetLayoutBinding> bindings;
   std::vector<VkDescriptorBindingFlags> flags;
   for (const Binding &b : kind.bindings) {
      bindings.push_back(vulkan::binding(b.number, vulkan_type(b.kind), b.count));
      flags.push_back(b.variable ? VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT |
                                      VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT
                      : kind.late ? VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT
                                  : 0);
   }
   // Their order says nothing.
   if (number % 2) {
      std::reverse(bindings.begin(), bindings.end());
      std::reverse(flags.begin(), flags.end());
   }
   const VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
      .bindingCount = uint32_t(flags.size()),
      .pBindingFlags = flags.data(),
   };
   const auto set_flags = kind.push ? int(VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR)
                          : kind.late
                             ? int(VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT)
                             : 0;
   return vulkan::create_set_layout(device, bindings, VkDescriptorSetLayoutCreateFlags(set_flags),
                                    &flags_info);
}

VkPipelineLayout Machine::make_layout(const Layout &layout,
                                      const std::vector<VkDescriptorSetLayout> &kinds) const
{
   std::vector<VkDescriptorSetLayout> sets;
   for (const uint32_t kind : layout.sets)
      sets.push_back(kinds[kind]);
   const PushRange range = push_ranges[layout.push];
   return vulkan::create_pipeline_layout(device, sets,
                                         {.offset = range.offset, .size = range.size});
}

VkPipeline Machine::pipeline(uint32_t number)
{
   if (const auto found = pipelines.find(number); found != pipelines.end())
      return found->second;
   const PipelineKind &kind = pipeline_kinds()[number];
   const VkShaderModule module = vulkan::create_shader_module(device, shader_code(number));
   const VkPipelineLayout layout = layouts.emplace_back(make_layout(kind.layout, set_layouts));
   const uint32_t constants[] = {kind.factor, kind.local_size};
   const VkSpecializationMapEntry entries[] = {{0, 0, 4}, {1, 4, 4}};
   const VkSpecializationInfo specialization = {2, entries, sizeof(constants), constants};
   const auto behaviour = kind.robustness == Robustness::on
                             ? VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_EXT
                             : VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT;
   const VkPipelineRobustnessCreateInfoEXT robustness = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT,
      .storageBuffers = behaviour,
      .uniformBuffers = behaviour,
      .vertexInputs = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DEVICE_DEFAULT_EXT,
      .images = VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_DEVICE_DEFAULT_EXT,
   };
   VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT,
      .stage = vulkan::compute_stage(module),
      .layout = layout,
   };
   info.stage.pSpecializationInfo = &specialization;
   // The struct is in the pipeline's chain or in the stage's.
   if (kind.robustness != Robustness::of_device)
      (number % 2 ? info.pNext : info.stage.pNext) = &robustness;
   VkPipeline pipeline;
   const VkResult result =
      vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
   vkDestroyShaderModule(device, module, nullptr);
   check(result, "vkCreateComputePipelines");
   return pipelines[number] = pipeline;
}

} // namespace weft::commands
