// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/lower_cmat_shapes.h"

#include "nir_passes/cmat_bounds.h"
#include "nir_passes/cmat_types.h"
#include "nir_passes/cmat_uses.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

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

class State {
public:
   State(nir_shader *nir, const NativeShape &shape, bool robust)
       : shape(shape), robust(robust), b(nir_builder_create(nir_shader_get_entrypoint(nir))),
         types(nir, [&](const glsl_cmat_description &desc) {
            const glsl_cmat_description tile = shape.tile(desc);
            const uint32_t tiles = grid(desc).size();
            return tiles == 1 ? glsl_cmat_type(&tile)
                              : glsl_array_type(glsl_cmat_type(&tile), tiles, 0);
         })
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
         if (!lower(instr))
            continue;
         nir_instr_remove(&instr->instr);
         progress = true;
      }
      nir_metadata_preserve(b.impl, progress ? nir_metadata_control_flow : nir_metadata_all);
      return progress;
   }

private:
   Grid grid(const glsl_cmat_description &desc) const
   {
      const glsl_cmat_description tile = shape.tile(desc);
      return {uint32_t(desc.rows / tile.rows), uint32_t(desc.cols / tile.cols)};
   }

   nir_def *tile(const Matrix &matrix, nir_def *number)
   {
      return grid(matrix.desc).size() == 1 ? &matrix.deref->def
                                           : &nir_build_deref_array(&b, matrix.deref, number)->def;
   }
   nir_def *tile(const Matrix &matrix, uint32_t number)
   {
      return tile(matrix, nir_imm_int(&b, int(number)));
   }
   nir_def *tile(const Matrix &matrix, uint32_t row, uint32_t col)
   {
      return tile(matrix, row * grid(matrix.desc).cols + col);
   }

   bool lower(nir_intrinsic_instr *instr)
   {
      const auto operand = [&](unsigned source) { return types.operand(instr, source); };
      switch (instr->intrinsic) {
      case nir_intrinsic_cmat_construct:
         for_each_tile(operand(0), [&](const Matrix &result, uint32_t i) {
            nir_cmat_construct(&b, tile(result, i), instr->src[1].ssa);
         });
         return true;
      case nir_intrinsic_cmat_load:
         lower_access(instr, operand(0), nir_src_as_deref(instr->src[1]));
         return true;
      case nir_intrinsic_cmat_store:
         lower_access(instr, operand(1), nir_src_as_deref(instr->src[0]));
         return true;
      case nir_intrinsic_cmat_muladd:
         lower_muladd(instr, operand(0), operand(1), operand(2), operand(3));
         return true;
      case nir_intrinsic_cmat_length:
         lower_length(instr);
         return true;
      case nir_intrinsic_cmat_unary_op:
         for_each_tile(operand(0), [&](const Matrix &result, uint32_t i) {
            _nir_build_cmat_unary_op(&b, tile(result, i), tile(operand(1), i),
                                     {._ = 0, .alu_op = nir_intrinsic_alu_op(instr)});
         });
         return true;
      case nir_intrinsic_cmat_binary_op:
         for_each_tile(operand(0), [&](const Matrix &result, uint32_t i) {
            _nir_build_cmat_binary_op(&b, tile(result, i), tile(operand(1), i), tile(operand(2), i),
                                      {._ = 0, .alu_op = nir_intrinsic_alu_op(instr)});
         });
         return true;
      case nir_intrinsic_cmat_scalar_op:
         for_each_tile(operand(0), [&](const Matrix &result, uint32_t i) {
            _nir_build_cmat_scalar_op(&b, tile(result, i), tile(operand(1), i), instr->src[2].ssa,
                                      {._ = 0, .alu_op = nir_intrinsic_alu_op(instr)});
         });
         return true;
      case nir_intrinsic_cmat_bitcast:
         for_each_tile(operand(0), [&](const Matrix &result, uint32_t i) {
            nir_cmat_bitcast(&b, tile(result, i), tile(operand(1), i));
         });
         return true;
      case nir_intrinsic_cmat_copy:
         copy(operand(0), operand(1));
         return true;
      case nir_intrinsic_cmat_extract:
         lower_extract(instr, operand(0));
         return true;
      case nir_intrinsic_cmat_insert:
         lower_insert(instr, operand(0), operand(2));
         return true;
      default:
         return false;
      }
   }

   template <typename Body>
   void for_each_tile(const Matrix &result, const Body &body)
   {
      for (uint32_t i = 0; i < grid(result.desc).size(); ++i)
         body(result, i);
   }

   void copy(const Matrix &result, const Matrix &source)
   {
      for_each_tile(result, [&](const Matrix &m, uint32_t i) {
         nir_cmat_copy(&b, tile(m, i), tile(source, i));
      });
   }

   /// For robust access.
   struct Robust {
      cmat::Bounds bounds;
      /// A number of bytes at which nothing of the buffer is left, aligned for any tile.
      nir_def *outside;
   };

   /// The memory that a matrix lies in.
   struct Memory {
      /// Of words where the program's pointer is to words or wider: memory that is accessed in
      /// words by everybody else can stay an array of words.
      nir_deref_instr *base;
      uint32_t unit;
      nir_def *stride; ///< bytes
      /// With it, the base is the buffer's.
      std::optional<Robust> robust;
   };

   /// The program's stride counts elements of the type pointed to, scalars or vectors without
   /// padding between them.
   Memory memory(nir_deref_instr *pointer, nir_def *stride, uint32_t component_bytes)
   {
      const uint32_t element =
         glsl_get_vector_elements(pointer->type) * glsl_get_bit_size(pointer->type) / 8;
      const uint32_t unit = std::max(component_bytes, std::min(element & -element, 4u));
      const auto cast = [&](nir_def *address) {
         return nir_build_deref_cast(&b, address, pointer->modes, glsl_uintN_t_type(unit * 8),
                                     unit);
      };
      if (!robust || !nir_deref_mode_is(pointer, nir_var_mem_ssbo)) {
         nir_def *bytes = nir_imul_imm(&b, nir_u2u32(&b, stride), element);
         return {cast(&pointer->def), unit, bytes, {}};
      }
      const cmat::Bounds bounds = cmat::bounds(&b, pointer, stride, component_bytes);
      nir_def *size = nir_uadd_sat(&b, bounds.end, nir_imm_int(&b, int(component_bytes - 1)));
      nir_def *outside =
         nir_iand_imm(&b, nir_uadd_sat(&b, size, nir_imm_int(&b, 15)), ~uint64_t(15));
      while (nir_deref_instr *parent = nir_deref_instr_parent(pointer))
         pointer = parent;
      /* Drivers count in 32 bits.  A tile that begins outside, or a line after the first that does,
       * needs to be no further away than that, so that the rest of it does not come round. */
      return {cast(pointer->parent.ssa),
              unit,
              nir_umin(&b, bounds.stride, outside),
              {{bounds, outside}}};
   }

   /// A pointer to the element at a place in one of the matrix's lines (rows or columns), where a
   /// tile begins.
   nir_deref_instr *element(const Memory &memory, uint32_t line, uint32_t place,
                            uint32_t component_bytes)
   {
      nir_def *index;
      if (memory.robust) {
         nir_def *bytes = cmat::offset(&b, memory.robust->bounds, nir_imm_int(&b, int(line)),
                                       nir_imm_int(&b, int(place)));
         index = nir_udiv_imm(&b, nir_umin(&b, bytes, memory.robust->outside), memory.unit);
      } else {
         nir_def *units = nir_udiv_imm(&b, memory.stride, memory.unit);
         index =
            nir_iadd_imm(&b, nir_imul_imm(&b, units, line), place * component_bytes / memory.unit);
      }
      return nir_build_deref_ptr_as_array(&b, memory.base,
                                          nir_u2uN(&b, index, memory.base->def.bit_size));
   }

   void lower_access(nir_intrinsic_instr *instr, const Matrix &matrix, nir_deref_instr *pointer)
   {
      const uint32_t bytes = component_bits(matrix.desc) / 8;
      const Memory memory = this->memory(pointer, instr->src[2].ssa, bytes);
      const glsl_cmat_description desc = shape.tile(matrix.desc);
      const glsl_matrix_layout layout = nir_intrinsic_matrix_layout(instr);
      for_each_tile(matrix, [&](const Matrix &m, uint32_t i) {
         uint32_t line = i / grid(m.desc).cols * desc.rows,
                  place = i % grid(m.desc).cols * desc.cols;
         if (layout != GLSL_MATRIX_LAYOUT_ROW_MAJOR)
            std::swap(line, place);
         nir_deref_instr *first = element(memory, line, place, bytes);
         if (instr->intrinsic == nir_intrinsic_cmat_load) {
            _nir_build_tile_load_weft(&b, tile(m, i), &first->def, memory.stride,
                                      {._ = 0,
                                       .cmat_desc = desc,
                                       .matrix_layout = layout,
                                       .memory_modes = pointer->modes});
         } else {
            _nir_build_tile_store_weft(&b, &first->def, tile(m, i), memory.stride,
                                       {._ = 0,
                                        .cmat_desc = desc,
                                        .matrix_layout = layout,
                                        .memory_modes = pointer->modes});
         }
      });
   }

   /// A sum over K is one tile after the other, each added to the sum so far.
   void lower_muladd(nir_intrinsic_instr *instr, const Matrix &d, const Matrix &a, const Matrix &bm,
                     const Matrix &c)
   {
      const Grid g = grid(d.desc);
      for (uint32_t row = 0; row < g.rows; ++row) {
         for (uint32_t col = 0; col < g.cols; ++col) {
            nir_def *sum = tile(d, row, col);
            for (uint32_t k = 0; k < grid(a.desc).cols; ++k) {
               _nir_build_tile_muladd_weft(
                  &b, sum, tile(a, row, k), tile(bm, k, col), k == 0 ? tile(c, row, col) : sum,
                  {._ = 0,
                   .cmat_desc = shape.tile(d.desc),
                   .a_cmat_desc = shape.tile(a.desc),
                   .b_cmat_desc = shape.tile(bm.desc),
                   .saturate = nir_intrinsic_saturate(instr),
                   .cmat_signed_mask = nir_intrinsic_cmat_signed_mask(instr)});
            }
         }
      }
   }

   /// Components of an invocation.
   nir_def *tile_length(const glsl_cmat_description &desc)
   {
      return _nir_build_cmat_length(&b, {._ = 0, .cmat_desc = shape.tile(desc)});
   }

   void lower_length(nir_intrinsic_instr *instr)
   {
      const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
      nir_def_rewrite_uses(&instr->def, nir_imul_imm(&b, tile_length(desc), grid(desc).size()));
   }

   /// Where a component of the whole matrix is.
   struct Place {
      nir_def *tile, *component;
   };
   Place place(const Matrix &matrix, nir_def *component)
   {
      component = nir_u2u32(&b, component);
      if (grid(matrix.desc).size() == 1)
         return {tile(matrix, 0u), component};
      nir_def *length = tile_length(matrix.desc);
      return {tile(matrix, nir_udiv(&b, component, length)), nir_umod(&b, component, length)};
   }

   void lower_extract(nir_intrinsic_instr *instr, const Matrix &source)
   {
      const Place p = place(source, instr->src[1].ssa);
      nir_def *value = nir_cmat_extract(&b, instr->def.bit_size, p.tile, p.component);
      nir_def_rewrite_uses(&instr->def, value);
   }

   void lower_insert(nir_intrinsic_instr *instr, const Matrix &result, const Matrix &source)
   {
      /* In place, as opt_cmat_copies leaves it, nothing but the component changes. */
      if (!(nir_compare_derefs(result.deref, source.deref) & nir_derefs_equal_bit))
         copy(result, source);
      const Place p = place(result, instr->src[3].ssa);
      nir_cmat_insert(&b, p.tile, instr->src[1].ssa, p.tile, p.component);
   }

   const NativeShape &shape;
   const bool robust;
   nir_builder b;
   CmatTypes types;
};

} // namespace

bool lower_cmat_shapes(nir_shader *nir, const NativeShape &shape, bool robust_access)
{
   return State(nir, shape, robust_access).run();
}

} // namespace weft
