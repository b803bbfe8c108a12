// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// (x >> m) << n with n < m becomes (x >> m - n) & -2^n. Shaders write either form to unpack
/// adjacent values. With one form, equal values are recognized and opt_combine_accesses finds
/// neighbours.
bool opt_shift_pairs(nir_shader *);

} // namespace weft
