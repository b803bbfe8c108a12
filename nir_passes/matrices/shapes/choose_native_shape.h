// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrices/cmat_uses.h"
#include "nir_passes/target.h"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

namespace weft {

/// The index of components of 8, 16, 32 or 64 bits in a table of these sizes.
inline unsigned size_class(unsigned bits)
{
   return unsigned(std::countr_zero(bits / 8));
}

/// The tiles that a shader's matrices are built from: m×n accumulators, m×k matrices A and k×n
/// matrices B, where k depends on the size of their components. A shader has one such shape, so
/// that a matrix fits into every operation on it.
struct NativeShape {
   uint32_t m, n;
   std::array<uint32_t, 4> k; ///< of 8, 16, 32 and 64 bits (size_class()); 0: no such matrices

   bool operator==(const NativeShape &) const = default;

   /// The tile of a matrix. A matrix without a use stays whole: its length is a constant of the
   /// module, and it may become any operand.
   glsl_cmat_description tile(const glsl_cmat_description &matrix) const;
};

/// "16x8, k 32 of 8 bits, 16 of 16 bits".
std::string describe(const NativeShape &);

/// A back end's tiles. With private tiles, it knows the place of each element and can do more. It
/// ignores the sign of integers, pads matrices, and converts between tiles of different sizes. It
/// also sums products in wider accumulators (f32, or integers that do not saturate).
struct NativeTiles {
   std::span<const MatrixOperation> operations;
   MatrixForm form; ///< private_tiles or driver_tiles

   bool are_private() const { return form == MatrixForm::private_tiles; }
};

/// Whether the shader's matrices and muladds are native without cuts.
bool are_native(const CmatUses &, const NativeTiles &);

/// The largest tiles that divide every matrix and muladd of the shader into native ones. If no tile
/// does, private tiles with the least padding. A driver's tiles must have the same size on both
/// sides of every conversion. Sums that saturate, or are rounded to fewer than 32 bits, are not cut
/// along K, because each part would saturate or round alone. In private tiles they may be widened.
std::optional<NativeShape> choose_native_shape(const CmatUses &, const NativeTiles &);

} // namespace weft
