// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What a driver reports about a physical device, as plain data: everything that plan_matrices()
/// decides by.

#pragma once

#include "backend/spirv/compiler.h"
#include "layer/device_features.h"
#include "layer/extensions.h"

#include <vulkan/vulkan_core.h>

#include <optional>
#include <string>
#include <vector>

namespace weft::layer {

struct Instance;

struct DriverFacts {
   std::string name;
   uint32_t driver_version = 0; ///< as the driver packs it
   uint32_t version = 0;        ///< what the application may use: its own choice and the device's
   /// The driver answers vkGetPhysicalDeviceFeatures2 and Properties2. Without, the facts below the
   /// extensions are unknown.
   bool has_queries = false;
   std::vector<VkExtensionProperties> extensions;
   ExtensionSet native_extensions; ///< the extensions of matrices that the driver itself supports
   bool has_compute_queue = false;
   FeatureSet features;
   VkPhysicalDeviceSubgroupProperties subgroup = {};
   VkPhysicalDeviceSubgroupSizeControlProperties sizes = {};
   VkPhysicalDeviceFloatControlsProperties floats = {};
   VkPhysicalDeviceDriverProperties driver_name = {};
   uint32_t max_workgroup_subgroups = 0;   ///< at a required subgroup size
   uint32_t max_workgroup_invocations = 0; ///< maxComputeWorkGroupInvocations
   uint32_t max_shared_bytes = 0;          ///< maxComputeSharedMemorySize
   std::vector<VkCooperativeMatrixPropertiesKHR> listed_matrices; ///< as the driver reports them
   /// The sizes of workgroups with matrices of workgroup scope, ascending; none where the driver
   /// has no query of them.
   std::optional<std::vector<uint32_t>> listed_workgroups;

   bool has_extension(const char *name) const;
   /// Every subgroup has the same size, whatever the driver or a pipeline does.
   bool has_one_size() const
   {
      return sizes.minSubgroupSize == subgroup.subgroupSize &&
             sizes.maxSubgroupSize == subgroup.subgroupSize;
   }
   /// Whether pipelines may require a subgroup size, given the features that are on.
   bool can_require_size(const FeatureSet &on) const;
   VkShaderStageFlags sized_stages() const;
   /// What lowered shaders may use, given the features that are on.
   spirv::Driver driver(const FeatureSet &on) const;
};

VkResult read_facts(const Instance &, VkPhysicalDevice, DriverFacts &out);

} // namespace weft::layer
