// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/kernels/vector_math.h"
#include "backend/cpu/kernels/vector_math_lanes.h"

namespace weft::cpu {
namespace {

using Floats [[gnu::vector_size(64)]] = float;
using Doubles [[gnu::vector_size(64)]] = double;

template <float (*function)(float)>
void *address_of()
{
   return reinterpret_cast<void *>(&lane_by_lane<Floats, function>);
}
template <double (*function)(double)>
void *address_of()
{
   return reinterpret_cast<void *>(&lane_by_lane<Doubles, function>);
}

} // namespace

const VectorFunction vector_math_avx512[vector_functions] = {
   {"_ZGVeN16v_exp2f", address_of<exp2f>()},
   {"_ZGVeN16v_log2f", address_of<log2f>()},
   {"_ZGVeN8v_exp2", address_of<static_cast<double (*)(double)>(exp2)>()},
   {"_ZGVeN8v_log2", address_of<static_cast<double (*)(double)>(log2)>()},
};

} // namespace weft::cpu
