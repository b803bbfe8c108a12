// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// NIR's ifs and loops are SPIR-V's structured control flow, one to one.

#include "backend/spirv/translator.h"

namespace weft::spirv {

namespace {

SpvSelectionControlMask control_of(const nir_if *branch)
{
   switch (branch->control) {
   case nir_selection_control_flatten:
      return SpvSelectionControlFlattenMask;
   case nir_selection_control_dont_flatten:
      return SpvSelectionControlDontFlattenMask;
   default:
      return SpvSelectionControlMaskNone;
   }
}

SpvLoopControlMask control_of(const nir_loop *loop)
{
   switch (loop->control) {
   case nir_loop_control_unroll:
      return SpvLoopControlUnrollMask;
   case nir_loop_control_dont_unroll:
      return SpvLoopControlDontUnrollMask;
   default:
      return SpvLoopControlMaskNone;
   }
}

} // namespace

void Translator::emit_list(exec_list *list)
{
   const auto emit_block = [&](nir_block *block) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_jump) {
            emit_instruction(instr);
            continue;
         }
         const nir_jump_type jump = nir_instr_as_jump(instr)->type;
         if (loops.empty() || (jump != nir_jump_break && jump != nir_jump_continue)) {
            fail("a jump other than break and continue is not supported");
            return;
         }
         m.emit(SpvOpBranch, {jump == nir_jump_break ? loops.back().merge : loops.back().next});
         block_ended = true;
      }
   };
   const auto branch_to = [&](Id label) {
      if (!block_ended)
         m.emit(SpvOpBranch, {label});
   };
   const auto emit_if = [&](nir_if *branch) {
      const Id then_label = m.new_id(), else_label = m.new_id(), merge = m.new_id();
      const Id condition = get(branch->condition, Kind::boolean);
      m.emit(SpvOpSelectionMerge, {merge, uint32_t(control_of(branch))});
      m.emit(SpvOpBranchConditional, {condition, then_label, else_label});
      begin_block(then_label);
      emit_list(&branch->then_list);
      branch_to(merge);
      begin_block(else_label);
      emit_list(&branch->else_list);
      branch_to(merge);
      begin_block(merge);
   };
   const auto emit_loop = [&](nir_loop *loop) {
      if (nir_loop_has_continue_construct(loop)) {
         fail("a loop with a continue construct is not supported");
         return;
      }
      const Id header = m.new_id(), body = m.new_id(), next = m.new_id(), merge = m.new_id();
      m.emit(SpvOpBranch, {header});
      begin_block(header);
      m.emit(SpvOpLoopMerge, {merge, next, uint32_t(control_of(loop))});
      m.emit(SpvOpBranch, {body});
      begin_block(body);
      loops.push_back({merge, next});
      emit_list(&loop->body);
      loops.pop_back();
      branch_to(next);
      begin_block(next);
      m.emit(SpvOpBranch, {header});
      begin_block(merge);
   };

   foreach_list_typed(nir_cf_node, node, node, list)
   {
      switch (node->type) {
      case nir_cf_node_block:
         emit_block(nir_cf_node_as_block(node));
         break;
      case nir_cf_node_if:
         emit_if(nir_cf_node_as_if(node));
         break;
      case nir_cf_node_loop:
         emit_loop(nir_cf_node_as_loop(node));
         break;
      default:
         fail("control flow is not structured");
      }
   }
}

} // namespace weft::spirv
