// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/lower_cmat_scope.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_callee.h"
#include "nir_passes/matrices/cmat_components.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/cmat_memory.h"
#include "nir_passes/matrices/cmat_types.h"
#include "nir_passes/matrices/cmat_uses.h"
#include "nir_passes/workgroups/workgroup_barrier.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"
#include "compiler/spirv/spirv.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft {

namespace {

/// Tiles have no fewer.
constexpr uint32_t least_band_rows = 8, least_band_cols = 16;

bool is_workgroups(const glsl_cmat_description &desc)
{
   return desc.scope == SCOPE_WORKGROUP;
}

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

bool is_b(const glsl_cmat_description &desc)
{
   return desc.use == GLSL_CMAT_USE_B;
}

struct Bands {
   uint32_t count, lines; ///< rows of one, or columns of B
};

/// How matrices are cut.
struct Cutting {
   uint32_t max_bands;
   bool cuts_b;
   bool has_workgroup_matrices;

   Bands bands(const glsl_cmat_description &desc) const
   {
      const uint32_t lines = is_b(desc) ? desc.cols : desc.rows,
                     least = is_b(desc) ? least_band_cols : least_band_rows;
      if (is_b(desc) && !cuts_b)
         return {1, lines};
      for (uint32_t of_one = least; of_one < lines; of_one += least) {
         if (lines % of_one == 0 && lines / of_one <= max_bands)
            return {lines / of_one, of_one};
      }
      return {1, lines};
   }
};

/* ---- what subgroups need of each other ---- */

const glsl_cmat_description &description(const nir_intrinsic_instr *instr, unsigned source)
{
   return *glsl_get_cmat_description(nir_src_as_deref(instr->src[source])->type);
}

/// The channel of coordinates across which a matrix is cut.
unsigned cut_channel(const glsl_cmat_description &desc)
{
   return is_b(desc) ? 1 : 0;
}

/// Whether a reduction combines elements of several bands of the source.
bool combines_bands(const nir_intrinsic_instr *reduction, const Cutting &cutting)
{
   if (nir_intrinsic_reduction(reduction) == SpvCooperativeMatrixReduce2x2Mask)
      return cutting.bands(description(reduction, 0)).count !=
             cutting.bands(description(reduction, 1)).count;
   return nir_intrinsic_reduction(reduction) & SpvCooperativeMatrixReduceColumnMask;
}

/// The operand of which it wants elements of any band, if it does.
std::optional<unsigned> shared_operand(const nir_intrinsic_instr *instr, const Cutting &cutting)
{
   const auto wants = [&](unsigned source, bool any_band) {
      const glsl_cmat_description &desc = description(instr, source);
      const bool is_cut = is_workgroups(desc) && cutting.bands(desc).count > 1;
      return is_cut && any_band ? std::optional(source) : std::nullopt;
   };
   switch (instr->intrinsic) {
   case nir_intrinsic_cmat_reduce_weft:
      return wants(1, combines_bands(instr, cutting));
   case nir_intrinsic_cmat_transpose_weft:
      return wants(1, true);
   case nir_intrinsic_cmat_convert_weft:
   case nir_intrinsic_cmat_unary_op:
      return wants(1, is_b(description(instr, 0)) != is_b(description(instr, 1)));
   case nir_intrinsic_cmat_muladd:
      return wants(2, is_b(description(instr, 2)));
   default:
      return std::nullopt;
   }
}

/// Whether a component of a B that is whole in each subgroup may get another value from each: not
/// from loads.
bool sets_component_of_b(const nir_intrinsic_instr *instr, const Cutting &cutting)
{
   const bool sets = instr->intrinsic == nir_intrinsic_cmat_insert ||
                     instr->intrinsic == nir_intrinsic_cmat_insert_run_weft;
   if (!sets || !is_workgroups(description(instr, 0)) || !is_b(description(instr, 0)) ||
       cutting.bands(description(instr, 0)).count > 1)
      return false;
   const nir_variable *var = nir_intrinsic_get_var(instr, 0);
   return !var || !(var->data.access & ACCESS_CAN_REORDER);
}

/// Elements of each size of components, 8, 16, 32 and 64 bits.
using Elements = std::array<uint32_t, 4>;

unsigned size_class(const glsl_cmat_description &desc)
{
   return unsigned(std::countr_zero(component_bits(desc) / 8));
}

/// How many elements of an operand are shared.  Of a reduction to lines or to one element, bands
/// are reduced first.
uint32_t shared_elements(const nir_intrinsic_instr *instr, const glsl_cmat_description &desc,
                         const Cutting &cutting)
{
   if (instr->intrinsic != nir_intrinsic_cmat_reduce_weft ||
       nir_intrinsic_reduction(instr) == SpvCooperativeMatrixReduce2x2Mask)
      return uint32_t(desc.rows) * desc.cols;
   const bool to_one = nir_intrinsic_reduction(instr) & SpvCooperativeMatrixReduceRowMask;
   return cutting.bands(desc).count * (to_one ? 1 : desc.cols);
}

/// Whether it reads single elements of a matrix that is cut: which band has them is not known.
bool reads_any_element(const nir_intrinsic_instr *instr, const Cutting &cutting)
{
   return instr->intrinsic == nir_intrinsic_cmat_element_weft &&
          is_workgroups(description(instr, 0)) && cutting.bands(description(instr, 0)).count > 1;
}

/// How large the matrices are of which subgroups want each other's elements; nothing if they cannot
/// be had so.
std::optional<Elements> find_shared_elements(nir_shader *nir, uint32_t max_bytes,
                                             const Cutting &cutting)
{
   Elements elements = {};
   /* Bytes by element type: one is needed at a time. */
   std::map<unsigned, uint32_t> workgroup_matrices;
   for (const nir_intrinsic_instr *instr : intrinsics(nir_shader_get_entrypoint(nir))) {
      if (sets_component_of_b(instr, cutting) || reads_any_element(instr, cutting))
         return std::nullopt;
      const std::optional<unsigned> operand = shared_operand(instr, cutting);
      if (!operand)
         continue;
      const glsl_cmat_description &desc = description(instr, *operand);
      if (instr->intrinsic == nir_intrinsic_cmat_muladd && cutting.has_workgroup_matrices) {
         uint32_t &most = workgroup_matrices[desc.element_type];
         most = std::max(most, uint32_t(desc.rows) * desc.cols * component_bits(desc) / 8);
         continue;
      }
      /* Components are converted before they are shared. */
      const bool converts = instr->intrinsic != nir_intrinsic_cmat_muladd;
      uint32_t &most = elements[size_class(converts ? description(instr, 0) : desc)];
      most = std::max(most, shared_elements(instr, desc, cutting));
   }
   uint32_t bytes = 0;
   for (unsigned i = 0; i < elements.size(); ++i)
      bytes += elements[i] << i;
   for (const auto &[element_type, most] : workgroup_matrices) {
      /* Kernels may want components wider (packed_bytes() of the CPU's). */
      constexpr uint32_t growth = 4;
      bytes += growth * most;
   }
   /* Variables with a layout of their own all lie in the same place. */
   const bool no_place = bytes > 0 && nir->info.shared_memory_explicit_layout;
   return bytes > max_bytes || no_place ? std::nullopt : std::optional(elements);
}

/* ---- lowering ---- */

class Lowering {
public:
   Lowering(nir_shader *nir, const ScopeOptions &options, uint32_t subgroups,
            const Cutting &cutting, const Elements &shared)
       : options(options), subgroups(subgroups), cutting(cutting),
         b(nir_builder_create(nir_shader_get_entrypoint(nir))), staging(make_staging(nir, shared)),
         uses(count_uses()), types(nir, [&](const glsl_cmat_description &desc) {
            const glsl_cmat_description of_subgroup = cut(desc);
            return glsl_cmat_type(&of_subgroup);
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
   /* ---- bands ---- */

   Bands bands(const glsl_cmat_description &desc) const { return cutting.bands(desc); }

   /// The part that a subgroup has.
   glsl_cmat_description cut(glsl_cmat_description desc) const
   {
      if (is_workgroups(desc)) {
         const uint32_t lines = bands(desc).lines;
         if (is_b(desc))
            desc.cols = lines;
         else
            desc.rows = lines;
         desc.scope = SCOPE_SUBGROUP;
      }
      return desc;
   }

   nir_def *first_line(const glsl_cmat_description &desc)
   {
      const Bands of = bands(desc);
      if (of.count == 1)
         return nir_imm_int(&b, 0);
      nir_def *band = nir_load_subgroup_id(&b);
      if (of.count < subgroups)
         band = nir_umod_imm(&b, band, of.count);
      return nir_imul_imm(&b, band, of.lines);
   }

   /// A place in the subgroup's part, in the whole matrix.
   nir_def *in_whole(const glsl_cmat_description &desc, nir_def *row_and_col)
   {
      const unsigned cut_across = cut_channel(desc);
      nir_def *line = nir_iadd(&b, nir_channel(&b, row_and_col, cut_across), first_line(desc));
      return nir_vector_insert_imm(&b, row_and_col, line, cut_across);
   }

   void lower(nir_intrinsic_instr *instr)
   {
      switch (instr->intrinsic) {
      case nir_intrinsic_cmat_load:
         lower_load(instr, types.operand(instr, 0));
         break;
      case nir_intrinsic_cmat_store:
         lower_store(instr, types.operand(instr, 1));
         break;
      case nir_intrinsic_cmat_length:
      case nir_intrinsic_cmat_runs_weft:
         nir_intrinsic_set_cmat_desc(instr, cut(nir_intrinsic_cmat_desc(instr)));
         break;
      case nir_intrinsic_cmat_muladd:
         lower_muladd(instr, types.operand(instr, 2));
         break;
      case nir_intrinsic_cmat_coordinates_weft:
      case nir_intrinsic_cmat_run_coordinates_weft:
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

   /* ---- memory ---- */

   /// Lets the pointer and the stride, which is the last source, be those of the subgroup's part.
   void advance(nir_intrinsic_instr *instr, unsigned pointer, const glsl_cmat_description &desc)
   {
      if (bands(desc).count == 1)
         return;
      const cmat::Memory memory(&b, nir_src_as_deref(instr->src[pointer]), instr->src[2].ssa, desc,
                                options.robust_access);
      nir_def *line = first_line(desc), *place = nir_imm_int(&b, 0);
      if ((nir_intrinsic_matrix_layout(instr) == GLSL_MATRIX_LAYOUT_ROW_MAJOR) == is_b(desc))
         std::swap(line, place);
      nir_src_rewrite(&instr->src[pointer], &memory.element(line, place)->def);
      nir_src_rewrite(&instr->src[2], memory.stride());
   }

   void lower_load(nir_intrinsic_instr *instr, const Matrix &matrix)
   {
      if (is_workgroups(matrix.desc))
         advance(instr, 1, matrix.desc);
   }

   /// Of those that have the same part, the first stores it.
   void lower_store(nir_intrinsic_instr *instr, const Matrix &matrix)
   {
      if (!is_workgroups(matrix.desc))
         return;
      advance(instr, 0, matrix.desc);
      const uint32_t storing = bands(matrix.desc).count;
      if (storing == subgroups)
         return;
      nir_if *stores = nir_push_if(&b, nir_ult_imm(&b, nir_load_subgroup_id(&b), storing));
      nir_instr_move(b.cursor, &instr->instr);
      nir_pop_if(&b, stores);
   }

   /* ---- single elements ---- */

   /// Of the running invocation's component, in the whole matrix.
   struct Place {
      nir_def *row, *col;
   };
   /// Of a component or of a run of them.
   void lower_coordinates(nir_intrinsic_instr *instr)
   {
      const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
      if (!is_workgroups(desc))
         return;
      b.cursor = nir_after_instr(&instr->instr);
      nir_intrinsic_set_cmat_desc(instr, cut(desc));
      nir_def *at = in_whole(desc, &instr->def);
      nir_def_rewrite_uses_after(&instr->def, at, at->parent_instr);
   }

   /// Calls body with the number of each component that lies in the matrix, and its place.
   template <typename Body>
   void for_each_component(const glsl_cmat_description &desc, const Body &body)
   {
      cmat::for_each_component(&b, cut(desc), [&](nir_def *number, nir_def *in_part) {
         nir_def *at = in_whole(desc, in_part);
         body(number, Place{nir_channel(&b, at, 0), nir_channel(&b, at, 1)});
      });
   }

   /* ---- elements of other subgroups ---- */

   using Staging = std::array<nir_variable *, 4>;

   static Staging make_staging(nir_shader *nir, const Elements &shared)
   {
      Staging variables = {};
      for (unsigned i = 0; i < shared.size(); ++i) {
         if (const uint32_t elements = shared[i]) {
            const glsl_type *type = glsl_array_type(glsl_uintN_t_type(8u << i), elements, 0);
            variables[i] = nir_variable_create(nir, nir_var_mem_shared, type, "staging");
         }
      }
      return variables;
   }

   nir_deref_instr *staged(const glsl_cmat_description &desc, nir_def *number)
   {
      nir_deref_instr *all = nir_build_deref_var(&b, staging[size_class(desc)]);
      return nir_build_deref_array(&b, all, number);
   }
   nir_deref_instr *staged(const glsl_cmat_description &desc, nir_def *row, nir_def *col)
   {
      return staged(desc, nir_iadd(&b, nir_imul_imm(&b, row, desc.cols), col));
   }

   /// Lets all see all of the matrix, by element(), until the next is shared.
   void share(const Matrix &matrix)
   {
      if (bands(matrix.desc).count == 1)
         return;
      workgroup_barrier(&b);
      for_each_component(matrix.desc, [&](nir_def *number, const Place &at) {
         nir_def *value =
            nir_cmat_extract(&b, component_bits(matrix.desc), &matrix.deref->def, number);
         nir_store_deref(&b, staged(matrix.desc, at.row, at.col), value, 1);
      });
      workgroup_barrier(&b);
   }

   nir_def *element(const Matrix &matrix, nir_def *row, nir_def *col)
   {
      if (bands(matrix.desc).count > 1)
         return nir_load_deref(&b, staged(matrix.desc, row, col));
      return nir_cmat_element_weft(&b, component_bits(matrix.desc), &matrix.deref->def, row, col);
   }

   /// Rows are in one band.  What combines several is done for each band first, then all share the
   /// results, and each combines these in the same order.
   void lower_reduction(nir_intrinsic_instr *instr, const Matrix &result, const Matrix &source)
   {
      if (!is_workgroups(source.desc))
         return;
      const unsigned reduction = nir_intrinsic_reduction(instr);
      const uint32_t count = bands(source.desc).count;
      if (reduction == SpvCooperativeMatrixReduce2x2Mask) {
         if (count != bands(result.desc).count)
            reduce_quads(instr, result, source);
         return;
      }
      if (count == 1 || !(reduction & SpvCooperativeMatrixReduceColumnMask))
         return;
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
      } else {
         for_each_component(result.desc, [&](nir_def *number, const Place &at) {
            nir_def *value = combine_bands(source.desc, combine, source.desc.cols, at.col);
            nir_cmat_insert(&b, &result.deref->def, value, &result.deref->def, number);
         });
      }
      nir_instr_remove(&instr->instr);
   }

   Combination combination(const nir_intrinsic_instr *instr, const glsl_cmat_description &desc)
   {
      return {&b, callee_of(b.shader, instr), glsl_base_type(desc.element_type)};
   }

   /// Of each band the first `cols` elements, one band after the other.
   void share_first_row(const Matrix &matrix, uint32_t cols)
   {
      workgroup_barrier(&b);
      nir_def *first = first_line(matrix.desc);
      for_each_component(matrix.desc, [&](nir_def *number, const Place &at) {
         nir_def *stores = nir_iand(&b, nir_ieq(&b, at.row, first), nir_ult_imm(&b, at.col, cols));
         nir_if *is_first = nir_push_if(&b, stores);
         nir_def *value =
            nir_cmat_extract(&b, component_bits(matrix.desc), &matrix.deref->def, number);
         nir_def *band = nir_udiv_imm(&b, first, bands(matrix.desc).lines);
         nir_def *place = nir_iadd(&b, nir_imul_imm(&b, band, cols), at.col);
         nir_store_deref(&b, staged(matrix.desc, place), value, 1);
         nir_pop_if(&b, is_first);
      });
      workgroup_barrier(&b);
   }

   /// Of what share_first_row() shared of each band, the elements of a column; of the first where
   /// that is null.
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
      build_loop(&b, bands(desc).count - 1, [&](nir_def *number) {
         nir_def *next = of_band(nir_iadd_imm(&b, number, 1));
         nir_store_var(&b, sum, combine(nir_load_var(&b, sum), next), 1);
      });
      return nir_load_var(&b, sum);
   }

   /// Whose squares lie in other bands than the result's elements.
   void reduce_quads(nir_intrinsic_instr *instr, const Matrix &result, const Matrix &source)
   {
      const Combination combine = combination(instr, source.desc);
      share(source);
      for_each_component(result.desc, [&](nir_def *number, const Place &at) {
         nir_def *value = combine.square([&](unsigned i, unsigned j) {
            return element(source, twice_and(&b, at.row, i), twice_and(&b, at.col, j));
         });
         nir_cmat_insert(&b, &result.deref->def, value, &result.deref->def, number);
      });
      nir_instr_remove(&instr->instr);
   }

   /// A subgroup's rows are multiplied by all columns of B.  Bands are stored whole, not component
   /// by component as in share(): back ends that cut B have no rules of alignment for stores.
   void lower_muladd(nir_intrinsic_instr *instr, const Matrix &matrix)
   {
      const glsl_cmat_description &desc = matrix.desc;
      if (!is_workgroups(desc) || bands(desc).count == 1)
         return;
      nir_def *zero = nir_imm_int(&b, 0), *stride = nir_imm_int(&b, desc.cols);
      constexpr glsl_matrix_layout layout = GLSL_MATRIX_LAYOUT_ROW_MAJOR;
      nir_intrinsic_instr *load =
         cutting.has_workgroup_matrices ? load_for(instr, matrix) : nullptr;
      workgroup_barrier(&b);
      if (cutting.has_workgroup_matrices) {
         nir_deref_instr *all = workgroup_matrix(desc);
         if (load) {
            _nir_build_cmat_load_columns_weft(&b, &all->def, load->src[1].ssa, load->src[2].ssa,
                                              first_line(desc),
                                              {._ = 0,
                                               .cmat_desc = cut(desc),
                                               .matrix_layout = nir_intrinsic_matrix_layout(load),
                                               .access = nir_intrinsic_access(load)});
            nir_instr_remove(&load->instr);
         } else {
            nir_cmat_insert_columns_weft(&b, &all->def, &matrix.deref->def, first_line(desc));
         }
         workgroup_barrier(&b);
         nir_src_rewrite(&instr->src[2], &all->def);
         return;
      }
      _nir_build_cmat_store(&b, &staged(desc, zero, first_line(desc))->def, &matrix.deref->def,
                            stride, {._ = 0, .matrix_layout = layout, .access = {}});
      workgroup_barrier(&b);
      nir_deref_instr *all = whole(desc);
      _nir_build_cmat_load(&b, &all->def, &staged(desc, zero, zero)->def, stride,
                           {._ = 0, .matrix_layout = layout, .access = {}});
      nir_src_rewrite(&instr->src[2], &all->def);
   }

   /// The load of a matrix that is for one multiplication only and may as well be done just before
   /// that; null if there is none.
   nir_intrinsic_instr *load_for(nir_intrinsic_instr *muladd, const Matrix &matrix) const
   {
      const nir_variable *variable = nir_deref_instr_get_variable(matrix.deref);
      constexpr uint32_t load_and_muladd = 2;
      if (!variable || uses.at(variable) != load_and_muladd)
         return nullptr;
      for (nir_instr *instr = nir_instr_prev(&muladd->instr); instr;
           instr = nir_instr_prev(instr)) {
         if (instr->type == nir_instr_type_intrinsic) {
            nir_intrinsic_instr *load = nir_instr_as_intrinsic(instr);
            if (load->intrinsic == nir_intrinsic_cmat_load &&
                nir_intrinsic_get_var(load, 0) == variable)
               return nir_intrinsic_access(load) & (ACCESS_VOLATILE | ACCESS_COHERENT) ? nullptr
                                                                                       : load;
         }
         if (!leaves_memory(instr))
            return nullptr;
      }
      return nullptr;
   }

   /// How often variables' derefs are used.
   std::unordered_map<const nir_variable *, uint32_t> count_uses() const
   {
      std::unordered_map<const nir_variable *, uint32_t> counts;
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_deref)
               continue;
            nir_deref_instr *deref = nir_instr_as_deref(instr);
            if (const nir_variable *variable = nir_deref_instr_get_variable(deref))
               counts[variable] += uint32_t(list_length(&deref->def.uses));
         }
      }
      return counts;
   }

   /// Whether the memory that subgroups share is the same for them behind an instruction as before.
   static bool leaves_memory(const nir_instr *instr)
   {
      if (instr->type == nir_instr_type_call)
         return false;
      if (instr->type != nir_instr_type_intrinsic)
         return true;
      const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      const nir_intrinsic_info &info = nir_intrinsic_infos[intrinsic->intrinsic];
      if (info.flags & NIR_INTRINSIC_CAN_ELIMINATE)
         return true;
      // What writes a variable has it first.
      const nir_deref_instr *written =
         info.num_srcs > 0 ? nir_src_as_deref(intrinsic->src[0]) : nullptr;
      return written && nir_deref_mode_must_be(written, nir_var_function_temp);
   }

   nir_deref_instr *whole(glsl_cmat_description desc)
   {
      desc.scope = SCOPE_SUBGROUP;
      nir_variable *variable = nir_local_variable_create(b.impl, glsl_cmat_type(&desc), "whole");
      return nir_build_deref_var(&b, variable);
   }

   nir_deref_instr *workgroup_matrix(const glsl_cmat_description &desc)
   {
      nir_variable *&variable = workgroup_matrices[glsl_cmat_type(&desc)];
      if (!variable) {
         variable = whole(desc)->var;
         weft_mark_workgroup_matrix(variable);
      }
      return nir_build_deref_var(&b, variable);
   }

   /// Conversions and transposes: of matrices that are cut in another way than the result.
   void lower_rearrangement(nir_intrinsic_instr *instr, const Matrix &result, const Matrix &source)
   {
      const bool transposes = instr->intrinsic == nir_intrinsic_cmat_transpose_weft;
      const bool to_b = is_b(result.desc), from_b = is_b(source.desc);
      const bool is_cut = bands(result.desc).count > 1 || bands(source.desc).count > 1;
      if (!is_workgroups(result.desc) || !is_cut || (!transposes && to_b == from_b))
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
      for_each_component(result.desc, [&](nir_def *number, const Place &at) {
         nir_def *value =
            transposes ? element(from, at.col, at.row) : element(from, at.row, at.col);
         nir_cmat_insert(&b, &result.deref->def, value, &result.deref->def, number);
      });
      nir_instr_remove(&instr->instr);
   }

   /// Of the result's component type.
   Matrix temporary(glsl_cmat_description desc, const glsl_cmat_description &result)
   {
      desc.element_type = result.element_type;
      const glsl_cmat_description of_subgroup = cut(desc);
      nir_variable *variable =
         nir_local_variable_create(b.impl, glsl_cmat_type(&of_subgroup), "converted");
      return {nir_build_deref_var(&b, variable), desc};
   }

   const ScopeOptions &options;
   const uint32_t subgroups;
   const Cutting cutting;
   nir_builder b;
   const Staging staging; ///< for components of 8, 16, 32 and 64 bits
   const std::unordered_map<const nir_variable *, uint32_t> uses; ///< before anything is lowered
   std::map<const glsl_type *, nir_variable *> workgroup_matrices;
   CmatTypes types;
};

/// In functions beside the entry point.
bool has_workgroup_matrices_elsewhere(nir_shader *nir)
{
   nir_foreach_function_impl(impl, nir) {
      if (impl == nir_shader_get_entrypoint(nir))
         continue;
      nir_foreach_function_temp_variable(var, impl) {
         const glsl_type *type = glsl_without_array(var->type);
         if (glsl_type_is_cmat(type) && is_workgroups(*glsl_get_cmat_description(type)))
            return true;
      }
   }
   return false;
}

} // namespace

Result<bool> lower_cmat_scope(nir_shader *nir, const ScopeOptions &options)
{
   const Result<CmatUses> uses = gather_cmat_uses(nir);
   if (!uses)
      return uses.error();
   if (std::ranges::none_of(uses->matrices, is_workgroups))
      return false;

   if (has_workgroup_matrices_elsewhere(nir))
      return Error{"cooperative matrices of workgroup scope in a function that a reduction calls"};
   const uint16_t *size = nir->info.workgroup_size;
   const uint32_t invocations = uint32_t(size[0]) * size[1] * size[2];
   if (invocations % options.subgroup_size != 0) {
      return Error{"cooperative matrices of workgroup scope in a workgroup of " +
                   std::to_string(invocations) + " invocations, which subgroups of " +
                   std::to_string(options.subgroup_size) + " do not fill"};
   }
   /* Those without a use (SPV_NV_cooperative_matrix) may be B. */
   const bool have_uses =
      std::ranges::none_of(uses->matrices, [](const glsl_cmat_description &desc) {
         return is_workgroups(desc) && desc.use == GLSL_CMAT_USE_NONE;
      });
   const uint32_t subgroups = invocations / options.subgroup_size;
   const bool cuts_b = options.cuts_b, has_workgroup_matrices = options.has_workgroup_matrices;
   for (const Cutting &cutting :
        {Cutting{subgroups, cuts_b, cuts_b && has_workgroup_matrices},
         Cutting{subgroups, cuts_b, false}, Cutting{subgroups, false, false}}) {
      if (!have_uses || options.keeps_whole)
         break;
      if (const auto shared = find_shared_elements(nir, options.staging_bytes, cutting)) {
         Lowering(nir, options, subgroups, cutting, *shared).run();
         return true;
      }
   }
   Lowering(nir, options, subgroups,
            {.max_bands = 1, .cuts_b = false, .has_workgroup_matrices = false}, {})
      .run();
   return true;
}

} // namespace weft
