// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Reads of sampled images (Vulkan, "Image Operations"): by texel coordinates, or filtered by the
/// state of a sampler that generated code reads from its descriptor.

#pragma once

#include "nir_passes/images/image_access.h"

namespace weft {

struct SampledImage {
   Descriptor descriptor;
   ImageShape shape;
   bool may_have_tiles = false;
};

/// The operands of an instruction; null if absent.
struct Lookup {
   nir_def *coordinates;
   nir_def *lod, *bias, *min_lod, *comparator, *offset;
   nir_def *sample;                  ///< of an image of several samples, the number of one
   nir_def *gradient_x, *gradient_y; ///< both or none; without a layer
   std::optional<unsigned> gathered; ///< the component of each texel that a gather returns
   bool is_sparse;                   ///< a fifth component is the residency of the texels
   nir_alu_type type;
};

/// The texel at integer coordinates of a level. Outside of the image, its levels or its samples, a
/// texel of zeros, which is resident.
nir_def *fetch(nir_builder *, const SampledImage &, const Lookup &);

/// Four components; of a comparison, the first one. Levels and texels of a filter are loops of
/// generated code, because the image's format and the sampler's state are known when it runs:
///
///    for (level : one or two) for (texel : one, or two in each dimension) sum += weight * texel
///
/// With gradients, a loop over the probes of an anisotropic filter is around it (footprint.h).
/// Without `lod` and gradients, the level of detail is 0, before the sampler's bias.
nir_def *sample(nir_builder *, const SampledImage &, const Descriptor &sampler, const Lookup &);

/// Vulkan, "LOD Query": the level, with a fraction, that a sample would read, and its level of
/// detail before it is clamped. Coordinates have no layer. Without gradients, they are zeros.
nir_def *query_lod(nir_builder *, const SampledImage &, const Descriptor &sampler, const Lookup &);

} // namespace weft
