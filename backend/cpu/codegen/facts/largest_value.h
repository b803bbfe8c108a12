// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// An upper bound of an unsigned 32-bit value that follows from constants and loop counters;
/// UINT32_MAX if no bound is found or the value may wrap. (nir_unsigned_upper_bound() does not know
/// loop counters.)
uint32_t largest_value(const nir_scalar &);

} // namespace weft::cpu
