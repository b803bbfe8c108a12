// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/lower_images.h"

#include "nir_passes/images/texel_conversion.h"
#include "nir_passes/images/texel_descriptor.h"
#include "nir_passes/memory/lower_descriptors.h"

#include "compiler/nir/nir_builder.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace weft {

namespace {

/// A storage image or texel buffer that the shader accesses.
struct Image {
   nir_def *buffer; ///< index of load_ssbo
   nir_def *set;    ///< index of load_ubo: the set that holds the descriptor, as data
   nir_def *offset; ///< of the descriptor in the set
   glsl_sampler_dim dim;
   bool is_array;
   enum pipe_format declared;
   gl_access_qualifier access;
};

/// SPIR-V has no arrays of arrays of images.
nir_def *element_index(nir_builder *b, nir_deref_instr *deref)
{
   return deref->deref_type == nir_deref_type_array ? nir_u2u32(b, deref->arr.index.ssa)
                                                    : nir_imm_int(b, 0);
}

nir_def *load_words(nir_builder *b, const Image &image, size_t member, unsigned count)
{
   return _nir_build_load_ubo(b, count, 32, image.set, nir_iadd_imm(b, image.offset, member),
                              {._ = 0,
                               .access = gl_access_qualifier(0),
                               .align_mul = 4,
                               .align_offset = 0,
                               .range_base = 0,
                               .range = ~0u});
}

nir_def *load_width(nir_builder *b, const Image &image)
{
   static_assert(offsetof(TexelDescriptor, elements) == offsetof(ImageDescriptor, width));
   return load_words(b, image, offsetof(ImageDescriptor, width), 1);
}

FormatValues load_format(nir_builder *b, const Image &image)
{
   FormatValues values;
   nir_def *words = load_words(b, image, offsetof(TexelDescriptor, format), values.size());
   for (unsigned i = 0; i < values.size(); ++i)
      values[i] = nir_channel(b, words, i);
   return values;
}

bool is_supported(glsl_sampler_dim dim)
{
   return dim == GLSL_SAMPLER_DIM_BUF || dim == GLSL_SAMPLER_DIM_1D || dim == GLSL_SAMPLER_DIM_2D ||
          dim == GLSL_SAMPLER_DIM_3D || dim == GLSL_SAMPLER_DIM_CUBE;
}

bool has_rows(const Image &image)
{
   return image.dim != GLSL_SAMPLER_DIM_1D && image.dim != GLSL_SAMPLER_DIM_BUF;
}

/// The coordinate that counts slices: in a cube, layer * 6 + face.
std::optional<unsigned> slice_coordinate(const Image &image)
{
   if (image.dim == GLSL_SAMPLER_DIM_3D || image.dim == GLSL_SAMPLER_DIM_CUBE)
      return 2;
   return image.is_array ? std::optional(has_rows(image) ? 2u : 1u) : std::nullopt;
}

/// A texel of an image.
struct Texel {
   nir_def *is_inside;
   nir_def *column;
   nir_def *row; ///< offset of the row in bytes
};

Texel find_texel(nir_builder *b, const Image &image, nir_def *coordinates)
{
   const auto member = [&](size_t offset) { return load_words(b, image, offset, 1); };
   nir_def *column = nir_channel(b, coordinates, 0);
   Texel texel = {nir_ult(b, column, load_width(b, image)), column, nir_imm_int(b, 0)};
   const auto move = [&](unsigned coordinate, size_t count, size_t pitch) {
      nir_def *number = nir_channel(b, coordinates, coordinate);
      texel.is_inside = nir_iand(b, texel.is_inside, nir_ult(b, number, member(count)));
      texel.row = nir_iadd(b, texel.row, nir_imul(b, number, member(pitch)));
   };
   if (has_rows(image))
      move(1, offsetof(ImageDescriptor, height), offsetof(ImageDescriptor, row_pitch));
   if (const std::optional<unsigned> coordinate = slice_coordinate(image))
      move(*coordinate, offsetof(ImageDescriptor, slices), offsetof(ImageDescriptor, slice_pitch));
   return texel;
}

nir_def *load_size(nir_builder *b, const Image &image, unsigned components)
{
   std::vector<nir_def *> size = {load_width(b, image)};
   if (has_rows(image))
      size.push_back(load_words(b, image, offsetof(ImageDescriptor, height), 1));
   if (image.is_array || image.dim == GLSL_SAMPLER_DIM_3D) {
      nir_def *slices = load_words(b, image, offsetof(ImageDescriptor, slices), 1);
      constexpr unsigned faces = 6;
      size.push_back(image.dim == GLSL_SAMPLER_DIM_CUBE ? nir_udiv_imm(b, slices, faces) : slices);
   }
   size.resize(components, nir_imm_int(b, 0));
   return nir_vec(b, size.data(), components);
}

/// Loads and stores move a texel as its largest units.
struct Units {
   unsigned count, bytes;
};
Units units_of(unsigned texel_bytes)
{
   return texel_bytes < 4 ? Units{1, texel_bytes} : Units{texel_bytes / 4, 4};
}

class ImageLowering {
public:
   ImageLowering(nir_shader *nir, std::span<const BindingLayout> bindings)
       : bindings(bindings), builder(nir_builder_create(nir_shader_get_entrypoint(nir)))
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
   static bool is_image_access(const nir_instr *instr)
   {
      if (instr->type == nir_instr_type_tex)
         return true;
      if (instr->type != nir_instr_type_intrinsic)
         return false;
      nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      if (intrinsic->intrinsic == nir_intrinsic_barrier)
         return nir_intrinsic_memory_modes(intrinsic) & nir_var_image;
      return nir_intrinsic_has_image_dim(intrinsic);
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
      if (intrinsic->intrinsic != nir_intrinsic_barrier)
         return lower_image(intrinsic);
      /* Passes must not move accesses to texels, which are now buffers', across the barrier. */
      nir_intrinsic_set_memory_modes(
         intrinsic, nir_variable_mode(nir_intrinsic_memory_modes(intrinsic) | nir_var_mem_ssbo));
      return true;
   }

   bool fail(std::string reason)
   {
      error = std::move(reason);
      return false;
   }

   bool refuse(nir_deref_instr *deref)
   {
      const nir_variable *var = nir_deref_instr_get_variable(deref);
      return fail(std::string("images and samplers are not supported: ") +
                  (var && var->name ? var->name : "a variable without a name"));
   }

   /// Finds the descriptor; false with an error.
   bool find(nir_deref_instr *deref, glsl_sampler_dim dim, bool is_array, Image *image)
   {
      const nir_variable *var = nir_deref_instr_get_variable(deref);
      if (!var)
         return refuse(deref);
      const Result<BindingLayout> layout =
         find_binding(bindings, var->data.descriptor_set, var->data.binding);
      if (!layout)
         return fail(layout.error().message);
      const bool is_buffer = dim == GLSL_SAMPLER_DIM_BUF;
      const size_t bytes = is_buffer ? sizeof(TexelDescriptor) : sizeof(ImageDescriptor);
      if (layout->inline_data || layout->stride != bytes)
         return fail("the binding " + std::to_string(var->data.binding) +
                     " of the descriptor set " + std::to_string(var->data.descriptor_set) +
                     " is not " + (is_buffer ? "a texel buffer" : "a storage image"));
      const DescriptorPlace place = descriptor_place(b, *layout, element_index(b, deref));
      const uint32_t as_data =
         slot_number(place.slot) | inline_data_slot | unbounded_inline_bytes << 8;
      *image = {
         .buffer = nir_vec2(b, nir_imm_int(b, int(place.slot)), place.offset),
         .set = nir_imm_ivec2(b, int(as_data), 0),
         .offset = place.offset,
         .dim = dim,
         .is_array = is_array,
         .declared = var->data.mode == nir_var_image ? var->data.image.format : PIPE_FORMAT_NONE,
         .access = gl_access_qualifier(var->data.access & ~ACCESS_RESTRICT),
      };
      return true;
   }

   /// The format of accesses; false with an error.
   bool find_format(const Image &image, FormatValues *format)
   {
      if (image.declared == PIPE_FORMAT_NONE) {
         *format = load_format(b, image);
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
      if (!find(deref, GLSL_SAMPLER_DIM_BUF, false, &image))
         return false;
      if (tex->op == nir_texop_txs) {
         nir_def_replace(&tex->def, load_size(b, image, 1));
         return true;
      }
      if (tex->op != nir_texop_txf || tex->is_sparse)
         return refuse(deref);
      /* Nothing writes the texels while the shader runs. */
      image.access = gl_access_qualifier(image.access | ACCESS_NON_WRITEABLE | ACCESS_CAN_REORDER);
      nir_def *element = tex->src[nir_tex_instr_src_index(tex, nir_tex_src_coord)].src.ssa;
      return replace_by_load(&tex->def, image, element, tex->dest_type);
   }

   bool lower_image(nir_intrinsic_instr *intr)
   {
      nir_deref_instr *deref = nir_src_as_deref(intr->src[0]);
      const glsl_sampler_dim dim = nir_intrinsic_image_dim(intr);
      if (!is_supported(dim))
         return refuse(deref);
      Image image;
      if (!find(deref, dim, nir_intrinsic_image_array(intr), &image))
         return false;
      image.access =
         gl_access_qualifier(image.access | (nir_intrinsic_access(intr) & ~ACCESS_NON_UNIFORM));
      switch (intr->intrinsic) {
      case nir_intrinsic_image_deref_size:
         nir_def_replace(&intr->def, load_size(b, image, intr->def.num_components));
         return true;
      case nir_intrinsic_image_deref_load:
         return replace_by_load(&intr->def, image, intr->src[1].ssa, nir_intrinsic_dest_type(intr));
      case nir_intrinsic_image_deref_store:
         return lower_store(intr, image, intr->src[1].ssa);
      case nir_intrinsic_image_deref_atomic:
      case nir_intrinsic_image_deref_atomic_swap:
         return lower_atomic(intr, image, intr->src[1].ssa);
      default:
         return refuse(deref);
      }
   }

   nir_def *offset_of(const Texel &texel, unsigned bytes)
   {
      return nir_iadd(b, texel.row, nir_imul_imm(b, texel.column, bytes));
   }

   bool replace_by_load(nir_def *result, const Image &image, nir_def *coordinates,
                        nir_alu_type type)
   {
      if (result->bit_size != 32)
         return fail("texels of 64 bits are not supported");
      FormatValues format;
      if (!find_format(image, &format))
         return false;
      nir_def *outside = nir_imm_zero(b, 4, 32);
      const Texel place = find_texel(b, image, coordinates);
      nir_push_if(b, place.is_inside);
      nir_def *words =
         for_texel_size(b, format, [&](unsigned bytes) { return load(image, place, bytes); });
      nir_pop_if(b, nullptr);
      words = nir_if_phi(b, words, outside);

      TexelWords texel;
      for (unsigned k = 0; k < texel.size(); ++k)
         texel[k] = nir_channel(b, words, k);
      nir_def *color = unpack_texel(b, format, texel, type);
      nir_def_replace(result, nir_trim_vector(b, color, result->num_components));
      return true;
   }

   nir_def *load(const Image &image, const Texel &place, unsigned bytes)
   {
      const Units units = units_of(bytes);
      nir_def *v = _nir_build_load_ssbo(
         b, units.count, units.bytes * 8, image.buffer, offset_of(place, bytes),
         {._ = 0, .access = image.access, .align_mul = units.bytes, .align_offset = 0});
      return nir_pad_vector_imm_int(b, nir_u2u32(b, v), 0, 4);
   }

   bool lower_store(nir_intrinsic_instr *intr, const Image &image, nir_def *coordinates)
   {
      nir_def *color = intr->src[3].ssa;
      if (color->bit_size != 32)
         return fail("texels of 64 bits are not supported");
      FormatValues format;
      if (!find_format(image, &format))
         return false;
      const TexelWords texel = pack_texel(b, format, color, nir_intrinsic_src_type(intr));
      const Texel place = find_texel(b, image, coordinates);
      nir_push_if(b, place.is_inside);
      for_texel_size(b, format, [&](unsigned bytes) -> nir_def * {
         const Units units = units_of(bytes);
         nir_def *v = nir_u2uN(b, nir_vec(b, const_cast<nir_def **>(texel.data()), units.count),
                               units.bytes * 8);
         _nir_build_store_ssbo(b, v, image.buffer, offset_of(place, bytes),
                               {._ = 0,
                                .write_mask = nir_component_mask(units.count),
                                .access = image.access,
                                .align_mul = units.bytes,
                                .align_offset = 0});
         return nullptr;
      });
      nir_pop_if(b, nullptr);
      nir_instr_remove(&intr->instr);
      return true;
   }

   bool lower_atomic(nir_intrinsic_instr *intr, const Image &image, nir_def *coordinates)
   {
      const unsigned bits = intr->def.bit_size;
      nir_def *outside = nir_imm_intN_t(b, 0, bits);
      const Texel place = find_texel(b, image, coordinates);
      nir_push_if(b, place.is_inside);
      nir_def *offset = offset_of(place, bits / 8);
      const nir_atomic_op op = nir_intrinsic_atomic_op(intr);
      nir_def *old = intr->intrinsic == nir_intrinsic_image_deref_atomic
                        ? _nir_build_ssbo_atomic(b, bits, image.buffer, offset, intr->src[3].ssa,
                                                 {._ = 0, .access = image.access, .atomic_op = op})
                        : _nir_build_ssbo_atomic_swap(
                             b, bits, image.buffer, offset, intr->src[3].ssa, intr->src[4].ssa,
                             {._ = 0, .access = image.access, .atomic_op = op});
      nir_pop_if(b, nullptr);
      nir_def_replace(&intr->def, nir_if_phi(b, old, outside));
      return true;
   }

   std::span<const BindingLayout> bindings;
   nir_builder builder;
   nir_builder *const b = &builder;
   std::string error;
};

} // namespace

Result<bool> lower_images(nir_shader *nir, std::span<const BindingLayout> bindings)
{
   return ImageLowering(nir, bindings).run();
}

} // namespace weft
