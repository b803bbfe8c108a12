// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/images/texel_format.h"

#include <cstdint>

namespace weft {

/// A texel buffer as a descriptor stores it. It begins like the descriptor of a buffer, by which
/// texels are accessed as bytes. All zeros is a null descriptor.
struct TexelDescriptor {
   uint64_t address;
   uint64_t size; ///< bytes of all elements
   TexelFormat format;
   uint32_t elements;
};
static_assert(sizeof(TexelDescriptor) == 32);

/// A storage image as a descriptor stores it. Rows of texels lie one after the other; slices, the
/// layers of an array or the depth, consist of such rows.
struct ImageDescriptor {
   uint64_t address; ///< of the first texel of the view
   uint64_t size;    ///< bytes of all slices
   TexelFormat format;
   uint32_t width, height, slices;
   uint32_t row_pitch, slice_pitch; ///< bytes
   uint32_t reserved[4];
};
static_assert(sizeof(ImageDescriptor) == 64);

/// The most elements of a texel buffer, so that byte offsets fit 32 bits, with room for
/// limits::lane_reach.
constexpr uint32_t max_texel_elements = 1u << 27;

} // namespace weft
