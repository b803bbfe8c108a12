// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random inputs and poison for tests; everything follows from a seed that the tests print.

#pragma once

#include "tests/oracle/component.h"

#include <random>
#include <span>

namespace weft::oracle {

using Random = std::mt19937_64;

/// The kind of random numbers.
enum class Inputs {
   /// Floats of magnitude up to 1 that use all their bits; integers over the whole range of their
   /// type.
   plain,
   /// As plain, and one in eight is an edge: zero, minus zero, ±1, a power of two, the smallest
   /// normal and subnormal,
   /// an integer's bounds and their neighbours.
   edges,
   /// As edges, with magnitudes from the smallest subnormal to the square root of the largest
   /// number and, one in 64 each, the largest number, infinity and NaN.
   extremes,
   /// Random bits; floats may be signalling NaNs.
   bits,
   /// Small whole numbers, |x| ≤ 8 (0..8 when unsigned): every sum and product of a few thousand is
   /// exact in f32.
   whole,
   /// Whole numbers whose sums with products of 8-bit integers lie around the bounds of the type.
   near_bounds,
};

void fill_random(Random &, ComponentType, Inputs, std::span<std::byte> out);

/// Bytes that no test computes by accident: as floats they are NaN, as integers large and position
/// dependent.
void fill_poison(std::span<std::byte> out);

/// A number in 0..bound-1.
uint32_t draw(Random &, uint32_t bound);

} // namespace weft::oracle
