// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/image_reads.h"

#include "nir_passes/choose.h"
#include "nir_passes/images/texel_descriptor.h"

#include "util/format/u_formats.h"

#include <bit>
#include <cstddef>
#include <iterator>

namespace weft {

namespace {

constexpr int block_bits = std::bit_width(block_side) - 1;
constexpr unsigned half_block_bytes = 8;
constexpr int max_level = int(std::size(decltype(SampledImageDescriptor::level_offsets){})) - 1;

} // namespace

nir_def *clamp(nir_builder *b, nir_def *x, nir_def *low, nir_def *high)
{
   /* NIR's fmax of a NaN and a number is the number. */
   return nir_fmin(b, nir_fmax(b, x, low), high);
}

nir_def *nearest_layer(nir_builder *b, nir_def *coordinate, nir_def *layers)
{
   nir_def *zero = nir_imm_float(b, 0), *last = nir_i2f32(b, nir_iadd_imm(b, layers, -1));
   return nir_f2i32(b, clamp(b, nir_fround_even(b, coordinate), zero, nir_fmax(b, last, zero)));
}

nir_def *byte_of(nir_builder *b, nir_def *word, unsigned n)
{
   return nir_iand_imm(b, nir_ushr_imm(b, word, n * 8), 0xff);
}

ImageReads::ImageReads(nir_builder *b, const SampledImage &image, nir_alu_type type)
    : b(b), image(image), type(type), format(load_format(b, image.descriptor)),
      levels(word(offsetof(ImageDescriptor, levels))), texel_bytes(weft::texel_bytes(b, format))
{
}

nir_def *ImageReads::word(size_t member)
{
   return load_words(b, image.descriptor, member, 1);
}

Level ImageReads::level(nir_def *number)
{
   number = nir_umin(b, number, nir_imm_int(b, max_level));
   const auto half = [&](size_t member) {
      return nir_umax(b, nir_ushr(b, word(member), number), nir_imm_int(b, 1));
   };
   Level level;
   level.size[0] = half(offsetof(ImageDescriptor, width));
   level.size[1] = half(offsetof(ImageDescriptor, height));
   level.size[2] = image.shape.dim == GLSL_SAMPLER_DIM_3D ? half(offsetof(ImageDescriptor, slices))
                                                          : word(offsetof(ImageDescriptor, slices));
   Descriptor table = image.descriptor;
   table.offset = nir_iadd(b, table.offset, nir_ishl_imm(b, number, 2));
   level.offset = load_words(b, table, offsetof(SampledImageDescriptor, level_offsets), 1);
   level.has_tiles = image.may_have_tiles
                        ? nir_ult(b, number, load_tiles(b, image.descriptor).levels(b))
                        : nullptr;
   return level;
}

/// A texel of a level whose size counts texels, or a block of one whose size counts blocks.
Texel ImageReads::locate(const Level &level, nir_def *is_inside,
                         const std::array<nir_def *, 3> &place)
{
   nir_def *row = nir_iadd(b, nir_imul(b, place[2], level.size[1]), place[1]);
   row = nir_imul(b, nir_imul(b, row, level.size[0]), texel_bytes);
   nir_def *column = place[0];
   if (level.has_tiles) {
      const TileWord tiles = load_tiles(b, image.descriptor);
      nir_def *tile_row = nir_iadd(b, nir_imul(b, place[2], tiles.count(b, 1, level.size[1])),
                                   tiles.tile_of(b, 1, place[1]));
      nir_def *tile = nir_iadd(b, nir_imul(b, tile_row, tiles.count(b, 0, level.size[0])),
                               tiles.tile_of(b, 0, place[0]));
      row = nir_bcsel(b, level.has_tiles, nir_imul_imm(b, tile, tile_bytes), row);
      column = nir_bcsel(b, level.has_tiles, tiles.place_in_tile(b, place[0], place[1]), column);
   }
   return {is_inside, column, nir_iadd(b, level.offset, row)};
}

nir_def *ImageReads::offset_of(const Texel &texel)
{
   return nir_iadd(b, texel.row, nir_imul(b, texel.column, texel_bytes));
}

nir_def *ImageReads::load(const Level &level, nir_def *is_inside,
                          const std::array<nir_def *, 3> &place)
{
   const Texel texel = locate(level, is_inside, place);
   if (resident)
      record(is_inside, nir_bcsel(b, is_block_format(b, format), block_offset(level, place),
                                  offset_of(texel)));
   return load_texel(b, image.descriptor,
                     gl_access_qualifier(ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER), format, texel,
                     type, [&] { return load_from_block(level, is_inside, place); });
}

void ImageReads::record_residency()
{
   if (resident)
      return;
   resident = nir_local_variable_create(b->impl, glsl_uint_type(), "resident");
   nir_store_var(b, resident, nir_imm_int(b, 1), 1);
}

nir_def *ImageReads::residency()
{
   return nir_load_var(b, resident);
}

void ImageReads::record(nir_def *is_inside, nir_def *offset)
{
   nir_push_if(b, is_inside);
   nir_def *own = find_residency(b, image.descriptor, offset, texel_bytes);
   nir_store_var(b, resident, nir_iand(b, nir_load_var(b, resident), own), 1);
   nir_pop_if(b, nullptr);
}

nir_def *ImageReads::swizzle(nir_def *color)
{
   const bool floats = nir_alu_type_get_base_type(type) == nir_type_float;
   nir_def *one = floats ? nir_imm_float(b, 1) : nir_imm_int(b, 1), *zero = nir_imm_int(b, 0);
   nir_def *order = word(offsetof(ImageDescriptor, swizzle));
   std::array<nir_def *, 4> out;
   for (unsigned c = 0; c < 4; ++c) {
      nir_def *source = byte_of(b, order, c);
      out[c] = nir_bcsel(b, nir_ieq_imm(b, source, PIPE_SWIZZLE_1), one, zero);
      for (unsigned s = 0; s < 4; ++s)
         out[c] = nir_bcsel(b, nir_ieq_imm(b, source, PIPE_SWIZZLE_X + s), nir_channel(b, color, s),
                            out[c]);
   }
   return nir_vec(b, out.data(), 4);
}

nir_def *ImageReads::load_from_block(const Level &level, nir_def *is_inside,
                                     const std::array<nir_def *, 3> &place)
{
   const auto color = [&] { return decode_from_block(level, place); };
   nir_def *outside = nir_imm_zero(b, 4, 32);
   return fill_components(b, format, choose(b, is_inside, color, [&] { return outside; }), type);
}

/// Of the block that contains a texel.
nir_def *ImageReads::block_offset(const Level &level, const std::array<nir_def *, 3> &place)
{
   const auto blocks = [&](nir_def *texels) {
      return nir_ushr_imm(b, nir_iadd_imm(b, texels, block_side - 1), block_bits);
   };
   const auto block_of = [&](nir_def *n) { return nir_ushr_imm(b, n, block_bits); };
   Level in_blocks = level;
   in_blocks.size = {blocks(level.size[0]), blocks(level.size[1]), level.size[2]};
   return offset_of(locate(in_blocks, nullptr, {block_of(place[0]), block_of(place[1]), place[2]}));
}

nir_def *ImageReads::decode_from_block(const Level &level, const std::array<nir_def *, 3> &place)
{
   const auto inside_block = [&](nir_def *n) { return nir_iand_imm(b, n, block_side - 1); };
   nir_def *offset = block_offset(level, place);
   nir_def *first = load_half_block(offset), *no_second = nir_imm_zero(b, 2, 32);
   nir_def *second = choose(
      b, nir_ieq_imm(b, texel_bytes, 2 * half_block_bytes),
      [&] { return load_half_block(nir_iadd_imm(b, offset, half_block_bytes)); },
      [&] { return no_second; });
   const TexelWords words = {nir_channel(b, first, 0), nir_channel(b, first, 1),
                             nir_channel(b, second, 0), nir_channel(b, second, 1)};
   nir_def *texel =
      nir_iadd(b, inside_block(place[0]), nir_ishl_imm(b, inside_block(place[1]), block_bits));
   return decode_texel(b, format, words, texel);
}

nir_def *ImageReads::load_half_block(nir_def *offset)
{
   return _nir_build_load_ssbo(b, half_block_bytes / 4, 32, image.descriptor.buffer, offset,
                               {._ = 0, .access = reads_only, .align_mul = 4, .align_offset = 0});
}

} // namespace weft
