// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft::cpu {

/// Makes a branch uniform if otherwise only some lanes would reach a matrix operation. The
/// operation is inside the branch or, if the other side leaves or continues a loop, behind it:
///
///    loop {
///       if (mask <= smallest) continue;      divergent, according to NIR
///       tile_load …
///
/// A cooperative matrix operation is undefined unless all invocations of its scope execute it
/// (SPV_KHR_cooperative_matrix), so the condition is the same for all lanes. Loops and stores then
/// need no masks.
///
/// Needs divergence information and invalidates it if the result is true.
bool opt_uniform_branches(nir_shader *);

} // namespace weft::cpu
