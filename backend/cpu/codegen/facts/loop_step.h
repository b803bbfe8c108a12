// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>
#include <optional>

namespace weft::cpu {

/// By how much an integer grows from one iteration of a loop to the next, modulo 2^64; nothing where it is not seen
/// to be a constant.  Low bits that a mask takes away count: the
/// number is for guesses.
std::optional<int64_t> loop_step(const nir_scalar &, const nir_loop *);

/// Whether a value may be another for the next workgroup along x.  What memory holds is taken to be the same.
bool depends_on_workgroup_x(const nir_scalar &);

} // namespace weft::cpu
