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

/// The first levels of a partially resident image are tiles of as many bytes, in rows of tiles
/// ("Sparse Image Memory"). A tile is rows of texels or of compressed blocks:
///
///    slice:  tile 0 | tile 1 | …      tile:  row 0 | row 1 | …
///            tile n | …
constexpr uint32_t tile_bytes = 1 << 16;
struct Tiles {
   uint8_t width_bits, height_bits; ///< the logarithms of a tile's sizes
   uint8_t levels;                  ///< in tiles, from the first one on; 0: none
   uint8_t reserved;
};

/// A storage image as a descriptor stores it. Rows of texels lie one after the other; slices, the
/// layers of an array or the depth, consist of such rows. The pitch of rows in tiles is that of
/// rows of tiles.
struct ImageDescriptor {
   uint64_t address; ///< of the first texel of the view
   uint64_t size;    ///< bytes of all slices and levels
   TexelFormat format;
   uint32_t width, height, slices;  ///< of the first level
   uint32_t row_pitch, slice_pitch; ///< bytes, of the first level
   uint32_t levels;
   uint8_t swizzle[4]; ///< PIPE_SWIZZLE_* of R, G, B, A in a sampled image
   uint32_t samples;   ///< slices of memory for each slice
   Tiles tiles;
};
static_assert(sizeof(ImageDescriptor) == 64);

/// Mip levels are half as large as the level before them, at least 1, and have no gaps between rows
/// and slices.
struct SampledImageDescriptor {
   ImageDescriptor image;
   uint32_t level_offsets[16]; ///< bytes from the address to the level's first texel
};
static_assert(sizeof(SampledImageDescriptor) == 128);

enum class AddressMode : uint8_t { repeat, mirror, edge, border, mirror_once };
enum class Reduction : uint8_t { average, least, largest };

/// The state of a sampler.
struct SamplerDescriptor {
   uint8_t magnified_linear, minified_linear, levels_linear, unnormalized;
   AddressMode address[3];
   Reduction reduction;
   uint32_t compare; ///< VkCompareOp
   float lod_bias, min_lod, max_lod;
   uint32_t border[4]; ///< R, G, B, A: f32 or integers
   float max_anisotropy;
   uint32_t single_faces; ///< 1: a cube's faces are filtered one by one, as other images
};
static_assert(sizeof(SamplerDescriptor) == 48);

/// An image with a sampler, and a sampler without an image, whose place stays empty: a sampler has
/// the same place in every descriptor without a conversion. So a shader finds it in a mutable
/// descriptor of either type.
struct CombinedDescriptor {
   SampledImageDescriptor image;
   SamplerDescriptor sampler;
};
static_assert(sizeof(CombinedDescriptor) == 176);

/// An image whose colors are a luma and two chromas (Vulkan, "Sampler YCbCr Conversion"), each in
/// the first component of an image of its own. Two of them may be the same plane of memory.
struct ConvertedImageDescriptor {
   SampledImageDescriptor luma, blue, red; ///< Y', C_B, C_R
   float chroma_shift[2];                  ///< of coordinates, as the chromas lie
   uint32_t reserved[2];
};

/// A row of R, G or B is the sum of its products with Y', C_B, C_R and 1.
struct ConversionDescriptor {
   float rows[3][4];
   float alpha;
   uint32_t reserved[7];
};

struct ConvertedDescriptor {
   ConvertedImageDescriptor image;
   ConversionDescriptor conversion;
   SamplerDescriptor sampler;
};
static_assert(sizeof(ConvertedDescriptor) == 528);

constexpr float max_lod_bias = 16;
constexpr float max_anisotropy = 16;

/// The most elements of a texel buffer, so that byte offsets fit 32 bits, with room for
/// limits::lane_reach.
constexpr uint32_t max_texel_elements = 1u << 27;

} // namespace weft
