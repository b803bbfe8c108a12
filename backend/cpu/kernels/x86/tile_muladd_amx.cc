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
/// An instruction takes 16 cycles at any depth, so opt_product_depth joins products. It may follow
/// another one on the same sum after 16 cycles, in which two loads from the first-level cache fit.
/// Two sums, one below the other, share the loads of B, which often come from the second-level
/// cache. For 2 × 8 sums of 4 products with B there, an instruction takes 7.3 ns instead of 9.7,
/// and 2 × 2 sums are not faster.
///
/// VNNI needs no more time for 16 bytes along k, so only the operations of 32 and 64 are here.

#include "backend/cpu/kernels/tile_blocks.h"
#include "backend/cpu/kernels/tile_configuration.h"
#include "backend/cpu/kernels/x86/half_rows.h"
#include "backend/cpu/kernels/x86/instruction_sets.h"
#include "backend/cpu/kernels/x86/tile_packing.h"

#include <type_traits>

namespace weft::cpu {
namespace {

/// The tile registers: two times 16 x 16 sums, and 32 or 64 bytes of A and B along k.
constexpr int sums = 0, a_rows = 2, b_groups = 3, a_long_rows = 4, b_long_groups = 6;

/// LDTILECFG's operand.
struct alignas(64) Configuration {
   unsigned char palette, start_row, reserved[14];
   unsigned short row_bytes[16];
   unsigned char rows[16];
};
static_assert(sizeof(Configuration) == 64);
constexpr Configuration configuration = {
   1, 0, {}, {64, 64, 32, 64, 64, 64, 64}, {16, 16, 16, 8, 16, 16, 16}};

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
template <int Tile>
void clear_tile()
{
   __asm__ volatile("tilezero %%tmm%c0" ::"i"(Tile));
}

/// Calls use(constant) with each row of sums, from 0 on.
template <int Rows, typename Use>
[[gnu::always_inline]] inline void for_each_row(Use use)
{
   use(std::integral_constant<int, 0>());
   if constexpr (Rows == 2)
      use(std::integral_constant<int, 1>());
}

/// A type for each instruction.
#define WEFT_PRODUCTS(NAME, INSTRUCTION)                                                           \
   struct NAME {                                                                                   \
      template <int Sums, int A, int B>                                                            \
      static void add()                                                                            \
      {                                                                                            \
         __asm__ volatile(INSTRUCTION " %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(A),         \
                          "i"(B));                                                                 \
      }                                                                                            \
   };
WEFT_PRODUCTS(SignedBytes, "tdpbssd")
WEFT_PRODUCTS(SignedByUnsignedBytes, "tdpbsud")
WEFT_PRODUCTS(UnsignedBySignedBytes, "tdpbusd")
WEFT_PRODUCTS(UnsignedBytes, "tdpbuud")
WEFT_PRODUCTS(PairsOfBFloat16, "tdpbf16ps")
#undef WEFT_PRODUCTS

/// Bytes along k of A and B, and their registers.
template <typename Products, int Bytes, int A, int B>
struct StepsOf {
   /// Adds the products of one or two rows of A to their sums, and calls meanwhile() in each step.
   template <int Rows, typename Meanwhile>
   [[gnu::always_inline]] static void add(const char *a, const char *b, const TileBlock &block,
                                          const Meanwhile &meanwhile)
   {
      for (uint32_t k = 0; k < block.depth; k++, a += block.a_step, b += block.b_step) {
         load_tile<B>(b, 64);
         for_each_row<Rows>([&](auto row) {
            load_tile<A>(a + row * block.a_row, Bytes);
            Products::template add<sums + row, A, B>();
         });
         meanwhile();
      }
   }
};
template <typename Products>
using ShortSteps = StepsOf<Products, 32, a_rows, b_groups>;
template <typename Products>
using LongSteps = StepsOf<Products, 64, a_long_rows, b_long_groups>;

/// TileMulAdd of sums of 32 bits that begin with C.
template <typename Steps>
void muladd(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   for_each_two_rows(
      d, a, b, c, *block,
      [&]<int Rows>(RowsOfSums<Rows>, char *d, const char *a, const char *b, const char *c) {
         for_each_row<Rows>([&](auto row) { load_tile<sums + row>(c + row * block->d_row, 64); });
         Steps::template add<Rows>(a, b, *block, [] {});
         for_each_row<Rows>([&](auto row) { store_tile<sums + row>(d + row * block->d_row, 64); });
      });
}

/// 16 × 16 sums in memory.
using Products = float[16][16];

/// The products of one or two rows of sums, without C. Calls meanwhile() in each step.
template <typename Steps>
struct Multiply {
   template <int Rows, typename Meanwhile>
   [[gnu::always_inline]] static void multiply(Products *products, const char *a, const char *b,
                                               const TileBlock &block, const Meanwhile &meanwhile)
   {
      for_each_row<Rows>([](auto row) { clear_tile<sums + row>(); });
      Steps::template add<Rows>(a, b, block, meanwhile);
      for_each_row<Rows>([&](auto row) { store_tile<sums + row>(products[row], 64); });
   }
};

template <typename Steps, Accumulation Mode>
void muladd_saturating(void *d, const void *a, const void *b, const void *c)
{
   alignas(64) Products products;
   Multiply<Steps>::template multiply<1>(&products, static_cast<const char *>(a),
                                         static_cast<const char *>(b), TileBlock(), [] {});
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

/// Products to which C is to be added.
template <template <int> typename RowsOfC, template <int> typename RowsOfD>
struct WithoutC {
   const Products *products;
   char *d;
   const char *c;
   uint64_t d_row;
   int left; ///< lines

   /// Adds C to some lines.
   [[gnu::always_inline]] void add_some()
   {
      constexpr int some = 8;
      if (left == 0)
         return;
      left -= some;
      const int row = left / 16, line = left % 16;
      const auto *from = products[row] + line;
      char *to = d + row * d_row + 16 * RowsOfD<16>::bytes * line;
      const char *more = c + row * d_row + 16 * RowsOfC<16>::bytes * line;
#pragma GCC unroll 8
      for (int i = 0; i < some; i++)
         RowsOfD<16>::store(to + 16 * RowsOfD<16>::bytes * i,
                            _mm512_add_ps(_mm512_load_ps(from[i]),
                                          RowsOfC<16>::load(more + 16 * RowsOfC<16>::bytes * i)));
   }

   void add_all()
   {
      while (left)
         add_some();
   }
};

/// TileMulAdd of 16 x 16 sums to which C is added at the end, while the next ones are multiplied.
template <typename Multiply, template <int> typename RowsOfC, template <int> typename RowsOfD>
void add_to_products(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   alignas(64) Products products[2][2];
   WithoutC<RowsOfC, RowsOfD> last = {};
   uint32_t number = 0;
   for_each_two_rows(
      d, a, b, c, *block,
      [&]<int Rows>(RowsOfSums<Rows>, char *d, const char *a, const char *b, const char *c) {
         Products *const these = products[number++ % 2];
         Multiply::template multiply<Rows>(these, a, b, *block, [&] { last.add_some(); });
         last.add_all();
         last = {these, d, c, block->d_row, 16 * Rows};
      });
   last.add_all();
}

/// C and the result are f32 or Narrow.
template <typename Multiply, template <int> typename Narrow>
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
                                      : find_add_to_products<Multiply<Pairs>, BFloats>(op));
}

/// The parts of 16 halves, each in the upper bits of 32. The low part of an infinity or NaN is a
/// NaN, or 0.
template <bool HasSpecials>
struct Parts {
   __m512 low;
   __m512i high;

   explicit Parts(__m256i halves)
   {
      const __m512 x = _mm512_cvtph_ps(halves);
      high = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(int(0xffff0000)));
      low = _mm512_sub_ps(x, _mm512_castsi512_ps(high));
      if constexpr (HasSpecials)
         low = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(low, low, _CMP_ORD_Q), low);
   }
};

/// 16 rows of 16 halves in memory.
struct HalfRows {
   const char *rows;
   int64_t stride;

   __m256i operator()(int r) const
   {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i_u *>(rows + r * stride));
   }
};

/// 16 rows of 16 halves whose columns are in memory.
class HalfColumns {
public:
   HalfColumns(const char *columns, int64_t stride)
   {
      const HalfRows column = {columns, stride};
      __m512i r[8], s[8];
#pragma GCC unroll 8
      for (int i = 0; i < 8; i++)
         r[i] = _mm512_inserti64x4(_mm512_castsi256_si512(column(i)), column(i + 8), 1);
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++) {
         s[2 * i] = _mm512_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
         s[2 * i + 1] = _mm512_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
      }
#pragma GCC unroll 2
      for (int i = 0; i < 2; i++) {
         r[4 * i] = _mm512_unpacklo_epi32(s[4 * i], s[4 * i + 2]);
         r[4 * i + 1] = _mm512_unpackhi_epi32(s[4 * i], s[4 * i + 2]);
         r[4 * i + 2] = _mm512_unpacklo_epi32(s[4 * i + 1], s[4 * i + 3]);
         r[4 * i + 3] = _mm512_unpackhi_epi32(s[4 * i + 1], s[4 * i + 3]);
      }
      // The four quarters of a vector now belong to the rows i, i + 8, i, i + 8.
      constexpr int even_first = 0xd8;
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++) {
         const __m512i even = _mm512_unpacklo_epi64(r[i], r[i + 4]),
                       odd = _mm512_unpackhi_epi64(r[i], r[i + 4]);
         pairs[2 * i] = _mm512_shuffle_i64x2(even, even, even_first);
         pairs[2 * i + 1] = _mm512_shuffle_i64x2(odd, odd, even_first);
      }
   }

   __m256i operator()(int r) const
   {
      return r < 8 ? _mm512_castsi512_si256(pairs[r]) : _mm512_extracti64x4_epi64(pairs[r - 8], 1);
   }

private:
   __m512i pairs[8]; ///< rows i and i + 8
};

/// A packing of halves. Packing::split<HasSpecials>(packed, rows) returns the sum of the low parts,
/// which is a NaN if a half is infinite or NaN. Then the tile is packed again, and marked.
template <typename Packing>
struct SplitHalves : Factor<16, 16, 2> {
   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      pack(packed, HalfRows{rows, stride});
   }
   static void from_columns(char *packed, const char *columns, int64_t stride)
   {
      pack(packed, HalfColumns(columns, stride));
   }

private:
   template <typename Rows>
   static void pack(char *packed, const Rows &rows)
   {
      const __m512 sum = Packing::template split<false>(packed, rows);
      const int special = _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
      if (special) [[unlikely]]
         Packing::template split<true>(packed, rows);
      __builtin_memcpy(packed + Packing::mark, &special, sizeof(special));
   }
};

/// 16 rows of low and high; the mark.
struct SplitRows : SplitHalves<SplitRows> {
   static constexpr int row_bytes = 64, mark = 16 * row_bytes;

   template <bool HasSpecials, typename Rows>
   [[gnu::always_inline]] static __m512 split(char *packed, const Rows &rows)
   {
      __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 16
      for (int r = 0; r < 16; r++) {
         const Parts<HasSpecials> row(rows(r));
         // Both parts are exact in bfloat16.
         _mm512_storeu_si512(packed + r * row_bytes,
                             (__m512i)_mm512_cvtne2ps_pbh(_mm512_castsi512_ps(row.high), row.low));
         sum = _mm512_add_ps(sum, row.low);
      }
      return sum;
   }
};

/// Groups of two rows: 8 of low, 8 of high, 8 of low.
struct SplitGroups : SplitHalves<SplitGroups> {
   static constexpr int part_bytes = 8 * 64, mark = 3 * part_bytes;

   template <bool HasSpecials, typename Rows>
   [[gnu::always_inline]] static __m512 split(char *packed, const Rows &rows)
   {
      __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
#pragma GCC unroll 8
      for (int q = 0; q < 8; q++) {
         const Parts<HasSpecials> even(rows(2 * q)), odd(rows(2 * q + 1));
         char *to = packed + 64 * q;
         const __m512i low = pairs(_mm512_castps_si512(even.low), _mm512_castps_si512(odd.low));
         _mm512_storeu_si512(to, low);
         _mm512_storeu_si512(to + part_bytes, pairs(even.high, odd.high));
         _mm512_storeu_si512(to + 2 * part_bytes, low);
         sums[0] = _mm512_add_ps(sums[0], even.low);
         sums[1] = _mm512_add_ps(sums[1], odd.low);
      }
      return _mm512_add_ps(sums[0], sums[1]);
   }

private:
   static __m512i pairs(__m512i even, __m512i odd)
   {
      return _mm512_or_si512(_mm512_srli_epi32(even, 16), odd);
   }
};

/// Not 0 for a tile with an infinity or NaN.
int mark_of(const char *packed, int mark)
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

/// Multiply for halves.
struct MultiplyHalves {
   template <int Rows, typename Meanwhile>
   [[gnu::always_inline]] static void multiply(Products *products, const char *a, const char *b,
                                               const TileBlock &block, const Meanwhile &meanwhile)
   {
      int specials[Rows] = {};
      for_each_row<Rows>([](auto row) { clear_tile<sums + row>(); });
      for (uint32_t k = 0; k < block.depth; k++) {
         const char *a_tile = a + k * block.a_step, *b_tile = b + k * block.b_step;
         const int b_mark = mark_of(b_tile, SplitGroups::mark);
         load_tile<b_long_groups>(b_tile, 64);
         for_each_row<Rows>([&](auto row) {
            load_tile<a_long_rows + row>(a_tile + row * block.a_row, SplitRows::row_bytes);
            PairsOfBFloat16::add<sums + row, a_long_rows + row, b_long_groups>();
         });
         load_tile<b_long_groups>(b_tile + SplitGroups::part_bytes, 64);
         for_each_row<Rows>([&](auto row) {
            PairsOfBFloat16::add<sums + row, a_long_rows + row, b_long_groups>();
            specials[row] |= b_mark | mark_of(a_tile + row * block.a_row, SplitRows::mark);
         });
         meanwhile();
      }
      for_each_row<Rows>([&](auto row) {
         if (specials[row])
            multiply_specials(products[row], a + row * block.a_row, b, block);
         else
            store_tile<sums + row>(products[row], 64);
      });
   }

private:
   [[gnu::noinline]] static void multiply_specials(Products &products, const char *a, const char *b,
                                                   const TileBlock &block)
   {
      __builtin_memset(products, 0, sizeof(products));
      for (uint32_t k = 0; k < block.depth; k++)
         add_specials(products, a + k * block.a_step, b + k * block.b_step);
   }
};

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
      return product<SplitRows, SplitGroups>(find_add_to_products<MultiplyHalves, Halves>(op));
   if (is(16, 16, 64))
      return integer_product<LongSteps, 64>(op);
   return is(16, 16, 32) ? integer_product<ShortSteps, 32>(op) : TileProduct();
}

} // namespace weft::cpu
