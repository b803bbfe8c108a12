// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Finds values that NIR's divergence analysis takes for divergent though all lanes of a subgroup
/// hold the same, like local_invocation_index / subgroup_size, and puts as_uniform behind them.
/// Wants divergence information and makes it out of date if it returns true.
bool opt_uniform(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
