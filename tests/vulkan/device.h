// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A device with all its features enabled. It goes through the loader: VK_DRIVER_FILES selects the
/// driver, and WEFT_TEST_DEVICE, a part of a device's name, one of the driver's devices. It needs
/// Vulkan 1.3 and a queue for compute.

#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace weft::vulkan {

struct PipelineOptions;

enum class MemoryPlace { host, device };

/// The kind of Vulkan object that a Pipeline creates.
enum class ShaderKind {
   pipeline,
   object, ///< of VK_EXT_shader_object; the device must have it
};

class Device {
public:
   /// If `robust`, accesses outside of a descriptor's range are defined. Matrix accesses are
   /// included if the device has cooperativeMatrixRobustBufferAccess.
   explicit Device(bool robust, ShaderKind = ShaderKind::pipeline);
   ~Device();
   Device(const Device &) = delete;
   Device &operator=(const Device &) = delete;

   const ShaderKind shader_kind;
   VkInstance instance = VK_NULL_HANDLE;
   VkPhysicalDevice physical = VK_NULL_HANDLE;
   VkDevice device = VK_NULL_HANDLE;
   VkQueue queue = VK_NULL_HANDLE;
   VkCommandPool pool = VK_NULL_HANDLE;

   VkPhysicalDeviceProperties properties = {};
   VkPhysicalDeviceVulkan11Properties properties11 = {};
   VkPhysicalDeviceVulkan12Properties properties12 = {};
   VkPhysicalDeviceVulkan13Properties properties13 = {};
   /// Supported features. All are enabled, except for robust access.
   VkPhysicalDeviceFeatures features = {};
   VkPhysicalDeviceVulkan11Features features11 = {};
   VkPhysicalDeviceVulkan12Features features12 = {};
   VkPhysicalDeviceVulkan13Features features13 = {};
   VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix_features = {};
   VkPhysicalDeviceCooperativeMatrixFeaturesNV nv_matrix_features = {};
   std::vector<VkCooperativeMatrixPropertiesNV> nv_matrix_properties;
   VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16_features = {};
   VkPhysicalDeviceShaderFloat8FeaturesEXT float8_features = {};
   VkPhysicalDeviceCooperativeMatrixConversionFeaturesQCOM conversion_features = {};
   VkPhysicalDeviceCooperativeMatrixLayoutsFeaturesARM layouts_features = {};
   VkPhysicalDeviceCooperativeMatrix2FeaturesNV matrix2_features = {};
   VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV decode_vector_features = {};
   VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT maintenance1_features = {};
   VkPhysicalDeviceShaderImageAtomicInt64FeaturesEXT image_int64_features = {};
   /// The list of vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR; empty without the extension.
   std::vector<VkCooperativeMatrixPropertiesKHR> matrix_properties;
   /// The list of vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV; empty without
   /// cooperativeMatrixFlexibleDimensions.
   std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> flexible_properties;
   VkPhysicalDeviceCooperativeMatrix2PropertiesNV matrix2_properties = {};

   bool has_extension(const char *name) const;
   /// Whether Weft compiles shaders with matrices: as the driver, or as a layer above it. The
   /// driver guarantees more than Vulkan requires.
   bool is_weft = false, has_weft_layer = false;
   /// The tested compiler may round sums of products of f16 to f16 (spirv::Driver::float16_sums).
   bool float16_sums = std::getenv("WEFT_TEST_FLOAT16_SUMS") != nullptr;
   /// Subgroup sizes that a pipeline may require, in ascending order. Without
   /// can_require_subgroup_size() the device's one size.
   std::vector<uint32_t> subgroup_sizes() const;
   bool can_require_subgroup_size() const;
   /// A type that the host can map: cached by the host, or local to the device, if one exists.
   uint32_t memory_type(uint32_t allowed, MemoryPlace) const;

   /// Submits finished commands, waits for their end and frees them. Ends the process if they hang.
   void run(VkCommandBuffer);

   /// Warnings and errors of VK_EXT_debug_utils since the last call.
   std::string take_messages();

   /// The options of the pipeline that is being created.
   const PipelineOptions *creating = nullptr;

private:
   void create_instance();
   void choose_physical();
   void query();
   void query_flexible_dimensions();
   void create_device(bool robust);
   void destroy();

   static VKAPI_ATTR VkBool32 VKAPI_CALL take_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                                      VkDebugUtilsMessageTypeFlagsEXT,
                                                      const VkDebugUtilsMessengerCallbackDataEXT *,
                                                      void *device);
   VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
   std::vector<std::string> extensions;
   uint32_t queue_family = 0;
   VkPhysicalDeviceMemoryProperties memory = {};
   std::string messages;
};

} // namespace weft::vulkan
