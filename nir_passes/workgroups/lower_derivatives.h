// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Expresses the derivatives of a compute shader with derivative groups by operations on quads
/// (Vulkan, "Derivative Operations"). A derivative group is four neighbours in the subgroup:
///
///    0 1     d/dx: 1 - 0, or 3 - 2 in the second row of a fine derivative
///    2 3     d/dy: 2 - 0, or 3 - 1 in the second column
///
/// Samples and queries with an implicit level of detail get gradients as operands. Must come before
/// passes that move them, and after projections are lowered.
///
/// Without derivative groups, vtn makes derivatives zeros, and the level of detail is 0.
bool lower_derivatives(nir_shader *);

} // namespace weft
