// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// GLSL's determinant() and inverse(). SPIR-V gives no bound, but says that they consist of basic
/// operations. So the bound follows from the definition, computed with intervals: the expansion by
/// cofactors along the first column. Each product and each sum may be rounded to either neighbour,
/// and the sums are in any order. For the inverse it is the adjugate, divided by the determinant.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

namespace weft::cpu {
namespace {

/// Holds sums and products of the numbers below exactly, except for negligibly small parts.
using Wide = __float128;

template <typename T>
using Bits = std::conditional_t<sizeof(T) == 2, int16_t,
                                std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;

/// The next number in the order of the numbers.
template <typename T>
T neighbour(T v, bool upwards)
{
   if (!upwards && std::isinf(double(v)) && v > T(0))
      return std::bit_cast<T>(Bits<T>(std::bit_cast<Bits<T>>(v) - 1));
   if (v == T(0))
      return std::bit_cast<T>(Bits<T>((upwards ? 0 : std::numeric_limits<Bits<T>>::min()) + 1));
   return std::bit_cast<T>(Bits<T>(std::bit_cast<Bits<T>>(v) + (upwards == (v > T(0)) ? 1 : -1)));
}

template <typename T>
Wide round_down(Wide v)
{
   const T nearest = T(v);
   return Wide(nearest) > v ? Wide(neighbour(nearest, false)) : Wide(nearest);
}

template <typename T>
struct Interval {
   Wide low, high;
   bool anything = false; ///< infinities may have met

   /// The interval around the results for the four pairs of ends.
   static Interval outward(std::array<Wide, 4> ends, bool anything)
   {
      for (Wide end : ends)
         anything |= end != end;
      const auto [least, most] = std::minmax_element(ends.begin(), ends.end());
      return {round_down<T>(*least), -round_down<T>(-*most), anything};
   }
   friend Interval operator+(Interval x, Interval y)
   {
      return outward({x.low + y.low, x.low + y.high, x.high + y.low, x.high + y.high},
                     x.anything || y.anything);
   }
   friend Interval operator-(Interval x, Interval y)
   {
      return outward({x.low - y.low, x.low - y.high, x.high - y.low, x.high - y.high},
                     x.anything || y.anything);
   }
   friend Interval operator*(Interval x, Interval y)
   {
      // Zero times infinity, for a zero anywhere in the interval.
      const bool undefined =
         (x.has_zero() && y.has_infinity()) || (x.has_infinity() && y.has_zero());
      return outward({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high},
                     x.anything || y.anything || undefined);
   }
   bool has_zero() const { return low <= 0 && high >= 0; }
   bool has_infinity() const
   {
      constexpr Wide infinity = std::numeric_limits<double>::infinity();
      return low == -infinity || high == infinity;
   }
   bool contains(T v) const { return anything || (low <= Wide(v) && Wide(v) <= high); }
};

/// The union of both.
template <typename T>
Interval<T> hull(Interval<T> x, Interval<T> y)
{
   return {std::min(x.low, y.low), std::max(x.high, y.high), x.anything || y.anything};
}

/// The terms joined two by two, in any order.
template <typename T>
Interval<T> sum(const std::vector<Interval<T>> &terms)
{
   if (terms.size() == 1)
      return terms[0];
   std::optional<Interval<T>> result;
   for (size_t x = 0; x < terms.size(); x++) {
      for (size_t y = 0; y < x; y++) {
         std::vector<Interval<T>> joined = {terms[x] + terms[y]};
         for (size_t i = 0; i < terms.size(); i++)
            if (i != x && i != y)
               joined.push_back(terms[i]);
         const Interval<T> whole = sum(joined);
         result = result ? hull(*result, whole) : whole;
      }
   }
   return *result;
}

/// A matrix as columns, as in GLSL.
template <typename T>
using Matrix = std::vector<std::vector<T>>;

/// The matrix without one column and one row.
template <typename T>
Matrix<T> minor_of(const Matrix<T> &m, size_t column, size_t row)
{
   Matrix<T> result;
   for (size_t c = 0; c < m.size(); c++) {
      if (c == column)
         continue;
      result.emplace_back();
      for (size_t r = 0; r < m.size(); r++)
         if (r != row)
            result.back().push_back(m[c][r]);
   }
   return result;
}

template <typename T>
Interval<T> determinant(const Matrix<T> &m)
{
   if (m.size() == 1)
      return {Wide(m[0][0]), Wide(m[0][0])};
   std::vector<Interval<T>> terms;
   for (size_t row = 0; row < m.size(); row++) {
      const Wide factor = row % 2 ? -Wide(m[0][row]) : Wide(m[0][row]);
      terms.push_back(Interval<T>{factor, factor} * determinant(minor_of(m, 0, row)));
   }
   return sum(terms);
}

/// The inverse's element in a column and a row.
template <typename T>
Interval<T> inverse(const Matrix<T> &m, const Interval<T> &whole, size_t column, size_t row)
{
   if (whole.anything || (whole.low <= 0 && whole.high >= 0))
      return {0, 0, true};
   const Interval<T> reciprocal =
      Interval<T>::outward({1 / whole.low, 1 / whole.high, 1 / whole.low, 1 / whole.high}, false);
   const Interval<T> cofactor = determinant(minor_of(m, row, column));
   const Interval<T> element = cofactor * reciprocal;
   return (column + row) % 2 ? Interval<T>{-element.high, -element.low, element.anything} : element;
}

template <typename T>
const char *matrix_prefix()
{
   return sizeof(T) == 2 ? "f16mat" : sizeof(T) == 4 ? "mat" : "dmat";
}

class MatrixFunctions : public testing::TestWithParam<uint32_t> {
protected:
   static constexpr uint32_t count = 1024;
   Executor executor{1};
   std::mt19937_64 random{test::test_seed()};

   /// Numbers in [-2, 2] with few bits or all bits, so that terms cancel exactly, nearly or not at
   /// all; or in a wide range, so that products overflow.
   template <typename T>
   T draw(bool wide)
   {
      if (wide) {
         const int most = sizeof(T) == 2 ? 12 : sizeof(T) == 4 ? 100 : 800;
         return T(std::ldexp(double(int64_t(random())), -62 + int(random() % (2 * most)) - most));
      }
      switch (random() % 3) {
      case 0:
         return T(int(random() % 5) - 2);
      case 1:
         return T(std::ldexp(double(random() % 64), -5 - int(random() % 6)));
      default:
         return T(double(int64_t(random())) * 0x1p-62);
      }
   }

   template <typename T>
   void check(uint32_t size);
};

INSTANTIATE_TEST_SUITE_P(, MatrixFunctions, testing::Values(2, 3, 4),
                         [](const auto &info) { return std::to_string(info.param); });

template <typename T>
void MatrixFunctions::check(uint32_t size)
{
   const std::string type = matrix_prefix<T>() + std::to_string(size);
   const std::string scalar = sizeof(T) == 2 ? "float16_t" : sizeof(T) == 4 ? "float" : "double";
   const std::string n = std::to_string(size);
   auto program = compile_shader(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, scalar) buffer I { )" +
                                    type + R"( a[]; };
layout(set = 0, binding = 1, scalar) buffer D { )" +
                                    scalar + R"( d[]; };
layout(set = 0, binding = 2, scalar) buffer N { )" +
                                    type + R"( inverses[]; };
void main() {
   uint i = gl_GlobalInvocationID.x;
   // The product with one makes glslang declare Float16.
   d[i] = determinant(a[i]) * )" + scalar +
                                    R"((1);
   inverses[i] = inverse(a[i]);
})",
                                 16, 3);
   ASSERT_TRUE(program) << program.error().message;
   std::vector<T> a(count * size * size), d(count), inverses(a.size());
   for (size_t i = 0; i < a.size(); i++)
      a[i] = draw<T>(i / (size * size) % 4 == 0);
   ASSERT_TRUE(
      run_shader(executor, **program,
                 {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(d)),
                  std::as_writable_bytes(std::span(inverses))},
                 {count / 64, 1, 1}));
   uint32_t bounded = 0;
   for (uint32_t i = 0; i < count; i++) {
      Matrix<T> m(size, std::vector<T>(size));
      for (uint32_t c = 0; c < size; c++)
         for (uint32_t r = 0; r < size; r++)
            m[c][r] = a[(i * size + c) * size + r];
      const Interval<T> whole = determinant(m);
      bounded += !whole.anything;
      ASSERT_TRUE(whole.contains(d[i]))
         << type << " number " << i << ": the determinant " << double(d[i]) << " is not within "
         << double(whole.low) << " and " << double(whole.high);
      for (uint32_t c = 0; c < size; c++) {
         for (uint32_t r = 0; r < size; r++) {
            const Interval<T> element = inverse(m, whole, c, r);
            const T actual = inverses[(i * size + c) * size + r];
            ASSERT_TRUE(element.contains(actual))
               << type << " number " << i << ": the inverse's [" << c << "][" << r << "] "
               << double(actual) << " is not within " << double(element.low) << " and "
               << double(element.high);
         }
      }
   }
   EXPECT_GT(bounded, count / 2);
}

TEST_P(MatrixFunctions, OfHalves)
{
   check<_Float16>(GetParam());
}

TEST_P(MatrixFunctions, OfFloats)
{
   check<float>(GetParam());
}

TEST_P(MatrixFunctions, OfDoubles)
{
   check<double>(GetParam());
}

} // namespace
} // namespace weft::cpu
