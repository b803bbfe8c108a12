// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Storage images and texel buffers.

#include "backend/spirv/emit/emit.h"
#include "backend/spirv/module/image_formats.h"
#include "backend/spirv/module/memory_model.h"
#include "backend/spirv/module/translator.h"

namespace weft::spirv {

namespace {

Words image_operands(Translator &t, unsigned access, bool store, std::optional<Id> sample)
{
   uint32_t mask = 0;
   Words literals;
   if (sample) {
      mask |= SpvImageOperandsSampleMask;
      literals.push_back(*sample);
   }
   mask |= SpvImageOperandsNonPrivateTexelMask;
   if (access & ACCESS_VOLATILE)
      mask |= SpvImageOperandsVolatileTexelMask;
   if (access & ACCESS_COHERENT) {
      mask |= store ? SpvImageOperandsMakeTexelAvailableMask : SpvImageOperandsMakeTexelVisibleMask;
      literals.push_back(scope(t, device_scope(t)));
   }
   literals.insert(literals.begin(), mask);
   return literals;
}

} // namespace

bool emit_image(Translator &t, nir_intrinsic_instr *instr)
{
   switch (instr->intrinsic) {
   case nir_intrinsic_image_deref_load:
   case nir_intrinsic_image_deref_store:
   case nir_intrinsic_image_deref_atomic:
   case nir_intrinsic_image_deref_atomic_swap:
   case nir_intrinsic_image_deref_size:
   case nir_intrinsic_image_deref_samples:
      break;
   default:
      return false;
   }

   const unsigned access = nir_intrinsic_access(instr);
   const Resource r =
      t.resources.find(nir_src_as_deref(instr->src[0]), access & ACCESS_NON_UNIFORM);
   if (!r.var)
      return true;
   const Id texel = t.resources.texel_type(r.type), texels = t.m.type_vector(texel, 4);
   const bool is_float = glsl_get_sampler_result_type(r.type) == GLSL_TYPE_FLOAT;
   const Kind kind = is_float ? Kind::real : Kind::integer;
   const auto coordinate = [&] {
      return t.get_vector(instr->src[1], Kind::integer,
                          glsl_get_sampler_coordinate_components(r.type));
   };
   const auto sample = [&]() -> std::optional<Id> {
      return is_multisampled(r.type) ? std::optional(t.get(instr->src[2], Kind::integer))
                                     : std::nullopt;
   };
   const auto with_operands = [&](Words operands, bool store) {
      const Words more = image_operands(t, access, store, sample());
      operands.insert(operands.end(), more.begin(), more.end());
      return operands;
   };
   const bool unknown_format = image_format(r.var->data.image.format) == SpvImageFormatUnknown;

   switch (instr->intrinsic) {
   case nir_intrinsic_image_deref_load: {
      if (unknown_format)
         t.m.capability(SpvCapabilityStorageImageReadWithoutFormat);
      const Id image = t.resources.load(r), at = coordinate();
      t.resources.define_texel(instr->def,
                               t.m.emit(SpvOpImageRead, texels, with_operands({image, at}, false)),
                               r.type, 4);
      return true;
   }
   case nir_intrinsic_image_deref_store: {
      if (unknown_format)
         t.m.capability(SpvCapabilityStorageImageWriteWithoutFormat);
      const Id image = t.resources.load(r), at = coordinate();
      Id value = t.get_vector(instr->src[3], kind);
      if (has_signed_texels(r.type))
         value = t.m.emit(SpvOpBitcast, t.m.type_vector(texel, instr->src[3].ssa->num_components),
                          {value});
      t.m.emit(SpvOpImageWrite, with_operands({image, at, value}, true));
      return true;
   }
   case nir_intrinsic_image_deref_atomic:
   case nir_intrinsic_image_deref_atomic_swap: {
      const Id pointer =
         t.m.emit(SpvOpImageTexelPointer, t.m.type_pointer(SpvStorageClassImage, texel),
                  {r.pointer, coordinate(), sample().value_or(t.m.constant_uint(0))});
      if (r.non_uniform)
         t.m.decorate(pointer, SpvDecorationNonUniform);
      emit_atomic_at(t, instr, {pointer, SpvStorageClassImage}, 3, kind, texel);
      return true;
   }
   case nir_intrinsic_image_deref_size: {
      t.m.capability(SpvCapabilityImageQuery);
      const Id type = t.m.type_vector(t.m.type_uint(32), instr->def.num_components);
      t.define_vector(instr->def, t.m.emit(SpvOpImageQuerySize, type, {t.resources.load(r)}),
                      Kind::integer);
      return true;
   }
   default:
      t.m.capability(SpvCapabilityImageQuery);
      t.define(instr->def, 0,
               t.m.emit(SpvOpImageQuerySamples, t.m.type_uint(32), {t.resources.load(r)}),
               Kind::integer);
      return true;
   }
}

} // namespace weft::spirv
