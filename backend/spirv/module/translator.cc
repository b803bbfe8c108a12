// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/translator.h"

#include "backend/spirv/module/matrix_types.h"
#include "backend/spirv/passes/lower_small_arithmetic.h"

#include <algorithm>

namespace weft::spirv {

Translator::Translator(nir_shader *nir, const Driver &driver, const ShaderSource &source)
    : shader(nir), driver(driver), restricted(restrict_bindings(source.spirv)), buffers(*this),
      global_memory(*this), push_constants(*this), resources(*this), variables(*this),
      values(nir_shader_get_entrypoint(nir)->ssa_alloc)
{
}

void Translator::fail(const std::string &reason)
{
   if (error.empty())
      error = reason;
}

void Translator::extension(const char *name, uint32_t version)
{
   if (driver.spirv_version < version)
      m.extension(name);
}

/* ---- types and constants ---- */

Id Translator::type(Kind kind, unsigned bits)
{
   switch (kind) {
   case Kind::boolean:
      return m.type_bool();
   case Kind::integer:
      return m.type_uint(held_bits(bits));
   case Kind::real:
      return m.type_float(bits);
   }
   return 0;
}

Id Translator::type(const glsl_type *t)
{
   if (glsl_type_is_array(t)) {
      const Id length = m.constant_uint(std::max(glsl_get_length(t), 1u));
      return m.type(SpvOpTypeArray, {type(glsl_get_array_element(t)), length});
   }
   if (glsl_type_is_struct_or_ifc(t)) {
      Words members;
      for (unsigned i = 0; i < glsl_get_length(t); ++i)
         members.push_back(type(glsl_get_struct_field(t, i)));
      return m.type(SpvOpTypeStruct, members);
   }
   if (glsl_type_is_cmat(t))
      return matrix_type(*this, t);
   if (glsl_type_is_matrix(t)) {
      const Id column = type(glsl_get_column_type(t));
      return m.type(SpvOpTypeArray, {column, m.constant_uint(glsl_get_matrix_columns(t))});
   }
   if (!glsl_type_is_vector_or_scalar(t) || glsl_get_vector_elements(t) > 4) {
      fail(std::string("a private variable of the type ") + glsl_get_type_name(t) +
           " is not supported");
      return m.type_uint(32);
   }
   return m.type_vector(type(kind_of(t), glsl_get_bit_size(t)), glsl_get_vector_elements(t));
}

Kind Translator::kind_of(const glsl_type *t) const
{
   if (glsl_type_is_boolean(t))
      return Kind::boolean;
   const bool is_real =
      glsl_type_is_float_16_32_64(t) && (has_half_floats(driver) || glsl_get_bit_size(t) != 16);
   return is_real ? Kind::real : Kind::integer;
}

Id Translator::constant(Kind kind, unsigned bits, uint64_t value)
{
   if (kind == Kind::boolean)
      return m.constant_bool(value != 0);
   if (bits < 64)
      value &= (uint64_t(1) << bits) - 1;
   const Id id = m.constant(type(kind, bits), bits, value);
   constant_bits[id] = value;
   return id;
}

/* ---- values ---- */

Scalar Translator::scalar(nir_scalar s)
{
   const std::vector<Scalar> &components = values[s.def->index];
   if (s.comp < components.size() && components[s.comp].id)
      return components[s.comp];
   fail("a value is used before it is defined");
   return {zero(s.def->bit_size == 1 ? Kind::boolean : Kind::integer, s.def->bit_size),
           Kind::integer};
}

Id Translator::cast(Id id, Kind from, Kind to, unsigned bits)
{
   if (from == to)
      return id;
   if (const auto known = constant_bits.find(id); known != constant_bits.end())
      return constant(to, bits, known->second);
   Id &result = casts[{id, to}];
   if (!result)
      result = bits == held_bits(bits) ? m.emit(SpvOpBitcast, type(to, bits), {id})
                                       : cast_half(id, from, to);
   return result;
}

/// Without 16-bit integers, packing preserves a half's value in a word.
Id Translator::cast_half(Id id, Kind from, Kind to)
{
   const Id half = m.type_float(16), real = m.type_float(32), pair = m.type_vector(real, 2);
   if (from == Kind::real && to == Kind::integer) {
      const Id wide = m.emit(SpvOpFConvert, real, {id});
      const Id both = m.emit(SpvOpCompositeConstruct, pair, {wide, constant(Kind::real, 32, 0)});
      return glsl450(GLSLstd450PackHalf2x16, m.type_uint(32), {both});
   }
   const Id both = glsl450(GLSLstd450UnpackHalf2x16, pair, {id});
   return m.emit(SpvOpFConvert, half, {extract(both, real, 0)});
}

Id Translator::get(nir_scalar s, Kind kind)
{
   const Scalar value = scalar(s);
   return cast(value.id, value.kind, s.def->bit_size == 1 ? Kind::boolean : kind, s.def->bit_size);
}

Id Translator::get(const nir_src &source, unsigned component, Kind kind)
{
   return get(nir_get_scalar(source.ssa, component), kind);
}

Id Translator::get_vector(const nir_src &source, Kind kind, unsigned components)
{
   Words ids;
   for (unsigned i = 0; i < (components ? components : source.ssa->num_components); ++i)
      ids.push_back(get(source, i, kind));
   return vector(source.ssa->bit_size == 1 ? Kind::boolean : kind, source.ssa->bit_size, ids);
}

void Translator::define(const nir_def &def, unsigned component, Id id, Kind kind)
{
   std::vector<Scalar> &components = values[def.index];
   components.resize(def.num_components);
   components[component] = {id, kind};
}

void Translator::define_vector(const nir_def &def, Id id, Kind kind)
{
   if (def.num_components == 1) {
      define(def, 0, id, kind);
      return;
   }
   const Id component = type(kind, def.bit_size);
   for (unsigned i = 0; i < def.num_components; ++i)
      define(def, i, extract(id, component, i), kind);
}

Id Translator::vector(Kind kind, unsigned bits, const Words &components)
{
   if (components.size() == 1)
      return components[0];
   return m.emit(SpvOpCompositeConstruct,
                 m.type_vector(type(kind, bits), unsigned(components.size())), components);
}

Id Translator::extract(Id composite, Id component_type, unsigned index)
{
   return m.emit(SpvOpCompositeExtract, component_type, {composite, index});
}

Id Translator::glsl450(GLSLstd450 op, Id result_type, std::initializer_list<uint32_t> operands)
{
   Words words = {m.extended_instructions("GLSL.std.450"), uint32_t(op)};
   words.insert(words.end(), operands);
   return m.emit(SpvOpExtInst, result_type, words);
}

void Translator::begin_block(Id label)
{
   m.label(label);
   casts.clear();
}

} // namespace weft::spirv
