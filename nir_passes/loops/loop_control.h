// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// What nir_opt_loop_unroll() shall do with a loop; whether it is something else than before, which is progress of the
/// pass that says so: unrolling may then have something to do again.
inline bool set_control(nir_loop *loop, nir_loop_control control)
{
   const bool changed = loop->control != control;
   loop->control = control;
   return changed;
}

} // namespace weft
