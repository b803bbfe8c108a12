// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Sets how nir_opt_loop_unroll() treats a loop. Returns whether that changed, which counts as
/// progress of the calling pass: unrolling may then make progress again.
inline bool set_control(nir_loop *loop, nir_loop_control control)
{
   const bool changed = loop->control != control;
   loop->control = control;
   return changed;
}

} // namespace weft
