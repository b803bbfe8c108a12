// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The front end: one compute entry point of a SPIR-V module as NIR with cmat_* intrinsics.

#pragma once

#include "nir_passes/result.h"
#include "nir_passes/shader.h"
#include "nir_passes/shader_source.h"
#include "nir_passes/target.h"

#include <cstdint>

namespace weft {

/// Who compiles what comes out of the passes.
enum class Consumer : uint8_t {
   cpu,    ///< backend/cpu: takes the capabilities of a Vulkan 1.3 compute device
   driver, ///< one below the layer, through backend/spirv: takes also what only a GPU has
};

/// Translates, and no more: functions are still there, and matrices are variables of their own
/// types.  Whatever the words are, this returns: what the front end rejects is an Error with its
/// message.  The form says how long matrices are, where that is a constant of the module
/// (SPV_NV_cooperative_matrix).
Result<Shader> spirv_to_nir(const ShaderSource &, Consumer, uint32_t subgroup_size,
                            MatrixForm = MatrixForm::registers);

} // namespace weft
