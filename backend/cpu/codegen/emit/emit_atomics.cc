// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Atomic operations. If all lanes use one address, they combine their data first and do one
/// operation: lane l gets the old value, combined with the data of the lanes below l. Otherwise one
/// lane goes after the other.
///
/// Shared memory belongs to one thread, which runs the workgroup and switches subgroups at barriers
/// only. So plain accesses are atomic there.

#include "backend/cpu/codegen/access/region.h"
#include "backend/cpu/codegen/vectors/lane_arithmetic.h"
#include "backend/cpu/codegen/vectors/lane_array.h"

namespace weft::cpu {

using llvm::AtomicRMWInst;
using llvm::Value;

namespace {

struct Atomic {
   nir_intrinsic_instr *intr;
   Access access;
   nir_atomic_op op;
   unsigned bits;
   const nir_src *data;
   const nir_src *comparand; ///< of a compare-and-swap, else null
};

/// The operation that combines the data of several lanes; nir_num_opcodes if there is none.
nir_op combining_op(nir_atomic_op op)
{
   switch (op) {
   case nir_atomic_op_iadd:
   case nir_atomic_op_imin:
   case nir_atomic_op_imax:
   case nir_atomic_op_umin:
   case nir_atomic_op_umax:
   case nir_atomic_op_iand:
   case nir_atomic_op_ior:
   case nir_atomic_op_ixor:
   case nir_atomic_op_fadd:
   case nir_atomic_op_fmin:
   case nir_atomic_op_fmax:
      return nir_atomic_op_to_alu(op);
   default:
      return nir_num_opcodes;
   }
}

AtomicRMWInst::BinOp llvm_op(nir_atomic_op op)
{
   switch (op) {
   case nir_atomic_op_iadd:
      return AtomicRMWInst::Add;
   case nir_atomic_op_imin:
      return AtomicRMWInst::Min;
   case nir_atomic_op_imax:
      return AtomicRMWInst::Max;
   case nir_atomic_op_umin:
      return AtomicRMWInst::UMin;
   case nir_atomic_op_umax:
      return AtomicRMWInst::UMax;
   case nir_atomic_op_iand:
      return AtomicRMWInst::And;
   case nir_atomic_op_ior:
      return AtomicRMWInst::Or;
   case nir_atomic_op_ixor:
      return AtomicRMWInst::Xor;
   case nir_atomic_op_xchg:
      return AtomicRMWInst::Xchg;
   case nir_atomic_op_fadd:
      return AtomicRMWInst::FAdd;
   case nir_atomic_op_fmin:
      return AtomicRMWInst::FMin;
   case nir_atomic_op_fmax:
      return AtomicRMWInst::FMax;
   default:
      return AtomicRMWInst::BAD_BINOP;
   }
}

/// Operates on one address with scalars; returns the old value.
Value *operate(Translator &t, const Atomic &a, Value *pointer, Value *data, Value *comparand)
{
   llvm::IRBuilder<> &b = t.b;
   llvm::Type *type = t.int_type(a.bits);
   const llvm::Align align(a.bits / 8);
   if (a.access.space == Space::shared) {
      Value *old = b.CreateAlignedLoad(type, pointer, align);
      Value *written = data;
      if (comparand)
         written = b.CreateSelect(b.CreateICmpEQ(old, comparand), data, old);
      else if (const nir_op op = combining_op(a.op); op != nir_num_opcodes)
         written = combine(t, op, old, data);
      b.CreateAlignedStore(written, pointer, align);
      return old;
   }
   const auto order = llvm::AtomicOrdering::Monotonic;
   if (comparand)
      return b.CreateExtractValue(
         b.CreateAtomicCmpXchg(pointer, comparand, data, align, order, order), 0);
   const AtomicRMWInst::BinOp op = llvm_op(a.op);
   if (AtomicRMWInst::isFPOperation(op))
      data = t.as_float(data);
   return t.as_int(b.CreateAtomicRMW(op, pointer, data, align, order));
}

/// Shared memory needs no check: an active lane out of its bounds is undefined behaviour.
bool is_checked(Translator &t, const Atomic &a)
{
   return a.access.space == Space::buffer && t.options.robust_buffer_access;
}

/// All lanes operate on one address.
void emit_combined(Translator &t, const Atomic &a, nir_op op, const Region &region, Value *offset)
{
   llvm::IRBuilder<> &b = t.b;
   Value *pointer = pointer_to(t, region, offset);
   if (is_checked(t, a)) {
      if (Value *ok = in_bounds(t, region, offset, a.bits / 8))
         pointer = b.CreateSelect(ok, pointer, harmless_memory(t, true));
   }
   Value *data = fill_inactive(t, op, t.varying(*a.data), t.mask);
   Value *old = operate(t, a, pointer, reduce(t, op, data), nullptr);
   Value *result = t.splat(old);
   if (!nir_def_is_unused(&a.intr->def))
      result = combine(t, op, result, exclusive_scan(t, op, data));
   t.define(a.intr->def, 0, result);
}

/// One lane after the other.
void emit_lane_by_lane(Translator &t, const Atomic &a)
{
   llvm::IRBuilder<> &b = t.b;
   const bool own_buffers = a.access.index && !t.is_uniform(*a.access.index);
   const Region region = own_buffers ? Region{} : region_of(t, a.access);
   std::optional<LaneArray> slots, descriptors, comparands, results;
   if (own_buffers) {
      slots.emplace(t, t.varying(*a.access.index, 0));
      descriptors.emplace(t, t.varying(*a.access.index, 1));
   }
   const LaneArray offsets(t, offset_value(t, a.access)), data(t, t.value(*a.data, 0));
   if (a.comparand)
      comparands.emplace(t, t.value(*a.comparand, 0));
   Value *none = llvm::Constant::getNullValue(t.vector_of(t.int_type(a.bits)));
   if (!nir_def_is_unused(&a.intr->def))
      results.emplace(t, none);

   t.for_each_lane(t.mask, [&](Value *lane) {
      const Region own =
         own_buffers ? buffer_region(t, slots->lane(lane), descriptors->lane(lane)) : region;
      Value *offset = offsets.lane(lane);
      Value *pointer = pointer_to(t, own, offset);
      if (is_checked(t, a)) {
         if (Value *ok = in_bounds(t, own, offset, a.bits / 8))
            pointer = b.CreateSelect(ok, pointer, harmless_memory(t, true));
      }
      Value *old =
         operate(t, a, pointer, data.lane(lane), comparands ? comparands->lane(lane) : nullptr);
      if (results)
         results->set_lane(lane, old);
   });
   t.define(a.intr->def, 0, results ? results->vector() : none);
}

} // namespace

bool emit_atomic(Translator &t, nir_intrinsic_instr *intr)
{
   unsigned first_data;
   switch (intr->intrinsic) {
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
      first_data = 2;
      break;
   case nir_intrinsic_shared_atomic:
   case nir_intrinsic_shared_atomic_swap:
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
      first_data = 1;
      break;
   default:
      return false;
   }
   const bool swap = nir_intrinsic_infos[intr->intrinsic].num_srcs == first_data + 2;
   Atomic a{};
   a.intr = intr;
   a.access = *decode_access(intr);
   a.op = nir_intrinsic_atomic_op(intr);
   a.bits = intr->def.bit_size;
   a.data = &intr->src[first_data + (swap ? 1 : 0)];
   a.comparand = swap ? &intr->src[first_data] : nullptr;
   if (a.bits < 32 ||
       (swap ? a.op != nir_atomic_op_cmpxchg : llvm_op(a.op) == AtomicRMWInst::BAD_BINOP)) {
      t.fail("the CPU back end does not support an atomic operation of this type");
      return true;
   }

   const nir_op op = combining_op(a.op);
   const bool one_buffer = !a.access.index || t.is_uniform(*a.access.index);
   if (op != nir_num_opcodes && one_buffer && t.is_uniform(*a.access.offset))
      emit_combined(t, a, op, region_of(t, a.access), offset_value(t, a.access));
   else
      emit_lane_by_lane(t, a);
   return true;
}

} // namespace weft::cpu
