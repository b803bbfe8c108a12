// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Makes loads of one component each of loads whose lanes overlap, as a[i - 1], a[i] and a[i + 1]
/// do together: each is one vector's worth of memory then.  Wants divergence information, and leaves none.
bool split_overlapping_loads(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
