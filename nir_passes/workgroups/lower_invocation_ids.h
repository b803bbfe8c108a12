// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft {

/// Expresses Vulkan's invocation ids by subgroup_id, subgroup_invocation and constants, so that a
/// back end sees that neighbours in a subgroup are neighbours in the workgroup:
///    local_invocation_index = subgroup_id * subgroup_size + subgroup_invocation
/// In a shader with DerivativeGroupQuads, neighbours are the squares of quads instead, here of a
/// workgroup of four columns:
///    0 1 4 5
///    2 3 6 7
/// num_subgroups and subgroup_size are constants, and so is subgroup_id in a workgroup of one
/// subgroup.
bool lower_invocation_ids(nir_shader *, uint32_t subgroup_size);

} // namespace weft
