// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>
#include <optional>

namespace weft::cpu {

/// The amount by which an integer grows per iteration of a loop, modulo 2^64; nothing if no
/// constant is found. It ignores that masks clear low bits, so it is for heuristics only.
std::optional<int64_t> loop_step(const nir_scalar &, const nir_loop *);

/// Whether a value may differ in the next workgroup along x, if memory holds the same values.
bool depends_on_workgroup_x(const nir_scalar &);

} // namespace weft::cpu
