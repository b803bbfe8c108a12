// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/icd/fixture.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::icd_test {

class MemoryTest : public IcdTest {
protected:
   VkPhysicalDeviceMemoryBudgetPropertiesEXT budget()
   {
      VkPhysicalDeviceMemoryBudgetPropertiesEXT out = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT,
      };
      VkPhysicalDeviceMemoryProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
         .pNext = &out,
      };
      vkGetPhysicalDeviceMemoryProperties2(physical, &properties);
      return out;
   }

   VkResult allocate(VkDeviceSize size, VkDeviceMemory *memory, const void *next = nullptr)
   {
      VkMemoryAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
         .pNext = next,
         .allocationSize = size,
      };
      return vkAllocateMemory(device, &info, nullptr, memory);
   }
};

TEST_F(MemoryTest, IsZeroedAlignedAndCounted)
{
   uint64_t before = budget().heapUsage[0];
   for (VkDeviceSize size : {VkDeviceSize(1), VkDeviceSize(4097), VkDeviceSize(5 << 20)}) {
      VkDeviceMemory memory;
      ASSERT_VK(allocate(size, &memory));
      EXPECT_GE(budget().heapUsage[0], before + size);
      uint8_t *map;
      ASSERT_VK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, reinterpret_cast<void **>(&map)));
      EXPECT_EQ(uintptr_t(map) % 4096, 0u);
      EXPECT_EQ(map[0], 0);
      EXPECT_EQ(map[size - 1], 0);
      map[size - 1] = 1;
      vkUnmapMemory(device, memory);
      vkFreeMemory(device, memory, nullptr);
      EXPECT_EQ(budget().heapUsage[0], before);
   }
}

TEST_F(MemoryTest, OneTypeHasAllProperties)
{
   VkPhysicalDeviceMemoryProperties properties;
   vkGetPhysicalDeviceMemoryProperties(physical, &properties);
   ASSERT_EQ(properties.memoryTypeCount, 1u);
   EXPECT_EQ(properties.memoryTypes[0].propertyFlags,
             VkMemoryPropertyFlags(
                VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT));
   EXPECT_GT(budget().heapBudget[0], 0u);
   EXPECT_LE(budget().heapBudget[0], properties.memoryHeaps[0].size);
}

TEST_F(MemoryTest, MoreThanThereIsFails)
{
   const uint64_t before = budget().heapUsage[0];
   VkPhysicalDeviceMemoryProperties properties;
   vkGetPhysicalDeviceMemoryProperties(physical, &properties);
   for (VkDeviceSize size :
        {properties.memoryHeaps[0].size + 1, VkDeviceSize(1) << 50, ~VkDeviceSize(0)}) {
      VkDeviceMemory memory = VK_NULL_HANDLE;
      EXPECT_EQ(allocate(size, &memory), VK_ERROR_OUT_OF_DEVICE_MEMORY);
   }
   EXPECT_EQ(budget().heapUsage[0], before);
}

TEST_F(MemoryTest, BuffersBeyond4GiB)
{
   constexpr VkDeviceSize size = (VkDeviceSize(4) << 30) + 4096;
   VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = size,
      .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
   };
   VkBuffer buffer;
   ASSERT_VK(vkCreateBuffer(device, &info, nullptr, &buffer));
   VkMemoryRequirements requirements;
   vkGetBufferMemoryRequirements(device, buffer, &requirements);
   EXPECT_GE(requirements.size, size);
   // Pages that nobody touches cost nothing, so this needs no 4 GiB; a machine with less says so
   // properly.
   VkDeviceMemory memory = VK_NULL_HANDLE;
   VkResult result = allocate(requirements.size, &memory);
   if (result == VK_SUCCESS) {
      ASSERT_VK(vkBindBufferMemory(device, buffer, memory, 0));
      VkCommandBuffer cmd = begin();
      vkCmdFillBuffer(cmd, buffer, size - 4096, 8, 0xabcd1234);
      run(cmd);
      void *map;
      ASSERT_VK(vkMapMemory(device, memory, size - 4096, 4096, 0, &map));
      EXPECT_EQ(static_cast<uint32_t *>(map)[1], 0xabcd1234u);
      EXPECT_EQ(static_cast<uint32_t *>(map)[2], 0u);
   }
   vkDestroyBuffer(device, buffer, nullptr);
   vkFreeMemory(device, memory, nullptr);
   if (result != VK_SUCCESS) {
      EXPECT_EQ(result, VK_ERROR_OUT_OF_DEVICE_MEMORY);
      GTEST_SKIP() << "the memory heap is too small";
   }
}

/// The device shares the program's address space: an address is that of the mapped memory.
TEST_F(MemoryTest, DeviceAddressIsWhereTheBufferLies)
{
   auto address = [&](VkBuffer buffer) {
      VkBufferDeviceAddressInfo info = {
         .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
         .buffer = buffer,
      };
      return vkGetBufferDeviceAddress(device, &info);
   };
   TestBuffer first = make_buffer(256), second = make_buffer(256);
   EXPECT_EQ(address(first.handle), uintptr_t(first.map));
   EXPECT_EQ(address(second.handle), uintptr_t(second.map));

   // Bound behind the start of the memory.
   VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = 64,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
   };
   VkBuffer inner;
   ASSERT_VK(vkCreateBuffer(device, &info, nullptr, &inner));
   ASSERT_VK(vkBindBufferMemory(device, inner, first.memory, 128));
   EXPECT_EQ(address(inner), uintptr_t(first.map) + 128);
   vkDestroyBuffer(device, inner, nullptr);
}

/// What VK_EXT_memory_budget calls usage is the process's, whatever instance it came by.
TEST_F(MemoryTest, UsageIsTheProcesss)
{
   const uint64_t before = budget().heapUsage[0];
   VkInstance other_instance = create_instance();
   VkDevice other = VK_NULL_HANDLE;
   ASSERT_VK(create_device(get_physical_device(other_instance), nullptr, &other));
   VkMemoryAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .allocationSize = 1 << 20,
   };
   VkDeviceMemory memory;
   ASSERT_VK(vkAllocateMemory(other, &info, nullptr, &memory));
   EXPECT_EQ(budget().heapUsage[0], before + (1 << 20));
   vkFreeMemory(other, memory, nullptr);
   EXPECT_EQ(budget().heapUsage[0], before);
   vkDestroyDevice(other, nullptr);
   vkDestroyInstance(other_instance, nullptr);
}

TEST_F(MemoryTest, OpaqueFdIsSharedMemory)
{
   VkExportMemoryAllocateInfo export_info = {
      .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
      .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
   };
   VkDeviceMemory first;
   ASSERT_VK(allocate(10000, &first, &export_info));
   VkMemoryGetFdInfoKHR get_info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
      .memory = first,
      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
   };
   int fd = -1;
   ASSERT_VK(device_function<PFN_vkGetMemoryFdKHR>("vkGetMemoryFdKHR")(device, &get_info, &fd));
   ASSERT_GE(fd, 0);
   EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC); // not for programs that this one starts

   VkImportMemoryFdInfoKHR import_info = {
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
      .fd = fd,
   };
   VkDeviceMemory second;
   ASSERT_VK(allocate(10000, &second, &import_info));
   char *a, *b;
   ASSERT_VK(vkMapMemory(device, first, 0, VK_WHOLE_SIZE, 0, reinterpret_cast<void **>(&a)));
   ASSERT_VK(vkMapMemory(device, second, 0, VK_WHOLE_SIZE, 0, reinterpret_cast<void **>(&b)));
   strcpy(a + 9000, "shared");
   EXPECT_STREQ(b + 9000, "shared");
   vkFreeMemory(device, first, nullptr);
   EXPECT_STREQ(b + 9000, "shared");
   vkFreeMemory(device, second, nullptr);
}

TEST_F(MemoryTest, TooSmallAnFdIsRefused)
{
   int fd = memfd_create("test", 0);
   ASSERT_EQ(ftruncate(fd, 4096), 0);
   VkImportMemoryFdInfoKHR import_info = {
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
      .fd = fd,
   };
   VkDeviceMemory memory;
   EXPECT_EQ(allocate(1 << 20, &memory, &import_info), VK_ERROR_INVALID_EXTERNAL_HANDLE);
   EXPECT_EQ(close(fd), 0); // a failed import leaves it to us
}

TEST_F(MemoryTest, HostPointerIsUsedInPlace)
{
   void *pages = aligned_alloc(4096, 8192);
   VkImportMemoryHostPointerInfoEXT import_info = {
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
      .pHostPointer = pages,
   };
   VkDeviceMemory memory;
   ASSERT_VK(allocate(8192, &memory, &import_info));
   void *map;
   ASSERT_VK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &map));
   EXPECT_EQ(map, pages);
   vkFreeMemory(device, memory, nullptr);
   free(pages);
}

} // namespace weft::icd_test
