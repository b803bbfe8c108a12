// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Atomic operations on buffers, shared and global memory, and texels.

#include "backend/spirv/translator.h"

namespace weft::spirv {

namespace {

bool is_float_atomic(const nir_intrinsic_instr *instr)
{
   return nir_intrinsic_has_atomic_op(instr) &&
          nir_atomic_op_type(nir_intrinsic_atomic_op(instr)) == nir_type_float;
}

} // namespace

void Translator::emit_atomic(nir_intrinsic_instr *instr)
{
   const unsigned bits = instr->def.bit_size;
   const Kind kind = is_float_atomic(instr) ? Kind::real : Kind::integer;
   const Id type = this->type(kind, bits);
   switch (instr->intrinsic) {
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap: {
      const Id unit = get(instr->src[1], Kind::integer);
      return emit_atomic_at(instr, buffer_pointer(instr, instr->src[0], type, unit, bits / 8), 2,
                            kind);
   }
   case nir_intrinsic_global_atomic:
   case nir_intrinsic_global_atomic_swap:
      return emit_atomic_at(instr, global_pointer(instr, type), 1, kind);
   default: {
      nir_deref_instr *deref = nir_src_as_deref(instr->src[0]);
      /* An exchange takes the type that the other operations on the variable have. */
      const bool is_float = glsl_type_is_float_16_32_64(deref->type);
      return emit_atomic_at(instr, variable_pointer(deref), 1,
                            is_float ? Kind::real : Kind::integer);
   }
   }
}

void Translator::emit_atomic_at(nir_intrinsic_instr *instr, Pointer pointer, unsigned first,
                                Kind kind, Id stored)
{
   const unsigned bits = instr->def.bit_size;
   const Id where =
      scope(pointer.storage == SpvStorageClassWorkgroup ? SpvScopeWorkgroup : device_scope());
   /* The front end has made barriers of an operation's semantics. */
   const Id relaxed = m.constant_uint(SpvMemorySemanticsMaskNone);
   const Id type = this->type(kind, bits);
   const bool cast_needed = stored && stored != type;
   const Id there = cast_needed ? stored : type;
   const auto data = [&](unsigned i) {
      const Id value = get(instr->src[first + i], kind);
      return cast_needed ? m.emit(SpvOpBitcast, stored, {value}) : value;
   };
   const auto result = [&](Id value) {
      define(instr->def, 0, cast_needed ? m.emit(SpvOpBitcast, type, {value}) : value, kind);
   };
   const auto emit = [&](SpvOp op) {
      result(m.emit(op, there, {pointer.id, where, relaxed, data(0)}));
   };

   if (bits == 64 && kind == Kind::integer)
      m.capability(SpvCapabilityInt64Atomics);
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
         return fail(
            "shared memory with atomic operations on both floats and integers is not supported");
      return result(m.emit(SpvOpAtomicCompareExchange, there,
                           {pointer.id, where, relaxed, relaxed, data(1), data(0)}));
   case nir_atomic_op_fadd:
      m.capability(bits == 16   ? SpvCapabilityAtomicFloat16AddEXT
                   : bits == 32 ? SpvCapabilityAtomicFloat32AddEXT
                                : SpvCapabilityAtomicFloat64AddEXT);
      m.extension(bits == 16 ? "SPV_EXT_shader_atomic_float16_add"
                             : "SPV_EXT_shader_atomic_float_add");
      return emit(SpvOpAtomicFAddEXT);
   case nir_atomic_op_fmin:
   case nir_atomic_op_fmax:
      m.capability(bits == 16   ? SpvCapabilityAtomicFloat16MinMaxEXT
                   : bits == 32 ? SpvCapabilityAtomicFloat32MinMaxEXT
                                : SpvCapabilityAtomicFloat64MinMaxEXT);
      m.extension("SPV_EXT_shader_atomic_float_min_max");
      return emit(nir_intrinsic_atomic_op(instr) == nir_atomic_op_fmin ? SpvOpAtomicFMinEXT
                                                                       : SpvOpAtomicFMaxEXT);
   default:
      fail("an atomic operation is not supported");
      define(instr->def, 0, zero(kind, bits), kind);
   }
}

} // namespace weft::spirv
