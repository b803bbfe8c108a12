// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/choose_native_shape.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Lowers matrices to the tiles that the driver has: a matrix becomes an array of tiles, from left
/// to right and from top to bottom (one tile stays itself), what is done with it becomes the same
/// for each tile.  The components of an invocation are those of the first tile, then those of the
/// second and so on; how many a tile has only the driver knows.  Loads, stores and multiplications
/// come out as tile_*_weft, whose stride is 32 bits here.
///
/// With robust access the place of a tile in its buffer does not wrap around 32 bits; within a tile
/// it is for the driver to keep to the buffer.
bool lower_cmat_shapes(nir_shader *, const NativeShape &, bool robust_access);

} // namespace weft
