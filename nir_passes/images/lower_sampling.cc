// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/lower_sampling.h"

#include "nir_passes/images/converted_sampling.h"
#include "nir_passes/images/sampling.h"
#include "nir_passes/images/texel_descriptor.h"
#include "nir_passes/implicit_gradients.h"

#include "compiler/nir/nir_builder.h"

#include <cstddef>
#include <string>
#include <vector>

namespace weft {

namespace {

nir_def *source(nir_tex_instr *tex, nir_tex_src_type type)
{
   const int index = nir_tex_instr_src_index(tex, type);
   return index < 0 ? nullptr : tex->src[index].src.ssa;
}

nir_deref_instr *deref_of(nir_tex_instr *tex, nir_tex_src_type type)
{
   const int index = nir_tex_instr_src_index(tex, type);
   return index < 0 ? nullptr : nir_src_as_deref(tex->src[index].src);
}

Lookup operands_of(nir_tex_instr *tex)
{
   const bool is_explicit = tex->op == nir_texop_txd;
   return {
      .coordinates = source(tex, nir_tex_src_coord),
      .lod = source(tex, nir_tex_src_lod),
      .bias = source(tex, nir_tex_src_bias),
      .min_lod = source(tex, nir_tex_src_min_lod),
      .comparator = source(tex, nir_tex_src_comparator),
      .offset = source(tex, nir_tex_src_offset),
      .sample = source(tex, nir_tex_src_ms_index),
      .gradient_x = source(tex, is_explicit ? nir_tex_src_ddx : implicit_ddx),
      .gradient_y = source(tex, is_explicit ? nir_tex_src_ddy : implicit_ddy),
      .gathered = tex->op == nir_texop_tg4 ? std::optional(unsigned(tex->component)) : std::nullopt,
      .is_sparse = tex->is_sparse,
      .type = tex->dest_type,
   };
}

/// The value of an instruction. An Error if it is not supported.
Result<nir_def *> lower(nir_builder *b, nir_tex_instr *tex, std::span<const BindingLayout> bindings,
                        bool may_have_tiles)
{
   nir_deref_instr *deref = deref_of(tex, nir_tex_src_texture_deref);
   if (!is_supported(tex->sampler_dim) || tex->def.bit_size != 32)
      return Error{unsupported_access(deref)};
   const Result<Descriptor> found = find_descriptor(
      b, bindings, deref,
      {sizeof(SampledImageDescriptor), sizeof(CombinedDescriptor), sizeof(ConvertedDescriptor)},
      "a sampled image");
   if (!found)
      return found.error();
   const SampledImage image = {*found,
                               {tex->sampler_dim, tex->is_array},
                               may_have_tiles && tex->sampler_dim != GLSL_SAMPLER_DIM_1D &&
                                  tex->sampler_dim != GLSL_SAMPLER_DIM_MS};
   switch (tex->op) {
   case nir_texop_txs:
      return load_size(b, image.descriptor, image.shape, tex->def.num_components);
   case nir_texop_query_levels:
      return load_words(b, image.descriptor, offsetof(ImageDescriptor, levels), 1);
   case nir_texop_texture_samples:
      return load_words(b, image.descriptor, offsetof(ImageDescriptor, samples), 1);
   case nir_texop_txf:
   case nir_texop_txf_ms:
      return fetch(b, image, operands_of(tex));
   case nir_texop_tex:
   case nir_texop_txb:
   case nir_texop_txl:
   case nir_texop_txd:
   case nir_texop_tg4:
   case nir_texop_lod:
      break;
   default:
      return Error{unsupported_access(deref)};
   }
   Result<Descriptor> sampler =
      find_descriptor(b, bindings, deref_of(tex, nir_tex_src_sampler_deref),
                      {sizeof(CombinedDescriptor), sizeof(ConvertedDescriptor)}, "a sampler");
   if (!sampler)
      return sampler.error();
   sampler->offset =
      nir_iadd_imm(b, sampler->offset, int64_t(sampler->bytes - sizeof(SamplerDescriptor)));
   const Lookup operands = operands_of(tex);
   /* A converted image begins with its luma. */
   if (tex->op == nir_texop_lod)
      return query_lod(b, image, *sampler, operands);
   if (image.descriptor.bytes != sizeof(ConvertedDescriptor))
      return sample(b, image, *sampler, operands);
   if (tex->sampler_dim != GLSL_SAMPLER_DIM_2D || operands.gathered || operands.comparator ||
       operands.type != nir_type_float32)
      return Error{unsupported_access(deref)};
   return sample_converted(b, image, *sampler, operands);
}

/// The first components of a color, and its residency behind them.
nir_def *with_residency(nir_builder *b, nir_def *color, unsigned components)
{
   return append_component(b, nir_trim_vector(b, color, components - 1), nir_channel(b, color, 4));
}

} // namespace

nir_lower_tex_options projection_options()
{
   nir_lower_tex_options options = {};
   options.lower_txp = ~0u;
   return options;
}

nir_lower_tex_options sampling_options()
{
   nir_lower_tex_options options = projection_options();
   options.lower_txf_offset = true;
   options.lower_txs_lod = true;
   options.lower_tg4_offsets = true;
   return options;
}

Result<bool> lower_sampling(nir_shader *nir, std::span<const BindingLayout> bindings,
                            bool may_have_tiles)
{
   nir_builder b = nir_builder_create(nir_shader_get_entrypoint(nir));
   std::vector<nir_tex_instr *> work;
   nir_foreach_block(block, b.impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_tex &&
             nir_instr_as_tex(instr)->sampler_dim != GLSL_SAMPLER_DIM_BUF)
            work.push_back(nir_instr_as_tex(instr));
      }
   }
   for (nir_tex_instr *tex : work) {
      b.cursor = nir_before_instr(&tex->instr);
      const Result<nir_def *> result = lower(&b, tex, bindings, may_have_tiles);
      if (!result)
         return result.error();
      const unsigned components = tex->def.num_components;
      nir_def_replace(&tex->def, tex->is_sparse ? with_residency(&b, *result, components)
                                                : nir_trim_vector(&b, *result, components));
   }
   nir_metadata_preserve(b.impl, work.empty() ? nir_metadata_all : nir_metadata_none);
   return bool(!work.empty());
}

} // namespace weft
