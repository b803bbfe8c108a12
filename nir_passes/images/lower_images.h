// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/memory/binding_layout.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

#include <span>

namespace weft {

/// Replaces accesses to texel buffers by accesses to buffers, for a back end whose descriptors are
/// TexelDescriptors:
///
///    element < elements ? unpack(load_ssbo(descriptor, element * texel_bytes)) : 0
///
/// Buffers are addressed as lower_descriptors() leaves them; elements and format are read from the
/// descriptor as data (load_ubo of the set). A format that the shader declares is a constant.
/// Barriers for images become barriers for buffers, too.
///
/// An element out of bounds reads as a texel of zeros, and is neither written nor changed, with any
/// robustness of buffers.
///
/// An Error for other images, for samplers, and for bindings that are not listed.
Result<bool> lower_images(nir_shader *, std::span<const BindingLayout>);

} // namespace weft
