// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The matrices that programs may use.

#include "nir_passes/matrix_support.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <tuple>

namespace weft {
namespace {

TEST(MatrixOperations, AreThereOnce)
{
   const std::vector<MatrixOperation> &list = matrix_operations();
   for (const MatrixOperation &op : list) {
      EXPECT_EQ(std::ranges::count(list, op), 1);
      EXPECT_EQ(op.c, op.result);
      EXPECT_TRUE(op.m % 8 == 0 && op.n % 8 == 0 && op.k % 8 == 0);
   }
}

/// A sum saturates only where every product of the factors has the sum's sign.
TEST(MatrixOperations, SaturateWhereProductsHaveTheSumsSign)
{
   using enum ComponentType;
   const auto is_signed = [](ComponentType type) {
      return component_type_info(type).kind != NumberKind::unsigned_integer;
   };
   for (const MatrixOperation &op : matrix_operations()) {
      if (op.saturating) {
         EXPECT_TRUE(is_signed(op.c) || !(is_signed(op.a) || is_signed(op.b)));
      }
   }
}

/// As in WGSL's subgroupMatrixMultiply: factors of one type, sums of either sign.
TEST(MatrixOperations, SumIntegersWithEitherSign)
{
   using enum ComponentType;
   constexpr ComponentType integers[][2] = {{s8, u8}, {s16, u16}, {s32, u32}, {s64, u64}};
   for (const auto &factors : integers) {
      for (const ComponentType factor : factors) {
         for (const ComponentType sum : factors) {
            const MatrixOperation op = {8, 8, 8, factor, factor, sum, sum, false};
            EXPECT_EQ(std::ranges::count(matrix_operations(), op), 1)
               << component_type_name(factor) << " to " << component_type_name(sum);
         }
      }
   }
}

/// Every combination of types comes in square tiles of both sizes, from which larger matrices are
/// built.
TEST(MatrixOperations, ComeInSquareTiles)
{
   std::map<std::tuple<ComponentType, ComponentType, ComponentType, bool>, uint32_t> sides;
   for (const MatrixOperation &op : matrix_operations()) {
      uint32_t &found = sides[{op.a, op.b, op.c, op.saturating}];
      if (op.m == op.n && op.n == op.k)
         found |= op.m;
   }
   for (const auto &[types, found] : sides)
      EXPECT_EQ(found, 16u | 8u);
}

TEST(FlexibleOperations, AreOnePerCombinationOfTypes)
{
   const std::vector<MatrixOperation> &list = matrix_operations();
   const std::vector<FlexibleOperation> flexible = flexible_operations(list, 64);
   for (const MatrixOperation &op : list) {
      const auto covers = [&](const FlexibleOperation &f) { return f.covers(op); };
      EXPECT_EQ(std::ranges::count_if(flexible, covers), 1);
   }
   MatrixOperation large = list[0];
   large.m = 72;
   EXPECT_FALSE((MatrixSupport{{}, flexible}.covers(large)));
   large.m = 64;
   EXPECT_TRUE((MatrixSupport{{}, flexible}.covers(large)));
   large.scope = MatrixScope::workgroup;
   EXPECT_FALSE((MatrixSupport{{}, flexible}.covers(large)));
}

TEST(FlexibleOperations, OfWorkgroupsAreForTheirSizes)
{
   const std::vector<FlexibleOperation> flexible =
      with_workgroup_scope(flexible_operations(matrix_operations(), 64));
   MatrixOperation op = matrix_operations()[0];
   op.scope = MatrixScope::workgroup;
   const MatrixSupport support = {{}, flexible};
   EXPECT_TRUE(support.covers(op));
   for (const uint32_t invocations : matrix_workgroups)
      EXPECT_TRUE(support.in_workgroup(invocations).covers(op));
   EXPECT_FALSE(support.in_workgroup(64).covers(op));
}

} // namespace
} // namespace weft
