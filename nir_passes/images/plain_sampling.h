// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Reads of sampled images as most programs make them. The image has one level, a common format,
/// and its components in order. The sampler takes means, if it filters at all, and repeats the
/// image or clamps to its edge, without anisotropy. The code has no loops, and a few instructions
/// for each texel.

#pragma once

#include "nir_passes/images/sampling.h"

#include <array>
#include <vector>

namespace weft {

/// Whether the image and the sampler are of this kind when the code runs; null if the instruction
/// itself is not.
nir_def *is_plain_sample(nir_builder *, const SampledImage &, const Descriptor &sampler,
                         const Lookup &);
/// The texels of a plain read.
struct PlainPlace {
   struct Neighbours {
      std::array<nir_def *, 2> offsets; ///< texels in the first dimension, else bytes
      nir_def *fraction;                ///< weight of the second texel
   };
   nir_def *is_linear;                 ///< else the first texel alone is read
   nir_def *layer;                     ///< bytes before the layer
   std::vector<Neighbours> neighbours; ///< in each dimension
};
/// Belongs in front of the branch on is_plain_sample(), so that the reads of a filter in the shader
/// share arithmetic.
PlainPlace find_plain_place(nir_builder *, const SampledImage &, const Descriptor &sampler,
                            const Lookup &);
/// Four components. Requires is_plain_sample().
nir_def *sample_plainly(nir_builder *, const SampledImage &, const PlainPlace &);

/// The same for fetch().
nir_def *is_plain_fetch(nir_builder *, const SampledImage &, const Lookup &);
nir_def *fetch_plainly(nir_builder *, const SampledImage &, const Lookup &);

} // namespace weft
