// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The steps of the module rewriter (forms.h).  Each changes a part of a module that the random
/// numbers choose, and keeps its meaning.

#pragma once

#include "tests/spirv_forms/module.h"

namespace weft::forms {

/// True with a probability of `percent` in a hundred.
inline bool happens(oracle::Random &random, uint32_t percent)
{
   return oracle::draw(random, 100) < percent;
}

/// Makes values of variables of functions: a store is the value from then on, or an
/// OpCompositeInsert into it; a load is the value, or an OpCompositeExtract of it. Where branches
/// with different values meet, there is an OpPhi, or an OpSelect. A variable stays if its address
/// is used in another way.
void promote_variables(Module &, oracle::Random &, uint32_t percent);

/// Replaces values by equal ones. These come from OpCopyObject, OpCopyLogical, OpSelect, composites
/// that hold them and are taken apart, members that are replaced by themselves, and functions that
/// return their argument. At most `most` values in each function.
void disguise_values(Module &, oracle::Random &, uint32_t percent, uint32_t most);

/// Keeps values in variables of functions: stores them at their definition, and loads them, or a
/// part, at their use. Variables are copied by OpCopyMemory, composites are put together in memory,
/// and phis become variables. At most `most` values in each function.
void demote_values(Module &, oracle::Random &, uint32_t percent, uint32_t most);

} // namespace weft::forms
