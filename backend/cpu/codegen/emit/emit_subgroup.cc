// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Subgroup operations. nir_lower_subgroups has already lowered relative shuffles, quads,
/// rotations, elections, comparing votes and reductions of booleans to these, one component at a
/// time.

#include "backend/cpu/codegen/vectors/lane_arithmetic.h"

namespace weft::cpu {

using llvm::Value;

namespace {

/// The active lanes in which a boolean is true: <W x i1>.
Value *true_lanes(Translator &t, const nir_src &src)
{
   Value *lanes = t.varying(src);
   return t.mask ? t.b.CreateAnd(lanes, t.mask) : lanes;
}

void emit_ballot(Translator &t, nir_intrinsic_instr *intr)
{
   Value *bits = t.bits_of(true_lanes(t, intr->src[0]));
   // A ballot has one or four components of 32 or 64 bits; there are at most 64 lanes.
   const unsigned size = intr->def.bit_size;
   for (unsigned c = 0; c < intr->def.num_components; c++) {
      Value *part = llvm::ConstantInt::get(t.int_type(size), 0);
      if (c * size < t.W) {
         Value *shifted = c ? t.b.CreateLShr(bits, uint64_t(c) * size) : bits;
         part = t.b.CreateZExtOrTrunc(shifted, t.int_type(size));
      }
      t.define(intr->def, c, part);
   }
}

void emit_vote(Translator &t, nir_intrinsic_instr *intr)
{
   llvm::IRBuilder<> &b = t.b;
   if (t.is_uniform(intr->src[0])) {
      t.define(intr->def, 0, t.uniform(intr->src[0]));
   } else if (intr->intrinsic == nir_intrinsic_vote_any) {
      t.define(intr->def, 0, t.any(true_lanes(t, intr->src[0])));
   } else {
      Value *against = b.CreateNot(t.varying(intr->src[0]));
      if (t.mask)
         against = b.CreateAnd(against, t.mask);
      t.define(intr->def, 0, b.CreateNot(t.any(against)));
   }
}

/// Every active lane gets the value of one lane.
void emit_broadcast(Translator &t, nir_intrinsic_instr *intr, Value *lane)
{
   for (unsigned c = 0; c < intr->def.num_components; c++) {
      Value *v = t.value(intr->src[0], c);
      if (v->getType()->isVectorTy())
         v = t.b.CreateExtractElement(v, lane);
      t.define(intr->def, c, v);
   }
}

/// The number of a lane, from a source that is (dynamically) uniform.
Value *lane_number(Translator &t, const nir_src &src)
{
   Value *lane = t.b.CreateZExtOrTrunc(t.first_active(src), t.b.getInt32Ty());
   return t.b.CreateAnd(lane, t.b.getInt32(t.W - 1));
}

void emit_shuffle(Translator &t, nir_intrinsic_instr *intr)
{
   const nir_src &index = intr->src[1];
   if (t.is_uniform(intr->src[0]) || t.is_uniform(index))
      return emit_broadcast(t, intr, lane_number(t, index));
   Value *lanes = t.b.CreateZExtOrTrunc(t.varying(index), t.vector_of(t.b.getInt32Ty()));
   for (unsigned c = 0; c < intr->def.num_components; c++)
      t.define(intr->def, c, permute(t, t.varying(intr->src[0], c), lanes));
}

bool is_idempotent(nir_op op)
{
   switch (op) {
   case nir_op_imin:
   case nir_op_imax:
   case nir_op_umin:
   case nir_op_umax:
   case nir_op_iand:
   case nir_op_ior:
   case nir_op_fmin:
   case nir_op_fmax:
      return true;
   default:
      return false;
   }
}

void emit_reduction(Translator &t, nir_intrinsic_instr *intr)
{
   const auto op = nir_op(nir_intrinsic_reduction_op(intr));
   if (!is_reduction(op)) {
      t.fail(std::string("the CPU back end does not support a subgroup operation with ") +
             nir_op_infos[op].name);
      return;
   }
   for (unsigned c = 0; c < intr->def.num_components; c++) {
      if (intr->intrinsic != nir_intrinsic_exclusive_scan && t.is_uniform(intr->src[0]) &&
          is_idempotent(op)) {
         t.define(intr->def, c, t.uniform(intr->src[0], c));
         continue;
      }
      Value *v = fill_inactive(t, op, t.varying(intr->src[0], c), t.mask);
      if (intr->intrinsic == nir_intrinsic_inclusive_scan) {
         v = inclusive_scan(t, op, v);
      } else if (intr->intrinsic == nir_intrinsic_exclusive_scan) {
         v = exclusive_scan(t, op, v);
      } else {
         const unsigned cluster = nir_intrinsic_cluster_size(intr);
         v = cluster && cluster < t.W ? reduce_clusters(t, op, v, cluster) : reduce(t, op, v);
      }
      // A value that divergence analysis calls uniform is the same in all active lanes.
      if (t.is_uniform(intr->def) && v->getType()->isVectorTy())
         v = t.b.CreateExtractElement(v, t.first_active_lane());
      t.define(intr->def, c, v);
   }
}

} // namespace

bool emit_subgroup(Translator &t, nir_intrinsic_instr *intr)
{
   switch (intr->intrinsic) {
   case nir_intrinsic_vote_any:
   case nir_intrinsic_vote_all:
      emit_vote(t, intr);
      return true;
   case nir_intrinsic_ballot:
      emit_ballot(t, intr);
      return true;
   case nir_intrinsic_first_invocation:
      t.define(intr->def, 0, t.first_active_lane());
      return true;
   case nir_intrinsic_read_first_invocation:
      emit_broadcast(t, intr, t.first_active_lane());
      return true;
   case nir_intrinsic_read_invocation:
      emit_broadcast(t, intr, lane_number(t, intr->src[1]));
      return true;
   case nir_intrinsic_shuffle:
      emit_shuffle(t, intr);
      return true;
   case nir_intrinsic_reduce:
   case nir_intrinsic_inclusive_scan:
   case nir_intrinsic_exclusive_scan:
      emit_reduction(t, intr);
      return true;
   default:
      return false;
   }
}

} // namespace weft::cpu
