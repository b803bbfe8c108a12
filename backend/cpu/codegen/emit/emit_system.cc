// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// System values, read from the structs of abi.h, and barriers.

#include "backend/cpu/codegen/facts/control_flow.h"
#include "backend/cpu/codegen/translator.h"

#include <cstddef>

namespace weft::cpu {

using llvm::Value;

namespace {

Value *load_state(Translator &t, Value *state, size_t offset, llvm::Type *type)
{
   Value *address = t.b.CreateConstInBoundsGEP1_64(t.b.getInt8Ty(), state, offset);
   llvm::LoadInst *load = t.b.CreateLoad(type, address);
   // Nothing changes the state while a kernel runs.
   load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
   return load;
}

void define_vec3(Translator &t, nir_intrinsic_instr *intr, Value *state, size_t offset)
{
   for (unsigned c = 0; c < intr->def.num_components; c++) {
      Value *v = load_state(t, state, offset + c * sizeof(uint32_t), t.b.getInt32Ty());
      t.define(intr->def, c, t.b.CreateZExtOrTrunc(v, t.scalar_type(intr->def)));
   }
}

void emit_barrier(Translator &t, nir_intrinsic_instr *intr)
{
   const bool memory = nir_intrinsic_memory_scope(intr) != SCOPE_NONE;
   if (is_control_barrier(&intr->instr) && t.info.subgroups > 1) {
      // The subgroups of a workgroup run one after the other on one thread. A call of an unknown
      // function orders memory accesses for LLVM.
      t.call(barrier_symbol, t.b.getVoidTy(), {t.workgroup_state});
   }
   // x86 reorders only a store and a later load of another address; acquire and release permit
   // that.
   if (memory && nir_intrinsic_memory_scope(intr) > SCOPE_SUBGROUP)
      t.b.CreateFence(llvm::AtomicOrdering::AcquireRelease);
}

} // namespace

bool emit_system(Translator &t, nir_intrinsic_instr *intr)
{
   llvm::IRBuilder<> &b = t.b;
   switch (intr->intrinsic) {
   case nir_intrinsic_load_workgroup_id:
      define_vec3(t, intr, t.workgroup_state, offsetof(WorkgroupState, workgroup_id));
      t.workgroup_x = t.value(intr->def, 0);
      t.next_workgroup_x = b.CreateAdd(t.workgroup_x, b.getInt32(t.info.joined_workgroups));
      return true;
   case nir_intrinsic_load_num_workgroups:
      define_vec3(t, intr, t.dispatch_state, offsetof(DispatchState, num_workgroups));
      return true;
   case nir_intrinsic_load_subgroup_id:
      t.define(intr->def, 0, t.subgroup_id);
      return true;
   case nir_intrinsic_load_subgroup_invocation:
      t.define(intr->def, 0, t.lane_numbers(32));
      return true;
   case nir_intrinsic_as_uniform:
      // The operand is a vector only if lane analysis found that all lanes hold the same value
      // (opt_uniform.cc).
      for (unsigned c = 0; c < intr->def.num_components; c++) {
         Value *v = t.value(intr->src[0], c);
         t.define(intr->def, c,
                  v->getType()->isVectorTy() ? b.CreateExtractElement(v, uint64_t(0)) : v);
      }
      return true;
   case nir_intrinsic_shader_clock: {
      Value *clock = b.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {});
      t.define(intr->def, 0, b.CreateTrunc(clock, b.getInt32Ty()));
      t.define(intr->def, 1, b.CreateTrunc(b.CreateLShr(clock, 32), b.getInt32Ty()));
      return true;
   }
   case nir_intrinsic_barrier:
      emit_barrier(t, intr);
      return true;
   default:
      return false;
   }
}

} // namespace weft::cpu
