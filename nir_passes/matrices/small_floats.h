/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* bfloat16, float8 e4m3 and e5m2 (SPV_KHR_bfloat16, SPV_EXT_float8). NIR represents them as
 * integers of their bits; this file converts them.
 *
 * Conversions round to nearest, ties to even. They use only integer operations and f32 additions,
 * so that they are exact even if the hardware flushes subnormal f32 numbers to zero. */

#pragma once

#include "compiler/nir/nir_builder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The f32 value of bits of one of these types; NaN becomes a quiet NaN. */
nir_def *weft_small_float_to_f32(nir_builder *b, nir_def *bits, enum glsl_base_type type);

/* A value beyond the largest finite number becomes infinity, or NaN if the type has no infinity;
 * with `saturate` it becomes that number. NaN stays NaN. */
nir_def *weft_f32_to_small_float(nir_builder *b, nir_def *value, enum glsl_base_type type,
                                 bool saturate);

/* A conversion from or to a small float. `op` is NIR's conversion on the other side of f32: from
 * the source to f32, or from f32 to the result. It is ignored if both types are small. */
nir_def *weft_convert_small_float(nir_builder *b, nir_def *value, nir_op op,
                                  enum glsl_base_type from, enum glsl_base_type to, bool saturate);

/* The same conversion of a constant, without saturation. */
nir_const_value weft_convert_small_constant(nir_const_value value, nir_op op,
                                            enum glsl_base_type from, enum glsl_base_type to);

bool weft_is_small_float(enum glsl_base_type type);

#ifdef __cplusplus
}
#endif
