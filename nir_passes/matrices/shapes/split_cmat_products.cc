// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Each tile of a muladd's result becomes a sum of products of tiles.

#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/shapes/split_context.h"

namespace weft::cmat {

namespace {

/// One tile of the result.
struct Sum {
   SplitContext &c;
   nir_intrinsic_instr *instr;
   Matrix a, b;
   nir_def *row, *col;
   uint32_t depth; ///< number of products
   bool unrolled;
   /// The tile to which the products are added, and the tile of the result.
   nir_def *addend, *d;
   glsl_cmat_description desc; ///< of the whole result

   nir_builder *builder() const { return &c.b; }

   void add_product(nir_def *k, nir_def *result, nir_def *to, bool saturate = false) const
   {
      _nir_build_cmat_muladd(
         builder(), result, c.tile(a, row, k), c.tile(b, k, col), to,
         {._ = 0, .saturate = saturate, .cmat_signed_mask = nir_intrinsic_cmat_signed_mask(instr)});
   }

   /// Adds one product after the other to the sum.
   void add_products(nir_def *result, nir_def *to, bool saturate) const
   {
      add_product(nir_imm_int(builder(), 0), result, to, saturate);
      c.count_to(
         depth - 1, unrolled ? depth : SplitContext::max_unrolled_depth - 1,
         [&](nir_def *i) { add_product(nir_iadd_imm(builder(), i, 1), result, result, saturate); });
   }

   /// Adds all products first, which cannot overflow.
   void add_saturating() const
   {
      nir_def *products = tile_variable(desc);
      nir_cmat_construct(builder(), products, nir_imm_intN_t(builder(), 0, component_bits(desc)));
      add_products(products, products, false);
      const bool is_signed = (nir_intrinsic_cmat_signed_mask(instr) & NIR_CMAT_RESULT_SIGNED) != 0;
      _nir_build_cmat_binary_op(builder(), d, addend, products,
                                {._ = 0, .alu_op = is_signed ? nir_op_iadd_sat : nir_op_uadd_sat});
   }

   /// Adds in f32 and rounds once. So the type of the first product's addend, and of the last one's
   /// result, differs from the others.
   void add_widened() const
   {
      glsl_cmat_description wide = desc;
      wide.element_type = GLSL_TYPE_FLOAT;
      nir_def *sum = wide_sum(wide);
      add_product(nir_imm_int(builder(), 0), sum, addend);
      c.count_to(depth - 2, unrolled ? depth : SplitContext::max_unrolled_depth - 2,
                 [&](nir_def *i) { add_product(nir_iadd_imm(builder(), i, 1), sum, sum); });
      add_product(nir_imm_int(builder(), depth - 1), d, sum);
   }

private:
   nir_def *tile_variable(const glsl_cmat_description &matrix) const
   {
      const glsl_cmat_description tile = c.tile_of(matrix);
      nir_variable *variable = nir_local_variable_create(c.b.impl, glsl_cmat_type(&tile), "sum");
      return &nir_build_deref_var(builder(), variable)->def;
   }

   nir_def *wide_sum(const glsl_cmat_description &matrix) const
   {
      const glsl_cmat_description tile = c.tile_of(matrix);
      for (nir_variable *variable : c.wide_sums) {
         if (variable->type == glsl_cmat_type(&tile))
            return &nir_build_deref_var(builder(), variable)->def;
      }
      nir_def *sum = tile_variable(matrix);
      c.wide_sums.push_back(nir_src_as_deref(nir_src_for_ssa(sum))->var);
      return sum;
   }
};

} // namespace

void split_muladd(SplitContext &c, nir_intrinsic_instr *instr)
{
   const Matrix d = c.operand(instr, 0), a = c.operand(instr, 1), b = c.operand(instr, 2),
                addend = c.operand(instr, 3);
   const TileGrid g = c.grid(d.desc);
   const uint32_t depth = c.grid(a.desc).cols();
   const bool unrolled = g.tiles() * depth <= SplitContext::max_unrolled_products;
   c.count_to(g.tiles(), unrolled ? g.tiles() : 0, [&](nir_def *i) {
      const Sum sum = {.c = c,
                       .instr = instr,
                       .a = a,
                       .b = b,
                       .row = nir_udiv_imm(&c.b, i, g.cols()),
                       .col = nir_umod_imm(&c.b, i, g.cols()),
                       .depth = depth,
                       .unrolled = unrolled,
                       .addend = c.tile(addend, i),
                       .d = c.tile(d, i),
                       .desc = d.desc};
      const bool saturates = nir_intrinsic_saturate(instr);
      if (depth > 1 && saturates)
         sum.add_saturating();
      else if (depth > 1 && has_real_components(d.desc) && component_bits(d.desc) < 32)
         sum.add_widened();
      else
         sum.add_products(sum.d, sum.addend, saturates);
   });
}

} // namespace weft::cmat
