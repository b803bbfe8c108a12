// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/physical_device.h"

#include "layer/instance.h"

#include <algorithm>
#include <cstring>

namespace weft::layer {

namespace {

/// The smallest and largest subgroups that the compiler lowers for.
constexpr uint32_t min_subgroup_size = 4, max_subgroup_size = 128;

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

VkResult read_extensions(const Instance &instance, VkPhysicalDevice physical, PhysicalDevice &out)
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

/// The loader lists what manifests promise beside what drivers have, so the name alone tells
/// nothing.
bool has_native_matrices(const Instance &instance, VkPhysicalDevice physical,
                         const PhysicalDevice &device)
{
   if (!device.has_extension(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
      return false;
   VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
   };
   VkPhysicalDeviceFeatures2 features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
      .pNext = &matrices,
   };
   get_features(instance, physical, &features);
   return matrices.cooperativeMatrix;
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

void read_properties(const Instance &instance, VkPhysicalDevice physical, PhysicalDevice &device)
{
   device.subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
   device.sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
   device.floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
   device.driver_name.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
      .pNext = &device.subgroup,
   };
   void **tail = &device.subgroup.pNext;
   if (device.version >= VK_API_VERSION_1_3 ||
       device.has_extension(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) {
      *tail = &device.sizes;
      tail = &device.sizes.pNext;
   }
   if (device.version >= VK_API_VERSION_1_2 ||
       device.has_extension(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME)) {
      *tail = &device.floats;
      tail = &device.floats.pNext;
   }
   if (device.version >= VK_API_VERSION_1_2 ||
       device.has_extension(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME))
      *tail = &device.driver_name;
   get_properties(instance, physical, &properties);
   device.subgroup.pNext = device.sizes.pNext = device.floats.pNext = nullptr;
   device.max_workgroup_subgroups = device.sizes.maxComputeWorkgroupSubgroups;
}

/// The subgroup size of pipelines that do not ask for one, or 0 with a reason.
uint32_t choose_subgroup_size(const Settings &settings, PhysicalDevice &device)
{
   const auto &sizes = device.sizes;
   const uint32_t reported = device.subgroup.subgroupSize;
   const bool fixed = sizes.minSubgroupSize == reported && sizes.maxSubgroupSize == reported;
   const bool can_require = device.can_require_size(device.features);
   if (!fixed && !can_require) {
      device.reason = "the driver chooses the subgroup size and cannot be told which";
      return 0;
   }
   uint32_t size = reported;
   if (settings.profile && can_require &&
       settings.profile->subgroup_size >= sizes.minSubgroupSize &&
       settings.profile->subgroup_size <= sizes.maxSubgroupSize)
      size = settings.profile->subgroup_size;
   if (size < min_subgroup_size || size > max_subgroup_size) {
      device.reason = "subgroups of " + std::to_string(size) + " invocations";
      return 0;
   }
   return size;
}

VkResult read_native_properties(const Instance &instance, VkPhysicalDevice physical,
                                PhysicalDevice &out)
{
   const auto get = instance.next_physical.GetPhysicalDeviceCooperativeMatrixPropertiesKHR;
   auto &list = out.native_properties;
   VkResult result;
   do {
      uint32_t count = 0;
      result = get(physical, &count, nullptr);
      if (result != VK_SUCCESS)
         return result;
      list.assign(count, {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
      result = get(physical, &count, list.data());
      list.resize(count);
   } while (result == VK_INCOMPLETE);
   for (const VkCooperativeMatrixPropertiesKHR &p : list) {
      const auto known = [](VkComponentTypeKHR type) {
         return type <= VK_COMPONENT_TYPE_UINT64_KHR;
      };
      if (p.scope != VK_SCOPE_SUBGROUP_KHR || !known(p.AType) || !known(p.BType) ||
          !known(p.CType) || !known(p.ResultType))
         continue;
      out.native_operations.push_back({p.MSize, p.NSize, p.KSize, ComponentType(p.AType),
                                       ComponentType(p.BType), ComponentType(p.CType),
                                       ComponentType(p.ResultType),
                                       p.saturatingAccumulation == VK_TRUE});
   }
   return result;
}

bool contains(std::span<const MatrixOperation> operations, const MatrixOperation &operation)
{
   return std::ranges::find(operations, operation) != operations.end();
}

/// What compiles whatever subgroup size a pipeline requires.
std::vector<MatrixOperation> list_operations(const Settings &settings, const PhysicalDevice &device)
{
   const spirv::Driver driver = device.driver(device.features);
   std::vector<MatrixOperation> operations =
      spirv::supported_operations(driver, device.subgroup_size);
   const auto keep = [&](std::span<const MatrixOperation> others) {
      std::erase_if(operations,
                    [&](const MatrixOperation &operation) { return !contains(others, operation); });
   };
   if (device.can_require_size(device.features)) {
      const uint32_t last = std::min(device.sizes.maxSubgroupSize, max_subgroup_size);
      for (uint32_t size = std::max(device.sizes.minSubgroupSize, min_subgroup_size); size <= last;
           size *= 2)
         keep(spirv::supported_operations(driver, size));
   }
   if (settings.profile)
      keep(settings.profile->operations);
   return operations;
}

/// Whether there is anything to do above a driver with matrices of its own.
bool adds_to_native(const Settings &settings, const PhysicalDevice &device)
{
   return settings.lowering == Lowering::tiles ||
          std::ranges::any_of(device.operations, [&](const MatrixOperation &operation) {
             return !contains(device.native_operations, operation);
          });
}

/// An empty answer is the layer's promise that it can; else the reason why it cannot.
std::string find_obstacle(const Instance &instance, VkPhysicalDevice physical,
                          PhysicalDevice &device)
{
   if (device.version < VK_API_VERSION_1_1)
      return "the application or the driver is below Vulkan 1.1";
   if (!has_compute_queue(instance, physical))
      return "no queue that computes";
   read_properties(instance, physical, device);
   device.features = query_features(
      device.version, [&](const char *name) { return device.has_extension(name); },
      [&](VkPhysicalDeviceFeatures2 *features) { get_features(instance, physical, features); });
   if (!(device.subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT))
      return "no subgroup operations in compute shaders";
   if (!device.features.has(Feature::vulkan_memory_model))
      return "no vulkanMemoryModel";
   device.subgroup_size = choose_subgroup_size(instance.settings, device);
   if (!device.subgroup_size)
      return device.reason;
   device.operations = list_operations(instance.settings, device);
   if (device.operations.empty())
      return "no matrix operation can be lowered to what the driver has";
   return {};
}

} // namespace

bool PhysicalDevice::has_extension(const char *wanted) const
{
   return std::ranges::any_of(extensions, [&](const VkExtensionProperties &e) {
      return strcmp(e.extensionName, wanted) == 0;
   });
}

bool PhysicalDevice::can_require_size(const FeatureSet &on) const
{
   return on.has(Feature::subgroup_size_control) &&
          (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
}

bool PhysicalDevice::hides(const char *extension) const
{
   // It is defined on top of the driver's KHR matrices.
   return native_hidden && strcmp(extension, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME) == 0;
}

spirv::Driver PhysicalDevice::driver(const FeatureSet &on) const
{
   return {
      .spirv_version = version >= VK_API_VERSION_1_3   ? 0x00010600u
                       : version >= VK_API_VERSION_1_2 ? 0x00010500u
                                                       : 0x00010300u,
      .subgroup_operations = subgroup.supportedOperations,
      .subgroup_extended_types = on.has(Feature::subgroup_extended_types),
      .vulkan_memory_model = on.has(Feature::vulkan_memory_model),
      .vulkan_memory_model_device_scope = on.has(Feature::vulkan_memory_model_device_scope),
      .int8 = on.has(Feature::int8),
      .int16 = on.has(Feature::int16),
      .int64 = on.has(Feature::int64),
      .float16 = on.has(Feature::float16),
      .float64 = on.has(Feature::float64),
      .storage_buffer_8bit = on.has(Feature::storage_buffer_8bit),
      .storage_buffer_16bit = on.has(Feature::storage_buffer_16bit),
      .buffer_device_address = on.has(Feature::buffer_device_address),
      .integer_dot_product = on.has(Feature::integer_dot_product),
      .partial_barriers = driver_name.driverID != VK_DRIVER_ID_MESA_LLVMPIPE,
      .preserve_nan_16 = bool(floats.shaderSignedZeroInfNanPreserveFloat16),
      .preserve_nan_32 = bool(floats.shaderSignedZeroInfNanPreserveFloat32),
      .preserve_nan_64 = bool(floats.shaderSignedZeroInfNanPreserveFloat64),
   };
}

VkResult inspect_physical_device(Instance &instance, VkPhysicalDevice physical, PhysicalDevice &out)
{
   const auto &next = instance.next_physical;
   VkResult result = read_extensions(instance, physical, out);
   if (result != VK_SUCCESS)
      return result;
   VkPhysicalDeviceProperties properties;
   next.GetPhysicalDeviceProperties(physical, &properties);
   out.name = properties.deviceName;
   out.version = std::min(instance.api_version, properties.apiVersion);
   if (!next.GetPhysicalDeviceFeatures2 && !next.GetPhysicalDeviceFeatures2KHR) {
      out.reason = "neither Vulkan 1.1 nor VK_KHR_get_physical_device_properties2 is on";
      return VK_SUCCESS;
   }
   const bool native = has_native_matrices(instance, physical, out);
   out.native_hidden = native && instance.settings.hides_native();
   if (native && !out.native_hidden) {
      result = read_native_properties(instance, physical, out);
      if (result != VK_SUCCESS)
         return result;
   }
   out.reason = find_obstacle(instance, physical, out);
   if (native && !out.native_hidden &&
       (!out.reason.empty() || !adds_to_native(instance.settings, out))) {
      out.support = Support::native;
      return VK_SUCCESS;
   }
   // A shader may have both.
   std::ranges::copy_if(
      out.native_operations, std::back_inserter(out.operations),
      [&](const auto &operation) { return !contains(out.operations, operation); });
   out.support = out.reason.empty() ? Support::lowered : Support::absent;
   return VK_SUCCESS;
}

} // namespace weft::layer
