// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A driver's report about a physical device, as plain data: the input of plan_matrices().

#pragma once

#include "backend/spirv/compiler.h"
#include "layer/plan/extensions.h"
#include "layer/plan/feature_set.h"

#include <vulkan/vulkan_core.h>

#include <optional>
#include <string>
#include <vector>

namespace weft::layer {

struct Subgroups {
   uint32_t size = 0, min_size = 0, max_size = 0;
   VkSubgroupFeatureFlags operations = 0;
   VkShaderStageFlags stages = 0;            ///< with these operations
   VkShaderStageFlags requirable_stages = 0; ///< that may require a size
   uint32_t max_per_workgroup = 0;           ///< at a required size
   bool operator==(const Subgroups &) const = default;
};

struct DriverFacts {
   std::string name;
   std::string driver_name; ///< with its version, for messages
   VkDriverId driver_id = {};
   VkPhysicalDeviceType device_type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
   uint32_t driver_version = 0; ///< as the driver packs it
   uint32_t version = 0;        ///< of Vulkan: the lower of the application's and the device's
   /// Whether the driver has vkGetPhysicalDeviceFeatures2 and Properties2. If not, the facts below
   /// the extensions are unknown.
   bool has_queries = false;
   std::vector<VkExtensionProperties> extensions;
   ExtensionSet native_extensions; ///< the extensions of matrices that the driver itself supports
   bool has_compute_queue = false;
   FeatureSet features;
   Subgroups subgroups;
   /// shaderSignedZeroInfNanPreserveFloat16, 32 and 64.
   bool preserves_nan_16 = false, preserves_nan_32 = false, preserves_nan_64 = false;
   uint32_t max_workgroup_invocations = 0; ///< maxComputeWorkGroupInvocations
   uint32_t max_shared_bytes = 0;          ///< maxComputeSharedMemorySize
   std::vector<VkCooperativeMatrixPropertiesKHR> listed_matrices; ///< as the driver reports them
   /// The sizes of workgroups with matrices of workgroup scope, ascending; nothing if the driver
   /// has no query for them.
   std::optional<std::vector<uint32_t>> listed_workgroups;

   bool has_extension(const char *name) const;
   /// All subgroups of all pipelines have the same size.
   bool has_one_size() const
   {
      return subgroups.min_size == subgroups.size && subgroups.max_size == subgroups.size;
   }
   /// Whether pipelines may require a subgroup size, with these features enabled.
   bool can_require_size(const FeatureSet &enabled) const;
   /// The stages that the layer lets require a subgroup size.
   VkShaderStageFlags sized_stages() const;
   /// The features that lowered shaders may use, if these features are enabled.
   spirv::Driver driver(const FeatureSet &enabled) const;
};

} // namespace weft::layer
