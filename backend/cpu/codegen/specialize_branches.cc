// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/specialize_branches.h"

#include "compiler/nir/nir_builder.h"

#include <algorithm>

namespace weft::cpu {

namespace {

/// Of a stretch of control flow.
struct Size {
   uint32_t instructions = 0, effects = 0; ///< what others see of it

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

/// Calls enter(if, number) and, between its sides and behind them, next_side() and leave().
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
   Size all; ///< of the whole shader
   std::vector<BranchConditions::Branch> branches = {};
   int32_t around = -1;
   bool in_then = false;

   /// Where it stood, if it is one of the branches.
   struct Entered {
      bool found;
      int32_t around;
      bool in_then;
   };

   Entered enter(nir_if *nif, uint32_t number)
   {
      const Entered before = {true, around, in_then};
      const Size then_size = size_of(&nif->then_list), else_size = size_of(&nif->else_list);
      // Of a dispatch that has no effect nobody wants a program: so a look at bounds around all is no choice.
      const auto is_worth_leaving = [&](const Size &side) {
         return side.instructions >= min_instructions && side.effects < all.effects;
      };
      if (!is_worth_leaving(then_size) && !is_worth_leaving(else_size))
         return {};
      const uint32_t condition = expressions.add(nir_get_scalar(nif->condition.ssa, 0));
      if (!expressions.may_be_known(condition))
         return {};
      const bool differs = expressions.tells_workgroups_apart(condition);
      const auto is_kept = [&](const Size &side) {
         constexpr uint32_t small = 8; // as a part of the shader
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
                                        uint32_t min_instructions)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(const_cast<nir_shader *>(shader));
   Finder finder = {{shader, subgroup_size}, min_instructions, size_of(&impl->body)};
   Walk<Finder>{finder}.list(&impl->body);
   if (finder.branches.empty())
      return {};
   return {std::move(finder.expressions.expressions), std::move(finder.branches)};
}

namespace {

/// Both halves along the longest side.
void split(const WorkgroupRanges &workgroups, std::vector<WorkgroupRanges> &halves)
{
   const auto longest =
      std::ranges::max_element(workgroups, {}, [](const ValueRange &r) { return r.high - r.low; });
   const size_t dimension = size_t(longest - workgroups.begin());
   const uint64_t middle = longest->low + (longest->high - longest->low) / 2;
   halves.insert(halves.end(), longest->is_known() ? 1 : 2, workgroups);
   if (!longest->is_known()) {
      halves[halves.size() - 2][dimension].high = middle;
      halves[halves.size() - 1][dimension].low = middle + 1;
   }
}

/// Of each branch's condition the range in all workgroups.  These are often told where they work by
/// quotients and remainders of their numbers, which depend on each other: what is not known of all is
/// looked at in halves, quarters, ….
std::vector<ValueRange> condition_ranges(const BranchConditions &conditions,
                                         const DispatchFacts &facts)
{
   constexpr ValueRange unknown = {0, 1};
   constexpr size_t max_parts = 16;
   std::vector<ValueRange> ranges(conditions.branches.size(), unknown);
   for (std::vector<WorkgroupRanges> parts = {all_workgroups(facts)};;) {
      std::vector<ValueRange> together(ranges.size(), {1, 0});
      std::vector<bool> some_unknown(ranges.size());
      for (const WorkgroupRanges &part : parts) {
         const std::vector<ValueRange> values = evaluate(conditions.expressions, facts, part);
         for (size_t i = 0; i < ranges.size(); i++) {
            const ValueRange &value = values[conditions.branches[i].condition];
            together[i] = {std::min(together[i].low, value.low),
                           std::max(together[i].high, value.high)};
            some_unknown[i] = some_unknown[i] || !value.is_known();
         }
      }
      bool is_open = false;
      for (size_t i = 0; i < ranges.size(); i++) {
         if (together[i].is_known())
            ranges[i] = together[i];
         is_open |= some_unknown[i] && !ranges[i].is_known();
      }
      std::vector<WorkgroupRanges> smaller;
      for (const WorkgroupRanges &part : parts)
         split(part, smaller);
      if (!is_open || smaller.size() == parts.size() || smaller.size() > max_parts)
         return ranges;
      parts = std::move(smaller);
   }
}

} // namespace

std::string decide_branches(const BranchConditions &conditions, const DispatchFacts &facts)
{
   const std::vector<ValueRange> ranges = condition_ranges(conditions, facts);
   std::string decisions;
   for (size_t i = 0; i < conditions.branches.size(); i++) {
      const BranchConditions::Branch &branch = conditions.branches[i];
      const char around = branch.around >= 0 ? decisions[branch.around] : '?';
      const bool is_dead = around == '-' || around == (branch.in_then ? 'e' : 't');
      decisions += is_dead ? '-' : !ranges[i].is_known() ? '?' : ranges[i].low ? 't' : 'e';
   }
   return decisions;
}

std::string with_small_sides(const BranchConditions &conditions, std::string decisions)
{
   for (size_t i = 0; i < conditions.branches.size(); i++) {
      const BranchConditions::Branch &branch = conditions.branches[i];
      char &decision = decisions[i];
      const bool is_reached = branch.around >= 0 && decisions[branch.around] == '?';
      if ((decision == 't' && branch.keeps_else) || (decision == 'e' && branch.keeps_then) ||
          (decision == '-' && is_reached))
         decision = '?';
   }
   return decisions;
}

namespace {

struct Decider {
   nir_builder b;
   const BranchConditions &conditions;
   const std::string &decisions;
   size_t next = 0;
   bool progress = false;

   struct Nothing {};

   Nothing enter(nir_if *nif, uint32_t number)
   {
      if (next == conditions.branches.size() || conditions.branches[next].number != number)
         return {};
      const char decision = decisions[next++];
      if (decision == 't' || decision == 'e') {
         b.cursor = nir_before_cf_node(&nif->cf_node);
         nir_src_rewrite(&nif->condition, nir_imm_bool(&b, decision == 't'));
         progress = true;
      }
      return {};
   }
   void next_side(Nothing) {}
   void leave(Nothing) {}
};

} // namespace

bool specialize_branches(nir_shader *shader, const BranchConditions *conditions,
                         const std::string &decisions)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   Decider decider = {nir_builder_create(impl), *conditions, decisions};
   Walk<Decider>{decider}.list(&impl->body);
   assert(decider.next == conditions->branches.size());
   nir_metadata_preserve(impl, decider.progress ? nir_metadata_control_flow : nir_metadata_all);
   return decider.progress;
}

} // namespace weft::cpu
