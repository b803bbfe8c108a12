// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/icd/fixture.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
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

   VkResult allocate_exportable(VkDeviceSize size, VkDeviceMemory *memory)
   {
      const VkExportMemoryAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
         .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
      };
      return allocate(size, memory, &info);
   }

   int export_fd(VkDeviceMemory memory)
   {
      const VkMemoryGetFdInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
         .memory = memory,
         .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
      };
      int fd = -1;
      EXPECT_VK(device_function<PFN_vkGetMemoryFdKHR>("vkGetMemoryFdKHR")(device, &info, &fd));
      return fd;
   }

   VkResult import_fd(int fd, VkDeviceSize size, VkDeviceMemory *memory)
   {
      const VkImportMemoryFdInfoKHR info = {
         .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
         .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
         .fd = fd,
      };
      return allocate(size, memory, &info);
   }

   uint8_t *map(VkDeviceMemory memory)
   {
      void *pages = nullptr;
      EXPECT_VK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &pages));
      return static_cast<uint8_t *>(pages);
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

/// Vulkan, VkPhysicalDeviceMemoryProperties: the type without DEVICE_LOCAL comes first, and its
/// heap is not the device's.
TEST_F(MemoryTest, TypesOfTheDeviceAndOfTheHost)
{
   VkPhysicalDeviceMemoryProperties properties;
   vkGetPhysicalDeviceMemoryProperties(physical, &properties);
   ASSERT_EQ(properties.memoryTypeCount, 3u);
   ASSERT_EQ(properties.memoryHeapCount, 2u);
   constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                          VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                          VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
   EXPECT_EQ(properties.memoryTypes[0].propertyFlags, host);
   for (const uint32_t type : {1, 2})
      EXPECT_EQ(properties.memoryTypes[type].propertyFlags,
                host | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
   EXPECT_EQ(properties.memoryHeaps[properties.memoryTypes[0].heapIndex].flags, 0u);
   EXPECT_EQ(properties.memoryHeaps[properties.memoryTypes[1].heapIndex].flags,
             VkMemoryHeapFlags(VK_MEMORY_HEAP_DEVICE_LOCAL_BIT));
   for (uint32_t heap = 0; heap < 2; heap++) {
      EXPECT_GT(budget().heapBudget[heap], 0u);
      EXPECT_LE(budget().heapBudget[heap], properties.memoryHeaps[heap].size);
   }
}

/// Memory of each type serves every buffer, and counts in both heaps: they are the same memory.
TEST_F(MemoryTest, EachTypeServesBuffers)
{
   const VkBuffer buffer = vulkan::create_buffer(device, 8192, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
   EXPECT_EQ(vulkan::requirements(device, buffer).memoryTypeBits, 0b111u);
   vkDestroyBuffer(device, buffer, nullptr);
   for (uint32_t type = 0; type < 3; type++) {
      const auto before = budget();
      const VkMemoryAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                               .allocationSize = 8192,
                                               .memoryTypeIndex = type};
      VkDeviceMemory memory = VK_NULL_HANDLE;
      ASSERT_VK(vkAllocateMemory(device, &allocation, nullptr, &memory));
      void *map = nullptr;
      EXPECT_VK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &map));
      memset(map, 0x5a, 8192);
      for (uint32_t heap = 0; heap < 2; heap++)
         EXPECT_EQ(budget().heapUsage[heap], before.heapUsage[heap] + 8192);
      vkFreeMemory(device, memory, nullptr);
   }
}

/// bufferDeviceAddressCaptureReplay: freed memory can be allocated again at its address, and an
/// address in use is refused.
TEST_F(MemoryTest, AddressesCanBeReplayed)
{
   VkMemoryOpaqueCaptureAddressAllocateInfo captured = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO};
   const VkMemoryAllocateFlagsInfo flags = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .pNext = &captured,
      .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT |
               VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT,
   };
   const auto address_of = [&](VkDeviceMemory memory) {
      const VkDeviceMemoryOpaqueCaptureAddressInfo info = {
         .sType = VK_STRUCTURE_TYPE_DEVICE_MEMORY_OPAQUE_CAPTURE_ADDRESS_INFO, .memory = memory};
      return vkGetDeviceMemoryOpaqueCaptureAddress(device, &info);
   };
   const auto fill = [&](VkDeviceMemory memory) {
      void *map = nullptr;
      ASSERT_VK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &map));
      EXPECT_EQ(uint64_t(uintptr_t(map)), address_of(memory));
      memset(map, 0x5a, 3 * 4096);
   };
   const uint64_t before = budget().heapUsage[0];
   VkDeviceMemory first = VK_NULL_HANDLE, second = VK_NULL_HANDLE, third = VK_NULL_HANDLE;
   ASSERT_VK(allocate(3 * 4096, &first, &flags));
   ASSERT_VK(allocate(3 * 4096, &second, &flags));
   fill(first);
   fill(second);
   EXPECT_NE(address_of(first), address_of(second));
   captured.opaqueCaptureAddress = address_of(first);
   EXPECT_EQ(allocate(3 * 4096, &third, &flags), VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
   EXPECT_EQ(budget().heapUsage[0], before + 6 * 4096);
   vkFreeMemory(device, first, nullptr);
   ASSERT_VK(allocate(3 * 4096, &third, &flags));
   EXPECT_EQ(address_of(third), captured.opaqueCaptureAddress);
   fill(third);
   // No address of a page.
   captured.opaqueCaptureAddress += 1;
   EXPECT_EQ(allocate(4096, &first, &flags), VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
   vkFreeMemory(device, second, nullptr);
   vkFreeMemory(device, third, nullptr);
   EXPECT_EQ(budget().heapUsage[0], before);
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
   // Untouched pages take no memory, so this test does not use 4 GiB. On a smaller machine the
   // allocation fails with an error.
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

/// The device shares the program's address space: a device address equals the host's address of the
/// mapped memory.
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

/// VK_EXT_memory_budget's usage covers all instances of the process.
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
   VkDeviceMemory first, second;
   ASSERT_VK(allocate_exportable(10000, &first));
   const int fd = export_fd(first);
   ASSERT_GE(fd, 0);
   EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC); // not for programs that this one starts
   ASSERT_VK(import_fd(fd, 10000, &second));
   char *a = reinterpret_cast<char *>(map(first)), *b = reinterpret_cast<char *>(map(second));
   strcpy(a + 9000, "shared");
   EXPECT_STREQ(b + 9000, "shared");
   vkFreeMemory(device, first, nullptr);
   EXPECT_STREQ(b + 9000, "shared");
   vkFreeMemory(device, second, nullptr);
}

/// A process that receives the file cannot remove pages from processes that have mapped it.
TEST_F(MemoryTest, ExportedFilesKeepTheirSize)
{
   VkDeviceMemory memory;
   ASSERT_VK(allocate_exportable(3 * 4096, &memory));
   const int fd = export_fd(memory);
   ASSERT_GE(fd, 0);
   EXPECT_NE(ftruncate(fd, 0), 0);
   EXPECT_NE(ftruncate(fd, 4096), 0);
   EXPECT_NE(ftruncate(fd, 8 * 4096), 0);
   // The receiver cannot prevent the driver's writes either.
   EXPECT_NE(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
   memset(map(memory), 1, 3 * 4096);
   EXPECT_EQ(close(fd), 0);
   vkFreeMemory(device, memory, nullptr);
}

TEST_F(MemoryTest, FilesThatMayShrinkAreRefused)
{
   const auto make_file = [](int seals) {
      const int fd = memfd_create("test", MFD_ALLOW_SEALING);
      EXPECT_EQ(ftruncate(fd, 4096), 0);
      EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
      return fd;
   };
   VkDeviceMemory memory;
   const int open = make_file(F_SEAL_GROW);
   EXPECT_EQ(import_fd(open, 4096, &memory), VK_ERROR_INVALID_EXTERNAL_HANDLE);
   EXPECT_NE(messages.find("its size may change"), std::string::npos) << messages;
   EXPECT_EQ(close(open), 0); // after a failed import, the program still owns it

   const int small = make_file(F_SEAL_SHRINK);
   EXPECT_EQ(import_fd(small, 1 << 20, &memory), VK_ERROR_INVALID_EXTERNAL_HANDLE);
   EXPECT_EQ(import_fd(small, 4097, &memory), VK_ERROR_INVALID_EXTERNAL_HANDLE);
   EXPECT_EQ(close(small), 0);

   const int read_only = make_file(F_SEAL_SHRINK | F_SEAL_WRITE);
   EXPECT_EQ(import_fd(read_only, 4096, &memory), VK_ERROR_INVALID_EXTERNAL_HANDLE);
   EXPECT_EQ(close(read_only), 0);

   int ends[2];
   ASSERT_EQ(pipe(ends), 0);
   EXPECT_EQ(import_fd(ends[0], 4096, &memory), VK_ERROR_INVALID_EXTERNAL_HANDLE);
   EXPECT_EQ(close(ends[0]), 0);
   EXPECT_EQ(close(ends[1]), 0);
   EXPECT_EQ(import_fd(-1, 4096, &memory), VK_ERROR_INVALID_EXTERNAL_HANDLE);

   const int sealed = make_file(F_SEAL_SHRINK);
   ASSERT_VK(import_fd(sealed, 4096, &memory));
   map(memory)[4095] = 1;
   vkFreeMemory(device, memory, nullptr);
}

/// Imports take no new memory: they count once, and until the last of them is freed.
TEST_F(MemoryTest, ImportsCountOnce)
{
   VkPhysicalDeviceMemoryProperties properties;
   vkGetPhysicalDeviceMemoryProperties(physical, &properties);
   const uint64_t before = budget().heapUsage[0];
   const VkDeviceSize size = properties.memoryHeaps[0].size / 5 * 2 & ~VkDeviceSize(4095);
   VkDeviceMemory memories[4];
   ASSERT_VK(allocate_exportable(size, &memories[0]));
   for (int i = 1; i < 4; i++)
      ASSERT_VK(import_fd(export_fd(memories[0]), size, &memories[i]));
   EXPECT_EQ(budget().heapUsage[0], before + size);
   // The heap has room for one more file of that size, but not for two.
   VkDeviceMemory other, third;
   ASSERT_VK(allocate_exportable(size, &other));
   EXPECT_EQ(budget().heapUsage[0], before + 2 * size);
   EXPECT_EQ(allocate_exportable(size, &third), VK_ERROR_OUT_OF_DEVICE_MEMORY);
   EXPECT_EQ(budget().heapUsage[0], before + 2 * size);
   vkFreeMemory(device, other, nullptr);
   for (const int i : {0, 2, 1}) {
      vkFreeMemory(device, memories[i], nullptr);
      EXPECT_EQ(budget().heapUsage[0], before + size);
   }
   vkFreeMemory(device, memories[3], nullptr);
   EXPECT_EQ(budget().heapUsage[0], before);
}

/// An exportable allocation holds a file descriptor; without one it fails with the reason.
TEST_F(MemoryTest, DescriptorsOfFilesRunOut)
{
   rlimit before;
   ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
   const uint64_t used = budget().heapUsage[0];
   const int next = dup(0);
   ASSERT_GE(next, 0);
   close(next);
   rlimit limit = before;
   limit.rlim_cur = rlim_t(next) + 3;
   ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
   std::vector<VkDeviceMemory> memories;
   VkDeviceMemory memory;
   while (allocate_exportable(4096, &memory) == VK_SUCCESS)
      memories.push_back(memory);
   EXPECT_LE(memories.size(), 3u);
   EXPECT_EQ(allocate_exportable(4096, &memory), VK_ERROR_OUT_OF_DEVICE_MEMORY);
   EXPECT_NE(messages.find("Too many open files"), std::string::npos) << messages;
   ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
   ASSERT_VK(allocate_exportable(4096, &memory));
   memories.push_back(memory);
   for (VkDeviceMemory m : memories)
      vkFreeMemory(device, m, nullptr);
   EXPECT_EQ(budget().heapUsage[0], used);
}

/// A limit on sizes of files holds for memory files too; the kernel would raise a signal.
TEST_F(MemoryTest, ExportsKeepToTheLimitOnFiles)
{
   rlimit before;
   ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
   rlimit limit = before;
   limit.rlim_cur = 1 << 20;
   ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
   VkDeviceMemory memory;
   EXPECT_EQ(allocate_exportable(2 << 20, &memory), VK_ERROR_OUT_OF_DEVICE_MEMORY);
   ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
   ASSERT_VK(allocate_exportable(2 << 20, &memory));
   vkFreeMemory(device, memory, nullptr);
}

constexpr bool is_sanitized = WEFT_ASAN || WEFT_TSAN;

/// The number of the process's mappings, from /proc/self.
uint64_t mappings()
{
   std::ifstream file("/proc/self/maps");
   uint64_t count = 0;
   for (std::string line; std::getline(file, line);)
      count++;
   return count;
}

uint64_t resident_bytes()
{
   std::ifstream file("/proc/self/statm");
   uint64_t size = 0, resident = 0;
   file >> size >> resident;
   return resident * uint64_t(sysconf(_SC_PAGESIZE));
}

/// For any order of small allocations and frees, the process has few mappings, and freed pages
/// return to the system.
TEST_F(MemoryTest, SmallAllocationsShareMappings)
{
   constexpr uint32_t count = 20000;
   const uint64_t mapped = mappings(), resident = resident_bytes();
   std::vector<VkDeviceMemory> memories(count);
   for (uint32_t i = 0; i < count; i++) {
      // Sizes from one page to three.
      ASSERT_VK(allocate(1 + i % 3 * 4096, &memories[i]));
      map(memories[i])[0] = 1;
   }
   const auto free_every = [&](uint32_t step, uint32_t from) {
      for (uint32_t i = from; i < count; i += step) {
         vkFreeMemory(device, memories[i], nullptr);
         memories[i] = VK_NULL_HANDLE;
      }
   };
   free_every(2, 1);
   EXPECT_LT(mappings(), mapped + 200);
   // Sanitizers keep freed objects, and a shadow of the pages, in memory of their own.
   if (!is_sanitized) {
      EXPECT_LT(resident_bytes(), resident + (count / 2 + 5000) * 4096);
   }
   // Allocations in the holes are zeroed and apart from their neighbours.
   std::vector<VkDeviceMemory> more(count / 4);
   for (VkDeviceMemory &memory : more) {
      ASSERT_VK(allocate(2 * 4096, &memory));
      uint8_t *pages = map(memory);
      ASSERT_TRUE(std::all_of(pages, pages + 2 * 4096, [](uint8_t byte) { return byte == 0; }));
      memset(pages, 2, 2 * 4096);
   }
   for (uint32_t i = 0; i < count; i += 2)
      ASSERT_EQ(map(memories[i])[0], 1) << i;
   for (VkDeviceMemory memory : more) {
      ASSERT_EQ(map(memory)[8191], 2);
      vkFreeMemory(device, memory, nullptr);
   }
   free_every(2, 0);
   EXPECT_LT(mappings(), mapped + 20);
   if (!is_sanitized) {
      EXPECT_LT(resident_bytes(), resident + (8 << 20));
   }
}

/// Small freed parts of a block join to large ones, in any order of freeing.
TEST_F(MemoryTest, BlocksAreUsedAgain)
{
   // Sizes that share a mapping.
   constexpr uint64_t block = 32 << 20, part = 64 << 10, large = 15 * part;
   std::vector<VkDeviceMemory> parts(2 * block / part);
   std::set<uintptr_t> blocks;
   for (VkDeviceMemory &memory : parts) {
      ASSERT_VK(allocate(part, &memory));
      blocks.insert(uintptr_t(map(memory)) / block);
   }
   std::vector<VkDeviceMemory> freed(parts.begin() + 1, parts.end() - 1);
   std::mt19937 random(7);
   std::ranges::shuffle(freed, random);
   for (VkDeviceMemory memory : freed)
      vkFreeMemory(device, memory, nullptr);
   std::vector<VkDeviceMemory> again(32);
   for (VkDeviceMemory &memory : again) {
      ASSERT_VK(allocate(large, &memory));
      EXPECT_TRUE(blocks.contains(uintptr_t(map(memory)) / block));
   }
   for (VkDeviceMemory memory : again)
      vkFreeMemory(device, memory, nullptr);
   vkFreeMemory(device, parts.front(), nullptr);
   vkFreeMemory(device, parts.back(), nullptr);
}

/// At the limit of mappings, the kernel cannot make a hole. Freed pages still return to the system,
/// and their addresses are allocated again.
TEST_F(MemoryTest, MemoryIsGivenBackAtTheLimitOfMappings)
{
   uint64_t most = 0;
   std::ifstream("/proc/sys/vm/max_map_count") >> most;
   if (most == 0 || most > 300000)
      GTEST_SKIP() << "the kernel allows too many mappings";
   if (is_sanitized)
      GTEST_SKIP() << "sanitizers need mappings of their own";
   constexpr uint64_t size = 8 << 20;
   VkDeviceMemory memory;
   ASSERT_VK(allocate(size, &memory));
   uint8_t *pages = map(memory);
   // The kernel joins the program's own mappings around it with it.
   for (uint8_t *at : {pages - 4096, pages + size}) {
      void *beside = mmap(at, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (beside != at)
         GTEST_SKIP() << "something else lies beside the memory";
      madvise(beside, 4096, MADV_HUGEPAGE);
   }
   memset(pages, 1, size);
   const uint64_t resident = resident_bytes();

   const uint64_t reserved = (most + 10) * 2 * 4096;
   auto *filler = static_cast<uint8_t *>(
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
   ASSERT_NE(filler, MAP_FAILED);
   uint64_t at = 0;
   while (at < reserved && mprotect(filler + at, 4096, PROT_READ) == 0)
      at += 2 * 4096;
   vkFreeMemory(device, memory, nullptr);
   const uint64_t left = resident_bytes();
   VkDeviceMemory again = VK_NULL_HANDLE;
   const VkResult result = allocate(size, &again);
   munmap(filler, reserved);
   EXPECT_LT(at, reserved);
   EXPECT_LT(left, resident - size / 2);
   ASSERT_VK(result);
   EXPECT_EQ(map(again), pages);
   EXPECT_TRUE(std::all_of(pages, pages + size, [](uint8_t byte) { return byte == 0; }));
   vkFreeMemory(device, again, nullptr);
   munmap(pages - 4096, 4096);
   munmap(pages + size, 4096);
}

/// Mapped from an offset on.
TEST_F(MemoryTest, MapsBeginAtTheirOffset)
{
   VkDeviceMemory memory;
   ASSERT_VK(allocate(3 * 4096, &memory));
   uint8_t *whole = map(memory);
   vkUnmapMemory(device, memory);
   void *part = nullptr;
   ASSERT_VK(vkMapMemory(device, memory, 4160, 64, 0, &part));
   EXPECT_EQ(part, whole + 4160);
   vkFreeMemory(device, memory, nullptr);
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
