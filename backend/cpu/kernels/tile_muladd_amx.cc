// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of bfloat16 and of 8-bit integers with AMX (Intel's Software Developer's Manual, volume 1,
/// chapter 18; volume 2, TDPBF16PS, TDPBSSD).
///
/// One instruction multiplies 16 rows of A by B and adds the products to 16 × 16 sums of 32 bits.  Up to 64 bytes of a row
/// of A lie along k; B has as many in rows of 64 bytes, groups of 4 bytes along k interleaved:
///
///              k →                     n →
///        ┌──────────────┐       ┌──────────────────────────────────────────────┐
///      r │ a[r][0 …]    │   q   │ b[4q … 4q+3][0]   b[4q … 4q+3][1]   …        │    bytes
///        └──────────────┘       │ b[2q], b[2q+1][0] b[2q], b[2q+1][1] …        │    bfloat16
///                               └──────────────────────────────────────────────┘
///
/// Integers: sums wrap, and are exact as long as C is added elsewhere.  bfloat16: products are added as by FMAs that round
/// to nearest, and C at the end; subnormal numbers are flushed as by VDPBF16PS (tile_muladd_avx512_bf16.cc).
///
/// A tile is not loaded from stores that are under way: it waits until B, packed, is in the cache, and that is behind the
/// results of the call before.  So a call takes some 110 cycles whatever it multiplies (Sapphire Rapids; 42 if B is packed
/// already), and only those operations are here that take longer otherwise.

#include "backend/cpu/kernels/tile_configuration.h"
#include "backend/cpu/kernels/tile_muladd.h"
#include "backend/cpu/kernels/tile_packing_avx512.h"

#include <immintrin.h>

namespace weft::cpu {
namespace {

/// The tile registers: one for sums, one each for A and B with so many bytes along k.
template <int Bytes>
struct Factors {
   static_assert(Bytes == 16 || Bytes == 32 || Bytes == 64);
   static constexpr int a = Bytes == 64 ? 1 : Bytes == 32 ? 3 : 5, b = a + 1;
};
constexpr int sums = 0;

/// LDTILECFG's operand.
struct alignas(64) Configuration {
   unsigned char palette, start_row, reserved[14];
   unsigned short row_bytes[16];
   unsigned char rows[16];
};
static_assert(sizeof(Configuration) == 64);
constexpr Configuration configuration = {
   1, 0, {}, {64, 64, 64, 32, 64, 16, 64}, {16, 16, 16, 16, 8, 16, 4}};

// Not the compilers' intrinsics, which do not say that they access memory.
template <int Tile>
void load_tile(const void *rows, long stride)
{
   __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(rows), "r"(stride), "i"(Tile) : "memory");
}
template <int Tile>
void store_tile(void *rows, long stride)
{
   __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(rows), "r"(stride), "i"(Tile)
                    : "memory");
}
void clear_sums()
{
   __asm__ volatile("tilezero %%tmm%c0" ::"i"(sums));
}
#define WEFT_ADD_PRODUCTS(INSTRUCTION, BYTES)                                                      \
   __asm__ volatile(INSTRUCTION " %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums),                       \
                    "i"(Factors<BYTES>::a), "i"(Factors<BYTES>::b))

/// Both factors of so many bytes along k, B packed.
template <int Bytes>
void load_factors(const void *a, const void *packed_b)
{
   load_tile<Factors<Bytes>::a>(a, Bytes);
   load_tile<Factors<Bytes>::b>(packed_b, 64);
}

/// Four rows of 16 bytes to columns of four.
__m512i interleave_four_rows(const void *b)
{
   const __m512i rows = _mm512_add_epi32(
      _mm512_set1_epi32(0x30201000),
      _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                         _mm512_set1_epi32(0x01010101)));
   return _mm512_permutexvar_epi8(rows, _mm512_loadu_si512(b));
}

template <Accumulation Mode>
__m512i add_saturating(__m512i a, __m512i b)
{
   const __m512i wrapped = _mm512_add_epi32(a, b);
   if constexpr (Mode == Accumulation::saturating_unsigned)
      return _mm512_mask_mov_epi32(wrapped, _mm512_cmplt_epu32_mask(wrapped, a),
                                   _mm512_set1_epi32(-1));
   // Overflow: the result's sign is neither's (a ternary logic of (a ^ r) & (b ^ r)).
   const __mmask16 overflow = _mm512_movepi32_mask(_mm512_ternarylogic_epi32(a, b, wrapped, 0x42));
   const __m512i limit = _mm512_xor_si512(_mm512_srai_epi32(a, 31), _mm512_set1_epi32(0x7fffffff));
   return _mm512_mask_mov_epi32(wrapped, overflow, limit);
}

template <typename Shape, typename Types>
void muladd_i8(void *d, const void *a, const void *b, const void *c)
{
   constexpr int K = Shape::K;
   alignas(64) char packed[K / 4][64];
#pragma GCC unroll 16
   for (int q = 0; q < K / 4; q++)
      _mm512_store_si512(packed[q], interleave_four_rows(static_cast<const char *>(b) + 64 * q));
   constexpr bool wraps = Types::mode == Accumulation::wrapping;
   if constexpr (wraps)
      load_tile<sums>(c, 64);
   else
      clear_sums();
   load_factors<K>(a, packed);
   if constexpr (Types::a_signed && Types::b_signed)
      WEFT_ADD_PRODUCTS("tdpbssd", K);
   else if constexpr (Types::a_signed)
      WEFT_ADD_PRODUCTS("tdpbsud", K);
   else if constexpr (Types::b_signed)
      WEFT_ADD_PRODUCTS("tdpbusd", K);
   else
      WEFT_ADD_PRODUCTS("tdpbuud", K);
   if constexpr (wraps) {
      store_tile<sums>(d, 64);
   } else {
      alignas(64) char products[16][64];
      store_tile<sums>(products, 64);
#pragma GCC unroll 4
      for (int r = 0; r < 16; r++) {
         const __m512i c_row = _mm512_loadu_si512(static_cast<const char *>(c) + 64 * r);
         _mm512_storeu_si512(static_cast<char *>(d) + 64 * r,
                             add_saturating<Types::mode>(_mm512_load_si512(products[r]), c_row));
      }
   }
}

/// Result: float, or the bits of bfloat16.
template <typename Shape, typename Result>
void muladd_bf16(void *d, const void *a, const void *b, const void *c)
{
   constexpr int K = Shape::K;
   alignas(64) char packed[K / 2][64];
#pragma GCC unroll 16
   for (int p = 0; p < K / 2; p++)
      _mm512_store_si512(packed[p],
                         interleave_two_rows_of_16(static_cast<const char *>(b) + 64 * p));
   constexpr bool is_float = __is_same(Result, float);
   if constexpr (is_float)
      load_tile<sums>(c, 64);
   else
      clear_sums();
   load_factors<2 * K>(a, packed);
   WEFT_ADD_PRODUCTS("tdpbf16ps", 2 * K);
   if constexpr (is_float) {
      store_tile<sums>(d, 64);
   } else {
      alignas(64) float products[16][16];
      store_tile<sums>(products, 64);
#pragma GCC unroll 4
      for (int r = 0; r < 16; r++) {
         const auto *c_row = static_cast<const char *>(c) + 32 * r;
         const __m512i c_bits =
            _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i_u *>(c_row)));
         const __m512 sum = _mm512_add_ps(_mm512_load_ps(products[r]),
                                          _mm512_castsi512_ps(_mm512_slli_epi32(c_bits, 16)));
         _mm256_storeu_si256(reinterpret_cast<__m256i_u *>(static_cast<char *>(d) + 32 * r),
                             (__m256i)_mm512_cvtneps_pbh(sum));
      }
   }
}

} // namespace

TileConfiguration::TileConfiguration(bool needed) : needed(needed)
{
   if (needed)
      __asm__ volatile("ldtilecfg %0" ::"m"(configuration));
}

TileConfiguration::~TileConfiguration()
{
   if (needed)
      __asm__ volatile("tilerelease");
}

TileMulAdd find_tile_muladd_amx(const MatrixOperation &op)
{
   using enum ComponentType;
   if (op.m != 16 || op.n != 16)
      return nullptr;
   if (op.a == bf16 && op.b == bf16 && op.c == op.result && op.k == 16)
      return op.c == f32 ? muladd_bf16<TileShape<16, 16, 16>, float>
                         : muladd_bf16<TileShape<16, 16, 16>, unsigned short>;
   // VNNI takes longer where it has to move A into the other's range.
   if (op.k != 32 || op.a != op.b)
      return nullptr;
   return with_integer_types(op, []<typename Types>(Types) -> TileMulAdd {
      if constexpr (Types::a_signed == Types::b_signed)
         return muladd_i8<TileShape<16, 16, 32>, Types>;
      return nullptr;
   });
}

} // namespace weft::cpu
