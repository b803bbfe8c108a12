// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrices/cmat_uses.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace weft {

/// The tiles that a shader's matrices are built from: m×n accumulators, m×k and k×n matrices A and
/// B, where k depends on the size of their components.  One for all of a shader, so that a matrix
/// fits into every operation on it.
struct NativeShape {
   uint32_t m, n;
   std::array<uint32_t, 4> k; ///< of 8, 16, 32 and 64 bits; 0: no such matrices

   /// The tile of a matrix.  One without a use stays whole: how long it is, is a constant of its
   /// module, and it may become any operand.
   glsl_cmat_description tile(const glsl_cmat_description &matrix) const;
};

/// What a back end can do with tiles.
struct TileRules {
   std::span<const MatrixOperation> native;
   /// Integers of one size are the same to it, whatever sign they were declared with.
   bool any_sign = false;
   /// It can pad matrices that are no whole number of tiles.
   bool may_pad = false;
   /// It can sum products in wider accumulators, f32 and integers that do not saturate, and turn
   /// the sums into what an operation asks for.
   bool may_widen = false;
   /// It knows which element is where in a tile, and so can convert between tiles of different sizes.
   bool knows_elements = false;
};

/// Whether the shader's matrices and multiplications are native ones as they are.
bool are_native(const CmatUses &, const TileRules &);

/// The largest tiles of which every matrix of the shader is a whole number, and with which every
/// multiplication of the shader is a number of native ones; else, if it may be padded, those that
/// take the least padding; or none.  Back ends that cannot address single elements require the same
/// tile size on both sides of every conversion.  Sums that saturate or are rounded to fewer than 32 bits are not
/// cut along K, as each part would be on its own, unless they may be widened.
std::optional<NativeShape> choose_native_shape(const CmatUses &, const TileRules &);

} // namespace weft
