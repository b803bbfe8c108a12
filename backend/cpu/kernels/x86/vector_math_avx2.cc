// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/kernels/x86/vector_math_lanes.h"

namespace weft::cpu {

const VectorFunction vector_math_avx2[vector_functions] = {
   {"_ZGVdN8v_exp2f", lanes_of<32, float, exp2f>()},
   {"_ZGVdN8v_log2f", lanes_of<32, float, log2f>()},
   {"_ZGVdN4v_exp2", lanes_of<32, double, exp2>()},
   {"_ZGVdN4v_log2", lanes_of<32, double, log2>()},
};

} // namespace weft::cpu
