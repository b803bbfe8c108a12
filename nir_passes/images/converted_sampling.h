// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/images/sampling.h"

namespace weft {

/// Samples an image of luma and chromas (ConvertedDescriptor) and converts the color. The chromas
/// are reconstructed implicitly: each is sampled by itself, at coordinates that depend on its
/// location ("Chroma Reconstruction").
nir_def *sample_converted(nir_builder *, const SampledImage &, const Descriptor &sampler,
                          const Lookup &);

} // namespace weft
