// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Element-wise arithmetic of matrices: + - * / and negation, and the product with a scalar, for
/// every matrix type.

#include "tests/e2e/cmat_program.h"

#include <cstring>

namespace weft::e2e {

namespace {

using oracle::Expectation;
using oracle::Integer;
using oracle::Matrix;

/// Divisors: nonzero, and neither -1 (its quotient with the smallest integer overflows) nor a tiny
/// float.
Matrix random_divisors(oracle::Random &random, const MatrixType &type)
{
   Matrix matrix = random_matrix(random, type, oracle::Inputs::plain);
   for (uint32_t i = 0; i < type.rows * type.cols; i++) {
      std::byte *at = matrix.at(i / type.cols, i % type.cols);
      if (oracle::format(type.type).is_float) {
         const double value = oracle::decode_float(type.type, at);
         oracle::encode_float(type.type, value + (value < 0 ? -0.25 : 0.25), at);
      } else if (const Integer value = oracle::decode_int(type.type, at);
                 value == 0 || value == -1) {
         oracle::encode_int(type.type, 7, at);
      }
   }
   return matrix;
}

/// The expectation of an element-wise operation given as a function of doubles and one of integers.
template <typename Real, typename Whole>
Expectation elementwise(const Device &device, const MatrixType &type, double ulps, Real real,
                        Whole whole)
{
   if (oracle::format(type.type).is_float)
      return rounded(device, type.type, type.rows, type.cols, real, ulps);
   return exact_integers(type.type, type.rows, type.cols, whole);
}

double multiply(double x, double y)
{
   return x * y;
}

/// The low bits of a product, because the product of two 64-bit factors may exceed Integer's range.
Integer multiply(Integer x, Integer y)
{
   Integer product;
   (void)__builtin_mul_overflow(x, y, &product);
   return product;
}

} // namespace

TEST(CmatArithmetic, MatrixWithMatrix)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      // Only Weft's own driver must handle infinity, NaN and overflow.
      const oracle::Inputs inputs =
         device.is_weft ? oracle::Inputs::extremes : oracle::Inputs::edges;
      const std::vector<Matrix> m = {
         random_matrix(random, type, inputs),
         random_matrix(random, type, inputs),
         random_divisors(random, type),
      };
      const MatrixProgram program = {
         .inputs = {type, type, type},
         .outputs = {type, type, type, type, type},
         .declarations = "",
         .body = "   r0 = m0 + m1;\n   r1 = m0 - m1;\n   r2 = m0 * m1;\n   r3 = m0 / m2;\n   r4 = "
                 "-m0;\n",
         .subgroup_size = subgroup_size,
      };
      const ProgramResult result = run_program(device, program, m);
      // f64 sums of the operands may themselves round, far below the bound of f64 results.
      const auto expect = [&](int index, const char *what, double ulps, auto real, auto whole) {
         SCOPED_TRACE(what);
         EXPECT_MATRIX(elementwise(
                          device, type, ulps,
                          [&](uint32_t row, uint32_t col) {
                             return real(m[0].real(row, col), m[1].real(row, col),
                                         m[2].real(row, col));
                          },
                          [&](uint32_t row, uint32_t col) {
                             return whole(m[0].integer(row, col), m[1].integer(row, col),
                                          m[2].integer(row, col));
                          }),
                       result.outputs[index]);
      };
      const auto add = [](auto x, auto y, auto) { return x + y; };
      const auto sub = [](auto x, auto y, auto) { return x - y; };
      const auto mul = [](auto x, auto y, auto) { return multiply(x, y); };
      const auto div = [](auto x, auto, auto z) { return x / z; };
      const auto neg = [](auto x, auto, auto) { return -x; };
      expect(0, "sum", 1, add, add);
      expect(1, "difference", 1, sub, sub);
      expect(2, "product", 1, mul, mul);
      expect(3, "quotient", 2.5, div, div);
      expect(4, "negation", 0, neg, neg);
   });
}

TEST(CmatArithmetic, MatrixWithScalar)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      const std::vector<Matrix> m = {
         random_matrix(random, type, oracle::Inputs::edges),
         random_matrix(random, type, oracle::Inputs::plain),
      };
      const MatrixProgram program = {
         .inputs = {type, type},
         .outputs = {type, type, type},
         .declarations = "",
         .body = "   $T0 scalar = m1_data.data[push.x];\n"
                 "   r0 = m0 * scalar;\n   r1 = scalar * m0;\n   r2 = m0 * $T0(3);\n",
         .push = {5, 0, 0, 0},
         .subgroup_size = subgroup_size,
      };
      const ProgramResult result = run_program(device, program, m);
      const std::byte *scalar = m[1].data.data() + 5 * type.component_bytes();
      for (int i = 0; i < 3; i++) {
         SCOPED_TRACE("product " + std::to_string(i));
         EXPECT_MATRIX(elementwise(
                          device, type, 1,
                          [&](uint32_t row, uint32_t col) {
                             return m[0].real(row, col) *
                                    (i == 2 ? 3.0 : oracle::decode_float(type.type, scalar));
                          },
                          [&](uint32_t row, uint32_t col) {
                             return multiply(m[0].integer(row, col),
                                             i == 2 ? Integer(3)
                                                    : oracle::decode_int(type.type, scalar));
                          }),
                       result.outputs[i]);
      }
   });
}

/// Results feed further operations, in place and across matrices.
TEST(CmatArithmetic, Chains)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      const std::vector<Matrix> m = {
         random_matrix(random, type, oracle::Inputs::whole),
         random_matrix(random, type, oracle::Inputs::whole),
      };
      const MatrixProgram program = {
         .inputs = {type, type},
         .outputs = {type, type},
         .declarations = "",
         .body = R"(   r0 = m0;
   for (uint i = 0; i < push.x; i++)
      r0 += m1;
   r0 *= $T0(2);
   r1 = r0;
   r1 -= m0;
   r0 = r1 - r0;
   r0 = -r0;
)",
         .push = {4, 0, 0, 0},
         .subgroup_size = subgroup_size,
      };
      const ProgramResult result = run_program(device, program, m);
      // Whole numbers of at most 8: every step is exact in every float, and wraps alike in every
      // integer.
      const auto first = [](auto x, auto) { return x; };
      const auto second = [](auto x, auto y) { return 2 * (x + 4 * y) - x; };
      const auto expect = [&](int index, auto f) {
         EXPECT_MATRIX(elementwise(
                          device, type, 0,
                          [&](uint32_t row, uint32_t col) {
                             return f(m[0].real(row, col), m[1].real(row, col));
                          },
                          [&](uint32_t row, uint32_t col) {
                             return f(m[0].integer(row, col), m[1].integer(row, col));
                          }),
                       result.outputs[index]);
      };
      expect(0, first);
      expect(1, second);
   });
}

} // namespace weft::e2e
