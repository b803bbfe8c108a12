// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Finds values that NIR's divergence analysis considers divergent although all lanes of a subgroup
/// hold the same value, such as local_invocation_index / subgroup_size. Inserts as_uniform behind
/// them. Needs divergence information and invalidates it if the result is true.
bool opt_uniform(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
