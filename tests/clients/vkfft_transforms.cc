// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// Compares Fourier transforms by VkFFT, which writes GLSL for each size and compiles it by glslang,
// with sums in double precision. `ci/clients vkfft` compiles it against Debian's libvkfft and
// chooses the Vulkan driver; nothing here knows which driver that is.
//
//    vkfft_transforms [SEED]

#define VKFFT_BACKEND 0

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <vulkan/vulkan.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wall"
#include <vkFFT.h>
#pragma GCC diagnostic pop

namespace {

using Numbers = std::vector<std::complex<double>>;

// Bytes behind the transform that must stay as they are.
constexpr size_t guard_size = 256;
constexpr uint8_t guard = 0xa5;

void check(int result, const std::string &call)
{
   if (result == 0)
      return;
   fprintf(stderr, "vkfft_transforms: %s gave %d\n", call.c_str(), result);
   exit(2);
}

struct Case {
   std::vector<size_t> size; // the first varies fastest
   bool is_double;

   std::string name() const
   {
      std::string text = is_double ? "f64" : "f32";
      for (size_t i = 0; i < size.size(); i++)
         text += (i ? "x" : " ") + std::to_string(size[i]);
      return text;
   }
   size_t count() const
   {
      size_t product = 1;
      for (size_t s : size)
         product *= s;
      return product;
   }
};

// Sums along one dimension after the other; sign is -1 for the forward transform.
Numbers transform(const Case &c, Numbers values, int sign)
{
   size_t stride = 1;
   for (size_t n : c.size) {
      std::vector<std::complex<double>> roots(n), line(n);
      for (size_t i = 0; i < n; i++)
         roots[i] = std::polar(1.0, sign * 2 * std::numbers::pi * double(i) / double(n));
      for (size_t first = 0; first < values.size(); first++) {
         if (first / stride % n != 0)
            continue;
         for (size_t k = 0; k < n; k++) {
            line[k] = 0;
            for (size_t i = 0; i < n; i++)
               line[k] += values[first + i * stride] * roots[i * k % n];
         }
         for (size_t k = 0; k < n; k++)
            values[first + k * stride] = line[k];
      }
      stride *= n;
   }
   return values;
}

class Device {
public:
   Device()
   {
      const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                          .apiVersion = VK_API_VERSION_1_2};
      const VkInstanceCreateInfo instance_info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                               .pApplicationInfo = &application};
      check(vkCreateInstance(&instance_info, nullptr, &instance), "vkCreateInstance");
      uint32_t count = 1;
      vkEnumeratePhysicalDevices(instance, &count, &physical);
      check(count != 1, "vkEnumeratePhysicalDevices");
      const float priority = 1;
      const VkDeviceQueueCreateInfo queue_info{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                               .queueCount = 1,
                                               .pQueuePriorities = &priority};
      const VkPhysicalDeviceFeatures features{.shaderFloat64 = true};
      const VkDeviceCreateInfo device_info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                           .queueCreateInfoCount = 1,
                                           .pQueueCreateInfos = &queue_info,
                                           .pEnabledFeatures = &features};
      check(vkCreateDevice(physical, &device_info, nullptr, &device), "vkCreateDevice");
      vkGetDeviceQueue(device, 0, 0, &queue);
      const VkCommandPoolCreateInfo pool_info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
      check(vkCreateCommandPool(device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
      const VkFenceCreateInfo fence_info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      check(vkCreateFence(device, &fence_info, nullptr, &fence), "vkCreateFence");
   }

   ~Device()
   {
      vkDestroyFence(device, fence, nullptr);
      vkDestroyCommandPool(device, pool, nullptr);
      vkDestroyDevice(device, nullptr);
      vkDestroyInstance(instance, nullptr);
   }

   uint32_t host_visible_type(uint32_t allowed) const
   {
      VkPhysicalDeviceMemoryProperties memory;
      vkGetPhysicalDeviceMemoryProperties(physical, &memory);
      constexpr VkMemoryPropertyFlags wanted =
         VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
      for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
         if (allowed >> i & 1 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted)
            return i;
      check(1, "the search for memory that the host sees");
      return 0;
   }

   VkInstance instance;
   VkPhysicalDevice physical;
   VkDevice device;
   VkQueue queue;
   VkCommandPool pool;
   VkFence fence;
};

// Memory for a case's numbers in the precision of the case, a guard behind them.
class Buffer {
public:
   Buffer(const Device &device, const Case &c)
       : device_(device), is_double_(c.is_double),
         size(c.count() * 2 * (c.is_double ? sizeof(double) : sizeof(float)))
   {
      const VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                    .size = size + guard_size,
                                    .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
      check(vkCreateBuffer(device.device, &info, nullptr, &buffer), "vkCreateBuffer");
      VkMemoryRequirements needs;
      vkGetBufferMemoryRequirements(device.device, buffer, &needs);
      const VkMemoryAllocateInfo memory_info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                             .allocationSize = needs.size,
                                             .memoryTypeIndex =
                                                device.host_visible_type(needs.memoryTypeBits)};
      check(vkAllocateMemory(device.device, &memory_info, nullptr, &memory_), "vkAllocateMemory");
      check(vkBindBufferMemory(device.device, buffer, memory_, 0), "vkBindBufferMemory");
      void *mapped;
      check(vkMapMemory(device.device, memory_, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
      bytes_ = static_cast<uint8_t *>(mapped);
      memset(bytes_ + size, guard, guard_size);
   }

   ~Buffer()
   {
      vkDestroyBuffer(device_.device, buffer, nullptr);
      vkFreeMemory(device_.device, memory_, nullptr);
   }

   void write(const Numbers &numbers)
   {
      for (size_t i = 0; i < numbers.size(); i++) {
         set(2 * i, numbers[i].real());
         set(2 * i + 1, numbers[i].imag());
      }
   }

   Numbers read() const
   {
      Numbers numbers(size / 2 / (is_double_ ? sizeof(double) : sizeof(float)));
      for (size_t i = 0; i < numbers.size(); i++)
         numbers[i] = {get(2 * i), get(2 * i + 1)};
      return numbers;
   }

   bool guard_is_whole() const
   {
      for (size_t i = 0; i < guard_size; i++)
         if (bytes_[size + i] != guard)
            return false;
      return true;
   }

private:
   void set(size_t i, double value)
   {
      if (is_double_)
         reinterpret_cast<double *>(bytes_)[i] = value;
      else
         reinterpret_cast<float *>(bytes_)[i] = float(value);
   }
   double get(size_t i) const
   {
      return is_double_ ? reinterpret_cast<const double *>(bytes_)[i]
                        : double(reinterpret_cast<const float *>(bytes_)[i]);
   }

   const Device &device_;
   const bool is_double_;
   VkDeviceMemory memory_;
   uint8_t *bytes_;

public:
   uint64_t size;
   VkBuffer buffer;
};

void run(Device &device, const Case &c, Buffer &buffer, int direction)
{
   VkFFTConfiguration configuration = {};
   configuration.FFTdim = c.size.size();
   for (size_t i = 0; i < c.size.size(); i++)
      configuration.size[i] = c.size[i];
   configuration.doublePrecision = c.is_double;
   configuration.physicalDevice = &device.physical;
   configuration.device = &device.device;
   configuration.queue = &device.queue;
   configuration.commandPool = &device.pool;
   configuration.fence = &device.fence;
   configuration.buffer = &buffer.buffer;
   configuration.bufferSize = &buffer.size;
   VkFFTApplication application = {};
   check(initializeVkFFT(&application, configuration), "initializeVkFFT of " + c.name());

   const VkCommandBufferAllocateInfo allocate{.sType =
                                                 VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = device.pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
   VkCommandBuffer commands;
   check(vkAllocateCommandBuffers(device.device, &allocate, &commands), "vkAllocateCommandBuffers");
   const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
   check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
   VkFFTLaunchParams launch = {};
   launch.commandBuffer = &commands;
   launch.buffer = &buffer.buffer;
   check(VkFFTAppend(&application, direction, &launch), "VkFFTAppend of " + c.name());
   check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
   const VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .commandBufferCount = 1,
                             .pCommandBuffers = &commands};
   check(vkQueueSubmit(device.queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
   check(vkQueueWaitIdle(device.queue), "vkQueueWaitIdle");
   vkFreeCommandBuffers(device.device, device.pool, 1, &commands);
   deleteVkFFT(&application);
}

bool check_case(Device &device, const Case &c, int direction, std::mt19937 &random)
{
   printf("%-14s %-8s ", c.name().c_str(), direction < 0 ? "forward" : "inverse");
   fflush(stdout);
   // The input has single precision, so that both precisions have the same numbers.
   Numbers input(c.count());
   for (auto &value : input)
      value = {int32_t(random()) / 256 * 0x1p-23, int32_t(random()) / 256 * 0x1p-23};
   Buffer buffer(device, c);
   buffer.write(input);
   run(device, c, buffer, direction);
   const Numbers got = buffer.read(), expected = transform(c, input, direction);
   double error = 0, norm = 0;
   for (size_t i = 0; i < got.size(); i++) {
      error += std::norm(got[i] - expected[i]);
      norm += std::norm(expected[i]);
   }
   const double relative = std::sqrt(error / norm);
   const bool right = relative < (c.is_double ? 1e-14 : 2e-6) && buffer.guard_is_whole();
   printf("error %.1e%s  %s\n", relative, buffer.guard_is_whole() ? "" : ", writes behind the end",
          right ? "pass" : "FAIL");
   fflush(stdout);
   return right;
}

// Powers of two and of small primes, sizes with large primes (Rader's and Bluestein's algorithms),
// sizes of several passes, and several dimensions.
std::vector<Case> all_cases()
{
   std::vector<Case> cases;
   for (const bool is_double : {false, true})
      for (const std::vector<size_t> &size : std::vector<std::vector<size_t>>{{2},
                                                                              {64},
                                                                              {77},
                                                                              {97},
                                                                              {221},
                                                                              {625},
                                                                              {1000},
                                                                              {1024},
                                                                              {4096},
                                                                              {8192},
                                                                              {1009},
                                                                              {48, 32},
                                                                              {13, 6, 10}})
         cases.push_back({size, is_double});
   return cases;
}

} // namespace

int main(int argc, char **argv)
{
   const unsigned seed = argc > 1 ? strtoul(argv[1], nullptr, 0) : std::random_device{}();
   printf("seed %u\n", seed);
   std::mt19937 random(seed);
   Device device;
   int passed = 0, failed = 0;
   for (const Case &c : all_cases())
      for (const int direction : {-1, 1})
         (check_case(device, c, direction, random) ? passed : failed)++;
   printf("%d passed, %d failed\n", passed, failed);
   return passed && !failed ? 0 : 1;
}
