// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrices as plain arrays, and the permitted results of a cooperative multiply-add of them.

#pragma once

#include "tests/oracle/component.h"
#include "tests/oracle/random.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::oracle {

/// rows × cols components, dense, row-major.
struct Matrix {
   ComponentType type;
   uint32_t rows, cols;
   std::vector<std::byte> data;

   Matrix(ComponentType type, uint32_t rows, uint32_t cols)
       : type(type), rows(rows), cols(cols), data(size_t(rows) * cols * format(type).bytes)
   {
   }

   std::byte *at(uint32_t row, uint32_t col)
   {
      return &data[(size_t(row) * cols + col) * format(type).bytes];
   }
   const std::byte *at(uint32_t row, uint32_t col) const
   {
      return &data[(size_t(row) * cols + col) * format(type).bytes];
   }
   double real(uint32_t row, uint32_t col) const { return decode_float(type, at(row, col)); }
   Integer integer(uint32_t row, uint32_t col) const { return decode_int(type, at(row, col)); }
};

Matrix random_matrix(Random &, ComponentType, uint32_t rows, uint32_t cols, Inputs);

/// The permitted values of a computed matrix. Integers are exact. A float may be any number in
/// value ± bound. It may be infinity (or NaN, if the type lacks infinity) if that interval reaches
/// past the largest finite number of the type. If the value is infinite or NaN, so is the result.
/// If the bound is infinite, the result may be anything, also for integers.
struct Expectation {
   ComponentType type;
   uint32_t rows, cols;
   std::vector<double> bound;
   std::vector<double> value;  ///< floating types
   std::vector<Integer> exact; ///< integer types

   /// The matrix itself, with bound 0.
   explicit Expectation(const Matrix &);

   /// The reason why `actual`, found at (row, col), is wrong; nothing if it is right.
   std::optional<std::string> mismatch(uint32_t row, uint32_t col, const void *actual) const;
   /// The first mismatch of a whole matrix, with its place.
   std::optional<std::string> mismatch(const Matrix &actual) const;
};

/// Precision inside one multiply-add: the unit roundoff to which products and partial sums are
/// rounded, in any order, before the sum is rounded to the type of the result.
double internal_roundoff(ComponentType result, bool at_least_f32);

/// The bounds of a device for one multiply-add of floats.
struct MuladdRules {
   double internal_roundoff;
   /// Roundings may be toward zero, as Vulkan lets a device do; else they are to nearest.
   bool may_truncate = true;
   /// IEEE 754's rules of infinities and NaN, which Vulkan leaves open, hold.
   bool keeps_specials = false;
   /// Subnormal numbers may count as zero and become zero, which Vulkan leaves open too.
   bool may_flush = false;
};

/// One A·B + C; C may be known only to within a bound, as the result of a multiply-add.
///
/// Floats: with u the internal roundoff, K columns of A, S the exact |A|·|B| + |C| + C.bound of an
/// element and v the exact sum,
///     error ≤ C.bound + γ_{K+1}(u)·S + u_r·(|v| + the terms before) + (K+2)·smallest subnormal,
///     γ_n(u) = n·u / (1 - n·u).
/// K products and K additions in any order touch a term at most K+1 times (Higham, Accuracy and
/// Stability of Numerical Algorithms, §3.1). Then the result is rounded once to its type, with
/// roundoff u_r (twice u_r if truncation is allowed too). The reference is formed in f64, and γ_K
/// of f64 for its own rounding is added. f64 does not hold the products of f64 operands: they get a
/// compensated sum instead (Dot2 of Ogita, Rump and Oishi), whose error vanishes beside u of f64.
///
/// If subnormal numbers may be flushed, the subnormal terms |a·b| and |c| are added to the error.
/// So is the possible loss in the K+2 intermediate results: smallest normal numbers in place of
/// subnormal ones.
///
/// The bound is 0 if every order of summation gives the exact sum. That is so if C has no bound and
/// all terms are whole multiples of a power of two. The sum of their magnitudes must also fit into
/// the narrower of the two significands.
///
/// If a term is infinite or NaN, the sum follows IEEE 754, in any order, unless finite terms may
/// overflow as well. Any result is right in that case, if partial sums may leave the range of the
/// internal precision, or if a subnormal number that may be flushed meets infinity.
///
/// Integers: exact, wrapped to the result type or clamped to it. A clamped result may be anything
/// if the type does not hold the sum of the products already: SPIR-V leaves it open.
Expectation muladd(const Matrix &a, const Matrix &b, const Expectation &c, bool saturate,
                   const MuladdRules &);
/// With truncation allowed.
Expectation muladd(const Matrix &a, const Matrix &b, const Expectation &c, bool saturate,
                   double internal_roundoff);

} // namespace weft::oracle
