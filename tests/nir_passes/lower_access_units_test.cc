// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/lower_access_units.h"
#include "nir_passes/memory/unit_index.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::Built;

/// The index as an expression of %0, the subgroup's number.
std::string index_of(nir_def *(*offset)(nir_builder *, nir_def *), unsigned log2)
{
   Built built;
   nir_def *id = nir_load_subgroup_id(&built.b);
   nir_def *index = unit_index(&built.b, offset(&built.b, id), log2);
   nir_store_global(&built.b, nir_imm_int64(&built.b, 0), 4, index, 1);
   nir_opt_constant_folding(built.shader.get());
   nir_copy_prop(built.shader.get());
   nir_opt_algebraic(built.shader.get());
   nir_opt_dce(built.shader.get());
   return test::body(built.shader.get());
}

TEST(UnitIndex, SumsAndProductsAreDivided)
{
   const std::string text = index_of(
      [](nir_builder *b, nir_def *id) { return nir_iadd_imm(b, nir_imul_imm(b, id, 12), 8); }, 2);
   EXPECT_NE(text.find("imul %0, "), std::string::npos) << text;
   EXPECT_NE(text.find("iadd"), std::string::npos) << text;
   EXPECT_EQ(text.find("ushr"), std::string::npos) << text;
}

TEST(UnitIndex, SmallShiftsOfMultiplesAreDivided)
{
   const std::string text = index_of(
      [](nir_builder *b, nir_def *id) { return nir_ishl_imm(b, nir_imul_imm(b, id, 6), 1); }, 2);
   EXPECT_NE(text.find("imul %0, "), std::string::npos) << text;
   EXPECT_EQ(text.find("ushr"), std::string::npos) << text;
}

TEST(UnitIndex, NegativeOffsetsStayNegative)
{
   const std::string text = index_of(
      [](nir_builder *b, nir_def *id) { return nir_iadd_imm(b, nir_ishl_imm(b, id, 4), -16); }, 4);
   EXPECT_NE(text.find("0xffffffff"), std::string::npos) << text;
   EXPECT_EQ(text.find("ushr"), std::string::npos) << text;
}

TEST(UnitIndex, WhatIsNotSeenToBeAMultipleIsShifted)
{
   const std::string text =
      index_of([](nir_builder *b, nir_def *id) { return nir_iadd_imm(b, id, 4); }, 2);
   EXPECT_NE(text.find("ushr"), std::string::npos) << text;
}

/// One load of a storage buffer with this alignment, after the pass.
std::string load(unsigned components, unsigned bits, unsigned align, unsigned access = 0)
{
   Built built;
   nir_builder *b = &built.b;
   nir_def *offset = nir_imul_imm(b, nir_load_subgroup_id(b), align);
   nir_def *value = _nir_build_load_ssbo(
      b, components, bits, nir_imm_ivec2(b, 0, 0), offset,
      {._ = 0, .access = gl_access_qualifier(access), .align_mul = align, .align_offset = 0});
   nir_store_global(b, nir_imm_int64(b, 0), 4, value, nir_component_mask(components));
   EXPECT_TRUE(lower_access_units(built.shader.get()));
   nir_validate_shader(built.shader.get(), "lower_access_units");
   return test::body(built.shader.get());
}

TEST(LowerAccessUnits, AlignmentGivesTheUnit)
{
   EXPECT_EQ(test::count(load(8, 16, 16), "32x4"), 1u);
   EXPECT_EQ(test::count(load(8, 16, 2), "@load_ssbo"), 8u);
   EXPECT_EQ(test::count(load(3, 32, 16), "@load_ssbo"), 2u);
   EXPECT_EQ(test::count(load(1, 32, 4), "@load_ssbo"), 1u);
   EXPECT_EQ(test::count(load(1, 32, 1), "@load_ssbo"), 4u);
}

/// One store of a storage buffer, after the pass.
std::string store(unsigned components, unsigned bits, unsigned align, SmallUnits small)
{
   Built built;
   nir_builder *b = &built.b;
   nir_def *offset = nir_imul_imm(b, nir_load_subgroup_id(b), align);
   nir_def *value = nir_replicate(b, nir_u2uN(b, nir_load_subgroup_id(b), bits), components);
   _nir_build_store_ssbo(b, value, nir_imm_ivec2(b, 0, 0), offset,
                         {._ = 0,
                          .write_mask = nir_component_mask(components),
                          .access = {},
                          .align_mul = align,
                          .align_offset = 0});
   EXPECT_TRUE(lower_access_units(built.shader.get(), small));
   nir_validate_shader(built.shader.get(), "lower_access_units");
   return test::body(built.shader.get());
}

/// Other invocations may store neighbours in the word meanwhile.
TEST(LowerAccessUnits, PartsOfWordsAreExchanged)
{
   constexpr SmallUnits words = {.bytes = false, .halves = false};
   for (const unsigned bits : {8, 16}) {
      const std::string text = store(1, bits, bits / 8, words);
      EXPECT_EQ(test::count(text, "@store_ssbo"), 0u) << text;
      EXPECT_EQ(test::count(text, "@ssbo_atomic_swap"), 1u) << text;
      EXPECT_EQ(test::count(text, "@ssbo_atomic "), 0u) << text;
   }
   /* Whole words are not. */
   EXPECT_EQ(test::count(store(2, 16, 4, words), "@store_ssbo"), 1u);
   EXPECT_EQ(test::count(store(2, 16, 2, words), "@ssbo_atomic_swap"), 2u);
   EXPECT_EQ(test::count(store(1, 16, 2, {.bytes = false}), "@store_ssbo"), 1u);
   EXPECT_EQ(test::count(store(1, 8, 1, {.halves = false}), "@store_ssbo"), 1u);
}

/// Also the loads that the exchange adds.
TEST(LowerAccessUnits, PartsOfWordsKeepTheirQualifiers)
{
   Built built;
   nir_builder *b = &built.b;
   _nir_build_store_ssbo(
      b, nir_u2u16(b, nir_load_subgroup_id(b)), nir_imm_ivec2(b, 0, 0),
      nir_imul_imm(b, nir_load_subgroup_id(b), 2),
      {._ = 0, .write_mask = 1, .access = ACCESS_NON_UNIFORM, .align_mul = 2, .align_offset = 0});
   EXPECT_TRUE(lower_access_units(built.shader.get(), {.halves = false}));
   EXPECT_EQ(test::count(test::body(built.shader.get()), "access=non-uniform"), 2u)
      << test::body(built.shader.get());
}

TEST(LowerAccessUnits, WhatOthersSeeIsNotTakenApart)
{
   EXPECT_GT(test::count(load(1, 64, 8), "= pack_64_2x32"), 0u);
   EXPECT_EQ(test::count(load(1, 64, 8, ACCESS_COHERENT), "= pack_64_2x32"), 0u);
}

} // namespace
} // namespace weft
