// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/plans/access_plans.h"

#include "backend/cpu/codegen/facts/control_flow.h"
#include "backend/cpu/codegen/facts/loop_step.h"

#include "util/bitscan.h"
#include "util/macros.h"

namespace weft::cpu {

namespace {

constexpr unsigned cache_line_bytes = 64;

class AccessPlanner {
public:
   AccessPlanner(nir_shader *shader, const TranslateOptions &options, const ShaderFacts &facts)
       : options(options), facts(facts),
         context{options.subgroup_size, options.target, &facts.offsets},
         info(program_info(shader, options.subgroup_size))
   {
   }

   const PlanContext &plan_context() const { return context; }
   void plan(nir_intrinsic_instr *, std::vector<AccessPlan> &) const;
   Prefetch prefetch_of(const nir_intrinsic_instr *, const AccessPlan &) const;

private:
   AccessPlan plan_load_of(nir_intrinsic_instr *, const Access &) const;
   AccessPlan plan_store_run(const nir_intrinsic_instr *, Access, unsigned first,
                             unsigned count) const;
   AccessPlan plan_scratch(const nir_intrinsic_instr *, Access) const;
   AccessPlan with_form(AccessForm, const Access &) const;

   bool has_mask(const nir_intrinsic_instr *intr) const
   {
      return facts.active_lanes.has_mask(intr->instr.block);
   }

   const TranslateOptions &options;
   const ShaderFacts &facts;
   const PlanContext context;
   const ProgramInfo info;
};

AccessPlan AccessPlanner::with_form(AccessForm form, const Access &access) const
{
   AccessPlan plan;
   plan.form = form;
   plan.access = access;
   plan.W = context.W;
   return plan;
}

/// Adjacent pieces are read so fast that one step ahead would be too late.
Prefetch ahead_of_stream(int64_t step)
{
   constexpr int64_t bytes_in_time = 8192; // bytes that arrive during one access to memory
   return {.purpose = Prefetch::For::later_iteration,
           .distance = step * DIV_ROUND_UP(bytes_in_time, step),
           .is_near = true};
}

/// The hardware prefetches neighbouring memory, but not lines of a matrix, and nothing beyond a
/// page.
///
/// A loop that loads memory for a workgroup piece by piece prefetches the next piece, or a later
/// one if pieces are adjacent. A loop over blocks of packed numbers does the same: its rows are
/// often shorter than a page. Other loads prefetch for the next workgroup, if they read whole cache
/// lines: the rest spend their time on extracting elements.
Prefetch AccessPlanner::prefetch_of(const nir_intrinsic_instr *intr, const AccessPlan &plan) const
{
   const Access &access = plan.access;
   if ((access.space != Space::buffer && access.space != Space::global) ||
       plan.form == AccessForm::uniform || plan.form == AccessForm::own_buffers ||
       plan.form == AccessForm::lanewise || plan.form == AccessForm::windows)
      return {};
   const nir_scalar offset = nir_get_scalar(access.offset->ssa, 0);
   const bool is_regular = plan.is_regular();
   const auto is_adjacent = [&](int64_t step) {
      return is_regular && (plan.groups() == 1 || plan.lanes.fixed) &&
             int64_t(4 * plan.extent()) >= step && step > 0;
   };
   if (const nir_loop *loop = innermost_barrier_loop(&intr->instr)) {
      const int64_t step = loop_step(offset, loop).value_or(0);
      if (step == 0)
         return {};
      // A small workgroup leaves the memory that it shares with the next one in the cache.
      if (info.subgroups == 1 && !depends_on_workgroup_x(offset))
         return {};
      if (is_adjacent(step))
         return ahead_of_stream(step);
      return {.purpose = Prefetch::For::later_iteration, .distance = step};
   }
   if (!depends_on_workgroup_x(offset))
      return {};
   if (plan.form == AccessForm::chunks) {
      const nir_loop *loop = innermost_loop(&intr->instr);
      const int64_t step = loop ? loop_step(offset, loop).value_or(0) : 0;
      return is_adjacent(step) ? ahead_of_stream(step)
                               : Prefetch{.purpose = Prefetch::For::next_workgroup};
   }
   // The same thread runs the next workgroup next.
   const unsigned bytes = context.W * access.element();
   const bool is_run = is_regular && plan.groups() == 1 && plan.extent() <= 2 * bytes;
   if (!is_run || bytes < 2 * cache_line_bytes)
      return {};
   return {.purpose = Prefetch::For::next_workgroup};
}

AccessPlan AccessPlanner::plan_load_of(nir_intrinsic_instr *intr, const Access &access) const
{
   const bool is_uniform = !intr->def.divergent;
   if (access.has_own_buffers() && !is_uniform)
      return with_form(AccessForm::own_buffers, access);
   // Offsets into push constants are dynamically uniform.
   if (!access.offset->ssa->divergent || is_uniform)
      return with_form(AccessForm::uniform, access);
   AccessPlan plan = plan_load(context, facts_of(context, access, facts.patterns,
                                                 options.robust_buffer_access, has_mask(intr)));
   plan.is_packed = facts.packed_sums.has_factors(intr);
   return plan;
}

/// Private memory keeps a component of all lanes together (region.h), so each component is an
/// access of its own.
AccessPlan AccessPlanner::plan_scratch(const nir_intrinsic_instr *intr, Access access) const
{
   if (!access.offset->ssa->divergent)
      return with_form(AccessForm::private_row, access);
   access.components = 1;
   access.is_volatile = access.invariant = false;
   LanePattern pattern = facts.patterns.pattern(*access.offset);
   pattern.step = pattern.step * context.W + access.bytes;
   const AccessFacts component = {.access = access,
                                  .lanes = {pattern},
                                  .has_bound = true,
                                  .has_constant_bound = true,
                                  .is_checked = true,
                                  .has_mask = has_mask(intr)};
   return access.store ? plan_store(context, component) : plan_load(context, component);
}

/// Plans the components [first, first + count) of a store.
AccessPlan AccessPlanner::plan_store_run(const nir_intrinsic_instr *intr, Access access,
                                         unsigned first, unsigned count) const
{
   access.constant_offset += first * access.bytes;
   access.components = count;
   AccessPlan plan;
   if (access.has_own_buffers())
      plan = with_form(AccessForm::own_buffers, access);
   else if (!access.offset->ssa->divergent)
      plan = with_form(AccessForm::uniform, access);
   else
      plan = plan_store(context, facts_of(context, access, facts.patterns,
                                          options.robust_buffer_access, has_mask(intr)));
   plan.first_component = first;
   return plan;
}

void AccessPlanner::plan(nir_intrinsic_instr *intr, std::vector<AccessPlan> &plans) const
{
   const std::optional<Access> access = decode_access(intr);
   if (!access || access->bytes == 0 || nir_intrinsic_has_atomic_op(intr))
      return;
   if (access->space == Space::scratch) {
      plans.push_back(plan_scratch(intr, *access));
   } else if (!access->store) {
      plans.push_back(plan_load_of(intr, *access));
   } else {
      unsigned mask = nir_intrinsic_write_mask(intr);
      while (mask) {
         int first, count;
         u_bit_scan_consecutive_range(&mask, &first, &count);
         plans.push_back(plan_store_run(intr, *access, unsigned(first), unsigned(count)));
      }
   }
}

/// Whether some lanes are inactive outside of loops. In the last subgroup of a dispatch, their
/// memory is often out of bounds, so that a guard fails.
bool is_behind_check(const ShaderFacts &facts, nir_block *block)
{
   return !exec_list_is_empty(&block->instr_list) && facts.active_lanes.has_mask(block) &&
          !innermost_repeated_loop(nir_block_first_instr(block));
}

} // namespace

// A program that may leave is the first one. Its guards fail if rows begin anywhere, as in rings;
// then the plain program runs.
ShaderFacts::ShaderFacts(nir_shader *shader, const TranslateOptions &options)
    : patterns(shader, options.subgroup_size),
      offsets(shader, options.subgroup_size, patterns,
              options.guards_may_leave ? RowStart::multiple : RowStart::anywhere),
      packed_sums(nir_shader_get_entrypoint(shader)), active_lanes(shader, options.subgroup_size),
      early_blocks(shader, options.subgroup_size)
{
}

AccessPlans::AccessPlans(nir_shader *shader, const TranslateOptions &options,
                         const ShaderFacts &facts)
{
   const AccessPlanner planner(shader, options, facts);
   CopiedValues copied;
   nir_foreach_block(block, nir_shader_get_entrypoint(shader)) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         const size_t first = plans.size();
         planner.plan(nir_instr_as_intrinsic(instr), plans);
         if (plans.size() != first)
            ranges[instr] = {first, plans.size() - first};
      }
      const auto plan_of_load = [&](const nir_intrinsic_instr *intr) -> AccessPlan * {
         const auto found = ranges.find(&intr->instr);
         return found == ranges.end() || plans[found->second.first].access.store
                   ? nullptr
                   : &plans[found->second.first];
      };
      const bool may_leave = options.guards_may_leave && facts.early_blocks.contains(block) &&
                             !is_behind_check(facts, block);
      if (std::optional<GuardPlan> guard =
             plan_guard(planner.plan_context(), block, may_leave, copied, plan_of_load))
         guards.try_emplace(block, std::move(*guard));
      // After the guard's clusters, whose chunks are prefetched.
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         const nir_intrinsic_instr *load = nir_instr_as_intrinsic(instr);
         if (AccessPlan *plan = plan_of_load(load))
            plan->prefetch = planner.prefetch_of(load, *plan);
      }
   }
}

} // namespace weft::cpu
