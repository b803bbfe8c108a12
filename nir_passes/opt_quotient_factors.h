// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// (x ÷ c) × d becomes x × (d ÷ c), also in a multiply-add. c and d are constants of 32 bits, and
/// c is at least 1. So filters multiply the integers of normalized texels by constants only.
///
/// One rounded constant replaces one rounded quotient, so the result is as precise. Exact
/// instructions (NoContraction) stay, and so do products whose new constant is not a normal number.
bool opt_quotient_factors(nir_shader *);

} // namespace weft
