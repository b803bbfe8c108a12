// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Damaged modules, for which a compiler must return an error or a shader.

#pragma once

#include "tests/nir_passes/shaders.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace weft::test {

/// Calls `compile` with mutants of real matrix shaders and the number of each. `compile` returns
/// whether the mutant is still a shader; the result is the number of these. If a mutant crashes or
/// takes a minute, a message names it.
unsigned for_each_mutant(unsigned count,
                         const std::function<bool(const ShaderSource &, unsigned mutant)> &compile);

/// Printed at the first call; WEFT_SEED=N repeats a run.
uint32_t mutation_seed();

/// The shaders that mutants are made of.
std::vector<Source> mutation_originals();

} // namespace weft::test
