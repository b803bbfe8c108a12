// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Stretches of passes that are the same for all back ends.  What comes between and behind them is
/// in each back end's passes.cc, the one list of all its passes.

#pragma once

#include "nir_passes/front_end/spirv_to_nir.h"
#include "nir_passes/pass_runner.h"
#include "nir_passes/target.h"

namespace weft {

/// spirv_to_nir(), then everything inlined into the entry point: one function, no variable
/// initializers, no unused interface variables.  Matrices are function_temp variables, as are the
/// Private ones.  An Error for a shader beyond compile_limits.h.
Result<Shader> read_shader(const ShaderSource &, Consumer, uint32_t subgroup_size,
                           const PassObserver & = {}, PassControl * = nullptr,
                           MatrixForm = MatrixForm::registers);

/// The target for one shader.  The front end needs lengths of matrices that are constant
/// expressions (OpSpecConstantOp) before anything is known of what the shader does.  They are those
/// of whole matrices in registers, so that is what the shader's matrices become.
Target target_for(const ShaderSource &, Target);

/// Matrices, which validate_cmat() has let through, become tiles or registers.
void lower_matrices(PassRunner &, const Target &);

/// Everything that makes a shader smaller, until nothing changes.  Where a driver has tiles, it
/// knows what unrolling loops of them is worth.
void optimize(PassRunner &, bool unroll_tiles);

/// After everything else: hides additions and multiplications from nir_opt_algebraic, and fuses
/// them (where not NoContraction) if the back end wants it.
void optimize_late(PassRunner &);

} // namespace weft
