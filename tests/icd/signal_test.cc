// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Signals of the application while the driver's threads run.

#include "tests/icd/concurrency_fixture.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::icd_test {

/// Lists the driver's threads with a wrong signal mask. Sets the number of threads.
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
   run(begin()); // now the queue's thread has set its name
   // Threads block all signals for a moment when they start.
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

/// As in tools that track accesses to mapped memory: pages are protected, and the handler records
/// the accessed page and unprotects it.
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

} // namespace weft::icd_test
