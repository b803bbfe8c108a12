// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The registers of AVX2 and AVX-512, for tile_multiply.h.

#pragma once

namespace weft::cpu {

struct Avx2Registers {
   static constexpr int vector_bytes = 32;
   /// FMAs have a latency of 4 cycles and start two per cycle: 8 sums keep both units busy, with
   /// registers to spare.
   static constexpr int accumulators = 8;
};

struct Avx512Registers {
   static constexpr int vector_bytes = 64;
   /// A whole column of 16 rows; half of the registers.
   static constexpr int accumulators = 16;
};

} // namespace weft::cpu
