// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Memory: atomics, shared memory and barriers, structures, descriptor arrays, pointers, robust
/// accesses, built-in variables.

#include "tests/e2e/compute.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace weft::e2e {

TEST(Memory, AtomicsAddUp)
{
   Device &device = plain_device();
   const ComputeShader shader = {.source_type = "uint",
                                 .target_type = "uint",
                                 .declarations = "shared uint sum, least, bits;\n",
                                 .body = R"(   if (gl_LocalInvocationIndex == 0) {
      sum = 0;
      least = 0xffffffffu;
      bits = 0;
   }
   barrier();
   atomicAdd(sum, source.data[id]);
   atomicMin(least, source.data[id]);
   atomicOr(bits, 1u << (source.data[id] % 32));
   barrier();
   if (gl_LocalInvocationIndex == 0) {
      atomicAdd(source.data[1024], sum);
      atomicMin(source.data[1025], least);
      atomicMax(source.data[1026], sum);
      atomicXor(source.data[1027], bits);
      atomicAnd(source.data[1028], ~bits);
   }
   // Tickets: everyone gets another one.
   target.data[id] = atomicAdd(source.data[1029], 1u);
   // Only one of all sees the old value.
   target.data[1024 + id] = atomicCompSwap(source.data[1030], 5u, id + 100u);
   if (id < 6)
      target.data[2048 + id] = 0;
   if (gl_LocalInvocationIndex == 0)
      target.data[2054 + gl_WorkGroupID.x] = sum;
)",
                                 .local_size = 128,
                                 .groups = 8};
   oracle::Random random = test_random();
   std::vector<uint32_t> source(1031);
   for (uint32_t &x : source)
      x = oracle::draw(random, 100000);
   source[1025] = ~0u;
   source[1029] = 0;
   source[1030] = 5;
   std::vector<uint32_t> after;
   const std::vector<uint32_t> target = run_compute<uint32_t>(device, shader, source, 2062, &after);
   std::vector<uint32_t> tickets(target.begin(), target.begin() + 1024);
   std::sort(tickets.begin(), tickets.end());
   for (uint32_t i = 0; i < 1024; i++)
      ASSERT_EQ(tickets[i], i);
   EXPECT_EQ(std::count(target.begin() + 1024, target.begin() + 2048, 5u), 1);
   // The workgroups' results in the words behind the invocations' own.
   std::vector<uint32_t> expected = source;
   for (uint32_t group = 0; group < 8; group++) {
      const auto first = source.begin() + group * 128, last = first + 128;
      const uint32_t sum = std::accumulate(first, last, 0u);
      EXPECT_EQ(target[2054 + group], sum);
      uint32_t bits = 0;
      for (auto word = first; word != last; ++word)
         bits |= 1u << (*word % 32);
      expected[1024] += sum;
      expected[1025] = std::min(expected[1025], *std::min_element(first, last));
      expected[1026] = std::max(expected[1026], sum);
      expected[1027] ^= bits;
      expected[1028] &= ~bits;
   }
   expected[1029] = 1024;
   const auto winner = std::find(target.begin() + 1024, target.begin() + 2048, 5u);
   expected[1030] = uint32_t(winner - target.begin() - 1024) + 100;
   EXPECT_EQ(after, expected);
}

TEST(Memory, AtomicsOf64Bits)
{
   Device &device = plain_device();
   if (!device.features12.shaderBufferInt64Atomics || !device.features.shaderInt64) {
      skip_case("needs shaderBufferInt64Atomics");
      GTEST_SKIP();
   }
   const ComputeShader shader = {
      .source_type = "uint64_t",
      .target_type = "uint64_t",
      .declarations = "",
      .body = R"(   target.data[id] = atomicAdd(source.data[0], 0x100000001ul);
   const uint64_t mine = source.data[8 + id];
   atomicMin(source.data[1], mine);
   atomicMax(source.data[2], mine);
   atomicAnd(source.data[3], mine | 0xf000000f0000000ful);
   atomicOr(source.data[4], mine & 0x0ff0000000000ff0ul);
   atomicXor(source.data[5], mine);
   target.data[256 + id] = atomicExchange(source.data[6], mine);
   target.data[512 + id] = atomicCompSwap(source.data[7], 1ul << 40, mine);
)"};
   oracle::Random random = test_random();
   std::vector<uint64_t> source(8 + 256);
   for (uint64_t &x : source)
      x = random();
   source[0] = 7;
   source[7] = uint64_t(1) << 40;
   std::vector<uint64_t> after;
   std::vector<uint64_t> target = run_compute<uint64_t>(device, shader, source, 768, &after);
   std::sort(target.begin(), target.begin() + 256);
   for (uint64_t i = 0; i < 256; i++)
      ASSERT_EQ(target[i], 7 + i * 0x100000001u);
   std::vector<uint64_t> expected = source;
   expected[0] = 7 + 256 * uint64_t(0x100000001);
   for (uint32_t id = 0; id < 256; id++) {
      const uint64_t mine = source[8 + id];
      expected[1] = std::min(expected[1], mine);
      expected[2] = std::max(expected[2], mine);
      expected[3] &= mine | 0xf000000f0000000fu;
      expected[4] |= mine & 0x0ff0000000000ff0u;
      expected[5] ^= mine;
   }
   // Each exchange returns the value of the one before; the last value stays.
   std::vector<uint64_t> handed_on(target.begin() + 256, target.begin() + 512);
   handed_on.push_back(after[6]);
   std::vector<uint64_t> put_in(source.begin() + 8, source.end());
   put_in.push_back(source[6]);
   EXPECT_TRUE(std::is_permutation(handed_on.begin(), handed_on.end(), put_in.begin()));
   expected[6] = after[6];
   const auto winner = std::find(target.begin() + 512, target.end(), source[7]);
   ASSERT_NE(winner, target.end());
   expected[7] = source[8 + (winner - target.begin() - 512)];
   EXPECT_EQ(after, expected);
}

TEST(Memory, BarriersOrderSharedMemory)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for (uint32_t size : device.subgroup_sizes()) {
      SCOPED_TRACE("subgroup size " + std::to_string(size));
      // A scan over the workgroup, with two barriers a step, and a reversal.
      const ComputeShader shader = {.source_type = "uint",
                                    .target_type = "uint",
                                    .declarations = "shared uint line[$SIZE];\n",
                                    .body = R"(   const uint i = gl_LocalInvocationIndex;
   line[i] = source.data[id];
   barrier();
   for (uint step = 1; step < $SIZE; step *= 2) {
      uint below = i >= step ? line[i - step] : 0;
      barrier();
      line[i] += below;
      barrier();
   }
   target.data[id] = line[$SIZE - 1 - i];
)",
                                    .local_size = 256,
                                    .groups = 5,
                                    .subgroup_size = size};
      std::vector<uint32_t> source(5 * 256);
      for (uint32_t &x : source)
         x = uint32_t(random());
      const std::vector<uint32_t> target =
         run_compute<uint32_t>(device, shader, source, source.size());
      for (uint32_t group = 0; group < 5; group++) {
         uint32_t sum = 0;
         for (uint32_t i = 0; i < 256; i++) {
            sum += source[group * 256 + i];
            ASSERT_EQ(target[group * 256 + 255 - i], sum);
         }
      }
   }
}

TEST(Memory, StructuresKeepTheirLayout)
{
   struct Inner {
      float vector[3];
      uint32_t number;
   };
   struct Element {
      Inner inner[2];
      float matrix[2][4]; // mat2x3: columns at strides of 16
      uint16_t halves[4];
      uint8_t bytes[8];
   };
   static_assert(sizeof(Element) == 80);
   Device &device = plain_device();
   if (!device.features12.shaderInt8 || !device.features.shaderInt16 ||
       !device.features12.storageBuffer8BitAccess || !device.features11.storageBuffer16BitAccess) {
      skip_case("needs 8-bit types");
      GTEST_SKIP();
   }
   const char *const body = R"(   Element e = source.data[id];
   Element f = e;
   f.inner[0] = e.inner[1];
   f.inner[1].vector = e.inner[0].vector.zxy * 2.0;
   f.inner[1].number = e.inner[0].number + uint(e.halves[e.inner[0].number % 4]);
   f.matrix = mat2x3(e.matrix[1], e.matrix[0]);
   f.halves[1] = uint16_t(e.bytes[3]) * uint16_t(3);
   f.bytes[e.inner[1].number % 8] = uint8_t(e.halves[0]);
   target.data[id] = f;
   target.data[id].matrix[1].y = 9.0;
)";
   oracle::Random random = test_random();
   std::vector<Element> source(256);
   for (Element &e : source) {
      for (Inner &inner : e.inner) {
         for (float &x : inner.vector)
            x = float(oracle::draw(random, 1000));
         inner.number = uint32_t(random());
      }
      for (auto &column : e.matrix) {
         for (float &x : column)
            x = float(oracle::draw(random, 1000));
      }
      for (uint16_t &x : e.halves)
         x = uint16_t(random());
      for (uint8_t &x : e.bytes)
         x = uint8_t(random());
   }
   const std::string text = std::string(glsl_header) + R"(
struct Inner { vec3 vector; uint number; };
struct Element { Inner inner[2]; mat2x3 matrix; uint16_t halves[4]; uint8_t bytes[8]; };
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Source { Element data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { Element data[]; } target;
void main()
{
   const uint id = gl_GlobalInvocationID.x;
)" + body + "}\n";
   Pipeline pipeline(
      device, compile_glsl(text),
      {.bindings = {1, 1}, .push_bytes = 0, .subgroup_size = 0, .spec_constants = {}});
   Buffer from(device, sizeof(Element) * 256), to(device, sizeof(Element) * 256);
   memcpy(from.bytes().data(), source.data(), from.bytes().size());
   oracle::fill_poison(to.bytes());
   pipeline.dispatch({from, to}, {4, 1, 1});
   count_case();
   const std::span<Element> target = to.as<Element>();
   for (uint32_t i = 0; i < 256; i++) {
      const Element &e = source[i], &f = target[i];
      ASSERT_EQ(memcmp(&f.inner[0], &e.inner[1], sizeof(Inner)), 0);
      ASSERT_EQ(f.inner[1].vector[0], e.inner[0].vector[2] * 2);
      ASSERT_EQ(f.inner[1].vector[1], e.inner[0].vector[0] * 2);
      ASSERT_EQ(f.inner[1].vector[2], e.inner[0].vector[1] * 2);
      ASSERT_EQ(f.inner[1].number, e.inner[0].number + e.halves[e.inner[0].number % 4]);
      ASSERT_EQ(f.matrix[0][0], e.matrix[1][0]);
      ASSERT_EQ(f.matrix[0][2], e.matrix[1][2]);
      ASSERT_EQ(f.matrix[1][0], e.matrix[0][0]);
      ASSERT_EQ(f.matrix[1][1], 9.0f);
      ASSERT_EQ(f.halves[1], uint16_t(e.bytes[3] * 3));
      ASSERT_EQ(f.halves[3], e.halves[3]);
      ASSERT_EQ(f.bytes[e.inner[1].number % 8], uint8_t(e.halves[0]));
      ASSERT_EQ(f.bytes[(e.inner[1].number + 1) % 8], e.bytes[(e.inner[1].number + 1) % 8]);
   }
}

TEST(Memory, DescriptorArrays)
{
   Device &device = plain_device();
   if (!device.features.shaderStorageBufferArrayDynamicIndexing) {
      skip_case("needs shaderStorageBufferArrayDynamicIndexing");
      GTEST_SKIP();
   }
   const bool divergent = device.features12.shaderStorageBufferArrayNonUniformIndexing;
   const std::string text =
      std::string(glsl_header) + R"(
layout(local_size_x = 64) in;
layout(push_constant, std430) uniform Push { uint which; } push;
layout(set = 0, binding = 0, std430) buffer Source { uint data[]; } source[4];
layout(set = 0, binding = 1, std430) buffer Target { uint data[]; } target[2];
void main()
{
   const uint i = gl_LocalInvocationIndex;
   target[push.which / 2].data[i] = source[push.which].data[i];
)" +
      (divergent ? "   target[1 - push.which / 2].data[i] = source[nonuniformEXT(i % 4)].data[i] + "
                   "source[nonuniformEXT(i / 16)].data.length();\n"
                 : "") +
      "}\n";
   Pipeline pipeline(
      device, compile_glsl(text),
      {.bindings = {4, 2}, .push_bytes = 4, .subgroup_size = 0, .spec_constants = {}});
   std::vector<std::unique_ptr<Buffer>> buffers;
   std::vector<BufferRange> ranges;
   for (uint32_t i = 0; i < 6; i++) {
      buffers.push_back(std::make_unique<Buffer>(device, 256 + 4 * i));
      for (uint32_t &x : buffers[i]->as<uint32_t>())
         x = 1000 * i + uint32_t(&x - buffers[i]->as<uint32_t>().data());
      ranges.push_back(*buffers[i]);
   }
   for (uint32_t which = 0; which < 4; which++) {
      pipeline.dispatch(ranges, {}, which);
      count_case();
      for (uint32_t i = 0; i < 64; i++) {
         ASSERT_EQ(buffers[4 + which / 2]->as<uint32_t>()[i], 1000 * which + i);
         if (divergent) {
            ASSERT_EQ(buffers[5 - which / 2]->as<uint32_t>()[i], 1000 * (i % 4) + i + 64 + i / 16);
         }
      }
   }
}

TEST(Memory, Pointers)
{
   Device &device = plain_device();
   if (!device.features12.bufferDeviceAddress) {
      skip_case("needs bufferDeviceAddress");
      GTEST_SKIP();
   }
   // Every invocation walks a linked list of its own length.
   const std::string text = std::string(glsl_header) + R"(
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node { uvec2 next; uint value; uint pad; };
layout(push_constant, std430) uniform Push { uvec2 first; } push;
layout(set = 0, binding = 0, std430) buffer Target { uint data[]; } target;
void main()
{
   uint sum = 0;
   uvec2 at = push.first;
   for (uint i = 0; i < gl_GlobalInvocationID.x && (at.x | at.y) != 0; i++) {
      Node node = Node(at);
      sum += node.value;
      at = node.next;
   }
   target.data[gl_GlobalInvocationID.x] = sum;
}
)";
   Pipeline pipeline(device, compile_glsl(text),
                     {.bindings = {1}, .push_bytes = 8, .subgroup_size = 0, .spec_constants = {}});
   struct Node {
      uint64_t next;
      uint32_t value, pad;
   };
   Buffer nodes(device, 100 * sizeof(Node)), target(device, 128 * 4);
   for (uint32_t i = 0; i < 100; i++) {
      const uint32_t at = i * 37 % 100, next = (i + 1) * 37 % 100;
      nodes.as<Node>()[at] = {i + 1 < 100 ? nodes.address() + next * sizeof(Node) : 0, i * i, 0};
   }
   pipeline.dispatch({target}, {2, 1, 1}, uint64_t(nodes.address()));
   count_case();
   uint32_t sum = 0;
   for (uint32_t i = 0; i < 128; i++) {
      ASSERT_EQ(target.as<uint32_t>()[i], sum) << "invocation " << i;
      sum += i < 100 ? i * i : 0;
   }
}

TEST(Memory, RobustAccessesStayInside)
{
   Device &device = robust_device();
   const std::string text = std::string(glsl_header) + R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Source { uint data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { uint data[]; } target;
void main()
{
   const uint i = gl_GlobalInvocationID.x;
   target.data[2 * i] = source.data[i];
   target.data[2 * i + 1] = source.data[100 + i * 0x1000001u];
   target.data[0x20000000u + i * 3u] = 1;
}
)";
   Pipeline pipeline(
      device, compile_glsl(text),
      {.bindings = {1, 1}, .push_bytes = 0, .subgroup_size = 0, .spec_constants = {}});
   Buffer source(device, 4096), target(device, 4096);
   for (uint32_t i = 0; i < 1024; i++) {
      source.as<uint32_t>()[i] = i + 1;
      target.as<uint32_t>()[i] = 0xabcd0000 + i;
   }
   const VkDeviceSize start =
      std::max<VkDeviceSize>(64, device.properties.limits.minStorageBufferOffsetAlignment);
   constexpr uint32_t readable = 100, writable = 160;
   pipeline.dispatch({{source, start, readable * 4}, {target, start, writable * 4}}, {2, 1, 1});
   count_case();
   const uint32_t first = uint32_t(start / 4);
   for (uint32_t i = 0; i < 1024; i++) {
      const uint32_t word = target.as<uint32_t>()[i];
      if (i < first || i >= first + writable) {
         ASSERT_EQ(word, 0xabcd0000 + i) << "word " << i << " was overwritten";
         continue;
      }
      const uint32_t invocation = (i - first) / 2;
      if ((i - first) % 2 == 0) {
         ASSERT_EQ(word, first + invocation + 1);
         continue;
      }
      // Reads outside return zero, or bytes of the buffer. Weft's driver returns zero if the offset
      // does not wrap at 2^32 bytes.
      const bool of_the_buffer = word <= 1024 && !(device.is_weft && word > first + readable);
      ASSERT_TRUE(word == 0 || of_the_buffer) << "invocation " << invocation << " read " << word;
      if (device.is_weft && invocation < 64) {
         ASSERT_EQ(word, 0u) << "invocation " << invocation;
      }
   }
}

TEST(Memory, BuiltInVariables)
{
   Device &device = plain_device();
   const std::string text = std::string(glsl_header) + R"(
layout(local_size_x = 4, local_size_y = 3, local_size_z = 2) in;
layout(set = 0, binding = 0, std430) buffer Target { uvec4 data[]; } target;
void main()
{
   const uvec3 total = gl_NumWorkGroups * gl_WorkGroupSize;
   const uvec3 g = gl_GlobalInvocationID;
   const uint at = ((g.z * total.y) + g.y) * total.x + g.x;
   target.data[at * 3] = uvec4(gl_WorkGroupID, gl_LocalInvocationIndex);
   target.data[at * 3 + 1] = uvec4(gl_LocalInvocationID, 0);
   target.data[at * 3 + 2] = uvec4(gl_NumSubgroups, gl_SubgroupID, gl_SubgroupSize, gl_SubgroupInvocationID);
}
)";
   Pipeline pipeline(device, compile_glsl(text),
                     {.bindings = {1}, .push_bytes = 0, .subgroup_size = 0, .spec_constants = {}});
   const uint32_t sizes[3] = {4, 3, 2}, groups[3] = {3, 2, 5};
   const uint32_t count = 24 * 30;
   Buffer target(device, count * 48);
   oracle::fill_poison(target.bytes());
   pipeline.dispatch({target}, {groups[0], groups[1], groups[2]});
   count_case();
   // The places of invocations in subgroups; each must occur once.
   std::set<std::array<uint32_t, 5>> places;
   for (uint32_t z = 0; z < 10; z++) {
      for (uint32_t y = 0; y < 6; y++) {
         for (uint32_t x = 0; x < 12; x++) {
            const uint32_t *v = &target.as<uint32_t>()[((z * 6 + y) * 12 + x) * 12];
            const uint32_t global[3] = {x, y, z};
            for (int i = 0; i < 3; i++) {
               ASSERT_EQ(v[i], global[i] / sizes[i]);
               ASSERT_EQ(v[4 + i], global[i] % sizes[i]);
            }
            ASSERT_EQ(v[3], (z % 2 * 3 + y % 3) * 4 + x % 4);
            const uint32_t subgroups = v[8], subgroup = v[9], size = v[10], invocation = v[11];
            ASSERT_GE(size, device.properties13.minSubgroupSize);
            ASSERT_LE(size, device.properties13.maxSubgroupSize);
            ASSERT_GE(subgroups, (24 + size - 1) / size);
            ASSERT_LE(subgroups, 24u);
            ASSERT_LT(subgroup, subgroups);
            ASSERT_LT(invocation, size);
            if (device.is_weft) { // lavapipe 22.3.6 gives one place to several invocations
               ASSERT_TRUE(places.insert({v[0], v[1], v[2], subgroup, invocation}).second);
               ASSERT_EQ(subgroup * size + invocation, v[3]);
               ASSERT_EQ(subgroups, (24 + size - 1) / size);
            }
         }
      }
   }
}

} // namespace weft::e2e
