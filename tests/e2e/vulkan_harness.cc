// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/vulkan_harness.h"

#include "tests/e2e/time_limits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::e2e {

const char *result_name(VkResult result)
{
   switch (result) {
   case VK_SUCCESS:
      return "VK_SUCCESS";
   case VK_NOT_READY:
      return "VK_NOT_READY";
   case VK_TIMEOUT:
      return "VK_TIMEOUT";
   case VK_INCOMPLETE:
      return "VK_INCOMPLETE";
   case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
   case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
   case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
   case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
   case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT";
   case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
   case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
   case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
   case VK_ERROR_INVALID_SHADER_NV:
      return "VK_ERROR_INVALID_SHADER_NV";
   case VK_ERROR_UNKNOWN:
      return "VK_ERROR_UNKNOWN";
   default:
      return "another VkResult";
   }
}

Preprocessor *preprocessor = nullptr;
std::function<std::vector<uint32_t>(std::span<const uint32_t>)> change_module;

VulkanError::VulkanError(VkResult result, const std::string &what, const std::string &messages)
    : std::runtime_error(what + ": " + result_name(result) + " (" + std::to_string(result) + ")" +
                         (messages.empty() ? "" : "\n" + messages)),
      result(result), messages(messages)
{
}

static void check(VkResult result, const char *what)
{
   if (result != VK_SUCCESS)
      throw VulkanError(result, what);
}

/* ---- device ---- */

Device::Device(bool robust, ShaderKind shader_kind) : shader_kind(shader_kind)
{
   try {
      create_instance();
      choose_physical();
      query();
      create_device(robust);
   } catch (...) {
      destroy();
      throw;
   }
}

Device::~Device()
{
   destroy();
}

void Device::destroy()
{
   if (device) {
      vkDestroyCommandPool(device, pool, nullptr);
      vkDestroyDevice(device, nullptr);
   }
   if (messenger) {
      auto destroy_messenger = PFN_vkDestroyDebugUtilsMessengerEXT(
         vkGetInstanceProcAddr(instance, "vkDestroyDebugUtilsMessengerEXT"));
      destroy_messenger(instance, messenger, nullptr);
   }
   if (instance)
      vkDestroyInstance(instance, nullptr);
}

std::function<void(const std::string &)> on_validation_error;

/// Rules that the validation layers of Debian 13 (1.4.309) judge wrongly, and of which pipelines.
struct Misjudged {
   const char *rule;
   bool (*pipeline)(const Device &, const PipelineOptions &);
};

static bool ids_are_not_places(const Device &, const PipelineOptions &options)
{
   const std::vector<SpecConstant> &constants = options.spec_constants;
   return std::any_of(constants.begin(), constants.end(), [&](const SpecConstant &constant) {
      return constant.id != uint32_t(&constant - constants.data());
   });
}

static const Misjudged misjudged[] = {
   // A workgroup's size is compared with the device's default subgroup size although the pipeline
   // requires another (KhronosGroup/Vulkan-ValidationLayers, issue 9843).  Rule
   // VkPipelineShaderStageCreateInfo-pNext-02757 compares it with the right one.
   {"VUID-VkPipelineShaderStageCreateInfo-module-08987",
    [](const Device &device, const PipelineOptions &options) {
       return options.subgroup_size && device.can_require_subgroup_size() &&
              options.subgroup_size != device.properties11.subgroupSize;
    }},
   // A specialization constant in a matrix type is looked up at the place in the list that is its id.
   {"VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10163", ids_are_not_places},
   {"VUID-VkPipelineShaderStageCreateInfo-module-10169", ids_are_not_places},
};

/// Khronos' validation layers name the rule that was broken, as drivers do not.  The loader and our
/// layer have names for theirs too, of the general type.
static bool is_validation_error(const Device &device,
                                VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                VkDebugUtilsMessageTypeFlagsEXT types,
                                const VkDebugUtilsMessengerCallbackDataEXT &data)
{
   if (!(severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) ||
       !(types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) || !data.pMessageIdName ||
       !data.pMessageIdName[0])
      return false;
   return !device.creating ||
          std::none_of(std::begin(misjudged), std::end(misjudged), [&](const Misjudged &m) {
             return strcmp(data.pMessageIdName, m.rule) == 0 &&
                    m.pipeline(device, *device.creating);
          });
}

VKAPI_ATTR VkBool32 VKAPI_CALL Device::take_message(
   VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT types,
   const VkDebugUtilsMessengerCallbackDataEXT *data, void *device_pointer)
{
   Device &device = *static_cast<Device *>(device_pointer);
   if (!data->pMessage)
      return VK_FALSE;
   device.messages += std::string(data->pMessage) + "\n";
   if (on_validation_error && is_validation_error(device, severity, types, *data))
      on_validation_error(data->pMessage);
   return VK_FALSE;
}

void Device::create_instance()
{
   // What was compiled on this machine before is none of the tests' business.
   setenv("WEFT_SHADER_CACHE_DISABLE", "true", 0);
   const VkApplicationInfo application = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
      .pApplicationName = "weft tests",
      .apiVersion = VK_API_VERSION_1_3,
   };
   const VkDebugUtilsMessengerCreateInfoEXT messenger_info = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
      .pfnUserCallback = take_message,
      .pUserData = this,
   };
   const char *const names[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
   const VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      // Hears what is said while the instance is made and destroyed.
      .pNext = &messenger_info,
      .pApplicationInfo = &application,
      .enabledExtensionCount = 1,
      .ppEnabledExtensionNames = names,
   };
   check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");

   auto create_messenger = PFN_vkCreateDebugUtilsMessengerEXT(
      vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
   check(create_messenger(instance, &messenger_info, nullptr, &messenger),
         "vkCreateDebugUtilsMessengerEXT");
}

void Device::choose_physical()
{
   uint32_t count = 0;
   check(vkEnumeratePhysicalDevices(instance, &count, nullptr), "vkEnumeratePhysicalDevices");
   std::vector<VkPhysicalDevice> all(count);
   check(vkEnumeratePhysicalDevices(instance, &count, all.data()), "vkEnumeratePhysicalDevices");
   const char *wanted = getenv("WEFT_TEST_DEVICE");
   for (VkPhysicalDevice candidate : all) {
      vkGetPhysicalDeviceProperties(candidate, &properties);
      if (wanted && !strstr(properties.deviceName, wanted))
         continue;
      uint32_t families = 0;
      vkGetPhysicalDeviceQueueFamilyProperties(candidate, &families, nullptr);
      std::vector<VkQueueFamilyProperties> family(families);
      vkGetPhysicalDeviceQueueFamilyProperties(candidate, &families, family.data());
      for (uint32_t i = 0; i < families; i++) {
         if (family[i].queueFlags & VK_QUEUE_COMPUTE_BIT) {
            physical = candidate;
            queue_family = i;
            return;
         }
      }
   }
   throw VulkanError(VK_ERROR_INITIALIZATION_FAILED, "no such Vulkan device with a compute queue");
}

bool Device::has_extension(const char *name) const
{
   // The validation layers in reach know none of these, and object.
   if (getenv("WEFT_TEST_VALIDATION")) {
      for (const char *newer :
           {VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME, VK_EXT_SHADER_FLOAT8_EXTENSION_NAME,
            VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_EXTENSION_NAME,
            VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_EXTENSION_NAME,
            VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_EXTENSION_NAME}) {
         if (strcmp(name, newer) == 0)
            return false;
      }
   }
   return std::any_of(extensions.begin(), extensions.end(), [&](const VkExtensionProperties &e) {
      return strcmp(e.extensionName, name) == 0;
   });
}

void Device::query()
{
   uint32_t count = 0;
   check(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr),
         "device extensions");
   extensions.resize(count);
   check(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data()),
         "device extensions");
   vkGetPhysicalDeviceMemoryProperties(physical, &memory);

   properties11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
   properties12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
                   .pNext = &properties11};
   properties13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES,
                   .pNext = &properties12};
   VkPhysicalDeviceProperties2 properties2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &properties13};
   vkGetPhysicalDeviceProperties2(physical, &properties2);
   properties = properties2.properties;

   // Whatever a profile presents, what the driver is remains there.
   is_weft = strncmp(properties12.driverInfo, "Weft ", 5) == 0;
   count = 0;
   check(vkGetPhysicalDeviceToolProperties(physical, &count, nullptr), "tools");
   std::vector<VkPhysicalDeviceToolProperties> tools(
      count, {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TOOL_PROPERTIES});
   check(vkGetPhysicalDeviceToolProperties(physical, &count, tools.data()), "tools");
   for (const VkPhysicalDeviceToolProperties &tool : tools)
      has_weft_layer |= strstr(tool.layer, "VK_LAYER_WEFT") != nullptr;

   const bool matrices = has_extension(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   matrix_features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
   nv_matrix_features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV};
   bfloat16_features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR};
   float8_features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT};
   conversion_features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_CONVERSION_FEATURES_QCOM};
   layouts_features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_LAYOUTS_FEATURES_ARM};
   matrix2_features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV};
   decode_vector_features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_DECODE_VECTOR_FEATURES_NV};
   maintenance1_features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_MAINTENANCE_1_FEATURES_EXT};
   void *chain = nullptr;
   const auto add = [&](const char *extension, auto &structure) {
      if (!has_extension(extension))
         return;
      structure.pNext = chain;
      chain = &structure;
   };
   add(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, matrix_features);
   add(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME, nv_matrix_features);
   add(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME, bfloat16_features);
   add(VK_EXT_SHADER_FLOAT8_EXTENSION_NAME, float8_features);
   add(VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_EXTENSION_NAME, conversion_features);
   add(VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_EXTENSION_NAME, layouts_features);
   add(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME, matrix2_features);
   add(VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_EXTENSION_NAME, decode_vector_features);
   add(VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_EXTENSION_NAME, maintenance1_features);
   features11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = chain};
   features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                 .pNext = &features11};
   features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                 .pNext = &features12};
   VkPhysicalDeviceFeatures2 features2 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &features13};
   vkGetPhysicalDeviceFeatures2(physical, &features2);
   features = features2.features;

   if (matrices) {
      auto get = PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(
         vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
      if (!get)
         throw VulkanError(VK_ERROR_EXTENSION_NOT_PRESENT,
                           "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
      check(get(physical, &count, nullptr), "cooperative matrix properties");
      matrix_properties.assign(count,
                               {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
      check(get(physical, &count, matrix_properties.data()), "cooperative matrix properties");
   }
   if (has_extension(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME)) {
      auto get = PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV(
         vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV"));
      if (!get)
         throw VulkanError(VK_ERROR_EXTENSION_NOT_PRESENT,
                           "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV");
      check(get(physical, &count, nullptr), "properties of VK_NV_cooperative_matrix");
      nv_matrix_properties.assign(count,
                                  {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV});
      check(get(physical, &count, nv_matrix_properties.data()),
            "properties of VK_NV_cooperative_matrix");
   }
   if (matrix2_features.cooperativeMatrixFlexibleDimensions)
      query_flexible_dimensions();
   if (preprocessor)
      preprocessor->set_matrix_properties(*this);
}

void Device::query_flexible_dimensions()
{
   matrix2_properties = {.sType =
                            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV};
   VkPhysicalDeviceProperties2 properties2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &matrix2_properties};
   vkGetPhysicalDeviceProperties2(physical, &properties2);
   const char *name = "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV";
   auto get = PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV(
      vkGetInstanceProcAddr(instance, name));
   if (!get)
      throw VulkanError(VK_ERROR_EXTENSION_NOT_PRESENT, name);
   uint32_t count = 0;
   check(get(physical, &count, nullptr), "flexible dimensions");
   const auto type = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV;
   flexible_properties.assign(count, {.sType = type});
   check(get(physical, &count, flexible_properties.data()), "flexible dimensions");
}

void Device::create_device(bool robust)
{
   features.robustBufferAccess = robust && features.robustBufferAccess;
   matrix_features.cooperativeMatrixRobustBufferAccess =
      robust && matrix_features.cooperativeMatrixRobustBufferAccess;
   nv_matrix_features.cooperativeMatrixRobustBufferAccess =
      robust && nv_matrix_features.cooperativeMatrixRobustBufferAccess;
   const VkPhysicalDeviceFeatures2 features2 = {.sType =
                                                   VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                                .pNext = &features13,
                                                .features = features};
   const float priority = 1;
   const VkDeviceQueueCreateInfo queue_info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
      .queueFamilyIndex = queue_family,
      .queueCount = 1,
      .pQueuePriorities = &priority,
   };
   std::vector<const char *> names;
   for (const char *name :
        {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME,
         VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME,
         VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_EXTENSION_NAME,
         VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_EXTENSION_NAME,
         VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_EXTENSION_NAME,
         VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_EXTENSION_NAME, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME,
         VK_EXT_SHADER_FLOAT8_EXTENSION_NAME, VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME}) {
      if (has_extension(name))
         names.push_back(name);
   }
   VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR rotate = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_ROTATE_FEATURES_KHR,
      .pNext = const_cast<VkPhysicalDeviceFeatures2 *>(&features2),
      .shaderSubgroupRotate = VK_TRUE,
      .shaderSubgroupRotateClustered = VK_FALSE,
   };
   const bool has_rotate = has_extension(VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME);
   const void *const chain = has_rotate ? static_cast<const void *>(&rotate) : &features2;
   const VkPhysicalDeviceShaderObjectFeaturesEXT objects = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT,
      .pNext = const_cast<void *>(chain),
      .shaderObject = VK_TRUE,
   };
   if (shader_kind == ShaderKind::object)
      names.push_back(VK_EXT_SHADER_OBJECT_EXTENSION_NAME);
   const VkDeviceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .pNext = shader_kind == ShaderKind::object ? &objects : chain,
      .queueCreateInfoCount = 1,
      .pQueueCreateInfos = &queue_info,
      .enabledExtensionCount = uint32_t(names.size()),
      .ppEnabledExtensionNames = names.data(),
   };
   check(vkCreateDevice(physical, &info, nullptr, &device), "vkCreateDevice");
   vkGetDeviceQueue(device, queue_family, 0, &queue);

   const VkCommandPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .queueFamilyIndex = queue_family,
   };
   check(vkCreateCommandPool(device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
}

bool Device::can_require_subgroup_size() const
{
   return features13.subgroupSizeControl && features13.computeFullSubgroups &&
          (properties13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
}

std::vector<uint32_t> Device::subgroup_sizes() const
{
   if (!can_require_subgroup_size())
      return {properties11.subgroupSize};
   std::vector<uint32_t> sizes;
   for (uint32_t size = properties13.minSubgroupSize; size <= properties13.maxSubgroupSize;
        size *= 2)
      sizes.push_back(size);
   return sizes;
}

uint32_t Device::memory_type(uint32_t allowed, MemoryPlace place) const
{
   const VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
   const VkMemoryPropertyFlags best =
      wanted | (place == MemoryPlace::host ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT
                                           : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
   for (VkMemoryPropertyFlags flags : {best, wanted}) {
      for (uint32_t i = 0; i < memory.memoryTypeCount; i++) {
         if ((allowed & 1u << i) && (memory.memoryTypes[i].propertyFlags & flags) == flags)
            return i;
      }
   }
   throw VulkanError(VK_ERROR_OUT_OF_DEVICE_MEMORY, "no host-visible coherent memory type");
}

std::string Device::take_messages()
{
   std::string taken;
   taken.swap(messages);
   return taken;
}

/* ---- buffer ---- */

Buffer::Buffer(Device &device, VkDeviceSize size, MemoryPlace place) : device(device), length(size)
{
   const bool addressable = device.features12.bufferDeviceAddress;
   const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = size,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
               (addressable ? VkBufferUsageFlags(VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) : 0),
   };
   check(vkCreateBuffer(device.device, &info, nullptr, &buffer), "vkCreateBuffer");
   VkMemoryRequirements requirements;
   vkGetBufferMemoryRequirements(device.device, buffer, &requirements);
   const VkMemoryAllocateFlagsInfo flags = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
   };
   const VkMemoryAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = addressable ? &flags : nullptr,
      .allocationSize = requirements.size,
      .memoryTypeIndex = device.memory_type(requirements.memoryTypeBits, place),
   };
   check(vkAllocateMemory(device.device, &allocate, nullptr, &memory), "vkAllocateMemory");
   check(vkBindBufferMemory(device.device, buffer, memory, 0), "vkBindBufferMemory");
   void *pointer;
   check(vkMapMemory(device.device, memory, 0, VK_WHOLE_SIZE, 0, &pointer), "vkMapMemory");
   mapped = static_cast<std::byte *>(pointer);
}

Buffer::~Buffer()
{
   vkDestroyBuffer(device.device, buffer, nullptr);
   vkFreeMemory(device.device, memory, nullptr);
}

VkDeviceAddress Buffer::address() const
{
   const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                           .buffer = buffer};
   return vkGetBufferDeviceAddress(device.device, &info);
}

/* ---- pipeline ---- */

Pipeline::Pipeline(Device &device, std::span<const uint32_t> spirv, const PipelineOptions &options)
    : device(device), options(options)
{
   device.creating = &this->options;
   try {
      create(spirv);
   } catch (...) {
      device.creating = nullptr;
      destroy();
      throw;
   }
   device.creating = nullptr;
}

Pipeline::~Pipeline()
{
   destroy();
}

template <typename Function>
static Function device_function(const Device &device, const char *name)
{
   const auto function = reinterpret_cast<Function>(vkGetDeviceProcAddr(device.device, name));
   if (!function)
      throw VulkanError(VK_ERROR_EXTENSION_NOT_PRESENT, name);
   return function;
}

void Pipeline::destroy()
{
   vkDestroyFence(device.device, fence, nullptr);
   vkDestroyDescriptorPool(device.device, descriptor_pool, nullptr);
   if (shader)
      device_function<PFN_vkDestroyShaderEXT>(device, "vkDestroyShaderEXT")(device.device, shader,
                                                                            nullptr);
   vkDestroyPipeline(device.device, pipeline, nullptr);
   vkDestroyPipelineLayout(device.device, layout, nullptr);
   vkDestroyDescriptorSetLayout(device.device, set_layout, nullptr);
   vkDestroyShaderModule(device.device, module, nullptr);
}

void Pipeline::create(std::span<const uint32_t> spirv)
{
   std::vector<uint32_t> changed, lowered;
   if (change_module) {
      changed = change_module(spirv);
      spirv = changed;
   }
   if (preprocessor) {
      lowered = preprocessor->lower(device, spirv, options);
      spirv = lowered;
   }
   create_layout();
   device.take_messages();
   const bool object = device.shader_kind == ShaderKind::object;
   const VkResult result = object ? create_shader_object(spirv) : create_pipeline(spirv);
   if (result != VK_SUCCESS)
      throw VulkanError(result, object ? "vkCreateShadersEXT" : "vkCreateComputePipelines",
                        device.take_messages());
   create_descriptors();
}

VkDescriptorType Pipeline::descriptor_type(uint32_t binding) const
{
   const bool uniform = binding < 32 && options.uniform_bindings >> binding & 1;
   return uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

void Pipeline::create_layout()
{
   std::vector<VkDescriptorSetLayoutBinding> bindings;
   for (uint32_t count : options.bindings) {
      const auto binding = uint32_t(bindings.size());
      bindings.push_back({.binding = binding,
                          .descriptorType = descriptor_type(binding),
                          .descriptorCount = count,
                          .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT});
   }
   const VkDescriptorSetLayoutCreateInfo set_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = uint32_t(bindings.size()),
      .pBindings = bindings.data(),
   };
   check(vkCreateDescriptorSetLayout(device.device, &set_info, nullptr, &set_layout),
         "vkCreateDescriptorSetLayout");
   const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                     .size = options.push_bytes};
   const VkPipelineLayoutCreateInfo layout_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = 1,
      .pSetLayouts = &set_layout,
      .pushConstantRangeCount = options.push_bytes ? 1u : 0u,
      .pPushConstantRanges = &push,
   };
   check(vkCreatePipelineLayout(device.device, &layout_info, nullptr, &layout),
         "vkCreatePipelineLayout");
}

namespace {

/// What pipelines and shader objects are told of their options.
struct Stage {
   Stage(const Device &device, const PipelineOptions &options)
       : constants(options.spec_constants),
         requires_size(options.subgroup_size && device.can_require_subgroup_size())
   {
      for (uint32_t i = 0; i < constants.size(); i++) {
         entries.push_back(
            {.constantID = constants[i].id,
             .offset = uint32_t(i * sizeof(SpecConstant) + offsetof(SpecConstant, value)),
             .size = sizeof(constants[i].value)});
      }
      specialization = {uint32_t(entries.size()), entries.data(),
                        constants.size() * sizeof(SpecConstant), constants.data()};
      size = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
              .requiredSubgroupSize = options.subgroup_size};
   }
   Stage(const Stage &) = delete;
   Stage &operator=(const Stage &) = delete;

   const std::vector<SpecConstant> &constants;
   const bool requires_size;
   std::vector<VkSpecializationMapEntry> entries;
   VkSpecializationInfo specialization;
   VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size;
};

} // namespace

VkResult Pipeline::create_pipeline(std::span<const uint32_t> spirv)
{
   const VkShaderModuleCreateInfo module_info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = spirv.size_bytes(),
      .pCode = spirv.data(),
   };
   const VkResult result = vkCreateShaderModule(device.device, &module_info, nullptr, &module);
   if (result != VK_SUCCESS)
      throw VulkanError(result, "vkCreateShaderModule", device.take_messages());
   const Stage stage(device, options);
   const VkPipelineShaderStageCreateFlags full =
      VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
   const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags = options.only_cached
                  ? VkPipelineCreateFlags(VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT)
                  : 0,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .pNext = stage.requires_size ? &stage.size : nullptr,
            .flags = stage.requires_size ? full : 0,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = module,
            .pName = "main",
            .pSpecializationInfo = &stage.specialization,
         },
      .layout = layout,
   };
   return vkCreateComputePipelines(device.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
}

VkResult Pipeline::create_shader_object(std::span<const uint32_t> spirv)
{
   const Stage stage(device, options);
   const VkShaderCreateFlagsEXT full = VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
   const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                     .size = options.push_bytes};
   const VkShaderCreateInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
      .pNext = stage.requires_size ? &stage.size : nullptr,
      .flags = stage.requires_size ? full : 0,
      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
      .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
      .codeSize = spirv.size_bytes(),
      .pCode = spirv.data(),
      .pName = "main",
      .setLayoutCount = 1,
      .pSetLayouts = &set_layout,
      .pushConstantRangeCount = options.push_bytes ? 1u : 0u,
      .pPushConstantRanges = &push,
      .pSpecializationInfo = &stage.specialization,
   };
   return device_function<PFN_vkCreateShadersEXT>(device, "vkCreateShadersEXT")(
      device.device, 1, &info, nullptr, &shader);
}

void Pipeline::create_descriptors()
{
   std::vector<VkDescriptorPoolSize> sizes;
   for (uint32_t binding = 0; binding < options.bindings.size(); binding++) {
      if (const uint32_t count = options.bindings[binding])
         sizes.push_back({descriptor_type(binding), count});
   }
   if (sizes.empty())
      sizes.push_back({VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1});
   const VkDescriptorPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .maxSets = 1,
      .poolSizeCount = uint32_t(sizes.size()),
      .pPoolSizes = sizes.data(),
   };
   check(vkCreateDescriptorPool(device.device, &pool_info, nullptr, &descriptor_pool),
         "vkCreateDescriptorPool");
   const VkDescriptorSetAllocateInfo set_allocate = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = descriptor_pool,
      .descriptorSetCount = 1,
      .pSetLayouts = &set_layout,
   };
   check(vkAllocateDescriptorSets(device.device, &set_allocate, &set), "vkAllocateDescriptorSets");
   const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   check(vkCreateFence(device.device, &fence_info, nullptr, &fence), "vkCreateFence");
}

void Pipeline::write_descriptors(const std::vector<BufferRange> &buffers)
{
   std::vector<VkDescriptorBufferInfo> infos;
   for (const BufferRange &range : buffers)
      infos.push_back({range.buffer->handle(), range.offset, range.size});
   std::vector<VkWriteDescriptorSet> writes;
   size_t next = 0;
   for (uint32_t binding = 0; binding < options.bindings.size(); binding++) {
      const uint32_t count = options.bindings[binding];
      if (next + count > infos.size())
         throw std::logic_error("fewer buffers than bindings");
      writes.push_back({.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                        .dstSet = set,
                        .dstBinding = binding,
                        .descriptorCount = count,
                        .descriptorType = descriptor_type(binding),
                        .pBufferInfo = &infos[next]});
      next += count;
   }
   vkUpdateDescriptorSets(device.device, uint32_t(writes.size()), writes.data(), 0, nullptr);
}

void Pipeline::bind(VkCommandBuffer commands) const
{
   if (device.shader_kind == ShaderKind::pipeline) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      return;
   }
   const VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
   device_function<PFN_vkCmdBindShadersEXT>(device, "vkCmdBindShadersEXT")(commands, 1, &stage,
                                                                           &shader);
}

void Pipeline::record(VkCommandBuffer commands, Groups groups, std::span<const std::byte> push,
                      uint32_t times)
{
   const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
   check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
   bind(commands);
   if (!options.bindings.empty())
      vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                              nullptr);
   if (!push.empty())
      vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, uint32_t(push.size()),
                         push.data());
   const auto barrier = [&](VkPipelineStageFlags stage, VkAccessFlags access) {
      const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                      .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                      .dstAccessMask = access};
      vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, stage, 0, 1, &memory, 0,
                           nullptr, 0, nullptr);
   };
   for (uint32_t i = 0; i < times; i++) {
      if (i > 0)
         barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                 VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
      vkCmdDispatch(commands, groups.x, groups.y, groups.z);
   }
   barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
   check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

void Pipeline::dispatch(const std::vector<BufferRange> &buffers, Groups groups,
                        std::span<const std::byte> push, uint32_t times)
{
   write_descriptors(buffers);
   const VkCommandBufferAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = device.pool,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1,
   };
   VkCommandBuffer commands;
   check(vkAllocateCommandBuffers(device.device, &allocate, &commands), "vkAllocateCommandBuffers");
   record(commands, groups, push, times);

   const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &commands};
   // Drivers may compile at the first dispatch, as Weft's does: matrices that the layer has spread
   // over registers can take LLVM half a minute.
   VkResult result = vkQueueSubmit(device.queue, 1, &submit, fence);
   if (result == VK_SUCCESS)
      result = vkWaitForFences(device.device, 1, &fence, VK_TRUE, hang_limit * 1'000'000'000ull);
   if (result == VK_TIMEOUT) {
      fprintf(stderr,
              "a dispatch has not finished after %u s: what it uses cannot be destroyed, so this "
              "ends here\n",
              hang_limit);
      _Exit(EXIT_FAILURE);
   }
   if (result == VK_SUCCESS)
      result = vkResetFences(device.device, 1, &fence);
   vkFreeCommandBuffers(device.device, device.pool, 1, &commands);
   check(result, "submission");
}

} // namespace weft::e2e
