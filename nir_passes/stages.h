// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sequences of passes that all back ends share. The passes between and after them are in each back
/// end's passes.cc, which lists all its passes.

#pragma once

#include "nir_passes/front_end/spirv_to_nir.h"
#include "nir_passes/pass_runner.h"
#include "nir_passes/target.h"

namespace weft {

/// spirv_to_nir(), then inlines everything into the entry point: one function, no variable
/// initializers, no unused interface variables. Matrices and Private variables are function_temp
/// variables. Returns an Error for a shader beyond compile_limits.h.
Result<Shader> read_shader(const ShaderSource &, Consumer, uint32_t subgroup_size,
                           const PassObserver & = {}, PassControl * = nullptr,
                           MatrixForm = MatrixForm::registers);

/// The target for one shader. The front end needs matrix lengths in constant expressions
/// (OpSpecConstantOp) before the shader is analysed. It uses the lengths of whole matrices in
/// registers, so such a shader's matrices must become registers.
Target target_for(const ShaderSource &, Target);

/// Lowers matrices, which validate_cmat() has accepted, to tiles or registers.
void lower_matrices(PassRunner &, const Target &);

/// Runs all optimisations until nothing changes. If a driver has tiles, it decides itself about
/// unrolling loops of them.
void optimize(PassRunner &, bool unroll_tiles);

/// Runs last: hides additions and multiplications from nir_opt_algebraic. If the back end requests
/// it, fuses them (unless NoContraction).
void optimize_late(PassRunner &);

} // namespace weft
