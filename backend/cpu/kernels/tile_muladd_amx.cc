// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of bfloat16 and of 8-bit integers with AMX (Intel's Software Developer's Manual, volume 1,
/// chapter 18; volume 2, TDPBF16PS, TDPBSSD).
///
/// One instruction multiplies 16 rows of A by B and adds the products to 16 × 16 sums of 32 bits.  Of A, 32 bytes lie along
/// k; B has as many in 8 rows of 64 bytes, groups of 4 bytes along k interleaved:
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
/// One sum at a time, in three of the eight tile registers: with 2 × 2 sums in eight, factors are loaded half as often, but
/// where the other half of a core is busy too, all of it takes half as long again.  Presumably registers are few then that
/// others can be renamed to.
///
/// VNNI needs no more time for 16 bytes along k, hence only the operations of 32 are here.

#include "backend/cpu/kernels/tile_configuration.h"
#include "backend/cpu/kernels/tile_packing.h"

#include <immintrin.h>

namespace weft::cpu {
namespace {

/// The tile registers: 16 x 16 sums, and of A and B 32 bytes along k.
constexpr int sums = 0, a_rows = 1, b_groups = 2;

/// LDTILECFG's operand.
struct alignas(64) Configuration {
   unsigned char palette, start_row, reserved[14];
   unsigned short row_bytes[16];
   unsigned char rows[16];
};
static_assert(sizeof(Configuration) == 64);
constexpr Configuration configuration = {1, 0, {}, {64, 32, 64}, {16, 16, 8}};

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

/// An instruction.
#define WEFT_PRODUCTS(NAME, INSTRUCTION)                                                           \
   struct NAME {                                                                                   \
      static void add()                                                                            \
      {                                                                                            \
         __asm__ volatile(INSTRUCTION " %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a_rows),    \
                          "i"(b_groups));                                                          \
      }                                                                                            \
   };
WEFT_PRODUCTS(SignedBytes, "tdpbssd")
WEFT_PRODUCTS(SignedByUnsignedBytes, "tdpbsud")
WEFT_PRODUCTS(UnsignedBySignedBytes, "tdpbusd")
WEFT_PRODUCTS(UnsignedBytes, "tdpbuud")
WEFT_PRODUCTS(PairsOfBFloat16, "tdpbf16ps")
#undef WEFT_PRODUCTS

template <typename Products>
void add_products(const char *a, const char *b, const TileBlock &block)
{
   for (uint32_t k = 0; k < block.depth; k++, a += block.a_step, b += block.b_step) {
      load_tile<a_rows>(a, 32);
      load_tile<b_groups>(b, 64);
      Products::add();
   }
}

/// TileMulAdd of sums of 32 bits, which begin with C.
template <typename Products>
void muladd(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   for_each_sum<1>(d, a, b, c, *block,
                   [&](auto, char *d, const char *a, const char *b, const char *c) {
                      load_tile<sums>(c, 64);
                      add_products<Products>(a, b, *block);
                      store_tile<sums>(d, 64);
                   });
}

/// A product's sums as they are in memory, C not yet added.
template <typename Products>
void multiply(void *sums_of_products, const void *a, const void *b)
{
   clear_sums();
   const TileBlock one;
   add_products<Products>(static_cast<const char *>(a), static_cast<const char *>(b), one);
   store_tile<sums>(sums_of_products, 64);
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

template <typename Products, Accumulation Mode>
void muladd_saturating(void *d, const void *a, const void *b, const void *c)
{
   alignas(64) char products[16][64];
   multiply<Products>(products, a, b);
#pragma GCC unroll 4
   for (int r = 0; r < 16; r++) {
      const __m512i c_row = _mm512_loadu_si512(static_cast<const char *>(c) + 64 * r);
      _mm512_storeu_si512(static_cast<char *>(d) + 64 * r,
                          add_saturating<Mode>(_mm512_load_si512(products[r]), c_row));
   }
}

/// 16 x 16 x 32.
template <typename Products, Accumulation Mode>
TileMulAdd integer_kernel()
{
   if constexpr (Mode == Accumulation::wrapping)
      return muladd<Products>;
   else
      return add_one_by_one<muladd_saturating<Products, Mode>>;
}

template <typename Types>
TileMulAdd integer_kernel()
{
   if constexpr (Types::a_signed && Types::b_signed)
      return integer_kernel<SignedBytes, Types::mode>();
   else if constexpr (Types::a_signed)
      return integer_kernel<SignedByUnsignedBytes, Types::mode>();
   else if constexpr (Types::b_signed)
      return integer_kernel<UnsignedBySignedBytes, Types::mode>();
   else
      return integer_kernel<UnsignedBytes, Types::mode>();
}

/// 16 x 16 x 16, rounded once.
void muladd_bf16_to_bf16(void *d, const void *a, const void *b, const void *c)
{
   alignas(64) float products[16][16];
   multiply<PairsOfBFloat16>(products, a, b);
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

} // namespace

TileConfiguration::TileConfiguration(bool needed) : configured(needed)
{
   if (configured)
      __asm__ volatile("ldtilecfg %0" ::"m"(configuration));
}

TileConfiguration::~TileConfiguration()
{
   if (configured)
      __asm__ volatile("tilerelease");
}

TileProduct find_tile_product_amx(const MatrixOperation &op)
{
   using enum ComponentType;
   const auto is = [&](unsigned m, unsigned n, unsigned k) {
      return op.m == m && op.n == n && op.k == k;
   };
   if (op.a == bf16 && op.b == bf16 && op.c == op.result && is(16, 16, 16))
      return product<Gathered<16, 16, 2>, Interleaved<16, 16, 2>>(
         op.c == f32 ? muladd<PairsOfBFloat16> : add_one_by_one<muladd_bf16_to_bf16>);
   if (!is(16, 16, 32))
      return {};
   return with_integer_types(op, []<typename Types>(Types) {
      return product<Gathered<16, 32, 1>, Interleaved<32, 16, 1>>(integer_kernel<Types>());
   });
}

} // namespace weft::cpu
