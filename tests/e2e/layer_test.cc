// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Whether Weft's layer is in the place that WEFT_TEST_LAYER requires. Without the layer, tests of
/// matrices above a driver without matrices would skip all cases and pass. If the driver has its
/// own matrices, both must compute the same.

#include "tests/e2e/cases.h"
#include "tests/e2e/gemm.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace weft::e2e {

namespace {

/// The permitted difference to a device with the same bounds.
oracle::Expectation around(const oracle::Matrix &result, const oracle::Expectation &expectation)
{
   oracle::Expectation e(result);
   for (size_t i = 0; i < e.bound.size(); i++)
      e.bound[i] = 2 * expectation.bound[i];
   return e;
}

/// A product of 4 × 4 tiles, three along K.
struct Product {
   Product(oracle::Random &random, const MatrixOperation &op)
       : op(op), a(random_matrix(random, op.a, 4 * op.m, 3 * op.k, oracle::Inputs::plain)),
         b(random_matrix(random, op.b, 3 * op.k, 4 * op.n, oracle::Inputs::plain)),
         c(random_matrix(random, op.c, 4 * op.m, 4 * op.n, oracle::Inputs::plain))
   {
   }

   oracle::Expectation expectation(const Device &device) const
   {
      return gemm_expectation(device, op, a, b, c);
   }

   oracle::Matrix run(Device &device) const
   {
      Gemm gemm(device, {op, device.properties11.subgroupSize, 2, 2, GemmShader::Staging::none},
                a.rows, b.cols, a.cols);
      gemm.upload(a, b, c);
      gemm.run(1);
      return gemm.download();
   }

   MatrixOperation op;
   oracle::Matrix a, b, c;
};

} // namespace

TEST(Layer, IsWhereItShouldBe)
{
   const char *wanted = getenv("WEFT_TEST_LAYER");
   if (!wanted)
      GTEST_SKIP() << "WEFT_TEST_LAYER is not set";
   const Device &device = plain_device();
   const bool lowers = wanted == std::string("lowers");
   ASSERT_TRUE(lowers || wanted == std::string("aside")) << wanted;
   EXPECT_EQ(device.has_weft_layer, lowers);
   EXPECT_FALSE(device.matrix_properties.empty());
   EXPECT_TRUE(device.matrix_features.cooperativeMatrix);
   count_case();
}

TEST(Layer, ResultsAreTheDriversOwn)
{
   Device &device = plain_device();
   if (!device.has_weft_layer)
      GTEST_SKIP() << "no layer that lowers";
   const std::vector<MatrixOperation> native = matrix_operations(bare_device());
   oracle::Random random = test_random();
   uint32_t common = 0;
   for (const MatrixOperation &op : matrix_operations(device)) {
      if (std::find(native.begin(), native.end(), op) == native.end() || op.c != op.result)
         continue;
      common++;
      if (!one_of_many(random, op) || !selected(random, 16))
         continue;
      SCOPED_TRACE(operation_name(op));
      const Product product(random, op);
      const oracle::Matrix theirs = product.run(bare_device());
      EXPECT_EQ(around(theirs, product.expectation(device)).mismatch(product.run(device)),
                std::nullopt);
      count_case();
   }
   if (common == 0)
      GTEST_SKIP() << "the driver below has none of the layer's matrix operations";
}

TEST(Layer, ShaderObjects)
{
   if (!plain_device().has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME))
      GTEST_SKIP() << "no VK_EXT_shader_object";
   Device device(false, ShaderKind::object);
   oracle::Random random = test_random();
   for (const MatrixOperation &op : matrix_operations(device)) {
      if (op.c != op.result || !selected(random))
         continue;
      SCOPED_TRACE(operation_name(op));
      const Product product(random, op);
      EXPECT_EQ(product.expectation(device).mismatch(product.run(device)), std::nullopt);
      count_case();
   }
}

} // namespace weft::e2e
