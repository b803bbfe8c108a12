// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/physical_device.h"

#include "backend/spirv/driver_quirks.h"

#include "layer/instance.h"
#include "layer/struct_chain.h"
#include "vulkan_util/matrix_properties.h"

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

/// The extensions of the driver's own.  Loaders list the extensions of manifests besides those of
/// drivers, so the name of an extension in the layer's manifest proves nothing.
ExtensionSet find_native_extensions(const Instance &instance, VkPhysicalDevice physical,
                                    const PhysicalDevice &device)
{
   ExtensionSet set;
   for (const ExtensionRow &row : extension_rows()) {
      if (!device.has_extension(row.name))
         continue;
      StructChain chain;
      chain.append(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
      const void *own = chain.append(row.features);
      get_features(instance, physical, static_cast<VkPhysicalDeviceFeatures2 *>(chain.head()));
      if (!row.find_obstacle || read_features(row, own))
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

/// What every implementation has to allow: maxComputeWorkgroupInvocations of the table "Required
/// Limits".
uint32_t least_max_invocations(const PhysicalDevice &device)
{
   return device.version >= VK_API_VERSION_1_4 ? 256 : 128;
}

/// The subgroup size of pipelines that do not ask for one, or 0 with a reason.
uint32_t choose_subgroup_size(const Settings &settings, PhysicalDevice &device)
{
   const auto &sizes = device.sizes;
   const uint32_t reported = device.subgroup.subgroupSize;
   const bool can_require = device.can_require_size(device.features);
   device.subgroups_are_blocks = !device.has_one_size() && !can_require;
   uint32_t size = reported;
   device.presented_sizes = {sizes.minSubgroupSize, sizes.maxSubgroupSize};
   if (settings.profile && can_require) {
      const uint32_t wanted = settings.profile->subgroup_size;
      if (wanted >= sizes.minSubgroupSize && wanted <= sizes.maxSubgroupSize &&
          uint64_t(wanted) * device.max_workgroup_subgroups >= least_max_invocations(device)) {
         size = wanted;
         device.presented_sizes = presented_sizes(device.presented_sizes, settings.identity, size);
      }
   }
   if (size < min_subgroup_size || size > max_subgroup_size) {
      device.reason = "subgroups of " + std::to_string(size) + " invocations";
      return 0;
   }
   return size;
}

/// All that a query reports, which may grow between two calls.
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

VkResult read_native_properties(const Instance &instance, VkPhysicalDevice physical,
                                PhysicalDevice &out)
{
   const VkResult result =
      read_all(instance.next_physical.GetPhysicalDeviceCooperativeMatrixPropertiesKHR, physical,
               VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR, out.native_properties);
   for (const VkCooperativeMatrixPropertiesKHR &p : out.native_properties) {
      const std::optional<MatrixOperation> operation = read_operation(p);
      if (operation && spirv::may_be_native(*operation))
         out.native_operations.push_back(*operation);
   }
   return result;
}

/// The workgroups whose matrices the layer may have to lower: where the driver supports such
/// matrices, the workgroups for which it reports them.
VkResult find_matrix_workgroups(const Instance &instance, VkPhysicalDevice physical,
                                const PhysicalDevice &device, std::vector<uint32_t> &sizes)
{
   sizes.assign(matrix_workgroups.begin(), matrix_workgroups.end());
   const auto query =
      instance.next_physical.GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV;
   if (!device.driver_has(Extension::nv_cooperative_matrix2) || !query)
      return VK_SUCCESS;
   std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> list;
   const VkResult result =
      read_all(query, physical,
               VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV, list);
   sizes.clear();
   for (const auto &properties : list) {
      if (properties.scope == VK_SCOPE_WORKGROUP_KHR)
         sizes.push_back(properties.workgroupInvocations);
   }
   std::ranges::sort(sizes);
   sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
   return result;
}

bool is_float8(ComponentType type)
{
   return type == ComponentType::e4m3 || type == ComponentType::e5m2;
}

bool contains(std::span<const MatrixOperation> operations, const MatrixOperation &operation)
{
   return std::ranges::find(operations, operation) != operations.end();
}

/// The operations that compile at every subgroup size that a pipeline may require.
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
      const auto [first, last] = device.presented_sizes;
      for (uint32_t size = std::max(first, min_subgroup_size);
           size <= std::min(last, max_subgroup_size); size *= 2)
         keep(spirv::supported_operations(driver, size));
   }
   if (device.hides_float8)
      std::erase_if(operations, [](const MatrixOperation &operation) {
         return is_float8(operation.a) || is_float8(operation.c);
      });
   return advertised_operations(std::move(operations), settings.profile, device.subgroup_size);
}

/// An empty answer if shaders can be lowered for the device; else the reason why not.
std::string find_obstacle(const Instance &instance, VkPhysicalDevice physical,
                          PhysicalDevice &device)
{
   if (!instance.settings.refused.empty())
      return instance.settings.refused;
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
   return {};
}

/// Why the layer does not support an extension; empty if it does.
std::string find_obstacle_to(const ExtensionRow &row, const Settings &settings,
                             const PhysicalDevice &device)
{
   if (!device.reason.empty())
      return device.reason;
   if (settings.identity && !settings.identity->lists(row.name))
      return std::string("the device is presented as ") + settings.identity->device_name +
             ", whose driver has none";
   const char *obstacle = row.find_obstacle(device);
   return obstacle ? obstacle : "";
}

/// Decides which of driver and layer support an extension; its base has been decided before.
void decide(const ExtensionRow &row, const Settings &settings, bool has_native,
            PhysicalDevice &device)
{
   const bool native = has_native && !device.native_hidden &&
                       (row.base == Extension::none || device.driver_has(row.base));
   std::string obstacle = find_obstacle_to(row, settings, device);
   const bool lowers = obstacle.empty();
   Support &support = device.support[size_t(row.extension)];
   if (native)
      support =
         lowers && row.adds_to_native(settings, device) ? Support::extended : Support::native;
   else
      support = lowers ? Support::lowered : Support::absent;
   if (support == Support::absent)
      device.absent_because[size_t(row.extension)] = std::move(obstacle);
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

VkShaderStageFlags PhysicalDevice::sized_stages() const
{
   // The workgroups of task and mesh shaders have limits of their own, which nobody has lowered.
   return sizes.requiredSubgroupSizeStages &
          ~VkShaderStageFlags(VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT);
}

bool PhysicalDevice::lowers() const
{
   return std::ranges::any_of(extension_rows(),
                              [&](const ExtensionRow &row) { return lowers(row.extension); });
}

spirv::Driver PhysicalDevice::driver(const FeatureSet &on) const
{
   spirv::Driver driver = {
      .spirv_version = version >= VK_API_VERSION_1_3   ? 0x00010600u
                       : version >= VK_API_VERSION_1_2 ? 0x00010500u
                                                       : 0x00010300u,
      .subgroup_operations = subgroup.supportedOperations,
      .subgroup_extended_types = on.has(Feature::subgroup_extended_types),
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
      .robust_buffer_access_2 = on.has(Feature::robust_buffer_access_2),
      .preserve_nan_16 = bool(floats.shaderSignedZeroInfNanPreserveFloat16),
      .preserve_nan_32 = bool(floats.shaderSignedZeroInfNanPreserveFloat32),
      .preserve_nan_64 = bool(floats.shaderSignedZeroInfNanPreserveFloat64),
   };
   spirv::apply_driver_quirks(driver, driver_name.driverID, driver_version);
   return driver;
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
   out.driver_version = properties.driverVersion;
   out.version = std::min(instance.api_version, properties.apiVersion);
   out.max_shared_bytes = properties.limits.maxComputeSharedMemorySize;
   if (!next.GetPhysicalDeviceFeatures2 && !next.GetPhysicalDeviceFeatures2KHR) {
      out.reason = "neither Vulkan 1.1 nor VK_KHR_get_physical_device_properties2 is on";
      return VK_SUCCESS;
   }
   const ExtensionSet native = find_native_extensions(instance, physical, out);
   out.hides_float8 = instance.settings.hides_float8 && !native.has(Extension::ext_shader_float8);
   out.native_hidden = !native.empty() && instance.settings.hides_native();
   if (native.has(Extension::khr_cooperative_matrix) && !out.native_hidden) {
      result = read_native_properties(instance, physical, out);
      if (result != VK_SUCCESS)
         return result;
   }
   out.reason = find_obstacle(instance, physical, out);
   for (const ExtensionRow &row : extension_rows())
      decide(row, instance.settings, native.has(row.extension), out);
   // Matrices of types that are the driver's own are left to it, where it can have the shader.
   const auto leave = [&](Extension extension, std::initializer_list<ComponentType> types) {
      if (out.support_of(extension) != Support::native)
         return;
      const auto rest = std::ranges::stable_partition(out.operations, [&](const auto &operation) {
         return std::ranges::none_of(types, [&](ComponentType type) {
            return operation.a == type || operation.b == type || operation.c == type;
         });
      });
      out.operations_of_native_types.insert(out.operations_of_native_types.end(), rest.begin(),
                                            rest.end());
      out.operations.erase(rest.begin(), rest.end());
   };
   leave(Extension::khr_shader_bfloat16, {ComponentType::bf16});
   leave(Extension::ext_shader_float8, {ComponentType::e4m3, ComponentType::e5m2});
   std::vector<uint32_t> workgroups;
   result = find_matrix_workgroups(instance, physical, out, workgroups);
   if (result != VK_SUCCESS)
      return result;
   const uint32_t max_invocations = out.max_invocations_of_size();
   std::erase_if(workgroups, [&](uint32_t invocations) {
      return invocations > properties.limits.maxComputeWorkGroupInvocations ||
             (max_invocations && invocations > max_invocations);
   });
   const auto flexible_of = [&](const std::vector<MatrixOperation> &operations) {
      return with_workgroup_scope(flexible_operations(operations, spirv::max_matrix_dimension),
                                  workgroups);
   };
   out.flexible = flexible_of(out.operations);
   out.flexible_of_native_types = flexible_of(out.operations_of_native_types);
   // Of 32 KiB a matrix of 64×64 components of 16 bits.  Where the driver has such matrices itself,
   // programs leave memory for its own alone.
   if (out.lowers(Extension::nv_cooperative_matrix2))
      out.staging_bytes = properties.limits.maxComputeSharedMemorySize / 4;
   if (out.driver_has(Extension::khr_cooperative_matrix)) {
      // A shader may have both, and what only the layer can do with them.
      std::ranges::copy_if(
         out.native_operations, std::back_inserter(out.operations),
         [&](const auto &operation) { return !contains(out.operations, operation); });
   }
   return VK_SUCCESS;
}

} // namespace weft::layer
