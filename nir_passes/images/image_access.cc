// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/image_access.h"

#include "nir_passes/choose.h"
#include "nir_passes/images/texel_descriptor.h"
#include "nir_passes/memory/lower_descriptors.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {

namespace {

/// SPIR-V has no arrays of arrays of images.
nir_def *element_index(nir_builder *b, nir_deref_instr *deref)
{
   return deref->deref_type == nir_deref_type_array ? nir_u2u32(b, deref->arr.index.ssa)
                                                    : nir_imm_int(b, 0);
}

nir_def *load_texel_units(nir_builder *b, const Descriptor &image, gl_access_qualifier access,
                          const Texel &place, unsigned bytes)
{
   const TexelUnits units = units_of(bytes);
   // Without ACCESS_NON_UNIFORM, the divergence analysis takes the image as the same in all
   // invocations.
   nir_def *v = _nir_build_load_ssbo(b, units.count, units.bytes * 8, image.buffer,
                                     texel_offset(b, place, bytes),
                                     {._ = 0,
                                      .access = gl_access_qualifier(access | ACCESS_NON_UNIFORM),
                                      .align_mul = units.bytes,
                                      .align_offset = 0});
   return nir_pad_vector_imm_int(b, nir_u2u32(b, v), 0, 4);
}

nir_def *load_texel_as(nir_builder *b, const Descriptor &image, gl_access_qualifier access,
                       const FormatValues &format, const Texel &place, nir_alu_type type)
{
   nir_def *outside = nir_imm_zero(b, 4, 32);
   const auto units = [&](unsigned bytes) {
      return load_texel_units(b, image, access, place, bytes);
   };
   nir_def *words = choose(
      b, place.is_inside, [&] { return for_texel_size(b, format, units); },
      [&] { return outside; });
   TexelWords texel;
   for (unsigned k = 0; k < texel.size(); ++k)
      texel[k] = nir_channel(b, words, k);
   return unpack_texel(b, format, texel, type);
}

} // namespace

Result<Descriptor> find_descriptor(nir_builder *b, std::span<const BindingLayout> bindings,
                                   nir_deref_instr *deref, std::initializer_list<size_t> sizes,
                                   const char *kind)
{
   const nir_variable *var = nir_deref_instr_get_variable(deref);
   if (!var)
      return Error{unsupported_access(deref)};
   const Result<BindingLayout> layout =
      find_binding(bindings, var->data.descriptor_set, var->data.binding);
   if (!layout)
      return layout.error();
   const bool holds_kind = std::ranges::any_of(sizes, [&](size_t size) {
      return layout->is_mutable ? size <= layout->stride : size == layout->stride;
   });
   if (layout->inline_data || !holds_kind)
      return Error{"the binding " + std::to_string(var->data.binding) + " of the descriptor set " +
                   std::to_string(var->data.descriptor_set) + " is not " + kind};
   const DescriptorPlace place = descriptor_place(b, *layout, element_index(b, deref));
   const uint32_t as_data =
      slot_number(place.slot) | inline_data_slot | unbounded_inline_bytes << 8;
   return Descriptor{
      .buffer = nir_vec2(b, nir_imm_int(b, int(place.slot)), place.offset),
      .set = nir_imm_ivec2(b, int(as_data), 0),
      .offset = place.offset,
      .bytes = layout->stride,
   };
}

std::string unsupported_access(nir_deref_instr *deref)
{
   const nir_variable *var = nir_deref_instr_get_variable(deref);
   return std::string("an access to an image is not supported: ") +
          (var && var->name ? var->name : "a variable without a name");
}

nir_def *load_words(nir_builder *b, const Descriptor &descriptor, size_t member, unsigned count)
{
   return _nir_build_load_ubo(b, count, 32, descriptor.set,
                              nir_iadd_imm(b, descriptor.offset, member),
                              {._ = 0,
                               .access = gl_access_qualifier(0),
                               .align_mul = 4,
                               .align_offset = 0,
                               .range_base = 0,
                               .range = ~0u});
}

nir_def *load_width(nir_builder *b, const Descriptor &image)
{
   static_assert(offsetof(TexelDescriptor, elements) == offsetof(ImageDescriptor, width));
   return load_words(b, image, offsetof(ImageDescriptor, width), 1);
}

FormatValues load_format(nir_builder *b, const Descriptor &image)
{
   FormatValues values;
   nir_def *words = load_words(b, image, offsetof(TexelDescriptor, format), values.size());
   for (unsigned i = 0; i < values.size(); ++i)
      values[i] = nir_channel(b, words, i);
   return values;
}

nir_def *texel_bytes(nir_builder *b, const FormatValues &format)
{
   static_assert(offsetof(TexelFormat, texel_bytes) == 0);
   return nir_iand_imm(b, format[0], 0xff);
}

std::optional<unsigned> ImageShape::slice_coordinate() const
{
   if (dim == GLSL_SAMPLER_DIM_3D || dim == GLSL_SAMPLER_DIM_CUBE)
      return 2;
   return is_array ? std::optional(has_rows() ? 2u : 1u) : std::nullopt;
}

bool is_supported(glsl_sampler_dim dim)
{
   return dim == GLSL_SAMPLER_DIM_BUF || dim == GLSL_SAMPLER_DIM_1D || dim == GLSL_SAMPLER_DIM_2D ||
          dim == GLSL_SAMPLER_DIM_3D || dim == GLSL_SAMPLER_DIM_CUBE || dim == GLSL_SAMPLER_DIM_MS;
}

nir_def *load_size(nir_builder *b, const Descriptor &image, const ImageShape &shape,
                   unsigned components)
{
   std::vector<nir_def *> size = {load_width(b, image)};
   if (shape.has_rows())
      size.push_back(load_words(b, image, offsetof(ImageDescriptor, height), 1));
   if (shape.is_array || shape.dim == GLSL_SAMPLER_DIM_3D) {
      nir_def *slices = load_words(b, image, offsetof(ImageDescriptor, slices), 1);
      size.push_back(shape.dim == GLSL_SAMPLER_DIM_CUBE ? nir_udiv_imm(b, slices, cube_faces)
                                                        : slices);
   }
   size.resize(components, nir_imm_int(b, 0));
   return nir_vec(b, size.data(), components);
}

nir_def *texel_offset(nir_builder *b, const Texel &texel, unsigned texel_bytes)
{
   return nir_iadd(b, texel.row, nir_imul_imm(b, texel.column, texel_bytes));
}

nir_def *TileWord::has_tiles(nir_builder *b) const
{
   return nir_ine_imm(b, word, 0);
}

nir_def *TileWord::levels(nir_builder *b) const
{
   return nir_iand_imm(b, nir_ushr_imm(b, word, offsetof(Tiles, levels) * 8), 0xff);
}

namespace {

nir_def *size_bits(nir_builder *b, nir_def *word, unsigned dimension)
{
   static_assert(offsetof(Tiles, width_bits) == 0 && offsetof(Tiles, height_bits) == 1);
   return nir_iand_imm(b, nir_ushr_imm(b, word, dimension * 8), 0xff);
}

} // namespace

nir_def *TileWord::count(nir_builder *b, unsigned dimension, nir_def *texels) const
{
   return nir_iadd_imm(b, tile_of(b, dimension, nir_iadd_imm(b, texels, -1)), 1);
}

nir_def *TileWord::tile_of(nir_builder *b, unsigned dimension, nir_def *number) const
{
   return nir_ushr(b, number, size_bits(b, word, dimension));
}

nir_def *TileWord::place_in_tile(nir_builder *b, nir_def *column, nir_def *row) const
{
   const auto inside = [&](nir_def *number, unsigned dimension) {
      nir_def *size = nir_ishl(b, nir_imm_int(b, 1), size_bits(b, word, dimension));
      return nir_iand(b, number, nir_iadd_imm(b, size, -1));
   };
   return nir_iadd(b, nir_ishl(b, inside(row, 1), size_bits(b, word, 0)), inside(column, 0));
}

TileWord load_tiles(nir_builder *b, const Descriptor &image)
{
   return {load_words(b, image, offsetof(ImageDescriptor, tiles), 1)};
}

nir_def *find_residency(nir_builder *b, const Descriptor &image, nir_def *offset, nir_def *bytes)
{
   static_assert(offsetof(TexelDescriptor, address) == 0 &&
                 offsetof(ImageDescriptor, address) == 0);
   nir_def *begin = nir_pack_64_2x32(b, load_words(b, image, 0, 2));
   nir_def *address = nir_unpack_64_2x32(b, nir_iadd(b, begin, nir_u2u64(b, offset)));
   nir_def *place = nir_vec3(b, nir_channel(b, address, 0), nir_channel(b, address, 1), bytes);
   return nir_b2i32(b, nir_is_sparse_resident_zink(b, place));
}

nir_def *append_component(nir_builder *b, nir_def *vector, nir_def *last)
{
   const unsigned count = vector->num_components;
   return nir_vector_insert_imm(b, nir_pad_vector(b, vector, count + 1), last, count);
}

TexelUnits units_of(unsigned texel_bytes)
{
   return texel_bytes < 4 ? TexelUnits{1, texel_bytes} : TexelUnits{texel_bytes / 4, 4};
}

nir_def *is_format(nir_builder *b, const FormatValues &format, const FormatValues &expected)
{
   nir_def *is_same = nir_imm_true(b);
   for (unsigned i = 0; i < format.size(); ++i)
      is_same = nir_iand(b, is_same, nir_ieq(b, format[i], expected[i]));
   return is_same;
}

nir_def *load_texel(nir_builder *b, const Descriptor &image, gl_access_qualifier access,
                    const FormatValues &format, const Texel &place, nir_alu_type type,
                    const std::function<nir_def *()> &load_block)
{
   const bool is_declared = format[0]->parent_instr->type == nir_instr_type_load_const;
   if (is_declared || nir_alu_type_get_base_type(type) != nir_type_float)
      return load_texel_as(b, image, access, format, place, type);
   /* Most images have this format. Its code is a fraction of the code for all formats. */
   const FormatValues common = constant_format(b, *texel_format(PIPE_FORMAT_R8G8B8A8_UNORM));
   const auto of_format = [&](const FormatValues &values) {
      return load_texel_as(b, image, access, values, place, type);
   };
   const auto other = [&] { return of_format(format); };
   return choose(
      b, is_format(b, format, common), [&] { return of_format(common); },
      [&] {
         return load_block ? choose(b, is_block_format(b, format), load_block, other) : other();
      });
}

} // namespace weft
