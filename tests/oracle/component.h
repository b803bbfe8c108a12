// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Component types as numbers: exact decoding to double or to a wide integer, and encoding with a
/// chosen rounding. Written from the format definitions (IEEE 754 and its small relatives); shares
/// no code with the compiler.

#pragma once

#include "nir_passes/matrix_support.h"

#include <cstddef>
#include <cstdint>

namespace weft::oracle {

/// Wide enough for any sum of products of 64-bit integers that the tests form.
__extension__ typedef __int128 Integer;

struct Format {
   ComponentType type;
   const char *name; ///< as in messages and tables: "f16", "s8"
   const char *glsl; ///< the GLSL type with explicit size: "float16_t", "int8_t"
   uint32_t bytes;
   bool is_float;
   bool is_signed;
   /// Floating formats: bits of the exponent and of the stored fraction; the bias is
   /// 2^(exponent_bits-1) - 1, the largest exponent field means infinity and NaN.
   uint32_t exponent_bits, fraction_bits;
   /// Without infinity, every bit of exponent and fraction set means NaN, and nothing else does.
   bool has_infinity = true;
};

const Format &format(ComponentType);
bool has_format(ComponentType);

double decode_float(ComponentType, const void *);
Integer decode_int(ComponentType, const void *);

enum class Rounding { nearest_even, toward_zero };

/// Rounds to the format; values past the largest finite become infinity, or NaN where there is none
/// (nearest), or stay there (toward zero).
void encode_float(ComponentType, double value, void *out, Rounding = Rounding::nearest_even);
/// Keeps the low bits.
void encode_int(ComponentType, Integer value, void *out);
/// The one of the two that the type needs; an integer type takes the truncated value.
void encode_number(ComponentType, double value, void *out);

Integer int_min(ComponentType);
Integer int_max(ComponentType);
Integer saturate(ComponentType, Integer);

double largest_finite(ComponentType);
double smallest_normal(ComponentType);
double smallest_positive(ComponentType);
/// 2^-(fraction_bits + 1): half an ulp of 1, the largest relative error of rounding to nearest.
double unit_roundoff(ComponentType);

} // namespace weft::oracle
