// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrices/shapes/choose_native_shape.h"
#include "nir_passes/target.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Cuts matrices into tiles of the back end's shapes: a matrix becomes an array of tiles, which are
/// matrices, from left to right and from top to bottom (one tile stays itself), and what is done
/// with it becomes the same for each tile.  The components of an invocation are those of the first
/// tile, then those of the second and so on; cmat_length says how many a tile has.
///
/// A matrix that is no whole number of tiles is padded.  For 20×12 and tiles of 8×8:
///
///        ┌────┬────┐
///        │ 0  │ 1 ░│   ░ padding: neither loaded nor stored.  Of A and B it is 0 along K, so that
///        ├────┼────┤     it adds nothing to products; else its value is any.  Where tiles are at
///        │ 2  │ 3 ░│     the edge, elements are loaded and stored one by one, which takes to know
///        ├────┼────┤     where they are: that of the dense map only (element_map.h).
///        │ 4  │ 5 ░│
///        │░░░░│░░░░│
///        └────┴────┘
///
/// With robust access a tile's place in its buffer does not wrap around 32 bits, nor the places of
/// its lines in buffers of up to 128 MiB; beyond, and to keep to the buffer, is for the back end.
struct SplitOptions {
   NativeShape shape;
   MatrixForm form; ///< of what becomes of the tiles
   uint32_t subgroup_size;
   bool robust_access = false;
};
bool split_cmat_shapes(nir_shader *, const SplitOptions &);

} // namespace weft
