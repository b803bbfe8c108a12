// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Gives a filter a second version, for the interior of its image. A filter clamps the coordinates
/// of its reads, although only reads at the edges need that. Without the clamps, the coordinates
/// grow from lane to lane, so that rows of texels are vectors.
///
/// The subgroup decides once, at the shader's beginning. It takes the second version if no clamp
/// changes a coordinate of any lane, and if conditions around accesses are the same in all lanes.
/// Coordinates that come from floats must grow from lane to lane as the converted integers do. A
/// shader that writes an image of the same size samples like that.
///
/// Shaders with few such reads stay as they are. So do large shaders, and shaders with barriers of
/// the workgroup: all subgroups must reach the same barrier. Must run after the dispatch's
/// decisions (specialize_for_dispatch()).
bool opt_interior(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
