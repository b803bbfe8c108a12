// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <span>

namespace weft {

/// A barrier of the workgroup.
struct Meeting {
   nir_intrinsic_instr *barrier;
   /// An array of shared memory of which each invocation has an element, or null.  Behind the barrier
   /// invocations that would not have come there without this pass set their elements to zero.
   nir_variable *cleared = nullptr;
};

/// Lets the whole workgroup come to barriers that stand in branches and loops of a part of it.
///
///    if (c) { A; barrier; B; }       becomes       if (c) { A; } barrier; if (c) { B; }
///
/// and a loop runs, with what is in it under a condition, until no invocation of the workgroup is left
/// in it; it asks for that through shared memory.
///
/// Branches and loops whose condition is the same in all of the workgroup stay as they are.  That is what
/// nir_divergence_analysis has found out, of a workgroup; no barrier but these stands in the others.
/// Wants scalars in SSA form, and accesses to variables by derefs.
void lower_divergent_barriers(nir_shader *, std::span<const Meeting>);

/// Whether there is such a branch or loop around a block.
bool is_in_divergent_flow(const nir_block *);

} // namespace weft
