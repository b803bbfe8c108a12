// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft::cpu {

/// Lets the lanes of a subgroup take the same side of a branch where those of one side would go on to a matrix operation
/// without the others, in it or, where the other side leaves or continues a loop, behind it:
///
///    loop {
///       if (mask <= smallest) continue;      divergent, as far as NIR knows
///       tile_load …
///
/// A cooperative matrix operation is undefined unless all invocations of its scope execute it
/// (SPV_KHR_cooperative_matrix), so the condition is the same for all.  Loops need no masks then, nor do stores.
///
/// Wants divergence information and makes it out of date if it returns true.
bool opt_uniform_branches(nir_shader *);

} // namespace weft::cpu
