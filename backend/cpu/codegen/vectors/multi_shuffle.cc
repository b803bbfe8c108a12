// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/vectors/multi_shuffle.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft::cpu {

using llvm::Value;

namespace {

struct Taking {
   Translator &t;
   llvm::FixedVectorType *type;
   Values vectors = {}; ///< the inputs, then intermediate vectors

   int length() const { return int(type->getNumElements()); }
   /// Elements per 128-bit part of a register: instructions move elements faster within a part than
   /// across.
   int near() const { return 128 / int(type->getScalarSizeInBits()); }

   Value *shuffle(const Elements &from, unsigned first, unsigned second);
   bool bring_together(llvm::MutableArrayRef<Elements> wanted, const std::set<unsigned> &used);
   Values take(llvm::SmallVector<Elements, 4> wanted);
};

Value *Taking::shuffle(const Elements &from, unsigned first, unsigned second)
{
   llvm::SmallVector<int, 64> order;
   for (const VectorElement &element : from)
      order.push_back(element.vector == first ? element.place : length() + element.place);
   order.resize(unsigned(length()), llvm::PoisonMaskElem);
   Value *other = first == second ? llvm::PoisonValue::get(type) : vectors[second];
   return t.b.CreateShuffleVector(vectors[first], other, order);
}

/// Merges every two vectors from which the lists need at most one vector's length. Returns whether
/// there were any.
bool Taking::bring_together(llvm::MutableArrayRef<Elements> wanted, const std::set<unsigned> &used)
{
   bool any = false;
   for (auto v = used.begin(); v != used.end() && std::next(v) != used.end(); std::advance(v, 2)) {
      const unsigned first = *v, second = *std::next(v);
      // Keeps elements near their place, where moving is cheap.
      const auto order = [&](const VectorElement &element) {
         return std::tuple(element.place / near(), element.vector, element.place);
      };
      const auto before = [&](const VectorElement &x, const VectorElement &y) {
         return order(x) < order(y);
      };
      std::set<VectorElement, decltype(before)> both(before);
      for (const Elements &list : wanted)
         std::ranges::copy_if(list, std::inserter(both, both.end()), [&](const auto &element) {
            return element.vector == first || element.vector == second;
         });
      if (both.size() > size_t(length()))
         continue;
      any = true;
      const Elements together(both.begin(), both.end());
      std::map<VectorElement, VectorElement> moved;
      for (size_t i = 0; i < together.size(); i++)
         moved[together[i]] = {unsigned(vectors.size()), int(i)};
      vectors.push_back(shuffle(together, first, second));
      for (Elements &list : wanted) {
         for (VectorElement &element : list) {
            if (const auto found = moved.find(element); found != moved.end())
               element = found->second;
         }
      }
   }
   return any;
}

Values Taking::take(llvm::SmallVector<Elements, 4> wanted)
{
   std::set<unsigned> used;
   for (const Elements &list : wanted)
      for (const VectorElement &element : list)
         used.insert(element.vector);
   Values result;
   if (used.size() <= 2) {
      for (const Elements &list : wanted)
         result.push_back(shuffle(list, *used.begin(), *used.rbegin()));
      return result;
   }
   // The loop ends: a single list has at most a vector's length of elements, so any two of its
   // vectors merge.
   if (bring_together(wanted, used))
      return take(std::move(wanted));
   const auto middle = wanted.begin() + long(wanted.size() / 2);
   result = take({wanted.begin(), middle});
   result.append(take({middle, wanted.end()}));
   return result;
}

} // namespace

Values multi_shuffle(Translator &t, llvm::ArrayRef<Value *> vectors,
                     llvm::ArrayRef<Elements> wanted)
{
   const VectorElement any = wanted[0][0];
   Taking taking{t, llvm::cast<llvm::FixedVectorType>(vectors[any.vector]->getType())};
   taking.vectors.append(vectors.begin(), vectors.end());
   return taking.take({wanted.begin(), wanted.end()});
}

} // namespace weft::cpu
