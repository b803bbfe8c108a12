/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/matrices/small_floats.h"

#include <assert.h>

/* A format with a sign, an exponent and a mantissa. Constants are magnitudes: bits without the
 * sign. */
struct format {
   enum glsl_base_type type;
   unsigned bits, mantissa, bias;
   uint32_t largest;  /* finite */
   uint32_t overflow; /* the result for larger values: infinity or NaN */
   uint32_t nan;
};

static const struct format formats[] = {
   {GLSL_TYPE_BFLOAT16, 16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0},
   {GLSL_TYPE_FLOAT_E4M3FN, 8, 3, 7, 0x7e, 0x7f, 0x7f},
   {GLSL_TYPE_FLOAT_E5M2, 8, 2, 15, 0x7b, 0x7c, 0x7e},
};

#define F32_MANTISSA 23
#define F32_BIAS 127
#define F32_INFINITY 0x7f800000
#define F32_NAN 0x7fc00000

static const struct format *find_format(enum glsl_base_type type)
{
   for (unsigned i = 0; i < ARRAY_SIZE(formats); i++) {
      if (formats[i].type == type)
         return &formats[i];
   }
   return NULL;
}

bool weft_is_small_float(enum glsl_base_type type)
{
   return find_format(type) != NULL;
}

/* 2^exponent, a normal number. */
static nir_def *power_of_two(nir_builder *b, int exponent)
{
   return nir_imm_int(b, (exponent + F32_BIAS) << F32_MANTISSA);
}

nir_def *weft_small_float_to_f32(nir_builder *b, nir_def *bits, enum glsl_base_type type)
{
   const struct format *f = find_format(type);
   nir_def *wide = nir_u2u32(b, bits);
   if (type == GLSL_TYPE_BFLOAT16)
      return nir_ishl_imm(b, wide, 16);

   const unsigned shift = F32_MANTISSA - f->mantissa;
   nir_def *sign = nir_ishl_imm(b, nir_iand_imm(b, wide, 1u << (f->bits - 1)), 32 - f->bits);
   nir_def *magnitude = nir_iand_imm(b, wide, BITFIELD_MASK(f->bits - 1));
   nir_def *normal = nir_iadd_imm(b, nir_ishl_imm(b, magnitude, shift),
                                  (uint64_t)(F32_BIAS - f->bias) << F32_MANTISSA);
   /* A subnormal number is its mantissa times the smallest subnormal number. */
   nir_def *subnormal =
      nir_fmul(b, nir_u2f32(b, magnitude), power_of_two(b, 1 - (int)f->bias - (int)f->mantissa));
   nir_def *value = nir_bcsel(b, nir_ult_imm(b, magnitude, 1u << f->mantissa), subnormal, normal);
   if (f->overflow != f->nan)
      value =
         nir_bcsel(b, nir_ieq_imm(b, magnitude, f->overflow), nir_imm_int(b, F32_INFINITY), value);
   nir_def *is_nan = f->overflow == f->nan ? nir_ieq_imm(b, magnitude, f->nan)
                                           : nir_ugt_imm(b, magnitude, f->overflow);
   value = nir_bcsel(b, is_nan, nir_imm_int(b, F32_NAN), value);
   return nir_ior(b, value, sign);
}

/* x / 2^shift, rounded to nearest, ties to even. */
static nir_def *shift_and_round(nir_builder *b, nir_def *x, unsigned shift)
{
   nir_def *odd = nir_iand_imm(b, nir_ushr_imm(b, x, shift), 1);
   nir_def *half = nir_iadd_imm(b, odd, BITFIELD_MASK(shift - 1));
   return nir_ushr_imm(b, nir_iadd(b, x, half), shift);
}

nir_def *weft_f32_to_small_float(nir_builder *b, nir_def *value, enum glsl_base_type type,
                                 bool saturate)
{
   const struct format *f = find_format(type);
   const unsigned shift = F32_MANTISSA - f->mantissa;
   nir_def *magnitude = nir_iand_imm(b, value, 0x7fffffff);

   nir_def *result = nir_iadd_imm(b, shift_and_round(b, magnitude, shift),
                                  -((int64_t)(F32_BIAS - f->bias) << f->mantissa));
   if (f->bias != F32_BIAS) {
      /* Subnormal results: adding a number whose last bit is worth the smallest subnormal number
       * rounds the value to a multiple of it. */
      const bool exact = b->exact;
      b->exact = true;
      nir_def *ruler = power_of_two(b, 1 - (int)f->bias + (int)shift);
      nir_def *sum = nir_fadd(b, magnitude, ruler);
      b->exact = exact;
      nir_def *is_subnormal =
         nir_ult_imm(b, magnitude, (uint32_t)(1 - (int)f->bias + F32_BIAS) << F32_MANTISSA);
      result = nir_bcsel(b, is_subnormal, nir_isub(b, sum, ruler), result);
   }
   nir_def *is_beyond = nir_ugt_imm(b, result, f->largest);
   result = nir_bcsel(b, is_beyond, nir_imm_int(b, saturate ? f->largest : f->overflow), result);
   result = nir_bcsel(b, nir_ugt_imm(b, magnitude, F32_INFINITY), nir_imm_int(b, f->nan), result);

   nir_def *sign = nir_iand_imm(b, nir_ushr_imm(b, value, 32 - f->bits), 1u << (f->bits - 1));
   return nir_u2uN(b, nir_ior(b, result, sign), f->bits);
}

/* Rounds f64 to f32 "to odd": a value between two f32 numbers becomes the odd one. Rounding that to
 * fewer bits gives the same result as one direct rounding. */
static nir_def *f64_to_odd_f32(nir_builder *b, nir_def *value)
{
   /* Exact: otherwise nir_opt_algebraic removes the conversion to f32 and back. */
   const bool exact = b->exact;
   b->exact = true;
   nir_def *rounded = nir_f2f32(b, value), *back = nir_f2f64(b, rounded);
   b->exact = exact;
   nir_def *away = nir_flt(b, nir_fabs(b, value), nir_fabs(b, back));
   nir_def *cut = nir_isub(b, rounded, nir_b2i32(b, away));
   nir_def *inexact = nir_iand(b, nir_fneu(b, value, back), nir_feq(b, value, value));
   return nir_bcsel(b, inexact, nir_ior_imm(b, cut, 1), rounded);
}

/* Rounds an integer to f32 "to odd": while it has more bits than f32 keeps, drops eight bits and
 * sets the lowest remaining bit if a dropped bit was one. */
static nir_def *integer_to_odd_f32(nir_builder *b, nir_def *value, bool is_signed)
{
   nir_def *magnitude = is_signed ? nir_iabs(b, value) : value;
   nir_def *scale = nir_imm_float(b, 1.0f);
   for (unsigned bits = value->bit_size; bits > 24; bits -= 8) {
      nir_def *large = nir_uge_imm(b, magnitude, 1u << 24);
      nir_def *lost = nir_ine_imm(b, nir_iand_imm(b, magnitude, 0xff), 0);
      nir_def *cut = nir_ior(b, nir_ushr_imm(b, magnitude, 8), nir_b2iN(b, lost, value->bit_size));
      magnitude = nir_bcsel(b, large, cut, magnitude);
      scale = nir_bcsel(b, large, nir_fmul_imm(b, scale, 256.0), scale);
   }
   nir_def *result = nir_fmul(b, nir_u2f32(b, magnitude), scale);
   return is_signed ? nir_bcsel(b, nir_ilt_imm(b, value, 0), nir_fneg(b, result), result) : result;
}

/* SPV_KHR_bfloat16 requires a separate rounding to f32. */
static nir_def *to_f32(nir_builder *b, nir_def *value, nir_op op, enum glsl_base_type to)
{
   if (to == GLSL_TYPE_BFLOAT16 || op == nir_op_mov)
      return nir_build_alu1(b, op, value);
   switch (nir_alu_type_get_base_type(nir_op_infos[op].input_types[0])) {
   case nir_type_int:
      return integer_to_odd_f32(b, value, true);
   case nir_type_uint:
      return integer_to_odd_f32(b, value, false);
   default:
      return value->bit_size == 64 ? f64_to_odd_f32(b, value) : nir_f2f32(b, value);
   }
}

nir_def *weft_convert_small_float(nir_builder *b, nir_def *value, nir_op op,
                                  enum glsl_base_type from, enum glsl_base_type to, bool saturate)
{
   const bool from_small = weft_is_small_float(from), to_small = weft_is_small_float(to);
   assert(from_small || to_small);
   if (from_small)
      value = weft_small_float_to_f32(b, value, from);
   else
      value = to_f32(b, value, op, to);
   return to_small ? weft_f32_to_small_float(b, value, to, saturate) : nir_build_alu1(b, op, value);
}

nir_const_value weft_convert_small_constant(nir_const_value value, nir_op op,
                                            enum glsl_base_type from, enum glsl_base_type to)
{
   static const nir_shader_compiler_options options = {0};
   nir_builder b = nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, &options, "constant");
   nir_def *operand = nir_build_imm(&b, 1, glsl_base_type_get_bit_size(from), &value);
   nir_def *result = weft_convert_small_float(&b, operand, op, from, to, false);
   /* Folding keeps an instruction that has a use, as the last one. */
   nir_variable *variable =
      nir_local_variable_create(b.impl, glsl_uintN_t_type(result->bit_size), "result");
   nir_store_var(&b, variable, result, 1);
   nir_opt_constant_folding(b.shader);
   const nir_intrinsic_instr *store =
      nir_instr_as_intrinsic(nir_block_last_instr(nir_start_block(b.impl)));
   const nir_const_value folded = nir_src_as_const_value(store->src[1])[0];
   ralloc_free(b.shader);
   return folded;
}
