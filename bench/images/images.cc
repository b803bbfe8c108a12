// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Measures accesses to images beside the same kernels on buffers, alternately on all devices.
///
/// Usage: images FOLDER ROUNDS [PART]. FOLDER has the modules of this folder's shaders; PART is a
/// part of the names of the cases to be run. The program prints one JSON object per line:
///
///    the names of the devices
///    each case, with medians of milliseconds for each device: wall time, CPU time of all threads
///    the number of cases whose results differ between an image and a buffer

#include "bench/images/objects.h"

#include <random>

using namespace weft::bench;

namespace {

constexpr uint32_t side = 2048, lut_side = 33, group_side = 16, resized_side = 1536;

/// The numbers of bindings, as the shaders have them.
enum Binding : uint32_t {
   from_image,
   to_image,
   from_sampler,
   table_sampler,
   from_buffer,
   to_buffer,
   table_buffer,
   bindings
};

VkDescriptorType type_of(uint32_t binding)
{
   switch (binding) {
   case from_image:
   case to_image:
      return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
   case from_sampler:
   case table_sampler:
      return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
   default:
      return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
   }
}

/// Images of one format with texels of 32 bits, and buffers of the same contents.
struct Resources {
   Image from, to, table;
   Buffer from_data, to_data, table_data;
   VkDescriptorSetLayout set_layout;
   VkPipelineLayout layout;
   VkDescriptorSet set;

   Resources(const Device &device, VkFormat format, VkFilter filter)
       : from(device, format, {side, side, 1}), to(device, format, {side, side, 1}),
         table(device, VK_FORMAT_R8G8B8A8_UNORM, {lut_side, lut_side, lut_side}),
         from_data(device, side * side * 4), to_data(device, side * side * 4),
         table_data(device, lut_side * lut_side * lut_side * 4)
   {
      std::mt19937 random(1);
      for (size_t i = 0; i < side * side; i++) {
         const float number = float(random() >> 8) / float(1 << 24);
         const uint32_t bits = uint32_t(random());
         memcpy(from_data.map + i * 4,
                format == VK_FORMAT_R32_SFLOAT ? static_cast<const void *>(&number) : &bits, 4);
      }
      for (size_t i = 0; i < table_data.size; i++)
         table_data.map[i] = uint8_t(random());
      Commands(device, [&](VkCommandBuffer commands) {
         for (const Image *image : {&from, &to, &table})
            become_general(commands, *image);
         const VkBufferImageCopy source = whole(from), tables = whole(table);
         vkCmdCopyBufferToImage(commands, from_data.handle, from.handle, VK_IMAGE_LAYOUT_GENERAL, 1,
                                &source);
         vkCmdCopyBufferToImage(commands, table_data.handle, table.handle, VK_IMAGE_LAYOUT_GENERAL,
                                1, &tables);
      }).run();
      make_set(device, filter);
   }

   void make_set(const Device &device, VkFilter filter)
   {
      std::vector<VkDescriptorSetLayoutBinding> members;
      std::vector<VkDescriptorPoolSize> sizes;
      for (uint32_t i = 0; i < bindings; i++) {
         members.push_back({i, type_of(i), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
         sizes.push_back({type_of(i), 1});
      }
      const VkDescriptorSetLayoutCreateInfo set_info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
         .bindingCount = bindings,
         .pBindings = members.data(),
      };
      check(vkCreateDescriptorSetLayout(device.device, &set_info, nullptr, &set_layout),
            "vkCreateDescriptorSetLayout");
      const VkPipelineLayoutCreateInfo layout_info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
         .setLayoutCount = 1,
         .pSetLayouts = &set_layout,
      };
      check(vkCreatePipelineLayout(device.device, &layout_info, nullptr, &layout),
            "vkCreatePipelineLayout");
      const VkDescriptorPoolCreateInfo pool_info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
         .maxSets = 1,
         .poolSizeCount = uint32_t(sizes.size()),
         .pPoolSizes = sizes.data(),
      };
      VkDescriptorPool pool;
      check(vkCreateDescriptorPool(device.device, &pool_info, nullptr, &pool),
            "vkCreateDescriptorPool");
      const VkDescriptorSetAllocateInfo allocation = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
         .descriptorPool = pool,
         .descriptorSetCount = 1,
         .pSetLayouts = &set_layout,
      };
      check(vkAllocateDescriptorSets(device.device, &allocation, &set), "vkAllocateDescriptorSets");
      write_set(device, filter);
   }

   void write_set(const Device &device, VkFilter filter)
   {
      const VkSampler sampler = make_sampler(device, filter);
      const VkDescriptorImageInfo images[] = {
         {VK_NULL_HANDLE, from.view, VK_IMAGE_LAYOUT_GENERAL},
         {VK_NULL_HANDLE, to.view, VK_IMAGE_LAYOUT_GENERAL},
         {sampler, from.view, VK_IMAGE_LAYOUT_GENERAL},
         {sampler, table.view, VK_IMAGE_LAYOUT_GENERAL},
      };
      const VkDescriptorBufferInfo buffers[] = {
         {from_data.handle, 0, VK_WHOLE_SIZE},
         {to_data.handle, 0, VK_WHOLE_SIZE},
         {table_data.handle, 0, VK_WHOLE_SIZE},
      };
      for (uint32_t i = 0; i < bindings; i++) {
         const VkWriteDescriptorSet write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = set,
            .dstBinding = i,
            .descriptorCount = 1,
            .descriptorType = type_of(i),
            .pImageInfo = i < from_buffer ? &images[i] : nullptr,
            .pBufferInfo = i >= from_buffer ? &buffers[i - from_buffer] : nullptr,
         };
         vkUpdateDescriptorSets(device.device, 1, &write, 0, nullptr);
      }
   }
};

Commands make_kernel(const Device &device, const Resources &resources, const std::string &module,
                     uint32_t extent)
{
   VkPipeline pipeline = make_pipeline(device, resources.layout, module);
   return Commands(device, [&](VkCommandBuffer commands) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, resources.layout, 0, 1,
                              &resources.set, 0, nullptr);
      vkCmdDispatch(commands, extent / group_side, extent / group_side, 1);
   });
}

/// A kernel by its modules: on images, and on buffers.
struct Kernel {
   std::string name, image, buffer;
   VkFormat format;
   VkFilter filter;
   uint32_t extent = side;
   double tolerance = 0; ///< of a component, numbers from 0 to about 1
};

constexpr VkFormat rgba8 = VK_FORMAT_R8G8B8A8_UNORM, r32f = VK_FORMAT_R32_SFLOAT;
constexpr VkFilter nearest = VK_FILTER_NEAREST, linear = VK_FILTER_LINEAR;
/// An 8-bit component may be rounded to its neighbour; a filter of images may have weights of 8
/// bits, too.
constexpr double step = 1.01 / 255, two_steps = 2 * step;
const Kernel kernels[] = {
   {"copy, rgba8, storage", "copy-rgba8-storage", "copy-r32f-buffers", rgba8, nearest},
   {"copy, r32f, storage", "copy-r32f-storage", "copy-r32f-buffers", r32f, nearest},
   {"convolution, rgba8, storage", "convolution-rgba8-storage", "convolution-rgba8-buffers", rgba8,
    nearest, side, step},
   {"convolution, r32f, storage", "convolution-r32f-storage", "convolution-r32f-buffers", r32f,
    nearest, side, 1e-5},
   {"convolution, rgba8, fetched", "convolution-rgba8-fetched", "convolution-rgba8-buffers", rgba8,
    nearest, side, step},
   {"convolution, r32f, fetched", "convolution-r32f-fetched", "convolution-r32f-buffers", r32f,
    nearest, side, 1e-5},
   {"convolution, rgba8, sampled", "convolution-rgba8-sampled", "convolution-rgba8-buffers", rgba8,
    nearest, side, step},
   {"convolution, r32f, sampled", "convolution-r32f-sampled", "convolution-r32f-buffers", r32f,
    nearest, side, 1e-5},
   {"resize, rgba8, bilinear", "resize-rgba8-sampled", "resize-rgba8-buffers", rgba8, linear,
    resized_side, two_steps},
   {"resize, r32f, bilinear", "resize-r32f-sampled", "resize-r32f-buffers", r32f, linear,
    resized_side, 1e-2},
   {"table 33 x 33 x 33, rgba8", "table-rgba8-sampled", "table-rgba8-buffers", rgba8, linear, side,
    two_steps},
};

/// The largest difference of a component.
double difference(const Kernel &kernel, const Buffer &image, const Buffer &buffer)
{
   double largest = 0;
   for (uint32_t y = 0; y < kernel.extent; y++) {
      for (uint32_t x = 0; x < kernel.extent; x++) {
         const uint8_t *a = image.map + (size_t(y) * side + x) * 4,
                       *b = buffer.map + (size_t(y) * side + x) * 4;
         float f = 0, g = 0;
         memcpy(&f, a, sizeof(f));
         memcpy(&g, b, sizeof(g));
         for (int c = 0; c < (kernel.format == r32f ? 1 : 4); c++) {
            const double d = kernel.format == r32f ? double(f) - double(g) : (a[c] - b[c]) / 255.0;
            largest = std::max(largest, d < 0 ? -d : d);
         }
      }
   }
   return largest;
}

void print_case(const std::string &name, const std::vector<std::vector<Times>> &times,
                const std::vector<std::vector<Times>> &buffer_times, double largest, bool right)
{
   printf("{\"case\": \"%s\", \"right\": %s, \"difference\": %g", name.c_str(),
          right ? "true" : "false", largest);
   const auto list = [](const char *key, const std::vector<std::vector<Times>> &all) {
      printf(", \"%s\": [", key);
      for (size_t d = 0; d < all.size(); d++) {
         const Times t = median(all[d]);
         printf("%s[%.3f, %.3f]", d ? ", " : "", t.wall, t.cpu);
      }
      printf("]");
   };
   list("image", times);
   list("buffer", buffer_times);
   printf("}\n");
   fflush(stdout);
}

class Bench {
public:
   Bench(std::vector<Device> &devices, std::string folder, int rounds)
       : devices(devices), folder(std::move(folder)), rounds(rounds)
   {
   }

   /// Whether the results are right.
   bool run(const Kernel &kernel)
   {
      std::vector<Resources> resources;
      for (const Device &device : devices)
         resources.emplace_back(device, kernel.format, kernel.filter);
      std::vector<Commands> on_images, on_buffers;
      double largest = 0;
      for (size_t d = 0; d < devices.size(); d++) {
         const auto make = [&](const std::string &module) {
            return make_kernel(devices[d], resources[d], folder + "/" + module + ".spv",
                               kernel.extent);
         };
         on_images.push_back(make(kernel.image));
         on_buffers.push_back(make(kernel.buffer));
         on_images[d].run();
         on_buffers[d].run();
         const Buffer result(devices[d], side * side * 4);
         Commands(devices[d], [&](VkCommandBuffer commands) {
            const VkBufferImageCopy region = whole(resources[d].to);
            vkCmdCopyImageToBuffer(commands, resources[d].to.handle, VK_IMAGE_LAYOUT_GENERAL,
                                   result.handle, 1, &region);
         }).run();
         largest = std::max(largest, difference(kernel, result, resources[d].to_data));
      }
      const bool right = largest <= kernel.tolerance;
      print_case(kernel.name, alternately(on_images), alternately(on_buffers), largest, right);
      return right;
   }

   void run_copies()
   {
      std::vector<Resources> resources;
      for (const Device &device : devices)
         resources.emplace_back(device, rgba8, VK_FILTER_NEAREST);
      using Record = std::function<void(VkCommandBuffer, const Resources &)>;
      const auto copies = [&](const char *name, const Record &image, const Record &buffer) {
         std::vector<Commands> on_images, on_buffers;
         for (size_t d = 0; d < devices.size(); d++) {
            on_images.emplace_back(devices[d], [&](VkCommandBuffer c) { image(c, resources[d]); });
            on_buffers.emplace_back(devices[d],
                                    [&](VkCommandBuffer c) { buffer(c, resources[d]); });
         }
         print_case(name, alternately(on_images), alternately(on_buffers), 0, true);
      };
      const Record copy_buffer = [](VkCommandBuffer c, const Resources &r) {
         const VkBufferCopy region = {0, 0, r.from_data.size};
         vkCmdCopyBuffer(c, r.from_data.handle, r.to_data.handle, 1, &region);
      };
      constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
      copies(
         "vkCmdCopyBufferToImage",
         [](VkCommandBuffer c, const Resources &r) {
            const VkBufferImageCopy region = whole(r.to);
            vkCmdCopyBufferToImage(c, r.from_data.handle, r.to.handle, general, 1, &region);
         },
         copy_buffer);
      copies(
         "vkCmdCopyImageToBuffer",
         [](VkCommandBuffer c, const Resources &r) {
            const VkBufferImageCopy region = whole(r.from);
            vkCmdCopyImageToBuffer(c, r.from.handle, general, r.to_data.handle, 1, &region);
         },
         copy_buffer);
      copies(
         "vkCmdCopyImage",
         [](VkCommandBuffer c, const Resources &r) {
            const VkImageCopy region = {color, {}, color, {}, r.from.extent};
            vkCmdCopyImage(c, r.from.handle, general, r.to.handle, general, 1, &region);
         },
         copy_buffer);
      copies(
         "vkCmdClearColorImage",
         [](VkCommandBuffer c, const Resources &r) {
            const VkClearColorValue value = {{0.1f, 0.2f, 0.3f, 0.4f}};
            const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
            vkCmdClearColorImage(c, r.to.handle, general, &value, 1, &range);
         },
         [](VkCommandBuffer c, const Resources &r) {
            vkCmdFillBuffer(c, r.to_data.handle, 0, VK_WHOLE_SIZE, 0x12345678);
         });
   }

private:
   std::vector<std::vector<Times>> alternately(const std::vector<Commands> &work)
   {
      std::vector<std::vector<Times>> times(work.size());
      for (const Commands &commands : work)
         commands.run();
      for (int round = 0; round < rounds; round++) {
         for (size_t d = 0; d < work.size(); d++)
            times[d].push_back(measure([&] { work[d].run(); }));
      }
      return times;
   }

   std::vector<Device> &devices;
   std::string folder;
   int rounds;
};

} // namespace

int main(int argc, char **argv)
{
   if (argc != 3 && argc != 4) {
      fprintf(stderr, "usage: images FOLDER ROUNDS [PART_OF_A_NAME]\n");
      return 2;
   }
   std::vector<Device> devices = all_devices();
   const std::string part = argc == 4 ? argv[3] : "";
   Bench bench(devices, argv[1], atoi(argv[2]));
   int wrong = 0;
   for (const Kernel &kernel : kernels)
      wrong += kernel.name.find(part) != std::string::npos && !bench.run(kernel);
   if (std::string("vkCmd").find(part) != std::string::npos)
      bench.run_copies();
   printf("{\"wrong\": %d}\n", wrong);
   return wrong ? 1 : 0;
}
