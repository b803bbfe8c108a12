// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The little of Vulkan that compute tests need: a device with every feature it has, buffers,
/// pipelines, dispatches. Goes through the loader and knows nothing of the driver below;
/// VK_DRIVER_FILES picks it, and WEFT_TEST_DEVICE (part of a device's name) where a driver has
/// several.  Needs Vulkan 1.3 with one queue that can compute.
///
/// Errors are thrown as VulkanError: in a test that is a failure with its message.

#pragma once

#include <vulkan/vulkan.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::e2e {

struct VulkanError : std::runtime_error {
   VkResult result;
   std::string messages; ///< what the driver said through VK_EXT_debug_utils meanwhile
   VulkanError(VkResult result, const std::string &what, const std::string &messages = "");
};

const char *result_name(VkResult);

class Device;
struct PipelineOptions;

/// A compiler that stands between the tests and the driver, for tests of that compiler: it gives
/// matrices to a device that has none.
class Preprocessor {
public:
   virtual ~Preprocessor() = default;
   /// Replaces the lists and limits of matrices, which are the driver's, by the compiler's.
   virtual void set_matrix_properties(Device &) = 0;
   /// What goes to the driver; specialization constants are folded.
   virtual std::vector<uint32_t> lower(const Device &, std::span<const uint32_t> spirv,
                                       const PipelineOptions &) = 0;
};

/// Null in tests of a driver.
extern Preprocessor *preprocessor;

/// Makes another module of each that a Pipeline is made of; empty where that stays as it is.
extern std::function<std::vector<uint32_t>(std::span<const uint32_t>)> change_module;

/// Called with what Khronos' validation layers object to, where they are switched on.
extern std::function<void(const std::string &)> on_validation_error;

enum class MemoryPlace { host, device };

/// What a Pipeline is made of.
enum class ShaderKind {
   pipeline,
   object, ///< VK_EXT_shader_object, which the device has to have
};

class Device {
public:
   /// With robust, buffer accesses outside of their descriptors' ranges are defined, matrix
   /// accesses among them where the device has cooperativeMatrixRobustBufferAccess.
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
   /// What is there, and all of it enabled (robust accesses apart).
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
   /// Of vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR; empty without the extension.
   std::vector<VkCooperativeMatrixPropertiesKHR> matrix_properties;
   /// Of vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV; empty without
   /// cooperativeMatrixFlexibleDimensions.
   std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> flexible_properties;
   VkPhysicalDeviceCooperativeMatrix2PropertiesNV matrix2_properties = {};

   bool has_extension(const char *name) const;
   /// Whether Weft compiles shaders with matrices here: as the driver, or as a layer above it,
   /// which leaves all others to the driver.  The driver promises more than Vulkan asks for.
   bool is_weft = false, has_weft_layer = false;
   /// Subgroup sizes that a pipeline may require, in ascending order; if it may not, the one size
   /// there is.
   std::vector<uint32_t> subgroup_sizes() const;
   bool can_require_subgroup_size() const;
   /// Of memory that the host can map: cached by the host if there is any, or else, on request,
   /// near the device.
   uint32_t memory_type(uint32_t allowed, MemoryPlace) const;

   /// What came through VK_EXT_debug_utils since the last call: warnings and errors.
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
   std::vector<VkExtensionProperties> extensions;
   uint32_t queue_family = 0;
   VkPhysicalDeviceMemoryProperties memory = {};
   std::string messages;
};

/// Storage that the host sees, mapped for as long as it lives.
class Buffer {
public:
   Buffer(Device &, VkDeviceSize size, MemoryPlace = MemoryPlace::host);
   ~Buffer();
   Buffer(const Buffer &) = delete;
   Buffer &operator=(const Buffer &) = delete;

   std::span<std::byte> bytes() { return {mapped, size_t(length)}; }
   template <typename T>
   std::span<T> as()
   {
      return {reinterpret_cast<T *>(mapped), size_t(length) / sizeof(T)};
   }
   VkBuffer handle() const { return buffer; }
   VkDeviceSize size() const { return length; }
   VkDeviceAddress address() const;

private:
   Device &device;
   VkBuffer buffer = VK_NULL_HANDLE;
   VkDeviceMemory memory = VK_NULL_HANDLE;
   std::byte *mapped = nullptr;
   VkDeviceSize length;
};

/// A storage or uniform buffer as a shader sees it.
struct BufferRange {
   Buffer *buffer;
   VkDeviceSize offset = 0, size = VK_WHOLE_SIZE;
   BufferRange(Buffer &buffer) : buffer(&buffer) {}
   BufferRange(Buffer &buffer, VkDeviceSize offset, VkDeviceSize size)
       : buffer(&buffer), offset(offset), size(size)
   {
   }
};

struct SpecConstant {
   uint32_t id, value;
};

struct PipelineOptions {
   /// Bindings 0, 1, … of set 0, each an array of so many storage buffers.
   std::vector<uint32_t> bindings;
   uint32_t uniform_bindings = 0; ///< a bit for each binding of uniform buffers instead
   uint32_t push_bytes = 0;
   /// Required subgroup size with full subgroups; 0 leaves it to the driver.
   uint32_t subgroup_size = 0;
   std::vector<SpecConstant> spec_constants;
   /// Not to be compiled: it is in some cache, or the VulkanError is VK_PIPELINE_COMPILE_REQUIRED.
   bool only_cached = false;
};

struct Groups {
   uint32_t x = 1, y = 1, z = 1;
};

/// A compute shader that is ready to run.
class Pipeline {
public:
   Pipeline(Device &, std::span<const uint32_t> spirv, const PipelineOptions &);
   ~Pipeline();
   Pipeline(const Pipeline &) = delete;
   Pipeline &operator=(const Pipeline &) = delete;

   /// Runs to completion, `times` times in one submission; the buffers fill the bindings' array
   /// elements in order.
   void dispatch(const std::vector<BufferRange> &buffers, Groups groups = {},
                 std::span<const std::byte> push = {}, uint32_t times = 1);
   template <typename T>
   void dispatch(const std::vector<BufferRange> &buffers, Groups groups, const T &push,
                 uint32_t times = 1)
   {
      dispatch(buffers, groups, std::as_bytes(std::span(&push, 1)), times);
   }

private:
   void create(std::span<const uint32_t> spirv);
   void create_layout();
   VkDescriptorType descriptor_type(uint32_t binding) const;
   VkResult create_pipeline(std::span<const uint32_t> spirv);
   VkResult create_shader_object(std::span<const uint32_t> spirv);
   void create_descriptors();
   void destroy();
   void write_descriptors(const std::vector<BufferRange> &buffers);
   void bind(VkCommandBuffer) const;
   void record(VkCommandBuffer, Groups, std::span<const std::byte> push, uint32_t times);

   Device &device;
   PipelineOptions options;
   VkShaderModule module = VK_NULL_HANDLE;
   VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
   VkPipelineLayout layout = VK_NULL_HANDLE;
   VkPipeline pipeline = VK_NULL_HANDLE;
   VkShaderEXT shader = VK_NULL_HANDLE;
   VkDescriptorPool descriptor_pool = VK_NULL_HANDLE;
   VkDescriptorSet set = VK_NULL_HANDLE;
   VkFence fence = VK_NULL_HANDLE;
};

} // namespace weft::e2e
