// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Whole matrix products out of tiles: several subgroups per workgroup that share tiles through
/// shared memory, and big loops over K.

#include "tests/e2e/gemm.h"

namespace weft::e2e {

namespace {

/// C + A·B of sizes M, N, K, multiples of the tile's, each K step one multiply-add.
void expect_product(Device &device, const GemmShader &shader, uint32_t m, uint32_t n, uint32_t k,
                    oracle::Random &random)
{
   const MatrixOperation &op = shader.operation;
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

void for_each_gemm(Device &device, oracle::Random &random, uint32_t reduction,
                   const std::function<void(const MatrixOperation &, uint32_t subgroup_size)> &body)
{
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
      if (one_of_many(random, op) && selected(random, reduction))
         body(op, size);
      if (testing::Test::HasFailure())
         return;
   }
   if (used == 0)
      GTEST_SKIP() << "no cooperative matrices";
}

} // namespace

TEST(cmat_gemm, one_subgroup_and_a_long_k)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_gemm(device, random, 16, [&](const MatrixOperation &op, uint32_t size) {
      const GemmShader shader = {.operation = op,
                                 .subgroup_size = size,
                                 .tiles_m = 1,
                                 .tiles_n = 1,
                                 .staging = GemmShader::Staging::none};
      expect_product(device, shader, op.m, op.n, op.k * 40, random);
   });
}

TEST(cmat_gemm, several_subgroups_and_tiles)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_gemm(device, random, 16, [&](const MatrixOperation &op, uint32_t size) {
      const GemmShader shader = {.operation = op,
                                 .subgroup_size = size,
                                 .tiles_m = 2,
                                 .tiles_n = 2,
                                 .staging = GemmShader::Staging::none};
      expect_product(device, shader, op.m * 8, op.n * 4, op.k * 5, random);
   });
}

TEST(cmat_gemm, through_shared_memory)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_gemm(device, random, 16, [&](const MatrixOperation &op, uint32_t size) {
      const GemmShader shader = {.operation = op,
                                 .subgroup_size = size,
                                 .tiles_m = 1,
                                 .tiles_n = 2,
                                 .staging = GemmShader::Staging::elements};
      expect_product(device, shader, op.m * 4, op.n * 8, op.k * 3, random);
   });
}

TEST(cmat_gemm, through_shared_memory_by_blocks)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_gemm(device, random, 16, [&](const MatrixOperation &op, uint32_t size) {
      const GemmShader shader = {.operation = op,
                                 .subgroup_size = size,
                                 .tiles_m = 2,
                                 .tiles_n = 1,
                                 .staging = GemmShader::Staging::blocks};
      if (!shader.has_blocks())
         return skip_case("steps along K of less than 16 bytes");
      expect_product(device, shader, op.m * 8, op.n * 4, shader.stage_depth() * 3, random);
   });
}

} // namespace weft::e2e
