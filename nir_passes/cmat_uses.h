// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Which matrices a shader has and what it multiplies: what a target is asked about.

#pragma once

#include "nir_passes/result.h"
#include "nir_passes/target.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir.h"

#include <optional>
#include <vector>

namespace weft {

struct CmatUses {
   std::vector<glsl_cmat_description> matrices; ///< each type once
   std::vector<MatrixOperation> operations;     ///< of the muladds, each once
};

/// An Error for a muladd of matrices that do not fit, or of a component type without a name.
Result<CmatUses> gather_cmat_uses(nir_shader *);

/// Whether the operation has an operand of this use, size and component type.
bool has_operand(const MatrixOperation &, const glsl_cmat_description &);
/// The same, whatever the sign of integers: their bits alone have none.
bool has_operand_of_any_sign(const MatrixOperation &, const glsl_cmat_description &);

/// Bits of one component.
unsigned component_bits(const glsl_cmat_description &);
/// Whether its components were declared as signed integers.
bool has_signed_components(const glsl_cmat_description &);
/// The component type of a matrix, as it was declared.
std::optional<ComponentType> component_type(const glsl_cmat_description &);

/// "A", for messages.
const char *describe(glsl_cmat_use);
/// "16x8 f16 (A)", for messages.
std::string describe(const glsl_cmat_description &);
/// "16x16x32: s8 * s8 + s32 -> s32, saturating", for messages; sizes are M x N x K.
std::string describe(const MatrixOperation &);

} // namespace weft
