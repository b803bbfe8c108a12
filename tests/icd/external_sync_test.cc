// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_external_semaphore_fd and VK_KHR_external_fence_fd: payloads of several devices and
/// processes.

#include "tests/icd/fixture.h"

#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::icd_test {

namespace {

constexpr auto semaphore_fd = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr auto fence_fd = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr const char *fd_variable = "WEFT_TEST_PAYLOAD";

VkSemaphore make_semaphore(VkDevice device, std::vector<std::function<void()>> &clean_up,
                           VkSemaphoreType type, bool exportable, uint64_t initial = 0)
{
   const VkExportSemaphoreCreateInfo exported = {
      .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, .handleTypes = semaphore_fd};
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
                                             .handleTypes = fence_fd};
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

int export_fd(VkDevice device, VkSemaphore semaphore)
{
   const VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                         .semaphore = semaphore,
                                         .handleType = semaphore_fd};
   int fd = -1;
   EXPECT_VK(function<PFN_vkGetSemaphoreFdKHR>(device, "vkGetSemaphoreFdKHR")(device, &info, &fd));
   return fd;
}

int export_fd(VkDevice device, VkFence fence)
{
   const VkFenceGetFdInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_FENCE_GET_FD_INFO_KHR, .fence = fence, .handleType = fence_fd};
   int fd = -1;
   EXPECT_VK(function<PFN_vkGetFenceFdKHR>(device, "vkGetFenceFdKHR")(device, &info, &fd));
   return fd;
}

VkResult import_fd(VkDevice device, VkSemaphore semaphore, int fd, VkSemaphoreImportFlags flags = 0)
{
   const VkImportSemaphoreFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                            .semaphore = semaphore,
                                            .flags = flags,
                                            .handleType = semaphore_fd,
                                            .fd = fd};
   return function<PFN_vkImportSemaphoreFdKHR>(device, "vkImportSemaphoreFdKHR")(device, &info);
}

VkResult import_fd(VkDevice device, VkFence fence, int fd, VkFenceImportFlags flags = 0)
{
   const VkImportFenceFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_FENCE_FD_INFO_KHR,
                                        .fence = fence,
                                        .flags = flags,
                                        .handleType = fence_fd,
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

TEST_F(ExternalSyncTest, OpaqueFilesOfEachKind)
{
   constexpr auto both =
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
      vkGetPhysicalDeviceExternalSemaphoreProperties(physical, &info, &properties);
      EXPECT_EQ(properties.externalSemaphoreFeatures, VkExternalSemaphoreFeatureFlags(both));
      EXPECT_EQ(properties.compatibleHandleTypes, VkExternalSemaphoreHandleTypeFlags(semaphore_fd));
      info.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT;
      vkGetPhysicalDeviceExternalSemaphoreProperties(physical, &info, &properties);
      EXPECT_EQ(properties.externalSemaphoreFeatures, 0u);
   }
   VkPhysicalDeviceExternalFenceInfo info = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_FENCE_INFO, .handleType = fence_fd};
   VkExternalFenceProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_FENCE_PROPERTIES};
   vkGetPhysicalDeviceExternalFenceProperties(physical, &info, &properties);
   EXPECT_EQ(properties.externalFenceFeatures,
             VkExternalFenceFeatureFlags(VK_EXTERNAL_FENCE_FEATURE_EXPORTABLE_BIT |
                                         VK_EXTERNAL_FENCE_FEATURE_IMPORTABLE_BIT));
   info.handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT;
   vkGetPhysicalDeviceExternalFenceProperties(physical, &info, &properties);
   EXPECT_EQ(properties.externalFenceFeatures, 0u);
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
