// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// (x >> m) << n with n < m becomes (x >> m - n) & -2^n: what shaders write in either way, to
/// unpack what lies side by side, is the same value then, and opt_combine_accesses finds the
/// neighbours.
bool opt_shift_pairs(nir_shader *);

} // namespace weft
