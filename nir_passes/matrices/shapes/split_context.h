// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The state that the functions which split operations share. For split_cmat_*.cc only.

#pragma once

#include "nir_passes/matrices/cmat_coordinates.h"
#include "nir_passes/matrices/cmat_types.h"
#include "nir_passes/matrices/shapes/split_cmat_shapes.h"
#include "nir_passes/matrices/shapes/tile_grid.h"

#include "compiler/nir/nir_builder.h"

#include <functional>
#include <vector>

namespace weft::cmat {

/// A tile of a matrix, in code that may be the same for several tiles.
struct Tile {
   nir_def *number, *row, *col; ///< in the grid
   TileGrid::Size extent;
};

struct SplitContext {
   SplitContext(nir_shader *, const SplitOptions &);

   const SplitOptions &options;
   nir_builder b;
   /// Matrices become arrays of tiles, or one tile.
   CmatTypes types;
   /// Tiles for sums in f32, one for each type. Sums are added up one after the other, so they
   /// share these tiles.
   std::vector<nir_variable *> wide_sums;

   /// Larger numbers of tiles, of products, or of products in one sum become loops.
   static constexpr uint32_t max_unrolled_tiles = 4, max_unrolled_products = 64,
                             max_unrolled_depth = 16;

   Matrix operand(const nir_intrinsic_instr *instr, unsigned source) const
   {
      return types.operand(instr, source);
   }

   /* ---- types ---- */

   glsl_cmat_description tile_of(const glsl_cmat_description &matrix) const
   {
      return options.shape.tile(matrix);
   }
   TileGrid grid(const glsl_cmat_description &matrix) const;
   /// A tile, or an array of tiles.
   const glsl_type *split_type(const glsl_cmat_description &matrix) const;
   /// Whether two matrices have tiles of the same size.
   bool are_split_alike(const glsl_cmat_description &, const glsl_cmat_description &) const;

   /* ---- tiles ---- */

   nir_def *tile(const Matrix &, nir_def *number);
   nir_def *tile(const Matrix &, nir_def *row, nir_def *col);

   /// Calls body with 0 to count - 1: as constants, or in a loop if count exceeds max_unrolled.
   void count_to(uint32_t count, uint32_t max_unrolled, const std::function<void(nir_def *)> &body);
   /// Calls body with the number of each tile.
   void for_each_tile(const glsl_cmat_description &, const std::function<void(nir_def *)> &body);
   /// Calls body with each tile. Tiles in one loop have the same extent. They follow the lines of
   /// memory, by rows or by columns, so that the elements of a cache line are used together.
   void for_each_tile_in_grid(const glsl_cmat_description &,
                              const std::function<void(const Tile &)> &body,
                              bool by_columns = false);

   /// Whether all tiles of a matrix are accessed as one, because they are contiguous in private
   /// memory. This pays if the matrix has more than a few tiles.
   bool is_one_stack(const glsl_cmat_description &) const;
   /// All tiles of a matrix that is_one_stack() as one tile, with the first tile at its top.
   nir_def *all_tiles(const Matrix &);
   /// Splits operations on single components of matrices with tiles of one size. Calls body with a
   /// function that returns the same part of each matrix: a tile, or all tiles.
   using PartOf = std::function<nir_def *(const Matrix &)>;
   void for_each_part(const glsl_cmat_description &, const std::function<void(const PartOf &)> &);

   /* ---- elements ---- */

   /// The number of components of a tile that an invocation holds.
   uint32_t components(const glsl_cmat_description &matrix) const;
   /// A component's coordinates in its tile, by the dense map.
   Coordinates coordinates(const glsl_cmat_description &matrix, nir_def *component);
   /// Coordinates in the whole matrix of an element of a tile.
   Coordinates in_matrix(const glsl_cmat_description &, nir_def *tile_number,
                         const Coordinates &in_tile);
   nir_def *is_in(const Coordinates &element, const TileGrid::Size &extent);

   /* ---- padding ---- */

   /// Whether a matrix has padding that stays 0: the padding of factors along K.
   bool has_zero_padding(const glsl_cmat_description &) const;
   /// Sets this padding to 0 after an operation on every component.
   void clear_padding(const Matrix &);
};

/// Memory.
void split_load(SplitContext &, nir_intrinsic_instr *);
void split_store(SplitContext &, nir_intrinsic_instr *);
/// These split operations on columns of a workgroup's matrix (cmat_marks.h).
void split_load_columns(SplitContext &, nir_intrinsic_instr *);
void split_insert_columns(SplitContext &, nir_intrinsic_instr *);

/// Products.
void split_muladd(SplitContext &, nir_intrinsic_instr *);

/// Components of the running invocation, runs of them, and single elements.
void split_length(SplitContext &, nir_intrinsic_instr *);
void split_coordinates(SplitContext &, nir_intrinsic_instr *);
void split_extract(SplitContext &, nir_intrinsic_instr *);
void split_insert(SplitContext &, nir_intrinsic_instr *);
void split_runs(SplitContext &, nir_intrinsic_instr *);
void split_run_coordinates(SplitContext &, nir_intrinsic_instr *);
void split_insert_run(SplitContext &, nir_intrinsic_instr *);
void split_element(SplitContext &, nir_intrinsic_instr *);
/// Reads an element of the whole matrix. Its tile may differ between invocations, so this needs the
/// dense map, where tiles are memory.
nir_def *element(SplitContext &, const Matrix &, const Coordinates &);

/// Conversions of the component type or the use.
void split_unary_op(SplitContext &, nir_intrinsic_instr *);
void split_convert(SplitContext &, nir_intrinsic_instr *);
void split_transpose(SplitContext &, nir_intrinsic_instr *);

} // namespace weft::cmat
