// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The loop nest of all multiplications that keep their sums in vector registers, for inclusion by
/// the files of the instruction sets.
///
/// Sums form blocks of R rows × V vectors in each of `Tiles` tiles side by side. A step multiplies
/// Dot::depth components along k: V vectors of B meet R values of A, each broadcast from memory.
///
///          k          n →
///        ┌───┐   ┌────┬────┐
///      r │ a │ × │ b0 │ b1 │   sums[r][v] = Dot::add(sums[r][v], a[r], b[v])
///        └───┘   └────┴────┘
///
/// A Dot<Lanes> is an instruction set's multiplication with `Lanes` sums in a register:
///
///     Vector                  sums
///     depth                   components along k of one step
///     a_bytes                 bytes of these components in packed A, whose rows are dense
///     b_bytes                 the same in packed B: [k / depth][n]
///     broadcast(from)         the components of A, for all lanes
///     load(from)              the components of B
///     add(sums, a, b)
///     converts                load() is more than a load: B is not loaded for few rows
///     has_corrections         words behind packed B, which each sum of a column includes
///
/// Registers has the width of a register, vector_bytes, and `accumulators`: the sums in registers.

#pragma once

#include "backend/cpu/kernels/tile_blocks.h"
#include "backend/cpu/kernels/tile_rows.h"

namespace weft::cpu {
namespace {

/// The block of sums in registers.
template <typename Registers, typename Shape, template <int> typename Dot, int Tiles>
struct SumBlock {
   static constexpr int component_bytes = sizeof(typename Dot<8>::Vector) / 8;
   static constexpr int L = smaller(Shape::N, Registers::vector_bytes / component_bytes);
   static constexpr int V = Shape::N / L;
   static constexpr int R = smaller(Shape::M, Registers::accumulators / (V * Tiles));
   static_assert(Shape::M % R == 0);
};

/// Sums that begin with C, and are stored as they are.
template <template <int> typename RowsOfC, template <int> typename RowsOfD>
struct AddedFirst {
   template <int L>
   struct Rows {
      static constexpr int c_bytes = RowsOfC<L>::bytes, d_bytes = RowsOfD<L>::bytes;
      static auto begin(const char *c) { return RowsOfC<L>::load(c); }
      static void end(char *d, const char *, typename RowsOfD<L>::Vector sum)
      {
         RowsOfD<L>::store(d, sum);
      }
   };
};

/// Sums of words to which C is added at the end.
template <Accumulation Mode>
struct AddedLast {
   template <int L>
   struct Rows {
      static constexpr int c_bytes = 4, d_bytes = 4;
      static auto begin(const char *) { return typename Words<L>::Vector{}; }
      static void end(char *d, const char *c, typename Words<L>::Vector sum)
      {
         Words<L>::store(d, add_words<Mode, L>(sum, Words<L>::load(c)));
      }
   };
};

/// Sums of a tile, or of `Tiles` tiles side by side.
template <typename Registers, typename Shape, template <int> typename Dots, typename Sums,
          int Tiles>
[[gnu::always_inline]] inline void multiply(char *d, const char *a, const char *b, const char *c,
                                            const TileBlock &block)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K;
   using Block = SumBlock<Registers, Shape, Dots, Tiles>;
   constexpr int L = Block::L, V = Block::V, R = Block::R;
   using Dot = Dots<L>;
   using Rows = typename Sums::template Rows<L>;
   using Vector = typename Dot::Vector;
   constexpr int steps = K / Dot::depth, a_row = steps * Dot::a_bytes, b_row = N * Dot::b_bytes;

   [[maybe_unused]] Vector corrections[Tiles][V];
   if constexpr (Dot::has_corrections) {
#pragma GCC unroll 2
      for (int tile = 0; tile < Tiles; tile++)
#pragma GCC unroll 4
         for (int v = 0; v < V; v++) {
            corrections[tile][v] = Vector{};
            const char *behind_b = b + tile * block.b_col + steps * b_row + v * L * 4;
            for (uint32_t i = 0; i < block.depth; i++)
               corrections[tile][v] = add_wrapping<L>(corrections[tile][v],
                                                      Words<L>::load(behind_b + i * block.b_step));
         }
   }
   // Indices that are not constant would keep g++ from folding them into the addresses'
   // displacements.
   for (int row = 0; row < M;
        row += R, a += R * a_row, c += R * N * Rows::c_bytes, d += R * N * Rows::d_bytes) {
      const auto place = [&](int tile, int r, int v, int component_bytes) {
         return tile * block.d_col + (r * N + v * L) * component_bytes;
      };
      Vector sums[Tiles][R][V];
#pragma GCC unroll 2
      for (int tile = 0; tile < Tiles; tile++)
#pragma GCC unroll 16
         for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int v = 0; v < V; v++) {
               sums[tile][r][v] = Rows::begin(c + place(tile, r, v, Rows::c_bytes));
               if constexpr (Dot::has_corrections)
                  sums[tile][r][v] = add_wrapping<L>(corrections[tile][v], sums[tile][r][v]);
            }

      const char *a_bytes = a, *b_bytes = b;
      for (uint32_t i = 0; i < block.depth; i++, a_bytes += block.a_step, b_bytes += block.b_step) {
#pragma GCC unroll 16
         for (int k = 0; k < steps; k++) {
            decltype(Dot::load(b)) columns[Tiles][V];
#pragma GCC unroll 2
            for (int tile = 0; tile < Tiles; tile++)
#pragma GCC unroll 4
               for (int v = 0; v < V; v++)
                  columns[tile][v] =
                     Dot::load(b_bytes + tile * block.b_col + k * b_row + v * L * Dot::b_bytes);
#pragma GCC unroll 16
            for (int r = 0; r < R; r++) {
               const auto components = Dot::broadcast(a_bytes + r * a_row + k * Dot::a_bytes);
#pragma GCC unroll 2
               for (int tile = 0; tile < Tiles; tile++)
#pragma GCC unroll 4
                  for (int v = 0; v < V; v++)
                     sums[tile][r][v] = Dot::add(sums[tile][r][v], components, columns[tile][v]);
            }
         }
      }

#pragma GCC unroll 2
      for (int tile = 0; tile < Tiles; tile++)
#pragma GCC unroll 16
         for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int v = 0; v < V; v++)
               Rows::end(d + place(tile, r, v, Rows::d_bytes), c + place(tile, r, v, Rows::c_bytes),
                         sums[tile][r][v]);
   }
}

/// TileMulAdd.
template <typename Registers, typename Shape, template <int> typename Dot, typename Sums>
void muladd(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   // Two tiles share each broadcast of A where registers are plenty, a row of B is one vector and
   // B is not converted for each block of rows.
   constexpr int at = Registers::accumulators >= 16 && !Dot<8>::converts &&
                            SumBlock<Registers, Shape, Dot, 1>::V == 1
                         ? 2
                         : 1;
   for_each_sum<at>(d, a, b, c, *block,
                    [&](auto columns, char *d, const char *a, const char *b, const char *c) {
                       multiply<Registers, Shape, Dot, Sums, columns.count>(d, a, b, c, *block);
                    });
}

/// TileMulAdd of products of bytes.
template <typename Registers, typename Shape, template <int> typename Dot, Accumulation Mode>
constexpr TileMulAdd muladd_words()
{
   if constexpr (Mode == Accumulation::wrapping)
      return muladd<Registers, Shape, Dot, AddedFirst<Words, Words>>;
   else
      return sums_of_integers<Mode, muladd<Registers, Shape, Dot, AddedLast<Mode>>>();
}

} // namespace
} // namespace weft::cpu
