// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layer's cost for a program without matrices: creating pipelines, and recording and running
/// dispatches, in rounds that alternate between layer on and off. Like most programs, this one
/// requests no matrices. With --matrices its device enables the extension if the layer provides it;
/// the shaders still use none.
///
/// VK_DRIVER_FILES and VK_LAYER_PATH name the driver and the layer's manifest.

#include "tests/e2e/glsl.h"
#include "tests/vulkan/instance.h"
#include "tests/vulkan/objects.h"
#include "tests/vulkan/result.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace weft::vulkan {
namespace {

constexpr uint32_t pipelines_per_round = 500, dispatches_per_round = 100'000, rounds = 11;

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
   const std::vector<std::string> names = device_extensions(physical);
   return std::find(names.begin(), names.end(), VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME) !=
          names.end();
}

Times run(const std::vector<uint32_t> &spirv, bool matrices)
{
   const VkInstance instance = create_instance({.extensions = {}});
   uint32_t count = 1;
   VkPhysicalDevice physical;
   if (vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || count == 0)
      check(VK_ERROR_INITIALIZATION_FAILED, "vkEnumeratePhysicalDevices");
   const char *const names[] = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};
   const std::span<const char *const> extensions = names;
   const VkDevice device = create_device(
      physical, {.extensions = extensions.first(matrices && has_matrices(physical) ? 1 : 0)});
   const VkPipelineLayout layout = create_pipeline_layout(device, {});

   Times times;
   std::vector<VkPipeline> pipelines(pipelines_per_round);
   auto start = std::chrono::steady_clock::now();
   for (VkPipeline &pipeline : pipelines) {
      const VkShaderModule module = create_shader_module(device, spirv);
      pipeline = create_compute_pipeline(device, module, layout);
      vkDestroyShaderModule(device, module, nullptr);
   }
   times.pipelines = milliseconds_since(start);

   const VkCommandPool pool = create_command_pool(device);
   VkQueue queue;
   vkGetDeviceQueue(device, 0, 0, &queue);
   start = std::chrono::steady_clock::now();
   const VkCommandBuffer commands = begin_commands(device, pool);
   for (uint32_t i = 0; i < dispatches_per_round; i++) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[i % pipelines.size()]);
      vkCmdDispatch(commands, 1, 1, 1);
   }
   check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
   check(submit(queue, commands), "vkQueueSubmit");
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
} // namespace weft::vulkan

int main(int argc, char **argv)
{
   const bool matrices = argc > 1 && strcmp(argv[1], "--matrices") == 0;
   const std::vector<uint32_t> spirv =
      weft::e2e::compile_glsl("#version 450\nlayout(local_size_x = 32) in;\n"
                              "shared uint a[32];\nvoid main() {\n"
                              "   a[gl_LocalInvocationIndex] = gl_WorkGroupID.x;\n}\n");
   std::vector<double> pipelines[2], dispatches[2];
   // The first round of each warms up.
   for (uint32_t round = 0; round <= weft::vulkan::rounds; round++) {
      for (int on : {0, 1}) {
         setenv("VK_INSTANCE_LAYERS", on ? "VK_LAYER_WEFT_cooperative_matrix" : "", 1);
         const weft::vulkan::Times times = weft::vulkan::run(spirv, matrices);
         if (round == 0)
            continue;
         pipelines[on].push_back(times.pipelines);
         dispatches[on].push_back(times.dispatches);
      }
   }
   printf("best, median and quartiles of %u rounds by turns\n", weft::vulkan::rounds);
   weft::vulkan::report("500 pipelines", pipelines[0], pipelines[1]);
   weft::vulkan::report("100000 dispatches", dispatches[0], dispatches[1]);
}
