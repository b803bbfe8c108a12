// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// A bound of an unsigned 32-bit value that follows from constants and from counters of loops; UINT32_MAX where none is
/// seen, or where it may wrap.  (nir_unsigned_upper_bound() knows no counters.)
uint32_t largest_value(const nir_scalar &);

} // namespace weft::cpu
