// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Images by their descriptors: the words of a descriptor, the sizes of an image, its texels.

#pragma once

#include "nir_passes/images/texel_conversion.h"
#include "nir_passes/memory/binding_layout.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir_builder.h"

#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace weft {

/// The descriptor of an image, texel buffer or sampler.
struct Descriptor {
   nir_def *buffer; ///< index of load_ssbo
   nir_def *set;    ///< index of load_ubo: the set that holds the descriptor, as data
   nir_def *offset; ///< of the descriptor in the set
   uint32_t bytes;
};

/// Finds the descriptor of a variable or of an element of an array. An Error if its size is none of
/// `sizes`, the sizes of descriptors of this kind.
Result<Descriptor> find_descriptor(nir_builder *, std::span<const BindingLayout>, nir_deref_instr *,
                                   std::initializer_list<size_t> sizes, const char *kind);
/// The reason to refuse an access to an image.
std::string unsupported_access(nir_deref_instr *);

/// Reads words of a descriptor, `member` bytes from its beginning.
nir_def *load_words(nir_builder *, const Descriptor &, size_t member, unsigned count);
nir_def *load_width(nir_builder *, const Descriptor &);
FormatValues load_format(nir_builder *, const Descriptor &);
/// Bytes of a texel or block.
nir_def *texel_bytes(nir_builder *, const FormatValues &);

/// The dimensions of an image in a shader.
struct ImageShape {
   glsl_sampler_dim dim;
   bool is_array;

   bool has_rows() const { return dim != GLSL_SAMPLER_DIM_1D && dim != GLSL_SAMPLER_DIM_BUF; }
   bool has_samples() const { return dim == GLSL_SAMPLER_DIM_MS; }
   /// The coordinate that counts slices: in a cube, layer * 6 + face.
   std::optional<unsigned> slice_coordinate() const;
};
constexpr unsigned cube_faces = 6;

bool is_supported(glsl_sampler_dim);
/// The size of the first level, as a shader queries it.
nir_def *load_size(nir_builder *, const Descriptor &, const ImageShape &, unsigned components);

/// A texel of an image.
struct Texel {
   nir_def *is_inside;
   nir_def *column;
   nir_def *row; ///< offset of the row in bytes
};
nir_def *texel_offset(nir_builder *, const Texel &, unsigned texel_bytes);

/// The word of an image's Tiles.
struct TileWord {
   nir_def *word;

   nir_def *has_tiles(nir_builder *) const;
   nir_def *levels(nir_builder *) const;
   /// The number of tiles that contain a number of texels, in dimension 0 or 1.
   nir_def *count(nir_builder *, unsigned dimension, nir_def *texels) const;
   nir_def *tile_of(nir_builder *, unsigned dimension, nir_def *number) const;
   /// The number of a texel within its tile, row by row.
   nir_def *place_in_tile(nir_builder *, nir_def *column, nir_def *row) const;
};
TileWord load_tiles(nir_builder *, const Descriptor &);

/// 1 if memory is bound at the bytes from an offset of the image on, else 0: a residency code
/// (Vulkan, "Sparse Image Instructions"). The back end looks it up: is_sparse_resident_zink, whose
/// operand is the words of the address and the number of bytes.
nir_def *find_residency(nir_builder *, const Descriptor &, nir_def *offset, nir_def *bytes);
nir_def *append_component(nir_builder *, nir_def *vector, nir_def *last);

/// Loads and stores move a texel as its largest units.
struct TexelUnits {
   unsigned count, bytes;
};
TexelUnits units_of(unsigned texel_bytes);

/// Whether an image has the expected format.
nir_def *is_format(nir_builder *, const FormatValues &, const FormatValues &expected);

/// The components R, G, B, A. Outside of the image, a texel of zeros is converted. `load_block`
/// emits the load of a compressed format's texel, for images that may have such a format.
nir_def *load_texel(nir_builder *, const Descriptor &, gl_access_qualifier, const FormatValues &,
                    const Texel &, nir_alu_type, const std::function<nir_def *()> &load_block = {});

} // namespace weft
