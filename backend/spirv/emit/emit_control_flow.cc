// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Translates NIR's ifs and loops one to one to SPIR-V's structured control flow.

#include "backend/spirv/emit/emit.h"
#include "backend/spirv/module/translator.h"

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

/// The state of one walk over the function.
class ControlFlow {
public:
   explicit ControlFlow(Translator &translator) : t(translator), m(translator.m) {}

   void emit(exec_list *list)
   {
      foreach_list_typed(nir_cf_node, node, node, list)
      {
         switch (node->type) {
         case nir_cf_node_block:
            emit(nir_cf_node_as_block(node));
            break;
         case nir_cf_node_if:
            emit(nir_cf_node_as_if(node));
            break;
         case nir_cf_node_loop:
            emit(nir_cf_node_as_loop(node));
            break;
         default:
            t.fail("control flow is not structured");
         }
      }
   }

private:
   void emit(nir_block *block)
   {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_jump)
            emit_jump(nir_instr_as_jump(instr)->type);
         else
            emit_instruction(t, instr);
      }
   }

   void emit_jump(nir_jump_type jump)
   {
      if (loops.empty() || (jump != nir_jump_break && jump != nir_jump_continue))
         return t.fail("a jump other than break and continue is not supported");
      m.emit(SpvOpBranch, {jump == nir_jump_break ? loops.back().merge : loops.back().next});
      block_ended = true;
   }

   void emit(nir_if *branch)
   {
      const Id then_label = m.new_id(), else_label = m.new_id(), merge = m.new_id();
      const Id condition = t.get(branch->condition, Kind::boolean);
      m.emit(SpvOpSelectionMerge, {merge, uint32_t(control_of(branch))});
      m.emit(SpvOpBranchConditional, {condition, then_label, else_label});
      begin_block(then_label);
      emit(&branch->then_list);
      branch_to(merge);
      begin_block(else_label);
      emit(&branch->else_list);
      branch_to(merge);
      begin_block(merge);
   }

   void emit(nir_loop *loop)
   {
      if (nir_loop_has_continue_construct(loop))
         return t.fail("a loop with a continue construct is not supported");
      const Id header = m.new_id(), body = m.new_id(), next = m.new_id(), merge = m.new_id();
      m.emit(SpvOpBranch, {header});
      begin_block(header);
      m.emit(SpvOpLoopMerge, {merge, next, uint32_t(control_of(loop))});
      m.emit(SpvOpBranch, {body});
      begin_block(body);
      loops.push_back({merge, next});
      emit(&loop->body);
      loops.pop_back();
      branch_to(next);
      begin_block(next);
      m.emit(SpvOpBranch, {header});
      begin_block(merge);
   }

   void begin_block(Id label)
   {
      t.begin_block(label);
      block_ended = false;
   }

   void branch_to(Id label)
   {
      if (!block_ended)
         m.emit(SpvOpBranch, {label});
   }

   /// The targets of break and continue.
   struct Loop {
      Id merge, next;
   };

   Translator &t;
   ModuleBuilder &m;
   std::vector<Loop> loops;
   bool block_ended = false; ///< by a jump
};

} // namespace

void emit_control_flow(Translator &t, exec_list *list)
{
   ControlFlow(t).emit(list);
}

} // namespace weft::spirv
