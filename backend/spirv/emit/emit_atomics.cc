// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Atomic operations on buffers, shared and global memory, and texels.

#include "backend/spirv/emit/emit.h"
#include "backend/spirv/module/memory_model.h"
#include "backend/spirv/module/translator.h"

namespace weft::spirv {

namespace {

/// NIR's exchange has no type. A 16-bit exchange is one of floats, like all 16-bit atomics.
bool is_float_atomic(const nir_intrinsic_instr *instr)
{
   return nir_intrinsic_has_atomic_op(instr) &&
          (instr->def.bit_size == 16 ||
           nir_atomic_op_type(nir_intrinsic_atomic_op(instr)) == nir_type_float);
}

} // namespace

void emit_atomic(Translator &t, nir_intrinsic_instr *instr)
{
   const unsigned bits = instr->def.bit_size;
   const Kind kind = is_float_atomic(instr) ? Kind::real : Kind::integer;
   if (t.held_bits(bits) != bits) {
      t.fail("atomic operations of " + std::to_string(bits) +
             " bits need integers of that size, which the driver lacks");
      return t.define(instr->def, 0, t.zero(Kind::integer, bits), Kind::integer);
   }
   const Id type = t.type(kind, bits);
   switch (instr->intrinsic) {
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap: {
      const Id unit = t.get(instr->src[1], Kind::integer);
      return emit_atomic_at(
         t, instr, t.buffers.pointer_to(instr, instr->src[0], type, unit, bits / 8), 2, kind);
   }
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
      return emit_atomic_at(t, instr, t.global_memory.pointer_to(instr, type), 1, kind);
   default: {
      nir_deref_instr *deref = nir_src_as_deref(instr->src[0]);
      /* An exchange uses the same type as the other atomics on the variable. */
      const bool is_float = glsl_type_is_float_16_32_64(deref->type);
      return emit_atomic_at(t, instr, t.variables.pointer_to(deref), 1,
                            is_float ? Kind::real : Kind::integer);
   }
   }
}

void emit_atomic_at(Translator &t, nir_intrinsic_instr *instr, Pointer pointer, unsigned first,
                    Kind kind, Id stored)
{
   const unsigned bits = instr->def.bit_size;
   const Id where =
      scope(t, pointer.storage == SpvStorageClassWorkgroup ? SpvScopeWorkgroup : device_scope(t));
   /* The front end has turned the operation's semantics into barriers. */
   const Id relaxed = t.m.constant_uint(SpvMemorySemanticsMaskNone);
   const Id type = t.type(kind, bits);
   const bool cast_needed = stored && stored != type;
   const Id there = cast_needed ? stored : type;
   const auto data = [&](unsigned i) {
      const Id value = t.get(instr->src[first + i], kind);
      return cast_needed ? t.m.emit(SpvOpBitcast, stored, {value}) : value;
   };
   const auto result = [&](Id value) {
      t.define(instr->def, 0, cast_needed ? t.m.emit(SpvOpBitcast, type, {value}) : value, kind);
   };
   const auto emit = [&](SpvOp op) {
      result(t.m.emit(op, there, {pointer.id, where, relaxed, data(0)}));
   };

   if (bits == 64 && kind == Kind::integer)
      t.m.capability(SpvCapabilityInt64Atomics);
   switch (nir_intrinsic_atomic_op(instr)) {
   case nir_atomic_op_iadd:
      return emit(SpvOpAtomicIAdd);
   case nir_atomic_op_imin:
      return emit(SpvOpAtomicSMin);
   case nir_atomic_op_umin:
      return emit(SpvOpAtomicUMin);
   case nir_atomic_op_imax:
      return emit(SpvOpAtomicSMax);
   case nir_atomic_op_umax:
      return emit(SpvOpAtomicUMax);
   case nir_atomic_op_iand:
      return emit(SpvOpAtomicAnd);
   case nir_atomic_op_ior:
      return emit(SpvOpAtomicOr);
   case nir_atomic_op_ixor:
      return emit(SpvOpAtomicXor);
   case nir_atomic_op_xchg:
      return emit(SpvOpAtomicExchange);
   case nir_atomic_op_cmpxchg:
      if (kind == Kind::real)
         return t.fail(
            "shared memory with atomic operations on both floats and integers is not supported");
      return result(t.m.emit(SpvOpAtomicCompareExchange, there,
                             {pointer.id, where, relaxed, relaxed, data(1), data(0)}));
   case nir_atomic_op_fadd:
      t.m.capability(bits == 16   ? SpvCapabilityAtomicFloat16AddEXT
                     : bits == 32 ? SpvCapabilityAtomicFloat32AddEXT
                                  : SpvCapabilityAtomicFloat64AddEXT);
      t.m.extension(bits == 16 ? "SPV_EXT_shader_atomic_float16_add"
                               : "SPV_EXT_shader_atomic_float_add");
      return emit(SpvOpAtomicFAddEXT);
   case nir_atomic_op_fmin:
   case nir_atomic_op_fmax:
      t.m.capability(bits == 16   ? SpvCapabilityAtomicFloat16MinMaxEXT
                     : bits == 32 ? SpvCapabilityAtomicFloat32MinMaxEXT
                                  : SpvCapabilityAtomicFloat64MinMaxEXT);
      t.m.extension("SPV_EXT_shader_atomic_float_min_max");
      return emit(nir_intrinsic_atomic_op(instr) == nir_atomic_op_fmin ? SpvOpAtomicFMinEXT
                                                                       : SpvOpAtomicFMaxEXT);
   default:
      t.fail("an atomic operation is not supported");
      t.define(instr->def, 0, t.zero(kind, bits), kind);
   }
}

} // namespace weft::spirv
