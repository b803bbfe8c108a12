// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Whole matrix products out of tiles: several subgroups per workgroup that share tiles through
/// shared memory, and big loops over K.

#include "tests/e2e/gemm.h"

#include <algorithm>
#include <array>

namespace weft::e2e {

namespace {

struct Sizes {
   uint32_t m, n, k;
};

/// C + A·B for multiples of the tile's size. Each step along K is one multiply-add.
void expect_product(Device &device, const GemmShader &shader, const Sizes &sizes,
                    oracle::Random &random)
{
   const MatrixOperation &op = shader.operation;
   const auto [m, n, k] = sizes;
   SCOPED_TRACE(operation_name(op) + " as part of " + std::to_string(m) + "x" + std::to_string(n) +
                "x" + std::to_string(k) + ", subgroup size " +
                std::to_string(shader.subgroup_size));
   const oracle::Matrix a = random_matrix(random, op.a, m, k, oracle::Inputs::plain);
   const oracle::Matrix b = random_matrix(random, op.b, k, n, oracle::Inputs::plain);
   const oracle::Matrix c = random_matrix(
      random, op.c, m, n, op.saturating ? oracle::Inputs::near_bounds : oracle::Inputs::plain);
   Gemm gemm(device, shader, m, n, k);
   gemm.upload(a, b, c);
   gemm.run(1);
   count_case();
   const oracle::Expectation expected = gemm_expectation(device, op, a, b, c);
   const oracle::Matrix d = gemm.download();
   EXPECT_EQ(expected.mismatch(d), std::nullopt);
   if (device.is_weft) {
      EXPECT_LE(rms_error(expected, d), rms_limit(op, k));
   }
   EXPECT_TRUE(gemm.guards_intact());
}

using Staging = GemmShader::Staging;

/// A product of the sizes that `sizes_of` gives, of every operation.
void check_products(uint32_t tiles_m, uint32_t tiles_n, Staging staging,
                    const std::function<Sizes(const GemmShader &)> &sizes_of, uint32_t stages = 1)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   uint32_t turn = oracle::draw(random, uint32_t(sizes.size())), used = 0;
   for (const MatrixOperation &op : matrix_operations(device, SmallFloats::with)) {
      const uint32_t size = sizes[turn++ % sizes.size()];
      std::string missing =
         op.c != op.result ? "GLSL that gives the result another type than C" : "";
      for (ComponentType type : {op.a, op.b, op.c})
         missing = missing.empty() ? missing_feature(device, type) : missing;
      if (!missing.empty()) {
         skip_case("needs " + missing);
         continue;
      }
      used++;
      GemmShader shader = {op, size, tiles_m, tiles_n, staging};
      shader.stages = stages;
      shader.constant_sizes = oracle::draw(random, 2);
      if (one_of_many(random, op) && selected(random, 16)) {
         if (staging == Staging::blocks && !shader.has_blocks())
            skip_case("steps along K of less than 16 bytes");
         else
            expect_product(device, shader, sizes_of(shader), random);
      }
      if (testing::Test::HasFailure())
         return;
   }
   if (used == 0)
      GTEST_SKIP() << "no cooperative matrices";
}

} // namespace

TEST(CmatGemm, OneSubgroupAndALongK)
{
   check_products(1, 1, Staging::none, [](const GemmShader &shader) {
      const MatrixOperation &op = shader.operation;
      return Sizes{op.m, op.n, op.k * 40};
   });
}

/// Flexible dimensions, one after the other near the device's largest.
TEST(CmatGemm, MatricesOfLargeDimensions)
{
   Device &device = plain_device();
   const uint32_t most = device.matrix2_properties.cooperativeMatrixFlexibleDimensionsMaxDimension;
   std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> rows = device.flexible_properties;
   std::erase_if(rows, [&](const VkCooperativeMatrixFlexibleDimensionsPropertiesNV &p) {
      return p.scope != VK_SCOPE_SUBGROUP_KHR || p.CType != p.ResultType ||
             std::ranges::any_of(std::array{p.AType, p.BType, p.CType}, [&](VkComponentTypeKHR t) {
                return !oracle::has_format(ComponentType(t)) ||
                       !missing_feature(device, ComponentType(t)).empty();
             });
   });
   if (rows.empty())
      return skip_case("no flexible dimensions");
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   for (uint32_t dimension = 0; dimension < 3; dimension++) {
      const auto &p = rows[oracle::draw(random, uint32_t(rows.size()))];
      const auto size = [&](uint32_t number, uint32_t unit) {
         return (number == dimension ? most / unit - oracle::draw(random, 3)
                                     : 1 + oracle::draw(random, 3)) *
                unit;
      };
      const Sizes all = {size(0, p.MGranularity), size(1, p.NGranularity), size(2, p.KGranularity)};
      const MatrixOperation op = {all.m,
                                  all.n,
                                  all.k,
                                  ComponentType(p.AType),
                                  ComponentType(p.BType),
                                  ComponentType(p.CType),
                                  ComponentType(p.ResultType),
                                  bool(p.saturatingAccumulation)};
      const uint32_t subgroup_size = sizes[oracle::draw(random, uint32_t(sizes.size()))];
      expect_product(device, {op, subgroup_size, 1, 1, Staging::none}, all, random);
   }
}

TEST(CmatGemm, SeveralSubgroupsAndTiles)
{
   check_products(2, 2, Staging::none, [](const GemmShader &shader) {
      const MatrixOperation &op = shader.operation;
      return Sizes{op.m * 8, op.n * 4, op.k * 5};
   });
}

TEST(CmatGemm, ThroughSharedMemory)
{
   check_products(1, 2, Staging::elements, [](const GemmShader &shader) {
      const MatrixOperation &op = shader.operation;
      return Sizes{op.m * 4, op.n * 8, op.k * 3};
   });
}

TEST(CmatGemm, ThroughSharedMemoryByBlocks)
{
   check_products(2, 1, Staging::blocks, [](const GemmShader &shader) {
      const MatrixOperation &op = shader.operation;
      return Sizes{op.m * 8, op.n * 4, shader.stage_depth() * 3};
   });
}

TEST(CmatGemm, ThroughTwoStagesOfSharedMemory)
{
   const auto sizes_of = [](const GemmShader &shader) {
      const MatrixOperation &op = shader.operation;
      return Sizes{op.m * 2, op.n * 4, shader.stage_depth() * 4};
   };
   check_products(1, 2, Staging::blocks, sizes_of, 2);
}

TEST(CmatGemm, MoreAtATimeThanFitsIntoRegisters)
{
   check_products(4, 2, Staging::blocks, [](const GemmShader &shader) {
      const MatrixOperation &op = shader.operation;
      return Sizes{op.m * 4, op.n * 2, shader.stage_depth() * 2};
   });
}

} // namespace weft::e2e
