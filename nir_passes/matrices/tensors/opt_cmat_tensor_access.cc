// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/tensors/opt_cmat_tensor_access.h"

#include "nir_passes/evaluate_operation.h"
#include "nir_passes/matrices/tensors/tensor_place.h"

namespace weft {

namespace {

/// Evaluates expressions of constants. The shader's own expressions are folded before, so
/// expressions are no larger than in whole_access().
class Evaluation {
public:
   bool is_true(nir_def *condition)
   {
      const std::optional<nir_const_value> value = evaluate(nir_get_scalar(condition, 0));
      return value && value->b;
   }

private:
   std::optional<nir_const_value> evaluate(nir_scalar scalar)
   {
      scalar = nir_scalar_chase_movs(scalar);
      if (nir_scalar_is_const(scalar))
         return nir_scalar_as_const_value(scalar);
      if (!nir_scalar_is_alu(scalar) || ++steps > max_steps)
         return std::nullopt;
      return evaluate_operation(scalar,
                                [&](const nir_scalar &operand) { return evaluate(operand); });
   }

   static constexpr unsigned max_steps = 256;
   unsigned steps = 0;
};

bool simplify(nir_builder *b, nir_intrinsic_instr *instr, void *data)
{
   if (!is_tensor_access(instr))
      return false;
   const auto &options = *static_cast<const WholeOptions *>(data);
   b->cursor = nir_before_instr(&instr->instr);
   const TensorAccess a = tensor_access(b, instr);
   const std::optional<WholeAccess> whole = whole_access(b, a, options);
   if (whole && Evaluation().is_true(whole->applies)) {
      build_whole(b, a, *whole, options);
      nir_instr_remove(&instr->instr);
      return true;
   }
   if (a.object && is_never_clipped(a)) {
      nir_src_rewrite(&instr->src[1], nir_undef(b, 1, 32));
      return true;
   }
   return false;
}

} // namespace

bool opt_cmat_tensor_access(nir_shader *nir, WholeOptions options)
{
   return nir_shader_intrinsics_pass(nir, simplify, nir_metadata_control_flow, &options);
}

} // namespace weft
