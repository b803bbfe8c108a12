// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The neighbours in memory that one access joins.

#include "nir_passes/memory/opt_combine_accesses.h"

#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft {
namespace {

class CombineAccesses : public testing::Test {
protected:
   CombineOptions options;
   test::Built built;
   nir_builder *b = &built.b;
   nir_def *buffer = nir_imm_ivec2(b, 0, 0);
   nir_def *base = nir_imul_imm(b, nir_load_subgroup_invocation(b), 64);

   nir_def *load(uint32_t offset, unsigned bits = 32)
   {
      nir_def *value = _nir_build_load_ssbo(
         b, 1, bits, buffer, nir_iadd_imm(b, base, offset),
         {._ = 0, .access = gl_access_qualifier(0), .align_mul = 64, .align_offset = offset % 64});
      nir_mov(b, value); // unused elements are not loaded
      return value;
   }

   void store(uint32_t offset, nir_def *value)
   {
      _nir_build_store_ssbo(b, value, buffer, nir_iadd_imm(b, base, offset),
                            {._ = 0,
                             .write_mask = 1,
                             .access = gl_access_qualifier(0),
                             .align_mul = 64,
                             .align_offset = offset});
   }

   /// The number of components of each load (or store) after the pass.
   std::vector<unsigned> left(nir_intrinsic_op op = nir_intrinsic_load_ssbo)
   {
      opt_combine_accesses(built.shader.get(), options);
      std::vector<unsigned> sizes;
      nir_foreach_block(block, b->impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_intrinsic &&
                nir_instr_as_intrinsic(instr)->intrinsic == op)
               sizes.push_back(nir_instr_as_intrinsic(instr)->num_components);
         }
      }
      return sizes;
   }
};

TEST_F(CombineAccesses, NeighboursInAnyOrder)
{
   for (uint32_t offset : {8u, 0u, 12u, 4u})
      load(offset);
   EXPECT_EQ(left(), std::vector<unsigned>{4});
}

TEST_F(CombineAccesses, NotMoreThan32Bytes)
{
   for (uint32_t i = 0; i < 16; i++)
      load(4 * i);
   EXPECT_EQ(left(), (std::vector<unsigned>{8, 8}));
}

TEST_F(CombineAccesses, NotOverAHole)
{
   load(0);
   load(8);
   EXPECT_EQ(left(), (std::vector<unsigned>{1, 1}));
}

TEST_F(CombineAccesses, NotOfDifferentSizes)
{
   load(0, 32);
   load(4, 16);
   EXPECT_EQ(left(), (std::vector<unsigned>{1, 1}));
}

TEST_F(CombineAccesses, NotOverAStoreToTheSamePlace)
{
   nir_def *first = load(0);
   store(4, nir_iadd_imm(b, first, 1));
   load(4);
   EXPECT_EQ(left(), (std::vector<unsigned>{1, 1}));
}

TEST_F(CombineAccesses, Stores)
{
   store(4, base);
   store(0, base);
   EXPECT_EQ(left(nir_intrinsic_store_ssbo), std::vector<unsigned>{2});
}

/// Where the first is out of bounds, the second, after 2^32, need not be.
TEST_F(CombineAccesses, WrappingOffsets)
{
   base = nir_imul_imm(b, nir_load_subgroup_invocation(b), 4);
   const auto load = [&](uint32_t offset) {
      nir_mov(b, _nir_build_load_ssbo(
                    b, 1, 32, buffer, nir_iadd_imm(b, base, offset),
                    {._ = 0, .access = gl_access_qualifier(0), .align_mul = 4, .align_offset = 0}));
   };
   load(0);
   load(4);
   EXPECT_EQ(left(), (std::vector<unsigned>{1, 1}));
   options.checks_components = true;
   EXPECT_EQ(left(), std::vector<unsigned>{2});
}

TEST_F(CombineAccesses, SixAreFourAndTwo)
{
   for (uint32_t i = 0; i < 6; i++)
      load(4 * i);
   std::vector<unsigned> sizes = left();
   std::ranges::sort(sizes);
   EXPECT_EQ(sizes, (std::vector<unsigned>{2, 4}));
}

/// Mesa's patched pass checks a limited number of accesses between two for a conflict.
class CombineDistantAccesses : public CombineAccesses,
                               public testing::WithParamInterface<unsigned> {};

TEST_P(CombineDistantAccesses, NeighboursAreFoundUpToSomeDistance)
{
   load(0);
   for (unsigned i = 1; i <= GetParam(); ++i)
      load(i * 64);
   load(4);
   EXPECT_EQ(std::ranges::count(left(), 2u), GetParam() <= 256);
}

INSTANTIATE_TEST_SUITE_P(Accesses, CombineDistantAccesses, testing::Values(10, 250, 300, 4000));

} // namespace
} // namespace weft
