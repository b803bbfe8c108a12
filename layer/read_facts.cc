// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/read_facts.h"

#include "layer/device_features.h"
#include "layer/instance.h"
#include "layer/struct_chain.h"

#include <algorithm>

namespace weft::layer {

namespace {

void get_features(const Instance &instance, VkPhysicalDevice physical,
                  VkPhysicalDeviceFeatures2 *features)
{
   const auto &next = instance.next_physical;
   (next.GetPhysicalDeviceFeatures2 ? next.GetPhysicalDeviceFeatures2
                                    : next.GetPhysicalDeviceFeatures2KHR)(physical, features);
}

void get_properties(const Instance &instance, VkPhysicalDevice physical,
                    VkPhysicalDeviceProperties2 *properties)
{
   const auto &next = instance.next_physical;
   (next.GetPhysicalDeviceProperties2 ? next.GetPhysicalDeviceProperties2
                                      : next.GetPhysicalDeviceProperties2KHR)(physical, properties);
}

VkResult read_extensions(const Instance &instance, VkPhysicalDevice physical, DriverFacts &out)
{
   const auto enumerate = instance.next_physical.EnumerateDeviceExtensionProperties;
   VkResult result;
   do {
      uint32_t count = 0;
      result = enumerate(physical, nullptr, &count, nullptr);
      if (result != VK_SUCCESS)
         return result;
      out.extensions.resize(count);
      result = enumerate(physical, nullptr, &count, out.extensions.data());
      out.extensions.resize(count);
   } while (result == VK_INCOMPLETE);
   return result;
}

/// The driver's own extensions of matrices. Loaders list the extensions of manifests beside the
/// drivers' extensions, so the name of an extension in the layer's manifest proves nothing.
ExtensionSet find_native_extensions(const Instance &instance, VkPhysicalDevice physical,
                                    const DriverFacts &device)
{
   ExtensionSet set;
   for (const ExtensionRow &row : extension_rows()) {
      if (!device.has_extension(row.name))
         continue;
      StructChain chain;
      chain.append(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
      const void *own = chain.append(row.features);
      get_features(instance, physical, static_cast<VkPhysicalDeviceFeatures2 *>(chain.head()));
      if (!row.why_not_lowered || read_features(row, own))
         set.add(row.extension);
   }
   return set;
}

bool has_compute_queue(const Instance &instance, VkPhysicalDevice physical)
{
   uint32_t count = 0;
   instance.next_physical.GetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
   std::vector<VkQueueFamilyProperties> families(count);
   instance.next_physical.GetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
   families.resize(count);
   return std::ranges::any_of(families, [](const VkQueueFamilyProperties &family) {
      return family.queueCount && (family.queueFlags & VK_QUEUE_COMPUTE_BIT);
   });
}

void read_properties(const Instance &instance, VkPhysicalDevice physical, DriverFacts &device)
{
   VkPhysicalDeviceSubgroupProperties subgroup = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
   VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
   VkPhysicalDeviceFloatControlsProperties floats = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
   VkPhysicalDeviceDriverProperties driver = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
   VkPhysicalDeviceProperties2 properties = {.sType =
                                                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
   void **tail = &properties.pNext;
   const auto add = [&](auto &structure, uint32_t core_since, const char *extension) {
      if (device.version < core_since && !device.has_extension(extension))
         return;
      *tail = &structure;
      tail = &structure.pNext;
   };
   *tail = &subgroup;
   tail = &subgroup.pNext;
   add(sizes, VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
   add(floats, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
   add(driver, VK_API_VERSION_1_2, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
   get_properties(instance, physical, &properties);
   device.subgroups = {
      .size = subgroup.subgroupSize,
      .min_size = sizes.minSubgroupSize,
      .max_size = sizes.maxSubgroupSize,
      .operations = subgroup.supportedOperations,
      .stages = subgroup.supportedStages,
      .requirable_stages = sizes.requiredSubgroupSizeStages,
      .max_per_workgroup = sizes.maxComputeWorkgroupSubgroups,
   };
   device.preserves_nan_16 = floats.shaderSignedZeroInfNanPreserveFloat16;
   device.preserves_nan_32 = floats.shaderSignedZeroInfNanPreserveFloat32;
   device.preserves_nan_64 = floats.shaderSignedZeroInfNanPreserveFloat64;
   device.driver_id = driver.driverID;
   device.driver_name = driver.driverName;
   if (*driver.driverInfo)
      device.driver_name += std::string(", ") + driver.driverInfo;
}

/// The full list of a query, which may grow between two calls.
template <typename Properties, typename Query>
VkResult read_all(Query query, VkPhysicalDevice physical, VkStructureType type,
                  std::vector<Properties> &list)
{
   VkResult result;
   do {
      uint32_t count = 0;
      result = query(physical, &count, nullptr);
      if (result != VK_SUCCESS)
         return result;
      list.assign(count, {.sType = type});
      result = query(physical, &count, list.data());
      list.resize(count);
   } while (result == VK_INCOMPLETE);
   return result;
}

/// Reads the workgroup sizes for which the driver reports matrices of workgroup scope.
VkResult read_matrix_workgroups(const Instance &instance, VkPhysicalDevice physical,
                                DriverFacts &out)
{
   const auto query =
      instance.next_physical.GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV;
   if (!out.native_extensions.has(Extension::nv_cooperative_matrix2) || !query)
      return VK_SUCCESS;
   std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> list;
   const VkResult result =
      read_all(query, physical,
               VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV, list);
   std::vector<uint32_t> &sizes = out.listed_workgroups.emplace();
   for (const auto &properties : list) {
      if (properties.scope == VK_SCOPE_WORKGROUP_KHR)
         sizes.push_back(properties.workgroupInvocations);
   }
   std::ranges::sort(sizes);
   sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
   return result;
}

} // namespace

VkResult read_facts(const Instance &instance, VkPhysicalDevice physical, DriverFacts &out)
{
   const auto &next = instance.next_physical;
   VkResult result = read_extensions(instance, physical, out);
   if (result != VK_SUCCESS)
      return result;
   VkPhysicalDeviceProperties properties;
   next.GetPhysicalDeviceProperties(physical, &properties);
   out.name = properties.deviceName;
   out.device_type = properties.deviceType;
   out.driver_version = properties.driverVersion;
   out.version = std::min(instance.api_version, properties.apiVersion);
   out.max_workgroup_invocations = properties.limits.maxComputeWorkGroupInvocations;
   out.max_shared_bytes = properties.limits.maxComputeSharedMemorySize;
   out.has_queries = next.GetPhysicalDeviceFeatures2 || next.GetPhysicalDeviceFeatures2KHR;
   if (!out.has_queries)
      return VK_SUCCESS;
   out.native_extensions = find_native_extensions(instance, physical, out);
   out.has_compute_queue = has_compute_queue(instance, physical);
   if (out.version >= VK_API_VERSION_1_1) {
      read_properties(instance, physical, out);
      out.features = query_features(
         out.version, [&](const char *name) { return out.has_extension(name); },
         [&](VkPhysicalDeviceFeatures2 *features) { get_features(instance, physical, features); });
   }
   if (!out.native_extensions.has(Extension::khr_cooperative_matrix))
      return VK_SUCCESS;
   result = read_all(next.GetPhysicalDeviceCooperativeMatrixPropertiesKHR, physical,
                     VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR, out.listed_matrices);
   return result == VK_SUCCESS ? read_matrix_workgroups(instance, physical, out) : result;
}

} // namespace weft::layer
