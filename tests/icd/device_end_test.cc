// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Devices that are destroyed or lost while they work, and processes that end while devices work.

#include "tests/icd/concurrency_fixture.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace weft::icd_test {

namespace {

uint64_t address_space_in_use()
{
   std::ifstream file("/proc/self/statm");
   uint64_t pages = 0;
   file >> pages;
   return pages * sysconf(_SC_PAGESIZE);
}

} // namespace

/// A device that is destroyed while it works, which is an error of the program. Its children cannot
/// be destroyed. They stay reachable here, so that the leak checker ignores them.
struct Orphans {
   std::unique_ptr<AnotherDevice> device;
   std::vector<std::function<void()>> children;
   VkCommandPool pool;
   VkCommandBuffer cmd;
   VkEvent event;
};
std::vector<Orphans> &orphans()
{
   static auto *const all = new std::vector<Orphans>;
   return *all;
}

TEST_F(ConcurrencyTest, WorkIsFinishedBeforeTheDeviceGoes)
{
   Orphans &left = orphans().emplace_back();
   left.device = std::make_unique<AnotherDevice>();
   AnotherDevice &other = *left.device;
   Turner turner(other, compile(turn_round));
   left.cmd = other.begin();
   for (uint32_t i = 0; i < 400; i++)
      turner.record(left.cmd, 1);
   ASSERT_VK(vkEndCommandBuffer(left.cmd));
   for (int i = 0; i < 5; i++)
      ASSERT_VK(other.submit(left.cmd));
   left.children.swap(other.clean_up);
   left.pool = other.pool;
   vkDestroyDevice(other.device, nullptr);
   other.device = VK_NULL_HANDLE;
   turner.check(2000);
}

/// The queue waits for an event that is never set; destroying the device does not wait for it.
TEST_F(ConcurrencyTest, ADeviceWhoseQueueWaitsForEverCanBeDestroyed)
{
   Orphans &left = orphans().emplace_back();
   left.device = std::make_unique<AnotherDevice>();
   AnotherDevice &other = *left.device;
   VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
   ASSERT_VK(vkCreateEvent(other.device, &info, nullptr, &left.event));
   TestBuffer buffer = other.make_buffer(8);
   left.cmd = other.begin();
   vkCmdFillBuffer(left.cmd, buffer.handle, 4, 4, 7);
   wait_for_host(left.cmd, left.event);
   vkCmdFillBuffer(left.cmd, buffer.handle, 0, 4, 7);
   ASSERT_VK(vkEndCommandBuffer(left.cmd));
   ASSERT_VK(other.submit(left.cmd));
   while (poll(&buffer.as()[1]) == 0)
      std::this_thread::yield();
   wait_until_queues_wait();
   left.children.swap(other.clean_up);
   left.pool = other.pool;
   vkDestroyDevice(other.device, nullptr);
   other.device = VK_NULL_HANDLE;
   EXPECT_EQ(buffer.as()[0], 0u);
}

TEST_F(ConcurrencyTest, ALostDeviceSaysSoEverywhere)
{
   // The shader needs stacks of 64 MiB, and the address space has less.
   const char *glsl = R"(
      layout(local_size_x = 1024) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      void main()
      {
         uint i = gl_LocalInvocationID.x;
         uint many[15000];
         for (uint k = 0; k < 15000; k++) many[k] = data[k % 64] + k;
         barrier();
         data[i] = many[data[i] % 15000] + many[(i * 7) % 15000];
      })";
   VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = 64,
   };
   PipelineRecipe recipe;
   recipe.stage_next = &size;
   recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(glsl, recipe, layout);
   TestBuffer buffer = make_buffer(4096);
   VkDescriptorSet set = make_set(recipe.sets[0]);
   write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffer);

   VkEvent start = make_event(), never = make_event();
   VkQueryPool queries = make_queries(1);
   VkFence fences[2] = {make_fence(), make_fence()};
   TestBuffer after = make_buffer(12);

   VkCommandBuffer failing = begin();
   vkCmdFillBuffer(failing, after.handle, 8, 4, 1);
   wait_for_host(failing, start);
   vkCmdBindPipeline(failing, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(failing, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(failing, 1, 1, 1);
   vkCmdFillBuffer(failing, after.handle, 0, 4, 1);
   ASSERT_VK(vkEndCommandBuffer(failing));
   // Later commands of the lost queue do not wait.
   VkCommandBuffer behind = begin();
   wait_for_host(behind, never);
   vkCmdFillBuffer(behind, after.handle, 4, 4, 1);
   ASSERT_VK(vkEndCommandBuffer(behind));
   ASSERT_VK(submit(failing, fences[0]));
   ASSERT_VK(submit(behind, fences[1]));
   // A thread that waits for a query gets VK_ERROR_DEVICE_LOST.
   WaitingThread waiter([&] {
      uint64_t value = 0;
      EXPECT_EQ(vkGetQueryPoolResults(device, queries, 0, 1, 8, &value, 8,
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                VK_ERROR_DEVICE_LOST);
   });
   // So does a thread that waits for a semaphore that only a later submission could signal.
   const VkSemaphore semaphore = make_timeline();
   WaitingThread patient([&] {
      const uint64_t value = 5;
      VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                  .semaphoreCount = 1,
                                  .pSemaphores = &semaphore,
                                  .pValues = &value};
      EXPECT_EQ(vkWaitSemaphores(device, &info, UINT64_MAX), VK_ERROR_DEVICE_LOST);
   });
   waiter.wait_until_it_waits();
   patient.wait_until_it_waits();
   while (poll(&after.as()[2]) == 0)
      std::this_thread::yield();
   wait_until_queues_wait();

   rlimit before;
   ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
   rlimit limit = before;
   limit.rlim_cur = address_space_in_use() + (32 << 20);
   ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
   EXPECT_VK(vkSetEvent(device, start));
   // The specification allows both results.
   const VkResult waited = vkWaitForFences(device, 2, fences, VK_TRUE, wait_limit);
   ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
   EXPECT_TRUE(waited == VK_SUCCESS || waited == VK_ERROR_DEVICE_LOST) << waited;
   waiter.join();
   patient.join();

   EXPECT_EQ(after.as()[0], 0u);
   EXPECT_EQ(after.as()[1], 0u);
   EXPECT_EQ(vkQueueSubmit(queue, 0, nullptr, VK_NULL_HANDLE), VK_ERROR_DEVICE_LOST);
   EXPECT_EQ(vkQueueWaitIdle(queue), VK_ERROR_DEVICE_LOST);
   EXPECT_EQ(vkDeviceWaitIdle(device), VK_ERROR_DEVICE_LOST);
   EXPECT_EQ(vkGetEventStatus(device, start), VK_ERROR_DEVICE_LOST);
   EXPECT_EQ(vkGetFenceStatus(device, fences[0]), VK_ERROR_DEVICE_LOST);

   // Another device works.
   AnotherDevice other;
   Turner turner(other, compile(turn_round));
   VkCommandBuffer cmd = other.begin();
   turner.record(cmd, 1);
   turner.record(cmd, 2);
   other.run(cmd);
   turner.check(3);
}

/// The exit status of this test in another process, in which WEFT_TEST_EXIT is set. That process
/// destroys no objects.
int status_of_process(const std::string &test)
{
   const std::string self = std::filesystem::read_symlink("/proc/self/exe");
   const int status =
      system(("ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 "
              "WEFT_TEST_EXIT=1 '" +
              self + "' --gtest_output= --gtest_filter=ConcurrencyTest." + test + " >/dev/null")
                .c_str());
   return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A process may end without destroying anything, while the queue works.
TEST_F(ConcurrencyTest, ProcessesEndAsTheyLike)
{
   if (getenv("WEFT_TEST_EXIT")) {
      static AnotherDevice *const other = new AnotherDevice;
      static Turner *const turner = new Turner(*other, compile(turn_round));
      VkCommandBuffer cmd = other->begin();
      for (uint32_t i = 0; i < 100000; i++)
         turner->record(cmd, 1);
      ASSERT_VK(vkEndCommandBuffer(cmd));
      ASSERT_VK(other->submit(cmd));
      exit(7);
   }
   EXPECT_EQ(status_of_process("ProcessesEndAsTheyLike"), 7);
}

/// A process may end while the code of its first shaders is generated.
TEST_F(ConcurrencyTest, ProcessesEndWhileTheyCompile)
{
   if (getenv("WEFT_TEST_EXIT")) {
      PipelineRecipe recipe;
      recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
      VkPipelineLayout layout = make_layout(recipe);
      for (const char *function : {"sin", "cos"})
         make_pipeline(std::string(R"(
            layout(local_size_x = 64) in;
            layout(set = 0, binding = 0) buffer Data { vec4 data[]; };
            void main() {
               vec4 v = data[gl_GlobalInvocationID.x];
               for (int i = 0; i < 16; i++)
                  v = )") +
                          function +
                          R"((v + data[uint(v.x) + i]);
               data[gl_GlobalInvocationID.x] = v;
            })",
                       recipe, layout);
      // The first shader with matrices.
      make_pipeline(R"(
         layout(local_size_x = 32) in;
         layout(set = 0, binding = 0) buffer Data { float data[]; };
         void main() {
            coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
            coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
            coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c;
            coopMatLoad(a, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
            coopMatLoad(b, data, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
            coopMatLoad(c, data, 512, 16, gl_CooperativeMatrixLayoutRowMajor);
            coopMatStore(coopMatMulAdd(a, b, c), data, 512, 16, gl_CooperativeMatrixLayoutRowMajor);
         })",
                    recipe, layout);
      exit(7);
   }
   for (int i = 0; i < 5; i++)
      EXPECT_EQ(status_of_process("ProcessesEndWhileTheyCompile"), 7);
}

} // namespace weft::icd_test
