// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Subgroup operations: NIR's intrinsics become the SPIR-V instructions that they came from.

#include "backend/spirv/emit/emit.h"
#include "backend/spirv/module/memory_model.h"
#include "backend/spirv/module/translator.h"

namespace weft::spirv {

namespace {

constexpr uint32_t spirv_1_5 = 0x00010500;

/// Translates one NIR instruction.
class Subgroup {
public:
   Subgroup(Translator &t, nir_intrinsic_instr *instr) : t(t), m(t.m), instr(*instr) {}

   /// Returns whether the instruction is a subgroup operation.
   bool emit()
   {
      switch (instr.intrinsic) {
      case nir_intrinsic_elect:
         return whole(SpvOpGroupNonUniformElect, SpvCapabilityGroupNonUniform, {});
      case nir_intrinsic_vote_any:
         return whole(SpvOpGroupNonUniformAny, SpvCapabilityGroupNonUniformVote, {boolean(0)});
      case nir_intrinsic_vote_all:
         return whole(SpvOpGroupNonUniformAll, SpvCapabilityGroupNonUniformVote, {boolean(0)});
      case nir_intrinsic_vote_ieq:
         return whole(SpvOpGroupNonUniformAllEqual, SpvCapabilityGroupNonUniformVote, {integer(0)});
      case nir_intrinsic_vote_feq:
         return whole(SpvOpGroupNonUniformAllEqual, SpvCapabilityGroupNonUniformVote,
                      {t.get(instr.src[0], Kind::real)});

      case nir_intrinsic_ballot:
         return emit_ballot();
      case nir_intrinsic_inverse_ballot:
         return whole(SpvOpGroupNonUniformInverseBallot, SpvCapabilityGroupNonUniformBallot,
                      {mask(0)});
      case nir_intrinsic_ballot_bitfield_extract:
         return whole(SpvOpGroupNonUniformBallotBitExtract, SpvCapabilityGroupNonUniformBallot,
                      {mask(0), integer(1)});
      case nir_intrinsic_ballot_bit_count_reduce:
         return whole(SpvOpGroupNonUniformBallotBitCount, SpvCapabilityGroupNonUniformBallot,
                      {SpvGroupOperationReduce, mask(0)});
      case nir_intrinsic_ballot_bit_count_inclusive:
         return whole(SpvOpGroupNonUniformBallotBitCount, SpvCapabilityGroupNonUniformBallot,
                      {SpvGroupOperationInclusiveScan, mask(0)});
      case nir_intrinsic_ballot_bit_count_exclusive:
         return whole(SpvOpGroupNonUniformBallotBitCount, SpvCapabilityGroupNonUniformBallot,
                      {SpvGroupOperationExclusiveScan, mask(0)});
      case nir_intrinsic_ballot_find_lsb:
         return whole(SpvOpGroupNonUniformBallotFindLSB, SpvCapabilityGroupNonUniformBallot,
                      {mask(0)});
      case nir_intrinsic_ballot_find_msb:
         return whole(SpvOpGroupNonUniformBallotFindMSB, SpvCapabilityGroupNonUniformBallot,
                      {mask(0)});
      case nir_intrinsic_first_invocation:
         return whole(SpvOpGroupNonUniformBallotFindLSB, SpvCapabilityGroupNonUniformBallot,
                      {active_mask()});
      case nir_intrinsic_last_invocation:
         return whole(SpvOpGroupNonUniformBallotFindMSB, SpvCapabilityGroupNonUniformBallot,
                      {active_mask()});

      case nir_intrinsic_read_invocation:
         return emit_read_invocation();
      case nir_intrinsic_read_first_invocation:
         return move(SpvOpGroupNonUniformBroadcastFirst, SpvCapabilityGroupNonUniformBallot);
      case nir_intrinsic_shuffle:
         return move(SpvOpGroupNonUniformShuffle, SpvCapabilityGroupNonUniformShuffle);
      case nir_intrinsic_shuffle_xor:
         return move(SpvOpGroupNonUniformShuffleXor, SpvCapabilityGroupNonUniformShuffle);
      case nir_intrinsic_shuffle_up:
         return move(SpvOpGroupNonUniformShuffleUp, SpvCapabilityGroupNonUniformShuffleRelative);
      case nir_intrinsic_shuffle_down:
         return move(SpvOpGroupNonUniformShuffleDown, SpvCapabilityGroupNonUniformShuffleRelative);
      case nir_intrinsic_rotate:
         return emit_rotate();

      case nir_intrinsic_reduce:
         return emit_arithmetic(nir_intrinsic_cluster_size(&instr)
                                   ? SpvGroupOperationClusteredReduce
                                   : SpvGroupOperationReduce);
      case nir_intrinsic_inclusive_scan:
         return emit_arithmetic(SpvGroupOperationInclusiveScan);
      case nir_intrinsic_exclusive_scan:
         return emit_arithmetic(SpvGroupOperationExclusiveScan);

      case nir_intrinsic_quad_broadcast:
         return emit_quad_broadcast();
      case nir_intrinsic_quad_swap_horizontal:
         return emit_quad_swap(0);
      case nir_intrinsic_quad_swap_vertical:
         return emit_quad_swap(1);
      case nir_intrinsic_quad_swap_diagonal:
         return emit_quad_swap(2);
      default:
         return false;
      }
   }

private:
   Id boolean(unsigned i) { return t.get(instr.src[i], Kind::boolean); }
   Id integer(unsigned i) { return t.get(instr.src[i], Kind::integer); }
   Id mask(unsigned i) { return t.get_vector(instr.src[i], Kind::integer); }
   Id mask_type() { return m.type_vector(m.type_uint(32), 4); }
   Id subgroup() { return scope(t, SpvScopeSubgroup); }

   /// Emits an operation whose result is a bool or an integer.
   bool whole(SpvOp op, SpvCapability capability, std::initializer_list<uint32_t> operands)
   {
      m.capability(capability);
      Words words = {subgroup()};
      words.insert(words.end(), operands);
      const Kind kind = instr.def.bit_size == 1 ? Kind::boolean : Kind::integer;
      t.define(instr.def, 0, m.emit(op, t.type(kind, instr.def.bit_size), words), kind);
      return true;
   }

   /// Emits an operation that moves its first source, of any type, by its second.
   bool move(SpvOp op, SpvCapability capability, std::initializer_list<uint32_t> more = {})
   {
      m.capability(capability);
      const Scalar value = t.scalar(nir_get_scalar(instr.src[0].ssa, 0));
      Words words = {subgroup(), value.id};
      if (nir_intrinsic_infos[instr.intrinsic].num_srcs > 1)
         words.push_back(integer(1));
      words.insert(words.end(), more);
      t.define(instr.def, 0, m.emit(op, t.type(value.kind, instr.def.bit_size), words), value.kind);
      return true;
   }

   Id active_mask()
   {
      m.capability(SpvCapabilityGroupNonUniformBallot);
      return m.emit(SpvOpGroupNonUniformBallot, mask_type(), {subgroup(), m.constant_bool(true)});
   }

   bool emit_ballot()
   {
      m.capability(SpvCapabilityGroupNonUniformBallot);
      if (instr.def.bit_size != 32 || instr.def.num_components != 4)
         t.fail("a ballot of another form than 4×32 bits is not supported");
      t.define_vector(instr.def,
                      m.emit(SpvOpGroupNonUniformBallot, mask_type(), {subgroup(), boolean(0)}),
                      Kind::integer);
      return true;
   }

   /// Before SPIR-V 1.5 a broadcast needs a constant invocation.
   bool emit_read_invocation()
   {
      if (nir_src_is_const(instr.src[1]))
         return move(SpvOpGroupNonUniformBroadcast, SpvCapabilityGroupNonUniformBallot);
      return move(SpvOpGroupNonUniformShuffle, SpvCapabilityGroupNonUniformShuffle);
   }

   bool emit_rotate()
   {
      m.extension("SPV_KHR_subgroup_rotate");
      const unsigned cluster = nir_intrinsic_cluster_size(&instr);
      if (cluster)
         return move(SpvOpGroupNonUniformRotateKHR, SpvCapabilityGroupNonUniformRotateKHR,
                     {m.constant_uint(cluster)});
      return move(SpvOpGroupNonUniformRotateKHR, SpvCapabilityGroupNonUniformRotateKHR);
   }

   bool emit_arithmetic(SpvGroupOperation group)
   {
      const nir_op op = nir_op(nir_intrinsic_reduction_op(&instr));
      const bool boolean = instr.def.bit_size == 1;
      const SpvOp spirv = subgroup_arithmetic_op(op, boolean);
      if (spirv == SpvOpNop) {
         t.fail("a reduction is not supported");
         return true;
      }
      const bool is_float =
         nir_alu_type_get_base_type(nir_op_infos[op].output_type) == nir_type_float;
      const Kind kind = boolean ? Kind::boolean : is_float ? Kind::real : Kind::integer;
      Words operands = {subgroup(), uint32_t(group), t.get(instr.src[0], kind)};
      if (group == SpvGroupOperationClusteredReduce) {
         m.capability(SpvCapabilityGroupNonUniformClustered);
         operands.push_back(m.constant_uint(nir_intrinsic_cluster_size(&instr)));
      } else {
         m.capability(SpvCapabilityGroupNonUniformArithmetic);
      }
      t.define(instr.def, 0, m.emit(spirv, t.type(kind, instr.def.bit_size), operands), kind);
      return true;
   }

   bool emit_quad_broadcast()
   {
      if (!nir_src_is_const(instr.src[1]) && t.driver.spirv_version < spirv_1_5)
         t.fail("a quad broadcast from a varying invocation needs SPIR-V 1.5");
      return move(SpvOpGroupNonUniformQuadBroadcast, SpvCapabilityGroupNonUniformQuad);
   }

   bool emit_quad_swap(unsigned direction)
   {
      return move(SpvOpGroupNonUniformQuadSwap, SpvCapabilityGroupNonUniformQuad,
                  {m.constant_uint(direction)});
   }

   Translator &t;
   ModuleBuilder &m;
   nir_intrinsic_instr &instr;
};

} // namespace

SpvOp subgroup_arithmetic_op(nir_op op, bool boolean)
{
   switch (op) {
   case nir_op_iadd:
      return SpvOpGroupNonUniformIAdd;
   case nir_op_fadd:
      return SpvOpGroupNonUniformFAdd;
   case nir_op_imul:
      return SpvOpGroupNonUniformIMul;
   case nir_op_fmul:
      return SpvOpGroupNonUniformFMul;
   case nir_op_imin:
      return SpvOpGroupNonUniformSMin;
   case nir_op_umin:
      return SpvOpGroupNonUniformUMin;
   case nir_op_fmin:
      return SpvOpGroupNonUniformFMin;
   case nir_op_imax:
      return SpvOpGroupNonUniformSMax;
   case nir_op_umax:
      return SpvOpGroupNonUniformUMax;
   case nir_op_fmax:
      return SpvOpGroupNonUniformFMax;
   case nir_op_iand:
      return boolean ? SpvOpGroupNonUniformLogicalAnd : SpvOpGroupNonUniformBitwiseAnd;
   case nir_op_ior:
      return boolean ? SpvOpGroupNonUniformLogicalOr : SpvOpGroupNonUniformBitwiseOr;
   case nir_op_ixor:
      return boolean ? SpvOpGroupNonUniformLogicalXor : SpvOpGroupNonUniformBitwiseXor;
   default:
      return SpvOpNop;
   }
}

bool emit_subgroup(Translator &t, nir_intrinsic_instr *instr)
{
   return Subgroup(t, instr).emit();
}

} // namespace weft::spirv
