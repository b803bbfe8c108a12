// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/branch_decisions.h"

#include <algorithm>

namespace weft::cpu {

namespace {

using enum BranchDecision;

/// Halves along the longest side.
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

/// The range of each branch's condition in all workgroups. Shaders compute a workgroup's place by
/// quotients and remainders of its number, which depend on each other. So conditions that are not
/// known for all workgroups together are evaluated for halves, quarters, ….
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

BranchDecisions decide_branches(const BranchConditions &conditions, const DispatchFacts &facts)
{
   const std::vector<ValueRange> ranges = condition_ranges(conditions, facts);
   BranchDecisions decisions;
   for (size_t i = 0; i < conditions.branches.size(); i++) {
      const BranchConditions::Branch &branch = conditions.branches[i];
      const BranchDecision around = branch.around >= 0 ? decisions[branch.around] : undecided;
      if (around == unreached || around == (branch.in_then ? else_side : then_side))
         decisions.push_back(unreached);
      else if (!ranges[i].is_known())
         decisions.push_back(undecided);
      else
         decisions.push_back(ranges[i].low ? then_side : else_side);
   }
   return decisions;
}

BranchDecisions with_small_sides(const BranchConditions &conditions, BranchDecisions decisions)
{
   for (size_t i = 0; i < conditions.branches.size(); i++) {
      const BranchConditions::Branch &branch = conditions.branches[i];
      BranchDecision &decision = decisions[i];
      const bool is_reached = branch.around >= 0 && decisions[branch.around] == undecided;
      if ((decision == then_side && branch.keeps_else) ||
          (decision == else_side && branch.keeps_then) || (decision == unreached && is_reached))
         decision = undecided;
   }
   return decisions;
}

bool covers(const BranchDecisions &program, const BranchDecisions &dispatch)
{
   unsigned more = 0;
   for (size_t i = 0; i < dispatch.size(); i++) {
      if (program[i] == dispatch[i])
         continue;
      if (program[i] != undecided)
         return false;
      more++;
   }
   return more <= 1;
}

namespace {

bool is_valid(const DispatchExpression &e, uint32_t number)
{
   using Kind = DispatchExpression::Kind;
   constexpr uint64_t max_push_constants = 1 << 16;
   if (e.bits != 1 && e.bits != 8 && e.bits != 16 && e.bits != 32 && e.bits != 64)
      return false;
   switch (e.kind) {
   case Kind::any:
   case Kind::constant:
      return true;
   case Kind::push_constant:
      return e.value < max_push_constants;
   case Kind::descriptor:
      return e.value >> 32 < max_sets && e.bits <= 32;
   case Kind::workgroup_id:
   case Kind::num_workgroups:
      return e.value < 3;
   case Kind::invocation:
      return e.value > 0;
   case Kind::operation:
      return e.op < nir_num_opcodes && takes_few_scalars(nir_op_infos[e.op]) &&
             std::ranges::all_of(e.sources, [&](uint32_t source) { return source < number; });
   }
   return false;
}

} // namespace

bool are_valid(const BranchConditions &conditions)
{
   for (uint32_t i = 0; i < conditions.expressions.size(); i++) {
      if (!is_valid(conditions.expressions[i], i))
         return false;
   }
   for (int32_t i = 0; i < int32_t(conditions.branches.size()); i++) {
      const BranchConditions::Branch &branch = conditions.branches[i];
      if (branch.condition >= conditions.expressions.size() || branch.around < -1 ||
          branch.around >= i)
         return false;
   }
   return true;
}

bool are_valid(const BranchConditions &conditions, const BranchDecisions &decisions)
{
   return decisions.size() == conditions.branches.size() &&
          std::ranges::all_of(decisions, [](BranchDecision d) { return d <= unreached; });
}

} // namespace weft::cpu
