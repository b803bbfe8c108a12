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

#include "backend/cpu/kernels/tile_packing.h"

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
};

/// TileMulAdd; T is the type of A and of the sums, Results<Lanes> converts C and D, RowsOfB<Lanes> B.
template <typename Shape, typename T, template <int> typename Results,
          template <int> typename RowsOfB = Results>
[[gnu::always_inline]] inline void multiply(void *d, const void *a, const void *b, const void *c,
                                            uint32_t count, uint64_t a_step, uint64_t b_step)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K;
   constexpr int L = Blocks<Shape, T>::L, V = Blocks<Shape, T>::V, R = Blocks<Shape, T>::R;
   using Vector = typename PlainVector<T, L>::Vector;
   constexpr int result_bytes = sizeof(typename Results<L>::Element),
                 b_component_bytes = sizeof(typename RowsOfB<L>::Element);
   const auto *c_bytes = static_cast<const char *>(c);
   auto *d_bytes = static_cast<char *>(d);

   for (int row = 0; row < M; row += R) {
      Vector sums[R][V];
#pragma GCC unroll 16
      for (int r = 0; r < R; r++)
#pragma GCC unroll 4
         for (int v = 0; v < V; v++)
            sums[r][v] = Results<L>::load(c_bytes + ((row + r) * N + v * L) * result_bytes);

      const auto *a_bytes = static_cast<const char *>(a), *b_bytes = static_cast<const char *>(b);
      for (uint32_t i = 0; i < count; i++, a_bytes += a_step, b_bytes += b_step) {
         const auto *a_components = reinterpret_cast<const T *>(a_bytes);
#pragma GCC unroll 2
         for (int k = 0; k < K; k++) {
            Vector b_row[V];
#pragma GCC unroll 4
            for (int v = 0; v < V; v++)
               b_row[v] = RowsOfB<L>::load(b_bytes + (k * N + v * L) * b_component_bytes);
#pragma GCC unroll 16
            for (int r = 0; r < R; r++) {
               const Vector a_component = a_components[(row + r) * K + k] - Vector{};
#pragma GCC unroll 4
               for (int v = 0; v < V; v++)
                  sums[r][v] += a_component * b_row[v];
            }
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

template <typename Shape, typename T, template <int> typename Results,
          template <int> typename RowsOfB = Results>
void muladd(void *d, const void *a, const void *b, const void *c, uint32_t count, uint64_t a_step,
            uint64_t b_step)
{
   multiply<Shape, T, Results, RowsOfB>(d, a, b, c, count, a_step, b_step);
}

/// Halves as floats, of A: its components are broadcast from memory.  A row of B is widened when it is
/// loaded, which is lost among the multiplications.
template <int Rows, int Cols>
struct WidenedHalves : Factor<Rows, Cols, 2> {
   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      constexpr int L = smaller(Cols, vector_bytes / 4);
      for (int row = 0; row < Rows; row++) {
         for (int col = 0; col < Cols; col += L)
            PlainVector<float, L>::store(packed + 4 * (row * Cols + col),
                                         HalfVector<L>::load(rows + row * stride + 2 * col));
      }
   }
};

/// Rounded once.
template <typename Shape>
void muladd_f16(void *d, const void *a, const void *b, const void *c)
{
   multiply<Shape, float, HalfVector>(d, a, b, c, 1, 0, 0);
}

TileProduct find_float_product(const MatrixOperation &op)
{
   using enum ComponentType;
   if (op.a != op.b || op.c != op.result || op.saturating)
      return {};
   return with_float_shape(op, [&]<typename Shape>(Shape) -> TileProduct {
      using A = WidenedHalves<Shape::M, Shape::K>;
      if (op.a == f16 && op.c == f16)
         return product<A, AsItIs>(add_one_by_one<muladd_f16<Shape>>);
      if (op.a == f16 && op.c == f32)
         return product<A, AsItIs>(muladd<Shape, float, FloatResults, HalfVector>);
      if (op.a == f32 && op.c == f32)
         return product(muladd<Shape, float, FloatResults>);
      if (op.a == f64 && op.c == f64)
         return product(muladd<Shape, double, DoubleResults>);
      return {};
   });
}

} // namespace
} // namespace weft::cpu
