// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/specialize_branches.h"

#include "backend/cpu/specialize/implied_values.h"
#include "backend/cpu/specialize/join_workgroups.h"

#include "compiler/nir/nir_builder.h"

#include <algorithm>

namespace weft::cpu {

namespace {

/// The size of a list of control flow.
struct Size {
   uint32_t instructions = 0;
   uint32_t effects = 0; ///< instructions whose results others see

   Size &operator+=(const Size &more)
   {
      instructions += more.instructions;
      effects += more.effects;
      return *this;
   }
};

bool has_effect(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
   return op != nir_intrinsic_barrier &&
          !(nir_intrinsic_infos[op].flags & NIR_INTRINSIC_CAN_ELIMINATE);
}

Size size_of(exec_list *list)
{
   Size size;
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      switch (node->type) {
      case nir_cf_node_block:
         nir_foreach_instr(instr, nir_cf_node_as_block(node))
            size += {1, has_effect(instr)};
         break;
      case nir_cf_node_if:
         size += size_of(&nir_cf_node_as_if(node)->then_list);
         size += size_of(&nir_cf_node_as_if(node)->else_list);
         break;
      case nir_cf_node_loop:
         size += size_of(&nir_cf_node_as_loop(node)->body);
         break;
      default:
         break;
      }
   }
   return size;
}

/// Calls the visitor's enter(if, number) before each if, next_side() between its sides, and leave()
/// behind it.
template <typename Visitor>
struct Walk {
   Visitor &visitor;
   uint32_t number = 0;

   void list(exec_list *l)
   {
      foreach_list_typed(nir_cf_node, node, node, l)
      {
         if (node->type == nir_cf_node_loop) {
            list(&nir_cf_node_as_loop(node)->body);
         } else if (node->type == nir_cf_node_if) {
            nir_if *nif = nir_cf_node_as_if(node);
            const auto entered = visitor.enter(nif, number++);
            list(&nif->then_list);
            visitor.next_side(entered);
            list(&nif->else_list);
            visitor.leave(entered);
         }
      }
   }
};

struct Finder {
   DispatchExpressions expressions;
   uint32_t min_instructions;
   Size all; ///< the whole shader
   std::vector<BranchConditions::Branch> branches = {};
   int32_t around = -1;
   bool in_then = false;

   /// The state outside of an if, to be restored behind it if the if is one of the branches.
   struct Entered {
      bool found;
      int32_t around;
      bool in_then;
   };

   Entered enter(nir_if *nif, uint32_t number)
   {
      const Entered before = {true, around, in_then};
      const Size then_size = size_of(&nif->then_list), else_size = size_of(&nif->else_list);
      const nir_scalar condition_value = nir_get_scalar(nif->condition.ssa, 0);
      constexpr uint32_t an_access = 2; // and its offset or its conversion
      const uint32_t least = follows_from_descriptors(condition_value)
                                ? std::min(an_access, min_instructions)
                                : min_instructions;
      // A side with all effects of the shader is never left out: without effects, a dispatch needs
      // no program. For example, a check of bounds around the whole shader is no useful branch.
      const auto is_worth_leaving = [&](const Size &side) {
         return side.instructions >= least && side.effects < all.effects;
      };
      if (!is_worth_leaving(then_size) && !is_worth_leaving(else_size))
         return {};
      const uint32_t condition = expressions.add(condition_value);
      if (!expressions.may_be_known(condition))
         return {};
      const bool differs = expressions.tells_workgroups_apart(condition);
      const auto is_kept = [&](const Size &side) {
         constexpr uint32_t small = 8; // an eighth of the shader
         return differs && side.instructions * small <= all.instructions;
      };
      branches.push_back(
         {number, condition, around, in_then, is_kept(then_size), is_kept(else_size)});
      around = int32_t(branches.size() - 1);
      in_then = true;
      return before;
   }
   void next_side(const Entered &entered)
   {
      if (entered.found)
         in_then = false;
   }
   void leave(const Entered &entered)
   {
      if (entered.found) {
         around = entered.around;
         in_then = entered.in_then;
      }
   }
};

} // namespace

BranchConditions find_branch_conditions(const nir_shader *shader, uint32_t subgroup_size,
                                        uint32_t min_instructions, uint32_t max_sums)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(const_cast<nir_shader *>(shader));
   Finder finder = {{shader, subgroup_size}, min_instructions, size_of(&impl->body)};
   Walk<Finder>{finder}.list(&impl->body);
   if (may_gain_by_joining(shader, finder.branches, max_sums)) {
      const uint32_t condition =
         finder.expressions.add_multiple_of_workgroups(joinable_multiple, min_joinable_workgroups);
      finder.branches.push_back({join_branch, condition, -1});
   }
   if (finder.branches.empty())
      return {};
   return {std::move(finder.expressions.expressions), std::move(finder.branches)};
}

namespace {

struct Decider {
   nir_builder b;
   const BranchConditions &conditions;
   const BranchDecisions &decisions;
   size_t next = 0;
   bool progress = false;

   struct Nothing {};

   Nothing enter(nir_if *nif, uint32_t number)
   {
      if (next == conditions.branches.size() || conditions.branches[next].number != number)
         return {};
      const BranchDecision decision = decisions[next++];
      if (decision == BranchDecision::then_side || decision == BranchDecision::else_side) {
         replace_implied_values(&b, nir_get_scalar(nif->condition.ssa, 0),
                                decision == BranchDecision::then_side);
         b.cursor = nir_before_cf_node(&nif->cf_node);
         nir_src_rewrite(&nif->condition, nir_imm_bool(&b, decision == BranchDecision::then_side));
         progress = true;
      }
      return {};
   }
   void next_side(Nothing) {}
   void leave(Nothing) {}
};

} // namespace

bool specialize_branches(nir_shader *shader, const BranchConditions *conditions,
                         const BranchDecisions &decisions)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   Decider decider = {nir_builder_create(impl), *conditions, decisions};
   Walk<Decider>{decider}.list(&impl->body);
   assert(decider.next + may_join_workgroups(*conditions) == conditions->branches.size());
   nir_metadata_preserve(impl, decider.progress ? nir_metadata_control_flow : nir_metadata_all);
   return decider.progress;
}

} // namespace weft::cpu
