// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Evaluates one operation of NIR on known operands, as nir_opt_constant_folding does.

#pragma once

#include "compiler/nir/nir.h"

/* This header is plain C. */
extern "C" {
#include "compiler/nir/nir_constant_expressions.h"
}

#include <optional>

namespace weft {

/// The value of an ALU operation on single components. `evaluate` returns the value of an operand,
/// a nir_scalar, or nothing if it is unknown.
template <typename Evaluate>
std::optional<nir_const_value> evaluate_operation(const nir_scalar &scalar,
                                                  const Evaluate &evaluate)
{
   const nir_op op = nir_scalar_alu_op(scalar);
   const nir_op_info &info = nir_op_infos[op];
   if (info.output_size != 0)
      return std::nullopt;
   nir_const_value operands[NIR_ALU_MAX_INPUTS], *pointers[NIR_ALU_MAX_INPUTS], result;
   unsigned bits = nir_alu_type_get_type_size(info.output_type) ? 0 : scalar.def->bit_size;
   for (unsigned i = 0; i < info.num_inputs; ++i) {
      if (info.input_sizes[i] != 0)
         return std::nullopt;
      const nir_scalar source = nir_scalar_chase_alu_src(scalar, i);
      const std::optional<nir_const_value> operand = evaluate(source);
      if (!operand)
         return std::nullopt;
      operands[i] = *operand;
      pointers[i] = &operands[i];
      if (bits == 0 && !nir_alu_type_get_type_size(info.input_types[i]))
         bits = source.def->bit_size;
   }
   nir_eval_const_opcode(op, &result, 1, bits ? bits : 32, pointers, 0);
   return result;
}

} // namespace weft
