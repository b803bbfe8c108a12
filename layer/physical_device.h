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
   std::array<std::string, extension_count> absent_because; ///< the reason, per absent extension
   std::string reason;                                      ///< why nothing can be lowered
   bool hides_float8 = false; ///< from this program, which has no matrices of it then
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
   /// Pipelines cannot be told a size, and there may be several: lowered shaders rely on none.
   bool subgroups_are_blocks = false;
   uint32_t max_shared_bytes = 0; ///< maxComputeSharedMemorySize
   /// Those that pipelines may require.
   SubgroupSizes presented_sizes = {};
   /// Whether the sizes are fewer than the driver's: no stage may be left to vary beyond them.
   bool narrows_subgroup_sizes() const
   {
      return lowers() && (presented_sizes.min != sizes.minSubgroupSize ||
                          presented_sizes.max != sizes.maxSubgroupSize);
   }
   /// Where a profile has other sizes than the driver, each stage must require one.  Stages that
   /// cannot have no subgroup operations, and workgroups are as large as the driver can run them.
   bool changes_subgroup_size() const
   {
      return narrows_subgroup_sizes() || (lowers() && subgroup_size != subgroup.subgroupSize);
   }
   VkShaderStageFlags sized_stages() const;
   /// Drivers without a limit report UINT32_MAX as maxComputeWorkgroupSubgroups.
   uint32_t max_invocations_of_size() const
   {
      return uint32_t(
         std::min<uint64_t>(uint64_t(subgroup_size) * max_workgroup_subgroups, UINT32_MAX));
   }
   std::vector<MatrixOperation> operations; ///< all that a shader may use
   /// Also offered to a shader that cannot be given to the driver because it declares an extension
   /// that only the layer has.
   std::vector<MatrixOperation> operations_of_native_types;
   std::vector<FlexibleOperation> flexible_of_native_types;
   /// The layer's operations of flexible sizes.  Where the driver supports such sizes itself, they
   /// are for shaders that cannot be given to it for other reasons.
   std::vector<FlexibleOperation> flexible;
   /// Shared memory that shaders leave free for matrices of workgroup scope.
   uint32_t staging_bytes = 0;
   /// The driver's own, where they are not hidden: as the driver reports them, and those from which
   /// others can be built.
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
   const std::string &why_absent(Extension extension) const
   {
      return absent_because[size_t(extension)];
   }
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
