// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/images/sampling.h"

#include <array>

namespace weft {

/// A mip level. Sizes are at least 1, even of a null descriptor.
struct Level {
   std::array<nir_def *, 3> size; ///< texels in each dimension, or slices
   nir_def *offset;               ///< bytes
   nir_def *has_tiles;            ///< null: never
};

/// The access of reads that need not be the same in all lanes.
constexpr auto reads_only =
   gl_access_qualifier(ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER | ACCESS_NON_UNIFORM);

nir_def *byte_of(nir_builder *, nir_def *word, unsigned n);
/// `low` for a NaN.
nir_def *clamp(nir_builder *, nir_def *x, nir_def *low, nir_def *high);
/// The layer of an array's coordinate, a float; 0 without layers.
nir_def *nearest_layer(nir_builder *, nir_def *coordinate, nir_def *layers);

/// Generated code for the reads of one image, of any format.
class ImageReads {
public:
   ImageReads(nir_builder *, const SampledImage &, nir_alu_type);

   nir_def *word(size_t member);
   Level level(nir_def *number);
   /// The texel at column, row and slice, if it is inside.
   nir_def *load(const Level &, nir_def *is_inside, const std::array<nir_def *, 3> &place);
   /// The residency of all texels loaded so far, which is recorded from the first call on.
   void record_residency();
   nir_def *residency();
   /// The components in the order that the view gives them.
   nir_def *swizzle(nir_def *color);

private:
   void record(nir_def *is_inside, nir_def *offset);
   Texel locate(const Level &, nir_def *is_inside, const std::array<nir_def *, 3> &place);
   nir_def *offset_of(const Texel &);
   nir_def *block_offset(const Level &, const std::array<nir_def *, 3> &place);
   nir_def *load_from_block(const Level &, nir_def *is_inside,
                            const std::array<nir_def *, 3> &place);
   nir_def *decode_from_block(const Level &, const std::array<nir_def *, 3> &place);
   nir_def *load_half_block(nir_def *offset);

   nir_builder *b;
   nir_variable *resident = nullptr; ///< a residency code

public:
   const SampledImage &image;
   nir_alu_type type;
   FormatValues format;
   nir_def *levels, *texel_bytes;
};

} // namespace weft
