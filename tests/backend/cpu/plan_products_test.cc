// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Plans of products of 16×16 tiles in subgroups of 16. A tile of floats takes 1024 bytes: 64 bytes
/// of each invocation.

#include "backend/cpu/codegen/products/plan_products.h"

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

constexpr uint32_t W = 16;

glsl_cmat_description tile(glsl_cmat_use use, glsl_base_type type = GLSL_TYPE_FLOAT,
                           uint32_t rows = 16)
{
   glsl_cmat_description desc = {};
   desc.element_type = type;
   desc.scope = SCOPE_SUBGROUP;
   desc.rows = rows;
   desc.cols = 16;
   desc.use = use;
   return desc;
}

struct Types {
   glsl_base_type c = GLSL_TYPE_FLOAT, d = GLSL_TYPE_FLOAT, factors = GLSL_TYPE_FLOAT;
   uint32_t rows = 16;
};

class PlanProducts : public testing::Test {
protected:
   PlanProducts() { shader.b.shader->scratch_size = 4096; }

   /// Offsets are bytes of an invocation.
   nir_def *at(uint32_t offset) { return nir_imm_int(&shader.b, int(offset)); }
   nir_def *shared_at(uint32_t offset) { return nir_imm_int64(&shader.b, offset); }

   const nir_intrinsic_instr *multiply(nir_def *d, nir_def *a, nir_def *b, nir_def *c,
                                       const Types &types = {})
   {
      nir_intrinsic_instr *product =
         nir_intrinsic_instr_create(shader.b.shader, nir_intrinsic_tile_muladd_weft);
      nir_def *operands[] = {d, a, b, c};
      for (unsigned i = 0; i < 4; i++)
         product->src[i] = nir_src_for_ssa(operands[i]);
      nir_intrinsic_set_cmat_desc(product, tile(GLSL_CMAT_USE_ACCUMULATOR, types.d, types.rows));
      nir_intrinsic_set_a_cmat_desc(product, tile(GLSL_CMAT_USE_A, types.factors, types.rows));
      nir_intrinsic_set_b_cmat_desc(product, tile(GLSL_CMAT_USE_B, types.factors));
      nir_intrinsic_set_c_cmat_desc(product, tile(GLSL_CMAT_USE_ACCUMULATOR, types.c, types.rows));
      nir_builder_instr_insert(&shader.b, &product->instr);
      return product;
   }
   const nir_intrinsic_instr *multiply(uint32_t d, uint32_t a, uint32_t b)
   {
      return multiply(at(d), at(a), at(b), at(d));
   }

   Result<ProductPlan> plan() { return plan_products(shader.b.shader, W); }

   test::NirShader shader{W, W};
};

TEST_F(PlanProducts, UnrolledLoopsAreOneCall)
{
   std::vector<const nir_intrinsic_instr *> products;
   for (uint32_t k = 0; k < 2; k++)
      for (uint32_t i = 0; i < 2; i++)
         for (uint32_t j = 0; j < 2; j++)
            products.push_back(
               multiply(64 * (2 * i + j), 1024 + 64 * (2 * k + i), 2048 + 64 * (2 * k + j)));
   const auto found = plan();
   ASSERT_TRUE(found) << found.error().message;
   const auto calls = found->calls(products[0]);
   ASSERT_EQ(calls.size(), 1u);
   const ProductCall &call = calls[0];
   EXPECT_EQ(call.block.rows, 2u);
   EXPECT_EQ(call.block.cols, 2u);
   EXPECT_EQ(call.block.depth, 2u);
   EXPECT_EQ(call.block.a_row, 1024u);
   EXPECT_EQ(call.block.a_step, 2048u);
   EXPECT_EQ(call.block.b_col, 1024u);
   EXPECT_EQ(call.block.b_step, 2048u);
   EXPECT_EQ(call.block.d_row, 2048u);
   EXPECT_EQ(call.block.d_col, 1024u);
   EXPECT_EQ(call.d.offset, &products[0]->src[0]);
   EXPECT_EQ(call.a.offset, &products[0]->src[1]);
   EXPECT_EQ(call.b.offset, &products[0]->src[2]);
   for (const TileOperand &operand : {call.d, call.a, call.b}) {
      EXPECT_EQ(operand.bytes, 4096u);
      EXPECT_EQ(operand.beyond, 0);
   }
   EXPECT_TRUE(call.in_place);
   EXPECT_EQ(call.operation.c, ComponentType::f32);
   for (size_t i = 1; i < products.size(); i++)
      EXPECT_TRUE(found->calls(products[i]).empty()) << i;
}

TEST_F(PlanProducts, ACallForEachBlock)
{
   // The second sum takes one product more, whose tile of B lies before the others.
   const auto *first = multiply(0, 1024, 2048);
   multiply(64, 1024, 2048 + 192);
   multiply(64, 1024 + 64, 2048 + 64);
   const auto found = plan();
   const auto calls = found->calls(first);
   ASSERT_EQ(calls.size(), 2u);
   EXPECT_EQ(calls[0].block.cols, 2u);
   EXPECT_EQ(calls[0].block.b_col, 3072u);
   EXPECT_EQ(calls[0].b.bytes, 4096u);
   EXPECT_EQ(calls[0].d.beyond, 0);
   EXPECT_EQ(calls[1].d.beyond, 1024);
   EXPECT_EQ(calls[1].a.beyond, 1024);
   EXPECT_EQ(calls[1].b.beyond, 1024);
   EXPECT_EQ(calls[1].d.bytes, 1024u);
}

TEST_F(PlanProducts, OtherInstructionsEndABlock)
{
   const auto *first = multiply(0, 1024, 2048);
   nir_iadd(&shader.b, at(1), at(2));
   const auto *second = multiply(64, 1024, 2048 + 64);
   shader.barrier();
   const auto *third = multiply(128, 1024, 2048 + 128);
   const auto found = plan();
   ASSERT_EQ(found->calls(first).size(), 1u);
   EXPECT_EQ(found->calls(first)[0].block.cols, 2u);
   EXPECT_TRUE(found->calls(second).empty());
   EXPECT_EQ(found->calls(third).size(), 1u);
}

TEST_F(PlanProducts, OffsetsMayHaveOneUnknownBase)
{
   nir_def *base = nir_load_subgroup_id(&shader.b), *other = nir_load_num_subgroups(&shader.b);
   const auto plus = [&](nir_def *from, uint32_t more) {
      return nir_iadd_imm(&shader.b, from, more);
   };
   const auto *first = multiply(at(0), plus(base, 1024), at(2048), at(0));
   const auto *second = multiply(at(64), plus(base, 1088), at(2048), at(64));
   const auto *third = multiply(at(128), plus(other, 1024), at(2048), at(128));
   const auto found = plan();
   ASSERT_EQ(found->calls(first).size(), 1u);
   EXPECT_EQ(found->calls(first)[0].block.rows, 2u);
   EXPECT_TRUE(found->calls(second).empty());
   EXPECT_EQ(found->calls(third).size(), 1u);
}

TEST_F(PlanProducts, SharedFactorsHaveBytesOfTheSubgroup)
{
   shader.use_shared(8192);
   const auto *first = multiply(at(0), shared_at(1024), shared_at(4096), at(0));
   multiply(at(64), shared_at(1024), shared_at(5120), at(64));
   const auto found = plan();
   ASSERT_EQ(found->calls(first).size(), 1u);
   EXPECT_EQ(found->calls(first)[0].block.cols, 2u);
   EXPECT_EQ(found->calls(first)[0].block.b_col, 1024u);
   EXPECT_EQ(found->calls(first)[0].block.d_col, 1024u);
}

TEST_F(PlanProducts, COfAnotherPlaceIsReadOnce)
{
   const auto *first = multiply(at(0), at(1024), at(2048), at(512));
   const auto *second = multiply(at(0), at(1088), at(2112), at(0));
   const auto *third = multiply(at(64), at(1024), at(2048), at(64));
   const auto found = plan();
   ASSERT_EQ(found->calls(first).size(), 1u);
   const ProductCall &call = found->calls(first)[0];
   EXPECT_FALSE(call.in_place);
   EXPECT_EQ(call.c.offset, &first->src[3]);
   EXPECT_EQ(call.c.bytes, 1024u);
   EXPECT_EQ(call.block.depth, 2u);
   EXPECT_TRUE(found->calls(second).empty());
   EXPECT_EQ(found->calls(third).size(), 1u);
}

TEST_F(PlanProducts, NarrowSumsAreRoundedAfterEachProduct)
{
   const Types halves = {GLSL_TYPE_FLOAT16, GLSL_TYPE_FLOAT16, GLSL_TYPE_FLOAT16};
   const auto *first = multiply(at(0), at(1024), at(2048), at(0), halves);
   const auto *second = multiply(at(0), at(1088), at(2112), at(0), halves);
   const auto *apart = multiply(at(32), at(1088), at(2176), at(32), halves);
   const auto found = plan();
   ASSERT_TRUE(found) << found.error().message;
   EXPECT_EQ(found->calls(first).size(), 1u);
   ASSERT_EQ(found->calls(second).size(), 1u);
   EXPECT_EQ(found->calls(second)[0].block.depth, 1u);
   EXPECT_TRUE(found->calls(apart).empty());
}

/// A sum that split_cmat_shapes left wide until its last product.
TEST_F(PlanProducts, WideSumsAreRoundedOnce)
{
   const auto *first = multiply(at(512), at(1024), at(2048), at(0),
                                {GLSL_TYPE_FLOAT16, GLSL_TYPE_FLOAT, GLSL_TYPE_FLOAT16});
   const auto *last = multiply(at(0), at(1088), at(2112), at(512),
                               {GLSL_TYPE_FLOAT, GLSL_TYPE_FLOAT16, GLSL_TYPE_FLOAT16});
   const auto found = plan();
   ASSERT_TRUE(found) << found.error().message;
   ASSERT_EQ(found->calls(first).size(), 1u);
   const ProductCall &call = found->calls(first)[0];
   EXPECT_EQ(call.operation.c, ComponentType::f16);
   EXPECT_EQ(call.operation.result, ComponentType::f16);
   EXPECT_EQ(call.block.depth, 2u);
   EXPECT_EQ(call.d.offset, &last->src[0]);
   EXPECT_EQ(call.d.bytes, 512u);
   EXPECT_TRUE(call.in_place);
   EXPECT_TRUE(found->calls(last).empty());
}

TEST_F(PlanProducts, WithoutAKernelThereIsAnError)
{
   multiply(at(0), at(1024), at(2048), at(0), {.rows = 24});
   EXPECT_FALSE(plan());
}

} // namespace
} // namespace weft::cpu
