/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* bfloat16, float8 e4m3 and e5m2 (SPV_KHR_bfloat16, SPV_EXT_float8): NIR has them as integers of
 * their bits, and here is what they mean.
 *
 * Conversions round to nearest, ties to even, with integers and f32 additions alone, so that they
 * are exact where subnormal numbers of f32 are flushed to zero. */

#pragma once

#include "compiler/nir/nir_builder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The value of bits of one of these types; NaN becomes a quiet one. */
nir_def *weft_small_float_to_f32(nir_builder *b, nir_def *bits, enum glsl_base_type type);

/* What lies beyond the largest finite number becomes infinity, where the type has it, else NaN; or
 * that number if it is to saturate.  NaN stays NaN. */
nir_def *weft_f32_to_small_float(nir_builder *b, nir_def *value, enum glsl_base_type type,
                                 bool saturate);

/* A conversion from or to such a type.  `op` is what NIR does on the other side of f32: the
 * conversion of the source to f32, or of f32 to the result; anything if both are small. */
nir_def *weft_convert_small_float(nir_builder *b, nir_def *value, nir_op op,
                                  enum glsl_base_type from, enum glsl_base_type to, bool saturate);

bool weft_is_small_float(enum glsl_base_type type);

#ifdef __cplusplus
}
#endif
