// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/resources.h"

#include "backend/spirv/module/image_formats.h"
#include "backend/spirv/module/translator.h"

#include "compiler/nir/nir_deref.h"

#include <algorithm>

namespace weft::spirv {

namespace {

SpvDim dim_of(const glsl_type *type)
{
   switch (glsl_get_sampler_dim(type)) {
   case GLSL_SAMPLER_DIM_1D:
      return SpvDim1D;
   case GLSL_SAMPLER_DIM_3D:
      return SpvDim3D;
   case GLSL_SAMPLER_DIM_CUBE:
      return SpvDimCube;
   case GLSL_SAMPLER_DIM_BUF:
      return SpvDimBuffer;
   default:
      return SpvDim2D;
   }
}

bool is_resource(const nir_variable *var)
{
   return var->data.mode == nir_var_image || var->data.mode == nir_var_uniform;
}

} // namespace

bool has_signed_texels(const glsl_type *type)
{
   const glsl_base_type component = glsl_get_sampler_result_type(type);
   return component == GLSL_TYPE_INT || component == GLSL_TYPE_INT64;
}

bool is_multisampled(const glsl_type *type)
{
   return glsl_get_sampler_dim(type) == GLSL_SAMPLER_DIM_MS;
}

Resources::Resources(Translator &translator) : t(translator), m(translator.m) {}

Id Resources::texel_type(const glsl_type *type)
{
   const glsl_base_type component = glsl_get_sampler_result_type(type);
   switch (component) {
   case GLSL_TYPE_FLOAT:
      return m.type_float(32);
   case GLSL_TYPE_INT:
   case GLSL_TYPE_UINT:
      return m.type_int(32, component == GLSL_TYPE_INT);
   case GLSL_TYPE_INT64:
   case GLSL_TYPE_UINT64:
      m.capability(SpvCapabilityInt64ImageEXT);
      m.extension("SPV_EXT_shader_image_int64");
      return m.type_int(64, component == GLSL_TYPE_INT64);
   default:
      t.fail("an image of another component type than 32-bit floats and integers of 32 and 64 bits "
             "is not supported");
      return m.type_uint(32);
   }
}

Id Resources::image_type(const glsl_type *type, const nir_variable *var)
{
   const bool storage = glsl_type_is_image(type), array = glsl_sampler_type_is_array(type);
   const SpvDim dim = dim_of(type);
   const SpvImageFormat format =
      storage ? image_format(var->data.image.format) : SpvImageFormatUnknown;

   if (dim == SpvDim1D)
      m.capability(storage ? SpvCapabilityImage1D : SpvCapabilitySampled1D);
   if (dim == SpvDimBuffer)
      m.capability(storage ? SpvCapabilityImageBuffer : SpvCapabilitySampledBuffer);
   if (dim == SpvDimCube && array)
      m.capability(storage ? SpvCapabilityImageCubeArray : SpvCapabilitySampledCubeArray);
   if (is_multisampled(type) && storage)
      m.capability(array ? SpvCapabilityImageMSArray : SpvCapabilityStorageImageMultisample);
   if (is_extended_format(format))
      m.capability(SpvCapabilityStorageImageExtendedFormats);
   return m.type(SpvOpTypeImage,
                 {texel_type(type), uint32_t(dim),
                  glsl_type_is_sampler(type) && glsl_sampler_type_is_shadow(type), array,
                  is_multisampled(type), storage ? 2u : 1u, uint32_t(format)});
}

Id Resources::type_of(const glsl_type *type, const nir_variable *var)
{
   if (glsl_type_is_array(type)) {
      const Id element = type_of(glsl_get_array_element(type), var);
      if (glsl_get_length(type) > 0)
         return m.type(SpvOpTypeArray, {element, m.constant_uint(glsl_get_length(type))});
      m.capability(SpvCapabilityRuntimeDescriptorArray);
      t.extension("SPV_EXT_descriptor_indexing", 0x00010500);
      return m.type(SpvOpTypeRuntimeArray, {element});
   }
   if (glsl_type_is_bare_sampler(type))
      return m.type(SpvOpTypeSampler);
   const Id image = image_type(type, var);
   return glsl_type_is_sampler(type) ? m.type(SpvOpTypeSampledImage, {image}) : image;
}

Id Resources::variable(nir_variable *var)
{
   Id &id = variables[var];
   if (id)
      return id;
   id = m.global_variable(m.type_pointer(SpvStorageClassUniformConstant, type_of(var->type, var)),
                          SpvStorageClassUniformConstant);
   m.name(id, var->name);
   m.decorate(id, SpvDecorationDescriptorSet, {uint32_t(var->data.descriptor_set)});
   m.decorate(id, SpvDecorationBinding, {uint32_t(var->data.binding)});
   if (glsl_type_is_image(glsl_without_array(var->type))) {
      if (var->data.access & ACCESS_NON_WRITEABLE)
         m.decorate(id, SpvDecorationNonWritable);
      if (var->data.access & ACCESS_NON_READABLE)
         m.decorate(id, SpvDecorationNonReadable);
      if (t.restricted.contains({uint32_t(var->data.descriptor_set), uint32_t(var->data.binding)}))
         m.decorate(id, SpvDecorationRestrict);
   }
   return id;
}

void Resources::require_indexing(const glsl_type *type, bool non_uniform)
{
   const bool storage = glsl_type_is_image(type);
   const bool texels = !glsl_type_is_bare_sampler(type) && dim_of(type) == SpvDimBuffer;
   if (!texels)
      m.capability(storage ? SpvCapabilityStorageImageArrayDynamicIndexing
                           : SpvCapabilitySampledImageArrayDynamicIndexing);
   else
      m.capability(storage ? SpvCapabilityStorageTexelBufferArrayDynamicIndexing
                           : SpvCapabilityUniformTexelBufferArrayDynamicIndexing);
   if (texels || non_uniform)
      t.extension("SPV_EXT_descriptor_indexing", 0x00010500);
   if (!non_uniform)
      return;
   m.capability(SpvCapabilityShaderNonUniform);
   if (!texels)
      m.capability(storage ? SpvCapabilityStorageImageArrayNonUniformIndexing
                           : SpvCapabilitySampledImageArrayNonUniformIndexing);
   else
      m.capability(storage ? SpvCapabilityStorageTexelBufferArrayNonUniformIndexing
                           : SpvCapabilityUniformTexelBufferArrayNonUniformIndexing);
}

Resource Resources::find(nir_deref_instr *deref, bool non_uniform)
{
   nir_variable *var = nir_deref_instr_get_variable(deref);
   if (!var || !is_resource(var)) {
      t.fail("a pointer that may point to several images is not supported");
      return {};
   }
   Resource r = {};
   r.type = deref->type;
   r.var = var;
   Words operands;
   bool varying = false;
   for (nir_deref_instr *d = deref; d->deref_type != nir_deref_type_var;
        d = nir_deref_instr_parent(d)) {
      if (d->deref_type != nir_deref_type_array) {
         t.fail("a pointer to an image of another type is not supported");
         return {};
      }
      operands.push_back(t.get(d->arr.index, Kind::integer));
      varying |= !nir_src_is_const(d->arr.index);
   }
   operands.push_back(variable(var));
   std::ranges::reverse(operands);
   r.value_type = type_of(deref->type, var);
   r.non_uniform = non_uniform && varying;
   if (varying)
      require_indexing(deref->type, r.non_uniform);
   r.pointer = operands[0];
   if (operands.size() > 1) {
      r.pointer = m.emit(SpvOpAccessChain,
                         m.type_pointer(SpvStorageClassUniformConstant, r.value_type), operands);
      if (r.non_uniform)
         m.decorate(r.pointer, SpvDecorationNonUniform);
   }
   return r;
}

Id Resources::load(const Resource &r)
{
   const Id value = m.emit(SpvOpLoad, r.value_type, {r.pointer});
   if (r.non_uniform)
      m.decorate(value, SpvDecorationNonUniform);
   return value;
}

void Resources::define_texel(const nir_def &def, Id vector, const glsl_type *type,
                             unsigned components)
{
   if (def.bit_size < 32)
      t.fail("texels of 16 bits are not supported");
   const bool is_float = glsl_get_sampler_result_type(type) == GLSL_TYPE_FLOAT;
   if (has_signed_texels(type))
      vector = m.emit(SpvOpBitcast, m.type_vector(m.type_uint(def.bit_size), components), {vector});
   const Kind kind = is_float ? Kind::real : Kind::integer;
   if (components == 1)
      return t.define(def, 0, vector, kind);
   for (unsigned i = 0; i < def.num_components; ++i)
      t.define(def, i, t.extract(vector, t.type(kind, def.bit_size), std::min(i, components - 1)),
               kind);
}

} // namespace weft::spirv
