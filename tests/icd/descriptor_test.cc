// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// How descriptors are written, copied, bound and pushed.

#include "tests/icd/dispatch_fixture.h"

#include <cstring>
#include <numeric>

namespace weft::icd_test {

using DescriptorTest = DispatchTest;

TEST_F(DescriptorTest, DynamicOffsetsGoByBindingNumber)
{
   // Two sets with dynamic buffers among others, bindings declared out of order.
   VkDescriptorSetLayout first = make_set_layout(
      {binding(5, storage_dynamic), binding(0, uniform), binding(2, uniform_dynamic, 2)});
   VkDescriptorSetLayout second = make_set_layout({binding(1, uniform_dynamic)});
   recipe.sets = {first, second};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) uniform A { uint a; };
      layout(set = 0, binding = 2) uniform B { uint b; } bs[2];
      layout(set = 0, binding = 5) buffer Out { uint data[4]; };
      layout(set = 1, binding = 1) uniform C { uint c; };
      void main() { data[0] = a; data[1] = bs[0].b; data[2] = bs[1].b; data[3] = c; })",
                            recipe, layout);
   std::vector<uint32_t> numbers(256);
   std::iota(numbers.begin(), numbers.end(), 0);
   TestBuffer in = make_buffer(1024, numbers.data());
   out = make_buffer(1024);
   VkDescriptorSet sets[] = {make_set(first), make_set(second)};
   write_buffer(sets[0], 0, uniform, in, 16, 16);
   write_buffer(sets[0], 2, uniform_dynamic, in, 32, 16, 0);
   write_buffer(sets[0], 2, uniform_dynamic, in, 48, 16, 1);
   write_buffer(sets[0], 5, storage_dynamic, out, 0, 16);
   write_buffer(sets[1], 1, uniform_dynamic, in, 64, 16);

   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   uint32_t offsets[] = {64, 128, 256, 512}; // b[0], b[1], out, c
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 2, sets, 4, offsets);
   vkCmdDispatch(cmd, 1, 1, 1);
   offsets[2] = 16;
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, sets, 3, offsets);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   const uint32_t expected[] = {4, (32 + 64) / 4, (48 + 128) / 4, (64 + 512) / 4};
   for (uint32_t i = 0; i < 4; i++) {
      EXPECT_EQ(out.as()[64 + i], expected[i]) << i;
      EXPECT_EQ(out.as()[4 + i], expected[i]) << i;
   }
}

TEST_F(DescriptorTest, PushDescriptors)
{
   recipe.sets = {make_set_layout({}),
                  make_set_layout({binding(0, storage), binding(3, storage)},
                                  VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR)};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 1) in;
      layout(set = 1, binding = 0) buffer In { uint a; };
      layout(set = 1, binding = 3) buffer Out { uint b; };
      void main() { b = a + 1; })",
                            recipe, layout);
   const uint32_t start = 10;
   TestBuffer buffers[3] = {make_buffer(4, &start), make_buffer(4), make_buffer(4)};
   auto push = device_function<PFN_vkCmdPushDescriptorSetKHR>("vkCmdPushDescriptorSetKHR");
   ASSERT_NE(push, nullptr);
   VkDescriptorBufferInfo infos[3];
   for (int i = 0; i < 3; i++)
      infos[i] = {buffers[i].handle, 0, VK_WHOLE_SIZE};
   auto write = [&](uint32_t binding, const VkDescriptorBufferInfo *info) {
      return VkWriteDescriptorSet{
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstBinding = binding,
         .descriptorCount = 1,
         .descriptorType = storage,
         .pBufferInfo = info,
      };
   };
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   VkWriteDescriptorSet both[] = {write(0, &infos[0]), write(3, &infos[1])};
   push(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 1, 2, both);
   vkCmdDispatch(cmd, 1, 1, 1);

   // The other two by a template.
   VkDescriptorUpdateTemplateEntry entries[] = {
      {.dstBinding = 0,
       .descriptorCount = 1,
       .descriptorType = storage,
       .offset = sizeof(infos[0])},
      {.dstBinding = 3,
       .descriptorCount = 1,
       .descriptorType = storage,
       .offset = 2 * sizeof(infos[0])},
   };
   VkDescriptorUpdateTemplateCreateInfo template_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
      .descriptorUpdateEntryCount = 2,
      .pDescriptorUpdateEntries = entries,
      .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR,
      .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
      .pipelineLayout = layout,
      .set = 1,
   };
   VkDescriptorUpdateTemplate update;
   ASSERT_VK(vkCreateDescriptorUpdateTemplate(device, &template_info, nullptr, &update));
   auto push_template = device_function<PFN_vkCmdPushDescriptorSetWithTemplateKHR>(
      "vkCmdPushDescriptorSetWithTemplateKHR");
   push_template(cmd, update, layout, 1, infos);
   vkDestroyDescriptorUpdateTemplate(device, update, nullptr);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   EXPECT_EQ(buffers[1].as()[0], 11u);
   EXPECT_EQ(buffers[2].as()[0], 12u);
}

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

   // The write runs over from binding 0 into 1 and, since 2 and 3 are not there, into 4.
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

   // A copy of its first three in another order, the last by a template.
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

TEST_F(DescriptorTest, EightSetsAndAllPushConstants)
{
   std::string glsl = "layout(local_size_x = 1) in;\n"
                      "layout(push_constant) uniform Push { uint words[64]; };\n";
   std::string body;
   VkDescriptorSet sets[8];
   TestBuffer buffers[8];
   for (uint32_t s = 0; s < 8; s++) {
      const std::string n = std::to_string(s);
      // The bindings' numbers differ, so that mixed up sets do not happen to fit.
      glsl += "layout(set = " + n + ", binding = " + std::to_string(7 - s) + ") buffer B" + n +
              " { uint in" + n + "; uint out" + n + "; uint word" + n + "; };\n";
      body += "out" + n + " = in" + n + " * 10 + " + n + "; word" + n + " = words[56 + " + n +
              "] + words[" + n + "];\n";
      recipe.sets.push_back(make_set_layout({binding(7 - s, storage)}));
      const uint32_t start[3] = {100 + s, 0, 0};
      buffers[s] = make_buffer(12, start);
      sets[s] = make_set(recipe.sets[s]);
      write_buffer(sets[s], 7 - s, storage, buffers[s]);
   }
   recipe.push_bytes = 256;
   layout = make_layout(recipe);
   pipeline = make_pipeline(glsl + "void main() {" + body + "}", recipe, layout);
   uint32_t words[64];
   for (uint32_t i = 0; i < 64; i++)
      words[i] = i * i + 1;
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 3, sets, 0, nullptr);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 3, 5, sets + 3, 0, nullptr);
   vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 256, words);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   for (uint32_t s = 0; s < 8; s++) {
      EXPECT_EQ(buffers[s].as()[1], (100 + s) * 10 + s) << s;
      EXPECT_EQ(buffers[s].as()[2], words[56 + s] + words[s]) << s;
   }
}

/// As many descriptors as a set may have, of which each invocation writes through another one.
TEST_F(DescriptorTest, SetsOfTheLargestSize)
{
   constexpr uint32_t count = 1 << 20, used = 64, step = (count - 1) / (used - 1);
   VkPhysicalDeviceMaintenance3Properties limits = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &limits};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_EQ(limits.maxPerSetDescriptors, count);
   recipe.sets = {make_set_layout({binding(0, storage, count)})};
   layout = make_layout(recipe);
   pipeline = make_pipeline(
      "#extension GL_EXT_nonuniform_qualifier : require\n"
      "layout(local_size_x = 64) in;\n"
      "layout(set = 0, binding = 0) buffer Out { uint x; } many[" +
         std::to_string(count) +
         "];\nvoid main() { uint i = gl_LocalInvocationIndex; many[nonuniformEXT(i * " +
         std::to_string(step) + ")].x = i + 1; }",
      recipe, layout);
   const VkDescriptorPoolSize size = {storage, count};
   const VkDescriptorPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .maxSets = 1,
      .poolSizeCount = 1,
      .pPoolSizes = &size,
   };
   VkDescriptorPool descriptors;
   ASSERT_VK(vkCreateDescriptorPool(device, &pool_info, nullptr, &descriptors));
   clean_up.push_back([=, this] { vkDestroyDescriptorPool(device, descriptors, nullptr); });
   const VkDescriptorSetAllocateInfo set_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = descriptors,
      .descriptorSetCount = 1,
      .pSetLayouts = recipe.sets.data(),
   };
   ASSERT_VK(vkAllocateDescriptorSets(device, &set_info, &set));
   out = make_buffer(used * 16);
   for (uint32_t i = 0; i < used; i++)
      write_buffer(set, 0, storage, out, 16 * i, 4, i * step);
   VkCommandBuffer cmd = begin_bound();
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   for (uint32_t i = 0; i < used; i++)
      EXPECT_EQ(out.as()[4 * i], i + 1) << i;
}

/// As many dynamic buffers of both kinds as a layout may have, over several sets.
TEST_F(DescriptorTest, AllDynamicBuffers)
{
   std::string glsl = "layout(local_size_x = 1) in;\n";
   std::string body;
   std::vector<uint32_t> numbers(4096);
   std::iota(numbers.begin(), numbers.end(), 1);
   TestBuffer in = make_buffer(16384, numbers.data());
   out = make_buffer(16384);
   VkDescriptorSet sets[2];
   for (uint32_t s = 0; s < 2; s++) {
      const std::string n = std::to_string(s);
      glsl += "layout(set = " + n + ", binding = 0) uniform In" + n + " { uint x; } in" + n +
              "[8];\nlayout(set = " + n + ", binding = 1) buffer Out" + n + " { uint x; } out" + n +
              "[8];\n";
      body += "for (uint i = 0; i < 8; i++) out" + n + "[i].x = in" + n + "[i].x * 2;\n";
      recipe.sets.push_back(
         make_set_layout({binding(0, uniform_dynamic, 8), binding(1, storage_dynamic, 8)}));
      sets[s] = make_set(recipe.sets[s]);
      for (uint32_t i = 0; i < 8; i++) {
         write_buffer(sets[s], 0, uniform_dynamic, in, 16 * i, 16, i);
         write_buffer(sets[s], 1, storage_dynamic, out, 16 * i, 16, i);
      }
   }
   layout = make_layout(recipe);
   pipeline = make_pipeline(glsl + "void main() {" + body + "}", recipe, layout);
   std::vector<uint32_t> offsets;
   for (uint32_t i = 0; i < 32; i++)
      offsets.push_back(i * 256);
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 2, sets, 32,
                           offsets.data());
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   for (uint32_t s = 0; s < 2; s++) {
      for (uint32_t i = 0; i < 8; i++) {
         const uint32_t from = (16 * i + offsets[16 * s + i]) / 4;
         const uint32_t to = (16 * i + offsets[16 * s + 8 + i]) / 4;
         EXPECT_EQ(out.as()[to], 2 * numbers[from]) << s << " " << i;
      }
   }
}

TEST_F(DescriptorTest, PoolsRunOut)
{
   VkDescriptorSetLayout set_layout = make_set_layout({binding(0, storage, 2)});
   VkDescriptorPoolSize size = {storage, 4};
   VkDescriptorPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT,
      .maxSets = 3,
      .poolSizeCount = 1,
      .pPoolSizes = &size,
   };
   VkDescriptorPool descriptor_pool;
   ASSERT_VK(vkCreateDescriptorPool(device, &info, nullptr, &descriptor_pool));
   VkDescriptorSetLayout layouts[] = {set_layout, set_layout, set_layout};
   VkDescriptorSetAllocateInfo allocate_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = descriptor_pool,
      .descriptorSetCount = 3,
      .pSetLayouts = layouts,
   };
   VkDescriptorSet sets[3];
   EXPECT_EQ(vkAllocateDescriptorSets(device, &allocate_info, sets), VK_ERROR_OUT_OF_POOL_MEMORY);
   EXPECT_EQ(sets[0], VkDescriptorSet(VK_NULL_HANDLE));
   allocate_info.descriptorSetCount = 2;
   ASSERT_VK(vkAllocateDescriptorSets(device, &allocate_info, sets));
   EXPECT_EQ(vkAllocateDescriptorSets(device, &allocate_info, sets + 1),
             VK_ERROR_OUT_OF_POOL_MEMORY);
   ASSERT_VK(vkResetDescriptorPool(device, descriptor_pool, 0));
   ASSERT_VK(vkAllocateDescriptorSets(device, &allocate_info, sets));
   ASSERT_VK(vkFreeDescriptorSets(device, descriptor_pool, 2, sets));
   ASSERT_VK(vkAllocateDescriptorSets(device, &allocate_info, sets));
   vkDestroyDescriptorPool(device, descriptor_pool, nullptr);
}

/// Each resource of a pool runs out by itself, and comes back with each set that is freed.
TEST_F(DescriptorTest, PoolsRunOutOfSetsAndDynamicBuffers)
{
   const VkDescriptorSetLayout empty = make_set_layout({}),
                               two = make_set_layout({binding(0, uniform_dynamic, 2)});
   const VkDescriptorPoolSize size = {uniform_dynamic, 5};
   const VkDescriptorPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT,
      .maxSets = 4,
      .poolSizeCount = 1,
      .pPoolSizes = &size,
   };
   VkDescriptorPool descriptor_pool;
   ASSERT_VK(vkCreateDescriptorPool(device, &info, nullptr, &descriptor_pool));
   const auto allocate = [&](VkDescriptorSetLayout set_layout, VkDescriptorSet *set) {
      const VkDescriptorSetAllocateInfo allocate_info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
         .descriptorPool = descriptor_pool,
         .descriptorSetCount = 1,
         .pSetLayouts = &set_layout,
      };
      return vkAllocateDescriptorSets(device, &allocate_info, set);
   };
   VkDescriptorSet sets[4], none;
   for (int round = 0; round < 3; round++) {
      ASSERT_VK(allocate(two, &sets[0]));
      ASSERT_VK(allocate(two, &sets[1]));
      EXPECT_EQ(allocate(two, &none), VK_ERROR_OUT_OF_POOL_MEMORY);
      ASSERT_VK(allocate(empty, &sets[2]));
      ASSERT_VK(allocate(empty, &sets[3]));
      EXPECT_EQ(allocate(empty, &none), VK_ERROR_OUT_OF_POOL_MEMORY);
      ASSERT_VK(vkFreeDescriptorSets(device, descriptor_pool, 1, &sets[0]));
      ASSERT_VK(allocate(two, &sets[0]));
      EXPECT_EQ(allocate(empty, &none), VK_ERROR_OUT_OF_POOL_MEMORY);
      if (round == 0)
         ASSERT_VK(vkResetDescriptorPool(device, descriptor_pool, 0));
      else
         ASSERT_VK(vkFreeDescriptorSets(device, descriptor_pool, 4, sets));
   }
   vkDestroyDescriptorPool(device, descriptor_pool, nullptr);
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

/// Copies from and to the middle of arrays, over the end of a binding, and of dynamic buffers.
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

/// The whole size is what is left behind the offset.
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

/// Sets are bound and pushed at the same number, by pipelines of two layouts: the last counts.
TEST_F(DescriptorTest, BoundAndPushedSetsReplaceEachOther)
{
   const VkDescriptorSetLayout bound = make_set_layout({binding(0, storage), binding(1, storage)}),
                               pushed = make_set_layout(
                                  {binding(0, storage), binding(1, storage)},
                                  VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR);
   const char *glsl = R"(
      layout(local_size_x = 1) in;
      layout(push_constant) uniform Push { uint i; };
      layout(set = 0, binding = 0) buffer In { uint a; };
      layout(set = 0, binding = 1) buffer Out { uint data[]; };
      void main() { data[i] = a; })";
   PipelineRecipe recipes[2];
   VkPipelineLayout layouts[2];
   VkPipeline pipelines[2];
   for (int i = 0; i < 2; i++) {
      recipes[i].sets = {i ? pushed : bound};
      recipes[i].push_bytes = 4;
      layouts[i] = make_layout(recipes[i]);
      pipelines[i] = make_pipeline(glsl, recipes[i], layouts[i]);
   }
   const uint32_t values[] = {11, 22, 33};
   const TestBuffer ins[] = {make_buffer(4, &values[0]), make_buffer(4, &values[1]),
                             make_buffer(4, &values[2])};
   out = make_buffer(64);
   VkDescriptorSet sets[2];
   for (int i = 0; i < 2; i++) {
      sets[i] = make_set(bound);
      write_buffer(sets[i], 0, storage, ins[i]);
      write_buffer(sets[i], 1, storage, out);
   }
   const VkDescriptorBufferInfo infos[] = {{ins[2].handle, 0, VK_WHOLE_SIZE},
                                           {out.handle, 0, VK_WHOLE_SIZE}};
   const VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstBinding = 0,
      .descriptorCount = 2,
      .descriptorType = storage,
      .pBufferInfo = infos,
   };
   auto push = device_function<PFN_vkCmdPushDescriptorSetKHR>("vkCmdPushDescriptorSetKHR");
   VkCommandBuffer cmd = begin();
   uint32_t next = 0;
   const auto dispatch = [&](int kind) {
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[kind]);
      vkCmdPushConstants(cmd, layouts[kind], VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &next);
      vkCmdDispatch(cmd, 1, 1, 1);
      next++;
   };
   const auto bind = [&](int i) {
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layouts[0], 0, 1, &sets[i], 0,
                              nullptr);
      dispatch(0);
   };
   push(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layouts[1], 0, 1, &write);
   dispatch(1);
   bind(0);
   bind(1);
   push(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layouts[1], 0, 1, &write);
   dispatch(1);
   bind(0);
   run(cmd);
   const uint32_t expected[] = {33, 11, 22, 33, 11};
   for (uint32_t i = 0; i < std::size(expected); i++)
      EXPECT_EQ(out.as()[i], expected[i]) << i;
}

/// What is pushed later leaves the dispatches before alone, and bindings that it does not name.
TEST_F(DescriptorTest, PushesBelongToTheDispatch)
{
   recipe.sets = {make_set_layout({binding(0, storage), binding(1, storage)},
                                  VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR)};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) buffer In { uint a; };
      layout(set = 0, binding = 1) buffer Out { uint b; };
      void main() { b = a; })",
                            recipe, layout);
   auto push = device_function<PFN_vkCmdPushDescriptorSetKHR>("vkCmdPushDescriptorSetKHR");
   VkCommandBuffer cmd = begin_bound();
   TestBuffer outs[4];
   const uint32_t shared_value = 40;
   const TestBuffer in = make_buffer(4, &shared_value);
   for (uint32_t i = 0; i < 4; i++) {
      outs[i] = make_buffer(4);
      const VkDescriptorBufferInfo infos[] = {{in.handle, 0, VK_WHOLE_SIZE},
                                              {outs[i].handle, 0, VK_WHOLE_SIZE}};
      VkWriteDescriptorSet writes[2];
      for (uint32_t w = 0; w < 2; w++)
         writes[w] = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstBinding = w,
            .descriptorCount = 1,
            .descriptorType = storage,
            .pBufferInfo = &infos[w],
         };
      push(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, i ? 1 : 2, i ? &writes[1] : writes);
      vkCmdDispatch(cmd, 1, 1, 1);
   }
   run(cmd);
   for (const TestBuffer &buffer : outs)
      EXPECT_EQ(buffer.as()[0], 40u);
}

} // namespace weft::icd_test
