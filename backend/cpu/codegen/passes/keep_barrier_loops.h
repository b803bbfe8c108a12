// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Disables the unrolling of loops with control barriers. A barrier costs more than unrolling
/// saves, and reductions through shared memory would make up most of their shaders' code.
/// Exceptions are workgroups of one subgroup, where barriers cost nothing, and loops whose counter
/// indexes a private array, which would stay in memory.
///
/// After lower_matrices(), while private memory is variables.
bool keep_barrier_loops(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
