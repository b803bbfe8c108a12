// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Damaged modules: for any words, a compiler has to return.

#pragma once

#include "tests/nir_passes/shaders.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace weft::test {

/// Calls `compile` with mutants of real matrix shaders, with the number of each; it returns whether
/// the mutant was a shader still, and so does this: of how many.  A crash, or one that takes a
/// minute, names its mutant.
unsigned for_each_mutant(unsigned count,
                         const std::function<bool(const ShaderSource &, unsigned mutant)> &compile);

/// Printed at the first call; WEFT_SEED=N repeats a run.
uint32_t mutation_seed();

/// The shaders that mutants are made of.
std::vector<Source> mutation_originals();

} // namespace weft::test
