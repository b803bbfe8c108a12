// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The plans of all memory accesses and guards of a shader (access_plan.h, guard_plan.h).

#pragma once

#include "backend/cpu/codegen/facts/active_lanes.h"
#include "backend/cpu/codegen/facts/early_blocks.h"
#include "backend/cpu/codegen/facts/packed_sums.h"
#include "backend/cpu/codegen/nir_to_llvm.h"
#include "backend/cpu/codegen/plans/access_plan.h"
#include "backend/cpu/codegen/plans/guard_plan.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>

#include <string>

namespace weft::cpu {

/// The analyses of a shader in its final form that plans depend on.
struct ShaderFacts {
   ShaderFacts(nir_shader *, const TranslateOptions &);

   LaneAnalysis patterns;
   LaneOffsetAnalysis offsets;
   PackedSums packed_sums;
   ActiveLanes active_lanes;
   EarlyBlocks early_blocks;
};

class AccessPlans {
public:
   /// The facts must outlive the plans.
   AccessPlans(nir_shader *, const TranslateOptions &, const ShaderFacts &);

   /// The plan of a load, or a plan for each run of components that a store writes.
   llvm::ArrayRef<AccessPlan> of(const nir_intrinsic_instr *instr) const
   {
      const Range range = ranges.lookup(&instr->instr);
      return llvm::ArrayRef(plans).slice(range.first, range.count);
   }
   /// Null if the block has no guard.
   const GuardPlan *guard(const nir_block *block) const
   {
      const auto found = guards.find(block);
      return found == guards.end() ? nullptr : &found->second;
   }

private:
   struct Range {
      size_t first = 0, count = 0;
   };

   llvm::DenseMap<const nir_instr *, Range> ranges;
   std::vector<AccessPlan> plans;
   llvm::DenseMap<const nir_block *, GuardPlan> guards;
};

/// Plans as text (plan_text.cc). Values have the numbers of NIR's dumps.
std::string describe(const AccessPlan &);
std::string describe(const GuardPlan &);
/// The text of weftc --emit=accesses: the accesses of each block, in order.
std::string describe_plans(nir_shader *, const TranslateOptions &);

} // namespace weft::cpu
