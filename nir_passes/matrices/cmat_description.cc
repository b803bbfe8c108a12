// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/cmat_description.h"

#include <algorithm>

namespace weft {

namespace {

const ComponentTypeInfo *declared_type(const glsl_cmat_description &desc)
{
   const auto types = component_types();
   const auto info = std::ranges::find(types, desc.element_type, &ComponentTypeInfo::base_type);
   return info != types.end() ? &*info : nullptr;
}

bool has_kind(const glsl_cmat_description &desc, NumberKind kind)
{
   const ComponentTypeInfo *info = declared_type(desc);
   return info && info->kind == kind;
}

} // namespace

std::optional<ComponentType> component_type(glsl_base_type base, bool is_signed)
{
   const auto types = component_types();
   const auto declared = std::ranges::find(types, base, &ComponentTypeInfo::base_type);
   if (declared == types.end())
      return std::nullopt;
   if (declared->kind == NumberKind::real)
      return declared->type;
   const NumberKind kind = is_signed ? NumberKind::signed_integer : NumberKind::unsigned_integer;
   return std::ranges::find_if(types,
                               [&](const ComponentTypeInfo &info) {
                                  return info.kind == kind && info.bits == declared->bits;
                               })
      ->type;
}

std::optional<ComponentType> component_type(const glsl_cmat_description &desc)
{
   const ComponentTypeInfo *info = declared_type(desc);
   return info ? std::optional(info->type) : std::nullopt;
}

unsigned component_bits(const glsl_cmat_description &desc)
{
   return glsl_base_type_get_bit_size(glsl_base_type(desc.element_type));
}

bool has_signed_components(const glsl_cmat_description &desc)
{
   return has_kind(desc, NumberKind::signed_integer);
}

bool has_real_components(const glsl_cmat_description &desc)
{
   return has_kind(desc, NumberKind::real);
}

uint32_t pointee_bytes(const nir_deref_instr *pointer)
{
   return glsl_get_vector_elements(pointer->type) * glsl_get_bit_size(pointer->type) / 8;
}

nir_deref_instr *cmat_unit_pointer(nir_builder *b, nir_deref_instr *pointer,
                                   const glsl_cmat_description &desc)
{
   const uint32_t bytes = pointee_bytes(pointer),
                  unit = std::max(component_bits(desc) / 8, std::min(bytes & -bytes, 4u));
   const glsl_type *type = glsl_uintN_t_type(unit * 8);
   return pointer->type == type
             ? pointer
             : nir_build_deref_cast(b, &pointer->def, pointer->modes, type, unit);
}

const char *describe(glsl_cmat_use use)
{
   switch (use) {
   case GLSL_CMAT_USE_A:
      return "A";
   case GLSL_CMAT_USE_B:
      return "B";
   case GLSL_CMAT_USE_ACCUMULATOR:
      return "accumulator";
   default:
      return "no use";
   }
}

std::string describe(const glsl_cmat_description &desc)
{
   const auto type = component_type(desc);
   return std::to_string(desc.rows) + "x" + std::to_string(desc.cols) + " " +
          (type ? component_type_name(*type) : "of an unknown type") + " (" +
          describe(glsl_cmat_use(desc.use)) + ")";
}

} // namespace weft
