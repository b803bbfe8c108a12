// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The ways of a texel buffer's descriptor into a shader.

#include "tests/e2e/glsl.h"
#include "tests/icd/texel_fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::icd_test {

constexpr VkDescriptorType storage = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;

/// Views of R32_UINT, R16_UINT and R8_UINT alternate. Element i of view v is value(v, i).
class TexelDescriptorTest : public TexelTest {
protected:
   static constexpr uint32_t elements = 8;

   static uint32_t value(uint32_t view, uint32_t element) { return 10 * view + element + 1; }

   VkBufferView make_numbered_view(uint32_t view)
   {
      TestBuffer memory = make_buffer(elements * 4);
      for (uint32_t i = 0; i < elements; ++i) {
         const uint32_t number = value(view, i), bytes = 4 >> view % 3;
         memcpy(memory.map + i * bytes, &number, bytes);
      }
      constexpr VkFormat formats[] = {VK_FORMAT_R32_UINT, VK_FORMAT_R16_UINT, VK_FORMAT_R8_UINT};
      return make_view(memory, formats[view % 3], 0, elements * (4 >> view % 3));
   }

   /// Reads element i % 8 of the texel buffer of each invocation, as the expression says.
   static std::string reader(const std::string &declarations, const std::string &texels)
   {
      return "layout(local_size_x = 64) in;\n" + declarations +
             "layout(set = 0, binding = 9) buffer Out { uint result[64]; };\n"
             "void main()\n"
             "{\n"
             "   uint i = gl_LocalInvocationID.x;\n"
             "   result[i] = texelFetch(" +
             texels + ", int(i % 8)).x;\n}\n";
   }

   void check(const TestBuffer &out, uint32_t (*view_of)(uint32_t invocation))
   {
      for (uint32_t i = 0; i < 64; ++i)
         ASSERT_EQ(out.as()[i], value(view_of(i), i % 8)) << i;
   }

   VkDescriptorSetLayout make_layout_of(uint32_t count, VkDescriptorSetLayoutCreateFlags flags = 0)
   {
      return make_set_layout({binding(0, uniform_texels, count), binding(9, storage)}, flags);
   }

   /// A set with an output and numbered views.
   VkDescriptorSet make_filled_set(VkDescriptorSetLayout layout, uint32_t count,
                                   const TestBuffer &out)
   {
      VkDescriptorSet set = make_set(layout);
      for (uint32_t v = 0; v < count; ++v)
         write_texels(set, 0, uniform_texels, make_numbered_view(v), v);
      write_buffer(set, 9, storage, out);
      return set;
   }

   void check_array(const std::string &declarations, const std::string &texels,
                    uint32_t (*view_of)(uint32_t))
   {
      PipelineRecipe recipe;
      recipe.sets = {make_layout_of(6)};
      VkPipelineLayout layout = make_layout(recipe);
      VkPipeline pipeline = make_pipeline(reader(declarations, texels), recipe, layout);
      TestBuffer out = make_buffer(256);
      bind_and_run(layout, pipeline, make_filled_set(recipe.sets[0], 6, out));
      check(out, view_of);
   }
};

TEST_F(TexelDescriptorTest, ConstantIndex)
{
   check_array("layout(binding = 0) uniform usamplerBuffer texels[6];\n", "texels[4]",
               [](uint32_t) { return 4u; });
}

TEST_F(TexelDescriptorTest, DynamicIndex)
{
   check_array("layout(binding = 0) uniform usamplerBuffer texels[6];\n",
               "texels[gl_NumWorkGroups.x + 2]", [](uint32_t) { return 3u; });
}

TEST_F(TexelDescriptorTest, IndexOfEachInvocation)
{
   check_array("layout(binding = 0) uniform usamplerBuffer texels[];\n",
               "texels[nonuniformEXT(i * 5 % 6)]", [](uint32_t i) { return i * 5 % 6; });
}

TEST_F(TexelDescriptorTest, StoresToOwnDescriptors)
{
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, storage_texels, 4)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(R"(
      layout(local_size_x = 64) in;
      layout(binding = 0) writeonly uniform uimageBuffer texels[4];
      void main()
      {
         uint i = gl_LocalInvocationID.x;
         imageStore(texels[nonuniformEXT(i % 4)], int(i / 4), uvec4(i + 1));
      })",
                                       recipe, layout);
   VkDescriptorSet set = make_set(recipe.sets[0]);
   const VkFormat formats[] = {VK_FORMAT_R32_UINT, VK_FORMAT_R32G32B32A32_UINT, VK_FORMAT_R16_UINT,
                               VK_FORMAT_R8_UINT};
   const uint32_t bytes[] = {4, 16, 2, 1};
   TestBuffer memory[4];
   for (uint32_t v = 0; v < 4; ++v) {
      memory[v] = make_buffer(256);
      memset(memory[v].map, 0xa5, 256);
      write_texels(set, 0, storage_texels, make_view(memory[v], formats[v], 0, 16 * bytes[v]), v);
   }
   bind_and_run(layout, pipeline, set);
   for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t v = i % 4;
      uint32_t stored = 0;
      memcpy(&stored, memory[v].map + i / 4 * bytes[v], std::min(bytes[v], 4u));
      ASSERT_EQ(stored, i + 1);
   }
}

TEST_F(TexelDescriptorTest, PushDescriptors)
{
   PipelineRecipe recipe;
   recipe.sets = {make_layout_of(6, VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR)};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(
      reader("layout(binding = 0) uniform usamplerBuffer texels[6];\n", "texels[i % 6]"), recipe,
      layout);
   TestBuffer out = make_buffer(256);
   VkBufferView views[6];
   for (uint32_t v = 0; v < 6; ++v)
      views[v] = make_numbered_view(v);
   const VkDescriptorBufferInfo out_info = {out.handle, 0, VK_WHOLE_SIZE};
   const VkWriteDescriptorSet writes[] = {
      {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
       .dstBinding = 0,
       .descriptorCount = 6,
       .descriptorType = uniform_texels,
       .pTexelBufferView = views},
      {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
       .dstBinding = 9,
       .descriptorCount = 1,
       .descriptorType = storage,
       .pBufferInfo = &out_info},
   };
   auto push = device_function<PFN_vkCmdPushDescriptorSetKHR>("vkCmdPushDescriptorSetKHR");
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   push(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 2, writes);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   check(out, [](uint32_t i) { return i % 6; });
}

TEST_F(TexelDescriptorTest, TemplatesAndCopies)
{
   PipelineRecipe recipe;
   recipe.sets = {make_layout_of(6)};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(
      reader("layout(binding = 0) uniform usamplerBuffer texels[6];\n", "texels[i % 6]"), recipe,
      layout);
   // Handles with a stride, in a place that is not aligned.
   struct [[gnu::packed]] Data {
      char first;
      struct [[gnu::packed]] {
         VkBufferView view;
         char other[5];
      } views[6];
   } data = {};
   for (uint32_t v = 0; v < 6; ++v)
      data.views[v].view = make_numbered_view(v);
   const VkDescriptorUpdateTemplateEntry entry = {
      .dstBinding = 0,
      .descriptorCount = 6,
      .descriptorType = uniform_texels,
      .offset = offsetof(Data, views),
      .stride = sizeof(data.views[0]),
   };
   const VkDescriptorUpdateTemplateCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
      .descriptorUpdateEntryCount = 1,
      .pDescriptorUpdateEntries = &entry,
      .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
      .descriptorSetLayout = recipe.sets[0],
   };
   VkDescriptorUpdateTemplate update;
   ASSERT_VK(vkCreateDescriptorUpdateTemplate(device, &info, nullptr, &update));
   TestBuffer out = make_buffer(256);
   VkDescriptorSet set = make_set(recipe.sets[0]), copy = make_set(recipe.sets[0]);
   vkUpdateDescriptorSetWithTemplate(device, set, update, &data);
   vkDestroyDescriptorUpdateTemplate(device, update, nullptr);
   write_buffer(set, 9, storage, out);
   bind_and_run(layout, pipeline, set);
   check(out, [](uint32_t i) { return i % 6; });

   // The copy's descriptors are in another order.
   for (uint32_t v = 0; v < 6; ++v) {
      const VkCopyDescriptorSet one = {
         .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
         .srcSet = set,
         .srcBinding = 0,
         .srcArrayElement = v,
         .dstSet = copy,
         .dstBinding = 0,
         .dstArrayElement = 5 - v,
         .descriptorCount = 1,
      };
      vkUpdateDescriptorSets(device, 0, nullptr, 1, &one);
   }
   write_buffer(copy, 9, storage, out);
   bind_and_run(layout, pipeline, copy);
   check(out, [](uint32_t i) { return 5 - i % 6; });
}

TEST_F(TexelDescriptorTest, NullDescriptors)
{
   const Program fetching = make_program(R"(
      layout(local_size_x = 1) in;
      layout(binding = 0) uniform samplerBuffer texels;
      layout(binding = 1) buffer Out { vec4 texel; int size; };
      void main() { texel = texelFetch(texels, 0); size = textureSize(texels); })",
                                         uniform_texels, 1);
   const Program storing = make_program(R"(
      layout(local_size_x = 1) in;
      layout(binding = 0, r32ui) uniform uimageBuffer texels;
      layout(binding = 1) buffer Out { uint texel, added; uint other[2]; int size; };
      void main()
      {
         imageStore(texels, 0, uvec4(3));
         added = imageAtomicAdd(texels, 0, 5u);
         texel = imageLoad(texels, 0).x;
         other[0] = other[1] = 0;
         size = imageSize(texels);
      })",
                                        storage_texels, 1);
   for (const Program &program : {fetching, storing}) {
      TestBuffer out = make_buffer(20);
      memset(out.map, 0xa5, 20);
      run_program(program, VK_NULL_HANDLE, {out});
      for (uint32_t word : out.as())
         EXPECT_EQ(word, 0u);
   }
}

/// A set may hold fewer descriptors than the layout. Reading beyond them would be an error.
TEST_F(TexelDescriptorTest, VariableCount)
{
   const VkDescriptorBindingFlags flags[] = {0,
                                             VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT |
                                                VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT};
   const VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
      .bindingCount = 2,
      .pBindingFlags = flags,
   };
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(9, storage), binding(10, uniform_texels, 1u << 19)},
                                  VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT,
                                  &flags_info)};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(R"(
      layout(local_size_x = 64) in;
      layout(set = 0, binding = 9) buffer Out { uint result[64]; };
      layout(set = 0, binding = 10) uniform usamplerBuffer texels[];
      void main()
      {
         uint i = gl_LocalInvocationID.x, far = i < 3 ? i : i * 5000;
         result[i] = 0;
         if (far < 3) result[i] = texelFetch(texels[nonuniformEXT(far)], int(i)).x;
         if (gl_NumWorkGroups.x > 3) result[i] = textureSize(texels[400000]) + texelFetch(texels[400000], 0).x;
      })",
                                       recipe, layout);
   const uint32_t count = 3;
   const VkDescriptorSetVariableDescriptorCountAllocateInfo variable = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
      .descriptorSetCount = 1,
      .pDescriptorCounts = &count,
   };
   VkDescriptorSet set =
      make_set(recipe.sets[0], VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT, &variable);
   TestBuffer out = make_buffer(256);
   write_buffer(set, 9, storage, out);
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(cmd, 1, 1, 1);
   // After the set is bound.
   for (uint32_t v = 0; v < count; ++v)
      write_texels(set, 10, uniform_texels, make_numbered_view(v), v);
   run(cmd);
   for (uint32_t i = 0; i < 64; ++i)
      ASSERT_EQ(out.as()[i], i < 3 ? value(i, i) : 0);
}

TEST_F(TexelDescriptorTest, PoolsCountTexelBuffers)
{
   VkDescriptorSetLayout layout = make_layout_of(4);
   const VkDescriptorPoolSize sizes[] = {{uniform_texels, 8}, {storage, 2}};
   const VkDescriptorPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .maxSets = 10,
      .poolSizeCount = 2,
      .pPoolSizes = sizes,
   };
   VkDescriptorPool descriptors;
   ASSERT_VK(vkCreateDescriptorPool(device, &info, nullptr, &descriptors));
   VkDescriptorSetAllocateInfo allocate = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = descriptors,
      .descriptorSetCount = 1,
      .pSetLayouts = &layout,
   };
   VkDescriptorSet set;
   EXPECT_VK(vkAllocateDescriptorSets(device, &allocate, &set));
   EXPECT_VK(vkAllocateDescriptorSets(device, &allocate, &set));
   EXPECT_EQ(vkAllocateDescriptorSets(device, &allocate, &set), VK_ERROR_OUT_OF_POOL_MEMORY);
   vkDestroyDescriptorPool(device, descriptors, nullptr);
}

TEST_F(TexelDescriptorTest, BindingOfAnotherKindIsRefused)
{
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, storage), binding(9, storage)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = VK_NULL_HANDLE;
   const std::string glsl =
      reader("layout(binding = 0) uniform usamplerBuffer texels;\n", "texels");
   EXPECT_EQ(try_pipeline(e2e::compile_glsl(e2e::glsl_header + glsl), recipe, layout, &pipeline),
             VK_ERROR_UNKNOWN);
   EXPECT_NE(messages.find("binding 0 of the descriptor set 0 is not a texel buffer"),
             std::string::npos)
      << messages;
}

} // namespace weft::icd_test
