// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/sampling.h"

#include "nir_passes/choose.h"
#include "nir_passes/images/cube_faces.h"
#include "nir_passes/images/footprint.h"
#include "nir_passes/images/image_reads.h"
#include "nir_passes/images/plain_sampling.h"
#include "nir_passes/images/texel_descriptor.h"
#include "nir_passes/loops/build_loop.h"

#include "util/format/u_formats.h"
#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace weft {

namespace {

/// The two neighbouring texels of a coordinate, numbers in floats, which hold them exactly. The
/// number -1 or `size` is the border.
struct Neighbours {
   std::array<nir_def *, 2> numbers;
   nir_def *fraction; ///< weight of the second texel
};

class Sampling {
public:
   Sampling(nir_builder *b, const SampledImage &image, const Descriptor &sampler,
            const Lookup &lookup)
       : b(b), reads(b, image, lookup.type), sampler(sampler), lookup(lookup),
         is_cube(image.shape.dim == GLSL_SAMPLER_DIM_CUBE),
         is_float(nir_alu_type_get_base_type(lookup.type) == nir_type_float),
         dimensions(image.shape.dim == GLSL_SAMPLER_DIM_1D   ? 1
                    : image.shape.dim == GLSL_SAMPLER_DIM_3D ? 3
                                                             : 2)
   {
      filters = sampler_word(offsetof(SamplerDescriptor, magnified_linear));
      modes = sampler_word(offsetof(SamplerDescriptor, address));
      reduction = byte_of(b, modes, 3);
      if (is_cube)
         single_faces = nir_ine_imm(b, sampler_word(offsetof(SamplerDescriptor, single_faces)), 0);
   }

   nir_def *run()
   {
      place_coordinates();
      if (lookup.gradient_x)
         find_probes();
      choose_levels();
      if (lookup.is_sparse)
         reads.record_residency();
      sum = nir_local_variable_create(b->impl, glsl_vec4_type(), "sampled");
      nir_store_var(b, sum, nir_replicate(b, initial(), 4), 0xf);
      if (footprint.probes) {
         build_loop(b, footprint.probes, [&](nir_def *number) {
            move_to_probe(number);
            add_levels(footprint.weight);
         });
      } else {
         add_levels(nir_imm_float(b, 1));
      }
      nir_def *color = nir_load_var(b, sum);
      if (!lookup.gathered)
         color = reads.swizzle(is_float ? without_excess(color) : color);
      return with_residency(color);
   }

   nir_def *query_lod()
   {
      for (unsigned d = 0; d < lookup.coordinates->num_components; ++d)
         coordinates.push_back(nir_channel(b, lookup.coordinates, d));
      operands = coordinates;
      place_on_face();
      find_probes();
      choose_levels();
      nir_def *is_null = nir_ieq_imm(b, load_width(b, reads.image.descriptor), 0);
      return nir_bcsel(b, is_null, nir_imm_zero(b, 2, 32), nir_vec2(b, level_read, unclamped_lod));
   }

private:
   nir_def *with_residency(nir_def *color)
   {
      return lookup.is_sparse ? append_component(b, color, reads.residency()) : color;
   }

   nir_def *sampler_word(size_t member) { return load_words(b, sampler, member, 1); }
   nir_def *sampler_flag(size_t member)
   {
      return nir_ine_imm(b, byte_of(b, filters, unsigned(member)), 0);
   }

   /// A count of null is 1.
   void repeat(nir_def *count, const std::function<void(nir_def *)> &body)
   {
      if (count)
         build_loop(b, count, body);
      else
         body(nir_imm_int(b, 0));
   }

   void place_coordinates()
   {
      for (unsigned d = 0; d < lookup.coordinates->num_components; ++d)
         coordinates.push_back(nir_channel(b, lookup.coordinates, d));
      slice = nir_imm_int(b, 0);
      if (reads.image.shape.is_array) {
         nir_def *layers = reads.word(offsetof(ImageDescriptor, slices));
         if (is_cube)
            layers = nir_udiv_imm(b, layers, cube_faces);
         slice = nearest_layer(b, coordinates.back(), layers);
         if (is_cube)
            slice = nir_imul_imm(b, slice, cube_faces);
      }
      operands = coordinates;
      place_on_face();
   }

   void place_on_face()
   {
      if (!is_cube)
         return;
      const FacePoint point = find_face(b, {coordinates[0], coordinates[1], coordinates[2]});
      face = point.face;
      axes = point.axes;
      coordinates = {point.s, point.t};
   }

   /// A gradient in texels of level 0.
   std::vector<nir_def *> in_texels(nir_def *gradient)
   {
      std::vector<nir_def *> steps;
      for (unsigned d = 0; d < gradient->num_components; ++d)
         steps.push_back(nir_channel(b, gradient, d));
      if (is_cube) {
         const auto slope = slope_on_face(b, axes, {operands[0], operands[1], operands[2]},
                                          {steps[0], steps[1], steps[2]});
         steps.assign(slope.begin(), slope.end());
      }
      const Level level = reads.level(nir_imm_int(b, 0));
      for (unsigned d = 0; d < dimensions; ++d)
         steps[d] = nir_fmul(b, steps[d], nir_i2f32(b, level.size[d]));
      return steps;
   }

   void find_probes()
   {
      nir_def *most =
         is_float ? sampler_word(offsetof(SamplerDescriptor, max_anisotropy)) : nir_imm_float(b, 1);
      footprint =
         find_footprint(b, in_texels(lookup.gradient_x), in_texels(lookup.gradient_y), most);
   }

   void move_to_probe(nir_def *number)
   {
      nir_def *gradient = nir_bcsel(b, footprint.is_along_x, lookup.gradient_x, lookup.gradient_y);
      nir_def *place = probe_place(b, footprint, number);
      coordinates = operands;
      for (unsigned d = 0; d < gradient->num_components; ++d)
         coordinates[d] = nir_ffma(b, nir_channel(b, gradient, d), place, operands[d]);
      place_on_face();
   }

   void choose_levels()
   {
      nir_def *zero = nir_imm_float(b, 0);
      if (lookup.gathered) {
         is_linear = nir_imm_true(b);
         first_level = last_level = nir_imm_int(b, 0);
         level_fraction = zero;
         return;
      }
      nir_def *bias = sampler_word(offsetof(SamplerDescriptor, lod_bias));
      if (lookup.bias)
         bias = nir_fadd(b, bias, lookup.bias);
      bias = clamp(b, bias, nir_imm_float(b, -max_lod_bias), nir_imm_float(b, max_lod_bias));
      nir_def *least = sampler_word(offsetof(SamplerDescriptor, min_lod));
      if (lookup.min_lod)
         least = nir_fmax(b, least, lookup.min_lod);
      nir_def *base = lookup.lod ? lookup.lod : footprint.lod ? footprint.lod : zero;
      unclamped_lod = nir_fadd(b, base, bias);
      nir_def *lod =
         clamp(b, unclamped_lod, least, sampler_word(offsetof(SamplerDescriptor, max_lod)));
      is_linear = nir_bcsel(b, nir_fgt_imm(b, lod, 0),
                            sampler_flag(offsetof(SamplerDescriptor, minified_linear)),
                            sampler_flag(offsetof(SamplerDescriptor, magnified_linear)));

      nir_def *last = nir_fmax(b, nir_i2f32(b, nir_iadd_imm(b, reads.levels, -1)), zero);
      nir_def *level = clamp(b, lod, zero, last);
      nir_def *nearest = nir_fadd_imm(b, nir_fceil(b, nir_fadd_imm(b, level, 0.5)), -1);
      nir_def *both = sampler_flag(offsetof(SamplerDescriptor, levels_linear));
      level_read = nir_bcsel(b, both, level, nearest);
      if (!is_float) {
         is_linear = nir_imm_false(b);
         first_level = last_level = nir_f2i32(b, nearest);
         level_fraction = zero;
         return;
      }
      nir_def *low = nir_bcsel(b, both, nir_ffloor(b, level), nearest);
      level_fraction = nir_bcsel(b, both, nir_fsub(b, level, low), zero);
      first_level = nir_f2i32(b, low);
      last_level = nir_imin(b, nir_iadd_imm(b, first_level, 1), nir_f2i32(b, last));
      level_count =
         nir_bcsel(b, nir_fgt_imm(b, level_fraction, 0), nir_imm_int(b, 2), nir_imm_int(b, 1));
   }

   nir_def *mode_is(nir_def *mode, AddressMode expected)
   {
      return nir_ieq_imm(b, mode, unsigned(expected));
   }

   /// The neighbours of a coordinate in texels; `wrap` makes numbers of the image or its border.
   template <typename Wrap>
   Neighbours neighbours_of(nir_def *texels, unsigned dimension, Wrap wrap)
   {
      /* Far outside; sums with offsets are exact up to here. */
      constexpr float far = 1 << 23;
      texels = clamp(b, texels, nir_imm_float(b, -far), nir_imm_float(b, far));
      nir_def *x = nir_bcsel(b, is_linear, nir_fadd_imm(b, texels, -0.5), texels);
      nir_def *first = nir_ffloor(b, x);
      nir_def *fraction = nir_bcsel(b, is_linear, nir_fsub(b, x, first), nir_imm_float(b, 0));
      if (lookup.offset)
         first = nir_fadd(b, first, nir_i2f32(b, nir_channel(b, lookup.offset, dimension)));
      return {{wrap(first), wrap(nir_fadd_imm(b, first, 1))}, fraction};
   }

   /// For images that repeat, mirrored or not. Whole periods are subtracted before the coordinate
   /// is scaled, so that it stays precise.
   Neighbours find_in_periods(unsigned dimension, nir_def *mode, nir_def *size)
   {
      nir_def *x = coordinates[dimension];
      nir_def *mirror = mode_is(mode, AddressMode::mirror);
      nir_def *period = nir_bcsel(b, mirror, nir_imm_float(b, 2), nir_imm_float(b, 1));
      nir_def *part = nir_bcsel(b, mirror, nir_imm_float(b, 0.5), nir_imm_float(b, 1));
      nir_def *periods = nir_ffloor(b, nir_fmul(b, x, part));
      nir_def *texels = nir_fmul(b, nir_fsub(b, x, nir_fmul(b, period, periods)), size);
      nir_def *length = nir_fmul(b, period, size), *last = nir_fadd_imm(b, size, -1);
      return neighbours_of(texels, dimension, [&](nir_def *number) {
         nir_def *whole = nir_fmul(b, length, nir_ffloor(b, nir_fdiv(b, number, length)));
         nir_def *rest = nir_fsub(b, number, whole);
         nir_def *back = nir_fsub(b, nir_fadd_imm(b, length, -1), rest);
         rest = nir_bcsel(b, mirror, nir_fmin(b, rest, back), rest);
         return clamp(b, rest, nir_imm_float(b, 0), last);
      });
   }

   Neighbours find_once(unsigned dimension, nir_def *mode, nir_def *size)
   {
      nir_def *x = coordinates[dimension];
      nir_def *texels = nir_bcsel(b, sampler_flag(offsetof(SamplerDescriptor, unnormalized)), x,
                                  nir_fmul(b, x, size));
      nir_def *once = mode_is(mode, AddressMode::mirror_once);
      nir_def *border = mode_is(mode, AddressMode::border);
      nir_def *low = nir_bcsel(b, border, nir_imm_float(b, -1), nir_imm_float(b, 0));
      nir_def *high = nir_bcsel(b, border, size, nir_fadd_imm(b, size, -1));
      return neighbours_of(texels, dimension, [&](nir_def *number) {
         nir_def *mirrored = nir_fmax(b, number, nir_fsub_imm(b, -1, number));
         return clamp(b, nir_bcsel(b, once, mirrored, number), low, high);
      });
   }

   /// Texels beyond a face keep their numbers, -1 or `size`: neighbouring faces have them.
   Neighbours find_on_face(unsigned dimension, nir_def *size)
   {
      nir_def *texels =
         clamp(b, nir_fmul(b, coordinates[dimension], size), nir_imm_float(b, 0), size);
      nir_def *last = nir_bcsel(b, is_linear, size, nir_fadd_imm(b, size, -1));
      return neighbours_of(texels, dimension,
                           [&](nir_def *number) { return nir_fmin(b, number, last); });
   }

   template <typename First, typename Second>
   Neighbours choose_neighbours(nir_def *is_first, First find_first, Second find_second)
   {
      nir_push_if(b, is_first);
      const Neighbours first = find_first();
      nir_push_else(b, nullptr);
      const Neighbours second = find_second();
      nir_pop_if(b, nullptr);
      return {{nir_if_phi(b, first.numbers[0], second.numbers[0]),
               nir_if_phi(b, first.numbers[1], second.numbers[1])},
              nir_if_phi(b, first.fraction, second.fraction)};
   }

   Neighbours find_by_mode(unsigned dimension, nir_def *size)
   {
      nir_def *mode = byte_of(b, modes, dimension);
      return choose_neighbours(
         nir_ior(b, mode_is(mode, AddressMode::repeat), mode_is(mode, AddressMode::mirror)),
         [&] { return find_in_periods(dimension, mode, size); },
         [&] { return find_once(dimension, mode, size); });
   }

   Neighbours find_neighbours(unsigned dimension, nir_def *size)
   {
      if (!is_cube)
         return find_by_mode(dimension, size);
      return choose_neighbours(
         single_faces, [&] { return find_by_mode(dimension, size); },
         [&] { return find_on_face(dimension, size); });
   }

   void add_levels(nir_def *probe_weight)
   {
      repeat(level_count, [&](nir_def *number) {
         nir_def *is_first = nir_ieq_imm(b, number, 0);
         nir_def *weight =
            nir_bcsel(b, is_first, nir_fsub_imm(b, 1, level_fraction), level_fraction);
         add_level(nir_bcsel(b, is_first, first_level, last_level),
                   nir_fmul(b, probe_weight, weight));
      });
   }

   void add_level(nir_def *number, nir_def *level_weight)
   {
      const Level level = reads.level(number);
      std::vector<Neighbours> neighbours;
      for (unsigned d = 0; d < dimensions; ++d)
         neighbours.push_back(find_neighbours(d, nir_i2f32(b, level.size[d])));
      nir_def *corners = nullptr;
      if (is_float || lookup.gathered)
         corners = nir_bcsel(b, is_linear, nir_imm_int(b, 1 << dimensions), nir_imm_int(b, 1));
      const MissingCorner missing =
         is_cube && !lookup.gathered ? find_missing_corner(neighbours, level) : MissingCorner{};
      repeat(corners, [&](nir_def *corner) {
         nir_def *weight = nir_imm_float(b, 1);
         std::array<nir_def *, 3> place = {nir_imm_int(b, 0), nir_imm_int(b, 0), slice};
         nir_def *is_inside = nir_imm_true(b);
         for (unsigned d = 0; d < dimensions; ++d) {
            const Neighbours &n = neighbours[d];
            nir_def *is_second = nir_test_mask(b, corner, 1 << d);
            weight = nir_fmul(b, weight,
                              nir_bcsel(b, is_second, n.fraction, nir_fsub_imm(b, 1, n.fraction)));
            place[d] = nir_f2i32(b, nir_bcsel(b, is_second, n.numbers[1], n.numbers[0]));
            is_inside = nir_iand(b, is_inside, nir_ult(b, place[d], level.size[d]));
         }
         if (is_cube) {
            const FaceTexel texel =
               cross_edges(b, {face, place[0], place[1]}, is_inside, level.size[0]);
            place = {nir_bcsel(b, single_faces, place[0], texel.column),
                     nir_bcsel(b, single_faces, place[1], texel.row),
                     nir_iadd(b, slice, nir_bcsel(b, single_faces, face, texel.face))};
            is_inside = nir_ior(b, is_inside, nir_inot(b, single_faces));
         }
         if (missing.exists) {
            nir_def *shared = nir_fadd(b, weight, missing.share);
            nir_def *is_missing = nir_ieq(b, corner, missing.corner);
            shared = nir_bcsel(b, is_missing, nir_imm_float(b, 0), shared);
            weight = nir_bcsel(b, missing.exists, shared, weight);
         }
         nir_def *color = reads.load(level, is_inside, place);
         add_texel(nir_bcsel(b, is_inside, color, border()), corner,
                   nir_fmul(b, level_weight, weight));
      });
   }

   /// At the corner of a cube three faces meet: the fourth texel is the mean of the others.
   struct MissingCorner {
      nir_def *exists = nullptr, *corner = nullptr, *share = nullptr;
   };

   MissingCorner find_missing_corner(const std::vector<Neighbours> &neighbours, const Level &level)
   {
      nir_def *size = nir_i2f32(b, level.size[0]);
      nir_def *exists = nir_iand(b, is_linear, nir_inot(b, single_faces)),
              *corner = nir_imm_int(b, 0), *weight = nir_imm_float(b, 1);
      for (unsigned d = 0; d < dimensions; ++d) {
         const Neighbours &n = neighbours[d];
         nir_def *before = nir_flt_imm(b, n.numbers[0], 0),
                 *behind = nir_fge(b, n.numbers[1], size);
         exists = nir_iand(b, exists, nir_ior(b, before, behind));
         corner =
            nir_ior(b, corner, nir_bcsel(b, behind, nir_imm_int(b, 1 << d), nir_imm_int(b, 0)));
         weight =
            nir_fmul(b, weight, nir_bcsel(b, behind, n.fraction, nir_fsub_imm(b, 1, n.fraction)));
      }
      return {exists, corner, nir_fmul_imm(b, weight, 1.0 / 3)};
   }

   nir_def *border()
   {
      nir_def *color = load_words(b, sampler, offsetof(SamplerDescriptor, border), 4);
      return fill_components(b, reads.format, color, lookup.type);
   }

   /// 1 or 0, by the comparison of the reference with a depth.
   nir_def *compare(nir_def *depth)
   {
      nir_def *reference = lookup.comparator;
      nir_def *numbers = byte_of(b, reads.format[0], offsetof(TexelFormat, numbers));
      nir_def *clamped = clamp(b, reference, nir_imm_float(b, 0), nir_imm_float(b, 1));
      reference = nir_bcsel(b, nir_ieq_imm(b, numbers, unsigned(TexelNumbers::normalized)), clamped,
                            reference);
      nir_def *operation = sampler_word(offsetof(SamplerDescriptor, compare));
      const std::pair<VkCompareOp, nir_def *> operations[] = {
         {VK_COMPARE_OP_LESS, nir_flt(b, reference, depth)},
         {VK_COMPARE_OP_EQUAL, nir_feq(b, reference, depth)},
         {VK_COMPARE_OP_LESS_OR_EQUAL, nir_fge(b, depth, reference)},
         {VK_COMPARE_OP_GREATER, nir_flt(b, depth, reference)},
         {VK_COMPARE_OP_NOT_EQUAL, nir_fneu(b, reference, depth)},
         {VK_COMPARE_OP_GREATER_OR_EQUAL, nir_fge(b, reference, depth)},
         {VK_COMPARE_OP_ALWAYS, nir_imm_true(b)},
      };
      nir_def *result = nir_imm_false(b);
      for (const auto &[op, holds] : operations)
         result = nir_bcsel(b, nir_ieq_imm(b, operation, op), holds, result);
      return nir_b2f32(b, result);
   }

   nir_def *initial()
   {
      nir_def *zero = nir_imm_float(b, 0);
      if (!is_float || lookup.gathered)
         return zero;
      nir_def *least = nir_ieq_imm(b, reduction, unsigned(Reduction::least));
      nir_def *largest = nir_ieq_imm(b, reduction, unsigned(Reduction::largest));
      return nir_bcsel(b, least, nir_imm_float(b, INFINITY),
                       nir_bcsel(b, largest, nir_imm_float(b, -INFINITY), zero));
   }

   void add_texel(nir_def *color, nir_def *corner, nir_def *weight)
   {
      if (lookup.comparator) {
         nir_def *zero = nir_imm_float(b, 0);
         color = nir_vec4(b, compare(nir_channel(b, color, 0)), zero, zero, nir_imm_float(b, 1));
      }
      nir_def *before = nir_load_var(b, sum);
      nir_store_var(b, sum,
                    lookup.gathered ? gather(before, color, corner)
                    : is_float      ? reduce(before, color, weight)
                                    : color,
                    0xf);
   }

   /// Weights are rounded, so their sum may exceed 1. Means of normalized numbers and comparisons
   /// may not.
   nir_def *without_excess(nir_def *color)
   {
      nir_def *limit = nir_imm_float(b, 1);
      if (lookup.comparator)
         return nir_fmin(b, color, limit);
      nir_def *numbers = byte_of(b, reads.format[0], offsetof(TexelFormat, numbers));
      nir_def *is_normalized =
         nir_ior(b, nir_ieq_imm(b, numbers, unsigned(TexelNumbers::normalized)),
                 nir_ieq_imm(b, numbers, unsigned(TexelNumbers::srgb)));
      return nir_bcsel(b, is_normalized, clamp(b, color, nir_fneg(b, limit), limit), color);
   }

   /// The texels of a gather, in order: (0, 1), (1, 1), (1, 0), (0, 0).
   nir_def *gather(nir_def *before, nir_def *color, nir_def *corner)
   {
      constexpr unsigned order[] = {2, 3, 1, 0};
      nir_def *value = nir_channel(b, reads.swizzle(color), *lookup.gathered);
      std::array<nir_def *, 4> out;
      for (unsigned c = 0; c < 4; ++c)
         out[c] = nir_bcsel(b, nir_ieq_imm(b, corner, order[c]), value, nir_channel(b, before, c));
      return nir_vec(b, out.data(), 4);
   }

   /// Texels without weight have no part in the result, even if they are infinite.
   nir_def *reduce(nir_def *before, nir_def *color, nir_def *weight)
   {
      nir_def *mean = nir_ffma(b, color, nir_replicate(b, weight, 4), before);
      nir_def *after = nir_bcsel(b, nir_ieq_imm(b, reduction, unsigned(Reduction::average)), mean,
                                 nir_bcsel(b, nir_ieq_imm(b, reduction, unsigned(Reduction::least)),
                                           nir_fmin(b, before, color), nir_fmax(b, before, color)));
      return nir_bcsel(b, nir_fgt_imm(b, weight, 0), after, before);
   }

   nir_builder *b;
   ImageReads reads;
   const Descriptor &sampler;
   const Lookup &lookup;
   const bool is_cube, is_float;
   const unsigned dimensions; ///< of a filter

   nir_def *filters, *modes, *reduction; ///< of the sampler
   nir_def *single_faces = nullptr;      ///< of the sampler, if the image is a cube
   std::vector<nir_def *> operands;      ///< coordinates of the instruction
   std::vector<nir_def *> coordinates;   ///< of a probe; of a cube, on its face
   FaceAxes axes = {};
   Footprint footprint = {};
   nir_def *slice, *face = nullptr; ///< slice: of a cube, the first face's
   nir_def *is_linear, *level_fraction;
   nir_def *unclamped_lod = nullptr, *level_read = nullptr;
   nir_def *first_level, *last_level, *level_count = nullptr;
   nir_variable *sum;
};

nir_def *fetch_any(nir_builder *b, const SampledImage &image, const Lookup &lookup)
{
   ImageReads reads(b, image, lookup.type);
   nir_def *number = lookup.lod ? lookup.lod : nir_imm_int(b, 0);
   const Level level = reads.level(number);
   nir_def *is_inside = nir_ult(b, number, reads.levels);
   std::array<nir_def *, 3> place;
   const auto set = [&](unsigned dimension, std::optional<unsigned> coordinate) {
      place[dimension] =
         coordinate ? nir_channel(b, lookup.coordinates, *coordinate) : nir_imm_int(b, 0);
      if (coordinate)
         is_inside = nir_iand(b, is_inside, nir_ult(b, place[dimension], level.size[dimension]));
   };
   set(0, 0);
   set(1, image.shape.has_rows() ? std::optional(1u) : std::nullopt);
   set(2, image.shape.slice_coordinate());
   if (lookup.sample) {
      nir_def *samples = reads.word(offsetof(ImageDescriptor, samples));
      is_inside = nir_iand(b, is_inside, nir_ult(b, lookup.sample, samples));
      place[2] = nir_iadd(b, nir_imul(b, place[2], samples), lookup.sample);
   }
   if (lookup.is_sparse)
      reads.record_residency();
   nir_def *color = reads.swizzle(reads.load(level, is_inside, place));
   return lookup.is_sparse ? append_component(b, color, reads.residency()) : color;
}

} // namespace

nir_def *fetch(nir_builder *b, const SampledImage &image, const Lookup &lookup)
{
   const auto any = [&] { return fetch_any(b, image, lookup); };
   nir_def *is_plain =
      lookup.sample || lookup.is_sparse ? nullptr : is_plain_fetch(b, image, lookup);
   if (!is_plain)
      return any();
   return choose(b, is_plain, [&] { return fetch_plainly(b, image, lookup); }, any);
}

nir_def *sample(nir_builder *b, const SampledImage &image, const Descriptor &sampler,
                const Lookup &lookup)
{
   const auto any = [&] { return Sampling(b, image, sampler, lookup).run(); };
   nir_def *is_plain = lookup.is_sparse ? nullptr : is_plain_sample(b, image, sampler, lookup);
   if (!is_plain)
      return any();
   const PlainPlace place = find_plain_place(b, image, sampler, lookup);
   return choose(b, is_plain, [&] { return sample_plainly(b, image, place); }, any);
}

nir_def *query_lod(nir_builder *b, const SampledImage &image, const Descriptor &sampler,
                   const Lookup &lookup)
{
   if (!lookup.gradient_x)
      return nir_imm_zero(b, 2, 32);
   return Sampling(b, image, sampler, lookup).query_lod();
}

} // namespace weft
