// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Packed vectors become components and packed vectors again. Elements that no code uses do not
/// move.

#include "backend/cpu/codegen/vectors/packed_values.h"

#include "tests/backend/cpu/vector_test.h"

namespace weft::cpu::test {
namespace {

constexpr unsigned W = 8;

class PackedValues : public VectorTest {
protected:
   PackedValues() : VectorTest(W, 256, {2, 2}) {}

   llvm::Value *argument(unsigned i) { return t.function->getArg(i); }
};

TEST_F(PackedValues, WhatWasUnpackedIsThere)
{
   auto parts = unpack(t, argument(0), 2);
   const unsigned before = shuffles();
   EXPECT_EQ(pack(t, parts), argument(0));
   EXPECT_EQ(shuffles(), before);
}

TEST_F(PackedValues, TheSameOperationOnAllComponentsIsOne)
{
   auto x = unpack(t, argument(0), 2), y = unpack(t, argument(1), 2);
   llvm::Value *sums[] = {t.b.CreateAdd(x[0], y[0]), t.b.CreateAdd(x[1], y[1])};
   const unsigned before = shuffles();
   auto *sum = llvm::dyn_cast<llvm::BinaryOperator>(pack(t, sums));
   ASSERT_NE(sum, nullptr);
   EXPECT_EQ(sum->getOpcode(), llvm::Instruction::Add);
   EXPECT_EQ(sum->getOperand(0), argument(0));
   EXPECT_EQ(sum->getOperand(1), argument(1));
   EXPECT_EQ(shuffles(), before);
}

TEST_F(PackedValues, ConstantsGoAlong)
{
   auto x = unpack(t, argument(0), 2);
   llvm::Value *seven = t.b.CreateVectorSplat(W, t.b.getInt32(7));
   llvm::Value *sums[] = {t.b.CreateMul(x[0], seven), t.b.CreateMul(x[1], seven)};
   auto *product = llvm::dyn_cast<llvm::BinaryOperator>(pack(t, sums));
   ASSERT_NE(product, nullptr);
   EXPECT_EQ(product->getOperand(0), argument(0));
   EXPECT_EQ(product->getType(), words(2));
}

TEST_F(PackedValues, DifferentOperationsAndOrdersAreMoved)
{
   auto x = unpack(t, argument(0), 2);
   llvm::Value *mixed[] = {t.b.CreateAdd(x[0], x[0]), t.b.CreateMul(x[1], x[1])};
   EXPECT_TRUE(llvm::isa<llvm::ShuffleVectorInst>(pack(t, mixed)));
   llvm::Value *swapped[] = {x[1], x[0]};
   llvm::Value *packed = pack(t, swapped);
   EXPECT_NE(packed, argument(0));
   ASSERT_TRUE(llvm::isa<llvm::ShuffleVectorInst>(packed));
   EXPECT_EQ(packed->getType(), words(2));
}

TEST_F(PackedValues, WhatIsTheSameForAllComponentsIsRepeated)
{
   auto x = unpack(t, argument(0), 2);
   llvm::Value *by = t.b.CreateXor(x[0], 3);
   llvm::Value *shifted[] = {t.b.CreateShl(x[0], by), t.b.CreateShl(x[1], by)};
   auto *packed = llvm::dyn_cast_or_null<llvm::BinaryOperator>(pack_in_place(t, shifted));
   ASSERT_NE(packed, nullptr);
   EXPECT_EQ(packed->getOperand(0), argument(0));
   auto *repeated = llvm::dyn_cast<llvm::ShuffleVectorInst>(packed->getOperand(1));
   ASSERT_NE(repeated, nullptr);
   for (unsigned i = 0; i < 2 * W; i++)
      EXPECT_EQ(repeated->getMaskValue(i), int(i / 2)) << i;
   llvm::Value *swapped[] = {x[1], x[0]};
   EXPECT_EQ(pack_in_place(t, swapped), nullptr);
}

TEST_F(PackedValues, ComponentsAreAddedUp)
{
   llvm::SmallVector<llvm::Constant *, 4 * W> numbers;
   for (unsigned i = 0; i < 4 * W; i++)
      numbers.push_back(t.b.getInt32(i * i));
   auto *sums =
      llvm::dyn_cast<llvm::Constant>(add_components(t, llvm::ConstantVector::get(numbers), 4));
   ASSERT_NE(sums, nullptr);
   for (unsigned l = 0; l < W; l++) {
      auto *sum = llvm::cast<llvm::ConstantInt>(sums->getAggregateElement(l));
      unsigned expected = 0;
      for (unsigned i = 4 * l; i < 4 * l + 4; i++)
         expected += i * i;
      EXPECT_EQ(sum->getZExtValue(), expected) << l;
   }
}

/// x0 y0 x1 y1 … out of x0 x1 … and y0 y1 …
TEST_F(PackedValues, LanesAreInterleaved)
{
   llvm::Value *x = t.b.CreateVectorSplat(W, t.b.getInt32(1));
   llvm::Value *parts[] = {x, t.lane_numbers(32)};
   auto *packed = llvm::dyn_cast<llvm::Constant>(pack(t, parts));
   ASSERT_NE(packed, nullptr);
   for (unsigned i = 0; i < 2 * W; i++) {
      auto *element = llvm::cast<llvm::ConstantInt>(packed->getAggregateElement(i));
      EXPECT_EQ(element->getZExtValue(), i % 2 ? i / 2 : 1) << i;
   }
}

} // namespace
} // namespace weft::cpu::test
