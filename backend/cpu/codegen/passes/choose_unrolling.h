// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// The properties of a loop that decide whether it is unrolled.
struct LoopCost {
   /// The instructions of all iterations, if the loop and all loops in it are unrolled.
   uint64_t instructions = 0;
   /// The operations of tiles among these instructions, and the multiplications.
   uint64_t tiles = 0, products = 0;
   /// Whether all iterations can become one block of products: the number of iterations is known,
   /// and the loop contains no barriers and no accesses of single elements of tiles.
   bool is_block = true;
   /// Control barriers at which subgroups wait for each other.
   bool waits = false;
   /// Whether the counter indexes a private array, which would stay in memory.
   bool indexes_private_array = false;
};

/// The treatment of a loop; none: by the limits of nir_shader_compiler_options.
///
/// * A loop with multiplications of tiles is unrolled if that puts a moderate number of
///   multiplications and the loads of their factors into one block. Few calls can then do all of
///   them (opt_product_order.h, plan_products.h).
/// * Other loops around operations of tiles stay: an iteration is long, and a dynamic index into an
///   array of tiles costs nothing.
/// * Loops in which subgroups wait for each other stay. The wait costs more than unrolling saves,
///   and reductions through shared memory would make up most of their shaders' code.
nir_loop_control unrolling_of(const LoopCost &);

/// Sets the treatment of each loop. The shader's own requests to unroll are ignored, because NIR
/// would unroll loops of any size. Its requests not to unroll are obeyed.
///
/// Runs first while tiles are variables, before the first loop is unrolled. Runs again after loops
/// are simplified, when the numbers of iterations are known, and after barriers that order single
/// accesses are removed.
bool choose_unrolling(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
