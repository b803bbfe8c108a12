// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft {

struct BlockOptions {
   uint32_t subgroup_size;    ///< a power of two
   uint32_t max_shared_bytes; ///< for the shader's own shared memory and the exchange
};

/// For drivers whose subgroup size is unknown: makes subgroups out of blocks of the workgroup's
/// invocations, by gl_LocalInvocationIndex. No subgroup operation remains.
///
///    subgroup_id = local_invocation_index / subgroup_size
///    subgroup_invocation = local_invocation_index % subgroup_size
///
/// A block's invocations may lie in several of the driver's subgroups, and a subgroup's invocations
/// in several blocks. So invocations exchange values through shared memory, between barriers of the
/// workgroup; a subgroup barrier becomes a workgroup barrier. The whole workgroup reaches these
/// barriers (lower_divergent_barriers.h), and invocations that are only there for the barrier mark
/// themselves absent. Operations in uniform control flow need less; divergence analysis finds them.
///
/// Returns an Error if blocks do not fill a workgroup that exchanges values, if control flow cannot
/// be analysed, or if shared memory does not suffice.
///
/// Needs buffers and push constants as intrinsics, and shared memory in the form that
/// lower_shared_memory produces.
Result<bool> lower_subgroup_blocks(nir_shader *, const BlockOptions &);

} // namespace weft
