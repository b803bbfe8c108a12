// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The Vulkan device that cases run on, through the loader, and the objects that outlive a case:
/// devices by their features, memory, pipelines.

#pragma once

#include "tests/commands/program.h"

#include <vulkan/vulkan.h>

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>

namespace weft::commands {

/// The unexpected result of a call.
struct Failure : std::runtime_error {
   using std::runtime_error::runtime_error;
};
void check(VkResult result, const char *call);
#define CHECK_VK(call) check(call, #call)

/// The driver's manifest, and the folder of the layer's; empty: without the layer.
struct VulkanFiles {
   std::string driver_manifest, layer_folder;
};

class Instance {
public:
   /// Sets the environment, which is read now.
   explicit Instance(const VulkanFiles &);
   ~Instance();
   Instance(const Instance &) = delete;
   Instance &operator=(const Instance &) = delete;

   VkInstance instance = VK_NULL_HANDLE;
   VkPhysicalDevice physical = VK_NULL_HANDLE;
   std::string messages; ///< of Khronos' validation layers, where they are switched on

private:
   VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
};

/// Functions of extensions, which the loader does not export.
struct ExtensionFunctions {
   PFN_vkCmdPushDescriptorSetKHR push_descriptor_set;
   PFN_vkCmdPushDescriptorSetWithTemplateKHR push_descriptor_set_with_template;
   PFN_vkCmdBindDescriptorSets2KHR bind_descriptor_sets2;
   PFN_vkCmdPushConstants2KHR push_constants2;
   PFN_vkCmdPushDescriptorSet2KHR push_descriptor_set2;
   PFN_vkCmdPushDescriptorSetWithTemplate2KHR push_descriptor_set_with_template2;
   PFN_vkMapMemory2KHR map_memory2;
   PFN_vkUnmapMemory2KHR unmap_memory2;
   PFN_vkGetCalibratedTimestampsEXT calibrated_timestamps;
};

class Machine {
public:
   Machine(const Instance &, const Features &);
   ~Machine();
   Machine(const Machine &) = delete;
   Machine &operator=(const Machine &) = delete;

   const Features features;
   VkDevice device = VK_NULL_HANDLE;
   VkQueue queue = VK_NULL_HANDLE;
   std::array<VkDeviceMemory, memory_count> memory = {};
   ExtensionFunctions functions = {};
   /// The longest wait for work, in nanoseconds, on a machine that is busy compiling.
   uint64_t longest_wait = 60'000'000'000;

   VkPipeline pipeline(uint32_t kind);
   VkDescriptorSetLayout make_set_layout(uint32_t kind) const;
   VkPipelineLayout make_layout(const Layout &, const std::vector<VkDescriptorSetLayout> &) const;
   /// One for each kind.
   std::vector<VkDescriptorSetLayout> set_layouts;

private:
   std::map<uint32_t, VkPipeline> pipelines;
   std::vector<VkPipelineLayout> layouts;
};

VkDescriptorType vulkan_type(DescriptorKind);

/// The shaders of all pipelines as SPIR-V; compiled once in a process and its children.
const std::vector<uint32_t> &shader_code(uint32_t pipeline_kind);

} // namespace weft::commands
