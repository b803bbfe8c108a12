// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Descriptor sets and pools, and how sets are bound and pushed.

#include "tests/icd/dispatch_fixture.h"

#include <cstring>
#include <numeric>

namespace weft::icd_test {

using DescriptorTest = DispatchTest;

TEST_F(DescriptorTest, DynamicOffsetsGoByBindingNumber)
{
   // Two sets with dynamic and other buffers, bindings declared out of order.
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

TEST_F(DescriptorTest, EightSetsAndAllPushConstants)
{
   std::string glsl = "layout(local_size_x = 1) in;\n"
                      "layout(push_constant) uniform Push { uint words[64]; };\n";
   std::string body;
   VkDescriptorSet sets[8];
   TestBuffer buffers[8];
   for (uint32_t s = 0; s < 8; s++) {
      const std::string n = std::to_string(s);
      // Each set has another binding number, so that exchanged sets fail.
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

/// A set with the maximum number of descriptors. Each invocation writes through another descriptor.
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

/// The maximum number of dynamic buffers of both kinds, in several sets.
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

/// Each resource of a pool runs out separately, and each freed set returns it.
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

/// Sets are bound and pushed at the same number, by pipelines of two layouts: the last one is used.
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

/// Later pushes change neither earlier dispatches nor bindings that they do not name.
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
