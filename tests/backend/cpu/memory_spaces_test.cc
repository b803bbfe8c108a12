// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Kinds of memory with separate rules: private arrays, a buffer per lane, variable pointers, and
/// addresses whose facts come from other blocks.

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace weft::cpu::test {

namespace {

class MemorySpaces : public testing::TestWithParam<uint32_t> {};

/// Private arrays: elements of all lanes lie together, for any index.
TEST_P(MemorySpaces, Scratch)
{
   const uint32_t W = GetParam();
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   constexpr uint32_t length = 8;
   b->shader->scratch_size = length * 4;
   nir_def *lane = shader.local_index();
   const auto store = [&](nir_def *index, nir_def *value) {
      _nir_build_store_scratch(b, value, nir_imul_imm(b, index, 4),
                               {._ = 0, .align_mul = 4, .align_offset = 0, .write_mask = 1});
   };
   const auto load = [&](nir_def *index) {
      return _nir_build_load_scratch(b, 1, 32, nir_imul_imm(b, index, 4),
                                     {._ = 0, .align_mul = 4, .align_offset = 0});
   };
   for (uint32_t i = 0; i < length; i++)
      store(nir_imm_int(b, int(i)), nir_iadd_imm(b, nir_imul_imm(b, lane, 100), i));
   // Each lane changes one element, odd lanes another one too.
   store(nir_umod_imm(b, lane, length), nir_iadd_imm(b, lane, 5000));
   nir_push_if(b, nir_ine_imm(b, nir_iand_imm(b, lane, 1), 0));
   store(nir_imm_int(b, 2), nir_iadd_imm(b, lane, 7000));
   nir_pop_if(b, nullptr);
   nir_def *sum = nir_imm_int(b, 0);
   for (uint32_t i = 0; i < length; i++)
      sum = nir_iadd(b, nir_imul_imm(b, sum, 3),
                     load(nir_umod_imm(b, nir_iadd_imm(b, lane, i), length)));
   sum = nir_iadd(b, nir_imul_imm(b, sum, 3), load(nir_imm_int(b, 2)));
   shader.store(0, nir_imul_imm(b, lane, 4), sum);
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   EXPECT_GE((*program)->info().stack_bytes, length * 4 * W);
   std::vector<Bytes> buffers{Bytes(4 * W)};
   run(**program, buffers, 1);
   for (uint32_t l = 0; l < W; l++) {
      uint32_t array[length], expected = 0, got;
      for (uint32_t i = 0; i < length; i++)
         array[i] = l * 100 + i;
      array[l % length] = l + 5000;
      if (l & 1)
         array[2] = l + 7000;
      for (uint32_t i = 0; i < length; i++)
         expected = expected * 3 + array[(l + i) % length];
      expected = expected * 3 + array[2];
      std::memcpy(&got, &buffers[0][4 * l], 4);
      EXPECT_EQ(got, expected) << "W=" << W << ", lane " << l;
   }
}

/// A buffer array with an index per lane.
TEST_P(MemorySpaces, BufferPerLane)
{
   const uint32_t W = GetParam();
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   nir_def *lane = shader.local_index();
   nir_def *index = nir_vec2(b, nir_imm_int(b, 0), nir_imul_imm(b, nir_umod_imm(b, lane, 3), 16));
   nir_def *v = _nir_build_load_ssbo(
      b, 2, 32, index, nir_imul_imm(b, lane, 8),
      {._ = 0, .access = ACCESS_NON_UNIFORM, .align_mul = 4, .align_offset = 0});
   nir_def *size = _nir_build_get_ssbo_size(b, index, {._ = 0, .access = ACCESS_NON_UNIFORM});
   nir_def *value = nir_iadd(b, nir_iadd(b, nir_channel(b, v, 0), nir_channel(b, v, 1)), size);
   shader.store(3, nir_imul_imm(b, lane, 4), value);
   _nir_build_store_ssbo(
      b, nir_imm_int(b, 77), index, nir_imul_imm(b, lane, 8),
      {._ = 0, .write_mask = 1, .access = ACCESS_NON_UNIFORM, .align_mul = 4, .align_offset = 0});
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test_seed());
   // The last buffer is too small for the upper lanes.
   std::vector<Bytes> buffers{random_bytes(random, 8 * W), random_bytes(random, 8 * W),
                              random_bytes(random, 4 * W), Bytes(4 * W)};
   const std::vector<Bytes> before = buffers;
   run(**program, buffers, 1);
   for (uint32_t l = 0; l < W; l++) {
      const Bytes &own = before[l % 3];
      uint32_t words[2] = {}, got, written = 0;
      const bool inside = 8 * l + 8 <= own.size();
      if (inside)
         std::memcpy(words, &own[8 * l], 8);
      else if (8 * l + 4 <= own.size())
         std::memcpy(words, &own[8 * l], 4);
      std::memcpy(&got, &buffers[3][4 * l], 4);
      EXPECT_EQ(got, words[0] + words[1] + uint32_t(own.size())) << "W=" << W << ", lane " << l;
      if (inside) {
         std::memcpy(&written, &buffers[l % 3][8 * l], 4);
         EXPECT_EQ(written, 77u);
      }
   }
}

/// Later blocks use one byte of a loaded word. The block of the load exists twice: with loads of
/// whole vectors, and lane by lane.
TEST_P(MemorySpaces, BytesOfWordsBehindTheirBlock)
{
   const uint32_t W = GetParam();
   constexpr uint32_t stride = 20;
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   nir_def *lane = shader.local_index(), *place = nir_imul_imm(b, lane, stride);
   nir_def *condition = nir_ine_imm(b, shader.load(2, nir_imm_int(b, 0), 1, 32), 0);
   nir_push_if(b, condition);
   nir_def *first = shader.load(0, place, 1, 32),
           *second = shader.load(0, nir_iadd_imm(b, place, 8), 1, 32);
   nir_def *byte = nir_u2u8(b, nir_ushr_imm(b, first, 8));
   shader.store(1, nir_imul_imm(b, lane, 8), nir_iadd(b, first, second));
   nir_push_if(b, nir_ine_imm(b, shader.load(2, nir_imm_int(b, 4), 1, 32), 0));
   shader.store(1, nir_iadd_imm(b, nir_imul_imm(b, lane, 8), 4),
                nir_fadd_imm(b, nir_u2f32(b, byte), 3));
   nir_pop_if(b, nullptr);
   nir_pop_if(b, nullptr);
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test_seed());
   // The last lane's structs are in bounds, then out of bounds.
   for (const uint32_t bytes : {stride * W, stride * (W - 1)}) {
      std::vector<Bytes> buffers{random_bytes(random, bytes), Bytes(8 * W),
                                 Bytes{1, 0, 0, 0, 1, 0, 0, 0}};
      run(**program, buffers, 1);
      for (uint32_t l = 0; l < W; l++) {
         float got;
         std::memcpy(&got, &buffers[1][8 * l + 4], 4);
         const uint32_t at = stride * l + 1;
         EXPECT_EQ(got, (at < bytes ? buffers[0][at] : 0) + 3.0f) << l;
      }
   }
}

/// A guard may check the assumption about a value in another block than the value's own, which
/// exists twice: here that 8 * lane + n begins with a multiple of 32.
TEST_P(MemorySpaces, AssumptionsBehindTheirBlock)
{
   const uint32_t W = GetParam();
   constexpr uint32_t stride = 20;
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   const auto number = [&](uint32_t i) { return shader.load(2, nir_imm_int(b, 4 * i), 1, 32); };
   nir_def *lane = shader.local_index(), *place = nir_imul_imm(b, lane, stride);
   nir_def *n = number(2);
   nir_push_if(b, nir_ine_imm(b, number(0), 0));
   nir_def *first = shader.load(0, place, 1, 32),
           *second = shader.load(0, nir_iadd_imm(b, place, 8), 1, 32);
   nir_def *group = nir_ushr_imm(b, nir_iadd(b, nir_imul_imm(b, lane, 8), n), 5);
   shader.store(1, nir_imul_imm(b, lane, 8), nir_iadd(b, first, second));
   nir_push_if(b, nir_ine_imm(b, number(1), 0));
   nir_def *found = nir_iadd(b, shader.load(0, nir_imul_imm(b, group, 4), 1, 32),
                             shader.load(0, nir_imul_imm(b, group, 12), 1, 32));
   shader.store(1, nir_iadd_imm(b, nir_imul_imm(b, lane, 8), 4), found);
   nir_pop_if(b, nullptr);
   nir_pop_if(b, nullptr);
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test_seed());
   for (const uint8_t begin : {0, 32, 40}) {
      for (const uint32_t bytes : {stride * W + 48, stride * (W - 1)}) {
         std::vector<Bytes> buffers{random_bytes(random, bytes), Bytes(8 * W),
                                    Bytes{1, 0, 0, 0, 1, 0, 0, 0, begin, 0, 0, 0}};
         run(**program, buffers, 1);
         const auto word = [&](const Bytes &from, uint32_t at) {
            uint32_t word = 0;
            if (at + 4 <= from.size())
               std::memcpy(&word, &from[at], 4);
            return word;
         };
         for (uint32_t l = 0; l < W; l++) {
            const uint32_t of_lane = (8 * l + begin) / 32;
            EXPECT_EQ(word(buffers[1], 8 * l + 4),
                      word(buffers[0], 4 * of_lane) + word(buffers[0], 12 * of_lane))
               << l << ", " << int(begin);
         }
      }
   }
}

/// Steps of 16 bits wrap sooner than offsets.
TEST_P(MemorySpaces, PlacesOf16BitsThatWrap)
{
   const uint32_t W = GetParam();
   for (const bool is_signed : {false, true}) {
      NirShader shader(W, W);
      nir_builder *b = &shader.b;
      nir_def *lane = shader.local_index();
      nir_def *many = nir_imul_imm(b, nir_u2u16(b, lane), 4096);
      nir_def *wide = is_signed ? nir_i2i32(b, nir_ishr_imm(b, many, 10))
                                : nir_u2u32(b, nir_ushr_imm(b, many, 10));
      nir_def *place = nir_iadd_imm(b, nir_imul_imm(b, wide, 4), 128);
      shader.store(1, nir_imul_imm(b, lane, 4), shader.load(0, place, 1, 32));
      auto program = shader.compile();
      ASSERT_TRUE(program) << program.error().message;
      std::mt19937_64 random(test_seed());
      std::vector<Bytes> buffers{random_bytes(random, 128 + 4 * 4 * 64), Bytes(4 * W)};
      run(**program, buffers, 1);
      for (uint32_t l = 0; l < W; l++) {
         const uint16_t bits = uint16_t(l * 4096);
         const int32_t at = 128 + 4 * (is_signed ? int16_t(bits) >> 10 : bits >> 10);
         EXPECT_EQ(std::memcmp(&buffers[1][4 * l], &buffers[0][at], 4), 0) << l;
      }
   }
}

/// A pointer may be null if no lane follows it, which only the run time knows.
TEST_P(MemorySpaces, VariablePointersThatNobodyFollows)
{
   const uint32_t W = GetParam();
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   nir_def *lane = shader.local_index(), *place = nir_imul_imm(b, lane, 4);
   nir_def *there = nir_ine_imm(b, shader.load(2, nir_imm_int(b, 0), 1, 32), 0);
   nir_def *pointer = nir_bcsel(b, there, shader.buffer(0), nir_imm_ivec2(b, -1, -1)),
           *other = nir_imm_int(b, 7);
   nir_push_if(b, nir_iand(b, there, nir_ult_imm(b, lane, W - 1)));
   nir_def *read = _nir_build_load_ssbo(
      b, 1, 32, pointer, place,
      {._ = 0, .access = gl_access_qualifier(0), .align_mul = 4, .align_offset = 0});
   nir_pop_if(b, nullptr);
   shader.store(1, place, nir_if_phi(b, read, other));
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   for (const uint8_t use : {0, 1}) {
      std::vector<Bytes> buffers{Bytes(4 * W, 3), Bytes(4 * W), Bytes{use, 0, 0, 0}};
      run(**program, buffers, 1);
      for (uint32_t l = 0; l < W; l++) {
         const uint8_t expected = use && l < W - 1 ? 3 : 7;
         EXPECT_EQ(buffers[1][4 * l], expected) << l;
      }
   }
}

/// A shader may contain an access by a null pointer that no lane executes.
TEST_P(MemorySpaces, NullPointersThatNobodyFollows)
{
   const uint32_t W = GetParam();
   NirShader shader(W, W);
   nir_builder *b = &shader.b;
   nir_def *lane = shader.local_index(), *place = nir_imul_imm(b, lane, 4);
   nir_def *v = shader.load(0, place, 1, 32);
   nir_def *null = nir_imm_ivec2(b, -1, -1);
   for (bool uniform : {false, true}) {
      nir_def *condition = uniform ? nir_read_first_invocation(b, v) : v;
      nir_push_if(b, nir_ine_imm(b, condition, 0));
      nir_def *read = _nir_build_load_ssbo(
         b, 1, 32, null, nir_imm_int(b, -1),
         {._ = 0, .access = gl_access_qualifier(0), .align_mul = 4, .align_offset = 0});
      shader.store(1, place, read);
      nir_pop_if(b, nullptr);
   }
   auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::vector<Bytes> buffers{Bytes(4 * W, 0), Bytes(4 * W, 1)};
   run(**program, buffers, 1);
   EXPECT_EQ(buffers[1], Bytes(4 * W, 1));
}

INSTANTIATE_TEST_SUITE_P(, MemorySpaces, testing::Values(8u, 16u, 32u, 64u));

} // namespace

} // namespace weft::cpu::test
