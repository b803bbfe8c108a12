// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The matrices and multiplications of a shader, for comparison with a target.

#pragma once

#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrix_support.h"
#include "nir_passes/result.h"

#include <vector>

namespace weft {

/// A conversion to another component type.
struct CmatConversion {
   glsl_cmat_description from, to;
};

struct CmatUses {
   std::vector<glsl_cmat_description> matrices; ///< each type once
   std::vector<MatrixOperation> operations;     ///< of the muladds, without duplicates
   std::vector<CmatConversion> conversions;     ///< each once
   bool single_elements = false;                ///< whether needs_element_places() is true for an
                                                ///< intrinsic
};

/// Returns an Error for a muladd whose matrices do not match, or with an unknown component type.
Result<CmatUses> gather_cmat_uses(nir_shader *);

/// Whether the operation has an operand of this use, size and component type.
bool has_operand(const MatrixOperation &, const glsl_cmat_description &);
/// The same, ignoring the sign of integers, because bits have no sign.
bool has_operand_of_any_sign(const MatrixOperation &, const glsl_cmat_description &);
/// The same, for operands of any size and scope.
bool has_component(const MatrixOperation &, const glsl_cmat_description &);
/// Whether some operation has an operand of this use, size and type, of any sign.
bool has_operand(const MatrixSupport &, const glsl_cmat_description &);

/// The operation of a muladd; nothing if a component type is unknown.
std::optional<MatrixOperation> matrix_operation(const glsl_cmat_description &d,
                                                const glsl_cmat_description &a,
                                                const glsl_cmat_description &b,
                                                const glsl_cmat_description &c,
                                                nir_cmat_signed signs, bool saturating);

/// "16x16x32: s8 * s8 + s32 -> s32, saturating", for messages; sizes are M x N x K.
std::string describe(const MatrixOperation &);

} // namespace weft
