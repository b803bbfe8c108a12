// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/memory/binding_layout.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

#include <span>

namespace weft {

/// nir_lower_tex() divides the coordinates of projections.
nir_lower_tex_options projection_options();

/// The forms of instructions that nir_lower_tex() leaves to lower_sampling(): no projections, no
/// offsets of fetches, no gathers with four offsets, and queries of level 0 only.
nir_lower_tex_options sampling_options();

/// Replaces accesses to sampled images by accesses to buffers, for a back end whose descriptors are
/// SampledImageDescriptors, SamplerDescriptors and CombinedDescriptors (sampling.h). Texel buffers
/// are left to lower_images(); `may_have_tiles` is as for it. Must come after nir_lower_tex() with
/// sampling_options().
///
/// An Error for bindings that are not listed.
Result<bool> lower_sampling(nir_shader *, std::span<const BindingLayout>, bool may_have_tiles);

} // namespace weft
