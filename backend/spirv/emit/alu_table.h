// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The arithmetic that SPIR-V has. validate_spirv_form() accepts these operations, and emit_alu()
/// and emit_matrix() translate them.

#pragma once

#include "backend/spirv/module/values.h"

#include "compiler/nir/nir.h"
#include "compiler/spirv/GLSL.std.450.h"

#include <span>

namespace weft::spirv {

/// The shape of the translation.
enum class AluForm : uint8_t {
   plain, ///< one instruction of SPIR-V or of GLSL.std.450
   reciprocal,
   is_finite,
   select,
   shift,
   multiply_high,
   dot, ///< of four bytes each, and an addition
   /* Bit casts between a number and its parts: all parts, the first, the second. */
   pack,
   unpack,
   unpack_first,
   unpack_second,
   /* The same for a pair of halves, which are converted. */
   pack_half,
   unpack_half,
   unpack_half_first,
   unpack_half_second,
};

/// The translation of an operation whose first source has some sizes.
struct AluRule {
   nir_op op;
   uint8_t sizes; ///< the sum of the bit sizes
   AluForm form;
   Kind from, to; ///< of a plain operation's sources and result
   SpvOp instruction;
   GLSLstd450 extended = GLSLstd450Bad; ///< in place of the instruction
   bool on_matrices = false;            ///< also an operation on cooperative matrices

   constexpr bool is_packing() const { return form >= AluForm::pack; }
};

/// All rules. Rules of one operation are neighbours, and differ in sizes.
std::span<const AluRule> alu_rules();

/// The rule for a first source of `bits` bits; null if the operation has no such rule.
const AluRule *find_alu_rule(nir_op, unsigned bits);

/// The instruction for a conversion between numbers; OpNop for other operations.
SpvOp conversion_instruction(nir_op);

} // namespace weft::spirv
