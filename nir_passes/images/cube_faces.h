// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The faces of a cube (Vulkan, "Cube Map Face Selection and Transformations").

#pragma once

#include "compiler/nir/nir_builder.h"

#include <array>

namespace weft {

/// A point on a face, s and t from 0 to 1.
struct FacePoint {
   nir_def *face, *s, *t;
};
FacePoint find_face(nir_builder *, const std::array<nir_def *, 3> &direction);

/// A texel of a face, as integers.
struct FaceTexel {
   nir_def *face, *column, *row;
};
/// Replaces a texel one place outside of its face by the texel of the face behind that edge: it
/// lies in the same direction from the middle of the cube.
FaceTexel cross_edges(nir_builder *, const FaceTexel &, nir_def *is_inside, nir_def *size);

} // namespace weft
