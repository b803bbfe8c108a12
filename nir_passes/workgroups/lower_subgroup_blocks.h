// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft {

struct BlockOptions {
   uint32_t subgroup_size;    ///< a power of two
   uint32_t max_shared_bytes; ///< of the shader's own shared memory and the exchange's
};

/// Subgroups become blocks of the workgroup's invocations, by gl_LocalInvocationIndex: for drivers
/// whose own subgroups have an unknown size.  No subgroup operation is left.
///
///    subgroup_id = local_invocation_index / subgroup_size
///    subgroup_invocation = local_invocation_index % subgroup_size
///
/// The invocations of a block may lie in several subgroups of the driver's, and those of a subgroup
/// in several blocks.  So whatever goes from one invocation to another goes through shared memory,
/// between barriers of the workgroup; a barrier of the subgroup becomes one of the workgroup.  All of
/// the workgroup comes there (lower_divergent_barriers.h), and invocations that would not have come say
/// so.  What the whole workgroup does together takes less: the pass finds it by the divergence analysis.
///
/// An Error where a workgroup that blocks do not fill exchanges values, where control flow cannot be
/// analysed, and where shared memory does not suffice.
///
/// Wants buffers and push constants as intrinsics, and shared memory as lower_shared_memory leaves it.
Result<bool> lower_subgroup_blocks(nir_shader *, const BlockOptions &);

} // namespace weft
