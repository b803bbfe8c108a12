// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/kernels/x86/vector_math_lanes.h"

namespace weft::cpu {

const VectorFunction vector_math_avx512[vector_functions] = {
   {"_ZGVeN16v_exp2f", lanes_of<64, float, exp2f>()},
   {"_ZGVeN16v_log2f", lanes_of<64, float, log2f>()},
   {"_ZGVeN8v_exp2", lanes_of<64, double, exp2>()},
   {"_ZGVeN8v_log2", lanes_of<64, double, log2>()},
};

} // namespace weft::cpu
