// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/access/guarded_loads.h"

#include "backend/cpu/codegen/access/memory_access.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/MDBuilder.h>

namespace weft::cpu {

using llvm::Value;

namespace {

using Instructions = llvm::SmallPtrSet<const nir_instr *, 32>;

bool is_body(const nir_instr *instr)
{
   return instr->type != nir_instr_type_phi && instr->type != nir_instr_type_jump;
}

bool all_sources(nir_instr *instr, llvm::function_ref<bool(const nir_instr *)> f)
{
   return nir_foreach_src(
      instr,
      [](nir_src *src, void *f) {
         return (*static_cast<llvm::function_ref<bool(const nir_instr *)> *>(f))(
            src->ssa->parent_instr);
      },
      &f);
}

/// Whether the result depends on the operands only: arithmetic, and reads of values that are
/// constant while the shader runs.
bool is_pure(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return instr->type == nir_instr_type_alu;
   switch (nir_instr_as_intrinsic(instr)->intrinsic) {
   case nir_intrinsic_load_push_constant:
   case nir_intrinsic_load_subgroup_invocation:
   case nir_intrinsic_load_subgroup_id:
   case nir_intrinsic_load_workgroup_id:
   case nir_intrinsic_load_num_workgroups:
      return true;
   default:
      return false;
   }
}

bool is_used_outside(const nir_def *def, const nir_block *block)
{
   nir_foreach_use_including_if(src, def) {
      if (nir_src_is_if(src) || nir_src_parent_instr(src)->block != block ||
          nir_src_parent_instr(src)->type == nir_instr_type_phi)
         return true;
   }
   return false;
}

/// Also true if an assumption names the value: an access behind the block may check it, however far
/// the value is from its uses.
bool is_looked_at_outside(const Translator &t, const nir_def *def, const nir_block *block)
{
   return is_used_outside(def, block) || t.fixed_offsets->is_assumed_something_of(def);
}

struct Block {
   Block(Translator &t, nir_block *block) : t(t), block(block) {}

   Translator &t;
   nir_block *block;
   Instructions known;  ///< pure, computable from values at the block's beginning
   Instructions needed; ///< subset of known: leads to an address, or is in `kept`
   Instructions kept;   ///< subset of known: has uses outside of the block
   llvm::SmallVector<nir_intrinsic_instr *, 16> loads;

   llvm::IRBuilder<> &b = t.b;

   void find_known();
   void find_clusters();
   void find_needed();
   bool is_known(const nir_instr *instr) const
   {
      return instr->block != block || instr->type == nir_instr_type_phi || known.contains(instr);
   }
   void emit(const std::function<bool(nir_instr *)> &which);
   void emit_copy(Way way, llvm::BasicBlock *join);

   llvm::SmallVector<std::pair<nir_def *, llvm::SmallVector<llvm::AllocaInst *, 4>>, 16> results;
};

void Block::find_known()
{
   nir_foreach_instr(instr, block) {
      if (!is_body(instr))
         continue;
      const auto source_is_known = [&](const nir_instr *source) { return is_known(source); };
      if (is_pure(instr) && all_sources(instr, source_is_known))
         known.insert(instr);
      if (instr->type == nir_instr_type_intrinsic &&
          is_conditional_load(t, nir_instr_as_intrinsic(instr)) &&
          all_sources(instr, source_is_known))
         loads.push_back(nir_instr_as_intrinsic(instr));
   }
}

void Block::find_needed()
{
   Instructions wanted;
   for (nir_intrinsic_instr *load : loads)
      wanted.insert(&load->instr);
   nir_foreach_instr_reverse(instr, block) {
      const bool leaves =
         known.contains(instr) && is_looked_at_outside(t, nir_instr_def(instr), block);
      if (leaves)
         kept.insert(instr);
      if (!leaves && !wanted.contains(instr))
         continue;
      if (known.contains(instr))
         needed.insert(instr);
      all_sources(instr, [&](const nir_instr *source) {
         wanted.insert(source);
         return true;
      });
   }
}

/// Whether other loads may move over the instruction.
bool only_reads(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return true;
   const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
   switch (intrinsic->intrinsic) {
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_load_shared:
   case nir_intrinsic_load_global:
   case nir_intrinsic_load_scratch:
      return !(nir_intrinsic_has_access(intrinsic) &&
               nir_intrinsic_access(intrinsic) & (ACCESS_VOLATILE | ACCESS_COHERENT));
   default:
      return nir_intrinsic_infos[intrinsic->intrinsic].flags & NIR_INTRINSIC_CAN_REORDER;
   }
}

void Block::find_clusters()
{
   llvm::SmallVector<nir_intrinsic_instr *, 16> together;
   size_t next = 0;
   nir_foreach_instr(instr, block) {
      if (next < loads.size() && instr == &loads[next]->instr)
         together.push_back(loads[next++]);
      if (!only_reads(instr)) {
         weft::cpu::find_clusters(t, together);
         together.clear();
      }
   }
   weft::cpu::find_clusters(t, together);
}

void Block::emit(const std::function<bool(nir_instr *)> &which)
{
   nir_foreach_instr(instr, block) {
      if (is_body(instr) && which(instr))
         t.emit_instruction(instr);
   }
}

void Block::emit_copy(Way way, llvm::BasicBlock *join)
{
   t.way_of_guarded = way;
   emit([&](nir_instr *instr) { return !kept.contains(instr); });
   for (auto &[def, variables] : results) {
      for (unsigned c = 0; c < variables.size(); c++)
         b.CreateStore(t.value(*def, c), variables[c]);
   }
   b.CreateBr(join);
}

} // namespace

bool emit_guarded(Translator &t, nir_block *block)
{
   Block guarded(t, block);
   guarded.find_known();
   if (guarded.loads.size() < 2)
      return false;
   guarded.find_needed();
   llvm::IRBuilder<> &b = t.b;

   guarded.emit([&](nir_instr *instr) { return guarded.needed.contains(instr); });
   Conditions conditions(t);
   t.assumed.clear();
   for (nir_intrinsic_instr *load : guarded.loads)
      t.guarded[load] = {};
   guarded.find_clusters();
   for (nir_intrinsic_instr *load : guarded.loads) {
      const std::shared_ptr<LoadCluster> &cluster = t.guarded.find(load)->second.cluster;
      if (!cluster || std::exchange(cluster->is_looked_at, true) == false)
         require_regular(t, load, conditions);
   }
   Value *all = conditions.all();
   if (!all)
      all = b.getTrue();

   nir_foreach_instr(instr, block) {
      nir_def *def = is_body(instr) ? nir_instr_def(instr) : nullptr;
      if (!def || guarded.kept.contains(instr))
         continue;
      if (!is_looked_at_outside(t, def, block)) {
         t.only_in_copies.insert(def);
         continue;
      }
      llvm::Type *type = t.scalar_type(*def);
      llvm::SmallVector<llvm::AllocaInst *, 4> variables;
      for (unsigned c = 0; c < def->num_components; c++)
         variables.push_back(t.variable(t.is_uniform(*def) ? type : t.vector_of(type), "guarded"));
      guarded.results.push_back({def, variables});
   }

   llvm::BasicBlock *fast = t.block("regular"), *slow = t.block("lanewise"),
                    *join = t.block("joined");
   b.CreateCondBr(all, fast, slow, llvm::MDBuilder(t.context).createBranchWeights(1000, 1));
   b.SetInsertPoint(fast);
   guarded.emit_copy(Way::regular, join);
   const AccessCounts counted = t.accesses;
   b.SetInsertPoint(slow);
   guarded.emit_copy(Way::lanewise, join);
   t.accesses = counted;
   b.SetInsertPoint(join);
   for (const auto &[def, variables] : guarded.results) {
      for (unsigned c = 0; c < variables.size(); c++)
         t.define(*def, c, b.CreateLoad(variables[c]->getAllocatedType(), variables[c]));
   }
   for (nir_intrinsic_instr *load : guarded.loads)
      t.guarded.erase(load);
   return true;
}

} // namespace weft::cpu
