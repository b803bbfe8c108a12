// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/device.h"

#include "layer/device_features.h"
#include "layer/guard.h"
#include "layer/instance.h"
#include "layer/struct_chain.h"

#include <array>
#include <cassert>
#include <cstring>

namespace weft::layer {

namespace {

Undestroyed<Registry<const void *, Device>> all_devices;
Registry<const void *, Device> &devices = all_devices.value;

VkLayerDeviceCreateInfo *find_link(const VkDeviceCreateInfo *info)
{
   const void *next = info->pNext;
   while (auto *link = static_cast<const VkLayerDeviceCreateInfo *>(
             find_struct(next, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO))) {
      if (link->function == VK_LAYER_LINK_INFO)
         return const_cast<VkLayerDeviceCreateInfo *>(link);
      next = link->pNext;
   }
   return nullptr;
}

/// The application's extensions and features of matrices in a VkDeviceCreateInfo.
struct DeviceRequest {
   ExtensionSet extensions;
   std::array<uint32_t, extension_count> features = {}; ///< masks of the features of matrices

   explicit DeviceRequest(const VkDeviceCreateInfo &info)
   {
      for (uint32_t i = 0; i < info.enabledExtensionCount; i++) {
         if (const ExtensionRow *row = find_extension(info.ppEnabledExtensionNames[i]))
            extensions.add(row->extension);
      }
      for (const ExtensionRow &row : extension_rows()) {
         if (const void *s = find_struct(info.pNext, row.features))
            features[size_t(row.extension)] = read_features(row, s) & row.matrix_features;
      }
   }

   /// The requested extensions that the layer lowers or extends.
   ExtensionSet lowered(const PhysicalDevice &physical) const
   {
      ExtensionSet set;
      for (const ExtensionRow &row : extension_rows()) {
         if (extensions.has(row.extension) && physical.lowers(row.extension))
            set.add(row.extension);
      }
      return set;
   }
};

/// Returns an error, with the reason, for a request that nothing can meet. The driver decides about
/// its own extensions.
VkResult check_request(const DeviceRequest &request, const PhysicalDevice &physical,
                       std::string &why)
{
   for (const ExtensionRow &row : extension_rows()) {
      const bool features = request.features[size_t(row.extension)];
      if (!request.extensions.has(row.extension) ||
          physical.support_of(row.extension) != Support::absent ||
          (row.has_other_uses && !features))
         continue;
      why = std::string("no ") + row.name + " on '" + physical.name +
            "': " + physical.why_absent(row.extension);
      return row.has_other_uses ? VK_ERROR_FEATURE_NOT_PRESENT : VK_ERROR_EXTENSION_NOT_PRESENT;
   }
   return VK_SUCCESS;
}

/// The layer's own extensions whose features the application enables, but not the extension.
/// Programs do so that enable all features that they have found.
std::vector<const ExtensionRow *> features_without_extension(const DeviceRequest &request,
                                                             const PhysicalDevice &physical)
{
   std::vector<const ExtensionRow *> rows;
   for (const ExtensionRow &row : extension_rows()) {
      if (physical.support_of(row.extension) == Support::lowered &&
          request.features[size_t(row.extension)] && !request.extensions.has(row.extension))
         rows.push_back(&row);
   }
   return rows;
}

/// The application's VkDeviceCreateInfo with the features that edited shaders need, and without the
/// extensions that only the layer has.
class EditedDeviceInfo {
public:
   /// `edits_shaders`: adds the features.
   EditedDeviceInfo(const VkDeviceCreateInfo &original, const PhysicalDevice &physical,
                    const ExtensionSet &lowered, bool edits_shaders)
       : info(original), matrices(!lowered.empty()), edits_shaders(edits_shaders),
         chain(original.pNext)
   {
      for (const ExtensionRow &row : extension_rows()) {
         if (physical.support_of(row.extension) == Support::lowered)
            chain.remove(row.features);
      }
      if (edits_shaders)
         enable_what_shaders_need(original, physical);
      info.pNext = chain.head();
   }

   /// The reason for refusing the device: a struct of unknown size hides a struct that the layer
   /// would have to edit. Empty: there is none.
   std::string why_refused(const PhysicalDevice &physical) const
   {
      if (!edits_shaders)
         return {};
      for (const ExtensionRow &row : extension_rows()) {
         if (physical.support_of(row.extension) == Support::lowered &&
             chain.find_uncopied(row.features))
            return behind_unknown(std::string("the features of ") + row.name +
                                  " cannot be removed from the chain");
      }
      if (matrices && !enabled.has(Feature::vulkan_memory_model))
         return behind_unknown("vulkanMemoryModel is off and cannot be switched on");
      if (!physical.has_one_size() && !physical.subgroups_are_blocks &&
          !physical.can_require_size(enabled))
         return behind_unknown("subgroupSizeControl is off and cannot be switched on");
      return {};
   }

   VkDeviceCreateInfo info;
   FeatureSet enabled;

private:
   void enable_what_shaders_need(const VkDeviceCreateInfo &original, const PhysicalDevice &physical)
   {
      FeatureSet wanted;
      if (matrices)
         wanted = features_of_lowering();
      wanted.set(Feature::subgroup_size_control, true);
      enabled = enable_features(physical.features, wanted, core_features(original), chain);
      list_extensions(original, physical, wanted);
      info.enabledExtensionCount = uint32_t(extensions.size());
      info.ppEnabledExtensionNames = extensions.data();
   }

   std::string behind_unknown(const std::string &what) const
   {
      assert(chain.first_uncopied());
      return what + ": a struct that is unknown to the layer stands before it (sType " +
             std::to_string(chain.first_uncopied()->sType) + ")";
   }

   /// pEnabledFeatures as a copy, or null if the application uses VkPhysicalDeviceFeatures2.
   VkPhysicalDeviceFeatures *core_features(const VkDeviceCreateInfo &original)
   {
      if (find_struct(original.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2))
         return nullptr;
      if (original.pEnabledFeatures)
         core = *original.pEnabledFeatures;
      info.pEnabledFeatures = &core;
      return &core;
   }

   void list_extensions(const VkDeviceCreateInfo &original, const PhysicalDevice &physical,
                        const FeatureSet &wanted)
   {
      for (uint32_t i = 0; i < original.enabledExtensionCount; i++) {
         const char *name = original.ppEnabledExtensionNames[i];
         const ExtensionRow *row = find_extension(name);
         if (!row || physical.support_of(row->extension) != Support::lowered)
            extensions.push_back(name);
      }
      for (const FeatureRow &row : feature_rows()) {
         if (enabled.has(row.feature) && wanted.has(row.feature) &&
             physical.version < row.core_since)
            add_extension(row.extension);
      }
      if (matrices && physical.version < VK_API_VERSION_1_2 &&
          physical.has_extension(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME))
         add_extension(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
   }

   void add_extension(const char *name)
   {
      for (const char *present : extensions) {
         if (strcmp(present, name) == 0)
            return;
      }
      extensions.push_back(name);
   }

   const bool matrices, edits_shaders;
   VkPhysicalDeviceFeatures core = {};
   StructChain chain;
   std::vector<const char *> extensions;
};

void prepare_editing(Device &device, const PhysicalDevice &physical, const FeatureSet &enabled)
{
   device.edits_shaders = true;
   device.driver = physical.driver(enabled);
   device.can_require_size = physical.can_require_size(enabled);
   device.full_subgroups = enabled.has(Feature::compute_full_subgroups);
   device.size_rules.default_size = physical.subgroup_size;
   if (physical.changes_subgroup_size())
      device.size_rules.sized_stages = physical.sized_stages();
   device.size_rules.fixes_varying_sizes = physical.narrows_subgroup_sizes();
}

void add(spirv::Declarations &to, const ExtensionRow &row)
{
   to.capabilities.insert(to.capabilities.end(), row.spirv_capabilities.begin(),
                          row.spirv_capabilities.end());
   to.extensions.insert(to.extensions.end(), row.spirv_extensions.begin(),
                        row.spirv_extensions.end());
}

void declare_matrices(Device &device, const ExtensionSet &lowered, const DeviceRequest &request)
{
   for (const ExtensionRow &row : extension_rows()) {
      device.native_extensions |= request.extensions.has(row.extension) &&
                                  device.physical->support_of(row.extension) == Support::native;
      if (!lowered.has(row.extension))
         continue;
      add(device.matrices, row);
      if (device.physical->support_of(row.extension) == Support::lowered)
         add(device.unknown_to_driver, row);
   }
   for (const ExtensionRow &row : extension_rows()) {
      if (request.extensions.has(row.extension) &&
          device.physical->support_of(row.extension) == Support::native) {
         std::erase_if(device.unknown_to_driver.capabilities, [&](uint32_t capability) {
            return std::ranges::count(row.spirv_capabilities, capability);
         });
      }
   }
   constexpr uint32_t robust_buffer_access = 1u << 1;
   for (const Extension e : {Extension::khr_cooperative_matrix, Extension::nv_cooperative_matrix}) {
      if (lowered.has(e) && (request.features[size_t(e)] & robust_buffer_access))
         device.robust_access = true;
   }
}

} // namespace

Device *find_device(const void *dispatchable)
{
   return devices.find(dispatch_key(dispatchable));
}

void report(const Device &device, VkDebugUtilsMessageSeverityFlagBitsEXT severity,
            const std::string &message)
{
   device.instance->messengers.send(severity, VK_OBJECT_TYPE_DEVICE,
                                    uint64_t(uintptr_t(device.handle)), message);
}

void report_error(const Device &device, const std::string &message)
{
   report(device, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, message);
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice handle,
                                             const VkDeviceCreateInfo *info,
                                             const VkAllocationCallbacks *allocator, VkDevice *out)
{
   return guarded([&] {
      Instance *instance = find_instance(handle);
      VkLayerDeviceCreateInfo *link = find_link(info);
      if (!instance || !link || !link->u.pLayerInfo)
         return VK_ERROR_INITIALIZATION_FAILED;
      const auto next_get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
      auto device = std::make_unique<Device>();
      device->next_get_proc_addr = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
      // The loader's own memory: each layer advances it for the next one.
      link->u.pLayerInfo = link->u.pLayerInfo->pNext;
      const auto next_create =
         PFN_vkCreateDevice(next_get_instance(instance->handle, "vkCreateDevice"));
      if (!next_create)
         return VK_ERROR_INITIALIZATION_FAILED;

      VkResult result = instance->get(handle, &device->physical);
      if (result != VK_SUCCESS)
         return result;
      device->instance = instance;
      const PhysicalDevice &physical = *device->physical;
      const auto send = [&](VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                            const std::string &text) {
         instance->messengers.send(severity, VK_OBJECT_TYPE_PHYSICAL_DEVICE,
                                   uint64_t(uintptr_t(handle)), "vkCreateDevice: " + text);
      };
      std::unique_ptr<EditedDeviceInfo> edited;
      const DeviceRequest request(*info);
      std::string why;
      result = check_request(request, physical, why);
      const ExtensionSet lowered = request.lowered(physical);
      const bool edits_shaders = !lowered.empty() || physical.changes_subgroup_size();
      const auto ignored = features_without_extension(request, physical);
      if (result == VK_SUCCESS && (edits_shaders || !ignored.empty())) {
         edited = std::make_unique<EditedDeviceInfo>(*info, physical, lowered, edits_shaders);
         if (edits_shaders) {
            prepare_editing(*device, physical, edited->enabled);
            declare_matrices(*device, lowered, request);
         }
         why = edited->why_refused(physical);
         result = why.empty() ? VK_SUCCESS : VK_ERROR_FEATURE_NOT_PRESENT;
      }
      if (result != VK_SUCCESS) {
         send(VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, why);
         return result;
      }
      for (const ExtensionRow *row : ignored)
         send(VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
              std::string("features of ") + row->name + " are ignored: it is not enabled");

      result = next_create(handle, edited ? &edited->info : info, allocator, out);
      if (result != VK_SUCCESS)
         return result;
      device->handle = *out;
      const auto next_get = device->next_get_proc_addr;
      OnFailure undo([&, destroy = PFN_vkDestroyDevice(next_get(*out, "vkDestroyDevice"))] {
         destroy(*out, allocator);
         *out = VK_NULL_HANDLE;
      });
      vk_device_dispatch_table_load(&device->next, next_get, *out);
      device->next_create_execution_graph_pipelines = PFN_vkCreateExecutionGraphPipelinesAMDX(
         next_get(*out, "vkCreateExecutionGraphPipelinesAMDX"));
      devices.add(dispatch_key(*out), std::move(device));
      undo.succeeded();
      return VK_SUCCESS;
   });
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks *allocator)
{
   if (!handle)
      return;
   if (auto device = devices.take(dispatch_key(handle)))
      device->next.DestroyDevice(handle, allocator);
}

} // namespace weft::layer
