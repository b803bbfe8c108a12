// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Rows of tiles in vector registers, for inclusion by the files of the instruction sets. The
/// compiler's vectors serve each of them.
///
/// A type of rows describes `Lanes` components of memory:
///
///     Vector                  the components as numbers to calculate with
///     bytes                   of a component in memory
///     load(from)              a Vector
///     store(to, vector)

#pragma once

#include "backend/cpu/kernels/tile_muladd.h"

namespace weft::cpu {
namespace {

template <typename T, int Lanes>
struct VectorOf {
   typedef T Type __attribute__((vector_size(sizeof(T) * Lanes)));
};

constexpr int smaller(int a, int b)
{
   return a < b ? a : b;
}

/// Components as they are.
template <typename T, int Lanes>
struct PlainRows {
   using Vector = typename VectorOf<T, Lanes>::Type;
   static constexpr int bytes = sizeof(T);

   static Vector load(const void *memory) { return *static_cast<const Unaligned *>(memory); }
   static void store(void *memory, Vector v) { *static_cast<Unaligned *>(memory) = v; }

private:
   // g++ 12 would copy the integers of a memcpy() to registers of floats.
   typedef T Unaligned __attribute__((vector_size(sizeof(T) * Lanes), aligned(1), may_alias));
};
template <int Lanes>
using Floats = PlainRows<float, Lanes>;
template <int Lanes>
using Doubles = PlainRows<double, Lanes>;
template <int Lanes>
using Words = PlainRows<int, Lanes>;

template <int Lanes>
typename Words<Lanes>::Vector add_wrapping(typename Words<Lanes>::Vector x,
                                           typename Words<Lanes>::Vector y)
{
   using Unsigned = typename VectorOf<unsigned, Lanes>::Type;
   return (typename Words<Lanes>::Vector)((Unsigned)x + (Unsigned)y);
}

template <Accumulation Mode, int Lanes>
typename Words<Lanes>::Vector add_words(typename Words<Lanes>::Vector x,
                                        typename Words<Lanes>::Vector y)
{
   using Vector = typename Words<Lanes>::Vector;
   using Unsigned = typename VectorOf<unsigned, Lanes>::Type;
   const Vector wrapped = add_wrapping<Lanes>(x, y);
   if constexpr (Mode == Accumulation::saturating_signed) {
      // Overflow: the sum has neither's sign.
      const Vector overflow = (x ^ wrapped) & (y ^ wrapped), limit = (x >> 31) ^ 0x7fffffff;
      return overflow < 0 ? limit : wrapped;
   } else if constexpr (Mode == Accumulation::saturating_unsigned) {
      return (Unsigned)wrapped < (Unsigned)x ? Vector{} - 1 : wrapped;
   } else {
      return wrapped;
   }
}

} // namespace
} // namespace weft::cpu
