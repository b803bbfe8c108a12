// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Floating-point tile multiplication with AVX-512. Halves are widened: FP16's own arithmetic would
/// round every sum.

#include "backend/cpu/kernels/x86/instruction_sets.h"
#include "backend/cpu/kernels/x86/registers.h"
#include "backend/cpu/kernels/x86/tile_muladd_float.h"
#include "backend/cpu/kernels/x86/tile_muladd_widened.h"

namespace weft::cpu {

TileProduct find_tile_product_avx512(const MatrixOperation &op)
{
   const TileProduct found = find_float_product<Avx512Registers>(op);
   return found ? found : find_widened_product<Avx512Registers>(op);
}

} // namespace weft::cpu
