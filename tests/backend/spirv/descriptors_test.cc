// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Descriptors that vulkan::Pipeline lacks: storage images, combined images and samplers, texel
/// buffers. A shader has to read the values that the host wrote.

#include "tests/e2e/cases.h"
#include "tests/vulkan/objects.h"
#include "tests/vulkan/time_limits.h"

#include <cstring>

namespace weft::e2e {
namespace {

constexpr uint32_t width = 16, height = 8;

MappedBuffer make_buffer(const Device &d, VkDeviceSize size, VkBufferUsageFlags usage)
{
   const VkBuffer buffer = create_buffer(d.device, size, usage);
   return bind_mapped(
      d.device, buffer, size,
      d.memory_type(requirements(d.device, buffer).memoryTypeBits, MemoryPlace::host));
}

/// The one test's objects, which live until the process ends.
class Descriptors {
public:
   explicit Descriptors(Device &d)
       : d(d), uniform(make_buffer(d, 256, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT)),
         texels(make_buffer(d, 256, VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT)),
         out(make_buffer(d, width * height * sizeof(uint32_t) * 4,
                         VK_BUFFER_USAGE_STORAGE_BUFFER_BIT))
   {
      make_image();
      make_layout();
      write();
   }

   void run(const std::string &glsl)
   {
      PipelineOptions options;
      options.subgroup_size = d.properties11.subgroupSize;
      const std::vector<uint32_t> words =
         preprocessor->lower(d, compile_glsl(std::string(glsl_header) + glsl), options);
      const VkShaderModule module = create_shader_module(d.device, words);
      const VkPipeline pipeline = create_compute_pipeline(d.device, module, layout);
      dispatch(pipeline);
      vkDestroyPipeline(d.device, pipeline, nullptr);
      vkDestroyShaderModule(d.device, module, nullptr);
   }

   Device &d;
   MappedBuffer uniform, texels, out;

private:
   void make_image()
   {
      const VkImageCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
         .imageType = VK_IMAGE_TYPE_2D,
         .format = VK_FORMAT_R32_SFLOAT,
         .extent = {width, height, 1},
         .mipLevels = 1,
         .arrayLayers = 1,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT,
      };
      check(vkCreateImage(d.device, &info, nullptr, &image), "vkCreateImage");
      VkMemoryRequirements needed;
      vkGetImageMemoryRequirements(d.device, image, &needed);
      const uint32_t type = d.memory_type(needed.memoryTypeBits, MemoryPlace::host);
      check(vkBindImageMemory(d.device, image, allocate_mapped(d.device, needed, type).memory, 0),
            "vkBindImageMemory");
      const VkImageViewCreateInfo view_info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
         .image = image,
         .viewType = VK_IMAGE_VIEW_TYPE_2D,
         .format = info.format,
         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
      };
      check(vkCreateImageView(d.device, &view_info, nullptr, &view), "vkCreateImageView");
      const VkSamplerCreateInfo sampler_info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
      check(vkCreateSampler(d.device, &sampler_info, nullptr, &sampler), "vkCreateSampler");
      const VkBufferViewCreateInfo texel_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                                 .buffer = texels.handle,
                                                 .format = VK_FORMAT_R32_UINT,
                                                 .range = VK_WHOLE_SIZE};
      check(vkCreateBufferView(d.device, &texel_info, nullptr, &texel_view), "vkCreateBufferView");
   }

   void make_layout()
   {
      std::vector<VkDescriptorSetLayoutBinding> bindings;
      std::vector<VkDescriptorPoolSize> sizes;
      for (const VkDescriptorType type : types) {
         bindings.push_back(binding(uint32_t(bindings.size()), type));
         sizes.push_back({type, 1});
      }
      const VkDescriptorSetLayout set_layout = create_set_layout(d.device, bindings);
      layout = create_pipeline_layout(d.device, {&set_layout, 1});
      set = allocate_set(d.device, create_descriptor_pool(d.device, sizes), set_layout);
   }

   void write()
   {
      const VkDescriptorBufferInfo uniform_info = {uniform.handle, 0, VK_WHOLE_SIZE};
      const VkDescriptorBufferInfo out_info = {out.handle, 0, VK_WHOLE_SIZE};
      const VkDescriptorImageInfo image_info = {sampler, view, VK_IMAGE_LAYOUT_GENERAL};
      for (uint32_t binding = 0; binding < std::size(types); ++binding) {
         const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                             .dstSet = set,
                                             .dstBinding = binding,
                                             .descriptorCount = 1,
                                             .descriptorType = types[binding],
                                             .pImageInfo = &image_info,
                                             .pBufferInfo =
                                                binding == 0 ? &uniform_info : &out_info,
                                             .pTexelBufferView = &texel_view};
         vkUpdateDescriptorSets(d.device, 1, &write, 0, nullptr);
      }
   }

   void dispatch(VkPipeline pipeline)
   {
      const VkCommandBuffer commands = begin_commands(d.device, d.pool);
      const VkImageMemoryBarrier barrier = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
         .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
         .oldLayout = first ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_GENERAL,
         .newLayout = VK_IMAGE_LAYOUT_GENERAL,
         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
         .image = image,
         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
      first = false;
      vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0, nullptr, 0, nullptr, 1,
                           &barrier);
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                              nullptr);
      vkCmdDispatch(commands, 1, 1, 1);
      check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
      check(submit_and_wait(d.device, d.queue, commands, hang_limit * 1'000'000'000ull),
            "submission");
   }

   static constexpr VkDescriptorType types[] = {
      VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
      VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
      VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};

   VkImage image = VK_NULL_HANDLE;
   VkImageView view = VK_NULL_HANDLE;
   VkSampler sampler = VK_NULL_HANDLE;
   VkBufferView texel_view = VK_NULL_HANDLE;
   VkPipelineLayout layout = VK_NULL_HANDLE;
   VkDescriptorSet set = VK_NULL_HANDLE;
   bool first = true;
};

const std::string declarations = R"(
   layout(local_size_x = 16, local_size_y = 8) in;
   layout(std140, binding = 0) uniform U { float first; vec3 v; float array[5]; mat2 m; uvec2 last; } u;
   layout(binding = 1, r32f) uniform image2D target;
   layout(binding = 2) uniform sampler2D sampled;
   layout(binding = 3) uniform usamplerBuffer texels;
   layout(binding = 4) buffer O { uvec4 values[]; };
)";

TEST(Descriptors, ImagesUniformAndTexelBuffers)
{
   Descriptors t(plain_device());
   oracle::Random random = test_random();
   const auto draw = [&] { return uint32_t(oracle::draw(random, 1 << 20)); };
   std::vector<uint32_t> numbers(64);
   for (uint32_t &n : numbers)
      n = draw();
   memcpy(t.texels.map, numbers.data(), 256);

   /* std140: first 0, v 16, array 32 + 16 i, m 112 and 128, last 144. */
   std::vector<float> block(64);
   for (float &f : block)
      f = float(draw());
   block[36] = block[37] = 0;
   memcpy(t.uniform.map, block.data(), 256);
   const uint32_t last[2] = {draw(), draw()};
   memcpy(t.uniform.map + 144, last, 8);

   t.run(declarations + R"(
      void main() {
         const ivec2 at = ivec2(gl_GlobalInvocationID.xy);
         imageStore(target, at, vec4(u.array[at.x % 5] + float(at.y)));
      })");
   t.run(declarations + R"(
      void main() {
         const ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(target);
         const float stored = imageLoad(target, at).x;
         const float fetched = texelFetch(sampled, at, 0).x;
         const float nearest = textureLod(sampled, (vec2(at) + 0.5) / vec2(textureSize(sampled, 0)), 0.0).x;
         const uint id = at.y * size.x + at.x;
         values[id] = uvec4(uint(stored), uint(fetched == stored && nearest == stored),
                            texelFetch(texels, int(id % 64)).x + uint(textureSize(texels)),
                            uint(u.first + u.v[at.x % 3] + u.m[at.x & 1][1]) + u.last[at.y & 1]);
      })");
   std::vector<uint32_t> out(width * height * 4);
   memcpy(out.data(), t.out.map, out.size() * 4);
   for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
         const uint32_t id = y * width + x;
         const uint32_t *const value = &out[id * 4];
         EXPECT_EQ(value[0], uint32_t(block[8 + 4 * (x % 5)] + float(y))) << id;
         EXPECT_EQ(value[1], 1u) << id;
         EXPECT_EQ(value[2], numbers[id % 64] + 64) << id;
         const float sum = block[0] + block[4 + x % 3] + block[28 + 4 * (x & 1) + 1];
         EXPECT_EQ(value[3], uint32_t(sum) + last[y & 1]) << id;
      }
   }
   count_case();
}

} // namespace
} // namespace weft::e2e
