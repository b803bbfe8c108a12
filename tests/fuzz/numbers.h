// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Scalar arithmetic of the interpreter. Every result is the only one that Vulkan allows. An
/// operation gives nothing if its result is undefined, overflows a float, or might be rounded, also
/// by sums in another order.

#pragma once

#include "tests/fuzz/program.h"

#include <array>

namespace weft::fuzz {

/// A scalar of any type.
struct Number {
   int64_t i = 0; ///< integers, u64 by its bits; booleans
   double f = 0;  ///< floats
   bool undefined = false;
   /// For a float that is a sum: the granule of its terms, and the sum of their absolute values;
   /// else 0. Vulkan lets compilers add the terms in another order.
   double unit = 0, magnitude = 0;

   bool operator==(const Number &) const = default;
};

Number whole(Type, int64_t);
Number boolean(bool);

/// The low bits, sign- or zero-extended as the type says.
int64_t wrap(Type, int64_t);
oracle::Integer mathematical(Type, int64_t);

/// Whether a float has so small an exponent and so few digits that all steps of the interpreter, in
/// double, and of a shader are exact. It is zero, or normal with at most 24 digits, or fewer where
/// the type has fewer.
bool representable(Type, double);
/// Whether the sum of these numbers is exact in the type in any order and with any association.
bool exact_in_any_order(Type, double granule, double magnitude);
/// The largest power of two that divides a number; infinity for 0.
double granule(double);
/// The granule of a float and of each term, if it is a sum.
double unit_of(const Number &);
double magnitude_of(const Number &);

std::optional<Number> unary(Unary, Type, const Number &);
/// `type` is the type of the arguments.
std::optional<Number> binary(Binary, Type type, const Number &, const Number &);
std::optional<Number> multiply_add(Type, const Number &, const Number &, const Number &);
std::optional<Number> convert(Type to, Type from, const Number &);
/// Reduces these numbers in any order. Nothing if the list is empty and the identity is not
/// representable.
std::optional<Number> reduce(Reduction, Type, const std::vector<Number> &);

Number decode(Type, const std::byte *);
void encode(Type, const Number &, std::byte *);

} // namespace weft::fuzz
