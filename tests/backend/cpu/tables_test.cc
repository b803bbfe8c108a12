// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Look-ups in registers (table_plan.h), run at every subgroup size.

#include "tests/backend/cpu/nir_harness.h"

#include "util/ralloc.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>

namespace weft::cpu::test {
namespace {

constexpr uint32_t words = 256;

using Build = std::function<nir_def *(NirShader &, nir_def *word)>;
using Expected = std::function<float(uint32_t)>;

/// Runs a shader that computes one float from each random word.
void expect_floats(uint32_t W, const Build &build, const Expected &expected)
{
   NirShader shader(W, words);
   nir_def *place = nir_imul_imm(&shader.b, shader.local_index(), 4);
   shader.store(1, place, build(shader, shader.load(0, place, 1, 32)));
   const auto program = shader.compile();
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test_seed());
   std::vector<Bytes> buffers = {random_bytes(random, words * 4), Bytes(words * 4, 0xff)};
   run(**program, buffers, 1);
   for (uint32_t i = 0; i < words; i++) {
      uint32_t word, result;
      memcpy(&word, &buffers[0][4 * i], 4);
      memcpy(&result, &buffers[1][4 * i], 4);
      EXPECT_EQ(result, std::bit_cast<uint32_t>(expected(word))) << W << " lanes, word " << word;
   }
}

void expect_floats(const Build &build, const Expected &expected)
{
   for (const uint32_t W : {8, 16, 32, 64})
      expect_floats(W, build, expected);
}

/// float((word >> shift & mask) + more) - 8
Build from_bits(unsigned shift, unsigned mask, int more)
{
   return [=](NirShader &shader, nir_def *word) {
      nir_builder *b = &shader.b;
      nir_def *bits = nir_iand_imm(b, nir_ushr_imm(b, word, shift), mask);
      return nir_fadd_imm(b, nir_u2f32(b, nir_iadd_imm(b, bits, more)), -8);
   };
}

TEST(Tables, BitsThatBecomeFloats)
{
   for (const unsigned mask : {1, 6, 7, 15, 31, 26, 63}) {
      for (const unsigned shift : {0, 4, 28}) {
         for (const int more : {0, 3})
            expect_floats(from_bits(shift, mask, more),
                          [=](uint32_t word) { return float((word >> shift & mask) + more) - 8; });
      }
   }
}

/// A number of 16 bits, widened after the look-up's index.
TEST(Tables, HalvesOfWords)
{
   const auto build = [](NirShader &shader, nir_def *word) {
      nir_builder *b = &shader.b;
      nir_def *half = nir_u2u16(b, nir_ushr_imm(b, word, 16));
      nir_def *low = nir_iand_imm(b, half, 15);
      return nir_fmul_imm(b, nir_u2f32(b, low), 0.1f);
   };
   expect_floats(build, [](uint32_t word) { return float(word >> 16 & 15) * 0.1f; });
}

TEST(Tables, ConstantArrays)
{
   float values[32];
   for (unsigned i = 0; i < std::size(values); i++)
      values[i] = float(i * i) - 100.5f;
   for (const unsigned mask : {7, 15, 31}) {
      const auto build = [&](NirShader &shader, nir_def *word) {
         nir_builder *b = &shader.b;
         b->shader->constant_data = rzalloc_size(b->shader, sizeof values);
         b->shader->constant_data_size = sizeof values;
         memcpy(b->shader->constant_data, values, sizeof values);
         nir_def *offset = nir_ishl_imm(b, nir_iand_imm(b, nir_ushr_imm(b, word, 9), mask), 2);
         return _nir_build_load_constant(b, 1, 32, offset,
                                         {._ = 0,
                                          .base = 0,
                                          .range = sizeof values,
                                          .access = gl_access_qualifier(0),
                                          .align_mul = 4,
                                          .align_offset = 0});
      };
      expect_floats(build, [&](uint32_t word) { return values[word >> 9 & mask]; });
   }
}

} // namespace
} // namespace weft::cpu::test
