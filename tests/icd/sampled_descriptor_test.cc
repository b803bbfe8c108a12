// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The ways of sampled images and samplers into a shader.

#include "tests/e2e/glsl.h"
#include "tests/icd/sampling_fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::icd_test {

constexpr VkDescriptorType image_type = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
                           sampler_type = VK_DESCRIPTOR_TYPE_SAMPLER,
                           combined_type = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                           out_type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;

/// Image i has one texel, of the number i + 1. Samplers differ in the color of the border: white or
/// black.
class SampledDescriptorTest : public SamplingTest {
protected:
   static constexpr uint32_t count = 6;

   VkImageView make_numbered_image(uint32_t number)
   {
      const TestImage image =
         make_image({.format = VK_FORMAT_R32_SFLOAT, .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
      const float texel = float(number + 1);
      fill(image, make_buffer(4, &texel));
      return make_image_view(image, VK_IMAGE_VIEW_TYPE_2D);
   }

   VkSampler make_border_sampler(bool white)
   {
      oracle::SamplerState state;
      state.wrap.fill(oracle::Wrap::border);
      return make_sampler(state, white ? VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE
                                       : VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK);
   }

   /// Each invocation writes a texel and the border of one image.
   static std::string reader(const std::string &declarations, const std::string &image)
   {
      return "layout(local_size_x = 64) in;\n" + declarations +
             "layout(binding = 9) buffer Out { vec2 result[64]; };\n"
             "void main()\n"
             "{\n"
             "   uint i = gl_LocalInvocationID.x;\n"
             "   result[i] = vec2(textureLod(" +
             image + ", vec2(0.5), 0).x, textureLod(" + image + ", vec2(2), 0).x);\n}\n";
   }

   void check_results(const TestBuffer &out, uint32_t (*image)(uint32_t), bool (*white)(uint32_t))
   {
      for (uint32_t i = 0; i < 64; ++i) {
         ASSERT_EQ(out.as<float>()[2 * i], float(image(i) + 1)) << i;
         ASSERT_EQ(out.as<float>()[2 * i + 1], float(white(i))) << i;
      }
   }

   TestBuffer make_results() { return make_buffer(512); }
};

TEST_F(SampledDescriptorTest, ArraysOfImagesAndSamplers)
{
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout(
      {binding(0, image_type, count), binding(1, sampler_type, 2), binding(9, out_type)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(
      reader("layout(binding = 0) uniform texture2D images[6];\n"
             "layout(binding = 1) uniform sampler samplers[2];\n",
             "sampler2D(images[nonuniformEXT(i % 6)], samplers[nonuniformEXT(i % 2)])"),
      recipe, layout);
   VkDescriptorSet set = make_set(recipe.sets[0]);
   TestBuffer out = make_results();
   for (uint32_t i = 0; i < count; ++i)
      write_sampled(set, 0, image_type, make_numbered_image(i), VK_NULL_HANDLE, i);
   for (uint32_t i = 0; i < 2; ++i)
      write_sampled(set, 1, sampler_type, VK_NULL_HANDLE, make_border_sampler(i), i);
   write_buffer(set, 9, out_type, out);
   bind_and_run(layout, pipeline, set);
   check_results(out, [](uint32_t i) { return i % 6; }, [](uint32_t i) { return i % 2 == 1; });
}

/// Writes of other samplers have no effect. Samplers may be destroyed before the set is allocated.
TEST_F(SampledDescriptorTest, ImmutableSamplers)
{
   const VkSampler immutable[] = {make_border_sampler(true), make_border_sampler(false)};
   VkDescriptorSetLayoutBinding images = binding(0, combined_type, 2),
                                samplers = binding(1, sampler_type, 2);
   images.pImmutableSamplers = samplers.pImmutableSamplers = immutable;
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({samplers, binding(9, out_type), images})};
   VkPipelineLayout layout = make_layout(recipe);
   const std::string declarations = "layout(binding = 0) uniform sampler2D images[2];\n"
                                    "layout(binding = 1) uniform sampler samplers[2];\n"
                                    "layout(binding = 2) uniform texture2D separate;\n";
   VkPipeline own = make_pipeline(reader(declarations, "images[i % 2]"), recipe, layout);
   VkDescriptorSet set = make_set(recipe.sets[0]), other = make_set(recipe.sets[0]);
   TestBuffer out = make_results();
   for (uint32_t i = 0; i < 2; ++i)
      write_sampled(set, 0, combined_type, make_numbered_image(i), make_border_sampler(i == 1), i);
   write_buffer(set, 9, out_type, out);
   bind_and_run(layout, own, set);
   check_results(out, [](uint32_t i) { return i % 2; }, [](uint32_t i) { return i % 2 == 0; });

   // A copy of the other order keeps the destination's samplers.
   for (uint32_t i = 0; i < 2; ++i) {
      const VkCopyDescriptorSet copy = {
         .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
         .srcSet = set,
         .srcBinding = 0,
         .srcArrayElement = i,
         .dstSet = other,
         .dstBinding = 0,
         .dstArrayElement = 1 - i,
         .descriptorCount = 1,
      };
      vkUpdateDescriptorSets(device, 0, nullptr, 1, &copy);
   }
   write_buffer(other, 9, out_type, out);
   bind_and_run(layout, own, other);
   check_results(out, [](uint32_t i) { return 1 - i % 2; }, [](uint32_t i) { return i % 2 == 0; });

   // Nothing writes the descriptors of immutable samplers alone.
   recipe.sets = {make_set_layout({samplers, binding(9, out_type), binding(2, image_type)})};
   layout = make_layout(recipe);
   VkPipeline separate =
      make_pipeline(reader(declarations, "sampler2D(separate, samplers[i % 2])"), recipe, layout);
   set = make_set(recipe.sets[0]);
   write_sampled(set, 2, image_type, make_numbered_image(4), VK_NULL_HANDLE);
   write_buffer(set, 9, out_type, out);
   bind_and_run(layout, separate, set);
   check_results(out, [](uint32_t) { return 4u; }, [](uint32_t i) { return i % 2 == 0; });
}

TEST_F(SampledDescriptorTest, PushDescriptors)
{
   const VkSampler immutable[] = {make_border_sampler(true), make_border_sampler(false)};
   VkDescriptorSetLayoutBinding samplers = binding(1, sampler_type, 2);
   samplers.pImmutableSamplers = immutable;
   PipelineRecipe recipe;
   recipe.sets = {
      make_set_layout({binding(0, combined_type, count), samplers, binding(9, out_type)},
                      VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR)};
   VkPipelineLayout layout = make_layout(recipe);
   const std::string declarations = "layout(binding = 0) uniform sampler2D images[6];\n"
                                    "layout(binding = 0) uniform texture2D textures[6];\n"
                                    "layout(binding = 1) uniform sampler samplers[2];\n";
   TestBuffer out = make_results();
   VkDescriptorImageInfo infos[count];
   for (uint32_t i = 0; i < count; ++i)
      infos[i] = {make_border_sampler(i % 3 == 0), make_numbered_image(i), VK_IMAGE_LAYOUT_GENERAL};
   const VkDescriptorBufferInfo out_info = {out.handle, 0, VK_WHOLE_SIZE};
   const VkWriteDescriptorSet writes[] = {
      {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
       .dstBinding = 0,
       .descriptorCount = count,
       .descriptorType = combined_type,
       .pImageInfo = infos},
      {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
       .dstBinding = 9,
       .descriptorCount = 1,
       .descriptorType = out_type,
       .pBufferInfo = &out_info},
   };
   auto push = device_function<PFN_vkCmdPushDescriptorSetKHR>("vkCmdPushDescriptorSetKHR");
   const auto run_pushed = [&](const std::string &image) {
      VkPipeline pipeline = make_pipeline(reader(declarations, image), recipe, layout);
      VkCommandBuffer cmd = begin();
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      push(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 2, writes);
      vkCmdDispatch(cmd, 1, 1, 1);
      run(cmd);
   };
   run_pushed("images[i % 6]");
   check_results(out, [](uint32_t i) { return i % 6; }, [](uint32_t i) { return i % 3 == 0; });
   run_pushed("sampler2D(textures[i % 6], samplers[i % 2])");
   check_results(out, [](uint32_t i) { return i % 6; }, [](uint32_t i) { return i % 2 == 0; });
}

TEST_F(SampledDescriptorTest, Templates)
{
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, image_type, count), binding(1, sampler_type),
                                   binding(2, combined_type), binding(9, out_type)})};
   VkPipelineLayout layout = make_layout(recipe);
   struct Data {
      VkDescriptorImageInfo images[count], sampler, both;
   } data = {};
   for (uint32_t i = 0; i < count; ++i)
      data.images[i].imageView = make_numbered_image(i);
   data.sampler.sampler = make_border_sampler(true);
   data.both = {make_border_sampler(false), make_numbered_image(8), VK_IMAGE_LAYOUT_GENERAL};
   constexpr size_t stride = sizeof(VkDescriptorImageInfo);
   const VkDescriptorUpdateTemplateEntry entries[] = {
      {0, 0, count, image_type, offsetof(Data, images), stride},
      {1, 0, 1, sampler_type, offsetof(Data, sampler), stride},
      {2, 0, 1, combined_type, offsetof(Data, both), stride},
   };
   const VkDescriptorUpdateTemplateCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
      .descriptorUpdateEntryCount = 3,
      .pDescriptorUpdateEntries = entries,
      .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
      .descriptorSetLayout = recipe.sets[0],
   };
   VkDescriptorUpdateTemplate update;
   ASSERT_VK(vkCreateDescriptorUpdateTemplate(device, &info, nullptr, &update));
   VkDescriptorSet set = make_set(recipe.sets[0]);
   vkUpdateDescriptorSetWithTemplate(device, set, update, &data);
   vkDestroyDescriptorUpdateTemplate(device, update, nullptr);
   TestBuffer out = make_results();
   write_buffer(set, 9, out_type, out);
   const std::string declarations = "layout(binding = 0) uniform texture2D images[6];\n"
                                    "layout(binding = 1) uniform sampler own;\n"
                                    "layout(binding = 2) uniform sampler2D both;\n";
   bind_and_run(
      layout, make_pipeline(reader(declarations, "sampler2D(images[i % 6], own)"), recipe, layout),
      set);
   check_results(out, [](uint32_t i) { return i % 6; }, [](uint32_t) { return true; });
   bind_and_run(layout, make_pipeline(reader(declarations, "both"), recipe, layout), set);
   check_results(out, [](uint32_t) { return 8u; }, [](uint32_t) { return false; });
}

/// After it is bound, the descriptor gets an image of another format, whose red is one by its view.
TEST_F(SampledDescriptorTest, UpdatesAfterBind)
{
   const VkDescriptorBindingFlags flags[] = {VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, 0};
   const VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
      .bindingCount = 2,
      .pBindingFlags = flags,
   };
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, combined_type), binding(9, out_type)},
                                  VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT,
                                  &flags_info)};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(
      reader("layout(binding = 0) uniform sampler2D both;\n", "both"), recipe, layout);
   VkDescriptorSet set = make_set(recipe.sets[0], VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT);
   TestBuffer out = make_results();
   write_buffer(set, 9, out_type, out);
   oracle::SamplerState state; // repeats
   const VkSampler sampler = make_sampler(state, VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE);
   const VkImageView first = make_numbered_image(3);
   const uint32_t blue = 0xffff0000;
   const TestImage image =
      make_image({.format = VK_FORMAT_R8G8B8A8_UNORM, .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   fill(image, make_buffer(4, &blue));
   write_sampled(set, 0, combined_type, first, sampler);
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(cmd, 1, 1, 1);
   write_sampled(
      set, 0, combined_type,
      make_image_view(image, VK_IMAGE_VIEW_TYPE_2D, 0, 0, 1, 1, {.r = VK_COMPONENT_SWIZZLE_ONE}),
      sampler);
   run(cmd);
   check_results(out, [](uint32_t) { return 0u; }, [](uint32_t) { return true; });
}

/// Sets of one pipeline have images of different formats, and different samplers.
TEST_F(SampledDescriptorTest, SetsOfOtherFormats)
{
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, combined_type), binding(9, out_type)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(
      reader("layout(binding = 0) uniform sampler2D both;\n", "both"), recipe, layout);
   TestBuffer out = make_results();
   oracle::SamplerState repeats;
   const VkSampler samplers[] = {make_sampler(repeats, VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE),
                                 make_border_sampler(true)};
   const uint32_t red = 0xff, seven = 7;
   const TestImage bytes = make_image(
                      {.format = VK_FORMAT_R8G8B8A8_UNORM, .usage = VK_IMAGE_USAGE_SAMPLED_BIT}),
                   scaled = make_image(
                      {.format = VK_FORMAT_R8G8B8A8_SRGB, .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   fill(bytes, make_buffer(4, &red));
   fill(scaled, make_buffer(4, &seven));
   const std::pair<VkImageView, float> images[] = {
      {make_numbered_image(3), 4},
      {make_image_view(bytes, VK_IMAGE_VIEW_TYPE_2D), 1},
      {make_image_view(scaled, VK_IMAGE_VIEW_TYPE_2D), 7 / 255.0f / 12.92f}};
   for (int round = 0; round < 24; ++round) {
      const auto &[view, texel] = images[random() % 3];
      const bool has_border = random() % 2;
      VkDescriptorSet set = make_set(recipe.sets[0]);
      write_buffer(set, 9, out_type, out);
      write_sampled(set, 0, combined_type, view, samplers[has_border]);
      bind_and_run(layout, pipeline, set);
      for (uint32_t i = 0; i < 64; ++i) {
         ASSERT_NEAR(out.as<float>()[2 * i], texel, 1e-6) << round;
         ASSERT_NEAR(out.as<float>()[2 * i + 1], has_border ? 1 : texel, 1e-6) << round;
      }
   }
}

TEST_F(SampledDescriptorTest, BindingsOfAnotherKindAreRefused)
{
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER),
                                   binding(1, storage_image), binding(9, out_type)})};
   VkPipelineLayout layout = make_layout(recipe);
   const std::string declarations = "layout(binding = 1) uniform texture2D image;\n"
                                    "layout(binding = 0) uniform sampler own;\n"
                                    "layout(binding = 1) uniform sampler2D both;\n";
   VkPipeline pipeline = VK_NULL_HANDLE;
   for (const char *image : {"sampler2D(image, own)", "both"}) {
      EXPECT_EQ(try_pipeline(e2e::compile_glsl(e2e::glsl_header + reader(declarations, image)),
                             recipe, layout, &pipeline),
                VK_ERROR_UNKNOWN);
      EXPECT_NE(messages.find("binding 1 of the descriptor set 0 is not a sampled image"),
                std::string::npos)
         << messages;
      messages.clear();
   }
}

} // namespace weft::icd_test
