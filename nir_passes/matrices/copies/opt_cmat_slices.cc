// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/copies/opt_cmat_slices.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_coordinates.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/cmat_memory.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

#include <algorithm>
#include <vector>

namespace weft {

namespace {

/// 32-bit registers of an invocation that a GPU's instructions can name.
constexpr uint32_t max_registers = 256;
/// Bytes of a line in a slice.
constexpr uint32_t slice_bytes = 8;

nir_deref_instr *matrix(const nir_intrinsic_instr *instr, unsigned source)
{
   return nir_src_as_deref(instr->src[source]);
}

const glsl_cmat_description &description(const nir_deref_instr *matrix)
{
   return *glsl_get_cmat_description(matrix->type);
}

bool is_same(nir_deref_instr *x, nir_deref_instr *y)
{
   return (nir_compare_derefs(x, y) & nir_derefs_equal_bit) != 0;
}

/// Elements along K in a slice of a factor.
uint32_t slice_length(const glsl_cmat_description &factor)
{
   return slice_bytes * 8 / component_bits(factor);
}

uint32_t depth(const glsl_cmat_description &factor)
{
   return factor.use == GLSL_CMAT_USE_A ? factor.cols : factor.rows;
}

/// A multiplication, and the loads of its factors.
struct Product {
   nir_intrinsic_instr *instr, *a, *b;

   nir_deref_instr *sum() const { return matrix(instr, 0); }
};

class Slicer {
public:
   Slicer(nir_shader *nir, uint32_t subgroup_size)
       : b(nir_builder_create(nir_shader_get_entrypoint(nir))), subgroup_size(subgroup_size)
   {
   }

   bool run()
   {
      /* Loops are added on the way. */
      std::vector<nir_block *> blocks;
      nir_foreach_block(block, b.impl)
         blocks.push_back(block);
      for (nir_block *block : blocks)
         slice(block);
      nir_metadata_preserve(b.impl, progress ? nir_metadata_none : nir_metadata_all);
      return progress;
   }

private:
   void slice(nir_block *block)
   {
      std::vector<nir_instr *> instrs;
      nir_foreach_instr(instr, block)
         instrs.push_back(instr);
      for (nir_instr *instr : instrs) {
         if (instr->type == nir_instr_type_intrinsic)
            visit(nir_instr_as_intrinsic(instr));
         else if (instr->type == nir_instr_type_jump)
            finish(instr);
      }
      if (!products.empty())
         multiply(nir_after_instr(instrs.back()));
      loads.clear();
   }

   void visit(nir_intrinsic_instr *instr)
   {
      switch (instr->intrinsic) {
      case nir_intrinsic_cmat_load:
         if (description(matrix(instr, 0)).use != GLSL_CMAT_USE_ACCUMULATOR)
            return load(instr);
         break;
      case nir_intrinsic_cmat_muladd:
         return multiply_add(instr);
      case nir_intrinsic_load_deref:
         return;
      case nir_intrinsic_store_deref:
         if (!nir_deref_mode_may_be(nir_src_as_deref(instr->src[0]), nir_var_mem_shared))
            return;
         break;
      case nir_intrinsic_barrier:
         /* A load may move behind an acquisition: it then reads values that are no older. */
         if (nir_intrinsic_execution_scope(instr) == SCOPE_NONE &&
             !(nir_intrinsic_memory_semantics(instr) & NIR_MEMORY_RELEASE))
            return;
         break;
      default:
         if (nir_intrinsic_can_reorder(instr))
            return;
      }
      finish(&instr->instr);
   }

   /// Ends the collection before an instruction that may write shared memory or access a matrix.
   void finish(nir_instr *instr)
   {
      multiply(nir_before_instr(instr));
      loads.clear();
   }

   void load(nir_intrinsic_instr *instr)
   {
      nir_deref_instr *factor = matrix(instr, 0);
      std::erase_if(loads, [&](const nir_intrinsic_instr *other) {
         return nir_compare_derefs(factor, matrix(other, 0)) != nir_derefs_do_not_alias;
      });
      const glsl_cmat_description &desc = description(factor);
      const bool is_volatile = nir_intrinsic_access(instr) & (ACCESS_VOLATILE | ACCESS_COHERENT);
      if (!is_volatile && nir_deref_mode_is(nir_src_as_deref(instr->src[1]), nir_var_mem_shared) &&
          depth(desc) > slice_length(desc) && depth(desc) % slice_length(desc) == 0)
         loads.push_back(instr);
   }

   nir_intrinsic_instr *load_of(nir_deref_instr *factor) const
   {
      const auto found = std::ranges::find_if(
         loads, [&](const nir_intrinsic_instr *load) { return is_same(factor, matrix(load, 0)); });
      return found != loads.end() ? *found : nullptr;
   }

   void multiply_add(nir_intrinsic_instr *instr)
   {
      const Product product = {instr, load_of(matrix(instr, 1)), load_of(matrix(instr, 2))};
      const bool slices = can_be_sliced(product);
      if (!slices || !std::ranges::all_of(
                        products, [&](const Product &p) { return fit_in_one_loop(p, product); }))
         multiply(nir_before_instr(&instr->instr));
      if (slices)
         products.push_back(product);
   }

   /// Sums of fewer than 32 bits would be rounded, or saturate, at each slice. Arrays in memory
   /// would be read and written at each slice.
   bool can_be_sliced(const Product &p) const
   {
      if (!p.a || !p.b || nir_intrinsic_saturate(p.instr) || !is_same(p.sum(), matrix(p.instr, 3)))
         return false;
      const glsl_cmat_description &sum = description(p.sum());
      return component_bits(sum) >= 32 && cmat::is_unrolled(sum, subgroup_size) &&
             slice_length(description(matrix(p.a, 0))) == slice_length(description(matrix(p.b, 0)));
   }

   static bool fit_in_one_loop(const Product &x, const Product &y)
   {
      const glsl_cmat_description &a = description(matrix(x.a, 0)),
                                  &of_y = description(matrix(y.a, 0));
      return a.cols == of_y.cols && slice_length(a) == slice_length(of_y) &&
             nir_compare_derefs(x.sum(), y.sum()) == nir_derefs_do_not_alias;
   }

   /// Writes the loop of the collected products, if they need one.
   void multiply(nir_cursor cursor)
   {
      std::vector<nir_intrinsic_instr *> factors;
      uint32_t held = 0;
      for (const Product &p : products) {
         held += registers(p.sum());
         for (nir_intrinsic_instr *load : {p.a, p.b}) {
            if (std::ranges::find(factors, load) != factors.end())
               continue;
            factors.push_back(load);
            held += registers(matrix(load, 0));
         }
      }
      if (held > max_registers)
         write_loop(cursor, factors);
      products.clear();
   }

   uint32_t registers(const nir_deref_instr *matrix) const
   {
      const glsl_cmat_description &desc = description(matrix);
      return DIV_ROUND_UP(cmat::register_map(desc, subgroup_size).length() * component_bits(desc),
                          32u);
   }

   void write_loop(nir_cursor cursor, const std::vector<nir_intrinsic_instr *> &factors)
   {
      b.cursor = cursor;
      const glsl_cmat_description &first = description(matrix(products[0].a, 0));
      const uint32_t length = slice_length(first);
      build_loop(&b, first.cols / length, [&](nir_def *number) {
         nir_def *k = nir_imul_imm(&b, number, length);
         std::vector<nir_def *> slices;
         for (nir_intrinsic_instr *load : factors)
            slices.push_back(load_slice(load, k));
         const auto slice_of = [&](const nir_intrinsic_instr *load) {
            return slices[size_t(std::ranges::find(factors, load) - factors.begin())];
         };
         for (const Product &p : products) {
            nir_def *sum = &p.sum()->def;
            _nir_build_cmat_muladd(&b, sum, slice_of(p.a), slice_of(p.b), sum,
                                   {._ = 0,
                                    .saturate = false,
                                    .cmat_signed_mask = nir_intrinsic_cmat_signed_mask(p.instr)});
         }
      });
      for (const Product &p : products)
         nir_instr_remove(&p.instr->instr);
      progress = true;
   }

   nir_def *load_slice(nir_intrinsic_instr *load, nir_def *k)
   {
      const glsl_cmat_description &whole = description(matrix(load, 0));
      glsl_cmat_description desc = whole;
      if (desc.use == GLSL_CMAT_USE_A)
         desc.cols = uint16_t(slice_length(whole));
      else
         desc.rows = uint16_t(slice_length(whole));
      nir_variable *slice = nir_local_variable_create(b.impl, glsl_cmat_type(&desc), "slice");
      nir_def *result = &nir_build_deref_var(&b, slice)->def;

      const cmat::Memory memory(&b, nir_src_as_deref(load->src[1]), load->src[2].ssa, whole,
                                /* robust_access */ false);
      const glsl_matrix_layout layout = nir_intrinsic_matrix_layout(load);
      const bool along_lines =
         (desc.use == GLSL_CMAT_USE_A) == (layout == GLSL_MATRIX_LAYOUT_ROW_MAJOR);
      nir_def *zero = nir_imm_int(&b, 0);
      nir_deref_instr *begin = along_lines ? memory.element(zero, k) : memory.element(k, zero);
      _nir_build_cmat_load(&b, result, &begin->def, memory.stride(),
                           {._ = 0, .matrix_layout = layout, .access = nir_intrinsic_access(load)});
      return result;
   }

   nir_builder b;
   const uint32_t subgroup_size;
   std::vector<nir_intrinsic_instr *> loads; ///< memory and matrix are unchanged since
   std::vector<Product> products;            ///< not yet in a loop
   bool progress = false;
};

} // namespace

bool opt_cmat_slices(nir_shader *nir, uint32_t subgroup_size)
{
   return Slicer(nir, subgroup_size).run();
}

} // namespace weft
