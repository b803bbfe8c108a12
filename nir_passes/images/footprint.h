// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The area of an image that a sample covers, and the probes of an anisotropic filter in it
/// (Vulkan, "Scale Factor Operation" and "Texel Anisotropic Filtering"):
///
///      ────────── the longer gradient ──────────
///         probe 0     probe 1   …   probe N - 1        N = ceil(the ratio of the lengths)
///
/// Each probe is an isotropic sample. The level of detail is that of the longer gradient, divided
/// by the ratio.

#pragma once

#include "compiler/nir/nir_builder.h"

#include <vector>

namespace weft {

struct Footprint {
   nir_def *probes;     ///< 1 to max_anisotropy
   nir_def *weight;     ///< 1 / probes
   nir_def *is_along_x; ///< the gradient along which the probes lie
   nir_def *lod;
};

/// From the gradients in texels of level 0. The ratio is at most `most`; less than 1 means 1.
Footprint find_footprint(nir_builder *, const std::vector<nir_def *> &x,
                         const std::vector<nir_def *> &y, nir_def *most);

/// The place of a probe along the gradient, between -1/2 and 1/2.
nir_def *probe_place(nir_builder *, const Footprint &, nir_def *number);

} // namespace weft
