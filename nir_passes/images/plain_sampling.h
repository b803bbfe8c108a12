// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Reads of sampled images as most programs make them. The image has one level, a common format,
/// and its components in order. The sampler takes means, if it filters at all, and repeats the
/// image or clamps to its edge, without anisotropy. The code has no loops, and a few instructions
/// for each texel.

#pragma once

#include "nir_passes/images/sampling.h"

namespace weft {

/// Whether the image and the sampler are of this kind when the code runs; null if the instruction
/// itself is not.
nir_def *is_plain_sample(nir_builder *, const SampledImage &, const Descriptor &sampler,
                         const Lookup &);
/// Four components. Requires is_plain_sample().
nir_def *sample_plainly(nir_builder *, const SampledImage &, const Descriptor &sampler,
                        const Lookup &);

/// The same for fetch().
nir_def *is_plain_fetch(nir_builder *, const SampledImage &, const Lookup &);
nir_def *fetch_plainly(nir_builder *, const SampledImage &, const Lookup &);

} // namespace weft
