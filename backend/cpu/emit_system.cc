// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// System values and barriers.  The state that they come from is described in abi.h.

#include "backend/cpu/translator.h"

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

/// Lane l is invocation subgroup_id * W + l of the workgroup.
Value *local_index(Translator &t)
{
   Value *first = t.b.CreateMul(t.subgroup_id, t.b.getInt32(t.W));
   return t.b.CreateAdd(t.splat(first), t.lane_numbers(32));
}

void emit_local_id(Translator &t, nir_intrinsic_instr *intr)
{
   const auto &size = t.info.workgroup_size;
   Value *index = local_index(t);
   const auto constant = [&](uint32_t v) { return llvm::ConstantInt::get(index->getType(), v); };
   Value *rest = t.b.CreateUDiv(index, constant(size[0]));
   Value *id[3] = {t.b.CreateURem(index, constant(size[0])), t.b.CreateURem(rest, constant(size[1])),
                   t.b.CreateUDiv(rest, constant(size[1]))};
   for (unsigned c = 0; c < intr->def.num_components; c++)
      t.define(intr->def, c, id[c]);
}

void emit_barrier(Translator &t, nir_intrinsic_instr *intr)
{
   const bool memory = nir_intrinsic_memory_scope(intr) != SCOPE_NONE;
   if (nir_intrinsic_execution_scope(intr) >= SCOPE_WORKGROUP && t.info.subgroups > 1) {
      // The subgroups of a workgroup take turns on one thread.  An unknown function is barrier enough for LLVM.
      Value *address = t.b.CreateConstInBoundsGEP1_64(t.b.getInt8Ty(), t.workgroup_state,
                                                      offsetof(WorkgroupState, barrier));
      Value *barrier = t.b.CreateLoad(t.b.getPtrTy(), address);
      auto *type = llvm::FunctionType::get(t.b.getVoidTy(), {t.b.getPtrTy()}, false);
      t.b.CreateCall(type, barrier, {t.workgroup_state})->setDoesNotThrow();
   }
   // x86 orders all but a store before a load of another address, which acquire and release do not ask for.
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
      return true;
   case nir_intrinsic_load_num_workgroups:
      define_vec3(t, intr, t.dispatch_state, offsetof(DispatchState, num_workgroups));
      return true;
   case nir_intrinsic_load_base_workgroup_id:
      define_vec3(t, intr, t.dispatch_state, offsetof(DispatchState, base_workgroup));
      return true;
   case nir_intrinsic_load_workgroup_size:
      for (unsigned c = 0; c < intr->def.num_components; c++)
         t.define(intr->def, c, b.getInt32(t.info.workgroup_size[c]));
      return true;
   case nir_intrinsic_load_local_invocation_id:
      emit_local_id(t, intr);
      return true;
   case nir_intrinsic_load_local_invocation_index:
      t.define(intr->def, 0, local_index(t));
      return true;
   case nir_intrinsic_load_subgroup_id:
      t.define(intr->def, 0, t.subgroup_id);
      return true;
   case nir_intrinsic_load_num_subgroups:
      t.define(intr->def, 0, b.getInt32(t.info.subgroups));
      return true;
   case nir_intrinsic_load_subgroup_size:
      t.define(intr->def, 0, b.getInt32(t.W));
      return true;
   case nir_intrinsic_load_subgroup_invocation:
      t.define(intr->def, 0, t.lane_numbers(32));
      return true;
   case nir_intrinsic_as_uniform:
      // Only where lane analysis has found that all lanes hold the same (opt_uniform.cc).
      for (unsigned c = 0; c < intr->def.num_components; c++) {
         Value *v = t.value(intr->src[0], c);
         t.define(intr->def, c,
                  v->getType()->isVectorTy() ? b.CreateExtractElement(v, uint64_t(0)) : v);
      }
      return true;
   case nir_intrinsic_shader_clock: {
      Value *time = b.CreateIntrinsic(b.getInt64Ty(), llvm::Intrinsic::readcyclecounter, {});
      t.define(intr->def, 0, b.CreateTrunc(time, b.getInt32Ty()));
      t.define(intr->def, 1, b.CreateTrunc(b.CreateLShr(time, 32), b.getInt32Ty()));
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
