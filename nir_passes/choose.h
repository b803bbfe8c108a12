// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir_builder.h"

namespace weft {

/// The value of then() if the condition holds, else of otherwise(), in two branches. They build
/// vectors of the same size, or nothing. A phi must come first in its block; here nothing can come
/// between the branches and their phi.
template <typename Then, typename Else>
nir_def *choose(nir_builder *b, nir_def *condition, const Then &then, const Else &otherwise)
{
   nir_push_if(b, condition);
   nir_def *first = then();
   nir_push_else(b, nullptr);
   nir_def *second = otherwise();
   nir_pop_if(b, nullptr);
   return first ? nir_if_phi(b, first, second) : nullptr;
}

} // namespace weft
