// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What a driver has below the layer, and what the layer makes of it.

#pragma once

#include "backend/spirv/compiler.h"
#include "layer/device_features.h"

#include <vulkan/vulkan_core.h>

#include <string>
#include <vector>

namespace weft::layer {

struct Instance;

enum class Support {
   absent,  ///< neither the driver nor the layer has matrices there
   native,  ///< the driver has all there can be: the layer steps aside
   lowered, ///< the layer has them, perhaps beside the driver's own
};

struct PhysicalDevice {
   Support support = Support::absent;
   std::string reason; ///< why absent
   std::string name;

   uint32_t version = 0; ///< what the application may use: its own choice and the device's
   std::vector<VkExtensionProperties> extensions; ///< the driver's
   bool native_hidden = false;                    ///< lowered although the driver has matrices
   FeatureSet features;
   VkPhysicalDeviceSubgroupProperties subgroup = {};
   VkPhysicalDeviceSubgroupSizeControlProperties sizes = {};
   VkPhysicalDeviceFloatControlsProperties floats = {};
   VkPhysicalDeviceDriverProperties driver_name = {};
   uint32_t max_workgroup_subgroups = 0; ///< at a required subgroup size

   /// Of pipelines that do not ask for one; reported as subgroupSize.
   uint32_t subgroup_size = 0;
   std::vector<MatrixOperation> operations; ///< all that a shader may use
   /// The driver's own, where they are not hidden: as the driver tells of them, and those that
   /// others can be built from.
   std::vector<VkCooperativeMatrixPropertiesKHR> native_properties;
   std::vector<MatrixOperation> native_operations;

   /// Whether the driver's own matrices can be used beside the layer's.
   bool extends_native() const { return !native_properties.empty(); }
   bool has_extension(const char *name) const;
   /// Whether pipelines may require a subgroup size, given the features that are on.
   bool can_require_size(const FeatureSet &on) const;
   /// What lowered shaders may use, given the features that are on.
   spirv::Driver driver(const FeatureSet &on) const;
   /// An extension of the driver that goes away together with its native matrices.
   bool hides(const char *extension) const;
};

VkResult inspect_physical_device(Instance &, VkPhysicalDevice, PhysicalDevice &out);

} // namespace weft::layer
