// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/workgroups/lower_divergent_barriers.h"

#include "nir_passes/workgroups/workgroup_barrier.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_control_flow.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weft {

namespace {

bool is_divergent(nir_cf_node *node)
{
   if (node->type == nir_cf_node_if)
      return nir_src_is_divergent(&nir_cf_node_as_if(node)->condition);
   if (node->type == nir_cf_node_loop)
      return nir_cf_node_as_loop(node)->divergent_break ||
             nir_cf_node_as_loop(node)->divergent_continue;
   return false;
}

nir_cf_node *first_node(exec_list &list)
{
   return exec_node_data(nir_cf_node, exec_list_get_head(&list), node);
}

/// Calls body with each list of nodes in a node.
template <typename Body>
void for_each_list(nir_cf_node *node, const Body &body)
{
   if (node->type == nir_cf_node_if) {
      body(nir_cf_node_as_if(node)->then_list);
      body(nir_cf_node_as_if(node)->else_list);
   } else if (node->type == nir_cf_node_loop) {
      body(nir_cf_node_as_loop(node)->body);
   }
}

/// Code that only some invocations execute runs under a *guard*, a branch by a predicate, in code
/// that the whole workgroup executes. Predicates are registers: an invocation that leaves a loop
/// clears its own.
class BarrierLowering {
public:
   BarrierLowering(nir_shader *nir, std::span<const Meeting> list)
       : nir(nir), impl(nir_shader_get_entrypoint(nir)), b(nir_builder_create(impl))
   {
      for (const Meeting &meeting : list)
         meetings.emplace(&meeting.barrier->instr, meeting.cleared);
      find_divergent(impl->body);
   }

   void run()
   {
      /* Phis at the old branches and loops would be wrong at the new ones. */
      nir_foreach_block(block, impl)
         nir_lower_phis_to_regs_block(block);
      walk(impl->body);
      nir_rematerialize_derefs_in_use_blocks_impl(impl);
      keep_values();
      nir_metadata_preserve(impl, nir_metadata_none);
      nir_lower_reg_intrinsics_to_ssa_impl(impl);
   }

private:
   using Predicate = nir_def *; ///< a register

   /// Reads the divergence information while it is valid.
   void find_divergent(exec_list &list)
   {
      foreach_list_typed(nir_cf_node, node, node, &list)
      {
         if (is_divergent(node))
            divergent.insert(node);
         for_each_list(node, [&](exec_list &inner) { find_divergent(inner); });
      }
   }

   bool is_meeting(nir_instr *instr) const { return meetings.contains(instr); }

   /// Includes the shader's own barriers, which by definition the whole workgroup reaches.
   bool is_barrier(nir_instr *instr) const
   {
      return instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_barrier &&
             nir_intrinsic_execution_scope(nir_instr_as_intrinsic(instr)) == SCOPE_WORKGROUP;
   }

   template <typename Predicate>
   static bool has_instr(nir_cf_node *node, const Predicate &predicate)
   {
      if (node->type == nir_cf_node_block) {
         nir_foreach_instr(instr, nir_cf_node_as_block(node)) {
            if (predicate(instr))
               return true;
         }
         return false;
      }
      bool found = false;
      for_each_list(node, [&](exec_list &list) {
         foreach_list_typed(nir_cf_node, inner, node, &list) found |= has_instr(inner, predicate);
      });
      return found;
   }
   bool has_meeting(nir_cf_node *node) const
   {
      return has_instr(node, [&](nir_instr *instr) { return is_meeting(instr); });
   }
   bool has_barrier(nir_cf_node *node) const
   {
      return has_instr(node, [&](nir_instr *instr) { return is_barrier(instr); });
   }

   /// Whether a branch contains a jump of the loop around it.
   static bool has_jump(nir_cf_node *node)
   {
      if (node->type == nir_cf_node_block)
         return nir_block_ends_in_jump(nir_cf_node_as_block(node));
      if (node->type == nir_cf_node_loop)
         return false;
      bool found = false;
      for_each_list(node, [&](exec_list &list) {
         foreach_list_typed(nir_cf_node, inner, node, &list) found |= has_jump(inner);
      });
      return found;
   }

   /// Finds the outermost branches and loops to change.
   void walk(exec_list &list)
   {
      std::vector<nir_cf_node *> nodes;
      foreach_list_typed(nir_cf_node, node, node, &list)
      {
         if (node->type != nir_cf_node_block && has_meeting(node))
            nodes.push_back(node);
      }
      for (nir_cf_node *node : nodes) {
         if (!divergent.contains(node)) {
            for_each_list(node, [&](exec_list &inner) { walk(inner); });
            continue;
         }
         b.cursor = nir_before_cf_node(node);
         /* Every invocation reaches this point, together with the whole workgroup. */
         predicates = {new_predicate(true)};
         rebuild(node);
         close();
         nir_cf_node_remove(node);
      }
   }

   Predicate new_predicate(bool value)
   {
      Predicate predicate = nir_decl_reg(&b, 1, 1, 0);
      nir_store_reg(&b, nir_imm_bool(&b, value), predicate);
      return predicate;
   }

   /// Begins a guard with the innermost predicate.
   void open()
   {
      if (guard)
         return;
      guard = nir_push_if(&b, nir_load_reg(&b, predicates.back()));
      regions.insert(&guard->cf_node);
   }

   void close()
   {
      if (guard)
         nir_pop_if(&b, guard);
      guard = nullptr;
   }

   /// Rebuilds a branch or loop; the old one is left empty.
   void rebuild(nir_cf_node *node)
   {
      if (node->type == nir_cf_node_if)
         rebuild_if(nir_cf_node_as_if(node));
      else
         rebuild_loop(nir_cf_node_as_loop(node));
   }

   void rebuild_if(nir_if *branch)
   {
      close();
      Predicate sides[] = {new_predicate(false), new_predicate(false)};
      open();
      nir_def *condition = branch->condition.ssa;
      nir_store_reg(&b, condition, sides[0]);
      nir_store_reg(&b, nir_inot(&b, condition), sides[1]);
      close();
      for (exec_list *list : {&branch->then_list, &branch->else_list}) {
         predicates.push_back(sides[list == &branch->else_list]);
         rebuild(*list);
         close();
         predicates.pop_back();
      }
   }

   void rebuild_loop(nir_loop *loop)
   {
      assert(!nir_loop_has_continue_construct(loop));
      close();
      Predicate in_loop = new_predicate(false), in_iteration = new_predicate(false);
      nir_store_reg(&b, nir_load_reg(&b, predicates.back()), in_loop);
      nir_loop *joint = nir_push_loop(&b);
      regions.insert(&joint->cf_node);
      nir_def *going_on = nir_load_reg(&b, in_loop);
      nir_break_if(&b, nir_inot(&b, does_any(going_on)));
      nir_store_reg(&b, going_on, in_iteration);
      const Loop outer = innermost;
      innermost = {in_loop, predicates.size()};
      predicates.push_back(in_iteration);
      rebuild(loop->body);
      close();
      predicates.pop_back();
      innermost = outer;
      nir_pop_loop(&b, joint);
   }

   void rebuild(exec_list &list)
   {
      /* Removing a node from the list joins the blocks around it. */
      for (;;) {
         nir_cf_node *node = first_node(list);
         nir_foreach_instr_safe(instr, nir_cf_node_as_block(node))
            move(instr);
         nir_cf_node *next = nir_cf_node_next(node);
         if (!next)
            return;
         if (has_barrier(next) || has_jump(next)) {
            rebuild(next);
            nir_cf_node_remove(next);
         } else {
            open();
            nir_cf_list whole;
            nir_cf_extract(&whole, nir_before_cf_node(next), nir_after_cf_node(next));
            b.cursor = nir_cf_reinsert(&whole, b.cursor);
         }
      }
   }

   void move(nir_instr *instr)
   {
      if (instr->type == nir_instr_type_jump)
         return leave(nir_instr_as_jump(instr));
      if (is_barrier(instr))
         return meet(instr);
      if (is_free(instr)) {
         /* This code is outside of the guard and runs for all invocations, so that constants and
          * values computed from them dominate later code. */
         const nir_cursor here = guard ? nir_before_cf_node(&guard->cf_node) : b.cursor;
         nir_instr_move(here, instr);
         if (!guard)
            b.cursor = nir_after_instr(instr);
         free.insert(instr);
         return;
      }
      open();
      nir_instr_move(b.cursor, instr);
      b.cursor = nir_after_instr(instr);
   }

   /// Clears the predicates of all code that the jump skips.
   void leave(nir_jump_instr *jump)
   {
      open();
      for (size_t i = innermost.first_predicate; i < predicates.size(); ++i)
         nir_store_reg(&b, nir_imm_false(&b), predicates[i]);
      if (jump->type == nir_jump_break)
         nir_store_reg(&b, nir_imm_false(&b), innermost.in_loop);
      nir_instr_remove(&jump->instr);
   }

   void meet(nir_instr *barrier)
   {
      close();
      nir_instr_move(b.cursor, barrier);
      b.cursor = nir_after_instr(barrier);
      const auto found = meetings.find(barrier);
      nir_variable *const cleared = found == meetings.end() ? nullptr : found->second;
      if (!cleared)
         return;
      nir_if *absent = nir_push_if(&b, nir_inot(&b, nir_load_reg(&b, predicates.back())));
      nir_deref_instr *own = nir_build_deref_array(&b, nir_build_deref_var(&b, cleared),
                                                   nir_load_local_invocation_index(&b));
      nir_store_deref(&b, own, nir_imm_int(&b, 0), 1);
      nir_pop_if(&b, absent);
   }

   /// Whether all invocations may execute the instruction and its sources' instructions.
   bool is_free(nir_instr *instr) const
   {
      switch (instr->type) {
      case nir_instr_type_load_const:
      case nir_instr_type_undef:
         return true;
      case nir_instr_type_alu:
         switch (nir_instr_as_alu(instr)->op) {
         case nir_op_idiv:
         case nir_op_udiv:
         case nir_op_imod:
         case nir_op_umod:
         case nir_op_irem:
            if (!nir_src_is_const(nir_instr_as_alu(instr)->src[1].src))
               return false;
            break;
         default:
            break;
         }
         break;
      case nir_instr_type_deref:
         break;
      case nir_instr_type_intrinsic:
         switch (nir_instr_as_intrinsic(instr)->intrinsic) {
         case nir_intrinsic_load_workgroup_id:
         case nir_intrinsic_load_num_workgroups:
         case nir_intrinsic_load_local_invocation_id:
         case nir_intrinsic_load_local_invocation_index:
         case nir_intrinsic_load_global_invocation_id:
            break;
         default:
            return false;
         }
         break;
      default:
         return false;
      }
      return nir_foreach_src(
         instr,
         [](nir_src *src, void *data) {
            return !static_cast<const BarrierLowering *>(data)->is_moved(src->ssa->parent_instr);
         },
         const_cast<BarrierLowering *>(this));
   }

   /// Whether the instruction is under a guard, by itself or in a branch that was moved as a whole.
   bool is_moved(nir_instr *instr) const
   {
      return !free.contains(instr) && region_of(instr->block) != nullptr;
   }

   nir_def *does_any(nir_def *condition)
   {
      if (!flag) {
         flag = nir_variable_create(nir, nir_var_mem_shared,
                                    glsl_array_type(glsl_uint_type(), 1, 4), "any");
         nir->info.shared_size += 4;
      }
      const auto the_flag = [&] {
         return nir_build_deref_array_imm(&b, nir_build_deref_var(&b, flag), 0);
      };
      workgroup_barrier(&b);
      nir_if *first = nir_push_if(&b, nir_ieq_imm(&b, nir_load_local_invocation_index(&b), 0));
      nir_store_deref(&b, the_flag(), nir_imm_int(&b, 0), 1);
      nir_pop_if(&b, first);
      workgroup_barrier(&b);
      nir_if *is_there = nir_push_if(&b, condition);
      _nir_build_deref_atomic(
         &b, 32, &the_flag()->def, nir_imm_int(&b, 1),
         {._ = 0, .access = gl_access_qualifier(0), .atomic_op = nir_atomic_op_ior});
      nir_pop_if(&b, is_there);
      workgroup_barrier(&b);
      return nir_ine_imm(&b, nir_load_deref(&b, the_flag()), 0);
   }

   /// The innermost guard or new loop around a block.
   const nir_cf_node *region_of(const nir_block *block) const
   {
      const nir_cf_node *node = block->cf_node.parent;
      while (node && !regions.contains(node))
         node = node->parent;
      return node;
   }

   /// Whether values defined in `outer` are available in `region`.
   bool is_within(const nir_cf_node *region, const nir_cf_node *outer) const
   {
      for (; region; region = region->parent) {
         if (region == outer)
            return true;
      }
      return !outer;
   }

   /// Turns values that cross guards into registers.
   void keep_values()
   {
      std::vector<nir_def *> defs;
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block) {
            nir_def *def = nir_instr_def(instr);
            const bool is_register =
               instr->type == nir_instr_type_intrinsic &&
               nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_decl_reg;
            if (def && !is_register && region_of(block))
               defs.push_back(def);
         }
      }
      for (nir_def *def : defs) {
         const nir_cf_node *region = region_of(def->parent_instr->block);
         std::vector<nir_src *> others;
         nir_foreach_use_including_if(src, def) {
            if (!is_within(region_of(nir_src_get_block(src)), region))
               others.push_back(src);
         }
         if (others.empty())
            continue;
         b.cursor = nir_after_instr(def->parent_instr);
         nir_def *reg = nir_decl_reg(&b, def->num_components, def->bit_size, 0);
         nir_store_reg(&b, def, reg);
         for (nir_src *src : others) {
            b.cursor = nir_before_src(src);
            nir_src_rewrite(src, nir_load_reg(&b, reg));
         }
      }
   }

   struct Loop {
      Predicate in_loop = nullptr;
      size_t first_predicate = 0; ///< index of the first predicate that belongs to one iteration
   };

   nir_shader *const nir;
   nir_function_impl *const impl;
   nir_builder b;
   std::unordered_map<nir_instr *, nir_variable *> meetings;
   std::vector<Predicate> predicates; ///< outermost first; each implies the earlier ones
   Loop innermost;
   nir_if *guard = nullptr;
   std::unordered_set<const nir_cf_node *> regions; ///< guards and new loops
   std::unordered_set<const nir_instr *> free;
   std::unordered_set<const nir_cf_node *> divergent;
   nir_variable *flag = nullptr;
};

} // namespace

bool is_in_divergent_flow(const nir_block *block)
{
   for (nir_cf_node *node = block->cf_node.parent; node; node = node->parent) {
      if (is_divergent(node))
         return true;
   }
   return false;
}

void lower_divergent_barriers(nir_shader *nir, std::span<const Meeting> meetings)
{
   const bool any = std::ranges::any_of(meetings, [](const Meeting &meeting) {
      return is_in_divergent_flow(meeting.barrier->instr.block);
   });
   if (any)
      BarrierLowering(nir, meetings).run();
}

} // namespace weft
