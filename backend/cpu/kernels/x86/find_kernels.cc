// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The best kernel for the CPU.

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/kernels/x86/instruction_sets.h"

namespace weft::cpu {

TileProduct find_tile_product(const MatrixOperation &op, const CpuFeatures &cpu)
{
   if (cpu.instruction_set < InstructionSet::avx2)
      return {};
   TileProduct found;
   if (cpu.amx)
      found = find_tile_product_amx(op);
   if (!found && cpu.avx512_bf16)
      found = find_tile_product_avx512_bf16(op);
   if (!found && cpu.avx512_vnni)
      found = find_tile_product_avx512_vnni(op);
   if (!found && cpu.avx_vnni)
      found = find_tile_product_avx_vnni(op);
   if (!found && cpu.instruction_set >= InstructionSet::avx512)
      found = find_tile_product_avx512(op);
   return found ? found : find_tile_product_avx2(op);
}

bool product_needs_configuration(const MatrixOperation &op, const CpuFeatures &cpu)
{
   return cpu.amx && find_tile_product_amx(op);
}

void *find_tile_transfer(const TileTransfer &t, const CpuFeatures &cpu)
{
   return cpu.instruction_set >= InstructionSet::avx2 ? find_tile_transfer_avx2(t) : nullptr;
}

} // namespace weft::cpu
