// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/split_cmat_shapes.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_coordinates.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/cmat_memory.h"
#include "nir_passes/matrices/cmat_types.h"
#include "nir_passes/matrices/copies/lower_cmat_inserts.h"
#include "nir_passes/matrices/small_floats.h"

#include "compiler/nir/nir_builder.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace weft {

namespace {

/// Tiles from top to bottom and from left to right.
struct Grid {
   uint32_t rows, cols;
   uint32_t size() const { return rows * cols; }
};

/// The part of a tile that belongs to the matrix: its upper left.
struct Extent {
   uint32_t rows, cols;
};

/// A tile of a matrix: the place in its grid.
struct Place {
   nir_def *number, *row, *col;
   Extent extent;
};

/// Code for more tiles, or products of tiles, or products of one sum, than these is a loop.
constexpr uint32_t max_unrolled_tiles = 4, max_unrolled_products = 64, max_unrolled_depth = 16;

class Splitter {
public:
   Splitter(nir_shader *nir, const SplitOptions &options)
       : options(options), b(nir_builder_create(nir_shader_get_entrypoint(nir))),
         types(nir, [&](const glsl_cmat_description &desc) { return cut(desc); })
   {
   }

   bool run()
   {
      std::vector<nir_intrinsic_instr *> work;
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_intrinsic)
               work.push_back(nir_instr_as_intrinsic(instr));
         }
      }
      bool progress = types.found();
      for (nir_intrinsic_instr *instr : work) {
         b.cursor = nir_before_instr(&instr->instr);
         if (!split(instr))
            continue;
         nir_instr_remove(&instr->instr);
         progress = true;
      }
      nir_metadata_preserve(b.impl, progress ? nir_metadata_none : nir_metadata_all);
      return progress;
   }

private:
   /* ---- tiles of a matrix ---- */

   glsl_cmat_description tile_of(const glsl_cmat_description &desc) const
   {
      return options.shape.tile(desc);
   }

   const glsl_type *cut(const glsl_cmat_description &desc) const
   {
      const glsl_cmat_description tile = tile_of(desc);
      const uint32_t tiles = grid(desc).size();
      return tiles == 1 ? glsl_cmat_type(&tile) : glsl_array_type(glsl_cmat_type(&tile), tiles, 0);
   }

   Grid grid(const glsl_cmat_description &desc) const
   {
      const glsl_cmat_description tile = tile_of(desc);
      return {DIV_ROUND_UP(uint32_t(desc.rows), uint32_t(tile.rows)),
              DIV_ROUND_UP(uint32_t(desc.cols), uint32_t(tile.cols))};
   }

   nir_def *tile(const Matrix &matrix, nir_def *number)
   {
      return grid(matrix.desc).size() == 1 ? &matrix.deref->def
                                           : &nir_build_deref_array(&b, matrix.deref, number)->def;
   }
   nir_def *tile(const Matrix &matrix, nir_def *row, nir_def *col)
   {
      return tile(matrix, nir_iadd(&b, nir_imul_imm(&b, row, grid(matrix.desc).cols), col));
   }

   /// Calls body with the number of each tile.
   template <typename Body>
   void for_each_tile(const glsl_cmat_description &desc, const Body &body)
   {
      count_to(grid(desc).size(), max_unrolled_tiles, body);
   }

   template <typename Body>
   void count_to(uint32_t count, uint32_t max_unrolled, const Body &body)
   {
      if (count > max_unrolled)
         return build_loop(&b, count, body);
      for (uint32_t i = 0; i < count; ++i)
         body(nir_imm_int(&b, int(i)));
   }

   /// Whether a matrix's tiles are seen as one: in private memory, where they are one behind the other, if they are many.
   bool are_one(const glsl_cmat_description &desc) const
   {
      constexpr uint32_t max_rows = 1024; // that a description has room for
      const uint32_t tiles = grid(desc).size();
      return tiles > max_unrolled_tiles && tiles * tile_of(desc).rows <= max_rows &&
             options.form == MatrixForm::private_tiles &&
             !cmat::has_outside(cmat::Map::dense, tile_of(desc), options.subgroup_size);
   }

   /// Calls body with a function that gives the same part of every matrix that is cut like this one, a tile or all of
   /// them: for what is done with each component by itself.
   template <typename Body>
   void for_each_part(const glsl_cmat_description &desc, const Body &body)
   {
      if (are_one(desc))
         return body([&](const Matrix &matrix) { return all_tiles(matrix); });
      for_each_tile(
         desc, [&](nir_def *i) { body([&](const Matrix &matrix) { return tile(matrix, i); }); });
   }

   /// As if they lay below each other.
   nir_def *all_tiles(const Matrix &matrix)
   {
      glsl_cmat_description all = tile_of(matrix.desc);
      all.rows *= grid(matrix.desc).size();
      return &nir_build_deref_cast(&b, &matrix.deref->def, matrix.deref->modes,
                                   glsl_cmat_type(&all), 0)
                 ->def;
   }

   /// Calls body with each tile; those in a loop have the same extent.  Tiles go by rows, or by
   /// columns where lines of memory lie so: what a line of the cache brings is used at once.
   template <typename Body>
   void for_each_place(const glsl_cmat_description &desc, const Body &body, bool by_columns = false)
   {
      const Grid g = grid(desc);
      const glsl_cmat_description t = tile_of(desc);
      if (g.size() <= max_unrolled_tiles) {
         for (uint32_t i = 0; i < g.size(); ++i) {
            const uint32_t row = by_columns ? i % g.rows : i / g.cols,
                           col = by_columns ? i / g.rows : i % g.cols;
            body(place(desc, nir_imm_int(&b, int(row)), nir_imm_int(&b, int(col)),
                       {std::min<uint32_t>(t.rows, desc.rows - row * t.rows),
                        std::min<uint32_t>(t.cols, desc.cols - col * t.cols)}));
         }
         return;
      }
      const Grid whole = {uint32_t(desc.rows) / t.rows, uint32_t(desc.cols) / t.cols};
      const Extent part = {uint32_t(desc.rows) % t.rows, uint32_t(desc.cols) % t.cols};
      const Grid rest = {g.rows - whole.rows, g.cols - whole.cols};
      for_each_place(desc, {0, 0}, whole, {t.rows, t.cols}, by_columns, body);
      for_each_place(desc, {0, whole.cols}, {whole.rows, rest.cols}, {t.rows, part.cols},
                     by_columns, body);
      for_each_place(desc, {whole.rows, 0}, {rest.rows, whole.cols}, {part.rows, t.cols},
                     by_columns, body);
      for_each_place(desc, whole, rest, part, by_columns, body);
   }

   /// Of some lines and columns of the grid, from `first` on.
   template <typename Body>
   void for_each_place(const glsl_cmat_description &desc, const Grid &first, const Grid &count,
                       const Extent &extent, bool by_columns, const Body &body)
   {
      if (count.size() == 0)
         return;
      build_loop(&b, count.size(), [&](nir_def *i) {
         const uint32_t line = by_columns ? count.rows : count.cols;
         nir_def *row = nir_udiv_imm(&b, i, line), *col = nir_umod_imm(&b, i, line);
         if (by_columns)
            std::swap(row, col);
         Place p = place(desc, nir_iadd_imm(&b, row, first.rows), nir_iadd_imm(&b, col, first.cols),
                         extent);
         if (!by_columns && first.rows == 0 && count.cols == grid(desc).cols)
            p.number = i;
         body(p);
      });
   }

   Place place(const glsl_cmat_description &desc, nir_def *row, nir_def *col, const Extent &extent)
   {
      return {nir_iadd(&b, nir_imul_imm(&b, row, grid(desc).cols), col), row, col, extent};
   }

   /* ---- padding ---- */

   bool is_whole(const glsl_cmat_description &desc, const Extent &e) const
   {
      const glsl_cmat_description tile = tile_of(desc);
      return e.rows == tile.rows && e.cols == tile.cols;
   }

   cmat::Coordinates coordinates(const glsl_cmat_description &desc, nir_def *component)
   {
      return cmat::coordinates(&b, cmat::Map::dense, tile_of(desc), options.subgroup_size,
                               component);
   }

   uint32_t components(const glsl_cmat_description &desc) const
   {
      return cmat::length(cmat::Map::dense, tile_of(desc), options.subgroup_size);
   }

   nir_def *is_in(const cmat::Coordinates &element, const Extent &e)
   {
      return nir_iand(&b, nir_ult_imm(&b, element.row, e.rows),
                      nir_ult_imm(&b, element.col, e.cols));
   }

   /// Whether a matrix has padding that is kept at 0: that of factors, along K.
   bool has_zeros(const glsl_cmat_description &desc) const
   {
      const glsl_cmat_description tile = tile_of(desc);
      return (desc.use == GLSL_CMAT_USE_A && desc.cols % tile.cols != 0) ||
             (desc.use == GLSL_CMAT_USE_B && desc.rows % tile.rows != 0);
   }

   /// Makes it 0 again after an operation on every component.
   void clear_padding(const Matrix &matrix)
   {
      if (!has_zeros(matrix.desc))
         return;
      const unsigned bits = component_bits(matrix.desc);
      for_each_place(matrix.desc, [&](const Place &p) {
         if (is_whole(matrix.desc, p.extent))
            return;
         nir_def *t = tile(matrix, p.number);
         build_loop(&b, components(matrix.desc), [&](nir_def *component) {
            nir_def *value = nir_cmat_extract(&b, bits, t, component);
            nir_def *zero = nir_imm_intN_t(&b, 0, bits);
            value =
               nir_bcsel(&b, is_in(coordinates(matrix.desc, component), p.extent), value, zero);
            nir_cmat_insert(&b, t, value, t, component);
         });
      });
   }

   /* ---- instructions ---- */

   bool split(nir_intrinsic_instr *instr)
   {
      const auto operand = [&](unsigned source) { return types.operand(instr, source); };
      switch (instr->intrinsic) {
      case nir_intrinsic_cmat_construct:
         for_each_part(operand(0).desc, [&](const auto &part) {
            nir_cmat_construct(&b, part(operand(0)), instr->src[1].ssa);
         });
         clear_padding(operand(0));
         return true;
      case nir_intrinsic_cmat_load:
         split_access(instr, operand(0), nir_src_as_deref(instr->src[1]));
         return true;
      case nir_intrinsic_cmat_load_columns_weft:
         load_columns(instr, operand(0));
         return true;
      case nir_intrinsic_cmat_store:
         split_access(instr, operand(1), nir_src_as_deref(instr->src[0]));
         return true;
      case nir_intrinsic_cmat_muladd:
         split_muladd(instr, operand(0), operand(1), operand(2), operand(3));
         return true;
      case nir_intrinsic_cmat_length:
         split_length(instr);
         return true;
      case nir_intrinsic_cmat_coordinates_weft:
         split_coordinates(instr);
         return true;
      case nir_intrinsic_cmat_runs_weft:
         split_runs(instr);
         return true;
      case nir_intrinsic_cmat_run_coordinates_weft:
         split_run_coordinates(instr);
         return true;
      case nir_intrinsic_cmat_unary_op:
         split_unary_op(instr, operand(0), operand(1));
         clear_padding(operand(0));
         return true;
      case nir_intrinsic_cmat_binary_op:
         for_each_part(operand(0).desc, [&](const auto &part) {
            _nir_build_cmat_binary_op(&b, part(operand(0)), part(operand(1)), part(operand(2)),
                                      {._ = 0, .alu_op = nir_intrinsic_alu_op(instr)});
         });
         clear_padding(operand(0));
         return true;
      case nir_intrinsic_cmat_scalar_op:
         for_each_part(operand(0).desc, [&](const auto &part) {
            _nir_build_cmat_scalar_op(&b, part(operand(0)), part(operand(1)), instr->src[2].ssa,
                                      {._ = 0, .alu_op = nir_intrinsic_alu_op(instr)});
         });
         clear_padding(operand(0));
         return true;
      case nir_intrinsic_cmat_bitcast:
         for_each_part(operand(0).desc, [&](const auto &part) {
            nir_cmat_bitcast(&b, part(operand(0)), part(operand(1)));
         });
         return true;
      case nir_intrinsic_cmat_copy:
         copy(operand(0), operand(1));
         return true;
      case nir_intrinsic_cmat_insert_columns_weft:
         insert_columns(operand(0), operand(1), instr->src[2].ssa);
         return true;
      case nir_intrinsic_cmat_extract:
         split_extract(instr, operand(0));
         return true;
      case nir_intrinsic_cmat_insert:
         split_insert(instr, operand(0));
         return true;
      case nir_intrinsic_cmat_insert_run_weft:
         split_insert_run(instr, operand(0));
         return true;
      case nir_intrinsic_cmat_element_weft:
         split_element(instr, operand(0));
         return true;
      case nir_intrinsic_cmat_convert_weft:
         convert(operand(0), operand(1));
         clear_padding(operand(0));
         return true;
      case nir_intrinsic_cmat_transpose_weft:
         take_elements(operand(0), operand(1), true);
         clear_padding(operand(0));
         return true;
      default:
         return false;
      }
   }

   void copy(const Matrix &result, const Matrix &source)
   {
      for_each_part(result.desc,
                    [&](const auto &part) { nir_cmat_copy(&b, part(result), part(source)); });
   }

   /// Whole tiles: matrices are cut between them (lower_cmat_scope.h).
   void insert_columns(const Matrix &result, const Matrix &source, nir_def *first)
   {
      const uint32_t cols = tile_of(result.desc).cols;
      assert(are_cut_alike(result.desc, source.desc) && source.desc.cols % cols == 0);
      nir_def *first_col = nir_udiv_imm(&b, first, cols);
      for_each_place(source.desc, [&](const Place &p) {
         nir_cmat_insert_columns_weft(&b, tile(result, p.row, nir_iadd(&b, first_col, p.col)),
                                      tile(source, p.number), nir_imm_int(&b, 0));
      });
   }

   /* ---- memory ---- */

   void split_access(nir_intrinsic_instr *instr, const Matrix &matrix, nir_deref_instr *pointer)
   {
      split_access(instr, matrix.desc, pointer,
                   [&](const Place &p) { return tile(matrix, p.number); });
   }

   /// Of a matrix in memory, whose tiles tile_at() gives.
   template <typename TileAt>
   void split_access(nir_intrinsic_instr *instr, const glsl_cmat_description &desc,
                     nir_deref_instr *pointer, const TileAt &tile_at)
   {
      const cmat::Memory memory(&b, pointer, instr->src[2].ssa, desc, options.robust_access);
      const glsl_cmat_description of_tile = tile_of(desc);
      const glsl_matrix_layout layout = nir_intrinsic_matrix_layout(instr);
      const auto access = [&](const Place &p) {
         nir_def *line = nir_imul_imm(&b, p.row, of_tile.rows),
                 *place = nir_imul_imm(&b, p.col, of_tile.cols);
         if (layout != GLSL_MATRIX_LAYOUT_ROW_MAJOR)
            std::swap(line, place);
         nir_deref_instr *first = memory.element(line, place);
         nir_def *t = tile_at(p);
         if (!is_whole(desc, p.extent))
            access_elements(instr, desc, t, p.extent, first, memory);
         else if (instr->intrinsic != nir_intrinsic_cmat_store)
            _nir_build_cmat_load(
               &b, t, &first->def, memory.stride(),
               {._ = 0, .matrix_layout = layout, .access = nir_intrinsic_access(instr)});
         else
            _nir_build_cmat_store(
               &b, &first->def, t, memory.stride(),
               {._ = 0, .matrix_layout = layout, .access = nir_intrinsic_access(instr)});
      };
      for_each_place(desc, access, layout != GLSL_MATRIX_LAYOUT_ROW_MAJOR);
   }

   /// Whole tiles, as in insert_columns(); padding is not for workgroups' matrices.
   void load_columns(nir_intrinsic_instr *instr, const Matrix &result)
   {
      const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
      nir_deref_instr *pointer = nir_src_as_deref(instr->src[1]);
      if (has_zeros(desc)) {
         nir_variable *columns = nir_local_variable_create(b.impl, cut(desc), "columns");
         const Matrix padded = {nir_build_deref_var(&b, columns), desc};
         split_access(instr, padded, pointer);
         return insert_columns(result, padded, instr->src[3].ssa);
      }
      const uint32_t cols = tile_of(desc).cols;
      assert(are_cut_alike(result.desc, desc) && desc.cols % cols == 0);
      nir_def *first_col = nir_udiv_imm(&b, instr->src[3].ssa, cols);
      split_access(instr, desc, pointer, [&](const Place &p) {
         return tile(result, p.row, nir_iadd(&b, first_col, p.col));
      });
   }

   /// A tile at the edge, of which `first` points to the first element.
   void access_elements(nir_intrinsic_instr *instr, const glsl_cmat_description &desc,
                        nir_def *tile, const Extent &e, nir_deref_instr *first,
                        const cmat::Memory &memory)
   {
      const unsigned bits = component_bits(desc);
      const bool row_major = nir_intrinsic_matrix_layout(instr) == GLSL_MATRIX_LAYOUT_ROW_MAJOR;
      nir_deref_instr *base =
         nir_build_deref_cast(&b, &first->def, first->modes, glsl_uintN_t_type(bits), bits / 8);
      nir_def *stride = memory.component_stride();
      const bool is_load = instr->intrinsic != nir_intrinsic_cmat_store;
      if (is_load)
         nir_cmat_construct(&b, tile, nir_imm_intN_t(&b, 0, bits));
      build_loop(&b, components(desc), [&](nir_def *component) {
         const cmat::Coordinates at = coordinates(desc, component);
         nir_if *there = nir_push_if(&b, is_in(at, e));
         nir_def *line = row_major ? at.row : at.col, *place = row_major ? at.col : at.row;
         nir_def *index = nir_iadd(&b, nir_imul(&b, line, stride), place);
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

   /* ---- products ---- */

   /// What a tile of the result is the sum of.
   struct Sum {
      nir_intrinsic_instr *instr;
      Matrix a, b;
      nir_def *row, *col;
      uint32_t depth; ///< products
      bool unrolled;
   };

   void split_muladd(nir_intrinsic_instr *instr, const Matrix &d, const Matrix &a, const Matrix &bm,
                     const Matrix &c)
   {
      const Grid g = grid(d.desc);
      const uint32_t depth = grid(a.desc).cols;
      const bool unrolled = g.size() * depth <= max_unrolled_products;
      count_to(g.size(), unrolled ? g.size() : 0, [&](nir_def *i) {
         const Sum sum = {
            instr, a,       bm, nir_udiv_imm(&b, i, g.cols), nir_umod_imm(&b, i, g.cols),
            depth, unrolled};
         const unsigned bits = component_bits(d.desc);
         if (depth > 1 && nir_intrinsic_saturate(instr))
            add_saturating(sum, d.desc, tile(d, i), tile(c, i));
         else if (depth > 1 && has_real_components(d.desc) && bits < 32)
            add_widened(sum, d.desc, tile(d, i), tile(c, i));
         else
            add_products(sum, tile(d, i), tile(c, i), nir_intrinsic_saturate(instr));
      });
   }

   /// One tile after the other, each added to the sum so far.
   void add_products(const Sum &s, nir_def *d, nir_def *c, bool saturate)
   {
      add_product(s, nir_imm_int(&b, 0), d, c, saturate);
      count_to(s.depth - 1, s.unrolled ? s.depth : max_unrolled_depth - 1,
               [&](nir_def *i) { add_product(s, nir_iadd_imm(&b, i, 1), d, d, saturate); });
   }

   void add_product(const Sum &s, nir_def *k, nir_def *d, nir_def *c, bool saturate = false)
   {
      _nir_build_cmat_muladd(&b, d, tile(s.a, s.row, k), tile(s.b, k, s.col), c,
                             {._ = 0,
                              .saturate = saturate,
                              .cmat_signed_mask = nir_intrinsic_cmat_signed_mask(s.instr)});
   }

   /// Products are added up first, which cannot overflow.
   void add_saturating(const Sum &s, const glsl_cmat_description &desc, nir_def *d, nir_def *c)
   {
      nir_def *products = tile_variable(desc);
      nir_cmat_construct(&b, products, nir_imm_intN_t(&b, 0, component_bits(desc)));
      add_products(s, products, products, false);
      const bool is_signed =
         (nir_intrinsic_cmat_signed_mask(s.instr) & NIR_CMAT_RESULT_SIGNED) != 0;
      _nir_build_cmat_binary_op(&b, d, c, products,
                                {._ = 0, .alu_op = is_signed ? nir_op_iadd_sat : nir_op_uadd_sat});
   }

   /// In f32, rounded once.  So the first product has a result, and the last one a C, of another type than others have.
   void add_widened(const Sum &s, glsl_cmat_description desc, nir_def *d, nir_def *c)
   {
      desc.element_type = GLSL_TYPE_FLOAT;
      nir_def *sum = wide_sum(desc);
      add_product(s, nir_imm_int(&b, 0), sum, c);
      count_to(s.depth - 2, s.unrolled ? s.depth : max_unrolled_depth - 2,
               [&](nir_def *i) { add_product(s, nir_iadd_imm(&b, i, 1), sum, sum); });
      add_product(s, nir_imm_int(&b, s.depth - 1), d, sum);
   }

   /// One for all sums, each of which is added up before the next.
   nir_def *wide_sum(const glsl_cmat_description &desc)
   {
      const glsl_cmat_description tile = tile_of(desc);
      for (nir_variable *variable : wide_sums) {
         if (variable->type == glsl_cmat_type(&tile))
            return &nir_build_deref_var(&b, variable)->def;
      }
      nir_def *sum = tile_variable(desc);
      wide_sums.push_back(nir_src_as_deref(nir_src_for_ssa(sum))->var);
      return sum;
   }

   /// For a tile of a matrix.
   nir_def *tile_variable(const glsl_cmat_description &desc)
   {
      const glsl_cmat_description tile = tile_of(desc);
      nir_variable *variable = nir_local_variable_create(b.impl, glsl_cmat_type(&tile), "sum");
      return &nir_build_deref_var(&b, variable)->def;
   }

   /* ---- components ---- */

   /// Components of an invocation.
   nir_def *tile_length(const glsl_cmat_description &desc)
   {
      return _nir_build_cmat_length(&b, {._ = 0, .cmat_desc = tile_of(desc)});
   }

   void split_length(nir_intrinsic_instr *instr)
   {
      const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
      nir_def_rewrite_uses(&instr->def, nir_imul_imm(&b, tile_length(desc), grid(desc).size()));
   }

   /// Where a component of the whole matrix is.
   struct Component {
      nir_def *number; ///< of the tile
      nir_def *in_tile;
   };
   Component find(const glsl_cmat_description &desc, nir_def *component)
   {
      return find(desc, component, tile_length(desc));
   }
   /// The same of anything of which a tile has a number.
   Component find(const glsl_cmat_description &desc, nir_def *component, nir_def *of_tile)
   {
      component = nir_u2u32(&b, component);
      if (grid(desc).size() == 1)
         return {nir_imm_int(&b, 0), component};
      return {nir_udiv(&b, component, of_tile), nir_umod(&b, component, of_tile)};
   }

   /// The element of the whole matrix that is one of a tile.
   cmat::Coordinates in_matrix(const glsl_cmat_description &desc, nir_def *tile_number,
                               const cmat::Coordinates &in_tile)
   {
      const glsl_cmat_description tile = tile_of(desc);
      nir_def *tile_row = nir_udiv_imm(&b, tile_number, grid(desc).cols);
      nir_def *tile_col = nir_umod_imm(&b, tile_number, grid(desc).cols);
      return {nir_iadd(&b, in_tile.row, nir_imul_imm(&b, tile_row, tile.rows)),
              nir_iadd(&b, in_tile.col, nir_imul_imm(&b, tile_col, tile.cols))};
   }

   void split_coordinates(nir_intrinsic_instr *instr)
   {
      const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr), tile = tile_of(desc);
      const Component p = find(desc, instr->src[0].ssa);
      rewrite_coordinates(
         instr, desc, p.number,
         _nir_build_cmat_coordinates_weft(&b, p.in_tile, {._ = 0, .cmat_desc = tile}));
   }

   void rewrite_coordinates(nir_intrinsic_instr *instr, const glsl_cmat_description &desc,
                            nir_def *tile_number, nir_def *in_tile)
   {
      const glsl_cmat_description tile = tile_of(desc);
      const cmat::Coordinates at =
         in_matrix(desc, tile_number, {nir_channel(&b, in_tile, 0), nir_channel(&b, in_tile, 1)});
      nir_def *inside = nir_channel(&b, in_tile, 2);
      if (desc.rows % tile.rows != 0 || desc.cols % tile.cols != 0)
         inside = nir_iand(&b, inside, nir_b2i32(&b, is_in(at, {desc.rows, desc.cols})));
      nir_def_rewrite_uses(&instr->def, nir_vec3(&b, at.row, at.col, inside));
   }

   void split_extract(nir_intrinsic_instr *instr, const Matrix &source)
   {
      const Component p = find(source.desc, instr->src[1].ssa);
      nir_def *value =
         are_one(source.desc)
            ? nir_cmat_extract(&b, instr->def.bit_size, all_tiles(source), instr->src[1].ssa)
            : nir_cmat_extract(&b, instr->def.bit_size, tile(source, p.number), p.in_tile);
      nir_def_rewrite_uses(&instr->def, value);
   }

   void split_insert(nir_intrinsic_instr *instr, const Matrix &result)
   {
      assert(is_in_place(instr));
      const Component p = find(result.desc, instr->src[3].ssa);
      nir_def *value = instr->src[1].ssa, *into = tile(result, p.number);
      if (has_zeros(result.desc)) {
         nir_def *zero = nir_imm_intN_t(&b, 0, value->bit_size);
         value = nir_bcsel(&b, is_in_matrix(result.desc, p), value, zero);
      }
      if (are_one(result.desc)) {
         into = all_tiles(result);
         nir_cmat_insert(&b, into, value, into, instr->src[3].ssa);
      } else {
         nir_cmat_insert(&b, into, value, into, p.in_tile);
      }
   }

   /* ---- runs ---- */

   /// Tiles whose runs are numbered together.
   struct Stack {
      uint32_t tiles;
      glsl_cmat_description desc; ///< as if they lay below each other
   };

   /// Of the dense map's tiles, which are one behind the other in memory, as many as give every
   /// invocation a run.
   Stack stack(const glsl_cmat_description &matrix, const cmat::Runs &runs) const
   {
      Stack s = {1, tile_of(matrix)};
      const uint32_t W = options.subgroup_size;
      constexpr cmat::Map map = cmat::Map::dense;
      if (options.form != MatrixForm::private_tiles || cmat::has_outside(map, s.desc, W) ||
          cmat::run_count(map, s.desc, W, runs) == 0)
         return s;
      while (uint32_t(s.desc.rows) * s.desc.cols / runs.length < W &&
             grid(matrix).size() % (2 * s.tiles) == 0) {
         s.tiles *= 2;
         s.desc.rows *= 2;
      }
      return s;
   }

   nir_def *stack_runs(const Stack &s, const cmat::Runs &runs)
   {
      return _nir_build_cmat_runs_weft(&b, {._ = 0,
                                            .cmat_desc = s.desc,
                                            .matrix_layout = runs.in_columns
                                                                ? GLSL_MATRIX_LAYOUT_COLUMN_MAJOR
                                                                : GLSL_MATRIX_LAYOUT_ROW_MAJOR,
                                            .run_length = runs.length});
   }

   /// The run of a stack, and the first of its tiles.
   Component find_run(const glsl_cmat_description &desc, const Stack &s, const cmat::Runs &runs,
                      nir_def *number)
   {
      Component p = find(desc, number, stack_runs(s, runs));
      p.number = nir_imul_imm(&b, p.number, s.tiles);
      return p;
   }

   void split_runs(nir_intrinsic_instr *instr)
   {
      const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
      const cmat::Runs runs = cmat::runs_of(instr);
      const Stack s = stack(desc, runs);
      nir_def_rewrite_uses(&instr->def,
                           nir_imul_imm(&b, stack_runs(s, runs), grid(desc).size() / s.tiles));
   }

   void split_run_coordinates(nir_intrinsic_instr *instr)
   {
      const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
      const cmat::Runs runs = cmat::runs_of(instr);
      const Stack s = stack(desc, runs);
      const Component p = find_run(desc, s, runs, instr->src[0].ssa);
      nir_def *in_stack =
         _nir_build_cmat_run_coordinates_weft(&b, p.in_tile,
                                              {._ = 0,
                                               .cmat_desc = s.desc,
                                               .matrix_layout = nir_intrinsic_matrix_layout(instr),
                                               .run_length = runs.length});
      nir_def *row = nir_channel(&b, in_stack, 0);
      const uint32_t tile_rows = tile_of(desc).rows;
      rewrite_coordinates(instr, desc, nir_iadd(&b, p.number, nir_udiv_imm(&b, row, tile_rows)),
                          nir_vector_insert_imm(&b, in_stack, nir_umod_imm(&b, row, tile_rows), 0));
   }

   /// Of those that lie in the matrix: nothing writes padding.
   void split_insert_run(nir_intrinsic_instr *instr, const Matrix &result)
   {
      assert(is_in_place(instr));
      const glsl_matrix_layout layout = nir_intrinsic_matrix_layout(instr);
      const cmat::Runs runs = cmat::runs_of(instr);
      const Component p = find_run(result.desc, stack(result.desc, runs), runs, instr->src[3].ssa);
      nir_def *into = tile(result, p.number);
      _nir_build_cmat_insert_run_weft(&b, into, instr->src[1].ssa, into, p.in_tile,
                                      {._ = 0, .matrix_layout = layout});
   }

   nir_def *is_in_matrix(const glsl_cmat_description &desc, const Component &p)
   {
      return is_in(in_matrix(desc, p.number, coordinates(desc, p.in_tile)), {desc.rows, desc.cols});
   }

   /* ---- single elements ---- */

   /// Coordinates may differ between invocations, and so the tile: that is for the dense map, where
   /// tiles are memory.
   nir_def *element(const Matrix &matrix, const cmat::Coordinates &at)
   {
      const glsl_cmat_description t = tile_of(matrix.desc);
      nir_def *number = nir_imul_imm(&b, nir_udiv_imm(&b, at.row, t.rows), grid(matrix.desc).cols);
      number = nir_iadd(&b, number, nir_udiv_imm(&b, at.col, t.cols));
      return nir_cmat_element_weft(&b, component_bits(matrix.desc), tile(matrix, number),
                                   nir_umod_imm(&b, at.row, t.rows),
                                   nir_umod_imm(&b, at.col, t.cols));
   }

   void split_element(nir_intrinsic_instr *instr, const Matrix &source)
   {
      nir_def_rewrite_uses(&instr->def, element(source, {instr->src[1].ssa, instr->src[2].ssa}));
   }

   /// Every component of the result from where it is in the source.  Those outside of the matrix
   /// become some element or other.
   void take_elements(const Matrix &result, const Matrix &source, bool transposed)
   {
      const glsl_cmat_description &desc = result.desc;
      for_each_tile(desc, [&](nir_def *i) {
         build_loop(&b, components(desc), [&](nir_def *component) {
            const cmat::Coordinates at = in_matrix(desc, i, coordinates(desc, component));
            nir_def *row = nir_umin(&b, at.row, nir_imm_int(&b, desc.rows - 1)),
                    *col = nir_umin(&b, at.col, nir_imm_int(&b, desc.cols - 1));
            nir_def *value = element(source, transposed ? cmat::Coordinates{col, row}
                                                        : cmat::Coordinates{row, col});
            nir_cmat_insert(&b, tile(result, i), value, tile(result, i), component);
         });
      });
   }

   bool are_cut_alike(const glsl_cmat_description &x, const glsl_cmat_description &y) const
   {
      return tile_of(x).rows == tile_of(y).rows && tile_of(x).cols == tile_of(y).cols;
   }

   /// To another use.
   void convert(const Matrix &result, const Matrix &source)
   {
      if (!are_cut_alike(result.desc, source.desc))
         return take_elements(result, source, false);
      for_each_part(result.desc, [&](const auto &part) {
         nir_cmat_convert_weft(&b, part(result), part(source));
      });
   }

   void convert_tiles(nir_intrinsic_instr *instr, const Matrix &result, const Matrix &source)
   {
      for_each_part(result.desc, [&](const auto &part) {
         _nir_build_cmat_unary_op(&b, part(result), part(source),
                                  {._ = 0,
                                   .alu_op = nir_intrinsic_alu_op(instr),
                                   .saturate = nir_intrinsic_saturate(instr)});
      });
   }

   /// The tiles of A and B depend on the type, those of accumulators do not: where matrices are cut
   /// differently, the type changes while they are accumulators.
   void split_unary_op(nir_intrinsic_instr *instr, const Matrix &result, const Matrix &source)
   {
      if (are_cut_alike(result.desc, source.desc))
         return convert_tiles(instr, result, source);
      Matrix from = source, to = result;
      if (source.desc.use != GLSL_CMAT_USE_ACCUMULATOR) {
         from = temporary(source.desc, GLSL_CMAT_USE_ACCUMULATOR);
         convert(from, source);
      }
      if (result.desc.use != GLSL_CMAT_USE_ACCUMULATOR)
         to = temporary(result.desc, GLSL_CMAT_USE_ACCUMULATOR);
      convert_tiles(instr, to, from);
      if (result.desc.use != GLSL_CMAT_USE_ACCUMULATOR)
         convert(result, to);
   }

   Matrix temporary(glsl_cmat_description desc, glsl_cmat_use use)
   {
      desc.use = uint8_t(use);
      nir_variable *variable = nir_local_variable_create(b.impl, cut(desc), "converted");
      return {nir_build_deref_var(&b, variable), desc};
   }

   const SplitOptions &options;
   nir_builder b;
   CmatTypes types;
   std::vector<nir_variable *> wide_sums;
};

} // namespace

bool split_cmat_shapes(nir_shader *nir, const SplitOptions &options)
{
   return Splitter(nir, options).run();
}

} // namespace weft
