// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Splits loads whose lanes overlap, such as a[i - 1], a[i] and a[i + 1] together, into loads of
/// one component. Each then is contiguous memory of one vector. Needs divergence information, which
/// is not valid for the new loads.
bool split_overlapping_loads(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
