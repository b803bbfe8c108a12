// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/split_context.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_description.h"

#include <utility>

namespace weft::cmat {

SplitContext::SplitContext(nir_shader *nir, const SplitOptions &options)
    : options(options), b(nir_builder_create(nir_shader_get_entrypoint(nir))),
      types(nir, [this](const glsl_cmat_description &desc) { return split_type(desc); })
{
}

/* ---- types ---- */

TileGrid SplitContext::grid(const glsl_cmat_description &matrix) const
{
   const glsl_cmat_description tile = tile_of(matrix);
   return {.matrix = {matrix.rows, matrix.cols}, .tile = {tile.rows, tile.cols}};
}

const glsl_type *SplitContext::split_type(const glsl_cmat_description &matrix) const
{
   const glsl_cmat_description tile = tile_of(matrix);
   const uint32_t tiles = grid(matrix).tiles();
   return tiles == 1 ? glsl_cmat_type(&tile) : glsl_array_type(glsl_cmat_type(&tile), tiles, 0);
}

bool SplitContext::are_split_alike(const glsl_cmat_description &x,
                                   const glsl_cmat_description &y) const
{
   return grid(x).tile == grid(y).tile;
}

/* ---- tiles ---- */

nir_def *SplitContext::tile(const Matrix &matrix, nir_def *number)
{
   return grid(matrix.desc).tiles() == 1 ? &matrix.deref->def
                                         : &nir_build_deref_array(&b, matrix.deref, number)->def;
}

nir_def *SplitContext::tile(const Matrix &matrix, nir_def *row, nir_def *col)
{
   return tile(matrix, nir_iadd(&b, nir_imul_imm(&b, row, grid(matrix.desc).cols()), col));
}

void SplitContext::count_to(uint32_t count, uint32_t max_unrolled,
                            const std::function<void(nir_def *)> &body)
{
   if (count > max_unrolled)
      return build_loop(&b, count, body);
   for (uint32_t i = 0; i < count; ++i)
      body(nir_imm_int(&b, int(i)));
}

void SplitContext::for_each_tile(const glsl_cmat_description &desc,
                                 const std::function<void(nir_def *)> &body)
{
   count_to(grid(desc).tiles(), max_unrolled_tiles, body);
}

void SplitContext::for_each_tile_in_grid(const glsl_cmat_description &desc,
                                         const std::function<void(const Tile &)> &body,
                                         bool by_columns)
{
   const TileGrid g = grid(desc);
   const auto tile_at = [&](nir_def *row, nir_def *col, const TileGrid::Size &extent) {
      return Tile{nir_iadd(&b, nir_imul_imm(&b, row, g.cols()), col), row, col, extent};
   };
   if (g.tiles() <= max_unrolled_tiles) {
      for (uint32_t i = 0; i < g.tiles(); ++i) {
         const TileGrid::Position p = g.position(i, by_columns);
         nir_def *col = nir_imm_int(&b, int(p.col)), *row = nir_imm_int(&b, int(p.row));
         body(tile_at(row, col, g.extent(p)));
      }
      return;
   }
   for (const TileGrid::Region &region : g.regions()) {
      if (region.count.area() == 0)
         continue;
      build_loop(&b, region.count.area(), [&](nir_def *i) {
         const uint32_t line = by_columns ? region.count.rows : region.count.cols;
         nir_def *row = nir_udiv_imm(&b, i, line), *col = nir_umod_imm(&b, i, line);
         if (by_columns)
            std::swap(row, col);
         col = nir_iadd_imm(&b, col, region.first.col);
         row = nir_iadd_imm(&b, row, region.first.row);
         Tile t = tile_at(row, col, region.extent);
         if (!by_columns && region.first.row == 0 && region.count.cols == g.cols())
            t.number = i;
         body(t);
      });
   }
}

bool SplitContext::is_one_stack(const glsl_cmat_description &desc) const
{
   constexpr uint32_t max_rows = 1024; // of a description
   const TileGrid g = grid(desc);
   return g.tiles() > max_unrolled_tiles && g.stacked(g.tiles()).rows <= max_rows &&
          options.form == MatrixForm::private_tiles &&
          !has_outside(Map::dense, tile_of(desc), options.subgroup_size);
}

nir_def *SplitContext::all_tiles(const Matrix &matrix)
{
   glsl_cmat_description all = tile_of(matrix.desc);
   all.rows *= grid(matrix.desc).tiles();
   return &nir_build_deref_cast(&b, &matrix.deref->def, matrix.deref->modes, glsl_cmat_type(&all),
                                0)
              ->def;
}

void SplitContext::for_each_part(const glsl_cmat_description &desc,
                                 const std::function<void(const PartOf &)> &body)
{
   if (is_one_stack(desc))
      return body([&](const Matrix &matrix) { return all_tiles(matrix); });
   for_each_tile(desc,
                 [&](nir_def *i) { body([&](const Matrix &matrix) { return tile(matrix, i); }); });
}

/* ---- elements ---- */

uint32_t SplitContext::components(const glsl_cmat_description &matrix) const
{
   return length(Map::dense, tile_of(matrix), options.subgroup_size);
}

Coordinates SplitContext::coordinates(const glsl_cmat_description &matrix, nir_def *component)
{
   return cmat::coordinates(&b, Map::dense, tile_of(matrix), options.subgroup_size, component);
}

Coordinates SplitContext::in_matrix(const glsl_cmat_description &desc, nir_def *tile_number,
                                    const Coordinates &in_tile)
{
   const TileGrid g = grid(desc);
   nir_def *tile_row = nir_udiv_imm(&b, tile_number, g.cols());
   nir_def *tile_col = nir_umod_imm(&b, tile_number, g.cols());
   return {nir_iadd(&b, in_tile.row, nir_imul_imm(&b, tile_row, g.tile.rows)),
           nir_iadd(&b, in_tile.col, nir_imul_imm(&b, tile_col, g.tile.cols))};
}

nir_def *SplitContext::is_in(const Coordinates &element, const TileGrid::Size &extent)
{
   return nir_iand(&b, nir_ult_imm(&b, element.row, extent.rows),
                   nir_ult_imm(&b, element.col, extent.cols));
}

/* ---- padding ---- */

bool SplitContext::has_zero_padding(const glsl_cmat_description &desc) const
{
   const TileGrid g = grid(desc);
   return (desc.use == GLSL_CMAT_USE_A && g.pads_cols()) ||
          (desc.use == GLSL_CMAT_USE_B && g.pads_rows());
}

void SplitContext::clear_padding(const Matrix &matrix)
{
   if (!has_zero_padding(matrix.desc))
      return;
   const unsigned bits = component_bits(matrix.desc);
   for_each_tile_in_grid(matrix.desc, [&](const Tile &t) {
      if (!grid(matrix.desc).is_padded(t.extent))
         return;
      nir_def *padded = tile(matrix, t.number);
      build_loop(&b, components(matrix.desc), [&](nir_def *component) {
         nir_def *value = nir_cmat_extract(&b, bits, padded, component);
         nir_def *zero = nir_imm_intN_t(&b, 0, bits);
         value = nir_bcsel(&b, is_in(coordinates(matrix.desc, component), t.extent), value, zero);
         nir_cmat_insert(&b, padded, value, padded, component);
      });
   });
}

} // namespace weft::cmat
