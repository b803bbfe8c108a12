// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/images/texel_format.h"

#include "compiler/nir/nir_builder.h"

#include <array>
#include <functional>

namespace weft {

/// The words of a TexelFormat in NIR. Words of a descriptor are values; the words of a format that
/// the shader declares are constants, so that constant folding leaves the code of this format.
using FormatValues = std::array<nir_def *, std::tuple_size_v<TexelFormatWords>>;
FormatValues constant_format(nir_builder *, const TexelFormat &);

/// A texel in memory, as words of 32 bits; bits beyond the texel are zeros.
using TexelWords = std::array<nir_def *, 4>;

/// The components R, G, B, A: f32 or 32-bit integers, as the type says. Missing components are
/// zeros, alpha may be one (TexelFormat::alpha_is_one).
nir_def *unpack_texel(nir_builder *, const FormatValues &, const TexelWords &, nir_alu_type);

/// Replaces the components of a color that the format lacks, as unpack_texel() does.
nir_def *fill_components(nir_builder *, const FormatValues &, nir_def *color, nir_alu_type);

nir_def *is_block_format(nir_builder *, const FormatValues &);

/// The components of a texel of a compressed block, which has 8 or 16 bytes, in texel order
/// column + row * block_side. The back end decodes it: image_load, whose operands are the format's
/// number, the block's words and the texel.
nir_def *decode_texel(nir_builder *, const FormatValues &, const TexelWords &block, nir_def *texel);

/// The inverse of unpack_texel(), of four components. Numbers are clamped to the range of the
/// format; floating-point numbers are rounded to nearest, to 11 and 10 bits toward zero.
TexelWords pack_texel(nir_builder *, const FormatValues &, nir_def *color, nir_alu_type);

/// Emits code for each size of texels: for the known one, or a branch for each possible one.
/// Returns the result of the branches; none if they have no result.
nir_def *for_texel_size(nir_builder *, const FormatValues &,
                        const std::function<nir_def *(unsigned bytes)> &);

} // namespace weft
