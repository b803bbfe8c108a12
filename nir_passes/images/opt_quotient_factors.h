// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// A factor x ÷ c of a product with d becomes x, and d becomes d ÷ c: of (x ÷ c) × d, and of the
/// same product in a multiply-add. c and d are constants of 32 bits, and c is at least 1. So filters
/// scale the normalized numbers of texels by their weights alone.
///
/// One rounded constant replaces one rounded quotient, so the result is as precise. Exact
/// instructions (NoContraction) stay, and so do products whose new constant is not a normal number.
bool opt_quotient_factors(nir_shader *);

} // namespace weft
