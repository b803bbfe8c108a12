// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weft_run/probe.h"

#include "tools/weft_run/environment.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <iterator>

namespace weft::weft_run {

namespace {

/// An extension of cooperative matrices and its feature struct. `feature` is the index of the
/// member, of up to three, that says whether the driver supports matrices.
struct Row {
   const char *name;
   VkStructureType features;
   uint32_t feature;
};
constexpr Row rows[] = {
   {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, 0},
   {VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV, 0},
   {VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME, VK_STRUCTURE_TYPE_MAX_ENUM, 0},
   {VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_EXTENSION_NAME, VK_STRUCTURE_TYPE_MAX_ENUM, 0},
   {VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_EXTENSION_NAME, VK_STRUCTURE_TYPE_MAX_ENUM, 0},
   {VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_EXTENSION_NAME, VK_STRUCTURE_TYPE_MAX_ENUM, 0},
   {VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_EXTENSION_NAME, VK_STRUCTURE_TYPE_MAX_ENUM, 0},
   {VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR, 2},
   {VK_EXT_SHADER_FLOAT8_EXTENSION_NAME,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT, 1},
};

struct Loader {
   void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
   PFN_vkGetInstanceProcAddr get =
      library ? PFN_vkGetInstanceProcAddr(dlsym(library, "vkGetInstanceProcAddr")) : nullptr;

   template <typename F>
   F find(const char *name, VkInstance instance = VK_NULL_HANDLE) const
   {
      return reinterpret_cast<F>(get(instance, name));
   }
};

uint32_t version_of(const Loader &loader)
{
   if (!loader.get)
      return 0;
   uint32_t version = VK_API_VERSION_1_0;
   if (const auto query = loader.find<PFN_vkEnumerateInstanceVersion>("vkEnumerateInstanceVersion"))
      query(&version);
   return version;
}

/// Drops repeated messages, and loaders' messages about environment variables.
VKAPI_ATTR VkBool32 VKAPI_CALL take_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                            VkDebugUtilsMessageTypeFlagsEXT,
                                            const VkDebugUtilsMessengerCallbackDataEXT *data,
                                            void *user)
{
   auto &messages = *static_cast<std::vector<std::string> *>(user);
   if (std::ranges::find(messages, data->pMessage) == messages.end() &&
       strncmp(data->pMessage, "env var ", 8) != 0)
      messages.emplace_back(data->pMessage);
   return VK_FALSE;
}

std::string type_name(VkComponentTypeKHR type)
{
   switch (uint32_t(type)) {
   case VK_COMPONENT_TYPE_FLOAT16_KHR:
      return "f16";
   case VK_COMPONENT_TYPE_FLOAT32_KHR:
      return "f32";
   case VK_COMPONENT_TYPE_FLOAT64_KHR:
      return "f64";
   case VK_COMPONENT_TYPE_SINT8_KHR:
      return "s8";
   case VK_COMPONENT_TYPE_SINT16_KHR:
      return "s16";
   case VK_COMPONENT_TYPE_SINT32_KHR:
      return "s32";
   case VK_COMPONENT_TYPE_SINT64_KHR:
      return "s64";
   case VK_COMPONENT_TYPE_UINT8_KHR:
      return "u8";
   case VK_COMPONENT_TYPE_UINT16_KHR:
      return "u16";
   case VK_COMPONENT_TYPE_UINT32_KHR:
      return "u32";
   case VK_COMPONENT_TYPE_UINT64_KHR:
      return "u64";
   case VK_COMPONENT_TYPE_BFLOAT16_KHR:
      return "bf16";
   case VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT:
      return "e4m3";
   case VK_COMPONENT_TYPE_FLOAT8_E5M2_EXT:
      return "e5m2";
   default:
      return std::to_string(uint32_t(type));
   }
}

std::string scope_name(VkScopeKHR scope)
{
   switch (scope) {
   case VK_SCOPE_SUBGROUP_KHR:
      return "subgroup";
   case VK_SCOPE_WORKGROUP_KHR:
      return "workgroup";
   default:
      return std::to_string(uint32_t(scope));
   }
}

const char *type_name(VkPhysicalDeviceType type)
{
   switch (type) {
   case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated GPU";
   case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete GPU";
   case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual GPU";
   case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "CPU";
   default:
      return "other";
   }
}

/// Reads all elements of an enumeration, which may grow between two calls.
template <typename T, typename Query>
std::vector<T> read_all(const Query &query, const T &blank = {})
{
   std::vector<T> list;
   VkResult result;
   do {
      uint32_t count = 0;
      if (query(&count, nullptr) < 0)
         return {};
      list.assign(count, blank);
      result = query(&count, list.data());
      list.resize(count);
   } while (result == VK_INCOMPLETE);
   return list;
}

/// Queries one instance.
class Session {
public:
   explicit Session(Findings &findings) : findings(findings) {}

   bool open()
   {
      findings.loader = version_of(loader);
      if (!findings.loader) {
         findings.error = "there is no Vulkan loader, libvulkan.so.1 (Debian's package libvulkan1, "
                          "Fedora's vulkan-loader)";
         return false;
      }
      const char *debug_utils = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
      const VkDebugUtilsMessengerCreateInfoEXT messenger = {
         .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
         .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
         .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT,
         .pfnUserCallback = take_message,
         .pUserData = &findings.messages,
      };
      const VkApplicationInfo application = {
         .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
         .pApplicationName = "weft-run",
         .apiVersion = std::min(findings.loader, uint32_t(VK_API_VERSION_1_3)),
      };
      VkInstanceCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
         .pApplicationInfo = &application,
      };
      const bool listens = has_instance_extension(debug_utils);
      if (listens) {
         info.pNext = &messenger;
         info.enabledExtensionCount = 1;
         info.ppEnabledExtensionNames = &debug_utils;
      }
      const VkResult result =
         loader.find<PFN_vkCreateInstance>("vkCreateInstance")(&info, nullptr, &instance);
      if (result != VK_SUCCESS) {
         findings.error = result == VK_ERROR_INCOMPATIBLE_DRIVER
                             ? "no driver works"
                             : "vkCreateInstance returned " + std::to_string(result);
         return false;
      }
      // Drivers report why they have no device when devices are enumerated.
      if (listens) {
         const auto create = loader.find<PFN_vkCreateDebugUtilsMessengerEXT>(
            "vkCreateDebugUtilsMessengerEXT", instance);
         VkDebugUtilsMessengerEXT handle;
         create(instance, &messenger, nullptr, &handle);
      }
      return true;
   }

   void find_devices()
   {
      for (VkPhysicalDevice device : list_devices())
         findings.devices.push_back(describe(device));
   }

   Result<std::string> read_driver_report(const std::string &name)
   {
      const auto query =
         find<PFN_vkGetPhysicalDeviceDriverReportWEFT>("vkGetPhysicalDeviceDriverReportWEFT");
      if (!query)
         return Error{"the layer is not active: it was not loaded, or a setting disables it"};
      std::string others;
      for (VkPhysicalDevice device : list_devices()) {
         const std::string found = properties_of(device).deviceName;
         others += "\n  " + found;
         if (found.find(name) == std::string::npos)
            continue;
         size_t size = 0;
         VkResult result = query(device, &size, nullptr);
         std::string text(size, 0);
         if (result == VK_SUCCESS)
            result = query(device, &size, text.data());
         if (result != VK_SUCCESS)
            return Error{found + ": the layer's query returned " + std::to_string(result)};
         text.pop_back(); // the terminating zero
         return text;
      }
      return Error{others.empty()
                      ? "no device"
                      : "no device with '" + name + "' in its name; there are" + others};
   }

private:
   template <typename F>
   F find(const char *name)
   {
      return loader.find<F>(name, instance);
   }

   std::vector<VkPhysicalDevice> list_devices()
   {
      const auto enumerate = find<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices");
      return read_all<VkPhysicalDevice>(
         [&](uint32_t *count, VkPhysicalDevice *out) { return enumerate(instance, count, out); });
   }

   VkPhysicalDeviceProperties properties_of(VkPhysicalDevice device)
   {
      VkPhysicalDeviceProperties properties;
      find<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(device, &properties);
      return properties;
   }

   bool has_instance_extension(const char *name)
   {
      const auto enumerate = loader.find<PFN_vkEnumerateInstanceExtensionProperties>(
         "vkEnumerateInstanceExtensionProperties");
      const auto all =
         read_all<VkExtensionProperties>([&](uint32_t *count, VkExtensionProperties *out) {
            return enumerate(nullptr, count, out);
         });
      return std::ranges::any_of(
         all, [&](const auto &extension) { return strcmp(extension.extensionName, name) == 0; });
   }

   FoundDevice describe(VkPhysicalDevice device)
   {
      const VkPhysicalDeviceProperties properties = properties_of(device);
      FoundDevice found = {
         .name = properties.deviceName,
         .type = type_name(properties.deviceType),
         .api_version = properties.apiVersion,
         .vendor_id = properties.vendorID,
         .device_id = properties.deviceID,
      };
      const auto enumerate =
         find<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
      const auto extensions =
         read_all<VkExtensionProperties>([&](uint32_t *count, VkExtensionProperties *out) {
            return enumerate(device, nullptr, count, out);
         });
      const auto has = [&](const char *name) {
         return std::ranges::any_of(
            extensions, [&](const auto &e) { return strcmp(e.extensionName, name) == 0; });
      };
      if (std::min(properties.apiVersion, findings.loader) >= VK_API_VERSION_1_1)
         read_properties(device, found);
      read_matrix_extensions(device, found, has);
      if (found.has_matrices())
         read_operations(device, found);
      return found;
   }

   void read_properties(VkPhysicalDevice device, FoundDevice &found)
   {
      const uint32_t version = std::min(found.api_version, findings.loader);
      VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
      VkPhysicalDeviceDriverProperties driver = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
         .pNext = version >= VK_API_VERSION_1_3 ? &sizes : nullptr,
      };
      VkPhysicalDeviceSubgroupProperties subgroup = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
         .pNext = version >= VK_API_VERSION_1_2 ? &driver : nullptr,
      };
      VkPhysicalDeviceProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
         .pNext = &subgroup,
      };
      find<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(device,
                                                                                 &properties);
      found.driver = driver.driverName;
      found.driver_info = driver.driverInfo;
      found.subgroup_size = subgroup.subgroupSize;
      found.min_subgroup_size = sizes.minSubgroupSize;
      found.max_subgroup_size = sizes.maxSubgroupSize;
   }

   template <typename Has>
   void read_matrix_extensions(VkPhysicalDevice device, FoundDevice &found, const Has &has)
   {
      const auto query = find<PFN_vkGetPhysicalDeviceMatrixExtensionsWEFT>(
         "vkGetPhysicalDeviceMatrixExtensionsWEFT");
      if (query) {
         findings.layer_answers = true;
         for (const WeftMatrixExtension &extension :
              read_all<WeftMatrixExtension>([&](uint32_t *count, WeftMatrixExtension *out) {
                 return query(device, count, out);
              }))
            found.extensions.push_back(
               {extension.extensionName, extension.support, extension.reason});
         return;
      }
      for (const Row &row : rows) {
         const bool native = has(row.name) && has_feature(device, row);
         found.extensions.push_back(
            {row.name, native ? WEFT_MATRIX_SUPPORT_NATIVE : WEFT_MATRIX_SUPPORT_MISSING,
             native ? "" : "the driver lacks the extension"});
      }
   }

   bool has_feature(VkPhysicalDevice device, const Row &row)
   {
      const auto query = find<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2");
      if (row.features == VK_STRUCTURE_TYPE_MAX_ENUM || !query)
         return true;
      struct {
         VkBaseOutStructure header;
         VkBool32 features[3];
      } of_row = {.header = {.sType = row.features}};
      VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                            .pNext = &of_row};
      query(device, &features);
      return of_row.features[row.feature];
   }

   void read_operations(VkPhysicalDevice device, FoundDevice &found)
   {
      const auto query = find<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
         "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
      if (!query)
         return;
      const VkCooperativeMatrixPropertiesKHR blank = {
         .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
      for (const VkCooperativeMatrixPropertiesKHR &p : read_all<VkCooperativeMatrixPropertiesKHR>(
              [&](uint32_t *count, VkCooperativeMatrixPropertiesKHR *out) {
                 return query(device, count, out);
              },
              blank))
         found.operations.push_back(
            {p.MSize, p.NSize, p.KSize, type_name(p.AType), type_name(p.BType), type_name(p.CType),
             type_name(p.ResultType), p.saturatingAccumulation == VK_TRUE, scope_name(p.scope)});
   }

   Findings &findings;
   Loader loader;
   VkInstance instance = VK_NULL_HANDLE; ///< never destroyed, because some drivers crash on that
};

} // namespace

bool FoundDevice::has_matrices() const
{
   return std::ranges::any_of(extensions, [](const MatrixExtension &extension) {
      return extension.name == VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME &&
             extension.support != WEFT_MATRIX_SUPPORT_MISSING;
   });
}

uint32_t loader_version()
{
   return version_of(Loader());
}

Findings find_devices()
{
   Findings findings;
   Session session(findings);
   if (session.open())
      session.find_devices();
   return findings;
}

Result<std::string> read_driver_report(const std::string &name)
{
   Findings findings;
   Session session(findings);
   if (!session.open())
      return Error{findings.error};
   return session.read_driver_report(name);
}

std::vector<std::string> matrix_extension_names()
{
   std::vector<std::string> names;
   for (const Row &row : rows)
      names.emplace_back(row.name);
   return names;
}

std::string version_text(uint32_t version)
{
   return std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
          std::to_string(VK_API_VERSION_MINOR(version)) + "." +
          std::to_string(VK_API_VERSION_PATCH(version));
}

} // namespace weft::weft_run
