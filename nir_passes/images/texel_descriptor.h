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

/// The most elements of a texel buffer, so that byte offsets fit 32 bits, with room for
/// limits::lane_reach.
constexpr uint32_t max_texel_elements = 1u << 27;

} // namespace weft
