// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The result has the requested elements, by as few shuffles as possible.

#include "backend/cpu/codegen/vectors/multi_shuffle.h"
#include "backend/cpu/codegen/vectors/packed_values.h"

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/vector_test.h"

#include <llvm/IR/Constants.h>

#include <numeric>
#include <random>

namespace weft::cpu::test {
namespace {

constexpr unsigned W = 16;

class MultiShuffle : public VectorTest {
protected:
   MultiShuffle() : VectorTest(W, 512, {4}) {}

   /// The numbers from `first` on.
   llvm::Value *numbers(unsigned first, unsigned count, unsigned bits)
   {
      llvm::SmallVector<llvm::Constant *, 64> elements;
      for (unsigned i = 0; i < count; i++)
         elements.push_back(llvm::ConstantInt::get(t.int_type(bits), first + i));
      return llvm::ConstantVector::get(elements);
   }
   static unsigned number(llvm::Value *v, unsigned i)
   {
      llvm::Constant *element = llvm::cast<llvm::Constant>(v)->getAggregateElement(i);
      return unsigned(llvm::cast<llvm::ConstantInt>(element)->getZExtValue());
   }
};

TEST_F(MultiShuffle, AnyElementsOfAnyVectors)
{
   std::mt19937 random{uint32_t(test_seed())};
   for (int round = 0; round < 300; round++) {
      const unsigned count = 1 + random() % 7, lists = 1 + random() % 5;
      llvm::SmallVector<llvm::Value *, 8> vectors;
      for (unsigned v = 0; v < count; v++)
         vectors.push_back(numbers(v * W, W, 32));
      // Few different ones can be brought together, many cannot.
      const unsigned different = 1 + random() % (count * W);
      llvm::SmallVector<Elements, 4> wanted(lists);
      for (Elements &list : wanted) {
         for (unsigned i = 0, n = 1 + random() % W; i < n; i++) {
            const unsigned element = random() % different;
            list.push_back({element / W, int(element % W)});
         }
      }
      const auto taken = multi_shuffle(t, vectors, wanted);
      ASSERT_EQ(taken.size(), lists);
      for (unsigned l = 0; l < lists; l++) {
         for (unsigned i = 0; i < wanted[l].size(); i++)
            ASSERT_EQ(number(taken[l], i), wanted[l][i].vector * W + unsigned(wanted[l][i].place))
               << "round " << round << ", list " << l << ", element " << i;
      }
   }
}

TEST_F(MultiShuffle, FourComponentsOfFourRegistersTakeEightShuffles)
{
   const auto components = unpack(t, t.function->getArg(0), 4);
   ASSERT_EQ(components.size(), 4u);
   constexpr unsigned registers = 4; // taken out of the argument
   EXPECT_EQ(shuffles(), registers + 8);
}

TEST_F(MultiShuffle, PackedVectorsOfAllSizes)
{
   const auto check = [&](unsigned bits, unsigned components) {
      const auto unpacked = unpack(t, numbers(0, W * components, bits), components);
      ASSERT_EQ(unpacked.size(), components);
      for (unsigned c = 0; c < components; c++) {
         ASSERT_EQ(unpacked[c]->getType(), t.vector_of(t.int_type(bits)));
         for (unsigned lane = 0; lane < W; lane++)
            ASSERT_EQ(number(unpacked[c], lane), lane * components + c) << bits << " bits";
      }
   };
   for (unsigned components = 1; components <= 16; components++) {
      check(32, components);
      check(64, components);
   }
   for (const unsigned components : {6, 8, 10, 16})
      check(16, components);
}

} // namespace
} // namespace weft::cpu::test
