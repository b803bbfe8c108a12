// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Structured control flow. Uniform ifs and loops become branches. A divergent if runs its sides
/// one after the other, each under its part of the mask; a branch skips a side without lanes. If
/// lanes leave (or continue) a loop at different times, the loop keeps two masks in variables:
///
///   live     lanes that have not left the loop
///   current  lanes still in this iteration: live minus the lanes that have executed a continue
///
/// A jump removes its lanes from these masks. The code behind it continues with the remaining
/// lanes. If none remain, control branches to the end of the innermost divergent side, and from
/// there to the latch:
///
///   header:  current = live; mask = live   ┐
///            …                             │  if (divergent) break;  ⇒
///            …                             │     live &= ~taken; current &= ~taken;
///            …                             │     mask = current, none left → latch
///   latch:   any(live) ? header : exit     ┘
///
/// Therefore at least one lane is active wherever code runs, except in sides that are cheaper to
/// run than to skip. A value of NIR dominates its uses in LLVM IR too.
///
/// A phi is a variable: predecessors store into it, and LLVM's mem2reg makes it a phi again. A
/// store is a select under the mask only if other lanes may have stored before.

#include "backend/cpu/codegen/access/guarded_block.h"
#include "backend/cpu/codegen/facts/control_flow.h"

namespace weft::cpu {

using llvm::BasicBlock;
using llvm::Value;

namespace {

bool has_undef_source(nir_phi_instr *phi)
{
   nir_foreach_phi_src(src, phi)
   {
      if (nir_src_is_undef(src->src))
         return true;
   }
   return false;
}

/// Whether the load becomes masked instructions, which an empty mask turns off.
bool is_masked_load(Translator &t, const nir_intrinsic_instr *intr)
{
   const llvm::ArrayRef<AccessPlan> plans = t.plans->of(intr);
   return plans.size() == 1 && !plans[0].access.store && plans[0].form == AccessForm::masked &&
          plans[0].access.space != Space::scratch && has_descriptor(plans[0].access);
}

/// Whether the instruction is harmless under an empty mask.
bool may_run_without_lanes(Translator &t, nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_alu:
   case nir_instr_type_load_const:
   case nir_instr_type_undef:
      return true;
   case nir_instr_type_intrinsic:
      return is_masked_load(t, nir_instr_as_intrinsic(instr));
   default:
      return false;
   }
}

/// Whether running the list under an empty mask is cheaper than a branch around it: the list has at
/// most a few instructions. A list with a jump never counts as cheap. Most often no lane jumps, and
/// the branch then saves computing the values that leave the loop with the jump.
bool is_cheap(Translator &t, exec_list *list)
{
   constexpr unsigned few = 8;
   if (exec_list_length(list) != 1)
      return false;
   unsigned count = 0;
   nir_foreach_instr(
      instr, nir_cf_node_as_block(exec_node_data(nir_cf_node, exec_list_get_head(list), node))) {
      if (++count > few || !may_run_without_lanes(t, instr))
         return false;
   }
   return true;
}

} // namespace

struct ControlFlow {
   explicit ControlFlow(Translator &t) : t(t), b(t.b) {}

   struct Loop {
      bool masked; ///< lanes leave or continue at different times
      BasicBlock *header, *exit;
      BasicBlock *latch; ///< the next members, too, are valid in masked loops only
      llvm::AllocaInst *live, *current;
   };

   Translator &t;
   llvm::IRBuilder<> &b;
   Loop *loop = nullptr;
   BasicBlock *after_jump = nullptr; ///< in a masked loop: the target when a jump leaves no lane
   /// While the second side of a divergent if is emitted: that side's lanes, by the block after the
   /// if.
   llvm::DenseMap<const nir_block *, Value *> second_sides;
   llvm::DenseMap<const nir_phi_instr *, llvm::SmallVector<llvm::AllocaInst *, 4>> phis;

   /// The next functions return whether control reaches the end.
   bool emit_list(exec_list *);
   bool emit_block(nir_block *);
   bool emit_if(nir_if *);
   bool emit_uniform_if(nir_if *);
   bool emit_divergent_if(nir_if *);
   void emit_loop(nir_loop *);
   void emit_jump(nir_jump_instr *);

   bool emit_side(exec_list *, Value *lanes, const nir_block *merge, bool second, BasicBlock *none);
   void rejoin(Value *before, bool may_be_empty);

   llvm::ArrayRef<llvm::AllocaInst *> variables_of(nir_phi_instr *);
   void store_phis(nir_block *from, nir_block *to);
   Value *kept_lanes(nir_phi_instr *, nir_block *from);
};

void emit_control_flow(Translator &t, nir_function_impl *impl)
{
   if (ControlFlow(t).emit_list(&impl->body))
      t.b.CreateRet(t.b.getTrue());
}

bool ControlFlow::emit_list(exec_list *list)
{
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      switch (node->type) {
      case nir_cf_node_block:
         if (!emit_block(nir_cf_node_as_block(node)))
            return false;
         break;
      case nir_cf_node_if:
         if (!emit_if(nir_cf_node_as_if(node)))
            return false;
         break;
      case nir_cf_node_loop: {
         nir_loop *nested = nir_cf_node_as_loop(node);
         emit_loop(nested);
         // Control never leaves an endless loop.
         nir_block *after = nir_cf_node_as_block(nir_cf_node_next(&nested->cf_node));
         if (after->predecessors->entries == 0) {
            b.CreateUnreachable();
            return false;
         }
         break;
      }
      default:
         unreachable("functions have been inlined");
      }
   }
   return true;
}

bool ControlFlow::emit_block(nir_block *block)
{
   nir_foreach_phi(phi, block)
   {
      auto variables = variables_of(phi);
      for (unsigned c = 0; c < variables.size(); c++) {
         Value *v = b.CreateLoad(variables[c]->getAllocatedType(), variables[c]);
         // If a source was not stored, LLVM reads undef, on which code must not branch.
         t.define(phi->def, c, has_undef_source(phi) ? b.CreateFreeze(v) : v);
      }
   }
   assert(bool(t.mask) == t.facts->active_lanes.has_mask(block));
   const GuardPlan *guard = t.plans->guard(block);
   if (guard)
      emit_guarded(t, block, *guard);
   BlockEmission emission;
   const auto scope = t.enter(emission);
   nir_foreach_instr(instr, block) {
      if (instr->type == nir_instr_type_jump) {
         store_phis(block, block->successors[0]);
         emit_jump(nir_instr_as_jump(instr));
         return false;
      }
      if (instr->type != nir_instr_type_phi && !guard)
         t.emit_instruction(instr);
   }
   for (nir_block *successor : block->successors) {
      if (successor)
         store_phis(block, successor);
   }
   return true;
}

llvm::ArrayRef<llvm::AllocaInst *> ControlFlow::variables_of(nir_phi_instr *phi)
{
   auto &variables = phis[phi];
   if (variables.empty()) {
      llvm::Type *type = t.scalar_type(phi->def);
      for (unsigned c = 0; c < phi->def.num_components; c++)
         variables.push_back(t.variable(t.is_uniform(phi->def) ? type : t.vector_of(type), "phi"));
   }
   return variables;
}

/// The lanes that a store into the phi's variables must write; null if it writes all.
Value *ControlFlow::kept_lanes(nir_phi_instr *phi, nir_block *from)
{
   if (t.is_uniform(phi->def))
      return nullptr;
   nir_block *block = phi->instr.block;
   nir_cf_node *before = nir_cf_node_prev(&block->cf_node);
   if (before && before->type == nir_cf_node_if)
      return second_sides.lookup(block);
   if (before && before->type == nir_cf_node_loop)
      return nir_cf_node_as_loop(before)->divergent_break ? t.mask : nullptr;
   assert(block->cf_node.parent->type == nir_cf_node_loop);
   nir_loop *around = nir_cf_node_as_loop(block->cf_node.parent);
   const bool entering = from == nir_cf_node_as_block(nir_cf_node_prev(&around->cf_node));
   return !entering && around->divergent_continue ? t.mask : nullptr;
}

void ControlFlow::store_phis(nir_block *from, nir_block *to)
{
   nir_foreach_phi(phi, to)
   {
      nir_phi_src *src = nir_phi_get_src_from_block(phi, from);
      if (nir_src_is_undef(src->src))
         continue;
      Value *kept = kept_lanes(phi, from);
      auto variables = variables_of(phi);
      for (unsigned c = 0; c < variables.size(); c++) {
         Value *v = t.is_uniform(phi->def) ? t.uniform(src->src, c) : t.varying(src->src, c);
         if (kept)
            v = b.CreateSelect(kept, v, b.CreateLoad(v->getType(), variables[c]));
         b.CreateStore(v, variables[c]);
      }
   }
}

void ControlFlow::emit_jump(nir_jump_instr *jump)
{
   if (jump->type != nir_jump_break && jump->type != nir_jump_continue) {
      t.fail("the CPU back end supports only the jumps break and continue");
      b.CreateUnreachable();
      return;
   }
   if (!loop->masked) {
      b.CreateBr(jump->type == nir_jump_break ? loop->exit : loop->header);
      return;
   }
   llvm::Type *type = t.vector_of(b.getInt1Ty());
   Value *others = b.CreateNot(t.mask_or_ones());
   const auto remove_lanes_from = [&](llvm::AllocaInst *lanes) {
      b.CreateStore(b.CreateAnd(b.CreateLoad(type, lanes), others), lanes);
   };
   remove_lanes_from(loop->current);
   if (jump->type == nir_jump_break)
      remove_lanes_from(loop->live);
   b.CreateBr(after_jump);
}

bool ControlFlow::emit_if(nir_if *nif)
{
   return t.is_uniform(nif->condition) ? emit_uniform_if(nif) : emit_divergent_if(nif);
}

/// Updates the mask after an if in a masked loop, where some lanes of `before` may have jumped.
void ControlFlow::rejoin(Value *before, bool may_be_empty)
{
   Value *current = b.CreateLoad(t.vector_of(b.getInt1Ty()), loop->current);
   t.mask = before ? b.CreateAnd(before, current) : current;
   if (may_be_empty) {
      BasicBlock *rest = t.block("rest");
      b.CreateCondBr(t.any(t.mask), rest, after_jump);
      b.SetInsertPoint(rest);
   }
}

bool ControlFlow::emit_uniform_if(nir_if *nif)
{
   BasicBlock *then_block = t.block("then"), *else_block = t.block("else"),
              *merge = t.block("endif");
   Value *before = t.mask;
   b.CreateCondBr(t.uniform(nif->condition), then_block, else_block);

   bool reached = false;
   const auto emit = [&](BasicBlock *block, exec_list *list) {
      b.SetInsertPoint(block);
      t.mask = before;
      if (emit_list(list)) {
         b.CreateBr(merge);
         reached = true;
      }
   };
   emit(then_block, &nif->then_list);
   emit(else_block, &nif->else_list);
   t.mask = before;
   if (!reached) {
      merge->eraseFromParent();
      return false;
   }
   b.SetInsertPoint(merge);
   if (loop && loop->masked && (contains_jump(&nif->then_list) || contains_jump(&nif->else_list)))
      rejoin(before, false);
   return true;
}

/// Emits one side of a divergent if. Code branches to `none`, unless that is null, if the side has
/// no lanes.
bool ControlFlow::emit_side(exec_list *list, Value *side_lanes, const nir_block *merge, bool second,
                            BasicBlock *none)
{
   if (none) {
      BasicBlock *side = t.block("side");
      b.CreateCondBr(t.any(side_lanes), side, none);
      b.SetInsertPoint(side);
   }
   if (second)
      second_sides[merge] = side_lanes;
   t.mask = side_lanes;
   const bool reached = emit_list(list);
   second_sides.erase(merge);
   return reached;
}

bool ControlFlow::emit_divergent_if(nir_if *nif)
{
   Value *before = t.mask;
   Value *condition = t.value(nif->condition);
   Value *then_lanes = before ? b.CreateAnd(before, condition) : condition;
   Value *else_lanes = b.CreateNot(condition);
   if (before)
      else_lanes = b.CreateAnd(before, else_lanes);
   const nir_block *merge = nir_cf_node_as_block(nir_cf_node_next(&nif->cf_node));

   // A side that always jumps goes first: values of the other side may be used after the if, as if
   // that side had always run.
   nir_block *else_end = nir_if_last_else_block(nif);
   const bool else_jumps = nir_block_ends_in_jump(else_end) || nir_block_is_unreachable(else_end);
   exec_list *first = &nif->then_list, *second = &nif->else_list;
   Value *first_lanes = then_lanes, *second_lanes = else_lanes;
   if (else_jumps) {
      std::swap(first, second);
      std::swap(first_lanes, second_lanes);
   }

   BasicBlock *outer_jump = after_jump;
   BasicBlock *middle = t.block("other");
   after_jump = middle;
   const bool first_reached =
      emit_side(first, first_lanes, merge, false, is_cheap(t, first) ? nullptr : middle);
   if (first_reached)
      b.CreateBr(middle);
   b.SetInsertPoint(middle);

   const bool jumps = contains_jump(first) || contains_jump(second);
   if (!first_reached) {
      // Only the second side's lanes continue.
      after_jump = outer_jump;
      if (!emit_side(second, second_lanes, merge, false, outer_jump))
         return false;
      if (contains_jump(second))
         rejoin(second_lanes, false);
      return true;
   }

   BasicBlock *end = t.block("endif");
   after_jump = end;
   if (emit_side(second, second_lanes, merge, true, is_cheap(t, second) ? nullptr : end))
      b.CreateBr(end);
   b.SetInsertPoint(end);
   after_jump = outer_jump;
   t.mask = before;
   if (jumps)
      rejoin(before, true);
   return true;
}

void ControlFlow::emit_loop(nir_loop *nloop)
{
   Loop inner{};
   inner.masked = nloop->divergent_break || nloop->divergent_continue;
   inner.header = t.block("loop");
   inner.exit = t.block("loop.exit");
   Value *before = t.mask;
   Loop *outer = std::exchange(loop, &inner);
   BasicBlock *outer_jump = after_jump;

   if (!inner.masked) {
      b.CreateBr(inner.header);
      b.SetInsertPoint(inner.header);
      if (emit_list(&nloop->body))
         b.CreateBr(inner.header);
   } else {
      llvm::Type *type = t.vector_of(b.getInt1Ty());
      inner.latch = t.block("latch");
      inner.live = t.variable(type, "live");
      inner.current = t.variable(type, "current");
      after_jump = inner.latch;
      b.CreateStore(t.mask_or_ones(), inner.live);
      b.CreateBr(inner.header);
      b.SetInsertPoint(inner.header);
      t.mask = b.CreateLoad(type, inner.live, "mask");
      b.CreateStore(t.mask, inner.current);
      if (emit_list(&nloop->body))
         b.CreateBr(inner.latch);
      b.SetInsertPoint(inner.latch);
      b.CreateCondBr(t.any(b.CreateLoad(type, inner.live)), inner.header, inner.exit);
   }

   loop = outer;
   after_jump = outer_jump;
   t.mask = before;
   b.SetInsertPoint(inner.exit);
}

} // namespace weft::cpu
