// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_external_semaphore_fd and VK_KHR_external_fence_fd: payloads of several devices and
/// processes.

#include "tests/icd/fixture.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace weft::icd_test {

namespace {

constexpr auto semaphore_fd = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr auto fence_fd = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr auto semaphore_sync_fd = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT;
constexpr auto fence_sync_fd = VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT;
constexpr const char *fd_variable = "WEFT_TEST_PAYLOAD";

VkSemaphore make_semaphore(VkDevice device, std::vector<std::function<void()>> &clean_up,
                           VkSemaphoreType type, bool exportable, uint64_t initial = 0)
{
   VkExportSemaphoreCreateInfo exported = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                           .handleTypes = semaphore_fd};
   if (type == VK_SEMAPHORE_TYPE_BINARY)
      exported.handleTypes |= semaphore_sync_fd;
   const VkSemaphoreTypeCreateInfo type_info = {.sType =
                                                   VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                                .pNext = exportable ? &exported : nullptr,
                                                .semaphoreType = type,
                                                .initialValue = initial};
   const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                       .pNext = &type_info};
   VkSemaphore semaphore = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateSemaphore(device, &info, nullptr, &semaphore));
   clean_up.push_back([=] { vkDestroySemaphore(device, semaphore, nullptr); });
   return semaphore;
}

VkFence make_fence(VkDevice device, std::vector<std::function<void()>> &clean_up, bool exportable,
                   VkFenceCreateFlags flags = 0)
{
   const VkExportFenceCreateInfo exported = {.sType = VK_STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO,
                                             .handleTypes = fence_fd | fence_sync_fd};
   const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO,
                                   .pNext = exportable ? &exported : nullptr,
                                   .flags = flags};
   VkFence fence = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateFence(device, &info, nullptr, &fence));
   clean_up.push_back([=] { vkDestroyFence(device, fence, nullptr); });
   return fence;
}

template <typename F>
F function(VkDevice device, const char *name)
{
   return reinterpret_cast<F>(vkGetDeviceProcAddr(device, name));
}

VkResult get_fd(VkDevice device, VkSemaphore semaphore, int *fd,
                VkExternalSemaphoreHandleTypeFlagBits type = semaphore_fd)
{
   const VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                         .semaphore = semaphore,
                                         .handleType = type};
   return function<PFN_vkGetSemaphoreFdKHR>(device, "vkGetSemaphoreFdKHR")(device, &info, fd);
}

VkResult get_fd(VkDevice device, VkFence fence, int *fd,
                VkExternalFenceHandleTypeFlagBits type = fence_fd)
{
   const VkFenceGetFdInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_FENCE_GET_FD_INFO_KHR, .fence = fence, .handleType = type};
   return function<PFN_vkGetFenceFdKHR>(device, "vkGetFenceFdKHR")(device, &info, fd);
}

int export_fd(VkDevice device, auto object)
{
   int fd = -1;
   EXPECT_VK(get_fd(device, object, &fd));
   return fd;
}

VkResult import_fd(VkDevice device, VkSemaphore semaphore, int fd, VkSemaphoreImportFlags flags = 0,
                   VkExternalSemaphoreHandleTypeFlagBits type = semaphore_fd)
{
   const VkImportSemaphoreFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                            .semaphore = semaphore,
                                            .flags = flags,
                                            .handleType = type,
                                            .fd = fd};
   return function<PFN_vkImportSemaphoreFdKHR>(device, "vkImportSemaphoreFdKHR")(device, &info);
}

VkResult import_fd(VkDevice device, VkFence fence, int fd, VkFenceImportFlags flags = 0,
                   VkExternalFenceHandleTypeFlagBits type = fence_fd)
{
   const VkImportFenceFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_FENCE_FD_INFO_KHR,
                                        .fence = fence,
                                        .flags = flags,
                                        .handleType = type,
                                        .fd = fd};
   return function<PFN_vkImportFenceFdKHR>(device, "vkImportFenceFdKHR")(device, &info);
}

VkResult wait(VkDevice device, VkSemaphore timeline, uint64_t value, uint64_t time = wait_limit)
{
   const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                     .semaphoreCount = 1,
                                     .pSemaphores = &timeline,
                                     .pValues = &value};
   return vkWaitSemaphores(device, &info, time);
}

VkResult signal(VkDevice device, VkSemaphore timeline, uint64_t value)
{
   const VkSemaphoreSignalInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline, .value = value};
   return vkSignalSemaphore(device, &info);
}

/// A submission without commands; the values are of timelines.
VkResult submit_sync(VkQueue queue, VkSemaphore wait, uint64_t wait_value, VkSemaphore signal,
                     uint64_t signal_value, VkFence fence = VK_NULL_HANDLE)
{
   const VkSemaphoreSubmitInfo wait_info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                            .semaphore = wait,
                                            .value = wait_value,
                                            .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT},
                               signal_info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                              .semaphore = signal,
                                              .value = signal_value,
                                              .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
   const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                               .waitSemaphoreInfoCount = wait != VK_NULL_HANDLE,
                               .pWaitSemaphoreInfos = &wait_info,
                               .signalSemaphoreInfoCount = signal != VK_NULL_HANDLE,
                               .pSignalSemaphoreInfos = &signal_info};
   return vkQueueSubmit2(queue, 1, &info, fence);
}

} // namespace

class ExternalSyncTest : public IcdTest {
protected:
   VkSemaphore timeline(bool exportable, uint64_t initial = 0)
   {
      return make_semaphore(device, clean_up, VK_SEMAPHORE_TYPE_TIMELINE, exportable, initial);
   }
   VkSemaphore binary(bool exportable)
   {
      return make_semaphore(device, clean_up, VK_SEMAPHORE_TYPE_BINARY, exportable);
   }
   VkSemaphore binary_of(AnotherDevice &other)
   {
      return make_semaphore(other.device, other.clean_up, VK_SEMAPHORE_TYPE_BINARY, false);
   }
   VkSemaphore timeline_of(AnotherDevice &other)
   {
      return make_semaphore(other.device, other.clean_up, VK_SEMAPHORE_TYPE_TIMELINE, false);
   }
};

/// Timelines have no sync files.
TEST_F(ExternalSyncTest, FilesOfEachKind)
{
   constexpr VkExternalSemaphoreFeatureFlags both =
      VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
   for (VkSemaphoreType type : {VK_SEMAPHORE_TYPE_BINARY, VK_SEMAPHORE_TYPE_TIMELINE}) {
      const VkSemaphoreTypeCreateInfo type_info = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = type};
      VkPhysicalDeviceExternalSemaphoreInfo info = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
         .pNext = &type_info,
         .handleType = semaphore_fd};
      VkExternalSemaphoreProperties properties = {
         .sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
      VkExternalSemaphoreHandleTypeFlags compatible = semaphore_fd;
      if (type == VK_SEMAPHORE_TYPE_BINARY)
         compatible |= semaphore_sync_fd;
      for (const auto handle : {semaphore_fd, semaphore_sync_fd}) {
         info.handleType = handle;
         vkGetPhysicalDeviceExternalSemaphoreProperties(physical, &info, &properties);
         const bool has_files = compatible & handle;
         EXPECT_EQ(properties.externalSemaphoreFeatures, has_files ? both : 0);
         EXPECT_EQ(properties.compatibleHandleTypes, has_files ? compatible : 0);
      }
   }
   VkPhysicalDeviceExternalFenceInfo info = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_FENCE_INFO};
   VkExternalFenceProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_FENCE_PROPERTIES};
   for (const auto handle : {fence_fd, fence_sync_fd}) {
      info.handleType = handle;
      vkGetPhysicalDeviceExternalFenceProperties(physical, &info, &properties);
      EXPECT_EQ(properties.externalFenceFeatures,
                VkExternalFenceFeatureFlags(VK_EXTERNAL_FENCE_FEATURE_EXPORTABLE_BIT |
                                            VK_EXTERNAL_FENCE_FEATURE_IMPORTABLE_BIT));
      EXPECT_EQ(properties.compatibleHandleTypes,
                VkExternalFenceHandleTypeFlags(fence_fd | fence_sync_fd));
   }
}

TEST_F(ExternalSyncTest, TimelinesOfTwoDevices)
{
   AnotherDevice other;
   const VkSemaphore here = timeline(true, 3), there = timeline_of(other);
   ASSERT_VK(import_fd(other.device, there, export_fd(device, here)));
   uint64_t value = 0;
   EXPECT_VK(vkGetSemaphoreCounterValue(other.device, there, &value));
   EXPECT_EQ(value, 3u);
   EXPECT_EQ(wait(other.device, there, 4, 1), VK_TIMEOUT);
   // Each queue waits for the other one.
   EXPECT_VK(submit_sync(queue, here, 5, here, 6));
   EXPECT_VK(submit_sync(other.queue, there, 4, there, 5));
   EXPECT_VK(submit_sync(other.queue, there, 6, there, 7));
   EXPECT_VK(signal(device, here, 4));
   EXPECT_VK(wait(device, here, 7));
   EXPECT_VK(vkGetSemaphoreCounterValue(other.device, there, &value));
   EXPECT_EQ(value, 7u);
   EXPECT_VK(signal(other.device, there, 100));
   EXPECT_VK(wait(device, here, 99));
   EXPECT_VK(vkQueueWaitIdle(queue));
   EXPECT_VK(vkQueueWaitIdle(other.queue));
}

TEST_F(ExternalSyncTest, BinarySemaphoresOfTwoDevices)
{
   AnotherDevice other;
   const VkSemaphore here = binary(true), there = binary_of(other), host = timeline(false);
   ASSERT_VK(import_fd(other.device, there, export_fd(device, here)));
   const VkFence fence = make_fence(other.device, other.clean_up, false);
   for (uint64_t round = 1; round <= 20; ++round) {
      EXPECT_VK(submit_sync(queue, host, round, here, 0));
      EXPECT_VK(submit_sync(other.queue, there, 0, VK_NULL_HANDLE, 0, fence));
      EXPECT_EQ(vkGetFenceStatus(other.device, fence), VK_NOT_READY);
      EXPECT_VK(signal(device, host, round));
      EXPECT_VK(vkWaitForFences(other.device, 1, &fence, true, wait_limit));
      EXPECT_VK(vkResetFences(other.device, 1, &fence));
      // And back.
      EXPECT_VK(submit_sync(other.queue, VK_NULL_HANDLE, 0, there, 0));
      EXPECT_VK(submit_sync(queue, here, 0, VK_NULL_HANDLE, 0));
      EXPECT_VK(vkQueueWaitIdle(queue));
   }
}

/// A temporary payload ends with the wait, which may outlive the semaphore.
TEST_F(ExternalSyncTest, TemporaryPayloads)
{
   AnotherDevice other;
   const VkSemaphore here = binary(true), host = timeline(false);
   const VkFence fence = make_fence(other.device, other.clean_up, false);
   for (uint64_t round = 1; round <= 3; ++round) {
      VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
      VkSemaphore there = VK_NULL_HANDLE;
      ASSERT_VK(vkCreateSemaphore(other.device, &info, nullptr, &there));
      EXPECT_VK(submit_sync(queue, host, round, here, 0));
      ASSERT_VK(import_fd(other.device, there, export_fd(device, here),
                          VK_SEMAPHORE_IMPORT_TEMPORARY_BIT));
      EXPECT_VK(submit_sync(other.queue, there, 0, VK_NULL_HANDLE, 0, fence));
      EXPECT_EQ(vkGetFenceStatus(other.device, fence), VK_NOT_READY);
      EXPECT_VK(signal(device, host, round));
      EXPECT_VK(vkWaitForFences(other.device, 1, &fence, true, wait_limit));
      EXPECT_VK(vkResetFences(other.device, 1, &fence));
      // Its own payload is back.
      EXPECT_VK(submit_sync(other.queue, VK_NULL_HANDLE, 0, there, 0));
      EXPECT_VK(submit_sync(other.queue, there, 0, VK_NULL_HANDLE, 0));
      EXPECT_VK(vkQueueWaitIdle(other.queue));
      vkDestroySemaphore(other.device, there, nullptr);
   }
   EXPECT_VK(vkQueueWaitIdle(queue));
}

TEST_F(ExternalSyncTest, FencesOfTwoDevices)
{
   AnotherDevice other;
   for (const bool temporary : {false, true}) {
      const VkFence here = make_fence(device, clean_up, true, VK_FENCE_CREATE_SIGNALED_BIT),
                    there = make_fence(other.device, other.clean_up, false);
      const VkSemaphore host = timeline(false);
      ASSERT_VK(import_fd(other.device, there, export_fd(device, here),
                          temporary ? VkFenceImportFlags(VK_FENCE_IMPORT_TEMPORARY_BIT) : 0));
      EXPECT_VK(vkGetFenceStatus(other.device, there));
      EXPECT_VK(vkResetFences(device, 1, &here));
      EXPECT_EQ(vkGetFenceStatus(other.device, there), VK_NOT_READY);
      EXPECT_VK(submit_sync(queue, host, 1, VK_NULL_HANDLE, 0, here));
      EXPECT_EQ(vkWaitForFences(other.device, 1, &there, true, 1), VK_TIMEOUT);
      EXPECT_VK(signal(device, host, 1));
      EXPECT_VK(vkWaitForFences(other.device, 1, &there, true, wait_limit));
      EXPECT_VK(vkGetFenceStatus(device, here));
      // A reset ends a temporary payload, and resets a permanent one for all.
      EXPECT_VK(vkResetFences(other.device, 1, &there));
      EXPECT_EQ(vkGetFenceStatus(other.device, there), VK_NOT_READY);
      EXPECT_EQ(vkGetFenceStatus(device, here), temporary ? VK_SUCCESS : VK_NOT_READY);
      EXPECT_VK(submit_sync(other.queue, VK_NULL_HANDLE, 0, VK_NULL_HANDLE, 0, there));
      EXPECT_VK(vkWaitForFences(other.device, 1, &there, true, wait_limit));
      EXPECT_VK(vkGetFenceStatus(device, here));
   }
}

TEST_F(ExternalSyncTest, OtherFilesAreRefused)
{
   constexpr VkResult refused = VK_ERROR_INVALID_EXTERNAL_HANDLE;
   const VkSemaphore a_timeline = timeline(true), a_binary = binary(true);
   const VkFence fence = make_fence(device, clean_up, true);
   const auto expect_refused = [&](int fd, bool is_timeline, bool is_binary) {
      if (is_timeline) {
         EXPECT_EQ(import_fd(device, a_timeline, fd), refused);
      }
      if (is_binary) {
         EXPECT_EQ(import_fd(device, a_binary, fd), refused);
         EXPECT_EQ(import_fd(device, a_binary, fd, VK_SEMAPHORE_IMPORT_TEMPORARY_BIT), refused);
         EXPECT_EQ(import_fd(device, fence, fd), refused);
      }
      EXPECT_EQ(close(fd), 0); // still the program's
   };
   expect_refused(open("/dev/null", O_RDWR), true, true);
   expect_refused(memfd_create("empty", 0), true, true);
   const int zeros = memfd_create("zeros", MFD_ALLOW_SEALING);
   ASSERT_EQ(ftruncate(zeros, 40), 0);
   ASSERT_EQ(fcntl(zeros, F_ADD_SEALS, F_SEAL_SHRINK), 0);
   expect_refused(zeros, true, true);
   expect_refused(export_fd(device, a_timeline), false, true);
   expect_refused(export_fd(device, a_binary), true, false);
   EXPECT_EQ(import_fd(device, a_timeline, -1), refused);
   EXPECT_VK(signal(device, a_timeline, 1));
   EXPECT_VK(wait(device, a_timeline, 1));
}

/// An export waits for the signal operation and resets the payload.
TEST_F(ExternalSyncTest, SyncFilesHaveSignaled)
{
   AnotherDevice other;
   const VkSemaphore here = binary(true), there = binary_of(other), host = timeline(false);
   const VkFence fence = make_fence(device, clean_up, true),
                 other_fence = make_fence(other.device, other.clean_up, false);
   uint64_t value = 0;
   const auto export_after_signal = [&](auto object, auto type) {
      std::atomic<bool> signaled = false;
      std::thread later([&] {
         std::this_thread::sleep_for(std::chrono::milliseconds(20));
         signaled = true;
         EXPECT_VK(signal(device, host, value));
      });
      int fd = 0;
      EXPECT_VK(get_fd(device, object, &fd, type));
      EXPECT_TRUE(signaled);
      EXPECT_EQ(fd, -1);
      later.join();
   };
   for (int round = 0; round < 3; ++round) {
      EXPECT_VK(submit_sync(queue, host, ++value, here, 0));
      export_after_signal(here, semaphore_sync_fd);
      ASSERT_VK(
         import_fd(other.device, there, -1, VK_SEMAPHORE_IMPORT_TEMPORARY_BIT, semaphore_sync_fd));
      EXPECT_VK(submit_sync(queue, host, ++value, VK_NULL_HANDLE, 0, fence));
      export_after_signal(fence, fence_sync_fd);
      EXPECT_EQ(vkGetFenceStatus(device, fence), VK_NOT_READY);
      EXPECT_VK(submit_sync(other.queue, there, 0, VK_NULL_HANDLE, 0, other_fence));
      EXPECT_VK(vkWaitForFences(other.device, 1, &other_fence, true, wait_limit));
      EXPECT_VK(vkResetFences(other.device, 1, &other_fence));
      ASSERT_VK(
         import_fd(other.device, other_fence, -1, VK_FENCE_IMPORT_TEMPORARY_BIT, fence_sync_fd));
      EXPECT_VK(vkGetFenceStatus(other.device, other_fence));
      EXPECT_VK(vkResetFences(other.device, 1, &other_fence));
      EXPECT_EQ(vkGetFenceStatus(other.device, other_fence), VK_NOT_READY);
   }
}

TEST_F(ExternalSyncTest, SyncFilesOfNoOperationAreRefused)
{
   constexpr VkResult refused = VK_ERROR_INVALID_EXTERNAL_HANDLE;
   const VkSemaphore semaphore = binary(true);
   const VkFence fence = make_fence(device, clean_up, true);
   int fd = 0;
   EXPECT_EQ(get_fd(device, semaphore, &fd, semaphore_sync_fd), refused);
   EXPECT_EQ(get_fd(device, fence, &fd, fence_sync_fd), refused);
   const int other_file = open("/dev/null", O_RDWR);
   EXPECT_EQ(import_fd(device, semaphore, other_file, VK_SEMAPHORE_IMPORT_TEMPORARY_BIT,
                       semaphore_sync_fd),
             refused);
   EXPECT_EQ(import_fd(device, fence, other_file, VK_FENCE_IMPORT_TEMPORARY_BIT, fence_sync_fd),
             refused);
   EXPECT_EQ(close(other_file), 0);
   EXPECT_VK(submit_sync(queue, VK_NULL_HANDLE, 0, semaphore, 0, fence));
   EXPECT_VK(submit_sync(queue, semaphore, 0, VK_NULL_HANDLE, 0));
   EXPECT_VK(vkWaitForFences(device, 1, &fence, true, wait_limit));
}

/// Runs in a process that another test starts.
TEST_F(ExternalSyncTest, TheOtherProcess)
{
   const char *fd = getenv(fd_variable);
   if (!fd)
      GTEST_SKIP() << "is part of ProcessesShareATimeline";
   const VkSemaphore shared = timeline(false);
   ASSERT_VK(import_fd(device, shared, atoi(fd)));
   ASSERT_VK(wait(device, shared, 1));
   ASSERT_VK(submit_sync(queue, VK_NULL_HANDLE, 0, shared, 2));
   ASSERT_VK(submit_sync(queue, shared, 3, shared, 4));
   ASSERT_VK(vkQueueWaitIdle(queue));
}

TEST_F(ExternalSyncTest, ProcessesShareATimeline)
{
   const VkSemaphore shared = timeline(true);
   const int fd = export_fd(device, shared);
   ASSERT_EQ(fcntl(fd, F_SETFD, 0), 0);
   std::vector<std::string> strings;
   for (char **variable = environ; *variable; ++variable)
      strings.push_back(*variable);
   strings.push_back(std::string(fd_variable) + "=" + std::to_string(fd));
   std::vector<char *> variables;
   for (std::string &string : strings)
      variables.push_back(string.data());
   variables.push_back(nullptr);
   std::string program = "weft_icd_tests", filter = "--gtest_filter=*.TheOtherProcess";
   char *const arguments[] = {program.data(), filter.data(), nullptr};
   pid_t child;
   ASSERT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, variables.data()),
             0);
   close(fd);
   EXPECT_VK(signal(device, shared, 1));
   EXPECT_VK(wait(device, shared, 2));
   EXPECT_VK(submit_sync(queue, shared, 2, shared, 3));
   EXPECT_VK(wait(device, shared, 4));
   int status = -1;
   EXPECT_EQ(waitpid(child, &status, 0), child);
   EXPECT_EQ(status, 0);
}

} // namespace weft::icd_test
