// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The front end: one compute entry point of a SPIR-V module as NIR with cmat_* intrinsics.

#pragma once

#include "nir_passes/pass_control.h"
#include "nir_passes/result.h"
#include "nir_passes/shader.h"
#include "nir_passes/shader_source.h"
#include "nir_passes/target.h"

namespace weft {

/// Accepts the capabilities of a Vulkan 1.3 compute device.  Translates, then inlines everything
/// into the entry point: one function, no variable initializers, no unused interface variables.
/// Matrices are function_temp variables (as are the Private ones). Whatever the words are, this
/// returns: what the front end rejects is an Error with its message.
Result<Shader> spirv_to_nir(const ShaderSource &, const Target &, const PassObserver & = {},
                            PassControl * = nullptr);

} // namespace weft
