// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/footprint.h"

#include "nir_passes/images/texel_descriptor.h"

namespace weft {

namespace {

nir_def *square(nir_builder *b, const std::vector<nir_def *> &vector)
{
   nir_def *sum = nir_imm_float(b, 0);
   for (nir_def *x : vector)
      sum = nir_ffma(b, x, x, sum);
   return sum;
}

} // namespace

Footprint find_footprint(nir_builder *b, const std::vector<nir_def *> &x,
                         const std::vector<nir_def *> &y, nir_def *most)
{
   Footprint footprint;
   nir_def *square_x = square(b, x), *square_y = square(b, y), *one = nir_imm_float(b, 1);
   footprint.is_along_x = nir_flt(b, square_y, square_x);
   nir_def *longer = nir_fmax(b, square_x, square_y);
   /* Of a NaN and a number, NIR's fmin and fmax return the number. */
   nir_def *ratio = nir_fsqrt(b, nir_fdiv(b, longer, nir_fmin(b, square_x, square_y)));
   ratio = nir_fmin(b, nir_fmin(b, ratio, most), nir_imm_float(b, max_anisotropy));
   ratio = nir_bcsel(b, nir_fgt_imm(b, longer, 0), nir_fmax(b, ratio, one), one);
   nir_def *rounded = nir_fceil(b, ratio);
   footprint.probes = nir_f2i32(b, rounded);
   footprint.weight = nir_frcp(b, rounded);
   footprint.lod = nir_fsub(b, nir_fmul_imm(b, nir_flog2(b, longer), 0.5), nir_flog2(b, ratio));
   return footprint;
}

nir_def *probe_place(nir_builder *b, const Footprint &footprint, nir_def *number)
{
   nir_def *place = nir_i2f32(b, nir_iadd_imm(b, number, 1));
   nir_def *parts = nir_i2f32(b, nir_iadd_imm(b, footprint.probes, 1));
   return nir_fadd_imm(b, nir_fdiv(b, place, parts), -0.5);
}

} // namespace weft
