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

#include "backend/cpu/kernels/x86/tile_packing.h"

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

/// Of one tile's row or several's side by side.
template <typename Shape, typename T, int Tiles>
struct Blocks {
   static constexpr int L = smaller(Shape::N, vector_bytes / int(sizeof(T)));
   static constexpr int V = Shape::N / L;
   static constexpr int R = smaller(Shape::M, accumulators / (V * Tiles));
   static_assert(Shape::M % R == 0);
};

/// A sum of tiles, or so many side by side; T is the type of A and of the sums, RowsOfB<Lanes> converts B and so on.
template <typename Shape, typename T, template <int> typename RowsOfB,
          template <int> typename RowsOfC, template <int> typename RowsOfD, int Tiles>
[[gnu::always_inline]] inline void multiply(char *d, const char *a, const char *b, const char *c,
                                            const TileBlock &block)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K;
   using Blocks = Blocks<Shape, T, Tiles>;
   constexpr int L = Blocks::L, V = Blocks::V, R = Blocks::R;
   using Vector = typename PlainVector<T, L>::Vector;
   constexpr int b_component_bytes = sizeof(typename RowsOfB<L>::Element),
                 c_component_bytes = sizeof(typename RowsOfC<L>::Element),
                 d_component_bytes = sizeof(typename RowsOfD<L>::Element);

   constexpr int rows_of_a = R * K * int(sizeof(T)), rows_of_c = R * N * c_component_bytes,
                 rows_of_d = R * N * d_component_bytes;
   // Indices that are not constant would keep g++ from folding them into the addresses' displacements.
   for (int row = 0; row < M; row += R, a += rows_of_a, c += rows_of_c, d += rows_of_d) {
      const auto place = [&](int tile, int r, int v, int component_bytes) {
         return tile * block.d_col + (r * N + v * L) * component_bytes;
      };
      Vector sums[Tiles][R][V];
#pragma GCC unroll 2
      for (int tile = 0; tile < Tiles; tile++)
#pragma GCC unroll 16
         for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int v = 0; v < V; v++)
               sums[tile][r][v] = RowsOfC<L>::load(c + place(tile, r, v, c_component_bytes));

      const char *a_bytes = a, *b_bytes = b;
      for (uint32_t i = 0; i < block.depth; i++, a_bytes += block.a_step, b_bytes += block.b_step) {
         const auto *a_components = reinterpret_cast<const T *>(a_bytes);
#pragma GCC unroll 16
         for (int k = 0; k < K; k++) {
            Vector b_row[Tiles][V];
#pragma GCC unroll 2
            for (int tile = 0; tile < Tiles; tile++)
#pragma GCC unroll 4
               for (int v = 0; v < V; v++)
                  b_row[tile][v] = RowsOfB<L>::load(b_bytes + tile * block.b_col +
                                                    (k * N + v * L) * b_component_bytes);
#pragma GCC unroll 16
            for (int r = 0; r < R; r++) {
               const Vector a_component = a_components[r * K + k] - Vector{};
#pragma GCC unroll 2
               for (int tile = 0; tile < Tiles; tile++)
#pragma GCC unroll 4
                  for (int v = 0; v < V; v++)
                     sums[tile][r][v] += a_component * b_row[tile][v];
            }
         }
      }

#pragma GCC unroll 2
      for (int tile = 0; tile < Tiles; tile++)
#pragma GCC unroll 16
         for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int v = 0; v < V; v++)
               RowsOfD<L>::store(d + place(tile, r, v, d_component_bytes), sums[tile][r][v]);
   }
}

template <int Lanes>
using FloatVector = PlainVector<float, Lanes>;
template <int Lanes>
using DoubleVector = PlainVector<double, Lanes>;

/// TileMulAdd.
template <typename Shape, typename T, template <int> typename RowsOfB,
          template <int> typename RowsOfC = RowsOfB, template <int> typename RowsOfD = RowsOfC>
void muladd(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   // Two share each component of A that is broadcast where registers are plenty, a row of B is one vector and nothing
   // to be converted for each block of rows.
   constexpr bool is_plain = sizeof(typename RowsOfB<8>::Element) == sizeof(T);
   constexpr int at = vector_bytes == 64 && Blocks<Shape, T, 1>::V == 1 && is_plain ? 2 : 1;
   for_each_sum<at>(
      d, a, b, c, *block, [&](auto columns, char *d, const char *a, const char *b, const char *c) {
         multiply<Shape, T, RowsOfB, RowsOfC, RowsOfD, columns.count>(d, a, b, c, *block);
      });
}

/// Halves as floats, of A: its components are broadcast from memory.  B stays as it is; a row is widened when it is
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

/// Of halves.
template <typename Shape>
TileMulAdd find_muladd_f16(ComponentType c, ComponentType result)
{
   using enum ComponentType;
   if (c == f16)
      return result == f16 ? muladd<Shape, float, HalfVector, HalfVector, HalfVector>
                           : muladd<Shape, float, HalfVector, HalfVector, FloatVector>;
   return result == f16 ? muladd<Shape, float, HalfVector, FloatVector, HalfVector>
                        : muladd<Shape, float, HalfVector, FloatVector, FloatVector>;
}

TileProduct find_float_product(const MatrixOperation &op)
{
   using enum ComponentType;
   if (op.a != op.b || op.saturating)
      return {};
   return with_float_shape(op, [&]<typename Shape>(Shape) -> TileProduct {
      switch (op.a) {
      case f16:
         return product<WidenedHalves<Shape::M, Shape::K>, Gathered<Shape::K, Shape::N, 2>>(
            find_muladd_f16<Shape>(op.c, op.result));
      case f32:
         return product(muladd<Shape, float, FloatVector>);
      case f64:
         return product(muladd<Shape, double, DoubleVector>);
      default:
         return {};
      }
   });
}

} // namespace
} // namespace weft::cpu
