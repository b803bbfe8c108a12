// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/plans/guard_plan.h"

#include "backend/cpu/codegen/facts/linear_forms.h"

#include <algorithm>
#include <span>

namespace weft::cpu {

namespace {

using Instructions = GuardPlan::Instructions;

struct GuardedLoad {
   nir_intrinsic_instr *intr;
   AccessPlan *plan;
};

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

/// Whether the load becomes vector code with conditions.
bool has_conditions(const AccessPlan &plan)
{
   switch (plan.form) {
   case AccessForm::same:
   case AccessForm::runs:
   case AccessForm::steps:
   case AccessForm::chunks:
      return plan.access.space != Space::scratch;
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

class GuardPlanner {
public:
   GuardPlanner(const PlanContext &context, const nir_block *block, CopiedValues &copied)
       : context(context), block(const_cast<nir_block *>(block)), copied(copied)
   {
   }

   std::optional<GuardPlan>
   plan(bool may_leave, llvm::function_ref<AccessPlan *(const nir_intrinsic_instr *)> plan_of_load);

private:
   struct Member {
      GuardedLoad load;
      LinearForm form;
      size_t alone; ///< instructions that the load needs without a cluster
   };

   void find_known(llvm::function_ref<AccessPlan *(const nir_intrinsic_instr *)> plan_of_load);
   void find_addresses();
   void find_all_clusters();
   void find_clusters(std::span<const GuardedLoad>);
   std::vector<Member> members_of(std::span<const GuardedLoad>);
   void add_cluster(const std::vector<Member> &);
   void add_conditions();
   void find_results();

   /// Also true if an assumption names the value, because an access anywhere behind the block may
   /// check the assumption.
   bool is_needed_outside(const nir_def *def) const
   {
      return is_used_outside(def, block) || context.offsets->is_assumed_something_of(def);
   }

   const PlanContext &context;
   nir_block *const block;
   CopiedValues &copied;
   Instructions known; ///< pure, computable from values at the block's beginning
   std::vector<GuardedLoad> loads;
   GuardPlan result;
};

void GuardPlanner::find_known(
   llvm::function_ref<AccessPlan *(const nir_intrinsic_instr *)> plan_of_load)
{
   const auto is_known = [&](const nir_instr *source) {
      return source->block != block || source->type == nir_instr_type_phi || known.contains(source);
   };
   nir_foreach_instr(instr, block) {
      if (instr->type == nir_instr_type_phi || instr->type == nir_instr_type_jump ||
          !all_sources(instr, is_known))
         continue;
      if (is_pure(instr))
         known.insert(instr);
      if (instr->type != nir_instr_type_intrinsic)
         continue;
      nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
      if (AccessPlan *plan = plan_of_load(intr); plan && has_conditions(*plan))
         loads.push_back({intr, plan});
   }
}

void GuardPlanner::find_addresses()
{
   Instructions wanted;
   for (const GuardedLoad &load : loads)
      wanted.insert(&load.intr->instr);
   nir_foreach_instr_reverse(instr, block) {
      const bool escapes = known.contains(instr) && is_needed_outside(nir_instr_def(instr));
      if (escapes)
         result.once.insert(instr);
      if (!escapes && !wanted.contains(instr))
         continue;
      if (known.contains(instr))
         result.before.insert(instr);
      all_sources(instr, [&](const nir_instr *source) {
         wanted.insert(source);
         return true;
      });
   }
}

/// Forms clusters of loads without a write between them.
void GuardPlanner::find_all_clusters()
{
   std::vector<GuardedLoad> together;
   size_t next = 0;
   nir_foreach_instr(instr, block) {
      if (next < loads.size() && instr == &loads[next].intr->instr)
         together.push_back(loads[next++]);
      if (!only_reads(instr)) {
         find_clusters(together);
         together.clear();
      }
   }
   find_clusters(together);
}

std::vector<GuardPlanner::Member> GuardPlanner::members_of(std::span<const GuardedLoad> together)
{
   std::vector<Member> members;
   LinearForms forms(*context.offsets);
   for (const GuardedLoad &load : together) {
      const Access &access = load.plan->access;
      if (access.offset->ssa->bit_size != 32 || !may_load_chunks(context, *load.plan))
         continue;
      LinearForm form = forms.of(nir_get_scalar(access.offset->ssa, 0));
      const auto is_copied = [&](const LaneAssumption &a) { return copied.contains(a.def); };
      if (std::ranges::any_of(form.assumptions, is_copied))
         continue;
      form.constant += access.constant_offset;
      const std::vector<bool> &chunks = load.plan->chunks;
      members.push_back(
         {load, std::move(form),
          chunks.empty() ? load.plan->instructions() : size_t(std::ranges::count(chunks, true))});
   }
   return members;
}

/// Forms clusters: loads at constant distances that need fewer vectors together than apart.
void GuardPlanner::find_clusters(std::span<const GuardedLoad> together)
{
   std::vector<Member> members = members_of(together);
   while (!members.empty()) {
      const Member first = members.front();
      const auto is_near = [&](const Member &m) {
         constexpr uint32_t max_distance = 4096;
         const Access &access = m.load.plan->access, &other = first.load.plan->access;
         return access.space == other.space &&
                (!access.index || nir_srcs_equal(*access.index, *other.index)) &&
                m.form.terms == first.form.terms &&
                m.form.constant - first.form.constant + max_distance <= 2 * max_distance;
      };
      std::vector<Member> near, others;
      std::ranges::partition_copy(members, std::back_inserter(near), std::back_inserter(others),
                                  is_near);
      members = std::move(others);
      add_cluster(near);
   }
}

/// Adds a cluster of these loads, unless they need as few vectors apart.
void GuardPlanner::add_cluster(const std::vector<Member> &near)
{
   const auto distance = [&](const Member &m) {
      return int32_t(m.form.constant - near.front().form.constant);
   };
   const uint32_t begin = std::ranges::min(near, {}, distance).form.constant;
   LoadCluster cluster;
   size_t alone = 0;
   for (const Member &m : near) {
      const uint32_t shift = m.form.constant - begin;
      const AccessPlan &plan = *m.load.plan;
      add_chunks(cluster.chunks, plan.lanes.fixed->from_first, shift, plan.access.element());
      cluster.extent = std::max(cluster.extent, shift + plan.extent());
      const auto add = [&](const LaneAssumption &assumption) {
         if (!std::ranges::count(cluster.assumptions, assumption))
            cluster.assumptions.push_back(assumption);
      };
      for (const uint32_t number : plan.lanes.fixed->assumptions)
         add(context.offsets->assumption(number));
      std::ranges::for_each(m.form.assumptions, add);
      alone += m.alone;
   }
   const bool are_even = std::ranges::all_of(
      near, [&](const Member &m) { return (m.form.constant - begin) % 2 == 0; });
   if (!are_even || size_t(std::ranges::count(cluster.chunks, true)) >= alone)
      return;
   for (const Member &m : near) {
      AccessPlan &plan = *m.load.plan;
      plan.form = AccessForm::chunks;
      plan.chunks.clear();
      plan.cluster = result.clusters.size();
      plan.shift = m.form.constant - begin;
      // The extent being in bounds also implies that no address after the first wraps around.
      plan.conditions = {.assumptions = cluster.assumptions, .from_first = cluster.extent};
   }
   result.clusters.push_back(std::move(cluster));
}

void GuardPlanner::add_conditions()
{
   std::vector<bool> seen(result.clusters.size());
   for (const GuardedLoad &load : loads) {
      AccessPlan &plan = *load.plan;
      plan.is_guarded = true;
      if (plan.cluster) {
         if (seen[*plan.cluster])
            continue;
         seen[*plan.cluster] = true;
      }
      result.checked.push_back(load.intr);
      result.assumptions.insert(result.assumptions.end(), plan.conditions.assumptions.begin(),
                                plan.conditions.assumptions.end());
   }
}

void GuardPlanner::find_results()
{
   nir_foreach_instr(instr, block) {
      nir_def *def = instr->type == nir_instr_type_phi ? nullptr : nir_instr_def(instr);
      if (!def || result.once.contains(instr))
         continue;
      if (is_needed_outside(def))
         result.results.push_back(def);
      else
         copied.insert(def);
   }
}

std::optional<GuardPlan>
GuardPlanner::plan(bool may_leave,
                   llvm::function_ref<AccessPlan *(const nir_intrinsic_instr *)> plan_of_load)
{
   find_known(plan_of_load);
   // Inactive lanes are ordinary. A kernel that often leaves is of no use.
   const auto needs_all_lanes = [](const GuardedLoad &load) {
      return load.plan->conditions.all_lanes;
   };
   result.leaves = may_leave && std::ranges::none_of(loads, needs_all_lanes);
   // The branch of a single load is as small as a guard, but a guard that leaves has no other side.
   if (loads.size() < (result.leaves ? 1 : 2))
      return std::nullopt;
   find_addresses();
   find_all_clusters();
   add_conditions();
   if (!result.leaves)
      find_results();
   return std::move(result);
}

} // namespace

std::optional<GuardPlan>
plan_guard(const PlanContext &context, const nir_block *block, bool may_leave, CopiedValues &copied,
           llvm::function_ref<AccessPlan *(const nir_intrinsic_instr *)> plan_of_load)
{
   return GuardPlanner(context, block, copied).plan(may_leave, plan_of_load);
}

} // namespace weft::cpu
