// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Finds the tile and the place in it of components of the running invocation, of runs of
/// components, and of single elements. Components are numbered tile by tile.

#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/copies/lower_cmat_inserts.h"
#include "nir_passes/matrices/shapes/split_context.h"

namespace weft::cmat {

namespace {

/* ---- components ---- */

/// The number of components of a tile that an invocation holds, which the back end decides.
nir_def *tile_length(SplitContext &c, const glsl_cmat_description &desc)
{
   return _nir_build_cmat_length(&c.b, {._ = 0, .cmat_desc = c.tile_of(desc)});
}

/// A component of the whole matrix by its tile.
struct TileComponent {
   nir_def *tile; ///< the tile's number
   nir_def *in_tile;
};

/// `of_tile` is the number of components of one tile. Runs and stacks are numbered in the same way.
TileComponent find(SplitContext &c, const glsl_cmat_description &desc, nir_def *component,
                   nir_def *of_tile)
{
   component = nir_u2u32(&c.b, component);
   if (c.grid(desc).tiles() == 1)
      return {nir_imm_int(&c.b, 0), component};
   TileComponent found;
   found.tile = nir_udiv(&c.b, component, of_tile);
   found.in_tile = nir_umod(&c.b, component, of_tile);
   return found;
}

TileComponent find(SplitContext &c, const glsl_cmat_description &desc, nir_def *component)
{
   return find(c, desc, component, tile_length(c, desc));
}

/// Replaces coordinates in a tile by coordinates in the whole matrix. Their third number is nonzero
/// if the element lies in the tile, or in the matrix.
void rewrite_coordinates(SplitContext &c, nir_intrinsic_instr *instr,
                         const glsl_cmat_description &desc, nir_def *tile_number, nir_def *in_tile)
{
   nir_builder *b = &c.b;
   const TileGrid g = c.grid(desc);
   const Coordinates at =
      c.in_matrix(desc, tile_number, {nir_channel(b, in_tile, 0), nir_channel(b, in_tile, 1)});
   nir_def *inside = nir_channel(b, in_tile, 2);
   if (g.pads_rows() || g.pads_cols())
      inside = nir_iand(b, inside, nir_b2i32(b, c.is_in(at, g.matrix)));
   nir_def_rewrite_uses(&instr->def, nir_vec3(b, at.row, at.col, inside));
}

nir_def *is_in_matrix(SplitContext &c, const glsl_cmat_description &desc, const TileComponent &p)
{
   return c.is_in(c.in_matrix(desc, p.tile, c.coordinates(desc, p.in_tile)), c.grid(desc).matrix);
}

/* ---- runs ---- */

/// Tiles with a common numbering of runs.
struct Stack {
   uint32_t tiles;
   glsl_cmat_description desc; ///< a matrix of all tiles, the first one at its top
};

/// In the dense map, where tiles are contiguous in memory, a stack has enough tiles to give every
/// invocation a run.
Stack stack(const SplitContext &c, const glsl_cmat_description &matrix, const Runs &runs)
{
   Stack s = {1, c.tile_of(matrix)};
   const uint32_t W = c.options.subgroup_size;
   if (c.options.form != MatrixForm::private_tiles || has_outside(Map::dense, s.desc, W) ||
       run_count(Map::dense, s.desc, W, runs) == 0)
      return s;
   s.tiles = c.grid(matrix).stack_for_runs(W, runs.length);
   s.desc.rows *= s.tiles;
   return s;
}

nir_def *stack_runs(SplitContext &c, const Stack &s, const Runs &runs)
{
   return _nir_build_cmat_runs_weft(&c.b, {._ = 0,
                                           .cmat_desc = s.desc,
                                           .matrix_layout = runs.in_columns
                                                               ? GLSL_MATRIX_LAYOUT_COLUMN_MAJOR
                                                               : GLSL_MATRIX_LAYOUT_ROW_MAJOR,
                                           .run_length = runs.length});
}

/// Finds the first tile of a run's stack, and the run's number in the stack.
TileComponent find_run(SplitContext &c, const glsl_cmat_description &desc, const Stack &s,
                       const Runs &runs, nir_def *number)
{
   TileComponent p = find(c, desc, number, stack_runs(c, s, runs));
   p.tile = nir_imul_imm(&c.b, p.tile, s.tiles);
   return p;
}

} // namespace

void split_length(SplitContext &c, nir_intrinsic_instr *instr)
{
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   nir_def_rewrite_uses(&instr->def,
                        nir_imul_imm(&c.b, tile_length(c, desc), c.grid(desc).tiles()));
}

void split_coordinates(SplitContext &c, nir_intrinsic_instr *instr)
{
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   const TileComponent p = find(c, desc, instr->src[0].ssa);
   rewrite_coordinates(
      c, instr, desc, p.tile,
      _nir_build_cmat_coordinates_weft(&c.b, p.in_tile, {._ = 0, .cmat_desc = c.tile_of(desc)}));
}

void split_extract(SplitContext &c, nir_intrinsic_instr *instr)
{
   const Matrix source = c.operand(instr, 0);
   const TileComponent p = find(c, source.desc, instr->src[1].ssa);
   const bool is_one = c.is_one_stack(source.desc);
   nir_def *from = is_one ? c.all_tiles(source) : c.tile(source, p.tile);
   nir_def *component = is_one ? instr->src[1].ssa : p.in_tile;
   nir_def_rewrite_uses(&instr->def, nir_cmat_extract(&c.b, instr->def.bit_size, from, component));
}

void split_insert(SplitContext &c, nir_intrinsic_instr *instr)
{
   assert(is_in_place(instr));
   const Matrix result = c.operand(instr, 0);
   const TileComponent p = find(c, result.desc, instr->src[3].ssa);
   nir_def *value = instr->src[1].ssa, *into = c.tile(result, p.tile);
   if (c.has_zero_padding(result.desc)) {
      nir_def *zero = nir_imm_intN_t(&c.b, 0, value->bit_size);
      value = nir_bcsel(&c.b, is_in_matrix(c, result.desc, p), value, zero);
   }
   if (c.is_one_stack(result.desc)) {
      into = c.all_tiles(result);
      nir_cmat_insert(&c.b, into, value, into, instr->src[3].ssa);
   } else {
      nir_cmat_insert(&c.b, into, value, into, p.in_tile);
   }
}

void split_runs(SplitContext &c, nir_intrinsic_instr *instr)
{
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   const Runs runs = runs_of(instr);
   const Stack s = stack(c, desc, runs);
   nir_def_rewrite_uses(&instr->def,
                        nir_imul_imm(&c.b, stack_runs(c, s, runs), c.grid(desc).tiles() / s.tiles));
}

void split_run_coordinates(SplitContext &c, nir_intrinsic_instr *instr)
{
   nir_builder *b = &c.b;
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   const Runs runs = runs_of(instr);
   const Stack s = stack(c, desc, runs);
   const TileComponent p = find_run(c, desc, s, runs, instr->src[0].ssa);
   nir_def *in_stack =
      _nir_build_cmat_run_coordinates_weft(b, p.in_tile,
                                           {._ = 0,
                                            .cmat_desc = s.desc,
                                            .matrix_layout = nir_intrinsic_matrix_layout(instr),
                                            .run_length = runs.length});
   nir_def *row = nir_channel(b, in_stack, 0);
   const uint32_t tile_rows = c.grid(desc).tile.rows;
   nir_def *in_tile = nir_vector_insert_imm(b, in_stack, nir_umod_imm(b, row, tile_rows), 0);
   rewrite_coordinates(c, instr, desc, nir_iadd(b, p.tile, nir_udiv_imm(b, row, tile_rows)),
                       in_tile);
}

/// The run lies in the matrix, because nothing writes padding.
void split_insert_run(SplitContext &c, nir_intrinsic_instr *instr)
{
   assert(is_in_place(instr));
   const Matrix result = c.operand(instr, 0);
   const Runs runs = runs_of(instr);
   const TileComponent p =
      find_run(c, result.desc, stack(c, result.desc, runs), runs, instr->src[3].ssa);
   nir_def *into = c.tile(result, p.tile);
   _nir_build_cmat_insert_run_weft(&c.b, into, instr->src[1].ssa, into, p.in_tile,
                                   {._ = 0, .matrix_layout = nir_intrinsic_matrix_layout(instr)});
}

nir_def *element(SplitContext &c, const Matrix &matrix, const Coordinates &at)
{
   nir_builder *b = &c.b;
   const TileGrid g = c.grid(matrix.desc);
   nir_def *number = nir_imul_imm(b, nir_udiv_imm(b, at.row, g.tile.rows), g.cols());
   number = nir_iadd(b, number, nir_udiv_imm(b, at.col, g.tile.cols));
   return nir_cmat_element_weft(b, component_bits(matrix.desc), c.tile(matrix, number),
                                nir_umod_imm(b, at.row, g.tile.rows),
                                nir_umod_imm(b, at.col, g.tile.cols));
}

void split_element(SplitContext &c, nir_intrinsic_instr *instr)
{
   nir_def_rewrite_uses(&instr->def,
                        element(c, c.operand(instr, 0), {instr->src[1].ssa, instr->src[2].ssa}));
}

} // namespace weft::cmat
