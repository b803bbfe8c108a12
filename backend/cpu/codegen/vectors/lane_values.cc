// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/vectors/lane_values.h"

#include <llvm/Analysis/VectorUtils.h>

namespace weft::cpu {

using llvm::Value;

Value *LaneValues::splat(Value *scalar)
{
   if (llvm::isa<llvm::Constant>(scalar))
      return b.CreateVectorSplat(lanes, scalar);
   Value *&vector = values[scalar].splat;
   if (!vector || llvm::cast<llvm::Instruction>(vector)->getParent() != b.GetInsertBlock())
      vector = b.CreateVectorSplat(lanes, scalar);
   return vector;
}

Value *LaneValues::first_lane(Value *v, unsigned depth)
{
   if (!v->getType()->isVectorTy())
      return v;
   if (auto *constant = llvm::dyn_cast<llvm::Constant>(v))
      return constant->getAggregateElement(0u);
   if (Value *scalar = llvm::getSplatValue(v))
      return scalar;
   if (const auto found = values.find(v); found != values.end() && found->second.first_lane)
      return found->second.first_lane;
   llvm::IRBuilder<>::InsertPointGuard guard(b);
   if (auto *instruction = llvm::dyn_cast<llvm::Instruction>(v)) {
      llvm::BasicBlock *block = instruction->getParent();
      b.SetInsertPoint(block, llvm::isa<llvm::PHINode>(v) ? block->getFirstInsertionPt()
                                                          : std::next(instruction->getIterator()));
   }
   const auto has_all_lanes = [&](llvm::Type *type) {
      auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
      return vector && vector->getNumElements() == lanes;
   };
   Value *scalar;
   const bool follows = depth < max_address_depth;
   if (auto *operation = llvm::dyn_cast<llvm::BinaryOperator>(v); operation && follows) {
      scalar =
         b.CreateBinOp(operation->getOpcode(), first_lane(operation->getOperand(0), depth + 1),
                       first_lane(operation->getOperand(1), depth + 1));
   } else if (auto *cast = llvm::dyn_cast<llvm::CastInst>(v);
              cast && follows && has_all_lanes(cast->getSrcTy())) {
      scalar = b.CreateCast(cast->getOpcode(), first_lane(cast->getOperand(0), depth + 1),
                            v->getType()->getScalarType());
   } else {
      scalar = b.CreateExtractElement(v, uint64_t(0));
   }
   values[v].first_lane = scalar;
   return scalar;
}

void LaneValues::set_component(Value *value, Value *packed, unsigned component)
{
   LaneValue &known = values[value];
   known.packed = packed;
   known.component = component;
}

Value *LaneValues::packed(llvm::ArrayRef<Value *> components) const
{
   Value *all = nullptr;
   for (unsigned c = 0; c < components.size(); c++) {
      const auto found = values.find(components[c]);
      if (found == values.end() || !found->second.packed || found->second.component != c ||
          (all && found->second.packed != all))
         return nullptr;
      all = found->second.packed;
   }
   const bool is_whole =
      all && llvm::cast<llvm::FixedVectorType>(all->getType())->getNumElements() ==
                lanes * components.size();
   return is_whole ? all : nullptr;
}

void LaneValues::set_word(Value *lower_half, Value *upper_half, Value *word)
{
   LaneValue &known = values[lower_half];
   known.upper_half = upper_half;
   known.word = word;
}

Value *LaneValues::word(Value *lower_half, Value *upper_half) const
{
   const auto found = values.find(lower_half);
   return found != values.end() && found->second.upper_half == upper_half ? found->second.word
                                                                          : nullptr;
}

} // namespace weft::cpu
