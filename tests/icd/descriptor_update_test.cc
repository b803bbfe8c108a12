// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Descriptors that are written, copied and updated by templates, and inline uniform blocks.

#include "tests/icd/dispatch_fixture.h"

#include <cstring>
#include <numeric>

namespace weft::icd_test {

using DescriptorTest = DispatchTest;

TEST_F(DescriptorTest, UpdateTemplatesCopiesAndConsecutiveBindings)
{
   recipe.sets = {
      make_set_layout({binding(0, storage, 2), binding(1, storage), binding(4, storage)})};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) buffer A { uint x; } a[2];
      layout(set = 0, binding = 1) buffer B { uint x; } b;
      layout(set = 0, binding = 4) buffer Out { uint data[3]; };
      void main() { data[0] = a[0].x; data[1] = a[1].x; data[2] = b.x; })",
                            recipe, layout);
   TestBuffer in[3];
   VkDescriptorBufferInfo infos[4];
   for (uint32_t i = 0; i < 3; i++) {
      uint32_t value = 100 + i;
      in[i] = make_buffer(4, &value);
      infos[i] = {in[i].handle, 0, VK_WHOLE_SIZE};
   }
   out = make_buffer(12);
   infos[3] = {out.handle, 0, VK_WHOLE_SIZE};

   // The write continues from binding 0 into 1 and, because 2 and 3 do not exist, into 4.
   VkDescriptorSet first = make_set(recipe.sets[0]);
   VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstSet = first,
      .dstBinding = 0,
      .descriptorCount = 3,
      .descriptorType = storage,
      .pBufferInfo = infos,
   };
   vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);

   // A copy of the set's first three descriptors in another order; a template writes the last one.
   set = make_set(recipe.sets[0]);
   VkCopyDescriptorSet copies[] = {
      {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
       .srcSet = first,
       .srcBinding = 0,
       .srcArrayElement = 1,
       .dstSet = set,
       .dstBinding = 0,
       .dstArrayElement = 0,
       .descriptorCount = 2},
      {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
       .srcSet = first,
       .srcBinding = 0,
       .srcArrayElement = 0,
       .dstSet = set,
       .dstBinding = 1,
       .dstArrayElement = 0,
       .descriptorCount = 1},
   };
   vkUpdateDescriptorSets(device, 0, nullptr, 2, copies);
   VkDescriptorUpdateTemplateEntry entry = {
      .dstBinding = 4,
      .descriptorCount = 1,
      .descriptorType = storage,
      .offset = 3 * sizeof(infos[0]),
      .stride = sizeof(infos[0]),
   };
   VkDescriptorUpdateTemplateCreateInfo template_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
      .descriptorUpdateEntryCount = 1,
      .pDescriptorUpdateEntries = &entry,
      .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
      .descriptorSetLayout = recipe.sets[0],
   };
   VkDescriptorUpdateTemplate update;
   ASSERT_VK(vkCreateDescriptorUpdateTemplate(device, &template_info, nullptr, &update));
   vkUpdateDescriptorSetWithTemplate(device, set, update, infos);
   vkDestroyDescriptorUpdateTemplate(device, update, nullptr);

   VkCommandBuffer cmd = begin_bound();
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   EXPECT_EQ(out.as()[0], 101u);
   EXPECT_EQ(out.as()[1], 102u);
   EXPECT_EQ(out.as()[2], 100u);
}

TEST_F(DescriptorTest, InlineUniformBlocks)
{
   recipe.sets = {make_set_layout(
      {binding(0, VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 20), binding(1, storage)})};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0, std430) uniform In { uint words[5]; };
      layout(set = 0, binding = 1) buffer Out { uint data[5]; };
      void main() { for (int i = 0; i < 5; i++) data[i] = words[i] + 1; })",
                            recipe, layout);
   set = make_set(recipe.sets[0]);
   out = make_buffer(20);
   write_buffer(set, 1, storage, out);
   const uint32_t words[] = {1, 2, 3, 4, 5};
   write_inline(set, 0, 0, words, 8);
   write_inline(set, 0, 8, words + 2, 12);
   VkCommandBuffer cmd = begin_bound();
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   for (uint32_t i = 0; i < 5; i++)
      EXPECT_EQ(out.as()[i], i + 2);
}

TEST_F(DescriptorTest, DescriptorsUpdatedAfterBindingAndIndexedPerInvocation)
{
   VkDescriptorBindingFlags flags[] = {0, VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT |
                                             VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT |
                                             VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT};
   VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
      .bindingCount = 2,
      .pBindingFlags = flags,
   };
   recipe.sets = {make_set_layout({binding(0, storage), binding(1, storage, 100)},
                                  VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT,
                                  &flags_info)};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 16) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      layout(set = 0, binding = 1) buffer In { uint x; } ins[];
      void main()
      {
         uint i = gl_LocalInvocationID.x;
         data[i] = ins[nonuniformEXT(i * 7 % 16)].x;
      })",
                            recipe, layout);
   uint32_t count = 16;
   VkDescriptorSetVariableDescriptorCountAllocateInfo count_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
      .descriptorSetCount = 1,
      .pDescriptorCounts = &count,
   };
   set = make_set(recipe.sets[0], VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT, &count_info);
   out = make_buffer(64);
   write_buffer(set, 0, storage, out);
   VkCommandBuffer cmd = begin_bound();
   vkCmdDispatch(cmd, 1, 1, 1);
   for (uint32_t i = 0; i < 16; i++) {
      uint32_t value = 50 + i;
      write_buffer(set, 1, storage, make_buffer(4, &value), 0, VK_WHOLE_SIZE, i);
   }
   run(cmd);
   for (uint32_t i = 0; i < 16; i++)
      EXPECT_EQ(out.as()[i], 50 + i * 7 % 16) << i;
}

/// The program's structs may be larger than the descriptor's, and lie anywhere.
TEST_F(DescriptorTest, TemplatesStepByTheirStride)
{
   recipe.sets = {make_set_layout({binding(0, storage, 3), binding(1, storage, 2),
                                   binding(2, VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 32)})};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) buffer A { uint x; } a[3];
      layout(set = 0, binding = 1) buffer Out { uint data[12]; } outs[2];
      layout(set = 0, binding = 2, std430) uniform In { uint words[8]; };
      void main()
      {
         for (int i = 0; i < 3; i++)
            outs[1].data[i] = a[i].x;
         for (int i = 0; i < 8; i++)
            outs[1].data[3 + i] = words[i];
      })",
                            recipe, layout);
   struct Entry {
      uint64_t before;
      VkDescriptorBufferInfo info;
      uint32_t behind[3];
   };
   struct {
      uint32_t some;
      Entry ins[4];
      VkDescriptorBufferInfo out;
      uint32_t words[5];
   } data = {};
   for (uint32_t i = 0; i < 4; i++) {
      const uint32_t value = 100 + i;
      data.ins[i].info = {make_buffer(4, &value).handle, 0, VK_WHOLE_SIZE};
   }
   out = make_buffer(48);
   data.out = {out.handle, 0, VK_WHOLE_SIZE};
   for (uint32_t i = 0; i < 5; i++)
      data.words[i] = 7 * i + 1;

   set = make_set(recipe.sets[0]);
   const uint32_t old[] = {1, 2, 3, 4, 5, 6, 7, 8};
   write_inline(set, 2, 0, old, sizeof(old));
   // The first three, then the last two in place of the second and third.
   const auto entry = [](uint32_t to, uint32_t element, uint32_t count, VkDescriptorType type,
                         size_t offset, size_t stride) {
      return VkDescriptorUpdateTemplateEntry{to, element, count, type, offset, stride};
   };
   const size_t ins = offsetof(decltype(data), ins) + offsetof(Entry, info);
   vkUpdateDescriptorSetWithTemplate(
      device, set,
      make_template(recipe.sets[0], {entry(0, 0, 3, storage, ins, sizeof(Entry)),
                                     entry(1, 1, 1, storage, offsetof(decltype(data), out), 0),
                                     entry(2, 8, 20, VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
                                           offsetof(decltype(data), words), 0)}),
      &data);
   dispatch_once();
   const uint32_t expected[] = {100, 101, 102, 1, 2, 1, 8, 15, 22, 29, 8};
   for (uint32_t i = 0; i < std::size(expected); i++)
      EXPECT_EQ(out.as()[i], expected[i]) << i;

   vkUpdateDescriptorSetWithTemplate(
      device, set,
      make_template(recipe.sets[0],
                    {entry(0, 1, 2, storage, ins + 2 * sizeof(Entry), sizeof(Entry))}),
      &data);
   dispatch_once();
   EXPECT_EQ(out.as()[0], 100u);
   EXPECT_EQ(out.as()[1], 102u);
   EXPECT_EQ(out.as()[2], 103u);
}

/// Offsets of inline uniform blocks are in bytes, of the source as well as of the target.
TEST_F(DescriptorTest, InlineUniformBlocksAreCopiedInParts)
{
   const VkDescriptorType block = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
   const VkDescriptorSetLayout source_layout =
      make_set_layout({binding(0, storage, 3), binding(3, block, 48)});
   recipe.sets = {make_set_layout({binding(0, block, 32), binding(1, storage)})};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0, std430) uniform In { uint words[8]; };
      layout(set = 0, binding = 1) buffer Out { uint data[8]; };
      void main() { for (int i = 0; i < 8; i++) data[i] = words[i]; })",
                            recipe, layout);
   const VkDescriptorSet source = make_set(source_layout);
   set = make_set(recipe.sets[0]);
   out = make_buffer(32);
   write_buffer(set, 1, storage, out);
   uint32_t numbers[12];
   std::iota(numbers, numbers + 12, 50);
   write_inline(source, 3, 0, numbers, sizeof(numbers));
   const uint32_t old[] = {1, 2, 3, 4, 5, 6, 7, 8};
   write_inline(set, 0, 0, old, sizeof(old));
   const VkCopyDescriptorSet copy = {
      .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
      .srcSet = source,
      .srcBinding = 3,
      .srcArrayElement = 20,
      .dstSet = set,
      .dstBinding = 0,
      .dstArrayElement = 8,
      .descriptorCount = 16,
   };
   vkUpdateDescriptorSets(device, 0, nullptr, 1, &copy);
   dispatch_once();
   const uint32_t expected[] = {1, 2, 55, 56, 57, 58, 7, 8};
   for (uint32_t i = 0; i < 8; i++)
      EXPECT_EQ(out.as()[i], expected[i]) << i;
}

/// Copies from and to the middle of arrays, beyond the end of a binding, and of dynamic buffers.
TEST_F(DescriptorTest, ArraysAreCopiedFromTheirMiddle)
{
   const std::vector<VkDescriptorSetLayoutBinding> bindings = {
      binding(0, storage), binding(1, storage, 3), binding(2, storage, 2),
      binding(5, uniform_dynamic, 3)};
   recipe.sets = {make_set_layout(bindings)};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) buffer Out { uint data[8]; };
      layout(set = 0, binding = 1) buffer A { uint x; } a[3];
      layout(set = 0, binding = 2) buffer B { uint x; } b[2];
      layout(set = 0, binding = 5) uniform C { uint x; } c[3];
      void main()
      {
         for (int i = 0; i < 3; i++) { data[i] = a[i].x; data[5 + i] = c[i].x; }
         for (int i = 0; i < 2; i++) data[3 + i] = b[i].x;
      })",
                            recipe, layout);
   uint32_t numbers[64];
   std::iota(numbers, numbers + 64, 0);
   const TestBuffer in = make_buffer(256, numbers);
   out = make_buffer(32);
   VkDescriptorSet sets[] = {make_set(recipe.sets[0]), make_set(recipe.sets[0])};
   for (uint32_t s = 0; s < 2; s++) {
      // Element e of the set s has the number 16 e + 4 s (+ 1 for dynamic ones).
      write_buffer(sets[s], 0, storage, out);
      for (uint32_t e = 0; e < 5; e++)
         write_buffer(sets[s], e < 3 ? 1 : 2, storage, in, 64 * (e % 4) + 16 * s, 16,
                      e < 3 ? e : e - 3);
      for (uint32_t e = 0; e < 3; e++)
         write_buffer(sets[s], 5, uniform_dynamic, in, 64 * e + 16 * s, 16, e);
   }
   const auto copy = [&](uint32_t from, uint32_t from_element, uint32_t to, uint32_t to_element,
                         uint32_t count) {
      return VkCopyDescriptorSet{.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                 .srcSet = sets[0],
                                 .srcBinding = from,
                                 .srcArrayElement = from_element,
                                 .dstSet = sets[1],
                                 .dstBinding = to,
                                 .dstArrayElement = to_element,
                                 .descriptorCount = count};
   };
   const VkCopyDescriptorSet copies[] = {copy(1, 2, 1, 1, 3), copy(5, 0, 5, 1, 2)};
   vkUpdateDescriptorSets(device, 0, nullptr, 2, copies);

   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   const uint32_t offsets[] = {32, 0, 32};
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &sets[1], 3, offsets);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   const uint32_t expected[] = {4, 32, 48, 0, 4, 4 + 8, 0, 16 + 8};
   for (uint32_t i = 0; i < 8; i++)
      EXPECT_EQ(out.as()[i], expected[i]) << i;
}

/// VK_WHOLE_SIZE is the rest of the buffer behind the offset.
TEST_F(DescriptorTest, WholeSizesEndWithTheBuffer)
{
   recipe.sets = {make_set_layout({binding(0, storage), binding(1, storage)})};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 32) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      layout(set = 0, binding = 1) buffer In { uint numbers[]; };
      void main()
      {
         const uint i = gl_LocalInvocationIndex;
         data[i] = numbers[i];
         if (i == 0) { data[32] = numbers.length(); data[33] = data.length(); }
      })",
                            recipe, layout);
   std::vector<uint32_t> numbers(64, 9);
   const TestBuffer in = make_buffer(256, numbers.data());
   // A buffer of 80 bytes in that memory, from its byte 64 on.
   const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = 80,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
   };
   TestBuffer inner;
   ASSERT_VK(vkCreateBuffer(device, &info, nullptr, &inner.handle));
   clean_up.push_back([=, this] { vkDestroyBuffer(device, inner.handle, nullptr); });
   ASSERT_VK(vkBindBufferMemory(device, inner.handle, in.memory, 64));
   set = make_set(recipe.sets[0]);
   out = make_buffer(160);
   std::fill_n(out.as().begin(), 40, 5);
   write_buffer(set, 0, storage, out, 16);
   write_buffer(set, 1, storage, inner, 32);
   dispatch_once();
   for (uint32_t i = 0; i < 32; i++)
      EXPECT_EQ(out.as()[4 + i], i < 12 ? 9u : 0u) << i;
   EXPECT_EQ(out.as()[4 + 32], 12u);
   EXPECT_EQ(out.as()[4 + 33], 36u);
   EXPECT_EQ(out.as()[3], 5u);
}

} // namespace weft::icd_test
