// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares conversions of bfloat16 and float8, folded by NIR, with the oracle, for every encoding
/// and every exponent of the source.

#include "nir_passes/component_type.h"
#include "nir_passes/matrices/small_floats.h"
#include "tests/nir_passes/mutants.h"
#include "tests/nir_passes/shaders.h"
#include "tests/oracle/component.h"
#include "tests/oracle/random.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

namespace weft {
namespace {

using Type = ComponentType;

constexpr Type small_types[] = {Type::bf16, Type::e4m3, Type::e5m2};

glsl_base_type base_type(Type type)
{
   return glsl_base_type(component_type_info(type).base_type);
}

/// NIR's conversion of a type to f32, or of f32 to the type.
nir_op other_half(Type type, bool to_f32)
{
   const auto nir_type = [](Type t) { return nir_get_nir_type_for_glsl_base_type(base_type(t)); };
   const nir_alu_type from = to_f32 ? nir_type(type) : nir_type_float32,
                      to = to_f32 ? nir_type_float32 : nir_type(type);
   return nir_type_conversion_op(from, to, nir_rounding_mode_undef);
}

/// Converts constants, a batch in one shader.
class Converter {
public:
   Converter(Type from, Type to, bool saturate = false) : from(from), to(to), saturate(saturate) {}

   std::vector<uint64_t> operator()(const std::vector<uint64_t> &values) const
   {
      test::Built built;
      nir_builder *b = &built.b;
      const bool from_small = weft_is_small_float(base_type(from)),
                 to_small = weft_is_small_float(base_type(to));
      const nir_op op = from_small && to_small ? nir_op_mov
                        : from_small           ? other_half(to, false)
                                               : other_half(from, true);
      const glsl_type *type = glsl_scalar_type(base_type(to));
      nir_variable *out = nir_variable_create(
         b->shader, nir_var_mem_shared, glsl_array_type(type, unsigned(values.size()), 0), "out");
      for (size_t i = 0; i < values.size(); i++) {
         nir_def *value = nir_imm_intN_t(b, int64_t(values[i]), component_bits(from));
         value = weft_convert_small_float(b, value, op, base_type(from), base_type(to), saturate);
         nir_store_deref(b, nir_build_deref_array_imm(b, nir_build_deref_var(b, out), int64_t(i)),
                         value, 1);
      }
      nir_opt_constant_folding(built.shader.get());
      std::vector<uint64_t> results;
      nir_foreach_block(block, b->impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_intrinsic)
               continue;
            nir_intrinsic_instr *store = nir_instr_as_intrinsic(instr);
            if (store->intrinsic == nir_intrinsic_store_deref)
               results.push_back(nir_src_as_uint(store->src[1]));
         }
      }
      return results;
   }

private:
   const Type from, to;
   const bool saturate;
};

double decode(Type type, uint64_t bits)
{
   return oracle::format(type).is_float ? oracle::decode_float(type, &bits)
                                        : double(oracle::decode_int(type, &bits));
}

/// A number's bits, or a quiet NaN's for any NaN.
uint64_t encode(Type type, double value)
{
   uint64_t bits = 0;
   oracle::encode_float(type, value, &bits);
   return bits;
}

void expect_converted(Type from, Type to, bool saturate, const std::vector<uint64_t> &values)
{
   constexpr size_t batch = 512;
   for (size_t first = 0; first < values.size(); first += batch) {
      const std::vector<uint64_t> some(values.begin() + ptrdiff_t(first),
                                       values.begin() +
                                          ptrdiff_t(std::min(values.size(), first + batch)));
      const std::vector<uint64_t> results = Converter(from, to, saturate)(some);
      ASSERT_EQ(results.size(), some.size());
      for (size_t i = 0; i < some.size(); i++) {
         double value = decode(from, some[i]);
         if (to == Type::bf16)
            value = float(value); /* SPV_KHR_bfloat16: by way of f32 */
         uint64_t expected = encode(to, value);
         const double largest = oracle::largest_finite(to);
         if (saturate && !std::isnan(value) && !(std::fabs(decode(to, expected)) <= largest))
            expected = encode(to, std::copysign(largest, value));
         if (std::isnan(decode(to, expected)))
            ASSERT_TRUE(std::isnan(decode(to, results[i]))) << value << " gave " << results[i];
         else
            ASSERT_EQ(results[i], expected)
               << component_type_name(from) << " " << std::hex << some[i] << " (" << value
               << ") to " << component_type_name(to) << (saturate ? ", saturating" : "");
      }
   }
}

std::vector<uint64_t> every_encoding(Type type)
{
   std::vector<uint64_t> values(size_t(1) << component_bits(type));
   for (size_t i = 0; i < values.size(); i++)
      values[i] = i;
   return values;
}

TEST(SmallFloats, EveryEncodingAsF32)
{
   for (const Type from : small_types) {
      for (const Type to : {Type::f32, Type::f64}) {
         SCOPED_TRACE(component_type_name(from));
         expect_converted(from, to, false, every_encoding(from));
      }
   }
}

TEST(SmallFloats, EveryEncodingAsTheOthers)
{
   for (const Type from : small_types) {
      for (const Type to : small_types) {
         if (from == to)
            continue;
         for (const bool saturate : {false, to != Type::bf16})
            expect_converted(from, to, saturate, every_encoding(from));
      }
   }
}

/// For every exponent: both ends, numbers around the middle of two neighbours in the small type,
/// random ones.
std::vector<uint64_t> of_every_exponent(Type from, Type to, oracle::Random &random)
{
   const oracle::Format &f = oracle::format(from);
   const uint32_t cut =
      f.fraction_bits - std::min(f.fraction_bits, oracle::format(to).fraction_bits);
   const uint64_t fractions = (uint64_t(1) << f.fraction_bits) - 1;
   std::vector<uint64_t> values;
   for (uint64_t exponent = 0; exponent < uint64_t(1) << f.exponent_bits; exponent++) {
      std::vector<uint64_t> bits = {0, 1, fractions, fractions - 1, random()};
      for (int i = 0; i < 4 && cut > 0; i++) {
         const uint64_t tie = (random() << cut | uint64_t(1) << (cut - 1));
         bits.insert(bits.end(), {tie, tie + 1, tie - 1});
      }
      for (const uint64_t fraction : bits)
         values.push_back((random() & 1) << (f.exponent_bits + f.fraction_bits) |
                          exponent << f.fraction_bits | (fraction & fractions));
   }
   return values;
}

TEST(SmallFloats, RoundedToNearestFromFloats)
{
   oracle::Random random(test::mutation_seed());
   for (const Type to : small_types) {
      expect_converted(Type::f16, to, false, every_encoding(Type::f16));
      for (const Type from : {Type::f32, Type::f64}) {
         for (const bool saturate : {false, to != Type::bf16})
            expect_converted(from, to, saturate, of_every_exponent(from, to, random));
      }
   }
}

TEST(SmallFloats, RoundedToNearestFromIntegers)
{
   oracle::Random random(test::mutation_seed());
   for (const Type from :
        {Type::s8, Type::u8, Type::s16, Type::u16, Type::s32, Type::u32, Type::s64, Type::u64}) {
      std::vector<uint64_t> values = {0, 1, ~uint64_t(0)};
      for (unsigned bit = 0; bit < component_bits(from); bit++) {
         for (int i = 0; i < 8; i++) {
            const uint64_t high = uint64_t(1) << bit;
            for (const uint64_t value :
                 {high, high - 1, high + 1, high | (random() & (high - 1)), high + (high >> 4),
                  high + (high >> 4) + 1, ~(high | (random() & (high - 1)))})
               values.push_back(value);
         }
      }
      for (const Type to : small_types) {
         if (to == Type::bf16 && component_bits(from) == 64)
            continue; /* double(), which this test rounds with, would round twice */
         expect_converted(from, to, false, values);
      }
   }
}

} // namespace
} // namespace weft
