// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sampling, fetching and gathering. Compute shaders have no derivatives, so every level of detail
/// is explicit.

#include "backend/spirv/emit/emit.h"
#include "backend/spirv/module/translator.h"
#include "backend/spirv/passes/lower_single_levels.h"

namespace weft::spirv {

namespace {

/// Translates one NIR instruction.
class Texture {
public:
   Texture(Translator &t, nir_tex_instr *tex) : t(t), m(t.m), tex(*tex) {}

   void emit()
   {
      nir_deref_instr *texture = deref(nir_tex_src_texture_deref),
                      *sampler = deref(nir_tex_src_sampler_deref);
      image = t.resources.find(texture, tex.texture_non_uniform);
      if (!image.var)
         return;

      switch (tex.op) {
      case nir_texop_txl:
      case nir_texop_txd:
         return emit_sample(sampler);
      case nir_texop_tg4:
         return emit_gather(sampler);
      case nir_texop_txf:
      case nir_texop_txf_ms:
         return emit_fetch();
      case nir_texop_txs:
      case nir_texop_query_levels:
      case nir_texop_texture_samples:
         return emit_query();
      default:
         return t.fail("a texture operation passed validation but has no translation");
      }
   }

private:
   const nir_src *source(nir_tex_src_type type) const
   {
      const int at = nir_tex_instr_src_index(&tex, type);
      return at < 0 ? nullptr : &tex.src[at].src;
   }

   nir_deref_instr *deref(nir_tex_src_type type) const
   {
      const nir_src *s = source(type);
      return s ? nir_src_as_deref(*s) : nullptr;
   }

   bool is_combined() const
   {
      return glsl_type_is_sampler(image.type) && !glsl_type_is_bare_sampler(image.type);
   }

   Id sampled_image(nir_deref_instr *sampler_deref)
   {
      const Id value = t.resources.load(image);
      if (is_combined())
         return value;
      const Resource sampler =
         sampler_deref ? t.resources.find(sampler_deref, tex.sampler_non_uniform) : Resource{};
      if (!sampler.var) {
         t.fail("sampling without a sampler is not supported");
         return value;
      }
      const Id result = m.emit(SpvOpSampledImage, m.type(SpvOpTypeSampledImage, {image.value_type}),
                               {value, t.resources.load(sampler)});
      if (image.non_uniform || sampler.non_uniform)
         m.decorate(result, SpvDecorationNonUniform);
      return result;
   }

   /// The image of a combined image and sampler.
   Id plain_image()
   {
      const Id value = t.resources.load(image);
      if (!is_combined())
         return value;
      const Id result = m.emit(SpvOpImage, t.resources.image_type(image.type, image.var), {value});
      if (image.non_uniform)
         m.decorate(result, SpvDecorationNonUniform);
      return result;
   }

   Id coordinate(Kind kind)
   {
      return t.get_vector(*source(nir_tex_src_coord), kind, tex.coord_components);
   }

   void operand(uint32_t bit, Id value)
   {
      mask |= bit;
      literals.push_back(value);
   }

   /// Image operands, in the order of their bits (SPIR-V 3.14).
   void add_operands(Words &words, bool integer_lod)
   {
      if (const nir_src *lod = source(nir_tex_src_lod))
         operand(SpvImageOperandsLodMask, t.get(*lod, integer_lod ? Kind::integer : Kind::real));
      if (const nir_src *ddx = source(nir_tex_src_ddx)) {
         operand(SpvImageOperandsGradMask, t.get_vector(*ddx, Kind::real));
         literals.push_back(t.get_vector(*source(nir_tex_src_ddy), Kind::real));
      }
      if (const nir_src *offset = source(nir_tex_src_offset))
         add_offset(*offset);
      if (nir_tex_instr_has_explicit_tg4_offsets(&tex))
         add_gather_offsets();
      if (const nir_src *sample = source(nir_tex_src_ms_index))
         operand(SpvImageOperandsSampleMask, t.get(*sample, Kind::integer));
      if (!mask)
         return;
      words.push_back(mask);
      words.insert(words.end(), literals.begin(), literals.end());
   }

   void add_offset(const nir_src &offset)
   {
      Words parts;
      bool constant = true;
      for (unsigned i = 0; i < offset.ssa->num_components; ++i) {
         const nir_scalar s = nir_scalar_resolved(offset.ssa, i);
         constant &= nir_scalar_is_const(s);
         parts.push_back(t.get(s, Kind::integer));
      }
      if (!constant) {
         m.capability(SpvCapabilityImageGatherExtended);
         return operand(SpvImageOperandsOffsetMask, t.vector(Kind::integer, 32, parts));
      }
      const Id type = m.type_vector(m.type_uint(32), unsigned(parts.size()));
      operand(SpvImageOperandsConstOffsetMask,
              parts.size() == 1 ? parts[0] : m.constant_composite(type, parts));
   }

   void add_gather_offsets()
   {
      m.capability(SpvCapabilityImageGatherExtended);
      const Id pair = m.type_vector(m.type_uint(32), 2);
      Words four;
      for (const auto &offset : tex.tg4_offsets) {
         four.push_back(
            m.constant_composite(pair, {t.constant(Kind::integer, 32, uint32_t(offset[0])),
                                        t.constant(Kind::integer, 32, uint32_t(offset[1]))}));
      }
      const Id array = m.type(SpvOpTypeArray, {pair, m.constant_uint(4)});
      operand(SpvImageOperandsConstOffsetsMask, m.constant_composite(array, four));
   }

   void emit_sample(nir_deref_instr *sampler)
   {
      const Id from = sampled_image(sampler);
      Words words = {from, coordinate(Kind::real)};
      const nir_src *reference = source(nir_tex_src_comparator);
      if (reference)
         words.push_back(t.get(*reference, Kind::real));
      add_operands(words, false);
      const Id texel = t.resources.texel_type(image.type);
      if (reference)
         return define_compared(m.emit(SpvOpImageSampleDrefExplicitLod, texel, words));
      t.resources.define_texel(tex.def,
                               m.emit(SpvOpImageSampleExplicitLod, m.type_vector(texel, 4), words),
                               image.type, 4);
   }

   /// Old-style shadow samplers return (c, c, c, 1), of which NIR uses only c.
   void define_compared(Id value)
   {
      for (unsigned i = 0; i < tex.def.num_components; ++i)
         t.define(tex.def, i, value, Kind::real);
   }

   void emit_gather(nir_deref_instr *sampler)
   {
      const Id from = sampled_image(sampler);
      Words words = {from, coordinate(Kind::real)};
      const nir_src *reference = source(nir_tex_src_comparator);
      words.push_back(reference ? t.get(*reference, Kind::real) : m.constant_uint(tex.component));
      add_operands(words, false);
      const Id type = m.type_vector(t.resources.texel_type(image.type), 4);
      const Id value = m.emit(reference ? SpvOpImageDrefGather : SpvOpImageGather, type, words);
      t.resources.define_texel(tex.def, value, image.type, 4);
   }

   void emit_fetch()
   {
      const Id from = plain_image();
      Words words = {from, coordinate(Kind::integer)};
      add_operands(words, true);
      const Id type = m.type_vector(t.resources.texel_type(image.type), 4);
      t.resources.define_texel(tex.def, m.emit(SpvOpImageFetch, type, words), image.type, 4);
   }

   void emit_query()
   {
      m.capability(SpvCapabilityImageQuery);
      const Id from = plain_image();
      const Id type = m.type_vector(m.type_uint(32), tex.def.num_components);
      const nir_src *lod = source(nir_tex_src_lod);
      Id value;
      if (tex.op == nir_texop_query_levels)
         value = m.emit(SpvOpImageQueryLevels, type, {from});
      else if (tex.op == nir_texop_texture_samples)
         value = m.emit(SpvOpImageQuerySamples, type, {from});
      else if (has_single_level(tex))
         value = m.emit(SpvOpImageQuerySize, type, {from});
      else
         value = m.emit(SpvOpImageQuerySizeLod, type,
                        {from, lod ? t.get(*lod, Kind::integer) : m.constant_uint(0)});
      t.define_vector(tex.def, value, Kind::integer);
   }

   Translator &t;
   ModuleBuilder &m;
   nir_tex_instr &tex;
   Resource image = {};
   uint32_t mask = 0;
   Words literals;
};

} // namespace

void emit_texture(Translator &t, nir_tex_instr *tex)
{
   Texture(t, tex).emit();
}

} // namespace weft::spirv
