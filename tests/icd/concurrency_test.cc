// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver's threads and the program's: several devices at once, hosts that let the queue wait,
/// devices that are lost or destroyed at work, signals.

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace weft::icd_test {
namespace {

/// Reads a word that a command may be filling. Vulkan allows a host to poll coherent memory, but to
/// ThreadSanitizer the command's plain store is a data race: it does not look at this function.
__attribute__((no_sanitize("thread"))) uint32_t poll(const volatile uint32_t *word)
{
   return *word;
}

/// Turns the numbers of each workgroup round, through shared memory, and adds a pushed one.
const char *const turn_round = R"(
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

std::vector<uint32_t> compile(const char *glsl)
{
   return e2e::compile_glsl(std::string(e2e::glsl_header) + glsl);
}

/// A pipeline of `turn_round` on some device, with what it needs.
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

   /// After an even number of turns that added `sum`.
   void check(uint32_t sum)
   {
      for (uint32_t i = 0; i < words; i++)
         ASSERT_EQ(buffer.as()[i], i + sum) << i;
   }
};

uint64_t address_space_in_use()
{
   std::ifstream file("/proc/self/statm");
   uint64_t pages = 0;
   file >> pages;
   return pages * sysconf(_SC_PAGESIZE);
}

void pause_a_little()
{
   std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

bool sleeps(const std::filesystem::path &task)
{
   // Behind the name, which is in brackets, stands the state (proc(5)).
   std::string text;
   std::getline(std::ifstream(task / "stat"), text);
   const size_t name_end = text.rfind(')');
   return name_end != text.npos && text.substr(name_end).starts_with(") S");
}

/// A thread that says when it is about to call something that has to wait.
class WaitingThread {
public:
   explicit WaitingThread(std::function<void()> call)
       : thread([this, call = std::move(call)] {
            id = gettid();
            call();
         })
   {
   }

   /// Until the call waits, or has returned.
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

/// Until the threads of all queues wait.
void wait_until_queues_wait()
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

} // namespace

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
      VkQueryPoolCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
         .queryType = VK_QUERY_TYPE_TIMESTAMP,
         .queryCount = count,
      };
      VkQueryPool queries = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateQueryPool(device, &info, nullptr, &queries));
      clean_up.push_back([this, queries] { vkDestroyQueryPool(device, queries, nullptr); });
      vkResetQueryPool(device, queries, 0, count);
      return queries;
   }

   static void wait_for_host(VkCommandBuffer cmd, VkEvent event)
   {
      vkCmdWaitEvents(cmd, 1, &event, VK_PIPELINE_STAGE_HOST_BIT,
                      VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, nullptr, 0, nullptr, 0, nullptr);
   }
};

TEST_F(ConcurrencyTest, DevicesDispatchAtOnce)
{
   const std::vector<uint32_t> spirv = compile(turn_round);
   // A test's object belongs on the main thread, as GoogleTest sees it.
   std::vector<std::unique_ptr<AnotherDevice>> devices;
   for (int t = 0; t < 3; t++)
      devices.push_back(std::make_unique<AnotherDevice>());
   std::vector<std::thread> threads;
   for (uint32_t t = 0; t < 3; t++) {
      threads.emplace_back([&, t] {
         AnotherDevice &other = *devices[t];
         Turner turner(other, spirv);
         uint32_t sum = 0;
         for (uint32_t round = 0; round < 20; round++) {
            VkCommandBuffer cmd = other.begin();
            for (uint32_t i = 0; i < 4; i++)
               turner.record(cmd, round + t + i);
            other.run(cmd);
            sum += 4 * (round + t) + 6;
            turner.check(sum);
         }
      });
   }
   for (std::thread &thread : threads)
      thread.join();
}

TEST_F(ConcurrencyTest, HostSetsAnEventThatTheQueueWaitsFor)
{
   VkEvent event = make_event();
   VkFence fence = make_fence();
   TestBuffer buffer = make_buffer(4);
   VkCommandBuffer cmd = begin();
   wait_for_host(cmd, event);
   vkCmdFillBuffer(cmd, buffer.handle, 0, 4, 7);
   ASSERT_VK(vkEndCommandBuffer(cmd));
   ASSERT_VK(submit(cmd, fence));
   EXPECT_EQ(vkWaitForFences(device, 1, &fence, VK_TRUE, 20'000'000), VK_TIMEOUT);
   std::thread host([&] { EXPECT_VK(vkSetEvent(device, event)); });
   EXPECT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
   host.join();
   EXPECT_EQ(buffer.as()[0], 7u);
}

/// Polls in a row pause, but see what comes.
TEST_F(ConcurrencyTest, EventIsPolledInALoop)
{
   VkEvent go = make_event(), event = make_event();
   VkFence fence = make_fence();
   VkCommandBuffer cmd = begin();
   wait_for_host(cmd, go);
   vkCmdSetEvent(cmd, event, VK_PIPELINE_STAGE_TRANSFER_BIT);
   ASSERT_VK(vkEndCommandBuffer(cmd));
   ASSERT_VK(submit(cmd, fence));
   for (int i = 0; i < 50; i++)
      ASSERT_EQ(vkGetEventStatus(device, event), VK_EVENT_RESET);
   std::thread host([&] { EXPECT_VK(vkSetEvent(device, go)); });
   while (vkGetEventStatus(device, event) == VK_EVENT_RESET)
      continue;
   host.join();
   EXPECT_EQ(vkGetEventStatus(device, event), VK_EVENT_SET);
   EXPECT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
}

/// Whichever of them is written last.
TEST_F(ConcurrencyTest, QueriesAreWaitedForBeforeTheyAreWritten)
{
   for (const auto &order : {std::array{0, 1}, std::array{1, 0}}) {
      VkQueryPool queries = make_queries(2);
      uint64_t values[2] = {};
      std::atomic<bool> done = false;
      WaitingThread waiter([&] {
         EXPECT_VK(vkGetQueryPoolResults(device, queries, 0, 2, sizeof(values), values, 8,
                                         VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
         done = true;
      });
      for (const uint32_t query : order) {
         waiter.wait_until_it_waits();
         EXPECT_FALSE(done);
         VkCommandBuffer cmd = begin();
         vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, query);
         run(cmd);
      }
      waiter.join();
      EXPECT_GT(values[order[0]], 0u);
      EXPECT_GT(values[order[1]], values[order[0]]);
   }
}

/// Threads that signal, wait for and read the same timeline, while the queue does too.
TEST_F(ConcurrencyTest, ThreadsMeetAtATimeline)
{
   VkSemaphoreTypeCreateInfo type = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
   };
   VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
   VkSemaphore semaphore;
   ASSERT_VK(vkCreateSemaphore(device, &info, nullptr, &semaphore));
   clean_up.push_back([this, semaphore] { vkDestroySemaphore(device, semaphore, nullptr); });

   // The host signals odd values, the queue the even ones.
   constexpr uint64_t last = 100;
   std::vector<std::thread> threads;
   for (int t = 0; t < 3; t++) {
      threads.emplace_back([&] {
         for (uint64_t wanted = 1; wanted <= last; wanted++) {
            VkSemaphoreWaitInfo wait = {
               .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
               .semaphoreCount = 1,
               .pSemaphores = &semaphore,
               .pValues = &wanted,
            };
            ASSERT_VK(vkWaitSemaphores(device, &wait, wait_limit));
            uint64_t value = 0;
            ASSERT_VK(vkGetSemaphoreCounterValue(device, semaphore, &value));
            ASSERT_GE(value, wanted);
         }
      });
   }
   for (uint64_t value = 2; value <= last; value += 2) {
      const uint64_t before = value - 1;
      VkTimelineSemaphoreSubmitInfo values = {
         .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
         .waitSemaphoreValueCount = 1,
         .pWaitSemaphoreValues = &before,
         .signalSemaphoreValueCount = 1,
         .pSignalSemaphoreValues = &value,
      };
      VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
      VkSubmitInfo submit_info = {
         .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
         .pNext = &values,
         .waitSemaphoreCount = 1,
         .pWaitSemaphores = &semaphore,
         .pWaitDstStageMask = &stage,
         .signalSemaphoreCount = 1,
         .pSignalSemaphores = &semaphore,
      };
      ASSERT_VK(vkQueueSubmit(queue, 1, &submit_info, VK_NULL_HANDLE));
      VkSemaphoreSignalInfo signal = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
         .semaphore = semaphore,
         .value = before,
      };
      ASSERT_VK(vkSignalSemaphore(device, &signal));
      VkSemaphoreWaitInfo wait = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
         .semaphoreCount = 1,
         .pSemaphores = &semaphore,
         .pValues = &value,
      };
      ASSERT_VK(vkWaitSemaphores(device, &wait, wait_limit));
   }
   for (std::thread &thread : threads)
      thread.join();
}

/// A device whose children cannot be destroyed, as it is destroyed at work: the program's fault.
/// They stay reachable here, so that the leak checker knows that it is meant.
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

/// What the queue waits for may never come; destroying the device does not wait for it.
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
   // Stacks of 64 MiB, and an address space with room for less.
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
   // What is behind it in the queue waits for nothing any more.
   VkCommandBuffer behind = begin();
   wait_for_host(behind, never);
   vkCmdFillBuffer(behind, after.handle, 4, 4, 1);
   ASSERT_VK(vkEndCommandBuffer(behind));
   ASSERT_VK(submit(failing, fences[0]));
   ASSERT_VK(submit(behind, fences[1]));
   // Nor does who waits for a query.
   WaitingThread waiter([&] {
      uint64_t value = 0;
      EXPECT_EQ(vkGetQueryPoolResults(device, queries, 0, 1, 8, &value, 8,
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                VK_ERROR_DEVICE_LOST);
   });
   // Nor for a submission to come that would signal.
   VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                     .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
   VkSemaphoreCreateInfo semaphore_info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                           .pNext = &type};
   VkSemaphore semaphore;
   ASSERT_VK(vkCreateSemaphore(device, &semaphore_info, nullptr, &semaphore));
   clean_up.push_back([this, semaphore] { vkDestroySemaphore(device, semaphore, nullptr); });
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
   // The specification leaves open which of both it is.
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

/// What the driver's threads block that they should not, and the other way round; sets how many
/// threads there are.
std::string wrong_masks(uint32_t &found)
{
   std::string wrong;
   found = 0;
   for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name, line;
      std::ifstream(task.path() / "comm") >> name;
      if (name != "weft" && name != "weft-queue")
         continue;
      found++;
      std::ifstream status(task.path() / "status");
      uint64_t blocked = 0;
      while (std::getline(status, line)) {
         if (line.starts_with("SigBlk:"))
            blocked = std::stoull(line.substr(7), nullptr, 16);
      }
      for (int sent : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD}) {
         if (!(blocked >> (sent - 1) & 1))
            wrong.append(name).append(" takes ").append(strsignal(sent)).append("; ");
      }
      for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
         if (blocked >> (fault - 1) & 1)
            wrong.append(name).append(" blocks ").append(strsignal(fault)).append("; ");
      }
   }
   return wrong;
}

/// The application's handlers run on the application's threads.
TEST_F(ConcurrencyTest, ThreadsLeaveSignalsToTheApplication)
{
   run(begin()); // the queue's thread has come as far as its name
   // Threads that start block everything for a moment.
   uint32_t found = 0;
   std::string wrong = wrong_masks(found);
   for (int i = 0; i < 100 && !wrong.empty(); i++) {
      pause_a_little();
      wrong = wrong_masks(found);
   }
   EXPECT_EQ(wrong, "");
   EXPECT_GE(found, 1u);
}

std::atomic<uint32_t> faults = 0;

/// As tools that track accesses to mapped memory do it: pages are protected, and the handler notes
/// which is accessed and opens it.
TEST_F(ConcurrencyTest, ProgramsMayTrackAccessesByFaults)
{
   constexpr size_t bytes = Turner::words * 64 * 4; // a page for each of the workgroups and more
   auto *memory = static_cast<uint8_t *>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
   ASSERT_NE(memory, MAP_FAILED);
   VkImportMemoryHostPointerInfoEXT import = {
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
      .pHostPointer = memory,
   };
   VkMemoryAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = &import,
      .allocationSize = bytes,
   };
   VkExternalMemoryBufferCreateInfo external = {
      .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
      .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
   };
   VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .pNext = &external,
      .size = bytes,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
   };
   TestBuffer buffer;
   ASSERT_VK(vkAllocateMemory(device, &allocate, nullptr, &buffer.memory));
   ASSERT_VK(vkCreateBuffer(device, &info, nullptr, &buffer.handle));
   ASSERT_VK(vkBindBufferMemory(device, buffer.handle, buffer.memory, 0));

   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(R"(
      layout(local_size_x = 64) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      void main() { data[gl_GlobalInvocationID.x] = gl_GlobalInvocationID.x * 3 + 1; })",
                                       recipe, layout);
   VkDescriptorSet set = make_set(recipe.sets[0]);
   write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffer);
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(cmd, bytes / 4 / 64, 1, 1);

   faults = 0;
   struct sigaction action = {}, before;
   action.sa_flags = SA_SIGINFO;
   action.sa_sigaction = [](int, siginfo_t *fault, void *) {
      const uintptr_t page = uintptr_t(fault->si_addr) & ~uintptr_t(4095);
      if (mprotect(reinterpret_cast<void *>(page), 4096, PROT_READ | PROT_WRITE))
         _exit(99);
      faults++;
   };
   ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
   ASSERT_EQ(mprotect(memory, bytes, PROT_NONE), 0);
   run(cmd);
   sigaction(SIGSEGV, &before, nullptr);
   ASSERT_EQ(mprotect(memory, bytes, PROT_READ | PROT_WRITE), 0);
   EXPECT_GE(faults, bytes / 4096);
   for (uint32_t i = 0; i < bytes / 4; i++)
      ASSERT_EQ(reinterpret_cast<uint32_t *>(memory)[i], i * 3 + 1) << i;
   vkDestroyBuffer(device, buffer.handle, nullptr);
   vkFreeMemory(device, buffer.memory, nullptr);
   munmap(memory, bytes);
}

/// Of this test in a process of its own, in which WEFT_TEST_EXIT is set.  Everything is left behind there, on
/// purpose.
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

/// And while the code of its first shaders is generated.
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
      // And the first that has to do with matrices.
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
