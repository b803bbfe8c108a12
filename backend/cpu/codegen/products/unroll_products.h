// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft::cpu {

/// Loops around multiplications of tiles are to be unrolled after all (see limit_unrolling.h) where that brings a
/// moderate number of them into one block, with the loads of their factors: few calls then do all of them
/// (opt_product_order.h, product_blocks.h).
///
/// After the loops were simplified, so that their iterations can be counted, and barriers that order single accesses are gone.
bool unroll_products(nir_shader *);

} // namespace weft::cpu
