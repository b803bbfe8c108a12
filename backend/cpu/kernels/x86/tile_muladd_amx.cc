// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of bfloat16, halves and 8-bit integers with AMX (Intel's Software
/// Developer's Manual, volume 1, chapter 18; volume 2, TDPBF16PS, TDPBSSD).
///
/// One instruction multiplies 16 rows of A by B and adds the products to 16 × 16 sums of 32 bits. A
/// has 32 or 64 bytes along k. B has as many in 8 or 16 rows of 64 bytes; groups of 4 bytes along k
/// are interleaved:
///
///              k →                     n →
///        ┌──────────────┐       ┌──────────────────────────────────────────────┐
///      r │ a[r][0 …]    │   q   │ b[4q … 4q+3][0]   b[4q … 4q+3][1]   …        │    bytes
///        └──────────────┘       │ b[2q], b[2q+1][0] b[2q], b[2q+1][1] …        │    bfloat16
///                               └──────────────────────────────────────────────┘
///
/// Integers: sums wrap, and are exact if C is added elsewhere. bfloat16: products are added as by
/// FMAs that round to nearest, and C at the end. Subnormal numbers are flushed as by VDPBF16PS
/// (tile_muladd_avx512_bf16.cc).
///
/// A half has 11 significant bits. The first 8 bits and the others make two numbers of bfloat16 of
/// one sign, high + low. Four products of these, each exact in f32, make the product of two halves.
/// Two instructions with 64 bytes along k compute them:
///
///        ┌─────┬──────┐   ┌──────┐     ┌─────┬──────┐   ┌──────┐
///        │ low │ high │ × │ low  │  +  │ low │ high │ × │ high │      packed B: low, high, low
///        └─────┴──────┘   │ high │     └─────┴──────┘   │ low  │
///                         └──────┘                      └──────┘
///
/// Products of low come first; each is at most 2^-7 of its half's product. So the products of high
/// are rounded with at most 8 sums of their own and 4 that join these. A sum of 16 products one by
/// one has 17. Sums start at zero and AVX-512 adds C. So no instruction that flushes subnormal
/// numbers meets one: products of halves are multiples of 2^-48. Sums that are exact in any order
/// are exact here too, since parts are no larger than the whole. An infinity has no second part: a
/// packed tile with an infinity or NaN is marked, and multiplied by FMAs.
///
/// An instruction takes 16 cycles at any depth, so opt_product_depth joins products. One sum at a
/// time uses three of the eight tile registers: an instruction may follow another one on the same
/// sum after 16 cycles, in which two loads fit. 2 × 2 sums load five tiles for four instructions,
/// and one by one eight. They are not faster beyond noise, neither as kernels nor in products of
/// 2048³ on 16 cores of a shared server.
///
/// VNNI needs no more time for 16 bytes along k, so only the operations of 32 and 64 are here.

#include "backend/cpu/kernels/tile_blocks.h"
#include "backend/cpu/kernels/tile_configuration.h"
#include "backend/cpu/kernels/x86/half_rows.h"
#include "backend/cpu/kernels/x86/instruction_sets.h"
#include "backend/cpu/kernels/x86/tile_packing.h"

namespace weft::cpu {
namespace {

/// The tile registers: 16 x 16 sums, and 32 or 64 bytes of A and B along k.
constexpr int sums = 0, a_rows = 1, b_groups = 2, a_long_rows = 3, b_long_groups = 4;

/// LDTILECFG's operand.
struct alignas(64) Configuration {
   unsigned char palette, start_row, reserved[14];
   unsigned short row_bytes[16];
   unsigned char rows[16];
};
static_assert(sizeof(Configuration) == 64);
constexpr Configuration configuration = {1, 0, {}, {64, 32, 64, 64, 64}, {16, 16, 8, 16, 16}};

// The compilers' intrinsics do not say that they access memory.
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

/// A type for each instruction.
#define WEFT_PRODUCTS(NAME, INSTRUCTION)                                                           \
   struct NAME {                                                                                   \
      template <int A = a_rows, int B = b_groups>                                                  \
      static void add()                                                                            \
      {                                                                                            \
         __asm__ volatile(INSTRUCTION " %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(A),         \
                          "i"(B));                                                                 \
      }                                                                                            \
   };
WEFT_PRODUCTS(SignedBytes, "tdpbssd")
WEFT_PRODUCTS(SignedByUnsignedBytes, "tdpbsud")
WEFT_PRODUCTS(UnsignedBySignedBytes, "tdpbusd")
WEFT_PRODUCTS(UnsignedBytes, "tdpbuud")
WEFT_PRODUCTS(PairsOfBFloat16, "tdpbf16ps")
#undef WEFT_PRODUCTS

/// 32 bytes along k.
template <typename Products>
struct ShortSteps {
   static void add(const char *a, const char *b, const TileBlock &block)
   {
      for (uint32_t k = 0; k < block.depth; k++, a += block.a_step, b += block.b_step) {
         load_tile<a_rows>(a, 32);
         load_tile<b_groups>(b, 64);
         Products::add();
      }
   }
};

/// 64 bytes along k.
template <typename Products>
struct LongSteps {
   static void add(const char *a, const char *b, const TileBlock &block)
   {
      for (uint32_t k = 0; k < block.depth; k++, a += block.a_step, b += block.b_step) {
         load_tile<a_long_rows>(a, 64);
         load_tile<b_long_groups>(b, 64);
         Products::template add<a_long_rows, b_long_groups>();
      }
   }
};

/// TileMulAdd of sums of 32 bits that begin with C.
template <typename Steps>
void muladd(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   for_each_sum<1>(d, a, b, c, *block,
                   [&](auto, char *d, const char *a, const char *b, const char *c) {
                      load_tile<sums>(c, 64);
                      Steps::add(a, b, *block);
                      store_tile<sums>(d, 64);
                   });
}

/// The products of a sum without C.
template <typename Steps>
void multiply(void *sums_of_products, const char *a, const char *b, const TileBlock &block)
{
   clear_sums();
   Steps::add(a, b, block);
   store_tile<sums>(sums_of_products, 64);
}

template <typename Steps, Accumulation Mode>
void muladd_saturating(void *d, const void *a, const void *b, const void *c)
{
   alignas(64) char products[16][64];
   multiply<Steps>(products, static_cast<const char *>(a), static_cast<const char *>(b),
                   TileBlock());
#pragma GCC unroll 4
   for (int r = 0; r < 16; r++)
      Words<16>::store(static_cast<char *>(d) + 64 * r,
                       add_words<Mode, 16>(Words<16>::load(products[r]),
                                           Words<16>::load(static_cast<const char *>(c) + 64 * r)));
}

template <typename Steps, Accumulation Mode>
TileMulAdd integer_kernel()
{
   if constexpr (Mode == Accumulation::wrapping)
      return muladd<Steps>;
   else
      return add_one_by_one<muladd_saturating<Steps, Mode>>;
}

template <template <typename> typename Steps, typename Types>
TileMulAdd integer_kernel()
{
   if constexpr (Types::a_signed && Types::b_signed)
      return integer_kernel<Steps<SignedBytes>, Types::mode>();
   else if constexpr (Types::a_signed)
      return integer_kernel<Steps<SignedByUnsignedBytes>, Types::mode>();
   else if constexpr (Types::b_signed)
      return integer_kernel<Steps<UnsignedBySignedBytes>, Types::mode>();
   else
      return integer_kernel<Steps<UnsignedBytes>, Types::mode>();
}

template <template <typename> typename Steps, int K>
TileProduct integer_product(const MatrixOperation &op)
{
   return with_integer_types(op, []<typename Types>(Types) {
      return product<Gathered<16, K, 1>, Interleaved<K, 16, 1>>(integer_kernel<Steps, Types>());
   });
}

/// TileMulAdd of 16 x 16 sums to which C is added at the end.
template <auto Multiply, template <int> typename RowsOfC, template <int> typename RowsOfD>
void add_to_products(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   for_each_sum<1>(
      d, a, b, c, *block, [&](auto, char *d, const char *a, const char *b, const char *c) {
         alignas(64) float products[16][16];
         Multiply(products, a, b, *block);
#pragma GCC unroll 4
         for (int r = 0; r < 16; r++)
            RowsOfD<16>::store(d + 16 * RowsOfD<16>::bytes * r,
                               _mm512_add_ps(_mm512_load_ps(products[r]),
                                             RowsOfC<16>::load(c + 16 * RowsOfC<16>::bytes * r)));
      });
}

/// C and the result are f32 or Narrow.
template <auto Multiply, template <int> typename Narrow>
TileMulAdd find_add_to_products(const MatrixOperation &op)
{
   constexpr ComponentType f32 = ComponentType::f32;
   if (op.c == f32)
      return op.result == f32 ? add_to_products<Multiply, Floats, Floats>
                              : add_to_products<Multiply, Floats, Narrow>;
   return op.result == f32 ? add_to_products<Multiply, Narrow, Floats>
                           : add_to_products<Multiply, Narrow, Narrow>;
}

template <template <typename> typename Steps, int K>
TileProduct bfloat16_product(const MatrixOperation &op)
{
   using Pairs = Steps<PairsOfBFloat16>;
   constexpr ComponentType f32 = ComponentType::f32;
   return product<Gathered<16, K, 2>, Interleaved<K, 16, 2>>(
      op.c == f32 && op.result == f32 ? muladd<Pairs>
                                      : find_add_to_products<multiply<Pairs>, BFloats>(op));
}

/// The parts of 16 halves, each in the upper bits of 32.
struct Parts {
   __m512i low, high;
   bool special; ///< one is an infinity or NaN

   explicit Parts(const void *halves)
   {
      const __m512 x = _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i_u *>(halves)));
      constexpr int nan_or_infinity = 0x99;
      const __mmask16 finite = _knot_mask16(_mm512_fpclass_ps_mask(x, nan_or_infinity));
      high = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(int(0xffff0000)));
      low = _mm512_castps_si512(_mm512_maskz_sub_ps(finite, x, _mm512_castsi512_ps(high)));
      special = finite != 0xffff;
   }
};

/// 16 rows of low and high; the mark.
struct SplitRows : Factor<16, 16, 2> {
   static constexpr int row_bytes = 64, mark = 16 * row_bytes;

   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      int special = 0;
      for (int r = 0; r < 16; r++) {
         const Parts row(rows + r * stride);
         auto *to = reinterpret_cast<__m256i_u *>(packed + r * row_bytes);
         _mm256_storeu_si256(to, _mm512_cvtepi32_epi16(_mm512_srli_epi32(row.low, 16)));
         _mm256_storeu_si256(to + 1, _mm512_cvtepi32_epi16(_mm512_srli_epi32(row.high, 16)));
         special |= row.special;
      }
      __builtin_memcpy(packed + mark, &special, sizeof(special));
   }
};

/// Groups of two rows: 8 of low, 8 of high, 8 of low.
struct SplitGroups : Factor<16, 16, 2> {
   static constexpr int part_bytes = 8 * 64, mark = 3 * part_bytes;

   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      int special = 0;
      for (int q = 0; q < 8; q++) {
         const Parts even(rows + 2 * q * stride), odd(rows + (2 * q + 1) * stride);
         char *to = packed + 64 * q;
         const __m512i low = pairs(even.low, odd.low);
         _mm512_storeu_si512(to, low);
         _mm512_storeu_si512(to + part_bytes, pairs(even.high, odd.high));
         _mm512_storeu_si512(to + 2 * part_bytes, low);
         special |= even.special | odd.special;
      }
      __builtin_memcpy(packed + mark, &special, sizeof(special));
   }

private:
   static __m512i pairs(__m512i even, __m512i odd)
   {
      return _mm512_or_si512(_mm512_srli_epi32(even, 16), odd);
   }
};

bool is_marked(const char *packed, int mark)
{
   int special;
   __builtin_memcpy(&special, packed + mark, sizeof(special));
   return special;
}

/// Adds a product of halves that may be infinite or NaN to 16 × 16 sums in memory.
[[gnu::noinline]] void add_specials(float (*sums)[16], const char *a, const char *b)
{
   const auto upper = [](__m512i bits) {
      return _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32(int(0xffff0000))));
   };
   const auto lower = [](__m512i bits) { return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16)); };
   for (int r = 0; r < 16; r++) {
      __m512 sum = _mm512_load_ps(sums[r]);
      for (int k = 0; k < 16; k++) {
         const __m512i low = _mm512_loadu_si512(b + k / 2 * 64),
                       high = _mm512_loadu_si512(b + SplitGroups::part_bytes + k / 2 * 64);
         const __m512 b_row =
            k % 2 ? _mm512_add_ps(upper(low), upper(high)) : _mm512_add_ps(lower(low), lower(high));
         unsigned short a_low, a_high;
         __builtin_memcpy(&a_low, a + r * SplitRows::row_bytes + 2 * k, 2);
         __builtin_memcpy(&a_high, a + r * SplitRows::row_bytes + 32 + 2 * k, 2);
         const __m512 a_component =
            _mm512_add_ps(lower(_mm512_set1_epi32(a_low)), lower(_mm512_set1_epi32(a_high)));
         sum = _mm512_fmadd_ps(a_component, b_row, sum);
      }
      _mm512_store_ps(sums[r], sum);
   }
}

/// The products of a sum of halves without C.
void multiply_f16(void *sums_of_products, const char *a, const char *b, const TileBlock &block)
{
   auto *products = static_cast<float(*)[16]>(sums_of_products);
   bool special = false;
   clear_sums();
   for (uint32_t k = 0; k < block.depth; k++) {
      const char *a_tile = a + k * block.a_step, *b_tile = b + k * block.b_step;
      special |= is_marked(a_tile, SplitRows::mark) || is_marked(b_tile, SplitGroups::mark);
      load_tile<a_long_rows>(a_tile, SplitRows::row_bytes);
      load_tile<b_long_groups>(b_tile, 64);
      PairsOfBFloat16::add<a_long_rows, b_long_groups>();
      load_tile<b_long_groups>(b_tile + SplitGroups::part_bytes, 64);
      PairsOfBFloat16::add<a_long_rows, b_long_groups>();
   }
   if (!special)
      return store_tile<sums>(products, 64);
   __builtin_memset(products, 0, 16 * 64);
   for (uint32_t k = 0; k < block.depth; k++)
      add_specials(products, a + k * block.a_step, b + k * block.b_step);
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
   if (op.a == bf16 && op.b == bf16 && is(16, 16, 16))
      return bfloat16_product<ShortSteps, 16>(op);
   if (op.a == bf16 && op.b == bf16 && is(16, 16, 32))
      return bfloat16_product<LongSteps, 32>(op);
   if (op.a == f16 && op.b == f16 && is(16, 16, 16))
      return product<SplitRows, SplitGroups>(find_add_to_products<multiply_f16, Halves>(op));
   if (is(16, 16, 64))
      return integer_product<LongSteps, 64>(op);
   return is(16, 16, 32) ? integer_product<ShortSteps, 32>(op) : TileProduct();
}

} // namespace weft::cpu
