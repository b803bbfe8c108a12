// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Resolves: one texel for all samples (Vulkan, "Resolving Multisample Images"), by
/// vkCmdResolveImage or at the end of a rendering.

#pragma once

#include "icd/image_box.h"

#include "util/format/u_formats.h"

namespace weft {

struct Resolve {
   BoxPlace to, from; ///< from: each sample is a slice
   uint32_t width, height, layers, samples, texel_bytes;
   enum pipe_format format; ///< of both
   bool is_average;         ///< else the first sample
};

void run_resolve(const Resolve &);
/// Whether samples of a format have an average: not integers, depths and stencils.
bool has_average(VkFormat);

} // namespace weft
