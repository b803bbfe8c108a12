// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The fixture of the driver's own tests: an instance and a device with all features of the driver,
/// and short ways to make buffers, pipelines and submissions. All of it goes through the Vulkan
/// loader; VK_DRIVER_FILES names the driver.

#pragma once

#include "tests/vulkan/instance.h"
#include "tests/vulkan/objects.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft::icd_test {

#define ASSERT_VK(call) ASSERT_EQ(call, VK_SUCCESS)
#define EXPECT_VK(call) EXPECT_EQ(call, VK_SUCCESS)

/// The longest wait of a test, in nanoseconds. A longer wait counts as a hang.
constexpr uint64_t wait_limit = 120'000'000'000;

/// Counts a driver's allocations, and can let them fail from the n-th on.
class CountingAllocator {
public:
   CountingAllocator();
   const VkAllocationCallbacks *callbacks() const { return &table; }

   void fail_from(int64_t nth) { failing = nth; } ///< 0: the next one; negative: never
   int64_t live() const { return live_count; }
   int64_t total() const { return total_count; }

private:
   static void *VKAPI_CALL allocate(void *, size_t, size_t, VkSystemAllocationScope);
   static void *VKAPI_CALL reallocate(void *, void *, size_t, size_t, VkSystemAllocationScope);
   static void VKAPI_CALL release(void *, void *);

   VkAllocationCallbacks table = {};
   // Atomic, because the driver's threads allocate and free, too.
   std::atomic<int64_t> failing{-1}, live_count{0}, total_count{0};
};

VkInstance create_instance(const VkAllocationCallbacks *allocator = nullptr);
VkPhysicalDevice get_physical_device(VkInstance);
/// Creates a device with a queue of each family, every extension and every feature; optionally
/// without robust access.
VkResult create_device(VkPhysicalDevice, const VkAllocationCallbacks *, VkDevice *,
                       bool robust = true);

using vulkan::device_extensions;

using TestBuffer = vulkan::MappedBuffer;
using vulkan::binding;

/// The parts of a pipeline besides the shader.
struct PipelineRecipe {
   std::vector<VkDescriptorSetLayout> sets;
   uint32_t push_bytes = 0;
   const void *stage_next = nullptr;
   const void *next = nullptr;
   VkPipelineCreateFlags flags = 0;
   const VkSpecializationInfo *specialization = nullptr;
   VkPipelineCache cache = VK_NULL_HANDLE;
};

/// Objects made through a fixture are destroyed with it.  A test that hangs in a call without a
/// time limit ends the program after some minutes.
class IcdTest : public testing::Test {
protected:
   void SetUp() override;
   void TearDown() override;

   template <typename F>
   F device_function(const char *name)
   {
      return reinterpret_cast<F>(vkGetDeviceProcAddr(device, name));
   }

   TestBuffer make_buffer(VkDeviceSize size, const void *initial = nullptr);
   VkDescriptorSetLayout make_set_layout(const std::vector<VkDescriptorSetLayoutBinding> &bindings,
                                         VkDescriptorSetLayoutCreateFlags flags = 0,
                                         const void *next = nullptr);
   VkDescriptorSet make_set(VkDescriptorSetLayout layout, VkDescriptorPoolCreateFlags flags = 0,
                            const void *next = nullptr);
   void write_buffer(VkDescriptorSet set, uint32_t binding, VkDescriptorType type,
                     const TestBuffer &buffer, VkDeviceSize offset = 0,
                     VkDeviceSize range = VK_WHOLE_SIZE, uint32_t element = 0);
   VkPipelineLayout make_layout(const PipelineRecipe &recipe);
   VkShaderModule make_module(std::span<const uint32_t> spirv);
   VkResult try_pipeline(std::span<const uint32_t> spirv, const PipelineRecipe &recipe,
                         VkPipelineLayout layout, VkPipeline *pipeline);
   VkPipeline make_pipeline(const std::string &glsl, const PipelineRecipe &recipe,
                            VkPipelineLayout layout);

   VkBufferView make_texel_view(VkBuffer, VkFormat, VkDeviceSize offset, VkDeviceSize range);
   VkQueryPool make_query_pool(VkQueryType, uint32_t count, VkQueryPipelineStatisticFlags = 0);
   VkSemaphore make_timeline(uint64_t value = 0);

   VkCommandBuffer begin(VkCommandBufferLevel level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                         VkCommandBufferUsageFlags flags = 0);
   /// Submits a recorded command buffer.
   VkResult submit(VkCommandBuffer cmd, VkFence fence = VK_NULL_HANDLE);
   /// Ends the recording, submits it and waits.
   void run(VkCommandBuffer cmd);
   /// Destroys the device and all that the test has made.
   void destroy_device();

   VkInstance instance = VK_NULL_HANDLE;
   VkPhysicalDevice physical = VK_NULL_HANDLE;
   VkDevice device = VK_NULL_HANDLE;
   VkQueue queue = VK_NULL_HANDLE;
   VkCommandPool pool = VK_NULL_HANDLE;
   bool robust_device = true; ///< to be set before SetUp()
   std::string messages;      ///< warnings and errors of debug messengers

   /// Run in reverse order when the test ends.
   std::vector<std::function<void()>> clean_up;

private:
   VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
};

/// A second device, with its own instance, beside the test's device.
class AnotherDevice : public IcdTest {
public:
   AnotherDevice() { IcdTest::SetUp(); }
   ~AnotherDevice() override { IcdTest::TearDown(); }
   void TestBody() override {}

   using IcdTest::begin, IcdTest::clean_up, IcdTest::device, IcdTest::make_buffer,
      IcdTest::make_layout, IcdTest::make_set, IcdTest::make_set_layout, IcdTest::pool,
      IcdTest::physical, IcdTest::queue, IcdTest::run, IcdTest::submit, IcdTest::try_pipeline,
      IcdTest::write_buffer;
};

} // namespace weft::icd_test
