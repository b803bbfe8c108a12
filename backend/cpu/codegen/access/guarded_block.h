// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The code of guards (guard_plan.h).

#pragma once

#include "backend/cpu/codegen/plans/guard_plan.h"
#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

/// Emits the instructions between a block's phis and its jump: addresses, the guard, and the rest
/// once or twice. Afterwards the values that later blocks use are defined.
void emit_guarded(Translator &, nir_block *, const GuardPlan &);

/// Requires the conditions of a load that the guard checks (emit_memory.cc).
class BranchCondition;
void require_conditions(Translator &, nir_intrinsic_instr *, BranchCondition &);

} // namespace weft::cpu
