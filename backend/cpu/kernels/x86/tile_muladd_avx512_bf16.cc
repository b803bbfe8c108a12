// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of bfloat16 with AVX512-BF16.
///
/// VDPBF16PS multiplies two pairs of bfloat16 and adds the products to a sum in f32, one after the
/// other, as two FMAs that round to nearest even. MXCSR has no effect: subnormal operands count as
/// zero, and subnormal results become zero (Intel's Software Developer's Manual, volume 2,
/// VDPBF16PS; Intel document 343431). Vulkan lets instructions flush them unless its lists for
/// DenormPreserve name the instruction; none names OpCooperativeMatrixMulAddKHR ("Precision and
/// Operation of SPIR-V Instructions").
///
/// The pairs run along k. A row of A gives one pair to broadcast, two rows of B are interleaved:
///
///     a[r][2p], a[r][2p+1]   ×   b[2p][0], b[2p+1][0], b[2p][1], b[2p+1][1], …

#include "backend/cpu/kernels/tile_multiply.h"
#include "backend/cpu/kernels/x86/half_rows.h"
#include "backend/cpu/kernels/x86/instruction_sets.h"
#include "backend/cpu/kernels/x86/registers.h"
#include "backend/cpu/kernels/x86/tile_packing.h"

namespace weft::cpu {
namespace {

template <int Lanes>
struct Dot {
   using Vector = typename Floats<Lanes>::Vector;
   static constexpr int depth = 2, a_bytes = 4, b_bytes = 4;
   static constexpr bool converts = false, has_corrections = false;

   static auto broadcast(const char *a)
   {
      int pair;
      __builtin_memcpy(&pair, a, sizeof(pair));
      return pair - typename Words<Lanes>::Vector{};
   }
   static auto load(const char *b) { return Words<Lanes>::load(b); }
   /// In this order the instruction itself broadcasts a pair from memory.
   static Vector add(Vector sums, typename Words<Lanes>::Vector a, typename Words<Lanes>::Vector b)
   {
      if constexpr (Lanes == 16)
         return _mm512_dpbf16_ps(sums, (__m512bh)b, (__m512bh)a);
      else
         return _mm256_dpbf16_ps(sums, (__m256bh)b, (__m256bh)a);
   }
};

template <typename Shape, template <int> typename RowsOfC, template <int> typename RowsOfD>
constexpr TileMulAdd kernel = muladd<Avx512Registers, Shape, Dot, AddedFirst<RowsOfC, RowsOfD>>;

template <typename Shape>
TileMulAdd find_muladd(ComponentType c, ComponentType result)
{
   using enum ComponentType;
   if (c == bf16)
      return result == bf16 ? kernel<Shape, BFloats, BFloats> : kernel<Shape, BFloats, Floats>;
   return result == bf16 ? kernel<Shape, Floats, BFloats> : kernel<Shape, Floats, Floats>;
}

} // namespace

TileProduct find_tile_product_avx512_bf16(const MatrixOperation &op)
{
   using enum ComponentType;
   if (op.a != bf16 || op.b != bf16)
      return {};
   return with_bfloat16_shape(op, [&]<typename Shape>(Shape) {
      return product<Gathered<Shape::M, Shape::K, 2>, Interleaved<Shape::K, Shape::N, 2>>(
         find_muladd<Shape>(op.c, op.result));
   });
}

} // namespace weft::cpu
