// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/cube_faces.h"

namespace weft {

namespace {

/// Faces are +x, -x, +y, -y, +z, -z.
nir_def *select(nir_builder *b, nir_def *is_y, nir_def *is_z, nir_def *x, nir_def *y, nir_def *z)
{
   return nir_bcsel(b, is_z, z, nir_bcsel(b, is_y, y, x));
}

/// From the middle of the cube to the middle of a texel.
std::array<nir_def *, 3> direction_of(nir_builder *b, const FaceTexel &texel, nir_def *size)
{
   const auto centre = [&](nir_def *number) {
      nir_def *texels = nir_fadd_imm(b, nir_i2f32(b, number), 0.5);
      return nir_fadd_imm(b, nir_fdiv(b, nir_fmul_imm(b, texels, 2), nir_i2f32(b, size)), -1);
   };
   nir_def *s = centre(texel.column), *t = centre(texel.row);
   nir_def *is_negative = nir_test_mask(b, texel.face, 1);
   nir_def *sign = nir_bcsel(b, is_negative, nir_imm_float(b, -1), nir_imm_float(b, 1));
   nir_def *axis = nir_ushr_imm(b, texel.face, 1);
   nir_def *is_y = nir_ieq_imm(b, axis, 1), *is_z = nir_ieq_imm(b, axis, 2);
   nir_def *signed_s = nir_fmul(b, sign, s), *down = nir_fneg(b, t);
   return {select(b, is_y, is_z, sign, s, signed_s), select(b, is_y, is_z, down, sign, down),
           select(b, is_y, is_z, nir_fneg(b, signed_s), nir_fmul(b, sign, t), sign)};
}

/// Along the face's s and t, and away from the middle of the cube.
std::array<nir_def *, 3> turn_to_face(nir_builder *b, const FaceAxes &axes,
                                      const std::array<nir_def *, 3> &direction)
{
   const auto [x, y, z] = direction;
   const auto [is_y, is_z, sign] = axes;
   nir_def *down = nir_fneg(b, y);
   return {select(b, is_y, is_z, nir_fneg(b, nir_fmul(b, sign, z)), x, nir_fmul(b, sign, x)),
           select(b, is_y, is_z, down, nir_fmul(b, sign, z), down),
           nir_fmul(b, sign, select(b, is_y, is_z, x, y, z))};
}

} // namespace

FacePoint find_face(nir_builder *b, const std::array<nir_def *, 3> &direction)
{
   const auto [x, y, z] = direction;
   nir_def *ax = nir_fabs(b, x), *ay = nir_fabs(b, y), *az = nir_fabs(b, z);
   FaceAxes axes;
   axes.is_z = nir_iand(b, nir_fge(b, az, ax), nir_fge(b, az, ay));
   axes.is_y = nir_fge(b, ay, ax);
   nir_def *is_negative = nir_flt_imm(b, select(b, axes.is_y, axes.is_z, x, y, z), 0);
   axes.sign = nir_bcsel(b, is_negative, nir_imm_float(b, -1), nir_imm_float(b, 1));
   const auto [s, t, major] = turn_to_face(b, axes, direction);
   const auto on_face = [&, major = major](nir_def *v) {
      return nir_fadd_imm(b, nir_fmul_imm(b, nir_fdiv(b, v, major), 0.5), 0.5);
   };
   nir_def *axis =
      select(b, axes.is_y, axes.is_z, nir_imm_int(b, 0), nir_imm_int(b, 2), nir_imm_int(b, 4));
   return {nir_iadd(b, axis, nir_b2i32(b, is_negative)), on_face(s), on_face(t), axes};
}

std::array<nir_def *, 2> slope_on_face(nir_builder *b, const FaceAxes &axes,
                                       const std::array<nir_def *, 3> &direction,
                                       const std::array<nir_def *, 3> &step)
{
   const auto at = turn_to_face(b, axes, direction), moved = turn_to_face(b, axes, step);
   nir_def *square = nir_fmul(b, at[2], at[2]);
   const auto slope = [&](unsigned d) {
      nir_def *difference = nir_fsub(b, nir_fmul(b, moved[d], at[2]), nir_fmul(b, at[d], moved[2]));
      return nir_fmul_imm(b, nir_fdiv(b, difference, square), 0.5);
   };
   return {slope(0), slope(1)};
}

FaceTexel cross_edges(nir_builder *b, const FaceTexel &texel, nir_def *is_inside, nir_def *size)
{
   const FacePoint point = find_face(b, direction_of(b, texel, size));
   nir_def *last = nir_iadd_imm(b, size, -1);
   const auto number = [&](nir_def *own, nir_def *coordinate) {
      nir_def *texels = nir_fmul(b, coordinate, nir_i2f32(b, size));
      nir_def *other = nir_imax(b, nir_f2i32(b, texels), nir_imm_int(b, 0));
      return nir_bcsel(b, is_inside, own, nir_imin(b, other, last));
   };
   return {nir_bcsel(b, is_inside, texel.face, point.face), number(texel.column, point.s),
           number(texel.row, point.t)};
}

} // namespace weft
