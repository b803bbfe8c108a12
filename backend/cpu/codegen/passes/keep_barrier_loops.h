// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Loops in which subgroups wait for each other are not unrolled: a barrier costs more than what unrolling
/// saves, and many reductions through shared memory are most of the code of their shaders.  Not so
/// where one subgroup is the workgroup, whose barriers cost nothing, or where a loop's index is one
/// of a private array, which would be memory then.
///
/// After lower_matrices(), while private memory is variables.
bool keep_barrier_loops(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
