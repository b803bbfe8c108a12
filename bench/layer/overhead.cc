// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer's cost for a program without matrices: creating pipelines, and recording and running
/// dispatches, in rounds that alternate between layer on and off. Like most programs, this one
/// requests no matrices. With --matrices its device enables the extension if the layer provides it;
/// the shaders still use none.
///
/// VK_DRIVER_FILES and VK_LAYER_PATH name the driver and the layer's manifest.

#include "tests/e2e/glsl.h"

#include <vulkan/vulkan.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr uint32_t pipelines_per_round = 500, dispatches_per_round = 100'000, rounds = 11;

void check(VkResult result, const char *what)
{
   if (result != VK_SUCCESS) {
      fprintf(stderr, "%s: VkResult %d\n", what, result);
      exit(1);
   }
}

double milliseconds_since(std::chrono::steady_clock::time_point start)
{
   return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

struct Times {
   double pipelines, dispatches;
};

bool has_matrices(VkPhysicalDevice physical)
{
   uint32_t count = 0;
   check(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr), "extensions");
   std::vector<VkExtensionProperties> list(count);
   check(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, list.data()),
         "extensions");
   return std::any_of(list.begin(), list.end(), [](const VkExtensionProperties &e) {
      return strcmp(e.extensionName, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME) == 0;
   });
}

Times run(const std::vector<uint32_t> &spirv, bool matrices)
{
   const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                          .apiVersion = VK_API_VERSION_1_3};
   const VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                               .pApplicationInfo = &application};
   VkInstance instance;
   check(vkCreateInstance(&instance_info, nullptr, &instance), "vkCreateInstance");
   uint32_t count = 1;
   VkPhysicalDevice physical;
   if (vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || count == 0)
      check(VK_ERROR_INITIALIZATION_FAILED, "vkEnumeratePhysicalDevices");
   const float priority = 1;
   const VkDeviceQueueCreateInfo queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                               .queueCount = 1,
                                               .pQueuePriorities = &priority};
   const char *const names[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};
   const VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                           .queueCreateInfoCount = 1,
                                           .pQueueCreateInfos = &queue_info,
                                           .enabledExtensionCount =
                                              matrices && has_matrices(physical) ? 1u : 0u,
                                           .ppEnabledExtensionNames = names};
   VkDevice device;
   check(vkCreateDevice(physical, &device_info, nullptr, &device), "vkCreateDevice");
   const VkPipelineLayoutCreateInfo layout_info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
   VkPipelineLayout layout;
   check(vkCreatePipelineLayout(device, &layout_info, nullptr, &layout), "vkCreatePipelineLayout");

   Times times;
   std::vector<VkPipeline> pipelines(pipelines_per_round);
   auto start = std::chrono::steady_clock::now();
   for (VkPipeline &pipeline : pipelines) {
      const VkShaderModuleCreateInfo module_info = {.sType =
                                                       VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                                    .codeSize = spirv.size() * sizeof(uint32_t),
                                                    .pCode = spirv.data()};
      VkShaderModule module;
      check(vkCreateShaderModule(device, &module_info, nullptr, &module), "vkCreateShaderModule");
      const VkComputePipelineCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
         .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = module,
                   .pName = "main"},
         .layout = layout,
      };
      check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
            "vkCreateComputePipelines");
      vkDestroyShaderModule(device, module, nullptr);
   }
   times.pipelines = milliseconds_since(start);

   const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
   VkCommandPool pool;
   check(vkCreateCommandPool(device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
   const VkCommandBufferAllocateInfo allocate = {.sType =
                                                    VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                 .commandPool = pool,
                                                 .commandBufferCount = 1};
   VkCommandBuffer commands;
   check(vkAllocateCommandBuffers(device, &allocate, &commands), "vkAllocateCommandBuffers");
   VkQueue queue;
   vkGetDeviceQueue(device, 0, 0, &queue);
   const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
   start = std::chrono::steady_clock::now();
   check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
   for (uint32_t i = 0; i < dispatches_per_round; i++) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[i % pipelines.size()]);
      vkCmdDispatch(commands, 1, 1, 1);
   }
   check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
   const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &commands};
   check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
   check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
   times.dispatches = milliseconds_since(start);

   vkDestroyCommandPool(device, pool, nullptr);
   for (VkPipeline pipeline : pipelines)
      vkDestroyPipeline(device, pipeline, nullptr);
   vkDestroyPipelineLayout(device, layout, nullptr);
   vkDestroyDevice(device, nullptr);
   vkDestroyInstance(instance, nullptr);
   return times;
}

void report(const char *what, std::vector<double> off, std::vector<double> on)
{
   const auto quartile = [](std::vector<double> &values, size_t quarter) {
      std::sort(values.begin(), values.end());
      return values[(values.size() - 1) * quarter / 4];
   };
   printf("%-20s", what);
   for (auto &[name, values] : {std::pair("off", &off), {"on", &on}})
      printf("%s %.1f ms, median %.1f [%.1f, %.1f]   ", name, quartile(*values, 0),
             quartile(*values, 2), quartile(*values, 1), quartile(*values, 3));
   printf("on : off %.3f, medians %.3f\n", quartile(on, 0) / quartile(off, 0),
          quartile(on, 2) / quartile(off, 2));
}

} // namespace

int main(int argc, char **argv)
{
   const bool matrices = argc > 1 && strcmp(argv[1], "--matrices") == 0;
   const std::vector<uint32_t> spirv =
      weft::e2e::compile_glsl("#version 450\nlayout(local_size_x = 32) in;\n"
                              "shared uint a[32];\nvoid main() {\n"
                              "   a[gl_LocalInvocationIndex] = gl_WorkGroupID.x;\n}\n");
   std::vector<double> pipelines[2], dispatches[2];
   // The first round of each warms up.
   for (uint32_t round = 0; round <= rounds; round++) {
      for (int on : {0, 1}) {
         setenv("VK_INSTANCE_LAYERS", on ? "VK_LAYER_WEFT_cooperative_matrix" : "", 1);
         const Times times = run(spirv, matrices);
         if (round == 0)
            continue;
         pipelines[on].push_back(times.pipelines);
         dispatches[on].push_back(times.dispatches);
      }
   }
   printf("best, median and quartiles of %u rounds by turns\n", rounds);
   report("500 pipelines", pipelines[0], pipelines[1]);
   report("100000 dispatches", dispatches[0], dispatches[1]);
}
