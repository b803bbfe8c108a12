// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/cmat_coordinates.h"

namespace weft::cmat {

namespace {

/// A number in the maps' arithmetic.
struct Expression {
   nir_builder *b;
   nir_def *def;

   friend Expression operator+(const Expression &x, const Expression &y)
   {
      return {x.b, nir_iadd(x.b, x.def, y.def)};
   }
   friend Expression operator*(const Expression &x, uint32_t y)
   {
      return {x.b, nir_imul_imm(x.b, x.def, y)};
   }
   friend Expression operator/(const Expression &x, uint32_t y)
   {
      return {x.b, nir_udiv_imm(x.b, x.def, y)};
   }
   friend Expression operator%(const Expression &x, uint32_t y)
   {
      return {x.b, nir_umod_imm(x.b, x.def, y)};
   }
};

Expression running_invocation(nir_builder *b)
{
   return {b, nir_load_subgroup_invocation(b)};
}

} // namespace

ElementMap element_map(const glsl_cmat_description &desc, uint32_t subgroup_size)
{
   return {desc.rows, desc.cols, subgroup_size};
}

RegisterMap register_map(const glsl_cmat_description &desc, uint32_t subgroup_size)
{
   using Use = RegisterMap::Use;
   const Use use = desc.use == GLSL_CMAT_USE_A   ? Use::a
                   : desc.use == GLSL_CMAT_USE_B ? Use::b
                                                 : Use::accumulator;
   return {desc.rows, desc.cols, use, subgroup_size};
}

uint32_t length(Map map, const glsl_cmat_description &desc, uint32_t subgroup_size)
{
   return map == Map::dense ? element_map(desc, subgroup_size).length()
                            : register_map(desc, subgroup_size).length();
}

Coordinates coordinates(nir_builder *b, Map map, const glsl_cmat_description &desc,
                        uint32_t subgroup_size, nir_def *invocation, nir_def *component)
{
   const Expression i = {b, invocation}, c = {b, component};
   if (map == Map::dense) {
      const auto e = element_map(desc, subgroup_size).element(i, c);
      return {e.row.def, e.col.def};
   }
   const auto e = register_map(desc, subgroup_size).element(i, c);
   return {e.row.def, e.col.def};
}

Coordinates coordinates(nir_builder *b, Map map, const glsl_cmat_description &desc,
                        uint32_t subgroup_size, nir_def *component)
{
   return coordinates(b, map, desc, subgroup_size, running_invocation(b).def, component);
}

bool has_outside(Map map, const glsl_cmat_description &desc, uint32_t subgroup_size)
{
   return map == Map::dense && uint32_t(desc.rows) * desc.cols % subgroup_size != 0;
}

Owner owner(nir_builder *b, const RegisterMap &map, const Coordinates &at)
{
   const auto o = map.owner(RegisterMap::Position<Expression>{{b, at.row}, {b, at.col}});
   return {o.invocation.def, o.component.def};
}

Coordinates origin(nir_builder *b, const RegisterMap &map)
{
   const auto first = map.origin(running_invocation(b));
   return {first.row.def, first.col.def};
}

nir_def *stores(nir_builder *b, const RegisterMap &map)
{
   const auto place = map.place(running_invocation(b));
   nir_def *stores = nir_imm_true(b);
   if (map.blocks().rows < map.grid().rows)
      stores = nir_ult_imm(b, place.row.def, map.blocks().rows);
   if (map.blocks().cols < map.grid().cols)
      stores = nir_iand(b, stores, nir_ult_imm(b, place.col.def, map.blocks().cols));
   return stores;
}

} // namespace weft::cmat
