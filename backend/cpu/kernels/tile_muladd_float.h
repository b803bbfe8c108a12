// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Floating-point tile multiplication, for inclusion by the file of an instruction set.  That defines before:
///
///     vector_bytes   of a register
///     accumulators   vectors of results that are kept in registers at once
///     HalfVector<L>  load(const void *) and store(void *, value): L halves as L floats, L = 8 or a full vector
///
/// Results form blocks of R rows x V vectors.  For each k, V vectors of row k of B meet R components of column k of A,
/// each broadcast from memory:
///
///          k          n →
///        ┌───┐   ┌────┬────┐
///      r │ a │ × │ b0 │ b1 │   acc[r][v] += a[r] * b[v]
///        └───┘   └────┴────┘

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
struct PlainVector {
   using Vector = typename VectorOf<T, Lanes>::Type;
   using Element = T;

   static Vector load(const void *memory)
   {
      Vector v;
      __builtin_memcpy(&v, memory, sizeof(v));
      return v;
   }
   static void store(void *memory, Vector v) { __builtin_memcpy(memory, &v, sizeof(v)); }
};

template <typename Shape, typename T>
struct Blocks {
   static constexpr int L = smaller(Shape::N, vector_bytes / int(sizeof(T)));
   static constexpr int V = Shape::N / L;
   static constexpr int R = smaller(Shape::M, accumulators / V);
   static_assert(Shape::M % R == 0);
   /// Each component of B is loaded for one block only.
   static constexpr bool load_b_once = R == Shape::M;
};

template <typename T>
struct Plain {
   template <int Lanes>
   using Vector = PlainVector<T, Lanes>;
};

/// d = a * b + c; T is the type of A and of the sums, Factors<Lanes> and Results<Lanes> convert B, and C
/// and D.
template <typename Shape, typename T, template <int> typename Results,
          template <int> typename Factors = Plain<T>::template Vector>
[[gnu::always_inline]] inline void multiply(void *d, const T *a, const void *b, const void *c)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K;
   constexpr int L = Blocks<Shape, T>::L, V = Blocks<Shape, T>::V, R = Blocks<Shape, T>::R;
   using Vector = typename PlainVector<T, L>::Vector;
   constexpr int factor_bytes = sizeof(typename Factors<L>::Element),
                 result_bytes = sizeof(typename Results<L>::Element);
   const auto *b_bytes = static_cast<const char *>(b);
   const auto *c_bytes = static_cast<const char *>(c);
   auto *d_bytes = static_cast<char *>(d);

   for (int row = 0; row < M; row += R) {
      Vector sums[R][V];
#pragma GCC unroll 16
      for (int r = 0; r < R; r++)
#pragma GCC unroll 4
         for (int v = 0; v < V; v++)
            sums[r][v] = Results<L>::load(c_bytes + ((row + r) * N + v * L) * result_bytes);

#pragma GCC unroll 2
      for (int k = 0; k < K; k++) {
         Vector b_row[V];
#pragma GCC unroll 4
         for (int v = 0; v < V; v++)
            b_row[v] = Factors<L>::load(b_bytes + (k * N + v * L) * factor_bytes);
#pragma GCC unroll 16
         for (int r = 0; r < R; r++) {
            const Vector a_component = a[(row + r) * K + k] - Vector{};
#pragma GCC unroll 4
            for (int v = 0; v < V; v++)
               sums[r][v] += a_component * b_row[v];
         }
      }

#pragma GCC unroll 16
      for (int r = 0; r < R; r++)
#pragma GCC unroll 4
         for (int v = 0; v < V; v++)
            Results<L>::store(d_bytes + ((row + r) * N + v * L) * result_bytes, sums[r][v]);
   }
}

template <int Lanes>
using FloatResults = PlainVector<float, Lanes>;
template <int Lanes>
using DoubleResults = PlainVector<double, Lanes>;

template <typename Shape>
void muladd_f32(void *d, const void *a, const void *b, const void *c)
{
   multiply<Shape, float, FloatResults>(d, static_cast<const float *>(a), b, c);
}

template <typename Shape>
void muladd_f64(void *d, const void *a, const void *b, const void *c)
{
   multiply<Shape, double, DoubleResults>(d, static_cast<const double *>(a), b, c);
}

template <int Count>
[[gnu::always_inline]] inline void widen_halves(float *to, const void *from)
{
   constexpr int L = vector_bytes / 4;
   static_assert(Count % L == 0);
   for (int i = 0; i < Count; i += L)
      PlainVector<float, L>::store(to + i,
                                   HalfVector<L>::load(static_cast<const char *>(from) + 2 * i));
}

/// A and B are widened once, B while it is multiplied if it is loaded but once; sums are in single
/// precision and rounded once if the result is in halves.
template <typename Shape, template <int> typename Results>
void muladd_f16(void *d, const void *a, const void *b, const void *c)
{
   alignas(64) float a_wide[Shape::M * Shape::K];
   widen_halves<Shape::M * Shape::K>(a_wide, a);
   if constexpr (Blocks<Shape, float>::load_b_once) {
      multiply<Shape, float, Results, HalfVector>(d, a_wide, b, c);
   } else {
      alignas(64) float b_wide[Shape::K * Shape::N];
      widen_halves<Shape::K * Shape::N>(b_wide, b);
      multiply<Shape, float, Results>(d, a_wide, b_wide, c);
   }
}

TileMulAdd find_float_muladd(const MatrixOperation &op)
{
   using enum ComponentType;
   if (op.a != op.b || op.c != op.result || op.saturating)
      return nullptr;
   return with_float_shape(op, [&]<typename Shape>(Shape) -> TileMulAdd {
      if (op.a == f16 && op.c == f16)
         return muladd_f16<Shape, HalfVector>;
      if (op.a == f16 && op.c == f32)
         return muladd_f16<Shape, FloatResults>;
      if (op.a == f32 && op.c == f32)
         return muladd_f32<Shape>;
      if (op.a == f64 && op.c == f64)
         return muladd_f64<Shape>;
      return nullptr;
   });
}

} // namespace
} // namespace weft::cpu
