// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/plans/access_plan.h"

#include "nir_passes/compile_limits.h"

#include <algorithm>
#include <bit>

namespace weft::cpu {

uint64_t AccessPlan::extent() const
{
   if (lanes.fixed)
      return uint64_t(std::ranges::max(lanes.fixed->from_first)) + access.element();
   return uint64_t(pattern().group - 1) * uint64_t(pattern().step) + access.element();
}

size_t AccessPlan::instructions() const
{
   return pattern().step == access.element() || pattern().step == 0 ? groups() : W;
}

unsigned AccessPlan::loaded_components() const
{
   return pattern().step == 0 && has_bound ? std::bit_ceil(access.components) : access.components;
}

bool AccessPlan::is_regular() const
{
   constexpr int64_t max_step = 65535;
   static_assert(max_step * 64 < limits::lane_reach);
   return lanes.fixed || (pattern().group > 1 && pattern().step >= 0 && pattern().step <= max_step);
}

namespace {

AccessPlan begin_plan(const PlanContext &context, const AccessFacts &facts)
{
   AccessPlan plan;
   plan.access = facts.access;
   plan.W = context.W;
   plan.lanes = facts.lanes;
   plan.has_bound = facts.has_bound;
   // Indices in shared memory often run around rings, as in s[(l + k) & 255].
   plan.is_often_lanewise =
      facts.has_constant_bound && facts.lanes.fixed && !facts.lanes.fixed->assumptions.empty();
   return plan;
}

/// Masked instructions exist for runs of at least one vector (16 bytes): of words, on some CPUs
/// also of smaller elements.
bool has_masked_runs(const PlanContext &context, const AccessPlan &plan)
{
   const Access &access = plan.access;
   return plan.pattern().step == access.element() &&
          plan.pattern().group * access.element() >= 16 && !access.is_volatile &&
          (access.element() % 4 == 0 || context.target.masks_any_element);
}

/// Whether permutations take the words of window_lanes lanes, or of twice as many, from registers.
/// Not from shared memory: a window is loaded from many stores of single lanes, for whose end the
/// CPU waits.
bool has_windows(const PlanContext &context, const AccessFacts &facts)
{
   const Access &access = facts.access;
   const unsigned lanes = context.target.vector_bits / 32,
                  at_once = context.target.shuffles_two_registers ? 2 : 1;
   return access.element() == window_word_bytes && !access.is_volatile &&
          (access.space == Space::buffer || access.space == Space::constant) &&
          lanes == at_once * window_lanes && context.W >= lanes;
}

/// Whether masked instructions need no conditions. A mask has one bit per lane, but a lane with
/// several components may be partly in bounds.
bool needs_only_mask(const AccessFacts &facts)
{
   return !facts.lanes.fixed && !(facts.is_checked && facts.access.components > 1);
}

/// The chunks from lane 0's address on that are loaded whole; none if other vectors are as few. In
/// shared memory, none if they are half as many: lanes have just stored it, and a vector of several
/// stores waits for all of them.
std::vector<bool> own_chunks(const PlanContext &context, const AccessPlan &plan)
{
   if (!may_load_chunks(context, plan))
      return {};
   std::vector<bool> used;
   add_chunks(used, plan.lanes.fixed->from_first, 0, plan.access.element());
   const size_t chunks = size_t(std::ranges::count(used, true));
   const bool worthwhile = plan.access.space == Space::shared ? 2 * chunks <= plan.instructions()
                                                              : chunks < plan.instructions();
   return worthwhile ? used : std::vector<bool>();
}

AccessForm form_of_runs(const AccessPlan &plan)
{
   return plan.pattern().step == plan.access.element() ? AccessForm::runs : AccessForm::steps;
}

/// Sets the conditions on assumptions and bounds: each byte of each lane, active or not, is in
/// bounds.
void set_conditions(const PlanContext &context, const AccessFacts &facts, AccessPlan &plan)
{
   AccessConditions &conditions = plan.conditions;
   if (plan.lanes.fixed) {
      for (const uint32_t number : plan.lanes.fixed->assumptions)
         conditions.assumptions.push_back(context.offsets->assumption(number));
   }
   const unsigned read = plan.form == AccessForm::same ? plan.loaded_components()
                                                       : plan.access.components,
                  behind = (read - plan.access.components) * plan.access.bytes;
   if (!facts.has_bound || !(facts.is_checked || facts.has_mask || behind))
      return;
   if (plan.groups() == 1 || plan.lanes.fixed)
      conditions.from_first = plan.extent() + behind;
   else
      conditions.from_each = uint64_t(plan.loaded_components()) * plan.access.bytes;
}

} // namespace

AccessFacts facts_of(const PlanContext &context, const Access &access, const LaneAnalysis &patterns,
                     bool robust_buffer_access, bool has_mask)
{
   return {.access = access,
           .lanes = lane_addresses(context, patterns.pattern(*access.offset),
                                   context.offsets->offsets(*access.offset), access.element()),
           .has_bound = has_bound(access),
           .has_constant_bound = has_constant_bound(access),
           .is_checked = needs_check(access, robust_buffer_access),
           .has_mask = has_mask};
}

LaneAddresses lane_addresses(const PlanContext &context, const LanePattern &pattern,
                             const LaneOffsets &fixed, unsigned element)
{
   // Larger distances would touch more than a few cache lines.
   constexpr int64_t max_distance = 4096;
   if (pattern.group == context.W || fixed.from_first.empty() ||
       std::ranges::any_of(fixed.from_first, [](int64_t n) { return n < 0 || n > max_distance; }))
      return {pattern};
   // Finds the largest groups with a constant step.
   for (uint32_t group = context.W; group > 1; group /= 2) {
      const int64_t step = fixed.from_first[1] - fixed.from_first[0];
      bool runs = step >= 0;
      for (uint32_t l = 0; runs && l + 1 < context.W; l++)
         runs = (l + 1) % group == 0 || fixed.from_first[l + 1] - fixed.from_first[l] == step;
      if (runs)
         return {{group, step}, &fixed};
   }
   return {{1, element}, &fixed};
}

AccessPlan plan_load(const PlanContext &context, const AccessFacts &facts)
{
   AccessPlan plan = begin_plan(context, facts);
   if (facts.has_mask && has_masked_runs(context, plan) && needs_only_mask(facts)) {
      plan.form = AccessForm::masked;
      plan.excludes_outlying = facts.is_checked && facts.has_bound;
      return plan;
   }
   if (!plan.is_regular()) {
      plan.form = has_windows(context, facts) ? AccessForm::windows : AccessForm::lanewise;
      plan.is_often_lanewise = true;
      return plan;
   }
   plan.chunks = own_chunks(context, plan);
   plan.form = !plan.chunks.empty()       ? AccessForm::chunks
               : plan.pattern().step == 0 ? AccessForm::same
                                          : form_of_runs(plan);
   set_conditions(context, facts, plan);
   plan.conditions.all_lanes = facts.has_mask && !facts.has_bound;
   return plan;
}

AccessPlan plan_store(const PlanContext &context, const AccessFacts &facts)
{
   AccessPlan plan = begin_plan(context, facts);
   // A store of many elements writes them one by one in any case. A function of the module is
   // slightly slower than inline instructions for that, and far less code.
   constexpr size_t many = 8;
   if (!plan.is_regular() || plan.pattern().step == 0 || plan.instructions() > many) {
      plan.form = AccessForm::lanewise;
      plan.is_often_lanewise = true;
      return plan;
   }
   const bool masked = facts.has_mask && has_masked_runs(context, plan);
   plan.form = masked ? AccessForm::masked : form_of_runs(plan);
   if (masked && needs_only_mask(facts)) {
      plan.excludes_outlying = facts.is_checked && facts.has_bound;
      return plan;
   }
   set_conditions(context, facts, plan);
   plan.conditions.all_lanes = facts.has_mask && !masked;
   return plan;
}

AccessPlan plan_rows(const PlanContext &context, const Access &access)
{
   AccessPlan plan;
   plan.access = access;
   plan.access.invariant = false;
   plan.W = context.W;
   const unsigned group =
      std::clamp(context.target.vector_bits / 8 / access.element(), 2u, context.W);
   plan.lanes = {{std::bit_floor(group), int64_t(access.element())}};
   plan.form = has_masked_runs(context, plan) ? AccessForm::masked : AccessForm::runs;
   return plan;
}

bool may_load_chunks(const PlanContext &context, const AccessPlan &plan)
{
   // A chunk is one register, and shuffles take elements of 16 bits or more from two.
   const auto is_word = [](int64_t n) { return n % 2 == 0; };
   return plan.lanes.fixed && plan.has_bound && !plan.access.is_volatile &&
          plan.access.bytes != 1 && context.target.shuffles_two_registers &&
          context.target.vector_bits == 8 * chunk_bytes &&
          std::ranges::all_of(plan.lanes.fixed->from_first, is_word);
}

void add_chunks(std::vector<bool> &used, const std::vector<int64_t> &from_first, uint64_t shift,
                unsigned element)
{
   for (const int64_t n : from_first) {
      const size_t first = (shift + uint64_t(n)) / chunk_bytes,
                   last = (shift + uint64_t(n) + element - 1) / chunk_bytes;
      if (used.size() <= last)
         used.resize(last + 1);
      std::fill(used.begin() + long(first), used.begin() + long(last) + 1, true);
   }
}

} // namespace weft::cpu
