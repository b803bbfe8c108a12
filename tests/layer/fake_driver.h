// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A driver below the layer. A test decides each of its answers. It counts objects: an object that
/// is destroyed twice, or never, fails the test. Only one exists at a time.

#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace weft::layer_test {

/// The contents of a VkComputePipelineCreateInfo or VkShaderCreateInfoEXT that the driver received.
struct SeenShader {
   std::vector<uint32_t> words;
   std::string entry_point;
   uint32_t flags = 0; ///< the pipeline's or shader's
   uint32_t stage_flags = 0;
   uint32_t required_size = 0;
   bool specialized = false;
   bool inline_module = false;
   VkPipelineCache cache = VK_NULL_HANDLE;
   VkPipeline base = VK_NULL_HANDLE;
   int32_t base_index = -1;
   VkShaderEXT object = VK_NULL_HANDLE; ///< of a shader object
};

struct FakeBinary {
   VkPipelineBinaryKHR handle;
   std::vector<uint8_t> data;
};

class FakeDriver {
public:
   FakeDriver();
   ~FakeDriver();

   /* Its features: at first a Vulkan 1.3 driver with all features that lowering uses. */
   uint32_t api_version = VK_API_VERSION_1_3;
   std::vector<std::string> extensions;
   bool robust_buffer_access_2 = false;
   VkQueueFlags queue_flags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
   VkPhysicalDeviceFeatures features = {};
   VkPhysicalDeviceVulkan11Features features11 = {};
   VkPhysicalDeviceVulkan12Features features12 = {};
   VkPhysicalDeviceVulkan13Features features13 = {};
   bool native_matrices = false;
   std::vector<VkCooperativeMatrixPropertiesKHR> native_properties; ///< 7×7×7 in the beginning
   std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> flexible_properties;
   uint32_t subgroup_size = 32, min_subgroup_size = 8, max_subgroup_size = 64;
   VkShaderStageFlags subgroup_stages = VK_SHADER_STAGE_COMPUTE_BIT;
   VkSubgroupFeatureFlags subgroup_operations = 0xff;
   uint32_t max_workgroup_subgroups = 16;
   VkShaderStageFlags required_size_stages = VK_SHADER_STAGE_COMPUTE_BIT;
   uint32_t representations = 1; ///< of each pipeline
   bool feedback = true;
   VkDriverId id = VK_DRIVER_ID_MESA_VENUS;
   VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
   bool equal_handles = false; ///< of equal modules

   /// Makes the n-th call from now of a command fail (0: the next).
   void fail(const std::string &command, VkResult, uint32_t nth = 0);
   bool has_extension(const std::string &name) const;

   /* Its calls. */
   std::vector<std::string> enabled_extensions;
   std::vector<VkStructureType> device_chain;
   bool used_enabled_features = false;
   VkPhysicalDeviceFeatures enabled = {};
   VkPhysicalDeviceVulkan11Features enabled11 = {};
   VkPhysicalDeviceVulkan12Features enabled12 = {};
   VkPhysicalDeviceVulkan13Features enabled13 = {};
   std::vector<std::vector<uint32_t>> modules; ///< words, in the order of creation
   std::vector<FakeBinary> binaries;           ///< of pipelines, also destroyed ones
   std::vector<SeenShader> shaders;            ///< of pipelines, keys and binaries, stage by stage
   VkDeferredOperationKHR deferred_operation = VK_NULL_HANDLE;
   std::vector<std::string> submitted; ///< by vkSubmitDebugUtilsMessageEXT
   uint32_t calls(const std::string &command) const;

   /// Objects that have not been destroyed.
   size_t live() const;

   static PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance, const char *);
   static PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice, const char *);

   /* Functions for the driver's own commands. */
   VkResult enter(const char *command);
   uint64_t add(const char *type);
   uint64_t add_module(const std::vector<uint32_t> &words);
   void remove(uint64_t handle, const char *type);
   std::vector<uint32_t> words_of(VkShaderModule) const;

   mutable std::recursive_mutex mutex;

private:
   std::multimap<uint64_t, std::string> objects; ///< once for each time that it was created
   std::map<uint64_t, std::vector<uint32_t>> module_words;
   std::map<std::string, uint32_t> call_counts;
   std::map<std::string, std::map<uint32_t, VkResult>> failures;
};

} // namespace weft::layer_test
