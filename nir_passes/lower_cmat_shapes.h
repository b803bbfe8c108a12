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
/// With robust access a tile's place in its buffer does not wrap around 32 bits, nor the places of
/// its lines in buffers of up to 128 MiB; beyond, and to keep to the buffer, is for the driver.
bool lower_cmat_shapes(nir_shader *, const NativeShape &, bool robust_access);

} // namespace weft
