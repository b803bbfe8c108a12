// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// All tests rely on the oracle. So it is checked against known encodings and by mutation: a right
/// result must pass, and the nearest wrong one must not.

#include "tests/oracle/matrix.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace weft::oracle {

static uint64_t encoded(ComponentType type, double value,
                        Rounding rounding = Rounding::nearest_even)
{
   uint64_t bits = 0;
   encode_float(type, value, &bits, rounding);
   return bits;
}

TEST(Component, F16Encodings)
{
   EXPECT_EQ(encoded(ComponentType::f16, 0.0), 0x0000u);
   EXPECT_EQ(encoded(ComponentType::f16, -0.0), 0x8000u);
   EXPECT_EQ(encoded(ComponentType::f16, 1.0), 0x3c00u);
   EXPECT_EQ(encoded(ComponentType::f16, -2.0), 0xc000u);
   EXPECT_EQ(encoded(ComponentType::f16, 65504.0), 0x7bffu);
   EXPECT_EQ(encoded(ComponentType::f16, 65519.9), 0x7bffu);
   EXPECT_EQ(encoded(ComponentType::f16, 65520.0), 0x7c00u);
   EXPECT_EQ(encoded(ComponentType::f16, 65520.0, Rounding::toward_zero), 0x7bffu);
   EXPECT_EQ(encoded(ComponentType::f16, INFINITY), 0x7c00u);
   EXPECT_EQ(encoded(ComponentType::f16, NAN) & 0x7e00u, 0x7e00u);
   EXPECT_EQ(encoded(ComponentType::f16, std::ldexp(1, -14)), 0x0400u);
   EXPECT_EQ(encoded(ComponentType::f16, std::ldexp(1, -24)), 0x0001u);
   EXPECT_EQ(encoded(ComponentType::f16, std::ldexp(1, -25)), 0x0000u) << "half way rounds to even";
   EXPECT_EQ(encoded(ComponentType::f16, std::ldexp(3, -25)), 0x0002u) << "half way rounds to even";
   EXPECT_EQ(encoded(ComponentType::f16, 1.0 / 3), 0x3555u);
   EXPECT_EQ(encoded(ComponentType::f16, 2047.5), 0x6800u) << "rounding carries into the exponent";
}

TEST(Component, EveryF16SurvivesTheRoundTrip)
{
   for (uint32_t bits = 0; bits < 0x10000; bits++) {
      const uint16_t half = uint16_t(bits);
      const double value = decode_float(ComponentType::f16, &half);
      if (!std::isnan(value)) {
         EXPECT_EQ(encoded(ComponentType::f16, value), bits);
      }
   }
}

TEST(Component, F32AndF64AgreeWithTheMachine)
{
   Random random(1);
   for (int i = 0; i < 10000; i++) {
      uint64_t bits = random();
      double wide;
      memcpy(&wide, &bits, 8);
      if (std::isnan(wide))
         continue;
      EXPECT_EQ(decode_float(ComponentType::f64, &wide), wide);
      EXPECT_EQ(encoded(ComponentType::f64, wide), bits);

      const double value = std::ldexp(1.0 + double(bits >> 12) * 0x1p-52, int(bits % 320) - 170);
      const float narrow = float(value);
      uint32_t narrow_bits;
      memcpy(&narrow_bits, &narrow, 4);
      EXPECT_EQ(encoded(ComponentType::f32, value), narrow_bits) << value;
      EXPECT_EQ(decode_float(ComponentType::f32, &narrow), double(narrow));
   }
}

TEST(Component, Integers)
{
   const int8_t minus_one = -1;
   EXPECT_TRUE(decode_int(ComponentType::s8, &minus_one) == -1);
   EXPECT_TRUE(decode_int(ComponentType::u8, &minus_one) == 255);
   EXPECT_TRUE(int_min(ComponentType::s32) == INT32_MIN &&
               int_max(ComponentType::s32) == INT32_MAX);
   EXPECT_TRUE(int_min(ComponentType::u16) == 0 && int_max(ComponentType::u16) == 65535);
   EXPECT_TRUE(saturate(ComponentType::s8, 1000) == 127 &&
               saturate(ComponentType::s8, -1000) == -128);
   int32_t wrapped;
   encode_int(ComponentType::s32, Integer(INT32_MAX) + 1, &wrapped);
   EXPECT_EQ(wrapped, INT32_MIN);
}

TEST(Component, Limits)
{
   EXPECT_EQ(largest_finite(ComponentType::f16), 65504);
   EXPECT_EQ(largest_finite(ComponentType::f64), 1.7976931348623157e308);
   EXPECT_EQ(unit_roundoff(ComponentType::f32), 0x1p-24);
   EXPECT_EQ(smallest_normal(ComponentType::f32), 0x1p-126);
   EXPECT_EQ(smallest_positive(ComponentType::f16), 0x1p-24);
}

/// The sum in plain C++, in the type itself and in order: one of the results that the bound must
/// admit.
static Matrix naive_f32(const Matrix &a, const Matrix &b, const Matrix &c)
{
   Matrix d(ComponentType::f32, c.rows, c.cols);
   for (uint32_t row = 0; row < c.rows; row++) {
      for (uint32_t col = 0; col < c.cols; col++) {
         float sum = float(c.real(row, col));
         for (uint32_t k = 0; k < a.cols; k++)
            sum += float(a.real(row, k)) * float(b.real(k, col));
         memcpy(d.at(row, col), &sum, 4);
      }
   }
   return d;
}

TEST(Muladd, AdmitsArithmeticInOrderAndRejectsALostTerm)
{
   Random random(2);
   for (int round = 0; round < 20; round++) {
      const Matrix a = random_matrix(random, ComponentType::f16, 16, 16, Inputs::plain);
      const Matrix b = random_matrix(random, ComponentType::f16, 16, 8, Inputs::plain);
      const Matrix c = random_matrix(random, ComponentType::f32, 16, 8, Inputs::plain);
      const Expectation expected =
         muladd(a, b, Expectation(c), false, internal_roundoff(ComponentType::f32, false));
      Matrix d = naive_f32(a, b, c);
      EXPECT_EQ(expected.mismatch(d), std::nullopt);

      float changed;
      memcpy(&changed, d.at(3, 5), 4);
      changed -= float(a.real(3, 2)) * float(b.real(2, 5)) + 1e-4f;
      memcpy(d.at(3, 5), &changed, 4);
      EXPECT_NE(expected.mismatch(d), std::nullopt);
   }
}

TEST(Muladd, WholeNumbersAreExact)
{
   Random random(3);
   const Matrix a = random_matrix(random, ComponentType::f16, 8, 16, Inputs::whole);
   const Matrix b = random_matrix(random, ComponentType::f16, 16, 8, Inputs::whole);
   const Matrix c = random_matrix(random, ComponentType::f32, 8, 8, Inputs::whole);
   const Expectation expected =
      muladd(a, b, Expectation(c), false, internal_roundoff(ComponentType::f32, false));
   for (double bound : expected.bound)
      EXPECT_EQ(bound, 0);
   EXPECT_EQ(expected.mismatch(naive_f32(a, b, c)), std::nullopt);
}

/// f16 has all whole numbers up to 2048, at any scale.
TEST(Muladd, IsExactAsFarAsTheSignificandReaches)
{
   for (const double scale : {1.0, 0.125, 16.0}) {
      const auto bound = [&](double c_value) {
         Matrix a(ComponentType::f16, 1, 2), b(ComponentType::f16, 2, 1),
            c(ComponentType::f16, 1, 1);
         encode_float(ComponentType::f16, scale, a.at(0, 0));
         encode_float(ComponentType::f16, -scale, a.at(0, 1));
         for (uint32_t k = 0; k < 2; k++)
            encode_float(ComponentType::f16, 23, b.at(k, 0));
         encode_float(ComponentType::f16, scale * c_value, c.at(0, 0));
         const Expectation expected =
            muladd(a, b, Expectation(c), false, internal_roundoff(ComponentType::f16, false));
         EXPECT_EQ(expected.value[0], scale * c_value);
         return expected.bound[0];
      };
      EXPECT_EQ(bound(2048 - 46), 0) << scale;
      EXPECT_GT(bound(2048 - 44), 0) << scale;
   }
}

TEST(Muladd, InfinitiesAndNan)
{
   const auto expected = [](double a_value, double b_value, double c_value, bool keeps) {
      Matrix a(ComponentType::f32, 1, 2), b(ComponentType::f32, 2, 1), c(ComponentType::f32, 1, 1);
      encode_float(ComponentType::f32, a_value, a.at(0, 0));
      encode_float(ComponentType::f32, b_value, b.at(0, 0));
      encode_float(ComponentType::f32, 3, a.at(0, 1));
      encode_float(ComponentType::f32, 4, b.at(1, 0));
      encode_float(ComponentType::f32, c_value, c.at(0, 0));
      return muladd(a, b, Expectation(c), false,
                    MuladdRules{.internal_roundoff = unit_roundoff(ComponentType::f32),
                                .may_truncate = false,
                                .keeps_specials = keeps});
   };
   const float infinity = INFINITY, nan = NAN, one = 1;
   const auto takes = [](const Expectation &e, float x) { return !e.mismatch(0, 0, &x); };

   const Expectation infinite = expected(INFINITY, 2, 1, true);
   EXPECT_TRUE(takes(infinite, infinity));
   EXPECT_FALSE(takes(infinite, -infinity) || takes(infinite, nan) || takes(infinite, one));
   for (const Expectation &e : {expected(INFINITY, 0, 1, true), expected(1, 1, NAN, true),
                                expected(INFINITY, 1, -INFINITY, true)}) {
      EXPECT_TRUE(takes(e, nan));
      EXPECT_FALSE(takes(e, infinity) || takes(e, one));
   }
   // Finite numbers may overflow on the way, and other devices may know no infinity.
   for (const Expectation &e :
        {expected(1e30, 1e30, 1, true), expected(1e30, 1e30, -INFINITY, true),
         expected(INFINITY, 1, 1, false)})
      EXPECT_TRUE(takes(e, nan) && takes(e, infinity) && takes(e, one));
   const Expectation finite = expected(1, 1, 1, true);
   EXPECT_FALSE(takes(finite, nan) || takes(finite, infinity));
}

TEST(Muladd, SubnormalNumbersMayBeFlushed)
{
   constexpr ComponentType type = ComponentType::bf16;
   const auto expected = [](double a_value, double b_value, double c_value, bool may_flush) {
      Matrix a(type, 1, 2), b(type, 2, 1), c(ComponentType::f32, 1, 1);
      encode_float(type, a_value, a.at(0, 0));
      encode_float(type, b_value, b.at(0, 0));
      encode_float(type, 1, a.at(0, 1));
      encode_float(type, 0, b.at(1, 0));
      encode_float(ComponentType::f32, c_value, c.at(0, 0));
      return muladd(a, b, Expectation(c), false,
                    MuladdRules{.internal_roundoff = unit_roundoff(ComponentType::f32),
                                .may_truncate = false,
                                .keeps_specials = true,
                                .may_flush = may_flush});
   };
   const auto takes = [](const Expectation &e, float x) { return !e.mismatch(0, 0, &x); };
   const double tiny = smallest_positive(type), normal = smallest_normal(type);
   const float zero = 0, nan = NAN;
   // The subnormal number is a factor of a large product, then C, then a product.
   EXPECT_TRUE(takes(expected(tiny, 0x1p100, 0, true), zero));
   EXPECT_TRUE(takes(expected(0x1p100, tiny, 0, true), float(tiny * 0x1p100)));
   EXPECT_FALSE(takes(expected(tiny, 0x1p100, 0, false), zero));
   EXPECT_TRUE(takes(expected(0, 0, 0x1p-130, true), zero));
   EXPECT_FALSE(takes(expected(0, 0, 0x1p-130, false), zero));
   EXPECT_TRUE(takes(expected(0x1p-70, 0x1p-70, 0, true), zero));
   // Normal numbers are kept, and so are the other terms of a sum.
   EXPECT_FALSE(takes(expected(normal, 0x1p100, 0, true), zero));
   EXPECT_FALSE(takes(expected(tiny, 0x1p100, 1, true), zero));
   EXPECT_FALSE(takes(expected(1, 1, 0, true), zero));
   // Infinity times a possible zero may be NaN.
   EXPECT_TRUE(takes(expected(INFINITY, tiny, 0, true), nan));
   EXPECT_FALSE(takes(expected(INFINITY, tiny, 0, false), nan));
   EXPECT_FALSE(takes(expected(INFINITY, normal, 0, true), nan));
}

TEST(Muladd, F64ReferenceOutlivesCancellation)
{
   Matrix a(ComponentType::f64, 1, 3), b(ComponentType::f64, 3, 1), c(ComponentType::f64, 1, 1);
   const double row[] = {1e16, 1, -1e16}, ones[] = {1, 1, 1}, start = 0;
   memcpy(a.data.data(), row, sizeof(row));
   memcpy(b.data.data(), ones, sizeof(ones));
   memcpy(c.data.data(), &start, sizeof(start));
   const Expectation expected =
      muladd(a, b, Expectation(c), false, internal_roundoff(ComponentType::f64, false));
   EXPECT_EQ(expected.value[0], 1.0);
   EXPECT_GE(expected.bound[0], 1.0) << "plain double may lose the 1";
}

TEST(Muladd, IntegersWrapOrSaturate)
{
   Matrix a(ComponentType::s8, 1, 4), b(ComponentType::u8, 4, 1), c(ComponentType::s32, 1, 1);
   const int8_t row[] = {-128, -128, -128, 127};
   const uint8_t col[] = {255, 255, 255, 0};
   const int32_t low = INT32_MIN + 5;
   memcpy(a.data.data(), row, sizeof(row));
   memcpy(b.data.data(), col, sizeof(col));
   memcpy(c.data.data(), &low, sizeof(low));
   const Integer exact = Integer(low) - 3 * 128 * 255;
   EXPECT_TRUE(muladd(a, b, Expectation(c), false, 0).exact[0] == exact + (Integer(1) << 32));
   EXPECT_TRUE(muladd(a, b, Expectation(c), true, 0).exact[0] == INT32_MIN);
}

/// In SPIR-V, the sum of products has the result's type before C is added, and its overflow is
/// undefined.
TEST(Muladd, ProductsThatOverflowBeforeTheySaturateMayBeAnything)
{
   Matrix a(ComponentType::s8, 2, 1), b(ComponentType::s8, 1, 1), c(ComponentType::s8, 2, 1);
   const int8_t factors[] = {9, 16}, factor = 8, addends[] = {100, -128};
   memcpy(a.data.data(), factors, sizeof(factors));
   memcpy(b.data.data(), &factor, sizeof(factor));
   memcpy(c.data.data(), addends, sizeof(addends));
   const Expectation expected = muladd(a, b, Expectation(c), true, 0);
   const int8_t highest = 127, zero = 0;
   EXPECT_EQ(expected.mismatch(0, 0, &highest), std::nullopt);
   EXPECT_NE(expected.mismatch(0, 0, &zero), std::nullopt);
   EXPECT_EQ(expected.mismatch(1, 0, &zero), std::nullopt);
   EXPECT_EQ(expected.mismatch(1, 0, &highest), std::nullopt);
}

TEST(Muladd, OverflowMayBeInfiniteOrFinite)
{
   Matrix a(ComponentType::f16, 1, 1), b(ComponentType::f16, 1, 1), c(ComponentType::f16, 1, 1);
   encode_float(ComponentType::f16, 256, a.at(0, 0));
   encode_float(ComponentType::f16, 256, b.at(0, 0));
   const Expectation expected =
      muladd(a, b, Expectation(c), false, internal_roundoff(ComponentType::f16, true));
   const uint16_t infinity = 0x7c00, minus_infinity = 0xfc00, nan = 0x7e00, one = 0x3c00;
   EXPECT_EQ(expected.mismatch(0, 0, &infinity), std::nullopt);
   EXPECT_NE(expected.mismatch(0, 0, &minus_infinity), std::nullopt);
   EXPECT_NE(expected.mismatch(0, 0, &nan), std::nullopt);
   EXPECT_NE(expected.mismatch(0, 0, &one), std::nullopt);
}

TEST(Random, PoisonIsNanInEveryFloat)
{
   std::byte bytes[64];
   fill_poison(bytes);
   for (ComponentType type : {ComponentType::f16, ComponentType::f32, ComponentType::f64}) {
      for (size_t at = 0; at < sizeof(bytes); at += format(type).bytes)
         EXPECT_TRUE(std::isnan(decode_float(type, bytes + at)));
   }
}

TEST(Random, ExtremesReachWhatThereIs)
{
   for (ComponentType type : {ComponentType::f16, ComponentType::f32, ComponentType::f64}) {
      Random random(4);
      const Matrix m = random_matrix(random, type, 64, 64, Inputs::extremes);
      uint32_t nans = 0, infinities = 0, subnormals = 0, largest = 0, large = 0;
      for (uint32_t i = 0; i < 64 * 64; i++) {
         const double x = std::fabs(m.real(i / 64, i % 64));
         nans += std::isnan(x);
         infinities += std::isinf(x);
         subnormals += x > 0 && x < smallest_normal(type);
         largest += x == largest_finite(type);
         large += std::isfinite(x) && x > std::sqrt(largest_finite(type)) / 8;
      }
      EXPECT_TRUE(nans > 16 && infinities > 16 && subnormals > 16 && largest > 16 && large > 16)
         << format(type).name;
   }
}

TEST(Random, InputsFollowFromTheSeedAndStayFinite)
{
   for (ComponentType type :
        {ComponentType::f16, ComponentType::f32, ComponentType::f64, ComponentType::s8}) {
      for (Inputs inputs : {Inputs::plain, Inputs::edges, Inputs::whole}) {
         Random first(9), second(9);
         const Matrix x = random_matrix(first, type, 16, 16, inputs),
                      y = random_matrix(second, type, 16, 16, inputs);
         EXPECT_EQ(x.data, y.data);
         for (uint32_t i = 0; format(type).is_float && i < 256; i++)
            EXPECT_LE(std::fabs(x.real(i / 16, i % 16)), 16);
      }
   }
}

} // namespace weft::oracle
