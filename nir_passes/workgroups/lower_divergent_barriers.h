// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <span>

namespace weft {

/// A barrier that the whole workgroup must reach.
struct Meeting {
   nir_intrinsic_instr *barrier;
   /// A shared array with one element per invocation, or null. Behind the barrier, invocations that
   /// would not reach it without this pass set their elements to zero.
   nir_variable *cleared = nullptr;
};

/// Makes the whole workgroup reach barriers that stand in divergent branches and loops.
///
///    if (c) { A; barrier; B; }       becomes       if (c) { A; } barrier; if (c) { B; }
///
/// A loop runs, with its body under a condition, until no invocation of the workgroup is left in
/// it; shared memory holds that condition.
///
/// Branches and loops with a condition that is uniform in the workgroup stay as they are.
/// nir_divergence_analysis, run for workgroups, must have found these. Divergent branches and loops
/// contain no barriers except these. Needs scalars in SSA form, and accesses to variables by
/// derefs.
void lower_divergent_barriers(nir_shader *, std::span<const Meeting>);

/// Whether a divergent branch or loop surrounds a block.
bool is_in_divergent_flow(const nir_block *);

} // namespace weft
