// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The device features that the lowering depends on.

#pragma once

#include <bitset>
#include <cstddef>

namespace weft::layer {

enum class Feature {
   subgroup_size_control,
   compute_full_subgroups,
   vulkan_memory_model,
   vulkan_memory_model_device_scope,
   subgroup_extended_types,
   int8,
   int16,
   int64,
   float16,
   float64,
   storage_buffer_8bit,
   storage_buffer_16bit,
   buffer_device_address,
   integer_dot_product,
   robust_buffer_access_2,
   count,
};
inline constexpr size_t feature_count = size_t(Feature::count);

/// Vulkan's names, in the order of Feature.
inline constexpr const char *feature_names[feature_count] = {
   "subgroupSizeControl",
   "computeFullSubgroups",
   "vulkanMemoryModel",
   "vulkanMemoryModelDeviceScope",
   "shaderSubgroupExtendedTypes",
   "shaderInt8",
   "shaderInt16",
   "shaderInt64",
   "shaderFloat16",
   "shaderFloat64",
   "storageBuffer8BitAccess",
   "storageBuffer16BitAccess",
   "bufferDeviceAddress",
   "shaderIntegerDotProduct",
   "robustBufferAccess2",
};

class FeatureSet {
public:
   bool has(Feature f) const { return bits[size_t(f)]; }
   void set(Feature f, bool value) { bits[size_t(f)] = value; }
   bool operator==(const FeatureSet &) const = default;

private:
   std::bitset<feature_count> bits;
};

} // namespace weft::layer
