// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/lower_images.h"

#include "nir_passes/choose.h"
#include "nir_passes/images/image_access.h"
#include "nir_passes/images/texel_descriptor.h"

#include "compiler/nir/nir_builder.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace weft {

namespace {

/// A storage image or texel buffer that the shader accesses.
struct Image {
   Descriptor descriptor;
   ImageShape shape;
   enum pipe_format declared;
   gl_access_qualifier access;
};

constexpr unsigned wide_bytes = 8; ///< of an integer of 64 bits

/// The operands that select a texel.
struct Coordinates {
   nir_def *vector;
   nir_def *sample; ///< only in images of several samples
};

/// Of a load, store or atomic.
Coordinates coordinates_of(nir_intrinsic_instr *access)
{
   return {access->src[1].ssa, access->src[2].ssa};
}

Texel find_texel(nir_builder *b, const Image &image, const Coordinates &coordinates)
{
   const auto member = [&](size_t offset) { return load_words(b, image.descriptor, offset, 1); };
   nir_def *column = nir_channel(b, coordinates.vector, 0);
   Texel texel = {nir_ult(b, column, load_width(b, image.descriptor)), column, nir_imm_int(b, 0)};
   const auto move = [&](nir_def *number, size_t count, nir_def *pitch) {
      texel.is_inside = nir_iand(b, texel.is_inside, nir_ult(b, number, member(count)));
      texel.row = nir_iadd(b, texel.row, nir_imul(b, number, pitch));
   };
   if (image.shape.has_rows())
      move(nir_channel(b, coordinates.vector, 1), offsetof(ImageDescriptor, height),
           member(offsetof(ImageDescriptor, row_pitch)));
   const auto slice_pitch = [&] { return member(offsetof(ImageDescriptor, slice_pitch)); };
   if (image.shape.has_samples())
      move(coordinates.sample, offsetof(ImageDescriptor, samples), slice_pitch());
   if (const std::optional<unsigned> coordinate = image.shape.slice_coordinate())
      move(nir_channel(b, coordinates.vector, *coordinate), offsetof(ImageDescriptor, slices),
           image.shape.has_samples()
              ? nir_imul(b, slice_pitch(), member(offsetof(ImageDescriptor, samples)))
              : slice_pitch());
   return texel;
}

/// The same in tiles.
Texel find_tiled_texel(nir_builder *b, const Image &image, const Coordinates &coordinates)
{
   const auto member = [&](size_t offset) { return load_words(b, image.descriptor, offset, 1); };
   const TileWord tiles = load_tiles(b, image.descriptor);
   nir_def *column = nir_channel(b, coordinates.vector, 0),
           *row = nir_channel(b, coordinates.vector, 1);
   Texel texel;
   texel.is_inside = nir_iand(b, nir_ult(b, column, load_width(b, image.descriptor)),
                              nir_ult(b, row, member(offsetof(ImageDescriptor, height))));
   texel.column = tiles.place_in_tile(b, column, row);
   texel.row = nir_iadd(
      b, nir_imul(b, tiles.tile_of(b, 1, row), member(offsetof(ImageDescriptor, row_pitch))),
      nir_imul_imm(b, tiles.tile_of(b, 0, column), tile_bytes));
   if (const std::optional<unsigned> coordinate = image.shape.slice_coordinate()) {
      nir_def *slice = nir_channel(b, coordinates.vector, *coordinate);
      texel.is_inside =
         nir_iand(b, texel.is_inside, nir_ult(b, slice, member(offsetof(ImageDescriptor, slices))));
      texel.row =
         nir_iadd(b, texel.row, nir_imul(b, slice, member(offsetof(ImageDescriptor, slice_pitch))));
   }
   return texel;
}

class ImageLowering {
public:
   ImageLowering(nir_shader *nir, std::span<const BindingLayout> bindings, bool may_have_tiles)
       : bindings(bindings), may_have_tiles(may_have_tiles),
         builder(nir_builder_create(nir_shader_get_entrypoint(nir)))
   {
   }

   Result<bool> run()
   {
      const std::vector<nir_instr *> work = collect();
      for (nir_instr *instr : work) {
         b->cursor = nir_before_instr(instr);
         if (!lower(instr))
            return Error{error};
      }
      nir_metadata_preserve(b->impl, work.empty() ? nir_metadata_all : nir_metadata_none);
      return bool(!work.empty());
   }

private:
   static bool is_of_residency_codes(const nir_intrinsic_instr *intrinsic)
   {
      return intrinsic->intrinsic == nir_intrinsic_is_sparse_texels_resident ||
             intrinsic->intrinsic == nir_intrinsic_sparse_residency_code_and;
   }

   static bool is_image_access(const nir_instr *instr)
   {
      if (instr->type == nir_instr_type_tex)
         return true;
      if (instr->type != nir_instr_type_intrinsic)
         return false;
      nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      if (intrinsic->intrinsic == nir_intrinsic_barrier)
         return nir_intrinsic_memory_modes(intrinsic) & nir_var_image;
      if (is_of_residency_codes(intrinsic))
         return true;
      /* Blocks that are decoded already have no variable. */
      return nir_intrinsic_has_image_dim(intrinsic) &&
             intrinsic->intrinsic != nir_intrinsic_image_load;
   }

   std::vector<nir_instr *> collect()
   {
      std::vector<nir_instr *> work;
      nir_foreach_block(block, b->impl) {
         nir_foreach_instr(instr, block) {
            if (is_image_access(instr))
               work.push_back(instr);
         }
      }
      return work;
   }

   bool lower(nir_instr *instr)
   {
      if (instr->type == nir_instr_type_tex)
         return lower_texture(nir_instr_as_tex(instr));
      nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      if (is_of_residency_codes(intrinsic))
         return lower_residency_codes(intrinsic);
      if (intrinsic->intrinsic != nir_intrinsic_barrier)
         return lower_image(intrinsic);
      /* Passes must not move accesses to texels, which are now buffers', across the barrier. */
      nir_intrinsic_set_memory_modes(
         intrinsic, nir_variable_mode(nir_intrinsic_memory_modes(intrinsic) | nir_var_mem_ssbo));
      return true;
   }

   bool lower_residency_codes(nir_intrinsic_instr *intr)
   {
      nir_def *code = intr->src[0].ssa;
      nir_def_replace(&intr->def, intr->intrinsic == nir_intrinsic_is_sparse_texels_resident
                                     ? nir_ine_imm(b, code, 0)
                                     : nir_iand(b, code, intr->src[1].ssa));
      return true;
   }

   bool fail(std::string reason)
   {
      error = std::move(reason);
      return false;
   }

   bool refuse(nir_deref_instr *deref) { return fail(unsupported_access(deref)); }

   /// Finds the descriptor; false with an error.
   bool find(nir_deref_instr *deref, const ImageShape &shape, Image *image)
   {
      const bool is_buffer = shape.dim == GLSL_SAMPLER_DIM_BUF;
      const Result<Descriptor> found =
         is_buffer
            ? find_descriptor(b, bindings, deref, {sizeof(TexelDescriptor)}, "a texel buffer")
            : find_descriptor(b, bindings, deref, {sizeof(ImageDescriptor)}, "a storage image");
      if (!found)
         return fail(found.error().message);
      const nir_variable *var = nir_deref_instr_get_variable(deref);
      *image = {
         .descriptor = *found,
         .shape = shape,
         .declared = var->data.mode == nir_var_image ? var->data.image.format : PIPE_FORMAT_NONE,
         .access = gl_access_qualifier(var->data.access & ~ACCESS_RESTRICT),
      };
      return true;
   }

   /// The format of accesses; false with an error.
   bool find_format(const Image &image, FormatValues *format)
   {
      if (image.declared == PIPE_FORMAT_NONE) {
         *format = load_format(b, image.descriptor);
         return true;
      }
      const std::optional<TexelFormat> declared = texel_format(image.declared);
      if (!declared)
         return fail("the declared format of an image is not supported");
      *format = constant_format(b, *declared);
      return true;
   }

   bool lower_texture(nir_tex_instr *tex)
   {
      nir_deref_instr *deref =
         nir_src_as_deref(tex->src[nir_tex_instr_src_index(tex, nir_tex_src_texture_deref)].src);
      if (tex->sampler_dim != GLSL_SAMPLER_DIM_BUF)
         return refuse(deref);
      Image image;
      if (!find(deref, {GLSL_SAMPLER_DIM_BUF, false}, &image))
         return false;
      if (tex->op == nir_texop_txs) {
         nir_def_replace(&tex->def, load_size(b, image.descriptor, image.shape, 1));
         return true;
      }
      if (tex->op != nir_texop_txf)
         return refuse(deref);
      /* Nothing writes the texels while the shader runs. */
      image.access = gl_access_qualifier(image.access | ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER);
      nir_def *element = tex->src[nir_tex_instr_src_index(tex, nir_tex_src_coord)].src.ssa;
      return replace_by_load(&tex->def, image, {element, nullptr}, tex->dest_type, tex->is_sparse);
   }

   bool lower_image(nir_intrinsic_instr *intr)
   {
      nir_deref_instr *deref = nir_src_as_deref(intr->src[0]);
      const glsl_sampler_dim dim = nir_intrinsic_image_dim(intr);
      if (!is_supported(dim))
         return refuse(deref);
      Image image;
      if (!find(deref, {dim, nir_intrinsic_image_array(intr)}, &image))
         return false;
      image.access =
         gl_access_qualifier(image.access | (nir_intrinsic_access(intr) & ~ACCESS_NON_UNIFORM));
      switch (intr->intrinsic) {
      case nir_intrinsic_image_deref_samples:
         nir_def_replace(&intr->def,
                         load_words(b, image.descriptor, offsetof(ImageDescriptor, samples), 1));
         return true;
      case nir_intrinsic_image_deref_size:
         nir_def_replace(&intr->def,
                         load_size(b, image.descriptor, image.shape, intr->def.num_components));
         return true;
      case nir_intrinsic_image_deref_load:
         return replace_by_load(&intr->def, image, coordinates_of(intr),
                                nir_intrinsic_dest_type(intr), false);
      case nir_intrinsic_image_deref_sparse_load:
         return replace_by_load(&intr->def, image, coordinates_of(intr),
                                nir_intrinsic_dest_type(intr), true);
      case nir_intrinsic_image_deref_store:
         return lower_store(intr, image, coordinates_of(intr));
      case nir_intrinsic_image_deref_atomic:
      case nir_intrinsic_image_deref_atomic_swap:
         return lower_atomic(intr, image, coordinates_of(intr));
      default:
         return refuse(deref);
      }
   }

   /// The value of emit(texel) in the layout that the image has.
   template <typename Emit>
   nir_def *for_layout(const Image &image, const Coordinates &coordinates, const Emit &emit)
   {
      const auto in_rows = [&] { return emit(find_texel(b, image, coordinates)); };
      if (!may_have_tiles || !image.shape.has_rows() || image.shape.has_samples())
         return in_rows();
      return choose(
         b, load_tiles(b, image.descriptor).has_tiles(b),
         [&] { return emit(find_tiled_texel(b, image, coordinates)); }, in_rows);
   }

   /// The last component of a sparse load is the residency of its texel.
   bool replace_by_load(nir_def *result, const Image &image, const Coordinates &coordinates,
                        nir_alu_type type, bool is_sparse)
   {
      const unsigned components = result->num_components - (is_sparse ? 1 : 0);
      const bool is_wide = result->bit_size == 64;
      FormatValues format;
      if (!is_wide && !find_format(image, &format))
         return false;
      const auto load = [&](const Texel &texel) {
         nir_def *color = is_wide
                             ? load_wide(image, texel)
                             : load_texel(b, image.descriptor, image.access, format, texel, type);
         color = nir_trim_vector(b, color, components);
         if (!is_sparse)
            return color;
         nir_def *bytes = is_wide ? wide_texel_bytes(image) : texel_bytes(b, format);
         nir_def *code = nir_u2uN(b, residency_of(image, texel, bytes), result->bit_size);
         return append_component(b, color, code);
      };
      nir_def_replace(result, for_layout(image, coordinates, load));
      return true;
   }

   nir_def *wide_texel_bytes(const Image &image)
   {
      return image.declared == PIPE_FORMAT_NONE ? texel_bytes(b, load_format(b, image.descriptor))
                                                : nir_imm_int(b, wide_bytes);
   }

   /// Texels outside of the image are resident.
   nir_def *residency_of(const Image &image, const Texel &texel, nir_def *bytes)
   {
      nir_def *offset = nir_iadd(b, texel.row, nir_imul(b, texel.column, bytes));
      return choose(
         b, texel.is_inside, [&] { return find_residency(b, image.descriptor, offset, bytes); },
         [&] { return nir_imm_int(b, 1); });
   }

   /// The value of emit(n) for the number n of integers of 64 bits in a texel; one in declared
   /// formats.
   template <typename Emit>
   nir_def *for_wide_components(const Image &image, const Emit &emit)
   {
      if (image.declared != PIPE_FORMAT_NONE)
         return emit(1);
      nir_def *bytes = wide_texel_bytes(image);
      const auto one_or_two = [&] {
         return choose(
            b, nir_ieq_imm(b, bytes, 2 * wide_bytes), [&] { return emit(2); },
            [&] { return emit(1); });
      };
      return choose(b, nir_ieq_imm(b, bytes, 4 * wide_bytes), [&] { return emit(4); }, one_or_two);
   }

   /// Integers of 64 bits; a texel outside of the image is zeros. As for other texels, a null
   /// descriptor has the missing components of a declared format only.
   nir_def *load_wide(const Image &image, const Texel &place)
   {
      nir_def *alpha = nir_imm_int64(b, 1);
      if (image.declared == PIPE_FORMAT_NONE)
         alpha = nir_b2i64(b, nir_ine_imm(b, load_width(b, image.descriptor), 0));
      return for_wide_components(image, [&](unsigned count) {
         nir_def *outside = nir_imm_zero(b, count, 64);
         const auto inside = [&] {
            return _nir_build_load_ssbo(
               b, count, 64, image.descriptor.buffer, texel_offset(b, place, count * wide_bytes),
               {._ = 0,
                .access = gl_access_qualifier(image.access | ACCESS_NON_UNIFORM),
                .align_mul = wide_bytes,
                .align_offset = 0});
         };
         nir_def *numbers = choose(b, place.is_inside, inside, [&] { return outside; });
         nir_def *color = nir_pad_vector_imm_int(b, numbers, 0, 4);
         return count == 4 ? color : nir_vector_insert_imm(b, color, alpha, 3);
      });
   }

   bool store_wide(nir_intrinsic_instr *intr, const Image &image, const Coordinates &coordinates)
   {
      const auto store = [&](const Texel &place, unsigned count) -> nir_def * {
         _nir_build_store_ssbo(b, nir_trim_vector(b, intr->src[3].ssa, count),
                               image.descriptor.buffer, texel_offset(b, place, count * wide_bytes),
                               {._ = 0,
                                .write_mask = nir_component_mask(count),
                                .access = image.access,
                                .align_mul = wide_bytes,
                                .align_offset = 0});
         return nullptr;
      };
      for_layout(image, coordinates, [&](const Texel &place) -> nir_def * {
         nir_push_if(b, place.is_inside);
         for_wide_components(image, [&](unsigned count) { return store(place, count); });
         nir_pop_if(b, nullptr);
         return nullptr;
      });
      nir_instr_remove(&intr->instr);
      return true;
   }

   bool lower_store(nir_intrinsic_instr *intr, const Image &image, const Coordinates &coordinates)
   {
      nir_def *color = intr->src[3].ssa;
      if (color->bit_size == 64)
         return store_wide(intr, image, coordinates);
      FormatValues format;
      if (!find_format(image, &format))
         return false;
      const TexelWords texel = pack_texel(b, format, color, nir_intrinsic_src_type(intr));
      for_layout(image, coordinates, [&](const Texel &place) -> nir_def * {
         nir_push_if(b, place.is_inside);
         for_texel_size(b, format, [&](unsigned bytes) -> nir_def * {
            store_words(image, texel_offset(b, place, bytes), texel, units_of(bytes));
            return nullptr;
         });
         nir_pop_if(b, nullptr);
         return nullptr;
      });
      nir_instr_remove(&intr->instr);
      return true;
   }

   void store_words(const Image &image, nir_def *offset, const TexelWords &texel,
                    const TexelUnits &units)
   {
      nir_def *v = nir_u2uN(b, nir_vec(b, const_cast<nir_def **>(texel.data()), units.count),
                            units.bytes * 8);
      _nir_build_store_ssbo(b, v, image.descriptor.buffer, offset,
                            {._ = 0,
                             .write_mask = nir_component_mask(units.count),
                             .access = image.access,
                             .align_mul = units.bytes,
                             .align_offset = 0});
   }

   bool lower_atomic(nir_intrinsic_instr *intr, const Image &image, const Coordinates &coordinates)
   {
      const unsigned bits = intr->def.bit_size;
      nir_def *outside = nir_imm_intN_t(b, 0, bits);
      const nir_atomic_op op = nir_intrinsic_atomic_op(intr);
      const auto change = [&](nir_def *offset) {
         return intr->intrinsic == nir_intrinsic_image_deref_atomic
                   ? _nir_build_ssbo_atomic(b, bits, image.descriptor.buffer, offset,
                                            intr->src[3].ssa,
                                            {._ = 0, .access = image.access, .atomic_op = op})
                   : _nir_build_ssbo_atomic_swap(b, bits, image.descriptor.buffer, offset,
                                                 intr->src[3].ssa, intr->src[4].ssa,
                                                 {._ = 0, .access = image.access, .atomic_op = op});
      };
      const auto change_if_inside = [&](const Texel &place) {
         return choose(
            b, place.is_inside, [&] { return change(texel_offset(b, place, bits / 8)); },
            [&] { return outside; });
      };
      nir_def_replace(&intr->def, for_layout(image, coordinates, change_if_inside));
      return true;
   }

   std::span<const BindingLayout> bindings;
   const bool may_have_tiles;
   nir_builder builder;
   nir_builder *const b = &builder;
   std::string error;
};

} // namespace

Result<bool> lower_images(nir_shader *nir, std::span<const BindingLayout> bindings,
                          bool may_have_tiles)
{
   return ImageLowering(nir, bindings, may_have_tiles).run();
}

} // namespace weft
