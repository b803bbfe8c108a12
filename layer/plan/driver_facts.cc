// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/plan/driver_facts.h"

#include "backend/spirv/driver_quirks.h"

#include <algorithm>
#include <cstring>

namespace weft::layer {

bool DriverFacts::has_extension(const char *wanted) const
{
   return std::ranges::any_of(extensions, [&](const VkExtensionProperties &e) {
      return strcmp(e.extensionName, wanted) == 0;
   });
}

bool DriverFacts::can_require_size(const FeatureSet &enabled) const
{
   return enabled.has(Feature::subgroup_size_control) &&
          (subgroups.requirable_stages & VK_SHADER_STAGE_COMPUTE_BIT);
}

VkShaderStageFlags DriverFacts::sized_stages() const
{
   // The workgroups of task and mesh shaders have limits of their own, which the layer does not
   // reduce.
   return subgroups.requirable_stages &
          ~VkShaderStageFlags(VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT);
}

spirv::Driver DriverFacts::driver(const FeatureSet &enabled) const
{
   spirv::Driver driver = {
      .spirv_version = version >= VK_API_VERSION_1_3   ? 0x00010600u
                       : version >= VK_API_VERSION_1_2 ? 0x00010500u
                                                       : 0x00010300u,
      .subgroup_operations = subgroups.operations,
      .subgroup_extended_types = enabled.has(Feature::subgroup_extended_types),
      .vulkan_memory_model_device_scope = enabled.has(Feature::vulkan_memory_model_device_scope),
      .int8 = enabled.has(Feature::int8),
      .int16 = enabled.has(Feature::int16),
      .int64 = enabled.has(Feature::int64),
      .float16 = enabled.has(Feature::float16),
      .float64 = enabled.has(Feature::float64),
      .storage_buffer_8bit = enabled.has(Feature::storage_buffer_8bit),
      .storage_buffer_16bit = enabled.has(Feature::storage_buffer_16bit),
      .buffer_device_address = enabled.has(Feature::buffer_device_address),
      .integer_dot_product = enabled.has(Feature::integer_dot_product),
      .float16_sums = enabled.has(Feature::float16) && device_type != VK_PHYSICAL_DEVICE_TYPE_CPU,
      .robust_buffer_access_2 = enabled.has(Feature::robust_buffer_access_2),
      .preserve_nan_16 = preserves_nan_16,
      .preserve_nan_32 = preserves_nan_32,
      .preserve_nan_64 = preserves_nan_64,
   };
   spirv::apply_driver_quirks(driver, driver_id, driver_version);
   return driver;
}

} // namespace weft::layer
