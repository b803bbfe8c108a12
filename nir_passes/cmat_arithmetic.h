// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The arithmetic of a multiplication, one component at a time (lower_cmat*.cc only).

#pragma once

#include "nir_passes/cmat_state.h"

#include <algorithm>

namespace weft::cmat {

/// How the products of a muladd are summed.
struct Arithmetic {
   bool is_float;
   unsigned bits; ///< of the sum; f16 is summed in f32
   bool a_signed, b_signed, result_signed, saturate;
};

inline Arithmetic arithmetic_of(const nir_intrinsic_instr *instr,
                                const glsl_cmat_description &result)
{
   const unsigned mask = nir_intrinsic_cmat_signed_mask(instr);
   return {
      .is_float = glsl_type_is_float_16_32_64(glsl_get_cmat_element(glsl_cmat_type(&result))),
      .bits = std::max(component_bits(result), 32u),
      .a_signed = (mask & NIR_CMAT_A_SIGNED) != 0,
      .b_signed = (mask & NIR_CMAT_B_SIGNED) != 0,
      .result_signed = (mask & NIR_CMAT_RESULT_SIGNED) != 0,
      .saturate = nir_intrinsic_saturate(instr) != 0,
   };
}

/// What the first product is added to.
inline nir_def *begin(nir_builder *b, const Arithmetic &arithmetic, nir_def *addend)
{
   return arithmetic.is_float ? nir_f2fN(b, addend, arithmetic.bits)
                              : nir_imm_intN_t(b, 0, arithmetic.bits);
}

inline nir_def *widen(nir_builder *b, const Arithmetic &arithmetic, nir_def *value, bool is_signed)
{
   if (arithmetic.is_float)
      return nir_f2fN(b, value, arithmetic.bits);
   return is_signed ? nir_i2iN(b, value, arithmetic.bits) : nir_u2uN(b, value, arithmetic.bits);
}

inline nir_def *add_product(nir_builder *b, const Arithmetic &arithmetic, nir_def *x, nir_def *y,
                            nir_def *sum)
{
   return arithmetic.is_float ? nir_ffma(b, x, y, sum) : nir_iadd(b, nir_imul(b, x, y), sum);
}

/// The sum as the result's component.  Sums of float products began with the addend; those of
/// integer products cannot overflow before it is added.
inline nir_def *finish(nir_builder *b, const Arithmetic &arithmetic, nir_def *sum, nir_def *addend)
{
   if (arithmetic.is_float)
      return nir_f2fN(b, sum, addend->bit_size);
   sum = nir_u2uN(b, sum, addend->bit_size);
   if (!arithmetic.saturate)
      return nir_iadd(b, sum, addend);
   return arithmetic.result_signed ? nir_iadd_sat(b, sum, addend) : nir_uadd_sat(b, sum, addend);
}

} // namespace weft::cmat
