// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What a driver has below the layer, and what the layer makes of it.

#pragma once

#include "backend/spirv/compiler.h"
#include "layer/device_features.h"
#include "layer/extensions.h"
#include "vulkan_util/profile.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace weft::layer {

struct Instance;

struct PhysicalDevice {
   std::array<Support, extension_count> support = {};
   std::string reason; ///< why nothing can be lowered
   std::string name;

   uint32_t driver_version = 0; ///< as the driver packs it
   uint32_t version = 0;        ///< what the application may use: its own choice and the device's
   std::vector<VkExtensionProperties> extensions; ///< the driver's
   bool native_hidden = false;                    ///< although the driver has matrices
   FeatureSet features;
   VkPhysicalDeviceSubgroupProperties subgroup = {};
   VkPhysicalDeviceSubgroupSizeControlProperties sizes = {};
   VkPhysicalDeviceFloatControlsProperties floats = {};
   VkPhysicalDeviceDriverProperties driver_name = {};
   uint32_t max_workgroup_subgroups = 0; ///< at a required subgroup size

   /// Of pipelines that do not ask for one; reported as subgroupSize.
   uint32_t subgroup_size = 0;
   /// Where a profile has another size than the driver, each stage has to be told.  The others have
   /// no subgroup operations then, and workgroups are as large as the driver can run them.
   bool changes_subgroup_size() const { return lowers() && subgroup_size != subgroup.subgroupSize; }
   VkShaderStageFlags sized_stages() const;
   uint32_t max_invocations_of_size() const { return subgroup_size * max_workgroup_subgroups; }
   std::vector<MatrixOperation> operations; ///< all that a shader may use
   /// And with these a shader that the driver cannot have, as it declares what only the layer knows.
   std::vector<MatrixOperation> operations_of_native_types;
   std::vector<FlexibleOperation> flexible_of_native_types;
   /// Of many sizes, of the layer's: also where it is the driver that lets programs have them, for
   /// shaders that the driver cannot have for other reasons.
   std::vector<FlexibleOperation> flexible;
   /// Shared memory for matrices of workgroup scope, which shaders leave.
   uint32_t staging_bytes = 0;
   /// The driver's own, where they are not hidden: as the driver tells of them, and those that
   /// others can be built from.
   std::vector<VkCooperativeMatrixPropertiesKHR> native_properties;
   std::vector<MatrixOperation> native_operations;

   Support support_of(Extension extension) const { return support[size_t(extension)]; }
   /// Whether the driver is given an extension where the application has it.
   bool driver_has(Extension extension) const
   {
      return support_of(extension) == Support::native || support_of(extension) == Support::extended;
   }
   /// Whether the layer has anything to do with an extension's shaders.
   bool lowers(Extension extension) const
   {
      return support_of(extension) == Support::lowered ||
             support_of(extension) == Support::extended;
   }
   bool lowers() const; ///< any
   std::string why_absent(const ExtensionRow &) const;
   /// Whether the driver's own matrices can be used beside the layer's.
   bool extends_native() const
   {
      return support_of(Extension::khr_cooperative_matrix) == Support::extended;
   }
   bool has_extension(const char *name) const;
   /// Every subgroup has the same size, whatever the driver or a pipeline does.
   bool has_one_size() const
   {
      return sizes.minSubgroupSize == subgroup.subgroupSize &&
             sizes.maxSubgroupSize == subgroup.subgroupSize;
   }
   /// Whether pipelines may require a subgroup size, given the features that are on.
   bool can_require_size(const FeatureSet &on) const;
   /// What lowered shaders may use, given the features that are on.
   spirv::Driver driver(const FeatureSet &on) const;
};

VkResult inspect_physical_device(Instance &, VkPhysicalDevice, PhysicalDevice &out);

} // namespace weft::layer
