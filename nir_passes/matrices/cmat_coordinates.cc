// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/cmat_coordinates.h"

namespace weft::cmat {

namespace {

/// A number type that emits NIR for the maps' arithmetic.
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

bool is_unrolled(const glsl_cmat_description &desc, uint32_t subgroup_size)
{
   const bool usual_size = uint32_t(desc.rows) * desc.cols <= 16 * 32;
   return usual_size || length(Map::registers, desc, subgroup_size) <= 64;
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

namespace {

/// The element map whose elements are the runs of a matrix.
ElementMap map_of_runs(const glsl_cmat_description &desc, uint32_t subgroup_size, const Runs &runs)
{
   return runs.in_columns ? ElementMap{desc.rows / runs.length, desc.cols, subgroup_size}
                          : ElementMap{desc.rows, desc.cols / runs.length, subgroup_size};
}

} // namespace

Runs runs_of(const nir_intrinsic_instr *instr)
{
   const uint32_t length =
      nir_intrinsic_has_run_length(instr) ? nir_intrinsic_run_length(instr) : instr->num_components;
   return {length, nir_intrinsic_matrix_layout(instr) != GLSL_MATRIX_LAYOUT_ROW_MAJOR};
}

uint32_t run_count(Map map, const glsl_cmat_description &desc, uint32_t subgroup_size,
                   const Runs &runs)
{
   if (map == Map::dense) {
      const bool whole = (runs.in_columns ? desc.rows : desc.cols) % runs.length == 0;
      return whole ? map_of_runs(desc, subgroup_size, runs).length() : 0;
   }
   const RegisterMap r = register_map(desc, subgroup_size);
   const bool whole = (runs.in_columns ? r.block_rows() : r.block_cols()) % runs.length == 0;
   return whole ? r.length() / runs.length : 0;
}

Coordinates run_coordinates(nir_builder *b, Map map, const glsl_cmat_description &desc,
                            uint32_t subgroup_size, const Runs &runs, nir_def *number)
{
   if (map == Map::registers)
      return coordinates(b, map, desc, subgroup_size,
                         run_begin(b, map, desc, subgroup_size, runs, number));
   const auto first =
      map_of_runs(desc, subgroup_size, runs).element(running_invocation(b), Expression{b, number});
   return {runs.in_columns ? (first.row * runs.length).def : first.row.def,
           runs.in_columns ? first.col.def : (first.col * runs.length).def};
}

bool has_runs_outside(Map map, const glsl_cmat_description &desc, uint32_t subgroup_size,
                      const Runs &runs)
{
   return map == Map::dense && uint32_t(desc.rows) * desc.cols / runs.length % subgroup_size != 0;
}

nir_def *run_begin(nir_builder *b, Map map, const glsl_cmat_description &desc,
                   uint32_t subgroup_size, const Runs &runs, nir_def *number)
{
   const Expression n = {b, number};
   if (map == Map::registers) {
      const uint32_t cols = register_map(desc, subgroup_size).block_cols();
      return runs.in_columns ? (n / cols * (runs.length * cols) + n % cols).def
                             : (n * runs.length).def;
   }
   const Expression run = n * subgroup_size + running_invocation(b);
   return runs.in_columns
             ? (run / desc.cols * (runs.length * uint32_t(desc.cols)) + run % desc.cols).def
             : (run * runs.length).def;
}

uint32_t run_step(Map map, const glsl_cmat_description &desc, uint32_t subgroup_size,
                  const Runs &runs)
{
   if (!runs.in_columns)
      return 1;
   return map == Map::dense ? desc.cols : register_map(desc, subgroup_size).block_cols();
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
