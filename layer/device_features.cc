// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/device_features.h"

#include <cstddef>
#include <cstring>

namespace weft::layer {

namespace {

// clang-format off
#define OF(type, member) offsetof(VkPhysicalDevice##type, member)
#define IN(structure) VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##structure##_FEATURES

constexpr FeatureRow rows[] = {
   {Feature::subgroup_size_control,
    IN(SUBGROUP_SIZE_CONTROL), OF(SubgroupSizeControlFeatures, subgroupSizeControl),
    IN(VULKAN_1_3), OF(Vulkan13Features, subgroupSizeControl),
    VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, VK_API_VERSION_1_3, true},
   {Feature::compute_full_subgroups,
    IN(SUBGROUP_SIZE_CONTROL), OF(SubgroupSizeControlFeatures, computeFullSubgroups),
    IN(VULKAN_1_3), OF(Vulkan13Features, computeFullSubgroups),
    VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, VK_API_VERSION_1_3, true},
   {Feature::vulkan_memory_model,
    IN(VULKAN_MEMORY_MODEL), OF(VulkanMemoryModelFeatures, vulkanMemoryModel),
    IN(VULKAN_1_2), OF(Vulkan12Features, vulkanMemoryModel),
    VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, VK_API_VERSION_1_2, true},
   {Feature::vulkan_memory_model_device_scope,
    IN(VULKAN_MEMORY_MODEL), OF(VulkanMemoryModelFeatures, vulkanMemoryModelDeviceScope),
    IN(VULKAN_1_2), OF(Vulkan12Features, vulkanMemoryModelDeviceScope),
    VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, VK_API_VERSION_1_2, true},
   {Feature::subgroup_extended_types,
    IN(SHADER_SUBGROUP_EXTENDED_TYPES), OF(ShaderSubgroupExtendedTypesFeatures, shaderSubgroupExtendedTypes),
    IN(VULKAN_1_2), OF(Vulkan12Features, shaderSubgroupExtendedTypes),
    VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME, VK_API_VERSION_1_2, true},
   {Feature::int8,
    IN(SHADER_FLOAT16_INT8), OF(ShaderFloat16Int8Features, shaderInt8),
    IN(VULKAN_1_2), OF(Vulkan12Features, shaderInt8),
    VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, VK_API_VERSION_1_2, true},
   {Feature::float16,
    IN(SHADER_FLOAT16_INT8), OF(ShaderFloat16Int8Features, shaderFloat16),
    IN(VULKAN_1_2), OF(Vulkan12Features, shaderFloat16),
    VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, VK_API_VERSION_1_2, true},
   {Feature::int16,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, OF(Features2, features.shaderInt16),
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, OF(Features2, features.shaderInt16),
    nullptr, VK_API_VERSION_1_0, true},
   {Feature::int64,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, OF(Features2, features.shaderInt64),
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, OF(Features2, features.shaderInt64),
    nullptr, VK_API_VERSION_1_0, true},
   {Feature::float64,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, OF(Features2, features.shaderFloat64),
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, OF(Features2, features.shaderFloat64),
    nullptr, VK_API_VERSION_1_0, false},
   {Feature::storage_buffer_8bit,
    IN(8BIT_STORAGE), OF(8BitStorageFeatures, storageBuffer8BitAccess),
    IN(VULKAN_1_2), OF(Vulkan12Features, storageBuffer8BitAccess),
    VK_KHR_8BIT_STORAGE_EXTENSION_NAME, VK_API_VERSION_1_2, true},
   {Feature::storage_buffer_16bit,
    IN(16BIT_STORAGE), OF(16BitStorageFeatures, storageBuffer16BitAccess),
    IN(VULKAN_1_1), OF(Vulkan11Features, storageBuffer16BitAccess),
    VK_KHR_16BIT_STORAGE_EXTENSION_NAME, VK_API_VERSION_1_1, true},
   {Feature::buffer_device_address,
    IN(BUFFER_DEVICE_ADDRESS), OF(BufferDeviceAddressFeatures, bufferDeviceAddress),
    IN(VULKAN_1_2), OF(Vulkan12Features, bufferDeviceAddress),
    VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME, VK_API_VERSION_1_2, false},
   {Feature::integer_dot_product,
    IN(SHADER_INTEGER_DOT_PRODUCT), OF(ShaderIntegerDotProductFeatures, shaderIntegerDotProduct),
    IN(VULKAN_1_3), OF(Vulkan13Features, shaderIntegerDotProduct),
    VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, VK_API_VERSION_1_3, true},
   {Feature::robust_buffer_access_2,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT, OF(Robustness2FeaturesEXT, robustBufferAccess2),
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT, OF(Robustness2FeaturesEXT, robustBufferAccess2),
    VK_EXT_ROBUSTNESS_2_EXTENSION_NAME, UINT32_MAX, false, "VK_KHR_robustness2"},
};
// clang-format on

VkBool32 *bool_at(void *structure, size_t offset)
{
   return reinterpret_cast<VkBool32 *>(static_cast<char *>(structure) + offset);
}

bool read_bool(const void *structure, size_t offset)
{
   return *reinterpret_cast<const VkBool32 *>(static_cast<const char *>(structure) + offset);
}

bool is_core(const FeatureRow &row)
{
   return row.single == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
}

/// The feature's place in the copied part of the chain, which may be a struct added for it. Null if
/// the application's own struct could not be copied.
VkBool32 *find_or_add(const FeatureRow &row, VkPhysicalDeviceFeatures *core, StructChain &chain,
                      bool may_add)
{
   if (is_core(row) && core)
      return bool_at(core, row.single_offset - offsetof(VkPhysicalDeviceFeatures2, features));
   if (void *s = chain.find(row.aggregate))
      return bool_at(s, row.aggregate_offset);
   if (void *s = chain.find(row.single))
      return bool_at(s, row.single_offset);
   if (!may_add || is_core(row) || chain.find_uncopied(row.aggregate) ||
       chain.find_uncopied(row.single))
      return nullptr;
   return bool_at(chain.append(row.single), row.single_offset);
}

bool is_enabled_uncopied(const FeatureRow &row, const StructChain &chain)
{
   if (const void *s = chain.find_uncopied(row.aggregate))
      return read_bool(s, row.aggregate_offset);
   if (const void *s = chain.find_uncopied(row.single))
      return read_bool(s, row.single_offset);
   return false;
}

} // namespace

std::span<const FeatureRow> feature_rows()
{
   return rows;
}

FeatureSet query_features(uint32_t version, const HasExtension &has_extension,
                          const std::function<void(VkPhysicalDeviceFeatures2 *)> &query)
{
   StructChain chain;
   auto *features = static_cast<VkPhysicalDeviceFeatures2 *>(
      chain.append(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2));
   const auto is_known = [&](const FeatureRow &row) {
      return version >= row.core_since || (row.extension && has_extension(row.extension)) ||
             (row.other_extension && has_extension(row.other_extension));
   };
   for (const FeatureRow &row : rows) {
      if (is_known(row) && !chain.find(row.single))
         chain.append(row.single);
   }
   chain.head();
   query(features);

   FeatureSet set;
   for (const FeatureRow &row : rows)
      set.set(row.feature, is_known(row) && read_bool(chain.find(row.single), row.single_offset));
   return set;
}

FeatureSet features_of_lowering()
{
   FeatureSet set;
   for (const FeatureRow &row : rows)
      set.set(row.feature, row.added);
   return set;
}

FeatureSet enable_features(const FeatureSet &supported, const FeatureSet &wanted,
                           VkPhysicalDeviceFeatures *core, StructChain &chain)
{
   FeatureSet enabled;
   for (const FeatureRow &row : rows) {
      const bool add = wanted.has(row.feature) && supported.has(row.feature);
      if (VkBool32 *place = find_or_add(row, core, chain, add)) {
         if (add)
            *place = VK_TRUE;
         enabled.set(row.feature, *place && supported.has(row.feature));
      } else {
         enabled.set(row.feature, is_enabled_uncopied(row, chain));
      }
   }
   return enabled;
}

} // namespace weft::layer
