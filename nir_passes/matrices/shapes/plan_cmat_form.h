// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrices/shapes/choose_native_shape.h"
#include "nir_passes/result.h"
#include "nir_passes/target.h"

#include <optional>
#include <string>

namespace weft {

/// The form of a shader's matrices, after lower_cmat_scope().
struct FormPlan {
   MatrixForm form;
   std::optional<NativeShape> split; ///< the tiles into which split_cmat_shapes() first cuts

   bool operator==(const FormPlan &) const = default;
};

/// "registers"; "private tiles, cut to 16x16, k 16 of 16 bits".
std::string describe(const FormPlan &);

/// Chooses the target's form, if the shader's matrices can be built from the target's tiles. If
/// not, the matrices of a driver become registers; private tiles give an Error.
Result<FormPlan> plan_cmat_form(const CmatUses &, const Target &);

} // namespace weft
