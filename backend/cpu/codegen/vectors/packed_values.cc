// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/vectors/packed_values.h"

#include "backend/cpu/codegen/vectors/multi_shuffle.h"

#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <vector>

namespace weft::cpu {

using llvm::Value;

namespace {

/// Longer chains of operations are packed only at their end.
constexpr unsigned max_depth = 8;

/// How to treat a value that all components share but that differs from lane to lane.
enum class Same { leave, repeat };

Value *packed_form(Translator &t, llvm::ArrayRef<Value *> components, unsigned depth, Same same);

/// If the components apply the same operation to each component of packed vectors, applies that
/// operation to the packed vectors.
Value *packed_operation(Translator &t, llvm::ArrayRef<Value *> components, unsigned depth,
                        Same same)
{
   auto *first = llvm::dyn_cast<llvm::Instruction>(components[0]);
   if (!first || depth == max_depth)
      return nullptr;
   auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(first);
   const bool elementwise =
      llvm::isa<llvm::CastInst>(first) || llvm::isa<llvm::BinaryOperator>(first) ||
      llvm::isa<llvm::UnaryOperator>(first) ||
      (intrinsic && (intrinsic->getIntrinsicID() == llvm::Intrinsic::arithmetic_fence ||
                     intrinsic->getIntrinsicID() == llvm::Intrinsic::minnum ||
                     intrinsic->getIntrinsicID() == llvm::Intrinsic::maxnum));
   if (!elementwise)
      return nullptr;

   const unsigned operands = intrinsic ? intrinsic->arg_size() : first->getNumOperands();
   llvm::SmallVector<Values, 2> of_operand(operands);
   for (Value *component : components) {
      auto *instruction = llvm::dyn_cast<llvm::Instruction>(component);
      if (!instruction || !instruction->isSameOperationAs(first) ||
          !instruction->hasSameSubclassOptionalData(first))
         return nullptr;
      if (intrinsic && llvm::cast<llvm::CallInst>(instruction)->getCalledOperand() !=
                          intrinsic->getCalledOperand())
         return nullptr;
      for (unsigned i = 0; i < operands; i++) {
         // A cast must preserve the number of lanes: otherwise it is not component by component.
         auto *type = llvm::dyn_cast<llvm::FixedVectorType>(instruction->getOperand(i)->getType());
         if (!type || type->getNumElements() != t.W)
            return nullptr;
         of_operand[i].push_back(instruction->getOperand(i));
      }
   }
   Values packed;
   for (const Values &operand : of_operand) {
      packed.push_back(packed_form(t, operand, depth + 1, same));
      if (!packed.back())
         return nullptr;
   }

   llvm::IRBuilder<> &b = t.b;
   llvm::Type *type = llvm::FixedVectorType::get(first->getType()->getScalarType(),
                                                 unsigned(t.W * components.size()));
   Value *result;
   if (intrinsic)
      result = b.CreateIntrinsic(intrinsic->getIntrinsicID(), {type}, packed);
   else if (auto *cast = llvm::dyn_cast<llvm::CastInst>(first))
      result = b.CreateCast(cast->getOpcode(), packed[0], type);
   else if (auto *unary = llvm::dyn_cast<llvm::UnaryOperator>(first))
      result = b.CreateUnOp(unary->getOpcode(), packed[0]);
   else
      result =
         b.CreateBinOp(llvm::cast<llvm::BinaryOperator>(first)->getOpcode(), packed[0], packed[1]);
   if (auto *instruction = llvm::dyn_cast<llvm::Instruction>(result))
      instruction->copyIRFlags(first);
   return result;
}

/// The packed vector of these components, if no element has to move; else null.
Value *packed_form(Translator &t, llvm::ArrayRef<Value *> components, unsigned depth, Same same)
{
   if (Value *all = t.lane_values.packed(components))
      return all;
   const unsigned elements = unsigned(t.W * components.size());

   // All components share one value.
   const bool is_constant = llvm::isa<llvm::Constant>(components[0]);
   if (llvm::all_equal(components) && (is_constant || same == Same::repeat)) {
      llvm::SmallVector<int, 256> lanes;
      for (unsigned i = 0; i < elements; i++)
         lanes.push_back(int(i / components.size()));
      return t.b.CreateShuffleVector(components[0], lanes);
   }
   return packed_operation(t, components, depth, same);
}

/// Whether to pack components of this type as pairs, in integers of twice the width. LLVM's DAG
/// combiner takes time quadratic in a shuffle's elements and examines every byte: it took seconds
/// for a shuffle that interleaves 16 components of 64 bytes. Shifts halve the elements and cost no
/// more than the byte shuffles. For two components, one shuffle is better code.
bool goes_by_pairs(llvm::Type *type, size_t components)
{
   return (type->isIntegerTy(8) || type->isIntegerTy(16)) && components > 2 && components % 2 == 0;
}

/// The components of a packed vector of more than two registers, register by register. Returns
/// nothing if no instruction shuffles two registers, for elements below 16 bits, or if the vector
/// does not fill whole registers.
Values unpack_registers(Translator &t, Value *all, unsigned components)
{
   const HostTarget &target = t.options.target;
   llvm::Type *type = all->getType()->getScalarType();
   const unsigned bits = type->getScalarSizeInBits(), n = target.vector_bits / bits,
                  total = t.W * components;
   if (!target.shuffles_two_registers || bits < 16 || total <= 2 * n || total % n != 0)
      return {};
   Values vectors;
   for (unsigned first = 0; first < total; first += n) {
      llvm::SmallVector<int, 32> order;
      for (unsigned i = 0; i < n; i++)
         order.push_back(int(first + i));
      vectors.push_back(reorder(t, all, order));
   }
   std::vector<Values> parts(components);
   for (unsigned first = 0; first < t.W; first += n) {
      llvm::SmallVector<Elements, 4> wanted(components);
      for (unsigned c = 0; c < components; c++) {
         for (unsigned lane = first; lane < std::min(first + n, t.W); lane++) {
            const unsigned element = lane * components + c;
            wanted[c].push_back({element / n, int(element % n)});
         }
      }
      const Values taken = multi_shuffle(t, vectors, wanted);
      for (unsigned c = 0; c < components; c++)
         parts[c].push_back(taken[c]);
   }
   llvm::SmallVector<int, 64> lanes;
   for (unsigned lane = 0; lane < t.W; lane++)
      lanes.push_back(int(lane));
   Values result;
   for (const Values &registers : parts)
      result.push_back(reorder(t, concatenate(t, registers), lanes));
   return result;
}

} // namespace

Value *reorder(Translator &t, Value *v, llvm::ArrayRef<int> order)
{
   const unsigned n = llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
   bool identity = order.size() == n;
   for (unsigned i = 0; identity && i < n; i++)
      identity = order[i] == int(i);
   return identity ? v : t.b.CreateShuffleVector(v, order);
}

Value *elements_of(Translator &t, Value *v, unsigned first, unsigned count)
{
   if (count == 1)
      return t.b.CreateExtractElement(v, uint64_t(first));
   llvm::SmallVector<int, 256> part;
   for (unsigned i = 0; i < count; i++)
      part.push_back(int(first + i));
   return reorder(t, v, part);
}

Value *concatenate(Translator &t, llvm::ArrayRef<Value *> list)
{
   llvm::IRBuilder<> &b = t.b;
   Values parts(list.begin(), list.end());
   if (!parts[0]->getType()->isVectorTy()) {
      Value *all = llvm::PoisonValue::get(
         llvm::FixedVectorType::get(parts[0]->getType(), unsigned(parts.size())));
      for (unsigned i = 0; i < parts.size(); i++)
         all = b.CreateInsertElement(all, parts[i], uint64_t(i));
      return all;
   }
   while (parts.size() > 1) {
      const unsigned n = llvm::cast<llvm::FixedVectorType>(parts[0]->getType())->getNumElements();
      llvm::SmallVector<int, 128> both;
      for (unsigned i = 0; i < 2 * n; i++)
         both.push_back(int(i));
      Values joined;
      for (unsigned i = 0; i < parts.size(); i += 2)
         joined.push_back(b.CreateShuffleVector(parts[i], parts[i + 1], both));
      parts = joined;
   }
   return parts[0];
}

Values unpack(Translator &t, Value *all, unsigned components)
{
   if (components == 1)
      return {all};
   llvm::IRBuilder<> &b = t.b;
   llvm::Type *type = all->getType()->getScalarType();
   Values result;
   const auto append = [&](Value *component) {
      t.lane_values.set_component(component, all, unsigned(result.size()));
      result.push_back(component);
   };
   if (const Values taken = unpack_registers(t, all, components); !taken.empty()) {
      for (Value *component : taken)
         append(component);
      return result;
   }
   if (goes_by_pairs(type, components)) {
      const unsigned bits = type->getIntegerBitWidth();
      Value *pairs = b.CreateBitCast(
         all, llvm::FixedVectorType::get(b.getIntNTy(2 * bits), t.W * components / 2));
      for (Value *pair : unpack(t, pairs, components / 2)) {
         append(b.CreateTrunc(pair, t.vector_of(type)));
         append(b.CreateTrunc(b.CreateLShr(pair, bits), t.vector_of(type)));
      }
      return result;
   }
   for (unsigned c = 0; c < components; c++) {
      llvm::SmallVector<int, 64> lanes;
      for (unsigned l = 0; l < t.W; l++)
         lanes.push_back(int(l * components + c));
      append(b.CreateShuffleVector(all, lanes));
   }
   return result;
}

Value *pack_in_place(Translator &t, llvm::ArrayRef<Value *> components)
{
   return packed_form(t, components, 0, Same::repeat);
}

Value *add_components(Translator &t, Value *all, unsigned components)
{
   llvm::IRBuilder<> &b = t.b;
   const auto count = [](Value *v) {
      return llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
   };
   // Works on four registers at once, by 128-bit parts: instructions move elements fastest within a
   // part.
   //
   //    a0 a1 a2 a3 …   b0 b1 b2 b3 …   c0 c1 c2 c3 …   d0 d1 d2 d3 …
   //    a01 a23 b01 b23 …               c01 c23 d01 d23 …
   //    a b c d …
   constexpr unsigned part = 4, n = 4 * part;
   const bool by_parts = components == part && all->getType()->getScalarSizeInBits() == 32 &&
                         t.options.target.vector_bits == 32 * n && count(all) % (part * n) == 0;
   if (by_parts) {
      const auto add_neighbours = [&](Value *x, Value *y) {
         llvm::SmallVector<int, n> even;
         for (unsigned i = 0; i < n; i++)
            even.push_back(int(i / part * part + i % 2 * 2 + (i % part < 2 ? 0 : n)));
         llvm::SmallVector<int, n> odd(even);
         for (int &place : odd)
            place++;
         return b.CreateAdd(b.CreateShuffleVector(x, y, even), b.CreateShuffleVector(x, y, odd));
      };
      Values sums;
      for (unsigned first = 0; first < count(all); first += n) {
         llvm::SmallVector<int, n> order;
         for (unsigned i = 0; i < n; i++)
            order.push_back(int(first + i));
         sums.push_back(reorder(t, all, order));
      }
      for (unsigned left = part; left > 1; left /= 2) {
         Values fewer;
         for (size_t i = 0; i < sums.size(); i += 2)
            fewer.push_back(add_neighbours(sums[i], sums[i + 1]));
         sums = fewer;
      }
      llvm::SmallVector<int, n> lanes;
      for (unsigned i = 0; i < n; i++)
         lanes.push_back(int(i % part * part + i / part));
      for (Value *&sum : sums)
         sum = b.CreateShuffleVector(sum, lanes);
      return concatenate(t, sums);
   }
   // Adds neighbours, then neighbouring sums: each step halves the number of elements.
   for (; components > 1; components /= 2) {
      llvm::SmallVector<int, 128> even, odd;
      for (unsigned i = 0; i < count(all); i += 2) {
         even.push_back(int(i));
         odd.push_back(int(i + 1));
      }
      all = b.CreateAdd(b.CreateShuffleVector(all, even), b.CreateShuffleVector(all, odd));
   }
   return all;
}

Value *pack(Translator &t, llvm::ArrayRef<Value *> components)
{
   if (components.size() == 1)
      return components[0];
   if (Value *all = packed_form(t, components, 0, Same::leave))
      return all;
   llvm::IRBuilder<> &b = t.b;
   llvm::Type *type = components[0]->getType()->getScalarType();
   if (goes_by_pairs(type, components.size())) {
      const unsigned bits = type->getIntegerBitWidth();
      llvm::Type *wide = t.vector_of(b.getIntNTy(2 * bits));
      Values pairs;
      for (size_t c = 0; c < components.size(); c += 2) {
         Value *high = b.CreateShl(b.CreateZExt(components[c + 1], wide), bits);
         pairs.push_back(b.CreateOr(b.CreateZExt(components[c], wide), high));
      }
      return b.CreateBitCast(pack(t, pairs),
                             llvm::FixedVectorType::get(type, unsigned(t.W * components.size())));
   }
   Values padded(components.begin(), components.end());
   while (padded.size() & (padded.size() - 1))
      padded.push_back(components[0]);
   llvm::SmallVector<int, 256> order;
   for (unsigned l = 0; l < t.W; l++)
      for (unsigned c = 0; c < components.size(); c++)
         order.push_back(int(c * t.W + l));
   return reorder(t, concatenate(t, padded), order);
}

} // namespace weft::cpu
