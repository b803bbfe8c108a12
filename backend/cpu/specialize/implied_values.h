// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir_builder.h"

namespace weft::cpu {

/// Replaces values that follow from the value of a condition:
///
///    condition                 follows
///    a && b is true            both are true
///    a || b is false           both are false
///    !a                        a is the opposite
///    x == 3 is true            x is 3
///    (x & 31) == 0 is true     x is x & ~31, which shows that x is a multiple of 32
///
/// The condition has this value in all invocations, so the whole shader may rely on it. The same is
/// true of the values that follow, because the dispatch has decided each part of the condition. If
/// x is a push constant, all its loads are replaced.
///
/// Floats are not replaced, because x == 0 is true for 0 and for -0.
void replace_implied_values(nir_builder *, nir_scalar condition, bool value);

} // namespace weft::cpu
