// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/plain_sampling.h"

#include "nir_passes/choose.h"
#include "nir_passes/images/image_reads.h"
#include "nir_passes/images/texel_descriptor.h"

#include "util/format/u_formats.h"

#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace weft {

namespace {

constexpr enum pipe_format plain_formats[] = {PIPE_FORMAT_R8G8B8A8_UNORM, PIPE_FORMAT_R32_FLOAT,
                                              PIPE_FORMAT_R16G16B16A16_FLOAT,
                                              PIPE_FORMAT_R32G32B32A32_FLOAT};

constexpr uint32_t byte(uint32_t value, size_t n)
{
   return value << n * 8;
}

nir_def *is_format(nir_builder *b, const FormatValues &format, enum pipe_format expected)
{
   return weft::is_format(b, format, constant_format(b, *texel_format(expected)));
}

/// The value of emit(format) for the image's format, which is one of plain_formats.
template <typename Emit>
nir_def *for_format(nir_builder *b, const FormatValues &format, const Emit &emit, size_t i = 0)
{
   if (i + 1 == std::size(plain_formats))
      return emit(plain_formats[i]);
   return choose(
      b, is_format(b, format, plain_formats[i]), [&] { return emit(plain_formats[i]); },
      [&] { return for_format(b, format, emit, i + 1); });
}

nir_def *is_plain_image(nir_builder *b, const SampledImage &sampled)
{
   const Descriptor &image = sampled.descriptor;
   constexpr uint32_t in_order = byte(PIPE_SWIZZLE_X, 0) | byte(PIPE_SWIZZLE_Y, 1) |
                                 byte(PIPE_SWIZZLE_Z, 2) | byte(PIPE_SWIZZLE_W, 3);
   const FormatValues format = load_format(b, image);
   nir_def *is_common = nir_imm_false(b);
   for (const enum pipe_format plain : plain_formats)
      is_common = nir_ior(b, is_common, is_format(b, format, plain));
   nir_def *levels = load_words(b, image, offsetof(ImageDescriptor, levels), 1),
           *order = load_words(b, image, offsetof(ImageDescriptor, swizzle), 1);
   nir_def *is_plain = nir_iand(
      b, is_common, nir_iand(b, nir_ieq_imm(b, levels, 1), nir_ieq_imm(b, order, in_order)));
   return sampled.may_have_tiles
             ? nir_iand(b, is_plain, nir_inot(b, load_tiles(b, image).has_tiles(b)))
             : is_plain;
}

unsigned filtered_dimensions(const ImageShape &shape)
{
   return shape.dim == GLSL_SAMPLER_DIM_1D ? 1 : shape.dim == GLSL_SAMPLER_DIM_3D ? 3 : 2;
}

/// The units of texels that follow each other.
nir_def *load_plain_texels(nir_builder *b, const Descriptor &image, const TexelUnits &units,
                           nir_def *offset, unsigned texels)
{
   nir_def *v = _nir_build_load_ssbo(
      b, units.count * texels, units.bytes * 8, image.buffer, offset,
      {._ = 0, .access = reads_only, .align_mul = units.bytes, .align_offset = 0});
   return nir_u2u32(b, v);
}

/// Four components.
nir_def *unpack_plain_texel(nir_builder *b, const TexelFormat &format, nir_def *units,
                            nir_alu_type type)
{
   nir_def *words = nir_pad_vector_imm_int(b, units, 0, 4);
   TexelWords texel;
   for (unsigned k = 0; k < texel.size(); ++k)
      texel[k] = nir_channel(b, words, k);
   return unpack_texel(b, constant_format(b, format), texel, type);
}

class PlainSampling {
public:
   PlainSampling(nir_builder *b, const SampledImage &image, const Descriptor &sampler,
                 const Lookup &lookup)
       : b(b), image(image), lookup(lookup),
         modes(load_words(b, sampler, offsetof(SamplerDescriptor, address), 1)),
         is_linear(nir_test_mask(
            b, load_words(b, sampler, offsetof(SamplerDescriptor, magnified_linear), 1), 1))
   {
   }

   PlainPlace find()
   {
      PlainPlace place = {is_linear, layer_offset(), {}};
      for (unsigned d = 0; d < filtered_dimensions(image.shape); ++d) {
         nir_def *found =
            choose(b, repeats(d), [&] { return find(d, true); }, [&] { return find(d, false); });
         place.neighbours.push_back(
            {{nir_channel(b, found, 0), nir_channel(b, found, 1)}, nir_channel(b, found, 2)});
      }
      return place;
   }

private:
   nir_def *word(size_t member) { return load_words(b, image.descriptor, member, 1); }

   nir_def *repeats(unsigned d)
   {
      static_assert(uint32_t(AddressMode::repeat) == 0);
      return nir_inot(b, nir_test_mask(b, modes, 0xff << d * 8));
   }

   /// In one dimension: the offsets of both neighbours and the fraction, as a vector.
   nir_def *find(unsigned d, bool repeats)
   {
      constexpr size_t sizes[] = {offsetof(ImageDescriptor, width),
                                  offsetof(ImageDescriptor, height),
                                  offsetof(ImageDescriptor, slices)};
      nir_def *size = nir_i2f32(b, word(sizes[d])), *x = nir_channel(b, lookup.coordinates, d);
      if (repeats)
         x = nir_fsub(b, x, nir_ffloor(b, x)); /* in the image's first copy */
      nir_def *half = nir_bcsel(b, is_linear, nir_imm_float(b, 0.5), nir_imm_float(b, 0));
      x = nir_fsub(b, nir_fmul(b, x, size), half);
      nir_def *first = nir_ffloor(b, x), *fraction = nir_fsub(b, x, first);
      /* Infinite and huge coordinates have no fraction. */
      fraction =
         nir_bcsel(b, nir_flt_imm(b, nir_fabs(b, x), 1 << 23), fraction, nir_imm_float(b, 0));
      const auto offset_of = [&](nir_def *number) {
         return offset(d, inside(repeats ? wrap(number, size) : number, size));
      };
      return nir_vec3(b, offset_of(first), offset_of(nir_fadd_imm(b, first, 1)), fraction);
   }

   /// The number of a texel in the image's first copy, for one that may be a few outside.
   nir_def *wrap(nir_def *number, nir_def *size)
   {
      nir_def *zero = nir_imm_float(b, 0);
      return nir_bcsel(b, nir_flt(b, number, zero), nir_fadd(b, number, size),
                       nir_bcsel(b, nir_fge(b, number, size), zero, number));
   }

   nir_def *inside(nir_def *number, nir_def *size)
   {
      return nir_f2i32(b, clamp(b, number, nir_imm_float(b, 0), nir_fadd_imm(b, size, -1)));
   }

   /// Texels of a row, or bytes.
   nir_def *offset(unsigned d, nir_def *number)
   {
      return d == 0   ? number
             : d == 1 ? nir_imul(b, number, word(offsetof(ImageDescriptor, row_pitch)))
                      : nir_imul(b, number, word(offsetof(ImageDescriptor, slice_pitch)));
   }

   /// Bytes before the array's layer.
   nir_def *layer_offset()
   {
      if (!image.shape.is_array)
         return nir_imm_int(b, 0);
      const unsigned last = lookup.coordinates->num_components - 1;
      nir_def *layer = nearest_layer(b, nir_channel(b, lookup.coordinates, last),
                                     word(offsetof(ImageDescriptor, slices)));
      return nir_imul(b, layer, word(offsetof(ImageDescriptor, slice_pitch)));
   }

   nir_builder *b;
   const SampledImage &image;
   const Lookup &lookup;
   nir_def *modes, *is_linear; ///< of the sampler
};

/// The offset of a corner of the filter; bit d of its number chooses the neighbour in dimension d.
nir_def *corner_offset(nir_builder *b, const PlainPlace &place, unsigned corner,
                       unsigned texel_bytes)
{
   nir_def *offset = place.layer;
   for (unsigned d = 0; d < place.neighbours.size(); ++d) {
      nir_def *own = place.neighbours[d].offsets[corner >> d & 1];
      offset = nir_iadd(b, offset, d == 0 ? nir_imul_imm(b, own, texel_bytes) : own);
   }
   return offset;
}

/// The mean by weights. Texels without weight have no part in it, even if they are infinite.
nir_def *weigh(nir_builder *b, const PlainPlace &place, std::span<nir_def *const> texels)
{
   nir_def *sum = nir_imm_zero(b, 4, 32);
   for (unsigned corner = 0; corner < texels.size(); ++corner) {
      nir_def *weight = nir_imm_float(b, 1);
      for (unsigned d = 0; d < place.neighbours.size(); ++d) {
         nir_def *fraction = place.neighbours[d].fraction;
         weight = nir_fmul(b, weight, corner >> d & 1 ? fraction : nir_fsub_imm(b, 1, fraction));
      }
      nir_def *after = nir_ffma(b, texels[corner], nir_replicate(b, weight, 4), sum);
      sum = nir_bcsel(b, nir_fgt_imm(b, weight, 0), after, sum);
   }
   return sum;
}

/// The mean by one dimension after the other. Rounding does not move it out of the texels' range:
/// with a fraction of at most 1 - 2^-24, a + fraction * (b - a) rounds to a number up to b.
nir_def *interpolate(nir_builder *b, const PlainPlace &place, std::vector<nir_def *> texels)
{
   for (const auto &neighbour : place.neighbours) {
      nir_def *fraction = nir_replicate(b, neighbour.fraction, 4);
      for (size_t i = 0; i < texels.size() / 2; ++i) {
         nir_def *first = texels[2 * i], *second = texels[2 * i + 1];
         texels[i] = nir_ffma(b, fraction, nir_fsub(b, second, first), first);
      }
      texels.resize(texels.size() / 2);
   }
   return texels[0];
}

/// The texels of a filter, as they are in memory.
std::vector<nir_def *> load_corners(nir_builder *b, const SampledImage &image,
                                    const PlainPlace &place, const TexelFormat &format)
{
   const TexelUnits units = units_of(format.texel_bytes);
   const unsigned corners = 1u << place.neighbours.size();
   std::vector<nir_def *> texels;
   for (unsigned corner = 0; corner < corners; ++corner)
      texels.push_back(load_plain_texels(b, image.descriptor, units,
                                         corner_offset(b, place, corner, format.texel_bytes), 1));
   return texels;
}

/// The same by accesses of two words, which hold both neighbours of a row. Look-ups in a table are
/// in no order, so that every access goes from invocation to invocation; this halves their number.
class Pairs {
public:
   Pairs(nir_builder *b, const SampledImage &image, const PlainPlace &place)
       : b(b), image(image), place(place), first(place.neighbours[0].offsets[0]),
         second(place.neighbours[0].offsets[1]), width(load_width(b, image.descriptor)),
         /* The last texel of a row is the second of its pair. */
         begin(nir_imin(b, first, nir_iadd_imm(b, width, -2)))
   {
   }

   /// Whether the neighbours of a row lie in two words. At the end of a row that repeats, they do
   /// not.
   nir_def *exist() const
   {
      return nir_iand(b, nir_ult_imm(b, nir_isub(b, second, first), 2), nir_ige_imm(b, width, 2));
   }

   std::vector<nir_def *> load(const TexelFormat &format) const
   {
      PlainPlace pairs = place;
      pairs.neighbours[0].offsets[0] = begin;
      std::vector<nir_def *> texels;
      for (unsigned corner = 0; corner < 1u << place.neighbours.size(); corner += 2) {
         nir_def *both = load_plain_texels(b, image.descriptor, units_of(format.texel_bytes),
                                           corner_offset(b, pairs, corner, format.texel_bytes), 2);
         texels.push_back(nir_channel(b, both, 0));
         texels.push_back(nir_channel(b, both, 1));
      }
      return texels;
   }

   /// The fraction between the texels of a pair. Beyond an edge, both neighbours are one of them.
   nir_def *fraction() const
   {
      nir_def *inside =
         nir_bcsel(b, nir_ieq(b, second, begin), nir_imm_float(b, 0), place.neighbours[0].fraction);
      return nir_bcsel(b, nir_ieq(b, first, begin), inside, nir_imm_float(b, 1));
   }

private:
   nir_builder *b;
   const SampledImage &image;
   const PlainPlace &place;
   nir_def *first, *second, *width, *begin;
};

/// By the largest number of a format. The reciprocal in two parts gives the bits of a division for
/// every integer, so that a filter of equal texels is the texel.
nir_def *divide_mean(nir_builder *b, nir_def *mean, uint32_t largest)
{
   const double reciprocal = 1.0 / largest;
   const auto high = float(reciprocal), low = float(reciprocal - double(high));
   const bool was_exact = std::exchange(b->exact, true); /* or algebra adds the parts */
   nir_def *rest = nir_fmul_imm(b, mean, low);
   nir_def *quotient =
      nir_ffma(b, mean, nir_replicate(b, nir_imm_float(b, high), mean->num_components), rest);
   b->exact = was_exact;
   return quotient;
}

nir_def *filter_texels(nir_builder *b, const SampledImage &image, PlainPlace place,
                       enum pipe_format pipe_format)
{
   const TexelFormat format = *texel_format(pipe_format);
   std::vector<nir_def *> texels;
   if (image.shape.dim == GLSL_SAMPLER_DIM_3D && format.texel_bytes == 4) {
      const auto words = [&](const std::vector<nir_def *> &corners) {
         return nir_vec(b, const_cast<nir_def **>(corners.data()), corners.size());
      };
      const Pairs pairs(b, image, place);
      nir_def *exist = pairs.exist(), *fraction = pairs.fraction();
      nir_def *corners = choose(
         b, exist, [&] { return words(pairs.load(format)); },
         [&] { return words(load_corners(b, image, place, format)); });
      for (unsigned corner = 0; corner < corners->num_components; ++corner)
         texels.push_back(nir_channel(b, corners, corner));
      nir_def *&part = place.neighbours[0].fraction;
      part = nir_bcsel(b, exist, fraction, part);
   } else {
      texels = load_corners(b, image, place, format);
   }
   if (format.numbers == TexelNumbers::floating) {
      for (nir_def *&texel : texels)
         texel = unpack_plain_texel(b, format, texel, nir_type_float32);
      return weigh(b, place, texels); /* they may be infinite */
   }
   /* The mean of the integers is divided, instead of each texel. */
   for (nir_def *&texel : texels)
      texel = nir_u2f32(b, unpack_plain_texel(b, format, texel, nir_type_uint32));
   return divide_mean(b, interpolate(b, place, std::move(texels)),
                      (1u << format.fields[0].bits) - 1);
}

} // namespace

nir_def *is_plain_sample(nir_builder *b, const SampledImage &image, const Descriptor &sampler,
                         const Lookup &lookup)
{
   if (image.shape.dim == GLSL_SAMPLER_DIM_CUBE || lookup.gathered || lookup.comparator ||
       lookup.offset || nir_alu_type_get_base_type(lookup.type) != nir_type_float)
      return nullptr;
   /* One filter for all levels, and coordinates from 0 to 1. */
   nir_def *filters = load_words(b, sampler, offsetof(SamplerDescriptor, magnified_linear), 1);
   nir_def *both =
      nir_iand_imm(b, filters, ~byte(0xff, offsetof(SamplerDescriptor, levels_linear)));
   nir_def *is_plain =
      nir_ior(b, nir_ieq_imm(b, both, 0), nir_ieq_imm(b, both, byte(1, 0) | byte(1, 1)));
   /* Of the modes, repeat is 0; the reduction to the mean is 0, too. */
   static_assert(uint32_t(AddressMode::repeat) == 0 && uint32_t(AddressMode::edge) == 2 &&
                 uint32_t(Reduction::average) == 0);
   uint32_t clamped = 0;
   for (unsigned d = 0; d < filtered_dimensions(image.shape); ++d)
      clamped |= byte(uint32_t(AddressMode::edge), d);
   const uint32_t unused =
      filtered_dimensions(image.shape) < 3
         ? byte(0xff, 2) | (filtered_dimensions(image.shape) < 2 ? byte(0xff, 1) : 0)
         : 0;
   nir_def *modes = load_words(b, sampler, offsetof(SamplerDescriptor, address), 1);
   is_plain = nir_iand(b, is_plain, nir_ieq_imm(b, nir_iand_imm(b, modes, ~(clamped | unused)), 0));
   if (lookup.gradient_x) {
      nir_def *most = load_words(b, sampler, offsetof(SamplerDescriptor, max_anisotropy), 1);
      is_plain = nir_iand(b, is_plain, nir_fge(b, nir_imm_float(b, 1), most));
   }
   return nir_iand(b, is_plain, is_plain_image(b, image));
}

PlainPlace find_plain_place(nir_builder *b, const SampledImage &image, const Descriptor &sampler,
                            const Lookup &lookup)
{
   return PlainSampling(b, image, sampler, lookup).find();
}

nir_def *sample_plainly(nir_builder *b, const SampledImage &image, const PlainPlace &place)
{
   const FormatValues format = load_format(b, image.descriptor);
   const auto filtered = [&](enum pipe_format f) { return filter_texels(b, image, place, f); };
   const auto nearest = [&](enum pipe_format f) {
      const TexelFormat texel = *texel_format(f);
      nir_def *units = load_plain_texels(b, image.descriptor, units_of(texel.texel_bytes),
                                         corner_offset(b, place, 0, texel.texel_bytes), 1);
      return unpack_plain_texel(b, texel, units, nir_type_float32);
   };
   return choose(
      b, place.is_linear, [&] { return for_format(b, format, filtered); },
      [&] { return for_format(b, format, nearest); });
}

nir_def *is_plain_fetch(nir_builder *b, const SampledImage &image, const Lookup &lookup)
{
   return nir_alu_type_get_base_type(lookup.type) == nir_type_float ? is_plain_image(b, image)
                                                                    : nullptr;
}

nir_def *fetch_plainly(nir_builder *b, const SampledImage &image, const Lookup &lookup)
{
   const auto word = [&](size_t member) { return load_words(b, image.descriptor, member, 1); };
   nir_def *is_inside = lookup.lod ? nir_ieq_imm(b, lookup.lod, 0) : nir_imm_true(b);
   nir_def *column = nir_channel(b, lookup.coordinates, 0), *row = nir_imm_int(b, 0);
   is_inside = nir_iand(b, is_inside, nir_ult(b, column, word(offsetof(ImageDescriptor, width))));
   const auto move = [&](unsigned coordinate, size_t count, size_t pitch) {
      nir_def *number = nir_channel(b, lookup.coordinates, coordinate);
      is_inside = nir_iand(b, is_inside, nir_ult(b, number, word(count)));
      row = nir_iadd(b, row, nir_imul(b, number, word(pitch)));
   };
   if (image.shape.has_rows())
      move(1, offsetof(ImageDescriptor, height), offsetof(ImageDescriptor, row_pitch));
   if (const std::optional<unsigned> coordinate = image.shape.slice_coordinate())
      move(*coordinate, offsetof(ImageDescriptor, slices), offsetof(ImageDescriptor, slice_pitch));
   const Texel texel = {is_inside, column, row};
   return for_format(b, load_format(b, image.descriptor), [&](enum pipe_format f) {
      return load_texel(b, image.descriptor, reads_only, constant_format(b, *texel_format(f)),
                        texel, lookup.type);
   });
}

} // namespace weft
