// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrices/shapes/choose_native_shape.h"
#include "nir_passes/target.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Cuts matrices into tiles of the back end's shapes. A matrix becomes an array of smaller
/// matrices, its tiles, from left to right and from top to bottom. If it has one tile only, it
/// stays a matrix. Each operation becomes one operation per tile. An invocation's components are
/// numbered tile by tile; cmat_length is the number of components in a tile.
///
/// If tiles do not divide a matrix, it is padded. For 20×12 and tiles of 8×8:
///
///        ┌────┬────┐
///        │ 0  │ 1 ░│   ░ padding is neither loaded nor stored. In A and B it is 0 along K, so that
///        ├────┼────┤     it adds nothing to products. Other padding has any value. The elements of
///        │ 2  │ 3 ░│     tiles at the edge are loaded and stored one by one, which needs their
///        ├────┼────┤     places. So only the dense map (element_map.h) allows padding.
///        │ 4  │ 5 ░│
///        │░░░░│░░░░│
///        └────┴────┘
///
/// With robust access, the offset of a tile in its buffer does not wrap around 32 bits. In buffers
/// of up to 128 MiB, the offsets of its lines do not either. The back end checks the bounds.
struct SplitOptions {
   NativeShape shape;
   MatrixForm form; ///< of the tiles, after lower_cmat()
   uint32_t subgroup_size;
   bool robust_access = false;
};
bool split_cmat_shapes(nir_shader *, const SplitOptions &);

} // namespace weft
