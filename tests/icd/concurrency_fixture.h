// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tests that use the driver while its threads work.

#pragma once

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

namespace weft::icd_test {

/// Reads a word that a command may be filling. Vulkan allows a host to poll coherent memory, but
/// ThreadSanitizer would report the command's plain store as a data race, so it does not instrument
/// this function.
inline __attribute__((no_sanitize("thread"))) uint32_t poll(const volatile uint32_t *word)
{
   return *word;
}

/// Rotates the numbers of each workgroup through shared memory, and adds a push constant.
inline const char *const turn_round = R"(
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint more; };
layout(set = 0, binding = 0) buffer Out { uint data[]; };
shared uint scratch[64];
void main()
{
   uint i = gl_GlobalInvocationID.x;
   scratch[gl_LocalInvocationID.x] = data[i];
   barrier();
   data[i] = scratch[63 - gl_LocalInvocationID.x] + more;
})";

inline std::vector<uint32_t> compile(const char *glsl)
{
   return e2e::compile_glsl(std::string(e2e::glsl_header) + glsl);
}

/// A pipeline of `turn_round` on a device, with its layout, set and buffer.
struct Turner {
   static constexpr uint32_t groups = 16, words = groups * 64;

   AnotherDevice &on;
   PipelineRecipe recipe;
   VkPipelineLayout layout;
   VkPipeline pipeline = VK_NULL_HANDLE;
   TestBuffer buffer;
   VkDescriptorSet set;

   Turner(AnotherDevice &device, std::span<const uint32_t> spirv) : on(device)
   {
      recipe.sets = {on.make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
      recipe.push_bytes = 4;
      layout = on.make_layout(recipe);
      EXPECT_VK(on.try_pipeline(spirv, recipe, layout, &pipeline));
      buffer = on.make_buffer(words * 4);
      set = on.make_set(recipe.sets[0]);
      on.write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffer);
      for (uint32_t i = 0; i < words; i++)
         buffer.as()[i] = i;
   }

   void record(VkCommandBuffer cmd, uint32_t more)
   {
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &more);
      vkCmdDispatch(cmd, groups, 1, 1);
   }

   /// Checks the numbers after an even number of dispatches that added `sum` in all.
   void check(uint32_t sum)
   {
      for (uint32_t i = 0; i < words; i++)
         ASSERT_EQ(buffer.as()[i], i + sum) << i;
   }
};

inline void pause_a_little()
{
   std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

inline bool sleeps(const std::filesystem::path &task)
{
   // The state follows the name, which is in brackets (proc(5)).
   std::string text;
   std::getline(std::ifstream(task / "stat"), text);
   const size_t name_end = text.rfind(')');
   return name_end != text.npos && text.substr(name_end).starts_with(") S");
}

/// A thread whose call has to wait.
class WaitingThread {
public:
   explicit WaitingThread(std::function<void()> call)
       : thread([this, call = std::move(call)] {
            id = gettid();
            call();
         })
   {
   }

   /// Returns when the call waits, or has returned.
   void wait_until_it_waits() const
   {
      while (!id)
         std::this_thread::yield();
      const std::string task = "/proc/self/task/" + std::to_string(id);
      while (!sleeps(task) && std::filesystem::exists(task))
         std::this_thread::yield();
   }
   void join() { thread.join(); }

private:
   std::atomic<pid_t> id = 0;
   std::thread thread;
};

/// Returns when the threads of all queues wait.
inline void wait_until_queues_wait()
{
   const auto all_wait = [] {
      for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
         std::string name;
         std::ifstream(task.path() / "comm") >> name;
         if (name == "weft-queue" && !sleeps(task.path()))
            return false;
      }
      return true;
   };
   while (!all_wait())
      std::this_thread::yield();
}

class ConcurrencyTest : public IcdTest {
protected:
   VkEvent make_event()
   {
      VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
      VkEvent event = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateEvent(device, &info, nullptr, &event));
      clean_up.push_back([this, event] { vkDestroyEvent(device, event, nullptr); });
      return event;
   }

   VkFence make_fence()
   {
      VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      VkFence fence = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateFence(device, &info, nullptr, &fence));
      clean_up.push_back([this, fence] { vkDestroyFence(device, fence, nullptr); });
      return fence;
   }

   VkQueryPool make_queries(uint32_t count)
   {
      const VkQueryPool queries = make_query_pool(VK_QUERY_TYPE_TIMESTAMP, count);
      vkResetQueryPool(device, queries, 0, count);
      return queries;
   }

   static void wait_for_host(VkCommandBuffer cmd, VkEvent event)
   {
      vkCmdWaitEvents(cmd, 1, &event, VK_PIPELINE_STAGE_HOST_BIT,
                      VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, nullptr, 0, nullptr, 0, nullptr);
   }
};

} // namespace weft::icd_test
