// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/plan_cmat_form.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using enum ComponentType;

constexpr MatrixOperation floats(uint32_t m, uint32_t n, uint32_t k)
{
   return {m, n, k, f16, f16, f32, f32, false};
}

glsl_cmat_description matrix(glsl_base_type type, uint32_t rows, uint32_t cols, glsl_cmat_use use)
{
   glsl_cmat_description desc = {};
   desc.element_type = type;
   desc.scope = SCOPE_SUBGROUP;
   desc.rows = uint16_t(rows);
   desc.cols = uint16_t(cols);
   desc.use = use;
   return desc;
}

/// A shader with one product.
CmatUses product(uint32_t m, uint32_t n, uint32_t k)
{
   CmatUses uses;
   uses.matrices = {matrix(GLSL_TYPE_FLOAT16, m, k, GLSL_CMAT_USE_A),
                    matrix(GLSL_TYPE_FLOAT16, k, n, GLSL_CMAT_USE_B),
                    matrix(GLSL_TYPE_FLOAT, m, n, GLSL_CMAT_USE_ACCUMULATOR)};
   uses.operations = {floats(m, n, k)};
   return uses;
}

/// The plan for a target with one tile, as text, or the error.
std::string planned(const CmatUses &uses, MatrixForm form)
{
   const Target target = {.subgroup_size = 32, .form = form, .native = {floats(16, 16, 16)}};
   const Result<FormPlan> plan = plan_cmat_form(uses, target);
   return plan ? describe(*plan) : plan.error().message;
}

constexpr MatrixForm registers = MatrixForm::registers, private_tiles = MatrixForm::private_tiles,
                     drivers = MatrixForm::driver_tiles;

TEST(PlanCmatForm, NativeMatricesAreNotCut)
{
   EXPECT_EQ(planned(product(16, 16, 16), private_tiles), "private tiles");
   EXPECT_EQ(planned(product(16, 16, 16), drivers), "driver's tiles");
   EXPECT_EQ(planned(product(16, 16, 16), registers), "registers");
}

TEST(PlanCmatForm, LargerMatricesAreCut)
{
   EXPECT_EQ(planned(product(32, 16, 64), private_tiles),
             "private tiles, cut to 16x16, k 16 of 16 bits");
   EXPECT_EQ(planned(product(32, 16, 64), drivers),
             "driver's tiles, cut to 16x16, k 16 of 16 bits");
}

/// Private tiles are padded.
TEST(PlanCmatForm, MatricesThatNoTileDivides)
{
   EXPECT_EQ(planned(product(8, 8, 8), private_tiles),
             "private tiles, cut to 16x16, k 16 of 16 bits");
   EXPECT_EQ(planned(product(8, 8, 8), drivers), "registers");
}

TEST(PlanCmatForm, TypesWithoutTiles)
{
   CmatUses uses = product(16, 16, 16);
   uses.matrices.push_back(matrix(GLSL_TYPE_DOUBLE, 16, 16, GLSL_CMAT_USE_ACCUMULATOR));
   EXPECT_EQ(planned(uses, private_tiles),
             "the shader's cooperative matrices cannot be built from the target's tiles");
   EXPECT_EQ(planned(uses, drivers), "registers");
}

/// A driver does not report the place of an element.
TEST(PlanCmatForm, SingleElements)
{
   CmatUses uses = product(16, 16, 16);
   uses.single_elements = true;
   EXPECT_EQ(planned(uses, private_tiles), "private tiles");
   EXPECT_EQ(planned(uses, drivers), "registers");
}

TEST(PlanCmatForm, MatricesWithoutAUse)
{
   CmatUses uses = product(16, 16, 16);
   uses.matrices.push_back(matrix(GLSL_TYPE_FLOAT16, 16, 16, GLSL_CMAT_USE_NONE));
   EXPECT_EQ(planned(uses, private_tiles), "private tiles");
   EXPECT_EQ(planned(uses, drivers), "registers");
}

TEST(PlanCmatForm, ShadersWithoutMatrices)
{
   EXPECT_EQ(planned({}, private_tiles), "registers");
   EXPECT_EQ(planned({}, drivers), "registers");
}

} // namespace
} // namespace weft
