// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of 8-bit integers with AVX512-VNNI.

#include "backend/cpu/kernels/x86/instruction_sets.h"
#include "backend/cpu/kernels/x86/registers.h"
#include "backend/cpu/kernels/x86/tile_muladd_vnni.h"

namespace weft::cpu {
namespace {

template <int Lanes>
struct Products {
   using Vector = typename Words<Lanes>::Vector;

   static Vector multiply(Vector sums, Vector u, Vector s)
   {
      if constexpr (Lanes == 16)
         return (Vector)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)u, (__m512i)s);
      else
         return (Vector)_mm256_dpbusd_epi32((__m256i)sums, (__m256i)u, (__m256i)s);
   }
};

} // namespace

TileProduct find_tile_product_avx512_vnni(const MatrixOperation &op)
{
   return find_vnni_product<Avx512Registers, Products>(op);
}

} // namespace weft::cpu
