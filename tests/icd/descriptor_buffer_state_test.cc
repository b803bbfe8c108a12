// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The bound state with descriptor buffers: beside push descriptors and embedded samplers, before
/// and after descriptor sets, in secondary command buffers; and descriptors that are captured and
/// replayed.

#include "tests/icd/descriptor_buffer_fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::icd_test {

namespace {

constexpr VkDescriptorType storage = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
constexpr uint32_t set_bytes = 64;

} // namespace

class DescriptorBufferStateTest : public DescriptorBufferFixture {
protected:
   void SetUp() override
   {
      DescriptorBufferFixture::SetUp();
      push = device_function<PFN_vkCmdPushDescriptorSetKHR>("vkCmdPushDescriptorSetKHR");
   }

   /// Pushes a storage buffer to binding 0 of a set.
   void push_buffer(VkCommandBuffer cmd, VkPipelineLayout layout, uint32_t set,
                    const TestBuffer &buffer)
   {
      const VkDescriptorBufferInfo info = {buffer.handle, 0, VK_WHOLE_SIZE};
      const VkWriteDescriptorSet write = {
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstBinding = 0,
         .descriptorCount = 1,
         .descriptorType = storage,
         .pBufferInfo = &info,
      };
      push(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, set, 1, &write);
   }

   /// A sampler whose color is that of the border.
   VkSampler make_border(VkBorderColor color)
   {
      const VkSamplerCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
         .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
         .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
         .borderColor = color,
      };
      VkSampler sampler = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateSampler(device, &info, nullptr, &sampler));
      clean_up.push_back([this, sampler] { vkDestroySampler(device, sampler, nullptr); });
      return sampler;
   }

   TestBuffer number(uint32_t value) { return make_buffer(4, &value); }

   /// Set 0 has a number, set 1 the results. Each dispatch writes the number to its own result.
   static constexpr const char *copy_number = R"(
      layout(local_size_x = 1) in;
      layout(push_constant) uniform Push { uint place; };
      layout(set = 0, binding = 0) buffer In { uint number; };
      layout(set = 1, binding = 0) buffer Out { uint result[]; };
      void main() { result[place] = number; })";

   void dispatch_to(VkCommandBuffer cmd, VkPipelineLayout layout, uint32_t place)
   {
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &place);
      vkCmdDispatch(cmd, 1, 1, 1);
   }

   PFN_vkCmdPushDescriptorSetKHR push = nullptr;
};

/// Random dispatches with sets, pushed sets, buffers, and buffers beside pushed sets.
TEST_F(DescriptorBufferStateTest, SetsAndBuffersReplaceEachOther)
{
   constexpr uint32_t steps = 64;
   struct Way {
      bool is_buffer, is_pushed;
      PipelineRecipe recipe = {};
      VkPipelineLayout layout = VK_NULL_HANDLE;
      VkPipeline pipeline = VK_NULL_HANDLE;
   } ways[] = {{false, false}, {false, true}, {true, false}, {true, true}};
   for (Way &way : ways) {
      const VkDescriptorSetLayoutCreateFlags flags =
         way.is_buffer ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT : 0;
      const VkDescriptorSetLayoutCreateFlags pushed =
         way.is_pushed ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT : 0;
      way.recipe.push_bytes = 4;
      way.recipe.sets = {make_set_layout({binding(0, storage)}, flags | pushed),
                         make_set_layout({binding(0, storage)}, flags)};
      way.layout = make_layout(way.recipe);
      if (way.is_buffer)
         way.recipe.flags = VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT;
      way.pipeline = make_pipeline(copy_number, way.recipe, way.layout);
   }
   const TestBuffer out = make_random_buffer(4 * steps),
                    target = make_descriptor_buffer(set_bytes * (steps + 1));
   put_buffer(ways[2].recipe.sets[0], target.map, 0, storage, out);
   VkCommandBuffer cmd = begin();
   buffers.bind(cmd, {address_of(target)});
   std::vector<uint32_t> expected;
   for (uint32_t step = 0; step < steps; ++step) {
      const Way &way = ways[random() % 4];
      expected.push_back(uint32_t(random()));
      const TestBuffer in = number(expected.back());
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, way.pipeline);
      if (way.is_pushed)
         push_buffer(cmd, way.layout, 0, in);
      if (way.is_buffer) {
         const VkDeviceSize place = set_bytes * (step + 1);
         put_buffer(ways[2].recipe.sets[0], target.map + place, 0, storage, in);
         if (way.is_pushed)
            buffers.set_offsets(cmd, way.layout, 1, {0}, {0});
         else
            buffers.set_offsets(cmd, way.layout, 0, {0, 0}, {place, 0});
      } else {
         const VkDescriptorSet last = make_set(way.recipe.sets[1]);
         write_buffer(last, 0, storage, out);
         vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, way.layout, 1, 1, &last, 0,
                                 nullptr);
         if (!way.is_pushed) {
            const VkDescriptorSet first = make_set(way.recipe.sets[0]);
            write_buffer(first, 0, storage, in);
            vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, way.layout, 0, 1, &first,
                                    0, nullptr);
         }
      }
      dispatch_to(cmd, way.layout, step);
   }
   run(cmd);
   for (uint32_t i = 0; i < steps; ++i)
      ASSERT_EQ(out.as()[i], expected[i]) << i;
}

/// A dispatch keeps the buffers and the offsets that were bound when it was recorded.
TEST_F(DescriptorBufferStateTest, BindingsBelongToTheDispatch)
{
   constexpr uint32_t steps = 24;
   PipelineRecipe recipe = {.push_bytes = 4};
   recipe.sets = {make_buffer_layout({binding(0, storage)}),
                  make_buffer_layout({binding(0, storage)})};
   const VkPipelineLayout layout = make_layout(recipe);
   const VkPipeline pipeline = make_buffer_pipeline(copy_number, recipe, layout);
   const TestBuffer out = make_random_buffer(4 * steps),
                    targets[] = {make_descriptor_buffer(set_bytes * (steps + 1)),
                                 make_descriptor_buffer(set_bytes * (steps + 1))};
   std::vector<uint32_t> expected;
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   std::vector<VkDeviceAddress> addresses = {address_of(targets[0]), address_of(targets[1])};
   for (const TestBuffer &target : targets)
      put_buffer(recipe.sets[1], target.map, 0, storage, out);
   for (uint32_t step = 0; step < steps; ++step) {
      if (step % 4 == 0) {
         // The other order, and a set that begins within the buffer of the last number.
         std::swap(addresses[0], addresses[1]);
         buffers.bind(cmd, {addresses[0], addresses[1], addresses[0] + set_bytes});
         buffers.set_offsets(cmd, layout, 1, {uint32_t(random() % 2)}, {0});
      }
      const auto number_of_buffer = uint32_t(random() % 3);
      const VkDeviceAddress bound = addresses[number_of_buffer % 2];
      const TestBuffer &target = targets[bound == address_of(targets[1])];
      const VkDeviceSize place = set_bytes * (step + 1);
      expected.push_back(uint32_t(random()));
      put_buffer(recipe.sets[0], target.map + place, 0, storage, number(expected.back()));
      buffers.set_offsets(cmd, layout, 0, {number_of_buffer},
                          {place - (number_of_buffer == 2 ? set_bytes : 0)});
      dispatch_to(cmd, layout, step);
   }
   run(cmd);
   for (uint32_t i = 0; i < steps; ++i)
      ASSERT_EQ(out.as()[i], expected[i]) << i;
}

/// One set in a buffer, one pushed, one embedded; they are bound in any order, and again in part.
TEST_F(DescriptorBufferStateTest, PushedAndEmbeddedSets)
{
   constexpr uint32_t steps = 16;
   const Resource zero = {
      .image = {VK_NULL_HANDLE, make_one_texel(0), VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL}};
   PipelineRecipe recipe = {.push_bytes = 4};
   const VkDescriptorSetLayout in_buffer =
      make_buffer_layout({binding(0, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE), binding(1, storage)});
   const VkDescriptorSetLayout pushed = make_buffer_layout(
      {binding(0, storage)}, VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT);
   const auto embed = [&](VkBorderColor first, VkBorderColor second) {
      const VkSampler samplers[] = {make_border(first), make_border(second)};
      VkDescriptorSetLayoutBinding bindings[] = {binding(4, VK_DESCRIPTOR_TYPE_SAMPLER),
                                                 binding(1, VK_DESCRIPTOR_TYPE_SAMPLER)};
      bindings[0].pImmutableSamplers = &samplers[1];
      bindings[1].pImmutableSamplers = &samplers[0];
      return make_buffer_layout(
         {bindings[0], bindings[1]},
         VK_DESCRIPTOR_SET_LAYOUT_CREATE_EMBEDDED_IMMUTABLE_SAMPLERS_BIT_EXT);
   };
   constexpr VkBorderColor zeros = VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK,
                           ones = VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
   recipe.sets = {in_buffer, pushed, embed(zeros, ones)};
   const VkPipelineLayout layouts[] = {make_layout(recipe), [&] {
                                          PipelineRecipe other = recipe;
                                          other.sets[2] = embed(ones, zeros);
                                          return make_layout(other);
                                       }()};
   VkPipeline pipelines[2];
   for (uint32_t p = 0; p < 2; ++p)
      pipelines[p] = make_buffer_pipeline(R"(
         #extension GL_EXT_samplerless_texture_functions : enable
         layout(local_size_x = 1) in;
         layout(push_constant) uniform Push { uint place; };
         layout(set = 0, binding = 0) uniform texture2D zero;
         layout(set = 0, binding = 1) buffer Out { float result[]; };
         layout(set = 1, binding = 0) buffer In { uint number; };
         layout(set = 2, binding = 1) uniform sampler first;
         layout(set = 2, binding = 4) uniform sampler second;
         void main()
         {
            result[place] = float(number) + textureLod(sampler2D(zero, first), vec2(2), 0).x +
                            2 * textureLod(sampler2D(zero, second), vec2(2), 0).x;
         })",
                                          recipe, layouts[p]);
   const TestBuffer out = make_random_buffer(4 * steps),
                    target = make_descriptor_buffer(buffers.size_of(in_buffer));
   put(VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, zero, target.map + buffers.offset_of(in_buffer, 0));
   put_buffer(in_buffer, target.map, 1, storage, out);

   VkCommandBuffer cmd = begin();
   buffers.bind(cmd, {address_of(target)});
   std::vector<float> expected;
   uint32_t in = 0;
   for (uint32_t step = 0; step < steps; ++step) {
      const uint32_t p = step / 4 % 2;
      const VkPipelineLayout layout = layouts[p];
      std::vector<uint32_t> order = {0, 1, 2, 3};
      std::ranges::shuffle(order, random);
      // All sets are bound for a new layout, else some of them.
      for (const uint32_t set : order) {
         const bool is_bound = step % 4 == 0 || random() % 2;
         if (set == 0 && is_bound)
            buffers.set_offsets(cmd, layout, 0, {0}, {0});
         if (set == 1 && is_bound) {
            in = 100 * (step + 1);
            push_buffer(cmd, layout, 1, number(in));
         }
         const VkBindDescriptorBufferEmbeddedSamplersInfoEXT info = {
            .sType = VK_STRUCTURE_TYPE_BIND_DESCRIPTOR_BUFFER_EMBEDDED_SAMPLERS_INFO_EXT,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
            .layout = layout,
            .set = 2,
         };
         if (set == 2 && is_bound && step % 2)
            buffers.bind_samplers_2(cmd, &info);
         else if (set == 2 && is_bound)
            buffers.bind_samplers(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 2);
         if (set == 3)
            vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[p]);
      }
      expected.push_back(float(in + (p == 0 ? 2 : 1)));
      dispatch_to(cmd, layout, step);
   }
   run(cmd);
   for (uint32_t i = 0; i < steps; ++i)
      ASSERT_EQ(out.as<float>()[i], expected[i]) << i;
}

/// A secondary command buffer has bindings of its own. The host writes other descriptors before
/// each submission.
TEST_F(DescriptorBufferStateTest, SecondaryCommandBuffersAreSubmittedAgain)
{
   PipelineRecipe recipe = {.push_bytes = 4};
   recipe.sets = {make_buffer_layout({binding(0, storage)}),
                  make_buffer_layout({binding(0, storage)})};
   const VkPipelineLayout layout = make_layout(recipe);
   const VkPipeline pipeline = make_buffer_pipeline(copy_number, recipe, layout);
   const TestBuffer target = make_descriptor_buffer(4 * set_bytes);
   const auto record = [&](VkCommandBuffer cmd, VkDeviceSize in, uint32_t place) {
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      buffers.bind(cmd, {address_of(target)});
      buffers.set_offsets(cmd, layout, 0, {0, 0}, {in, 3 * set_bytes});
      dispatch_to(cmd, layout, place);
   };
   VkCommandBuffer secondary =
      begin(VK_COMMAND_BUFFER_LEVEL_SECONDARY, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
   record(secondary, 0, 0);
   record(secondary, set_bytes, 1);
   EXPECT_VK(vkEndCommandBuffer(secondary));
   VkCommandBuffer primary = begin();
   record(primary, 2 * set_bytes, 2);
   vkCmdExecuteCommands(primary, 1, &secondary);
   EXPECT_VK(vkEndCommandBuffer(primary));
   for (unsigned round = 0; round < 4; ++round) {
      const TestBuffer out = make_random_buffer(12);
      put_buffer(recipe.sets[1], target.map + 3 * set_bytes, 0, storage, out);
      uint32_t expected[3];
      for (uint32_t i = 0; i < 3; ++i) {
         expected[i] = uint32_t(random());
         put_buffer(recipe.sets[0], target.map + i * set_bytes, 0, storage, number(expected[i]));
      }
      EXPECT_VK(vulkan::submit_and_wait(device, queue, primary, wait_limit));
      for (uint32_t i = 0; i < 3; ++i)
         ASSERT_EQ(out.as()[i], expected[i]) << i;
   }
}

/// Memory at the captured address and objects with captured data have the same descriptors.
TEST_F(DescriptorBufferStateTest, CapturedDescriptorsAreReplayed)
{
   const auto capture_buffer = device_function<PFN_vkGetBufferOpaqueCaptureDescriptorDataEXT>(
      "vkGetBufferOpaqueCaptureDescriptorDataEXT");
   const auto capture_image = device_function<PFN_vkGetImageOpaqueCaptureDescriptorDataEXT>(
      "vkGetImageOpaqueCaptureDescriptorDataEXT");
   const auto capture_view = device_function<PFN_vkGetImageViewOpaqueCaptureDescriptorDataEXT>(
      "vkGetImageViewOpaqueCaptureDescriptorDataEXT");
   const auto capture_sampler = device_function<PFN_vkGetSamplerOpaqueCaptureDescriptorDataEXT>(
      "vkGetSamplerOpaqueCaptureDescriptorDataEXT");
   const VkPhysicalDeviceDescriptorBufferPropertiesEXT &p = buffers.properties();
   std::vector<uint8_t> buffer_data(p.bufferCaptureReplayDescriptorDataSize),
      image_data(p.imageCaptureReplayDescriptorDataSize),
      view_data(p.imageViewCaptureReplayDescriptorDataSize),
      sampler_data(p.samplerCaptureReplayDescriptorDataSize);
   for (const auto *data : {&buffer_data, &image_data, &view_data, &sampler_data})
      EXPECT_TRUE(!data->empty() && data->size() <= 64) << data->size();

   constexpr VkDeviceSize buffer_bytes = 4096;
   constexpr VkDescriptorType combined = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
   uint64_t address = 0;
   const auto describe = [&](bool is_replay) {
      const auto with = [&](const std::vector<uint8_t> &data) {
         return VkOpaqueCaptureDescriptorDataCreateInfoEXT{
            .sType = VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT,
            .opaqueCaptureDescriptorData = data.data(),
         };
      };
      const auto buffer_next = with(buffer_data), image_next = with(image_data),
                 view_next = with(view_data), sampler_next = with(sampler_data);
      const VkBufferCreateInfo buffer_info = {
         .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
         .pNext = is_replay ? &buffer_next : nullptr,
         .flags = VK_BUFFER_CREATE_DESCRIPTOR_BUFFER_CAPTURE_REPLAY_BIT_EXT,
         .size = buffer_bytes,
         .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
      };
      VkBuffer buffer = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateBuffer(device, &buffer_info, nullptr, &buffer));
      const VkImageCreateInfo image_info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
         .pNext = is_replay ? &image_next : nullptr,
         .flags = VK_IMAGE_CREATE_DESCRIPTOR_BUFFER_CAPTURE_REPLAY_BIT_EXT,
         .imageType = VK_IMAGE_TYPE_2D,
         .format = VK_FORMAT_R8G8B8A8_UNORM,
         .extent = {13, 7, 1},
         .mipLevels = 3,
         .arrayLayers = 1,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .usage = VK_IMAGE_USAGE_SAMPLED_BIT,
      };
      VkImage image = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateImage(device, &image_info, nullptr, &image));

      const VkMemoryOpaqueCaptureAddressAllocateInfo captured = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO,
         .opaqueCaptureAddress = address,
      };
      const VkMemoryAllocateFlagsInfo flags = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
         .pNext = is_replay ? &captured : nullptr,
         .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT |
                  VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT,
      };
      const VkMemoryAllocateInfo memory_info = {
         .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
         .pNext = &flags,
         .allocationSize = 4 * buffer_bytes,
      };
      VkDeviceMemory memory = VK_NULL_HANDLE;
      EXPECT_VK(vkAllocateMemory(device, &memory_info, nullptr, &memory));
      EXPECT_VK(vkBindBufferMemory(device, buffer, memory, buffer_bytes));
      EXPECT_VK(vkBindImageMemory(device, image, memory, 2 * buffer_bytes));
      const VkDeviceMemoryOpaqueCaptureAddressInfo address_info = {
         .sType = VK_STRUCTURE_TYPE_DEVICE_MEMORY_OPAQUE_CAPTURE_ADDRESS_INFO,
         .memory = memory,
      };
      address = vkGetDeviceMemoryOpaqueCaptureAddress(device, &address_info);

      const VkImageViewCreateInfo view_info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
         .pNext = is_replay ? &view_next : nullptr,
         .flags = VK_IMAGE_VIEW_CREATE_DESCRIPTOR_BUFFER_CAPTURE_REPLAY_BIT_EXT,
         .image = image,
         .viewType = VK_IMAGE_VIEW_TYPE_2D,
         .format = VK_FORMAT_R8G8B8A8_UNORM,
         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 2, 0, 1},
      };
      VkImageView view = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateImageView(device, &view_info, nullptr, &view));
      const VkSamplerCreateInfo sampler_info = {
         .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
         .pNext = is_replay ? &sampler_next : nullptr,
         .flags = VK_SAMPLER_CREATE_DESCRIPTOR_BUFFER_CAPTURE_REPLAY_BIT_EXT,
         .magFilter = VK_FILTER_LINEAR,
         .maxLod = 2,
      };
      VkSampler sampler = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateSampler(device, &sampler_info, nullptr, &sampler));

      const VkBufferCaptureDescriptorDataInfoEXT of_buffer = {
         VK_STRUCTURE_TYPE_BUFFER_CAPTURE_DESCRIPTOR_DATA_INFO_EXT, nullptr, buffer};
      const VkImageCaptureDescriptorDataInfoEXT of_image = {
         VK_STRUCTURE_TYPE_IMAGE_CAPTURE_DESCRIPTOR_DATA_INFO_EXT, nullptr, image};
      const VkImageViewCaptureDescriptorDataInfoEXT of_view = {
         VK_STRUCTURE_TYPE_IMAGE_VIEW_CAPTURE_DESCRIPTOR_DATA_INFO_EXT, nullptr, view};
      const VkSamplerCaptureDescriptorDataInfoEXT of_sampler = {
         VK_STRUCTURE_TYPE_SAMPLER_CAPTURE_DESCRIPTOR_DATA_INFO_EXT, nullptr, sampler};
      EXPECT_VK(capture_buffer(device, &of_buffer, buffer_data.data()));
      EXPECT_VK(capture_image(device, &of_image, image_data.data()));
      EXPECT_VK(capture_view(device, &of_view, view_data.data()));
      EXPECT_VK(capture_sampler(device, &of_sampler, sampler_data.data()));

      std::vector<uint8_t> bytes(buffers.size_of(storage) + buffers.size_of(combined));
      const VkBufferDeviceAddressInfo place = {
         .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = buffer};
      buffers.get_buffer(storage, vkGetBufferDeviceAddress(device, &place), buffer_bytes,
                         bytes.data());
      const VkDescriptorImageInfo both = {sampler, view, VK_IMAGE_LAYOUT_GENERAL};
      buffers.get(combined, {.pCombinedImageSampler = &both},
                  bytes.data() + buffers.size_of(storage));
      vkDestroySampler(device, sampler, nullptr);
      vkDestroyImageView(device, view, nullptr);
      vkDestroyImage(device, image, nullptr);
      vkDestroyBuffer(device, buffer, nullptr);
      vkFreeMemory(device, memory, nullptr);
      return bytes;
   };
   const std::vector<uint8_t> first = describe(false);
   EXPECT_EQ(describe(true), first);
}

} // namespace weft::icd_test
