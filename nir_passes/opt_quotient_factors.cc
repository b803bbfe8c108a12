// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/opt_quotient_factors.h"

#include "compiler/nir/nir_builder.h"

#include <cmath>

namespace weft {

namespace {

/// Whether it is a division by a constant of at least 1. Below 1, a quotient may overflow where the
/// product does not.
bool is_quotient(nir_scalar x)
{
   if (!nir_scalar_is_alu(x) || nir_scalar_alu_op(x) != nir_op_fdiv ||
       nir_instr_as_alu(x.def->parent_instr)->exact)
      return false;
   const nir_scalar divisor = nir_scalar_chase_alu_src(x, 1);
   return nir_scalar_is_const(divisor) && nir_scalar_as_float(divisor) >= 1;
}

bool rewrite_product(nir_builder *b, nir_alu_instr *product, void *)
{
   if ((product->op != nir_op_fmul && product->op != nir_op_ffma) || product->exact ||
       product->def.bit_size != 32 || product->def.num_components != 1)
      return false;
   for (unsigned i = 0; i < 2; ++i) {
      const nir_scalar result = nir_get_scalar(&product->def, 0),
                       quotient = nir_scalar_chase_alu_src(result, i),
                       factor = nir_scalar_chase_alu_src(result, 1 - i);
      if (!nir_scalar_is_const(factor) || !is_quotient(quotient))
         continue;
      const double divisor = nir_scalar_as_float(nir_scalar_chase_alu_src(quotient, 1));
      const auto scaled = float(nir_scalar_as_float(factor) / divisor);
      if (!std::isnormal(scaled))
         continue;
      const nir_scalar x = nir_scalar_chase_alu_src(quotient, 0);
      b->cursor = nir_before_instr(&product->instr);
      nir_src_rewrite(&product->src[i].src, x.def);
      product->src[i].swizzle[0] = uint8_t(x.comp);
      nir_src_rewrite(&product->src[1 - i].src, nir_imm_float(b, scaled));
      product->src[1 - i].swizzle[0] = 0;
      return true;
   }
   return false;
}

} // namespace

bool opt_quotient_factors(nir_shader *nir)
{
   return nir_shader_alu_pass(nir, rewrite_product, nir_metadata_control_flow, nullptr);
}

} // namespace weft
