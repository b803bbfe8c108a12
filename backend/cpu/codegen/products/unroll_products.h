// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft::cpu {

/// Enables the unrolling of loops with multiplications of tiles, which limit_unrolling.h disabled,
/// if that puts a moderate number of multiplications and the loads of their factors into one block.
/// Few calls can then do all of them (opt_product_order.h, product_blocks.h).
///
/// After loops are simplified, so that trip counts are known, and after barriers that order single
/// accesses are removed.
bool unroll_products(nir_shader *);

} // namespace weft::cpu
