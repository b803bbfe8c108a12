// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads and stores of matrices become loads and stores of their tiles.

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/cmat_memory.h"
#include "nir_passes/matrices/shapes/split_context.h"

#include <utility>

namespace weft::cmat {

namespace {

/// Accesses a tile with padding element by element. `first` points to its first element.
void access_elements(SplitContext &c, nir_intrinsic_instr *instr, const glsl_cmat_description &desc,
                     nir_def *tile, const TileGrid::Size &extent, nir_deref_instr *first,
                     const Memory &memory)
{
   nir_builder &b = c.b;
   const unsigned bits = component_bits(desc);
   const bool row_major = nir_intrinsic_matrix_layout(instr) == GLSL_MATRIX_LAYOUT_ROW_MAJOR;
   nir_deref_instr *base =
      nir_build_deref_cast(&b, &first->def, first->modes, glsl_uintN_t_type(bits), bits / 8);
   nir_def *stride = memory.component_stride();
   const bool is_load = instr->intrinsic != nir_intrinsic_cmat_store;
   if (is_load)
      nir_cmat_construct(&b, tile, nir_imm_intN_t(&b, 0, bits));
   build_loop(&b, c.components(desc), [&](nir_def *component) {
      const Coordinates at = c.coordinates(desc, component);
      nir_if *there = nir_push_if(&b, c.is_in(at, extent));
      nir_def *line = row_major ? at.row : at.col, *in_line = row_major ? at.col : at.row;
      nir_def *index = nir_iadd(&b, nir_imul(&b, line, stride), in_line);
      nir_deref_instr *pointer =
         nir_build_deref_ptr_as_array(&b, base, nir_u2uN(&b, index, base->def.bit_size));
      if (is_load) {
         nir_def *value = nir_load_deref_with_access(&b, pointer, nir_intrinsic_access(instr));
         nir_cmat_insert(&b, tile, value, tile, component);
      } else {
         nir_store_deref_with_access(&b, pointer, nir_cmat_extract(&b, bits, tile, component), 1,
                                     nir_intrinsic_access(instr));
      }
      nir_pop_if(&b, there);
   });
}

/// Accesses a matrix in memory tile by tile. variable_of() returns a tile's variable.
void split_access(SplitContext &c, nir_intrinsic_instr *instr, const glsl_cmat_description &desc,
                  nir_deref_instr *pointer,
                  const std::function<nir_def *(const Tile &)> &variable_of)
{
   nir_builder &b = c.b;
   const Memory memory(&b, pointer, instr->src[2].ssa, desc, c.options.robust_access);
   const TileGrid grid = c.grid(desc);
   const glsl_matrix_layout layout = nir_intrinsic_matrix_layout(instr);
   const auto access = [&](const Tile &t) {
      nir_def *line = nir_imul_imm(&b, t.row, grid.tile.rows),
              *in_line = nir_imul_imm(&b, t.col, grid.tile.cols);
      if (layout != GLSL_MATRIX_LAYOUT_ROW_MAJOR)
         std::swap(line, in_line);
      nir_deref_instr *first = memory.element(line, in_line);
      nir_def *tile = variable_of(t);
      if (grid.is_padded(t.extent))
         access_elements(c, instr, desc, tile, t.extent, first, memory);
      else if (instr->intrinsic != nir_intrinsic_cmat_store)
         _nir_build_cmat_load(
            &b, tile, &first->def, memory.stride(),
            {._ = 0, .matrix_layout = layout, .access = nir_intrinsic_access(instr)});
      else
         _nir_build_cmat_store(
            &b, &first->def, tile, memory.stride(),
            {._ = 0, .matrix_layout = layout, .access = nir_intrinsic_access(instr)});
   };
   c.for_each_tile_in_grid(desc, access, layout != GLSL_MATRIX_LAYOUT_ROW_MAJOR);
}

void split_access(SplitContext &c, nir_intrinsic_instr *instr, const Matrix &matrix,
                  nir_deref_instr *pointer)
{
   split_access(c, instr, matrix.desc, pointer,
                [&](const Tile &t) { return c.tile(matrix, t.number); });
}

/// Inserts whole tiles, because bands end between tiles (plan_cmat_scope.h).
void insert_columns(SplitContext &c, const Matrix &result, const Matrix &source, nir_def *first)
{
   nir_builder &b = c.b;
   const uint32_t cols = c.grid(result.desc).tile.cols;
   assert(c.are_split_alike(result.desc, source.desc) && source.desc.cols % cols == 0);
   nir_def *first_col = nir_udiv_imm(&b, first, cols);
   c.for_each_tile_in_grid(source.desc, [&](const Tile &t) {
      nir_cmat_insert_columns_weft(&b, c.tile(result, t.row, nir_iadd(&b, first_col, t.col)),
                                   c.tile(source, t.number), nir_imm_int(&b, 0));
   });
}

} // namespace

void split_load(SplitContext &c, nir_intrinsic_instr *instr)
{
   split_access(c, instr, c.operand(instr, 0), nir_src_as_deref(instr->src[1]));
}

void split_store(SplitContext &c, nir_intrinsic_instr *instr)
{
   split_access(c, instr, c.operand(instr, 1), nir_src_as_deref(instr->src[0]));
}

void split_insert_columns(SplitContext &c, nir_intrinsic_instr *instr)
{
   insert_columns(c, c.operand(instr, 0), c.operand(instr, 1), instr->src[2].ssa);
}

/// Loads whole tiles, as in insert_columns(). A workgroup's matrix has no loop that pads, so padded
/// columns are loaded elsewhere first.
void split_load_columns(SplitContext &c, nir_intrinsic_instr *instr)
{
   nir_builder &b = c.b;
   const Matrix result = c.operand(instr, 0);
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   nir_deref_instr *pointer = nir_src_as_deref(instr->src[1]);
   if (c.has_zero_padding(desc)) {
      nir_variable *columns = nir_local_variable_create(b.impl, c.split_type(desc), "columns");
      const Matrix padded = {nir_build_deref_var(&b, columns), desc};
      split_access(c, instr, padded, pointer);
      return insert_columns(c, result, padded, instr->src[3].ssa);
   }
   const uint32_t cols = c.grid(desc).tile.cols;
   assert(c.are_split_alike(result.desc, desc) && desc.cols % cols == 0);
   nir_def *first_col = nir_udiv_imm(&b, instr->src[3].ssa, cols);
   split_access(c, instr, desc, pointer, [&](const Tile &t) {
      return c.tile(result, t.row, nir_iadd(&b, first_col, t.col));
   });
}

} // namespace weft::cmat
