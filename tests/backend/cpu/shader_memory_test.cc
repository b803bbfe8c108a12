// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Whole shaders that access memory out of bounds, by missing descriptors, or without having
/// written it.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"

#include "nir_passes/compile_limits.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>

namespace weft::cpu {
namespace {

class ShaderMemory : public testing::TestWithParam<uint32_t> {
protected:
   Executor executor{1};

   /// Storage buffer i is binding i of set 0; `more` is added to it.
   Result<std::shared_ptr<const Program>> compile_with(const std::string &glsl, uint32_t buffers,
                                                       std::vector<BindingLayout> more = {})
   {
      const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + glsl);
      ShaderSource source;
      source.spirv = spirv;
      source.entry_point = "main";
      CompileOptions options;
      options.subgroup_size = GetParam();
      options.bindings = std::move(more);
      for (uint32_t i = 0; i < buffers; i++)
         options.bindings.push_back({0, i, 0, uint32_t(i * sizeof(BufferDescriptor)), 0, 1, false});
      options.dump = [this](const char *phase, const std::string &text) {
         if (!std::strcmp(phase, "llvm"))
            llvm = text;
      };
      return compile(source, options);
   }

   /// A shader of one subgroup with these statements, a number n and floats o.
   Result<std::shared_ptr<const Program>> compile_for_a_subgroup(const std::string &statements)
   {
      return compile_with("layout(local_size_x = " + std::to_string(GetParam()) + R"() in;
layout(set = 0, binding = 0) buffer N { uint n; };
layout(set = 0, binding = 1) buffer O { float o[]; };
void main() {)" + statements +
                             "}",
                          2);
   }

   bool run(const Program &program, std::span<const BufferDescriptor> set0,
            const void *set1 = nullptr, uint32_t groups = 1)
   {
      DispatchState state = {};
      state.sets[0] = reinterpret_cast<const uint8_t *>(set0.data());
      state.sets[1] = static_cast<const uint8_t *>(set1);
      state.num_workgroups[0] = groups;
      state.num_workgroups[1] = state.num_workgroups[2] = 1;
      return executor.dispatch(program, state, {groups, 1, 1});
   }

   template <typename T>
   static BufferDescriptor descriptor(std::vector<T> &v)
   {
      return {reinterpret_cast<uint64_t>(v.data()), v.size() * sizeof(T)};
   }

   std::string llvm; ///< the text of the module that compile_with() made
};

INSTANTIATE_TEST_SUITE_P(Sizes, ShaderMemory, testing::Values(8, 16, 32, 64),
                         [](const auto &info) { return std::to_string(info.param); });

/// data[i] is out of bounds and data[i + 1] is the first element, because the offset wraps. One
/// vector access of both must still check each.
TEST_P(ShaderMemory, NeighboursThatWrap)
{
   for (const std::string index : {"start[0]", "start[0] + 2 * gl_LocalInvocationIndex"}) {
      auto program = compile_with("layout(local_size_x = 64) in;\n"
                                  "layout(binding = 0) buffer S { uint start[]; };\n"
                                  "layout(binding = 1) buffer D { uint data[]; };\n"
                                  "layout(binding = 2) buffer O { uint o[]; };\n"
                                  "void main() { uint i = " +
                                     index +
                                     ", l = 2 * gl_LocalInvocationIndex;\n"
                                     "   o[l] = data[i]; o[l + 1] = data[i + 1];\n"
                                     "   barrier();\n"
                                     "   data[i] = data[i] + 1; data[i + 1] = 5; }",
                                  3);
      ASSERT_TRUE(program) << program.error().message;
      const bool each = index.size() > 8;
      std::vector<uint32_t> start = {UINT32_MAX}, data(40), o(128, 0xcdcdcdcd);
      for (uint32_t i = 0; i < 40; i++)
         data[i] = 100 + i;
      const std::vector<uint32_t> before = data;
      const BufferDescriptor set[] = {descriptor(start), descriptor(data), descriptor(o)};
      ASSERT_TRUE(run(**program, set));
      const auto at = [&](uint32_t i) { return i < before.size() ? before[i] : 0; };
      for (uint32_t l = 0; l < 64; l++) {
         const uint32_t i = UINT32_MAX + (each ? 2 * l : 0);
         EXPECT_EQ(o[2 * l], at(i)) << index << ", invocation " << l;
         EXPECT_EQ(o[2 * l + 1], at(i + 1)) << index << ", invocation " << l;
      }
      for (uint32_t i = 0; i < data.size(); i++) {
         const bool second = each ? i % 2 == 0 : i == 0, first = each && i % 2 == 1;
         EXPECT_EQ(data[i], second ? 5 : first ? before[i] + 1 : before[i]) << index << ", " << i;
      }
   }
}

/// The words of each eight lanes lie close together, except for some lanes. These read other words,
/// are out of bounds, or inactive.
TEST_P(ShaderMemory, WordsInWindows)
{
   constexpr uint32_t lanes = 64, words = 200, inactive = UINT32_MAX;
   auto program = compile_with(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer N { uint place[]; };
layout(set = 0, binding = 1) readonly buffer D { uint data[]; };
layout(set = 0, binding = 2) buffer O { uint o[]; };
void main() {
   const uint i = gl_LocalInvocationIndex, at = place[i];
   o[i] = 7;
   if (at != 0xffffffff)
      o[i] = data[at];
})",
                               3);
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test::test_seed());
   std::vector<uint32_t> place(lanes), data(words), o(lanes);
   for (uint32_t &word : data)
      word = uint32_t(random());
   const BufferDescriptor set[] = {descriptor(place), descriptor(data), descriptor(o)};
   for (int round = 0; round < 2000; round++) {
      uint32_t at = 0;
      for (uint32_t l = 0; l < lanes; l++) {
         at = l % 8 == 0 ? uint32_t(random() % words) : at + random() % (1 + round % 4);
         place[l] = at;
      }
      const uint32_t others[] = {uint32_t(random() % words), words, inactive, 0x3fffffff,
                                 0x40000000 + uint32_t(random() % words)};
      for (uint32_t l = random() % 128; l < lanes; l += 1 + random() % 64)
         place[l] = others[random() % std::size(others)];
      ASSERT_TRUE(run(**program, set));
      for (uint32_t l = 0; l < lanes; l++) {
         /* The shader's offset has 32 bits. */
         const uint32_t word = place[l] & 0x3fffffff;
         ASSERT_EQ(o[l], place[l] == inactive ? 7
                         : word < words       ? data[word]
                                              : 0)
            << "round " << round << ", invocation " << l << ", word " << place[l];
      }
   }
}

/// The lanes of a register touch one run of memory for some strides, and none for others.
TEST_P(ShaderMemory, RunsBehindADivision)
{
   constexpr uint32_t lanes = 64, words = 150, places = 256;
   auto program = compile_with(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer N { uint stride, is_active[]; };
layout(set = 0, binding = 1) buffer D { uint data[]; };
layout(set = 0, binding = 2) buffer O { uint o[]; };
shared uint copied[256];
void main() {
   const uint l = gl_LocalInvocationIndex, at = l / stride * 2 * stride + l % stride;
   for (uint i = l; i < 256; i += 64)
      copied[i] = 0;
   barrier();
   if (is_active[l] != 0) {
      const uint word = data[at];
      copied[at + stride] = word;
      data[at + stride] = word + 1;
   }
   barrier();
   for (uint i = l; i < 256; i += 64)
      o[i] = copied[i];
})",
                               3);
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test::test_seed());
   std::vector<uint32_t> n(1 + lanes), data(words), o(places);
   const BufferDescriptor set[] = {descriptor(n), descriptor(data), descriptor(o)};
   for (uint32_t round = 0; round < 256; round++) {
      const uint32_t stride = n[0] = 1 + round % 64;
      for (uint32_t l = 0; l < lanes; l++)
         n[1 + l] = round < 64 || random() % 2;
      for (uint32_t &word : data)
         word = uint32_t(random());
      std::vector<uint32_t> expected_data = data, expected(places);
      for (uint32_t l = 0; l < lanes; l++) {
         const uint32_t at = l / stride * 2 * stride + l % stride;
         if (!n[1 + l])
            continue;
         const uint32_t word = expected[at + stride] = at < words ? data[at] : 0;
         if (at + stride < words)
            expected_data[at + stride] = word + 1;
      }
      ASSERT_TRUE(run(**program, set));
      ASSERT_EQ(o, expected) << "stride " << stride << ", round " << round;
      ASSERT_EQ(data, expected_data) << "stride " << stride << ", round " << round;
   }
}

/// Reads beyond an inline uniform block return zeros, for an index per lane and for a uniform
/// index.
TEST_P(ShaderMemory, InlineUniformBlocksHaveBounds)
{
   constexpr uint32_t words = 5;
   auto program = compile_with(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer N { uint index[]; };
layout(set = 0, binding = 1) buffer O { uint o[]; };
layout(set = 1, binding = 0, std430) uniform B { uint a[5]; };
void main() {
   uint i = gl_LocalInvocationIndex;
   o[i] = a[index[i]];
   if (i < 8) o[64 + i] = a[index[gl_WorkGroupID.x + 7]];
})",
                               2, {{1, 0, 1, 16, 0, words * 4, true}});
   ASSERT_TRUE(program) << program.error().message;

   std::vector<uint32_t> set1(4 + words, 0), index(64), o(72);
   for (uint32_t i = 0; i < words; i++)
      set1[4 + i] = 100 + i;
   for (uint32_t last : {3u, 5u, 0x10000000u, 0x3fffffffu}) {
      for (uint32_t i = 0; i < 64; i++)
         index[i] = i % 3 == 1 ? last : i % 7;
      const BufferDescriptor set0[] = {descriptor(index), descriptor(o)};
      ASSERT_TRUE(run(**program, set0, set1.data()));
      const auto expected = [&](uint32_t i) { return i < words ? 100 + i : 0; };
      for (uint32_t i = 0; i < 64; i++)
         EXPECT_EQ(o[i], expected(index[i])) << i;
      for (uint32_t i = 0; i < 8; i++)
         EXPECT_EQ(o[64 + i], expected(index[7]));
   }
}

/// A set with a variable count may end before the last elements that the shader's code mentions.
/// Only the elements that the shader reaches may be read.
TEST_P(ShaderMemory, DescriptorsAreReadWhereTheShaderGetsToThem)
{
   auto program = compile_with(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer N { uint count; };
layout(set = 0, binding = 1) buffer O { uint o[]; };
layout(set = 1, binding = 0) buffer B { uint x[]; } b[100000];
void main() {
   uint i = gl_LocalInvocationIndex;
   uint v = b[0].x[i];
   if (count > 90000) v += b[90000].x[i];
   if (count > i) v += b[count * i + 80000].x[i];
   if (count > i) v += b[70000].x[i];
   o[i] = v;
})",
                               2, {{1, 0, 1, 0, sizeof(BufferDescriptor), 100000, false, true}});
   ASSERT_TRUE(program) << program.error().message;

   // A set of one descriptor, at the end of readable memory.
   const size_t page = size_t(sysconf(_SC_PAGESIZE));
   void *pages =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   ASSERT_NE(pages, MAP_FAILED);
   ASSERT_EQ(mprotect(static_cast<char *>(pages) + page, page, PROT_NONE), 0);
   std::vector<uint32_t> count(1), o(64), x(64);
   for (uint32_t i = 0; i < 64; i++)
      x[i] = 3 * i + 1;
   auto *set1 = reinterpret_cast<BufferDescriptor *>(static_cast<char *>(pages) + page) - 1;
   *set1 = descriptor(x);
   const BufferDescriptor set0[] = {descriptor(count), descriptor(o)};
   EXPECT_TRUE(run(**program, set0, set1));
   EXPECT_EQ(o, x);
   munmap(pages, 2 * page);
}

/// Shared memory of any size begins with zeros, not with data of an earlier workgroup.
TEST_P(ShaderMemory, SharedMemoryBeginsWithZeros)
{
   auto program = compile_with(R"(
#extension GL_EXT_null_initializer : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer O { uint o[]; };
shared uint a[5] = {};
shared uint b = {};
void main() {
   uint i = gl_LocalInvocationIndex;
   o[gl_GlobalInvocationID.x] = i < 5 ? a[i] : b;
   barrier();
   if (i < 5) a[i] = 77; else b = 78;
})",
                               1);
   ASSERT_TRUE(program) << program.error().message;
   EXPECT_EQ((*program)->info().shared_bytes, 32u); // of 24: zeros are written 16 bytes at a time
   std::vector<uint32_t> o(8 * 16, 5);
   const BufferDescriptor set0[] = {descriptor(o)};
   ASSERT_TRUE(run(**program, set0, nullptr, 16));
   EXPECT_EQ(o, std::vector<uint32_t>(o.size(), 0));
}

/// Lanes that read from a neighbour at some distance, below and above, where the neighbour exists.
/// Vectors of the other lanes start before shared memory or end behind it. The code adds
/// limits::lane_reach to their offsets before it widens them, so that they stay close to it.
TEST_P(ShaderMemory, ShiftsOfSharedMemory)
{
   constexpr uint32_t size = 128;
   auto program = compile_with(R"(
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer N { uint distance; };
layout(set = 0, binding = 1) buffer O { uint o[]; };
shared uint s[128];
void main() {
   uint l = gl_LocalInvocationIndex;
   s[l] = l * l + 1;
   barrier();
   uint below = 0, above = 0;
   if (l >= distance)
      below = s[l - distance];
   if (l + distance < 128)
      above = s[l + distance];
   barrier();
   if (l >= distance)
      s[l - distance] = below + above;
   barrier();
   o[l] = s[l];
   o[128 + l] = below;
   o[256 + l] = above;
})",
                               2);
   ASSERT_TRUE(program) << program.error().message;
   EXPECT_NE(llvm.find(" " + std::to_string(limits::lane_reach)), std::string::npos);
   std::mt19937_64 random(test::test_seed() + GetParam());
   for (unsigned trial = 0; trial < 20; trial++) {
      std::vector<uint32_t> distance{uint32_t(trial < 3 ? 63 + trial : random() % size)};
      std::vector<uint32_t> o(3 * size, 7), expected(3 * size);
      const BufferDescriptor set0[] = {descriptor(distance), descriptor(o)};
      ASSERT_TRUE(run(**program, set0));
      const uint32_t d = distance[0];
      const auto element = [](uint32_t i) { return i * i + 1; };
      for (uint32_t l = 0; l < size; l++) {
         expected[l] = element(l);
         expected[size + l] = l >= d ? element(l - d) : 0;
         expected[2 * size + l] = l + d < size ? element(l + d) : 0;
      }
      for (uint32_t l = d; l < size; l++)
         expected[l - d] = expected[size + l] + expected[2 * size + l];
      EXPECT_EQ(o, expected) << "distance " << d;
   }
}

/// A variable that was never written has an arbitrary value. A branch may depend on it, and every
/// use sees the same value.
TEST_P(ShaderMemory, WhatWasNeverWrittenIsSomeValue)
{
   auto program = compile_with(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer N { uint n; uint x[]; };
layout(set = 0, binding = 1) buffer O { uint o[]; };
void main() {
   uint i = gl_LocalInvocationIndex;
   bool f;
   uint v;
   if (n > 0) { f = x[i] > 50u; v = x[i] * 3; o[i] = 1; }
   if (f) o[64 + i] = 1; else o[64 + i] = 2;
   if (f) o[128 + i] = 1; else o[128 + i] = 2;
   o[192 + i] = v;
   o[256 + i] = ~v;
})",
                               2);
   ASSERT_TRUE(program) << program.error().message;
   // Both come from phis of an undefined value.
   EXPECT_NE(llvm.find("freeze"), std::string::npos);
   for (uint32_t n : {0u, 1u}) {
      std::vector<uint32_t> in(65, n), o(5 * 64, 0);
      for (uint32_t i = 0; i < 64; i++)
         in[1 + i] = 2 * i;
      const BufferDescriptor set0[] = {descriptor(in), descriptor(o)};
      ASSERT_TRUE(run(**program, set0));
      for (uint32_t i = 0; i < 64; i++) {
         const uint32_t f = o[64 + i];
         EXPECT_TRUE(f == 1 || f == 2) << f;
         EXPECT_EQ(o[128 + i], f);
         EXPECT_EQ(o[256 + i], ~o[192 + i]);
         if (n) {
            EXPECT_EQ(f, i > 25 ? 1u : 2u);
            EXPECT_EQ(o[192 + i], 6 * i);
         }
      }
   }
}

TEST_P(ShaderMemory, ArraysWithoutValuesHaveSome)
{
   auto program = compile_with(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer N { uint n; };
layout(set = 0, binding = 1) buffer O { uint o[]; };
void main() {
   uint i = gl_LocalInvocationIndex;
   uint a[40];
   a[n] = i;
   if (a[n + 1] > 7) o[i] = 1; else o[i] = 2;
   o[64 + i] = a[n];
})",
                               2);
   ASSERT_TRUE(program) << program.error().message;
   EXPECT_NE(llvm.find("freeze"), std::string::npos);
   std::vector<uint32_t> n(1, 3), o(128, 0);
   const BufferDescriptor set0[] = {descriptor(n), descriptor(o)};
   ASSERT_TRUE(run(**program, set0));
   for (uint32_t i = 0; i < 64; i++) {
      EXPECT_TRUE(o[i] == 1 || o[i] == 2) << o[i];
      EXPECT_EQ(o[64 + i], i);
   }
}

/// Arrays of few small constants become one number (nir_opt_large_constants).
TEST_P(ShaderMemory, ArraysOfConstants)
{
   for (const uint64_t odd : {uint64_t(3), uint64_t(1) << 53, ~uint64_t(0) - 3}) {
      auto program = compile_with(R"(
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { uint64_t o[]; };
void main() {
   const uint64_t a[4] = {0ul, )" + std::to_string(odd) +
                                     R"(ul, 1ul, 2ul};
   o[gl_LocalInvocationIndex] = a[gl_LocalInvocationIndex % 4];
})",
                                  1);
      ASSERT_TRUE(program) << program.error().message;
      std::vector<uint64_t> o(64, 77);
      const BufferDescriptor set0[] = {descriptor(o)};
      ASSERT_TRUE(run(**program, set0));
      for (uint32_t i = 0; i < 64; i++)
         EXPECT_EQ(o[i], (std::array<uint64_t, 4>{0, odd, 1, 2}[i % 4])) << i;
   }
}

/// An index beyond a private array has no defined result, but its writes stay within the
/// invocations' private memory.
TEST_P(ShaderMemory, PrivateArraysKeepToTheirMemory)
{
   for (const char *index : {"n", "n + (i & 1)"}) {
      auto program = compile_with(std::string(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer N { uint n, other; };
layout(set = 0, binding = 1) buffer O { uint o[]; };
void main() {
   uint i = gl_LocalInvocationIndex;
   uint a[40];
   for (uint k = 0; k < 40; k++) a[k] = k;
   a[)") + index + R"(] = i;
   o[i] = a[other];
   o[64 + i] = 7;
})",
                                  2);
      ASSERT_TRUE(program) << program.error().message;
      for (uint32_t n : {39u, 0x10000u, 0x200000u, 0x3fffffffu}) {
         std::vector<uint32_t> in(2, n), o(128, 0);
         const BufferDescriptor set0[] = {descriptor(in), descriptor(o)};
         ASSERT_TRUE(run(**program, set0));
         EXPECT_EQ(std::vector<uint32_t>(o.begin() + 64, o.end()), std::vector<uint32_t>(64, 7));
      }
   }
}

TEST_P(ShaderMemory, ArraysOfMatricesKeepToTheirMemory)
{
   auto program = compile_for_a_subgroup(R"(
   coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator> m[6];
   for (uint k = 0; k < 6; k++)
      m[k] = coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator>(float(k));
   coopMatLoad(m[n], o, 64, 8, gl_CooperativeMatrixLayoutRowMajor);
   coopMatStore(m[n], o, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
)");
   ASSERT_TRUE(program) << program.error().message;
   for (uint32_t n : {2u, 0x10000u, 0x200000u, 0x3fffffffu}) {
      std::vector<uint32_t> in(1, n);
      std::vector<float> o(128, 3.5f);
      const BufferDescriptor set0[] = {descriptor(in), descriptor(o)};
      ASSERT_TRUE(run(**program, set0));
      if (n < 6) {
         EXPECT_EQ(o, std::vector<float>(128, 3.5f));
      }
   }
}

/// Two products of a sum, of which the second's factor lies any distance behind the first's.
TEST_P(ShaderMemory, SumsOfProductsKeepToTheirMemory)
{
   for (const char *distance : {"1", "2", "5", "0x10000", "0x200000", "0x3fffffff", "-1"}) {
      SCOPED_TRACE(distance);
      auto program = compile_for_a_subgroup(std::string(R"(
   coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA> a[6];
   coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseB> b;
   coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator> c;
   for (uint k = 0; k < 6; k++)
      a[k] = coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA>(float(k));
   a[n][0] += 0.0;
   b = coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseB>(1.0);
   c = coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator>(0.0);
   c = coopMatMulAdd(a[n], b, c);
   c = coopMatMulAdd(a[n + uint()") + distance +
                                            R"()], b, c);
   coopMatStore(c, o, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
)");
      ASSERT_TRUE(program) << program.error().message;
      std::vector<uint32_t> in(1, 2);
      std::vector<float> o(128, 3.5f);
      const BufferDescriptor set0[] = {descriptor(in), descriptor(o)};
      ASSERT_TRUE(run(**program, set0));
      if (!strcmp(distance, "1")) {
         EXPECT_EQ(std::vector<float>(o.begin(), o.begin() + 64),
                   std::vector<float>(64, 8 * (2 + 3)));
      }
      EXPECT_EQ(std::vector<float>(o.begin() + 64, o.end()), std::vector<float>(64, 3.5f));
   }
}

/// The replacement of an atomic operation beyond a buffer must be as aligned as it claims.
TEST_P(ShaderMemory, TheSinkIsAligned)
{
   auto program = compile_with(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, scalar) buffer N { uint64_t n[]; };
layout(set = 0, binding = 1) buffer I { uint index[]; };
void main() { atomicAdd(n[index[gl_LocalInvocationIndex]], uint64_t(1)); }
)",
                               2);
   ASSERT_TRUE(program) << program.error().message;
   EXPECT_NE(llvm.find("alloca [128 x i8], align 64"), std::string::npos);
   std::vector<uint64_t> n(2);
   std::vector<uint32_t> index(64);
   for (uint32_t i = 0; i < 64; i++)
      index[i] = i % 4;
   const BufferDescriptor set0[] = {descriptor(n), descriptor(index)};
   ASSERT_TRUE(run(**program, set0));
   EXPECT_EQ(n, std::vector<uint64_t>(2, 16));
}

} // namespace
} // namespace weft::cpu
