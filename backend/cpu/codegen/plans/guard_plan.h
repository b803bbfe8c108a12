// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// One guard for the conditions of all loads of a block.
///
/// Vector code of a load has conditions. One branch per load leaves small blocks: LLVM schedules
/// nothing across them, and it spills vectors, because each block has a call in its other branch.
/// So if several loads of a block have addresses that are known at the block's beginning, one guard
/// checks all conditions there.
///
/// If it fails before the subgroup has had any effect (early_blocks.h), the guard leaves: the
/// kernel returns false. The subgroup begins again with the plain program, which is the same shader
/// without guards that leave (plain_program.h). That is compiled only if a guard fails.
///
///    guard:   the addresses; all conditions      ──► loads as vectors, arithmetic, …
///                                                └─► return false
///
/// Any other block with a guard is emitted twice:
///
///    guard:   the addresses; all conditions      ──► loads as vectors, arithmetic, …   ┐
///                                                └─► loads lane by lane, the same …    ┴─► join

#pragma once

#include "backend/cpu/codegen/plans/access_plan.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallPtrSet.h>

#include <optional>
#include <vector>

namespace weft::cpu {

/// Loads of one block from memory that lies close together, such as the fields of one struct. They
/// share chunks.
struct LoadCluster {
   uint64_t extent = 0;      ///< bytes from the first address on
   std::vector<bool> chunks; ///< which chunks contain elements
   std::vector<LaneAssumption> assumptions;
};

struct GuardPlan {
   using Instructions = llvm::SmallPtrSet<const nir_instr *, 32>;

   bool leaves = false; ///< if a condition fails, else the block has two copies
   /// The loads whose conditions the guard checks: of a cluster, only the first.
   std::vector<nir_intrinsic_instr *> checked;
   std::vector<LaneAssumption> assumptions; ///< they hold in the copy with vector code
   std::vector<LoadCluster> clusters;
   Instructions before; ///< emitted before the guard: addresses, and the members of `once`
   Instructions once;   ///< emitted before the guard only, because later blocks use the values
   std::vector<nir_def *> results; ///< values of two copies that later blocks use
};

/// The values that exist in the copies of guarded blocks only, and not behind them.
using CopiedValues = llvm::DenseSet<const nir_def *>;

/// Plans the guard of a block, whose accesses have plans already, and adapts the plans of its
/// loads. Nothing if fewer than two loads have conditions. Blocks come in order of dominance.
std::optional<GuardPlan>
plan_guard(const PlanContext &, const nir_block *, bool may_leave, CopiedValues &,
           llvm::function_ref<AccessPlan *(const nir_intrinsic_instr *)> plan_of_load);

} // namespace weft::cpu
