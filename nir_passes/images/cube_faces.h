// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The faces of a cube (Vulkan, "Cube Map Face Selection and Transformations").

#pragma once

#include "compiler/nir/nir_builder.h"

#include <array>

namespace weft {

/// The axis through a face: z, else y, else x; its sign is 1 or -1.
struct FaceAxes {
   nir_def *is_y, *is_z, *sign;
};

/// A point on a face, s and t from 0 to 1.
struct FacePoint {
   nir_def *face, *s, *t;
   FaceAxes axes;
};
FacePoint find_face(nir_builder *, const std::array<nir_def *, 3> &direction);

/// The derivatives of s and t on the face, from the derivative of the direction ("Cube Map
/// Derivative Transformation").
std::array<nir_def *, 2> slope_on_face(nir_builder *, const FaceAxes &,
                                       const std::array<nir_def *, 3> &direction,
                                       const std::array<nir_def *, 3> &step);

/// A texel of a face, as integers.
struct FaceTexel {
   nir_def *face, *column, *row;
};
/// Replaces a texel one place outside of its face by the texel of the face behind that edge: it
/// lies in the same direction from the middle of the cube.
FaceTexel cross_edges(nir_builder *, const FaceTexel &, nir_def *is_inside, nir_def *size);

} // namespace weft
