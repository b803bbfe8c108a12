// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compute: how what is bound and pushed reaches the shader.

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace weft::icd_test {
namespace {

constexpr VkDescriptorType storage = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
constexpr VkDescriptorType uniform = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
constexpr VkDescriptorType storage_dynamic = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
constexpr VkDescriptorType uniform_dynamic = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;

/// Workgroup number x of n writes 1000 * (x + 1) + n to its element.
const char *const mark_groups = R"(
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { uint data[]; };
void main()
{
   uvec3 n = gl_NumWorkGroups;
   uvec3 i = gl_WorkGroupID;
   data[i.x + 8 * (i.y + 8 * i.z)] = 1000 * (i.x + 1) + n.x * n.y * n.z;
})";

} // namespace

class DispatchTest : public IcdTest {
protected:
   /// One storage buffer at set 0, binding 0.
   void use_one_buffer(const char *glsl, VkDeviceSize size, uint32_t push_bytes = 0)
   {
      out = make_buffer(size);
      recipe.sets = {make_set_layout({binding(0, storage)})};
      recipe.push_bytes = push_bytes;
      layout = make_layout(recipe);
      pipeline = make_pipeline(glsl, recipe, layout);
      set = make_set(recipe.sets[0]);
      write_buffer(set, 0, storage, out);
   }

   VkCommandBuffer begin_bound()
   {
      VkCommandBuffer cmd = begin();
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      if (set)
         vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                                 nullptr);
      return cmd;
   }

   PipelineRecipe recipe;
   VkPipelineLayout layout = VK_NULL_HANDLE;
   VkPipeline pipeline = VK_NULL_HANDLE;
   VkDescriptorSet set = VK_NULL_HANDLE;
   TestBuffer out;
};

TEST_F(DispatchTest, DirectAndEmpty)
{
   use_one_buffer(mark_groups, 2048);
   VkCommandBuffer cmd = begin_bound();
   vkCmdDispatch(cmd, 0, 5, 5);
   vkCmdDispatch(cmd, 2, 3, 4);
   run(cmd);
   for (uint32_t i = 0; i < 512; i++) {
      uint32_t x = i % 8, y = i / 8 % 8, z = i / 64;
      ASSERT_EQ(out.as()[i], x < 2 && y < 3 && z < 4 ? 1000 * (x + 1) + 24 : 0) << i;
   }
}

TEST_F(DispatchTest, Base)
{
   use_one_buffer(mark_groups, 2048);
   recipe.flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
   pipeline = make_pipeline(mark_groups, recipe, layout);
   VkCommandBuffer cmd = begin_bound();
   vkCmdDispatchBase(cmd, 3, 2, 1, 2, 2, 2);
   run(cmd);
   for (uint32_t i = 0; i < 512; i++) {
      uint32_t x = i % 8, y = i / 8 % 8, z = i / 64;
      bool inside = x >= 3 && x < 5 && y >= 2 && y < 4 && z >= 1 && z < 3;
      ASSERT_EQ(out.as()[i], inside ? 1000 * (x + 1) + 8 : 0) << i;
   }
}

TEST_F(DispatchTest, IndirectReadsTheSizeWhenItRuns)
{
   use_one_buffer(mark_groups, 2048);
   TestBuffer size = make_buffer(64);
   VkCommandBuffer cmd = begin_bound();
   uint32_t words[] = {4, 1, 2};
   vkCmdUpdateBuffer(cmd, size.handle, 16, 12, words);
   vkCmdDispatchIndirect(cmd, size.handle, 16);
   vkCmdDispatchIndirect(cmd, size.handle, 32); // zeros
   run(cmd);
   EXPECT_EQ(out.as()[3 + 64], 4008u);
   EXPECT_EQ(out.as()[4], 0u);
}

TEST_F(DispatchTest, PushConstantsBelongToTheDispatch)
{
   const char *glsl = R"(
      layout(local_size_x = 1) in;
      layout(push_constant) uniform Push { uint index; uint pad[40]; uint a; uint b; };
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      void main() { data[index] = a * 1000 + b; })";
   use_one_buffer(glsl, 64, 172);
   VkCommandBuffer cmd = begin_bound();
   uint32_t b = 7;
   vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 168, 4, &b);
   for (uint32_t i = 0; i < 5; i++) {
      uint32_t a = i + 1;
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &i);
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 164, 4, &a);
      vkCmdDispatch(cmd, 1, 1, 1);
   }
   run(cmd);
   for (uint32_t i = 0; i < 5; i++)
      EXPECT_EQ(out.as()[i], (i + 1) * 1000 + 7);
}

/// Of a shader with large branches the driver makes programs for the dispatches that come.
TEST_F(DispatchTest, BranchesGoAsEachDispatchSays)
{
   const char *glsl = R"(
      layout(local_size_x = 1) in;
      layout(push_constant) uniform Push { uint first; uint way; };
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      #define STEP(n) x = (x ^ first) * (2 * n + 3) + (x >> (n + 1));
      #define STEPS(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n)
      void main()
      {
         uint x = first;
         if (way == 0) { STEPS(0) STEPS(0) }
         else if (gl_WorkGroupID.x + 1 < gl_NumWorkGroups.x) { STEPS(1) STEPS(1) }
         else { STEPS(2) STEPS(2) }
         data[first + gl_WorkGroupID.x] = x;
      })";
   use_one_buffer(glsl, 256, 8);
   const auto expected = [](uint32_t first, uint32_t way, uint32_t group, uint32_t groups) {
      const uint32_t n = way == 0 ? 0 : group + 1 < groups ? 1 : 2;
      uint32_t x = first;
      for (int step = 0; step < 16; step++)
         x = (x ^ first) * (2 * n + 3) + (x >> (n + 1));
      return x;
   };
   const VkDispatchIndirectCommand three = {3, 1, 1};
   const TestBuffer size = make_buffer(sizeof(three), &three);
   struct {
      uint32_t first, way, groups;
      bool indirect;
   } const dispatches[] = {{1, 0, 2, false}, {3, 1, 1, false}, {4, 1, 3, false},
                           {7, 0, 3, true},  {10, 1, 3, true}, {13, 0, 1, false}};
   for (int round = 0; round < 2; round++) {
      std::ranges::fill(out.as(), 0xa5a5a5a5u);
      VkCommandBuffer cmd = begin_bound();
      for (const auto &d : dispatches) {
         vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8, &d.first);
         if (d.indirect)
            vkCmdDispatchIndirect(cmd, size.handle, 0);
         else
            vkCmdDispatch(cmd, d.groups, 1, 1);
      }
      run(cmd);
      for (const auto &d : dispatches) {
         for (uint32_t group = 0; group < d.groups; group++)
            EXPECT_EQ(out.as()[d.first + group], expected(d.first, d.way, group, d.groups))
               << "dispatch at " << d.first << ", group " << group;
      }
   }
}

TEST_F(DispatchTest, DynamicOffsetsGoByBindingNumber)
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

TEST_F(DispatchTest, PushDescriptors)
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

TEST_F(DispatchTest, UpdateTemplatesCopiesAndConsecutiveBindings)
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

TEST_F(DispatchTest, InlineUniformBlocks)
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
   for (uint32_t part = 0; part < 2; part++) {
      VkWriteDescriptorSetInlineUniformBlock block = {
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
         .dataSize = part ? 12u : 8u,
         .pData = words + (part ? 2 : 0),
      };
      VkWriteDescriptorSet write = {
         .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .pNext = &block,
         .dstSet = set,
         .dstBinding = 0,
         .dstArrayElement = part ? 8u : 0u,
         .descriptorCount = block.dataSize,
         .descriptorType = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
      };
      vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
   }
   VkCommandBuffer cmd = begin_bound();
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   for (uint32_t i = 0; i < 5; i++)
      EXPECT_EQ(out.as()[i], i + 2);
}

TEST_F(DispatchTest, DescriptorsUpdatedAfterBindingAndIndexedPerInvocation)
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

TEST_F(DispatchTest, RobustAccessStaysInTheRange)
{
   std::vector<uint32_t> numbers(64, 5);
   TestBuffer in = make_buffer(256, numbers.data());
   out = make_buffer(256, numbers.data());
   recipe.sets = {make_set_layout({binding(0, storage), binding(1, storage)})};
   layout = make_layout(recipe);
   pipeline = make_pipeline(R"(
      layout(local_size_x = 32) in;
      layout(set = 0, binding = 0) buffer In { uint a[]; };
      layout(set = 0, binding = 1) buffer Out { uint b[]; };
      void main() { uint i = gl_LocalInvocationID.x; b[i] = a[i] + 1; })",
                            recipe, layout);
   set = make_set(recipe.sets[0]);
   write_buffer(set, 0, storage, in, 16, 40);
   write_buffer(set, 1, storage, out, 32, 68);
   VkCommandBuffer cmd = begin_bound();
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   for (uint32_t i = 0; i < 64; i++) {
      uint32_t expected = i < 8 || i >= 25 ? 5 : i < 18 ? 6 : 1;
      ASSERT_EQ(out.as()[i], expected) << i;
   }
}

TEST_F(DispatchTest, OffsetsUpTo4GiB)
{
   // Pages that nobody touches cost nothing.
   constexpr VkDeviceSize size = (VkDeviceSize(4) << 30) + 4096;
   VkPhysicalDeviceMemoryProperties properties;
   vkGetPhysicalDeviceMemoryProperties(physical, &properties);
   if (properties.memoryHeaps[0].size < 2 * size)
      GTEST_SKIP() << "the memory heap is too small";
   const char *glsl = R"(
      layout(local_size_x = 32) in;
      layout(push_constant) uniform Push { uint base; uint one; };
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      void main()
      {
         uint i = gl_LocalInvocationID.x;
         data[base + i] = data[base + i] + i + 1;       // neighbours
         data[base + 64 + i * i * one] = i + 2;         // scattered
         if (i == 0) data[base + 2000] = data.length() > 0x3fff0000u ? 3 : 0;
      })";
   use_one_buffer(glsl, size, 8);
   const uint32_t bases[] = {0, 0x1ffffff0, 0x30000000, 0x3ffff000};
   for (uint32_t base : bases) {
      VkCommandBuffer cmd = begin_bound();
      uint32_t push[] = {base, 1};
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8, push);
      vkCmdDispatch(cmd, 1, 1, 1);
      run(cmd);
   }
   for (uint32_t base : bases) {
      for (uint32_t i = 0; i < 32; i++) {
         ASSERT_EQ(out.as()[base + 64 + i * i], i + 2) << base << " " << i;
         ASSERT_EQ(out.as()[base + i], i + 1) << base << " " << i;
      }
      EXPECT_EQ(out.as()[base + 2000], 3u) << base;
   }
}

/// Matrices whose lines lie far from each other and from the buffer's beginning: by descriptor up to
/// 4 GiB, by address beyond.
TEST_F(DispatchTest, TilesUpTo4GiB)
{
   constexpr VkDeviceSize size = (VkDeviceSize(5) << 30) + 4096;
   VkPhysicalDeviceMemoryProperties properties;
   vkGetPhysicalDeviceMemoryProperties(physical, &properties);
   if (properties.memoryHeaps[0].size < 2 * size)
      GTEST_SKIP() << "the memory heap is too small";
   const std::string glsl = R"(
      layout(local_size_x = 64) in;
      layout(push_constant) uniform Push { uvec2 address; uint from, to, stride; };
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint data[]; };
      void main()
      {
         if (gl_SubgroupID > 0)
            return;
         coopmat<uint, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
         coopMatLoad(m, $WHERE, from, stride, gl_CooperativeMatrixLayoutRowMajor);
         m = m + m;
         coopMatStore(m, $WHERE, to, stride, gl_CooperativeMatrixLayoutRowMajor);
      })";
   const auto with = [&](const std::string &where) {
      std::string text = glsl;
      for (size_t at; (at = text.find("$WHERE")) != std::string::npos;)
         text.replace(at, strlen("$WHERE"), where);
      return text;
   };
   use_one_buffer(with("data").c_str(), size, 20);
   const VkPipeline by_descriptor = pipeline,
                    by_address = make_pipeline(with("Words(address).data"), recipe, layout);
   const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                           .buffer = out.handle};
   const uint64_t start = vkGetBufferDeviceAddress(device, &info);
   // In words: the lines of the second lie on either side of 2 GiB, the third lies
   // beyond 4 GiB, and so do lines of the last.
   const struct {
      bool address;
      uint32_t from, to, stride;
   } cases[] = {
      {false, 0x3fffe000, 0x3ffff000, 16},
      {false, 64, 128, 0x4000000},
      {true, 0x48000000, 0x48001000, 16},
      {true, 256, 512, 0x5000000},
   };
   for (const auto &c : cases) {
      SCOPED_TRACE(std::to_string(c.from) + " to " + std::to_string(c.to) + " by " +
                   std::to_string(c.stride) + (c.address ? ", by address" : ""));
      for (uint32_t i = 0; i < 256; i++)
         out.as()[c.from + uint64_t(i / 16) * c.stride + i % 16] = i * i + c.stride;
      pipeline = c.address ? by_address : by_descriptor;
      VkCommandBuffer cmd = begin_bound();
      const uint32_t push[] = {uint32_t(start), uint32_t(start >> 32), c.from, c.to, c.stride};
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), push);
      vkCmdDispatch(cmd, 1, 1, 1);
      run(cmd);
      for (uint32_t i = 0; i < 256; i++)
         ASSERT_EQ(out.as()[c.to + uint64_t(i / 16) * c.stride + i % 16], 2 * (i * i + c.stride))
            << i;
   }
}

TEST_F(DispatchTest, DispatchesFollowEachOther)
{
   // Each dispatch reads what another invocation, mostly of another workgroup, wrote in the one
   // before: its own element and the one 65 on, modulo a prime.
   const char *glsl = R"(
      layout(local_size_x = 64) in;
      layout(push_constant) uniform Push { uint from; };
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      void main()
      {
         uint i = gl_GlobalInvocationID.x, to = 256 - from;
         data[to + i] = (data[from + i] * 3 + data[from + (i + 65) % 256] + 1) % 65521;
      })";
   use_one_buffer(glsl, 2048, 4);
   std::vector<uint32_t> expected(256);
   for (uint32_t i = 0; i < 256; i++)
      out.as()[i] = expected[i] = i * i % 251;
   VkCommandBuffer cmd = begin_bound();
   for (uint32_t i = 0; i < 500; i++) {
      const uint32_t from = i % 2 * 256;
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &from);
      vkCmdDispatch(cmd, 4, 1, 1);
      std::vector<uint32_t> next(256);
      for (uint32_t k = 0; k < 256; k++)
         next[k] = (expected[k] * 3 + expected[(k + 65) % 256] + 1) % 65521;
      expected = next;
   }
   run(cmd);
   for (uint32_t i = 0; i < 256; i++)
      ASSERT_EQ(out.as()[i], expected[i]) << i;
}

/// As many invocations as a workgroup may have: with subgroups of 8 they are 128 fibers.
TEST_F(DispatchTest, WorkgroupsOfTheLargestSize)
{
   const char *glsl = R"(
      layout(local_size_x = 32, local_size_y = 4, local_size_z = 8) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      shared uint scratch[1024];
      void main()
      {
         uint i = gl_LocalInvocationIndex;
         scratch[i] = i * 7 + gl_WorkGroupID.x;
         for (uint step = 1; step < 1024; step *= 2) {
            barrier();
            uint sum = scratch[i] + scratch[(i + step) % 1024];
            barrier();
            scratch[i] = sum;
         }
         barrier();
         data[gl_WorkGroupID.x * 1024 + i] = scratch[1023 - i] + gl_NumSubgroups;
      })";
   for (uint32_t size : {8u, 16u, 32u, 64u}) {
      VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size_info = {
         .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
         .requiredSubgroupSize = size,
      };
      recipe.stage_next = &size_info;
      use_one_buffer(glsl, 7 * 4096);
      VkCommandBuffer cmd = begin_bound();
      vkCmdDispatch(cmd, 7, 1, 1);
      run(cmd);
      for (uint32_t i = 0; i < 7 * 1024; i++) {
         // Every sum is over all the workgroup's numbers.
         const uint32_t sum = 1023 * 512 * 7 + 1024 * (i / 1024);
         ASSERT_EQ(out.as()[i], sum + 1024 / size) << i << ", subgroups of " << size;
      }
   }
}

TEST_F(DispatchTest, EightSetsAndAllPushConstants)
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
TEST_F(DispatchTest, SetsOfTheLargestSize)
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
TEST_F(DispatchTest, AllDynamicBuffers)
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

TEST_F(DispatchTest, SharedMemoryOfTheLargestSize)
{
   const char *glsl = R"(
      layout(local_size_x = 256) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      shared uint scratch[16384];
      void main()
      {
         uint i = gl_LocalInvocationID.x;
         for (uint k = i; k < 16384; k += 256) scratch[k] = k;
         barrier();
         uint sum = 0;
         for (uint k = 0; k < 64; k++) sum += scratch[(i + 1) % 256 * 64 + k];
         data[gl_GlobalInvocationID.x] = sum;
      })";
   use_one_buffer(glsl, 4096);
   VkCommandBuffer cmd = begin_bound();
   vkCmdDispatch(cmd, 4, 1, 1);
   run(cmd);
   for (uint32_t i = 0; i < 1024; i++) {
      uint32_t first = (i % 256 + 1) % 256 * 64;
      ASSERT_EQ(out.as()[i], first * 64 + 63 * 32) << i;
   }
}

TEST_F(DispatchTest, SecondaryWithItsOwnState)
{
   use_one_buffer(mark_groups, 2048);
   VkCommandBuffer secondary = begin(VK_COMMAND_BUFFER_LEVEL_SECONDARY);
   vkCmdBindPipeline(secondary, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(secondary, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                           nullptr);
   vkCmdDispatch(secondary, 3, 1, 1);
   ASSERT_VK(vkEndCommandBuffer(secondary));
   VkCommandBuffer cmd = begin();
   vkCmdExecuteCommands(cmd, 1, &secondary);
   run(cmd);
   EXPECT_EQ(out.as()[2], 3003u);
}

TEST_F(DispatchTest, PoolsRunOut)
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

} // namespace weft::icd_test
