// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/oracle/matrix.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <climits>
#include <cmath>
#include <cstdio>
#include <span>
#include <type_traits>

namespace weft::oracle {

Matrix random_matrix(Random &random, ComponentType type, uint32_t rows, uint32_t cols,
                     Inputs inputs)
{
   Matrix matrix(type, rows, cols);
   fill_random(random, type, inputs, matrix.data);
   return matrix;
}

Expectation::Expectation(const Matrix &m) : type(m.type), rows(m.rows), cols(m.cols)
{
   for (uint32_t row = 0; row < rows; row++) {
      for (uint32_t col = 0; col < cols; col++) {
         if (format(type).is_float)
            value.push_back(m.real(row, col));
         else
            exact.push_back(m.integer(row, col));
         bound.push_back(0);
      }
   }
}

static std::string mismatch_text(const char *text, double actual, double expected, double bound)
{
   char message[200];
   snprintf(message, sizeof(message), "%s %.17g, expected %.17g within %.3g (error %.3g)", text,
            actual, expected, bound, std::fabs(actual - expected));
   return message;
}

std::optional<std::string> Expectation::mismatch(uint32_t row, uint32_t col,
                                                 const void *bytes) const
{
   const size_t index = size_t(row) * cols + col;
   if (!format(type).is_float) {
      const Integer actual = decode_int(type, bytes);
      if (actual == exact[index] || std::isinf(bound[index]))
         return std::nullopt;
      char message[200];
      if (format(type).is_signed)
         snprintf(message, sizeof(message), "is %lld, expected %lld", (long long)actual,
                  (long long)exact[index]);
      else
         snprintf(message, sizeof(message), "is %llu, expected %llu", (unsigned long long)actual,
                  (unsigned long long)exact[index]);
      return message;
   }

   const double actual = decode_float(type, bytes);
   const double v = value[index], e = bound[index];
   if (std::isinf(e) || (std::isnan(v) && std::isnan(actual)) || v == actual)
      return std::nullopt;
   /* Without infinity, an overflow gives NaN. */
   if (std::isnan(actual) && !format(type).has_infinity) {
      if (std::isinf(v) || std::fabs(v) + e > largest_finite(type))
         return std::nullopt;
   } else if (std::isinf(actual)) {
      if ((actual > 0 && v + e > largest_finite(type)) ||
          (actual < 0 && v - e < -largest_finite(type)))
         return std::nullopt;
   } else if (std::fabs(actual - v) <= e && !std::isinf(v)) {
      return std::nullopt;
   }
   return mismatch_text("is", actual, v, e);
}

std::optional<std::string> Expectation::mismatch(const Matrix &actual) const
{
   assert(actual.type == type && actual.rows == rows && actual.cols == cols);
   for (uint32_t row = 0; row < rows; row++) {
      for (uint32_t col = 0; col < cols; col++) {
         if (std::optional<std::string> why = mismatch(row, col, actual.at(row, col)))
            return "element (" + std::to_string(row) + ", " + std::to_string(col) + ") " + *why;
      }
   }
   return std::nullopt;
}

double internal_roundoff(ComponentType result, bool at_least_f32)
{
   if (!format(result).is_float)
      return 0;
   const double u = unit_roundoff(result);
   return at_least_f32 ? std::min(u, unit_roundoff(ComponentType::f32)) : u;
}

namespace {

double gamma(uint32_t n, double u)
{
   return n * u < 1 ? n * u / (1 - n * u) : HUGE_VAL;
}

std::vector<double> decode_all(const Matrix &m)
{
   std::vector<double> numbers(size_t(m.rows) * m.cols);
   for (size_t i = 0; i < numbers.size(); i++)
      numbers[i] = decode_float(m.type, &m.data[i * format(m.type).bytes]);
   return numbers;
}

/// Row by row: the sums Σ a·b + c of a row of the result, and the sums of their terms' magnitudes.
struct RowSums {
   std::vector<double> value, magnitude;
};

/// Adds the products of types whose products are exact in double.
void add_exact_products(RowSums &sums, const double *a, const std::vector<double> &b,
                        uint32_t depth)
{
   const size_t cols = sums.value.size();
   for (uint32_t k = 0; k < depth; k++) {
      const double *b_row = &b[k * cols];
      for (size_t col = 0; col < cols; col++) {
         const double product = a[k] * b_row[col];
         sums.value[col] += product;
         sums.magnitude[col] += std::fabs(product);
      }
   }
}

/// Dot2: the sums as if formed in twice the precision of double.
void add_compensated_products(RowSums &sums, const double *a, const std::vector<double> &b,
                              uint32_t depth)
{
   const size_t cols = sums.value.size();
   for (size_t col = 0; col < cols; col++) {
      double high = sums.value[col], low = 0;
      for (uint32_t k = 0; k < depth; k++) {
         const double x = a[k], y = b[k * cols + col];
         const double product = x * y;
         const double product_error = std::fma(x, y, -product);
         const double sum = high + product;
         const double part = sum - high;
         const double sum_error = (high - (sum - part)) + (product - part);
         high = sum;
         low += product_error + sum_error;
         sums.magnitude[col] += std::fabs(product);
      }
      sums.value[col] = high + low;
   }
}

/// The infinity or NaN that the terms a·b and c of a sum give in any order. Nothing if they are all
/// finite, or if the finite ones may overflow by themselves.
std::optional<double> special_sum(const double *a, const double *b, uint32_t b_stride,
                                  uint32_t depth, double c, double largest)
{
   double special = 0, finite = 0;
   const auto add = [&](double x, double y) {
      const double term = x * y;
      if (std::isfinite(x) && std::isfinite(y))
         finite += std::fabs(term);
      else
         special += term;
   };
   add(c, 1);
   for (uint32_t k = 0; k < depth; k++)
      add(a[k], b[size_t(k) * b_stride]);
   if (std::isfinite(special) || !(finite <= largest))
      return std::nullopt;
   return special;
}

/// The magnitudes, together, of the terms a·b and c of which a subnormal number is part.
double subnormal_terms(ComponentType a_type, const double *a, ComponentType b_type, const double *b,
                       uint32_t b_stride, uint32_t depth, ComponentType c_type, double c)
{
   const auto subnormal = [](ComponentType type, double x) {
      return x != 0 && std::fabs(x) < smallest_normal(type);
   };
   double sum = subnormal(c_type, c) ? std::fabs(c) : 0;
   for (uint32_t k = 0; k < depth; k++) {
      const double b_number = b[size_t(k) * b_stride];
      if (subnormal(a_type, a[k]) || subnormal(b_type, b_number))
         sum += std::fabs(a[k] * b_number);
   }
   return sum;
}

/// The largest power of two, as its exponent, that all of these are whole multiples of.
int common_exponent(std::span<const double> numbers)
{
   int least = INT_MAX;
   for (double number : numbers) {
      if (number == 0 || !std::isfinite(number))
         continue;
      int exponent;
      const int64_t digits = int64_t(std::ldexp(std::frexp(number, &exponent), 53));
      least = std::min(least, exponent - 53 + std::countr_zero(uint64_t(digits)));
   }
   return least;
}

/// How muladd() of two types rounds, and where it is exact.
class FloatBounds {
public:
   FloatBounds(const MuladdRules &rules, ComponentType result, uint32_t depth, double reference)
       : type(result), depth(depth), factor(rules.may_truncate ? 2 : 1),
         inner(gamma(depth + 1, rules.internal_roundoff) + reference),
         narrower(std::max(rules.internal_roundoff, unit_roundoff(result))),
         vanishing(rules.may_flush ? smallest_normal(result) : smallest_positive(result))
   {
   }

   /// The bound of a sum of terms of this magnitude. `flushed` may be missing from the sum, and C
   /// is known to within c_bound.
   double of(double sum, double magnitude, double flushed, double c_bound) const
   {
      const double inside = c_bound + flushed + inner * (magnitude + c_bound);
      const double rounding = factor * unit_roundoff(type) * (std::fabs(sum) + inside);
      return inside + rounding + (depth + 2) * vanishing;
   }

   /// Whether sums of multiples of 2^exponent of that magnitude lose nothing.
   bool exact(int exponent, double magnitude) const
   {
      return magnitude == 0 ||
             (exponent < INT_MAX && std::ldexp(1.0, exponent) >= smallest_normal(type) &&
              std::ldexp(magnitude, -exponent) <= 1 / narrower &&
              magnitude <= largest_finite(type));
   }

private:
   ComponentType type;
   uint32_t depth;
   double factor, inner, narrower, vanishing;
};

void muladd_floats(Expectation &d, const Matrix &a, const Matrix &b, const MuladdRules &rules)
{
   const uint32_t depth = a.cols;
   const bool exact_products =
      format(a.type).fraction_bits + format(b.type).fraction_bits + 2 <= 53;
   // The possible error of the sums of exact products.
   const double reference = exact_products ? gamma(depth, unit_roundoff(ComponentType::f64)) : 0;
   const FloatBounds bounds(rules, d.type, depth, reference);
   const bool wider_inside = rules.internal_roundoff < unit_roundoff(d.type);
   const double widest =
      std::max(largest_finite(d.type), wider_inside ? largest_finite(ComponentType::f32) : 0);
   const std::vector<double> a_numbers = decode_all(a), b_numbers = decode_all(b);
   const int a_exponent = common_exponent(a_numbers), b_exponent = common_exponent(b_numbers);
   const int products_exponent =
      std::max(a_exponent, b_exponent) == INT_MAX ? INT_MAX : a_exponent + b_exponent;
   for (uint32_t row = 0; row < d.rows; row++) {
      double *value = &d.value[size_t(row) * d.cols], *bound = &d.bound[size_t(row) * d.cols];
      const double *const a_row = &a_numbers[size_t(row) * depth];
      const std::vector<double> c_row(value, value + d.cols);
      const int exponent = std::min(products_exponent, common_exponent(c_row));
      RowSums sums = {c_row, std::vector<double>(d.cols)};
      for (uint32_t col = 0; col < d.cols; col++)
         sums.magnitude[col] = std::fabs(c_row[col]);
      (exact_products ? add_exact_products : add_compensated_products)(sums, a_row, b_numbers,
                                                                       depth);
      for (uint32_t col = 0; col < d.cols; col++) {
         const double flushed = rules.may_flush
                                   ? subnormal_terms(a.type, a_row, b.type, &b_numbers[col], d.cols,
                                                     depth, d.type, c_row[col])
                                   : 0;
         if (!(sums.magnitude[col] + bound[col] <= widest)) {
            const std::optional<double> special =
               special_sum(a_row, &b_numbers[col], d.cols, depth, c_row[col], widest);
            const bool known = special && rules.keeps_specials && std::isfinite(bound[col]) &&
                               std::isfinite(flushed);
            value[col] = known ? *special : 0;
            bound[col] = known ? 0 : HUGE_VAL;
            continue;
         }
         value[col] = sums.value[col];
         if (bound[col] == 0 && flushed == 0 && bounds.exact(exponent, sums.magnitude[col]))
            continue;
         bound[col] = bounds.of(sums.value[col], sums.magnitude[col], flushed, bound[col]);
      }
   }
}

/// Sum is wide enough for a sum of the products without overflow, or one that wraps like the
/// result; where not even Integer is, a saturating sum is open.
template <typename Sum>
void muladd_integers(Expectation &d, const Matrix &a, const Matrix &b, bool saturating)
{
   const auto decode = [](const Matrix &m) {
      std::vector<Sum> numbers(size_t(m.rows) * m.cols);
      for (size_t i = 0; i < numbers.size(); i++)
         numbers[i] = Sum(decode_int(m.type, &m.data[i * format(m.type).bytes]));
      return numbers;
   };
   const std::vector<Sum> a_numbers = decode(a), b_numbers = decode(b);
   std::vector<Sum> sums(d.cols);
   std::vector<char> overflows(d.cols);
   for (uint32_t row = 0; row < d.rows; row++) {
      std::fill(sums.begin(), sums.end(), 0);
      std::fill(overflows.begin(), overflows.end(), 0);
      for (uint32_t k = 0; k < a.cols; k++) {
         const Sum factor = a_numbers[size_t(row) * a.cols + k];
         for (uint32_t col = 0; col < d.cols; col++) {
            const Sum other = b_numbers[size_t(k) * d.cols + col];
            if constexpr (std::is_same_v<Sum, Integer>) {
               Sum product;
               if (__builtin_mul_overflow(factor, other, &product) ||
                   __builtin_add_overflow(sums[col], product, &sums[col]))
                  overflows[col] = 1;
            } else {
               sums[col] += factor * other;
            }
         }
      }
      for (uint32_t col = 0; col < d.cols; col++) {
         const size_t index = size_t(row) * d.cols + col;
         const Integer products = Integer(sums[col]);
         Integer &result = d.exact[index];
         if (!saturating) {
            std::byte bits[8];
            encode_int(d.type, result + products, bits);
            result = decode_int(d.type, bits);
         } else if (overflows[col] || saturate(d.type, products) != products) {
            d.bound[index] = HUGE_VAL;
         } else {
            result = saturate(d.type, result + products);
         }
      }
   }
}

} // namespace

Expectation muladd(const Matrix &a, const Matrix &b, const Expectation &c, bool saturating,
                   double internal_roundoff)
{
   return muladd(a, b, c, saturating, MuladdRules{.internal_roundoff = internal_roundoff});
}

Expectation muladd(const Matrix &a, const Matrix &b, const Expectation &c, bool saturating,
                   const MuladdRules &rules)
{
   assert(a.rows == c.rows && b.cols == c.cols && a.cols == b.rows);
   Expectation d = c;
   if (format(d.type).is_float)
      muladd_floats(d, a, b, rules);
   else if (format(a.type).bytes <= 2 && format(b.type).bytes <= 2)
      muladd_integers<int64_t>(d, a, b, saturating);
   else if (format(a.type).bytes == 8 && format(b.type).bytes == 8 && !saturating)
      muladd_integers<uint64_t>(d, a, b, saturating);
   else
      muladd_integers<Integer>(d, a, b, saturating);
   return d;
}

} // namespace weft::oracle
