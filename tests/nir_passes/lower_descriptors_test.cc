// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tests that Vulkan's bindings become places in the sets' memory.

#include "nir_passes/memory/lower_descriptors.h"

#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::Built;

class LowerDescriptors : public testing::Test {
protected:
   Built built;
   nir_builder *b = &built.b;

   nir_def *index(uint32_t set, uint32_t binding, nir_def *element)
   {
      return _nir_build_vulkan_resource_index(
         b, 3, 32, element,
         {._ = 0, .desc_set = set, .binding = binding, .desc_type = 7 /* a storage buffer */});
   }

   nir_def *descriptor(nir_def *index)
   {
      return _nir_build_load_vulkan_descriptor(b, 3, 32, index, {._ = 0, .desc_type = 7});
   }

   /// An address after the pass and constant folding.
   std::array<uint32_t, 3> lowered(nir_def *address, std::span<const BindingLayout> bindings)
   {
      nir_intrinsic_instr *use =
         _nir_build_store_scratch(b, address, nir_imm_int(b, 0),
                                  {._ = 0, .align_mul = 4, .align_offset = 0, .write_mask = 7});
      Result<bool> result = lower_descriptors(built.shader.get(), bindings);
      EXPECT_TRUE(result) << result.error().message;
      while (nir_opt_constant_folding(built.shader.get()) || nir_copy_prop(built.shader.get())) {
      }
      const nir_src &src = use->src[0];
      EXPECT_TRUE(nir_src_is_const(src)) << test::body(built.shader.get());
      if (!nir_src_is_const(src))
         return {};
      return {uint32_t(nir_src_comp_as_uint(src, 0)), uint32_t(nir_src_comp_as_uint(src, 1)),
              uint32_t(nir_src_comp_as_uint(src, 2))};
   }
};

constexpr BindingLayout bindings[] = {
   {0, 0, 0, 0, 16, 1, false},         // one
   {0, 3, 0, 16, 16, 5, false},        // an array
   {2, 0, 2, 64, 0, 20, true},         // inline data
   {2, 1, 2, 96, 16, 7, false, true},  // an array that may be shorter
   {4, 0, 8, 32, 16, 0, false, false}, // of unknown length
};

TEST_F(LowerDescriptors, AnElementIsAPlace)
{
   EXPECT_EQ(lowered(descriptor(index(0, 3, nir_imm_int(b, 2))), bindings),
             (std::array<uint32_t, 3>{0, 16 + 2 * 16, 0}));
}

TEST_F(LowerDescriptors, AnIndexIsClampedToTheArray)
{
   for (int element : {4, 5, 1000, -1})
      EXPECT_EQ(lowered(descriptor(index(0, 3, nir_imm_int(b, element))), bindings),
                (std::array<uint32_t, 3>{0, 16 + 4 * 16, 0}))
         << element;
}

TEST_F(LowerDescriptors, UnlessItsLengthIsUnknown)
{
   EXPECT_EQ(lowered(descriptor(index(4, 0, nir_imm_int(b, 1000))), bindings),
             (std::array<uint32_t, 3>{8, 32 + 1000 * 16, 0}));
}

TEST_F(LowerDescriptors, MovingOnInAnArrayCountsItsElements)
{
   nir_def *moved = _nir_build_vulkan_resource_reindex(b, 32, index(0, 3, nir_imm_int(b, 1)),
                                                       nir_imm_int(b, 2), {._ = 0, .desc_type = 7});
   EXPECT_EQ(lowered(descriptor(moved), bindings), (std::array<uint32_t, 3>{0, 16 + 3 * 16, 0}));
}

TEST_F(LowerDescriptors, TheSlotSaysWhatIsSpecial)
{
   const auto block = lowered(descriptor(index(2, 0, nir_imm_int(b, 0))), bindings);
   EXPECT_TRUE(block[0] & inline_data_slot);
   EXPECT_EQ(slot_number(block[0]), 2u);
   EXPECT_EQ(inline_bytes(block[0]), 20u);
   EXPECT_EQ(block[1], 64u);
   const auto optional = lowered(descriptor(index(2, 1, nir_imm_int(b, 9))), bindings);
   EXPECT_EQ(optional, (std::array<uint32_t, 3>{2 | optional_slot, 96 + 6 * 16, 0}));
}

TEST_F(LowerDescriptors, UnknownBindingsAreRefused)
{
   descriptor(index(1, 3, nir_imm_int(b, 0)));
   Result<bool> result = lower_descriptors(built.shader.get(), bindings);
   ASSERT_FALSE(result);
   EXPECT_EQ(
      result.error().message,
      "the shader uses the binding 3 of the descriptor set 1, which the pipeline layout lacks");
}

TEST_F(LowerDescriptors, InlineDataHasALimit)
{
   const BindingLayout large[] = {{0, 0, 0, 0, 0, max_inline_bytes + 1, true}};
   descriptor(index(0, 0, nir_imm_int(b, 0)));
   EXPECT_FALSE(lower_descriptors(built.shader.get(), large));
}

} // namespace
} // namespace weft
