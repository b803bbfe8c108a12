// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/opt_shift_pairs.h"

#include "compiler/nir/nir_builder.h"

namespace weft {

namespace {

bool rewrite(nir_builder *b, nir_alu_instr *left, void *)
{
   if (left->op != nir_op_ishl || left->def.num_components != 1 ||
       !nir_src_is_const(left->src[1].src))
      return false;
   const nir_scalar x =
      nir_scalar_chase_movs(nir_get_scalar(left->src[0].src.ssa, left->src[0].swizzle[0]));
   if (!nir_scalar_is_alu(x) || nir_scalar_alu_op(x) != nir_op_ushr)
      return false;
   const nir_scalar by = nir_scalar_chase_alu_src(x, 1);
   if (!nir_scalar_is_const(by))
      return false;
   const unsigned bits = left->def.bit_size;
   const uint64_t m = nir_scalar_as_uint(by) % bits,
                  n = nir_src_comp_as_uint(left->src[1].src, left->src[1].swizzle[0]) % bits;
   if (n >= m)
      return false;
   b->cursor = nir_before_instr(&left->instr);
   const nir_scalar value = nir_scalar_chase_alu_src(x, 0);
   nir_def *shifted = nir_ushr_imm(b, nir_channel(b, value.def, value.comp), uint32_t(m - n));
   nir_def_replace(&left->def, nir_iand_imm(b, shifted, ~uint64_t(0) << n));
   return true;
}

} // namespace

bool opt_shift_pairs(nir_shader *nir)
{
   return nir_shader_alu_pass(nir, rewrite, nir_metadata_control_flow, nullptr);
}

} // namespace weft
