// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication with AVX2, FMA and F16C.
///
/// Bytes become 16-bit integers. VPMADDWD multiplies pairs along k and adds the two products,
/// always exactly. (VPMADDUBSW on the bytes themselves would saturate at 16 bits.)
///
///     A: one pair broadcast            B: pairs of rows interleaved, 8 columns per vector
///        a[r][2p], a[r][2p+1]             b[2p][n], b[2p+1][n], b[2p][n+1], b[2p+1][n+1], …

#include "backend/cpu/kernels/x86/instruction_sets.h"
#include "backend/cpu/kernels/x86/registers.h"
#include "backend/cpu/kernels/x86/tile_muladd_float.h"
#include "backend/cpu/kernels/x86/tile_muladd_widened.h"

namespace weft::cpu {
namespace {

template <bool Signed>
__m256i widen_bytes(__m128i bytes)
{
   return Signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

/// 8 or 16 bytes, followed by zeros.
template <int Count>
__m128i load_bytes(const char *p)
{
   const auto *from = reinterpret_cast<const __m128i_u *>(p);
   return Count == 8 ? _mm_loadl_epi64(from) : _mm_loadu_si128(from);
}

/// Bytes as 16-bit integers.
template <int Rows, int Cols, bool Signed>
struct WidenedBytes : Factor<Rows, Cols, 1> {
   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      constexpr int step = smaller(Cols, 16);
      for (int row = 0; row < Rows; row++) {
         for (int col = 0; col < Cols; col += step) {
            const __m256i wide = widen_bytes<Signed>(load_bytes<step>(rows + row * stride + col));
            __builtin_memcpy(packed + 2 * (row * Cols + col), &wide, 2 * step);
         }
      }
   }
};

/// Pairs of rows interleaved, as 16-bit integers.
template <int Rows, int Cols, bool Signed>
struct WidenedPairs : Factor<Rows, Cols, 1> {
   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      auto *to = reinterpret_cast<__m256i *>(packed);
      for (int row = 0; row < Rows; row += 2) {
         const __m128i even = load_bytes<Cols>(rows + row * stride);
         const __m128i odd = load_bytes<Cols>(rows + (row + 1) * stride);
         _mm256_storeu_si256(to++, widen_bytes<Signed>(_mm_unpacklo_epi8(even, odd)));
         if constexpr (Cols == 16)
            _mm256_storeu_si256(to++, widen_bytes<Signed>(_mm_unpackhi_epi8(even, odd)));
      }
   }
};

template <int Lanes>
struct PairDot {
   using Vector = typename Words<Lanes>::Vector;
   static constexpr int depth = 2, a_bytes = 4, b_bytes = 4;
   static constexpr bool converts = false, has_corrections = false;

   static Vector broadcast(const char *a)
   {
      int pair;
      __builtin_memcpy(&pair, a, sizeof(pair));
      return pair - Vector{};
   }
   static Vector load(const char *b) { return Words<Lanes>::load(b); }
   static Vector add(Vector sums, Vector a, Vector b)
   {
      sums = add_wrapping<Lanes>(sums, (Vector)_mm256_madd_epi16((__m256i)a, (__m256i)b));
      // g++ 12 would add products to each other first, and spill sums.
      asm("" : "+x"(sums));
      return sums;
   }
};

} // namespace

TileProduct find_tile_product_avx2(const MatrixOperation &op)
{
   if (const TileProduct found = find_float_product<Avx2Registers>(op))
      return found;
   const TileProduct found = with_integer_types(op, [&]<typename Types>(Types) {
      return with_integer_shape(op, []<typename Shape>(Shape) {
         return product<WidenedBytes<Shape::M, Shape::K, Types::a_signed>,
                        WidenedPairs<Shape::K, Shape::N, Types::b_signed>>(
            muladd_words<Avx2Registers, Shape, PairDot, Types::mode>());
      });
   });
   return found ? found : find_widened_product<Avx2Registers>(op);
}

} // namespace weft::cpu
