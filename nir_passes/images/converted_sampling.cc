// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/converted_sampling.h"

#include "nir_passes/choose.h"
#include "nir_passes/images/texel_descriptor.h"

#include <array>
#include <cstddef>

namespace weft {

namespace {

SampledImage plane_of(nir_builder *b, const SampledImage &image, size_t member)
{
   SampledImage plane = image;
   const auto moved = [&](nir_def *offset) { return nir_iadd_imm(b, offset, int64_t(member)); };
   plane.descriptor.offset = moved(image.descriptor.offset);
   plane.descriptor.buffer = nir_vec2(b, nir_channel(b, image.descriptor.buffer, 0),
                                      moved(nir_channel(b, image.descriptor.buffer, 1)));
   return plane;
}

nir_def *shift(nir_builder *b, const SampledImage &image, nir_def *coordinates)
{
   nir_def *by =
      load_words(b, image.descriptor, offsetof(ConvertedImageDescriptor, chroma_shift), 2);
   for (unsigned d = 0; d < 2; ++d) {
      nir_def *moved = nir_fadd(b, nir_channel(b, coordinates, d), nir_channel(b, by, d));
      coordinates = nir_vector_insert_imm(b, coordinates, moved, d);
   }
   return coordinates;
}

nir_def *sample_planes(nir_builder *b, const SampledImage &image, const Descriptor &sampler,
                       const Lookup &lookup)
{
   Lookup of_chroma = lookup;
   of_chroma.coordinates = shift(b, image, lookup.coordinates);
   const auto component = [&](size_t member, const Lookup &operands) {
      return nir_channel(b, sample(b, plane_of(b, image, member), sampler, operands), 0);
   };
   nir_def *values =
      nir_vec4(b, component(offsetof(ConvertedImageDescriptor, luma), lookup),
               component(offsetof(ConvertedImageDescriptor, blue), of_chroma),
               component(offsetof(ConvertedImageDescriptor, red), of_chroma), nir_imm_float(b, 1));
   const auto words = [&](size_t member, unsigned count) {
      return load_words(b, image.descriptor, offsetof(ConvertedDescriptor, conversion) + member,
                        count);
   };
   std::array<nir_def *, 4> color;
   for (unsigned row = 0; row < 3; ++row)
      color[row] = nir_fdot(b, values, words(row * sizeof(ConversionDescriptor{}.rows[0]), 4));
   color[3] = words(offsetof(ConversionDescriptor, alpha), 1);
   return nir_vec(b, color.data(), 4);
}

} // namespace

nir_def *sample_converted(nir_builder *b, const SampledImage &image, const Descriptor &sampler,
                          const Lookup &lookup)
{
   // vkGetDescriptorEXT writes the size of a CombinedDescriptor for a null image, so the chromas
   // and the conversion behind it may be anything.
   Lookup of_plane = lookup;
   of_plane.is_sparse = false;
   nir_def *color = choose(
      b, nir_ine_imm(b, load_width(b, image.descriptor), 0),
      [&] { return sample_planes(b, image, sampler, of_plane); },
      [&] { return nir_imm_zero(b, 4, 32); });
   /* Images of several planes have no unbound parts. */
   return lookup.is_sparse ? nir_pad_vector_imm_int(b, color, 1, 5) : color;
}

} // namespace weft
