// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/memory/binding_layout.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

#include <span>

namespace weft {

/// Replaces accesses to texel buffers and storage images by accesses to buffers, for a back end
/// whose descriptors are TexelDescriptors and ImageDescriptors:
///
///    x < width ? unpack(load_ssbo(descriptor, y * row_pitch + x * texel_bytes)) : 0
///
/// Partially resident images have tiles. If there may be such images, a branch chooses the code of
/// each access.
///
/// Buffers are addressed as lower_descriptors() leaves them; sizes and format are read from the
/// descriptor as data (load_ubo of the set). A format that the shader declares is a constant.
/// Barriers for images become barriers for buffers, too.
///
/// A texel out of bounds reads as a texel of zeros, and is neither written nor changed, with any
/// robustness of buffers.
///
/// An Error for sampled images, except texel buffers; for samplers, images of several samples, and
/// bindings that are not listed.
Result<bool> lower_images(nir_shader *, std::span<const BindingLayout>, bool may_have_tiles);

} // namespace weft
