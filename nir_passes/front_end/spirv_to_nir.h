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

/// The back end that takes the shader.
enum class Consumer : uint8_t {
   cpu,    ///< backend/cpu: takes the capabilities of a Vulkan 1.3 compute device
   driver, ///< backend/spirv: takes also the capabilities that only a GPU has
};

/// Translates only: functions stay, and matrices are variables of matrix types. Returns for any
/// words: if vtn rejects a module, the result is an Error with vtn's message. The form gives the
/// length of matrices if that is a constant of the module (SPV_NV_cooperative_matrix).
Result<Shader> spirv_to_nir(const ShaderSource &, Consumer, uint32_t subgroup_size,
                            MatrixForm = MatrixForm::registers);

} // namespace weft
