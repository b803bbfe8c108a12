// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/vectors/lane_arithmetic.h"

#include "backend/cpu/host/instructions.h"

#include <algorithm>
#include <cassert>

namespace weft::cpu {

using llvm::Value;
using llvm::Intrinsic::ID;

namespace {

bool is_float(nir_op op)
{
   return op == nir_op_fadd || op == nir_op_fmul || op == nir_op_fmin || op == nir_op_fmax;
}

/// Whether floats stand for halves. CPUs without arithmetic of halves would convert at every step.
/// Sums and products are more exact in floats; extrema are as exact in halves.
bool wants_floats(Translator &t, nir_op op)
{
   const bool is_extremum = op == nir_op_fmin || op == nir_op_fmax;
   return !(is_extremum && t.options.target.half_arithmetic);
}

Value *halves_to_floats(Translator &t, Value *v)
{
   llvm::Type *type = v->getType();
   return type->getScalarType()->isHalfTy()
             ? t.b.CreateFPExt(v, type->getWithNewType(t.b.getFloatTy()))
             : v;
}

Value *floats_to_halves(Translator &t, Value *v, unsigned bits)
{
   llvm::Type *type = v->getType();
   return type->getScalarSizeInBits() == bits
             ? v
             : t.b.CreateFPTrunc(v, type->getWithNewType(t.float_type(bits)));
}

/// Combines values in their computation type.
Value *combine_typed(Translator &t, nir_op op, Value *x, Value *y)
{
   llvm::IRBuilder<> &b = t.b;
   switch (op) {
   case nir_op_iadd:
      return b.CreateAdd(x, y);
   case nir_op_imul:
      return b.CreateMul(x, y);
   case nir_op_iand:
      return b.CreateAnd(x, y);
   case nir_op_ior:
      return b.CreateOr(x, y);
   case nir_op_ixor:
      return b.CreateXor(x, y);
   case nir_op_imin:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
   case nir_op_imax:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
   case nir_op_umin:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y);
   case nir_op_umax:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, x, y);
   case nir_op_fadd:
      return b.CreateFAdd(x, y);
   case nir_op_fmul:
      return b.CreateFMul(x, y);
   case nir_op_fmin:
      return b.CreateMinNum(x, y);
   case nir_op_fmax:
      return b.CreateMaxNum(x, y);
   default:
      assert(!"not a reduction");
      return x;
   }
}

/// Converts a value to its computation type.
Value *enter(Translator &t, nir_op op, Value *v)
{
   if (!is_float(op))
      return v;
   return wants_floats(t, op) ? halves_to_floats(t, t.as_float(v)) : t.as_float(v);
}

Value *leave(Translator &t, nir_op op, Value *v, unsigned bits)
{
   return is_float(op) ? t.as_int(floats_to_halves(t, v, bits)) : v;
}

Value *shuffle(Translator &t, Value *v, const std::function<int(int lane)> &source)
{
   llvm::SmallVector<int, 64> lanes;
   for (unsigned l = 0; l < t.W; l++)
      lanes.push_back(source(int(l)));
   return t.b.CreateShuffleVector(v, lanes);
}

/// Lane l gets lane l - by; the lowest lanes get the identity.
Value *shift_up(Translator &t, nir_op op, Value *v, int by, unsigned bits)
{
   Value *filler = enter(t, op, identity(t, op, bits));
   llvm::SmallVector<int, 64> lanes;
   for (int l = 0; l < int(t.W); l++)
      lanes.push_back(l < by ? int(t.W) : l - by);
   return t.b.CreateShuffleVector(v, t.b.CreateVectorSplat(t.W, filler), lanes);
}

Value *scan(Translator &t, nir_op op, Value *v, unsigned bits)
{
   for (unsigned by = 1; by < t.W; by *= 2)
      v = combine_typed(t, op, shift_up(t, op, v, int(by), bits), v);
   return v;
}

ID reduction_intrinsic(nir_op op)
{
   switch (op) {
   case nir_op_iadd:
      return llvm::Intrinsic::vector_reduce_add;
   case nir_op_imul:
      return llvm::Intrinsic::vector_reduce_mul;
   case nir_op_iand:
      return llvm::Intrinsic::vector_reduce_and;
   case nir_op_ior:
      return llvm::Intrinsic::vector_reduce_or;
   case nir_op_ixor:
      return llvm::Intrinsic::vector_reduce_xor;
   case nir_op_imin:
      return llvm::Intrinsic::vector_reduce_smin;
   case nir_op_imax:
      return llvm::Intrinsic::vector_reduce_smax;
   case nir_op_umin:
      return llvm::Intrinsic::vector_reduce_umin;
   case nir_op_umax:
      return llvm::Intrinsic::vector_reduce_umax;
   default:
      return llvm::Intrinsic::not_intrinsic;
   }
}

/// The number of lanes that one instruction permutes freely: the 32-bit lanes of a register.
unsigned permutation_lanes(Translator &t)
{
   return t.options.target.vector_bits / 32;
}

/// Lanes [first, first + count) of a vector.
Value *slice(Translator &t, Value *v, unsigned first, unsigned count)
{
   llvm::SmallVector<int, 64> lanes;
   for (unsigned l = 0; l < count; l++)
      lanes.push_back(int(first + l));
   return t.b.CreateShuffleVector(v, lanes);
}

/// Any permutation of a vector of 32-bit lanes. An instruction selects within one register, so
/// each register of the result selects among the source's registers.
Value *permute_registers(Translator &t, Value *v, Value *index)
{
   llvm::IRBuilder<> &b = t.b;
   const unsigned lanes = std::min(t.W, permutation_lanes(t));
   const unsigned registers = t.W / lanes;
   const auto constant = [&](unsigned n) { return b.CreateVectorSplat(lanes, b.getInt32(n)); };

   return in_parts(t, index, lanes, [&](llvm::ArrayRef<Value *> part) {
      Value *which = b.CreateAnd(b.CreateUDiv(part[0], constant(lanes)), constant(registers - 1));
      Value *result = nullptr;
      for (unsigned s = 0; s < registers; s++) {
         Value *source = registers == 1 ? v : slice(t, v, s * lanes, lanes);
         Value *picked = permute_register(b, source, part[0]);
         result =
            result ? b.CreateSelect(b.CreateICmpEQ(which, constant(s)), picked, result) : picked;
      }
      return result;
   });
}

/// Booleans are bits of one word: lane l gets bit index[l].
Value *permute_bits(Translator &t, Value *v, Value *index)
{
   llvm::IRBuilder<> &b = t.b;
   llvm::Type *word = t.int_type(std::max(32u, t.W));
   Value *bits = t.splat(b.CreateZExt(t.bits_of(v), word));
   Value *lanes = b.CreateZExt(b.CreateAnd(index, t.splat(b.getInt32(t.W - 1))), bits->getType());
   return b.CreateTrunc(b.CreateLShr(bits, lanes), v->getType());
}

/// Permutes through memory: for elements or subgroup sizes that register permutations do not suit.
Value *permute_in_memory(Translator &t, Value *v, Value *index)
{
   llvm::IRBuilder<> &b = t.b;
   llvm::Type *element = v->getType()->getScalarType();
   // LLVM packs a vector's elements in memory, so only elements of whole bytes have an address.
   assert(element->getScalarSizeInBits() % 8 == 0);
   llvm::AllocaInst *memory = t.variable(v->getType(), "permuted");
   b.CreateStore(v, memory);
   Value *wrapped = b.CreateAnd(index, t.splat(b.getInt32(t.W - 1)));
   Value *result = llvm::PoisonValue::get(v->getType());
   for (unsigned l = 0; l < t.W; l++) {
      Value *place = b.CreateInBoundsGEP(
         element, memory,
         b.CreateZExt(b.CreateExtractElement(wrapped, uint64_t(l)), b.getInt64Ty()));
      result = b.CreateInsertElement(result, b.CreateLoad(element, place), uint64_t(l));
   }
   return result;
}

} // namespace

bool is_reduction(nir_op op)
{
   return is_float(op) || reduction_intrinsic(op) != llvm::Intrinsic::not_intrinsic;
}

Value *combine(Translator &t, nir_op op, Value *x, Value *y)
{
   const unsigned bits = x->getType()->getScalarSizeInBits();
   return leave(t, op, combine_typed(t, op, enter(t, op, x), enter(t, op, y)), bits);
}

llvm::Constant *identity(Translator &t, nir_op op, unsigned bits)
{
   llvm::Type *type = t.int_type(bits);
   const auto from_float = [&](double value) {
      llvm::Constant *constant = llvm::ConstantFP::get(t.float_type(bits), value);
      return llvm::ConstantInt::get(
         t.context, llvm::cast<llvm::ConstantFP>(constant)->getValueAPF().bitcastToAPInt());
   };
   switch (op) {
   case nir_op_imul:
      return llvm::ConstantInt::get(type, 1);
   case nir_op_iand:
   case nir_op_umin:
      return llvm::Constant::getAllOnesValue(type);
   case nir_op_imin:
      return llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(bits));
   case nir_op_imax:
      return llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits));
   case nir_op_fadd:
      return from_float(0); // as SPIR-V defines it
   case nir_op_fmul:
      return from_float(1);
   case nir_op_fmin:
      return from_float(std::numeric_limits<double>::infinity());
   case nir_op_fmax:
      return from_float(-std::numeric_limits<double>::infinity());
   default:
      return llvm::ConstantInt::get(type, 0);
   }
}

Value *fill_inactive(Translator &t, nir_op op, Value *v, Value *active)
{
   if (!active)
      return v;
   const unsigned bits = v->getType()->getScalarSizeInBits();
   return t.b.CreateSelect(active, v, t.splat(identity(t, op, bits)));
}

Value *reduce(Translator &t, nir_op op, Value *v)
{
   llvm::IRBuilder<> &b = t.b;
   const unsigned bits = v->getType()->getScalarSizeInBits();
   if (!is_float(op))
      return b.CreateIntrinsic(v->getType()->getScalarType(), reduction_intrinsic(op), {v});
   // Halve the vector until one lane is left.
   v = enter(t, op, v);
   for (unsigned lanes = t.W / 2; lanes; lanes /= 2)
      v = combine_typed(t, op, slice(t, v, 0, lanes), slice(t, v, lanes, lanes));
   return leave(t, op, b.CreateExtractElement(v, uint64_t(0)), bits);
}

Value *reduce_clusters(Translator &t, nir_op op, Value *v, unsigned size)
{
   const unsigned bits = v->getType()->getScalarSizeInBits();
   v = enter(t, op, v);
   for (unsigned distance = 1; distance < size; distance *= 2)
      v = combine_typed(t, op, v, shuffle(t, v, [&](int l) { return l ^ int(distance); }));
   return leave(t, op, v, bits);
}

Value *inclusive_scan(Translator &t, nir_op op, Value *v)
{
   const unsigned bits = v->getType()->getScalarSizeInBits();
   return leave(t, op, scan(t, op, enter(t, op, v), bits), bits);
}

Value *exclusive_scan(Translator &t, nir_op op, Value *v)
{
   const unsigned bits = v->getType()->getScalarSizeInBits();
   return leave(t, op, scan(t, op, shift_up(t, op, enter(t, op, v), 1, bits), bits), bits);
}

Value *in_parts(Translator &t, llvm::ArrayRef<Value *> vectors, unsigned lanes,
                llvm::function_ref<Value *(llvm::ArrayRef<Value *>)> f)
{
   const unsigned all = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType())->getNumElements();
   if (all <= lanes)
      return f(vectors);
   std::vector<Value *> joined;
   for (unsigned first = 0; first < all; first += lanes) {
      llvm::SmallVector<Value *, 4> parts;
      for (Value *v : vectors)
         parts.push_back(slice(t, v, first, lanes));
      joined.push_back(f(parts));
   }
   // Joins pairs; the number of parts is a power of two.
   for (; joined.size() > 1; lanes *= 2) {
      llvm::SmallVector<int, 64> both;
      for (unsigned l = 0; l < 2 * lanes; l++)
         both.push_back(int(l)); // the second operand's lanes follow the first's
      std::vector<Value *> wider;
      for (size_t i = 0; i < joined.size(); i += 2)
         wider.push_back(t.b.CreateShuffleVector(joined[i], joined[i + 1], both));
      joined = std::move(wider);
   }
   return joined[0];
}

Value *permute(Translator &t, Value *v, Value *index)
{
   llvm::IRBuilder<> &b = t.b;
   if (auto *constant = llvm::dyn_cast<llvm::Constant>(index)) {
      return shuffle(t, v, [&](int l) {
         auto *lane = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(l));
         return lane ? int(lane->getZExtValue() % t.W) : llvm::PoisonMaskElem;
      });
   }
   const unsigned bits = v->getType()->getScalarSizeInBits();
   if (bits == 1)
      return permute_bits(t, v, index);
   constexpr unsigned max_registers = 4; // every result register selects from every source register
   if (bits > 32 || t.W > max_registers * permutation_lanes(t))
      return permute_in_memory(t, v, index);
   llvm::Type *type = v->getType();
   Value *wide = bits < 32 ? b.CreateZExt(v, t.vector_of(b.getInt32Ty())) : v;
   Value *result = permute_registers(t, wide, index);
   return bits < 32 ? b.CreateTrunc(result, type) : result;
}

} // namespace weft::cpu
