// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A program may load a Vulkan library, use it and remove it any number of times: memory does not
/// grow. The library is the argument: the driver, or the loader, which loads driver and layers.

#include <gtest/gtest.h>

#include <vulkan/vulkan.h>

#include <dlfcn.h>
#include <malloc.h>

#include <cstdint>
#include <stdexcept>

namespace weft {

namespace {

const char *library_path;

/// void main() {}
constexpr uint32_t shader[] = {
   0x07230203,
   0x00010300,
   0,
   5,
   0, // header: five ids
   2 << 16 | 17,
   1, // OpCapability Shader
   3 << 16 | 14,
   0,
   1, // OpMemoryModel Logical GLSL450
   5 << 16 | 15,
   5,
   3,
   0x6e69616d,
   0, // OpEntryPoint GLCompute %3 "main"
   6 << 16 | 16,
   3,
   17,
   1,
   1,
   1, // OpExecutionMode %3 LocalSize 1 1 1
   2 << 16 | 19,
   1, // %1 = OpTypeVoid
   3 << 16 | 33,
   2,
   1, // %2 = OpTypeFunction %1
   5 << 16 | 54,
   1,
   3,
   0,
   2, // %3 = OpFunction %1 None %2
   2 << 16 | 248,
   4, // %4 = OpLabel
   1 << 16 | 253,
   1 << 16 | 56, // OpReturn, OpFunctionEnd
};

class Library {
public:
   Library() : handle(dlopen(library_path, RTLD_NOW | RTLD_LOCAL))
   {
      if (!handle)
         throw std::runtime_error(dlerror());
      for (const char *name : {"vk_icdGetInstanceProcAddr", "vkGetInstanceProcAddr"}) {
         if (!get)
            get = PFN_vkGetInstanceProcAddr(dlsym(handle, name));
      }
   }
   ~Library() { dlclose(handle); }
   Library(const Library &) = delete;
   Library &operator=(const Library &) = delete;

   template <typename Function>
   Function function(const char *name) const
   {
      return Function(get(instance, name));
   }
   VkInstance instance = VK_NULL_HANDLE;

private:
   void *handle;
   PFN_vkGetInstanceProcAddr get = nullptr;
};

#define FUNCTION(name) library.function<PFN_##name>(#name)

void create_pipeline(const Library &library, VkDevice device)
{
   const VkShaderModuleCreateInfo module_info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = sizeof(shader),
      .pCode = shader,
   };
   VkShaderModule module;
   ASSERT_EQ(FUNCTION(vkCreateShaderModule)(device, &module_info, nullptr, &module), VK_SUCCESS);
   const VkPipelineLayoutCreateInfo layout_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
   VkPipelineLayout layout;
   ASSERT_EQ(FUNCTION(vkCreatePipelineLayout)(device, &layout_info, nullptr, &layout), VK_SUCCESS);
   const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main"},
      .layout = layout,
   };
   VkPipeline pipeline;
   ASSERT_EQ(
      FUNCTION(vkCreateComputePipelines)(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
      VK_SUCCESS);
   FUNCTION(vkDestroyPipeline)(device, pipeline, nullptr);
   FUNCTION(vkDestroyPipelineLayout)(device, layout, nullptr);
   FUNCTION(vkDestroyShaderModule)(device, module, nullptr);
}

void load_and_unload()
{
   Library library;
   const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                          .apiVersion = VK_API_VERSION_1_3};
   const VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                               .pApplicationInfo = &application};
   VkInstance instance;
   ASSERT_EQ(FUNCTION(vkCreateInstance)(&instance_info, nullptr, &instance), VK_SUCCESS);
   library.instance = instance;
   uint32_t count = 1;
   VkPhysicalDevice physical;
   ASSERT_EQ(FUNCTION(vkEnumeratePhysicalDevices)(instance, &count, &physical), VK_SUCCESS);
   const float priority = 1;
   const VkDeviceQueueCreateInfo queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                               .queueCount = 1,
                                               .pQueuePriorities = &priority};
   const VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                           .queueCreateInfoCount = 1,
                                           .pQueueCreateInfos = &queue_info};
   VkDevice device;
   ASSERT_EQ(FUNCTION(vkCreateDevice)(physical, &device_info, nullptr, &device), VK_SUCCESS);
   create_pipeline(library, device);
   FUNCTION(vkDestroyDevice)(device, nullptr);
   FUNCTION(vkDestroyInstance)(instance, nullptr);
}

size_t allocated()
{
   const struct mallinfo2 info = mallinfo2();
   return info.uordblks + info.hblkhd;
}

TEST(Unload, LeavesNoMemoryBehind)
{
   if (WEFT_ASAN || WEFT_TSAN)
      GTEST_SKIP() << "a sanitizer's heap";
   constexpr uint32_t warm = 5, cycles = 20;
   for (uint32_t i = 0; i < warm; i++)
      load_and_unload();
   const size_t before = allocated();
   for (uint32_t i = 0; i < cycles && !testing::Test::HasFailure(); i++)
      load_and_unload();
   // A compilation leaves some hundred bytes; a leak of any table would be larger.
   const int64_t growth = int64_t(allocated()) - int64_t(before);
   EXPECT_LT(growth / cycles, 1024) << "bytes each time";
}

} // namespace

} // namespace weft

int main(int argc, char **argv)
{
   testing::InitGoogleTest(&argc, argv);
   if (argc != 2)
      return 2;
   weft::library_path = argv[1];
   return RUN_ALL_TESTS();
}
