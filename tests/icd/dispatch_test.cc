// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compute: bound and pushed data in the shader.

#include "tests/icd/dispatch_fixture.h"

#include "tests/e2e/glsl.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace weft::icd_test {
namespace {

/// Workgroup number x of n writes 1000 * (x + 1) + n to its element.
const char *const mark_groups = R"(
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { uint data[]; };
void main()
{
   uvec3 n = gl_NumWorkGroups;
   uvec3 i = gl_WorkGroupID;
   data[i.x + 8 * (i.y + 8 * i.z)] = 1000 * (i.x + 1) + n.x + 10 * n.y + 100 * n.z;
})";

} // namespace

TEST_F(DispatchTest, DirectAndEmpty)
{
   use_one_buffer(mark_groups, 2048);
   VkCommandBuffer cmd = begin_bound();
   vkCmdDispatch(cmd, 0, 5, 5);
   vkCmdDispatch(cmd, 2, 3, 4);
   run(cmd);
   for (uint32_t i = 0; i < 512; i++) {
      uint32_t x = i % 8, y = i / 8 % 8, z = i / 64;
      ASSERT_EQ(out.as()[i], x < 2 && y < 3 && z < 4 ? 1000 * (x + 1) + 432 : 0) << i;
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
      ASSERT_EQ(out.as()[i], inside ? 1000 * (x + 1) + 222 : 0) << i;
   }
}

/// The first workgroup's number decides a large branch. Dispatches differ only in this number.
TEST_F(DispatchTest, BranchesGoByTheBase)
{
   const char *glsl = R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      #define STEP(n) x = (x ^ 77) * (2 * n + 3) + (x >> (n + 1));
      #define STEPS(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n)
      void main()
      {
         const uvec3 group = gl_WorkGroupID;
         uint x = group.x;
         if (group.x < 4) { STEPS(0) STEPS(0) }
         else { STEPS(1) STEPS(1) }
         if (group.y < 2) { STEPS(2) STEPS(2) }
         else { STEPS(3) STEPS(3) }
         if (group.z < 1) { STEPS(4) STEPS(4) }
         else { STEPS(5) STEPS(5) }
         data[group.x + 8 * (group.y + 4 * group.z)] = x;
      })";
   const auto expected = [](uint32_t gx, uint32_t gy, uint32_t gz) {
      uint32_t x = gx;
      for (const uint32_t n : {gx < 4 ? 0u : 1u, gy < 2 ? 2u : 3u, gz < 1 ? 4u : 5u}) {
         for (int step = 0; step < 16; step++)
            x = (x ^ 77) * (2 * n + 3) + (x >> (n + 1));
      }
      return x;
   };
   recipe.flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
   use_one_buffer(glsl, 8 * 4 * 2 * 4);
   const uint32_t bases[][3] = {{0, 0, 0}, {4, 0, 0}, {0, 2, 0}, {0, 0, 1}, {4, 2, 1}, {2, 1, 0}};
   for (int round = 0; round < 2; round++) {
      std::ranges::fill(out.as(), 0xa5a5a5a5u);
      VkCommandBuffer cmd = begin_bound();
      for (const auto &base : bases)
         vkCmdDispatchBase(cmd, base[0], base[1], base[2], 2, 2, 1);
      run(cmd);
      for (const auto &base : bases) {
         for (uint32_t i = 0; i < 4; i++) {
            const uint32_t x = base[0] + i % 2, y = base[1] + i / 2, z = base[2];
            EXPECT_EQ(out.as()[x + 8 * (y + 4 * z)], expected(x, y, z))
               << x << " " << y << " " << z;
         }
      }
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
   // Without workgroups in one dimension, no workgroup runs.
   for (uint32_t d = 0; d < 3; d++) {
      uint32_t none[] = {7, 7, 7};
      none[d] = 0;
      vkCmdUpdateBuffer(cmd, size.handle, 48, 12, none);
      vkCmdDispatchIndirect(cmd, size.handle, 48);
   }
   run(cmd);
   EXPECT_EQ(out.as()[3 + 64], 4214u);
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

/// For a shader with large branches, the driver compiles programs for the dispatches that occur.
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

/// The same push constants again, with other numbers of workgroups.
TEST_F(DispatchTest, BranchesGoByTheSize)
{
   const char *glsl = R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      #define STEP(n) x = (x ^ 77) * (2 * n + 3) + (x >> (n + 1));
      #define STEPS(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n)
      void main()
      {
         const uint group = gl_WorkGroupID.x;
         uint x = group;
         if (group + 1 < gl_NumWorkGroups.x) { STEPS(0) STEPS(0) }
         else { STEPS(1) STEPS(1) }
         data[group] = x;
      })";
   const auto expected = [](uint32_t group, uint32_t groups) {
      const uint32_t n = group + 1 < groups ? 0 : 1;
      uint32_t x = group;
      for (int step = 0; step < 16; step++)
         x = (x ^ 77) * (2 * n + 3) + (x >> (n + 1));
      return x;
   };
   use_one_buffer(glsl, 64);
   for (const uint32_t groups : {1, 3, 2, 3, 1}) {
      std::ranges::fill(out.as(), 0xa5a5a5a5u);
      VkCommandBuffer cmd = begin_bound();
      vkCmdDispatch(cmd, groups, 1, 1);
      run(cmd);
      for (uint32_t group = 0; group < groups; group++)
         EXPECT_EQ(out.as()[group], expected(group, groups)) << group << " of " << groups;
   }
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
   // Untouched pages cost nothing.
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
         data[base + 1800 + i] = data[base + 64 + i * i * one] + 1; // gathered
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
         ASSERT_EQ(out.as()[base + 1800 + i], i + 3) << base << " " << i;
         ASSERT_EQ(out.as()[base + i], i + 1) << base << " " << i;
      }
      EXPECT_EQ(out.as()[base + 2000], 3u) << base;
   }
}

/// Matrices whose lines lie far from each other and from the buffer's beginning: by descriptor up
/// to 4 GiB, by address beyond.
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
   // Numbers count words. The lines of the second case lie on either side of 2 GiB. The third case,
   // and lines of the last one, lie beyond 4 GiB.
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
   // Each dispatch reads results of other invocations, mostly of other workgroups, from the
   // dispatch before: its own element and the one 65 on, modulo a prime.
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

/// Workgroups with the maximum number of invocations: with subgroups of 8, they have 128 fibers.
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
   EXPECT_EQ(out.as()[2], 3113u);
}

/// If the device has neither robustBufferAccess nor nullDescriptor, pipelines and stages may
/// require accesses that stay in the range.
class RobustnessTest : public DispatchTest {
protected:
   RobustnessTest() { robust_device = false; }

   /// Reads at and behind the end of 4 words, writes behind the end of 4 words.
   void check(const VkPipelineRobustnessCreateInfoEXT &info, bool of_stage, VkDescriptorType type)
   {
      std::vector<uint32_t> numbers(64, 5);
      const TestBuffer in = make_buffer(256, numbers.data());
      const TestBuffer behind = make_buffer(256, numbers.data());
      recipe.next = of_stage ? nullptr : &info;
      recipe.stage_next = of_stage ? &info : nullptr;
      recipe.sets = {make_set_layout({binding(0, type), binding(1, storage), binding(2, storage)})};
      layout = make_layout(recipe);
      pipeline =
         make_pipeline("layout(local_size_x = 32) in;\nlayout(set = 0, binding = 0, std430) " +
                          std::string(type == uniform ? "uniform In { uint a[32]; };"
                                                      : "buffer In { uint a[]; };") +
                          R"(
         layout(set = 0, binding = 1) buffer Behind { uint b[]; };
         layout(set = 0, binding = 2) buffer Out { uint data[]; };
         void main() { uint i = gl_LocalInvocationID.x; data[i] = a[i] + 1; b[i] = 7; })",
                       recipe, layout);
      set = make_set(recipe.sets[0]);
      out = make_buffer(128);
      write_buffer(set, 0, type, in, 0, 16);
      // The option affects accesses to storage buffers only.
      write_buffer(set, 1, storage, behind, 0, type == uniform ? 128 : 16);
      write_buffer(set, 2, storage, out);
      dispatch_once();
      for (uint32_t i = 0; i < 32; i++) {
         ASSERT_EQ(out.as()[i], i < 4 ? 6u : 1u) << i;
         ASSERT_EQ(behind.as()[i], type == uniform || i < 4 ? 7u : 5u) << i;
      }
   }
};

TEST_F(RobustnessTest, PipelinesAskForIt)
{
   for (const VkPipelineRobustnessBufferBehaviorEXT behaviour :
        {VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_EXT,
         VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2_EXT}) {
      for (const VkDescriptorType type : {storage, uniform}) {
         VkPipelineRobustnessCreateInfoEXT info = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT,
            .storageBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
            .uniformBuffers = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
            .vertexInputs = VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
            .images = VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_DISABLED_EXT,
         };
         (type == uniform ? info.uniformBuffers : info.storageBuffers) = behaviour;
         check(info, false, type);
         check(info, true, type);
      }
   }
}

} // namespace weft::icd_test
