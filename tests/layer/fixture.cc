// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/layer/fixture.h"

#include "tests/layer/allocation.h"

#include <algorithm>
#include <cstdlib>

extern "C" VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *);

namespace weft::layer_test {

Environment::Environment(const char *name, const char *value) : name(name)
{
   setenv(name, value, 1);
}

Environment::~Environment()
{
   unsetenv(name);
}

LayerTest::LayerTest()
{
   // Removes the caller's settings, so that only the test's settings count.
   for (const char *name : {"WEFT_LOWERING", "WEFT_PROFILE", "WEFT_DEBUG"})
      unsetenv(name);
   setenv("VK_LAYER_SETTINGS_PATH", "/nonexistent", 1);
   setenv("XDG_DATA_HOME", "/nonexistent", 1);
   layer = {.sType = LAYER_NEGOTIATE_INTERFACE_STRUCT, .loaderLayerInterfaceVersion = 2};
   EXPECT_VK(vkNegotiateLoaderLayerInterfaceVersion(&layer));
}

LayerTest::~LayerTest()
{
   destroy_device();
   destroy_instance();
}

VkResult LayerTest::create_instance(uint32_t api_version, const void *next)
{
   VkLayerInstanceLink link = {nullptr, FakeDriver::get_instance_proc_addr, nullptr};
   VkLayerInstanceCreateInfo loader = {
      .sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
      .pNext = next,
      .function = VK_LAYER_LINK_INFO,
      .u = {.pLayerInfo = &link},
   };
   const VkApplicationInfo application = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
      .pEngineName = engine,
      .apiVersion = api_version,
   };
   const VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .pNext = &loader,
      .pApplicationInfo = &application,
   };
   instance = VK_NULL_HANDLE;
   const VkResult result =
      instance_function<PFN_vkCreateInstance>("vkCreateInstance")(&info, nullptr, &instance);
   if (result != VK_SUCCESS)
      return result;
   const auto hear = [](VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                        VkDebugUtilsMessageTypeFlagsEXT,
                        const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
      const WithoutInjection w;
      auto *test = static_cast<LayerTest *>(user);
      const std::lock_guard lock(test->messages_mutex);
      (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT ? test->messages : test->infos)
         .emplace_back(data->pMessage);
      return VkBool32(VK_FALSE);
   };
   const VkResult listening = create_messenger(messenger_info(hear, this), &messenger);
   if (listening != VK_SUCCESS) {
      destroy_instance();
      return listening;
   }
   uint32_t count = 1;
   return instance_function<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(
      instance, &count, &physical);
}

VkResult LayerTest::create_device(const VkDeviceCreateInfo &wanted)
{
   VkLayerDeviceLink link = {nullptr, FakeDriver::get_instance_proc_addr,
                             FakeDriver::get_device_proc_addr};
   const VkLayerDeviceCreateInfo loader = {
      .sType = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
      .pNext = wanted.pNext,
      .function = VK_LAYER_LINK_INFO,
      .u = {.pLayerInfo = &link},
   };
   VkDeviceCreateInfo info = wanted;
   info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
   info.pNext = &loader;
   return instance_function<PFN_vkCreateDevice>("vkCreateDevice")(physical, &info, nullptr,
                                                                  &device);
}

VkResult LayerTest::create_matrix_device(const void *next)
{
   const VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
      .pNext = const_cast<void *>(next),
      .cooperativeMatrix = VK_TRUE,
   };
   const char *const names[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};
   return create_device(
      {.pNext = &matrices, .enabledExtensionCount = 1, .ppEnabledExtensionNames = names});
}

void LayerTest::destroy_device()
{
   if (device)
      device_function<PFN_vkDestroyDevice>("vkDestroyDevice")(device, nullptr);
   device = VK_NULL_HANDLE;
}

void LayerTest::destroy_instance()
{
   if (messenger)
      destroy_messenger(messenger);
   messenger = VK_NULL_HANDLE;
   if (instance)
      instance_function<PFN_vkDestroyInstance>("vkDestroyInstance")(instance, nullptr);
   instance = VK_NULL_HANDLE;
}

VkDebugUtilsMessengerCreateInfoEXT
LayerTest::messenger_info(PFN_vkDebugUtilsMessengerCallbackEXT callback, void *user)
{
   return {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_VERBOSE_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
      .pfnUserCallback = callback,
      .pUserData = user,
   };
}

VkResult LayerTest::create_messenger(const VkDebugUtilsMessengerCreateInfoEXT &info,
                                     VkDebugUtilsMessengerEXT *out)
{
   return instance_function<PFN_vkCreateDebugUtilsMessengerEXT>("vkCreateDebugUtilsMessengerEXT")(
      instance, &info, nullptr, out);
}

void LayerTest::destroy_messenger(VkDebugUtilsMessengerEXT old)
{
   instance_function<PFN_vkDestroyDebugUtilsMessengerEXT>("vkDestroyDebugUtilsMessengerEXT")(
      instance, old, nullptr);
}

std::vector<std::string> LayerTest::extension_names()
{
   auto enumerate = instance_function<PFN_vkEnumerateDeviceExtensionProperties>(
      "vkEnumerateDeviceExtensionProperties");
   uint32_t count = 0;
   EXPECT_VK(enumerate(physical, nullptr, &count, nullptr));
   std::vector<VkExtensionProperties> list(count);
   EXPECT_VK(enumerate(physical, nullptr, &count, list.data()));
   EXPECT_EQ(count, list.size());
   std::vector<std::string> names;
   for (const VkExtensionProperties &extension : list)
      names.emplace_back(extension.extensionName);
   return names;
}

bool LayerTest::advertised()
{
   const std::vector<std::string> names = extension_names();
   const auto count =
      std::ranges::count(names, std::string(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME));
   EXPECT_LE(count, 1);
   return count;
}

std::vector<VkCooperativeMatrixPropertiesKHR> LayerTest::matrix_properties()
{
   auto get = instance_function<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
   uint32_t count = 0;
   EXPECT_VK(get(physical, &count, nullptr));
   std::vector<VkCooperativeMatrixPropertiesKHR> list(
      count, {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
   EXPECT_VK(get(physical, &count, list.data()));
   return list;
}

std::vector<WeftMatrixExtension> LayerTest::matrix_extensions()
{
   const auto query = instance_function<PFN_vkGetPhysicalDeviceMatrixExtensionsWEFT>(
      "vkGetPhysicalDeviceMatrixExtensionsWEFT");
   uint32_t count = 0;
   EXPECT_VK(query(physical, &count, nullptr));
   std::vector<WeftMatrixExtension> extensions(count);
   EXPECT_VK(query(physical, &count, extensions.data()));
   return extensions;
}

VkShaderModule LayerTest::make_module(const std::vector<uint32_t> &words)
{
   const VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = words.size() * sizeof(uint32_t),
      .pCode = words.data(),
   };
   VkShaderModule module = VK_NULL_HANDLE;
   EXPECT_VK(device_function<PFN_vkCreateShaderModule>("vkCreateShaderModule")(device, &info,
                                                                               nullptr, &module));
   return module;
}

void LayerTest::destroy_module(VkShaderModule module)
{
   device_function<PFN_vkDestroyShaderModule>("vkDestroyShaderModule")(device, module, nullptr);
}

VkResult LayerTest::create_pipelines(std::span<const VkComputePipelineCreateInfo> infos,
                                     std::span<VkPipeline> out)
{
   return device_function<PFN_vkCreateComputePipelines>("vkCreateComputePipelines")(
      device, VK_NULL_HANDLE, uint32_t(infos.size()), infos.data(), nullptr, out.data());
}

void LayerTest::destroy_pipelines(std::span<const VkPipeline> pipelines)
{
   for (VkPipeline pipeline : pipelines)
      device_function<PFN_vkDestroyPipeline>("vkDestroyPipeline")(device, pipeline, nullptr);
}

VkComputePipelineCreateInfo LayerTest::pipeline_info(VkShaderModule module, const char *entry,
                                                     const void *stage_next)
{
   return {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .pNext = stage_next,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = module,
            .pName = entry,
         },
      .basePipelineIndex = -1,
   };
}

} // namespace weft::layer_test
