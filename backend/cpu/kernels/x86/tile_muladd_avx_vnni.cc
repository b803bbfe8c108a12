// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of 8-bit integers with AVX-VNNI, in 256 bits and 16 registers.

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
      return (Vector)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)u, (__m256i)s);
   }
};

} // namespace

TileProduct find_tile_product_avx_vnni(const MatrixOperation &op)
{
   return find_vnni_product<Avx2Registers, Products>(op);
}

} // namespace weft::cpu
