// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/lower_cmat_scope.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_callee.h"
#include "nir_passes/matrices/cmat_components.h"
#include "nir_passes/matrices/cmat_coordinates.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/cmat_memory.h"
#include "nir_passes/matrices/cmat_types.h"
#include "nir_passes/matrices/shapes/choose_native_shape.h"
#include "nir_passes/workgroups/workgroup_barrier.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"
#include "compiler/spirv/spirv.h"

#include <array>
#include <map>
#include <utility>
#include <vector>

namespace weft {

namespace {

using cmat::Coordinates;

std::vector<nir_intrinsic_instr *> intrinsics(nir_function_impl *impl)
{
   std::vector<nir_intrinsic_instr *> list;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_intrinsic)
            list.push_back(nir_instr_as_intrinsic(instr));
      }
   }
   return list;
}

class ScopeLowering {
public:
   ScopeLowering(nir_shader *nir, const ScopePlan &plan, bool robust_access)
       : plan(plan), robust_access(robust_access),
         b(nir_builder_create(nir_shader_get_entrypoint(nir))), staging(make_staging(nir)),
         types(nir, [&](const glsl_cmat_description &desc) {
            const glsl_cmat_description part = plan.part(desc);
            return glsl_cmat_type(&part);
         })
   {
   }

   void run()
   {
      for (nir_intrinsic_instr *instr : intrinsics(b.impl)) {
         b.cursor = nir_before_instr(&instr->instr);
         lower(instr);
      }
      nir_metadata_preserve(b.impl, nir_metadata_none);
   }

private:
   void lower(nir_intrinsic_instr *instr)
   {
      switch (instr->intrinsic) {
      case nir_intrinsic_cmat_load:
         lower_load(instr, types.operand(instr, 0));
         break;
      case nir_intrinsic_cmat_store:
         lower_store(instr, types.operand(instr, 1));
         break;
      case nir_intrinsic_cmat_load_tensor_weft:
         set_origin(instr, 5, types.operand(instr, 0).desc);
         break;
      case nir_intrinsic_cmat_store_tensor_weft:
         set_origin(instr, 4, types.operand(instr, 1).desc);
         store_once(instr, types.operand(instr, 1).desc);
         break;
      case nir_intrinsic_cmat_load_blocked_weft:
         set_origin(instr, 2, types.operand(instr, 0).desc);
         break;
      case nir_intrinsic_cmat_store_blocked_weft:
         set_origin(instr, 2, types.operand(instr, 1).desc);
         store_once(instr, types.operand(instr, 1).desc);
         break;
      case nir_intrinsic_cmat_per_element_weft:
         set_origin(instr, 3, types.operand(instr, 0).desc);
         break;
      case nir_intrinsic_cmat_length:
         nir_intrinsic_set_cmat_desc(instr, plan.part(nir_intrinsic_cmat_desc(instr)));
         break;
      case nir_intrinsic_cmat_muladd:
         lower_muladd(instr, types.operand(instr, 2));
         break;
      case nir_intrinsic_cmat_coordinates_weft:
         lower_coordinates(instr);
         break;
      case nir_intrinsic_cmat_reduce_weft:
         lower_reduction(instr, types.operand(instr, 0), types.operand(instr, 1));
         break;
      case nir_intrinsic_cmat_convert_weft:
      case nir_intrinsic_cmat_transpose_weft:
      case nir_intrinsic_cmat_unary_op:
         lower_rearrangement(instr, types.operand(instr, 0), types.operand(instr, 1));
         break;
      default:
         break;
      }
   }

   /* ---- bands ---- */

   bool is_cut(const glsl_cmat_description &desc) const { return plan.bands(desc).count > 1; }

   /// The first row, or the first column of B, of the subgroup's part.
   nir_def *first_line(const glsl_cmat_description &desc)
   {
      const Bands bands = plan.bands(desc);
      if (bands.count == 1)
         return nir_imm_int(&b, 0);
      nir_def *band = nir_load_subgroup_id(&b);
      if (bands.count < plan.subgroups)
         band = nir_umod_imm(&b, band, bands.count);
      return nir_imul_imm(&b, band, bands.lines);
   }

   /// Coordinates in the whole matrix, of an element of the subgroup's part.
   nir_def *in_whole(const glsl_cmat_description &desc, nir_def *row_and_col)
   {
      const unsigned cut_channel = is_b(desc) ? 1 : 0;
      nir_def *line = nir_iadd(&b, nir_channel(&b, row_and_col, cut_channel), first_line(desc));
      return nir_vector_insert_imm(&b, row_and_col, line, cut_channel);
   }

   /* ---- memory ---- */

   /// Moves an access to the subgroup's part: its pointer, and its stride, which is source 2.
   void advance(nir_intrinsic_instr *instr, unsigned pointer, const glsl_cmat_description &desc)
   {
      if (!is_cut(desc))
         return;
      const cmat::Memory memory(&b, nir_src_as_deref(instr->src[pointer]), instr->src[2].ssa, desc,
                                robust_access);
      nir_def *line = first_line(desc), *place = nir_imm_int(&b, 0);
      if ((nir_intrinsic_matrix_layout(instr) == GLSL_MATRIX_LAYOUT_ROW_MAJOR) == is_b(desc))
         std::swap(line, place);
      nir_src_rewrite(&instr->src[pointer], &memory.element(line, place)->def);
      nir_src_rewrite(&instr->src[2], memory.stride());
   }

   void lower_load(nir_intrinsic_instr *instr, const Matrix &matrix)
   {
      if (is_of_workgroup(matrix.desc))
         advance(instr, 1, matrix.desc);
   }

   void lower_store(nir_intrinsic_instr *instr, const Matrix &matrix)
   {
      if (is_of_workgroup(matrix.desc))
         advance(instr, 0, matrix.desc);
      store_once(instr, matrix.desc);
   }

   /// The first of the subgroups with the same part stores it.
   void store_once(nir_intrinsic_instr *instr, const glsl_cmat_description &desc)
   {
      const uint32_t storing = plan.bands(desc).count;
      if (!is_of_workgroup(desc) || storing == plan.subgroups)
         return;
      nir_if *stores = nir_push_if(&b, nir_ult_imm(&b, nir_load_subgroup_id(&b), storing));
      nir_instr_move(b.cursor, &instr->instr);
      nir_pop_if(&b, stores);
   }

   /// Sets the source that is the origin of the subgroup's part in the whole matrix.
   void set_origin(nir_intrinsic_instr *instr, unsigned source, const glsl_cmat_description &desc)
   {
      if (is_of_workgroup(desc) && is_cut(desc))
         nir_src_rewrite(&instr->src[source], in_whole(desc, instr->src[source].ssa));
   }

   /* ---- single elements ---- */

   /// The coordinates of a component.
   void lower_coordinates(nir_intrinsic_instr *instr)
   {
      const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
      if (!is_of_workgroup(desc))
         return;
      b.cursor = nir_after_instr(&instr->instr);
      nir_intrinsic_set_cmat_desc(instr, plan.part(desc));
      nir_def *at = in_whole(desc, &instr->def);
      nir_def_rewrite_uses_after(&instr->def, at, at->parent_instr);
   }

   /// Calls body with the number of each component that lies in the subgroup's part, and with its
   /// coordinates in the whole matrix.
   template <typename Body>
   void for_each_component(const glsl_cmat_description &desc, const Body &body)
   {
      cmat::for_each_component(&b, plan.part(desc), [&](nir_def *number, nir_def *in_part) {
         nir_def *at = in_whole(desc, in_part);
         body(number, Coordinates{nir_channel(&b, at, 0), nir_channel(&b, at, 1)});
      });
   }

   nir_def *extract(const Matrix &matrix, nir_def *number)
   {
      return nir_cmat_extract(&b, component_bits(matrix.desc), &matrix.deref->def, number);
   }

   void insert(const Matrix &matrix, nir_def *value, nir_def *number)
   {
      nir_cmat_insert(&b, &matrix.deref->def, value, &matrix.deref->def, number);
   }

   /* ---- the exchange of elements ---- */

   /// Shared variables for components of 8, 16, 32 and 64 bits.
   using Staging = std::array<nir_variable *, 4>;

   Staging make_staging(nir_shader *nir) const
   {
      Staging variables = {};
      for (unsigned i = 0; i < variables.size(); ++i) {
         if (const uint32_t elements = plan.staged_elements[i]) {
            const glsl_type *type = glsl_array_type(glsl_uintN_t_type(8u << i), elements, 0);
            variables[i] = nir_variable_create(nir, nir_var_mem_shared, type, "staging");
         }
      }
      return variables;
   }

   nir_deref_instr *staged(const glsl_cmat_description &desc, nir_def *number)
   {
      nir_deref_instr *all = nir_build_deref_var(&b, staging[size_class(component_bits(desc))]);
      return nir_build_deref_array(&b, all, number);
   }
   nir_deref_instr *staged(const glsl_cmat_description &desc, nir_def *row, nir_def *col)
   {
      return staged(desc, nir_iadd(&b, nir_imul_imm(&b, row, desc.cols), col));
   }

   /// Lets all subgroups read all elements, by element(), until the next exchange.
   void share(const Matrix &matrix)
   {
      if (!is_cut(matrix.desc))
         return;
      workgroup_barrier(&b);
      for_each_component(matrix.desc, [&](nir_def *number, const Coordinates &at) {
         nir_def *value = extract(matrix, number);
         nir_store_deref(&b, staged(matrix.desc, at.row, at.col), value, 1);
      });
      workgroup_barrier(&b);
   }

   nir_def *element(const Matrix &matrix, nir_def *row, nir_def *col)
   {
      if (is_cut(matrix.desc))
         return nir_load_deref(&b, staged(matrix.desc, row, col));
      return nir_cmat_element_weft(&b, component_bits(matrix.desc), &matrix.deref->def, row, col);
   }

   /* ---- reductions ---- */

   /// A reduction within bands stays one instruction.
   void lower_reduction(nir_intrinsic_instr *instr, const Matrix &result, const Matrix &source)
   {
      const unsigned reduction = nir_intrinsic_reduction(instr);
      if (!is_of_workgroup(source.desc) ||
          !plan.combines_bands(reduction, result.desc, source.desc))
         return;
      if (reduction == SpvCooperativeMatrixReduce2x2Mask)
         reduce_squares(instr, result, source);
      else
         reduce_columns(instr, result, source);
      nir_instr_remove(&instr->instr);
   }

   /// Reduces columns, or all elements. Each band is reduced first. All subgroups then combine the
   /// bands' results in the same order.
   void reduce_columns(nir_intrinsic_instr *instr, const Matrix &result, const Matrix &source)
   {
      const unsigned reduction = nir_intrinsic_reduction(instr);
      const bool to_one = reduction & SpvCooperativeMatrixReduceRowMask;
      const Matrix of_band = temporary(source.desc, source.desc);
      _nir_build_cmat_reduce_weft(
         &b, &of_band.deref->def, &source.deref->def,
         {._ = 0, .reduction = reduction, .callee = nir_intrinsic_callee(instr)});
      share_first_row(of_band, to_one ? 1 : source.desc.cols);
      const Combination combine = combination(instr, source.desc);
      if (to_one) {
         nir_cmat_construct(&b, &result.deref->def,
                            combine_bands(source.desc, combine, 1, nullptr));
         return;
      }
      for_each_component(result.desc, [&](nir_def *number, const Coordinates &at) {
         insert(result, combine_bands(source.desc, combine, source.desc.cols, at.col), number);
      });
   }

   Combination combination(const nir_intrinsic_instr *instr, const glsl_cmat_description &desc)
   {
      return {&b, callee_of(b.shader, instr), glsl_base_type(desc.element_type)};
   }

   /// Shares the first `cols` elements of each band, one band after the other.
   void share_first_row(const Matrix &matrix, uint32_t cols)
   {
      workgroup_barrier(&b);
      nir_def *first = first_line(matrix.desc);
      for_each_component(matrix.desc, [&](nir_def *number, const Coordinates &at) {
         nir_def *stores = nir_iand(&b, nir_ieq(&b, at.row, first), nir_ult_imm(&b, at.col, cols));
         nir_if *is_first = nir_push_if(&b, stores);
         nir_def *value = extract(matrix, number);
         nir_def *band = nir_udiv_imm(&b, first, plan.bands(matrix.desc).lines);
         nir_def *place = nir_iadd(&b, nir_imul_imm(&b, band, cols), at.col);
         nir_store_deref(&b, staged(matrix.desc, place), value, 1);
         nir_pop_if(&b, is_first);
      });
      workgroup_barrier(&b);
   }

   /// Combines the elements of a column that share_first_row() shared; without a column, the first
   /// ones.
   nir_def *combine_bands(const glsl_cmat_description &desc, const Combination &combine,
                          uint32_t cols, nir_def *col)
   {
      const auto of_band = [&](nir_def *band) {
         nir_def *place = nir_imul_imm(&b, band, cols);
         return nir_load_deref(&b, staged(desc, col ? nir_iadd(&b, place, col) : place));
      };
      nir_variable *sum =
         nir_local_variable_create(b.impl, glsl_uintN_t_type(combine.bits()), "combined");
      nir_store_var(&b, sum, of_band(nir_imm_int(&b, 0)), 1);
      build_loop(&b, plan.bands(desc).count - 1, [&](nir_def *number) {
         nir_def *next = of_band(nir_iadd_imm(&b, number, 1));
         nir_store_var(&b, sum, combine(nir_load_var(&b, sum), next), 1);
      });
      return nir_load_var(&b, sum);
   }

   /// Reduces squares that lie in other bands than the elements of the result.
   void reduce_squares(nir_intrinsic_instr *instr, const Matrix &result, const Matrix &source)
   {
      const Combination combine = combination(instr, source.desc);
      share(source);
      for_each_component(result.desc, [&](nir_def *number, const Coordinates &at) {
         nir_def *value = combine.square([&](unsigned i, unsigned j) {
            return element(source, twice_and(&b, at.row, i), twice_and(&b, at.col, j));
         });
         insert(result, value, number);
      });
   }

   /* ---- products ---- */

   /// The rows of a subgroup are multiplied by all columns of B.
   void lower_muladd(nir_intrinsic_instr *instr, const Matrix &matrix)
   {
      if (!is_of_workgroup(matrix.desc) || !is_cut(matrix.desc))
         return;
      workgroup_barrier(&b);
      nir_deref_instr *all =
         plan.b == FormOfB::workgroup_matrix ? insert_columns(matrix) : join_staged(matrix);
      nir_src_rewrite(&instr->src[2], &all->def);
   }

   /// Stores the subgroup's columns in the workgroup's matrix.
   nir_deref_instr *insert_columns(const Matrix &matrix)
   {
      nir_deref_instr *all = workgroup_matrix(matrix.desc);
      nir_cmat_insert_columns_weft(&b, &all->def, &matrix.deref->def, first_line(matrix.desc));
      workgroup_barrier(&b);
      return all;
   }

   /// Loads the whole of B from shared memory. Bands are stored whole, not component by component
   /// as in share(): back ends that cut B have no rules of alignment for stores.
   nir_deref_instr *join_staged(const Matrix &matrix)
   {
      const glsl_cmat_description &desc = matrix.desc;
      nir_def *zero = nir_imm_int(&b, 0), *stride = nir_imm_int(&b, desc.cols);
      constexpr glsl_matrix_layout layout = GLSL_MATRIX_LAYOUT_ROW_MAJOR;
      _nir_build_cmat_store(&b, &staged(desc, zero, first_line(desc))->def, &matrix.deref->def,
                            stride, {._ = 0, .matrix_layout = layout, .access = {}});
      workgroup_barrier(&b);
      nir_deref_instr *all = whole(desc);
      _nir_build_cmat_load(&b, &all->def, &staged(desc, zero, zero)->def, stride,
                           {._ = 0, .matrix_layout = layout, .access = {}});
      return all;
   }

   nir_deref_instr *whole(glsl_cmat_description desc)
   {
      desc.scope = SCOPE_SUBGROUP;
      nir_variable *variable = nir_local_variable_create(b.impl, glsl_cmat_type(&desc), "whole");
      return nir_build_deref_var(&b, variable);
   }

   /// The workgroup has one matrix of each type.
   nir_deref_instr *workgroup_matrix(const glsl_cmat_description &desc)
   {
      nir_variable *&variable = workgroup_matrices[glsl_cmat_type(&desc)];
      if (!variable) {
         variable = whole(desc)->var;
         weft_mark_workgroup_matrix(variable);
      }
      return nir_build_deref_var(&b, variable);
   }

   /* ---- conversions and transposes ---- */

   /// The result and the source are cut differently.
   void lower_rearrangement(nir_intrinsic_instr *instr, const Matrix &result, const Matrix &source)
   {
      const bool transposes = instr->intrinsic == nir_intrinsic_cmat_transpose_weft;
      const bool to_b = is_b(result.desc), from_b = is_b(source.desc);
      if (!is_of_workgroup(result.desc) || (!is_cut(result.desc) && !is_cut(source.desc)) ||
          (!transposes && to_b == from_b))
         return;
      Matrix from = source;
      if (source.desc.element_type != result.desc.element_type) {
         from = temporary(source.desc, result.desc);
         _nir_build_cmat_unary_op(&b, &from.deref->def, &source.deref->def,
                                  {._ = 0,
                                   .alu_op = nir_intrinsic_alu_op(instr),
                                   .saturate = nir_intrinsic_saturate(instr)});
      }
      share(from);
      for_each_component(result.desc, [&](nir_def *number, const Coordinates &at) {
         nir_def *value =
            transposes ? element(from, at.col, at.row) : element(from, at.row, at.col);
         insert(result, value, number);
      });
      nir_instr_remove(&instr->instr);
   }

   /// A matrix of the subgroup with the component type of the result.
   Matrix temporary(glsl_cmat_description desc, const glsl_cmat_description &result)
   {
      desc.element_type = result.element_type;
      const glsl_cmat_description part = plan.part(desc);
      nir_variable *variable =
         nir_local_variable_create(b.impl, glsl_cmat_type(&part), "converted");
      return {nir_build_deref_var(&b, variable), desc};
   }

   const ScopePlan &plan;
   const bool robust_access;
   nir_builder b;
   const Staging staging;
   std::map<const glsl_type *, nir_variable *> workgroup_matrices;
   CmatTypes types;
};

} // namespace

void lower_cmat_scope(nir_shader *nir, const ScopePlan &plan, bool robust_access)
{
   ScopeLowering(nir, plan, robust_access).run();
}

} // namespace weft
