// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Atomic operations, sizes and barriers of texel buffers.

#include "tests/icd/texel_fixture.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace weft::icd_test {

using TexelBufferTest = TexelTest;

namespace {

template <typename T>
struct AtomicCase {
   const char *call;
   std::function<T(T old, T data)> result;
};

template <typename T>
const std::vector<AtomicCase<T>> &atomic_cases()
{
   static const std::vector<AtomicCase<T>> cases = {
      {"imageAtomicAdd(texels, i, data[i])", [](T a, T b) { return T(uint32_t(a) + uint32_t(b)); }},
      {"imageAtomicMin(texels, i, data[i])", [](T a, T b) { return std::min(a, b); }},
      {"imageAtomicMax(texels, i, data[i])", [](T a, T b) { return std::max(a, b); }},
      {"imageAtomicAnd(texels, i, data[i])", [](T a, T b) { return a & b; }},
      {"imageAtomicOr(texels, i, data[i])", [](T a, T b) { return a | b; }},
      {"imageAtomicXor(texels, i, data[i])", [](T a, T b) { return a ^ b; }},
      {"imageAtomicExchange(texels, i, data[i])", [](T, T b) { return b; }},
      // Every other comparand is right.
      {"imageAtomicCompSwap(texels, i, (i & 1) == 0 ? old[i] : old[i] + 1, data[i])", nullptr},
   };
   return cases;
}

} // namespace

/// Each invocation has its element; the last ones are out of bounds.
template <typename T>
class AtomicTest : public TexelTest {
protected:
   static constexpr uint32_t texels = 100, threads = 128;

   void run(const std::string &prefix, VkFormat format)
   {
      for (const AtomicCase<T> &test : atomic_cases<T>()) {
         const std::string type = prefix == "i" ? "int" : "uint";
         const Program program = make_program(
            std::string("layout(local_size_x = 64) in;\nlayout(binding = 0, r32") +
               (prefix == "i" ? "i" : "ui") + ") uniform " + prefix +
               "imageBuffer texels;\n"
               "layout(binding = 1) buffer In { " +
               type + " data[" + std::to_string(threads) + "], old[" + std::to_string(threads) +
               "]; };\nlayout(binding = 2) buffer Out { " + type +
               " result[]; };\n"
               "void main() { int i = int(gl_GlobalInvocationID.x); result[i] = " +
               test.call + "; }",
            storage_texels, 2);
         check(program, format, test);
      }
   }

private:
   void check(const Program &program, VkFormat format, const AtomicCase<T> &test)
   {
      TestBuffer memory = make_random_buffer(threads * 4), in = make_random_buffer(2 * threads * 4),
                 out = make_random_buffer(threads * 4);
      const std::vector<T> before(memory.as<T>().begin(), memory.as<T>().end());
      std::ranges::copy(before, in.as<T>().begin() + threads);
      run_program(program, make_view(memory, format, 0, texels * 4), {in, out}, threads / 64);
      for (uint32_t i = 0; i < threads; ++i) {
         const T data = in.as<T>()[i];
         const T swapped = i % 2 == 0 ? data : before[i];
         const T changed = test.result ? test.result(before[i], data) : swapped;
         ASSERT_EQ(memory.as<T>()[i], i < texels ? changed : before[i]) << test.call << ", " << i;
         ASSERT_EQ(out.as<T>()[i], i < texels ? before[i] : 0) << test.call << ", " << i;
      }
   }
};

using SignedAtomicTest = AtomicTest<int32_t>;
using UnsignedAtomicTest = AtomicTest<uint32_t>;
TEST_F(SignedAtomicTest, EachOperation)
{
   run("i", VK_FORMAT_R32_SINT);
}
TEST_F(UnsignedAtomicTest, EachOperation)
{
   run("u", VK_FORMAT_R32_UINT);
}

TEST_F(TexelBufferTest, AtomicOperationsOfOneElement)
{
   const Program program = make_program(R"(
      layout(local_size_x = 64) in;
      layout(binding = 0, r32ui) uniform uimageBuffer texels;
      layout(binding = 1) buffer Out { uint order[]; };
      void main() { order[gl_GlobalInvocationID.x] = imageAtomicAdd(texels, 2, 1u); })",
                                        storage_texels, 1);
   TestBuffer memory = make_buffer(16), out = make_buffer(64 * 8 * 4);
   std::ranges::fill(memory.as(), 5u);
   run_program(program, make_view(memory, VK_FORMAT_R32_UINT), {out}, 8);
   EXPECT_EQ(memory.as()[2], 5 + 512u);
   EXPECT_EQ(memory.as()[1], 5u);
   EXPECT_EQ(memory.as()[3], 5u);
   std::ranges::sort(out.as());
   for (uint32_t i = 0; i < 512; ++i)
      ASSERT_EQ(out.as()[i], 5 + i);
}

TEST_F(TexelBufferTest, SizesAreWholeElements)
{
   const Program fetching = make_program(R"(
      layout(local_size_x = 1) in;
      layout(binding = 0) uniform samplerBuffer texels;
      layout(binding = 1) buffer Out { int size; };
      void main() { size = textureSize(texels); })",
                                         uniform_texels, 1);
   const Program storing = make_program(R"(
      layout(local_size_x = 1) in;
      layout(binding = 0) writeonly uniform imageBuffer texels;
      layout(binding = 1) buffer Out { int size; };
      void main() { size = imageSize(texels); })",
                                        storage_texels, 1);
   TestBuffer memory = make_buffer(1000);
   const struct {
      VkFormat format;
      VkDeviceSize offset, range;
      int elements;
   } views[] = {
      {VK_FORMAT_R8_UNORM, 0, VK_WHOLE_SIZE, 1000},
      {VK_FORMAT_R8_UNORM, 16, VK_WHOLE_SIZE, 984},
      {VK_FORMAT_R32_SFLOAT, 32, 16, 4},
      {VK_FORMAT_R16G16B16A16_SFLOAT, 0, VK_WHOLE_SIZE, 125},
      {VK_FORMAT_R32G32B32A32_SFLOAT, 0, VK_WHOLE_SIZE, 62}, // and half of one
      {VK_FORMAT_R32G32B32A32_SFLOAT, 992, VK_WHOLE_SIZE, 0},
   };
   for (const auto &view : views) {
      for (const Program &program : {fetching, storing}) {
         TestBuffer out = make_buffer(4);
         out.as()[0] = 0xa5a5a5a5;
         run_program(program, make_view(memory, view.format, view.offset, view.range), {out});
         EXPECT_EQ(out.as<int>()[0], view.elements) << view.format << ", " << view.offset;
      }
   }
}

/// The loads after the barrier must not be joined with those before, nor move.
TEST_F(TexelBufferTest, BarriersOrderStoresAndLoads)
{
   const Program program = make_program(R"(
      layout(local_size_x = 128) in;
      layout(binding = 0, r32ui) coherent uniform uimageBuffer texels;
      layout(binding = 1) buffer Out { uint first[128], second[128]; };
      void main()
      {
         int i = int(gl_LocalInvocationID.x), k = (i + 37) % 128;
         imageStore(texels, i, uvec4(i * 3 + 1));
         memoryBarrierImage();
         barrier();
         first[i] = imageLoad(texels, k).x;
         barrier();
         imageStore(texels, i, uvec4(i * 5 + 2));
         memoryBarrierImage();
         barrier();
         second[i] = imageLoad(texels, k).x;
      })",
                                        storage_texels, 1);
   TestBuffer memory = make_buffer(512), out = make_buffer(1024);
   run_program(program, make_view(memory, VK_FORMAT_R32_UINT), {out});
   for (uint32_t i = 0; i < 128; ++i) {
      const uint32_t k = (i + 37) % 128;
      ASSERT_EQ(out.as()[i], k * 3 + 1);
      ASSERT_EQ(out.as()[128 + i], k * 5 + 2);
   }
}

/// Bounds hold without robustBufferAccess, too.
class FragileTexelTest : public TexelTest {
protected:
   FragileTexelTest() { robust_device = false; }
};

TEST_F(FragileTexelTest, OutOfBounds)
{
   const Program program = make_program(R"(
      #extension GL_EXT_shader_image_load_formatted : require
      layout(local_size_x = 64) in;
      layout(binding = 0) uniform uimageBuffer texels;
      layout(binding = 1) buffer Out { uvec4 result[]; };
      void main()
      {
         int i = int(gl_GlobalInvocationID.x);
         int k = i < 32 ? i : (1 + i % 15) * 0x10000000 + 33;
         result[i] = imageLoad(texels, k);
         imageStore(texels, k, uvec4(7));
      })",
                                        storage_texels, 1);
   TestBuffer memory = make_buffer(4096), out = make_buffer(64 * 16);
   std::ranges::fill(memory.as(), 9u);
   run_program(program, make_view(memory, VK_FORMAT_R32G32B32A32_UINT, 16, 40 * 16), {out});
   for (uint32_t i = 0; i < 64; ++i) {
      for (uint32_t c = 0; c < 4; ++c)
         ASSERT_EQ(out.as()[4 * i + c], i < 32 ? 9u : 0u) << i;
   }
   for (uint32_t i = 0; i < 1024; ++i)
      ASSERT_EQ(memory.as()[i], i >= 4 && i < 4 + 4 * 32 ? 7u : 9u) << i;
}

} // namespace weft::icd_test
